"""Kernels that put neighbouring columns of an order into their optimal order."""

from __future__ import annotations

import numpy as np

from skbn._core.compile import inner_kernel
from skbn._core.random_numbers import random_below
from skbn._orders.order_kernels import BLOCK, change_family, first_fit, has

__all__ = ["improve_window"]


@inner_kernel
def improve_window(lists, state, a, width, least, tables, best, sink, random, i):
    """Put the columns at positions a, ..., a + width - 1 into their optimal order.

    The dynamic program of Silander & Myllymäki (2006), over the subsets of these columns, with
    what precedes them always available. Among equally good orders one is drawn at random. The
    columns whose families change are marked.

    Parameters
    ----------
    tables : ndarray of shape (width, 2**width), float64
        Scratch, as are `best` and `sink` of shape (2**width,).
    random, i
        Generator i of `random` breaks ties.

    Returns
    -------
    gain : float
    """
    n = 1 << width
    old = 0.0
    for x in range(width):
        old += lists.scores[state.chosen[state.order[a + x]]]
        _score_within_window(lists, state, a, width, x, tables[x])
    best[0] = 0.0
    for s in range(1, n):
        top = -np.inf
        last = -1
        start = random_below(random, i, width)
        for j in range(width):
            x = j + start
            if x >= width:
                x -= width
            if s >> x & 1:
                rest = s ^ (1 << x)
                score = best[rest] + tables[x, rest]
                if last < 0 or score > top + least:
                    top = score
                    last = x
        best[s] = top
        sink[s] = last
    gain = best[n - 1] - old
    if gain < -least:  # rounding
        return 0.0
    _reorder(lists, state, a, width, sink)
    return gain


@inner_kernel
def _score_within_window(lists, state, a, width, x, table):
    """Fill a table with the best score of column a + x by which others of the window precede it."""
    child = state.order[a + x]
    sets = lists.sets
    bit_of = np.empty(width, dtype=np.int64)
    outside = ~state.available[child]
    for y in range(width):
        bit = np.int64(lists.bits[child, state.order[a + y]])
        bit_of[y] = bit
        if bit >= 0:
            outside[bit >> 6] &= ~(np.int64(1) << (bit & 63))
    table[:] = -np.inf
    f = lists.starts[child] - 1
    s = -1
    while s != 0:
        f += 1
        if f % BLOCK == 0:
            while lists.common[f // BLOCK, 0] & outside[0]:
                f += BLOCK
        if _avoids(sets, f, outside):
            s = 0
            for y in range(width):
                if bit_of[y] >= 0 and has(sets, f, bit_of[y]):
                    s |= 1 << y
            table[s] = max(table[s], lists.scores[f])
    for y in range(width):
        _join(table, 1 << y)


@inner_kernel
def _avoids(sets, f, outside):
    avoids = True
    for word in range(outside.size):
        avoids &= sets[f, word] & outside[word] == 0
    return avoids


@inner_kernel
def _join(table, size):
    """Let each set with the element of this size score at least as high as the set without."""
    for start in range(0, table.size, 2 * size):
        for s in range(start, start + size):
            table[s + size] = max(table[s + size], table[s])


@inner_kernel
def _reorder(lists, state, a, width, sink):
    """Put the window into the order whose last columns are the sinks."""
    old = state.order[a : a + width].copy()
    s = (1 << width) - 1
    for k in range(width - 1, -1, -1):
        state.order[a + k] = old[sink[s]]
        s ^= 1 << sink[s]
    for k in range(width):
        state.position[state.order[a + k]] = a + k
    for x in old:
        for y in old:
            bit = np.int64(lists.bits[x, y])
            if bit >= 0:
                chosen = np.int64(1) << (bit & 63)
                if state.position[y] < state.position[x]:
                    state.available[x, bit >> 6] |= chosen
                else:
                    state.available[x, bit >> 6] &= ~chosen
        family = first_fit(lists, lists.starts[x], state.available, x)
        change_family(lists, state, x, family)
