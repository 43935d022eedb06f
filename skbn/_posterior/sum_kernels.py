"""The kernels of sums over networks: those of the search, with extended floats, and what sums add.

With the weight ``beta_x(P)`` of a column x with the parents P, the tables of a slab hold
``alpha_x[C] = sum over P ⊆ C of beta_x(P)`` where those of the search hold B; `order_sums` says
what the sums are. Arrays of int64 are extended floats, of the format `wide`.
"""

from __future__ import annotations

import math

import numpy as np
from numba import float64, int64

from skbn._core.compile import inner_kernel, kernel
from skbn._core.extended_floats import (
    WIDE,
    WideFormat,
    sum_within_vector,
    wide_as_double,
    wide_exp,
    wide_product,
    wide_sum,
)
from skbn._core.subsets import bit_length, insert_zero_bit, remove_bit
from skbn._core.vectors import (
    even_entries,
    first_halves,
    load,
    odd_entries,
    reversed_entries,
    second_halves,
    store,
)
from skbn._core.zeta import join_larger, zeta_transform
from skbn._exact.fill_kernels import (
    WINDOW,
    fill_block,
    join_child,
    rule_out,
    score_itself,
    weigh_families,
    weigh_parent_sets,
)
from skbn._exact.sink_kernels import add_column, extend_block

__all__ = [
    "count_orders",
    "edge_sums",
    "extend_sums",
    "family_weights",
    "fill_sums",
    "order_products",
    "retreat_sums",
    "score_range",
    "sum_zeta",
    "weights_with_descendants",
]

_families = (float64[::1], float64[:, :, ::1], int64[::1], int64[::1], float64[:, ::1])


@kernel(int64[::1], int64, int64, WIDE, seconds=1.8)
def sum_zeta(table, first_bit, last_bit, wide):
    """Turn extended floats into sums over subsets, over some bits of their index, in place."""
    zeta_transform(table, first_bit, last_bit, wide_sum, sum_within_vector, wide)


@kernel(
    WINDOW,
    *_families[1:],
    float64[:, ::1],
    int64,
    int64[::1],
    int64[::1],
    int64[::1],
    int64[::1],
    float64[:, :, ::1],
    WIDE,
    int64[::1],
    seconds=2.7,
)
def fill_sums(
    window,
    tables,
    forbidden,
    required,
    low_odds,
    single_odds,
    n_inner,
    children,
    blocks,
    slab,
    starts,
    scratch,
    wide,
    biases,
):
    """Fill some blocks of children's tables with sums over the blocks' bits, from one window.

    The arguments are those of `fill_blocks`, and of `fill_block`.
    """
    for block in blocks:
        fill_block(
            window,
            tables,
            forbidden,
            required,
            (low_odds, single_odds),
            n_inner,
            children,
            1,
            1,
            block,
            slab,
            starts,
            scratch,
            wide_sum,
            sum_within_vector,
            wide_exp,
            np.int64(0),
            wide,
            biases,
        )


@kernel(int64[::1], int64, int64[::1], int64[::1], int64, int64, int64[::1], WIDE, seconds=1)
def extend_sums(F, fixed, B, starts, n_inner, block_bits, blocks, wide):
    """Finish the forward sums F on some blocks of a slab, and hand them on.

    At first F[0] is one, and all other entries are nothing. Slabs with fewer outer columns, and
    blocks with fewer high bits, must be finished.
    """
    size = np.int64(1) << n_inner
    slab = F[fixed * size : (fixed + 1) * size]
    length = np.int64(1) << block_bits
    for block in blocks:
        extend_block(slab, B, starts, n_inner, block_bits, block, wide_sum, wide_product, wide)
        inner = block << block_bits
        first = fixed << n_inner | inner
        for sink in range(n_inner, starts.size - 1):
            if not first >> sink & 1:
                add_column(
                    F,
                    first | 1 << sink,
                    F,
                    first,
                    B,
                    starts[sink] + inner,
                    length,
                    wide_sum,
                    wide_product,
                    wide,
                )


@kernel(int64[::1], int64, int64[::1], int64[::1], int64, int64, int64[::1], WIDE, seconds=1)
def retreat_sums(R, fixed, B, starts, n_inner, block_bits, blocks, wide):
    """Finish the backward sums R on some blocks of a slab: R[W] = sum of R[W + x] B_x[W].

    Slabs with more outer columns, and blocks with more high bits, must be finished.
    """
    for block in blocks:
        inner = block << block_bits
        _retreat_block(R, B, starts, n_inner, fixed, inner, np.int64(1) << block_bits, wide)


@inner_kernel
def _retreat_block(R, B, starts, n_inner, fixed, inner, length, wide):
    first = fixed << n_inner | inner
    for x in range(starts.size - 1):
        if (1 << x >= length or x >= n_inner) and not first >> x & 1:
            start = starts[x] + (remove_bit(inner, x) if x < n_inner else inner)
            add_column(
                R,
                first,
                R,
                first | 1 << x,
                B,
                start,
                length,
                wide_sum,
                wide_product,
                wide,
            )
    run = min(8, length)
    for low in range(length - run, -1, -run):
        _retreat_run(R, first + low, B, starts, inner + low, run, wide)
        half = low & -low
        if 0 < half < length:
            # The upper half that begins here is finished; hand it to the lower half.
            x = bit_length(half) - 1
            target = low - half
            start = starts[x] + remove_bit(inner + target, x)
            add_column(
                R,
                first + target,
                R,
                first + low,
                B,
                start,
                half,
                wide_sum,
                wide_product,
                wide,
            )


@inner_kernel
def _retreat_run(R, first, B, starts, inner, run, wide):
    """Recurse over the lowest three bits, set by set."""
    for i in range(run - 1, -1, -1):
        value = R[first + i]
        for x in range(3):
            if 1 << x < run and not i >> x & 1:
                weight = B[starts[x] + remove_bit(inner + i, x)]
                product = wide_product(R[first + (i | 1 << x)], weight, wide)
                value = wide_sum(value, product, wide)
        R[first + i] = value


@kernel(int64[::1], int64[::1], int64, int64[::1], WIDE)
def order_products(F, R, child, q, wide):
    """Set ``q[~C] = F[C] * R[C + child]`` for the sets C of other columns, the child's bit removed.

    In this reverse order, sums over supersets are sums over subsets.
    """
    size = q.size
    if size < 4:
        for i in range(size):
            C = insert_zero_bit(i, child)
            q[size - 1 - i] = wide_product(F[C], R[C | 1 << child], wide)
        return
    for i in range(0, size, 4):
        if child == 0:
            without = even_entries(load(F, 2 * i), load(F, 2 * i + 4))
            with_child = odd_entries(load(R, 2 * i), load(R, 2 * i + 4))
        elif child == 1:
            without = first_halves(load(F, 2 * i), load(F, 2 * i + 4))
            with_child = second_halves(load(R, 2 * i), load(R, 2 * i + 4))
        else:
            C = insert_zero_bit(i, child)
            without = load(F, C)
            with_child = load(R, C | 1 << child)
        product = wide_product(without, with_child, wide)
        store(q, size - 4 - i, reversed_entries(product))


@inner_kernel
def _weigh_block(
    log_det,
    tables,
    forbidden,
    required,
    log_odds,
    child,
    base,
    values,
    scratch,
    join,
    weigh,
    nothing,
    wide,
):
    """Set `values` to a child's families with the parent sets of one block, from `base` on.

    False is returned, and nothing done, if the constraints allow none of them.
    """
    block_bits = bit_length(scratch.shape[1] - 1)
    broken = base & forbidden[child] | ~base & required[child]
    if broken >> block_bits:
        return False
    weigh_parent_sets(log_det, tables, base, base, scratch[0])
    weigh_families(log_det, tables, base, base, scratch[1])
    for i in range(values.size):
        values[i] = nothing
    of_family = base | 1 << child
    join_child(
        values, scratch, log_det, tables, log_odds, base, of_family, child, join, weigh, wide
    )
    rule_out(values, child, block_bits, forbidden[child], required[child], nothing)
    return True


@kernel(*_families, float64[:, ::1], int64, float64[:, ::1], seconds=1.2)
def score_range(log_det, tables, forbidden, required, low_odds, single_odds, child, scratch):
    """Return the highest and the lowest finite score of a child's allowed families.

    The highest is -inf, and the lowest inf, if there is none.
    """
    block = scratch.shape[1]
    values = np.empty(block // 2 if 1 << child < block else block)
    best, least = -math.inf, math.inf
    for base in range(0, log_det.size, block):
        if base >> child & 1:
            continue
        if _weigh_block(
            log_det,
            tables,
            forbidden,
            required,
            (low_odds, single_odds),
            child,
            base,
            values,
            scratch,
            join_larger,
            score_itself,
            -math.inf,
            None,
        ):
            for value in values:
                if value > best:
                    best = value
                if -math.inf < value < least:
                    least = value
    return best, least


@kernel(
    *_families,
    float64[:, ::1],
    int64,
    int64[::1],
    float64[:, ::1],
    WIDE,
    int64[::1],
    int64[::1],
    seconds=1.4,
)
def family_weights(
    log_det,
    tables,
    forbidden,
    required,
    low_odds,
    single_odds,
    child,
    bases,
    scratch,
    wide,
    biases,
    weights,
):
    """Set `weights` to those of one child's families, in the blocks from each of `bases` on.

    The other arguments are those of `edge_sums`; the parent sets are masks with the child's bit
    removed.
    """
    block = scratch.shape[1]
    size = block // 2 if 1 << child < block else block
    for base in bases:
        if base >> child & 1:
            continue
        first = remove_bit(base, child)
        values = weights[first : first + size]
        if not _weigh_block(
            log_det,
            tables,
            forbidden,
            required,
            (low_odds, single_odds),
            child,
            base,
            values,
            scratch,
            wide_sum,
            wide_exp,
            np.int64(0),
            WideFormat(wide.bits, biases[child]),
        ):
            values[:] = 0


@inner_kernel
def _weigh_with_descendants(values, gamma, start, exponent, wide, weights):
    """Set `weights` to the weights of networks with these families, as float64."""
    if values.size < 4:
        for i in range(values.size):
            value = wide_product(values[i], gamma[gamma.size - 1 - start - i], wide)
            weights[i] = wide_as_double(value, wide, exponent)
        return
    for i in range(0, values.size, 4):
        others = reversed_entries(load(gamma, gamma.size - 4 - start - i))
        value = wide_product(load(values, i), others, wide)
        store(weights, i, wide_as_double(value, wide, exponent))


@kernel(
    *_families,
    float64[:, ::1],
    int64,
    int64,
    int64[::1],
    int64,
    float64[:, ::1],
    WIDE,
    int64[::1],
    float64[::1],
)
def edge_sums(
    log_det,
    tables,
    forbidden,
    required,
    low_odds,
    single_odds,
    n_columns,
    child,
    gamma,
    exponent,
    scratch,
    wide,
    biases,
    sums,
):
    """Sum the weights of all networks by the parents of one child.

    Parameters
    ----------
    log_det, tables, forbidden, required, low_odds, single_odds
        As in `fill_sums`.
    n_columns : int
        How many columns the group has; the columns after these are others.
    child : int
    gamma : ndarray of shape (2**(n_columns - 1),), int64
        At ``[~P]``, the weight of all that the child's family does not say, summed over the sets
        that contain P; the child's bit is removed.
    exponent : int
        The weights are summed as float64 in units of ``2**(exponent - wide.bias)``.
    scratch : ndarray of shape (3, block), float64
    wide : WideFormat
    biases : ndarray of shape (n_columns,), int64
        The bias with which each child's scores are weighed.
    sums : ndarray of shape (m + 1,), float64
        Set to the weight of the networks in which each column is a parent; last, of all networks.
    """
    block = scratch.shape[1]
    block_bits = bit_length(block - 1)
    is_low = child < block_bits
    values = np.empty(block // 2 if is_low else block, np.int64)
    weights = np.empty(values.size)
    m = sums.size - 1
    sums[:] = 0.0
    inner = (1 << n_columns) - 1
    for base in range(0, log_det.size, block):
        if base >> child & 1:
            continue
        if _weigh_block(
            log_det,
            tables,
            forbidden,
            required,
            (low_odds, single_odds),
            child,
            base,
            values,
            scratch,
            wide_sum,
            wide_exp,
            np.int64(0),
            WideFormat(wide.bits, biases[child]),
        ):
            start = remove_bit(base & inner, child)
            _weigh_with_descendants(values, gamma, start, exponent, wide, weights)
            total = _fold(weights, child, block_bits, sums)
            for parent in range(block_bits, m):
                if base >> parent & 1:
                    sums[parent] += total
            sums[m] += total


@inner_kernel
def _fold(weights, child, block_bits, sums):
    """Add to `sums` by the parents among the block's columns; return the sum of all weights."""
    size = weights.size
    for bit in range(bit_length(size - 1) - 1, -1, -1):
        size >>= 1
        total = 0.0
        for i in range(size):
            total += weights[size + i]
            weights[i] += weights[size + i]
        sums[bit + (child <= bit and child < block_bits)] += total
    return weights[0]


@kernel(int64[::1], int64[::1], int64, WIDE, float64[::1])
def weights_with_descendants(families, gamma, exponent, wide, weights):
    """Set `weights` to the weight of all networks with each parent set of a child, as float64.

    Parameters
    ----------
    families : ndarray of shape (2**(m - 1),), int64
        The weights of the child's families, by the mask of the parents without the child's bit.
        `weights` may be the same memory.
    gamma, exponent, wide
        As in `edge_sums`. The parents' highest bits are those of the others, which gamma ignores.
    weights : ndarray of shape (2**(m - 1),), float64
    """
    for first in range(0, families.size, gamma.size):
        end = first + gamma.size
        _weigh_with_descendants(families[first:end], gamma, 0, exponent, wide, weights[first:end])


@kernel(int64[::1], float64[::1])
def count_orders(parents, n_orders):
    """Set ``n_orders[W]`` to the number of orders of the columns W in which parents come first.

    `parents` has the masks of each column's parents. A set that lacks a parent has no orders.
    """
    n_orders[0] = 1.0
    for W in range(1, n_orders.size):
        total = 0.0
        for x in range(parents.size):
            if W >> x & 1 and parents[x] & ~W == 0:
                total += n_orders[W ^ 1 << x]
        n_orders[W] = total
