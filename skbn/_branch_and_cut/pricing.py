"""Pricing of all parent sets of the children, by their regressions: the least reduced costs."""

import math
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, Self

import numpy as np

from skbn._branch_and_cut.chosen_kernels import SetsFound, new_chosen, room_for, with_more_room
from skbn._branch_and_cut.cut_kernels import CutArrays
from skbn._branch_and_cut.descent_kernels import descend, new_memory
from skbn._branch_and_cut.determinants import accuracy_of
from skbn._branch_and_cut.pricing_kernels import search_parent_sets
from skbn._branch_and_cut.pricing_problem import Child, Discounts
from skbn._branch_and_cut.proof import Cut, DeterminantCut
from skbn._branch_and_cut.separation import arrays_of
from skbn._branch_and_cut.walk_kernels import DONE, FULL, LEAST, N_FOUND, N_NODES, new_walk
from skbn._core.arrays import F1, Floats, Integers
from skbn._core.exact_sums import two_product, upper_sum

# Between two looks at the clock, some hundredths of a second: this many nodes, over the square of
# the number of columns.
_NODES = 1 << 23
_FIRST_ROOM, _ROOM_OF_DESCENT = 1 << 10, 1 << 9
# A descent begins with families of at most this many columns, and with those of this many windows.
_WIDEST_START, _WINDOWS = 36, 6
# With nodes of several columns, a short search takes the place of descents: its nodes, and how far
# beyond the least reduced cost it keeps families, in nats.
_NODES_NEAR, _SLACK_NEAR = 1 << 11, 2.0
# The first nodes of each try of a `ChildSearch`, over the square of the number of columns, and its
# tries with as many nodes. A smaller step to the goal, in nats, is not halved.
_NODES_OF_TRY, _TRIES, _SMALL_STEP = 1 << 24, 3, 1.0
# A loss of discount is the difference of two logarithms that are rounded, as the discount is.
_TIMES_OF_ROUNDING = 4


class PricedFamilies(NamedTuple):
    """Families of a child."""

    parents: list[tuple[int, ...]]  # their numbers, ascending
    reduced: F1  # (n,)
    cost: F1  # (n,)
    least: float  # the least reduced cost, of these or of all families
    n_nodes: int = 0  # how many nodes the search had
    # whether no other family, beside dominated ones, is within reach
    are_all: bool = True


class TooManyFamiliesError(Exception):
    """There are more families within reach than are wanted."""


class OutOfTimeError(Exception):
    """A search gave up."""


class WeighedCuts(NamedTuple):
    """Cuts with their multipliers, which are not negative."""

    cuts: Sequence[Cut]
    arrays: CutArrays
    multipliers: F1  # (n_cuts,)

    @classmethod
    def of(cls, cuts: Sequence[Cut], multipliers: Floats, m: int) -> Self:
        """Return cuts of m columns."""
        return cls(cuts, arrays_of(cuts, m), multipliers)


def discounts_of(child: Child, number: int, weighed: WeighedCuts) -> Discounts:
    """Return what cuts take from the costs of a child, which is the column of a number."""
    cuts, multipliers = weighed.arrays, weighed.multipliers
    own = np.flatnonzero((cuts.rows[:, number] >= 0) & (multipliers > 0))
    m = cuts.rows.shape[1]
    # Columns beyond the m are outside of all cuts, as the last column says.
    columns = np.minimum(child.candidates, m)
    return Discounts(
        np.ascontiguousarray(cuts.bits[np.ix_(own, columns)]),
        np.ascontiguousarray(cuts.rows[own, number]),
        np.ascontiguousarray(multipliers[own]),
        cuts.tables,
        *matrices_of(child, number, weighed.cuts, multipliers),
    )


def matrices_of(
    child: Child, number: int, cuts: Sequence[Cut], multipliers: Floats
) -> tuple[Floats, Floats, float, float]:
    """Return the last fields of `Discounts`: matrices, multipliers, a constant and the rounding.

    Columns that are outside of the cuts, as they are no children, have no part in them.
    """
    first = child.costs.starts
    n, n_own = len(child.costs.products), child.n_own
    matrices, weights, constants, off = [], [], [], 0.0
    for cut, multiplier in zip(cuts, multipliers.tolist(), strict=True):
        if not isinstance(cut, DeterminantCut) or multiplier == 0:
            continue
        starts, m = cut.starts, len(cut.offsets)
        at = np.full(n, -1)
        for i, c in enumerate([*child.candidates.tolist(), number]):
            if c < m:
                at[first[i] : first[i + 1]] = np.arange(starts[c], starts[c + 1])
        inside = np.flatnonzero(at >= 0)
        matrix = np.eye(n)
        matrix[np.ix_(inside, inside)] = cut.matrix[np.ix_(at[inside], at[inside])]
        matrices.append(matrix)
        weights.append(multiplier)
        constants += two_product(multiplier, float(cut.offsets[number]))
        # The rounding of a single column's logarithm, without others.
        off += multiplier * n_own * accuracy_of(1, 1, cut.eigenvalue)
    stacked = np.array(matrices).reshape(len(matrices), n, n)
    return stacked, np.array(weights), upper_sum(constants), _TIMES_OF_ROUNDING * off


def price_all(
    child: Child,
    discounts: Discounts,
    reach: float,
    slack: float,
    is_over: Callable[[], bool],
    most: int = 1 << 20,
    most_nodes: int = 1 << 62,
    with_dominated: bool = False,
    tie: float = 0.0,
    *,
    gives_up: bool = True,
) -> PricedFamilies:
    """Return the families of a child, among all, with a reduced cost up to the least plus `slack`.

    Parameters
    ----------
    child : Child
    discounts : Discounts
    reach : float
        Only lower reduced costs are sought; `least` is this one if there are none.
    slack : float
        In nats.
    is_over : callable
        Whether to give up.
    most, most_nodes : int
        The most families, and the most nodes of the search.
    with_dominated : bool
        Whether to return families that a subset dominates, too.
    tie : float
        By how much more than a subset a family must cost to be dominated, in nats.
    gives_up : bool
        Whether to raise an error where there is no time, or are too many nodes. If not, it returns
        what it found.

    Raises
    ------
    OutOfTimeError
        If it gave up.
    TooManyFamiliesError
        If there are more families, or nodes.
    """
    k = len(child.candidates)
    chosen = new_chosen(child.costs, discounts)
    walk = new_walk(child.costs, reach + child.offset, with_dominated, tie)
    found = room_for(_FIRST_ROOM, k)
    rest = slack, nodes_between_looks(child)
    while (state := search_parent_sets(child.costs, discounts, chosen, walk, found, *rest)) != DONE:
        if state == FULL:
            if len(found.cost) >= most:
                raise TooManyFamiliesError
            found = with_more_room(found)
            continue
        is_late = is_over()
        if is_late or walk.numbers[N_NODES] > most_nodes:
            if gives_up:
                raise OutOfTimeError if is_late else TooManyFamiliesError
            break
    n = int(walk.numbers[N_FOUND])
    least = float(min(walk.limits[LEAST], reach + child.offset))
    within = np.flatnonzero(found.reduced[:n] <= least + slack)
    priced = _of_child(child, found, within, least, int(walk.numbers[N_NODES]))
    return priced._replace(are_all=state == DONE)


def nodes_between_looks(child: Child) -> int:
    """Return how many nodes a search visits between two looks at the clock."""
    return 1 + _NODES // len(child.costs.products) ** 2


class ChildSearch:
    """A search through all parent sets of a child that proves the more the longer it takes.

    It is repeated with more and more nodes. Where these do not suffice for all families below the
    goal, a lower reach takes fewer.

    Parameters
    ----------
    child : Child
    discounts : Discounts
    goal : float
        Only lower reduced costs are sought.
    n_nodes : int
        How many nodes it took before.

    Attributes
    ----------
    least : float
        No family has a lower reduced cost.
    is_done : bool
        Whether this is the goal, or the least reduced cost.
    found : PricedFamilies
        Those of the lowest reduced costs that were found.
    seconds : float
        How long it takes to find `least` again.
    """

    def __init__(self, child: Child, discounts: Discounts, goal: float, n_nodes: int = 0) -> None:
        self._child, self._discounts = child, discounts
        self._goal = self._reach = goal
        of_try = 1 + _NODES_OF_TRY // len(child.costs.products) ** 2
        self._most_nodes = max(of_try, 2 * n_nodes)
        of_none = discounts.of_no_parents(child.n_own)
        self.least = min(child.least_cost() - of_none, goal)
        self.is_done, self.seconds = False, 0.0
        self.found = PricedFamilies([], np.empty(0), np.empty(0), math.inf)

    def go_on(self, is_over: Callable[[], bool]) -> None:
        """Try higher or lower reaches, with more nodes than the last time, until it is over."""
        for _ in range(_TRIES):
            if is_over():
                return
            began, given = time.monotonic(), (self._child, self._discounts, self._reach, 0.0)
            found = price_all(*given, is_over, most_nodes=self._most_nodes, gives_up=False)
            if found.are_all:
                self.least, self.seconds = found.least, time.monotonic() - began
                self.is_done = len(found.parents) > 0 or self._reach == self._goal
            if found.parents and found.least < self.found.least:
                self.found, self._goal = found, min(self._goal, found.least)
            if found.are_all:
                self.found = self.found._replace(n_nodes=found.n_nodes)
            if self.is_done:
                return
            above = self._goal if found.are_all else min(self._goal, self._reach)
            is_small = found.are_all and above - self.least < _SMALL_STEP
            self._reach = above if is_small else (self.least + above) / 2
        self._most_nodes *= 4


def _price_nodes_near(
    child: Child, discounts: Discounts, listed: Sequence[Sequence[int]]
) -> PricedFamilies:
    """Return families of a child of nodes that the beginning of a search finds."""
    at = child.positions(listed[0])
    entries = np.bitwise_or.reduce(discounts.bits[:, at], axis=1).astype(np.int64)
    discount = float(discounts.multipliers @ discounts.tables[discounts.starts + entries])
    discount += discounts.of_matrices(child.costs.columns_of(at), child.n_own)
    reach = child.cost_of(listed[0]) - discount
    chosen, walk = new_chosen(child.costs, discounts), new_walk(child.costs, reach + child.offset)
    found = room_for(_ROOM_OF_DESCENT, len(child.candidates))
    rest = _SLACK_NEAR, _NODES_NEAR
    search_parent_sets(child.costs, discounts, chosen, walk, found, *rest)
    n = int(walk.numbers[N_FOUND])
    order = np.argsort(found.reduced[:n], kind="stable")
    least = min(float(walk.limits[LEAST]), reach + child.offset)
    return _of_child(child, found, order, least)


def price_near(
    child: Child, discounts: Discounts, listed: Sequence[Sequence[int]]
) -> PricedFamilies:
    """Return the families of a child that descents pass through, least reduced costs first.

    They begin with listed families, and with all columns of the windows whose cuts pay most: a
    family with many parents in a window is a few steps from there, and many from a small family.
    """
    if child.costs.has_groups:
        return _price_nodes_near(child, discounts, listed)
    required = list(range(child.costs.n_required))
    starts = [child.positions(parents) for parents in listed]
    if len(discounts.starts):
        last = np.bitwise_or.reduce(discounts.bits, axis=1).astype(np.int64)
        pays = discounts.multipliers * discounts.tables[discounts.starts + last]
        for i in np.argsort(-pays, kind="stable")[:_WINDOWS]:
            window = np.flatnonzero(discounts.bits[i]).tolist()
            starts.append(window)
            starts.append(window + starts[0])
    most = min(_WIDEST_START, int(np.flatnonzero(np.isfinite(child.costs.costs))[-1]))
    starts = [[*required, *sorted(set(each) - set(required))][:most] for each in starts]
    sizes = np.array([len(each) for each in starts], dtype=np.int64)
    k = len(child.candidates)
    array = np.zeros((len(starts), max(1, sizes.max())), dtype=np.int64)
    for row, each in zip(array, starts, strict=True):
        row[: len(each)] = each
    found = room_for(_ROOM_OF_DESCENT, min(k, _WIDEST_START + 4))
    chosen = new_chosen(child.costs, discounts)
    n_cuts, n_matrices = len(discounts.starts), len(discounts.weights)
    work = new_memory(len(child.costs.products), n_cuts, n_matrices, found.parents.shape[1])
    n = descend(child.costs, discounts, chosen, array, sizes, found, work)
    order = np.argsort(found.reduced[:n], kind="stable")
    least = float(found.reduced[order[0]]) if n else math.inf
    return _of_child(child, found, order, least)


def _of_child(
    child: Child, found: SetsFound, which: Integers, least: float, n_nodes: int = 0
) -> PricedFamilies:
    parents = [
        tuple(sorted(child.candidates[row[row >= 0]].tolist())) for row in found.parents[which]
    ]
    reduced, cost = (each[which] - child.offset for each in (found.reduced, found.cost))
    return PricedFamilies(parents, reduced, cost, least - child.offset, n_nodes)
