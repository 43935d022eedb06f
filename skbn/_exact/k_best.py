"""The networks that score nearly as high as the best, one after the other in order of their score.

A network on the columns W is taken apart by removing its sinks one after the other. The *step*
that removes the sink x with the parents P leaves ``W - x`` and *loses*
``F[W] - F[W - x] - f(x, P)``, which is never negative. The losses of all steps add up to how far
the network is below the best one. If each step removes the last sink, in the order of the columns,
every network is taken apart in one way only.

A *state* is a set W of columns and the *blocked* ones among them, which must not be sinks on W:
after x is removed with the parents P, these are the columns behind x that remain, and those blocked
before, all without P. So each network is one path from the state of all columns to one of none, and
the best networks are the shortest paths. A heap finds them in order: the shortest path in it is
followed to its end, and at each state the shortest alternative enters the heap. The least loss of a
state's networks is found by recursion, only as far as needed.

If only the best network of each equivalence class is asked for, networks are left out. An edge
y -> x is covered if the other parents of x are those of y; reversing it gives a network of the same
class (Chickering 1995). A network is left out if one of its covered edges can be reversed to give a
higher score, or the same score and fewer edges from a later column to an earlier one. Of the best
networks of a class, one with the fewest such edges is never left out. Others of its class may
remain as well; they are dropped when they come up.

The networks of several searches make one stream of their combinations.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from skbn._core.arrays import Floats
from skbn._core.resources import require_memory
from skbn._core.subsets import members_of
from skbn._exact.dense_families import DenseFamilies
from skbn._exact.family_sources import RankedParents
from skbn._exact.listed_families import ListedFamilies

# Parent sets are listed down to this many nats below the best at first, and twice as far each time
# that more are needed. Lists this deep have dozens of parent sets.
_FIRST_DEPTH = 6.0
_LARGEST = float(np.finfo(np.float64).max)
_LARGEST_FACTOR = 1e150

RankedFamilies = DenseFamilies | ListedFamilies


class ParentSetList:
    """The parent sets of a child among some candidates, the best first.

    The best parents among some candidates are the best among fewer of them too, as long as none of
    these parents is left out. So one search and one list serve many sets of candidates; only if one
    of the best parents is left out, a list without this column is needed.
    """

    def __init__(self, families: RankedFamilies, child: int, candidates: int) -> None:
        self._families = families
        self._child = child
        self._candidates = candidates
        self._best, self._best_parents = families.best_parents(child, candidates)
        self._without: dict[int, ParentSetList] = {}
        self._listed: RankedParents = []
        self._depth = -math.inf
        self._factor = 2.0

    def reaching(self, candidates: int, lowest: float) -> tuple[RankedParents, float]:
        """Return the parent sets among fewer candidates whose local scores reach a bound.

        Returns `reaching`; `beyond`: no other parent set scores higher than this.
        """
        found = self._for(candidates, lowest)
        if found._best < lowest or found._best == -math.inf:
            return [], found._best
        found._list_down_to(lowest)
        reaching: RankedParents = []
        for each in found._listed:
            if each[0] < lowest:
                return reaching, each[0]
            if not each[1] & ~candidates:
                reaching.append(each)
        return reaching, found._best - found._depth

    def _for(self, candidates: int, lowest: float) -> ParentSetList:
        """Return the list for some candidates, or one for more whose scores are too low already."""
        found = self
        while found._best >= lowest and (lacking := found._best_parents & ~candidates):
            column = lacking & -lacking
            if column not in found._without:
                fewer = found._candidates & ~column
                found._without[column] = ParentSetList(self._families, self._child, fewer)
            found = found._without[column]
        return found

    def _list_down_to(self, lowest: float) -> None:
        """List all parent sets whose scores reach a bound."""
        if self._best - lowest <= self._depth:
            return
        first = self._depth == -math.inf
        depth = max(self._best - lowest, _FIRST_DEPTH if first else self._depth * self._factor)
        if depth > _LARGEST_FACTOR:
            depth = math.inf
        threshold = max(self._best - depth, -_LARGEST)
        listed = self._families.parents_that_reach(self._child, self._candidates, threshold)
        if len(listed) == len(self._listed):
            self._factor **= 2  # to be deep enough for all parent sets soon
        self._listed, self._depth = listed, depth


class Removal(NamedTuple):
    """The removal of a sink."""

    loss: float
    sink: int
    inside: int  # the mask of its parents that are columns of the search
    parents: int  # the mask of its parents by their numbers in the user's table
    score: float  # the sink's local score


class Route(NamedTuple):
    """A step, and its loss together with that of the best continuation from the next state."""

    loss: float
    step: Removal
    after: RouteState


class RouteState:
    """The networks on some columns without blocked sinks, and what is known about them.

    `columns`, `blocked`: masks

    `least`: how much the networks lose at least
    `is_exact`: whether one of them loses no more
    `routes`: in order of their loss
    `depth`: routes that are not listed lose at least this much
    """

    __slots__ = ("blocked", "columns", "depth", "is_exact", "least", "number", "routes")

    def __init__(self, number: int, columns: int, blocked: int) -> None:
        self.number = number
        self.columns = columns
        self.blocked = blocked
        self.least = 0.0
        self.is_exact = not blocked  # the best network on these columns loses nothing
        self.routes: list[Route] = []
        self.depth = 0.0


class Paths:
    """Paths from the first state, each by its number: a last step, and the path before it.

    Paths are numbers, so that the heap's entries are tuples of numbers only, which cost Python's
    garbage collector nothing. 0 is the path without steps.
    """

    def __init__(self) -> None:
        self._last: list[Removal | None] = [None]
        self._before = [0]

    def longer(self, path: int, step: Removal) -> int:
        """Return a path with another step at its end."""
        self._last.append(step)
        self._before.append(path)
        return len(self._last) - 1

    def steps(self, path: int) -> Iterator[Removal]:
        """Yield the steps of a path, the last one first."""
        while step := self._last[path]:
            yield step
            path = self._before[path]

    def __len__(self) -> int:
        return len(self._last)


class EquivalenceFilter:
    """Says which networks to leave out, and whether the class of a listed one is new.

    `numbers`: the columns' numbers in the user's table, the sinks first
    `score_of`: the local score of a sink with parents by their numbers; -inf if they are ruled out
    `tie`: scores that differ by no more tie
    `told_apart`: for each column of the table, the mask of the columns that experiments tell apart
        from it: the direction of an edge between the two belongs to the class
    """

    def __init__(
        self,
        numbers: Sequence[int],
        score_of: Callable[[int, int], float],
        n_sinks: int,
        tie: float,
        told_apart: Sequence[int],
    ) -> None:
        self._numbers = numbers
        self._score_of = cache(score_of)
        self._sink_of = {numbers[x]: x for x in range(n_sinks)}
        self._tie = tie
        self._told_apart = told_apart
        self._pairs: dict[tuple[int, int], tuple[int, int]] = {}
        self._seen: set[Any] = set()

    def leave_out(self, step: Removal, before: Iterator[Removal]) -> bool:
        """Whether a covered edge to an earlier sink leaves out the networks with a step."""
        y, number = step.sink, self._numbers[step.sink]
        bit, apart = 1 << number, self._told_apart[number]
        for of_child in before:
            if apart >> self._numbers[of_child.sink] & 1:
                continue
            if of_child.parents ^ bit == step.parents:
                x, reversed_parents = (
                    of_child.sink,
                    step.parents | 1 << self._numbers[of_child.sink],
                )
                gain = self._score_of(x, step.parents) + self._score_of(y, reversed_parents)
                gain -= of_child.score + step.score
                # One bound is twice the other, so that no rounding leads in a circle.
                if gain > (-self._tie / 2 if y > x else self._tie):
                    return True
        return False

    def is_new(self, steps: Iterator[Removal]) -> bool:
        """Whether the class of a path's network comes up for the first time."""
        n_before = len(self._seen)
        self._seen.add(self.class_of(steps))
        return len(self._seen) > n_before

    def class_of(self, steps: Iterator[Removal]) -> Any:
        """Return what tells the class of a network from others.

        Networks are of one class if they have the same joined pairs, the same v-structures
        (Verma & Pearl 1990) and the same directions of edges between columns that are told apart
        (Hauser & Bühlmann 2012).
        """
        joined, pairs_of, directed = 0, [], []
        for step in steps:
            edges, pairs = self._bits(step.sink, step.parents)
            joined |= edges
            pairs_of.append((step.sink, pairs))
            told = step.parents & self._told_apart[self._numbers[step.sink]]
            if told:
                directed.append((step.sink, told))
        v_structures = frozenset((x, pairs & ~joined) for x, pairs in pairs_of if pairs & ~joined)
        return joined, v_structures, frozenset(directed)

    def _bits(self, child: int, parents: int) -> tuple[int, int]:
        """Return the pairs that a family joins, and the pairs of its parents, as masks.

        A pair has a bit in the row of each column of the search. Pairs without such a column are
        left out: networks of one search with the same edges to the child agree on them.
        """
        found = self._pairs.get((child, parents))
        if found is None:
            n = len(self._told_apart)
            edges, pairs = parents << child * n, 0
            for number in members_of(parents):
                if number in self._sink_of:
                    row = self._sink_of[number] * n
                    edges |= 1 << row + self._numbers[child]
                    pairs |= (parents ^ 1 << number) << row
            found = self._pairs[child, parents] = edges, pairs
        return found


# Scores that differ by no more tie: a difference in nats, and a share of the score for rounding.
_TIE = 1e-9
_ROUNDING = 1e-12


# Rough bytes of a step, route, state or path; memory is checked whenever their number doubles.
_BYTES = 300
_SHORTER = "give a smaller n, or a smaller within"
_FIRST_ROOM = 1 << 12


def tie_tolerance(score: float) -> float:
    """Return how far below a score another one still ties with it, in nats."""
    return _TIE + _ROUNDING * abs(score)


class NearOptimalNetwork(NamedTuple):
    """A network on some of the columns."""

    score: float  # in nats
    parents: dict[int, int]  # the masks of its columns' parents, by the columns' numbers


class KBestNetworks:
    """The networks on all columns of a search, in order of their score.

    `best_network_score`: (2**m,), F
    `n_roots`: how many of the last columns of the search have no parents. They are left out of the
        networks, and their local scores out of the networks' scores.
    `equivalence_classes`: whether to find only the best network of each equivalence class
    `told_apart`: as for `EquivalenceFilter`
    """

    def __init__(
        self,
        best_network_score: Floats,
        families: RankedFamilies,
        n_roots: int,
        equivalence_classes: bool,
        told_apart: Sequence[int],
    ) -> None:
        every = len(best_network_score) - 1
        n_sinks = len(best_network_score).bit_length() - 1 - n_roots
        self._F = best_network_score
        self._sinks = (1 << n_sinks) - 1
        self._numbers = families.numbers
        self._lists = [ParentSetList(families, x, every ^ 1 << x) for x in range(n_sinks)]
        self._steps_from: dict[int, tuple[float, list[Removal]]] = {}
        self._states: list[RouteState] = []
        self._number_of: dict[tuple[int, int], int] = {}
        self._paths = Paths()
        self._classes: EquivalenceFilter | None = None
        if equivalence_classes:
            tie = tie_tolerance(best_network_score.item(every))
            of_families = families.numbers, families.score_of
            self._classes = EquivalenceFilter(*of_families, n_sinks, tie, told_apart)
        self._n_kept = 0
        self._room = _FIRST_ROOM
        # Ties go to the path that was put there first: nothing after the count is compared.
        self._count = itertools.count()
        self._heap: list[tuple[float, int, float, int, int, int]] = []
        if best_network_score.item(every) > -math.inf:
            self._push(0.0, self._state(every, 0), 0, 0)

    def networks(self) -> Iterator[NearOptimalNetwork]:
        """Yield the networks of the shortest paths that are not left out."""
        while self._heap:
            least, _, lost, number, rank, path = heapq.heappop(self._heap)
            state = self._states[number]
            if rank >= len(state.routes) or lost + state.routes[rank].loss > least:
                self._list_routes(state, max(state.least, _deeper(least) - lost))
                if lost + self._loss_of(state, rank) > least:
                    self._push(lost, state, rank, path)
                    continue
            whole = self._follow(lost, state, rank, path)
            if whole is not None:
                steps = self._paths.steps(whole)
                if self._classes is None or self._classes.is_new(steps):
                    network = network_of_steps([*self._paths.steps(whole)], self._numbers)
                    self._keep(1)
                    yield network

    def _follow(self, lost: float, state: RouteState, rank: int, path: int) -> int | None:
        """Follow a route to the end, by the best continuation of each state after it.

        Put the paths that branch off into the heap. Returns None if the network is left out.
        """
        classes, paths, sinks = self._classes, self._paths, self._sinks
        least = lost + state.routes[rank].loss
        while state.columns & sinks:
            if not state.routes:
                self._list_routes(state, max(state.least, _deeper(least) - lost))
            routes = state.routes
            if rank >= len(routes):  # rounding has hidden the continuation
                self._push(lost, state, rank, path)
                return None
            _, step, after = routes[rank]
            later = rank + 1
            if classes is not None:
                while later < len(routes) and classes.leave_out(
                    routes[later].step, paths.steps(path)
                ):
                    later += 1
                if rank == 0 and classes.leave_out(step, paths.steps(path)):
                    self._push(lost, state, later, path)
                    return None
            self._push(lost, state, later, path)
            path = paths.longer(path, step)
            lost += step.loss
            state, rank = after, 0
        return path

    @staticmethod
    def _loss_of(state: RouteState, rank: int) -> float:
        """Return the loss of a state's route, or a bound of it if it is not listed."""
        return state.routes[rank].loss if rank < len(state.routes) else state.depth

    def _list_routes(self, state: RouteState, depth: float) -> None:
        """List all of a state's routes that lose no more than `depth`."""
        if state.depth > depth:
            return
        listed = {(route.step.sink, route.step.parents) for route in state.routes}
        new = []
        beyond, steps = self._steps(state.columns, depth)
        for step in steps:
            if step.loss > depth:
                beyond = min(beyond, step.loss)
                break
            if state.blocked >> step.sink & 1 or (step.sink, step.parents) in listed:
                continue
            after = self._after(state, step)
            loss = step.loss + self._least(after, depth - step.loss)
            if loss <= depth and after.is_exact:
                new.append(Route(loss, step, after))
            else:
                beyond = min(beyond, loss)
        new.sort(key=attrgetter("loss"))
        state.routes += new
        state.depth = beyond
        self._keep(len(new))

    def _least(self, state: RouteState, depth: float) -> float:
        """Return the least loss of a state's networks, or a bound of it if it exceeds `depth`."""
        if state.is_exact or state.least > depth:
            return state.least
        least, steps = self._steps(state.columns, depth)
        is_exact = least == math.inf
        for step in steps:
            if step.loss >= least:
                break
            if step.loss > depth:
                least, is_exact = step.loss, False
                break
            if not state.blocked >> step.sink & 1:
                after = self._after(state, step)
                loss = step.loss + self._least(after, min(least, depth) - step.loss)
                if loss < least:
                    least, is_exact = loss, after.is_exact
        state.least = least
        state.is_exact = is_exact and (least <= depth or least == math.inf)
        return least

    def _after(self, state: RouteState, step: Removal) -> RouteState:
        """Return the state after a step."""
        x, rest = step.sink, state.columns ^ 1 << step.sink
        behind = rest >> x << x
        return self._state(rest, (state.blocked | behind) & self._sinks & rest & ~step.inside)

    def _state(self, columns: int, blocked: int) -> RouteState:
        number = self._number_of.setdefault((columns, blocked), len(self._states))
        if number == len(self._states):
            self._states.append(RouteState(number, columns, blocked))
        return self._states[number]

    def _steps(self, columns: int, depth: float) -> tuple[float, list[Removal]]:
        """Return a number and steps in order of their loss; the other steps lose at least as much.

        The number is larger than `depth`.
        """
        listed = self._steps_from.get(columns)
        if listed is not None:
            if listed[0] > depth:
                return listed
            depth = max(depth, 2 * listed[0])
        steps, beyond = [], math.inf
        best = self._F.item(columns)
        for x in members_of(columns & self._sinks):
            rest = columns ^ 1 << x
            gain = best - self._F.item(rest)  # the loss is by how much a local score is below
            if gain == math.inf:
                continue
            lowest = gain - depth - tie_tolerance(gain)
            reaching, score_beyond = self._lists[x].reaching(rest, lowest)
            beyond = min(beyond, gain - score_beyond)
            for score, inside, parents in reaching:
                steps.append(Removal(max(gain - score, 0.0), x, inside, parents, score))
        steps.sort()
        self._keep(len(steps))
        self._steps_from[columns] = beyond, steps
        return beyond, steps

    def _push(self, lost: float, state: RouteState, rank: int, path: int) -> None:
        """Put into the heap the paths that continue one by a route of this rank or a later one.

        `lost`: how much `path` loses
        `state`: where it ends
        """
        least = lost + self._loss_of(state, rank)
        if least < math.inf:
            entry = (least, next(self._count), lost, state.number, rank, path)
            heapq.heappush(self._heap, entry)

    def _keep(self, n: int) -> None:
        """Count steps and routes that are kept, and check that there is room for as many again."""
        self._n_kept += n
        while self._n_kept + len(self._states) + len(self._paths) + len(self._heap) > self._room:
            require_memory(self._room * _BYTES, "The list of networks", _SHORTER)
            self._room *= 2


def network_of_steps(steps: Sequence[Removal], numbers: Sequence[int]) -> NearOptimalNetwork:
    """Return the network of each sink's step; sinks have these numbers in the user's table."""
    score = math.fsum(step.score for step in steps)
    return NearOptimalNetwork(score, {numbers[step.sink]: step.parents for step in steps})


def _deeper(loss: float) -> float:
    """Return how deep to search for paths when paths of this loss are needed."""
    return 1.3 * loss + 0.1


# Several groups of columns


def joined_networks(groups: list[Iterator[NearOptimalNetwork]]) -> Iterator[NearOptimalNetwork]:
    """Return the networks that consist of one network of each group, in order of their score."""
    while len(groups) > 1:  # in pairs, so that few groups wait for each other
        pairs = [_joined(*pair) for pair in zip(groups[::2], groups[1::2], strict=False)]
        groups = pairs + groups[len(groups) & ~1 :]
    return groups[0]


def _joined(
    left: Iterator[NearOptimalNetwork], right: Iterator[NearOptimalNetwork]
) -> Iterator[NearOptimalNetwork]:
    """Yield the networks that consist of one network of each of two groups."""
    heap: list[tuple[float, int, int]] = []
    lefts, rights = list[NearOptimalNetwork](), list[NearOptimalNetwork]()

    def push(j: int, k: int) -> None:
        # Those that were asked for so far are kept.
        lefts.extend(itertools.islice(left, max(0, j + 1 - len(lefts))))
        rights.extend(itertools.islice(right, max(0, k + 1 - len(rights))))
        if j < len(lefts) and k < len(rights):
            heapq.heappush(heap, (-(lefts[j].score + rights[k].score), j, k))

    push(0, 0)
    while heap:
        negative, j, k = heapq.heappop(heap)
        yield NearOptimalNetwork(-negative, lefts[j].parents | rights[k].parents)
        push(j, k + 1)
        if k == 0:
            push(j + 1, 0)
