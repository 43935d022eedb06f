"""Kernels of the iterated local search among orders."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import boolean, float64, int64, uint64

from skbn._core.compile import inner_kernel, kernel, pasted_kernel, tuple_type
from skbn._core.random_numbers import random_below, uniform
from skbn._orders.insertion_kernels import (
    LIMITS,
    STATE,
    State,
    insert_marked,
    mark,
    move,
    set_available,
    total_score,
)
from skbn._orders.list_kernels import LISTS, first_fit
from skbn._orders.segment_kernels import SEGMENT, improve_segment, improve_segments

# The most insertions of a perturbation.
_MOST_INSERTIONS = 6
# The share of perturbations that move columns which are in lists together.
_SHARE_OF_RELATED = 0.5
# The share of insertions that end near the column that was drawn first; others end anywhere.
_SHARE_OF_NEAR = 0.7
# Positions that count as near each other.
_REACH = 40
# Segments that are put into their optimal order after a perturbation.
_SEGMENTS = 3
# A loss is accepted with the probability that an exponential variable with this mean, in nats,
# exceeds it.
_MEAN_LOSS = 0.5


class Best(NamedTuple):
    """What a search from one start keeps.

    Parameters
    ----------
    kept : State
        The order that perturbations begin with; its marks are not used.
    order : ndarray of shape (m,), int64
        The best order found.
    totals : ndarray of shape (2,), float64
        The scores of both.
    """

    kept: State
    order: npt.NDArray[np.int64]
    totals: npt.NDArray[np.float64]


BEST = tuple_type(Best, STATE, int64[::1], float64[::1])


@kernel(LISTS, STATE, int64, float64, boolean, uint64[::1], int64)
def order_greedily(lists, state, first, missing, is_random, random, i):
    """Order columns so that each has a listed family, if any order does that.

    Next is the column whose family among those that it has placed loses least against its best
    one. Columns without a family wait until they have one. Columns that wait for each other in the
    end have none in any order, since the first of them has none.

    Parameters
    ----------
    first : int
        The columns before this position stay: they have families without parents.
    missing : float
        The score where no listed family fits.
    is_random : bool
        Whether losses are multiplied by random numbers.
    random, i
        Generator i of `random` draws these.

    Returns
    -------
    is_possible : bool
    """
    m = state.order.size
    losses = np.empty(m)
    for y in range(m):
        state.position[y] = m
        for word in range(state.available.shape[1]):
            state.available[y, word] = 0
        family = first_fit(lists, lists.starts[y], state.available, y)
        losses[y] = _loss(lists, y, family, missing)
    is_possible = True
    for k in range(m):
        x = np.int64(k)
        if k >= first:
            x = np.int64(-1)
            least = np.inf
            for y in range(m):
                if state.position[y] == m:
                    loss = losses[y] * uniform(random, i) if is_random else losses[y]
                    if x < 0 or loss < least:
                        x = np.int64(y)
                        least = loss
            is_possible &= losses[x] < np.inf
        state.order[k] = x
        state.position[x] = k
        for y in range(m):
            bit = np.int64(lists.bits_in[x, y])
            if bit >= 0 and state.position[y] == m:
                set_available(state.available, y, bit, True)
                family = first_fit(lists, lists.starts[y], state.available, y)
                losses[y] = _loss(lists, y, family, missing)
    return is_possible


@inner_kernel
def _loss(lists, x, family, missing):
    """Return by how much a family of x is below the best one; infinity if it is missing."""
    score = lists.scores[family]
    return lists.scores[lists.starts[x]] - score if score > missing else np.inf


@pasted_kernel
def _perturb(lists, state, first, random, i):
    """Insert a few columns elsewhere; return the column that was drawn first.

    Either columns are moved that are in the lists of that column, to beside each other or
    anywhere, or columns at positions near it, or columns anywhere.
    """
    m = state.order.size
    centre = state.order[first + random_below(random, i, m - first)]
    n = 1 + random_below(random, i, _MOST_INSERTIONS)
    is_related = uniform(random, i) < _SHARE_OF_RELATED
    related = lists.columns[centre]
    n_related = 0
    low, high = first, m
    if is_related:
        while n_related < related.size and related[n_related] >= 0:
            n_related += 1
    elif uniform(random, i) < _SHARE_OF_NEAR and m - first > _REACH:
        low = min(max(first, state.position[centre] - _REACH // 2), m - _REACH)
        high = low + _REACH
    for _ in range(n):
        if is_related:
            j = random_below(random, i, n_related + 1)
            x = centre if j == n_related else np.int64(related[j])
            target = random_below(random, i, m)
            if uniform(random, i) < _SHARE_OF_NEAR and n_related > 0:
                target = state.position[related[random_below(random, i, n_related)]]
            target = max(first, target)
        else:
            x = state.order[low + random_below(random, i, high - low)]
            target = low + random_below(random, i, high - low)
        if state.position[x] >= first:
            move(lists, state, x, target)
    return centre


@kernel(LISTS, STATE, BEST, SEGMENT, LIMITS, int64, int64, uint64[::1], int64, seconds=6)
def perturb_and_climb(lists, state, best, segment, limits, n, most, random, i):
    """Perturb an order n times, climb after each, and keep what is not much worse.

    With n = 0, it climbs only: all segments along the order are improved once, and all columns are
    inserted, those that are marked already in the order of their marks.

    Parameters
    ----------
    best : Best
        The best order and the scores are updated.
    segment : Segment
        Without columns, no segments are improved.
    most : int
        The largest number of columns to try to insert, after which no more is perturbed.

    Returns
    -------
    last : int
        Which of the n, from 1 on, was the last to find a better order; 0 if none did.
    """
    first, least = limits
    m, width = state.order.size, segment.columns.size
    if n > 0:
        _copy(state, best.kept)
    last = 0
    for t in range(max(n, 1)):
        if n > 0 and most == 0:
            break
        if n > 0:
            centre = _perturb(lists, state, first, random, i)
        else:
            centre = _sweep(lists, state, segment, limits, random, i)
        for is_again in range(2):
            most = insert_marked(lists, state, limits, most, random, i)
            if is_again or n == 0 or width == 0:
                break
            for _ in range(_SEGMENTS):
                a = state.position[centre] - random_below(random, i, width)
                a = min(max(a, first), m - width)
                improve_segment(lists, state, segment, limits, a, random, i)
        if n == 0:
            break
        if _keep_or_go_back(lists, state, best, least, random, i):
            last = t + 1
    return last


@pasted_kernel
def _sweep(lists, state, segment, limits, random, i):
    """Improve all segments and mark all columns; return one that moves."""
    improve_segments(lists, state, segment, limits, random, i)
    for x in range(state.order.size):
        mark(state, x)
    return state.order[limits.first]


@pasted_kernel
def _keep_or_go_back(lists, state, best, least, random, i):
    """Keep an order that is not much worse, or else go back; return whether it is the best."""
    total = total_score(lists, state)
    is_best = total > best.totals[1] + least
    if total >= best.totals[0] + _MEAN_LOSS * math.log(1.0 - uniform(random, i)):
        best.totals[0] = total
        _copy(state, best.kept)
        if is_best:
            best.totals[1] = total
            for k in range(state.order.size):
                best.order[k] = state.order[k]
    else:
        _copy(best.kept, state)
        is_best = False
    return is_best


@inner_kernel
def _copy(source, target):
    """Copy the order and what follows from it, but no marks."""
    # Loops: to assign whole arrays, numba also compiles the text of an error about their shapes.
    for x in range(source.order.size):
        target.order[x] = source.order[x]
        target.position[x] = source.position[x]
        target.chosen[x] = source.chosen[x]
        for word in range(source.available.shape[1]):
            target.available[x, word] = source.available[x, word]
