"""near_optimal: the networks that score nearly as high as the best, in order of their score."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from skbn._core.arrays import F1
from skbn._core.compile import compile_kernels
from skbn._core.resources import Pauses, Resources, available_memory, one_blas_thread
from skbn._exact.k_best import NearOptimalNetwork, joined_networks, tie_tolerance
from skbn._networks.equivalence import canonical_member
from skbn._solver.certificate import certify_constraints, certify_score
from skbn._solver.engines import SearchSettings, Wanted
from skbn._solver.planner import plan_searches
from skbn._solver.problem import Problem

# The memory that is left is looked up each time that this many networks more have been found.
_NETWORKS_BETWEEN_CHECKS = 1 << 12
# A list is not continued with less memory than this: the 4,096 networks until the next look at it
# may take as much.
_LEAST_MEMORY = 1 << 28


class NearOptimal(NamedTuple):
    """Networks in order of their score."""

    parents: list[list[int]]  # the masks of the columns' parents in each network
    scores: F1  # (n_networks,)
    is_complete: bool  # whether it is known that no other network is within the bound


def near_optimal(
    problem: Problem,
    resources: Resources,
    *,
    n: int | None,
    within: float | None,
    equivalence_classes: bool,
) -> NearOptimal:
    """Return the best networks, or the best network of each of the best equivalence classes.

    `resources`: the plan is announced before the search begins, and the number of networks found
        every few seconds
    `n`: the largest number of networks; None for any number
    `within`: how far below the best a score may be, in nats; None for any score

    Raises ValueError if the search or the list does not fit in memory, or takes longer than the
    time limit; RuntimeError if independent regressions do not confirm the first and the last score.
    """
    if equivalence_classes and not problem.has_classes:
        raise ValueError(
            "With unknown targets, each network says itself which edges its targets direct. Give "
            "equivalence_classes=False, to list networks one by one."
        )
    plan = plan_searches(problem.read(), resources, SearchSettings(lists_networks=True))
    if resources.announce is not None:
        resources.announce(str(plan))
    compile_kernels(plan.kernels)
    resources.progress.expect(plan.work())
    if plan.shared_work:
        problem.prepare(resources.progress)
    wanted = Wanted(n, within, equivalence_classes)
    resources = resources.from_now()
    of_groups = [search.near_optimal(problem, wanted, resources) for search in plan.searches]
    found, is_complete = _first(joined_networks(of_groups), n, within, resources.announce)
    found.sort(key=lambda network: network.score, reverse=True)  # rounding may have swapped some
    every = range(len(problem.names))
    parents = [[network.parents.get(x, 0) for x in every] for network in found]
    with one_blas_thread():
        for i in {0, len(found) - 1}:
            certify_constraints(problem.names, problem.constraints, parents[i])
            certify_score(problem.network_terms(parents[i]), found[i].score)
        offset = float(problem.score_offsets.sum())
    if equivalence_classes and problem.any_member:
        parents = [canonical_member(masks) for masks in parents]
    listed = np.array([network.score + offset for network in found])
    return NearOptimal(parents, listed, is_complete)


def _first(
    networks: Iterator[NearOptimalNetwork],
    n: int | None,
    within: float | None,
    announce: Callable[[str], None] | None,
) -> tuple[list[NearOptimalNetwork], bool]:
    """Return the first networks, and whether no other one is within the bound."""
    found: list[NearOptimalNetwork] = []
    lowest = -np.inf
    pauses = Pauses()
    for network in networks:
        if network.score < lowest:
            break
        if len(found) == n:  # one more than asked for shows whether the list is complete
            return found, False
        if not found and within is not None:
            lowest = network.score - within - tie_tolerance(network.score)
        found.append(network)
        if announce is not None and pauses.is_over():
            below = found[0].score - network.score
            announce(f"{len(found)} networks, down to {below:.3g} nats below the best")
        if len(found) % _NETWORKS_BETWEEN_CHECKS == 0 and available_memory() < _LEAST_MEMORY:
            raise ValueError(
                f"Memory ran short after {len(found)} networks, of which the last is "
                f"{found[0].score - network.score:.3g} nats below the best. Give n={len(found)} "
                "or less, or a smaller within."
            )
    return found, True
