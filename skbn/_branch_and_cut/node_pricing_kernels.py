"""A kernel that prices all parent sets of a child, where nodes have several columns.

It is the search of `pricing_kernels` with nodes in place of columns. With the inverse B of the
products of all columns that are left, ``-log(det(R))`` of the child's residuals R is the
log-determinant of the child's block of B. Its columns are eliminated one after the other, the last
one first: that makes the vectors of a chain, of which each takes a share of the other blocks.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import boolean, float64, int64

from skbn._branch_and_cut.chosen_kernels import FOUND
from skbn._branch_and_cut.pricing_kernels import (
    DONE,
    FULL,
    IS_FRESH,
    LEAST,
    LEVEL,
    N_FOUND,
    N_NODES,
    PAUSED,
    REACH,
    leave_out,
)
from skbn._branch_and_cut.pricing_problem import DISCOUNTS, NODE_COSTS, NodeCosts
from skbn._core.compile import inner_kernel, kernel, tuple_type


class NodeWalk(NamedTuple):
    """The state of a search, so that it can pause. A level is a node that is left out.

    Parameters
    ----------
    inverses : ndarray of shape (k + 1, n, n), float64
        The inverse of the products of the columns that are left at each level.
    left : ndarray of shape (k + 1, n), int64
        These columns; the child's are the last.
    n_left, n_chosen, branch : ndarray of shape (k + 1,), int64
        How many they are, how many nodes are chosen, and which one is being left out.
    chosen : ndarray of shape (k + 1, k), int64
    is_open : ndarray of shape (k + 1, k), bool
        Which nodes are neither chosen nor left out.
    cheapest : ndarray of shape (k + 1,), float64
        What a family of the chosen nodes, or some of them, costs: its supersets must cost less.
    numbers : ndarray of shape (4,), int64
    limits : ndarray of shape (2,), float64
        As in the `Walk` of `pricing_kernels`.
    """

    inverses: npt.NDArray[np.float64]
    left: npt.NDArray[np.int64]
    n_left: npt.NDArray[np.int64]
    n_chosen: npt.NDArray[np.int64]
    branch: npt.NDArray[np.int64]
    chosen: npt.NDArray[np.int64]
    is_open: npt.NDArray[np.bool_]
    cheapest: npt.NDArray[np.float64]
    numbers: npt.NDArray[np.int64]
    limits: npt.NDArray[np.float64]


_WALK = tuple_type(
    NodeWalk,
    float64[:, :, ::1],
    int64[:, ::1],
    int64[::1],
    int64[::1],
    int64[::1],
    int64[:, ::1],
    boolean[:, ::1],
    float64[::1],
    int64[::1],
    float64[::1],
)


def new_node_walk(costs: NodeCosts, reach: float) -> NodeWalk:
    """Return the state in which a search begins that finds reduced costs up to `reach`."""
    n, k = len(costs.products), len(costs.starts) - 2
    inverses = np.empty((k + 1, n, n))
    inverses[0] = np.linalg.inv(costs.products)
    is_open = np.ones((k + 1, k), dtype=np.bool_)
    is_open[:, : costs.n_required] = False
    return NodeWalk(
        inverses,
        np.tile(np.arange(n), (k + 1, 1)),
        np.full(k + 1, n),
        np.full(k + 1, costs.n_required),
        np.full(k + 1, -1),
        np.tile(np.arange(k), (k + 1, 1)),
        is_open,
        np.full(k + 1, np.inf),
        np.array([0, 1, 0, 0]),
        np.array([reach, np.inf]),
    )


@kernel(NODE_COSTS, DISCOUNTS, _WALK, FOUND, float64, int64, seconds=4.0)
def search_sets_of_nodes(costs, discounts, walk, found, slack, n_nodes):
    """Find the families whose reduced costs are within reach and that no subset dominates.

    Parameters and states are those of `search_parent_sets`.
    """
    numbers, limits, starts = walk.numbers, walk.limits, costs.starts
    n_columns = starts[-1]
    chain = np.empty((starts[-1] - starts[-2], n_columns))
    factor = np.empty((n_columns, n_columns))
    columns = np.empty(n_columns, np.int64)
    end = numbers[N_NODES] + n_nodes
    while numbers[LEVEL] >= 0:
        if numbers[N_NODES] >= end:
            return PAUSED
        level = numbers[LEVEL]
        q = walk.n_chosen[level]
        chosen = walk.chosen[level, :q]
        discount = _discount(discounts, chosen, -1)
        if numbers[IS_FRESH] and not _take(costs, walk, found, discount, slack, columns, factor):
            return FULL
        numbers[IS_FRESH] = 0
        numbers[N_NODES] += 1
        width = _width(starts, chosen)
        more = costs.least_costs[q + 1] + costs.least_of_columns[min(width + 1, n_columns)]
        full = more - costs.weight * _fill_chain(walk.inverses[level], walk.n_left[level], chain)
        reach = min(limits[REACH] + discount, walk.cheapest[level])
        at, loss = -1, 0.0
        if full <= reach:
            if _leave_out_hopeless(discounts, walk, starts, full):
                continue
            at, loss = _largest_loss(walk, starts, chain, factor)
        if at < 0:
            _go_back(walk)
        elif full + costs.weight * loss > reach:  # nothing within reach lacks it
            _choose(walk, at)
        else:
            _branch(walk, starts, at)
    return DONE


@inner_kernel
def _leave_out_hopeless(discounts, walk, starts, full):
    """Leave out the open nodes that take too much of the discount; return whether there are any."""
    level, is_any = walk.numbers[LEVEL], False
    chosen = walk.chosen[level, : walk.n_chosen[level]]
    for a in range(walk.is_open.shape[1]):
        if walk.is_open[level, a] and full - _discount(discounts, chosen, a) > walk.limits[REACH]:
            walk.is_open[level, a] = False
            _leave_out_node(walk, starts, level, level, a)
            is_any = True
    return is_any


@inner_kernel
def _largest_loss(walk, starts, chain, block):
    """Return the open node without which log(det(R)) is largest, or -1, and by how much."""
    level = walk.numbers[LEVEL]
    at, largest = -1, -1.0
    for a in range(walk.is_open.shape[1]):
        if walk.is_open[level, a]:
            loss = _loss(walk, starts, level, a, chain, block)
            if loss > largest:
                at, largest = a, loss
    return at, largest


@inner_kernel
def _width(starts, nodes):
    """Return how many columns some nodes have."""
    width = 0
    for a in nodes:
        width += starts[a + 1] - starts[a]
    return width


@inner_kernel
def _discount(discounts, chosen, another):
    """Return the discount of the chosen nodes, with another one if that is not -1."""
    total = 0.0
    for i in range(discounts.starts.size):
        entry = np.int64(0)
        if another >= 0:
            entry |= discounts.bits[i, another]
        for a in chosen:
            entry |= discounts.bits[i, a]
        total += discounts.multipliers[i] * discounts.tables[discounts.starts[i] + entry]
    return total


@inner_kernel
def _take(costs, walk, found, discount, slack, columns, factor):
    """Keep the family of the chosen nodes if it is within reach; return whether there is room."""
    limits, numbers, starts = walk.limits, walk.numbers, costs.starts
    level = numbers[LEVEL]
    q, n = walk.n_chosen[level], 0
    for i in range(q + 1):
        a = walk.chosen[level, i] if i < q else starts.size - 2
        for column in range(starts[a], starts[a + 1]):
            columns[n] = column
            n += 1
    d = starts[-1] - starts[-2]
    cost = costs.weight * _log_residuals(costs.products, columns[:n], d, factor)
    cost += costs.costs[q] + costs.costs_of_columns[n - d]
    if cost < walk.cheapest[level]:
        reduced = cost - discount
        if reduced <= limits[REACH]:
            n_found = numbers[N_FOUND]
            if n_found == found.cost.size:
                return False
            found.parents[n_found] = -1
            found.parents[n_found, :q] = walk.chosen[level, :q]
            found.reduced[n_found], found.cost[n_found] = reduced, cost
            numbers[N_FOUND] += 1
        if reduced < limits[LEAST]:
            limits[LEAST] = reduced
            limits[REACH] = min(limits[REACH], reduced + slack)
        walk.cheapest[level] = cost
    return True


@inner_kernel
def _log_residuals(products, columns, d, factor):
    """Return log(det(R)) of the residuals of the last d columns on those before, by Cholesky."""
    total = 0.0
    for a in range(columns.size):
        for b in range(a + 1):
            t = products[columns[a], columns[b]]
            for c in range(b):
                t -= factor[a, c] * factor[b, c]
            if a == b:
                factor[a, a] = math.sqrt(max(t, 1e-300))
                if a >= columns.size - d:
                    total += math.log(max(t, 1e-300))
            else:
                factor[a, b] = t / factor[b, b]
    return total


@inner_kernel
def _fill_chain(inverse, n, chain):
    """Fill the vectors of the child's columns; return the log-determinant of its block."""
    d = chain.shape[0]
    total = 0.0
    for t in range(d - 1, -1, -1):
        own = n - d + t
        for a in range(n):
            chain[t, a] = inverse[a, own]
        for later in range(t + 1, d):
            ratio = chain[later, own] / chain[later, n - d + later]
            for a in range(n):
                chain[t, a] -= ratio * chain[later, a]
        total += math.log(max(chain[t, own], 1e-300))
    return total


@inner_kernel
def _loss(walk, starts, level, node, chain, block):
    """Return by how much log(det(R)) is larger without a node."""
    left, inverse, n = walk.left[level], walk.inverses[level], walk.n_left[level]
    d, r = chain.shape[0], starts[node + 1] - starts[node]
    at = _place(left, starts[node])
    loss = 0.0
    for without_share in range(2):
        for a in range(r):
            for b in range(a + 1):
                t = inverse[at + a, at + b]
                if without_share:
                    for i in range(d):
                        share = chain[i, at + a] * chain[i, at + b]
                        t -= share / chain[i, n - d + i]
                for c in range(b):
                    t -= block[a, c] * block[b, c]
                if a == b:
                    t = max(t, 1e-300)
                    loss += -math.log(t) if without_share else math.log(t)
                    block[a, a] = math.sqrt(t)
                else:
                    block[a, b] = t / block[b, b]
    return loss


@inner_kernel
def _place(left, column):
    """Return the place of a column among those that are left."""
    at = 0
    while left[at] != column:
        at += 1
    return at


@inner_kernel
def _leave_out_node(walk, starts, level, target, node):
    """Fill a level's inverse with that of a level without a node; they may be the same."""
    n, source = walk.n_left[level], level
    for column in range(starts[node], starts[node + 1]):
        left = walk.left[source]
        at = _place(left, column)
        leave_out(walk.inverses[source], left, n, at, walk.inverses[target], walk.left[target])
        n -= 1
        source = target
    walk.n_left[target] = n


@inner_kernel
def _choose(walk, node):
    level = walk.numbers[LEVEL]
    walk.is_open[level, node] = False
    walk.chosen[level, walk.n_chosen[level]] = node
    walk.n_chosen[level] += 1
    walk.numbers[IS_FRESH] = 1


@inner_kernel
def _go_back(walk):
    """Go on with the node that the level before left out."""
    walk.numbers[LEVEL] -= 1
    if walk.numbers[LEVEL] >= 0:
        _choose(walk, walk.branch[walk.numbers[LEVEL]])


@inner_kernel
def _branch(walk, starts, node):
    """Go on without a node."""
    level = walk.numbers[LEVEL]
    walk.branch[level] = node
    _leave_out_node(walk, starts, level, level + 1, node)
    walk.n_chosen[level + 1] = walk.n_chosen[level]
    walk.chosen[level + 1] = walk.chosen[level]
    walk.is_open[level + 1] = walk.is_open[level]
    walk.is_open[level + 1, node] = False
    walk.cheapest[level + 1] = walk.cheapest[level]
    walk.numbers[LEVEL] += 1


NODE_PRICING_KERNELS = (search_sets_of_nodes,)
