"""Kernels that list the cheap families of a child again, with bounds that rounding cannot break.

Nothing here trusts an inverse. With the products G of some columns, e the unit vector of the child
and any vector v, let ``r = e - G v``. Then

    v_child + v.r  <=  1 / RSS  <=  v_child + v.r + |r|**2 / s

where RSS is the residual sum of squares of the child on the other columns, and s is at most the
smallest eigenvalue of G: that of all columns will do. All rounding is added to the bounds.

A node of several columns costs what they cost one after the other, each on the parents and the
node's columns before it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import boolean, float64, int64

from skbn._branch_and_cut.checker_kernels import EPSILON
from skbn._branch_and_cut.pricing_problem import DISCOUNTS, NODE_COSTS, Discounts, NodeCosts
from skbn._core.compile import inner_kernel, kernel, tuple_type


class Claim(NamedTuple):
    """A child, and the reduced cost below which all of its families are listed.

    Parameters
    ----------
    child : NodeCosts
        With columns of norm 1 or less.
    eigenvalue : float
        At most the smallest eigenvalue of the products; positive.
    discounts : Discounts
    threshold : float
    """

    child: NodeCosts
    eigenvalue: float
    discounts: Discounts
    threshold: float


class Level(NamedTuple):
    """What a search has at each level: a level leaves out one more candidate.

    Parameters
    ----------
    inverse : ndarray of shape (k + 1, n, n), float64
        About the inverse of the products of the columns that are left.
    left, n_left
        These columns, the child's last.
    is_open : ndarray of shape (k + 1, k), bool
        Whether a candidate is left and not chosen.
    chosen, n_chosen
        The chosen candidates.
    branch : ndarray of shape (k + 1,), int64
        The candidate that the next level leaves out.
    dominating : ndarray of shape (k + 1,), float64
        At least what some set of chosen candidates costs.
    discount : ndarray of shape (k + 1,), float64
        That of the chosen candidates, or a bit more.
    state : ndarray of shape (3,), int64
        The level, whether a candidate was just chosen, and how many families were listed.
    """

    inverse: npt.NDArray[np.float64]
    left: npt.NDArray[np.int64]
    n_left: npt.NDArray[np.int64]
    is_open: npt.NDArray[np.bool_]
    chosen: npt.NDArray[np.int64]
    n_chosen: npt.NDArray[np.int64]
    branch: npt.NDArray[np.int64]
    dominating: npt.NDArray[np.float64]
    discount: npt.NDArray[np.float64]
    state: npt.NDArray[np.int64]


_CLAIM = tuple_type(Claim, NODE_COSTS, float64, DISCOUNTS, float64)
_LEVEL = tuple_type(
    Level,
    float64[:, :, ::1],
    int64[:, ::1],
    int64[::1],
    boolean[:, ::1],
    int64[:, ::1],
    int64[::1],
    int64[::1],
    float64[::1],
    float64[::1],
    int64[::1],
)


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


@kernel(_CLAIM, _LEVEL, int64[:, ::1], float64[:, ::1], int64, seconds=3.0)
def list_families_again(claim, levels, parents, values, n_nodes):
    """List all families of less than a reduced cost that no other one dominates.

    Parameters
    ----------
    claim : Claim
    levels : Level
        Where the search begins, or goes on.
    parents : ndarray of shape (n, k), int64
        Filled with the families' parents, then -1.
    values : ndarray of shape (2, n), float64
        Filled with what they cost at least, and with what reduced costs they have at least.
    n_nodes : int
        It pauses after this many nodes.

    Returns
    -------
    state : int
        0 if it paused, 1 if there is no room for a family, 2 at the end.
    """
    n_columns = claim.child.products.shape[0]
    state, factor = levels.state, np.empty((n_columns, n_columns))
    columns, v = np.empty(n_columns, np.int64), np.empty(n_columns)
    starts = claim.child.starts
    chain = np.empty((starts[-1] - starts[-2], n_columns))
    discounts = np.empty(starts.size - 1)
    while state[0] >= 0:
        n_nodes -= 1
        if n_nodes < 0:
            return 0
        level = state[0]
        chosen = levels.chosen[level, : levels.n_chosen[level]]
        is_new = state[1] == 1
        if is_new and not _list(claim, levels, discounts, parents, values, columns, factor, v):
            return 1
        state[1] = 0
        inverse, left, n = levels.inverse[level], levels.left[level], levels.n_left[level]
        reach = min(claim.threshold + levels.discount[level], levels.dominating[level])
        # The cost of the families with more parents than the chosen ones, all open ones in them.
        for t in range(chain.shape[0]):
            chain[t, :n] = inverse[:n, n - chain.shape[0] + t]
        _eliminate(chain, n)
        full = _least_cost(claim, left, n, chain, chosen)
        at = _most_useful(claim, levels, inverse, chain)
        if at < 0 or full >= reach:
            state[0] -= 1
            if level:
                _choose(levels, levels.branch[level - 1])
        elif not (is_new and _leave_out_hopeless(claim, levels, discounts, full)):
            # Without the candidate that matters most: if nothing is within reach, it is chosen.
            if starts[at + 1] == starts[at] + 1:
                _leave_out_of_chain(inverse, left, n, starts[at], columns, chain)
                if _least_cost(claim, columns, n - 1, chain, chosen) >= reach:
                    _choose(levels, at)
                    continue
            _branch(claim, levels, at)
    return 2


@inner_kernel
def _list(claim, levels, discounts, parents, values, columns, factor, v):
    """Fill the discounts of newly chosen candidates, and list their family if need be.

    Returns whether there was room.
    """
    level, n_listed = levels.state[0], levels.state[2]
    child, q = claim.child, levels.n_chosen[level]
    chosen = levels.chosen[level, :q]
    _fill_discounts(claim, chosen, discounts)
    discount = discounts[discounts.size - 1]
    levels.discount[level] = discount
    n = 0
    for i in range(q + 1):
        a = chosen[i] if i < q else child.starts.size - 2
        for column in range(child.starts[a], child.starts[a + 1]):
            columns[n] = column
            n += 1
    d = child.starts[-1] - child.starts[-2]
    _factorise(child.products, columns, n, factor)
    of_parents = child.costs[q] + child.costs_of_columns[n - d]
    cost, most = of_parents, of_parents
    for size in range(n - d + 1, n + 1):
        _solve(factor, size, v)
        low, high = _bounds(child.products, columns, size, v, claim.eigenvalue)
        cost += _cost_of(child.weight, high, False)
        most += _cost_of(child.weight, low, True) if low > 0 else np.inf
    if cost - discount < claim.threshold and cost < levels.dominating[level]:
        if n_listed == parents.shape[0]:
            return False
        parents[n_listed] = -1
        parents[n_listed, :q] = chosen
        values[0, n_listed], values[1, n_listed] = cost, cost - discount
        levels.state[2] += 1
    levels.dominating[level] = min(levels.dominating[level], most)
    return True


@inner_kernel
def _eliminate(chain, n):
    """Make about columns of an inverse those of the inverses for its first columns alone.

    Parameters
    ----------
    chain : ndarray of shape (d, ...), float64
        The last d columns of an inverse for n columns, as rows. Then row t is the last column of
        the inverse for the first n - d + t + 1.
    n : int
    """
    d = chain.shape[0]
    for t in range(d - 1, 0, -1):
        own = n - d + t
        for before in range(t):
            ratio = chain[before, own] / chain[t, own]
            for a in range(own + 1):
                chain[before, a] -= ratio * chain[t, a]


@inner_kernel
def _least_cost(claim, columns, n, chain, chosen):
    """Return what families with more parents than the chosen ones, among n columns, cost at least.

    The last of these columns are the child's.
    """
    child, d = claim.child, chain.shape[0]
    n_chosen = 0
    for a in chosen:
        n_chosen += child.starts[a + 1] - child.starts[a]
    cost = child.least_costs[chosen.size + 1]
    cost += child.least_of_columns[min(n_chosen + 1, child.least_of_columns.size - 1)]
    for t in range(d):
        _, high = _bounds(child.products, columns, n - d + t + 1, chain[t], claim.eigenvalue)
        cost += _cost_of(child.weight, high, False)
    return cost


@inner_kernel
def _most_useful(claim, levels, inverse, chain):
    """Return an open candidate with the column that the residual grows most without, or -1."""
    level, starts = levels.state[0], claim.child.starts
    n, d = levels.n_left[level], chain.shape[0]
    at, largest, node = -1, -1.0, 0
    for a in range(n - d):
        while starts[node + 1] <= levels.left[level, a]:
            node += 1
        if levels.is_open[level, node]:
            share = 0.0
            for t in range(d):
                share += chain[t, a] * chain[t, a] / chain[t, n - d + t]
            if share / inverse[a, a] > largest:
                at, largest = node, share / inverse[a, a]
    return at


@inner_kernel
def _leave_out_of_chain(inverse, left, n, column, columns, chain):
    """Fill the columns that are left without one, and the chain of them."""
    d, at = chain.shape[0], 0
    while left[at] != column:
        at += 1
    for a in range(n):
        if a != at:
            b = a - (a > at)
            columns[b] = left[a]
            for t in range(d):
                own = n - d + t
                chain[t, b] = inverse[a, own] - inverse[a, at] * inverse[at, own] / inverse[at, at]
    _eliminate(chain, n - 1)


@inner_kernel
def _leave_out_hopeless(claim, levels, discounts, full):
    """Leave out open candidates that no family within reach has; return whether there are any."""
    level = levels.state[0]
    is_any = False
    for a in range(levels.is_open.shape[1]):
        if levels.is_open[level, a] and full - discounts[a] >= claim.threshold:
            levels.is_open[level, a] = False
            _leave_out(claim, levels, level, level, a)
            is_any = True
    return is_any


@inner_kernel
def _choose(levels, candidate):
    level = levels.state[0]
    levels.is_open[level, candidate] = False
    levels.chosen[level, levels.n_chosen[level]] = candidate
    levels.n_chosen[level] += 1
    levels.state[1] = 1


@inner_kernel
def _branch(claim, levels, at):
    """Go on without a candidate."""
    level = levels.state[0]
    levels.branch[level] = at
    levels.is_open[level + 1] = levels.is_open[level]
    levels.is_open[level + 1, at] = False
    levels.chosen[level + 1] = levels.chosen[level]
    levels.n_chosen[level + 1] = levels.n_chosen[level]
    levels.dominating[level + 1] = levels.dominating[level]
    levels.discount[level + 1] = levels.discount[level]
    _leave_out(claim, levels, level, level + 1, at)
    levels.state[0] = level + 1


@inner_kernel
def _leave_out(claim, levels, level, target, candidate):
    """Fill a level's inverse with that of a level without a candidate; they may be the same."""
    source, n = level, levels.n_left[level]
    for column in range(claim.child.starts[candidate], claim.child.starts[candidate + 1]):
        inverse, own, left = levels.inverse[source], levels.inverse[target], levels.left[source]
        at = 0
        while left[at] != column:
            at += 1
        taken = inverse[at, :n].copy()
        for a in range(n):
            if a != at:
                ratio = inverse[a, at] / taken[at]
                to = a - (a > at)
                for b in range(at):
                    own[to, b] = inverse[a, b] - ratio * taken[b]
                for b in range(at + 1, n):
                    own[to, b - 1] = inverse[a, b] - ratio * taken[b]
                levels.left[target, to] = left[a]
        source = target
        n -= 1
    levels.n_left[target] = n


PRICING_CHECKER_KERNELS = (list_families_again,)
