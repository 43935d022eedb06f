"""Kernels for a bound of a child's residuals that is a sum over parents.

G are the products of the candidates after regression on the chosen ones, c those with the child,
and RSS is the child's residual sum of squares without further parents. With a positive diagonal D
for which G - D is positive semidefinite, any coefficients b, and the slopes ``w = c - (G - D) b``,
further parents T leave at least

    RSS - b'(G - D)b - the sum over T of w[j]**2 / D[j] :

the quadratic form of G - D is at least what its tangent at b says, and a square with the factor D
that each parent adds has its least value -w**2 / D. The coefficients that make the bound large
solve a convex program, the perspective relaxation of the choice of parents at a price each: in
contrast to a regression on all columns, hundreds of columns of noise gain nothing in it.
"""

import math
from typing import NamedTuple

import numpy as np

from skbn._branch_and_cut.checker_kernels import EPSILON
from skbn._core.arrays import B1, F1, F2
from skbn._core.compile import inner_kernel, pasted_kernel

_MOST_SWEEPS = 20
# Coefficients have converged if their changes gain less than this share of the price of a parent.
_LEAST_SHARE = 1e-6


class Relaxed(NamedTuple):
    """Coefficients that the chosen candidates and a price of a parent lead to."""

    # (k + 1, k): for each number of chosen candidates; 0 for those that are not open
    coefficients: F2
    slopes: F1  # (k,)
    columns: F2  # (k, k): columns of G - D
    is_known: B1  # (k,): which of these there are


def new_relaxed(k: int) -> Relaxed:
    """Return memory for coefficients, all 0."""
    columns = np.empty((k, k))
    return Relaxed(np.zeros((k + 1, k)), np.empty(k), columns, np.empty(k, dtype=np.bool_))


@pasted_kernel
def relax(child, chosen, q, first, is_open, price, relaxed):
    """Fill coefficients of the open candidates, and the slopes, if a parent has a price in RSS.

    They begin with those of `first` chosen candidates, and are improved one after the other.
    """
    own, slopes = relaxed.coefficients[q], relaxed.slopes
    k = own.size
    for t in range(k):
        relaxed.is_known[t] = False
        slopes[t] = chosen.covariances[q, t]
    for a in range(k):
        before, own[a] = relaxed.coefficients[first, a], 0.0
        if is_open[a] and before != 0:
            _change(child, chosen, q, a, before, relaxed)
    for _ in range(_MOST_SWEEPS):
        largest = 0.0
        for a in range(k):
            if is_open[a]:
                d = child.diagonal[a]
                rest = max(chosen.variances[q, a] - d, 0.0)
                by = _best_coefficient(slopes[a] + rest * own[a], rest, d, price) - own[a]
                if by != 0:
                    _change(child, chosen, q, a, by, relaxed)
                    largest = max(largest, by * by * d)
        if largest <= _LEAST_SHARE * price:
            break


@pasted_kernel
def fill_gains(child, chosen, q, is_open, relaxed, b, gains):
    """Fill by how much the child's RSS falls at most with each open candidate.

    The bound takes the products as they are, whatever the coefficients: those of `relax`, and of
    the chosen candidates those that the regression on these would have.

    Parameters
    ----------
    b, gains : ndarray of shape (k,), float64
        Filled; of `gains`, entries of other candidates do not matter.

    Returns
    -------
    base : float
        At most what the RSS falls from, for all families that have the chosen candidates.
    """
    k, of_child = child.diagonal.size, child.products[child.diagonal.size]
    for t in range(b.size):
        b[t] = relaxed.coefficients[q, t]
    _regress_on_chosen(child, chosen, q, b)
    size, slopes = 0.0, relaxed.slopes
    for a in range(k):
        size += abs(b[a])
        slopes[a] = of_child[a] + child.diagonal[a] * b[a]
    for e in range(k):
        if b[e] != 0:
            for a in range(k):
                slopes[a] -= b[e] * child.products[e, a]
    rounding = (k + 8) * EPSILON * (1.0 + size)  # of a slope: no product exceeds 1
    base = child.products[k, k]
    magnitude = base + size * rounding / EPSILON
    for i in range(k + q):
        a = i if i < k else chosen.nodes[i - k]
        is_chosen = i >= k
        if is_chosen or is_open[a]:
            slope = slopes[a]
            gains[a] = (1 + 8 * EPSILON) * (abs(slope) + rounding) ** 2 / child.diagonal[a]
            tangent = b[a] * (of_child[a] - slope)
            base -= tangent
            magnitude += abs(tangent)
            if is_chosen:
                base -= gains[a]
                magnitude += gains[a]
    return base - (2 * k + 16) * EPSILON * magnitude


@pasted_kernel
def _regress_on_chosen(child, chosen, q, b):
    """Fill the coefficients of the first q chosen candidates, given those of the open ones."""
    k = b.size
    rest = chosen.v
    for i in range(q):
        rest[i] = chosen.rows[i, k]
        for e in range(k):
            if b[e] != 0:
                rest[i] -= chosen.rows[i, e] * b[e]
    for i in range(q - 1, -1, -1):
        t = rest[i]
        for h in range(i + 1, q):
            t -= chosen.rows[i, chosen.nodes[h]] * b[chosen.nodes[h]]
        b[chosen.nodes[i]] = t / chosen.rows[i, chosen.nodes[i]]


@inner_kernel
def _best_coefficient(slope, rest, d, price):
    """Return the b of least ``rest * b**2 - 2 * slope * b + cost``.

    A share z of a parent costs ``z * price + d * b**2 / z``, and 2 * abs(b) * sqrt(price * d) with
    the best share.
    """
    over = abs(slope) - math.sqrt(price * d)
    if over <= 0:
        return 0.0
    is_whole = over >= rest * math.sqrt(price / d)
    return math.copysign(abs(slope) / (rest + d) if is_whole else over / rest, slope)


@inner_kernel
def _change(child, chosen, q, a, by, relaxed):
    """Change a coefficient, and the slopes with it."""
    column, k = relaxed.columns[a], relaxed.slopes.size
    if not relaxed.is_known[a]:
        relaxed.is_known[a] = True
        for t in range(k):
            column[t] = child.products[a, t]
        for h in range(q):
            factor = chosen.rows[h, a]
            if factor != 0:
                for e in range(k):
                    column[e] -= factor * chosen.rows[h, e]
        column[a] = max(chosen.variances[q, a] - child.diagonal[a], 0.0)
    relaxed.coefficients[q, a] += by
    for e in range(k):
        relaxed.slopes[e] -= column[e] * by
