"""The kernels that fill a slab's tables with local scores, differences of set functions.

`recurrences` says what a slab, its tables and a block are, and `skbn._regressions.set_function`
what ``score(x, P) = of_family[P + x] - of_parents[P]`` is. The steps are the same for the best
network and for sums over all networks; they differ in these functions, known at compile time:

================================ ======================= ===================================
argument                         best network            sums of weights
================================ ======================= ===================================
join(a, b, wide)                 the larger of a and b   a + b
weigh(score, odds, wide)         the score               exponential of the score plus odds
================================ ======================= ===================================

Sums are of extended floats, so that these functions also take their format `wide`. The best
network's are given None.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import float64, int64
from numba.extending import intrinsic

from skbn._core.arrays import F1, I1
from skbn._core.compile import inner_kernel, kernel, pasted_kernel, tuple_type
from skbn._core.subsets import (
    bit_length,
    insert_zero_bit,
    max_within_vector,
    popcount,
    remove_bit,
    zeta_transform,
)
from skbn._core.vectors import (
    even_entries,
    filled,
    first_halves,
    larger,
    load,
    minus,
    odd_entries,
    plus,
    second_halves,
    store,
)
from skbn._regressions.set_function import LEAST_SCORE


class Pieces(NamedTuple):
    """What tables are filled from: the functions of the sets of some pieces.

    A *piece* has the sets of the same columns that are not inner ones, united with each subset of
    the inner ones. Pieces lie one after the other.
    """

    # the functions that scores are differences of. Piece i has the columns that `outer` has, and of
    # `varying` those that the bits of i stand for, from the lowest
    of_family: F1
    of_parents: F1
    outer: int  # masks of columns that are not inner ones; the lowest bit is the first of them
    varying: int
    chosen: int  # the pieces to go through: those whose number is a subset of this mask
    steps: I1  # (n_children,): how far it is from a parent set to the family, for each child
    has_ruled_out: int  # whether there are scores below `LEAST_SCORE`


class ParentRules(NamedTuple):
    """Masks of the columns that may not, or must, be among each child's parents."""

    forbidden: I1  # (n_children,)
    required: I1  # (n_children,)


class BlockTables(NamedTuple):
    """The tables of a slab."""

    # the children's tables one after the other. A table's index is the mask of the parent set's
    # inner columns, with the child's bit removed
    entries: npt.NDArray[Any]
    starts: I1  # (n_children + 1,): where each child's table starts in `entries`
    n_inner: int  # number of inner columns; the columns after these are the outer ones
    block_bits: int  # A block has the 2**block_bits sets that differ in these lowest columns only


PIECES = tuple_type(Pieces)
PARENT_RULES = tuple_type(ParentRules)
BLOCK_TABLES = tuple_type(BlockTables, float64[::1], int64[::1], int64, int64)


class BlockFamilies(NamedTuple):
    """The families of one child that a block of its table takes."""

    of_family: F1
    of_parents: F1
    places: I1  # where the block's parent sets begin, in each of the pieces that the child may have
    n_places: int
    step: int  # how far it is from a parent set to the family
    child: int  # its bit, if this is among the block's
    # the part of the log odds of the block's families that depends only on the entry's place in the
    # block. Only sums of weights have odds; it may be empty without them
    low_odds: F1
    odds: F1  # the same as far as it depends on the piece


@intrinsic
def score_itself(typing_context, score, odds, wide):
    """Return the score: what `weigh` is in a search for the best network."""

    def codegen(context, builder, signature, arguments):
        return arguments[0]

    return score(score, odds, wide), codegen


@kernel(PIECES, PARENT_RULES, int64[::1], int64, int64, int64[::1], BLOCK_TABLES, seconds=1.1)
def fill_blocks(pieces, rules, children, begins, ends, blocks, tables):
    """Fill some blocks of children's tables with maxima over the blocks' bits.

    `children`: whose tables are filled
    `begins`, `ends`: whether these are the first, and the last, of the pieces from which they are
        filled
    `blocks`: the high bits of each block
    """
    places = np.empty(1 << popcount(pieces.chosen), np.int64)
    no_odds = pieces.of_parents  # scores do not depend on them
    for block in blocks:
        first = block << tables.block_bits
        for child in children:
            values = values_of_block(tables, child, first)
            if values.size == 0:
                continue
            n_places = places_of(pieces, rules, tables, child, first, places)
            families = BlockFamilies(
                pieces.of_family,
                pieces.of_parents,
                places,
                n_places,
                pieces.steps[child],
                child,
                no_odds,
                no_odds,
            )
            fill_values(values, families, begins, -math.inf, larger, score_itself, None)
            if ends:
                if pieces.has_ruled_out:
                    forget_ruled_out(values)
                rule_out(values, rules, child, tables.block_bits, -math.inf)
                n_bits = bit_length(values.size - 1)
                zeta_transform(values, np.int64(0), n_bits, larger, max_within_vector, None)


@pasted_kernel
def values_of_block(tables, child, first):
    """Return a block's part of a child's table: nothing, if the block's sets have the child."""
    start, size = tables.starts[child] + first, 1 << tables.block_bits
    if child < tables.n_inner:
        start = tables.starts[child] + remove_bit(first, child)
        size = 0 if first >> child & 1 else size >> (child < tables.block_bits)
    return tables.entries[start : start + size]


@pasted_kernel
def places_of(pieces, rules, tables, child, first, places):
    """Find where a block's parent sets begin in the pieces that a child may have as parents.

    Returns how many of these there are, and sets `places`.
    """
    forbidden = rules.forbidden[child] | 1 << child
    required = rules.required[child]
    n_places = 0
    piece = pieces.chosen
    while True:
        base = outer_columns(pieces, piece) << tables.n_inner | first
        if (base & forbidden | ~base & required) >> tables.block_bits == 0:
            places[n_places] = piece << tables.n_inner | first
            n_places += 1
        if piece == 0:
            return n_places
        piece = (piece - 1) & pieces.chosen


@inner_kernel
def outer_columns(pieces, piece):
    """Return the mask of a piece's columns that are not inner ones."""
    columns = pieces.outer
    varying = pieces.varying
    while piece:
        lowest = varying & -varying
        if piece & 1:
            columns |= lowest
        varying ^= lowest
        piece >>= 1
    return columns


@inner_kernel
def fill_values(values, families, begins, nothing, join, weigh, wide):
    """Set `values` to the families of a child with the parent sets of one block, joined.

    A vector of entries stays in registers while it is joined over all pieces. Unless `begins`, it
    is joined to what `values` hold already.
    """
    of_family, of_parents = families.of_family, families.of_parents
    places, odds, low_odds = families.places, families.odds, families.low_odds
    step, child, n_places = families.step, families.child, families.n_places
    if values.size < 4:
        for i in range(values.size):
            if begins:
                values[i] = nothing
            for k in range(n_places):
                j = places[k] + insert_zero_bit(i, child)
                value = weigh(of_family[j + step] - of_parents[j], low_odds[i] + odds[k], wide)
                values[i] = join(values[i], value, wide)
        return
    nothings = filled(float(nothing))  # an extended float 0 has the bits of 0.0
    for i in range(0, values.size, 4):
        value = nothings if begins else load(values, i)
        first = insert_zero_bit(i, child)
        for k in range(n_places):
            j = places[k] + first
            if child == 0:
                family = odd_entries(load(of_family, j), load(of_family, j + 4))
                parents = even_entries(load(of_parents, j), load(of_parents, j + 4))
            elif child == 1:
                family = second_halves(load(of_family, j), load(of_family, j + 4))
                parents = first_halves(load(of_parents, j), load(of_parents, j + 4))
            else:
                family = load(of_family, j + step)
                parents = load(of_parents, j)
            odd = plus(load(low_odds, i), filled(odds[k]))
            value = join(value, weigh(minus(family, parents), odd, wide), wide)
        store(values, i, value)


@pasted_kernel
def forget_ruled_out(scores):
    """Set the scores of families that are ruled out to -inf, see `LEAST_SCORE`."""
    for i in range(scores.size):
        if scores[i] < LEAST_SCORE:
            scores[i] = -math.inf


@pasted_kernel
def rule_out(values, rules, child, block_bits, nothing):
    """Set to `nothing` each entry whose `block_bits` lowest columns break a constraint."""
    forbidden, required = rules.forbidden[child], rules.required[child]
    low = (1 << block_bits) - 1
    if (forbidden | required) & low == 0:
        return
    for i in range(values.size):
        parents = insert_zero_bit(i, child) if child < block_bits else i
        if (parents & forbidden | ~parents & required) & low:
            values[i] = nothing
