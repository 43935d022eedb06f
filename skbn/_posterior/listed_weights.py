"""ListedWeights: the weights of families with few parents, as extended floats."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from skbn._core.arrays import Floats, Integers
from skbn._core.extended_floats import WideFormat
from skbn._core.resources import Threads
from skbn._core.subsets import SmallSubsets
from skbn._exact.family_sources import fill_by_child
from skbn._exact.fill_kernels import BlockTables
from skbn._exact.plan import SearchPlan
from skbn._posterior.family_weights import MASK_BITS, FamilyWeights, scale_of_weights
from skbn._posterior.listed_weight_kernels import (
    add_by_parent,
    add_log_odds,
    cumulate,
    draw_families,
    list_masks,
    scatter_weights,
    weigh_listed,
    weigh_with_others,
)
from skbn._posterior.order_sum_kernels import sum_zeta

LISTED_KERNELS = (
    list_masks,
    add_log_odds,
    add_by_parent,
    weigh_listed,
    scatter_weights,
    weigh_with_others,
    cumulate,
    draw_families,
    sum_zeta,
)

_NOWHERE = 1 << MASK_BITS  # beyond the end of every table


class FamilyList(NamedTuple):
    """The families of a child: its required parents, and up to `most` of its candidates.

    Parameters
    ----------
    required, candidates : list of int
        Positions of columns: the group's columns, then the others.
    most : int
    """

    required: list[int]
    candidates: list[int]
    most: int

    @property
    def n_families(self) -> int:
        """How many families there are."""
        return SmallSubsets(len(self.candidates), self.most).n_sets

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

    Parameters
    ----------
    lists : list of n_columns FamilyList
    scores_of : callable
        Takes a child and returns the scores of its families, in a new array.
    plan : SearchPlan
        A plan for the group's columns, without others.
    n_positions : int
        How many columns and others there are.
    threads : Threads
    log_odds : ndarray of shape (n_columns, n_positions), float64, optional
        The logarithm of the prior odds of the edge to each child from each parent.

    Attributes
    ----------
    wide, biases, log_scale
        As in `FamilyWeights`.

    Raises
    ------
    ValueError
        If the scores differ by so much that extended floats would have too few digits.
    """

    def __init__(
        self,
        lists: list[FamilyList],
        scores_of: Callable[[int], Floats],
        plan: SearchPlan,
        n_positions: int,
        threads: Threads,
        log_odds: Floats | None = None,
    ) -> None:
        self.plan = plan
        self._lists = lists
        self.n_positions = n_positions

        def scored(child: int) -> Floats:
            scores = scores_of(child)
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

    def fill(
        self, tables: BlockTables, fixed: int, children: Integers, threads: Threads, n_tasks: int
    ) -> Iterator[float]:
        """Fill the children's tables, one after the other; see `TableSource`."""
        return fill_by_child(self._fill_table, tables, fixed, children, threads)

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
        values = self._with_others(child, gamma, exponent)
        required, candidates, most = self._lists[child]
        of_candidates = np.empty(len(candidates) + 1)
        add_by_parent(values, len(candidates), most, of_candidates)
        sums = np.zeros(self.n_positions + 1)
        sums[candidates] = of_candidates[:-1]
        sums[[*required, -1]] = of_candidates[-1]
        return sums

    def parent_set_weights(
        self, child: int, gamma: Integers, exponent: int, threads: Threads
    ) -> Floats:
        """Return the weight of all networks with each family of the child."""
        return self._with_others(child, gamma, exponent)

    def _with_others(self, child: int, gamma: Integers, exponent: int) -> Floats:
        values = np.empty(len(self._weights[child]))
        masks = self._lists[child]._masks_of_word(self._bits_without(child))
        weigh_with_others(self._weights[child], masks, gamma, exponent, self.wide, values)
        return values

    def masks(self, child: int, indices: Integers, columns: Sequence[int]) -> Integers:
        """Return the masks of some families' parents, from the number of each position's column."""
        return self._lists[child].masks([1 << column for column in columns])[indices]

    def draw_others(self, child: int, chosen: Integers, states: npt.NDArray[np.uint64]) -> Integers:
        """Draw families with the chosen parents in the group.

        Parameters
        ----------
        child : int
        chosen : ndarray of shape (n_samples,), int64
            Masks of the group's columns; -1 at dead ends.
        states : ndarray of shape (n_samples,), uint64
            The random generators of the samples.

        Returns
        -------
        parents : ndarray of shape (n_samples,)
            Masks over all positions; -1 at dead ends.
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
