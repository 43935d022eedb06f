"""GaussianBayesianNetwork: a network as a joint Gaussian distribution.

The class says what users may ask of a network. Functions of this room's other modules answer, and
can be called without it.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from numbers import Integral
from operator import or_
from typing import Any, Self, overload

import networkx as nx
import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_scalar

from skbn._core import graphs
from skbn._core.arrays import Floats, Random, level_of
from skbn._core.columns import known_values, reject_unknown
from skbn._core.estimator import check_values, fit_method, random_generator
from skbn._core.resources import explained
from skbn._core.text import readable_value
from skbn._data import containers
from skbn._data.encoding import encoded_rows
from skbn._data.statistics import Groups
from skbn._data.table import Table
from skbn._displays.notebook import frame_of
from skbn._networks import (
    adjustment,
    anomalies,
    descriptions,
    effect_estimates,
    effects,
    equivalence,
    estimation,
    gaussian,
    inference,
    json_format,
)
from skbn._networks.adjustment import AdjustmentSets, Instrument
from skbn._networks.anomalies import Anomalies
from skbn._networks.clusters import cluster_errors
from skbn._networks.effect_estimates import EffectEstimate, EffectParts, Intervention
from skbn._networks.equivalence import NetworkComparison
from skbn._networks.fit_indices import FitIndices, fit_indices, indices_of_rows
from skbn._networks.gaussian import LinearGaussianModel
from skbn._networks.inference import GaussianDistribution
from skbn._networks.value import NetworkValue
from skbn._scores.criteria import Criterion


class GaussianBayesianNetwork(NetworkValue):
    """A Gaussian Bayesian network: its graph, and the joint distribution of its nodes.

    Each node is a linear function of its parents plus independent Gaussian noise. If the graph
    carries the parameters, the network is ready to use; otherwise `fit` estimates them.
    Cross-validating networks compares their graphs by the likelihood of held-out rows.

    ``network["ash"]`` is the mean and the standard deviation of a node, and
    ``network[["ash", "hue"]]`` the joint distribution of several. ``print(network)`` writes the
    regressions. What needs parameters raises scikit-learn's NotFittedError if there are none.

    Parameters
    ----------
    dag : networkx.DiGraph
        Acyclic; its nodes are the columns, in their order, or, if they are 0 to m - 1, by number;
        `from_cpdag` takes a graph with undirected edges. Later changes of it do not reach the
        network. The parameters are the attributes `intercept` and `noise_variance` of its nodes,
        the latter not negative, and `weight` of its edges, which is ignored without those of nodes.
        An edge whose reverse is known to be wrong has the attribute `fixed`, True; learners mark
        those that their constraints or interventions do not let them reverse. A node with the
        attribute `exogenous`, True, is a cause that is not modelled: it has no parents, the density
        is of the other nodes given it, and its `intercept` and `noise_variance` only say where and
        how far it was spread in the table. Of other attributes, the network keeps what estimators
        write of edges: `probability`, `joined`, `support`, `strength` and `reversal_loss`.
    blocks : Nodes or None, default=None
        Which columns stand for each node, as a learner with the parameter `nodes` makes them of a
        table. A category is a node whose columns are the indicators of its levels but the first; a
        spline or a sensor has the columns that the user named. None: each node is a column, or a
        category if `fit` meets one.

    Attributes
    ----------
    nodes : list
    nodes_ : dict
        The names of each node's columns.
    columns_ : GaussianBayesianNetwork
        The network of the columns: those of a node are joined to each other, and to all columns of
        the node's parents.
    dag : networkx.DiGraph
        A new graph with all that is known, such as the parameters as attributes. A network made of
        it has the same parameters.
    dag_ : networkx.DiGraph
        As `dag`, once there are parameters.
    coef_ : ndarray of shape (m, m)
        ``coef_[i, j]`` is the weight of the edge i -> j, or 0 without an edge.
    intercept_ : ndarray of shape (m,)
    noise_variance_ : ndarray of shape (m,)
    r2_ : dict
        The share of each node's variance that its parents explain.
    mean_ : ndarray of shape (m,)
    covariance_ : ndarray of shape (m, m)

    See Also
    --------
    GaussianBNLearner : Finds the best network of a table.
    skbn.io.to_dowhy : A causal model for dowhy.

    Notes
    -----
    The covariance is F'F, where F is the product of ``diag(sqrt(noise_variance_))`` and the
    inverse of ``I - coef_`` (Shachter & Kenley 1989, "Gaussian influence diagrams").
    Conditional distributions come from the QR decomposition of F's columns.

    Structure, the table of edges and pictures are about nodes, and arrays such as `coef_` about
    columns. A category's indicators are taken for Gaussian; the probabilities of its levels follow
    from that by Bayes's rule, as the guide says.

    Examples
    --------
    >>> import networkx as nx
    >>> from sklearn.datasets import load_wine
    >>> from skbn import GaussianBayesianNetwork
    >>> wine = load_wine(as_frame=True).data
    >>> dag = nx.DiGraph([("alcohol", "proline"), ("hue", "proline")])
    >>> network = GaussianBayesianNetwork(dag).fit(wine)
    >>> round(network.score(wine), 2)
    -7.98
    >>> round(network.condition({"alcohol": 14, "hue": 1})["proline"].mean)
    1021
    >>> print(network)
    GaussianBayesianNetwork of 3 nodes and 2 edges (0 reversible)
    alcohol = 13, noise sd 0.81
    proline = -2980 + 258 alcohol + 391 hue, noise sd 223, R2 0.508
    hue = 0.957, noise sd 0.228
    >>> round(network.do({"hue": 1})["proline"].mean)
    764
    """

    @classmethod
    def from_cpdag(cls, cpdag: nx.Graph) -> Self:
        """Return a network of the equivalence class of a partially directed graph.

        Parameters
        ----------
        cpdag : networkx.DiGraph or networkx.Graph
            A CPDAG as from the method `cpdag`, or any other partially directed graph. An edge is
            undirected if its attribute `undirected` is True, or if the graph has its reverse too,
            as other programs write it. Other attributes are ignored, except for `fixed`.

        Returns
        -------
        network : GaussianBayesianNetwork
            A consistent extension: it has all directed edges, and no colliders but theirs (pairs of
            unjoined parents). It has no parameters: call `fit`. Directed edges that do not follow
            from the independences are knowledge, and get the attribute `fixed`, so that the
            network's `cpdag` has them too.

        Raises
        ------
        TypeError, ValueError
            If `cpdag` is not a graph of networkx, or there is no consistent extension.

        Notes
        -----
        Dor & Tarsi (1992), "A simple algorithm to construct a consistent extension of a partially
        oriented graph". All consistent extensions of a CPDAG are equivalent.

        Examples
        --------
        >>> import networkx as nx
        >>> from skbn import GaussianBayesianNetwork
        >>> pattern = nx.DiGraph([("a", "c"), ("b", "c"), ("c", "d"), ("d", "e"), ("e", "d")])
        >>> print(GaussianBayesianNetwork.from_cpdag(pattern))
        GaussianBayesianNetwork of 5 nodes and 4 edges (0 reversible)
        c <- a, b
        d <- c
        e <- d
        """
        return cls(equivalence.extended(cpdag))

    @fit_method
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        interventions: Any = None,
        groups: Any = None,
    ) -> Self:
        """Estimate the parameters of the graph by maximum likelihood.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, m), or LocalScores
            Numbers. If the columns' names are strings, they are matched to the nodes, in any order,
            and other columns are left out. Otherwise the columns are the nodes in their order.
            Columns of a categorical or string dtype are categories, unless `blocks` says what is
            one. Values may be missing at random, except for exogenous nodes: the likelihood is then
            that of the observed values. The blocks of a dask array or data frame need not fit in
            memory together.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts; LocalScores may have weights of their own. A pandas
            Series is matched to the rows by label, if the rows of X have labels.
        interventions : data frame or array-like of bool, or sequence of length n_samples, optional
            Which nodes an experimenter set in each row, as for `GaussianBNLearner.fit`. A node is
            regressed on its parents in the rows in which it was not set.
        groups : array-like of shape (n_samples,), optional
            The person, site or other cluster of each row, whose rows may depend on each other. It
            changes no parameter, but the standard errors of `to_frame` and `effect`. A Series is
            matched by its index.

        Returns
        -------
        self : GaussianBayesianNetwork

        Raises
        ------
        ValueError, TypeError
            If X is not such a table, or a category has a level that `blocks` lack; if the
            likelihood is unbounded, because a node has too many parents for the number of rows, or
            a column is constant or depends linearly on others; if all rows are in one of the
            groups, or there are groups and missing values.

        Notes
        -----
        The variance of a child's noise is the residual sum of squares of its regression divided by
        the number of rows. With missing values, EM finds the parameters, without standard errors.

        With `groups` standard errors are the sandwich by clusters of Liang & Zeger (1986),
        "Longitudinal data analysis using generalized linear models", with Stata's factor
        ``g / (g - 1) * (n - 1) / (n - k - 1)`` and g - 1 degrees of freedom, for g groups. It needs
        many groups, some twenty or more.

        Examples
        --------
        >>> import networkx as nx
        >>> from skbn import GaussianBayesianNetwork
        >>> network = GaussianBayesianNetwork(nx.DiGraph([("a", "b")]))
        >>> network.fit([[0, 1], [1, 3], [2, 5.3]]).coef_.round(2)
        array([[0.  , 2.15],
               [0.  , 0.  ]])
        """
        network = copy(self)
        network._blocks = self._nodes_in(X)
        sample, is_set = network._rows_and_set(X, sample_weight, interventions)
        sample, graph = sample.counted(sample_weight), network._graph_of_columns()
        statistics = clusters = None
        if sample.is_complete:
            model, statistics = estimation.by_least_squares(sample, is_set, graph)
            if groups is not None:
                clusters = cluster_errors(sample, is_set, graph.blocks, model.parents, groups)
        elif groups is not None:
            raise ValueError(
                "groups change standard errors, which are not known with missing values. Leave "
                "groups out, or pass them to BootstrapBNLearner.fit and take its effects."
            )
        else:
            model = estimation.by_em(sample, is_set, graph)
        network._learn(model, None, statistics, clusters)
        self.__dict__.update(vars(network))  # in one step, which Ctrl-C cannot interrupt
        return self

    # Parameters

    @property
    def nodes_(self) -> dict[Hashable, list[Any]]:
        """The names of each node's columns."""
        blocks = self._blocks
        names = blocks.column_names
        return {
            node: [names[i] for i in blocks.columns_of([v])] for v, node in enumerate(blocks.names)
        }

    @property
    def columns_(self) -> GaussianBayesianNetwork:
        """The network of the columns, with its parameters."""
        return GaussianBayesianNetwork._from_model(self._model())

    @property
    def coef_(self) -> Floats:
        """The edges' weights, shape (m, m): ``coef_[i, j]`` for i -> j, or 0."""
        return self._model().coef.copy()

    @property
    def intercept_(self) -> Floats:
        """The nodes' intercepts, shape (m,)."""
        return self._model().intercept.copy()

    @property
    def noise_variance_(self) -> Floats:
        """The variances of the nodes' noise, shape (m,)."""
        return self._model().noise_variance.copy()

    @property
    def r2_(self) -> dict[Hashable, float]:
        """The share of each node's variance that its parents explain, R2, by the network itself.

        Nodes of several columns have that of the generalised variance. Exogenous nodes have NaN,
        and so have nodes that depend on several of these, unless `fit` or a learner has seen how
        they vary together.
        """
        shares = descriptions.r2(
            self._model(), self._blocks, self._groups, range(len(self._blocks.names))
        )
        return dict(zip(self._blocks.names, shares.values(), strict=True))

    @property
    def mean_(self) -> Floats:
        """The nodes' joint mean, shape (m,); a ValueError if nodes are exogenous."""
        model = self._model()
        model.require_distribution()
        return model.mean.copy()

    @property
    def covariance_(self) -> Floats:
        """The nodes' joint covariance, shape (m, m); raises as `mean_`, and out of range."""
        return self._model().covariance()

    # Structure

    @property
    def nodes(self) -> list[Hashable]:
        """The nodes, in the order of the graph, or by number if they are 0 to m - 1."""
        return [*self._graph.nodes]

    @property
    def exogenous(self) -> list[Hashable]:
        """The exogenous nodes: they may be parents, and have neither parents nor a distribution."""
        return [self._graph.nodes[v] for v in self._graph.exogenous]

    def cpdag(self, *, knowledge: bool = True, targets: Any = None) -> nx.DiGraph:
        """Return the graph of the network's equivalence class, its CPDAG.

        Parameters
        ----------
        knowledge : bool, default=True
            Whether to leave out networks of the class that reverse an edge with the attribute
            `fixed`. A learner marks the edges whose reverse its tiers, required and forbidden edges
            rule out, and those that its interventions direct. False takes the whole class: what the
            independences say.
        targets : list of nodes or of tuples of nodes, optional
            What was set together in each intervention, as `GaussianBNLearner.targets_` has it. An
            edge then has its direction in all members if just one of its ends is among some
            targets: the interventional essential graph.

        Returns
        -------
        cpdag : networkx.DiGraph
            One edge for each pair that is joined. Its attribute `undirected` is True if some
            network of the class reverses it. Such edges point as in the canonical member of the
            class, so that the graph is acyclic. Equivalent networks with the same nodes in the
            same order, and the same knowledge, have equal graphs.

        Notes
        -----
        This is the completed partially directed acyclic graph of Chickering (2002), "Learning
        equivalence classes of Bayesian-network structures". With knowledge it is the
        maximally oriented graph of Meek (1995), "Causal inference and causal explanation with
        background knowledge". `max_parents` is not knowledge about directions: networks of the
        class may have more parents.

        Examples
        --------
        >>> import networkx as nx
        >>> from skbn import GaussianBayesianNetwork
        >>> network = GaussianBayesianNetwork(nx.DiGraph([("b", "a"), ("b", "c")]))
        >>> list(network.cpdag().edges(data="undirected"))
        [('b', 'a', True), ('b', 'c', True)]

        If a comes before b, then b comes before c: otherwise c would be another cause of b that
        is independent of a.

        >>> known = GaussianBayesianNetwork(nx.DiGraph([("a", "b", {"fixed": True}), ("b", "c")]))
        >>> list(known.cpdag().edges(data="undirected"))
        [('a', 'b', False), ('b', 'c', False)]

        Rows in which an experimenter set a, and not b, tell the direction of their edge.

        >>> list(network.cpdag(targets=["a"]).edges(data="undirected"))
        [('b', 'a', False), ('b', 'c', True)]
        """
        dag = self._structure()
        directed = equivalence.directed_by(targets, dag)
        if knowledge:
            directed = list(map(or_, directed, self._graph.fixed))
        return equivalence.cpdag(dag, directed)

    def compare(
        self, other: GaussianBayesianNetwork | nx.DiGraph, *, targets: Any = None
    ) -> NetworkComparison:
        """Return in which edges this network differs from another, such as the true one.

        Parameters
        ----------
        other : GaussianBayesianNetwork or networkx.DiGraph
            On the same nodes, in any order.
        targets : list of nodes or of tuples of nodes, optional
            As in `cpdag`, for the classes of both networks.

        Returns
        -------
        comparison : NetworkComparison
            Its lists `missing` (edges of `other` that this network lacks), `extra` and `reversed`,
            and `undirected` and `cpdag_reversed` of the CPDAGs. `distance` and `cpdag_distance` are
            structural Hamming distances, and `is_equivalent` says whether the CPDAGs are the same.
            ``print(comparison)`` writes all of it, and `plot` draws it. If both networks were
            fitted, to different tables, the text warns that two best networks also differ by
            chance: whether groups differ is a question for their evidence, as the guide's section
            "Two groups" shows.

        Raises
        ------
        TypeError, ValueError
            If `other` is not an acyclic graph on these nodes.

        Notes
        -----
        CPDAGs are compared without knowledge, as ``cpdag(knowledge=False)`` gives them. Their
        distance is that of Tsamardinos, Brown & Aliferis (2006), "The max-min hill-climbing
        Bayesian network structure learning algorithm".

        Examples
        --------
        >>> import networkx as nx
        >>> from skbn import GaussianBayesianNetwork
        >>> network = GaussianBayesianNetwork(nx.DiGraph([("a", "b"), ("b", "c")]))
        >>> comparison = network.compare(nx.DiGraph([("b", "a"), ("b", "c"), ("a", "c")]))
        >>> comparison.missing, comparison.extra, comparison.reversed
        ([('a', 'c')], [], [('b', 'a')])
        >>> comparison.distance, comparison.cpdag_distance, comparison.is_equivalent
        (2, 1, False)
        """
        dag = self._structure()
        graph = _graph_on_same_nodes(other, dag)
        # If both networks know the statistics of their rows: are the rows different?
        both = self._groups, getattr(other, "_groups", None)
        tables = [each[0].statistics for each in both if each]
        sums = {(each.n_samples, *sorted(each.mean)) for each in tables}
        return NetworkComparison(dag, graph, targets, len(sums) > 1)

    def markov_blanket(self, node: Hashable) -> list[Hashable]:
        """Return the nodes that separate a node from all others.

        Parameters
        ----------
        node : a node of the network

        Returns
        -------
        markov_blanket : list of nodes
            Its parents, its children and their other parents, in node order (Pearl 1988,
            "Probabilistic reasoning in intelligent systems", section 3.3).

        Raises
        ------
        TypeError, ValueError
            If there is no such node.

        See Also
        --------
        MarkovBlanketSelector : The same in a pipeline.

        Examples
        --------
        >>> import networkx as nx
        >>> from skbn import GaussianBayesianNetwork
        >>> dag = nx.DiGraph([("a", "c"), ("b", "c"), ("c", "d")])
        >>> GaussianBayesianNetwork(dag).markov_blanket("a")
        ['c', 'b']
        """
        moral_graph = nx.moral_graph(self._structure())
        reject_unknown([node], list(moral_graph), "node")
        return [other for other in moral_graph if other in moral_graph[node]]

    # Density

    def score_samples(self, X: Any) -> Floats:
        """Return the log density of each row, or of what is observed in it.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, m), or LocalScores
            As in `fit`, but values may be missing: they are integrated out, and a row without any
            value has log density 0. A row with a level that `fit` did not see has NaN, and there
            is a warning.

        Returns
        -------
        log_density : ndarray of shape (n_samples,), float64, nats
            By the joint Gaussian of all columns: for categories, of their indicators.

        Raises
        ------
        ValueError, TypeError
            If X is not such a table; if a node has no noise, as after `do`.

        Examples
        --------
        >>> import networkx as nx
        >>> from skbn import GaussianBayesianNetwork
        >>> dag = nx.DiGraph()
        >>> dag.add_node("a", intercept=0, noise_variance=1)
        >>> GaussianBayesianNetwork(dag).score_samples([[0], [2]]).round(4)
        array([-0.9189, -2.9189])
        """
        unseen = set[int]()
        log_density = self._model().log_density(self._rows_of(X, unseen=unseen))
        log_density[[*unseen]] = np.nan
        return log_density

    def score(
        self, X: Any, y: Any = None, sample_weight: Any = None, interventions: Any = None
    ) -> float:
        """Return the mean log density of a row, in nats; larger is better.

        Rows without a value that counts, because all are missing, were set or are exogenous, are
        left out of the mean.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, m), or LocalScores
            As in `score_samples`. LocalScores need no rows, and dask tables need not fit in memory.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            As in `fit`.
        interventions : data frame or array-like of bool, or sequence of length n_samples, optional
            As in `fit`. The density of a row is then that of the other nodes, given those that were
            set.

        Returns
        -------
        score : float, nats

        Raises
        ------
        ValueError, TypeError
            As `score_samples`.

        Examples
        --------
        >>> import networkx as nx
        >>> from sklearn.datasets import load_wine
        >>> from sklearn.model_selection import cross_val_score
        >>> from skbn import GaussianBayesianNetwork
        >>> wine = load_wine(as_frame=True).data
        >>> dag = nx.DiGraph([("alcohol", "proline")])
        >>> cross_val_score(GaussianBayesianNetwork(dag), wine).mean().round(2)
        np.float64(-8.58)
        """
        model, (sample, is_set) = self._model(), self._rows_and_set(X, sample_weight, interventions)
        return model.mean_log_density(sample, self._set_columns(is_set))

    # Samples, conditional distributions, predictions and interventions

    def sample(self, n_samples: int = 1, random_state: Any = None, *, exogenous: Any = None) -> Any:
        """Draw rows from the network.

        Parameters
        ----------
        n_samples : int, default=1
        random_state : int, RandomState, Generator or None, default=None
            A seed or a generator of numpy.random. With a number, each call draws the same rows.
        exogenous : array-like or data frame of shape (n, k), optional
            For a network with exogenous nodes: their values, in columns found by name or by
            position. One row is drawn for each. ``network.do({"dose": 2}).sample(100)`` draws 100
            rows with the same value.

        Returns
        -------
        rows : ndarray of shape (n_samples, m), float64
            The nodes in their order. If all nodes are strings, `set_output` makes it a data
            frame. A category has a column for each level's indicator, as in `nodes_`: Gaussian
            numbers, as the network has them, and no levels. `fit` takes them back.

        Raises
        ------
        TypeError, ValueError, ImportError
            If `n_samples` is not a positive integer, or `random_state` not one of these; if a mean
            or a variance is out of float64's range; if values of exogenous nodes are lacking, or
            given without need; if pandas or polars, asked for by `set_output`, is not installed.

        Examples
        --------
        >>> import networkx as nx
        >>> from skbn import GaussianBayesianNetwork
        >>> dag = nx.DiGraph([("a", "b")])
        >>> network = GaussianBayesianNetwork(dag).fit([[0, 1], [1, 3], [2, 5.3]])
        >>> network.sample(5, random_state=0).shape
        (5, 2)
        """
        check_scalar(n_samples, "n_samples", Integral, min_val=1)
        model, values = self._model(), None
        if exogenous is None:
            gaussian.require_exogenous_values(self.exogenous, ())
        else:
            values = explained(
                lambda: self._exogenous_values(exogenous),
                lambda error: f"The table of exogenous values cannot be used: {error}",
            )
        return inference.sample(model, n_samples, random_state, self._output_container, values)

    def _exogenous_values(self, X: Any) -> Floats:
        """Return the values of the exogenous nodes' columns in what `sample` is given."""
        if not self.exogenous:
            raise ValueError("exogenous was given, but the network has no exogenous nodes.")
        if isinstance(X, Mapping):
            raise TypeError(
                "exogenous must be a table with a column for each exogenous node and a row for "
                f"each row to draw; got {readable_value(X)}. Pass pandas.DataFrame(exogenous)."
            )
        return encoded_rows(self._blocks.select_nodes(self._graph.exogenous), Table(X))

    def set_output(self, *, transform: str | None = None) -> Self:
        """Set the container in which `sample` returns its rows.

        It is a data frame only if all nodes are strings. `sklearn.base.clone` and `do` keep the
        setting. The results of `predict` and `residuals` have the container of the table that they
        are given.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, optional
            Named as by scikit-learn's transformers. "default" is a NumPy array, None leaves the
            setting as it is. Before the first call, ``sklearn.set_config(transform_output=...)``
            applies.

        Returns
        -------
        self : GaussianBayesianNetwork

        Raises
        ------
        ValueError
            If it is another container.

        Examples
        --------
        >>> import networkx as nx
        >>> from skbn import GaussianBayesianNetwork
        >>> dag = nx.DiGraph()
        >>> dag.add_node("dose", intercept=1.0, noise_variance=0.0)
        >>> GaussianBayesianNetwork(dag).set_output(transform="pandas").sample(2)
           dose
        0   1.0
        1   1.0
        """
        if transform is not None:
            check_values("set_output", inference.CONTAINERS, {"transform": transform})
            self._output_container = transform
        return self

    def __getitem__(self, node: Any) -> Any:
        """Return the marginal of a node, or the joint distribution of a list of nodes.

        The values of other nodes are not known: it is ``network.condition({})[node]``.
        """
        return self.condition({})[node]

    def condition(self, evidence: Mapping[Hashable, Any]) -> GaussianDistribution:
        """Return the distribution of the other nodes, given the values of some.

        Parameters
        ----------
        evidence : dict of node to float or array of floats, or pandas.Series
            It may be empty. If it names all nodes, the result has none. A value that is None, NaN
            or pandas.NA gives nothing. Arrays or lists have a value for each of k scenarios, and
            all have the same length; a single value holds in all scenarios. A tuple (low, high) is
            an interval in which the value is known to lie, such as ``(3, inf)``. A category is
            given by a level, another node of several columns by a list of their values, or by one
            of shape (k, n_columns).

        Returns
        -------
        distribution : GaussianDistribution
            Its attributes are `nodes`, in their order, `mean`, `covariance` and
            `standard_deviation`. ``distribution["ash"]`` is the mean and the standard deviation
            of one node. It is displayed as a table, and has `to_frame`. For k scenarios the means
            have a row for each. A category has a dict of level to probability, another
            node of several columns their joint distribution.

        Raises
        ------
        TypeError, ValueError
            If `evidence` is not a dict or a series; if there is no such node or level, a value is
            not a finite number, or the lengths of arrays differ; if a node cannot be given, because
            the network or the other evidence determines its value; if a mean or a variance is out
            of float64's range.

        Examples
        --------
        >>> import networkx as nx
        >>> from skbn import GaussianBayesianNetwork
        >>> dag = nx.DiGraph()
        >>> dag.add_nodes_from("ab", intercept=0, noise_variance=1)
        >>> dag.add_edge("a", "b", weight=1)
        >>> network = GaussianBayesianNetwork(dag)
        >>> mean, deviation = network.condition({"b": 3})["a"]
        >>> round(mean, 3), round(deviation, 3)
        (1.5, 0.707)
        >>> network.condition({"b": [0, 2, 4]})["a"].mean.round(3)
        array([0., 1., 2.])
        """
        model = self._model()
        known, blocks = known_values(evidence, self.nodes, "evidence"), self._blocks
        singles = {node for node, own in self.nodes_.items() if [node] == own}
        intervals = {v: known[v] for v in known if v in singles and isinstance(known[v], tuple)}
        known = {v: value for v, value in known.items() if v not in intervals}
        values = inference.values_of_columns(known, blocks, "evidence")
        gaussian.require_exogenous_values(self.exogenous, known)
        found = inference.condition(model, blocks, values)
        return inference.within(found, intervals) if intervals else found

    def predict(
        self, X: Any, target: Any = None, given: Any = None, *, return_std: bool = False
    ) -> Any:
        """Predict nodes from others, row by row, by conditional means and probabilities of levels.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_columns), or LocalScores
            Numbers in the columns that are given; others may hold anything. Values that are missing
            in a row are not used for it. A row with a level that `fit` did not see gets NaN, with a
            warning.
        target : node or list of nodes, optional
            The nodes to predict; by default all that are not given.
        given : node or list of nodes, optional
            The nodes to predict from. If the columns' names are strings, the default is all columns
            that are nodes and not targets. Otherwise X must have m columns, the nodes in their
            order, and the default is all except the targets; for fewer columns, name a node for
            each, which they are in the network's order. Nodes without variance, such as those that
            `do` has set, carry no information and are left out by default.
        return_std : bool, default=False
            Whether to return standard deviations too.

        Returns
        -------
        mean : ndarray of shape (n_samples, n_targets) or (n_samples,)
            A vector if `target` is a single node and not a list. For a pandas data frame, a
            data frame or a series with its index. For a category there is a column for each level,
            the first included: probabilities, which add up to 1. A data frame names them
            ``"node=level"``, or by the levels alone if the category is the only target.
        std : the same, if `return_std`
            The standard deviations of the values about these means, by the network's parameters,
            whose errors they leave out. For a level of probability p, sqrt(p (1 - p)).

        Raises
        ------
        ValueError, TypeError
            If X is not such a table; if a name is not a node, comes twice, or is both given
            and predicted; if no node is left to predict or to predict from; as `condition`.

        Examples
        --------
        >>> import networkx as nx
        >>> from skbn import GaussianBayesianNetwork
        >>> dag = nx.DiGraph()
        >>> dag.add_nodes_from("abc", intercept=0, noise_variance=1)
        >>> dag.add_weighted_edges_from([("a", "b", 1), ("b", "c", 2)])
        >>> network = GaussianBayesianNetwork(dag)
        >>> network.predict([[1], [2]], given="a")
        array([[1., 2.],
               [2., 4.]])
        >>> network.predict([[1, 1, 9], [2, 3, 9]], target="c").round(6)
        array([2., 6.])
        """
        of_network = self._model(), self._blocks, self.exogenous
        return inference.predict(*of_network, X, target, given, return_std)

    def impute(self, X: Any) -> Any:
        """Return a table with its missing values filled by their conditional means.

        The values that are observed in a row predict those that are missing. They are expected
        values, which vary less than the missing ones; `sample_missing` draws, and
        `GaussianBNImputer` does the same in a pipeline.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_columns), or LocalScores
            The columns of the nodes, found as in `predict`.

        Returns
        -------
        filled : data frame or ndarray of the shape of X
            For a data frame of pandas or polars, one with the same columns; those that are no nodes
            are left as they are. Observed values keep every bit. A missing level of a category
            becomes the most probable one.

        Raises
        ------
        ValueError, TypeError
            If X is not such a table.

        Examples
        --------
        >>> import networkx as nx
        >>> from skbn import GaussianBayesianNetwork
        >>> dag = nx.DiGraph()
        >>> dag.add_nodes_from("ab", intercept=0, noise_variance=1)
        >>> dag.add_edge("a", "b", weight=2)
        >>> GaussianBayesianNetwork(dag).impute([[1, None], [None, 5], [3, 4]])
        array([[1., 2.],
               [2., 5.],
               [3., 4.]])
        """
        return self._filled(X)

    def sample_missing(self, X: Any, random_state: Any = None) -> Any:
        """Return a table with its missing values drawn from their conditional distribution.

        All missing values of a row are drawn together, given what is observed in it.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_columns), or LocalScores
            As in `impute`.
        random_state : int, RandomState, Generator or None, default=None

        Returns
        -------
        filled : data frame or ndarray of the shape of X
            As `impute` returns. A category gets a level drawn by the levels' probabilities.

        Raises
        ------
        ValueError, TypeError
            If X is not such a table.

        Examples
        --------
        >>> import networkx as nx
        >>> from skbn import GaussianBayesianNetwork
        >>> dag = nx.DiGraph()
        >>> dag.add_nodes_from("ab", intercept=0, noise_variance=1)
        >>> dag.add_edge("a", "b", weight=2)
        >>> GaussianBayesianNetwork(dag).sample_missing([[1, None]], random_state=0).round(2)
        array([[1. , 2.4]])
        """
        return self._filled(X, random_generator(random_state))

    def _filled(self, X: Any, rng: Random | None = None) -> Any:
        """Return a table with its holes filled by expected values, or by draws."""
        rows = self._rows_of(X)
        holes = np.flatnonzero(np.isnan(rows).any(axis=0)).tolist()
        return inference.with_values(
            X, self._blocks, inference.filled(self._model(), self._blocks, rows, rng), holes
        )

    def residuals(self, X: Any) -> Any:
        """Return the difference of each value from what the node's parents predict.

        The prediction is the intercept plus each parent times the weight of its edge; without
        parents, the node's mean. If the network is right, the residuals are Gaussian, of mean 0 and
        the variance `noise_variance_`, and independent of each other. `ResidualsDisplay` draws
        them.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, m), or LocalScores
            As in `fit`.

        Returns
        -------
        residuals : ndarray or pandas.DataFrame of shape (n_samples, m), float64
            A column for each node, in the order of `nodes` and in the node's units, or one for each
            column of a node that has several; 0 for exogenous nodes. For a pandas data frame, a
            data frame with its index.

        Raises
        ------
        ValueError, TypeError
            If X is not such a table; if a residual is out of float64's range.

        Examples
        --------
        >>> import networkx as nx
        >>> from skbn import GaussianBayesianNetwork
        >>> dag = nx.DiGraph()
        >>> dag.add_nodes_from("ab", intercept=1, noise_variance=1)
        >>> dag.add_edge("a", "b", weight=2)
        >>> GaussianBayesianNetwork(dag).residuals([[1, 3], [2, 4]])
        array([[ 0.,  0.],
               [ 1., -1.]])
        """
        return inference.residuals(self._model(), self._rows_of(X, may_miss=False), X)

    def anomalies(self, X: Any, *, in_fit: bool = False) -> Anomalies:
        """Return which rows, and which of their values, do not follow the network.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, m), or LocalScores
            As in `score_samples`; values may be missing, and whole columns of a data frame of
            pandas or polars. What cannot be judged is NaN.
        in_fit : bool, default=False
            Whether the network was fitted to these rows. Each is then judged by a fit without it.
            By default the rows are new ones.

        Returns
        -------
        anomalies : Anomalies
            Its `p_values` are of each value given its parents, adjusted for the number of values;
            `row_p_values` are of rows. `residuals`, `given_others` and `log_density` say how far
            off they are, and `to_frame` lists those that stand out.

        Raises
        ------
        ValueError, TypeError
            If X is not such a table; if a node has no noise, as after `do`; if `in_fit` is True,
            and the network does not know the rows of its fit by least squares.

        Notes
        -----
        The p-values are right if the network is: its edges, linear equations and Gaussian noise.
        After `fit`, and in networks of a learner without a prior, the errors of the weights are
        taken into account, but not those of the structure. The adjustment is Šidák's (1967,
        "Rectangular confidence regions for the means of multivariate normal distributions").

        A wrong value also distorts the residuals of its children. `given_others` tells which column
        is wrong: it has the largest value of its row.

        Examples
        --------
        >>> import networkx as nx
        >>> from skbn import GaussianBayesianNetwork
        >>> dag = nx.DiGraph()
        >>> dag.add_nodes_from("ab", intercept=0, noise_variance=1)
        >>> dag.add_edge("a", "b", weight=2)
        >>> found = GaussianBayesianNetwork(dag).anomalies([[0, 0.5], [1, 9], [0.1, -1]])
        >>> found
        <Anomalies: 1 of 6 cells, in 1 of 3 rows, have p-values up to 0.05>
        >>> found.residuals
        array([[ 0. ,  0.5],
               [ 1. ,  7. ],
               [ 0.1, -1.2]])
        """
        return self._anomalies(X, [self._model()], self._groups, in_fit=in_fit)

    def _anomalies(
        self,
        X: Any,
        models: Sequence[LinearGaussianModel],
        groups: Groups | None = None,
        *,
        in_fit: bool = False,
    ) -> Anomalies:
        """Return what does not follow these models of the network's nodes."""
        nodes, unseen = self._blocks, set[int]()
        if not {*nodes.column_names} <= {*(Table(X).names or ())}:
            X = containers.with_columns(X, nodes.labels)
        rows = self._rows_of(X, unseen=unseen)
        how: Any = {"in_fit": in_fit, "nodes": nodes, "unseen": [*unseen]}
        return anomalies.anomalies(models, rows, X, groups, **how)

    @overload
    def do(self, interventions: Mapping[Hashable, float | str | bool]) -> Self: ...
    @overload
    def do(self, interventions: Mapping[Hashable, Any]) -> Any: ...
    def do(self, interventions: Mapping[Hashable, Any]) -> Any:
        """Return the network after nodes are set to values from outside.

        These nodes lose their parents and their noise. Everything else stays as it is.

        Parameters
        ----------
        interventions : dict of node to float or array of floats, or pandas.Series
            As in `condition`, but no value may be missing.

        Returns
        -------
        network : GaussianBayesianNetwork, or GaussianDistribution if there are arrays
            It has no density, because some nodes have no noise. ``network["ash"]`` is the mean
            and the standard deviation of a node. With arrays, it is the joint distribution of the
            nodes in each scenario, which has the means in rows.

        Raises
        ------
        TypeError, ValueError
            As `condition`; for arrays, if nodes that are not set are exogenous.

        Notes
        -----
        This is the truncated factorisation of Pearl (2009), "Causality", section 3.2. It is the
        effect of an intervention if the edges are causes and no common cause of nodes is left
        out. Data alone do not tell equivalent networks apart.

        Examples
        --------
        >>> import networkx as nx
        >>> from skbn import GaussianBayesianNetwork
        >>> dag = nx.DiGraph()
        >>> dag.add_nodes_from("ab", intercept=0, noise_variance=1)
        >>> dag.add_edge("a", "b", weight=2)
        >>> network = GaussianBayesianNetwork(dag)
        >>> network.do({"a": 1})["b"].mean, network.do({"b": 1})["a"].mean
        (2.0, 0.0)
        >>> network.do({"a": [0, 1, 2]})["b"].mean
        array([0., 2., 4.])
        """
        model, blocks = self._model(), self._blocks
        values = inference.values_of_columns(interventions, blocks, "interventions")
        if any(isinstance(each, np.ndarray) for each in values.values()):
            return inference.do(model, blocks, values)
        network = self._from_model(model.do(values), blocks)
        network._output_container = self._output_container
        return network

    def counterfactual(self, X: Any, do: Mapping[Hashable, Any]) -> Any:
        """Return rows as they would have been, had nodes been set to other values.

        Each row keeps its own noise, its residuals. `do` instead says how new rows are distributed.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, m), or LocalScores
            As in `fit`.
        do : dict of node to float, level or array-like of shape (n_samples,), or pandas.Series
            The value of a node in all rows, or in each; a level of a category. Values in a pandas
            Series are matched to the rows of a pandas data frame by label.

        Returns
        -------
        changed : data frame or ndarray of the shape of X
            For a data frame of pandas or polars, one with the same columns; those that are no nodes
            are left as they are. Values that do not change keep every bit. In rows with missing
            values, changed values are expected values given the others; missing values that nothing
            changes stay missing. A category has the level nearest to what its linear equations say.

        Raises
        ------
        ValueError, TypeError
            If X is not such a table; if there is no such node, or a value is not a finite number;
            if a result is out of float64's range.

        See Also
        --------
        skbn.io.to_dowhy : Counterfactuals by dowhy, and attributions.

        Notes
        -----
        Abduction, action and prediction (Pearl 2009, "Causality", section 7.1). The answer is right
        if the edges are causes, no common cause of nodes is left out and the *equations* hold for
        each single row. The rows cannot show this: equivalent networks fit them equally well, and
        give other answers.

        Examples
        --------
        >>> import networkx as nx
        >>> from skbn import GaussianBayesianNetwork
        >>> dag = nx.DiGraph()
        >>> dag.add_nodes_from("ab", intercept=0, noise_variance=1)
        >>> dag.add_edge("a", "b", weight=2)
        >>> GaussianBayesianNetwork(dag).counterfactual([[1, 2.5], [3, 4]], do={"a": 2})
        array([[2. , 4.5],
               [2. , 2. ]])
        """
        return effects.counterfactual(self._model(), self._blocks, X, do)

    # Effects

    def total_effect(self, cause: Hashable, outcome: Hashable) -> float:
        """Return by how much an outcome's mean rises when a cause is raised by one unit.

        Parameters
        ----------
        cause, outcome : two nodes of the network
            A node of several columns is given by one of these, of which the others are held. A
            category as a cause is a tuple of the node and two levels, from the first to the second;
            as an outcome it is a tuple of the node and a level, whose linear probability changes.
            If it has two levels, its name is enough.

        Returns
        -------
        effect : float
            In the outcome's unit per unit of the cause; 0 without a directed path.

        Raises
        ------
        ValueError
            If cause and outcome are not two different nodes; if an effect is out of float64's
            range.

        See Also
        --------
        effect : The same with a standard error.
        class_effects : The effects in all equivalent networks, which fit as well.
        GaussianBNPosterior.effect : Its posterior, averaged over networks.

        Notes
        -----
        It is the effect of `do`, and right as that is.

        Examples
        --------
        >>> import networkx as nx
        >>> from skbn import GaussianBayesianNetwork
        >>> dag = nx.DiGraph()
        >>> dag.add_nodes_from("abc", intercept=0, noise_variance=1)
        >>> dag.add_weighted_edges_from([("a", "b", 2), ("b", "c", 3), ("a", "c", 1)])
        >>> GaussianBayesianNetwork(dag).total_effect("a", "c")
        7.0
        """
        model, blocks = self._model(), self._blocks
        change, reading = effects.change_and_reading(blocks, cause, outcome)
        return float(effects.total_effects(model, blocks, [change], [reading])[0, 0])

    def effects(self) -> Any:
        """Return a table of the total effects of all nodes on their descendants.

        Returns
        -------
        table : pandas.DataFrame
            A row for each pair that a directed path joins, with the columns `cause`, `outcome`,
            `total`, `direct` (the weight of the edge between them, or 0), `indirect` (what goes
            through other nodes) and `n_paths`. Without pandas, a dict of these columns that is
            displayed as a table.

        Raises
        ------
        ValueError
            If an effect is out of float64's range.

        Examples
        --------
        >>> import networkx as nx
        >>> from skbn import GaussianBayesianNetwork
        >>> dag = nx.DiGraph()
        >>> dag.add_nodes_from("abc", intercept=0, noise_variance=1)
        >>> dag.add_weighted_edges_from([("a", "b", 2), ("b", "c", 3), ("a", "c", 1)])
        >>> print(GaussianBayesianNetwork(dag).effects().to_string(index=False))
        cause outcome  total  direct  indirect  n_paths
            a       b    2.0     2.0       0.0        1
            a       c    7.0     1.0       6.0        2
            b       c    3.0     3.0       0.0        1
        """
        return frame_of(effects.effect_columns(self._model(), self._blocks))

    def effect(self, cause: Any, outcome: Any) -> EffectEstimate:
        """Return the total effect of an intervention on an outcome, with its standard error.

        It takes the graph as given. It ignores that a search chose the graph from the same rows,
        and that equivalent networks have other effects. `GaussianBNPosterior.effect`,
        `BootstrapBNLearner.effect` and `NearOptimalNetworks.effect` return the same kind of result,
        for several networks.

        Parameters
        ----------
        cause : node, or dict of node to change
            What is set. A node stands for a change by 1. In a dict, several nodes may be set at
            once, each to a value larger by a number, or from one value to another by a tuple:
            ``{"dose": 2.0, "ward": ("east", "west")}``. Categories need the latter.
        outcome : node, or (category, level)
            For a level of a category, the effect is on its probability.

        Returns
        -------
        effect : EffectEstimate
            Its `mean` is the effect, and `std` the standard error by the delta method; NaN if the
            parameters are not known to be least squares of observed rows (see `to_frame`), as after
            EM: take `effect` of a `BootstrapBNLearner` or `GaussianBNPosterior` then. `interval` is
            Student's.

        Raises
        ------
        ValueError, TypeError
            If there is no such node or level; if cause and outcome share a node; if a category
            comes without two levels, or as an outcome without one.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from skbn import GaussianBNLearner
        >>> wine = load_wine(as_frame=True).data[["alcohol", "proline", "hue", "ash"]]
        >>> network = GaussianBNLearner().fit(wine).network_
        >>> effect = network.effect({"alcohol": 1.0, "hue": -0.1}, "proline")
        >>> round(effect.mean, 1), round(effect.std, 1)
        (218.5, 21.7)
        """
        asked = effect_estimates.read_intervention(self._blocks, cause, outcome)
        return effect_estimates.mixture(asked, [self._effect_of(asked)], "this graph")

    def _effect_of(self, asked: Intervention, *, of_class: bool = False) -> EffectParts:
        """Return what the network, or its equivalence class, says of an effect."""
        known = self._model(), self._groups, asked
        if of_class:
            return effect_estimates.class_effects(*known)
        return effect_estimates.effect_parts(*known, self._clusters)

    def path_effects(self, cause: Hashable, outcome: Hashable) -> Any:
        """Return a table of the parts of a total effect along each directed path.

        Parameters
        ----------
        cause, outcome : two nodes of the network

        Returns
        -------
        table : pandas.DataFrame
            A row for each path, the shortest first, with the columns `path` (a list of nodes) and
            `effect` (the product of its weights). They add up to `total_effect`. Without pandas, a
            dict of these columns that is displayed as a table.

        Raises
        ------
        ValueError
            If they are not two nodes; if there are more than 100,000 paths.

        Examples
        --------
        >>> import networkx as nx
        >>> from skbn import GaussianBayesianNetwork
        >>> dag = nx.DiGraph()
        >>> dag.add_nodes_from("abc", intercept=0, noise_variance=1)
        >>> dag.add_weighted_edges_from([("a", "b", 2), ("b", "c", 3), ("a", "c", 1)])
        >>> print(GaussianBayesianNetwork(dag).path_effects("a", "c").to_string(index=False))
             path  effect
           [a, c]     1.0
        [a, b, c]     6.0
        """
        return frame_of(effects.path_columns(self._model(), self._blocks, cause, outcome))

    def class_effects(self, cause: Hashable, outcome: Hashable) -> Any:
        """Return a table of the total effects in all members of the network's equivalence class.

        The rows cannot tell these networks apart, so they cannot rule out any of these effects.
        Members that lack an edge with the attribute `fixed` are left out, as in `cpdag`.

        Parameters
        ----------
        cause, outcome : two nodes of the network

        Returns
        -------
        table : pandas.DataFrame
            A row for each set of parents that the cause has in some member, the most frequent
            first, with the columns `effect`, `n_members` and `adjusted_for`, the list of
            the parents. Without pandas, a dict of these columns that is displayed as a table.

        Raises
        ------
        ValueError
            If they are not two nodes; if a node has no noise, as after `do`; if the cause may have
            more than 8192 sets of parents.

        Notes
        -----
        This is IDA (Maathuis, Kalisch & Bühlmann 2009, "Estimating high-dimensional intervention
        effects from observational data"), for a class that was found in any way. `n_members` is
        exact, although members are not listed. Each effect is the cause's coefficient in the
        regression of the outcome on the cause and these parents, by the covariance of the network,
        as in any of these members fitted to the same rows by maximum likelihood. pcalg's `ida`
        takes the covariance of the rows instead, so that its effects differ slightly.

        Examples
        --------
        >>> import networkx as nx
        >>> from skbn import GaussianBayesianNetwork
        >>> dag = nx.DiGraph()
        >>> dag.add_nodes_from("abc", intercept=0, noise_variance=1)
        >>> dag.add_weighted_edges_from([("a", "b", 2), ("b", "c", 3)])
        >>> network = GaussianBayesianNetwork(dag)
        >>> print(network.class_effects("b", "c").round(6).to_string(index=False))
         effect  n_members adjusted_for
            3.0          1           []
            3.0          1          [a]
            0.0          1          [c]
        """
        nodes = self._blocks
        asked = effects.change_and_reading(nodes, cause, outcome)
        return frame_of(effects.class_effect_columns(self._model(), nodes, *asked))

    def adjustment_sets(
        self,
        cause: Any,
        effect: Any,
        *,
        cpdag: bool = False,
        unobserved: Any = (),
        forbidden: Any = (),
    ) -> AdjustmentSets:
        """Return the sets of nodes to adjust for when an effect is estimated by a regression.

        The regression of the effect on the cause and an adjustment set has the total effect as the
        cause's coefficient.

        Parameters
        ----------
        cause, effect : node or list of nodes
            Several causes are changed together.
        cpdag : bool, default=False
            Whether the sets must hold in all equivalent networks, as the graph of `cpdag` has
            them: the rows cannot tell these apart. By default the edges' directions are taken as
            they are.
        unobserved, forbidden : node or list of nodes, optional
            Nodes that no set may have, because they were not measured, or for another reason.

        Returns
        -------
        sets : AdjustmentSets
            The sequence of the minimal sets, each a list of nodes. Its attributes are `minimal`,
            `optimal`, `biasing` and, if a set is missing, the `reason`. It is displayed as text.

        Raises
        ------
        TypeError, ValueError
            If these are not nodes; if a node is cause and effect, or is unobserved and one of them.

        Notes
        -----
        By the generalised adjustment criterion (Perković, Textor, Kalisch & Maathuis 2018,
        "Complete graphical characterization and construction of adjustment sets in Markov
        equivalence classes of ancestral graphs") these are all minimal sets. Among the sets of
        observed nodes, the optimal one has the smallest asymptotic variance whatever the weights
        (Henckel, Perković & Maathuis 2022, "Graphical criteria for efficient total effect
        estimation via adjustment in causal linear models").

        It is what to adjust for if the edges are causes and no common cause of nodes is left out.
        Exogenous nodes may depend on each other in any way. A node of several columns is adjusted
        for by all of them.

        Examples
        --------
        >>> import networkx as nx
        >>> from skbn import GaussianBayesianNetwork
        >>> edges = [("age", "dose"), ("age", "pain"), ("dose", "level"), ("level", "pain")]
        >>> network = GaussianBayesianNetwork(nx.DiGraph([*edges, ("sex", "pain")]))
        >>> network.adjustment_sets("dose", "pain")
        Adjustment sets for the effect of dose on pain
        minimal  {age}
        optimal  {age, sex}
        never    level
        >>> print(network.adjustment_sets("dose", "pain", unobserved="age").reason)
        No set of the other nodes closes the path dose <- age -> pain.
        """
        asked = adjustment.read_adjustment(self._graph, cpdag, cause, effect)
        return adjustment.adjustment_sets(asked, unobserved, forbidden)

    def instruments(
        self, cause: Any, outcome: Any, *, cpdag: bool = False, unobserved: Any = ()
    ) -> list[Instrument]:
        """Return the instruments for the total effect of a cause, where adjustment may not help.

        An instrument z, given a set of nodes to adjust for, depends on the cause x, and on the
        outcome y only through it. So ``cov(z, y) / cov(z, x)``, given the set, is the total effect,
        even if common causes of x and y are unobserved.

        Parameters
        ----------
        cause, outcome : node
        cpdag : bool, default=False
            As in `adjustment_sets`.
        unobserved : node or list of nodes, optional
            Nodes that were not measured: neither instruments nor to adjust for.

        Returns
        -------
        instruments : list of named tuples
            Each has a `node` and the nodes to `adjust_for`, in the order of `nodes`. The list is
            empty if there are none, as with `cpdag` where equivalent networks disagree about the
            effect.

        Raises
        ------
        TypeError, ValueError
            If these are not single nodes, or the same; if one is unobserved.

        Notes
        -----
        They are the ancestral instruments of van der Zander, Textor & Liśkiewicz (2015),
        "Efficiently finding conditional instruments for causal inference": the set has ancestors of
        the instrument and the outcome. Other nodes may be instruments given other sets, but only if
        there is an ancestral one.

        Examples
        --------
        >>> import networkx as nx
        >>> from skbn import GaussianBayesianNetwork
        >>> edges = [("lottery", "school"), ("school", "pay"), ("town", "lottery"), ("town", "pay")]
        >>> hidden = [("talent", "school"), ("talent", "pay")]
        >>> network = GaussianBayesianNetwork(nx.DiGraph([*edges, *hidden]))
        >>> network.instruments("school", "pay", unobserved="talent")
        [Instrument(node='lottery', adjust_for=['town'])]
        """
        asked = adjustment.read_adjustment(self._graph, cpdag, cause, outcome, "outcome")
        return adjustment.instruments(asked, unobserved)

    def is_adjustment_set(
        self, cause: Any, effect: Any, columns: Any, *, cpdag: bool = False
    ) -> bool:
        """Whether a regression that adjusts for these nodes has the cause's total effect.

        Parameters
        ----------
        cause, effect : node or list of nodes
        columns : node or list of nodes
            It may be empty.
        cpdag : bool, default=False
            As in `adjustment_sets`.

        Returns
        -------
        is_adjustment_set : bool

        Raises
        ------
        TypeError, ValueError
            As `adjustment_sets`; if cause or effect is among the columns.

        Examples
        --------
        >>> import networkx as nx
        >>> from skbn import GaussianBayesianNetwork
        >>> network = GaussianBayesianNetwork(nx.DiGraph([("a", "b"), ("b", "c"), ("b", "d")]))
        >>> network.is_adjustment_set("b", "c", ["a"]), network.is_adjustment_set("a", "c", ["d"])
        (True, False)
        """
        asked = adjustment.read_adjustment(self._graph, cpdag, cause, effect)
        return adjustment.is_adjustment_set(asked, columns)

    # A table of the edges

    def to_frame(
        self,
        scores: Any = None,
        *,
        criterion: str | Criterion | None = None,
        confidence: float | None = 0.95,
    ) -> Any:
        """Return a table with a row for each edge, or each coefficient of it.

        The rows are ordered by child and, for each child, by parent, both in the order of `nodes`:
        each regression is a block of rows. Edges of nodes of several columns have a row for each
        pair of columns, as for a level of a category, ``group=b``.

        Parameters
        ----------
        scores : LocalScores, ParentSetScores, or table of shape (n_samples, m), optional
            What to compute `score_loss` from. Not needed for the network of a learner, which knows
            its losses until it is fitted again.
        criterion : {"bic", "aic", "loglik", "ebic", "bge"} or Criterion, optional
            How to score a table; by default the BIC.
        confidence : float or None, default=0.95
            The level of the confidence intervals, between 0 and 1. None leaves out all columns from
            `std_err` on.

        Returns
        -------
        table : pandas.DataFrame
            Without pandas, a dict of the columns that is displayed as a table. The columns are

            - `parent` and `child`: the nodes or, with parameters, their columns
            - `weight` and `standardised_weight`, if the network has parameters. The latter is the
              weight times the parent's standard deviation and divided by the child's, both by the
              network's joint distribution; the weight of a level is divided only. It is NaN if one
              of them does not vary.
            - `score_loss`, if it is known or `scores` are given: by how many nats the score is
              lower without this edge, while all others stay; negative if the network scores
              higher without it, as it may if the edge was required. ParentSetScores may not
              list the smaller set of parents; the child then keeps the best listed subset of it,
              and the loss is infinite if there is none.
            - `reversible`: whether an equivalent network that keeps all edges with the attribute
              `fixed` has the edge reversed. It is undirected in `cpdag`.
            - `probability` and `joined`, or `support` and `strength`, if edges of the graph have
              such attributes, as in a posterior's median network or a bootstrap's: those of the
              edge, and of an edge in either direction. They are NaN for edges without.
            - `std_err`, `t`, `p_value`, `ci_low` and `ci_high`: the standard error of the weight by
              ordinary least squares with n - k - 1 degrees of freedom, for n rows (or the sum of
              their weights) and k parents; the weight divided by it; the two-sided p-value of a
              weight of 0; and the confidence interval. They are there if the weights are known to
              be least squares of observed rows: after `fit`, and in the networks of
              `GaussianBNLearner` and `GaussianBNLearnerCV`, unless the criterion has a prior, as
              BGe has, or values were missing. After a fit with `groups`, they are by clusters.
            - if some node has several columns or levels, for the whole edge: `partial_r2`, the
              share of the child's generalised variance, given its other parents, that this parent
              explains, from 0 to 1; and `edge_p_value`, beside `p_value`, of no coefficient at all,
              by Wilks' lambda, which is not known by clusters.

        Raises
        ------
        TypeError, ValueError
            If the columns of `scores` are not the nodes; if a table does not suit `fit`; if a
            criterion is given for scores that are made already, or for none; if `confidence` is no
            such level.

        Notes
        -----
        Standard errors, p-values and intervals take the structure as given. They ignore that a
        learner searched for the edges in the same rows: its p-values are too small, and its
        intervals too narrow. `GaussianBNPosterior.effects` averages over structures, and
        `BootstrapBNLearner` says how often an edge is found in resampled rows.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from skbn import GaussianBNLearner
        >>> wine = load_wine(as_frame=True).data[["alcohol", "proline", "hue"]]
        >>> network = GaussianBNLearner().fit(wine).network_
        >>> print(network.to_frame(confidence=None).round(2).to_string(index=False))
         parent   child  weight  standardised_weight  score_loss  reversible
        alcohol proline  257.60                 0.66       53.02       False
            hue proline  391.04                 0.28       10.51       False
        >>> network.to_frame()[["weight", "std_err", "t", "ci_low", "ci_high"]].round(2)
           weight  std_err      t  ci_low  ci_high
        0  257.60    20.90  12.32  216.35   298.85
        1  391.04    74.24   5.27  244.52   537.55
        """
        if scores is None and criterion is not None:
            raise ValueError(
                f"criterion={readable_value(criterion)} was given without a table to score. Give "
                "the table as scores."
            )
        losses = None
        if scores is not None:
            losses = descriptions.score_losses(self._graph, scores, criterion, self._blocks)
        level = None if confidence is None else level_of(confidence, "confidence")
        return frame_of(self._edge_columns(losses, level)[0])

    def fit_indices(
        self, X: Any = None, sample_weight: Any = None, interventions: Any = None
    ) -> FitIndices:
        """Return how well the graph fits a table, with the indices that papers report.

        The table is compared with the network of the highest likelihood on this graph, the
        saturated model and the independence model, as lavaan does.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, m), or LocalScores, optional
            As in `fit`. The parameters are estimated from it. By default the rows that the network
            was fitted to, or learned from.
        sample_weight : array-like of shape (n_samples,), optional
            As in `fit`.
        interventions : data frame or array-like of bool, or sequence of length n_samples, optional
            As in `fit`. Rows with the same nodes set are a group, and the models are of the nodes
            that were not set, given the others: the saturated and the independence model have
            parameters for each group, and the network the same for all.

        Returns
        -------
        indices : FitIndices
            Its attributes are the chi-squared statistic with its degrees of freedom and p-value,
            CFI, TLI, RMSEA with its 90 % interval, SRMR, log-likelihood, AIC and BIC, and Fisher's
            C of the independences, `d_separations`. It is displayed as a table, and has `to_frame`.

        Raises
        ------
        ValueError, TypeError
            If X is not such a table; if there is none and the network was not fitted to complete
            rows without a prior; if there are no more rows than columns, or columns are collinear;
            if a group of rows with the same nodes set is too small.

        Notes
        -----
        The indices take the graph as given. A graph that was searched for in the same rows fits
        them better than new rows, so that p-values and RMSEA are too optimistic. Give held-out
        rows.

        A chi-squared statistic tests the edges that are *missing*; equivalent networks have the
        same indices, but for Fisher's C. Exogenous nodes may depend on each other in all models,
        and the likelihood is of the other nodes given them: lavaan's ``fixed.x = TRUE``.

        With missing values, all three models have the likelihood of the observed values, by EM:
        lavaan's ``missing = "fiml"``. The p-values of `d_separations` are then of likelihood
        ratios. Groups of rows with interventions are lavaan's groups, by which it multiplies the
        squared RMSEA. Where values are missing and others were set, independences are not tested.

        Examples
        --------
        >>> import networkx as nx
        >>> from sklearn.datasets import load_wine
        >>> from skbn import GaussianBayesianNetwork
        >>> wine = load_wine(as_frame=True).data
        >>> dag = nx.DiGraph([("alcohol", "proline"), ("alcohol", "color_intensity")])
        >>> indices = GaussianBayesianNetwork(dag).fit_indices(wine)
        >>> round(indices.chi2, 2), indices.df, round(indices.p_value, 3)
        (0.55, 1, 0.458)
        >>> print(indices.d_separations.round(3).to_string(index=False))
              a               b     given  partial_correlation  p_value
        proline color_intensity [alcohol]               -0.056    0.463
        """
        if X is not None:
            sample, is_set = self._rows_and_set(X, sample_weight, interventions)
            graph = self._graph_of_columns()
            return indices_of_rows(sample.counted(sample_weight), is_set, graph)
        if sample_weight is not None or interventions is not None:
            what = "interventions were" if sample_weight is None else "sample_weight was"
            raise ValueError(f"{what} given without the rows that it is for. Give X.")
        groups = self._groups
        if groups is None:
            raise ValueError(
                "This network does not know the rows of a fit by least squares: it was not fitted, "
                "or with a prior, or to rows with missing values. Give a table, as by "
                "network.fit_indices(X)."
            )
        model = self._model()
        if len(groups) > 1:
            raise ValueError(
                "Each column has rows of its own, those in which interventions did not set it. "
                "Give the table, as by network.fit_indices(X, interventions=interventions)."
            )
        return fit_indices(groups[0].statistics, model.parents, model.nodes, model.exogenous)

    # Formats of other programs

    @overload
    def to_json(self, path: None = None) -> str: ...
    @overload
    def to_json(self, path: str | os.PathLike[str]) -> None: ...
    def to_json(self, path: str | os.PathLike[str] | None = None) -> str | None:
        """Return the network as JSON, in networkx's node-link format, or write it to a file.

        Parameters
        ----------
        path : str or path, optional
            The file. An existing file is replaced once everything is written, and kept if that
            fails. A symbolic link is followed.

        Returns
        -------
        text : str, or None with a path
            `from_json` reads the same parameters from it, to the last bit, and the attribute
            `fixed` of edges.

        Raises
        ------
        ValueError, OSError
            If a node is neither a string nor an integer, or a level of a category is neither a
            string, a number nor a bool; if the file cannot be written.

        Examples
        --------
        >>> import networkx as nx
        >>> from skbn import GaussianBayesianNetwork
        >>> dag = nx.DiGraph()
        >>> dag.add_node("a", intercept=0.1, noise_variance=1)
        >>> text = GaussianBayesianNetwork(dag).to_json()
        >>> GaussianBayesianNetwork.from_json(text).intercept_
        array([0.1])
        """
        model, blocks = self._model(), self._blocks
        contents = json_format.to_data(model)
        if not blocks.are_columns:
            contents = json_format.to_block_data(blocks, contents)
            if model.before is not None:
                contents["before"] = json_format.to_data(model.before)
        return json_format.to_json(contents, path)

    @classmethod
    def from_json(cls, text_or_path: str | os.PathLike[str]) -> Self:
        """Read a network from the text that `to_json` returns, or the file that it writes.

        Parameters
        ----------
        text_or_path : str or path
            A string is the JSON itself; a file is given by a ``pathlib.Path``, and is in UTF-8.
            Nothing in it is evaluated. Attributes that are not parameters or `fixed` are ignored.

        Returns
        -------
        network : GaussianBayesianNetwork

        Raises
        ------
        TypeError, ValueError, OSError
            If it is neither a string nor a path; if the file cannot be read; if it is not JSON, or
            a part is missing; if a node, an edge or a key of an object comes twice, there are both
            "edges" and "links", an edge has an unknown end, or the edges have a cycle; if a
            parameter is not a finite number, or a variance is negative; if the means of nodes,
            which may be left out, contradict the parameters.

        Examples
        --------
        >>> from skbn import GaussianBayesianNetwork
        >>> text = '''{"directed": true, "multigraph": false, "edges": [],
        ...           "nodes": [{"id": "a", "intercept": 0, "noise_variance": 1}]}'''
        >>> GaussianBayesianNetwork.from_json(text).nodes
        ['a']
        """
        contents, name = json_format.from_json(text_or_path)
        if not isinstance(contents, dict) or "blocks" not in contents:
            return cls._from_model(json_format.from_data(contents, name))
        blocks, data = json_format.from_block_data(contents, name)
        models = []
        for part, of_part in {"network": data, "before": contents.get("before", data)}.items():
            models.append(json_format.from_data(of_part, f"{part!r} in {name}"))
            json_format.check_columns(blocks, models[-1], name)
        before = models[1] if "before" in contents else None
        return cls._from_model(replace(models[0], before=before), blocks)


def _graph_on_same_nodes(other: Any, dag: nx.DiGraph) -> nx.DiGraph:
    """Return another network's graph after checking that it has the same nodes."""
    other = other.dag if isinstance(other, GaussianBayesianNetwork) else other
    expected = "a GaussianBayesianNetwork or a networkx.DiGraph"
    if isinstance(other, BaseEstimator):
        raise TypeError(f"other must be {expected}, such as network_ of a {type(other).__name__}.")
    graphs.check_dag(other, "other", expected=expected)
    graphs.check_same_nodes(dag, other)
    return other
