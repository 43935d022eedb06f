"""Kernels that evaluate the cuts' coefficients of families, and price families with them."""

from typing import NamedTuple

import numpy as np
from numba import boolean, float64, int16, int64

from skbn._core.arrays import F1, I2, T2
from skbn._core.compile import inner_kernel, kernel, tuple_type
from skbn._core.exact_sums import is_less, two_product, two_sum


class CutArrays(NamedTuple):
    """Cuts as kernels read them: the coefficient of a family is an entry of a table."""

    # (n_cuts, m + 1): the bits that a parent contributes to the entry's number; 0 for parents
    # outside of the cut, and in the last column, which stands for lacking parents
    bits: T2
    # (n_cuts, m): where the table of a child begins in `tables`; -1 for children outside of the cut
    rows: I2
    tables: F1


_CUTS = tuple_type(CutArrays)


@inner_kernel
def _entry(bits, parents, f):
    """Return which entry of its child's table is a family's coefficient."""
    s = 0
    for k in range(parents.shape[1]):
        s |= bits[parents[f, k]]
    return s


@inner_kernel
def _least(high, low):
    """Return the least of some numbers, and move what the second parts can into the first."""
    least_high, least_low = np.inf, 0.0
    for f in range(high.size):
        if high[f] < np.inf:
            high[f], low[f] = two_sum(high[f], low[f])
            if is_less(high[f], low[f], least_high, least_low):
                least_high, least_low = high[f], low[f]
    return least_high, least_low


@kernel(
    int64[::1],
    float64[::1],
    float64[::1],
    int16[:, ::1],
    boolean[::1],
    _CUTS,
    float64[::1],
    float64[:, ::1],
    float64[:, ::1],
)
def price(start, cost, rest, parents, allowed, cuts, multipliers, values, minima):
    """Fill what families cost less their cuts' coefficients times multipliers.

    Parameters
    ----------
    start, cost, rest, parents
        As in `Families`.
    allowed : ndarray of shape (n_families,), bool
    cuts : CutArrays
    multipliers : ndarray of shape (n_cuts,), float64
        Not negative.
    values : ndarray of shape (2, n_families), float64
        Filled, in two parts; infinite for families that are not allowed.
    minima : ndarray of shape (2, m), float64
        Filled with the least value of each column.
    """
    high, low = values[0], values[1]
    for x in range(minima.shape[1]):
        first, end = start[x], start[x + 1]
        for f in range(first, end):
            high[f] = cost[f] if allowed[f] else np.inf
            low[f] = rest[f] if allowed[f] else 0.0
        for c in range(multipliers.size):
            if multipliers[c] > 0 and cuts.rows[c, x] >= 0:
                table = cuts.tables[cuts.rows[c, x] :]
                bits = cuts.bits[c]
                for f in range(first, end):
                    if allowed[f]:
                        coefficient = table[_entry(bits, parents, f)]
                        if coefficient != 0:
                            product, lacking = two_product(-multipliers[c], coefficient)
                            high[f], left = two_sum(high[f], product)
                            low[f] += left + lacking
        minima[0, x], minima[1, x] = _least(high[first:end], low[first:end])


@kernel(int16[::1], int16[:, ::1], int64[::1], _CUTS, float64[:, ::1])
def fill_coefficients(child, parents, families, cuts, coefficients):
    """Fill the coefficients of some families, in rows, in all cuts."""
    for i in range(families.size):
        f = families[i]
        for c in range(coefficients.shape[1]):
            row, coefficient = cuts.rows[c, child[f]], 0.0
            if row >= 0:
                coefficient = cuts.tables[row + _entry(cuts.bits[c], parents, f)]
            coefficients[i, c] = coefficient
