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
from typing import NamedTuple

import numpy as np
from numba import boolean, float64, int64

from skbn._chains.family_kernels import draw_set, set_parents
from skbn._chains.move_kernels import choose_related, draw_width
from skbn._chains.partition_kernels import PARTITION
from skbn._core.arrays import B2, F1, I1, I2
from skbn._core.compile import inner_kernel, kernel, pasted_kernel, tuple_type, zeros
from skbn._core.random_numbers import uniform


class Blocks(NamedTuple):
    """Memory for blocks of up to `width` columns, of which each fills what it needs."""

    columns: I1  # (width,): the columns of a block
    below: B2  # (width, m): the descendants of each
    stack: I1  # (m,)
    after: I2  # (width, width): at [a, b], the candidates of column a that put column b before it
    # (width, 2**width): at [a, S], which candidates column a may have if only the set S comes
    # before it
    allowed: I2
    totals: F1  # (2**width,): the logarithm of the weight of all orders of each set of the block
    old: I1  # (width,): the masks of parents before, and those drawn
    new: I1
    numbers: F1  # (2**width,): of orders of each set


BLOCKS = tuple_type(Blocks)


def blocks_of(m: int, width: int) -> Blocks:
    """Return memory for blocks of up to `width` of m columns."""
    n = 1 << width
    return zeros(Blocks, width, (width, m), m, (width, width), (width, n), n, width, width, n)


@kernel(
    *(PARTITION, int64[::1], float64[:, ::1], float64[::1], int64, int64[::1], boolean[:, ::1]),
    BLOCKS,
    seconds=1.7,
)
def redraw_blocks(state, movable, related, shares_of_width, n_blocks, masks, is_parent, blocks):
    """Draw the parents of some blocks of columns anew, and set the network's partition.

    `movable`, `related`, `shares_of_width`: as for `move_related`
    `masks`: (m,), the masks of each column's parents among its candidates
    `blocks`: memory for blocks of as many columns as there are shares
    """
    old, new = blocks.old, blocks.new
    for _ in range(n_blocks):
        width = draw_width(state.random, movable, shares_of_width)
        choose_related(state.random, movable, related, blocks.columns, width)
        _mark_descendants(is_parent, blocks, width)
        _set_allowed_parents(state, blocks, width)
        _weigh_orders(state, blocks, width)
        placed = (1 << width) - 1
        while placed:
            a = _draw_last(state, blocks, width, placed)
            placed ^= 1 << a
            old[a] = masks[blocks.columns[a]]
            new[a] = draw_set(state, blocks.columns[a], blocks.allowed[a, placed], -1)
        u = uniform(state.random, 0)
        is_kept = not u * _n_orders(blocks, width, new) < _n_orders(blocks, width, old)
        for a in range(width):
            x = blocks.columns[a]
            masks[x] = old[a] if is_kept else new[a]
            set_parents(state, x, masks[x], is_parent)
    _set_layers(state, masks)


@pasted_kernel
def _mark_descendants(is_parent, blocks, width):
    """Mark each column of a block and its descendants, as if none of the block had parents."""
    columns, stack = blocks.columns, blocks.stack
    for a in range(width):
        for x in range(stack.size):
            blocks.below[a, x] = False
        for b in range(width):
            blocks.below[a, columns[b]] = True
        stack[0] = columns[a]
        n = 1
        while n:
            n -= 1
            z = stack[n]
            for child in range(stack.size):
                if is_parent[child, z] and not blocks.below[a, child]:
                    blocks.below[a, child] = True
                    stack[n] = child
                    n += 1
        for b in range(width):
            blocks.below[a, columns[b]] = b == a


@pasted_kernel
def _set_allowed_parents(state, blocks, width):
    """Set which candidates put columns of a block before others, and which are allowed."""
    after, allowed = blocks.after, blocks.allowed
    for a in range(width):
        x = blocks.columns[a]
        for b in range(width):
            after[a, b] = 0
            for p in range(state.n_candidates[x]):
                if blocks.below[b, state.candidates[x, p]]:
                    after[a, b] |= 1 << p
        for before in range(1 << width):
            allowed[a, before] = (1 << state.n_candidates[x]) - 1
            for b in range(width):
                if not before >> b & 1:
                    allowed[a, before] &= ~after[a, b]


@pasted_kernel
def _weigh_orders(state, blocks, width):
    """Set the logarithm of the weight of all orders of each set of the block."""
    totals = blocks.totals
    totals[0] = 0.0
    for placed in range(1, 1 << width):
        highest = -np.inf
        for a in range(width):
            if placed >> a & 1:
                highest = max(highest, _weight_with_last(state, blocks, placed, a))
        totals[placed] = highest
        if highest > -np.inf:
            total = 0.0
            for a in range(width):
                if placed >> a & 1:
                    total += math.exp(_weight_with_last(state, blocks, placed, a) - highest)
            totals[placed] = highest + math.log(total)


@inner_kernel
def _weight_with_last(state, blocks, placed, a):
    """Return the logarithm of the weight of the orders of a set in which column a is the last."""
    rest = placed ^ (1 << a)
    return blocks.totals[rest] + state.sums[blocks.columns[a], blocks.allowed[a, rest]]


@pasted_kernel
def _draw_last(state, blocks, width, placed):
    """Draw the last column of a set of the block."""
    u = uniform(state.random, 0)
    last = -1
    for a in range(width):
        if placed >> a & 1:
            log = _weight_with_last(state, blocks, placed, a)
            share = math.exp(log - blocks.totals[placed])
            if share > 0:
                last = a
                u -= share
                if u < 0:
                    break
    return last


@inner_kernel
def _n_orders(blocks, width, parents):
    """Return how many orders of a block its parents allow."""
    numbers = blocks.numbers
    for placed in range(1 << width):
        numbers[placed] = 1.0 if placed == 0 else 0.0
    for placed in range(1 << width):
        for a in range(width):
            is_allowed = not placed >> a & 1
            for b in range(width):
                if parents[a] & blocks.after[a, b] and not placed >> b & 1:
                    is_allowed = False
            if is_allowed:
                numbers[placed | 1 << a] += numbers[placed]
    return numbers[(1 << width) - 1]


@pasted_kernel
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
