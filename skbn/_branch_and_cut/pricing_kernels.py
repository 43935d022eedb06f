"""Kernels that price all parent sets of a child: the least reduced cost, and families near it.

Neither det(R(P)), of the child's residuals, nor the discount grows with the parents P, as
`pricing_problem` defines them. So a family whose parents are the chosen nodes I and any of the open
ones U has a reduced cost of at least

    weight * log(det(R(I + U))) + the least cost of as many parents as in I or more - discount(I).

A search goes through the sets depth first. It branches on the open node that the determinant grows
most without, first without the node, then with it. What remains of the child's columns is a block
of the inverse of a matrix of products: without a column, the inverse changes by a matrix of rank
one. When a node was chosen, or many are open, those are left out that the bound of
`relaxed_kernels` rules out.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import float64, int64

from skbn._branch_and_cut.chosen_kernels import CHOSEN, FOUND, begin, choose, cost_of
from skbn._branch_and_cut.pricing_problem import CHILD_COSTS, DISCOUNTS
from skbn._branch_and_cut.relaxed_kernels import fill_gains, new_relaxed, relax
from skbn._branch_and_cut.walk_kernels import (
    DONE,
    FULL,
    IS_FRESH,
    LEAST,
    LEVEL,
    N_FOUND,
    N_NODES,
    PAUSED,
    REACH,
    TIE,
    WALK,
    WITH_DOMINATED,
    eliminate,
    largest_first,
    leave_out_all,
    leave_out_node,
)
from skbn._core.arrays import F2
from skbn._core.compile import inlined_kernel, inner_kernel, kernel

# The price of a parent in the relaxation, as a share of what the first one may cost: the logarithm
# is concave, and each further parent may cost less.
_SHARE_OF_PRICE = 0.9
# With fewer open nodes the relaxation is not worth its time: after a node was chosen, and else.
_FEWEST_OPEN, _FEWEST_OPEN_ELSE = 4, 48


class _Groups(NamedTuple):
    """Memory for nodes of several columns."""

    chain: F2  # (d, n): A vector for each column of the child
    block: F2  # (n, n)


@kernel(CHILD_COSTS, DISCOUNTS, CHOSEN, WALK, FOUND, float64, int64, seconds=10.0)
def search_parent_sets(child, discounts, chosen, walk, found, slack, n_nodes):
    """Find the families within reach, without those that a subset dominates unless `walk` says so.

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
        It pauses after this many sets.

    Returns
    -------
    state : int
        PAUSED, FULL if there is no room for a family, or DONE.
    """
    numbers, limits = walk.numbers, walk.limits
    if numbers[N_NODES] == 0:
        begin(child, discounts, chosen)
    n_columns, k = child.products.shape[0], child.starts.size - 2
    losses, lost, costs = np.empty((3, k + 2))
    groups = _Groups(
        np.empty((n_columns - child.starts[k], n_columns)), np.empty((n_columns, n_columns))
    )
    relaxed = new_relaxed(child.diagonal.size)
    end = numbers[N_NODES] + n_nodes
    while numbers[LEVEL] >= 0:
        if numbers[N_NODES] >= end:
            return PAUSED
        level = numbers[LEVEL]
        q = walk.n_chosen[level]
        was_fresh = numbers[IS_FRESH]
        if was_fresh and not _take(child, chosen, walk, found, slack):
            return FULL
        numbers[IS_FRESH] = 0
        numbers[N_NODES] += 1
        reach, cheapest = limits[REACH] + chosen.discount[q], walk.cheapest[level]
        full, more = _cost_of_all(child, chosen, walk, groups, costs)
        node, n_open = -1, 0
        if full + more[1] <= min(reach, cheapest):
            of_costs = full, reach, cheapest
            if _leave_out_dear(child, chosen, walk, was_fresh, of_costs, relaxed):
                continue
            node, n_open = _losses(child, chosen.lost[q], walk, groups, losses, lost)
        if node < 0 or _is_beyond(losses[:n_open], lost[:n_open], full, more, reach, cheapest):
            _go_back(child, discounts, chosen, walk)
        elif not _leave_out_hopeless(child, chosen.lost[q], walk, level, reach - full - more[1]):
            # The largest loss comes first now.
            if full + losses[0] + more[1] > min(reach, cheapest):  # nothing within reach lacks it
                _choose_here(child, discounts, chosen, walk, node)
            else:
                _branch(child, walk, level, node)
    return DONE


@inlined_kernel
def _take(child, chosen, walk, found, slack):
    """Keep the family of the chosen nodes if it is within reach; return whether there is room."""
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
            found.parents[n, :q] = chosen.nodes[:q]
            found.reduced[n], found.cost[n] = reduced, cost
            numbers[N_FOUND] += 1
        if reduced < limits[LEAST]:
            limits[LEAST] = reduced
            limits[REACH] = min(limits[REACH], reduced + slack)
        if not numbers[WITH_DOMINATED]:
            walk.cheapest[level] = min(walk.cheapest[level], cost + limits[TIE])
    return True


@inlined_kernel
def _cost_of_all(child, chosen, walk, groups, costs):
    """Return what families of all columns left cost, and what 0, 1, ... further parents do."""
    level, weight = walk.numbers[LEVEL], child.weight
    q, n, inverse = walk.n_chosen[level], walk.n_left[level], walk.inverses[level]
    more = child.least_costs[q:]
    if child.products.shape[0] == child.starts.size - 1:
        return -weight * math.log(inverse[n - 1, n - 1]), more
    of_columns = child.least_of_columns
    for t in range(more.size):
        costs[t] = more[t] + of_columns[min(chosen.n_columns[q] + t, of_columns.size - 1)]
    return -weight * _fill_chain(inverse, n, groups.chain), costs[: more.size]


@inlined_kernel
def _losses(child, all_lost, walk, groups, losses, lost):
    """Fill how much more families cost without each open node, and what it takes of the discount.

    Returns the node of the largest loss, or -1, and the number of open nodes.
    """
    level = walk.numbers[LEVEL]
    if child.products.shape[0] != child.starts.size - 1:
        return _losses_of_groups(child, all_lost, walk, groups, losses, lost)
    inverse, left, is_open = walk.inverses[level], walk.left[level], walk.is_open[level]
    of_child = walk.n_left[level] - 1
    own = inverse[of_child, of_child]
    node, n_open, largest = -1, 0, -1.0
    for a in range(of_child):
        if is_open[left[a]]:
            share = inverse[of_child, a] * inverse[of_child, a] / inverse[a, a]
            loss = child.weight * math.log(own / max(own - share, 1e-300))
            losses[n_open], lost[n_open] = loss, all_lost[left[a]]
            n_open += 1
            if loss > largest:
                node, largest = left[a], loss
    return node, n_open


@inner_kernel
def _losses_of_groups(child, all_lost, walk, groups, losses, lost):
    """Fill the same where nodes have several columns, by the chain of the child's columns."""
    level, node, n_open, largest = walk.numbers[LEVEL], -1, 0, -1.0
    for a in range(walk.is_open.shape[1]):
        if walk.is_open[level, a]:
            loss = child.weight * _loss(child.starts, walk, level, a, groups)
            losses[n_open], lost[n_open] = loss, all_lost[a]
            n_open += 1
            if loss > largest:
                node, largest = a, loss
    return node, n_open


@inner_kernel
def _fill_chain(inverse, n, chain):
    """Fill the vectors of the child's columns; return the log-determinant of its block."""
    d = chain.shape[0]
    for t in range(d):
        chain[t, :n] = inverse[n - d + t, :n]
    eliminate(chain, n)
    total = 0.0
    for t in range(d):
        total += math.log(max(chain[t, n - d + t], 1e-300))
    return total


@inner_kernel
def _loss(starts, walk, level, node, groups):
    """Return by how much log(det(R)) is larger without a node.

    Each vector of the chain takes a share of the node's block of the inverse.
    """
    left, inverse, n = walk.left[level], walk.inverses[level], walk.n_left[level]
    chain, block = groups
    d, r, at = chain.shape[0], starts[node + 1] - starts[node], 0
    while left[at] != starts[node]:
        at += 1
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
def _leave_out_hopeless(child, lost, walk, level, most):
    """Leave out the open nodes that take more of the discount; return whether there are any."""
    is_any = False
    for a in range(lost.size - 1, -1, -1):
        if walk.is_open[level, a] and lost[a] > most:
            walk.is_open[level, a] = False
            leave_out_node(child.starts, walk, level, level, a)
            is_any = True
    return is_any


@inner_kernel
def _leave_out_dear(child, chosen, walk, is_fresh, costs, relaxed):
    """Leave out open columns that no family within reach has; return whether there are any.

    With t of the open columns, the child's RSS is at least what the relaxation leaves of it less
    the t largest gains, one of which may be replaced by that of a column.
    """
    level, weight, k = walk.numbers[LEVEL], child.weight, child.diagonal.size
    q, is_open = walk.n_chosen[level], walk.is_open[level]
    fewest = _FEWEST_OPEN if is_fresh else _FEWEST_OPEN_ELSE
    if k == 0 or walk.n_left[level] - 1 - q < fewest:
        return False
    full, reach, cheapest = costs
    more, lost, most = child.least_costs[q:], chosen.lost[q], min(reach, cheapest)
    # The RSS up to which a family is within reach, with one open column and with two.
    one, two = math.exp((most - more[1]) / weight), math.exp((most - more[2]) / weight)
    price = _SHARE_OF_PRICE * (one - two)
    if not price > 0:
        return False
    relax(child, chosen, q, max(q - is_fresh, 0), is_open, price, relaxed)
    order, gains = np.flatnonzero(is_open), np.empty(k)
    base, n = fill_gains(child, chosen, q, order, relaxed, gains), order.size
    least = math.exp(full / weight)  # with all columns
    limits, totals = np.empty((2, n + 1))
    n_most, totals[0] = 0, 0.0
    for t in range(1, n + 1):
        limits[t] = math.exp((most - more[t]) / weight)
        if limits[t] < least:
            break
        n_most = t
        totals[t] = totals[t - 1] + largest_first(gains[t - 1 : n], order[t - 1 :])
    is_out, n_out = np.zeros(k, np.bool_), 0
    for i in range(n):
        a, t = order[i], 1
        share = math.exp((min(reach - lost[a], cheapest) - most) / weight)
        while t <= n_most:
            gain = totals[t] if i < t else totals[t - 1] + gains[i]
            if max(least, base - gain) <= share * limits[t]:
                break
            t += 1
        is_out[a] = t > n_most
        n_out += is_out[a]
        is_open[a] = not is_out[a]
    if n_out:
        leave_out_all(child.products, walk, level, is_out)
    return n_out > 0


@inner_kernel
def _choose_here(child, discounts, chosen, walk, node):
    level = walk.numbers[LEVEL]
    walk.is_open[level, node] = False
    choose(child, discounts, chosen, walk.n_chosen[level], node)
    walk.n_chosen[level] += 1
    walk.numbers[IS_FRESH] = 1


@inner_kernel
def _go_back(child, discounts, chosen, walk):
    """Go on with the node that the level before left out."""
    walk.numbers[LEVEL] -= 1
    level = walk.numbers[LEVEL]
    if level >= 0:
        _choose_here(child, discounts, chosen, walk, walk.branch[level])


@inner_kernel
def _branch(child, walk, level, node):
    """Go on without a node."""
    walk.branch[level] = node
    leave_out_node(child.starts, walk, level, level + 1, node)
    walk.n_chosen[level + 1] = walk.n_chosen[level]
    walk.is_open[level + 1] = walk.is_open[level]
    walk.is_open[level + 1, node] = False
    walk.cheapest[level + 1] = walk.cheapest[level]
    walk.numbers[LEVEL] += 1


@inner_kernel
def _is_beyond(losses, lost, full, least_costs, reach, cheapest):
    """Whether all families with some of the open nodes are beyond reach, or dominated.

    If t of them are taken and all of these have larger losses than the others, the largest loss of
    another must be added; if not, a loss among the t largest.

    Parameters
    ----------
    losses : ndarray of shape (n,), float64
        How much more the families cost without each of the nodes; sorted here.
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
        total = full + parents + largest_first(losses[t:], lost[t:])
        if total + taken <= reach and total < cheapest:
            return False
    return True


PRICING_KERNELS = (search_parent_sets,)
