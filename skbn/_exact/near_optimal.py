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

`near_optimal_kernels` goes through the heaps. What it asks for is made here: searches for the best
parents among some candidates, and lists of parent sets.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from skbn._core.memory import require_memory
from skbn._core.progress import Progress
from skbn._core.threads import Threads
from skbn._exact.family_sources import FamilySource, RankedParentSets
from skbn._exact.near_optimal_kernels import next_network
from skbn._exact.network_key_kernels import copy_keys
from skbn._exact.plan import SearchPlan
from skbn._exact.recurrences import best_scores
from skbn._exact.stores import ArrayStore
from skbn._exact.stream_kernels import (
    BEGIN,
    EXHAUSTED,
    FAMILIES,
    FOUND,
    IS_COMPLETE,
    NEEDS_LIST,
    NEEDS_SEARCH,
    NEWEST,
    PARENTS,
    WITHOUT,
    place_streams,
    stream_of,
)

__all__ = [
    "NEAR_OPTIMAL_KERNELS",
    "NearOptimalNetwork",
    "NearOptimalStream",
    "NetworkStream",
    "RankedFamilies",
    "near_optimal_networks",
    "sum_of_streams",
]

NEAR_OPTIMAL_KERNELS = (next_network, stream_of, place_streams, copy_keys)

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

    The columns of the search are numbered from 0, and sets of candidates are masks of these. To the
    user a column has another number if `numbers` gives it one, and parents may be columns that are
    not in the search.
    """

    @property
    def numbers(self) -> Sequence[int]:
        """The columns' numbers."""

    @property
    def n_numbers(self) -> int:
        """A number that is larger than that of any column."""

    def best_parents(self, child: int, candidates: int) -> tuple[float, int]:
        """Return the best local score among some candidates, and its parents in the search."""

    def parents_that_reach(self, child: int, candidates: int, threshold: float) -> RankedParentSets:
        """Return the parent sets whose local scores reach a threshold, the best first."""


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
        store = ArrayStore(plan)
        best_scores(families, plan, store, threads, progress or Progress())
    return NetworkStream(store.scores, families, plan.n_roots, equivalence_classes)


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
        self._families = families
        self._roots = every >> n_sinks << n_sinks
        self._numbers = list(families.numbers[:n_sinks])
        self._number_of_sink = np.array(self._numbers)
        self._sink_of_number = np.full(families.n_numbers, -1)
        self._sink_of_number[self._numbers] = np.arange(n_sinks)
        self._are_classes = int(equivalence_classes)
        self._waiting = np.empty(n_sinks + 4, dtype=np.int64)
        self._tables = _Tables(n_sinks, m, -(-families.n_numbers // _WORD))
        self._candidates: list[int] = []
        self._lists: dict[int, _Listed] = {}
        for x in range(n_sinks):
            self._add_search(x, every ^ 1 << x)
        self._tables.make_room()
        stream_of(every, *self._tables.of_streams, self._F, self._tables.counts)
        self._found: list[NearOptimalNetwork] = []

    def network(self, i: int) -> NearOptimalNetwork | None:
        """Return the i-th best network; None if there are no more."""
        while len(self._found) <= i:
            if not self._find_next():
                return None
        return self._found[i]

    def _find_next(self) -> bool:
        """Find the next network of all columns; return whether there is one."""
        tables = self._tables
        while True:
            status = next_network(
                *tables.of_streams,
                tables.list_ends,
                tables.family_scores,
                tables.parents,
                tables.inside,
                self._F,
                self._number_of_sink,
                self._sink_of_number,
                tables.seen,
                tables.counts,
                self._are_classes,
                self._waiting,
            )
            if status == FOUND:
                self._found.append(self._read(int(tables.streams[0, NEWEST])))
                return True
            if status == EXHAUSTED:
                return False
            missing, x, search = self._waiting[-3:].tolist()
            if status == NEEDS_SEARCH:
                fewer = self._candidates[search] & ~(1 << missing)
                tables.searches[search, WITHOUT + missing] = self._add_search(x, fewer)
            elif status == NEEDS_LIST:
                self._list(x, search)
            else:
                tables.make_room()

    def _add_search(self, x: int, candidates: int) -> int:
        """Search for the best parents of a sink among some candidates; return the search's row."""
        self._candidates.append(candidates)
        return self._tables.add_search(*self._families.best_parents(x, candidates))

    def _list(self, x: int, search: int) -> None:
        """List parent sets of a sink, each time twice as far below the best as before."""
        before, best = self._lists.get(search), float(self._tables.search_scores[search])
        depth, factor = (
            (_FIRST_DEPTH, 2.0) if before is None else (before.next_depth, before.factor)
        )
        lowest = max(best - depth, -_LARGEST)
        sets = self._families.parents_that_reach(x, self._candidates[search], lowest)
        n_sets = len(sets.scores)
        if before is not None and n_sets == before.n_sets:
            factor = min(factor**2, _LARGEST_FACTOR)  # to be deep enough for all parent sets soon
        listed = self._lists[search] = _Listed(n_sets, depth, factor)
        self._tables.add_list(search, sets, lowest, listed.is_complete)

    def _read(self, row: int) -> NearOptimalNetwork:
        """Return a network of the tables."""
        tables, families = self._tables, []
        score = float(tables.network_scores[row] - self._F[self._roots])
        for number, family in zip(self._numbers, tables.networks[row, FAMILIES:], strict=True):
            words = tables.parents[family].tolist()
            families.append((number, sum(word << i * _WORD for i, word in enumerate(words))))
        return NearOptimalNetwork(score, families)


class _Listed(NamedTuple):
    """A list of parent sets down to `depth` nats below the best; the next is `factor` as deep."""

    n_sets: int
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


class _Tables:
    """The tables of the kernel, which are doubled when they are full."""

    def __init__(self, n_sinks: int, m: int, n_words: int) -> None:
        room = _FIRST_ROOM
        self.networks = np.empty((room, FAMILIES + n_sinks), dtype=np.int32)
        self.network_scores = np.empty(room)
        self.keys = np.empty((room, 2), dtype=np.uint64)
        self.seen = np.zeros((2 * room, 2), dtype=np.uint64)
        self.heap = np.empty((room, 6), dtype=np.int64)
        self.heap_scores = np.empty(room)
        self.streams = np.empty((room, 4), dtype=np.int64)
        self.without = np.empty((room, n_sinks), dtype=np.int64)
        self.search_of = np.empty((room, n_sinks), dtype=np.int64)
        self.places = np.full(2 * room, -1)
        self.searches = np.empty((room, WITHOUT + m), dtype=np.int64)
        self.search_scores = np.empty(room)
        self.list_ends = np.empty(room)
        self.family_scores = np.empty(room)
        self.parents = np.empty((room, n_words), dtype=np.uint64)
        self.inside = np.empty(room, dtype=np.int64)
        self.counts = np.zeros(3, dtype=np.int64)
        self._n_searches = 0
        self._n_families = 0
        self._n_sinks = n_sinks

    @property
    def of_streams(self) -> tuple[npt.NDArray[Any], ...]:
        """The tables that streams are added to, in the order of the kernels' arguments."""
        return (
            self.networks,
            self.network_scores,
            self.keys,
            self.heap,
            self.heap_scores,
            self.streams,
            self.without,
            self.search_of,
            self.places,
            self.searches,
            self.search_scores,
        )

    def add_search(self, score: float, parents: int) -> int:
        """Add the best parents among some candidates, and return the row of the search."""
        row = self._n_searches
        self._n_searches += 1
        self._double_until(row, "searches", "search_scores", "list_ends")
        self.searches[row] = -1
        self.searches[row, PARENTS] = parents
        self.search_scores[row] = score
        return row

    def add_list(
        self, search: int, sets: RankedParentSets, lowest: float, is_complete: bool
    ) -> None:
        """Add the list of a search, in place of a shorter one."""
        begin = self._n_families
        end = self._n_families = begin + len(sets.scores)
        self._double_until(end, "family_scores", "parents", "inside")
        self.searches[search, BEGIN : IS_COMPLETE + 1] = begin, end, is_complete
        self.list_ends[search] = lowest
        self.family_scores[begin:end] = sets.scores
        self.inside[begin:end] = sets.inside
        for i in range(self.parents.shape[1]):
            words = [mask >> i * _WORD & (1 << _WORD) - 1 for mask in sets.parents]
            self.parents[begin:end, i] = words

    def make_room(self) -> None:
        """Double the tables to which the kernel adds rows, where they are nearly full."""
        n_networks, n_nodes, n_streams = self.counts.tolist()
        self._double_until(n_networks + 2, "networks", "network_scores", "keys")
        self._double_until(n_nodes + self._n_sinks + 2, "heap", "heap_scores")
        self._double_until(n_streams, "streams", "without", "search_of")
        if 2 * n_networks >= len(self.seen):
            larger = np.zeros((2 * len(self.seen), 2), dtype=np.uint64)
            copy_keys(self.seen, larger)
            self.seen = larger
        if 2 * n_streams >= len(self.places):
            self.places = np.full(2 * len(self.places), -1)
            place_streams(self.places, self.streams, self.counts)

    def _double_until(self, row: int, *names: str) -> None:
        """Double some tables until they have a row of this number."""
        for name in names:
            table = getattr(self, name)
            while row >= len(table):
                require_memory(2 * table.nbytes, "The list of networks", _shorter_list)
                table = np.concatenate([table, np.zeros_like(table)])
            setattr(self, name, table)


def _shorter_list(_: int) -> str:
    return "give a smaller n, or a smaller within"


def sum_of_streams(streams: list[NearOptimalStream]) -> NearOptimalStream:
    """Return the stream of networks that consist of one network of each stream."""
    while len(streams) > 1:  # in pairs, so that few streams wait for each other
        pairs: list[NearOptimalStream] = [
            _SumStream(left, right)
            for left, right in zip(streams[::2], streams[1::2], strict=False)
        ]
        streams = pairs + streams[len(streams) & ~1 :]
    return streams[0]


class _SumStream:
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
