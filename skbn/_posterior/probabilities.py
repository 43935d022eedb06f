"""Posterior probabilities of parent sets and networks, and the network of the probable edges."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np

from skbn._core.arrays import Floats, as_integer
from skbn._core.columns import column_number, parents_in
from skbn._core.subsets import mask_of, members_of
from skbn._networks.network import GaussianBayesianNetwork
from skbn._posterior.network_posterior import NetworkPosterior
from skbn._posterior.order_sums import log_number_of_orders
from skbn._posterior.sampled_posterior import SampledPosterior
from skbn._scores.local_scores import LocalScores
from skbn._scores.reprs import ProbableParents, ProbableParentSets
from skbn._solver.problem import Problem


def parent_set_probabilities(
    posterior: NetworkPosterior | SampledPosterior,
    columns: list[str | int],
    child: str | int,
    k: int,
) -> ProbableParentSets:
    """Return the k most probable sets of parents of a column, without those of probability 0."""
    k = as_integer(k, "k", least=1)
    x = column_number(columns, child)
    ranked = sorted(
        (-float(probability), mask.bit_count(), members_of(mask))
        for mask, probability in zip(*posterior.top_parent_sets(x, k), strict=True)
        if probability > 0 and posterior.constraints.allows(x, mask)
    )
    return ProbableParentSets(
        columns[x],
        [ProbableParents([columns[p] for p in parents], -minus) for minus, _, parents in ranked],
    )


def log_probability(posterior: NetworkPosterior, scores: LocalScores, dag: nx.DiGraph) -> float:
    """Return the log probability of a network, in nats; -inf if constraints rule it out."""
    parents = parents_in(dag, scores.columns)
    masks = [mask_of(each) for each in parents]
    if not all(posterior.constraints.allows(x, mask) for x, mask in enumerate(masks)):
        return -math.inf
    *terms, shared = scores.network_terms(masks)
    weight = float((sum(terms) + shared)[posterior.constraints.modelled].sum())
    log_odds = posterior.log_odds
    if log_odds is not None:
        weight += sum(float(log_odds[each, x].sum()) for x, each in enumerate(parents))
    if posterior.prior == "order":
        weight += sum(
            log_number_of_orders(masks, group.columns[: group.n_columns])
            for group in posterior.groups
        )
    return min(weight - posterior.log_sum, 0.0)


def median_network(problem: Problem, edges: Floats) -> GaussianBayesianNetwork:
    """Return the network of the edges of probability above 1/2, with fitted parameters.

    The most probable come first; what would close a cycle, or exceed the problem's `max_parents`,
    is left out. The edges of its graph have the attribute `probability`.
    """
    most, names = problem.constraints.max_parents, problem.names
    dag: nx.DiGraph = nx.DiGraph()
    dag.add_nodes_from(range(len(edges)))
    probable = np.argwhere(edges > 0.5)
    for i, j in probable[np.argsort(-edges[tuple(probable.T)], kind="stable")].tolist():
        if dag.in_degree(j) < most and not nx.has_path(dag, j, i):
            dag.add_edge(i, j)
    network = problem.network([mask_of(dag.predecessors(x)) for x in range(len(edges))])
    for i, j in dag.edges:
        network.dag.edges[names[i], names[j]]["probability"] = float(edges[i, j])
    return network
