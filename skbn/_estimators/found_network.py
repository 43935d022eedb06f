"""FoundNetwork: what a search ends with, and how it is checked."""

from __future__ import annotations

from dataclasses import dataclass

import networkx as nx

from skbn._core.graphs import GraphStateMixin, dag_of
from skbn._core.threads import one_blas_thread
from skbn._networks.equivalence import canonical_member
from skbn._networks.gaussian import LinearGaussianModel, estimate_parameters
from skbn._networks.network import GaussianBayesianNetwork
from skbn._scores.criterion import Criterion, is_score_equivalent
from skbn._scores.local_scores import LocalScores
from skbn._scores.parent_set_scores import ParentSetScores
from skbn._solver.certificate import (
    certify_constraints,
    certify_listed_network,
    certify_network,
    certify_score,
)
from skbn._solver.constraints import Constraints
from skbn._solver.solve import Optimum

__all__ = ["FoundNetwork", "found_network"]


@dataclass(frozen=True)
class FoundNetwork(GraphStateMixin):
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
    parents, columns = optimum.parents, scores.columns
    certify_constraints(columns, constraints, parents)
    with one_blas_thread():
        if not isinstance(scores, LocalScores):
            score = certify_score(scores, parents, optimum.score)
            certify_listed_network(scores, constraints, parents)
            dag = dag_of(columns, parents, constraints.fixed(parents))
            network = GaussianBayesianNetwork(dag)
            return FoundNetwork(network, network.dag.copy(), score, None)
        scorer = scores.scorer
        if constraints.is_free and is_score_equivalent(scorer.tables):
            parents = canonical_member(parents)
        score = certify_score(scores, parents, optimum.score)
        estimated = estimate_parameters(scorer.statistics, parents, columns, scorer.noise_divisors)
        certify_network(scores, constraints, parents, estimated)
        fixed = constraints.fixed(parents)
        model = LinearGaussianModel.from_estimates(columns, parents, estimated, fixed)
        network = GaussianBayesianNetwork._from_model(model)
    return FoundNetwork(network, network.dag.copy(), score, scores.criterion)
