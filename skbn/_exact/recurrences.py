"""The exact search: two recurrences over sets of columns, and the walk back to the best network.

With score(x, P) the local score of a column x with the parents P,

- ``B_x[C] = max over P ⊆ C of score(x, P)`` is the best local score of x with parents among the
  candidates C, and
- ``F[W] = max over x in W of F[W - x] + B_x[W - x]``, with ``F[{}] = 0``, is the score of the best
  network on the columns W alone. Such a network has a *sink* x, a column without children: without
  it, it is the best network on the other columns, and x has its best parents among them.

F of all columns is the score sought. Neither sinks nor parents are stored: `best_network`
walks back from the score to those that attain the maxima.

The tables of B have m * 2**(m - 1) entries in all, which need not all be in memory at once. The
search goes from one *slab* of sets to the next: the sets whose outer columns (the last columns) are
those in `fixed`. A slab has a table for each inner column and for each outer one in `fixed`. It
holds B_x of the candidates ``fixed | I``, without x, for all sets I of inner columns. For each
slab, `solve_slab` calls

1. ``fill``: sets the tables to maxima of local scores over the subsets of `fixed`, with I as it is;
2. ``transform``: makes them maxima over the subsets of I too, by a zeta transform, so that they
   are B;
3. ``extend``: finds F on the slab's sets, first with an outer column as a sink, which draws on F
   of the slab without this column, and then with an inner one.

A *block* of sets differs in their lowest columns only, and fits the cache. ``fill`` makes the
maxima over these lowest columns too, while a block is there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from skbn._core.arrays import Floats, Integers
from skbn._core.resources import Progress, Threads, allocate
from skbn._core.subsets import max_zeta, members_of, remove_bit, submasks_by_size
from skbn._core.text import internal_error
from skbn._exact.family_sources import BestScores, FamilySource, Fill, Filling
from skbn._exact.file_store import file_store
from skbn._exact.fill_kernels import BlockTables
from skbn._exact.plan import SearchPlan
from skbn._exact.sink_kernels import Tables, extend_blocks, extend_by_sink
from skbn._regressions.set_function import SCORE_ACCURACY

# Ctrl-C is handled between tasks: these local scores of a slab take a few tenths of a second.
_TASK = 1 << 28
# Numbers that threads share are cut into pieces that take about half a millisecond.
_NUMBERS_OF_TASK = 1 << 18
_EPS = np.finfo(np.float64).eps
# The largest rounding error of a local score, in units of its largest term. The score is a sum of
# three terms, and most of the error comes from their log-determinants.
_ROUNDING_OF_LOCAL_SCORE = 64 * _EPS
# The same for ``F[W] - F[W - x]``, in units of the two: half an eps for each of the two roundings,
# of the sum in F[W] and of this difference, and a margin.
_ROUNDING_OF_DIFFERENCE = 4 * _EPS
# With fewer columns left, a step of the walk back is not told on its own.
_FEWEST_TOLD = 12


class SearchResult(NamedTuple):
    """The optimum: the mask of each column's parents, and the sum of their local scores.

    The uncertainty is the largest rounding error of a network's score, in nats, and the rounding
    the part of it that comes from adding up local scores: no sum of local scores is above the score
    by more.
    """

    parents: list[int]
    score: float
    uncertainty: float
    rounding: float


# A store holds F while it is found, slab by slab, in the order of the sets' masks. Later slabs read
# finished ones, and the walk back reads single scores.


class Store(Protocol):
    """What the recursion needs to know of a store."""

    def room(self, fixed: int) -> Floats:
        """Return uninitialised memory for the scores of a slab's sets, to be passed to `keep`."""

    def keep(self, fixed: int, scores: Floats) -> None:
        """Keep the scores of a finished slab."""

    def slab(self, fixed: int) -> Floats:
        """Return the scores of a finished slab; the next call may overwrite them."""

    def values(self, sets: Integers) -> Floats:
        """Return the scores of some sets of finished slabs."""


class ArrayStore:
    """Keeps the scores in memory.

    `threads`: used to touch new memory

    `scores`: (2**n_columns,), F
    """

    def __init__(self, plan: SearchPlan, threads: Threads | None = None) -> None:
        self.scores = allocate(1 << plan.n_columns, threads)
        self._size = plan.inner_size

    def room(self, fixed: int) -> Floats:
        return self.slab(fixed)

    def keep(self, fixed: int, scores: Floats) -> None:
        """Do nothing: the slab was made in its place."""

    def slab(self, fixed: int) -> Floats:
        return self.scores[fixed * self._size : (fixed + 1) * self._size]

    def values(self, sets: Integers) -> Floats:
        return self.scores[sets]


@contextmanager
def open_store(plan: SearchPlan, threads: Threads | None = None) -> Iterator[Store]:
    """Make the store that a plan has chosen; raises as `file_store`."""
    if plan.scratch is None:
        yield ArrayStore(plan, threads)
        return
    with file_store(plan) as store:
        yield store


def exact_search(
    families: FamilySource,
    plan: SearchPlan,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    tied: float = SCORE_ACCURACY,
) -> SearchResult:
    """Return a network with the highest score.

    `families`: the local scores of the plan's columns
    `progress`: advanced by ``plan.work`` in all
    `tied`: the largest difference between scores that are called tied, in nats

    Returns `result`: if the scores of several networks are equal up to rounding, the one that
    `_walk_back` describes. If no acyclic network has a finite score, no parents and the score -inf.
    """
    threads_of_plan = Threads(n_jobs, plan.n_columns + plan.n_others)
    with threads_of_plan as threads, open_store(plan, threads) as store:
        progress = progress or Progress()
        best_local_score = best_scores(families, plan, store, threads, progress)
        of_sets = store.values, best_local_score
        return best_network(families, plan, *of_sets, threads, progress, tied)


def best_scores(
    families: FamilySource, plan: SearchPlan, store: Store, threads: Threads, progress: Progress
) -> Floats:
    """Find F, which the store keeps.

    Returns `best_local_score`: (m,), each column's best local score with any parents.
    """
    slab = Slab(families.fill, plan, threads, progress)
    for fixed in range(1 << plan.n_outer):
        solve_slab(slab, families, store, fixed)
    return slab.with_any_parents


def solve_slab(slab: Slab, families: FamilySource, store: Store, fixed: int) -> None:
    """Find F on the sets of one slab; the store has the slabs with an outer column less."""
    F = store.room(fixed)
    slab.fill(fixed, fixed)
    slab.transform(fixed)
    slab.extend(F, store, fixed)
    store.keep(fixed, F)
    families.check(store.values, slab.block_tables, fixed)


def fill_array(array: npt.NDArray[Any], value: float, threads: Threads) -> None:
    """Set all entries of a large array to one value."""
    length = _NUMBERS_OF_TASK
    pieces = [(array[i : i + length], value) for i in range(0, len(array), length)]
    list(threads.map(np.copyto, pieces))


def slab_kernels(plan: SearchPlan) -> tuple[Any, ...]:
    """Return the kernels that slabs of a plan call."""
    between_blocks = (max_zeta,) if plan.n_blocks > 1 else ()
    return extend_blocks, *between_blocks, *((extend_by_sink,) if plan.n_outer else ())


class Slab:
    """The tables of one slab after another, in the same memory.

    `fill_tables`: the `fill` of a `FamilySource`, or of weights
    `zeta`: called as `max_zeta` is; sums over networks have another one

    `tables`: the columns' tables one after the other: B, for the slab's sets of candidates
    `starts`: (m + 1,), where each table starts in it
    `block_tables`: both, as families fill them
    `with_any_parents`: (m,), after the last slab, the last entry of each B: a column's best local
        score with any parents
    """

    def __init__(
        self,
        fill_tables: Fill,
        plan: SearchPlan,
        threads: Threads,
        progress: Progress,
        zeta: Callable[..., None] = max_zeta,
        dtype: npt.DTypeLike = np.float64,
    ) -> None:
        self._fill_tables = fill_tables
        self.plan = plan
        self._threads = threads
        self._progress = progress
        self._zeta = zeta
        self.tables = allocate(plan.slab_size, threads).view(dtype)
        self.starts = np.cumsum([0, *(1 << bits for bits in plan.table_bits)])
        self.block_tables = BlockTables(self.tables, self.starts, plan.n_inner, plan.block_bits)
        self.with_any_parents = np.empty(plan.n_columns, dtype)

    def fill(self, fixed: int, outer: int) -> None:
        """Set the tables to local scores, transformed over the lowest columns.

        There are tables of the inner columns and of the outer ones in the mask `outer`.
        """
        self._children = self.plan.children(outer)
        work = self.plan.slab_works[fixed.bit_count()].fill
        where = self.block_tables, fixed, self._children
        for share in self._fill_tables(Filling(*where, self._threads, work // _TASK)):
            self._progress.advance(work * share)

    def transform(self, fixed: int) -> None:
        """Transform the tables over the other inner columns: they hold B then."""
        work = self.plan.slab_works[fixed.bit_count()].transform
        if self.plan.n_blocks == 1:  # the lowest columns are all of them
            self._progress.advance(work)
        else:
            parts = self._threads.split(self._children, work // _TASK)
            for _ in self._threads.map(self._transform_tables, [(part,) for part in parts]):
                self._progress.advance(work / len(parts))
        # In the last slab that has a column's table, the last entry has all others as candidates.
        ends = self.starts[1:][self._children]
        self.with_any_parents[self._children] = self.tables[ends - 1]

    def _transform_tables(self, children: Integers) -> None:
        for x in children:
            table = self.tables[self.starts[x] : self.starts[x + 1]]
            self._zeta(table, self.plan.row_bits[x], self.plan.table_bits[x])

    def extend(self, F: Floats, store: Store, fixed: int) -> None:
        """Set F on the slab's sets, from F of the slabs with one outer column less."""
        plan = self.plan
        if plan.is_small:
            F[0] = 0.0
            for sets, rests, places in _sinks_by_size(plan.n_columns):
                F[sets] = (F[rests] + self.tables[places]).max(axis=1)
            self._progress.advance(plan.slab_works[0].extend)
            return
        if fixed == 0:
            fill_array(F, -np.inf, self._threads)
            F[0] = 0.0
        length = min(len(F), _NUMBERS_OF_TASK)
        pieces = range(0, len(F), length)
        for k, x in enumerate(members_of(fixed)):
            given = F, store.slab(fixed ^ 1 << x), self.tables, self.starts[plan.n_inner + x]
            tasks = [(*given, first, length, int(k == 0)) for first in pieces]
            list(self._threads.map(extend_by_sink, tasks))
        self.visit_sets(partial(extend_blocks, F), fixed)

    def visit_sets(self, kernel: Callable[..., None], fixed: int, backwards: bool = False) -> None:
        """Run a kernel, such as `extend_blocks` with its first argument, on the slab's sets.

        Blocks with more high bits come after those with fewer, or before them.
        """
        plan = self.plan
        work = plan.slab_works[fixed.bit_count()].extend
        layout = Tables(self.tables, self.starts), plan.n_inner, plan.block_bits
        levels = submasks_by_size(plan.n_inner - plan.block_bits)
        for blocks in reversed(levels) if backwards else levels:
            parts = self._threads.split(blocks, work // _TASK)
            for _ in self._threads.map(kernel, [(*layout, part) for part in parts]):
                self._progress.advance(work * len(blocks) / plan.n_blocks / len(parts))


@cache
def _sinks_by_size(n: int) -> list[tuple[Integers, Integers, Integers]]:
    """Return all sets of n columns, by their size.

    Returns `sets`: (k,); `rests`: (k, size), each set without one of its columns; `places`: where
    this column's table has the rest.
    """
    found = []
    for sets in submasks_by_size(n)[1:]:
        sinks = np.nonzero(sets[:, np.newaxis] >> np.arange(n) & 1)[1].reshape(len(sets), -1)
        rests = sets[:, np.newaxis] ^ 1 << sinks
        found.append((sets, rests, (sinks << n - 1) + remove_bit.py_func(rests, sinks)))
    return found


def best_network(
    families: FamilySource,
    plan: SearchPlan,
    best_network_scores: BestScores,
    best_local_score: Floats,
    threads: Threads,
    progress: Progress,
    tied: float = SCORE_ACCURACY,
) -> SearchResult:
    """Return a network with the highest score of all.

    `best_network_scores`: returns F of some sets
    `best_local_score`: (m,), each column's best local score with any parents
    `progress`: advanced by ``plan.work_of_walk_back``
    `tied`: the largest difference between scores that are called tied, in nats
    """
    m = len(best_local_score)
    score = float(best_network_scores(np.array([(1 << m) - 1]))[0])
    if score == -math.inf:
        return SearchResult([], -math.inf, 0.0, 0.0)

    def advance(share: float) -> None:
        progress.advance(share * plan.work_of_walk_back / 2)

    given = families, plan.n_roots, best_network_scores, best_local_score, threads
    walk = partial(_walk_back, *given, advance)
    parents = walk(0.0)
    largest_term = families.largest_term(parents)
    # Walk once more with the rounding of these terms as the tolerance, to choose among the
    # networks that tie with this one. All sinks together must not lose more than what ties.
    parents = walk(min(_ROUNDING_OF_LOCAL_SCORE * m * largest_term, tied / m))
    # In the order of a network, its sums are between the total less what the columns to come score
    # at most, and what those before score at most. One rounding for each local score, and one for
    # each sum; m more halves of an eps are for terms of higher order.
    largest_sum = abs(score) + float(np.maximum(best_local_score, 0.0).sum())
    uncertainty = m * _EPS * (largest_term + 8 * abs(score))
    return SearchResult(parents, score, uncertainty, (m + 1) * (_EPS / 2) * largest_sum)


def _walk_back(
    families: FamilySource,
    n_roots: int,
    best_network_scores: BestScores,
    best_local_score: Floats,
    threads: Threads,
    advance: Callable[[float], None],
    tolerance: float,
) -> list[int]:
    """Return the mask of each column's parents in a best network.

    From the set of all columns down, find a sink x with ``F[W] = F[W - x] + B_x[W - x]``, and
    parents with which it has this local score. The parents are searched for again. This is cheap,
    as each set of candidates has half as many subsets as the one before.

    `n_roots`: how many of the last columns have no parents. They become sinks after all others, so
        that they may be parents of any of these.
    `best_network_scores`: returns F of some sets
    `best_local_score`: (m,), each column's best local score with any parents
    `advance`: called with about the share of the time that steps have taken
    `tolerance`: scores tie if they differ by no more than this and the rounding of their sums. The
        last of tied sinks in column order is taken; of tied parent sets, one with the fewest
        columns, and among these the one that comes first when their sorted columns are compared.
    """
    m = len(best_local_score)
    parents = [0] * m
    columns = (1 << m) - 1
    left, n_told = list(range(m))[::-1], m
    while left:
        sinks = [x for x in left if x < m - n_roots] or left
        sets = np.array([columns, *(columns ^ 1 << sink for sink in sinks)])
        of_columns, *of_others = best_network_scores(sets).tolist()
        thresholds = {}
        for sink, others in zip(sinks, of_others, strict=True):
            if others == -math.inf:
                continue
            rounding = _ROUNDING_OF_DIFFERENCE * (abs(of_columns) + abs(others))
            threshold = of_columns - others - rounding - tolerance
            if best_local_score[sink] >= threshold:  # else no parents at all reach it
                thresholds[sink] = threshold
        found = families.first_sink(columns, thresholds, threads)
        if found is None:
            raise internal_error(f"no column attains the best score of the set {left[::-1]}")
        sink, parents[sink] = found
        left.remove(sink)
        columns ^= 1 << sink
        if len(left) >= _FEWEST_TOLD or not left:  # each step takes twice as long as the next
            advance(2.0 ** (n_told - m) - (2.0 ** (len(left) - m) if left else 0.0))
            n_told = len(left)
    return parents
