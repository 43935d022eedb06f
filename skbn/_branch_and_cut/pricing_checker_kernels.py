"""Kernels that list the cheap families of a child again, with bounds that rounding cannot break.

Nothing here trusts an inverse. With the products G of some columns, e the unit vector of the child
and any vector v, let ``r = e - G v``. Then

    v_child + v.r  <=  1 / RSS  <=  v_child + v.r + |r|**2 / s

where RSS is the residual sum of squares of the child on the other columns, and s is at most the
smallest eigenvalue of G: that of all columns will do. All rounding is added to the bounds.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import boolean, float64, int64

from skbn._branch_and_cut.checker_kernels import EPSILON
from skbn._branch_and_cut.pricing_problem import CHILD_COSTS, DISCOUNTS, ChildCosts, Discounts
from skbn._core.compile import inner_kernel, kernel, tuple_type


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


class Level(NamedTuple):
    """What a search has at each level: a level leaves out one more column.

    Parameters
    ----------
    inverse : ndarray of shape (k + 1, k + 1, k + 1), float64
        About the inverse of the products of the columns that are left.
    left, n_left
        These columns, the child last.
    is_open : ndarray of shape (k + 1, k), bool
        Whether a column is left and not chosen.
    chosen, n_chosen
        The chosen columns.
    branch : ndarray of shape (k + 1,), int64
        The column that the next level leaves out.
    dominating : ndarray of shape (k + 1,), float64
        At least what some set of chosen columns costs.
    discount : ndarray of shape (k + 1,), float64
        That of the chosen columns, or a bit more.
    state : ndarray of shape (3,), int64
        The level, whether a column was just chosen, and how many families were listed.
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


_CLAIM = tuple_type(Claim, CHILD_COSTS, float64, DISCOUNTS, float64)
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
def _solve(products, columns, n, factor, v):
    """Fill about the last column of the inverse of the products of some columns, by Cholesky."""
    for a in range(n):
        for b in range(a + 1):
            t = products[columns[a], columns[b]]
            for c in range(b):
                t -= factor[a, c] * factor[b, c]
            factor[a, b] = math.sqrt(max(t, 1e-300)) if a == b else t / factor[b, b]
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
    k = claim.child.products.shape[0] - 1
    state, scratch, columns = levels.state, np.empty((k + 2, k + 1)), np.empty(k + 1, np.int64)
    discounts = np.empty(k + 1)
    while state[0] >= 0:
        n_nodes -= 1
        if n_nodes < 0:
            return 0
        level = state[0]
        q = levels.n_chosen[level]
        is_new = state[1] == 1
        if is_new and not _list(claim, levels, discounts, parents, values, columns, scratch):
            return 1
        state[1] = 0
        inverse, left, n = levels.inverse[level], levels.left[level], levels.n_left[level]
        reach = min(claim.threshold + levels.discount[level], levels.dominating[level])
        at = _most_useful(inverse, left, n, levels.is_open[level])
        # The cost of the families with more parents than the chosen ones, all open ones in them.
        v = scratch[0]
        v[:n] = inverse[:n, n - 1]
        full = _least_cost(claim, left, n, v, q)
        if at < 0 or full >= reach:
            state[0] -= 1
            if level:
                _choose(levels, levels.branch[level - 1])
        elif not (is_new and _leave_out_hopeless(claim, levels, discounts, full)):
            # Without the column that matters most; if nothing is within reach then, it is chosen.
            for a in range(n):
                if a != at:
                    b = a - (a > at)
                    columns[b] = left[a]
                    v[b] = inverse[a, n - 1] - inverse[a, at] * inverse[at, n - 1] / inverse[at, at]
            if _least_cost(claim, columns, n - 1, v, q) >= reach:
                _choose(levels, left[at])
            else:
                _branch(levels, at)
    return 2


@inner_kernel
def _list(claim, levels, discounts, parents, values, columns, scratch):
    """Fill the discounts of newly chosen columns, and list their family if need be.

    Returns whether there was room.
    """
    level, n = levels.state[0], levels.state[2]
    q, k = levels.n_chosen[level], claim.child.products.shape[0] - 1
    _fill_discounts(claim, levels.chosen[level, :q], discounts)
    levels.discount[level] = discounts[k]
    columns[:q] = levels.chosen[level, :q]
    columns[q] = k
    v = scratch[k + 1]
    _solve(claim.child.products, columns, q + 1, scratch, v)
    low, high = _bounds(claim.child.products, columns, q + 1, v, claim.eigenvalue)
    cost = _cost_of(claim.child.weight, high, False) + claim.child.costs[q]
    if cost - levels.discount[level] < claim.threshold and cost < levels.dominating[level]:
        if n == parents.shape[0]:
            return False
        parents[n] = -1
        parents[n, :q] = columns[:q]
        values[0, n], values[1, n] = cost, cost - levels.discount[level]
        levels.state[2] += 1
    if low > 0:
        most = _cost_of(claim.child.weight, low, True) + claim.child.costs[q]
        levels.dominating[level] = min(levels.dominating[level], most)
    return True


@inner_kernel
def _least_cost(claim, columns, n, v, q):
    """Return what families with more than q parents among n - 1 columns cost at least."""
    _, high = _bounds(claim.child.products, columns, n, v, claim.eigenvalue)
    return _cost_of(claim.child.weight, high, False) + claim.child.least_costs[q + 1]


@inner_kernel
def _most_useful(inverse, left, n, is_open):
    """Return the place of the open column without which the residual grows most, or -1."""
    at, largest = -1, -1.0
    for a in range(n - 1):
        if is_open[left[a]]:
            loss = inverse[a, n - 1] * inverse[a, n - 1] / inverse[a, a]
            if loss > largest:
                at, largest = a, loss
    return at


@inner_kernel
def _leave_out_hopeless(claim, levels, discounts, full):
    """Leave out the open columns that no family within reach has; return whether there are any."""
    level = levels.state[0]
    left, is_open = levels.left[level], levels.is_open[level]
    n = levels.n_left[level]
    for a in range(n - 2, -1, -1):
        if is_open[left[a]] and full - discounts[left[a]] >= claim.threshold:
            is_open[left[a]] = False
            _leave_out(levels, level, level, a)
    return levels.n_left[level] < n


@inner_kernel
def _choose(levels, column):
    level = levels.state[0]
    levels.is_open[level, column] = False
    levels.chosen[level, levels.n_chosen[level]] = column
    levels.n_chosen[level] += 1
    levels.state[1] = 1


@inner_kernel
def _branch(levels, at):
    """Go on without a column."""
    level = levels.state[0]
    column = levels.left[level, at]
    levels.branch[level] = column
    levels.is_open[level + 1] = levels.is_open[level]
    levels.is_open[level + 1, column] = False
    levels.chosen[level + 1] = levels.chosen[level]
    levels.n_chosen[level + 1] = levels.n_chosen[level]
    levels.dominating[level + 1] = levels.dominating[level]
    levels.discount[level + 1] = levels.discount[level]
    levels.left[level + 1] = levels.left[level]
    _leave_out(levels, level, level + 1, at)
    levels.state[0] = level + 1


@inner_kernel
def _leave_out(levels, level, target, at):
    """Fill a level's inverse with that of a level without a column; they may be the same."""
    n = levels.n_left[level]
    inverse, own = levels.inverse[level], levels.inverse[target]
    taken = inverse[at, :n].copy()
    for a in range(n):
        if a != at:
            ratio = inverse[a, at] / taken[at]
            to = a - (a > at)
            for b in range(at):
                own[to, b] = inverse[a, b] - ratio * taken[b]
            for b in range(at + 1, n):
                own[to, b - 1] = inverse[a, b] - ratio * taken[b]
    for a in range(at, n - 1):
        levels.left[target, a] = levels.left[target, a + 1]
    levels.n_left[target] = n - 1


PRICING_CHECKER_KERNELS = (list_families_again,)
