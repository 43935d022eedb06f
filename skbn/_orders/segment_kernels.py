"""Kernels that put neighbouring columns of an order, a segment, into their optimal order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import float64, int64

from skbn._core.arrays import Floats, Integers
from skbn._core.compile import inner_kernel, pasted_kernel, tuple_type
from skbn._core.random_numbers import random_below
from skbn._core.subsets import least_over_subsets
from skbn._orders.insertion_kernels import change_family, set_available
from skbn._orders.list_kernels import BLOCK, Lists, first_fit, has


class Segment(NamedTuple):
    """Scratch for the dynamic program over the subsets of a segment of `width` columns.

    Columns are numbered by their position in the segment. Scores are negated: what they would
    add is a cost.

    Parameters
    ----------
    costs : ndarray of shape (width, 2**width), float64
        The least cost of each column by the set of columns of the segment that precede it.
    totals : ndarray of shape (2**width,), float64
        The least cost of each set of columns that begin the segment.
    last : ndarray of shape (2**width,), int64
        The last column of the best order of each set.
    columns, bits : ndarray of shape (width,), int64
        The columns of the segment, and their bits in the families of one of them.
    outside : ndarray of shape (n_words,), int64
        The bits that a column's families may not have.
    """

    costs: Floats
    totals: Floats
    last: Integers
    columns: Integers
    bits: Integers
    outside: Integers


SEGMENT = tuple_type(
    Segment, float64[:, ::1], float64[::1], int64[::1], int64[::1], int64[::1], int64[::1]
)


def segment_of(width: int, lists: Lists) -> Segment:
    """Return scratch for segments of `width` columns. With one column, there are no segments."""
    width = width if width > 1 else 0
    return Segment(
        np.empty((width, 1 << width)),
        np.empty(1 << width),
        np.empty(1 << width, dtype=np.int64),
        np.empty(width, dtype=np.int64),
        np.empty(width, dtype=np.int64),
        np.empty(lists.sets.shape[1], dtype=np.int64),
    )


@pasted_kernel
def improve_segments(lists, state, segment, limits, random, i):
    """Improve the segments along an order, each of which overlaps half of the one before it."""
    width = segment.columns.size
    if width == 0:
        return
    step = width // 2
    a = limits.first + random_below(random, i, step)
    end = state.order.size - width
    while True:
        a = min(a, end)
        improve_segment(lists, state, segment, limits, a, random, i)
        if a == end:
            break
        a += step


@inner_kernel
def improve_segment(lists, state, segment, limits, a, random, i):
    """Put the columns at positions a, a + 1, ... into their optimal order.

    The dynamic program of Silander & Myllymäki (2006), over the subsets of these columns, with
    what precedes them always available. Among equally good orders one is drawn at random. The
    columns whose families change are marked.

    Parameters
    ----------
    random, i
        Generator i of `random` breaks ties.

    Returns
    -------
    gain : float
    """
    columns = segment.columns
    old = 0.0
    for x in range(columns.size):
        columns[x] = state.order[a + x]
        old += lists.scores[state.chosen[columns[x]]]
    for x in range(columns.size):
        _fill_costs(lists, state, segment, x)
    gain = -_least_total(segment, limits.least, random, i) - old
    if gain < -limits.least:  # rounding
        return 0.0
    _reorder(lists, state, segment, a)
    return gain


@inner_kernel
def _fill_costs(lists, state, segment, x):
    """Fill the least cost of column x by the columns of the segment that precede it."""
    sets, common = lists.sets, lists.common
    outside, bits, costs = segment.outside, segment.bits, segment.costs[x]
    child = segment.columns[x]
    _set_outside(lists, state, segment, child)
    for s in range(costs.size):
        costs[s] = np.inf
    f = lists.starts[child] - 1
    s = -1
    # A family without parents in the segment costs least whatever precedes: later ones cost more.
    while s != 0:
        f += 1
        if f % BLOCK == 0:
            while common[f // BLOCK, 0] & outside[0]:
                f += BLOCK
        excluded = np.int64(0)
        for word in range(outside.size):
            excluded |= sets[f, word] & outside[word]
        if excluded == 0:
            s = 0
            for y in range(bits.size):
                if bits[y] >= 0 and has(sets, f, bits[y]):
                    s |= 1 << y
            costs[s] = min(costs[s], -lists.scores[f])
    least_over_subsets(costs, np.int64(0), bits.size, x)


@inner_kernel
def _set_outside(lists, state, segment, child):
    """Set which columns neither precede the child nor are in the segment, and the bits of these."""
    outside, bits = segment.outside, segment.bits
    for word in range(outside.size):
        outside[word] = ~state.available[child, word]
    for y in range(bits.size):
        bits[y] = lists.bits[child, segment.columns[y]]
        if bits[y] >= 0:
            outside[bits[y] >> 6] &= ~(np.int64(1) << (bits[y] & 63))


@inner_kernel
def _least_total(segment, least, random, i):
    """Fill the least total cost of each set, and its last column; return that of all columns."""
    width = segment.columns.size
    totals = segment.totals
    totals[0] = 0.0
    for s in range(1, totals.size):
        best = np.inf
        last = np.int64(-1)
        # Beginning with a random column, so that ties are broken at random.
        start = random_below(random, i, width)
        for j in range(width):
            x = j + start
            if x >= width:
                x -= width
            if s >> x & 1:
                rest = s ^ (1 << x)
                total = totals[rest] + segment.costs[x, rest]
                if last < 0 or total < best - least:
                    best = total
                    last = x
        totals[s] = best
        segment.last[s] = last
    return totals[totals.size - 1]


@inner_kernel
def _reorder(lists, state, segment, a):
    """Put the segment into the order in which each set of columns ends with its last one."""
    columns = segment.columns
    width = columns.size
    s = (1 << width) - 1
    for k in range(width - 1, -1, -1):
        x = segment.last[s]
        state.order[a + k] = columns[x]
        state.position[columns[x]] = a + k
        s ^= 1 << x
    for x in columns:
        for y in columns:
            bit = np.int64(lists.bits[x, y])
            if bit >= 0:
                is_before = state.position[y] < state.position[x]
                set_available(state.available, x, bit, is_before)
        family = first_fit(lists, lists.starts[x], state.available, x)
        change_family(lists, state, x, family)
