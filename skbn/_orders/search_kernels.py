"""Kernels of the iterated local search among orders."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import float64, int64, uint64

from skbn._core.compile import inner_kernel, kernel, tuple_type
from skbn._core.random_numbers import random_below, uniform
from skbn._orders.insertion_kernels import (
    LIMITS,
    STATE,
    State,
    insert_marked,
    move,
    set_available,
    total_score,
)
from skbn._orders.list_kernels import LISTS, first_fit
from skbn._orders.segment_kernels import SEGMENT, improve_segment

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


@kernel(LISTS, STATE, int64, float64)
def arrange(lists, state, first, missing):
    """Rearrange an order so that each column has a listed family, if any order does that.

    A column that has none among the columns before it waits until it has. Columns that wait for
    each other in the end have none in any order, since the first of them has none.

    Parameters
    ----------
    first : int
        The columns before this position stay: they have families without parents.
    missing : float
        The score where no listed family fits.

    Returns
    -------
    is_possible : bool
    """
    m = state.order.size
    waiting = state.order.copy()
    for x in range(m):
        for word in range(state.available.shape[1]):
            state.available[x, word] = 0
    n_waiting = m
    n_placed = 0
    has_changed = True
    while has_changed:  # each pass but the last places a column
        n_left = 0
        for k in range(n_waiting):
            x = waiting[k]
            family = first_fit(lists, lists.starts[x], state.available, x)
            if n_placed >= first and not lists.scores[family] > missing:
                waiting[n_left] = x
                n_left += 1
                continue
            state.order[n_placed] = x
            n_placed += 1
            for y in range(m):
                bit = np.int64(lists.bits_in[x, y])
                if bit >= 0:
                    set_available(state.available, y, bit, True)
        has_changed = n_left < n_waiting
        n_waiting = n_left
    for k in range(n_waiting):
        state.order[n_placed + k] = waiting[k]
    return n_waiting == 0


@inner_kernel
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


@kernel(LISTS, STATE, BEST, SEGMENT, LIMITS, int64, int64, uint64[::1], int64, seconds=3)
def perturb_and_climb(lists, state, best, segment, limits, n, most, random, i):
    """Perturb an order n times, climb after each, and keep what is not much worse.

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
    _copy(state, best.kept)
    last = 0
    for t in range(n):
        if most == 0:
            break
        centre = _perturb(lists, state, first, random, i)
        most = insert_marked(lists, state, limits, most, random, i)
        if width > 0:
            for _ in range(_SEGMENTS):
                a = state.position[centre] - random_below(random, i, width)
                a = min(max(a, first), m - width)
                improve_segment(lists, state, segment, limits, a, random, i)
            most = insert_marked(lists, state, limits, most, random, i)
        total = total_score(lists, state)
        if total >= best.totals[0] + _MEAN_LOSS * math.log(1.0 - uniform(random, i)):
            best.totals[0] = total
            _copy(state, best.kept)
            if total > best.totals[1] + least:
                best.totals[1] = total
                for k in range(m):
                    best.order[k] = state.order[k]
                last = t + 1
        else:
            _copy(best.kept, state)
    return last


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
