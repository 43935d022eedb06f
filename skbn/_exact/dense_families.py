"""All families of some columns, scored while they are searched.

The kernels go through a child's parent sets row by row of memory. A *row* has neighbouring sets,
which differ in the lowest columns only, so that vectors of four scores can be computed at once. It
has as many of them as are all candidates, since a row of 64 sets takes as long to begin as to
score.

A few entries of B and F in each slab are computed once more by NumPy, from all families of a few
columns, without the kernels of the search. See `recurrences` for B, F and slabs; a *state* is a set
of columns W.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import float64, int64

from skbn._core.arrays import Booleans, Floats, Integers
from skbn._core.compile import inner_kernel, kernel, tuple_type
from skbn._core.resources import Threads
from skbn._core.subsets import (
    insert_zero_bit,
    join_larger,
    mask_of,
    members_of,
    popcount,
    remove_bit,
    subsets_of,
)
from skbn._exact.family_sources import BestScores, RankedParentSets
from skbn._exact.fill_kernels import (
    BlockFamilies,
    BlockTables,
    ParentRules,
    Pieces,
    fill_blocks,
    fill_values,
    score_itself,
)
from skbn._exact.plan import SearchPlan
from skbn._regressions.set_function import (
    LEAST_SCORE,
    SetFunctions,
    internal_error,
    ruled_out,
    score_tolerance,
)

# The scores of a longest row take 4 KiB of the first-level cache.
_SHORTEST_ROW, _LONGEST_ROW = 1 << 6, 1 << 9


class ParentSets(NamedTuple):
    """A child's parent sets to go through, and what their scores are differences of.

    Parameters
    ----------
    of_family, of_parents : ndarray, float64
    shift : int
        A parent set is at its mask plus this.
    step : int
        How far it is from there to the family.
    child : int
    candidates, required, outer : int
        Masks: the parents are those in `outer` and any of the `candidates`, and must include the
        `required` ones. Those in `outer` are later than the candidates.
    """

    of_family: Floats
    of_parents: Floats
    shift: int
    step: int
    child: int
    candidates: int
    required: int
    outer: int


_PARENT_SETS = tuple_type(ParentSets, float64[::1], float64[::1], *[int64] * 6)


@kernel(_PARENT_SETS, int64[::1], float64, seconds=1.4)
def first_parents_that_reach(sets, numbers, threshold):
    """Return the first parent set whose local score reaches a threshold, or -1.

    Fewer parents come first, then the order of the sorted columns.

    Parameters
    ----------
    sets : ParentSets
    numbers : ndarray of shape (m,), int64
        The columns' numbers, by which they are ordered.
    threshold : float

    Returns
    -------
    parents : int
        Their mask.
    """
    width = _row_width(sets)
    scores = np.empty(_row_size(sets.child, width))
    places, zeros = np.empty(1, np.int64), np.zeros(scores.size)
    chosen = np.int64(-1)
    chosen_size = numbers.size + 1
    threshold = max(threshold, LEAST_SCORE)
    high = sets.candidates & -width
    above = np.int64(0)
    while True:
        base = sets.outer | above
        _score_row(sets, base, places, zeros, scores)
        n_reached = 0
        for i in range(scores.size):
            n_reached += scores[i] >= threshold
        if n_reached:
            for i in range(scores.size):
                if scores[i] >= threshold:
                    parents = _parents_at(i, base, sets.child, width)
                    size = popcount(parents)
                    if _is_allowed(sets, parents) and (
                        chosen < 0
                        or size < chosen_size
                        or (size == chosen_size and _precedes(parents, chosen, numbers))
                    ):
                        chosen = parents
                        chosen_size = size
        above = (above - high) & high  # the next larger subset, in the order of memory
        if above == 0:
            return chosen


@inner_kernel
def _precedes(parents, others, numbers):
    """Whether the first column that is in only one of two sets is in `parents`."""
    first = -1
    is_parent = False
    for column in range(numbers.size):
        is_in_one = (parents ^ others) >> column & 1 == 1
        if is_in_one and (first < 0 or numbers[column] < first):
            first = numbers[column]
            is_parent = parents >> column & 1 == 1
    return is_parent


@kernel(_PARENT_SETS, seconds=1.0)
def best_parents(sets):
    """Return the best local score of a child, and the mask of parents that have it.

    Without any family of a finite score, the score is -inf and the mask 0.
    """
    width = _row_width(sets)
    scores = np.empty(_row_size(sets.child, width))
    places, zeros = np.empty(1, np.int64), np.zeros(scores.size)
    best = LEAST_SCORE
    chosen = np.int64(-1)
    high = sets.candidates & -width
    above = np.int64(0)
    while True:
        base = sets.outer | above
        _score_row(sets, base, places, zeros, scores)
        for i in range(scores.size):
            if scores[i] > best:
                parents = _parents_at(i, base, sets.child, width)
                if _is_allowed(sets, parents):
                    best = scores[i]
                    chosen = parents
        above = (above - high) & high
        if above == 0:
            return (best, chosen) if chosen >= 0 else (-math.inf, np.int64(0))


@kernel(_PARENT_SETS, float64, int64[::1], float64[::1], seconds=1.0)
def parents_that_reach(sets, threshold, reached, their_scores):
    """Return how many parent sets have a local score that reaches a threshold, and list them.

    Parameters
    ----------
    sets : ParentSets
    threshold : float
    reached : ndarray of int64
        Set to their masks, as far as there is room.
    their_scores : ndarray of float64
        Set to their local scores; of the same size.
    """
    width = _row_width(sets)
    scores = np.empty(_row_size(sets.child, width))
    places, zeros = np.empty(1, np.int64), np.zeros(scores.size)
    threshold = max(threshold, LEAST_SCORE)
    n_reached = 0
    high = sets.candidates & -width
    above = np.int64(0)
    while True:
        base = sets.outer | above
        _score_row(sets, base, places, zeros, scores)
        for i in range(scores.size):
            if scores[i] >= threshold:
                parents = _parents_at(i, base, sets.child, width)
                if _is_allowed(sets, parents):
                    if n_reached < reached.size:
                        reached[n_reached] = parents
                        their_scores[n_reached] = scores[i]
                    n_reached += 1
        above = (above - high) & high
        if above == 0:
            return n_reached


@inner_kernel
def _score_row(sets, base, places, zeros, scores):
    """Set `scores` to the local scores of a row's parent sets, without those that have the child.

    `places` and `zeros` are memory for what `fill_values` asks for.
    """
    places[0] = base + sets.shift
    families = BlockFamilies(
        sets.of_family, sets.of_parents, places, 1, sets.step, sets.child, zeros, zeros
    )
    fill_values(scores, families, True, -math.inf, join_larger, score_itself, None)


@inner_kernel
def _is_allowed(sets, parents):
    return parents & ~(sets.outer | sets.candidates) == 0 and sets.required & ~parents == 0


@inner_kernel
def _row_width(sets):
    """Return how many neighbouring sets a row has, which differ in none of the outer columns."""
    longest = min(_LONGEST_ROW, sets.of_parents.size)
    if sets.outer:
        longest = min(longest, sets.outer & -sets.outer)
    width = min(_SHORTEST_ROW, longest)
    within = sets.candidates | 1 << sets.child
    while width < longest and within & (2 * width - 1) == 2 * width - 1:
        width *= 2
    return width


@inner_kernel
def _row_size(child, width):
    """Return how many parent sets of a child a row has: half, if the child is in its columns."""
    return width // 2 if 1 << child < width else width


@inner_kernel
def _parents_at(i, base, child, width):
    """Return the mask of a row's i-th parent set."""
    return base | (insert_zero_bit(i, child) if 1 << child < width else i)


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
    children: Integers
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
    def _fill_blocks(self, part: Part, blocks: Integers, tables: BlockTables) -> None:
        """Fill some blocks of some children's tables, as far as a part goes."""

    @abstractmethod
    def _parts(self, outer: int, children: Integers, threads: Threads) -> Iterator[Part]:
        """Yield the parts of which filling the tables consists; `outer` includes the others."""

    def fill(
        self,
        slab: npt.NDArray[Any],
        starts: Integers,
        fixed: int,
        children: Integers,
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
        self, sets: Sequence[SetFunctions], outer: int, children: Integers
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

    def _fill_blocks(self, part: Part, blocks: Integers, tables: BlockTables) -> None:
        rest = int(part.begins), int(part.ends), blocks, tables
        fill_blocks(part.pieces, self._rules, part.children, *rest)

    def check(
        self, best_network_scores: BestScores, slab: Floats, starts: Integers, fixed: int
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

    def _parts(self, outer: int, children: Integers, threads: Threads) -> Iterator[Part]:
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


# 16 random states of up to five columns are drawn, which have 16 * 5 * 2**4 families. At least two
# of the columns are inner ones: with one, all parents in its table's entry would be outer columns.
_N_STATES = 16
_N_COLUMNS = 5
_FEWEST_INNER = 2


class DrawnStates(NamedTuple):
    """Some states of a slab, and the families that their best scores follow from.

    Parameters
    ----------
    columns : ndarray of shape (n_states,), int64
        The masks of the states.
    child : ndarray of shape (n_states, k), int64
        Each state's columns, the slab's outer ones first.
    candidates : ndarray of shape (n_states, k), int64
        For each child, the mask of the state's other columns.
    parents : ndarray of shape (n_states, k, 2**(k - 1)), int64
        The masks of all subsets of the candidates.
    n_outer : int
        How many of the columns are outer ones.
    in_table : ndarray of shape (n_states, k - n_outer), int64
        For each inner child, the index of its candidates in its table.
    """

    columns: Integers
    child: Integers
    candidates: Integers
    parents: Integers
    n_outer: int
    in_table: Integers


class LocalMaxima(NamedTuple):
    """The best local score of each column of some states, with parents among its other columns.

    Parameters
    ----------
    scores : ndarray of shape (n_states, k)
    largest_term : ndarray of shape (n_states, k)
        The largest magnitude of a number that enters each of them.
    """

    scores: Floats
    largest_term: Floats


@cache
def draw_states(m: int, n_inner: int, fixed: int) -> DrawnStates | None:
    """Draw states with these outer columns, the same in each run; None if there are too many."""
    outer = [n_inner + i for i in range(m - n_inner) if fixed >> i & 1]
    k = min(_N_COLUMNS, n_inner + len(outer))
    if k - len(outer) < min(_FEWEST_INNER, n_inner):
        return None
    order = np.random.default_rng(fixed).random((_N_STATES, n_inner)).argsort(axis=1)
    child = np.hstack([np.tile(outer, (_N_STATES, 1)), order[:, : k - len(outer)]]).astype(np.int64)
    bits, places = 1 << child, np.arange(1 << k)
    subsets = bits @ (places >> np.arange(k)[:, np.newaxis] & 1)
    without_column = np.array([places[places >> i & 1 == 0] for i in range(k)])
    columns = subsets[:, -1]
    candidates = columns[:, np.newaxis] ^ bits
    inner = candidates[:, len(outer) :] & ((1 << n_inner) - 1)
    in_table = remove_bit.py_func(inner, child[:, len(outer) :])
    return DrawnStates(columns, child, candidates, subsets[:, without_column], len(outer), in_table)


def local_maxima(
    drawn: DrawnStates, functions_of: Callable[[Integers], SetFunctions], rules: ParentRules
) -> LocalMaxima:
    """Return the best local scores, by going through all families of the states.

    Parameters
    ----------
    drawn : DrawnStates
    functions_of : callable
        Returns what local scores are differences of, for some sets.
    rules : ParentRules
    """
    parents, child = drawn.parents, drawn.child[:, :, np.newaxis]
    of_family = functions_of(parents | 1 << child).of_family
    of_parents = functions_of(parents).of_parents
    scores = ruled_out(of_family - of_parents)
    forbidden, required = rules.forbidden[child], rules.required[child]
    scores[(parents & forbidden | ~parents & required) != 0] = -np.inf
    best = scores.argmax(axis=2)[:, :, np.newaxis]
    of_best = np.take_along_axis(scores, best, axis=2)[..., 0]
    terms = np.maximum(np.abs(of_family), np.abs(of_parents))
    largest = np.take_along_axis(terms, best, axis=2)[..., 0]
    return LocalMaxima(of_best, np.where(of_best > -np.inf, largest, 0.0))


def check_slab(
    drawn: DrawnStates,
    local: LocalMaxima,
    best_network_scores: Callable[[Integers], Floats],
    best_parent_score: Floats,
    starts: Integers,
) -> None:
    """Raise unless B in the slab has these maxima, and F on the states follows from them.

    Parameters
    ----------
    drawn : DrawnStates
    local : LocalMaxima
    best_network_scores : callable
        Returns F of some sets.
    best_parent_score : ndarray, float64
        B for the slab: the columns' tables one after the other.
    starts : ndarray of shape (m + 1,), int64
        Where each table starts in it.
    """
    tolerance = score_tolerance(local.largest_term)
    maxima = best_parent_score[starts[drawn.child[:, drawn.n_outer :]] + drawn.in_table]
    expected = (best_network_scores(drawn.candidates) + local.scores).max(axis=1)
    inner = slice(drawn.n_outer, None)
    is_right = _are_equal(maxima, local.scores[:, inner], tolerance[:, inner]).all(axis=1)
    is_right &= _are_equal(best_network_scores(drawn.columns), expected, tolerance.sum(axis=1))
    if not is_right.all():
        columns = sorted(drawn.child[int(np.argmin(is_right))].tolist())
        raise internal_error(f"the best scores of the set {columns} are not those of its families")


def _are_equal(a: Floats, b: Floats, tolerance: Floats) -> Booleans:
    # Infinite numbers that are equal have no difference.
    return (a <= b + tolerance) & (b <= a + tolerance)
