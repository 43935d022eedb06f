"""near_optimal: the networks that score nearly as high as the best, in order of their score."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from skbn._core.compile import compile_kernels
from skbn._core.memory import available_memory
from skbn._core.progress import SECONDS_BETWEEN_LINES, Listener, Progress
from skbn._core.threads import one_blas_thread
from skbn._exact.near_optimal import NearOptimalNetwork, NearOptimalStream, sum_of_streams
from skbn._networks.equivalence import canonical_member
from skbn._scores.criterion_checks import is_score_equivalent
from skbn._scores.local_scores import LocalScores
from skbn._solver.certificate import certify_constraints, certify_score
from skbn._solver.constraints import Constraints
from skbn._solver.engines import Scores
from skbn._solver.settings import MemoryLimit
from skbn._solver.solve import plan_searches

__all__ = ["NearOptimal", "near_optimal"]

# The memory that is left is looked up each time that this many networks more have been found.
_NETWORKS_BETWEEN_CHECKS = 1 << 12
# Fewer bytes are too few to go on: the tables of a list are doubled when they are full.
_LEAST_MEMORY = 1 << 28
# Scores that differ by no more tie: a difference in nats, and a share of the score for rounding.
_TIE = 1e-9
_ROUNDING = 1e-12


class NearOptimal(NamedTuple):
    """Networks in order of their score.

    Parameters
    ----------
    parents : list of list of m int
        The masks of the columns' parents in each network.
    scores : ndarray of shape (n_networks,), float64, nats
    is_complete : bool
        Whether it is known that no other network is within the bound.
    """

    parents: list[list[int]]
    scores: npt.NDArray[np.float64]
    is_complete: bool


def near_optimal(
    scores: Scores,
    constraints: Constraints,
    memory: MemoryLimit,
    *,
    n: int | None,
    within: float | None,
    equivalence_classes: bool,
    n_jobs: int | None = None,
    listeners: tuple[Listener, ...] = (),
    announce: Callable[[str], None] | None = None,
) -> NearOptimal:
    """Return the best networks, or the best network of each of the best equivalence classes.

    Parameters
    ----------
    scores : LocalScores or ParentSetScores
    constraints : Constraints
    memory : MemoryLimit
    n : int or None
        The largest number of networks; None for any number.
    within : float or None
        How far below the best a score may be, in nats; None for any score.
    equivalence_classes : bool
    n_jobs : int or None
        Number of threads of the search. It does not change a bit of the result.
    listeners : tuple of callable
        Called with the progress of the search.
    announce : callable, optional
        Called with the plan in words before the search begins, and every few seconds with the
        number of networks found.

    Raises
    ------
    ValueError
        If the search or the list does not fit in memory.
    RuntimeError
        If independent regressions do not confirm the first and the last score.
    """
    plan = plan_searches(scores, constraints, memory, lists_networks=True)
    if announce is not None:
        announce(str(plan))
    listing = [kernel for search in plan.searches for kernel in search.listing_kernels]
    compile_kernels((*plan.kernels, *listing))
    progress = Progress(plan.work(), listeners)
    if plan.shared_work and isinstance(scores, LocalScores):
        scores.scorer.log_determinants(progress)
    streams = [
        search.near_optimal(scores, equivalence_classes, n_jobs, progress)
        for search in plan.searches
    ]
    found, is_complete = _first(sum_of_streams(streams), n, within, announce)
    parents = [_parents_of(network, len(scores.columns)) for network in found]
    with one_blas_thread():
        for i in {0, len(found) - 1}:
            certify_constraints(scores.columns, constraints, parents[i])
            certify_score(scores, parents[i], found[i].score)
        own = scores.scorer if isinstance(scores, LocalScores) else scores
        offset = float(own.score_offsets.sum())
    if (
        equivalence_classes
        and constraints.is_free
        and isinstance(scores, LocalScores)
        and is_score_equivalent(scores.scorer.tables)
    ):
        parents = [canonical_member(masks) for masks in parents]
    listed = np.array([network.score + offset for network in found])
    return NearOptimal(parents, listed, is_complete)


def _parents_of(network: NearOptimalNetwork, m: int) -> list[int]:
    parents = [0] * m
    for child, mask in network.families:
        parents[child] = mask
    return parents


def _first(
    stream: NearOptimalStream,
    n: int | None,
    within: float | None,
    announce: Callable[[str], None] | None,
) -> tuple[list[NearOptimalNetwork], bool]:
    """Return the first networks of a stream, and whether no other one is within the bound."""
    found: list[NearOptimalNetwork] = []
    lowest = -np.inf
    said = time.monotonic()
    while (network := stream.network(len(found))) is not None and network.score >= lowest:
        if len(found) == n:  # one more than asked for shows whether the list is complete
            return found, False
        if not found and within is not None:
            lowest = network.score - within - _TIE - _ROUNDING * abs(network.score)
        found.append(network)
        if announce is not None and time.monotonic() > said + SECONDS_BETWEEN_LINES:
            said = time.monotonic()
            below = found[0].score - network.score
            announce(f"{len(found)} networks, down to {below:.3g} nats below the best")
        if len(found) % _NETWORKS_BETWEEN_CHECKS == 0 and available_memory() < _LEAST_MEMORY:
            raise ValueError(
                f"Memory ran short after {len(found)} networks, of which the last is "
                f"{found[0].score - network.score:.3g} nats below the best. Give n={len(found)} "
                "or less, or a smaller within."
            )
    return found, True
