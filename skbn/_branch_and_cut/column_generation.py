"""Column generation: a bound over all parent sets, and the families of any better network.

The relaxation has few families of each child. After each solution, further ones are priced: first
by descents, now and then by a search through all parent sets, whose least reduced costs make a
bound for all networks. Once few families are within the gap of it, they are listed: a better
network has no other ones, and branch and cut ends on the list.
"""

import itertools
import math
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from skbn._branch_and_cut.determinant_cuts import Correlations, DeterminantSeparation
from skbn._branch_and_cut.pricing import (
    ChildSearch,
    OutOfTimeError,
    PricedFamilies,
    TooManyFamiliesError,
    WeighedCuts,
    discounts_of,
    price_all,
    price_near,
)
from skbn._branch_and_cut.pricing_problem import Child
from skbn._branch_and_cut.proof import Cut, FamilyCosts
from skbn._branch_and_cut.relaxation import Pricing, Relaxation
from skbn._branch_and_cut.separation import (
    KeptCuts,
    Point,
    clusters_of_cycles,
    cuts_towards,
)
from skbn._core.arrays import F1, Floats, Integers
from skbn._core.exact_sums import lower_sum, upper_sum
from skbn._core.resources import ENDED_BY_TIME, ENDED_BY_USER, Threads

Parents = tuple[int, ...]

# All subsets of up to this many parents of a good family are listed from the beginning.
_MOST_OF_SUBSETS = 8
# How many new families of a child, at most, one descent and one search list.
_NEW_OF_DESCENT, _NEW_OF_SEARCH = 10, 20
_LISTED_STARTS = 6
_LEAST_GAIN = 1e-6
_MOST_DESCENTS = 30
# The descents end once what they may still find is this little beside the gap of the list: the
# first share before a search through all parent sets, the second before cuts.
_LEAST_SHARE, _LEAST_SHARE_BEFORE_CUTS, _LEAST_GAP = 0.1, 0.3, 0.05
# Columns of windows, rounds by which to tell that the bound stalls, and the share of the gap that
# these are to close.
_FIRST_WIDTH, _LAST_WIDTH = 8, 13
_ROUNDS_TO_JUDGE, _LEAST_SHARE_OF_ROUNDS = 6, 0.15
# Families whose reduced costs exceed the least one of their child by more than this share of the
# gap, and by more than as many nats, are forgotten once they are as many of all: the linear program
# stays small.
_SHARE_OF_DEAR, _LEAST_DEAR, _MOST_DEAR = 0.025, 1.0, 0.3
# Determinant cuts, which take time in pricing, are sought once as many rounds of windows have left
# more than this share of the gap, and more than as many nats.
_ROUNDS_OF_WINDOWS, _SHARE_OF_WINDOWS, _LEAST_OF_WINDOWS = 3, 0.4, 1.0
# The least violation of a cut: at first, in the end, and what it is divided by in between.
_LEAST_VIOLATION, _SMALLEST_VIOLATION, _STEP_OF_VIOLATION = 0.05, 0.002, 3.0
_ACCEPTED_SHARE = 0.8
# Once windows of the last width stall at the smallest violation, they widen up to the first number
# while time is left. Each further column doubles a window's time and memory. For each width, the
# least violation begins with the second number.
_WIDEST, _LEAST_VIOLATION_OF_WIDE = 15, 0.02
_AGE, _MOST_KEPT_ADDED, _MOST_BYTES_KEPT = 3, 200, 1 << 28
# All parent sets are searched once in this many rounds, or in more: a search may take as long as
# this many nodes for each column and round.
_ROUNDS_TO_SEARCH, _NODES_OF_ROUND = 8, 400
# The most that the check of a bound takes, as a multiple of the searches that it follows from. The
# last searches begin when the second multiple of the time of the one before is left: each adds
# families that descents missed, and the bound of the next one is better.
_TIMES_OF_CHECK, _TIMES_OF_SEARCH = 1.5, 6.0
# The most that a search takes of the time that is left: without cuts, and with cuts. If one did not
# end in that, the last one takes the last share of all time.
_SHARE_OF_FIRST, _SHARE_OF_SEARCH, _SHARE_OF_LAST = 0.05, 0.2, 0.5
# The most families that are listed, the share to which the gap shrinks before that is tried again,
# and the most nodes that it may take, as a multiple of those of the search before.
_MOST_LISTED, _SHRINKAGE, _MOST_TIMES_NODES = 20_000, 0.6, 20
# Families are listed up to this beyond the gap, in nats, and up to this many times the rounding of
# a family, the second for each child: rounding decides about none that matters.
_MARGIN, _TIMES_OF_ROUNDING = 1e-5, (40, 4)
# More rounds than this without any cut end in a search.
_ROUNDS_WITHOUT_CUTS = 2

ENDED_BY_MEMORY = (
    "Families and cuts took all memory that they may take: raise max_memory if there is more."
)
ENDED_BY_BOUND = "Nothing more raised the bound of the search."


class Bound(NamedTuple):
    """What multipliers of cuts prove of all networks."""

    cuts: list[Cut]
    multipliers: F1  # (n_cuts,)
    least: F1  # (m,): the least reduced cost of each child, over all parent sets
    bound: float  # no network costs less


class Lists(NamedTuple):
    """Families of all children, cheapest first.

    Parameters
    ----------
    families : FamilyCosts
        Their parents are those among the children.
    parents : list of tuple of int
        All parents of each family.
    """

    families: FamilyCosts
    parents: list[Parents]

    def labels(self) -> list[tuple[int, Parents]]:
        """Return child and parents of each family."""
        return list(zip(self.families.child.tolist(), self.parents, strict=True))

    def by_child(self) -> list[dict[Parents, float]]:
        """Return what the families of each child cost."""
        pairs = list(zip(self.parents, self.families.cost.tolist(), strict=True))
        return [dict(pairs[a:b]) for a, b in itertools.pairwise(self.families.start.tolist())]

    def chosen(self, network: Sequence[Parents]) -> Integers:
        """Return the numbers of a network's families."""
        start = self.families.start
        numbers = [self.parents.index(each, start[x]) for x, each in enumerate(network)]
        return np.array(numbers, dtype=np.int64)


class Generated(NamedTuple):
    """What column generation ended with.

    Parameters
    ----------
    bound : Bound
    network : list of tuple of int
        The parents of each child in the best network found.
    cost : float
        What it costs.
    lists : Lists or None
        All families that a cheaper network may have, dominated ones left out, and those of the
        network; None if there are too many, or there was no time to list them.
    why_ended : str
        Why it ended without lists, in a sentence; empty with lists.
    """

    bound: Bound
    network: list[Parents]
    cost: float
    lists: Lists | None
    why_ended: str


def margin_of(rounding: float, m: int) -> float:
    """Return how far beyond the gap families of m children are listed, in nats."""
    times, times_of_child = _TIMES_OF_ROUNDING
    return _MARGIN + (times + times_of_child * m) * rounding


def lists_of(known: Sequence[dict[Parents, float]], m: int) -> Lists:
    """Return families as branch and cut takes them."""
    start, own = [0], []
    cost: list[float] = []
    parents: list[Parents] = []
    for families in known:
        for each, value in sorted(families.items(), key=lambda item: (item[1], item[0])):
            cost.append(value)
            parents.append(each)
            own.append([p for p in each if p < m])
        start.append(len(cost))
    width = max(1, max(map(len, own)))
    rows = np.full((len(own), width), -1, dtype=np.int16)
    for i, members in enumerate(own):
        rows[i, : len(members)] = members
    child = np.repeat(np.arange(len(known), dtype=np.int16), np.diff(start))
    starts = np.array(start, dtype=np.int64)
    return Lists(FamilyCosts(starts, np.array(cost), rows, child, np.zeros(len(cost))), parents)


class ColumnGeneration:
    """The root of branch and cut over all parent sets.

    Parameters
    ----------
    children : sequence of Child
    network : sequence of tuple of int
        The parents of each child in a network that costs little. It must cost 0: the children's
        offsets are the costs of its families.
    tolerance : float
        In nats.
    deadline : float
        By ``time.monotonic()``.
    seed : int
    threads : Threads
    tell : callable, optional
        Called with the cost of the best network, the bound, and a note.
    most_bytes : int
        The most memory of families and cuts.
    most_gap : float
        The gap with which families are listed at the earliest, in nats.
    rounding : float
        By how much rounding may put the cost of a family off, in nats.
    correlations : Correlations, optional
        Those of the children's columns, from which determinant cuts are sought.
    gives_up : bool
        Whether to end at once where even a search without cuts takes too long.
    cuts : sequence of Cut
        Those to begin with.
    is_brief : bool
        Whether to end once the bound stalls.

    Attributes
    ----------
    margin : float
        Families are listed up to this beyond the gap, in nats.
    gave_up : bool
        Whether it did.
    """

    def __init__(
        self,
        children: Sequence[Child],
        network: Sequence[Parents],
        tolerance: float,
        deadline: float,
        seed: int,
        threads: Threads,
        tell: Callable[[float, float, str], None] | None = None,
        most_bytes: int = 1 << 62,
        most_gap: float = math.inf,
        rounding: float = 0.0,
        correlations: Correlations | None = None,
        *,
        gives_up: bool = False,
        cuts: Sequence[Cut] = (),
        is_brief: bool = False,
    ) -> None:
        self._gives_up, self._is_brief, self.gave_up = gives_up, is_brief, False
        self._separation = DeterminantSeparation(correlations, network)
        # Whether determinant cuts are sought, and the gap of the list before they were.
        self._needs_determinants, self._gap_of_windows = False, math.inf
        self._children = children
        self._m = len(children)
        self.margin = margin_of(rounding, self._m)
        self._network = list(network)
        self._cost = 0.0
        self._tolerance, self._deadline = tolerance, deadline
        self._most_gap = most_gap
        self._rng = np.random.default_rng(seed)
        self._threads = threads
        self._tell = tell
        of_kept = min(_MOST_BYTES_KEPT, most_bytes // 4)
        self._kept = KeptCuts(self._m, of_kept)
        self._kept.add(cuts)
        self._width, self._least = _FIRST_WIDTH, _LEAST_VIOLATION
        self._most_bytes, self._is_full = most_bytes - of_kept, False
        least = np.array([child.least_cost() - self.margin for child in children])
        self._best = Bound([], np.empty(0), least, lower_sum(least.tolist()))
        self._n_nodes = [0] * self._m
        # How long the last search through all parent sets took, whether it ended by itself, and the
        # rounds since then.
        self._seconds_of_search, self._is_complete, self._n_rounds = 0.0, True, 0
        # How long the searches take again that the last bound, and the best one, follow from.
        self._seconds_of_check = self._seconds_of_best = 0.0
        now = time.monotonic()
        self._time_of_last = max(now, deadline - _SHARE_OF_LAST * (deadline - now))
        # The highest bound of lists, about, what it follows from, and each child's least.
        self._highest: tuple[float, Pricing, Floats] | None = None

    def is_over(self, of_check: float = 0.0) -> bool:
        """Whether to end, with time for the check of the best bound or for a longer one."""
        of_check = _TIMES_OF_CHECK * max(self._seconds_of_best, of_check)
        return self._is_full or time.monotonic() + of_check >= self._deadline

    @property
    def _is_last_due(self) -> bool:
        """Whether what is left of the time is for a search that may not end by itself."""
        return not self._is_complete and time.monotonic() >= self._time_of_last

    def run(self, *, ends_on_interrupt: bool = False) -> Generated:
        """Return a bound over all parent sets, and the families within the gap of it.

        Parameters
        ----------
        ends_on_interrupt : bool
            Whether Ctrl-C ends the search as the deadline does.
        """
        lists, why_ended = None, ENDED_BY_TIME
        try:
            self._begin()
            self.gave_up = self._gives_up and not self._is_complete
            if self.gave_up:
                raise OutOfTimeError
            lists = self._generate()
            if self._is_full:
                why_ended = ENDED_BY_MEMORY
            elif not self.is_over():
                why_ended = "" if lists else ENDED_BY_BOUND
        except OutOfTimeError:
            pass
        except KeyboardInterrupt:
            if not ends_on_interrupt:
                raise
            why_ended = ENDED_BY_USER
        return Generated(self._best, self._network, self._cost, lists, why_ended)

    # The first families

    def _begin(self) -> None:
        """List the first families, and make the relaxation."""
        none = WeighedCuts.of([], np.empty(0), self._m)

        def priced_near(x: int) -> PricedFamilies:
            if self.is_over():
                raise OutOfTimeError
            discounts = discounts_of(self._children[x], x, none)
            return price_near(self._children[x], discounts, [self._network[x]])

        near = list(self._threads.map(priced_near, [(x,) for x in range(self._m)]))
        reach = np.array([each.least for each in near]) + self.margin
        found = self._search(none, reach, _SHARE_OF_FIRST)
        self._keep_bound(none, found)
        if self.is_over():
            raise OutOfTimeError
        self._known: list[dict[Parents, float]] = [{} for _ in self._children]
        for x, (child, priced) in enumerate(zip(self._children, found, strict=True)):
            priced = priced if priced.parents else near[x]
            required = child.candidates[: child.costs.n_required].tolist()
            self._offer(x, tuple(sorted(required)))
            for each, cost in zip(priced.parents, priced.cost.tolist(), strict=True):
                self._known[x].setdefault(each, cost)
            best = [priced.parents[i] for i in np.argsort(priced.reduced)[:1]]
            for parents in (*best, self._network[x]):
                self._offer(x, parents)
                free = [p for p in parents if p not in required][:_MOST_OF_SUBSETS]
                for size in range(len(free)):
                    for some in itertools.combinations(free, size):
                        self._offer(x, tuple(sorted([*required, *some])))
            for p in child.candidates[child.costs.n_required :].tolist():
                self._offer(x, tuple(sorted([*required, p])))
        self._lists = lists_of(self._known, self._m)
        self._relaxation = Relaxation(self._lists.families, self._lists.chosen(self._network))

    def _offer(self, x: int, parents: Parents) -> None:
        """List a family, unless it is listed or has too many parents."""
        if parents not in self._known[x]:
            cost = self._children[x].cost_of(parents)
            if math.isfinite(cost):
                self._known[x][parents] = cost

    # The rounds

    def _generate(self) -> Lists | None:
        """Add cuts and families until the families within the gap can be listed."""
        bounds: list[float] = []
        gaps: list[float] = []
        gap_of_listing, is_due, n_empty = math.inf, False, 0
        while not self.is_over():
            self._n_rounds += 1
            is_due = is_due or self._is_search_due() or n_empty > _ROUNDS_WITHOUT_CUTS
            share = _LEAST_SHARE if is_due else _LEAST_SHARE_BEFORE_CUTS
            pricing, gap, gap_of_all = self._descend(share)
            stalls = len(bounds) > _ROUNDS_TO_JUDGE and (
                bounds[-1] - bounds[-1 - _ROUNDS_TO_JUDGE] < _LEAST_SHARE_OF_ROUNDS * gap
            )
            gaps.append(gap)
            is_slow = len(gaps) > _ROUNDS_OF_WINDOWS and (
                gap > max(_SHARE_OF_WINDOWS * gaps[-1 - _ROUNDS_OF_WINDOWS], _LEAST_OF_WINDOWS)
            )
            if is_slow and not self._needs_determinants:
                self._needs_determinants, self._gap_of_windows = True, gap
            is_due = is_due or gap <= self._tolerance
            is_last = self._is_last_due
            if is_last or (is_due and gap_of_all <= (1 + _LEAST_SHARE) * gap + _LEAST_GAP):
                is_due = False
                n_new = self._search_all(pricing, is_last=is_last)
                if not self._is_complete:
                    self._drop_determinants()
                    continue
                gap_now = self._cost - self._best.bound
                most = max(_SHRINKAGE * gap_of_listing, self._tolerance / 2)
                if gap_now <= min(most, self._most_gap):
                    gap_of_listing = gap_now
                    if (lists := self.families_within()) is not None:
                        return lists
                if n_new:
                    continue
                if n_empty > _ROUNDS_WITHOUT_CUTS:
                    break
            cuts = [] if self.is_over() else self._violated()
            self._forget_dear(pricing)
            n_empty = 0 if cuts else n_empty + 1
            bounds.append(pricing.bound)
            if stalls or not cuts:
                bounds, n_empty = [], self._seek_more(n_empty)
            self._relaxation.add_cuts(cuts)
        return None

    def _drop_determinants(self) -> None:
        """Go on without determinant cuts if pricing with them takes too long to pay."""
        if self._cost - self._best.bound > self._gap_of_windows:
            self._separation = DeterminantSeparation(None, [])
            self._relaxation.drop_determinants()
            self._highest = None

    def _seek_more(self, n_empty: int) -> int:
        """Widen the windows or, if the widest have no cuts, take smaller violations.

        It takes and returns the number of rounds without cuts: 0 if either was possible, and enough
        to end if the bound should not stall.
        """
        if self._is_brief:
            return _ROUNDS_WITHOUT_CUTS + 1
        if self._width < _LAST_WIDTH:
            self._width += 1
        elif self._least < _SMALLEST_VIOLATION and self._width < _WIDEST:
            self._width, self._least = self._width + 1, _LEAST_VIOLATION_OF_WIDE
        elif not n_empty or self._least < _SMALLEST_VIOLATION:
            return n_empty
        else:
            self._least /= _STEP_OF_VIOLATION
        return 0

    def _is_search_due(self) -> bool:
        """Whether it is time to search all parent sets again."""
        if self._deadline - time.monotonic() < _TIMES_OF_SEARCH * self._seconds_of_search:
            return True
        n_rounds = sum(self._n_nodes) / (_NODES_OF_ROUND * self._m)
        return self._n_rounds >= max(_ROUNDS_TO_SEARCH, n_rounds)

    def _descend(self, share: float) -> tuple[Pricing, float, float]:
        """Solve and add families by descents, until these find little: this share of the gap.

        Returns
        -------
        pricing : Pricing
        gap, gap_of_all : float
            Those of the list, and of the families found as well: an estimate.
        """
        for _ in range(_MOST_DESCENTS):
            pricing = self._solve()
            found = self._near(pricing)
            gap = self._cost - pricing.bound
            missing = sum(max(0.0, least - each.least) for least, each in found)
            if self._highest is None or pricing.bound - missing > self._highest[0]:
                least = np.array([min(own, each.least) for own, each in found])
                self._highest = pricing.bound - missing, pricing, least
            n_new = self._add(found, _NEW_OF_DESCENT)
            n_families = f"{self._lists.families.cost.size:,} families"
            self._report(f"{n_families}, with which it would be {gap + missing:.3g}")
            if not n_new or missing < share * gap + _LEAST_GAP:
                break
            if self.is_over() or self._is_last_due:
                break
        if n_new:
            pricing = self._solve()
            gap = self._cost - pricing.bound
        return pricing, gap, gap + missing

    def _solve(self) -> Pricing:
        relaxation = self._relaxation
        relaxation.deadline = self._deadline if self._is_complete else self._time_of_last
        pricing = relaxation.solve_for_all(
            np.ones(self._lists.families.cost.size, dtype=bool), math.inf
        )
        self._try(relaxation.point())
        self._is_full = relaxation.n_bytes > self._most_bytes
        return pricing

    def _near(self, pricing: Pricing) -> list[tuple[float, PricedFamilies]]:
        """Return each child's least reduced cost in the list, and families of descents."""
        relaxation, start = self._relaxation, self._lists.families.start
        weighed = WeighedCuts(relaxation.cuts, relaxation.arrays, relaxation.multipliers)

        def of_child(x: int) -> tuple[float, PricedFamilies]:
            child, own = self._children[x], slice(start[x], start[x + 1])
            reduced = pricing.reduced[own]
            best = np.argsort(reduced, kind="stable")[:_LISTED_STARTS]
            listed = [self._lists.parents[start[x] + i] for i in best]
            discounts = discounts_of(child, x, weighed)
            return float(reduced[best[0]]), price_near(child, discounts, listed)

        return list(self._threads.map(of_child, [(x,) for x in range(self._m)]))

    def _add(self, found: Sequence[tuple[float, PricedFamilies]], most: int) -> int:
        """List families that are cheaper than the listed ones, by reduced costs."""
        n_new = 0
        for x, (least, priced) in enumerate(found):
            n_of_child = 0
            for i in np.argsort(priced.reduced, kind="stable"):
                if priced.reduced[i] >= least - _LEAST_GAIN or n_of_child == most:
                    break
                if priced.parents[i] not in self._known[x]:
                    self._known[x][priced.parents[i]] = float(priced.cost[i])
                    n_of_child += 1
            n_new += n_of_child
        if n_new:
            self._grow()
        return n_new

    def _grow(self) -> None:
        """Give the relaxation all families that are known."""
        old, lists = self._lists, lists_of(self._known, self._m)
        number = {key: i for i, key in enumerate(lists.labels())}
        numbers = np.array([number[key] for key in old.labels()], dtype=np.int64)
        self._lists = lists
        self._relaxation.replace_families(lists.families, numbers)

    def _forget_dear(self, pricing: Pricing) -> None:
        """Forget the families that the linear program is unlikely to need, if they are many."""
        lists = self._lists
        kept = pricing.excess <= _SHARE_OF_DEAR * (self._cost - pricing.bound) + _LEAST_DEAR
        kept[lists.chosen(self._network)] = True
        if kept.mean() < 1 - _MOST_DEAR:
            self._relaxation.keep(kept)
            families, parents = self._relaxation.families, itertools.compress(lists.parents, kept)
            self._lists = Lists(families, list(parents))
            self._known = self._lists.by_child()

    # All parent sets

    def _search_all(self, pricing: Pricing, *, is_last: bool) -> int:
        """Search all parent sets; return how many families are new.

        A search that may be the last one takes the multipliers of the highest bound.
        """
        if is_last:
            assert self._highest is not None
            (_, pricing, least), share = self._highest, math.inf
        else:
            least = np.minimum.reduceat(pricing.reduced, self._lists.families.start[:-1])
            share = _SHARE_OF_SEARCH
        weighed = WeighedCuts.of(pricing.cuts, pricing.multipliers, self._m)
        found = self._search(weighed, least - _LEAST_GAIN / 10, share)
        self._keep_bound(weighed, found)
        return self._add(list(zip(least.tolist(), found, strict=True)), _NEW_OF_SEARCH)

    def _search(self, weighed: WeighedCuts, reach: Floats, share: float) -> list[PricedFamilies]:
        """Search all parent sets of each child, with a share of the time that is left.

        All children take their turns, with more and more nodes: the hardest ones are left at last.
        """
        began = time.monotonic()
        until = self._deadline if share > 1 else began + share * (self._deadline - began)
        searches = [
            ChildSearch(child, discounts_of(child, x, weighed), reach[x], self._n_nodes[x])
            for x, child in enumerate(self._children)
        ]

        def seconds_of_check() -> float:
            seconds = [each.seconds for each in searches]
            return max(math.fsum(seconds) / self._threads.n_threads, max(seconds))

        def is_over() -> bool:
            return time.monotonic() >= until or self.is_over(seconds_of_check())

        left = searches
        while left and not is_over():
            list(self._threads.map(ChildSearch.go_on, [(each, is_over) for each in left]))
            left = [each for each in left if not each.is_done]
            n_done = f"{self._m - len(left)} of {self._m} columns"
            self._report(f"all parent sets of {n_done} tried")
        self._is_complete = not left
        self._seconds_of_check = seconds_of_check()
        self._n_nodes = [each.found.n_nodes for each in searches]
        self._seconds_of_search, self._n_rounds = time.monotonic() - began, 0
        least = [each.least - (0.0 if each.is_done else self.margin) for each in searches]
        return [each.found._replace(least=own) for each, own in zip(searches, least, strict=True)]

    def _keep_bound(self, weighed: WeighedCuts, found: Sequence[PricedFamilies]) -> None:
        cuts, multipliers = list(weighed.cuts), weighed.multipliers
        least = np.array([each.least for each in found])
        terms = [*least.tolist(), *(multipliers * [cut.bound for cut in cuts]).tolist()]
        bound = lower_sum(terms)
        if bound > self._best.bound:
            self._best = Bound(cuts, multipliers, least, bound)
            self._seconds_of_best = self._seconds_of_check
        self._report(f"{sum(self._n_nodes):,} sets of parents tried")

    def families_within(self, beyond: float = 0.0, *, with_dominated: bool = False) -> Lists | None:
        """Return all families that networks may have that cost this much more than the best one.

        None if they are too many.
        """
        best = self._best
        slack = max(self._cost - best.bound, 0.0) + beyond + self.margin
        # Rounding must not decide which family dominates another.
        tie = 0.0 if self._children[0].exact is None else self.margin
        weighed = WeighedCuts.of(best.cuts, best.multipliers, self._m)

        def of_child(x: int) -> PricedFamilies:
            child, n_nodes = self._children[x], _MOST_TIMES_NODES * self._n_nodes[x] + _MOST_LISTED
            discounts = discounts_of(child, x, weighed)
            reach = best.least[x] + slack
            rest = _MOST_LISTED, n_nodes, with_dominated, tie
            return price_all(child, discounts, reach, slack, is_over, *rest)

        def is_over() -> bool:
            return self.is_over(time.monotonic() - began)

        began = time.monotonic()
        known: list[dict[Parents, float]] = []
        n = 0
        try:
            for x, found in enumerate(self._threads.map(of_child, [(x,) for x in range(self._m)])):
                n += len(found.parents)
                if n > _MOST_LISTED:
                    return None
                own, child = (
                    dict(zip(found.parents, found.cost.tolist(), strict=True)),
                    self._children[x],
                )
                own.setdefault(self._network[x], child.cost_of(self._network[x]))
                known.append(
                    own if child.exact is None else {p: child.exact_cost_of(p) for p in own}
                )
        except TooManyFamiliesError:
            return None
        return lists_of(known, self._m)

    # Cuts

    def _violated(self) -> list[Cut]:
        """Return cuts that the solution violates."""
        self._kept.add(self._relaxation.drop_idle_cuts(_AGE))
        point = self._relaxation.point()
        network = self._lists.families.parents[self._lists.chosen(self._network)]
        cuts = self._kept.violated(point, self._least, _MOST_KEPT_ADDED)
        if self._needs_determinants or not self._is_complete:
            own = self._relaxation.cuts, self._relaxation.multipliers
            cuts += self._separation.violated(point, *own)
        rest = _ACCEPTED_SHARE, self._rng, self._threads, self._relaxation.deadline
        return cuts + cuts_towards(network, point, self._width, self._least, *rest)

    def _try(self, point: Point) -> None:
        """Keep the solution's network if it is one, and the best."""
        chosen = self._relaxation.network(point)
        if chosen is not None and not clusters_of_cycles(point):
            network, cost = [self._lists.parents[f] for f in chosen], 0.0
            if self._children[0].exact is None:
                cost = self._lists.families.total(chosen)
            elif network != self._network:
                pairs = zip(self._children, network, strict=True)
                cost = upper_sum(child.exact_cost_of(parents) for child, parents in pairs)
            if cost < self._cost:
                self._cost, self._network = cost, network

    def _report(self, note: str) -> None:
        if self._tell is not None:
            self._tell(self._cost, self._best.bound, note)
