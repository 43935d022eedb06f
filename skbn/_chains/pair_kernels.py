"""The other move of a chain: new parents for two columns, drawn jointly and exactly given the rest.

Where columns move from layer to layer, those that are left keep their order. To reverse an edge,
many may have to move: all that descend from one of its columns. So a network is drawn given the
partition, and then the parents of two columns x and y are drawn anew while all others keep theirs.
The partition is that of the network again when this was done for some pairs.

Without parents, x and y have descendants among the others. The new parents of x are none of its
own, and if one of them is y or a descendant of y, then no parent of y is x or a descendant of x. So
there are three kinds of pairs of parent sets: only those of x meet y and its descendants, only
those of y meet x and its descendants, or neither.
"""

from __future__ import annotations

import math

import numpy as np
from numba import boolean, float64, int64

from skbn._chains.family_kernels import draw_set, set_parents
from skbn._chains.move_kernels import choose_related
from skbn._chains.partition_kernels import PARTITION, meeting_share
from skbn._core.compile import inner_kernel, kernel
from skbn._core.random_numbers import uniform


@kernel(
    *(PARTITION, int64[::1], float64[:, ::1], int64, int64[::1], boolean[:, ::1]),
    seconds=4.0,
)
def redraw_pairs(state, movable, related, n_pairs, masks, is_parent):
    """Draw the parents of some pairs of related columns anew, and set the network's partition.

    Parameters
    ----------
    state : Partition
    movable, related : ndarray
        As for `move_related`.
    n_pairs : int
    masks : ndarray of shape (m,), int64
        The masks of each column's parents among its candidates.
    is_parent : ndarray of shape (m, m), bool
        Row x has the parents of x.
    """
    m = masks.size
    columns = np.empty(2, np.int64)
    below = np.empty((2, m), np.bool_)
    stack = np.empty(m, np.int64)
    for _ in range(n_pairs):
        choose_related(state.random, movable, related, columns)
        for a in range(2):
            _mark_descendants(is_parent, columns[a], columns[1 - a], below[a], stack)
        _redraw_pair(state, columns[0], columns[1], below, masks)
        for x in columns:
            set_parents(state, x, masks[x], is_parent)
    _set_layers(state, masks)


@inner_kernel
def _mark_descendants(is_parent, x, other, marks, stack):
    """Mark a column and its descendants, as if neither it nor the other one had parents."""
    marks[:] = False
    marks[x] = True
    stack[0] = x
    n = 1
    while n:
        n -= 1
        z = stack[n]
        for child in range(marks.size):
            if is_parent[child, z] and not marks[child] and child != other:
                marks[child] = True
                stack[n] = child
                n += 1


@inner_kernel
def _redraw_pair(state, x, y, below, masks):
    """Draw new parents of two columns, whose descendants and themselves are marked."""
    x_within, x_without = _allowed(state, x, below[0], below[1])
    y_within, y_without = _allowed(state, y, below[1], below[0])
    # Logarithms of the shares of sets that meet the other column or its descendants, or do not.
    x_free = state.sums[x, x_without] - state.sums[x, x_within]
    y_free = state.sums[y, y_without] - state.sums[y, y_within]
    x_meets = _log(meeting_share(state, x, x_within, x_without)) + y_free
    y_meets = _log(meeting_share(state, y, y_within, y_without)) + x_free
    neither = x_free + y_free
    highest = max(x_meets, y_meets, neither)
    of_x, of_y = math.exp(x_meets - highest), math.exp(y_meets - highest)
    u = uniform(state.random, 0) * (of_x + of_y + math.exp(neither - highest))
    if u < of_x:
        masks[x] = draw_set(state, x, x_within, x_without)
        masks[y] = draw_set(state, y, y_without, -1)
    elif u < of_x + of_y:
        masks[x] = draw_set(state, x, x_without, -1)
        masks[y] = draw_set(state, y, y_within, y_without)
    else:
        masks[x] = draw_set(state, x, x_without, -1)
        masks[y] = draw_set(state, y, y_without, -1)


@inner_kernel
def _allowed(state, x, own, of_other):
    """Return the masks of candidates that are not below a column, and of those below neither."""
    within, without = 0, 0
    for p in range(state.n_candidates[x]):
        z = state.candidates[x, p]
        if not own[z]:
            within |= 1 << p
            if not of_other[z]:
                without |= 1 << p
    return within, without


@inner_kernel
def _log(value):
    return math.log(value) if value > 0 else -np.inf


@inner_kernel
def _set_layers(state, masks):
    """Set the layers to those of a network: each column is in the first layer after its parents."""
    state.layers[:] = 1
    is_done = False
    while not is_done:
        is_done = True
        for x in range(masks.size):
            for p in range(state.n_candidates[x]):
                if masks[x] >> p & 1 and state.layers[state.candidates[x, p]] >= state.layers[x]:
                    state.layers[x] = state.layers[state.candidates[x, p]] + 1
                    is_done = False
    state.n_layers[0] = state.layers.max()
