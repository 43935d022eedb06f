"""The exact search: two recurrences over sets of columns, and the walk back to the best network.

With score(x, P) the local score of a column x with the parents P,

- ``B_x[C] = max over P ⊆ C of score(x, P)`` is the best local score of x with parents among the
  candidates C, and
- ``F[W] = max over x in W of F[W - x] + B_x[W - x]``, with ``F[{}] = 0``, is the score of the best
  network on the columns W alone. Such a network has a *sink* x, a column without children: without
  it, it is the best network on the other columns, and x has its best parents among them.

F of all columns is the score sought. Neither sinks nor parents are stored: `walk_back` finds those
that attain the maxima.

The tables of B have m * 2**(m - 1) entries in all, which need not all be in memory at once.
The search goes from one *slab* of sets to the next: the sets whose outer columns, the last ones of
all, are those in `fixed`. A slab has a table for each column x that is not in `fixed`. It holds
B_x of the candidates ``fixed | I`` for all sets I of inner columns. For each slab, `best_scores`
calls

1. ``fill``: sets the tables to maxima of local scores over the subsets of `fixed`, with I as it is;
2. ``transform``: makes them maxima over the subsets of I too, by a zeta transform, so that they
   are B;
3. ``visit_sets``: finishes F on the slab's sets, and joins it to F of the sets with one more
   outer column.

A *block* of sets differs in their lowest columns only, and fits the cache. ``fill`` makes the
maxima over these lowest columns too, while a block is there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from skbn._core.resources import Progress, Threads, allocate
from skbn._core.subsets import members_of, submasks_by_size
from skbn._core.zeta import max_zeta
from skbn._exact.plan import SearchPlan
from skbn._exact.slab_kernels import extend_blocks
from skbn._regressions.local_score import SCORE_ACCURACY, internal_error

__all__ = [
    "SLAB_KERNELS",
    "FamilySource",
    "RankedParentSets",
    "SearchResult",
    "Slab",
    "TableSource",
    "best_scores",
    "exact_search",
    "fill_array",
    "walk_back",
]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_EPS = np.finfo(np.float64).eps
# How far rounding may put one local score off, in units of its largest term. The score is a sum of
# three terms; most of this is for the rounding of the log-determinants in them.
_ROUNDING_OF_LOCAL_SCORE = 64 * _EPS
# The same for ``F[W] - F[W - x]``, in units of the two: half an eps for each of the two roundings,
# of the sum in F[W] and of this difference, and a margin.
_ROUNDING_OF_DIFFERENCE = 4 * _EPS
# Ctrl-C is handled between tasks. Tasks of these sizes take no more than a few tenths of a second:
# local scores of a slab to work through, and numbers to set.
_TASK = 1 << 28
_NUMBERS_TO_SET = 1 << 24


class SearchResult(NamedTuple):
    """The optimum: the mask of each column's parents, and the sum of their local scores.

    The uncertainty is how far rounding may put the score of a network off, in nats.
    """

    parents: list[int]
    score: float
    uncertainty: float


class RankedParentSets(NamedTuple):
    """Parent sets of a child, in descending order of their local scores.

    Parameters
    ----------
    scores : ndarray of shape (n,), float64
    inside : ndarray of shape (n,), int64
        The masks of those parents that are columns of the search, by their numbers there.
    parents : list of n int
        The masks of all parents, by their numbers in the user's table.
    """

    scores: Floats
    inside: Integers
    parents: list[int]


class TableSource(Protocol):
    """What a slab needs to know of families.

    The columns of the search are numbered from 0. Parents may also be columns that are not in the
    search. Sets of candidates are masks of the columns of the search.
    """

    def fill(
        self,
        slab: npt.NDArray[Any],
        starts: Integers,
        fixed: int,
        threads: Threads,
        n_tasks: int,
    ) -> Iterator[float]:
        """Fill the tables for the outer columns `fixed`; yield the share done by each task.

        An entry is the best local score over parents that are any of the outer columns in `fixed`
        and any columns not in the search, together with inner columns: exactly those of the
        entry's index, except for the lowest ones, in which the sets of a block differ. Of these it
        may be any that are in the index.

        Parameters
        ----------
        slab : ndarray, float64
            The columns' tables one after the other. A table's index is the mask of the inner
            columns other than its own, with its own bit removed.
        starts : ndarray of shape (m + 1,), int64
            Where each table starts in `slab`.
        fixed : int
        threads : Threads
        n_tasks : int
            Cut the work into at least this many tasks, so that Ctrl-C is handled soon.
        """


class FamilySource(TableSource, Protocol):
    """What the search needs to know of score(x, P)."""

    def check(self, best_network_score: Floats, slab: Floats, starts: Integers, fixed: int) -> None:
        """Raise if some of the slab's B, or of F on its sets, are found to be wrong."""

    def first_parents(
        self, child: int, candidates: int, threshold: float, threads: Threads
    ) -> int | None:
        """Return the first parents among the candidates whose local score reaches a threshold.

        Fewer parents come first, then the order of their sorted columns. The mask is over all
        columns that the families have; None if no parents reach the threshold.
        """

    def largest_term(self, child: int, parents: int) -> float:
        """Return the largest magnitude of a number that enters this local score."""


def exact_search(
    families: FamilySource,
    plan: SearchPlan,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> SearchResult:
    """Return a network with the highest score.

    Parameters
    ----------
    families : FamilySource
        The local scores of the plan's columns.
    plan : SearchPlan
    n_jobs : int or None
        Number of threads, by joblib's rules. It does not change a bit of the result.
    progress : Progress or None
        Advanced by ``plan.work`` in all.

    Returns
    -------
    result : SearchResult
        If the scores of several networks are equal up to rounding, the one that `walk_back`
        describes. If no acyclic network has a finite score, no parents and the score -inf.
    """
    with Threads(n_jobs, plan.n_columns + plan.n_others) as threads:
        best_network_score, best_local_score = best_scores(
            families, plan, threads, progress or Progress()
        )
        if best_network_score[-1] == -np.inf:
            return SearchResult([], -math.inf, 0.0)
        walk = partial(
            walk_back, best_network_score, best_local_score, families, plan.n_roots, threads
        )
        parents = walk(0.0)
        largest_term = max(families.largest_term(x, mask) for x, mask in enumerate(parents))
        # Walk once more with the rounding of these terms as the tolerance, to choose among the
        # networks that tie with this one. All sinks together must not lose more than a score's
        # accuracy.
        m, score = plan.n_columns, float(best_network_score[-1])
        parents = walk(min(_ROUNDING_OF_LOCAL_SCORE * m * largest_term, SCORE_ACCURACY / m))
    return SearchResult(parents, score, m * _EPS * (largest_term + 8 * abs(score)))


def best_scores(
    families: FamilySource, plan: SearchPlan, threads: Threads, progress: Progress
) -> tuple[Floats, Floats]:
    """Return F, and the last entry of each B.

    Returns
    -------
    best_network_score : ndarray of shape (2**m,), float64
        F: the score of the best network on each set of columns.
    best_local_score : ndarray of shape (m,), float64
        Each column's best local score with any parents.
    """
    best_network_score = allocate(1 << plan.n_columns)
    fill_array(best_network_score, -np.inf, threads)
    best_network_score[0] = 0.0
    slab = Slab(families, plan, threads, progress)
    for fixed in range(1 << plan.n_outer):
        slab.fill(fixed)
        slab.transform(fixed)
        slab.visit_sets(extend_blocks, best_network_score, fixed)
        families.check(best_network_score, slab.tables, slab.starts, fixed)
    return best_network_score, slab.with_any_parents


def fill_array(array: npt.NDArray[Any], value: float, threads: Threads) -> None:
    """Set all entries of a large array to one value."""
    pieces = [
        (array[i : i + _NUMBERS_TO_SET], value) for i in range(0, len(array), _NUMBERS_TO_SET)
    ]
    list(threads.map(np.copyto, pieces))


SLAB_KERNELS = (max_zeta, extend_blocks)


class Slab:
    """The tables of one slab after another, in the same memory.

    Parameters
    ----------
    families : TableSource
    plan : SearchPlan
    threads : Threads
    progress : Progress
    zeta : callable
        Called as `max_zeta` is; sums over networks have another one.
    dtype : numpy dtype of 8 bytes

    Attributes
    ----------
    tables : ndarray, float64
        The columns' tables one after the other: B, for the slab's sets of candidates.
    starts : ndarray of shape (m + 1,), int64
        Where each table starts in it.
    with_any_parents : ndarray of shape (m,), float64
        After the last slab, the last entry of each B: the best local score with any parents.
    """

    def __init__(
        self,
        families: TableSource,
        plan: SearchPlan,
        threads: Threads,
        progress: Progress,
        zeta: Callable[..., None] = max_zeta,
        dtype: npt.DTypeLike = np.float64,
    ) -> None:
        self._families = families
        self._plan = plan
        self._threads = threads
        self._progress = progress
        self._zeta = zeta
        self.tables = allocate(plan.slab_size).view(dtype)
        self.starts = np.cumsum([0, *(plan.table_size(x) for x in range(plan.n_columns))])
        self.with_any_parents = np.empty(plan.n_columns, dtype)

    def fill(self, fixed: int) -> None:
        """Set the tables to local scores, transformed over the lowest columns."""
        work = self._plan.slab_work(fixed).fill
        for share in self._families.fill(
            self.tables, self.starts, fixed, self._threads, work // _TASK
        ):
            self._progress.advance(work * share)

    def transform(self, fixed: int) -> None:
        """Transform the tables over the other inner columns: they hold B then."""
        work = self._plan.slab_work(fixed).transform
        outer = fixed << self._plan.n_inner
        children = np.array([x for x in range(self._plan.n_columns) if not outer >> x & 1])
        parts = self._threads.split(children, work // _TASK)
        for _ in self._threads.map(self._transform_tables, [(part,) for part in parts]):
            self._progress.advance(work / len(parts))
        # In the last slab that has a column's table, the last entry has all others as candidates.
        self.with_any_parents[children] = self.tables[self.starts[1:][children] - 1]

    def _transform_tables(self, children: Integers) -> None:
        for x in children:
            table = self.tables[self.starts[x] : self.starts[x + 1]]
            self._zeta(table, self._plan.row_bits(x), self._plan.table_bits(x))

    def visit_sets(
        self,
        kernel: Callable[..., None],
        values: npt.NDArray[Any],
        fixed: int,
        backwards: bool = False,
    ) -> None:
        """Run a kernel, such as `extend_blocks`, on the values of the slab's sets.

        Blocks with more high bits come after those with fewer, or before them.
        """
        plan = self._plan
        work = plan.slab_work(fixed).extend
        layout = self.tables, self.starts, plan.n_inner, fixed, plan.block_bits
        levels = submasks_by_size(plan.n_inner - plan.block_bits)
        for blocks in reversed(levels) if backwards else levels:
            parts = self._threads.split(blocks, work // _TASK)
            for _ in self._threads.map(kernel, [(values, *layout, part) for part in parts]):
                self._progress.advance(work * len(blocks) / plan.n_blocks / len(parts))


def walk_back(
    best_network_score: Floats,
    best_local_score: Floats,
    families: FamilySource,
    n_roots: int,
    threads: Threads,
    tolerance: float,
) -> list[int]:
    """Return the mask of each column's parents in a best network.

    From the set of all columns down, find a sink x with ``F[W] = F[W - x] + B_x[W - x]``, and
    parents with which it has this local score. The parents are searched for again. This is cheap,
    as each set of candidates has half as many subsets as the one before.

    Parameters
    ----------
    best_network_score : ndarray of shape (2**m,), float64
        F.
    best_local_score : ndarray of shape (m,), float64
        Each column's best local score with any parents.
    families : FamilySource
    n_roots : int
        How many of the last columns have no parents. They become sinks after all others, so that
        they may be parents of any of these.
    threads : Threads
    tolerance : float
        Scores tie if they differ by no more than this and the rounding of their sums. The last of
        tied sinks in column order is taken; of tied parent sets, one with the fewest columns, and
        among these the one that comes first when their sorted columns are compared.
    """
    m = len(best_network_score).bit_length() - 1
    parents = [0] * m
    columns = (1 << m) - 1
    not_roots = columns >> n_roots
    while columns:
        sink, parents[sink] = _last_sink(
            best_network_score,
            best_local_score,
            families,
            threads,
            tolerance,
            columns,
            columns & not_roots or columns,
        )
        columns ^= 1 << sink
    return parents


def _last_sink(
    best_network_score: Floats,
    best_local_score: Floats,
    families: FamilySource,
    threads: Threads,
    tolerance: float,
    columns: int,
    sinks: int,
) -> tuple[int, int]:
    """Return the last of `sinks` that is a sink of a best network on `columns`, and its parents."""
    of_columns = best_network_score[columns]
    for sink in reversed(members_of(sinks)):
        candidates = columns ^ 1 << sink
        of_others = best_network_score[candidates]
        if of_others == -np.inf:
            continue
        rounding = _ROUNDING_OF_DIFFERENCE * (abs(of_columns) + abs(of_others))
        threshold = of_columns - of_others - rounding - tolerance
        if best_local_score[sink] >= threshold:  # else no parents at all reach it
            parents = families.first_parents(sink, candidates, threshold, threads)
            if parents is not None:
                return sink, parents
    raise internal_error(f"no column attains the best score of the set {members_of(columns)}")
