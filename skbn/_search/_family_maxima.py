"""Maxima of a child's local scores over subsets of its parent sets.

The search works on one *slab* of states after another: the sets whose outer
columns, the last of all, are `fixed`. A slab needs, for each child that may
still be added, the maxima over all subsets P of a parent set ``fixed | I`` for
every set I of inner columns. This module fills that table but for its lowest
bits, on which the search's next step transforms each block as it reads it.
"""

from __future__ import annotations

import math

from skbn._compile import kernel
from skbn._search._larger import larger
from skbn._search._zeta import max_zeta
from skbn._subsets import bit_length, insert_zero_bit, popcount

__all__ = ["fill_family_maxima", "max_local_score_row"]


@kernel
def fill_family_maxima(log_det, tables, child, n_inner, fixed, low_bits, tile, table):
    """Fill one child's table of the slab `fixed`, transformed over its high bits.

    Parameters
    ----------
    log_det : ndarray of shape (2**m,), float64
    tables : ndarray of shape (3, m, width), float64
        The criterion's tables, spread over `width` neighbouring parent sets.
    child : int
    n_inner : int
        Inner columns; the columns from there on are the outer ones.
    fixed : int
        Mask of the outer columns that are in the slab's sets.
    low_bits : int
        How many of the lowest bits of the table's index stay untransformed.
    tile : ndarray, float64, of 2**high_bits * width entries
        Scratch, for `width` columns at a time of the table's high-bit rows.
    table : ndarray of shape (2**k,), float64
        Index: the inner columns of the parent set, the child's bit removed.
    """
    width = tables.shape[2]
    row_length = 1 << low_bits
    for column in range(0, row_length, width):
        index = column
        for start in range(0, tile.size, width):
            row = tile[start : start + width]
            max_local_score_row(log_det, tables, child, n_inner, fixed, index, row)
            index += row_length
        max_zeta(tile, bit_length(width - 1), bit_length(tile.size - 1))
        index = column
        for start in range(0, tile.size, width):
            _copy(tile[start : start + width], table[index : index + width])
            index += row_length


@kernel
def _copy(source, target):
    for i in range(source.size):
        target[i] = source[i]


@kernel
def max_local_score_row(log_det, tables, child, n_inner, fixed, index, row):
    """Set a row of neighbouring parent sets to their best over subsets of `fixed`."""
    for i in range(row.size):
        row[i] = -math.inf
    inner = insert_zero_bit(index, child)
    size = popcount(index)
    subset = fixed
    while True:
        parents = subset << n_inner | inner
        n_parents = size + popcount(subset)
        if 1 << child >= row.size:
            _adjacent(log_det, tables, child, parents, n_parents, row)
        else:
            _interleaved(log_det, tables, child, parents, n_parents, row)
        if subset == 0:
            return
        subset = (subset - 1) & fixed


@kernel
def _adjacent(log_det, tables, child, parents, n_parents, row):
    without = log_det[parents : parents + row.size]
    family = parents | 1 << child
    within = log_det[family : family + row.size]
    constant = tables[0, n_parents]
    weight_without = tables[1, n_parents]
    weight_within = tables[2, n_parents]
    for i in range(row.size):
        score = constant[i] + weight_without[i] * without[i] + weight_within[i] * within[i]
        row[i] = larger(row[i], score)


@kernel
def _interleaved(log_det, tables, child, parents, n_parents, row):
    step = 1 << child
    pairs = log_det[parents : parents + 2 * row.size].reshape(-1, 2, step)
    constant = tables[0, n_parents].reshape(-1, step)
    weight_without = tables[1, n_parents].reshape(-1, step)
    weight_within = tables[2, n_parents].reshape(-1, step)
    scores = row.reshape(-1, step)
    for j in range(scores.shape[0]):
        for i in range(step):
            score = (
                constant[j, i]
                + weight_without[j, i] * pairs[j, 0, i]
                + weight_within[j, i] * pairs[j, 1, i]
            )
            scores[j, i] = larger(scores[j, i], score)
