"""All families of some columns, scored while they are searched."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from skbn._core.subsets import mask_of, members_of, subsets_of
from skbn._core.threads import Threads
from skbn._exact.family_sources import BestScores, RankedParentSets
from skbn._exact.fill_kernels import BlockTables, ParentRules, Pieces, fill_blocks
from skbn._exact.parent_set_kernels import (
    ParentSets,
    best_parents,
    first_parents_that_reach,
    parents_that_reach,
)
from skbn._exact.plan import SearchPlan
from skbn._exact.spot_check import (
    DrawnStates,
    LocalMaxima,
    check_slab,
    draw_states,
    local_maxima,
)
from skbn._regressions.set_function import LEAST_SCORE, SetFunctions

__all__ = ["DENSE_KERNELS", "LISTING_KERNELS", "BlockwiseFamilies", "DenseFamilies"]

# From this many candidates on, threads share the subsets that a walk back goes through, since
# Ctrl-C is handled between tasks only. Each subset of the last three candidates is a task: these
# columns are later than those in which neighbouring sets differ.
_FEWEST_TO_SHARE = 21
_SHARED_COLUMNS = 3
# How many parent sets there is room for at first when they are listed; more are listed again.
_FIRST_ROOM = 1 << 10


class Part(NamedTuple):
    """A part of filling the tables of a slab: what some of them take from some pieces.

    Parameters
    ----------
    pieces : Pieces
    children : ndarray of int64
        Whose tables are filled.
    begins, ends : bool
        Whether these are the first, and the last, of the pieces from which they are filled.
    share : float
        The share of the time that filling the slab takes.
    """

    pieces: Pieces
    children: npt.NDArray[np.int64]
    begins: bool = True
    ends: bool = True
    share: float = 1.0


class BlockwiseFamilies(ABC):
    """All families of some columns, with which a slab's tables are filled block by block.

    The lowest bits of a mask stand for the columns of the search, the higher ones for other
    columns, which may only be parents of these.

    Parameters
    ----------
    m : int
        How many columns and others there are.
    plan : SearchPlan
    allowed, required : sequence of int, optional
        Masks of the columns that may, and that must, be among each child's parents. By default
        all others may and none must.
    """

    def __init__(
        self,
        m: int,
        plan: SearchPlan,
        allowed: Sequence[int] | None,
        required: Sequence[int] | None,
    ) -> None:
        n_children = plan.n_columns
        every = (1 << m) - 1
        self.plan = plan
        self._allowed = [every ^ 1 << x for x in range(n_children)] if allowed is None else allowed
        self._required = [0] * n_children if required is None else required
        self._others = every >> n_children << n_children
        forbidden = [every & ~(mask | 1 << x) for x, mask in enumerate(self._allowed)]
        self._rules = ParentRules(
            np.array(forbidden, dtype=np.int64), np.array(self._required, dtype=np.int64)
        )
        self._steps = np.int64(1) << np.arange(n_children)

    @abstractmethod
    def _fill_blocks(self, part: Part, blocks: npt.NDArray[np.int64], tables: BlockTables) -> None:
        """Fill some blocks of some children's tables, as far as a part goes."""

    @abstractmethod
    def _parts(
        self, outer: int, children: npt.NDArray[np.int64], threads: Threads
    ) -> Iterator[Part]:
        """Yield the parts of which filling the tables consists; `outer` includes the others."""

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
        outer = fixed | self._others >> self.plan.n_inner
        tables = BlockTables(slab, starts, self.plan.n_inner, self.plan.block_bits)
        for part in self._parts(outer, children, threads):
            n_tasks_of_part = math.ceil(n_tasks * part.share)
            parts = threads.split(np.arange(self.plan.n_blocks), n_tasks_of_part)
            for _ in threads.map(self._fill_blocks, [(part, blocks, tables) for blocks in parts]):
                yield part.share / len(parts)

    def _whole_parts(
        self, sets: Sequence[SetFunctions], outer: int, children: npt.NDArray[np.int64]
    ) -> Iterator[Part]:
        """Yield the parts of filling a slab if all sets are in memory.

        `sets` has the functions of each child. Children that share theirs make one part.
        """
        every = (len(sets[0].of_parents) >> self.plan.n_inner) - 1
        sharing: dict[int, list[int]] = {}
        for child in children.tolist():
            sharing.setdefault(id(sets[child]), []).append(child)
        for members in sharing.values():
            functions, own = sets[members[0]], np.array(members, dtype=np.int64)
            has_ruled_out = int(functions.of_family[-1] < LEAST_SCORE)  # as that of all columns is
            pieces = Pieces(*functions, 0, every, outer, self._steps, has_ruled_out)
            yield Part(pieces, own, share=len(own) / len(children))


class ScoredFamilies(BlockwiseFamilies):
    """A `FamilySource` of all families: any set of the columns, and of others, may be parents.

    Parameters
    ----------
    m, plan, allowed, required
        As for `BlockwiseFamilies`.
    numbers : sequence of int, optional
        The columns' numbers in the user's table, by which ties are broken; by default their own.
    """

    def __init__(
        self,
        m: int,
        plan: SearchPlan,
        allowed: Sequence[int] | None = None,
        required: Sequence[int] | None = None,
        numbers: Sequence[int] | None = None,
    ) -> None:
        super().__init__(m, plan, allowed, required)
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
    def local_score(self, child: int, parents: int) -> float:
        """Return the local score of a child with the parents of this mask."""

    @abstractmethod
    def local_maxima(self, drawn: DrawnStates) -> LocalMaxima:
        """Return the best local scores of some states, by going through all of their families."""

    def _fill_blocks(self, part: Part, blocks: npt.NDArray[np.int64], tables: BlockTables) -> None:
        rest = int(part.begins), int(part.ends), blocks, tables
        fill_blocks(part.pieces, self._rules, part.children, *rest)

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
        check_slab(drawn, self.local_maxima(drawn), best_network_scores, slab, starts)

    def _order_key(self, mask: int) -> tuple[int, list[int]]:
        """Return the key by which parent sets are ordered: their size, then their columns."""
        return mask.bit_count(), sorted(self._order[members_of(mask)].tolist())


class DenseFamilies(ScoredFamilies):
    """All families, with all sets of columns in memory.

    Parameters
    ----------
    sets : sequence of SetFunctions
        What the local scores of each child are differences of, for all subsets of the columns.
    plan, allowed, required, numbers
        As for `ScoredFamilies`.
    """

    def __init__(
        self,
        sets: Sequence[SetFunctions],
        plan: SearchPlan,
        allowed: Sequence[int] | None = None,
        required: Sequence[int] | None = None,
        numbers: Sequence[int] | None = None,
    ) -> None:
        m = len(sets[0].of_parents).bit_length() - 1
        super().__init__(m, plan, allowed, required, numbers)
        self._sets = sets

    def local_maxima(self, drawn: DrawnStates) -> LocalMaxima:
        numbers = {id(each): i for i, each in enumerate(self._sets)}
        found = {i: local_maxima(drawn, self._sets[i].at, self._rules) for i in numbers.values()}
        if len(found) == 1:
            return next(iter(found.values()))
        of_child = np.array([numbers[id(each)] for each in self._sets])[drawn.child]
        scores, largest = (
            np.select([of_child == i for i in found], each)
            for each in zip(*found.values(), strict=True)
        )
        return LocalMaxima(scores, largest)

    def largest_term(self, child: int, parents: int) -> float:
        return self._sets[child].largest_term(child, parents)

    def local_score(self, child: int, parents: int) -> float:
        return self._sets[child].local_score(child, parents)

    def _parts(
        self, outer: int, children: npt.NDArray[np.int64], threads: Threads
    ) -> Iterator[Part]:
        yield from self._whole_parts(self._sets, outer, children)

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
        within = 1 << child, child, among ^ shared, int(self._required[child])

        def first_with(outer: int) -> int:
            sets = ParentSets(*self._sets[child], 0, *within, outer)
            return int(first_parents_that_reach(sets, self._order, threshold))

        if shared:
            reached = threads.map(first_with, [(outer,) for outer in subsets_of(shared)])
            found = [mask for mask in reached if mask >= 0]
            return min(found, key=self._order_key, default=None)
        mask = first_with(0)
        return mask if mask >= 0 else None

    def best_parents(self, child: int, candidates: int) -> tuple[float, int]:
        """Return the best local score among some candidates, and its parents in the search."""
        score, mask = best_parents(self._parent_sets(child, candidates))
        return float(score), int(mask) & ~self._others

    def parents_that_reach(self, child: int, candidates: int, threshold: float) -> RankedParentSets:
        """Return the parent sets whose local scores reach a threshold, the best first."""
        sets = self._parent_sets(child, candidates)
        n_reached = _FIRST_ROOM
        masks, scores = np.empty(0, dtype=np.int64), np.empty(0)
        while n_reached > len(masks):
            masks, scores = np.empty(n_reached, dtype=np.int64), np.empty(n_reached)
            n_reached = parents_that_reach(sets, threshold, masks, scores)
        order = np.argsort(-scores[:n_reached], kind="stable")
        masks = masks[order]
        in_numbers = [self._in_numbers(mask) for mask in masks.tolist()]
        return RankedParentSets(scores[order], masks & ~self._others, in_numbers)

    def score_of(self, child: int, parents: int) -> float:
        """Return the local score with parents by their numbers; -inf if they are ruled out."""
        mask = mask_of(self.numbers.index(number) for number in members_of(parents))
        if mask & ~self._allowed[child] or self._required[child] & ~mask:
            return -math.inf
        return self.local_score(child, mask)

    def _in_numbers(self, mask: int) -> int:
        """Return the mask of columns by their numbers in the user's table."""
        if self.numbers == sorted(self.numbers) and self.n_numbers == len(self.numbers):
            return mask
        return mask_of(self.numbers[v] for v in members_of(mask))

    def _parent_sets(self, child: int, candidates: int) -> ParentSets:
        """Return what the kernels need to go through a child's parent sets."""
        among = (candidates | self._others) & self._allowed[child]
        rest = 0, 1 << child, child, among, int(self._required[child]), 0
        return ParentSets(*self._sets[child], *rest)


DENSE_KERNELS = (fill_blocks, first_parents_that_reach)
# Those that lists of near-optimal networks need as well.
LISTING_KERNELS = (best_parents, parents_that_reach)
