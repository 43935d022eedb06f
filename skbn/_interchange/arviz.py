"""Draws of networks for ArviZ."""

from __future__ import annotations

from typing import Any

import numpy as np

from skbn._core.arrays import as_integer
from skbn._estimators.posterior import GaussianBNPosterior
from skbn._interchange.exported import optional_module


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
    ImportError
        If ArviZ is not installed.
    TypeError
        If it is not a posterior; if a number is not an integer.
    sklearn.exceptions.NotFittedError
        Before `fit`.
    ValueError
        As `GaussianBNPosterior.sample_networks`, if `parameters`; if nodes have several columns.

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
        raise TypeError(
            f"posterior must be a fitted GaussianBNPosterior; got {type(posterior).__name__}."
        )
    n_draws = as_integer(n_draws, "n_draws", least=1)
    n_chains = as_integer(n_chains, "n_chains", least=1)
    if hasattr(posterior, "chain_edge_probabilities_"):
        n_chains = len(posterior.chain_edge_probabilities_)
    arviz = optional_module("arviz", "arviz")
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
        if any(columns != [node] for node, columns in posterior.median_network_.nodes_.items()):
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
