"""Kernels that go through a child's parent sets among some candidates, row by row of memory.

A *row* has neighbouring sets, which differ in the lowest columns only, so that vectors of four
scores can be computed at once. It has as many of them as are all candidates, since a row of 64 sets
takes as long to begin as to score.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import float64, int64

from skbn._core.compile import inner_kernel, kernel, tuple_type
from skbn._core.subsets import insert_zero_bit, popcount
from skbn._core.zeta import join_larger
from skbn._exact.fill_kernels import BlockFamilies, fill_values, score_itself
from skbn._regressions.set_function import LEAST_SCORE

__all__ = ["ParentSets", "best_parents", "first_parents_that_reach", "parents_that_reach"]

# The scores of a longest row take 4 KiB of the first-level cache.
_SHORTEST_ROW, _LONGEST_ROW = 1 << 6, 1 << 9


class ParentSets(NamedTuple):
    """A child's parent sets to go through, and what their scores are differences of.

    Parameters
    ----------
    of_family, of_parents : ndarray, float64
    shift : int
        A parent set is at its mask plus this.
    step : int
        How far it is from there to the family.
    child : int
    candidates, required, outer : int
        Masks: the parents are those in `outer` and any of the `candidates`, and must include the
        `required` ones. Those in `outer` are later than the candidates.
    """

    of_family: npt.NDArray[np.float64]
    of_parents: npt.NDArray[np.float64]
    shift: int
    step: int
    child: int
    candidates: int
    required: int
    outer: int


_PARENT_SETS = tuple_type(ParentSets, float64[::1], float64[::1], *[int64] * 6)


@kernel(_PARENT_SETS, int64[::1], float64, seconds=1.4)
def first_parents_that_reach(sets, numbers, threshold):
    """Return the first parent set whose local score reaches a threshold, or -1.

    Fewer parents come first, then the order of the sorted columns.

    Parameters
    ----------
    sets : ParentSets
    numbers : ndarray of shape (m,), int64
        The columns' numbers, by which they are ordered.
    threshold : float

    Returns
    -------
    parents : int
        Their mask.
    """
    width = _row_width(sets)
    scores = np.empty(_row_size(sets.child, width))
    places, zeros = np.empty(1, np.int64), np.zeros(scores.size)
    chosen = np.int64(-1)
    chosen_size = numbers.size + 1
    threshold = max(threshold, LEAST_SCORE)
    high = sets.candidates & -width
    above = np.int64(0)
    while True:
        base = sets.outer | above
        _score_row(sets, base, places, zeros, scores)
        n_reached = 0
        for i in range(scores.size):
            n_reached += scores[i] >= threshold
        if n_reached:
            for i in range(scores.size):
                if scores[i] >= threshold:
                    parents = _parents_at(i, base, sets.child, width)
                    size = popcount(parents)
                    if _is_allowed(sets, parents) and (
                        chosen < 0
                        or size < chosen_size
                        or (size == chosen_size and _precedes(parents, chosen, numbers))
                    ):
                        chosen = parents
                        chosen_size = size
        above = (above - high) & high  # the next larger subset, in the order of memory
        if above == 0:
            return chosen


@inner_kernel
def _precedes(parents, others, numbers):
    """Whether the first column that is in only one of two sets is in `parents`."""
    first = -1
    is_parent = False
    for column in range(numbers.size):
        is_in_one = (parents ^ others) >> column & 1 == 1
        if is_in_one and (first < 0 or numbers[column] < first):
            first = numbers[column]
            is_parent = parents >> column & 1 == 1
    return is_parent


@kernel(_PARENT_SETS, seconds=1.0)
def best_parents(sets):
    """Return the best local score of a child, and the mask of parents that have it.

    Without any family of a finite score, the score is -inf and the mask 0.
    """
    width = _row_width(sets)
    scores = np.empty(_row_size(sets.child, width))
    places, zeros = np.empty(1, np.int64), np.zeros(scores.size)
    best = LEAST_SCORE
    chosen = np.int64(-1)
    high = sets.candidates & -width
    above = np.int64(0)
    while True:
        base = sets.outer | above
        _score_row(sets, base, places, zeros, scores)
        for i in range(scores.size):
            if scores[i] > best:
                parents = _parents_at(i, base, sets.child, width)
                if _is_allowed(sets, parents):
                    best = scores[i]
                    chosen = parents
        above = (above - high) & high
        if above == 0:
            return (best, chosen) if chosen >= 0 else (-math.inf, np.int64(0))


@kernel(_PARENT_SETS, float64, int64[::1], float64[::1], seconds=1.0)
def parents_that_reach(sets, threshold, reached, their_scores):
    """Return how many parent sets have a local score that reaches a threshold, and list them.

    Parameters
    ----------
    sets : ParentSets
    threshold : float
    reached : ndarray of int64
        Set to their masks, as far as there is room.
    their_scores : ndarray of float64
        Set to their local scores; of the same size.
    """
    width = _row_width(sets)
    scores = np.empty(_row_size(sets.child, width))
    places, zeros = np.empty(1, np.int64), np.zeros(scores.size)
    threshold = max(threshold, LEAST_SCORE)
    n_reached = 0
    high = sets.candidates & -width
    above = np.int64(0)
    while True:
        base = sets.outer | above
        _score_row(sets, base, places, zeros, scores)
        for i in range(scores.size):
            if scores[i] >= threshold:
                parents = _parents_at(i, base, sets.child, width)
                if _is_allowed(sets, parents):
                    if n_reached < reached.size:
                        reached[n_reached] = parents
                        their_scores[n_reached] = scores[i]
                    n_reached += 1
        above = (above - high) & high
        if above == 0:
            return n_reached


@inner_kernel
def _score_row(sets, base, places, zeros, scores):
    """Set `scores` to the local scores of a row's parent sets, without those that have the child.

    `places` and `zeros` are memory for what `fill_values` asks for.
    """
    places[0] = base + sets.shift
    families = BlockFamilies(
        sets.of_family, sets.of_parents, places, 1, sets.step, sets.child, zeros, zeros
    )
    fill_values(scores, families, True, -math.inf, join_larger, score_itself, None)


@inner_kernel
def _is_allowed(sets, parents):
    return parents & ~(sets.outer | sets.candidates) == 0 and sets.required & ~parents == 0


@inner_kernel
def _row_width(sets):
    """Return how many neighbouring sets a row has, which differ in none of the outer columns."""
    longest = min(_LONGEST_ROW, sets.of_parents.size)
    if sets.outer:
        longest = min(longest, sets.outer & -sets.outer)
    width = min(_SHORTEST_ROW, longest)
    within = sets.candidates | 1 << sets.child
    while width < longest and within & (2 * width - 1) == 2 * width - 1:
        width *= 2
    return width


@inner_kernel
def _row_size(child, width):
    """Return how many parent sets of a child a row has: half, if the child is in its columns."""
    return width // 2 if 1 << child < width else width


@inner_kernel
def _parents_at(i, base, child, width):
    """Return the mask of a row's i-th parent set."""
    return base | (insert_zero_bit(i, child) if 1 << child < width else i)
