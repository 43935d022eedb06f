"""Posterior probabilities of single parent sets and networks."""

from __future__ import annotations

import math

import networkx as nx

from skbn._core.columns import as_integer, column_number, parents_in
from skbn._core.subsets import mask_of, members_of
from skbn._posterior.network_posterior import NetworkPosterior
from skbn._posterior.order_sums import log_number_of_orders
from skbn._posterior.sampled_posterior import SampledPosterior
from skbn._scores.local_scores import LocalScores
from skbn._scores.reprs import ProbableParents, ProbableParentSets

__all__ = ["log_probability", "parent_set_probabilities"]


def parent_set_probabilities(
    posterior: NetworkPosterior | SampledPosterior,
    columns: list[str | int],
    child: str | int,
    k: int,
) -> ProbableParentSets:
    """Return the k most probable sets of parents of a column, without those of probability 0."""
    k = as_integer(k, "k")
    if k < 1:
        raise ValueError(f"k must be at least 1; got {k}.")
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
