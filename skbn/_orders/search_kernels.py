"""Kernels of the iterated local search among orders."""

from __future__ import annotations

import math

import numpy as np
from numba import float64, int64, uint64

from skbn._core.compile import inner_kernel, kernel
from skbn._core.random_numbers import random_below, uniform
from skbn._orders.order_kernels import (
    LISTS,
    STATE,
    first_fit,
    improve_by_insertions,
    mark,
    move,
    total_score,
)
from skbn._orders.window_kernels import improve_window

__all__ = ["arrange", "climb", "perturb_and_climb"]

# Insertions of a perturbation.
_MOST_INSERTIONS = 6
# The share of perturbations among columns that are in lists together, and the share of insertions
# that end near the column that was drawn first; the others end anywhere.
_SHARE_OF_RELATED = 0.5
_SHARE_OF_NEAR = 0.7
# Positions that are near each other.
_REACH = 40
# Windows that are put into their optimal order after a perturbation.
_WINDOWS = 3
# A loss is accepted with the probability that an exponential variable with this mean exceeds it.
_MEAN_LOSS = 0.5


@kernel(LISTS, STATE, int64, float64, seconds=3.5)
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
    state.available[:] = 0
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
                    state.available[y, bit >> 6] |= np.int64(1) << (bit & 63)
        has_changed = n_left < n_waiting
        n_waiting = n_left
    state.order[n_placed:] = waiting[:n_waiting]
    return n_waiting == 0


@kernel(LISTS, STATE, int64, int64, float64, int64, uint64[::1], int64, seconds=10.5)
def climb(lists, state, first, width, least, most, random, i):
    """Improve all windows along an order once, and then insert columns; return the score.

    Parameters
    ----------
    width : int
        With 1 there are no windows.
    most : int
        The largest number of columns to try to insert. With fewer, all have been tried since the
        last gain.
    """
    m = state.order.size
    trial = np.empty((1, lists.sets.shape[1]), dtype=np.int64)
    if width > 1:
        tables = np.empty((width, 1 << width))
        best = np.empty(1 << width)
        sink = np.empty(1 << width, dtype=np.int64)
        step = width // 2
        a = first + random_below(random, i, step)
        while True:
            a = min(a, m - width)
            improve_window(lists, state, a, width, least, tables, best, sink, random, i)
            if a == m - width:
                break
            a += step
    for x in range(m):
        mark(state, x)
    improve_by_insertions(lists, state, first, least, trial, most, random, i)
    return total_score(lists, state)


@inner_kernel
def _perturb(lists, state, first, random, i):
    """Insert a few columns elsewhere; return the column that was drawn first."""
    m = state.order.size
    centre = state.order[first + random_below(random, i, m - first)]
    n = 1 + random_below(random, i, _MOST_INSERTIONS)
    if uniform(random, i) < _SHARE_OF_RELATED:
        _insert_related(lists, state, first, centre, n, random, i)
    else:
        low, high = first, m
        if uniform(random, i) < _SHARE_OF_NEAR and m - first > _REACH:
            low = min(max(first, state.position[centre] - _REACH // 2), m - _REACH)
            high = low + _REACH
        for _ in range(n):
            x = state.order[low + random_below(random, i, high - low)]
            move(lists, state, x, low + random_below(random, i, high - low))
    return centre


@inner_kernel
def _insert_related(lists, state, first, centre, n, random, i):
    """Move a column, or columns in its lists, n times, beside others of these or anywhere."""
    n_related = 0
    while n_related < lists.columns.shape[1] and lists.columns[centre, n_related] >= 0:
        n_related += 1
    for _ in range(n):
        j = random_below(random, i, n_related + 1)
        x = centre if j == n_related else np.int64(lists.columns[centre, j])
        target = random_below(random, i, state.order.size)
        if uniform(random, i) < _SHARE_OF_NEAR and n_related > 0:
            j = random_below(random, i, n_related)
            target = state.position[lists.columns[centre, j]]
        if state.position[x] >= first:
            move(lists, state, x, max(first, target))


@kernel(
    LISTS, STATE, STATE, int64[::1], float64[::1], int64, int64, float64, int64, int64, uint64[::1],
    int64,
    seconds=6.5,
)  # fmt: skip
def perturb_and_climb(
    lists, state, kept, best_order, totals, first, width, least, n, most, random, i
):
    """Perturb an order n times, climb after each, and keep what is not much worse.

    Parameters
    ----------
    kept : State
        Scratch.
    best_order : ndarray of shape (m,), int64
        The best order found; updated.
    totals : ndarray of shape (2,)
        The scores of the order and of the best; updated.
    most : int
        The largest number of columns to try to insert, after which no more is perturbed.

    Returns
    -------
    last : int
        Which of the n, from 1 on, was the last to find a better order; 0 if none did.
    """
    m = state.order.size
    trial = np.empty((1, lists.sets.shape[1]), dtype=np.int64)
    tables = np.empty((width, 1 << width))
    best = np.empty(1 << width)
    sink = np.empty(1 << width, dtype=np.int64)
    _copy(state, kept)
    last = 0
    for t in range(n):
        if most == 0:
            break
        centre = _perturb(lists, state, first, random, i)
        most = improve_by_insertions(lists, state, first, least, trial, most, random, i)
        if width > 1:
            for _ in range(_WINDOWS):
                a = state.position[centre] - random_below(random, i, width)
                a = min(max(a, first), m - width)
                improve_window(lists, state, a, width, least, tables, best, sink, random, i)
            most = improve_by_insertions(lists, state, first, least, trial, most, random, i)
        total = total_score(lists, state)
        if total >= totals[0] + _MEAN_LOSS * math.log(1.0 - uniform(random, i)):
            totals[0] = total
            _copy(state, kept)
            if total > totals[1] + least:
                totals[1] = total
                best_order[:] = state.order
                last = t + 1
        else:
            _copy(kept, state)
    return last


@inner_kernel
def _copy(source, target):
    target.order[:] = source.order
    target.position[:] = source.position
    target.available[:] = source.available
    target.chosen[:] = source.chosen
