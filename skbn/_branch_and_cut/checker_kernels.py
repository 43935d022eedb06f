"""Kernels that replay a proof: the least value of a cut, coefficients, and reduced costs."""

from __future__ import annotations

import numpy as np
from numba import float64, int16, int32, int64

from skbn._core.compile import kernel

__all__ = [
    "CHECKER_KERNELS",
    "EPSILON",
    "add_cluster_cut",
    "add_local_cut",
    "least",
    "reduced_costs",
]

EPSILON = 2.0**-52
# More than what products lose that are too small for float64's usual accuracy.
_TINY = 1e-280


@kernel(float64[:, ::1])
def least(table):
    """Return the least sum of table[i, S_i] over all sets S_i without directed cycles.

    Columns are put last one by one: without cycles there is an order in which the parents of each
    column are among those before it.
    """
    w = table.shape[0]
    n = 1 << w
    # cheapest[i, U]: the least of table[i, S] over the subsets S of U.
    cheapest = table.copy()
    for i in range(w):
        for j in range(w):
            if j != i:
                for s in range(n):
                    if s >> j & 1:
                        cheapest[i, s] = min(cheapest[i, s], cheapest[i, s ^ (1 << j)])
    total = np.zeros(n)
    for u in range(1, n):
        total[u] = np.inf
        for i in range(w):
            if u >> i & 1:
                before = u ^ (1 << i)
                total[u] = min(total[u], total[before] + cheapest[i, before])
    return total[n - 1]


@kernel(
    int16[::1],
    float64[:, ::1],
    float64,
    int16[:, ::1],
    int32[::1],
    int64[::1],
    int64[::1],
    int64[::1],
    float64[::1],
    int32[::1],
)
def add_local_cut(columns, table, multiplier, parents, allowed, first, bits, n_terms, total, rank):
    """Add multiplier times coefficient to the total of each allowed family.

    Parameters
    ----------
    allowed : ndarray of shape (n,), int32
        Families, ascending.
    first : ndarray of shape (m + 1,), int64
        The families of x are allowed[first[x]], ..., allowed[first[x + 1] - 1].
    bits : ndarray of shape (m + 1,), int64
        Scratch, all 0. The last is for -1, a parent that is lacking.
    n_terms : ndarray of shape (m,), int64
        How many cuts have added to the families of each column; updated.
    total : ndarray of shape (n,), float64
        Updated.
    rank : ndarray of int32
        Which column of the table has the entries of each set of positions.
    """
    for i in range(columns.size):
        bits[columns[i]] = 1 << i
    for i in range(columns.size):
        x = columns[i]
        for k in range(first[x], first[x + 1]):
            s = 0
            for p in parents[allowed[k]]:
                s |= bits[p]
            total[k] += multiplier * table[i, rank[s]]
    for x in columns:
        bits[x] = 0
        n_terms[x] += 1


@kernel(
    int16[::1],
    float64,
    int16[:, ::1],
    int32[::1],
    int64[::1],
    int64[::1],
    int64[::1],
    float64[::1],
)
def add_cluster_cut(columns, multiplier, parents, allowed, first, bits, n_terms, total):
    """Add the multiplier to the total of each allowed family without parents in a cluster.

    The parameters are those of `add_local_cut`.
    """
    for x in columns:
        bits[x] = 1
    for x in columns:
        for k in range(first[x], first[x + 1]):
            hit = 0
            for p in parents[allowed[k]]:
                hit |= bits[p]
            if hit == 0:
                total[k] += multiplier
    for x in columns:
        bits[x] = 0
        n_terms[x] += 1


@kernel(float64[::1], int32[::1], int64[::1], int64[::1], float64[::1])
def reduced_costs(cost, allowed, first, n_terms, total):
    """Replace each total by the reduced cost of its family, and return the least of each child.

    No reduced cost is too high. A total of k terms, each a product and not negative, is wrong by
    at most k * 2**-53 of it, but for terms of higher order, and the two subtractions by at most
    2**-53 of cost + total each. Twice the sum of these is subtracted.
    """
    m = first.size - 1
    minima = np.full(m, np.inf)
    for x in range(m):
        share = (n_terms[x] + 2) * EPSILON
        for k in range(first[x], first[x + 1]):
            c = cost[allowed[k]]
            total[k] = (c - total[k]) - share * (abs(c) + total[k] + _TINY)
            minima[x] = min(minima[x], total[k])
    return minima


CHECKER_KERNELS = (least, add_local_cut, add_cluster_cut, reduced_costs)
