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

All bounds have their rounding in them (`rounding_kernels`), so the search is a proof that no other
family is within reach. Sums of costs and comparisons may round: that is far less than what the
check of a proof takes from its bounds for each child.
"""

import math

import numpy as np
from numba import float64, int64

from skbn._branch_and_cut.checker_kernels import EPSILON
from skbn._branch_and_cut.chosen_kernels import (
    CHOSEN,
    FOUND,
    begin,
    choose,
    fill_discount,
    regress_on,
)
from skbn._branch_and_cut.pricing_problem import CHILD_COSTS, DISCOUNTS
from skbn._branch_and_cut.relaxed_kernels import fill_gains, relax
from skbn._branch_and_cut.rounding_kernels import (
    bounds_of_inverse,
    cost_of_inverse,
    error_of,
    most_of_inverse,
)
from skbn._branch_and_cut.walk_kernels import (
    DONE,
    FULL,
    GROWTH,
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
    largest_first,
    leave_out_all,
    leave_out_node,
)
from skbn._core.arrays import ZERO
from skbn._core.compile import inlined_kernel, inner_kernel, kernel, pasted_kernel

# The price of a parent in the relaxation, as a share of what the first one may cost: the logarithm
# is concave, and each further parent may cost less.
_SHARE_OF_PRICE = 0.9
# With fewer open nodes the relaxation is not worth its time: after a node was chosen, and else.
_FEWEST_OPEN, _FEWEST_OPEN_ELSE = 4, 48
# An error that changes the child's entry of an inverse by more than this share is computed anew.
_LARGE_ERROR = 1e-10


@kernel(CHILD_COSTS, DISCOUNTS, CHOSEN, WALK, FOUND, float64, int64, seconds=5.0)
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
    found : SetsFound
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
    losses, lost = walk.work.losses, walk.work.lost
    end = numbers[N_NODES] + n_nodes
    while numbers[LEVEL] >= 0 and numbers[N_NODES] < end:
        level = numbers[LEVEL]
        q = walk.n_chosen[level]
        was_fresh = numbers[IS_FRESH]
        if was_fresh and not _take(child, chosen, walk, found, slack):
            return FULL
        numbers[IS_FRESH] = 0
        numbers[N_NODES] += 1
        reach, cheapest = limits[REACH] + chosen.discount[q], walk.cheapest[level]
        full, more = _cost_of_all(child, walk), walk.work.costs
        _fill_costs(child, chosen, walk)
        node, n_open = -1, 0
        if full + more[1] <= min(reach, cheapest):
            if _leave_out_dear(child, chosen, walk, was_fresh, full, reach, cheapest):
                continue
            node, n_open = _losses(child, chosen.lost[q], walk, full)
        if node < 0 or _is_beyond(losses, lost, n_open, full, more, reach, cheapest):
            numbers[LEVEL] -= 1
            if level == 0:
                break
            node = walk.branch[level - 1]  # the level before left it out: choose it there
        elif _leave_out_hopeless(child, chosen.lost[q], walk, level, reach - full - more[1]):
            continue
        elif full + losses[0] + more[1] <= min(reach, cheapest):  # the largest loss
            _branch(child, walk, level, node)
            continue
        _choose_here(child, discounts, chosen, walk, node)
    return DONE if numbers[LEVEL] < 0 else PAUSED


@pasted_kernel
def _take(child, chosen, walk, found, slack):
    """Keep the family of the chosen nodes if it is within reach; return whether there is room."""
    limits, numbers = walk.limits, walk.numbers
    level = numbers[LEVEL]
    q = walk.n_chosen[level]
    cost, most = _bounds_of_cost(child, chosen, q)
    if cost < walk.cheapest[level]:
        reduced = cost - chosen.discount[q]
        if reduced <= limits[REACH]:
            n = numbers[N_FOUND]
            if n == found.cost.size:
                return False
            for t in range(found.parents.shape[1]):
                found.parents[n, t] = chosen.nodes[t] if t < q else -1
            found.reduced[n], found.cost[n] = reduced, cost
            numbers[N_FOUND] += 1
        if reduced < limits[LEAST]:
            limits[LEAST] = reduced
            limits[REACH] = min(limits[REACH], reduced + slack)
        if not numbers[WITH_DOMINATED]:
            walk.cheapest[level] = min(walk.cheapest[level], most + limits[TIE])
    return True


@inner_kernel
def _bounds_of_cost(child, chosen, q):
    """Return what the family of the first q chosen nodes costs, at least and at most."""
    n, last, columns = chosen.n_columns[q], child.products.shape[0] - 1, chosen.columns
    least = child.costs[q] + child.costs_of_columns[n]
    most = least
    # The child's columns are regressed on those before them.
    for column in range(child.starts[child.starts.size - 2], last + 1):
        columns[n] = column
        _fill_last_column(chosen, n, column)
        low, high = bounds_of_inverse(child.products, columns, n + 1, chosen.v, child.eigenvalue)
        least += cost_of_inverse(child.weight, high, -1.0)
        most += cost_of_inverse(child.weight, low, 1.0) if low > 0 else np.inf
        if column < last:
            regress_on(chosen, ZERO, n, column)
        n += 1
    return least, most


@pasted_kernel
def _fill_last_column(chosen, n, column):
    """Fill about the last column of the inverse of the products of n chosen columns and one."""
    v, rows, columns = chosen.v, chosen.rows, chosen.columns
    v[n] = 1 / chosen.variances[n, column]
    for h in range(n - 1, -1, -1):
        t = rows[h, column] * v[n]
        for i in range(h + 1, n):
            t += rows[h, columns[i]] * v[i]
        v[h] = -t / rows[h, columns[h]]


@pasted_kernel
def _fill_costs(child, chosen, walk):
    """Fill what 0, 1, ... further parents cost at least."""
    q, costs, of_columns = (
        walk.n_chosen[walk.numbers[LEVEL]],
        walk.work.costs,
        child.least_of_columns,
    )
    for t in range(child.least_costs.size - q):
        of_these = of_columns[min(chosen.n_columns[q] + t, of_columns.size - 1)]
        costs[t] = child.least_costs[q + t] + of_these


@pasted_kernel
def _cost_of_all(child, walk):
    """Return what families of all columns left cost at least, without the costs of parents.

    Large errors of the child's rows, which grow while columns are left out, are computed anew.
    """
    level = walk.numbers[LEVEL]
    inverse, errors, n = walk.inverses[level], walk.errors[level], walk.n_left[level]
    for at in range(n - child.starts[-1] + child.starts[-2], n):
        if errors[at] ** 2 > _LARGE_ERROR**2 * child.eigenvalue * inverse[at, at]:
            given = child.products, walk.left[level], n
            error = error_of(*given, inverse[at], at, walk.work.row)
            errors[at] = min(errors[at], error)
    return _cost_without(child, walk, np.int64(-1))


@inner_kernel
def _cost_without(child, walk, node):
    """Return what families of all columns left, or all but a node's, cost at least.

    In the block of the inverse for the columns of the node and the child, the node is left out, and
    then the child's columns are, from the last one.
    """
    level, d = walk.numbers[LEVEL], child.starts[-1] - child.starts[-2]
    inverse, left, n = walk.inverses[level], walk.left[level], walk.n_left[level]
    block, growth = walk.work.block, walk.limits[GROWTH]
    errors, roundings = walk.work.errors, walk.work.roundings
    r, first = 0, 0
    if node >= 0:
        r = child.starts[node + 1] - child.starts[node]
        while left[first] != child.starts[node]:
            first += 1
    for a in range(r + d):
        at = first + a if a < r else n - d + a - r
        errors[a], roundings[a] = walk.errors[level, at], walk.roundings[left[at]]
        for b in range(r + d):
            block[a, b] = inverse[at, first + b if b < r else n - d + b - r]
    cost = 0.0
    for t in range(r + d):
        p = t if t < r else 2 * r + d - 1 - t
        if t >= r:
            most = most_of_inverse(block[p, p], errors[p], child.eigenvalue)
            cost += cost_of_inverse(child.weight, most, -1.0)
        start, stop = (t + 1, r + d) if t < r else (r, p)
        for a in range(start, stop):
            factor = block[a, p] / block[p, p]
            errors[a] = growth * errors[a] + roundings[a]
            errors[a] += abs(factor) * (growth * errors[p] + roundings[p])
            for b in range(start, stop):
                block[a, b] -= factor * block[p, b]
    return cost


@pasted_kernel
def _losses(child, all_lost, walk, full):
    """Fill how much more families cost without each open node, and what it takes of the discount.

    Returns the node of the largest loss, or -1, and the number of open nodes.
    """
    level, node, n_open, largest = walk.numbers[LEVEL], -1, 0, -1.0
    losses, lost = walk.work.losses, walk.work.lost
    if child.products.shape[0] != child.starts.size - 1:
        return _losses_of_groups(child, all_lost, walk, full)
    inverse, left, is_open = walk.inverses[level], walk.left[level], walk.is_open[level]
    errors, n = walk.errors[level], walk.n_left[level]
    of_child = n - 1
    own, error = inverse[of_child], errors[of_child]
    value, most = own[of_child], math.exp(-full / child.weight)
    by = (1 + 16 * EPSILON) * math.sqrt(most / child.eigenvalue)
    for a in range(of_child):
        if is_open[left[a]]:
            # As in `_cost_without`, with the bound of the norm of the child's row.
            factor = own[a] / inverse[a, a]
            taken = factor * inverse[a, of_child]
            off = error + abs(factor) * errors[a] + n * EPSILON * abs(own[a])
            high = value - taken + off * by + 4 * EPSILON * (value + abs(taken))
            loss = child.weight * math.log(most / min(high, most))
            losses[n_open], lost[n_open] = loss, all_lost[left[a]]
            n_open += 1
            if loss > largest:
                node, largest = left[a], loss
    return node, n_open


@pasted_kernel
def _losses_of_groups(child, all_lost, walk, full):
    """Fill the same where nodes have several columns."""
    level, node, n_open, largest = walk.numbers[LEVEL], -1, 0, -1.0
    losses, lost = walk.work.losses, walk.work.lost
    for a in range(walk.is_open.shape[1]):
        if walk.is_open[level, a]:
            losses[n_open] = max(_cost_without(child, walk, a) - full, 0.0)
            lost[n_open] = all_lost[a]
            if losses[n_open] > largest:
                node, largest = a, losses[n_open]
            n_open += 1
    return node, n_open


@pasted_kernel
def _leave_out_hopeless(child, lost, walk, level, most):
    """Leave out the open nodes that take more of the discount; return whether there are any."""
    is_any = False
    for a in range(lost.size - 1, -1, -1):
        if walk.is_open[level, a] and lost[a] > most:
            walk.is_open[level, a] = False
            leave_out_node(child, walk, level, level, a)
            is_any = True
    return is_any


@pasted_kernel
def _price_of_parent(child, walk, is_fresh, most):
    """Return the price of a parent in the relaxation, or 0 if that is not worth its time."""
    level, weight = walk.numbers[LEVEL], child.weight
    q = walk.n_chosen[level]
    fewest = _FEWEST_OPEN if is_fresh else _FEWEST_OPEN_ELSE
    if child.diagonal.size == 0 or walk.n_left[level] - 1 - q < fewest:
        return 0.0
    costs = child.least_costs
    # The RSS up to which a family is within reach, with one open column and with two.
    one, two = _rss_of(most, costs[q + 1], weight, 1.0), _rss_of(most, costs[q + 2], weight, 1.0)
    return _SHARE_OF_PRICE * (one - two)


@inner_kernel
def _leave_out_dear(child, chosen, walk, is_fresh, full, reach, cheapest):
    """Leave out open columns that no family within reach has; return whether there are any.

    With t of the open columns, the child's RSS is at least what the relaxation leaves of it less
    the t largest gains, one of which may be replaced by that of a column.
    """
    level, weight, k, work = walk.numbers[LEVEL], child.weight, child.diagonal.size, walk.work
    q, is_open, most = walk.n_chosen[level], walk.is_open[level], min(reach, cheapest)
    lost = chosen.lost[q]
    price = _price_of_parent(child, walk, is_fresh, most)
    if not price > 0:
        return False
    relax(child, chosen, q, max(q - is_fresh, 0), is_open, price, work.relaxed)
    base = fill_gains(child, chosen, q, is_open, work.relaxed, work.coefficients, work.gains)
    order, gains, limits, totals, n = work.order, work.gains, work.limits, work.totals, 0
    is_out = work.is_out
    for a in range(k):
        order[n], gains[n], is_out[a] = a, gains[a], False
        n += is_open[a]
    least = _rss_of(full, 0.0, weight, -1.0)  # with all columns
    n_most, totals[0] = 0, 0.0
    for t in range(1, n + 1):
        limits[t] = _rss_of(most, child.least_costs[q + t], weight, 1.0)
        if limits[t] < least:
            break
        n_most = t
        largest_first(gains, order, t - 1, n)
        totals[t] = totals[t - 1] + gains[t - 1]
    n_out = 0
    for i in range(n):
        a, t = order[i], 1
        share = _rss_of(min(reach - lost[a], cheapest), most, weight, 1.0)
        while t <= n_most:
            gain = totals[t] if i < t else totals[t - 1] + gains[i]
            off = (k + 8) * EPSILON * (abs(base) + gain)
            if max(least, base - gain - off) <= share * limits[t]:
                break
            t += 1
        is_out[a] = t > n_most
        n_out += is_out[a]
        is_open[a] = not is_out[a]
    if n_out:
        leave_out_all(child, walk, level, is_out)
    return n_out > 0


@inlined_kernel
def _rss_of(cost, costs, weight, sign):
    """Return the RSS that costs a number less others, at most (1.0) or at least (-1.0)."""
    off = 8 * EPSILON * (1 + (abs(cost) + abs(costs)) / weight)
    return math.exp((cost - costs) / weight) * (1 + sign * off)


@pasted_kernel
def _choose_here(child, discounts, chosen, walk, node):
    level = walk.numbers[LEVEL]
    walk.is_open[level, node] = False
    choose(child, discounts, chosen, walk.n_chosen[level], node)
    walk.n_chosen[level] += 1
    fill_discount(child, discounts, chosen, walk.n_chosen[level])
    walk.numbers[IS_FRESH] = 1


@pasted_kernel
def _branch(child, walk, level, node):
    """Go on without a node."""
    walk.branch[level] = node
    leave_out_node(child, walk, level, level + 1, node)
    walk.n_chosen[level + 1] = walk.n_chosen[level]
    for t in range(walk.is_open.shape[1]):
        walk.is_open[level + 1, t] = walk.is_open[level, t]
    walk.is_open[level + 1, node] = False
    walk.cheapest[level + 1] = walk.cheapest[level]
    walk.numbers[LEVEL] += 1


@pasted_kernel
def _is_beyond(losses, lost, n, full, least_costs, reach, cheapest):
    """Whether all families with some of the open nodes are beyond reach, or dominated.

    If t of them are taken and all of these have larger losses than the others, the largest loss of
    another must be added; if not, a loss among the t largest.

    Parameters
    ----------
    losses : ndarray of float64
        How much more the families cost without each of n nodes; sorted here.
    lost : ndarray of float64
        What each takes from the discount; sorted along.
    n : int
    full : float
        What the families cost at least, without the cost of their number of parents.
    least_costs : ndarray of float64
        What 0, 1, ... more parents cost.
    reach, cheapest : float
        What they may cost, with and without the loss of discount.
    """
    least_lost, most = np.inf, 0.0
    for t in range(n):
        least_lost = min(least_lost, lost[t])
    for t in range(n + 1):
        if t:
            most = max(most, lost[t - 1])
        parents = least_costs[max(t, 1)]
        taken = max(most, least_lost)
        if full + parents + taken > reach or full + parents >= cheapest:
            return True
        total = full + parents
        if t < n:
            largest_first(losses, lost, t, n)
            total += losses[t]
        if total + taken <= reach and total < cheapest:
            return False
    return True


PRICING_KERNELS = (search_parent_sets,)
