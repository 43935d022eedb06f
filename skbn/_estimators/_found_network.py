"""FoundNetwork: what a search ends with, and how it is checked."""

from __future__ import annotations

from typing import NamedTuple

import networkx as nx

from skbn._certificate import certify_listed_network, certify_network, certify_score
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
        If the network is not what the search says, by regressions of its own.
    """
    with one_blas_thread():
        if isinstance(scores, LocalScores):
            network = _estimated_network(scores, constraints, optimum.parents)
        else:
            certify_listed_network(scores, constraints, optimum.parents)
            network = GaussianBayesianNetwork(dag_of(scores.columns, optimum.parents))
        score = scores.network_score(network.dag)
    certify_score(score, optimum.score, len(optimum.parents))
    return FoundNetwork(network, network.dag.copy(), score, getattr(scores, "criterion", None))


def _estimated_network(
    scores: LocalScores, constraints: Constraints, parents: list[int]
) -> GaussianBayesianNetwork:
    if constraints.is_free and is_score_equivalent(scores.scorer.tables):
        parents = canonical_member(parents)
    scorer = scores.scorer
    parameters = estimate_parameters(
        scorer.statistics, parents, scores.columns, scorer.noise_divisors
    )
    certify_network(scores, constraints, parents, parameters)
    return GaussianBayesianNetwork._from_estimates(scores.columns, parents, parameters)
