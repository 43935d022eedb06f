"""Pricing of all parent sets of the children, by their regressions: the least reduced costs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from skbn._branch_and_cut.chosen_kernels import Found, new_chosen
from skbn._branch_and_cut.cut_kernels import CutArrays
from skbn._branch_and_cut.descent_kernels import descend
from skbn._branch_and_cut.node_pricing_kernels import (
    NodeWalk,
    new_node_walk,
    search_sets_of_nodes,
)
from skbn._branch_and_cut.pricing_kernels import (
    DONE,
    FULL,
    LEAST,
    N_FOUND,
    N_NODES,
    Walk,
    new_walk,
    search_parent_sets,
)
from skbn._branch_and_cut.pricing_problem import Child, Discounts, NodeCosts
from skbn._core.arrays import Floats, Integers

# Between two looks at the clock: some tenths of a second.
_NODES = 1 << 15
_FIRST_ROOM, _ROOM_OF_DESCENT = 1 << 10, 1 << 9
# A descent begins with families of at most this many columns, and with those of this many windows.
_WIDEST_START, _WINDOWS = 36, 6
# With nodes of several columns, a short search takes the place of descents: its nodes, and how far
# beyond the least reduced cost it keeps families, in nats.
_NODES_NEAR, _SLACK_NEAR = 1 << 11, 2.0


class PricedFamilies(NamedTuple):
    """Families of a child.

    Parameters
    ----------
    parents : list of tuple of int
        Their numbers, ascending.
    reduced, cost : ndarray of shape (n,), float64
    least : float
        The least reduced cost, of these or of all families.
    n_nodes : int
        How many nodes the search had.
    """

    parents: list[tuple[int, ...]]
    reduced: Floats
    cost: Floats
    least: float
    n_nodes: int = 0


class TooManyFamiliesError(Exception):
    """There are more families within reach than are wanted."""


def discounts_of(child: Child, number: int, cuts: CutArrays, multipliers: Floats) -> Discounts:
    """Return what cuts take from the costs of a child, which is the column of a number."""
    own = np.flatnonzero((cuts.rows[:, number] >= 0) & (multipliers > 0))
    m = cuts.rows.shape[1]
    # Columns beyond the m are outside of all cuts, as the last column says.
    columns = np.minimum(child.candidates, m)
    return Discounts(
        np.ascontiguousarray(cuts.bits[np.ix_(own, columns)]),
        np.ascontiguousarray(cuts.rows[own, number]),
        np.ascontiguousarray(multipliers[own]),
        cuts.tables,
    )


def price_all(
    child: Child,
    discounts: Discounts,
    reach: float,
    slack: float,
    is_over: Callable[[], bool],
    most: int = 1 << 20,
    most_nodes: int = 1 << 62,
) -> PricedFamilies | None:
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

    Returns
    -------
    families : PricedFamilies or None
        None if it gave up.

    Raises
    ------
    TooManyFamiliesError
        If there are more families, or nodes.
    """
    k = len(child.candidates)
    search, walk = _search_of(child, discounts, reach)
    found = _room(_FIRST_ROOM, k)
    while (state := search(found, slack, _NODES)) != DONE:
        if state == FULL:
            if len(found.cost) >= most:
                raise TooManyFamiliesError
            found = _larger(found, k)
        elif is_over():
            return None
        if walk.numbers[N_NODES] > most_nodes:
            raise TooManyFamiliesError
    n = int(walk.numbers[N_FOUND])
    least = float(min(walk.limits[LEAST], reach + child.offset))
    within = np.flatnonzero(found.reduced[:n] <= least + slack)
    return _of_child(child, found, within, least, int(walk.numbers[N_NODES]))


def _search_of(
    child: Child, discounts: Discounts, reach: float
) -> tuple[Callable[[Found, float, int], int], Walk | NodeWalk]:
    """Return a search that has yet to begin, and its state."""
    if isinstance(child.costs, NodeCosts):
        of_nodes = new_node_walk(child.costs, reach + child.offset)
        return partial(search_sets_of_nodes, child.costs, discounts, of_nodes), of_nodes
    chosen = new_chosen(len(child.candidates), discounts)
    walk = new_walk(child.costs, reach + child.offset)
    return partial(search_parent_sets, child.costs, discounts, chosen, walk), walk


def _price_nodes_near(
    child: Child, discounts: Discounts, listed: Sequence[Sequence[int]]
) -> PricedFamilies:
    """Return families of a child of nodes that the beginning of a search finds."""
    at = child.positions(listed[0])
    entries = np.bitwise_or.reduce(discounts.bits[:, at], axis=1).astype(np.int64)
    discount = discounts.multipliers @ discounts.tables[discounts.starts + entries]
    reach = child.cost_of(listed[0]) - float(discount)
    search, walk = _search_of(child, discounts, reach)
    found = _room(_ROOM_OF_DESCENT, len(child.candidates))
    search(found, _SLACK_NEAR, _NODES_NEAR)
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
    if isinstance(child.costs, NodeCosts):
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
    found = _room(_ROOM_OF_DESCENT, min(k, _WIDEST_START + 4))
    chosen = new_chosen(k, discounts)
    n = descend(child.costs, discounts, chosen, array, sizes, found)
    order = np.argsort(found.reduced[:n], kind="stable")
    least = float(found.reduced[order[0]]) if n else math.inf
    return _of_child(child, found, order, least)


def _of_child(
    child: Child, found: Found, which: Integers, least: float, n_nodes: int = 0
) -> PricedFamilies:
    parents = [
        tuple(sorted(child.candidates[row[row >= 0]].tolist())) for row in found.parents[which]
    ]
    reduced, cost = (each[which] - child.offset for each in (found.reduced, found.cost))
    return PricedFamilies(parents, reduced, cost, least - child.offset, n_nodes)


def _room(n: int, width: int) -> Found:
    return Found(np.empty((n, width), dtype=np.int64), np.empty(n), np.empty(n))


def _larger(found: Found, k: int) -> Found:
    n = len(found.cost)
    larger = _room(2 * n, k)
    for new, old in zip(larger, found, strict=True):
        new[:n] = old
    return larger
