"""Kernels that list the cheap families of a child again, with bounds that rounding cannot break.

Nothing here trusts an inverse. With the products G of some columns, e the unit vector of the child
and any vector v, let ``r = e - G v``. Then

    v_child + v.r  <=  1 / RSS  <=  v_child + v.r + |r|**2 / s

where RSS is the residual sum of squares of the child on the other columns, and s is at most the
smallest eigenvalue of G: that of all columns will do. All rounding is added to the bounds.

The same holds for the bound of `relaxed_kernels`, whatever the coefficients: here it takes the
products as they are, and the chosen candidates have coefficients as well. From searches, the check
has inverses and coefficients, but it visits sets and adds bounds up by itself.

A node of several columns costs what they cost one after the other, each on the parents and the
node's columns before it.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import int64

from skbn._branch_and_cut.checker_kernels import EPSILON
from skbn._branch_and_cut.chosen_kernels import CHOSEN, FOUND, begin, regress_on
from skbn._branch_and_cut.pricing_problem import ChildCosts, Discounts
from skbn._branch_and_cut.relaxed_kernels import Relaxed, new_relaxed, relax
from skbn._branch_and_cut.walk_kernels import (
    DONE,
    FULL,
    IS_FRESH,
    LEVEL,
    N_FOUND,
    N_NODES,
    PAUSED,
    TIE,
    WALK,
    WITH_DOMINATED,
    eliminate,
    largest_first,
    leave_out_all,
    leave_out_node,
)
from skbn._core.arrays import B1, F1, F2, I1
from skbn._core.compile import inner_kernel, kernel, tuple_type

# The price of a parent in the relaxation, as a share of what the first may cost.
_SHARE_OF_PRICE = 0.9


class Claim(NamedTuple):
    """A child, and the reduced cost below which all of its families are listed.

    Parameters
    ----------
    child : ChildCosts
        With columns of norm 1 or less.
    eigenvalue : float
        At most the smallest eigenvalue of the products; positive.
    discounts : Discounts
    threshold : float
    """

    child: ChildCosts
    eigenvalue: float
    discounts: Discounts
    threshold: float


class _Work(NamedTuple):
    """Memory for one set after the other."""

    columns: I1  # (n,): those of the family, or those that are left
    factor: F2  # (n, n)
    v: F1  # (n,)
    gains: F1  # (n,)
    chain: F2  # (d, n): for the child's d columns
    discounts: F1  # (k + 1,): with each further candidate, then without any; or a bit more
    is_out: B1  # (n,)
    relaxed: Relaxed


_CLAIM = tuple_type(Claim)


@inner_kernel
def _bounds(products, columns, n, v, eigenvalue):
    """Return bounds of the inverse of the child's residual sum of squares; it is the last column.

    Parameters
    ----------
    products : ndarray
    columns : ndarray of int64
        The first n are meant.
    n : int
    v : ndarray of float64
        About the last column of the inverse of their products.
    eigenvalue : float
    """
    size = 0.0
    for a in range(n):
        size += abs(v[a])
    size *= 1 + n * EPSILON
    # The rounding of an entry of the residual, whose products are at most 1.
    rounding = (n + 4) * EPSILON * (1.0 + size)
    dot, magnitude, squares = 0.0, 0.0, 0.0
    for a in range(n):
        row = products[columns[a]]
        r = 1.0 if a == n - 1 else 0.0
        for b in range(n):
            r -= row[columns[b]] * v[b]
        dot += v[a] * r
        magnitude += abs(v[a] * r)
        squares += (abs(r) + rounding) ** 2
    slack = size * rounding + (n + 4) * EPSILON * (magnitude + abs(v[n - 1]))
    low = v[n - 1] + dot - slack
    high = v[n - 1] + dot + slack + (1 + (n + 4) * EPSILON) * squares / eigenvalue
    return low, high


@inner_kernel
def _cost_of(weight, inverse, up):
    """Return what a residual sum of squares costs, by its inverse: at most (up) or at least."""
    value = -weight * math.log(inverse)
    return value + (1 if up else -1) * 4 * EPSILON * abs(value)


@inner_kernel
def _fill_discounts(claim, chosen, discounts):
    """Fill the discounts with each further parent, then without any; or a bit more."""
    cuts = claim.discounts
    k = discounts.size - 1
    discounts[:] = 0.0
    for i in range(cuts.starts.size):
        entry = np.int64(0)
        for a in chosen:
            entry |= cuts.bits[i, a]
        table = cuts.tables[cuts.starts[i] :]
        for a in range(k):
            discounts[a] += cuts.multipliers[i] * table[entry | cuts.bits[i, a]]
        discounts[k] += cuts.multipliers[i] * table[entry]
    for a in range(k + 1):
        discounts[a] *= 1 + (cuts.starts.size + 4) * EPSILON


@inner_kernel
def _factorise(products, columns, n, factor):
    """Fill about the Cholesky factor of the products of some columns."""
    for a in range(n):
        for b in range(a + 1):
            t = products[columns[a], columns[b]]
            for c in range(b):
                t -= factor[a, c] * factor[b, c]
            factor[a, b] = math.sqrt(max(t, 1e-300)) if a == b else t / factor[b, b]


@inner_kernel
def _solve(factor, n, v):
    """Fill about the last column of the inverse of the products of the first n columns."""
    v[n - 1] = 1 / factor[n - 1, n - 1] ** 2
    for a in range(n - 2, -1, -1):
        t = 0.0
        for b in range(a + 1, n):
            t += factor[b, a] * v[b]
        v[a] = -t / factor[a, a]


@kernel(_CLAIM, WALK, CHOSEN, FOUND, int64, seconds=6.0)
def list_families_again(claim, walk, chosen, found, n_nodes):
    """List the families of less than a reduced cost; if `walk` says so, also dominated ones.

    Parameters
    ----------
    claim : Claim
    walk : Walk
        Where the search begins, or goes on. `cheapest` is at least what some set of the chosen
        candidates costs.
    chosen : Chosen
        Its candidates, and discounts that may be a bit more.
    found : Found
        Filled with what families cost at least, and with what reduced costs they have at least.
    n_nodes : int
        It pauses after this many sets.

    Returns
    -------
    state : int
        PAUSED, FULL if there is no room for a family, or DONE.
    """
    child, numbers, starts = claim.child, walk.numbers, claim.child.starts
    n_columns, k = child.products.shape[0], starts.size - 2
    work = _Work(
        np.empty(n_columns, np.int64),
        np.empty((n_columns, n_columns)),
        np.empty(n_columns),
        np.empty(n_columns),
        np.empty((n_columns - starts[k], n_columns)),
        np.empty(k + 1),
        np.empty(n_columns, np.bool_),
        new_relaxed(child.diagonal.size),
    )
    if numbers[N_NODES] == 0:
        begin(child, claim.discounts, chosen)
    end = numbers[N_NODES] + n_nodes
    while numbers[LEVEL] >= 0:
        if numbers[N_NODES] >= end:
            return PAUSED
        numbers[N_NODES] += 1
        level, is_new = numbers[LEVEL], numbers[IS_FRESH] == 1
        if is_new and not _list(claim, walk, chosen, found, work):
            return FULL
        numbers[IS_FRESH] = 0
        q, inverse = walk.n_chosen[level], walk.inverses[level]
        reach = min(claim.threshold + chosen.discount[q], walk.cheapest[level])
        # The cost of the families with more parents than the chosen ones, all open ones in them.
        n = _fill_left(child, walk.is_open[level], chosen.nodes[:q], inverse, work)
        full = _least_cost(claim, n, chosen.nodes[:q], work)
        at = _most_useful(child, walk.is_open[level], inverse, n, work)
        if at < 0 or full >= reach:
            numbers[LEVEL] -= 1
            if level:
                _choose(child, walk, chosen, walk.branch[level - 1])
        elif not (is_new and _leave_out_hopeless(claim, walk, chosen, full, reach, work)):
            _branch(child, walk, at)
    return DONE


@inner_kernel
def _list(claim, walk, chosen, found, work):
    """Fill the discounts of newly chosen candidates, and list their family if need be.

    Returns whether there was room.
    """
    level, n_found = walk.numbers[LEVEL], walk.numbers[N_FOUND]
    child, q, columns = claim.child, walk.n_chosen[level], work.columns
    _fill_discounts(claim, chosen.nodes[:q], work.discounts)
    discount = work.discounts[work.discounts.size - 1]
    chosen.discount[q] = discount
    n = 0
    for i in range(q + 1):
        a = chosen.nodes[i] if i < q else child.starts.size - 2
        for column in range(child.starts[a], child.starts[a + 1]):
            columns[n] = column
            n += 1
    d = child.starts[-1] - child.starts[-2]
    _factorise(child.products, columns, n, work.factor)
    of_parents = child.costs[q] + child.costs_of_columns[n - d]
    cost, most = of_parents, of_parents
    for size in range(n - d + 1, n + 1):
        _solve(work.factor, size, work.v)
        low, high = _bounds(child.products, columns, size, work.v, claim.eigenvalue)
        cost += _cost_of(child.weight, high, False)
        most += _cost_of(child.weight, low, True) if low > 0 else np.inf
    if cost - discount < claim.threshold and cost < walk.cheapest[level]:
        if n_found == found.cost.size:
            return False
        found.parents[n_found] = -1
        found.parents[n_found, :q] = chosen.nodes[:q]
        found.cost[n_found], found.reduced[n_found] = cost, cost - discount
        walk.numbers[N_FOUND] += 1
    if not walk.numbers[WITH_DOMINATED]:
        walk.cheapest[level] = min(walk.cheapest[level], most + walk.limits[TIE])
    return True


@inner_kernel
def _fill_left(child, is_open, chosen, inverse, work):
    """Fill the columns of the chosen and the open candidates, then the child's, and the chain.

    Returns how many columns there are.
    """
    work.is_out[:] = True
    for a in chosen:
        work.is_out[child.starts[a] : child.starts[a + 1]] = False
    n, k = 0, is_open.size
    for a in range(k + 1):
        for column in range(child.starts[a], child.starts[a + 1]):
            if a == k or is_open[a] or not work.is_out[column]:
                work.columns[n] = column
                n += 1
    d = work.chain.shape[0]
    for t in range(d):
        work.chain[t, :n] = inverse[:n, n - d + t]
    eliminate(work.chain, n)
    return n


@inner_kernel
def _least_cost(claim, n, chosen, work):
    """Return what families with more parents than the chosen ones, among n columns, cost at least.

    The last of these columns are the child's.
    """
    child, d = claim.child, work.chain.shape[0]
    n_chosen = 0
    for a in chosen:
        n_chosen += child.starts[a + 1] - child.starts[a]
    cost = child.least_costs[chosen.size + 1]
    cost += child.least_of_columns[min(n_chosen + 1, child.least_of_columns.size - 1)]
    for t in range(d):
        size, v = n - d + t + 1, work.chain[t]
        _, high = _bounds(child.products, work.columns, size, v, claim.eigenvalue)
        cost += _cost_of(child.weight, high, False)
    return cost


@inner_kernel
def _most_useful(child, is_open, inverse, n, work):
    """Return an open candidate with the column that the residual grows most without, or -1."""
    d, chain = work.chain.shape[0], work.chain
    at, largest, node = -1, -1.0, 0
    for a in range(n - d):
        while child.starts[node + 1] <= work.columns[a]:
            node += 1
        if is_open[node]:
            share = 0.0
            for t in range(d):
                share += chain[t, a] * chain[t, a] / chain[t, n - d + t]
            if share / inverse[a, a] > largest:
                at, largest = node, share / inverse[a, a]
    return at


@inner_kernel
def _leave_out_hopeless(claim, walk, chosen, full, reach, work):
    """Leave out open candidates that no family within reach has; return whether there are any."""
    level, is_any, child = walk.numbers[LEVEL], False, claim.child
    is_open = walk.is_open[level]
    work.is_out[:] = False
    if child.diagonal.size:
        _find_dear(claim, walk, chosen, full, reach, work)
    for a in range(is_open.size):
        if is_open[a]:
            own = work.is_out[child.starts[a] : child.starts[a + 1]]
            if own[0] or full - work.discounts[a] >= claim.threshold:
                is_any, is_open[a], own[:] = True, False, True
    if is_any:
        leave_out_all(child.products, walk, level, work.is_out)
    return is_any


@inner_kernel
def _find_dear(claim, walk, chosen, full, reach, work):
    """Mark the open candidates whose families are beyond reach by the bound of a relaxation.

    All families with t of the open candidates leave the base less the t largest gains, one of
    which may be replaced by that of a candidate.
    """
    child, level, weight = claim.child, walk.numbers[LEVEL], claim.child.weight
    q, is_open, k = walk.n_chosen[level], walk.is_open[level], child.diagonal.size
    costs, gains = child.least_costs[q:], work.gains
    price = math.exp((reach - costs[1]) / weight) - math.exp((reach - costs[2]) / weight)
    if not price > 0:
        return
    relax(child, chosen, q, max(q - 1, 0), is_open, _SHARE_OF_PRICE * price, work.relaxed)
    base = _fill_gains(child, chosen, q, is_open, work)
    order = np.flatnonzero(is_open)
    n = order.size
    gains[:n] = gains[order]
    least = math.exp((full - costs[1]) / weight) * (1 - _share_of_power(full, costs[1], weight))
    limits, totals = np.empty((2, n + 1))
    n_most, totals[0] = 0, 0.0
    for t in range(1, n + 1):
        if costs[t] == np.inf:
            break
        limits[t] = math.exp((reach - costs[t]) / weight)
        limits[t] *= 1 + _share_of_power(reach, costs[t], weight)
        if limits[t] < least:
            break
        n_most = t
        totals[t] = totals[t - 1] + largest_first(gains[t - 1 : n], order[t - 1 :])
    for i in range(n):
        a, t = order[i], 1
        own = min(claim.threshold + work.discounts[a], walk.cheapest[level])
        share = math.exp((own - reach) / weight) * (1 + _share_of_power(own, reach, weight))
        while t <= n_most:
            gain = totals[t] if i < t else totals[t - 1] + gains[i]
            lost = (k + 8) * EPSILON * (abs(base) + gain)
            if max(least, base - gain - lost) <= share * limits[t]:
                break
            t += 1
        work.is_out[a] = t > n_most


@inner_kernel
def _share_of_power(a, b, weight):
    """Return the rounding of ``exp((a - b) / weight)`` as a share of it."""
    return 8 * EPSILON * (1 + (abs(a) + abs(b)) / weight)


@inner_kernel
def _fill_gains(child, chosen, q, is_open, work):
    """Fill at least by how much the child's RSS falls with each open candidate.

    Returns
    -------
    base : float
        At most its RSS on the chosen candidates, in the bound of all families that have them.
    """
    k, b, gains = child.diagonal.size, work.v[:-1], work.gains
    of_child = child.products[k]
    b[:] = work.relaxed.coefficients[q]
    _regress_on_chosen(child, chosen.nodes[:q], is_open, work.factor, b)
    size = 0.0
    for a in range(k):
        size += abs(b[a])
    rounding = (k + 8) * EPSILON * (1.0 + size)  # of a slope: no product exceeds 1
    base = child.products[k, k]
    magnitude = base + size * rounding / EPSILON
    for i in range(k + q):
        a = i if i < k else chosen.nodes[i - k]
        is_chosen = i >= k
        if is_chosen or is_open[a]:
            slope = of_child[a] + child.diagonal[a] * b[a]
            for e in range(k):
                if b[e] != 0:
                    slope -= child.products[a, e] * b[e]
            gains[a] = (1 + 8 * EPSILON) * (abs(slope) + rounding) ** 2 / child.diagonal[a]
            tangent = b[a] * (of_child[a] - slope)
            base -= tangent
            magnitude += abs(tangent)
            if is_chosen:
                base -= gains[a]
                magnitude += gains[a]
    return base - (2 * k + 16) * EPSILON * magnitude


@inner_kernel
def _regress_on_chosen(child, chosen, is_open, factor, b):
    """Fill the coefficients of the chosen candidates, of whose products there is a factor."""
    k = b.size
    for i in range(chosen.size):
        a = chosen[i]
        t = child.products[k, a]
        for e in range(k):
            if is_open[e]:
                t -= child.products[a, e] * b[e]
        for h in range(i):
            t -= factor[i, h] * b[chosen[h]]
        b[a] = t / factor[i, i]
    for i in range(chosen.size - 1, -1, -1):
        t = b[chosen[i]]
        for h in range(i + 1, chosen.size):
            t -= factor[h, i] * b[chosen[h]]
        b[chosen[i]] = t / factor[i, i]


@inner_kernel
def _choose(child, walk, chosen, candidate):
    level = walk.numbers[LEVEL]
    q = walk.n_chosen[level]
    walk.is_open[level, candidate] = False
    chosen.nodes[q] = candidate
    walk.n_chosen[level] += 1
    walk.numbers[IS_FRESH] = 1
    if child.diagonal.size:
        regress_on(child, chosen, q, candidate)


@inner_kernel
def _branch(child, walk, at):
    """Go on without a candidate."""
    level = walk.numbers[LEVEL]
    walk.branch[level] = at
    walk.is_open[level + 1] = walk.is_open[level]
    walk.is_open[level + 1, at] = False
    walk.n_chosen[level + 1] = walk.n_chosen[level]
    walk.cheapest[level + 1] = walk.cheapest[level]
    leave_out_node(child.starts, walk, level, level + 1, at)
    walk.numbers[LEVEL] = level + 1


PRICING_CHECKER_KERNELS = (list_families_again,)
