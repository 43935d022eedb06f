"""Local scores of all families, made where the search needs them: maxima over some parent sets.

This is the one form for vectors of the formula in `skbn._regressions.local_score`, whose terms are
``c[l] + a0[l] * L[P] + a1[l] * L[P + x]``. For all sets of a block, `weigh_parent_sets` makes the
sum of the first two and `weigh_families` the third. `raise_to_pairs` and `raise_to_families` add
them, so that the terms are summed from left to right.

A block of sets agrees in all but their lowest columns. It is small enough for the cache, so that
what its sets contribute to local scores is computed once for all children. Its part of the tables
is transformed over these lowest bits when it is filled; see `recurrences` for what follows.
"""

from __future__ import annotations

import math

import numpy as np
from numba import float64, int64

from skbn._core.compile import inner_kernel, kernel
from skbn._core.subsets import bit_length, insert_zero_bit, popcount, remove_bit
from skbn._core.vectors import (
    even_entries,
    first_halves,
    larger,
    load,
    odd_entries,
    plus,
    second_halves,
    store,
    times,
)
from skbn._core.zeta import max_zeta

__all__ = [
    "fill_blocks",
    "raise_to_families",
    "raise_to_pairs",
    "weigh_families",
    "weigh_parent_sets",
]


@kernel(
    float64[::1],
    float64[:, :, ::1],
    int64[::1],
    int64[::1],
    int64,
    int64,
    int64[::1],
    float64[::1],
    int64[::1],
    float64[:, :, ::1],
)
def fill_blocks(
    log_det, tables, forbidden, required, n_inner, fixed, blocks, slab, starts, scratch
):
    """Fill some blocks of all children's tables, transformed over the blocks' bits.

    Parameters
    ----------
    log_det : ndarray of shape (2**m,), float64
    tables : ndarray of shape (3, m + 1, width), float64
        The criterion's tables, see `spread_tables`.
    forbidden, required : ndarray of shape (n_children,), int64
        Masks of the columns that may not, or must, be among a child's parents.
    n_inner : int
        Number of inner columns; the columns after these are the outer ones.
    fixed : int
        Mask of the outer columns that may be parents in the slab's sets.
    blocks : ndarray of int64
        The high bits of each block.
    slab : ndarray, float64
        The children's tables one after the other. A table's index is the mask of the parent set's
        inner columns, with the child's bit removed.
    starts : ndarray of shape (n_children + 1,), int64
        Where each child's table starts in `slab`.
    scratch : ndarray of shape (2, n_parts, block), float64
        Memory for what the sets of one block contribute, for `n_parts` subsets of `fixed` at a
        time. A block is a power of two, and at least `width`.
    """
    block_bits = bit_length(scratch.shape[2] - 1)
    for block in blocks:
        first = block << block_bits
        part = fixed
        n_left = 1 << popcount(fixed)
        is_first = True
        while n_left:
            n_parts = min(n_left, scratch.shape[1])
            n_left -= n_parts
            first_part = part
            for i in range(n_parts):
                base = part << n_inner | first
                weigh_parent_sets(log_det, tables, base, scratch[0, i])
                weigh_families(log_det, tables, base, scratch[1, i])
                part = (part - 1) & fixed
            for child in range(starts.size - 1):
                if (fixed << n_inner | first) >> child & 1:
                    continue
                start = starts[child] + remove_bit(first, child)
                values = slab[start : start + (1 << block_bits >> (child < block_bits))]
                if is_first:
                    for i in range(values.size):
                        values[i] = -math.inf
                masks = n_inner, first, fixed, forbidden[child], required[child]
                _raise_to_parts(
                    values, log_det, tables, child, first_part, n_parts, block_bits, masks, scratch
                )
                if n_left == 0:
                    _rule_out(values, child, block_bits, forbidden[child], required[child])
                    max_zeta(values, np.int64(0), bit_length(values.size - 1))
            is_first = False


@inner_kernel
def _raise_to_parts(values, log_det, tables, child, part, n_parts, block_bits, masks, scratch):
    """Raise a child's part of a block to its local scores with some of the subsets of `fixed`."""
    n_inner, first, fixed, forbidden, required = masks
    for i in range(n_parts):
        base = part << n_inner | first
        broken = base & forbidden | ~base & required
        if broken >> block_bits == 0:
            if child < block_bits:
                raise_to_pairs(values, scratch[0, i], scratch[1, i], child)
            else:
                raise_to_families(values, scratch[0, i], log_det, tables, base | 1 << child)
        part = (part - 1) & fixed


@inner_kernel
def _rule_out(values, child, block_bits, forbidden, required):
    """Set to -inf what breaks a constraint on the columns in which the block's sets differ."""
    low = (1 << block_bits) - 1
    if (forbidden | required) & low == 0:
        return
    for i in range(values.size):
        parents = insert_zero_bit(i, child) if child < block_bits else i
        if (parents & forbidden | ~parents & required) & low:
            values[i] = -math.inf


@inner_kernel
def weigh_parent_sets(log_det, tables, base, weighted):
    """Set `weighted` to ``c + a0 * L[P]`` for the parent sets P from `base` on."""
    width = tables.shape[2]
    for start in range(0, weighted.size, width):
        constants = _weights(tables, 0, base + start)
        weights = _weights(tables, 1, base + start)
        for i in range(0, width, 4):
            of_parents = times(load(tables, weights + i), load(log_det, base + start + i))
            store(weighted, start + i, plus(load(tables, constants + i), of_parents))


@inner_kernel
def weigh_families(log_det, tables, base, weighted):
    """Set `weighted` to ``a1 * L[S]`` for the families S, child included, from `base` on."""
    width = tables.shape[2]
    for start in range(0, weighted.size, width):
        weights = _weights(tables, 2, base + start)
        for i in range(0, width, 4):
            of_family = times(load(tables, weights + i), load(log_det, base + start + i))
            store(weighted, start + i, of_family)


@inner_kernel
def raise_to_families(values, parent_sets, log_det, tables, base):
    """Raise `values` to the local scores of a child that is not among the block's bits.

    `base` is the first of the block's families: its first parent set and the child.
    """
    width = tables.shape[2]
    for start in range(0, values.size, width):
        weights = _weights(tables, 2, base + start)
        for i in range(0, width, 4):
            of_family = times(load(tables, weights + i), load(log_det, base + start + i))
            score = plus(load(parent_sets, start + i), of_family)
            store(values, start + i, larger(load(values, start + i), score))


@inner_kernel
def _weights(tables, which, subset):
    """Return where one of the tables begins for the subsets from `subset` on."""
    return (which * tables.shape[1] + popcount(subset)) * tables.shape[2]


@inner_kernel
def raise_to_pairs(values, parent_sets, families, child):
    """Raise `values` to the local scores of a child that is among the block's bits.

    A set without the child's bit is a parent set, and the same set with this bit its family.
    """
    step = 1 << child
    if values.size < 4:
        for i in range(values.size):
            j = insert_zero_bit(i, child)
            values[i] = larger(values[i], parent_sets[j] + families[j + step])
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
        store(values, i, larger(load(values, i), plus(of_parents, of_family)))
