"""FoundNetwork: what a search ends with, and how it is checked."""

from __future__ import annotations

from typing import NamedTuple

import networkx as nx
import numpy as np

from skbn._constraints import Constraints
from skbn._graphs import dag_of
from skbn._networks._equivalence import canonical_member
from skbn._networks._network import GaussianBayesianNetwork
from skbn._networks._parameters import estimate_parameters
from skbn._optimum import Optimum
from skbn._parallel import one_blas_thread
from skbn._scores._criterion import Criterion, is_score_equivalent
from skbn._scores._local_scores import LocalScores
from skbn._scores._parent_set_scores import ParentSetScores
from skbn._scores._statistics import SCORE_ACCURACY

__all__ = ["FoundNetwork", "found_network"]


class FoundNetwork(NamedTuple):
    """A best network.

    Parameters
    ----------
    network : GaussianBayesianNetwork
    dag : networkx.DiGraph
        Its graph, which a user may change without the network's.
    score : float
        In nats.
    criterion : Criterion or None
        Of which it has the highest score; None for ParentSetScores.
    """

    network: GaussianBayesianNetwork
    dag: nx.DiGraph
    score: float
    criterion: Criterion | None


def found_network(
    scores: LocalScores | ParentSetScores, constraints: Constraints, optimum: Optimum
) -> FoundNetwork:
    """Return the network of an optimum, with parameters if there are rows to estimate them from.

    Raises
    ------
    RuntimeError
        If the score of the network, from its own regressions, is not that of the search.
    """
    with one_blas_thread():
        network = _network(scores, constraints, optimum.parents)
        score = scores.network_score(network.dag)
    _check_agreement(score, optimum.score)
    return FoundNetwork(network, network.dag.copy(), score, getattr(scores, "criterion", None))


def _network(
    scores: LocalScores | ParentSetScores, constraints: Constraints, parents: list[int]
) -> GaussianBayesianNetwork:
    """Return the network, with parameters if there are rows to estimate them from."""
    columns = scores.columns
    if isinstance(scores, ParentSetScores):
        return GaussianBayesianNetwork(dag_of(columns, parents))
    if constraints.is_free and is_score_equivalent(scores.scorer.tables):
        parents = canonical_member(parents)
    scorer = scores.scorer
    parameters = estimate_parameters(scorer.statistics, parents, columns, scorer.noise_divisors)
    return GaussianBayesianNetwork._from_estimates(columns, parents, parameters)


def _check_agreement(own: float, searched: float) -> None:
    """Hold the network's score, from its own regressions, against what the search found."""
    if not np.isfinite(own) or not abs(own - searched) <= SCORE_ACCURACY + 1e-10 * abs(searched):
        raise RuntimeError(
            f"the best network's score is {searched!r} from the search and {own!r} from its own "
            "regressions; this is a defect of the search, please report it"
        )
