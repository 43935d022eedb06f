"""The other move of a chain: new parents for a block of columns, drawn jointly given the rest.

Where columns move from layer to layer, those that are left keep their order. To reverse an edge,
many may have to move: all that descend from one of its columns. So a network is drawn given the
partition, and then the parents of a few columns are drawn anew while all others keep theirs. The
partition is that of the network again when this was done for some blocks.

Without parents, each column y of the block has descendants among the others. New parents of x that
include y or one of its descendants put y before x. They close no cycle if and only if the block has
an order in which each column comes after those that its parents put before it. So an order is drawn
by the weight of all parents that it allows, and then these parents. A network that several orders
allow is drawn as much too often: the draw is accepted with the inverse ratio (Metropolis and
Hastings), which is seldom far from 1 as the columns of a block are related.

Sets of the block's columns are masks, of which bit a is the a-th of them.
"""

import math

import numpy as np
from numba import boolean, float64, int64

from skbn._chains.family_kernels import draw_set, set_parents
from skbn._chains.move_kernels import choose_related, draw_width
from skbn._chains.partition_kernels import PARTITION
from skbn._core.compile import inner_kernel, kernel, pasted_kernel
from skbn._core.random_numbers import uniform


@kernel(
    *(PARTITION, int64[::1], float64[:, ::1], float64[::1], int64, int64[::1], boolean[:, ::1]),
    seconds=2.2,
)
def redraw_blocks(state, movable, related, shares_of_width, n_blocks, masks, is_parent):
    """Draw the parents of some blocks of columns anew, and set the network's partition.

    `movable`, `related`, `shares_of_width`: as for `move_related`
    `masks`: (m,), the masks of each column's parents among its candidates
    """
    columns = np.empty(shares_of_width.size, np.int64)
    below = np.empty((columns.size, masks.size), np.bool_)
    stack = np.empty(masks.size, np.int64)
    for _ in range(n_blocks):
        block = columns[: draw_width(state.random, movable, shares_of_width)]
        choose_related(state.random, movable, related, block)
        for a in range(block.size):
            _mark_descendants(is_parent, block, a, below[a], stack)
        _redraw_block(state, block, below, masks)
        for x in block:
            set_parents(state, x, masks[x], is_parent)
    _set_layers(state, masks)


@inner_kernel
def _mark_descendants(is_parent, block, a, marks, stack):
    """Mark a column of a block and its descendants, as if no column of the block had parents."""
    for x in range(marks.size):
        marks[x] = False
    marks[block[a]] = True
    stack[0] = block[a]
    n = 1
    while n:
        n -= 1
        z = stack[n]
        for child in range(marks.size):
            if is_parent[child, z] and not marks[child] and child not in block:
                marks[child] = True
                stack[n] = child
                n += 1


@pasted_kernel
def _redraw_block(state, block, below, masks):
    """Draw new parents of a block, where the descendants of each of its columns are marked."""
    width = block.size
    after, allowed = _allowed_parents(state, block, below)
    totals = _weigh_orders(state, block, allowed)
    old, new = np.empty(width, np.int64), np.empty(width, np.int64)
    for a in range(width):
        old[a] = masks[block[a]]
    placed = (1 << width) - 1
    while placed:
        a = _draw_last(state, block, allowed, totals, placed)
        placed ^= 1 << a
        new[a] = draw_set(state, block[a], allowed[a, placed], -1)
    if uniform(state.random, 0) * _n_orders(new, after) < _n_orders(old, after):
        for a in range(width):
            masks[block[a]] = new[a]


@inner_kernel
def _allowed_parents(state, block, below):
    """Return the masks of candidates that put column b of a block before its column a, at [a, b].

    Also return, at [a, S], which candidates column a may have if only the set S comes before it.
    """
    width = block.size
    after = np.empty((width, width), np.int64)
    allowed = np.empty((width, 1 << width), np.int64)
    for a in range(width):
        x = block[a]
        for b in range(width):
            after[a, b] = 0
        for p in range(state.n_candidates[x]):
            for b in range(width):
                if below[b, state.candidates[x, p]]:
                    after[a, b] |= 1 << p
        for before in range(1 << width):
            allowed[a, before] = (1 << state.n_candidates[x]) - 1
            for b in range(width):
                if not before >> b & 1:
                    allowed[a, before] &= ~after[a, b]
    return after, allowed


@inner_kernel
def _weigh_orders(state, block, allowed):
    """Return the logarithm of the weight of all orders of each set of the block."""
    totals = np.empty(1 << block.size)
    totals[0] = 0.0
    for placed in range(1, totals.size):
        totals[placed] = highest = -np.inf
        for a in range(block.size):
            if placed >> a & 1:
                highest = max(highest, _weight_with_last(state, block, allowed, totals, placed, a))
        if highest > -np.inf:
            total = 0.0
            for a in range(block.size):
                if placed >> a & 1:
                    log = _weight_with_last(state, block, allowed, totals, placed, a)
                    total += math.exp(log - highest)
            totals[placed] = highest + math.log(total)
    return totals


@inner_kernel
def _weight_with_last(state, block, allowed, totals, placed, a):
    """Return the logarithm of the weight of the orders of a set in which column a is the last."""
    rest = placed ^ (1 << a)
    return totals[rest] + state.sums[block[a], allowed[a, rest]]


@inner_kernel
def _draw_last(state, block, allowed, totals, placed):
    """Draw the last column of a set of the block."""
    u = uniform(state.random, 0)
    last = -1
    for a in range(block.size):
        if placed >> a & 1:
            log = _weight_with_last(state, block, allowed, totals, placed, a)
            share = math.exp(log - totals[placed])
            if share > 0:
                last = a
                u -= share
                if u < 0:
                    break
    return last


@inner_kernel
def _n_orders(parents, after):
    """Return how many orders of a block its parents allow."""
    width = parents.size
    numbers = np.empty(1 << width)
    for placed in range(numbers.size):
        numbers[placed] = 1.0 if placed == 0 else 0.0
    for placed in range(numbers.size):
        for a in range(width):
            is_allowed = not placed >> a & 1
            for b in range(width):
                if parents[a] & after[a, b] and not placed >> b & 1:
                    is_allowed = False
            if is_allowed:
                numbers[placed | 1 << a] += numbers[placed]
    return numbers[numbers.size - 1]


@inner_kernel
def _set_layers(state, masks):
    """Set the layers to those of a network: each column is in the first layer after its parents."""
    for x in range(masks.size):
        state.layers[x] = 1
    is_done = False
    while not is_done:
        is_done = True
        for x in range(masks.size):
            for p in range(state.n_candidates[x]):
                if masks[x] >> p & 1 and state.layers[state.candidates[x, p]] >= state.layers[x]:
                    state.layers[x] = state.layers[state.candidates[x, p]] + 1
                    is_done = False
    state.n_layers[0] = 0
    for x in range(masks.size):
        state.n_layers[0] = max(state.n_layers[0], state.layers[x])
