"""FamilyWeights: the weights of all families of a group of columns, as extended floats.

The kernels share the one that fills the tables of the search. Their arrays of int64 are extended
floats, of the format `wide`.
"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numba import float64, int64
from numba.extending import register_jitable

from skbn._core.arrays import F1, F2, I1, Floats, Integers
from skbn._core.compile import compile_kernels, inner_kernel, kernel, pasted_kernel, tuple_type
from skbn._core.extended_floats import (
    WIDE,
    WideFormat,
    sum_within_vector,
    wide_as_double,
    wide_exp,
    wide_product,
    wide_sum,
)
from skbn._core.resources import Threads, allocate
from skbn._core.subsets import (
    bit_length,
    insert_zero_bit,
    members_of,
    popcount,
    remove_bit,
    zeta_transform,
)
from skbn._core.vectors import load, plus, reversed_entries, store
from skbn._exact.dense_families import Part, SearchColumns, fill_by_blocks, parts_in_memory
from skbn._exact.family_sources import Filling
from skbn._exact.fill_kernels import (
    PIECES,
    BlockFamilies,
    BlockTables,
    fill_values,
    places_of,
    rule_out,
    values_of_block,
)
from skbn._exact.plan import SearchPlan
from skbn._regressions.set_function import LEAST_SCORE, SetFunctions


@kernel(int64[::1], int64, int64, WIDE, seconds=1)
def sum_zeta(table, first_bit, last_bit, wide):
    """Turn extended floats into sums over subsets, over some bits of their index, in place."""
    zeta_transform(table, first_bit, last_bit, wide_sum, sum_within_vector, wide)


class WeighedFamilies(NamedTuple):
    """The families of a group's columns, and the prior odds of their edges."""

    of_family: F1  # (2**m,): what local scores are differences of
    of_parents: F1  # (2**m,)
    forbidden: I1  # (n_children,): see `ParentRules`, whose place they take
    required: I1  # (n_children,)
    # (n_children, block): what the parents among the block's columns add to a child's score, by the
    # place in the block's part of its table. One row stands for all children
    low_odds: F2
    single_odds: F2  # (n_children, m): what each other parent adds
    block_bits: int


_FAMILIES = tuple_type(WeighedFamilies)
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


@pasted_kernel
def _weigh_block(families, child, base, values, wide):
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
    fill_values(values, of_block, True, np.int64(0), wide_sum, _weight, wide)
    rule_out(values, families, child, families.block_bits, np.int64(0))
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
    n_low, bit = families.block_bits, np.int64(1) << child
    low_odds = families.low_odds[child % families.low_odds.shape[0]]
    forbidden, required = families.forbidden[child] | bit, families.required[child]
    best, least = -math.inf, math.inf
    for base in range(0, families.of_parents.size, 1 << n_low):
        if (base & forbidden | ~base & required) >> n_low:
            continue
        odds = _odds_of_others(families, child, base)
        for i in range(_size_of_block(families, child)):
            parents = base | (insert_zero_bit(i, child) if child < n_low else i)
            score = families.of_family[parents | bit] - families.of_parents[parents]
            value = score + (low_odds[i] + odds)
            if value >= LEAST_SCORE and (parents & forbidden | ~parents & required) == 0:
                if value > best:
                    best = value
                if value < least:
                    least = value
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
        if not _weigh_block(families, child, base, values, own):
            for i in range(size):
                values[i] = 0


@pasted_kernel
def _weigh_with_descendants(values, gamma, start, exponent, wide, weights):
    """Set `weights` to the weights of networks with these families, as float64."""
    if values.size < 4:
        for i in range(values.size):
            value = wide_product(values[i], gamma[gamma.size - 1 - start - i], wide)
            weights[i] = wide_as_double(value, wide, exponent)
        return
    for i in range(0, values.size, 4):
        others = load(gamma, gamma.size - 4 - start - i)
        others = reversed_entries(others, others)
        value = wide_product(load(values, i), others, wide)
        store(weights, i, wide_as_double(value, wide, exponent))


@kernel(_FAMILIES, int64, int64, int64[::1], int64, WIDE, int64[::1], float64[::1])
def edge_sums(families, n_columns, child, gamma, exponent, wide, biases, sums):
    """Sum the weights of all networks by the parents of one child.

    `n_columns`: how many columns the group has; the columns after these are others
    `gamma`: (2**(n_columns - 1),), at ``[~P]``, the weight of all that the child's family does not
        say, summed over the sets that contain P; the child's bit is removed
    `exponent`: the weights are summed as float64 in units of ``2**(exponent - wide.bias)``
    `biases`: (n_columns,), the bias with which each child's scores are weighed
    `sums`: (m + 1,), set to the weight of the networks in which each column is a parent; last, of
        all networks
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
        if _weigh_block(families, child, base, values, own):
            start = remove_bit(base & inner, child)
            _weigh_with_descendants(values, gamma, start, exponent, wide, weights)
            total = _fold(weights, child, block_bits, sums)
            for parent in range(block_bits, m):
                if base >> parent & 1:
                    sums[parent] += total
            sums[m] += total


@pasted_kernel
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

    `families`: (2**(m - 1),), the weights of the child's families, by the mask of the parents
        without the child's bit. `weights` may be the same memory.
    `gamma`, `exponent`, `wide`: as in `edge_sums`. The parents' highest bits are those of the
        others, which gamma ignores.
    `weights`: (2**(m - 1),)
    """
    for first in range(0, families.size, gamma.size):
        end = first + gamma.size
        _weigh_with_descendants(families[first:end], gamma, 0, exponent, wide, weights[first:end])


WEIGHT_KERNELS = (score_range, fill_sums, edge_sums)
PARENT_SET_KERNELS = (family_weights, weights_with_descendants)

# Ctrl-C is handled between tasks of this many families, about a tenth of a second.
_TASK = 1 << 25
MASK_BITS = 62  # of an int64, with room for a sign and a mark


class FamilyWeights:
    """The weight ``beta_x(P)`` of each family: exp(local score), times its prior odds.

    The weights of a child are divided by a power of two, so that the largest is about 1.

    `sets`: what the local scores of each child are differences of, for all subsets of the columns:
        at least two
    `allowed`, `required`: as for `SearchColumns`; the plan may have more columns than there are
        children
    `log_odds`: (n_children, m), the logarithm of the prior odds of the edge to each child from each
        parent

    `log_scale`: multiply sums over networks by the exponential of this, in nats

    Raises ValueError if the scores differ by so much that extended floats would have too few
    digits.
    """

    def __init__(
        self,
        sets: Sequence[SetFunctions],
        plan: SearchPlan,
        threads: Threads,
        allowed: Sequence[int],
        required: Sequence[int],
        log_odds: Floats | None = None,
    ) -> None:
        self.n_positions = len(sets[0].of_parents).bit_length() - 1
        self._columns = SearchColumns(self.n_positions, plan.n_columns, allowed, required)
        self.plan = plan
        self._sets = sets
        n_children, n_low = len(allowed), plan.block_bits
        low = np.zeros((1, 1 << n_low))
        single = np.zeros((n_children, self.n_positions))
        if log_odds is not None:
            low = _odds_of_low_parents(log_odds, n_low)
            single[:, n_low:] = log_odds[:, n_low:]
        self._log_odds = log_odds
        self._families = [
            WeighedFamilies(*each, *self._columns.rules, low, single, n_low) for each in sets
        ]
        ranges = list(threads.map(self._score_range, [(x,) for x in range(n_children)]))
        self.wide, self.biases, self.log_scale = scale_of_weights(ranges)

    def _score_range(self, child: int) -> tuple[float, float]:
        """Return a child's highest score, and that of its fewest parents if this is finite.

        The sum over all networks is at least the weight of the one in which all columns have no
        parents but the required ones.
        """
        best, least = self._range(child)
        fewest = int(self._columns.required[child])
        of_fewest = self._sets[child].local_score(child, fewest)
        if self._log_odds is not None:
            of_fewest += float(self._log_odds[child, members_of(fewest)].sum())
        return best, of_fewest if math.isfinite(of_fewest) else least

    def _range(self, child: int) -> tuple[float, float]:
        """Return a child's highest and lowest finite score; see `score_range`."""
        highest_and_lowest: tuple[float, float] = score_range(self._families[child], child)
        return highest_and_lowest

    def fill(self, slab: Filling) -> Iterator[float]:
        """Fill the children's tables with weights; see `FamilySource`."""
        parts = parts_in_memory(self._sets, self._columns.others, slab)
        return fill_by_blocks(self._fill_blocks, parts, slab)

    def _fill_blocks(self, part: Part, blocks: Integers, tables: BlockTables) -> None:
        rest = part.children, blocks, tables, self.wide, self.biases
        fill_sums(part.pieces, self._families[part.children[0]], *rest)

    def edge_sums(self, child: int, gamma: Integers, exponent: int) -> Floats:
        """Return the weight of the networks in which each column is the child's parent.

        `gamma`: (2**(n_columns - 1),), at ``[~P]``, the weight of everything but the child's own
            family, summed over the sets of columns that contain P; the child's bit is removed
        `exponent`: the sums are in units of ``2**(exponent - bias)``

        Returns `sums`: (m + 1,), the last entry is the weight of all networks.
        """
        sums = np.empty(self.n_positions + 1)
        others = gamma, exponent, self.wide, self.biases
        edge_sums(self._families[child], self.plan.n_columns, child, *others, sums)
        return sums

    def parent_set_weights(self, child: int, gamma: Integers, exponent: int) -> Floats:
        """Return the weight of all networks with each parent set of the child.

        The other parameters are those of `edge_sums`.

        Returns `weights`: (2**(m - 1),), by the mask of the parents, with the child's bit removed.
        """
        compile_kernels(PARENT_SET_KERNELS)
        weights = allocate(self.n_parent_sets)
        families = weights.view(np.int64)
        with Threads(1) as threads:
            self.weights_of(child, threads, families)
        weights_with_descendants(families, gamma, exponent, self.wide, weights)
        return weights

    @property
    def n_parent_sets(self) -> int:
        """How many parent sets a child has: ``2**(m - 1)``."""
        return len(self._sets[0].of_parents) // 2

    def weights_of(self, child: int, threads: Threads, weights: Integers) -> None:
        """Set `weights` to the weight of each parent set of a child, an extended float.

        `weights`: (2**(m - 1),), by the mask of the parents, with the child's bit removed
        """

        def run(bases: Integers) -> None:
            families = self._families[child]
            family_weights(families, child, bases, self.wide, self.biases, weights)

        n_sets = len(self._sets[0].of_parents)
        bases = np.arange(0, n_sets, 1 << self.plan.block_bits)
        parts = threads.split(bases, n_sets // _TASK)
        list(threads.map(run, [(part,) for part in parts]))

    def masks(self, child: int, indices: Integers, columns: Sequence[int]) -> Integers:
        """Return the masks of some parent sets, from the number of each position's column."""
        masks: Integers = np.zeros(len(indices), dtype=mask_type(1 + max(columns)))
        for bit, column in enumerate([c for i, c in enumerate(columns) if i != child]):
            masks |= (indices >> bit & 1).astype(masks.dtype) << column
        return masks


def _odds_of_low_parents(log_odds: Floats, n_low: int) -> Floats:
    """Return what the parents among the lowest columns add to the scores of each child.

    They are in the order of a block's part of the child's table: its own bit is removed.
    """
    sets = np.arange(1 << n_low)
    is_parent = sets[:, np.newaxis] >> np.arange(n_low) & 1
    odds: Floats = log_odds[:, :n_low] @ is_parent.T.astype(float)
    for child in range(min(n_low, len(odds))):
        without = sets[sets >> child & 1 == 0]
        odds[child, : len(without)] = odds[child, without]
    return np.ascontiguousarray(odds)


def mask_type(n_columns: int) -> type:
    """Return the type of masks of n columns: Python's integers if int64 has too few bits."""
    return np.int64 if n_columns <= MASK_BITS else object


def scale_of_weights(ranges: list[tuple[float, float]]) -> tuple[WideFormat, Integers, float]:
    """Return the format of weights, the bias of each child's, and the logarithm of their unit.

    `ranges`: each child's highest score, and one that some network with all least scores has
    """
    best = np.array([high for high, _ in ranges])
    log_range = sum(high - low for high, low in ranges if high > -math.inf)
    wide = WideFormat.for_range(log_range)
    if wide is None:
        raise ValueError(
            f"The local scores of the families differ by up to {log_range:.3g} nats in all, "
            "too much to add up their exponentials: probabilities would have fewer than 36 "
            "bits. Set method to 'sampling', give fewer rows or smaller sample weights, such as "
            "sample_weight / sample_weight.mean(), or leave out columns that are nearly "
            "combinations of others."
        )
    shifts = np.rint(np.where(np.isfinite(best), best, 0.0) / math.log(2)).astype(np.int64)
    return wide, wide.bias - shifts, float(shifts.sum()) * math.log(2)
