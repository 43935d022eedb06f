"""The kernels of the weights of families: what sums over networks are filled with, and read by.

They share the kernel that fills the tables of the search. Arrays of int64 are extended floats, of
the format `wide`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import float64, int64
from numba.extending import register_jitable

from skbn._core.compile import inner_kernel, kernel, tuple_type
from skbn._core.extended_floats import (
    WIDE,
    WideFormat,
    sum_within_vector,
    wide_as_double,
    wide_exp,
    wide_product,
    wide_sum,
)
from skbn._core.subsets import bit_length, popcount, remove_bit, zeta_transform
from skbn._core.vectors import float_sum, larger, load, plus, reversed_entries, store
from skbn._exact.fill_kernels import (
    PIECES,
    BlockFamilies,
    BlockTables,
    fill_values,
    places_of,
    rule_out,
    values_of_block,
)
from skbn._regressions.set_function import LEAST_SCORE


class WeighedFamilies(NamedTuple):
    """The families of a group's columns, and the prior odds of their edges.

    Parameters
    ----------
    of_family, of_parents : ndarray of shape (2**m,), float64
        What local scores are differences of.
    forbidden, required : ndarray of shape (n_children,), int64
        See `ParentRules`, whose place they take.
    low_odds : ndarray of shape (n_children, block) or (1, block), float64
        What the parents among the block's columns add to a child's score, by the place in the
        block's part of its table. One row stands for all children.
    single_odds : ndarray of shape (n_children, m), float64
        What each other parent adds.
    block_bits : int
    """

    of_family: npt.NDArray[np.float64]
    of_parents: npt.NDArray[np.float64]
    forbidden: npt.NDArray[np.int64]
    required: npt.NDArray[np.int64]
    low_odds: npt.NDArray[np.float64]
    single_odds: npt.NDArray[np.float64]
    block_bits: int


_FAMILIES = tuple_type(
    WeighedFamilies,
    *(float64[::1], float64[::1], int64[::1], int64[::1]),
    *(float64[:, ::1], float64[:, ::1], int64),
)
_BLOCK_TABLES = tuple_type(BlockTables, int64[::1], int64[::1], int64, int64)


@register_jitable
def _weight(score, odds, wide):
    return wide_exp(plus(score, odds), wide)


@kernel(PIECES, _FAMILIES, int64[::1], int64[::1], _BLOCK_TABLES, WIDE, int64[::1])
def fill_sums(pieces, families, children, blocks, tables, wide, biases):
    """Fill some blocks of children's tables with sums over the blocks' bits.

    The arguments are those of `fill_blocks`, and the format of each child's weights.
    """
    places = np.empty(1 << popcount(pieces.chosen), np.int64)
    odds = np.empty(places.size)
    for block in blocks:
        first = block << tables.block_bits
        for child in children:
            values = values_of_block(tables, child, first)
            if values.size == 0:
                continue
            n_places = places_of(pieces, families, tables, child, first, places)
            for k in range(n_places):  # with all sets in memory, a place is the mask of a set
                odds[k] = _odds_of_others(families, child, places[k])
            of_block = _of_block(families, child, places, n_places, odds)
            own = WideFormat(wide.bits, biases[child])
            fill_values(values, of_block, True, np.int64(0), wide_sum, _weight, own)
            rule_out(values, families, child, tables.block_bits, np.int64(0))
            n_bits = bit_length(values.size - 1)
            zeta_transform(values, np.int64(0), n_bits, wide_sum, sum_within_vector, wide)


@inner_kernel
def _of_block(families, child, places, n_places, odds):
    """Return a child's families with the parent sets of one block, as `fill_values` takes them."""
    low_odds = families.low_odds[child % families.low_odds.shape[0]]
    sets = families.of_family, families.of_parents
    return BlockFamilies(*sets, places, n_places, np.int64(1) << child, child, low_odds, odds)


@inner_kernel
def _odds_of_others(families, child, parents):
    """Return the log odds of a child's parents that are not among the block's columns."""
    odds = 0.0
    for parent in range(families.block_bits, families.single_odds.shape[1]):
        if parents >> parent & 1:
            odds += families.single_odds[child, parent]
    return odds


@inner_kernel
def _weigh_block(families, child, base, values, join, weigh, nothing, wide):
    """Set `values` to a child's families with the parent sets of one block, from `base` on.

    False is returned, and nothing done, if the constraints allow none of them.
    """
    broken = base & families.forbidden[child] | ~base & families.required[child]
    if broken >> families.block_bits:
        return False
    places, odds = np.empty(1, np.int64), np.empty(1)
    places[0] = base
    odds[0] = _odds_of_others(families, child, base)
    of_block = _of_block(families, child, places, np.int64(1), odds)
    fill_values(values, of_block, True, nothing, join, weigh, wide)
    rule_out(values, families, child, families.block_bits, nothing)
    return True


@inner_kernel
def _size_of_block(families, child):
    """Return how many parent sets of a child a block has."""
    return 1 << families.block_bits >> (child < families.block_bits)


@kernel(_FAMILIES, int64)
def score_range(families, child):
    """Return the highest and the lowest finite score of a child's allowed families.

    The highest is -inf, and the lowest inf, if there is none.
    """
    values = np.empty(_size_of_block(families, child))
    best, least = -math.inf, math.inf
    for base in range(0, families.of_parents.size, 1 << families.block_bits):
        if base >> child & 1:
            continue
        if _weigh_block(families, child, base, values, larger, float_sum, -math.inf, None):
            for value in values:
                if value >= LEAST_SCORE:  # else it is ruled out
                    best = max(best, value)
                    least = min(least, value)
    return best, least


@kernel(_FAMILIES, int64, int64[::1], WIDE, int64[::1], int64[::1])
def family_weights(families, child, bases, wide, biases, weights):
    """Set `weights` to those of one child's families, in the blocks from each of `bases` on.

    The other arguments are those of `edge_sums`; the parent sets are masks with the child's bit
    removed.
    """
    size = _size_of_block(families, child)
    own = WideFormat(wide.bits, biases[child])
    for base in bases:
        if base >> child & 1:
            continue
        first = remove_bit(base, child)
        values = weights[first : first + size]
        if not _weigh_block(families, child, base, values, wide_sum, _weight, np.int64(0), own):
            for i in range(size):
                values[i] = 0


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


@kernel(_FAMILIES, int64, int64, int64[::1], int64, WIDE, int64[::1], float64[::1])
def edge_sums(families, n_columns, child, gamma, exponent, wide, biases, sums):
    """Sum the weights of all networks by the parents of one child.

    Parameters
    ----------
    families : WeighedFamilies
    n_columns : int
        How many columns the group has; the columns after these are others.
    child : int
    gamma : ndarray of shape (2**(n_columns - 1),), int64
        At ``[~P]``, the weight of all that the child's family does not say, summed over the sets
        that contain P; the child's bit is removed.
    exponent : int
        The weights are summed as float64 in units of ``2**(exponent - wide.bias)``.
    wide : WideFormat
    biases : ndarray of shape (n_columns,), int64
        The bias with which each child's scores are weighed.
    sums : ndarray of shape (m + 1,), float64
        Set to the weight of the networks in which each column is a parent; last, of all networks.
    """
    block_bits = families.block_bits
    values = np.empty(_size_of_block(families, child), np.int64)
    weights = np.empty(values.size)
    own = WideFormat(wide.bits, biases[child])
    m = sums.size - 1
    for i in range(sums.size):
        sums[i] = 0.0
    inner = (1 << n_columns) - 1
    for base in range(0, families.of_parents.size, 1 << block_bits):
        if base >> child & 1:
            continue
        if _weigh_block(families, child, base, values, wide_sum, _weight, np.int64(0), own):
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
