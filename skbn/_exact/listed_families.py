"""Families that are listed one by one, with their scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from skbn._core.subsets import mask_of, members_of
from skbn._core.threads import Threads
from skbn._core.zeta import max_zeta
from skbn._exact.plan import SearchPlan

__all__ = ["ListedFamilies"]


class ListedFamilies:
    """The listed families of the columns of a search; there are no others.

    Parameters
    ----------
    columns : sequence of int
        The columns of the search.
    parents : list of ndarray of shape (n_families, width), int16
        For each of these, the parents' numbers, ascending, rows padded with -1.
    scores : list of ndarray of shape (n_families,), float64
    plan : SearchPlan
    term_of : callable
        The largest magnitude of a number that enters a local score, by the column and
        the list of its parents: its rounding is that of this number.
    """

    def __init__(
        self,
        columns: Sequence[int],
        parents: list[npt.NDArray[np.int16]],
        scores: list[npt.NDArray[np.float64]],
        plan: SearchPlan,
        term_of: Callable[[int, list[int]], float],
    ) -> None:
        self._columns = columns
        self._term_of = term_of
        self._parents = parents
        self._scores = scores
        self._plan = plan
        self._masks = [_masks_within(columns, each) for each in parents]

    def fill(
        self,
        slab: npt.NDArray[np.float64],
        starts: npt.NDArray[np.int64],
        fixed: int,
        threads: Threads,
        n_tasks: int,
    ) -> Iterator[float]:
        """Fill the tables, transformed over the columns in which the sets of a block differ."""
        children = [
            (slab[starts[x] : starts[x + 1]], x, fixed)
            for x in range(self._plan.n_columns)
            if not fixed << self._plan.n_inner >> x & 1
        ]
        for _ in threads.map(self._fill_table, children):
            yield 1 / len(children)

    def _fill_table(self, table: npt.NDArray[np.float64], child: int, fixed: int) -> None:
        n_inner = self._plan.n_inner
        table[:] = -np.inf
        masks = self._masks[child]
        fits = masks >> n_inner & ~fixed == 0
        inner = masks[fits] & ((1 << n_inner) - 1)
        if child < n_inner:  # the child's bit removed
            inner = inner >> (child + 1) << child | inner & ((1 << child) - 1)
        np.maximum.at(table, inner, self._scores[child][fits])
        max_zeta(table, 0, self._plan.row_bits(child))

    def check(
        self,
        best: npt.NDArray[np.float64],
        slab: npt.NDArray[np.float64],
        starts: npt.NDArray[np.int64],
        fixed: int,
    ) -> None:
        """Ask nothing."""

    def first_parents(
        self,
        child: int,
        candidates: int,
        threshold: float,
        threads: Threads,
    ) -> int | None:
        """Return the first parents whose local score reaches a threshold."""
        reached = (self._scores[child] >= threshold) & (self._masks[child] & ~candidates == 0)
        rows = self._parents[child][reached]
        found = [mask_of(int(p) for p in row if p >= 0) for row in rows]
        return min(found, key=lambda mask: (mask.bit_count(), members_of(mask)), default=None)

    def largest_term(self, child: int, parents: int) -> float:
        """Return the largest magnitude of a number that enters this local score."""
        return self._term_of(self._columns[child], members_of(parents))


def _masks_within(columns: Sequence[int], parents: npt.NDArray[np.int16]) -> npt.NDArray[np.int64]:
    """Return the masks of those parents that are among some columns, by position."""
    largest = max(int(parents.max(initial=-1)), *columns)
    bits = np.zeros(largest + 2, dtype=np.int64)  # the last one for -1
    bits[list(columns)] = 1 << np.arange(len(columns), dtype=np.int64)
    return bits[parents].sum(axis=1)
