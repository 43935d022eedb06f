"""best_network: the best network of some scores, by a plain function."""

from __future__ import annotations

from typing import Any, NamedTuple

from skbn._core.estimator import check_values
from skbn._core.resources import Resources
from skbn._core.text import readable_value
from skbn._estimators.fitting import most_parents, network_of
from skbn._estimators.network_estimator import NetworkLearner
from skbn._networks.network import GaussianBayesianNetwork
from skbn._scores.base import BaseScores
from skbn._solver.constraints import read_constraints
from skbn._solver.engines import SearchSettings
from skbn._solver.solve import problem_of, solve


class BestNetwork(NamedTuple):
    """What `best_network` returns.

    Parameters
    ----------
    network : GaussianBayesianNetwork
        With parameters, unless the scores are ParentSetScores.
    score : float
        In nats.
    is_optimal : bool
        Whether no network within the constraints scores higher by more than `tol`.
    gap : float
        By how many nats another network might score higher; 0 after a dynamic program.
    """

    network: GaussianBayesianNetwork
    score: float
    is_optimal: bool
    gap: float


def best_network(
    scores: BaseScores,
    *,
    max_parents: int | None = None,
    required_edges: Any = None,
    forbidden_edges: Any = None,
    tiers: Any = None,
    tol: float = 1e-6,
    time_limit: float | None = None,
    n_jobs: int | None = None,
    max_memory: float | str | None = None,
) -> BestNetwork:
    """Return the network with the highest score of all.

    `GaussianBNLearner` does the same from a table, with scikit-learn's API, progress, warnings
    and more ways to search.

    Parameters
    ----------
    scores : LocalScores or ParentSetScores
        The local scores of the families to choose from.
    max_parents : int or None, default=None
        As in `GaussianBNLearner`, and so are all the following.
    required_edges : list of (parent, child), table of two columns, networkx.DiGraph or \
None, default=None
    forbidden_edges : list of (parent, child), table of two columns, networkx.DiGraph or \
None, default=None
    tiers : list of lists of columns and at most one ``...``, or None, default=None
    tol : float, default=1e-6
    time_limit : float or None, default=None
    n_jobs : int or None, default=None
    max_memory : float, str or None, default=None

    Returns
    -------
    best : BestNetwork
        A named tuple of `network`, `score`, `is_optimal` and `gap`.

    Raises
    ------
    ValueError, TypeError
        If `scores` are no scores, or as `GaussianBNLearner.fit`.
    RuntimeError
        If regressions that are independent of the search do not confirm its network.
    ImportError
        If branch and cut is needed and highspy is not installed.

    See Also
    --------
    GaussianBNLearner : The same as an estimator.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from skbn import LocalScoreTransformer, best_network
    >>> wine = load_wine(as_frame=True).data[["alcohol", "proline", "hue", "ash"]]
    >>> scores = LocalScoreTransformer().fit_transform(wine)
    >>> network, score, is_optimal, gap = best_network(scores)
    >>> round(score, 2), is_optimal, gap
    (-1465.36, True, 0.0)
    >>> list(network.dag.edges)
    [('alcohol', 'proline'), ('proline', 'ash'), ('hue', 'proline')]
    """
    if not isinstance(scores, BaseScores):
        raise TypeError(
            f"scores must be LocalScores or ParentSetScores; got {readable_value(scores)}. Give "
            "LocalScoreTransformer().fit_transform(X), or fit a GaussianBNLearner to the table."
        )
    numbers = {
        "max_parents": max_parents,
        "tol": tol,
        "time_limit": time_limit,
        "n_jobs": n_jobs,
        "max_memory": max_memory,
    }
    check_values("best_network", {k: NetworkLearner._allowed_values[k] for k in numbers}, numbers)
    constraints = read_constraints(
        scores.columns,
        max_parents=most_parents(max_parents, scores),
        required_edges=required_edges,
        forbidden_edges=forbidden_edges,
        tiers=tiers,
    )
    limit = None if time_limit is None else float(time_limit)
    resources = Resources.of_machine(max_memory, n_jobs=n_jobs, time_limit=limit)
    problem = problem_of(scores, constraints)
    (solution,) = solve(problem, resources, SearchSettings(tolerance=float(tol)))
    return BestNetwork(network_of(solution), solution.score, solution.is_optimal, solution.gap)
