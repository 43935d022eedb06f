"""Families that are listed one by one, with their scores."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from skbn._core.arrays import Floats, Integers, ShortIntegers
from skbn._core.resources import Threads
from skbn._core.subsets import mask_of, max_over_subsets, members_of
from skbn._exact.family_sources import (
    BestScores,
    Filling,
    FoundSink,
    RankedParents,
    Thresholds,
    fill_by_child,
)
from skbn._exact.fill_kernels import BlockTables
from skbn._exact.plan import SearchPlan


class ListedFamilies:
    """A `FamilySource` of the families in a list, and of no others.

    `columns`: the columns of the search, by their numbers in the user's table
    `parents`: (n_families, width), for each of these columns, the parents' numbers, ascending, in
        rows padded with -1
    `scores`: (n_families,), the local scores of these families
    `term_of`: takes a column and the list of its parents, and returns the largest magnitude of a
        number that enters their local score. The score's rounding is relative to this number.
    """

    def __init__(
        self,
        columns: Sequence[int],
        parents: list[ShortIntegers],
        scores: list[Floats],
        plan: SearchPlan,
        term_of: Callable[[int, list[int]], float],
    ) -> None:
        self.numbers = columns
        self._term_of = term_of
        self._parents = parents
        self._scores = scores
        self._plan = plan
        self._masks = [_masks_of_rows(columns, each) for each in parents]

    def fill(self, slab: Filling) -> Iterator[float]:
        """Fill the children's tables, one after the other; see `FamilySource`."""
        return fill_by_child(self._fill_table, slab)

    def _fill_table(self, table: Floats, child: int, fixed: int) -> None:
        n_inner = self._plan.n_inner
        table[:] = -np.inf
        masks = self._masks[child]
        fits = masks >> n_inner & ~fixed == 0
        inner = masks[fits] & ((1 << n_inner) - 1)
        if child < n_inner:  # the child's bit removed
            inner = inner >> (child + 1) << child | inner & ((1 << child) - 1)
        np.maximum.at(table, inner, self._scores[child][fits])
        max_over_subsets(table, self._plan.row_bits[child])

    def check(self, best_network_scores: BestScores, tables: BlockTables, fixed: int) -> None:
        """Check nothing: the scores were not computed from others."""

    def first_sink(self, columns: int, thresholds: Thresholds, threads: Threads) -> FoundSink:
        """Return the first sink that has parents which reach its threshold, and them."""
        for sink, threshold in thresholds.items():
            listed = self.parents_that_reach(sink, columns ^ 1 << sink, threshold)
            if reached := [parents for *_, parents in listed]:
                return sink, min(reached, key=lambda mask: (mask.bit_count(), members_of(mask)))
        return None

    def best_parents(self, child: int, candidates: int) -> tuple[float, int]:
        """Return the best local score among some candidates, and its parents in the search."""
        scores = np.where(self._masks[child] & ~candidates == 0, self._scores[child], -np.inf)
        best = int(np.argmax(scores))
        return float(scores[best]), int(self._masks[child][best])

    def parents_that_reach(self, child: int, candidates: int, threshold: float) -> RankedParents:
        """Return the parent sets whose local scores reach a threshold, the best first."""
        scores, masks = self._scores[child], self._masks[child]
        reached = np.flatnonzero((scores >= threshold) & (masks & ~candidates == 0))
        order = reached[np.argsort(-scores[reached], kind="stable")]
        rows = self._parents[child][order].tolist()
        in_numbers = [mask_of(p for p in row if p >= 0) for row in rows]
        ranked = scores[order].tolist(), masks[order].tolist(), in_numbers
        return list(zip(*ranked, strict=True))

    def score_of(self, child: int, parents: int) -> float:
        """Return the local score with parents by their numbers; -inf if they are not listed."""
        members = members_of(parents)
        rows = self._parents[child]
        if len(members) > rows.shape[1]:
            return -np.inf
        padded = np.full(rows.shape[1], -1, dtype=rows.dtype)
        padded[: len(members)] = members
        found = np.flatnonzero((rows == padded).all(axis=1))
        return float(self._scores[child][found[0]]) if len(found) else -np.inf

    def largest_term(self, parents: Sequence[int]) -> float:
        """Return the largest magnitude of a number that enters the local scores of a network."""
        of_each = zip(self.numbers, parents, strict=True)
        return max(self._term_of(x, members_of(mask)) for x, mask in of_each)


def _masks_of_rows(columns: Sequence[int], parents: ShortIntegers) -> Integers:
    """Return each row's mask of those parents that are among `columns`, by position."""
    largest = max(int(parents.max(initial=-1)), *columns)
    bits = np.zeros(largest + 2, dtype=np.int64)  # the last one for -1
    bits[list(columns)] = 1 << np.arange(len(columns), dtype=np.int64)
    return bits[parents].sum(axis=1)
