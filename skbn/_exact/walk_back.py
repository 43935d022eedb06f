"""The walk back from the best score of all columns to a network that has it."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from skbn._core.progress import Progress
from skbn._core.subsets import members_of
from skbn._core.threads import Threads
from skbn._exact.family_sources import BestScores, FamilySource
from skbn._exact.plan import SearchPlan
from skbn._regressions.local_score import SCORE_ACCURACY, internal_error

__all__ = ["SearchResult", "best_network"]

Floats = npt.NDArray[np.float64]

_EPS = np.finfo(np.float64).eps
# How far rounding may put one local score off, in units of its largest term. The score is a sum of
# three terms; most of this is for the rounding of the log-determinants in them.
_ROUNDING_OF_LOCAL_SCORE = 64 * _EPS
# The same for ``F[W] - F[W - x]``, in units of the two: half an eps for each of the two roundings,
# of the sum in F[W] and of this difference, and a margin.
_ROUNDING_OF_DIFFERENCE = 4 * _EPS


class SearchResult(NamedTuple):
    """The optimum: the mask of each column's parents, and the sum of their local scores.

    The uncertainty is how far rounding may put the score of a network off, in nats, and the
    rounding the part of it that comes from adding up local scores: no sum of local scores is above
    the score by more.
    """

    parents: list[int]
    score: float
    uncertainty: float
    rounding: float


def best_network(
    families: FamilySource,
    plan: SearchPlan,
    best_network_scores: BestScores,
    best_local_score: Floats,
    threads: Threads,
    progress: Progress,
    tied: float = SCORE_ACCURACY,
) -> SearchResult:
    """Return a network with the highest score of all.

    Parameters
    ----------
    families : FamilySource
    plan : SearchPlan
    best_network_scores : callable
        Returns F of some sets.
    best_local_score : ndarray of shape (m,), float64
        Each column's best local score with any parents.
    threads : Threads
    progress : Progress
        Advanced by ``plan.work_of_walk_back``.
    tied : float
        The most that networks that are called tied may differ by, in nats.
    """
    m = len(best_local_score)
    score = float(best_network_scores(np.array([(1 << m) - 1]))[0])
    if score == -math.inf:
        return SearchResult([], -math.inf, 0.0, 0.0)

    def advance(share: float) -> None:
        progress.advance(share * plan.work_of_walk_back / 2)

    given = families, plan.n_roots, best_network_scores, best_local_score, threads
    walk = partial(_walk_back, *given, advance)
    parents = walk(0.0)
    largest_term = max(families.largest_term(x, mask) for x, mask in enumerate(parents))
    # Walk once more with the rounding of these terms as the tolerance, to choose among the
    # networks that tie with this one. All sinks together must not lose more than what ties.
    parents = walk(min(_ROUNDING_OF_LOCAL_SCORE * m * largest_term, tied / m))
    # In the order of a network, its sums are between the total less what the columns to come score
    # at most, and what those before score at most. One rounding for each local score, and one for
    # each sum; m more halves of an eps are for terms of higher order.
    largest_sum = abs(score) + float(np.maximum(best_local_score, 0.0).sum())
    uncertainty = m * _EPS * (largest_term + 8 * abs(score))
    return SearchResult(parents, score, uncertainty, (m + 1) * (_EPS / 2) * largest_sum)


def _walk_back(
    families: FamilySource,
    n_roots: int,
    best_network_scores: BestScores,
    best_local_score: Floats,
    threads: Threads,
    advance: Callable[[float], None],
    tolerance: float,
) -> list[int]:
    """Return the mask of each column's parents in a best network.

    From the set of all columns down, find a sink x with ``F[W] = F[W - x] + B_x[W - x]``, and
    parents with which it has this local score. The parents are searched for again. This is cheap,
    as each set of candidates has half as many subsets as the one before.

    Parameters
    ----------
    families : FamilySource
    n_roots : int
        How many of the last columns have no parents. They become sinks after all others, so that
        they may be parents of any of these.
    best_network_scores : callable
        Returns F of some sets.
    best_local_score : ndarray of shape (m,), float64
        Each column's best local score with any parents.
    threads : Threads
    advance : callable
        Called with about the share of the time that each step has taken.
    tolerance : float
        Scores tie if they differ by no more than this and the rounding of their sums. The last of
        tied sinks in column order is taken; of tied parent sets, one with the fewest columns, and
        among these the one that comes first when their sorted columns are compared.
    """
    m = len(best_local_score)
    parents = [0] * m
    columns = (1 << m) - 1
    not_roots = columns >> n_roots
    while columns:
        sinks = members_of(columns & not_roots or columns)[::-1]
        sets = np.array([columns, *(columns ^ 1 << sink for sink in sinks)])
        of_columns, *of_others = best_network_scores(sets).tolist()
        thresholds = {}
        for sink, others in zip(sinks, of_others, strict=True):
            if others == -math.inf:
                continue
            rounding = _ROUNDING_OF_DIFFERENCE * (abs(of_columns) + abs(others))
            threshold = of_columns - others - rounding - tolerance
            if best_local_score[sink] >= threshold:  # else no parents at all reach it
                thresholds[sink] = threshold
        found = families.first_sink(columns, thresholds, threads)
        if found is None:
            names = members_of(columns)
            raise internal_error(f"no column attains the best score of the set {names}")
        sink, parents[sink] = found
        columns ^= 1 << sink
        advance(2.0 ** (columns.bit_count() - m) if columns else 2.0 ** (1 - m))
    return parents
