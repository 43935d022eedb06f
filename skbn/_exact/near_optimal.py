"""The networks that score nearly as high as the best, one after the other in order of their score.

For a set W of columns, a *stream* yields the best networks on W alone. The i-th best network on
``W - x`` and the j-th best parent set of x among ``W - x`` make a network on W with x as a sink.
The stream goes through these in order of their score, by a heap. It asks the streams of the sets
``W - x`` for more networks only when it comes to them, so that few sets are ever visited: the heap
needs no more than an upper bound of what it holds, and F[W - x] + B_x[W - x] is one.

A network with several sinks comes up once for each of them. A stream keeps a key of each network
that it has yielded, and drops repeats. With a key of the equivalence class, it yields one network
of each class, the best: classes are found without a list of their members. That is right because
the class of a network with the sink x depends only on the class of the network without x, and on
the parents of x.

`near_optimal_kernels` goes through the heaps. What it needs for that is made here: the streams of
further sets, and lists of parent sets.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from skbn._core.resources import Progress, Threads
from skbn._core.subsets import members_of
from skbn._exact.near_optimal_kernels import (
    BEST,
    EXHAUSTED,
    FIRST,
    FOUND,
    N_NETWORKS,
    N_NODES,
    N_SEEN,
    NEEDS_BOUND,
    NEEDS_LIST,
    NEEDS_STREAM,
    NEWEST,
    OLDEST,
    REST,
    copy_keys,
    next_network,
    push_node,
    set_bound,
)
from skbn._exact.plan import SearchPlan
from skbn._exact.recurrences import FamilySource, best_scores

__all__ = [
    "NEAR_OPTIMAL_KERNELS",
    "NearOptimalNetwork",
    "NearOptimalStream",
    "NetworkStream",
    "RankedFamilies",
    "SumStream",
    "near_optimal_networks",
]

NEAR_OPTIMAL_KERNELS = (next_network, push_node, set_bound, copy_keys)

# Parent sets are listed down to this many nats below the best, at first; twice as far each time
# that more are needed. Lists this deep hold some tens of parent sets.
_FIRST_DEPTH = 6.0
_LARGEST = float(np.finfo(np.float64).max)
_LARGEST_FACTOR = 1e150
# Bits of a word of a parent set's mask.
_WORD = 64
# Rows of each table at first.
_FIRST_ROOM = 1 << 10


class RankedFamilies(Protocol):
    """What streams need to know of families.

    The columns of the search are numbered from 0, and sets of candidates are masks of these.
    Parent sets are masks in which a column has another number if `numbers` gives it one, and may
    have columns that are not in the search.
    """

    @property
    def numbers(self) -> Sequence[int]:
        """The columns' numbers."""

    @property
    def n_numbers(self) -> int:
        """A number that is larger than that of any column."""

    def best_parents(self, child: int, candidates: int) -> tuple[float, int]:
        """Return the best local score among some candidates, and its parents in the search."""

    def parents_that_reach(
        self, child: int, candidates: int, threshold: float
    ) -> tuple[npt.NDArray[np.float64], list[int]]:
        """Return the local scores that reach a threshold, the best first, and their parents."""


class NearOptimalNetwork(NamedTuple):
    """A network on some of the columns.

    Parameters
    ----------
    score : float
        In nats.
    families : list of (int, int)
        The columns' numbers and the masks of their parents.
    """

    score: float
    families: list[tuple[int, int]]


class NearOptimalStream(Protocol):
    """Networks in order of their score, found when they are asked for."""

    def network(self, i: int) -> NearOptimalNetwork | None:
        """Return the i-th best network; None if there are no more."""


class NearOptimalFamilies(FamilySource, RankedFamilies, Protocol):
    """Families that can be searched for the best networks, and then for others."""


def near_optimal_networks(
    families: NearOptimalFamilies,
    plan: SearchPlan,
    equivalence_classes: bool,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> NearOptimalStream:
    """Search for the score of the best network, and return the networks in order of their score.

    Parameters
    ----------
    families : NearOptimalFamilies
        The local scores of the plan's columns.
    plan : SearchPlan
    equivalence_classes : bool
        Whether to return only the best network of each equivalence class.
    n_jobs : int or None
        Number of threads of the search, by joblib's rules.
    progress : Progress or None
        Advanced by ``plan.work`` in all.
    """
    with Threads(n_jobs, plan.n_columns + plan.n_others) as threads:
        best_network_score, _ = best_scores(families, plan, threads, progress or Progress())
    return NetworkStream(best_network_score, families, plan.n_roots, equivalence_classes)


class NetworkStream:
    """The networks on all columns of a search, in order of their score.

    Parameters
    ----------
    best_network_score : ndarray of shape (2**m,), float64
        F.
    families : RankedFamilies
    n_roots : int
        How many of the last columns of the search have no parents. They are left out of the
        networks, and their local scores out of the networks' scores.
    equivalence_classes : bool
        Whether to find only the best network of each equivalence class.
    """

    def __init__(
        self,
        best_network_score: npt.NDArray[np.float64],
        families: RankedFamilies,
        n_roots: int,
        equivalence_classes: bool,
    ) -> None:
        m = len(best_network_score).bit_length() - 1
        n_sinks, every = m - n_roots, (1 << m) - 1
        self._F = best_network_score
        self._parent_sets = [_ParentSets(families, x, every) for x in range(n_sinks)]
        self._may_be_sinks = (1 << n_sinks) - 1
        self._roots = every ^ self._may_be_sinks
        self._numbers = list(families.numbers[:n_sinks])
        self._number_of_sink = np.array(self._numbers)
        self._sink_of_number = np.full(families.n_numbers, -1)
        self._sink_of_number[self._numbers] = np.arange(n_sinks)
        self._are_classes = int(equivalence_classes)
        self._tables = _Tables(n_sinks, -(-families.n_numbers // _WORD))
        self._sets: list[int] = []
        self._stream_of: dict[int, int] = {}
        self._found: list[NearOptimalNetwork] = []
        self._add_stream(every)

    def network(self, i: int) -> NearOptimalNetwork | None:
        """Return the i-th best network; None if there are no more."""
        while len(self._found) <= i:
            if not self._find_next():
                return None
        return self._found[i]

    def _find_next(self) -> bool:
        """Find the next network of all columns; return whether there is one."""
        tables, waiting = self._tables, np.empty(len(self._numbers) + 4, dtype=np.int64)
        while True:
            status = next_network(
                0,
                tables.networks,
                tables.network_scores,
                tables.keys,
                tables.heap,
                tables.heap_scores,
                tables.streams,
                tables.without,
                tables.list_of,
                tables.lists,
                tables.family_scores,
                tables.parents,
                self._number_of_sink,
                self._sink_of_number,
                tables.seen,
                tables.counts,
                self._are_classes,
                waiting,
            )
            if status == FOUND:
                self._found.append(self._read(int(tables.streams[0, NEWEST])))
                return True
            if status == EXHAUSTED:
                return False
            stream, x = waiting[-2:].tolist()
            if status == NEEDS_BOUND:
                self._lower_bound(stream, x)
            elif status == NEEDS_STREAM:
                others = self._sets[stream] ^ 1 << x
                row = self._stream_of.get(others)
                tables.without[stream, x] = self._add_stream(others) if row is None else row
            elif status == NEEDS_LIST:
                self._list_families(stream, x)
            else:
                tables.make_room()

    def _add_stream(self, columns: int) -> int:
        """Add the stream of a set of columns, with the best network for each sink."""
        tables, row = self._tables, len(self._sets)
        self._sets.append(columns)
        self._stream_of[columns] = row
        sinks = members_of(columns & self._may_be_sinks)
        tables.add_stream(row, len(sinks))
        for x in sinks:
            score, is_exact = self._best_with_sink(columns, x)
            if score > -np.inf:
                kind = BEST if is_exact else FIRST
                push_node(*tables.of_heaps, tables.counts, row, kind, x, -1, 0, score)
        if not sinks:
            tables.add_empty_network(row, float(self._F[columns]))
        return row

    def _best_with_sink(self, columns: int, x: int) -> tuple[float, bool]:
        """Return a bound of the best score of a network with the sink x, and if it is exact."""
        others = columns ^ 1 << x
        local, is_exact = self._parent_sets[x].best_score(others)
        return float(self._F[others]) + local, is_exact

    def _lower_bound(self, stream: int, x: int) -> None:
        """Lower the bound at the top of a stream's heap."""
        columns = self._sets[stream]
        self._parent_sets[x].find_best(columns ^ 1 << x)
        set_bound(*self._tables.of_heaps, stream, *self._best_with_sink(columns, x))

    def _list_families(self, stream: int, x: int) -> None:
        """List the parent sets of a sink among the other columns, or more of them than before."""
        listed = self._parent_sets[x].more(self._sets[stream] ^ 1 << x)
        self._tables.list_of[stream, x] = self._tables.add_list(listed)

    def _read(self, row: int) -> NearOptimalNetwork:
        """Return a network of the tables."""
        tables, families = self._tables, []
        score = float(tables.network_scores[row] - self._F[self._roots])
        while tables.networks[row, REST] >= 0:
            sink, family, row, _ = tables.networks[row].tolist()
            words = tables.parents[family].tolist()
            parents = sum(word << i * _WORD for i, word in enumerate(words))
            families.append((self._numbers[sink], parents))
        return NearOptimalNetwork(score, families)


class _Tables:
    """The tables of the kernel, which are doubled when they are full."""

    def __init__(self, n_sinks: int, n_words: int) -> None:
        room = _FIRST_ROOM
        self.networks = np.empty((room, 4), dtype=np.int64)
        self.network_scores = np.empty(room)
        self.keys = np.zeros((room, 2), dtype=np.uint64)
        self.heap = np.empty((room, 6), dtype=np.int64)
        self.heap_scores = np.empty(room)
        self.streams = np.empty((room, 3), dtype=np.int64)
        self.without = np.empty((room, n_sinks), dtype=np.int64)
        self.list_of = np.empty((room, n_sinks), dtype=np.int64)
        self.lists = np.empty((room, 3), dtype=np.int64)
        self.family_scores = np.empty(room)
        self.parents = np.empty((room, n_words), dtype=np.uint64)
        self.seen = np.zeros((room, 2), dtype=np.uint64)
        self.counts = np.zeros(3, dtype=np.int64)
        self._n_lists = 0
        self._n_families = 0

    @property
    def of_heaps(self) -> tuple[npt.NDArray[Any], ...]:
        """The tables that the heaps consist of."""
        return self.heap, self.heap_scores, self.streams

    def add_stream(self, row: int, n_nodes: int) -> None:
        """Add an empty stream, and make room for its first nodes."""
        self._double_until(row, "streams", "without", "list_of")
        for table in (self.streams, self.without, self.list_of):
            table[row] = -1
        self._double_until(int(self.counts[N_NODES]) + n_nodes, "heap", "heap_scores")

    def add_empty_network(self, stream: int, score: float) -> None:
        """Add the network without columns to a stream."""
        row = int(self.counts[N_NETWORKS])
        self._double_until(row, "networks", "network_scores", "keys")
        self.networks[row] = -1
        self.network_scores[row] = score
        self.streams[stream, [OLDEST, NEWEST]] = row
        self.counts[N_NETWORKS] += 1

    def add_list(self, listed: _Listed) -> int:
        """Add a list of parent sets, and return its row."""
        row, begin = self._n_lists, self._n_families
        end = begin + len(listed.scores)
        self._double_until(row, "lists")
        self._double_until(end, "family_scores", "parents")
        self.lists[row] = begin, end, listed.is_complete
        self.family_scores[begin:end] = listed.scores
        for i in range(self.parents.shape[1]):
            words = [mask >> i * _WORD & (1 << _WORD) - 1 for mask in listed.parents]
            self.parents[begin:end, i] = words
        self._n_lists, self._n_families = row + 1, end
        return row

    def make_room(self) -> None:
        """Double the tables to which the kernel adds rows, where they are nearly full."""
        self._double_until(int(self.counts[N_NETWORKS]), "networks", "network_scores", "keys")
        self._double_until(int(self.counts[N_NODES]), "heap", "heap_scores")
        if 2 * self.counts[N_SEEN] >= len(self.seen):
            larger = np.zeros((2 * len(self.seen), 2), dtype=np.uint64)
            copy_keys(self.seen, larger)
            self.seen = larger

    def _double_until(self, row: int, *names: str) -> None:
        """Double some tables until they have a row of this number."""
        for name in names:
            table = getattr(self, name)
            while row >= len(table):
                table = np.concatenate([table, np.zeros_like(table)])
            setattr(self, name, table)


class _ParentSets:
    """A child's parent sets among any candidates, in order of their local score.

    B is not stored. The best parents among some candidates are the best among fewer ones too, as
    long as all of them are left. If not, one of the missing columns is taken from the candidates,
    and the best parents are searched for again: a tree of such searches answers all questions.
    """

    def __init__(self, families: RankedFamilies, child: int, columns: int) -> None:
        self._families = families
        self._child = child
        candidates = columns & ~(1 << child)
        self._root = _BestParents(candidates, *families.best_parents(child, candidates))
        self._lists: dict[int, _Listed] = {}

    def best_score(self, candidates: int) -> tuple[float, bool]:
        """Return an upper bound of the best local score, and whether it is that score."""
        node, missing = self._deepest(candidates)
        return node.score, missing < 0

    def find_best(self, candidates: int) -> None:
        """Search once more, so that `best_score` may return a lower bound for the candidates."""
        node, missing = self._deepest(candidates)
        if missing >= 0:
            fewer = node.candidates & ~(1 << missing)
            best = self._families.best_parents(self._child, fewer)
            node.without[missing] = _BestParents(fewer, *best)

    def _deepest(self, candidates: int) -> tuple[_BestParents, int]:
        """Return the last search for these candidates, and a parent that they lack, or -1."""
        node = self._root
        while True:
            lacking = node.parents & ~candidates
            if not lacking:
                return node, -1
            missing = (lacking & -lacking).bit_length() - 1
            if missing not in node.without:
                return node, missing
            node = node.without[missing]

    def more(self, candidates: int) -> _Listed:
        """Return a list of parent sets, with more of them each time, as far as there are more."""
        listed = self._lists.get(candidates)
        while not self.best_score(candidates)[1]:
            self.find_best(candidates)
        depth, factor = (
            (_FIRST_DEPTH, 2.0) if listed is None else (listed.next_depth, listed.factor)
        )
        lowest = max(self.best_score(candidates)[0] - depth, -_LARGEST)
        scores, parents = self._families.parents_that_reach(self._child, candidates, lowest)
        if listed is not None and len(parents) == len(listed.parents):
            factor = min(factor**2, _LARGEST_FACTOR)  # to be deep enough for all parent sets soon
        self._lists[candidates] = _Listed(scores, parents, depth, factor)
        return self._lists[candidates]


class _BestParents:
    """The best parents of a child among some candidates, and among these without one of them."""

    def __init__(self, candidates: int, score: float, parents: int) -> None:
        self.candidates = candidates
        self.score = score
        self.parents = parents
        self.without: dict[int, _BestParents] = {}


class _Listed(NamedTuple):
    """Parent sets down to `depth` nats below the best; the next list goes `factor` as deep."""

    scores: npt.NDArray[np.float64]
    parents: list[int]
    depth: float
    factor: float

    @property
    def is_complete(self) -> bool:
        """Whether all parent sets of finite score are listed."""
        return self.depth >= _LARGEST

    @property
    def next_depth(self) -> float:
        """The depth of the next list."""
        return min(self.depth * self.factor, _LARGEST)


class SumStream:
    """The stream of networks that consist of one network of each of two streams."""

    def __init__(self, left: NearOptimalStream, right: NearOptimalStream) -> None:
        self._left = left
        self._right = right
        self._found: list[NearOptimalNetwork] = []
        self._heap: list[tuple[float, int, int]] = []
        self._push(0, 0)

    def network(self, i: int) -> NearOptimalNetwork | None:
        """Return the i-th best network; None if there are no more."""
        while len(self._found) <= i:
            if not self._heap:
                return None
            negative, j, k = heapq.heappop(self._heap)
            left, right = self._left.network(j), self._right.network(k)
            assert left is not None
            assert right is not None
            families = left.families + right.families
            self._found.append(NearOptimalNetwork(-negative, families))
            self._push(j, k + 1)
            if k == 0:
                self._push(j + 1, 0)
        return self._found[i]

    def _push(self, j: int, k: int) -> None:
        left, right = self._left.network(j), self._right.network(k)
        if left is not None and right is not None:
            heapq.heappush(self._heap, (-(left.score + right.score), j, k))
