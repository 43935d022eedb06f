"""Kernels that price all parent sets of a child: the least reduced cost, and families near it.

Neither the residual sum of squares RSS(P) nor the discount grows with the parents P, as
`pricing_problem` defines them. So a family whose parents are the chosen columns I and any of the
open ones U has a reduced cost of at least

    weight * log(RSS(I + U)) + the least cost of |I| parents or more - discount(I).

A search goes through the sets depth first. It branches on the open column that RSS grows most
without, first without the column, then with it. RSS(I + U) is a diagonal entry of the inverse of a
matrix of products: without a column, the inverse changes by a matrix of rank one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import boolean, float64, int64

from skbn._branch_and_cut.chosen_kernels import CHOSEN, FOUND, begin, choose, cost_of
from skbn._branch_and_cut.pricing_problem import CHILD_COSTS, DISCOUNTS, ChildCosts
from skbn._core.compile import inlined_kernel, inner_kernel, kernel, tuple_type

PAUSED, FULL, DONE = 0, 1, 2
# The numbers of a search, by their places in `Walk.numbers` and `Walk.limits`.
LEVEL, IS_FRESH, N_FOUND, N_NODES = range(4)
REACH, LEAST = range(2)


class Walk(NamedTuple):
    """The state of a search, so that it can pause. A level is a column that is left out.

    Parameters
    ----------
    inverses : ndarray of shape (k + 1, k + 1, k + 1), float64
        The inverse of the products of the columns that are left at each level.
    left : ndarray of shape (k + 1, k + 1), int64
        These columns; the child's is the last.
    n_left, n_chosen, branch : ndarray of shape (k + 1,), int64
        How many they are, how many of them are chosen, and which one is being left out.
    is_open : ndarray of shape (k + 1, k), bool
        Which columns are neither chosen nor left out.
    cheapest : ndarray of shape (k + 1,), float64
        What a family of the chosen columns, or some of them, costs: its supersets must cost less.
    numbers : ndarray of shape (4,), int64
        The level, whether its last chosen column is new, and how many families were found and nodes
        visited.
    limits : ndarray of shape (2,), float64
        The reduced cost up to which families are sought, and the least one found.
    """

    inverses: npt.NDArray[np.float64]
    left: npt.NDArray[np.int64]
    n_left: npt.NDArray[np.int64]
    n_chosen: npt.NDArray[np.int64]
    branch: npt.NDArray[np.int64]
    is_open: npt.NDArray[np.bool_]
    cheapest: npt.NDArray[np.float64]
    numbers: npt.NDArray[np.int64]
    limits: npt.NDArray[np.float64]


_WALK = tuple_type(
    Walk,
    float64[:, :, ::1],
    int64[:, ::1],
    int64[::1],
    int64[::1],
    int64[::1],
    boolean[:, ::1],
    float64[::1],
    int64[::1],
    float64[::1],
)


def new_walk(child: ChildCosts, reach: float) -> Walk:
    """Return the state in which a search begins that finds reduced costs up to `reach`."""
    k = len(child.products) - 1
    left = np.tile(np.arange(k + 1), (k + 1, 1))
    inverses = np.empty((k + 1, k + 1, k + 1))
    inverses[0] = np.linalg.inv(child.products)
    is_open = np.ones((k + 1, k), dtype=np.bool_)
    is_open[:, : child.n_required] = False
    sizes = np.full(k + 1, k + 1), np.full(k + 1, child.n_required), np.full(k + 1, -1)
    numbers = np.array([0, 1, 0, 0])
    limits = np.array([reach, np.inf])
    return Walk(inverses, left, *sizes, is_open, np.full(k + 1, np.inf), numbers, limits)


@inner_kernel
def leave_out(inverse, left, n, at, target, target_left):
    """Fill an inverse and its columns without a column; they may take the place of the old ones."""
    pivot = inverse[at, at]
    taken = inverse[at, :n].copy()
    for a in range(n):
        if a != at:
            to = a - (a > at)
            factor = inverse[a, at] / pivot
            for b in range(at):
                target[to, b] = inverse[a, b] - factor * taken[b]
            for b in range(at + 1, n):
                target[to, b - 1] = inverse[a, b] - factor * taken[b]
            target_left[to] = left[a]


@kernel(CHILD_COSTS, DISCOUNTS, CHOSEN, _WALK, FOUND, float64, int64, seconds=4.0)
def search_parent_sets(child, discounts, chosen, walk, found, slack, n_nodes):
    """Find the families whose reduced costs are within reach and that no subset dominates.

    The reach falls to the least reduced cost found plus `slack`.

    Parameters
    ----------
    child : ChildCosts
    discounts : Discounts
    chosen : Chosen
    walk : Walk
        Where the search begins, or goes on.
    found : Found
        Filled. Some families may be beyond the last reach.
    slack : float
        In nats.
    n_nodes : int
        It pauses after this many nodes.

    Returns
    -------
    state : int
        PAUSED, FULL if there is no room for a family, or DONE.
    """
    numbers, limits = walk.numbers, walk.limits
    if numbers[N_NODES] == 0:
        begin(child, discounts, chosen)
        for a in range(child.n_required):
            choose(child, discounts, chosen, np.int64(a), a)
    losses, lost = np.empty((2, child.products.shape[0]))
    end = numbers[N_NODES] + n_nodes
    while numbers[LEVEL] >= 0:
        if numbers[N_NODES] >= end:
            return PAUSED
        level = numbers[LEVEL]
        q = walk.n_chosen[level]
        if numbers[IS_FRESH] and not _take(child, chosen, walk, found, slack):
            return FULL
        numbers[IS_FRESH] = 0
        numbers[N_NODES] += 1
        reach, cheapest = limits[REACH] + chosen.discount[q], walk.cheapest[level]
        n = walk.n_left[level]
        full = -child.weight * math.log(walk.inverses[level, n - 1, n - 1])
        more = child.least_costs[q:]  # of 0, 1, ... further parents
        at, n_open = -1, 0
        if full + more[1] <= min(reach, cheapest):
            at, n_open = _losses(child, chosen.lost[q], walk, level, losses, lost)
        if at < 0 or _is_beyond(losses[:n_open], lost[:n_open], full, more, reach, cheapest):
            _go_back(child, discounts, chosen, walk)
        elif not _leave_out_hopeless(chosen.lost[q], walk, level, reach - full - more[1]):
            # The largest loss comes first now.
            column = walk.left[level, at]
            if full + losses[0] + more[1] > min(reach, cheapest):  # nothing within reach lacks it
                _choose_here(child, discounts, chosen, walk, column)
            else:
                _branch(walk, level, at)
    return DONE


@inlined_kernel
def _take(child, chosen, walk, found, slack):
    """Keep the family of the chosen columns if it is within reach; return whether there is room."""
    limits, numbers = walk.limits, walk.numbers
    level = numbers[LEVEL]
    q = walk.n_chosen[level]
    cost = cost_of(child, chosen, q)
    if cost < walk.cheapest[level]:
        reduced = cost - chosen.discount[q]
        if reduced <= limits[REACH]:
            n = numbers[N_FOUND]
            if n == found.cost.size:
                return False
            found.parents[n] = -1
            found.parents[n, :q] = chosen.columns[:q]
            found.reduced[n], found.cost[n] = reduced, cost
            numbers[N_FOUND] += 1
        if reduced < limits[LEAST]:
            limits[LEAST] = reduced
            limits[REACH] = min(limits[REACH], reduced + slack)
        walk.cheapest[level] = cost
    return True


@inlined_kernel
def _losses(child, all_lost, walk, level, losses, lost):
    """Fill how much more families cost without each open column, and what it takes of the discount.

    Returns the place of the largest loss, or -1, and the number of open columns.
    """
    inverse, left, is_open = walk.inverses[level], walk.left[level], walk.is_open[level]
    of_child = walk.n_left[level] - 1
    own = inverse[of_child, of_child]
    at, n_open, largest = -1, 0, -1.0
    for a in range(of_child):
        if is_open[left[a]]:
            share = inverse[of_child, a] * inverse[of_child, a] / inverse[a, a]
            loss = child.weight * math.log(own / max(own - share, 1e-300))
            losses[n_open], lost[n_open] = loss, all_lost[left[a]]
            n_open += 1
            if loss > largest:
                at, largest = a, loss
    return at, n_open


@inlined_kernel
def _leave_out_hopeless(lost, walk, level, most):
    """Leave out the open columns that take more of the discount; return whether there are any."""
    left, is_open = walk.left[level], walk.is_open[level]
    inverse = walk.inverses[level]
    n = walk.n_left[level]
    for a in range(walk.n_left[level] - 2, -1, -1):
        if is_open[left[a]] and lost[left[a]] > most:
            is_open[left[a]] = False
            leave_out(inverse, left, n, a, inverse, left)
            n -= 1
    is_any = n < walk.n_left[level]
    walk.n_left[level] = n
    return is_any


@inner_kernel
def _choose_here(child, discounts, chosen, walk, column):
    level = walk.numbers[LEVEL]
    walk.is_open[level, column] = False
    choose(child, discounts, chosen, walk.n_chosen[level], column)
    walk.n_chosen[level] += 1
    walk.numbers[IS_FRESH] = 1


@inner_kernel
def _go_back(child, discounts, chosen, walk):
    """Go on with the column that the level before left out."""
    walk.numbers[LEVEL] -= 1
    level = walk.numbers[LEVEL]
    if level >= 0:
        _choose_here(child, discounts, chosen, walk, walk.branch[level])


@inner_kernel
def _branch(walk, level, at):
    """Go on without a column."""
    inverses, left, n = walk.inverses, walk.left, walk.n_left[level]
    column = left[level, at]
    walk.branch[level] = column
    leave_out(inverses[level], left[level], n, at, inverses[level + 1], left[level + 1])
    walk.n_left[level + 1] = n - 1
    walk.n_chosen[level + 1] = walk.n_chosen[level]
    walk.is_open[level + 1] = walk.is_open[level]
    walk.is_open[level + 1, column] = False
    walk.cheapest[level + 1] = walk.cheapest[level]
    walk.numbers[LEVEL] += 1


@inner_kernel
def _is_beyond(losses, lost, full, least_costs, reach, cheapest):
    """Whether all families with some of the open columns are beyond reach, or dominated.

    If t of them are taken and all of these have larger losses than the others, the largest loss of
    another must be added; if not, a loss among the t largest.

    Parameters
    ----------
    losses : ndarray of shape (n,), float64
        How much more the families cost without each of the columns; sorted here.
    lost : ndarray of shape (n,), float64
        What each takes from the discount; sorted along.
    full : float
        What the families cost at least, without the cost of their number of parents.
    least_costs : ndarray of float64
        What 0, 1, ... more parents cost.
    reach, cheapest : float
        What they may cost, with and without the loss of discount.
    """
    least_lost = lost.min()
    most = 0.0
    for t in range(losses.size + 1):
        if t:
            most = max(most, lost[t - 1])
        parents = least_costs[max(t, 1)]
        taken = max(most, least_lost)
        if full + parents + taken > reach or full + parents >= cheapest:
            return True
        total = full + parents + _largest_first(losses[t:], lost[t:])
        if total + taken <= reach and total < cheapest:
            return False
    return True


@inner_kernel
def _largest_first(losses, lost):
    """Exchange the first loss with the largest one, and return this."""
    if losses.size == 0:
        return 0.0
    i = np.argmax(losses)
    losses[0], losses[i] = losses[i], losses[0]
    lost[0], lost[i] = lost[i], lost[0]
    return losses[0]


PRICING_KERNELS = (search_parent_sets,)
