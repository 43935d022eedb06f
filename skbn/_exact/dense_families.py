"""All families of some columns, scored from log-determinants while they are searched."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from skbn._core.memory import allocate
from skbn._core.subsets import mask_of, members_of, subsets_of
from skbn._core.threads import Threads
from skbn._exact.family_sources import BestScores, RankedParentSets
from skbn._exact.fill_kernels import Window, fill_blocks
from skbn._exact.parent_set_kernels import (
    best_parents,
    first_parents_that_reach,
    parents_that_reach,
)
from skbn._exact.plan import SearchPlan
from skbn._exact.spot_check import check_slab, draw_states, local_maxima
from skbn._regressions.local_score import local_score_terms

__all__ = [
    "DENSE_KERNELS",
    "LISTING_KERNELS",
    "BlockwiseFamilies",
    "DenseFamilies",
    "spread_tables",
]

# What a block's sets contribute to local scores, two tables of 64 KiB for each subset of the outer
# columns, fits the second-level cache for this many of these subsets.
_MOST_PARTS = 8
# From this many candidates on, threads share the subsets that a walk back goes through, since
# Ctrl-C is handled between tasks only. Each subset of the last three candidates is a task: these
# columns are later than those in which neighbouring sets differ.
_FEWEST_TO_SHARE = 19
_SHARED_COLUMNS = 3
# How many parent sets there is room for at first when they are listed; more are listed again.
_FIRST_ROOM = 1 << 10


class Part(NamedTuple):
    """A part of filling the tables of a slab: what some of them take from one window.

    Parameters
    ----------
    window : Window
    children : ndarray of int64
        Whose tables are filled.
    begins, ends : bool
        Whether this is the first, and the last, of the windows from which they are filled.
    share : float
        Of the time that filling the slab takes.
    """

    window: Window
    children: npt.NDArray[np.int64]
    begins: bool = True
    ends: bool = True
    share: float = 1.0


def whole_part(
    log_det: npt.NDArray[np.float64],
    plan: SearchPlan,
    fixed: int,
    children: npt.NDArray[np.int64],
) -> Part:
    """Return the one part that filling a slab is if all log-determinants are in memory."""
    every = (len(log_det) >> plan.n_inner) - 1
    steps = np.int64(1) << np.arange(plan.n_columns)
    return Part(Window(log_det, 0, every, fixed, steps), children)


class BlockwiseFamilies(ABC):
    """All families of some columns, with which a slab's tables are filled block by block.

    They have m columns. The lowest bits of a mask stand for the columns of the search, the higher
    ones for other columns, which may only be parents of these.

    Parameters
    ----------
    tables : ndarray of shape (3, m), float64
        The criterion's tables c, a0 and a1, see `local_score_terms`.
    plan : SearchPlan
    allowed, required : sequence of int, optional
        Masks of the columns that may, and that must, be among each child's parents. By default
        all others may and none must.
    n_scratch : int
        How many tables of a block's sets the kernel needs for each subset of the outer columns.
    """

    def __init__(
        self,
        tables: npt.NDArray[np.float64],
        plan: SearchPlan,
        allowed: Sequence[int] | None,
        required: Sequence[int] | None,
        n_scratch: int,
    ) -> None:
        n_children = plan.n_columns
        every = (1 << tables.shape[1]) - 1
        self._tables = tables
        self._spread = spread_tables(tables, plan.width)
        self.plan = plan
        self._allowed = [every ^ 1 << x for x in range(n_children)] if allowed is None else allowed
        self._required = np.array([0] * n_children if required is None else required)
        self._others = every >> n_children << n_children
        self._forbidden = np.array(
            [every & ~(mask | 1 << x) for x, mask in enumerate(self._allowed)], dtype=np.int64
        )
        self._n_scratch = n_scratch
        self._scratch: SimpleQueue[npt.NDArray[np.float64]] | None = None

    @abstractmethod
    def _fill_blocks(
        self,
        slab: npt.NDArray[Any],
        starts: npt.NDArray[np.int64],
        part: Part,
        blocks: npt.NDArray[np.int64],
        scratch: npt.NDArray[np.float64],
    ) -> None:
        """Fill some blocks of some children's tables, as far as one window goes."""

    @abstractmethod
    def _parts(
        self, fixed: int, children: npt.NDArray[np.int64], threads: Threads
    ) -> Iterator[Part]:
        """Yield the parts of which filling the tables consists; `fixed` includes the others."""

    def fill(
        self,
        slab: npt.NDArray[Any],
        starts: npt.NDArray[np.int64],
        fixed: int,
        children: npt.NDArray[np.int64],
        threads: Threads,
        n_tasks: int,
    ) -> Iterator[float]:
        """Fill the tables block by block; see `FamilySource`."""
        if self._scratch is None:
            self._scratch = self._new_scratch(threads.n_threads)
        fixed |= self._others >> self.plan.n_inner
        for part in self._parts(fixed, children, threads):
            n_tasks_of_part = math.ceil(n_tasks * part.share)
            pieces = threads.split(np.arange(self.plan.n_blocks), n_tasks_of_part)
            arguments = [(slab, starts, part, blocks) for blocks in pieces]
            for _ in threads.map(self._fill_with_scratch, arguments):
                yield part.share / len(pieces)

    def _new_scratch(self, n_threads: int) -> SimpleQueue[npt.NDArray[np.float64]]:
        n_parts = min(_MOST_PARTS, 1 << (self.plan.n_outer + self.plan.n_others))
        shape = (self._n_scratch, n_parts, 1 << self.plan.block_bits)
        scratch: SimpleQueue[npt.NDArray[np.float64]] = SimpleQueue()
        for _ in range(n_threads):  # kept for all slabs, as touching new memory takes time
            scratch.put(allocate(math.prod(shape)).reshape(shape))
        return scratch

    def _fill_with_scratch(
        self,
        slab: npt.NDArray[Any],
        starts: npt.NDArray[np.int64],
        part: Part,
        blocks: npt.NDArray[np.int64],
    ) -> None:
        assert self._scratch is not None
        scratch = self._scratch.get()
        try:
            self._fill_blocks(slab, starts, part, blocks, scratch)
        finally:  # else a search after Ctrl-C would wait for it
            self._scratch.put(scratch)


class ScoredFamilies(BlockwiseFamilies):
    """A `FamilySource` of all families: any set of the columns, and of others, may be parents.

    Parameters
    ----------
    tables, plan, allowed, required
        As for `BlockwiseFamilies`.
    numbers : sequence of int, optional
        The columns' numbers in the user's table, by which ties are broken; by default their own.
    """

    def __init__(
        self,
        tables: npt.NDArray[np.float64],
        plan: SearchPlan,
        allowed: Sequence[int] | None = None,
        required: Sequence[int] | None = None,
        numbers: Sequence[int] | None = None,
    ) -> None:
        super().__init__(tables, plan, allowed, required, n_scratch=2)
        m = tables.shape[1]
        self.numbers = list(range(m)) if numbers is None else list(numbers)
        self.n_numbers = 1 + max(self.numbers)
        self._order = np.array(self.numbers)

    @abstractmethod
    def first_sink(
        self, columns: int, thresholds: dict[int, float], threads: Threads
    ) -> tuple[int, int] | None:
        """Return the first sink that has parents which reach its threshold; see `FamilySource`."""

    @abstractmethod
    def largest_term(self, child: int, parents: int) -> float:
        """Return the largest magnitude of a number that enters a local score of the tables."""

    @abstractmethod
    def log_determinants(self, sets: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Return those of some sets of columns, which are few."""

    def _fill_blocks(
        self,
        slab: npt.NDArray[Any],
        starts: npt.NDArray[np.int64],
        part: Part,
        blocks: npt.NDArray[np.int64],
        scratch: npt.NDArray[np.float64],
    ) -> None:
        fill_blocks(
            part.window,
            self._spread,
            self._forbidden,
            self._required,
            self.plan.n_inner,
            part.children,
            int(part.begins),
            int(part.ends),
            blocks,
            slab,
            starts,
            scratch,
        )

    def check(
        self,
        best_network_scores: BestScores,
        slab: npt.NDArray[np.float64],
        starts: npt.NDArray[np.int64],
        fixed: int,
    ) -> None:
        """Raise if `check_slab` does. It cannot check a search with other columns as parents."""
        if self._others:
            return
        drawn = draw_states(self.plan.n_columns, self.plan.n_inner, fixed)
        if drawn is None:
            return
        of_sets = self.log_determinants
        local = local_maxima(drawn, of_sets, self._tables, self._forbidden, self._required)
        check_slab(drawn, local, best_network_scores, slab, starts)

    def _order_key(self, mask: int) -> tuple[int, list[int]]:
        """Return the key by which parent sets are ordered: their size, then their columns."""
        return mask.bit_count(), sorted(self._order[members_of(mask)].tolist())


class DenseFamilies(ScoredFamilies):
    """All families, with all log-determinants in memory.

    Parameters
    ----------
    log_det : ndarray of shape (2**m,), float64
        The log-determinants of all subsets of the columns.
    tables, plan, allowed, required, numbers
        As for `ScoredFamilies`.
    """

    def __init__(
        self,
        log_det: npt.NDArray[np.float64],
        tables: npt.NDArray[np.float64],
        plan: SearchPlan,
        allowed: Sequence[int] | None = None,
        required: Sequence[int] | None = None,
        numbers: Sequence[int] | None = None,
    ) -> None:
        super().__init__(tables, plan, allowed, required, numbers)
        self._log_det = log_det

    def log_determinants(self, sets: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        return self._log_det[sets]

    def _parts(
        self, fixed: int, children: npt.NDArray[np.int64], threads: Threads
    ) -> Iterator[Part]:
        yield whole_part(self._log_det, self.plan, fixed, children)

    def first_sink(
        self, columns: int, thresholds: dict[int, float], threads: Threads
    ) -> tuple[int, int] | None:
        """Return the first sink that has parents which reach its threshold, and them."""
        for sink, threshold in thresholds.items():
            parents = self._first_parents(sink, columns ^ 1 << sink, threshold, threads)
            if parents is not None:
                return sink, parents
        return None

    def _first_parents(
        self, child: int, candidates: int, threshold: float, threads: Threads
    ) -> int | None:
        """Return the first parents whose local score reaches a threshold, found by all threads."""
        among = (candidates | self._others) & self._allowed[child]
        shared = 0
        if among.bit_count() >= _FEWEST_TO_SHARE:
            shared = mask_of(members_of(among)[-_SHARED_COLUMNS:])
        tables = self._log_det, self._spread, 0, 1 << child
        required = int(self._required[child])
        order = self._order
        arguments = [
            (*tables, order, child, among ^ shared, required, fixed, threshold)
            for fixed in subsets_of(shared)
        ]
        reached = threads.map(first_parents_that_reach, arguments)
        found = [int(mask) for mask in reached if mask >= 0]
        return min(found, key=self._order_key, default=None)

    def best_parents(self, child: int, candidates: int) -> tuple[float, int]:
        """Return the best local score among some candidates, and its parents in the search."""
        score, mask = best_parents(*self._parent_sets(child, candidates))
        return float(score), int(mask) & ~self._others

    def parents_that_reach(self, child: int, candidates: int, threshold: float) -> RankedParentSets:
        """Return the parent sets whose local scores reach a threshold, the best first."""
        where = self._parent_sets(child, candidates)
        n_reached = _FIRST_ROOM
        masks, scores = np.empty(0, dtype=np.int64), np.empty(0)
        while n_reached > len(masks):
            masks, scores = np.empty(n_reached, dtype=np.int64), np.empty(n_reached)
            n_reached = parents_that_reach(*where, threshold, masks, scores)
        order = np.argsort(-scores[:n_reached], kind="stable")
        masks = masks[order]
        in_numbers = [self._in_numbers(mask) for mask in masks.tolist()]
        return RankedParentSets(scores[order], masks & ~self._others, in_numbers)

    def largest_term(self, child: int, parents: int) -> float:
        """Return the largest magnitude of a number that enters this local score."""
        of_parents, of_family = self._log_det[parents], self._log_det[parents | 1 << child]
        terms = local_score_terms(self._tables, parents.bit_count(), of_parents, of_family)
        return float(max(abs(term) for term in terms))

    def score_of(self, child: int, parents: int) -> float:
        """Return the local score with parents by their numbers; -inf if they are ruled out."""
        mask = mask_of(self.numbers.index(number) for number in members_of(parents))
        if mask & ~self._allowed[child] or int(self._required[child]) & ~mask:
            return -math.inf
        of_parents, of_family = self._log_det[mask], self._log_det[mask | 1 << child]
        return float(sum(local_score_terms(self._tables, mask.bit_count(), of_parents, of_family)))

    def _in_numbers(self, mask: int) -> int:
        """Return the mask of columns by their numbers in the user's table."""
        if self.numbers == sorted(self.numbers) and self.n_numbers == len(self.numbers):
            return mask
        return mask_of(self.numbers[v] for v in members_of(mask))

    def _parent_sets(self, child: int, candidates: int) -> tuple[Any, ...]:
        """Return what the kernels need to go through a child's parent sets."""
        among = (candidates | self._others) & self._allowed[child]
        tables = self._log_det, self._spread, 0, 1 << child
        return *tables, child, among, int(self._required[child]), 0


def spread_tables(tables: npt.NDArray[np.float64], width: int) -> npt.NDArray[np.float64]:
    """Lay a criterion's tables out for `width` neighbouring sets, whose sizes differ.

    Parameters
    ----------
    tables : ndarray of shape (3, m), float64
        c, a0 and a1 by the number of parents.
    width : int

    Returns
    -------
    spread : ndarray of shape (3, m + 1, width), float64
        If the first of the sets has s columns, set i has ``l = s + popcount(i)``. At ``[:, s, i]``
        are ``c[l]`` and ``a0[l]`` for this set as parents, and ``a1[l - 1]`` for it as a family.
    """
    m = tables.shape[1]
    size = np.arange(m + 1)[:, np.newaxis] + np.bitwise_count(np.arange(width))
    parents = np.minimum(size, m - 1)
    return np.stack([*tables[:2, parents], tables[2, np.clip(size - 1, 0, m - 1)]])


DENSE_KERNELS = (fill_blocks, first_parents_that_reach)
# Those that lists of near-optimal networks need as well.
LISTING_KERNELS = (best_parents, parents_that_reach)
