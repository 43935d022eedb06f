"""The kernels of the weights of families: what sums over networks are filled with, and read by.

They share the kernel that fills the tables of the search. Arrays of int64 are extended floats, of
the format `wide`.
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
from skbn._core.subsets import bit_length, remove_bit
from skbn._core.vectors import load, reversed_entries, store
from skbn._core.zeta import join_larger
from skbn._exact.fill_kernels import (
    WINDOW,
    fill_block,
    join_child,
    rule_out,
    score_itself,
    weigh_families,
    weigh_parent_sets,
)

__all__ = ["edge_sums", "family_weights", "fill_sums", "score_range", "weights_with_descendants"]

_families = (float64[::1], float64[:, :, ::1], int64[::1], int64[::1], float64[:, ::1])


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
