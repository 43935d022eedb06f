"""Models of other programs: lavaan and semopy, scikit-learn, dowhy and ArviZ."""

import math
import re
from collections.abc import Hashable
from importlib import import_module
from itertools import combinations
from typing import Any

import networkx as nx
import numpy as np
from scipy.stats import norm
from sklearn.linear_model import LinearRegression

from skbn._core.arrays import as_integer
from skbn._core.columns import reject_unknown
from skbn._core.text import must_be, readable_value
from skbn._estimators.posterior import GaussianBNPosterior
from skbn._networks.network import GaussianBayesianNetwork

# R's, which lavaan reads.
_RESERVED = {
    *("if", "else", "repeat", "while", "function", "for", "next", "break", "in"),
    *("TRUE", "FALSE", "NULL", "Inf", "NaN", "NA"),
}


def optional_module(name: str) -> Any:
    """Return a module of a package that skbn does not require, or raise an ImportError."""
    try:
        return import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise ImportError(f"This needs {package}: pip install {package} ({error}).") from error


def check_network(network: Any) -> None:
    """Raise a TypeError if this is not a network."""
    if not isinstance(network, GaussianBayesianNetwork):
        raise TypeError(
            "network must be a GaussianBayesianNetwork, such as network_ of a fitted learner; got "
            f"{type(network).__name__}."
        )


def check_single_columns(network: Any, function: str) -> None:
    """Raise a TypeError if this is not a network whose nodes are single columns."""
    check_network(network)
    if not has_single_columns(network):
        raise TypeError(
            f"{function} is for networks whose nodes are single columns. Use "
            f"skbn.io.{function}(network.columns_), which is about the columns."
        )


def has_single_columns(network: Any) -> bool:
    """Whether each node of a network is the column of its name."""
    return all(columns == [node] for node, columns in network.nodes_.items())


def noisy_dag(network: Any, function: str) -> nx.DiGraph:
    """Return a copy of a network's graph, after checking that all its nodes have a distribution.

    Raises TypeError if its nodes are not single columns; sklearn.exceptions.NotFittedError if there
    are no parameters; ValueError if a node is exogenous, or its noise variance is 0.
    """
    check_single_columns(network, function)
    if exogenous := network.exogenous:
        raise ValueError(
            f"{function} needs the distributions of all nodes, and {exogenous[0]!r} is exogenous. "
            "Fit a network of the graph without the attribute exogenous."
        )
    network._model()  # raises if there are no parameters
    dag: nx.DiGraph = network.dag
    for node, variance in dag.nodes(data="noise_variance"):
        if variance == 0:
            raise ValueError(
                f"{function} needs nodes with noise, and the noise variance of {node!r} is 0. "
                "Give the network before do, or leave the node out."
            )
    return dag


def legal_names(network: Any) -> dict[Hashable, str]:
    """Return a name for each node that consists of ASCII letters, digits and underscores.

    `to_lavaan` uses these names, for programs that read other characters as operators.

    Parameters
    ----------
    network : GaussianBayesianNetwork

    Returns
    -------
    names : dict of node to str
        All different. ``X.rename(columns=names)`` renames the columns of a data frame.

    Examples
    --------
    >>> import networkx as nx
    >>> from skbn import GaussianBayesianNetwork
    >>> from skbn.io import legal_names
    >>> dag = nx.DiGraph([("od280/od315", "od280 od315"), (7, "in")])
    >>> list(legal_names(GaussianBayesianNetwork(dag)).values())
    ['od280_od315', 'od280_od315_2', 'x7', 'in_']
    """
    check_network(network)
    names: dict[Hashable, str] = {}
    taken = {str(node) for node in network.nodes if _is_legal(str(node))}
    for node in network.nodes:
        name = str(node)
        if not _is_legal(name) or name in names.values():
            plain = re.sub(r"[^A-Za-z0-9_]", "_", name)
            plain = plain if re.match("[A-Za-z]", plain) else f"x{plain}"
            plain = f"{plain}_" if plain in _RESERVED else plain
            name, number = plain, 1
            while name in taken:
                number += 1
                name = f"{plain}_{number}"
            taken.add(name)
        names[node] = name
    return names


def _is_legal(name: str) -> bool:
    return bool(re.fullmatch("[A-Za-z][A-Za-z0-9_]*", name)) and name not in _RESERVED


def to_lavaan(network: Any, *, fixed: bool = False) -> str:
    """Return a network as a model string for lavaan in R and semopy in Python.

    Both then fit the same model as `GaussianBayesianNetwork.fit`: all covariances are written down,
    those between nodes without parents and between nodes without children as 0, because both
    programs would otherwise add them.

    Parameters
    ----------
    network : GaussianBayesianNetwork
        Its parameters are not needed, unless `fixed`.
    fixed : bool, default=False
        Whether to fix all coefficients and variances to the network's, to see how it fits other
        rows. Intercepts are left out.

    Returns
    -------
    model : str
        The nodes have their `legal_names`. Rename the table's columns by these.

    Raises
    ------
    TypeError, sklearn.exceptions.NotFittedError
        If it is not a network, or one with nodes of several columns; if `fixed` and there are no
        parameters.

    See Also
    --------
    skbn.GaussianBayesianNetwork.fit_indices : The chi-squared statistic, CFI, TLI and RMSEA that
        lavaan reports, without it.

    Notes
    -----
    In lavaan, ``sem(model, data)`` gives the chi-squared statistic, CFI, TLI, RMSEA and SRMR of
    `fit_indices`, and with ``meanstructure=TRUE`` its log-likelihood, AIC and BIC, unless there are
    exogenous nodes: those have free variances and covariances in the model. Standardise the columns
    for semopy, whose optimiser stops early where they differ in scale.

    Examples
    --------
    >>> import networkx as nx
    >>> from skbn import GaussianBayesianNetwork
    >>> from skbn.io import to_lavaan
    >>> dag = nx.DiGraph([("hue", "od280/od315"), ("ash", "od280/od315")])
    >>> print(to_lavaan(GaussianBayesianNetwork(dag)))
    od280_od315 ~ hue + ash
    hue ~~ hue
    od280_od315 ~~ od280_od315
    ash ~~ ash
    hue ~~ 0*ash
    """
    check_single_columns(network, "to_lavaan")
    exogenous = set(network.exogenous)  # raises if the graph is wrong
    if fixed:
        network._model()  # raises if there are no parameters
    dag = network.dag
    names = legal_names(network)
    lines = []
    for node in dag:
        parents = [
            f"{dag.edges[parent, node]['weight']!r}*{names[parent]}" if fixed else names[parent]
            for parent in dag.predecessors(node)
        ]
        if parents:
            lines.append(f"{names[node]} ~ {' + '.join(parents)}")
    for node, variance in dag.nodes(data="noise_variance"):
        factor = f"{variance!r}*" if fixed else ""
        lines.append(f"{names[node]} ~~ {factor}{names[node]}")
    roots = [node for node in dag if not dag.in_degree(node)]
    leaves = [node for node in dag if not dag.out_degree(node)]
    for a, b in dict.fromkeys([*combinations(roots, 2), *combinations(leaves, 2)]):
        factor = "" if {a, b} <= exogenous else "0*"
        lines.append(f"{names[a]} ~~ {factor}{names[b]}")
    return "\n".join(lines)


def to_regressor(network: Any, target: Hashable) -> LinearRegression:
    """Return the prediction of a node from all others as a fitted regression of scikit-learn.

    It predicts what `GaussianBayesianNetwork.predict` does from complete rows, and goes wherever
    scikit-learn's own models go: the last step of a pipeline, ``cross_val_score`` of a frozen
    estimator, permutation importance, partial dependence, ONNX. `MarkovBlanketSelector` learns the
    network from each training set instead.

    Parameters
    ----------
    network : GaussianBayesianNetwork
        With parameters.
    target : node

    Returns
    -------
    regressor : sklearn.linear_model.LinearRegression
        Its features are the other nodes in their order. Those outside the node's Markov blanket
        have the coefficient 0. If all names are strings it has `feature_names_in_`, and takes data
        frames with these columns.

    Raises
    ------
    TypeError, ValueError
        If it is not a network, or one with nodes of several columns; if `target` is not a node, or
        the only one; if a node is exogenous, or has no noise.

    Notes
    -----
    A `fit` of it, as by ``cross_val_score``, is ordinary least squares on all columns and forgets
    the network: wrap it in ``sklearn.frozen.FrozenEstimator`` to keep the coefficients.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from skbn import GaussianBNLearner
    >>> from skbn.io import to_regressor
    >>> wine = load_wine(as_frame=True).data[["alcohol", "proline", "hue"]]
    >>> network = GaussianBNLearner().fit(wine).network_
    >>> regressor = to_regressor(network, "alcohol")
    >>> round(regressor.score(wine[["proline", "hue"]], wine["alcohol"]), 2)
    0.47
    """
    dag = noisy_dag(network, "to_regressor")
    nodes = list(dag)
    reject_unknown([target], nodes, "target")
    if len(nodes) == 1:
        raise ValueError(f"{target!r} is the only node, so that nothing predicts it.")
    # The row of the target in the inverse covariance: only terms of its own regression and of
    # those of its children have the target in them.
    precision = dict.fromkeys(nodes, 0.0)
    for child in [target, *dag.successors(target)]:
        terms = {child: 1.0, **{p: -edge["weight"] for p, edge in dag.pred[child].items()}}
        factor = terms[target] / dag.nodes[child]["noise_variance"]
        for node, coefficient in terms.items():
            precision[node] += factor * coefficient
    others = [node for node in nodes if node != target]
    mean = dict(zip(network.nodes, network.mean_.tolist(), strict=True))
    weights = [-precision[node] / precision[target] for node in others]
    centre = sum(w * mean[v] for w, v in zip(weights, others, strict=True))
    regressor = _regression(np.array(weights), mean[target] - centre)
    if all(isinstance(node, str) for node in others):
        regressor.feature_names_in_ = np.array(others, dtype=object)
    return regressor


def to_dowhy(network: Any) -> Any:
    """Return a network as a fitted causal model of ``dowhy.gcm``.

    It has the network's own parameters, so that `counterfactual_samples`, `interventional_samples`,
    `attribute_anomalies`, `intrinsic_causal_influence` and the like run at once. The model has a
    graph of its own: whatever gcm writes into it, the network stays as it is.

    Parameters
    ----------
    network : GaussianBayesianNetwork
        With parameters. The nodes are the columns of the data frames that gcm takes.

    Returns
    -------
    model : dowhy.gcm.InvertibleStructuralCausalModel
        Nodes without parents have a normal distribution, the others a linear regression with normal
        noise. ``gcm.fit(model, X)`` replaces the parameters of the regressions.

    Raises
    ------
    ImportError, TypeError, ValueError
        If dowhy is not installed; as `to_regressor` of a network; if a node is not a string.

    Examples
    --------
    >>> from dowhy import gcm  # doctest: +SKIP
    >>> model = to_dowhy(learner.network_)  # doctest: +SKIP
    >>> gcm.interventional_samples(  # doctest: +SKIP
    ...     model, {"hue": lambda hue: 1.2}, num_samples_to_draw=1000
    ... )
    """
    dag = noisy_dag(network, "to_dowhy")
    for node in dag:
        if not isinstance(node, str):
            raise ValueError(
                f"dowhy names nodes by strings; got {readable_value(node)}. Rename it with "
                "networkx.relabel_nodes."
            )
    gcm = optional_module("dowhy.gcm")
    parents_during_fit = optional_module("dowhy.gcm.causal_models").PARENTS_DURING_FIT
    graph = nx.DiGraph()
    graph.add_nodes_from(dag)
    graph.add_edges_from(dag.edges)
    model = gcm.InvertibleStructuralCausalModel(graph)
    for node, data in dag.nodes(data=True):
        deviation = math.sqrt(data["noise_variance"])
        parents = sorted(dag.predecessors(node))  # gcm's order of columns
        if parents:
            weights = np.array([dag.edges[parent, node]["weight"] for parent in parents])
            noise = gcm.ScipyDistribution(norm, loc=0.0, scale=deviation)
            regression = gcm.ml.SklearnRegressionModel(_regression(weights, data["intercept"]))
            model.set_causal_mechanism(node, gcm.AdditiveNoiseModel(regression, noise))
        else:
            alone = gcm.ScipyDistribution(norm, loc=data["intercept"], scale=deviation)
            model.set_causal_mechanism(node, alone)
        model.graph.nodes[node][parents_during_fit] = parents  # by which gcm knows fitted nodes
    return model


def _regression(weights: Any, intercept: float) -> LinearRegression:
    regression = LinearRegression()
    regression.coef_, regression.intercept_ = weights, intercept
    regression.n_features_in_ = len(weights)
    return regression


def to_arviz(
    posterior: Any,
    n_draws: int = 1000,
    *,
    n_chains: int = 4,
    parameters: bool = True,
    random_state: Any = None,
) -> Any:
    """Return networks drawn from a posterior for ArviZ, by chain and draw.

    Parameters
    ----------
    posterior : GaussianBNPosterior
        Fitted.
    n_draws : int, default=1000
        How many networks of each chain. Those of Markov chains are spread evenly over the chain, in
        its order; more than it has kept repeat some.
    n_chains : int, default=4
        How many chains to write independent draws of an exact posterior as. A posterior by sampling
        has chains of its own.
    parameters : bool, default=True
        Whether to draw parameters as well, for `weight` and `effect`.
    random_state : int, RandomState, Generator or None, default=None

    Returns
    -------
    data : arviz.InferenceData, or xarray.DataTree from ArviZ 1 on
        Its group `posterior` has the dimensions chain, draw, parent and child:

        - `edge`, 1 where a network has the edge, else 0;
        - `n_edges`;
        - `score`, the score of the network, in nats, unless the table was completed;
        - `weight` and `effect`, direct and total effects of the parent on the child.

    Raises
    ------
    ImportError, TypeError, ValueError
        If ArviZ is not installed; if it is not a posterior, or a number is not an integer; as
        `GaussianBNPosterior.sample_networks`, if `parameters`, or if nodes have several columns
        then.

    Notes
    -----
    ArviZ computes R-hat from ranks of draws, and the effective sample size by autocorrelations;
    `r_hat_` and `effective_sample_sizes_` are of all states, by halves and batches of the chains.
    They agree about which edges have converged, not in the last digit.

    Examples
    --------
    >>> import arviz  # doctest: +SKIP
    >>> arviz.summary(to_arviz(posterior), var_names=["n_edges", "score"])  # doctest: +SKIP
    """
    if not isinstance(posterior, GaussianBNPosterior):
        raise TypeError(must_be("posterior", "a fitted GaussianBNPosterior", type(posterior)))
    n_draws = as_integer(n_draws, "n_draws", least=1)
    n_chains = as_integer(n_chains, "n_chains", least=1)
    if hasattr(posterior, "chain_edge_probabilities_"):
        n_chains = len(posterior.chain_edge_probabilities_)
    arviz = optional_module("arviz")
    n = n_chains * n_draws
    variables = _drawn(posterior, n, parameters, random_state)
    shaped = {k: v.reshape(n_chains, n_draws, *v.shape[1:]) for k, v in variables.items()}
    names = list(posterior.median_network_.nodes)
    settings: dict[str, Any] = {
        "coords": {"parent": names, "child": names},
        "dims": {name: ["parent", "child"] for name in ("edge", "weight", "effect")},
    }
    settings["dims"] = {k: v for k, v in settings["dims"].items() if k in shaped}
    if int(arviz.__version__.split(".")[0]) >= 1:
        return arviz.from_dict({"posterior": shaped}, **settings)
    return arviz.from_dict(posterior=shaped, **settings)


def _drawn(posterior: Any, n: int, parameters: bool, random_state: Any) -> dict[str, Any]:
    """Return what is known of n drawn networks, in the order of their draws."""
    names = list(posterior.median_network_.nodes)  # raises before fit
    at = {name: i for i, name in enumerate(names)}
    variables: dict[str, Any] = {"edge": np.zeros((n, len(names), len(names)), dtype=np.int8)}
    if parameters:
        if not has_single_columns(posterior.median_network_):
            raise ValueError(
                "Nodes of several columns have no single weight for each edge. Pass "
                "parameters=False."
            )
        networks = posterior.sample_networks(n, random_state)
        dags = [network.dag for network in networks]
        weights = np.array([network.coef_ for network in networks])
        identity = np.eye(len(names))
        variables["weight"] = weights
        variables["effect"] = np.linalg.inv(identity - weights) - identity
    else:
        dags = posterior.sample_dags(n, random_state)
    for drawn, dag in zip(variables["edge"], dags, strict=True):
        for parent, child in dag.edges:
            drawn[at[parent], at[child]] = 1
    variables["n_edges"] = variables["edge"].sum(axis=(1, 2))
    if not hasattr(posterior, "imputed_tables_"):
        score = posterior.local_scores_.network_score
        variables["score"] = np.array([score(dag) for dag in dags])
    return variables
