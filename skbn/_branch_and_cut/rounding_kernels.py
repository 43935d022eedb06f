"""Kernels that bound residuals from approximate inverses, with bounds that rounding cannot break.

With the products G of some columns, e the unit vector of the last one and any vector v, let
``r = e - G v``. Then x = 1 / RSS, where RSS is the residual sum of squares of the last column on
the others, is an entry of the exact inverse, and

    v_last + v.r  <=  x  <=  v_last + v.r + |r|**2 / s,      x  <=  v_last + |r| * sqrt(x / s),

where s is at most the smallest eigenvalue of G: that of all columns will do. The error of a row of
an approximate inverse is a bound of the norm of its residual r. All rounding is added to it.
"""

import math

from skbn._branch_and_cut.checker_kernels import EPSILON
from skbn._core.compile import inlined_kernel, inner_kernel, pasted_kernel


@pasted_kernel
def bounds_of_inverse(products, columns, n, v, eigenvalue):
    """Return bounds of x, by both terms in r.

    Parameters
    ----------
    products : ndarray
        Of columns of norm 1 or less.
    columns : ndarray of int64
        The first n are meant.
    n : int
    v : ndarray of float64
        An approximation to the last column of the inverse of their products.
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
def error_of(products, columns, n, row, at, residual):
    """Return the error of a row of an inverse, that of the column at a place; fill its residual."""
    size = 0.0
    for b in range(n):
        residual[b] = 1.0 if b == at else 0.0
    for a in range(n):
        own, v = products[columns[a]], row[a]
        size += abs(v)
        for b in range(n):
            residual[b] -= v * own[columns[b]]
    rounding, squares = (n + 4) * EPSILON * (1.0 + size), 0.0
    for b in range(n):
        squares += (abs(residual[b]) + rounding) ** 2
    return (1 + (n + 4) * EPSILON) * math.sqrt(squares)


@inlined_kernel
def most_of_inverse(value, error, eigenvalue):
    """Return the largest x with ``x <= value + error * sqrt(x / eigenvalue)``."""
    share = error / math.sqrt(eigenvalue)
    root = (share + math.sqrt(share * share + 4 * max(value, 0.0))) / 2
    return (1 + 16 * EPSILON) * root * root


@inlined_kernel
def cost_of_inverse(weight, inverse, sign):
    """Return what an RSS costs, by its inverse: at most (1.0) or at least (-1.0)."""
    value = -weight * math.log(inverse)
    return value + sign * 4 * EPSILON * abs(value)
