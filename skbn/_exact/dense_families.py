"""All families of some columns, scored while they are searched.

The kernels go through a child's parent sets row by row of memory. A *row* is a run of neighbouring
sets, which differ only in the lowest columns, so that vectors of four scores can be computed at
once. It covers as many of these columns as are all candidates, since beginning a row takes as long
as scoring 64 sets.

As a check, NumPy computes a few entries of B and F in each slab again, from all families of a few
columns, without the kernels of the search. See `recurrences` for B, F and slabs; a *state* is a set
of columns W.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numba import float64, int64

from skbn._core.arrays import F1, I1, I2, I3, Booleans, Floats, Integers
from skbn._core.compile import inner_kernel, kernel, tuple_type
from skbn._core.resources import Threads
from skbn._core.subsets import (
    insert_zero_bit,
    mask_of,
    max_over_subsets,
    members_of,
    remove_bit,
    subsets_of,
)
from skbn._core.text import internal_error
from skbn._core.vectors import larger
from skbn._exact.family_sources import BestScores, Filling, FoundSink, RankedParents, Thresholds
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
    ruled_out,
    score_tolerance,
)

# The scores of a longest row take 4 KiB of the first-level cache.
_SHORTEST_ROW, _LONGEST_ROW = 1 << 6, 1 << 9


class ParentSets(NamedTuple):
    """A child's parent sets to go through, and what their scores are differences of."""

    of_family: F1
    of_parents: F1
    shift: int  # A parent set is at its mask plus this
    step: int  # the distance from there to the family
    child: int
    # masks: the parents are those in `outer` and any of the `candidates`, and must include the
    # `required` ones. Those in `outer` are later than the candidates
    candidates: int
    required: int
    outer: int


_PARENT_SETS = tuple_type(ParentSets)


@kernel(_PARENT_SETS, float64, int64[::1], float64[::1])
def parents_that_reach(sets, threshold, reached, their_scores):
    """Return how many parent sets have a local score that reaches a threshold, and list them.

    `reached`: set to their masks, until it is full
    `their_scores`: set to their local scores; of the same size
    """
    width = _row_width(sets)
    scores = np.empty(_row_size(sets.child, width))
    places = np.empty(1, np.int64)
    threshold = max(threshold, LEAST_SCORE)
    n_reached = 0
    high = sets.candidates & -width
    above = np.int64(0)
    while True:
        base = sets.outer | above
        _score_row(sets, base, places, scores)
        n_in_row = 0
        for i in range(scores.size):  # a loop without branches, as most rows have none
            n_in_row += scores[i] >= threshold
        for i in range(scores.size if n_in_row else 0):
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
def _score_row(sets, base, places, scores):
    """Set `scores` to the local scores of a row's parent sets, without those that have the child.

    `places` is memory that `fill_values` asks for; scores do not depend on odds.
    """
    places[0] = base + sets.shift
    families = BlockFamilies(
        *(sets.of_family, sets.of_parents, places, places.size),
        *(sets.step, sets.child, scores, scores),
    )
    fill_values(scores, families, np.int64(1), -math.inf, larger, score_itself, None)


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
# Room for parent sets at first; if there are more, they are listed again.
_FIRST_ROOM = 1 << 10


class Part(NamedTuple):
    """A part of filling a slab's tables: what some of the tables take from some pieces."""

    pieces: Pieces
    children: I1  # whose tables are filled
    # whether these are the first, and the last, of the pieces from which they are filled
    begins: bool = True
    ends: bool = True
    share: float = 1.0  # the share of the time that filling the slab takes


class SearchColumns:
    """The columns of a search, others that may be their parents, and which parents each may have.

    The lowest bits of a mask stand for the columns of the search, the higher ones for the others.

    `m`: how many columns and others there are
    `n_children`: how many are columns of the search
    `allowed`, `required`: masks of the columns that may, and that must, be among each child's
        parents. By default all others may and none must.
    `numbers`: the columns' numbers in the user's table, by which ties are broken; by default their
        own

    `others`: the mask of the others
    `rules`: `allowed` and `required`, as kernels take them
    """

    def __init__(
        self,
        m: int,
        n_children: int,
        allowed: Sequence[int] | None = None,
        required: Sequence[int] | None = None,
        numbers: Sequence[int] | None = None,
    ) -> None:
        every = (1 << m) - 1
        self.allowed = [every ^ 1 << x for x in range(n_children)] if allowed is None else allowed
        self.required = [0] * n_children if required is None else required
        self.others = every >> n_children << n_children
        forbidden = [every & ~(mask | 1 << x) for x, mask in enumerate(self.allowed)]
        self.rules = ParentRules(
            np.array(forbidden, dtype=np.int64), np.array(self.required, dtype=np.int64)
        )
        self.numbers = list(range(m)) if numbers is None else list(numbers)

    def first_of(self, masks: Integers) -> int:
        """Return the first of some parent sets: by their size, then by their columns' numbers."""
        if len(masks) == 1:
            return int(masks[0])
        sizes = np.bitwise_count(masks)
        fewest: list[int] = masks[sizes == sizes.min()].tolist()
        return min(fewest, key=lambda mask: sorted(self.numbers[v] for v in members_of(mask)))


def fill_by_blocks(
    fill: Callable[[Part, Integers, BlockTables], None], parts: Iterable[Part], slab: Filling
) -> Iterator[float]:
    """Fill a slab's tables block by block, with one part after the other; see `FamilySource`.

    `fill` fills some blocks of the tables of a part's children, as far as the part goes.
    """
    tables, threads = slab.tables, slab.threads
    n_blocks = 1 << (tables.n_inner - tables.block_bits)
    for part in parts:
        shares = threads.split(np.arange(n_blocks), math.ceil(slab.n_tasks * part.share))
        for _ in threads.map(fill, [(part, blocks, tables) for blocks in shares]):
            yield part.share / len(shares)


def parts_in_memory(sets: Sequence[SetFunctions], others: int, slab: Filling) -> Iterator[Part]:
    """Yield the parts of filling a slab if all sets are in memory.

    Children that share their functions make one part.

    `sets`: those of each child
    `others`: the mask of the columns that are not in the search
    """
    n_inner = slab.tables.n_inner
    outer, every = slab.fixed | others >> n_inner, (len(sets[0].of_parents) >> n_inner) - 1
    steps = np.int64(1) << np.arange(len(sets))
    sharing: dict[int, list[int]] = {}
    for child in slab.children.tolist():
        sharing.setdefault(id(sets[child]), []).append(child)
    for members in sharing.values():
        functions, own = sets[members[0]], np.array(members, dtype=np.int64)
        has_ruled_out = int(functions.of_family[-1] < LEAST_SCORE)  # the full set is, if any
        pieces = Pieces(*functions, 0, every, outer, steps, has_ruled_out)
        yield Part(pieces, own, share=len(own) / len(slab.children))


def fill_scores(rules: ParentRules, part: Part, blocks: Integers, tables: BlockTables) -> None:
    """Fill some blocks with the best local scores: what `fill_by_blocks` calls in a search."""
    rest = int(part.begins), int(part.ends), blocks, tables
    fill_blocks(part.pieces, rules, part.children, *rest)


def sets_that_reach(sets: ParentSets, threshold: float) -> tuple[Integers, Floats]:
    """Return the masks of the parent sets whose local scores reach a threshold, and these."""
    room = _FIRST_ROOM
    while True:
        masks, scores = np.empty(room, dtype=np.int64), np.empty(room)
        n_reached = parents_that_reach(sets, threshold, masks, scores)
        if n_reached <= room:
            return masks[:n_reached], scores[:n_reached]
        room = n_reached


class DenseFamilies:
    """A `FamilySource` of all families, with all sets of columns in memory.

    `sets`: what the local scores of each child are differences of, for all subsets of the columns
    `allowed`, `required`, `numbers`: as for `SearchColumns`
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
        self._columns = SearchColumns(m, plan.n_columns, allowed, required, numbers)
        self._sets = sets
        self._plan = plan

    def fill(self, slab: Filling) -> Iterator[float]:
        """Fill the children's tables; see `FamilySource`."""
        if self._plan.is_small:
            tables = self._all_scores[1].max(axis=1)
            max_over_subsets(tables, self._plan.n_inner - 1)
            slab.tables.entries[:] = tables.ravel()
            return iter([1.0])
        parts = parts_in_memory(self._sets, self._columns.others, slab)
        return fill_by_blocks(partial(fill_scores, self._columns.rules), parts, slab)

    @cached_property
    def _all_scores(self) -> tuple[Integers, Floats]:
        """Each child's parent sets, ascending, and their local scores, if there are few columns."""
        child, parents = _all_parent_sets(self._plan.n_inner, self._plan.n_others)
        pairs = zip(self._sets, parents | 1 << child, parents, strict=False)
        of_each = [sets.of_family[own] - sets.of_parents[rest] for sets, own, rest in pairs]
        return parents, allowed_scores(np.array(of_each), parents, child, self._columns.rules)

    def _reaching(self, child: int, candidates: int, threshold: float) -> tuple[Integers, Floats]:
        """Return the masks, ascending, of the parent sets that reach a threshold, and scores."""
        if not self._plan.is_small:
            return sets_that_reach(self._parent_sets(child, candidates), threshold)
        parents, scores = (each[child] for each in self._all_scores)
        is_among = parents & ~(candidates | self._columns.others) == 0
        reached = is_among & (scores >= max(threshold, LEAST_SCORE))
        return parents[reached], scores[reached]

    def check(self, best_network_scores: BestScores, tables: BlockTables, fixed: int) -> None:
        """Raise if `check_slab` does."""
        check_slab(self._columns, self.local_maxima, best_network_scores, tables, fixed)

    def local_maxima(self, drawn: DrawnStates) -> tuple[Floats, Floats]:
        """Return the best local scores of some states, by going through all of their families."""
        rules = self._columns.rules
        distinct = {id(each): each for each in self._sets}
        found = [local_maxima(drawn, each.at, rules) for each in distinct.values()]
        if len(found) == 1:
            return found[0]
        number = {key: i for i, key in enumerate(distinct)}
        of_child = np.array([[number[id(each)] for each in self._sets]])[:, drawn.child]
        scores, largest_terms = (
            np.take_along_axis(np.stack(each), of_child, 0)[0] for each in zip(*found, strict=True)
        )
        return scores, largest_terms

    def largest_term(self, parents: Sequence[int]) -> float:
        """Return the largest magnitude of a number that enters a local score of the tables."""
        of_each = enumerate(zip(self._sets, parents, strict=False))
        terms = [(f.of_family[mask | 1 << x], f.of_parents[mask]) for x, (f, mask) in of_each]
        return float(np.abs(terms).max())

    def local_score(self, child: int, parents: int) -> float:
        """Return the local score of a child with the parents of this mask."""
        return self._sets[child].local_score(child, parents)

    def first_sink(self, columns: int, thresholds: Thresholds, threads: Threads) -> FoundSink:
        """Return the first sink that has parents which reach its threshold, and them."""
        for sink, threshold in thresholds.items():
            sets = self._parent_sets(sink, columns ^ 1 << sink)
            if sets.candidates.bit_count() < _FEWEST_TO_SHARE:
                masks, _ = self._reaching(sink, columns ^ 1 << sink, threshold)
            else:
                shared = mask_of(members_of(sets.candidates)[-_SHARED_COLUMNS:])
                among = sets._replace(candidates=sets.candidates ^ shared)
                parts = [(among._replace(outer=outer), threshold) for outer in subsets_of(shared)]
                masks = np.concatenate([own for own, _ in threads.map(sets_that_reach, parts)])
            if len(masks):
                return sink, self._columns.first_of(masks)
        return None

    # What lists of networks ask

    @property
    def numbers(self) -> list[int]:
        """The columns' numbers in the user's table."""
        return self._columns.numbers

    def best_parents(self, child: int, candidates: int) -> tuple[float, int]:
        """Return the best local score among some candidates, and its parents in the search."""
        masks, scores = self._reaching(child, candidates, LEAST_SCORE)
        if not len(scores):
            return -math.inf, 0
        best = np.argmax(scores)
        return float(scores[best]), int(masks[best]) & ~self._columns.others

    def parents_that_reach(self, child: int, candidates: int, threshold: float) -> RankedParents:
        """Return the parent sets whose local scores reach a threshold, the best first."""
        masks, scores = self._reaching(child, candidates, threshold)
        order = np.argsort(-scores, kind="stable")
        ranked = zip(scores[order].tolist(), masks[order].tolist(), strict=True)
        inside = ~self._columns.others
        return [(score, mask & inside, self._in_numbers(mask)) for score, mask in ranked]

    def score_of(self, child: int, parents: int) -> float:
        """Return the local score with parents by their numbers; -inf if they are ruled out."""
        mask = mask_of(self.numbers.index(number) for number in members_of(parents))
        if mask & ~self._columns.allowed[child] or self._columns.required[child] & ~mask:
            return -math.inf
        return self.local_score(child, mask)

    def _in_numbers(self, mask: int) -> int:
        """Return the mask of columns by their numbers in the user's table."""
        if self.numbers == list(range(len(self.numbers))):
            return mask
        return mask_of(self.numbers[v] for v in members_of(mask))

    def _parent_sets(self, child: int, candidates: int) -> ParentSets:
        """Return what the kernels need to go through a child's parent sets."""
        columns = self._columns
        among = (candidates | columns.others) & columns.allowed[child]
        rest = 0, 1 << child, child, among, int(columns.required[child]), 0
        return ParentSets(*self._sets[child], *rest)


@cache
def _all_parent_sets(n_inner: int, n_others: int) -> tuple[Integers, Integers]:
    """Return all children, (n_inner, 1, 1), and their parent sets, by others and inner columns."""
    child = np.arange(n_inner)[:, np.newaxis, np.newaxis]
    inner = insert_zero_bit.py_func(np.arange(1 << n_inner - 1), child)
    return child, inner | np.arange(1 << n_others)[:, np.newaxis] << n_inner


DENSE_KERNELS = (fill_blocks, parents_that_reach)


# 16 random states of up to five columns are drawn, which have 16 * 5 * 2**4 families. At least two
# of the columns are inner ones: with one, all parents in its table's entry would be outer columns.
_N_STATES = 16
_N_COLUMNS = 5
_FEWEST_INNER = 2


class DrawnStates(NamedTuple):
    """Some states of a slab, and the families that their best scores follow from."""

    columns: I1  # (n_states,): the masks of the states
    child: I2  # (n_states, k): each state's columns, the slab's outer ones first
    candidates: I2  # (n_states, k): for each child, the mask of the state's other columns
    parents: I3  # (n_states, k, 2**(k - 1): the masks of all subsets of the candidates
    n_outer: int  # how many of the columns are outer ones
    # (n_states, k - n_outer): for each inner child, the index of its candidates in its table
    in_table: I2


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
) -> tuple[Floats, Floats]:
    """Return the best local score of each column of the states, by going through all families.

    `functions_of`: returns what local scores are differences of, for some sets

    Returns `scores`; `largest_terms`, the largest magnitude of a number that enters each of these:
    both (n_states, k).
    """
    parents, child = drawn.parents, drawn.child[:, :, np.newaxis]
    of_family = functions_of(parents | 1 << child).of_family
    of_parents = functions_of(parents).of_parents
    scores = allowed_scores(of_family - of_parents, parents, child, rules)
    best = scores.argmax(axis=2)[:, :, np.newaxis]
    of_best = np.take_along_axis(scores, best, axis=2)[..., 0]
    terms = np.maximum(np.abs(of_family), np.abs(of_parents))
    largest = np.take_along_axis(terms, best, axis=2)[..., 0]
    return of_best, np.where(of_best > -np.inf, largest, 0.0)


def allowed_scores(scores: Floats, parents: Integers, child: Any, rules: ParentRules) -> Floats:
    """Return local scores with -inf where a child may not have these parents."""
    forbidden, required = rules.forbidden[child], rules.required[child]
    scores = ruled_out(scores)
    scores[(parents & forbidden | ~parents & required) != 0] = -np.inf
    return scores


def check_slab(
    columns: SearchColumns,
    local_maxima: Callable[[DrawnStates], tuple[Floats, Floats]],
    best_network_scores: BestScores,
    tables: BlockTables,
    fixed: int,
) -> None:
    """Raise unless B in the slab has these maxima, and F on drawn states follows from them.

    A search with other columns as parents is not checked.

    `local_maxima`: returns the best local scores of some states
    `best_network_scores`: returns F of some sets
    `tables`: B for the slab
    `fixed`: its outer columns
    """
    if columns.others:
        return
    drawn = draw_states(len(columns.allowed), tables.n_inner, fixed)
    if drawn is None:
        return
    scores, largest_terms = local_maxima(drawn)
    tolerance = score_tolerance(largest_terms)
    maxima = tables.entries[tables.starts[drawn.child[:, drawn.n_outer :]] + drawn.in_table]
    expected = (best_network_scores(drawn.candidates) + scores).max(axis=1)
    inner = slice(drawn.n_outer, None)
    is_right = _are_equal(maxima, scores[:, inner], tolerance[:, inner]).all(axis=1)
    is_right &= _are_equal(best_network_scores(drawn.columns), expected, tolerance.sum(axis=1))
    if not is_right.all():
        members = sorted(drawn.child[int(np.argmin(is_right))].tolist())
        raise internal_error(f"the best scores of the set {members} are not those of its families")


def _are_equal(a: Floats, b: Floats, tolerance: Floats) -> Booleans:
    # Infinite numbers that are equal have no difference.
    return (a <= b + tolerance) & (b <= a + tolerance)
