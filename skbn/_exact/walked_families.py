"""All families of some columns, whose log-determinants are made again where they do not fit.

A *piece* has the log-determinants of all sets of inner columns, each joined with the same outer
columns; they follow from a factor with these projected out. A slab with the outer columns T takes
the pieces of all subsets of T. A window has the pieces that differ in a few columns of T only, so
that a slab's tables are gone through once for many pieces.

The family of an inner child is in the piece of its parents. That of an outer child x is in the
piece with x: there is a window with both if x is one of the columns in which it differs. So the
columns of T are divided into groups, and there are windows for each group: those of the first group
serve its own columns and all inner ones, the others their own columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from skbn._core.memory import allocate
from skbn._core.subsets import mask_of, members_of, subsets_of
from skbn._core.threads import Threads
from skbn._exact.dense_families import DenseFamilies, Part, ScoredFamilies
from skbn._exact.fill_kernels import Window, fill_blocks
from skbn._exact.parent_set_kernels import first_parents_that_reach, parents_that_reach
from skbn._exact.plan import SearchPlan
from skbn._regressions.local_score import local_score_terms, score_tolerance
from skbn._regressions.log_determinants import (
    SubsetWalk,
    log_determinants,
    settle_columns,
    walk_seeds,
)
from skbn._regressions.triangular import triangular_factor

__all__ = ["WALKING_KERNELS", "WalkedFamilies"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

WALKING_KERNELS = (
    settle_columns,
    walk_seeds,
    fill_blocks,
    first_parents_that_reach,
    parents_that_reach,
)

# Ctrl-C is handled between tasks: seeds that take some hundredths of a second.
_SEEDS_OF_TASK = 1 << 8
# A walk through fewer columns than this has no vectors of four sets.
_FEWEST_COLUMNS = 3
# Parents are looked for by as many tasks as these inner columns have subsets.
_SHARED_COLUMNS = 3


class WalkedFamilies(ScoredFamilies):
    """All families, with a window of their log-determinants at a time.

    Parameters
    ----------
    factor : ndarray of shape (m, m), float64
        The columns' triangular factor, not singular.
    offsets : ndarray of shape (m,), float64, or None
        What each column adds to the log-determinants of all sets that it is in.
    tables, plan, allowed, required, numbers
        As for `ScoredFamilies`. The plan has `n_varying`.
    """

    def __init__(
        self,
        factor: Floats,
        offsets: Floats | None,
        tables: Floats,
        plan: SearchPlan,
        allowed: Sequence[int] | None = None,
        required: Sequence[int] | None = None,
        numbers: Sequence[int] | None = None,
    ) -> None:
        super().__init__(tables, plan, allowed, required, numbers)
        self._factor, self._offsets = factor, offsets
        self._walk = SubsetWalk(factor, offsets)
        self._log_det: Floats | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_log_det": None, "_scratch": None}

    def log_determinants(self, sets: Integers) -> Floats:
        found, where = np.unique(sets, return_inverse=True)
        of_found = np.array([self._log_determinant(members_of(mask)) for mask in found.tolist()])
        return of_found[where].reshape(sets.shape)

    def _log_determinant(self, columns: list[int]) -> float:
        diagonal = np.abs(np.diag(triangular_factor(self._factor[:, columns])))
        of_offsets = 0.0 if self._offsets is None else self._offsets[columns].sum()
        return float(2 * np.log(diagonal).sum() + of_offsets)

    @property
    def _window(self) -> Floats:
        if self._log_det is None:  # kept for all slabs, as touching new memory takes time
            self._log_det = allocate(self.plan.window_size)
        return self._log_det

    def _parts(self, fixed: int, children: Integers, threads: Threads) -> Iterator[Part]:
        plan = self.plan
        assert plan.n_varying is not None
        size, n_inner = plan.n_varying, plan.n_inner
        outer = [int(x) - n_inner for x in children if x >= n_inner]
        # Others, which are nobody's children, may vary beside the first columns.
        bits = outer + [x for x in members_of(fixed) if x not in outer]
        groups = [bits[i : i + size] for i in range(0, max(1, len(outer)), size)]
        n_children = [sum(x in outer for x in group) for group in groups]
        n_children[0] += n_inner
        for i, group in enumerate(groups):
            varying = mask_of(group)
            own = [n_inner + x for x in group if x in outer]
            of_part = np.array([*(range(n_inner) if i == 0 else []), *own], dtype=np.int64)
            bases = list(subsets_of(fixed & ~varying))
            steps = self._steps(varying)
            share = n_children[i] / sum(n_children) / len(bases)
            for k, base in enumerate(bases):
                ascending = subsets_of(varying)[::-1]
                self._walk_pieces([base | piece for piece in ascending], threads)
                pieces = (1 << len(group)) - 1
                window = Window(self._window, base, varying, pieces, steps)
                yield Part(window, of_part, k == 0, k == len(bases) - 1, share)

    def _steps(self, varying: int) -> Integers:
        """Return how far it is from a parent set to the family of each child, in a window."""
        n_inner = self.plan.n_inner
        steps = np.int64(1) << np.arange(self.plan.n_columns)
        for i, x in enumerate(members_of(varying)):
            if n_inner + x < len(steps):
                steps[n_inner + x] = self.plan.inner_size << i
        return steps

    def _walk_pieces(self, pieces: list[int], threads: Threads, inner: int | None = None) -> None:
        """Set the window to some pieces, one after the other, or only to some sets of them.

        `inner` is the mask of the inner columns that the sets may have beside those that each
        seed walks through.
        """
        size = self.plan.inner_size
        tasks = []
        for i, piece in enumerate(pieces):
            walk = self._walk.with_columns(self.plan.n_inner, piece)
            seeds = np.arange(walk.n_seeds)
            if inner is not None:
                seeds = seeds[seeds & ~(inner // walk.seed_size) == 0]
            of_piece = self._window[i * size : (i + 1) * size]
            tasks += [
                (walk, seeds[k : k + _SEEDS_OF_TASK], of_piece)
                for k in range(0, len(seeds), _SEEDS_OF_TASK)
            ]
        list(threads.map(SubsetWalk.fill, tasks))

    def first_sink(
        self, columns: int, thresholds: dict[int, float], threads: Threads
    ) -> tuple[int, int] | None:
        """Return the first sink that has parents which reach its threshold, and them."""
        n_columns = (columns | self._others).bit_count()
        if n_columns >= _FEWEST_COLUMNS and 1 << n_columns <= self.plan.window_size:
            return self._first_sink_of_few(columns, thresholds, threads)
        return self._first_sink_by_pieces(columns, thresholds, threads)

    def _first_sink_of_few(
        self, columns: int, thresholds: dict[int, float], threads: Threads
    ) -> tuple[int, int] | None:
        """Look for the parents in a walk through the subsets of these columns only.

        Its log-determinants are rounded in other ways. Parents that may reach the threshold are
        scored once more, as they were when the tables were filled.
        """
        self._log_det = None  # these take its place
        numbers = members_of(columns | self._others)
        n_children = columns.bit_count()
        factor = triangular_factor(self._factor[:, numbers])
        offsets = None if self._offsets is None else self._offsets[numbers]
        log_det = log_determinants(factor, threads.n_threads, None, offsets)
        tables = self._tables[:, : len(numbers)]
        position = {x: i for i, x in enumerate(numbers)}

        def positions(masks: Sequence[int]) -> list[int]:
            of_children = [members_of(int(masks[x])) for x in numbers[:n_children]]
            return [mask_of(position[v] for v in each if v in position) for each in of_children]

        allowed, required = positions(self._allowed), positions(self._required.tolist())
        plan = SearchPlan(n_children, 0, len(numbers) - n_children)
        few = DenseFamilies(log_det, tables, plan, allowed, required, numbers)
        largest = max(log_det.max(), -log_det.min())
        margin = float(score_tolerance(np.abs(tables[1:]).max() * largest))
        for sink, threshold in thresholds.items():
            if int(self._required[sink]) & ~(columns | self._others):
                continue
            candidates = (1 << n_children) - 1 ^ 1 << position[sink]
            listed = few.parents_that_reach(position[sink], candidates, threshold - margin)
            parents = np.array(listed.parents, dtype=np.int64)
            scores = sum(self._terms(sink, parents))
            reached = parents[scores >= threshold].tolist()
            if reached:
                return sink, min(reached, key=self._order_key)
        return None

    def _terms(self, child: int, parents: Integers) -> tuple[Floats, Floats, Floats]:
        """Return the terms of local scores with the rounding of those that filled the tables."""
        sets = np.concatenate([parents, parents | 1 << child])
        log_det, of_seed = np.empty(len(sets)), np.empty(self._walk.seed_size)
        place = sets % len(of_seed)
        seeds, seed_of = np.unique(sets // len(of_seed), return_inverse=True)
        for i, seed in enumerate(seeds.tolist()):
            walk = self._walk.with_columns(len(of_seed).bit_length() - 1, seed)
            walk.fill(np.array([0]), of_seed)
            log_det[seed_of == i] = of_seed[place[seed_of == i]]
        of_parents, of_family = log_det[: len(parents)], log_det[len(parents) :]
        n_parents = np.bitwise_count(parents).astype(np.int64)
        return local_score_terms(self._tables, n_parents, of_parents, of_family)

    def largest_term(self, child: int, parents: int) -> float:
        return float(np.abs(self._terms(child, np.array([parents]))).max())

    def _first_sink_by_pieces(
        self, columns: int, thresholds: dict[int, float], threads: Threads
    ) -> tuple[int, int] | None:
        """Look for the parents piece by piece, which are walked once for all sinks."""
        n_inner, size = self.plan.n_inner, self.plan.inner_size
        inner = columns & (size - 1)
        outer = (columns | self._others) >> n_inner
        found: dict[int, list[int]] = {sink: [] for sink in thresholds}
        of_inner = [sink for sink in thresholds if sink < n_inner]
        of_outer = [sink for sink in thresholds if sink >= n_inner]
        for piece in subsets_of(outer):
            tasks = self._tasks(of_inner, piece, inner, thresholds)
            if tasks:
                self._walk_pieces([piece], threads, inner)
                self._look(tasks, found, threads)
            for sink in of_outer:
                bit = 1 << sink - n_inner
                tasks = [] if piece & bit else self._tasks([sink], piece, inner, thresholds)
                if tasks:
                    self._walk_pieces([piece, piece | bit], threads, inner)
                    self._look(tasks, found, threads)
        for sink in thresholds:
            if found[sink]:
                return sink, min(found[sink], key=self._order_key)
        return None

    def _tasks(
        self, sinks: list[int], piece: int, inner: int, thresholds: dict[int, float]
    ) -> list[tuple[Any, ...]]:
        """Return the arguments with which parents are looked for that have a piece's columns."""
        fixed = piece << self.plan.n_inner
        tasks = []
        for sink in sinks:
            if fixed & ~self._allowed[sink] or self._required[sink] & ~(inner | fixed):
                continue
            among = inner & self._allowed[sink] & ~(1 << sink)
            high = [x for x in members_of(among) if 1 << x >= self.plan.width]
            shared = mask_of(high[-_SHARED_COLUMNS:])
            required = int(self._required[sink])
            tasks += [
                (sink, among ^ shared, required, fixed | some, thresholds[sink])
                for some in subsets_of(shared)
            ]
        return tasks

    def _look(
        self,
        tasks: list[tuple[Any, ...]],
        found: dict[int, list[int]],
        threads: Threads,
    ) -> None:
        """Look for parents in the first piece of the window.

        The families of a sink that is an outer column are in the second piece.
        """
        n_inner, size = self.plan.n_inner, self.plan.inner_size
        arguments = [
            (
                self._window,
                self._spread,
                -(fixed & -size),
                1 << sink if sink < n_inner else size,
                self._order,
                sink,
                among,
                required,
                fixed,
                threshold,
            )
            for sink, among, required, fixed, threshold in tasks
        ]
        reached = threads.map(first_parents_that_reach, arguments)
        for (sink, *_), mask in zip(tasks, reached, strict=True):
            if mask >= 0:
                found[sink].append(int(mask))
