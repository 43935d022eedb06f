"""All families of some columns, whose set function is computed piece by piece.

A *piece* has all sets of inner columns, each joined with the same outer columns; its numbers follow
from a factor with these projected out. A slab with the outer columns T takes the pieces of all
subsets of T. Pieces that differ in only a few columns of T are in memory together, so that one pass
through a slab's tables serves many pieces.

The family of an inner child is in the piece of its parents. The family of an outer child x is in
the piece with x as well: both pieces are in memory if x is one of the columns in which they differ.
So the columns of T are divided into groups, with pieces for each group: those of the first group
serve its own columns and all inner ones, the others their own columns.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from skbn._core.arrays import Floats, Integers
from skbn._core.resources import Threads
from skbn._core.subsets import mask_of, members_of, subsets_of
from skbn._exact.dense_families import (
    DenseFamilies,
    ParentSets,
    Part,
    SearchColumns,
    check_slab,
    fill_by_blocks,
    fill_scores,
    local_maxima,
    parents_that_reach,
    sets_that_reach,
)
from skbn._exact.family_sources import BestScores, Filling, FoundSink, Thresholds
from skbn._exact.fill_kernels import BlockTables, Pieces, fill_blocks
from skbn._exact.plan import SearchPlan
from skbn._regressions import set_function
from skbn._regressions.least_squares import triangular_factor
from skbn._regressions.log_determinants import SubsetWalk, set_functions, settle_columns, walk_seeds

WALKING_KERNELS = (settle_columns, walk_seeds, fill_blocks, parents_that_reach)

# Ctrl-C is handled between tasks: seeds that take some hundredths of a second.
_SEEDS_OF_TASK = 1 << 8
# A walk through fewer columns than this has no vectors of four sets.
_FEWEST_COLUMNS = 3
# Each subset of these inner columns is a task of the search for parents. They come after the
# columns in which neighbouring sets of a row differ.
_SHARED_COLUMNS = 3
_COLUMNS_OF_ROW = 9


class WalkedFamilies:
    """A `FamilySource` of all families that has a few pieces of its set function at a time.

    `factor`: (n_columns, n_columns), the columns' triangular factor, not singular; the weights have
        each node's number of columns
    `plan`: with `n_varying`
    `allowed`, `required`, `numbers`: as for `SearchColumns`
    """

    def __init__(
        self,
        factor: Floats,
        offsets: Floats | None,
        weights: set_function.SetWeights,
        plan: SearchPlan,
        allowed: Sequence[int] | None = None,
        required: Sequence[int] | None = None,
        numbers: Sequence[int] | None = None,
    ) -> None:
        widths = np.ones(len(factor), dtype=np.int64) if weights.widths is None else weights.widths
        self.plan = plan
        self._columns = SearchColumns(len(widths), plan.n_columns, allowed, required, numbers)
        self._factor, self._offsets, self._weights = factor, offsets, weights
        self._node_of = np.repeat(np.arange(len(widths)), widths)
        self._walk = SubsetWalk(factor, offsets, weights, weights.widths)
        self._memory: set_function.SetFunctions | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_memory": None}

    def fill(self, slab: Filling) -> Iterator[float]:
        """Fill the children's tables; see `FamilySource`."""
        outer = slab.fixed | self._columns.others >> slab.tables.n_inner
        parts = self._parts(outer, slab.children, slab.threads)
        return fill_by_blocks(partial(fill_scores, self._columns.rules), parts, slab)

    def check(self, best_network_scores: BestScores, tables: BlockTables, fixed: int) -> None:
        """Raise if `check_slab` does."""
        maxima = partial(local_maxima, functions_of=self.functions_of, rules=self._columns.rules)
        check_slab(self._columns, maxima, best_network_scores, tables, fixed)

    def functions_of(self, sets: Integers) -> set_function.SetFunctions:
        """Return what local scores are differences of, for a few sets of columns."""
        found, where = np.unique(sets, return_inverse=True)
        of_found = np.array([self._log_determinant(members_of(mask)) for mask in found.tolist()])
        return self._weights.at(sets, of_found[where].reshape(sets.shape))

    def _columns_of(self, nodes: list[int]) -> Floats:
        """Return the factor's columns of some nodes, which are in ascending order."""
        return self._factor[:, np.isin(self._node_of, nodes)]

    def _log_determinant(self, columns: list[int]) -> float:
        diagonal = np.abs(np.diag(triangular_factor(self._columns_of(columns))))
        of_offsets = 0.0 if self._offsets is None else self._offsets[columns].sum()
        return float(2 * np.log(diagonal).sum() + of_offsets)

    @property
    def _sets(self) -> set_function.SetFunctions:
        """The sets of the pieces in memory."""
        if self._memory is None:  # kept for all slabs, as touching new memory takes time
            self._memory = self._walk.allocate(self.plan.window_size)
        return self._memory

    def _parts(self, outer: int, children: Integers, threads: Threads) -> Iterator[Part]:
        """Walk the pieces of a slab, window by window; yield what to fill from each."""
        plan = self.plan
        assert plan.n_varying is not None
        size, n_inner = plan.n_varying, plan.n_inner
        own_outer = [int(x) - n_inner for x in children if x >= n_inner]
        # Others, which are nobody's children, may vary beside the first columns.
        bits = own_outer + [x for x in members_of(outer) if x not in own_outer]
        groups = [bits[i : i + size] for i in range(0, max(1, len(own_outer)), size)]
        n_children = [sum(x in own_outer for x in group) for group in groups]
        n_children[0] += n_inner
        for i, group in enumerate(groups):
            varying = mask_of(group)
            own = [n_inner + x for x in group if x in own_outer]
            of_part = np.array([*(range(n_inner) if i == 0 else []), *own], dtype=np.int64)
            bases = list(subsets_of(outer & ~varying))
            steps = self._steps_within(varying)
            share = n_children[i] / sum(n_children) / len(bases)
            for k, base in enumerate(bases):
                ascending = subsets_of(varying)[::-1]
                self._walk_pieces([base | piece for piece in ascending], threads)
                every = (1 << len(group)) - 1
                has_ruled_out = int(self._weights.has_ruled_out)
                pieces = Pieces(*self._sets, base, varying, every, steps, has_ruled_out)
                yield Part(pieces, of_part, k == 0, k == len(bases) - 1, share)

    def _steps_within(self, varying: int) -> Integers:
        """Return the distance from a parent set to each child's family, among some pieces."""
        n_inner = self.plan.n_inner
        steps = np.int64(1) << np.arange(self.plan.n_columns)
        for i, x in enumerate(members_of(varying)):
            if n_inner + x < len(steps):
                steps[n_inner + x] = self.plan.inner_size << i
        return steps

    def _walk_pieces(self, pieces: list[int], threads: Threads, inner: int | None = None) -> None:
        """Walk through some pieces, or only to some of their sets, one after the other.

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
            of_piece = set_function.SetFunctions(
                *(each[i * size : (i + 1) * size] for each in self._sets)
            )
            tasks += [
                (walk, seeds[k : k + _SEEDS_OF_TASK], of_piece)
                for k in range(0, len(seeds), _SEEDS_OF_TASK)
            ]
        list(threads.map(SubsetWalk.fill, tasks))

    def first_sink(self, columns: int, thresholds: Thresholds, threads: Threads) -> FoundSink:
        """Return the first sink that has parents which reach its threshold, and them."""
        n_columns = (columns | self._columns.others).bit_count()
        if n_columns >= _FEWEST_COLUMNS and 1 << n_columns <= self.plan.window_size:
            return self._first_of_few(columns, thresholds, threads)
        return self._first_by_pieces(columns, thresholds, threads)

    def _first_of_few(self, columns: int, thresholds: Thresholds, threads: Threads) -> FoundSink:
        """Look for the parents in a walk through the subsets of these columns only.

        Its log-determinants are rounded differently. Parents that may reach the threshold are
        scored once more, as they were when the tables were filled.
        """
        self._memory = None  # these take its place
        numbers = members_of(columns | self._columns.others)
        n_children = columns.bit_count()
        factor = triangular_factor(self._columns_of(numbers))
        offsets = None if self._offsets is None else self._offsets[numbers]
        sets = set_functions(
            factor, self._weights.of_part(numbers), threads.n_threads, None, offsets
        )
        position = {x: i for i, x in enumerate(numbers)}

        def positions(masks: Sequence[int]) -> list[int]:
            of_children = [members_of(int(masks[x])) for x in numbers[:n_children]]
            return [mask_of(position[v] for v in each if v in position) for each in of_children]

        allowed, required = positions(self._columns.allowed), positions(self._columns.required)
        plan = SearchPlan(n_children, 0, len(numbers) - n_children)
        few = DenseFamilies([sets] * len(numbers), plan, allowed, required, numbers)
        margin = float(set_function.score_tolerance(_largest_value(sets)))
        for sink, threshold in thresholds.items():
            if int(self._columns.required[sink]) & ~(columns | self._columns.others):
                continue
            candidates = (1 << n_children) - 1 ^ 1 << position[sink]
            listed = few.parents_that_reach(position[sink], candidates, threshold - margin)
            parents = np.array([mask for *_, mask in listed], dtype=np.int64)
            scores = self._scores_of(sink, parents)
            reached = parents[scores >= threshold]
            if len(reached):
                return sink, self._columns.first_of(reached)
        return None

    def _scores_of(self, child: int, parents: Integers) -> Floats:
        """Return local scores, rounded as when the tables were filled."""
        of_family, of_parents = self._walked(child, parents)
        return set_function.ruled_out(of_family - of_parents)

    def _walked(self, child: int, parents: Integers) -> tuple[Floats, Floats]:
        """Return what the local scores of a child are differences of, by the walk."""
        sets = np.concatenate([parents, parents | 1 << child])
        found = self._walk.allocate(len(sets))
        of_seed = self._walk.allocate(self._walk.seed_size)
        place = sets % self._walk.seed_size
        seeds, seed_of = np.unique(sets // self._walk.seed_size, return_inverse=True)
        for i, seed in enumerate(seeds.tolist()):
            walk = self._walk.with_columns(self._walk.seed_size.bit_length() - 1, seed)
            walk.fill(np.array([0]), of_seed)
            for each, values in zip(found, of_seed, strict=True):
                each[seed_of == i] = values[place[seed_of == i]]
        return found.of_family[len(parents) :], found.of_parents[: len(parents)]

    def largest_term(self, parents: Sequence[int]) -> float:
        """Return the largest magnitude of a number that enters local scores of the tables."""
        of_each = [self._walked(x, np.array([mask])) for x, mask in enumerate(parents)]
        return float(np.abs(of_each).max())

    def local_score(self, child: int, parents: int) -> float:
        """Return the local score of a child with the parents of this mask."""
        return float(self._scores_of(child, np.array([parents]))[0])

    def _first_by_pieces(self, columns: int, thresholds: Thresholds, threads: Threads) -> FoundSink:
        """Look for the parents piece by piece, which are walked once for all sinks."""
        n_inner, size = self.plan.n_inner, self.plan.inner_size
        inner = columns & (size - 1)
        outer = (columns | self._columns.others) >> n_inner
        found: dict[int, list[Integers]] = {sink: [] for sink in thresholds}
        of_inner = [sink for sink in thresholds if sink < n_inner]
        of_outer = [sink for sink in thresholds if sink >= n_inner]

        def look(sinks: list[int], pieces: list[int]) -> None:
            tasks = self._tasks(sinks, pieces[0], inner, thresholds)
            if tasks:
                self._walk_pieces(pieces, threads, inner)
            for (sets, _), (masks, _) in zip(
                tasks, threads.map(sets_that_reach, tasks), strict=True
            ):
                found[sets.child].append(masks)

        for piece in subsets_of(outer):
            look(of_inner, [piece])
            for sink in of_outer:
                bit = 1 << sink - n_inner
                if not piece & bit:
                    look([sink], [piece, piece | bit])
        for sink in thresholds:
            reached = np.concatenate([np.empty(0, dtype=np.int64), *found[sink]])
            if len(reached):
                return sink, self._columns.first_of(reached)
        return None

    def _tasks(
        self, sinks: list[int], piece: int, inner: int, thresholds: Thresholds
    ) -> list[tuple[ParentSets, float]]:
        """Return tasks that look for parents with a piece's columns, the first one in memory.

        The families of a sink that is an outer column are in the second piece.
        """
        n_inner, size = self.plan.n_inner, self.plan.inner_size
        outer = piece << n_inner
        tasks = []
        for sink in sinks:
            allowed, required = self._columns.allowed[sink], int(self._columns.required[sink])
            if outer & ~allowed or required & ~(inner | outer):
                continue
            among = inner & allowed & ~(1 << sink)
            high = [x for x in members_of(among) if x >= _COLUMNS_OF_ROW]
            shared = mask_of(high[-_SHARED_COLUMNS:])
            step = 1 << sink if sink < n_inner else size
            for fixed in (outer | some for some in subsets_of(shared)):
                of_sink = -(fixed & -size), step, sink, among ^ shared, required, fixed
                tasks.append((ParentSets(*self._sets, *of_sink), thresholds[sink]))
        return tasks


def _largest_value(sets: set_function.SetFunctions) -> float:
    """Return the largest magnitude of the functions' values that enter scores."""
    largest = 0.0
    for each in sets:
        counts = (each > set_function.LEAST_SCORE) & (each < np.inf)
        largest = max(largest, each.max(initial=0.0, where=counts))
        largest = max(largest, -each.min(initial=0.0, where=counts))
    return largest
