"""Kernels that go through a child's parent sets among some candidates, row by row of memory.

A *row* has the `width` neighbouring sets that differ in the lowest columns only, so that vectors of
four scores can be computed at once.
"""

from __future__ import annotations

import math

import numpy as np
from numba import float64, int64

from skbn._core.compile import inner_kernel, kernel
from skbn._core.subsets import insert_zero_bit, popcount
from skbn._core.zeta import join_larger
from skbn._exact.fill_kernels import (
    join_families,
    join_pairs,
    score_itself,
    weigh_families,
    weigh_parent_sets,
)

__all__ = ["best_parents", "first_parents_that_reach", "parents_that_reach"]


@kernel(
    float64[::1],
    float64[:, :, ::1],
    int64,
    int64,
    int64[::1],
    int64,
    int64,
    int64,
    int64,
    float64,
    seconds=1.4,
)
def first_parents_that_reach(
    log_det, tables, shift, step, numbers, child, candidates, required, fixed, threshold
):
    """Return the first parent set whose local score reaches a threshold, or -1.

    Fewer parents come first, then the order of the sorted columns.

    Parameters
    ----------
    log_det : ndarray, float64
    tables : ndarray of shape (3, m + 1, width), float64
        The criterion's tables, see `spread_tables`.
    shift : int
        The log-determinant of a parent set is at its mask plus this.
    step : int
        How far it is from there to that of the family.
    numbers : ndarray of shape (m,), int64
        The columns' numbers, by which they are ordered.
    child : int
    candidates, required, fixed : int
        Masks: the parents are those in `fixed` and any of the `candidates`, and must include the
        `required` ones. The fixed columns are later than the candidates, and than the columns in
        which `width` neighbouring sets differ.
    threshold : float

    Returns
    -------
    parents : int
        Their mask.
    """
    width = tables.shape[2]
    parent_sets = np.empty(width)
    families = np.empty(width)
    scores = np.empty(_row_size(child, width))
    chosen = np.int64(-1)
    chosen_size = tables.shape[1]
    high = candidates & -width
    above = 0
    while True:
        base = fixed | above
        where = base + shift
        _score_row(log_det, tables, base, where, step, child, parent_sets, families, scores)
        n_reached = 0
        for i in range(scores.size):
            n_reached += scores[i] >= threshold
        if n_reached:
            for i in range(scores.size):
                parents = _parents_at(i, base, child, width)
                is_allowed = parents & ~(fixed | candidates) == 0 and required & ~parents == 0
                if scores[i] >= threshold and is_allowed:
                    size = popcount(parents)
                    if (
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


@kernel(float64[::1], float64[:, :, ::1], int64, int64, int64, int64, int64, int64)
def best_parents(log_det, tables, shift, step, child, candidates, required, fixed):
    """Return the best local score of a child, and the mask of parents that have it.

    The parameters are those of `first_parents_that_reach`. Without any family of a finite score,
    the score is -inf and the mask 0.
    """
    width = tables.shape[2]
    parent_sets = np.empty(width)
    families = np.empty(width)
    scores = np.empty(_row_size(child, width))
    best = -math.inf
    chosen = np.int64(0)
    high = candidates & -width
    above = 0
    while True:
        base = fixed | above
        where = base + shift
        _score_row(log_det, tables, base, where, step, child, parent_sets, families, scores)
        for i in range(scores.size):
            if scores[i] > best:
                parents = _parents_at(i, base, child, width)
                if parents & ~(fixed | candidates) == 0 and required & ~parents == 0:
                    best = scores[i]
                    chosen = parents
        above = (above - high) & high
        if above == 0:
            return best, chosen


@kernel(
    float64[::1],
    float64[:, :, ::1],
    int64,
    int64,
    int64,
    int64,
    int64,
    int64,
    float64,
    int64[::1],
    float64[::1],
)
def parents_that_reach(
    log_det,
    tables,
    shift,
    step,
    child,
    candidates,
    required,
    fixed,
    threshold,
    reached,
    their_scores,
):
    """Return how many parent sets have a local score that reaches a threshold, and list them.

    Parameters
    ----------
    log_det, tables, shift, step, child, candidates, required, fixed, threshold
        As for `first_parents_that_reach`.
    reached : ndarray of int64
        Set to their masks, as far as there is room.
    their_scores : ndarray of float64
        Set to their local scores; of the same size.
    """
    width = tables.shape[2]
    parent_sets = np.empty(width)
    families = np.empty(width)
    scores = np.empty(_row_size(child, width))
    n_reached = 0
    high = candidates & -width
    above = 0
    while True:
        base = fixed | above
        where = base + shift
        _score_row(log_det, tables, base, where, step, child, parent_sets, families, scores)
        for i in range(scores.size):
            if scores[i] >= threshold:
                parents = _parents_at(i, base, child, width)
                if parents & ~(fixed | candidates) == 0 and required & ~parents == 0:
                    if n_reached < reached.size:
                        reached[n_reached] = parents
                        their_scores[n_reached] = scores[i]
                    n_reached += 1
        above = (above - high) & high
        if above == 0:
            return n_reached


@inner_kernel
def _score_row(log_det, tables, base, where, step, child, parent_sets, families, scores):
    """Set `scores` to the local scores of a row's parent sets, without those that have the child.

    `parent_sets` and `families` are memory for `width` numbers each.
    """
    for i in range(scores.size):
        scores[i] = -math.inf
    weigh_parent_sets(log_det, tables, base, where, parent_sets)
    if 1 << child < tables.shape[2]:
        weigh_families(log_det, tables, base, where, families)
        join_pairs(scores, parent_sets, families, child, join_larger, score_itself, None)
    else:
        join_families(
            scores,
            parent_sets,
            log_det,
            tables,
            base | 1 << child,
            where + step,
            join_larger,
            score_itself,
            None,
        )


@inner_kernel
def _row_size(child, width):
    """Return how many parent sets of a child a row has: half, if the child is in its columns."""
    return width // 2 if 1 << child < width else width


@inner_kernel
def _parents_at(i, base, child, width):
    """Return the mask of a row's i-th parent set."""
    return base | (insert_zero_bit(i, child) if 1 << child < width else i)
