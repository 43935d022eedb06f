"""The kernels of a slab: filling the tables of families, and extending networks by a sink.

`recurrences` says what a slab, its tables and a block are. The steps are the same for the best
network and for sums over all networks; they differ in these functions, known at compile time:

================ ======================= ==============================
argument         best network            sums of weights
================ ======================= ==============================
join(a, b)       the larger of a and b   a + b
product(a, b)    a + b, of scores        a * b, of weights
weigh(score)     the score               its exponential
================ ======================= ==============================

Sums are of wide numbers, so that these functions also take the format: `bits`, and `bias`. The
best network's ignore it.

Local scores have the terms ``c[l] + a0[l] * L[P] + a1[l] * L[P + x]``; this is the one form for
vectors of the formula in `skbn._regressions.local_score`. For all sets of a block,
`weigh_parent_sets` makes the sum of the first two and `weigh_families` the third. `join_pairs` and
`join_families` add them, so that the terms are summed from left to right. A block is small enough
for the cache: what its sets contribute to local scores is computed once for all children.
"""

from __future__ import annotations

import math

import numpy as np
from numba import float64, int64
from numba.extending import register_jitable

from skbn._core.compile import inner_kernel, kernel
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
    "add_column",
    "extend_block",
    "extend_blocks",
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


@register_jitable
def score_itself(score, bits, bias):
    """Return the score: what `weigh` is in a search for the best network."""
    return score


@register_jitable
def _sum_of_scores(a, b, bits, bias):
    return plus(a, b)


# Fill


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
    """Fill some blocks of all children's tables with maxima over the blocks' bits.

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
    zero = np.int64(0)
    biases = np.zeros(starts.size - 1, np.int64)
    for block in blocks:
        fill_block(
            log_det,
            tables,
            forbidden,
            required,
            None,
            n_inner,
            fixed,
            block,
            slab,
            starts,
            scratch,
            join_larger,
            max_within_vector,
            score_itself,
            -math.inf,
            zero,
            biases,
        )


@inner_kernel
def fill_block(
    log_det,
    tables,
    forbidden,
    required,
    log_odds,
    n_inner,
    fixed,
    block,
    slab,
    starts,
    scratch,
    join,
    join_within_vector,
    weigh,
    nothing,
    bits,
    biases,
):
    """Fill one block of all children's tables, transformed over the block's bits.

    Parameters
    ----------
    log_odds : (low, single) or None
        What each parent adds to the score of a family: arrays of shape (n_children, block), by the
        parents among the block's columns, and of shape (n_children, m), by each other parent. The
        scratch memory has a third part then. Empty arrays stand for none.
    nothing : float or int
        The neutral element of the join.
    bits : int
    biases : ndarray of shape (n_children,), int64
        The bias with which each child's scores are weighed.
    """
    block_bits = bit_length(scratch.shape[2] - 1)
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
                    values[i] = nothing
            part_of_child = first_part
            for i in range(n_parts):
                base = part_of_child << n_inner | first
                broken = base & forbidden[child] | ~base & required[child]
                if broken >> block_bits == 0:
                    join_child(
                        values,
                        scratch[:, i],
                        log_det,
                        tables,
                        log_odds,
                        base,
                        child,
                        join,
                        weigh,
                        bits,
                        biases[child],
                    )
                part_of_child = (part_of_child - 1) & fixed
            if n_left == 0:
                rule_out(values, child, block_bits, forbidden[child], required[child], nothing)
                n_bits = bit_length(values.size - 1)
                zeta_transform(values, np.int64(0), n_bits, join, join_within_vector, bits)
        is_first = False


@inner_kernel
def join_child(values, scratch, log_det, tables, log_odds, base, child, join, weigh, bits, bias):
    """Join to `values` a child's families with the parent sets from `base` on.

    In `scratch` is what `weigh_parent_sets` and `weigh_families` made of these sets.
    """
    parent_sets = scratch[0]
    if log_odds is not None and log_odds[0].size > 0:
        parent_sets = scratch[2]
        _add_odds(scratch[0], log_odds, child, base, parent_sets)
    if 1 << child < parent_sets.size:
        join_pairs(values, parent_sets, scratch[1], child, join, weigh, bits, bias)
    else:
        join_families(values, parent_sets, log_det, tables, base, child, join, weigh, bits, bias)


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
def join_families(values, parent_sets, log_det, tables, base, child, join, weigh, bits, bias):
    """Join to `values` the families of a child that is not among the block's bits.

    `base` is the first of the block's parent sets.
    """
    width = tables.shape[2]
    base |= 1 << child
    for start in range(0, values.size, width):
        weights = _weights(tables, 2, base + start)
        for i in range(0, width, 4):
            of_family = times(load(tables, weights + i), load(log_det, base + start + i))
            score = plus(load(parent_sets, start + i), of_family)
            value = weigh(score, bits, bias)
            store(values, start + i, join(load(values, start + i), value, bits))


@inner_kernel
def _weights(tables, which, subset):
    """Return where one of the tables begins for the subsets from `subset` on."""
    return (which * tables.shape[1] + popcount(subset)) * tables.shape[2]


@inner_kernel
def join_pairs(values, parent_sets, families, child, join, weigh, bits, bias):
    """Join to `values` the families of a child that is among the block's bits.

    A set without the child's bit is a parent set, and the same set with this bit its family.
    """
    step = 1 << child
    if values.size < 4:
        for i in range(values.size):
            j = insert_zero_bit(i, child)
            value = weigh(parent_sets[j] + families[j + step], bits, bias)
            values[i] = join(values[i], value, bits)
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
        value = weigh(plus(of_parents, of_family), bits, bias)
        store(values, i, join(load(values, i), value, bits))


# Extend


@kernel(float64[::1], float64[::1], int64[::1], int64, int64, int64, int64[::1])
def extend_blocks(F, B, starts, n_inner, fixed, block_bits, blocks):
    """Finish the best networks' scores F on some blocks of a slab, and hand them on.

    Parameters
    ----------
    F : ndarray of shape (2**m,), float64
        All that the blocks draw on must be finished. In them, and in later slabs, F is raised.
    B : ndarray, float64
        The slab: the children's tables one after the other, transformed over all their bits.
    starts : ndarray of shape (m + 1,), int64
        Where each child's table starts in `B`.
    n_inner : int
        Number of inner columns; the columns after these are the outer ones.
    fixed : int
        Mask of the outer columns that are in the slab's sets.
    block_bits : int
        A block has 2**block_bits sets.
    blocks : ndarray of int64
        The high bits of each block.
    """
    zero = np.int64(0)
    for block in blocks:
        extend_block(
            F,
            B,
            starts,
            n_inner,
            fixed,
            block_bits,
            block,
            join_larger,
            _sum_of_scores,
            zero,
            zero,
        )


@inner_kernel
def extend_block(F, B, starts, n_inner, fixed, block_bits, block, join, product, bits, bias):
    """Finish F on one block, and join it to the sets that have an outer column more.

    At first F[0] is the product's neutral element, and all other entries are the join's. Blocks
    draw only on those with fewer high bits, so that all with equally many may run at once.
    """
    length = 1 << block_bits
    inner = block << block_bits
    first = fixed << n_inner | inner
    for sink in range(block_bits, n_inner):
        if inner >> sink & 1:
            rest = first ^ 1 << sink
            start = starts[sink] + remove_bit(inner, sink)
            add_column(F, first, rest, B, start, length, join, product, bits, bias)
    _extend_within_block(F, first, B, starts, inner, length, join, product, bits, bias)
    for sink in range(n_inner, starts.size - 1):
        if not first >> sink & 1:
            start = starts[sink] + inner
            with_sink = first | 1 << sink
            add_column(F, with_sink, first, B, start, length, join, product, bits, bias)


@inner_kernel
def add_column(F, target, source, B, start, length, join, product, bits, bias):
    """Join to F from `target` on the products of F from `source` on and B from `start` on."""
    if length < 4:
        for i in range(length):
            value = product(F[source + i], B[start + i], bits, bias)
            F[target + i] = join(F[target + i], value, bits)
        return
    for i in range(0, length, 4):
        value = product(load(F, source + i), load(B, start + i), bits, bias)
        store(F, target + i, join(load(F, target + i), value, bits))


@inner_kernel
def _extend_within_block(F, first, B, starts, inner, length, join, product, bits, bias):
    """Recurse over the low bits: a finished lower half is handed to the upper half.

    After each run of eight sets, exactly one lower half has been finished: the one that ends there.
    """
    run = min(8, length)
    for low in range(0, length, run):
        _extend_run(F, first + low, B, starts, inner + low, run, join, product, bits, bias)
        end = low + run
        half = end & -end
        if half < length:
            sink = bit_length(half) - 1
            source = end - half
            start = starts[sink] + remove_bit(inner + source, sink)
            add_column(F, first + end, first + source, B, start, half, join, product, bits, bias)


@inner_kernel
def _extend_run(F, first, B, starts, inner, run, join, product, bits, bias):
    """Recurse over the lowest three bits, set by set."""
    for i in range(1, run):
        value = F[first + i]
        for sink in range(3):
            if i >> sink & 1:
                rest = i ^ 1 << sink
                parents = B[starts[sink] + remove_bit(inner + rest, sink)]
                value = join(value, product(F[first + rest], parents, bits, bias), bits)
        F[first + i] = value
