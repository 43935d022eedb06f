"""ListedWeights: the weights of families with few parents, which are listed one by one.

The families of a child have its required parents and a few of its candidates. Arrays over families
are in the order of `SmallSubsets` of the candidates. In kernels, arrays of int64 are extended
floats of the format `wide`, or masks.
"""

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import float64, int64, uint64

from skbn._core.arrays import Floats, Integers
from skbn._core.compile import inner_kernel, kernel, kernels_of
from skbn._core.extended_floats import (
    WIDE,
    WideFormat,
    wide_as_double,
    wide_exp,
    wide_product,
    wide_sum,
)
from skbn._core.random_numbers import first_above, uniform
from skbn._core.resources import Threads
from skbn._core.subsets import advance, binomial, n_small_subsets
from skbn._exact.family_sources import Filling, fill_by_child
from skbn._exact.plan import SearchPlan
from skbn._posterior.family_weights import MASK_BITS, FamilyWeights, scale_of_weights, sum_zeta


@inner_kernel
def _first(chosen, size):
    for j in range(size):
        chosen[j] = j


@kernel(int64[::1], int64, int64, int64[::1])
def list_masks(candidates, required, most, masks):
    """Set `masks`, of zeros, to the parents of each family, from the masks of candidates."""
    _join_parents(candidates, required, most, operator.or_, masks)


@kernel(float64[::1], float64, int64, float64[::1])
def add_log_odds(candidates, required, most, scores):
    """Add to the score of each family the log odds of its parents."""
    _join_parents(candidates, required, most, operator.add, scores)


@inner_kernel
def _join_parents(candidates, required, most, join, values):
    """Join to the value of each family those of its parents: of the required and of the others.

    `join` is an operator that is known when this is compiled.
    """
    chosen = np.empty(most + 1, np.int64)
    i = 0
    for size in range(most + 1):
        _first(chosen, size)
        end = i + binomial(candidates.size, size)
        while i < end:
            value = required
            for j in range(size):
                value = join(value, candidates[chosen[j]])
            values[i] = join(values[i], value)
            i += 1
            if i < end:
                advance(chosen, size)


@kernel(float64[::1], int64, int64, float64[::1])
def add_by_parent(values, n_candidates, most, sums):
    """Set `sums` to those of the values of all families with each candidate; last, of all."""
    chosen = np.empty(most + 1, np.int64)
    for j in range(sums.size):
        sums[j] = 0.0
    i = 0
    for size in range(most + 1):
        _first(chosen, size)
        end = i + binomial(n_candidates, size)
        while i < end:
            value = values[i]
            for j in range(size):
                sums[chosen[j]] += value
            sums[n_candidates] += value
            i += 1
            if i < end:
                advance(chosen, size)


@kernel(float64[::1], WIDE, int64[::1])
def weigh_listed(scores, wide, weights):
    """Set `weights` to the exponentials of scores."""
    for i in range(scores.size):
        weights[i] = wide_exp(scores[i], wide)


@kernel(int64[::1], int64[::1], int64[::1], WIDE)
def scatter_weights(weights, places, table, wide):
    """Add each weight to the entry of its place; places beyond the table are left out."""
    for i in range(weights.size):
        place = places[i]
        if place < table.size:
            table[place] = wide_sum(table[place], weights[i], wide)


@kernel(int64[::1], int64[::1], int64[::1], int64, WIDE, float64[::1])
def weigh_with_others(weights, masks, gamma, exponent, wide, values):
    """Set `values` to the weight of all networks with each family, as float64.

    `masks`: (n_families,), the parents within the group, with the child's bit removed
    `gamma`, `exponent`, `wide`: as in `family_weights.edge_sums`
    `weights`: (n_families,); `values`: (n_families,)
    """
    for i in range(weights.size):
        product = wide_product(weights[i], gamma[gamma.size - 1 - masks[i]], wide)
        values[i] = wide_as_double(product, wide, exponent)


@kernel(int64[::1], int64[::1], WIDE, float64[::1])
def cumulate(masks, weights, wide, cumulative):
    """Set `cumulative` to the running sums of the weights of families with the same mask.

    The masks are sorted. The sums of each mask are in units of its largest weight's power of two.
    """
    start = 0
    while start < masks.size:
        end = start
        largest = np.int64(0)
        while end < masks.size and masks[end] == masks[start]:
            largest = max(largest, weights[end])
            end += 1
        total = 0.0
        for i in range(start, end):
            total += wide_as_double(weights[i], wide, largest >> wide.bits)
            cumulative[i] = total
        start = end


@kernel(int64[::1], float64[::1], int64[::1], uint64[::1], int64[::1])
def draw_families(masks, cumulative, chosen, states, families):
    """Set `families` to the numbers of families with the chosen masks; -1 where these are -1."""
    for i in range(chosen.size):
        families[i] = -1
        if chosen[i] < 0:
            continue
        start = np.searchsorted(masks, chosen[i])
        end = np.searchsorted(masks, chosen[i] + 1)
        if start == end:
            continue
        target = uniform(states, i) * cumulative[end - 1]
        families[i] = first_above(cumulative, start, end - 1, target)


LISTED_KERNELS = (*kernels_of(__name__), sum_zeta)

_NOWHERE = 1 << MASK_BITS  # beyond the end of every table


class FamilyList(NamedTuple):
    """The families of a child: its required parents, and up to `most` of its candidates."""

    required: list[int]  # positions of columns: the group's columns, then the others
    candidates: list[int]
    most: int

    @property
    def n_families(self) -> int:
        """How many families there are."""
        return n_small_subsets(len(self.candidates), self.most)

    def masks(self, bits: Sequence[int]) -> Integers:
        """Return the mask of each family's parents, from the bit of each position.

        The masks are Python's integers if a bit is beyond 64.
        """
        words = []
        for word in range(max([*bits, 1]).bit_length() // (MASK_BITS + 1) + 1):
            shift = word * MASK_BITS
            of_word = [each >> shift & (1 << MASK_BITS) - 1 for each in bits]
            words.append(self._masks_of_word(of_word))
        if len(words) == 1:
            return words[0]
        wide = [each.astype(object) << word * MASK_BITS for word, each in enumerate(words)]
        return sum(wide[1:], wide[0])

    def _masks_of_word(self, bits: Sequence[int]) -> Integers:
        masks = np.zeros(self.n_families, np.int64)
        candidates = np.array([bits[p] for p in self.candidates], dtype=np.int64)
        required = 0
        for p in self.required:
            required |= bits[p]
        list_masks(candidates, required, min(self.most, len(candidates)), masks)
        return masks


class ListedWeights:
    """The weight of each listed family, exp(local score) times its prior odds.

    It takes the place of `FamilyWeights`. The lattice of sets has the group's columns alone: of
    the families with the same parents in the group, all weights are added up.

    `scores_of`: takes a child with its families, and returns their scores in a new array
    `plan`: a plan for the group's columns, without others
    `n_positions`: how many columns and others there are
    `log_odds`: (n_columns, n_positions), the logarithm of the prior odds of the edge to each child
        from each parent

    `wide`, `biases`, `log_scale`: as in `FamilyWeights`

    Raises ValueError if the scores differ by so much that extended floats would have too few
    digits.
    """

    def __init__(
        self,
        lists: list[FamilyList],
        scores_of: Callable[[int, FamilyList], Floats],
        plan: SearchPlan,
        n_positions: int,
        threads: Threads,
        log_odds: Floats | None = None,
    ) -> None:
        self.plan = plan
        self._lists = lists
        self.n_positions = n_positions

        def scored(child: int) -> Floats:
            scores = scores_of(child, lists[child])
            if log_odds is not None:
                required, candidates, most = lists[child]
                odds = log_odds[child]
                of_candidates = np.ascontiguousarray(odds[candidates])
                add_log_odds(of_candidates, float(odds[required].sum()), most, scores)
            return scores

        children = [(x,) for x in range(len(lists))]
        scores = list(threads.map(scored, children))
        self.wide, self.biases, self.log_scale = scale_of_weights([_range(each) for each in scores])

        def weigh(child: int) -> None:
            # The weights take the place of the scores.
            wide = WideFormat(self.wide.bits, int(self.biases[child]))
            weigh_listed(scores[child], wide, scores[child].view(np.int64))

        list(threads.map(weigh, children))
        self._weights = [each.view(np.int64) for each in scores]

    @property
    def n_parent_sets(self) -> int:
        """How many sets of the group's other columns there are."""
        return 1 << (self.plan.n_columns - 1)

    def fill(self, slab: Filling) -> Iterator[float]:
        """Fill the children's tables, one after the other; see `FamilySource`."""
        return fill_by_child(self._fill_table, slab)

    def _fill_table(self, table: Integers, child: int, fixed: int) -> None:
        n_inner = self.plan.n_inner
        bits = self._bits_without(child, n_inner)
        for i in range(n_inner, self.plan.n_columns):
            bits[i] = 0 if fixed >> (i - n_inner) & 1 else _NOWHERE
        self._add_up(child, bits, table)
        sum_zeta(table, 0, self.plan.row_bits[child], self.wide)

    def _add_up(self, child: int, bits: list[int], table: Integers) -> None:
        table[:] = 0
        masks = self._lists[child]._masks_of_word(bits)
        scatter_weights(self._weights[child], masks, table, self.wide)

    def _bits_without(self, child: int, n_columns: int | None = None) -> list[int]:
        """Return the bit of each position, with the child's removed; 0 for all but n columns."""
        n = self.plan.n_columns if n_columns is None else n_columns
        return [
            1 << (i - (i > child)) if i < n and i != child else 0 for i in range(self.n_positions)
        ]

    def weights_of(self, child: int, threads: Threads, weights: Integers) -> None:
        """Set `weights` to those of each set of parents in the group, with any others."""
        self._add_up(child, self._bits_without(child), weights)

    def edge_sums(self, child: int, gamma: Integers, exponent: int) -> Floats:
        """Return the weight of the networks in which each column is the child's parent.

        As `FamilyWeights.edge_sums`.
        """
        values = self.parent_set_weights(child, gamma, exponent)
        required, candidates, most = self._lists[child]
        of_candidates = np.empty(len(candidates) + 1)
        add_by_parent(values, len(candidates), most, of_candidates)
        sums = np.zeros(self.n_positions + 1)
        sums[candidates] = of_candidates[:-1]
        sums[[*required, -1]] = of_candidates[-1]
        return sums

    def parent_set_weights(self, child: int, gamma: Integers, exponent: int) -> Floats:
        """Return the weight of all networks with each family of the child."""
        values = np.empty(len(self._weights[child]))
        masks = self._lists[child]._masks_of_word(self._bits_without(child))
        weigh_with_others(self._weights[child], masks, gamma, exponent, self.wide, values)
        return values

    def masks(self, child: int, indices: Integers, columns: Sequence[int]) -> Integers:
        """Return the masks of some families' parents, from the number of each position's column."""
        return self._lists[child].masks([1 << column for column in columns])[indices]

    def draw_others(self, child: int, chosen: Integers, states: npt.NDArray[np.uint64]) -> Integers:
        """Draw families with the chosen parents in the group.

        `chosen`: (n_samples,), masks of the group's columns; -1 at dead ends
        `states`: (n_samples,), the random generators of the samples

        Returns `parents`: (n_samples,), masks over all positions; -1 at dead ends.
        """
        masks = self._lists[child]._masks_of_word(self._bits_without(child))
        order = np.argsort(masks, kind="stable")
        masks = masks[order]
        cumulative = np.empty(len(masks))
        cumulate(masks, self._weights[child][order], self.wide, cumulative)
        below = (1 << child) - 1
        removed = np.where(chosen < 0, -1, chosen >> (child + 1) << child | chosen & below)
        families = np.empty(len(chosen), np.int64)
        draw_families(masks, cumulative, removed, states, families)
        parents = self.masks(child, order[families], range(self.n_positions))
        return np.where(families < 0, -1, parents)


Weights = FamilyWeights | ListedWeights


def _range(scores: Floats) -> tuple[float, float]:
    """Return a child's highest score, and that of its fewest parents if this is finite."""
    best, of_fewest = float(scores.max()), float(scores[0])
    if not math.isfinite(of_fewest):
        of_fewest = float(scores.min(where=np.isfinite(scores), initial=math.inf))
    return best, of_fewest
