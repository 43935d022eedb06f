"""The kernels that fill a slab's tables with families, from log-determinants.

`recurrences` says what a slab, its tables and a block are. The steps are the same for the best
network and for sums over all networks; they differ in these functions, known at compile time:

================ ======================= ==============================
argument         best network            sums of weights
================ ======================= ==============================
join(a, b)       the larger of a and b   a + b
weigh(score)     the score               its exponential
================ ======================= ==============================

Sums are of extended floats, so these functions also take the format, `wide`, which the best
network's ignore.

Local scores have the terms ``c[l] + a0[l] * L[P] + a1[l] * L[P + x]``; this is the one form for
vectors of the formula in `skbn._regressions.local_score`. For all sets of a block,
`weigh_parent_sets` makes the sum of the first two and `weigh_families` the third. `join_pairs` and
`join_families` add them, so that the terms are summed from left to right. A block is small enough
for the cache: what its sets contribute to local scores is computed once for all children.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import float64, int64, types
from numba.extending import register_jitable

from skbn._core.compile import inner_kernel, kernel
from skbn._core.extended_floats import WideFormat
from skbn._core.subsets import bit_length, insert_zero_bit, popcount, remove_bit
from skbn._core.vectors import (
    even_entries,
    first_halves,
    load,
    odd_entries,
    plus,
    second_halves,
    store,
    times,
)
from skbn._core.zeta import join_larger, max_within_vector, zeta_transform

__all__ = [
    "WINDOW",
    "Window",
    "fill_block",
    "fill_blocks",
    "join_child",
    "join_families",
    "join_pairs",
    "rule_out",
    "score_itself",
    "weigh_families",
    "weigh_parent_sets",
]


_NO_FORMAT = WideFormat(0, 0)  # scores are float64


@register_jitable
def score_itself(score, wide):
    """Return the score: what `weigh` is in a search for the best network."""
    return score


class Window(NamedTuple):
    """The log-determinants that tables are filled from: those of some pieces.

    A *piece* has the log-determinants of all sets of inner columns, each joined with the same
    outer columns.

    Parameters
    ----------
    log_det : ndarray, float64
        The pieces one after the other; piece i has the columns that `fixed` has, and of `varying`
        those that the bits of i stand for, from the lowest.
    fixed, varying : int
        Masks of columns that are not inner ones; the lowest bit is the first of them.
    pieces : int
        The pieces to go through: those whose number is a subset of this mask.
    steps : ndarray of shape (n_children,), int64
        How far it is from the log-determinant of a parent set to that of the family, for each
        child.
    """

    log_det: npt.NDArray[np.float64]
    fixed: int
    varying: int
    pieces: int
    steps: npt.NDArray[np.int64]


WINDOW = types.NamedTuple((float64[::1], int64, int64, int64, int64[::1]), Window)


@kernel(
    WINDOW,
    float64[:, :, ::1],
    int64[::1],
    int64[::1],
    int64,
    int64[::1],
    int64,
    int64,
    int64[::1],
    float64[::1],
    int64[::1],
    float64[:, :, ::1],
    seconds=2.2,
)
def fill_blocks(
    window,
    tables,
    forbidden,
    required,
    n_inner,
    children,
    begins,
    ends,
    blocks,
    slab,
    starts,
    scratch,
):
    """Fill some blocks of children's tables with maxima over the blocks' bits.

    Parameters
    ----------
    window : Window
    tables : ndarray of shape (3, m + 1, width), float64
        The criterion's tables, see `spread_tables`.
    forbidden, required : ndarray of shape (n_children,), int64
        Masks of the columns that may not, or must, be among a child's parents.
    n_inner : int
        Number of inner columns; the columns after these are the outer ones.
    children : ndarray of int64
        Whose tables are filled.
    begins, ends : int
        Whether this is the first, and the last, of the windows from which they are filled.
    blocks : ndarray of int64
        The high bits of each block.
    slab : ndarray, float64
        The children's tables one after the other. A table's index is the mask of the parent set's
        inner columns, with the child's bit removed.
    starts : ndarray of shape (n_children + 1,), int64
        Where each child's table starts in `slab`.
    scratch : ndarray of shape (2, n_parts, block), float64
        Memory for what the sets of one block contribute, for `n_parts` pieces at a time. A block is
        a power of two, and at least `width`.
    """
    biases = np.zeros(starts.size - 1, np.int64)
    for block in blocks:
        fill_block(
            window,
            tables,
            forbidden,
            required,
            None,
            n_inner,
            children,
            begins,
            ends,
            block,
            slab,
            starts,
            scratch,
            join_larger,
            max_within_vector,
            score_itself,
            -math.inf,
            _NO_FORMAT,
            biases,
        )


@inner_kernel
def fill_block(
    window,
    tables,
    forbidden,
    required,
    log_odds,
    n_inner,
    children,
    begins,
    ends,
    block,
    slab,
    starts,
    scratch,
    join,
    join_within_vector,
    weigh,
    nothing,
    wide,
    biases,
):
    """Fill one block of children's tables; after the last window, transform it over its bits.

    Parameters
    ----------
    log_odds : (low, single) or None
        What each parent adds to the score of a family: arrays of shape (n_children, block), by the
        parents among the block's columns, and of shape (n_children, m), by each other parent. The
        scratch memory has a third part then. Empty arrays stand for none.
    nothing : float or int
        The neutral element of the join.
    wide : WideFormat
    biases : ndarray of shape (n_children,), int64
        The bias with which each child's scores are weighed, instead of that of `wide`.
    """
    log_det = window.log_det
    block_bits = bit_length(scratch.shape[2] - 1)
    first = block << block_bits
    piece = window.pieces
    n_left = 1 << popcount(window.pieces)
    is_first = begins != 0
    while n_left:
        n_parts = min(n_left, scratch.shape[1])
        n_left -= n_parts
        first_piece = piece
        for i in range(n_parts):
            base = _outer_columns(window, piece) << n_inner | first
            where = piece << n_inner | first
            weigh_parent_sets(log_det, tables, base, where, scratch[0, i])
            weigh_families(log_det, tables, base, where, scratch[1, i])
            piece = (piece - 1) & window.pieces
        for child in children:
            if child < n_inner and first >> child & 1:
                continue
            start = starts[child] + (remove_bit(first, child) if child < n_inner else first)
            values = slab[start : start + (1 << block_bits >> (child < block_bits))]
            if is_first:
                for i in range(values.size):
                    values[i] = nothing
            part = first_piece
            for i in range(n_parts):
                base = _outer_columns(window, part) << n_inner | first
                broken = base & (forbidden[child] | 1 << child) | ~base & required[child]
                if broken >> block_bits == 0:
                    of_family = (part << n_inner | first) + window.steps[child]
                    join_child(
                        values,
                        scratch[:, i],
                        log_det,
                        tables,
                        log_odds,
                        base,
                        of_family,
                        child,
                        join,
                        weigh,
                        WideFormat(wide.bits, biases[child]),
                    )
                part = (part - 1) & window.pieces
            if n_left == 0 and ends:
                rule_out(values, child, block_bits, forbidden[child], required[child], nothing)
                n_bits = bit_length(values.size - 1)
                zeta_transform(values, np.int64(0), n_bits, join, join_within_vector, wide)
        is_first = False


@inner_kernel
def _outer_columns(window, piece):
    """Return the mask of a piece's columns that are not inner ones."""
    columns = window.fixed
    varying = window.varying
    while piece:
        lowest = varying & -varying
        if piece & 1:
            columns |= lowest
        varying ^= lowest
        piece >>= 1
    return columns


@inner_kernel
def join_child(
    values, scratch, log_det, tables, log_odds, base, of_family, child, join, weigh, wide
):
    """Join to `values` a child's families with the parent sets from `base` on.

    In `scratch` is what `weigh_parent_sets` and `weigh_families` made of these sets. `of_family` is
    where the log-determinants of families begin if the child is not among the block's bits.
    """
    parent_sets = scratch[0]
    if log_odds is not None and log_odds[0].size > 0:
        parent_sets = scratch[2]
        _add_odds(scratch[0], log_odds, child, base, parent_sets)
    if 1 << child < parent_sets.size:
        join_pairs(values, parent_sets, scratch[1], child, join, weigh, wide)
    else:
        family = base | 1 << child
        join_families(values, parent_sets, log_det, tables, family, of_family, join, weigh, wide)


@inner_kernel
def _add_odds(weighted, log_odds, child, base, result):
    """Add the log odds of a child's parents to what the parent sets from `base` on contribute."""
    low, single = log_odds
    of_others = 0.0
    for parent in range(single.shape[1]):
        if base >> parent & 1:
            of_others += single[child, parent]
    for i in range(result.size):
        result[i] = weighted[i] + (low[child, i] + of_others)


@inner_kernel
def rule_out(values, child, block_bits, forbidden, required, nothing):
    """Set to nothing what breaks a constraint on the columns in which the block's sets differ."""
    low = (1 << block_bits) - 1
    if (forbidden | required) & low == 0:
        return
    for i in range(values.size):
        parents = insert_zero_bit(i, child) if child < block_bits else i
        if (parents & forbidden | ~parents & required) & low:
            values[i] = nothing


@inner_kernel
def weigh_parent_sets(log_det, tables, base, where, weighted):
    """Set `weighted` to ``c + a0 * L[P]`` for the parent sets P from `base` on.

    Their log-determinants begin at `where`.
    """
    width = tables.shape[2]
    for start in range(0, weighted.size, width):
        constants = _weights(tables, 0, base + start)
        weights = _weights(tables, 1, base + start)
        for i in range(0, width, 4):
            of_parents = times(load(tables, weights + i), load(log_det, where + start + i))
            store(weighted, start + i, plus(load(tables, constants + i), of_parents))


@inner_kernel
def weigh_families(log_det, tables, base, where, weighted):
    """Set `weighted` to ``a1 * L[S]`` for the families S, child included, from `base` on."""
    width = tables.shape[2]
    for start in range(0, weighted.size, width):
        weights = _weights(tables, 2, base + start)
        for i in range(0, width, 4):
            of_family = times(load(tables, weights + i), load(log_det, where + start + i))
            store(weighted, start + i, of_family)


@inner_kernel
def join_families(values, parent_sets, log_det, tables, base, where, join, weigh, wide):
    """Join to `values` the families of a child that is not among the block's bits.

    `base` is the first of the block's families, child included; their log-determinants begin at
    `where`.
    """
    width = tables.shape[2]
    for start in range(0, values.size, width):
        weights = _weights(tables, 2, base + start)
        for i in range(0, width, 4):
            of_family = times(load(tables, weights + i), load(log_det, where + start + i))
            score = plus(load(parent_sets, start + i), of_family)
            value = weigh(score, wide)
            store(values, start + i, join(load(values, start + i), value, wide))


@inner_kernel
def _weights(tables, which, subset):
    """Return where one of the tables begins for the subsets from `subset` on."""
    return (which * tables.shape[1] + popcount(subset)) * tables.shape[2]


@inner_kernel
def join_pairs(values, parent_sets, families, child, join, weigh, wide):
    """Join to `values` the families of a child that is among the block's bits.

    A set without the child's bit is a parent set, and the same set with this bit its family.
    """
    step = 1 << child
    if values.size < 4:
        for i in range(values.size):
            j = insert_zero_bit(i, child)
            value = weigh(parent_sets[j] + families[j + step], wide)
            values[i] = join(values[i], value, wide)
        return
    for i in range(0, values.size, 4):
        if child == 0:
            of_parents = even_entries(load(parent_sets, 2 * i), load(parent_sets, 2 * i + 4))
            of_family = odd_entries(load(families, 2 * i), load(families, 2 * i + 4))
        elif child == 1:
            of_parents = first_halves(load(parent_sets, 2 * i), load(parent_sets, 2 * i + 4))
            of_family = second_halves(load(families, 2 * i), load(families, 2 * i + 4))
        else:
            j = insert_zero_bit(i, child)
            of_parents = load(parent_sets, j)
            of_family = load(families, j + step)
        value = weigh(plus(of_parents, of_family), wide)
        store(values, i, join(load(values, i), value, wide))
