"""The search among orders, in two phases: families refitted on the fly, then families in lists.

Teyssier & Koller (2005), "Ordering-based search: a simple and effective algorithm for learning
Bayesian networks", iterated from perturbed orders. The first
phase (`skbn._orders.placement`) finds a very good order at once; the second one, which begins
there, takes families into account to which no single edge leads, and grows the lists meanwhile.
"""

import math
import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from skbn._core.arrays import Integers
from skbn._core.compile import compile_kernels
from skbn._core.resources import Threads
from skbn._orders.family_lists import FamilyLists
from skbn._orders.growth import FamilyGrowth, GrownFor
from skbn._orders.insertion_kernels import OrderLimits, State, choose_families, state_of
from skbn._orders.list_kernels import find_dominated
from skbn._orders.placement import PLACEMENT_KERNELS, Placed, PlacementSearch
from skbn._orders.search_kernels import Best, climb_and_perturb, order_greedily

ORDER_KERNELS = (*PLACEMENT_KERNELS, choose_families, climb_and_perturb, find_dominated)

# Perturbations between two looks at the clock: a few tenths of a second for 1000 columns.
_STEP = 50
# The most columns that a climb, and on average a perturbation, tries to insert between two looks at
# the clock. A try takes microseconds, or a tenth of a millisecond among 1000 columns.
_MOST_TRIES = 1000
# The first phase perturbs the first start four times for each column, but no more often than this
# in all, and other starts, and one from a given order, an eighth of that. It ends when this many,
# or one for two columns, have brought nothing. Perturbations of the second phase cost a tenth.
_MOST_PLACED, _LEAST_PLACED = 200, 40
# The share of the time that it may take.
_SHARE_OF_PLACEMENT = 0.5
# The search ends when this many perturbations of all starts, for each column, bring no better
# network, and half as many as it took; but not before the least number of each start.
_PATIENCE = 12
_LEAST_PATIENCE = 200
# It also ends after this many perturbations of each start for each column, and after this many in
# all, which take minutes with 1000 columns.
_MOST = 60
_MOST_IN_ALL = 20_000
# Families are grown again after one step for every 25 columns.
_COLUMNS_A_STEP = 25
# With more columns growth takes longer, and is done for the best start only.
_MOST_TO_GROW_ALL = 150
# While growth gains more nats than this for each column, it comes before perturbations; and while
# these gain more, they begin again with new patience.
_MUCH_A_COLUMN = 0.01
# Pairs (m, n): up to m columns, the search has n starts. With more columns, one start takes longer
# and gets further.
_STARTS = ((30, 12), (150, 4), (math.inf, 2))
# With more columns, only the best start of the first phase goes on to the second one.
_MOST_TO_GO_ON = 300
# Growth that improves nothing this many times in a row finds the same families, up to rounding.
_MOST_IN_VAIN = 20
# A limit in time leaves this share of it for the last growth.
_LAST_SHARE = 0.1

Report = Callable[[float, int, float], None]


class FoundOrder(NamedTuple):
    """The best order that was found."""

    parents: list[list[int]]
    score: float  # the sum of the families' listed scores
    n_iter: int  # how many perturbations there were
    is_missing: bool  # whether all orders leave some column without a listed family
    start_scores: list[float]  # the score of the best order of each start


class _Start:
    """The search from one of several orders."""

    def __init__(self, i: int, order: Integers) -> None:
        self.i = i  # the generator of its random numbers
        self.best_order = order
        # The scores of the order at which the search is now, and of the best one.
        self.totals = np.full(2, -np.inf)
        self.grown = -np.inf  # the best score when families were last grown for it
        self.grown_for: dict[int, GrownFor] = {}


class OrderSearch:
    """Searches for an order of columns with listed families.

    `growth`: what the lists may be extended by; None if they have all families
    `first`: the first columns, ``0``, ..., ``first - 1``, have no parents and precede all others
    `deadline`: when to end, by ``time.monotonic()``
    `ends_on_interrupt`: whether Ctrl-C ends the search, as the deadline does, instead of raising
    `report`: called now and then with the best score so far, the number of perturbations, and the
        share of the search that is done
    `given`: an order of the columns from which to start, and from no other

    `is_interrupted`: whether Ctrl-C ended the search
    `found`: the best order when the search ended last

    Kernels return after a few tenths of a second, and then the clock and Ctrl-C are heeded. All
    loops about them end without a limit in time too: they count, or go on only while the best score
    rises by more than `least`, and there are finitely many orders and families.
    """

    def __init__(
        self,
        lists: FamilyLists,
        growth: FamilyGrowth | None,
        first: int,
        least: float,
        seed: int,
        n_jobs: int | None,
        deadline: float,
        ends_on_interrupt: bool,
        report: Report,
        given: list[int] | None = None,
    ) -> None:
        self._lists, self._growth = lists, growth
        self._first, self._limits = first, OrderLimits(first, least)
        self._n_jobs, self._report = n_jobs, report
        self.is_interrupted = False
        self._began = time.monotonic()
        self._deadline, self._ends_on_interrupt = deadline, ends_on_interrupt
        m = lists.m
        generator = np.random.default_rng(seed)
        n_starts = 1
        if given is None and m - first > 1:
            n_starts = next(n for most, n in _STARTS if m - first <= most)
        self._starts = [_Start(i, np.arange(m)) for i in range(n_starts)]
        self._all_starts = self._starts
        # The columns with which each start begins; the first one begins as the table suggests.
        roots = generator.integers(first, m, size=(n_starts, 1))
        self._given = [np.array((given or [])[first:], dtype=np.int64), *roots[1:]]
        self._placements: dict[int, PlacementSearch] = {}
        self._random = generator.integers(0, 2**64, size=n_starts, dtype=np.uint64)
        self._n_iter, self._lock = 0, threading.Lock()
        self._arrays = lists.arrays()
        self._placed: dict[int, Placed] = {}
        self._top = -math.inf  # the best score of the first phase

    def run(self) -> FoundOrder:
        """Search from several orders."""
        return self._heeding_interrupts(self._search)

    def run_from(self, order: list[int]) -> FoundOrder:
        """Go on from another order that is better than the one that was found."""
        self._arrays = self._lists.arrays()
        start = _Start(0, np.array(order))
        start.totals[:] = self._score(start.best_order)
        self._starts = [start]

        def go_on(threads: Threads) -> None:
            self._climb(threads)
            self._settle(threads)

        return self._heeding_interrupts(go_on)

    def _found(self) -> FoundOrder:
        """Return the best order so far."""
        chosen = self._state(self._best.best_order).chosen
        return FoundOrder(
            [self._lists.parents(self._arrays, x, family) for x, family in enumerate(chosen)],
            float(self._arrays.scores[chosen].sum()),
            self._n_iter,
            bool(np.any(self._arrays.scores[chosen] == self._lists.missing)),
            [float(start.totals[1]) for start in self._all_starts],
        )

    def is_over(self, share: float = 1.0) -> bool:
        """Whether this share of the time is over, or Ctrl-C ended the search."""
        limit = self._deadline - self._began
        return self.is_interrupted or time.monotonic() >= self._began + share * limit

    def interrupt(self) -> None:
        """End the search."""
        self.is_interrupted = True

    def _heeding_interrupts(self, search: Callable[[Threads], None]) -> FoundOrder:
        try:
            with Threads(self._n_jobs) as threads:
                try:
                    search(threads)
                except KeyboardInterrupt:
                    self.interrupt()  # threads at work are waited for, and look at it
                    raise
        except KeyboardInterrupt:
            if not self._ends_on_interrupt:
                raise
            self._arrays = self._lists.arrays()  # which may have been about to be replaced
            self._list_placed()
            if math.isinf(self._best.totals[1]):
                raise
        self.found = self._found()
        del self._arrays  # 300 MB for 5,000 columns
        return self.found

    def _search(self, threads: Threads) -> None:
        if self._growth is None or not self._growth.has_placement:
            compile_kernels([order_greedily])
            if not all([*threads.map(self._order_greedily, [(x,) for x in self._starts])]):
                return
        else:
            self._place(self._growth, threads)
            if not self.is_over():
                movable = np.arange(self._first, self._lists.m)
                self._growth.list_first(self._lists, movable, threads, lambda: self.is_interrupted)
            self._list_placed()
        self._climb(threads)
        while self._grow(threads, self._starts) > _MUCH_A_COLUMN * self._lists.m:
            pass
        before = -math.inf
        while self._best.totals[1] > before + _MUCH_A_COLUMN * self._lists.m:
            before = self._best.totals[1]
            self._iterate(threads)
            self._settle(threads)

    # The first phase

    def _place(self, growth: FamilyGrowth, threads: Threads) -> None:
        """Search from each start with families that are refitted on the fly."""

        def place(start: _Start) -> None:
            # The first start has a network, however little time there is.
            if start.i > 0 and self.is_over(_SHARE_OF_PLACEMENT):
                return
            placement = self._placements[start.i] = growth.placement(self._first)
            placement.begin(self._given[start.i], lambda: self.is_interrupted)
            placement.climb(self._random, start.i, lambda: self.is_over(_SHARE_OF_PLACEMENT))
            self._perturb_placed(placement, start.i)
            # Ctrl-C may have come before all columns were placed.
            if placement.best.score > -math.inf:
                self._placed[start.i] = placement.best
            del self._placements[start.i]  # its memory is not needed any more

        for _ in threads.map(place, [(start,) for start in self._starts]):
            pass

    def _perturb_placed(self, placement: PlacementSearch, i: int) -> None:
        m, n, last = self._lists.m - self._first, 0, 0
        # Further starts only tell whether the first one is near its best network.
        is_new = i == 0 and len(self._given[0]) < m
        most = min(4 * m, _MOST_PLACED)
        if not is_new:
            most = most // 8 if m <= _MOST_TO_GO_ON else 0
        top = placement.best.score
        while m > 1 and n < most and n - last < max(_LEAST_PLACED, m // 2):
            if self.is_over(_SHARE_OF_PLACEMENT):
                return
            done = placement.perturb(self._random, i)
            n += done
            with self._lock:
                self._n_iter += done
                self._top = max(self._top, placement.best.score)
                self._report(self._top, self._n_iter, 0.0)
            if placement.best.score > top + self._limits.least:
                top, last = placement.best.score, n

    def _list_placed(self) -> None:
        """List the families of the first phase, and go on from its orders."""
        growth = self._growth
        begun = [*self._placements.items()]
        placed = self._placed | {i: each.best for i, each in begun if each.best.score > -math.inf}
        if growth is None or not placed:
            return
        has_subsets = not self.is_over()
        families = {(x, *sorted(p)) for each in placed.values() for x, p in enumerate(each.parents)}
        for x, *parents in sorted(families):
            if x >= self._first:
                growth.list_family(self._lists, x, parents, has_subsets=has_subsets)
        self._arrays = self._lists.arrays(self._arrays)
        starts: list[_Start] = []
        every = []
        for i in sorted(placed):
            start = _Start(i, placed[i].order)
            start.totals[:] = total = self._score(start.best_order)
            for other in starts:  # the same network goes on once
                if abs(other.totals[1] - total) <= self._limits.least:
                    start = other
            if start.i == i:
                starts.append(start)
            every.append(start)
        self._starts, self._all_starts = starts, every
        if self._lists.m - self._first > _MOST_TO_GO_ON:
            self._starts = [self._best]
        self._placements.clear()
        self._placed.clear()

    # The second phase

    def _order_greedily(self, start: _Start) -> bool:
        """Order columns by what they lose; return whether all can have a listed family."""
        given = self._given[start.i]
        if len(given) == self._lists.m - self._first:
            start.best_order[self._first :] = given
        state = self._state(start.best_order)
        is_possible = bool((self._arrays.scores[state.chosen] > self._lists.missing).all())
        if not (is_possible and len(given) > 1):
            is_possible = order_greedily(
                *(self._arrays, state, self._first, self._lists.missing),
                *(start.i > 0, self._random, start.i),
            )
        if is_possible:
            start.best_order, start.totals[:] = state.order, self._score(state.order)
        return is_possible

    @property
    def _best(self) -> _Start:
        return max(self._starts, key=lambda start: start.totals[1])

    def _climb(self, threads: Threads) -> bool:
        """Climb from the best order of each start; return whether one became better."""

        def climb_from(start: _Start) -> bool:
            state, m = self._state(start.best_order), self._lists.m
            top, total, before = start.totals[1], self._total(state), -math.inf
            while total > before + self._limits.least and not self.is_over():
                before = total
                state.marked[0], state.is_marked[:] = m, True
                state.marked[1:] = np.arange(m)
                while state.marked[0] > 0 and not self.is_over():
                    self._run(start, state, state, 0)
                total = float(start.totals[0])
            return bool(start.totals[1] > top + self._limits.least)

        return any([*threads.map(climb_from, [(start,) for start in self._starts])])

    def _grow(self, threads: Threads, starts: Sequence[_Start]) -> float:
        """Grow families for starts that have improved, and climb; return what the best gains."""
        if self._growth is None or self.is_over(1 - _LAST_SHARE):
            return 0.0
        n, before = 0, self._best.totals[1]
        for start in starts:
            if start.totals[1] > start.grown + self._limits.least:
                start.grown = start.totals[1]
                n += self._grow_for(self._growth, start, threads)
        if n > 0:
            self._arrays = self._lists.arrays(self._arrays)
            self._climb(threads)
        return float(self._best.totals[1] - before)

    def _iterate(self, threads: Threads) -> None:
        """Perturb and climb until that has not helped for long."""
        m = self._lists.m - self._first
        if m < 2:
            return
        # The best start counts twice if another one ended the first phase with the same network.
        n_starts = max(len(self._starts), min(2, self._all_starts.count(self._best)))
        patience = max(_LEAST_PATIENCE, _PATIENCE * m // n_starts)
        most, done, last = min(max(_MOST * m, patience), _MOST_IN_ALL), 0, 0
        top = self._best.totals[1]
        while done < most and done - last < max(patience, last // 2):
            if self.is_over(1 - _LAST_SHARE):
                break
            # From here to the next growth the lists stay the same.
            states = [self._state(start.best_order) for start in self._starts]
            for start in self._starts:
                start.totals[0] = start.totals[1]
            for _ in range(max(1, m // _COLUMNS_A_STEP)):
                if self.is_over(1 - _LAST_SHARE):
                    break
                arguments = [*zip(self._starts, states, strict=True)]
                for _ in threads.map(self._perturb, arguments):
                    pass
                done += _STEP
                self._n_iter += _STEP * len(self._starts)
                share = max(done / most, (done - last) / max(patience, last // 2))
                self._report(self._best.totals[1], self._n_iter, share)
            self._grow(threads, self._starts if m <= _MOST_TO_GROW_ALL else [self._best])
            if self._best.totals[1] > top + self._limits.least:
                top, last = self._best.totals[1], done

    def _perturb(self, start: _Start, state: State) -> None:
        self._run(start, state, state_of(state.order, self._arrays), _STEP)

    def _run(self, start: _Start, state: State, kept: State, n: int) -> None:
        best = Best(kept, start.best_order, start.totals)
        most = max(_MOST_TRIES * max(n, 1), self._lists.m)
        arguments = self._arrays, state, best, self._limits, n, most, self._random, start.i
        climb_and_perturb(*arguments)

    def _state(self, order: Integers) -> State:
        state = state_of(order, self._arrays)
        choose_families(self._arrays, state)
        return state

    def _score(self, order: Integers) -> float:
        return self._total(self._state(order))

    def _total(self, state: State) -> float:
        return float(self._arrays.scores[state.chosen].sum())

    def _settle(self, threads: Threads) -> None:
        """Grow families for the best order until none is missing."""
        self._starts = [self._best]
        start, n_in_vain = self._starts[0], 0
        while self._growth is not None and n_in_vain < _MOST_IN_VAIN and not self.is_over():
            is_last = not start.grown_for
            n = self._grow_for(self._growth, start, threads)
            self._arrays = self._lists.arrays(self._arrays)
            if n > 0:
                n_in_vain = 0 if self._climb(threads) else n_in_vain + 1
            elif is_last:
                break
            else:  # in the end all children are grown once more
                start.grown_for.clear()

    def _grow_for(self, growth: FamilyGrowth, start: _Start, threads: Threads) -> int:
        arguments = self._lists, self._arrays, start.best_order, threads, self.is_over
        return growth.grow(*arguments, start.grown_for)
