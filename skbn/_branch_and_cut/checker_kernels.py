"""Kernels that replay a proof: the least value of a cut, coefficients, and all networks.

Sums are kept in two parts, as in `exact_sums`: an array of shape (2, n) has the numbers in its
first row, and what rounding left out of them in its second.
"""

from typing import NamedTuple

import numpy as np
from numba import float64, int16, int32, int64

from skbn._core.arrays import B1, B2, B3, F1, F2, I1, J1, S2
from skbn._core.compile import inner_kernel, kernel, pasted_kernel, tuple_type
from skbn._core.exact_sums import is_less, two_product, two_sum

EPSILON = 2.0**-52
# The rounding of the second parts, in units of the sum: 64 times the square of half an EPSILON.
ROUNDING = 2.0**-100
# More than what products lose that are too small for float64's usual accuracy.
TINY = 1e-280


@kernel(float64[:, ::1], float64[:, ::1])
def least(cheapest, totals):
    """Return the least cost of all networks of w columns, in two parts, not rounded up.

    Columns are put last one by one: without cycles there is an order in which the parents of each
    column are among those before it.

    Parameters
    ----------
    cheapest : ndarray of shape (w, 2**w), float64
        What each column costs at least, with parents in each set.
    totals : ndarray of shape (2, 2**w), float64
        Filled.
    """
    w, n = cheapest.shape
    total, rest = totals[0], totals[1]
    total[0] = rest[0] = 0.0
    for u in range(1, n):
        total[u], rest[u] = np.inf, 0.0
        for i in range(w):
            if u >> i & 1:
                before = u ^ (1 << i)
                high, low = two_sum(total[before], cheapest[i, before])
                is_exact = low == 0 or rest[before] == 0
                low += rest[before]
                high, low = two_sum(high, low if is_exact else low - EPSILON * abs(low))
                if is_less(high, low, total[u], rest[u]):
                    total[u], rest[u] = high, low
    return total[n - 1], rest[n - 1]


class Totals(NamedTuple):
    """The allowed families, and what cuts times multipliers add up to for each."""

    parents: S2  # (n_families, K)
    allowed: J1  # (n,): families, ascending
    first: I1  # (m + 1,): the families of x are allowed[first[x]], ..., allowed[first[x + 1] - 1]
    total: F2  # (2, n)
    n_terms: I1  # (m,): how many cuts have added to the families of each column
    bits: I1  # (m + 1,): scratch, all 0. The last is for -1, a parent that is lacking


_TOTALS = tuple_type(Totals)


@kernel(int16[::1], int64[::1], float64[:, ::1], int32[::1], float64, _TOTALS)
def add_cut(columns, own_bits, table, rank, multiplier, totals):
    """Add multiplier times coefficient to the total of each allowed family.

    Parameters
    ----------
    own_bits : ndarray of shape (w,), int64
        What each column, as a parent, contributes to a family's set.
    rank : ndarray of int32
        Which column of the table has the entries of each set.
    """
    bits, first, total = totals.bits, totals.first, totals.total
    for i in range(columns.size):
        bits[columns[i]] = own_bits[i]
    for i in range(columns.size):
        x = columns[i]
        for k in range(first[x], first[x + 1]):
            s = 0
            for p in totals.parents[totals.allowed[k]]:
                s |= bits[p]
            coefficient = table[i, rank[s]]
            if coefficient != 0:
                product, lacking = two_product(multiplier, coefficient)
                total[0, k], left = two_sum(total[0, k], product)
                total[1, k] += left + lacking
    for x in columns:
        bits[x] = 0
        totals.n_terms[x] += 1


class Networks(NamedTuple):
    """The networks of the allowed families, and what each family adds to their costs."""

    parents: S2  # as in `Totals`
    allowed: J1
    first: I1
    cost: F1  # what all families cost, in two parts
    rest: F1
    excess: F1  # (n,)
    starts: I1  # (n + 1,): where the cuts of each family begin
    cuts: I1
    shares: F1  # multipliers times coefficients
    bounds: F1  # (n_cuts,): multipliers times bounds
    # Where the walk through all networks begins, by how many children have a family:
    left: B2  # (m + 1, n): the families that may be taken; all
    costs: F1  # (m + 1,): 0
    totals: F2  # (m + 1, n_cuts): shares of the cuts; 0
    # (m + 1, m, m + 1): whether paths lead from one column to another, first only from each to
    # itself. The last one is for -1, a lacking parent
    reach: B3
    children: I1  # (m,): the child, and its next family
    at: I1  # (m,)
    is_chosen: B1  # (m,): none


_NETWORKS = tuple_type(Networks)


@inner_kernel
def _more(networks, totals, k):
    """Return what a family adds: its excess, and what it shares beyond the bounds of cuts."""
    more = networks.excess[k]
    for i in range(networks.starts[k], networks.starts[k + 1]):
        bound, total = networks.bounds[networks.cuts[i]], totals[networks.cuts[i]]
        more += max(total + networks.shares[i] - bound, 0.0) - max(total - bound, 0.0)
    return more


@inner_kernel
def _next_child(networks, left, reach, totals, most, is_chosen):
    """Drop families that cost too much or close a cycle; return the child with fewest left."""
    best, fewest = np.int64(-1), networks.excess.size + 1
    for x in range(is_chosen.size):
        if is_chosen[x]:
            continue
        n_left = 0
        for k in range(networks.first[x], networks.first[x + 1]):
            if left[k]:
                for p in networks.parents[networks.allowed[k]]:
                    if reach[x, p]:
                        left[k] = False
                        break
                left[k] = left[k] and _more(networks, totals, k) <= most
                n_left += left[k]
        if n_left < fewest:
            best, fewest = np.int64(x), n_left
    return best


@pasted_kernel
def _lead(before, parents, x, reach):
    """Extend the paths that end at some parents to their child and its descendants."""
    for p in parents:
        for y in range(before.shape[0]):
            if before[y, p]:
                for z in range(before.shape[1]):
                    reach[y, z] |= before[x, z]


@pasted_kernel
def _reaches(networks, cutoff):
    """Return whether families cost at least the cutoff, summed with twice the digits."""
    high, low, size = -cutoff, 0.0, abs(cutoff)
    for next_one in networks.at:
        k = networks.allowed[next_one - 1]
        high, left = two_sum(high, networks.cost[k])
        low += left + networks.rest[k]
        size += abs(networks.cost[k])
    return high + low >= (networks.at.size + 2) ** 2 * ROUNDING * size


@pasted_kernel
def _copy(source, target):
    for i in range(target.size):
        target[i] = source[i]


@kernel(_NETWORKS, float64, float64, seconds=0.7)
def all_cost_more(networks, most, cutoff):
    """Return whether all networks within `most` of the step's bound cost the cutoff or more.

    One child after the other takes each of its families, next the child that has fewest left. A
    network costs the sum of its excesses and, for each cut, by how much the shares exceed the
    bound: no term is negative, and so those of the first families are a bound.
    """
    first, m = networks.first, networks.first.size - 1
    left, costs, totals, reach = networks.left, networks.costs, networks.totals, networks.reach
    children, at, is_chosen = networks.children, networks.at, networks.is_chosen
    children[0] = _next_child(networks, left[0], reach[0], totals[0], most, is_chosen)
    at[0], depth = first[children[0]], 0
    while depth >= 0:
        x, k = children[depth], at[depth]
        at[depth] += 1
        if k == first[x + 1]:
            is_chosen[x] = False
            depth -= 1
        elif left[depth, k]:
            if depth + 1 == m:
                if not _reaches(networks, cutoff):
                    return False
                continue
            after = depth + 1
            costs[after] = costs[depth] + _more(networks, totals[depth], k)
            _copy(totals[depth], totals[after])
            _copy(left[depth], left[after])
            for y in range(m):
                _copy(reach[depth, y], reach[after, y])
            for i in range(networks.starts[k], networks.starts[k + 1]):
                totals[after, networks.cuts[i]] += networks.shares[i]
            _lead(reach[depth], networks.parents[networks.allowed[k]], x, reach[after])
            is_chosen[x] = True
            rest = left[after], reach[after], totals[after], most - costs[after], is_chosen
            children[after] = _next_child(networks, *rest)
            at[after] = first[children[after]]
            depth += 1
    return True


CHECKER_KERNELS = (least, add_cut, all_cost_more)
