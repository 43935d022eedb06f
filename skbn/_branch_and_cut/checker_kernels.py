"""Kernels that replay a proof: the least value of a cut, coefficients, and reduced costs.

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
_ROUNDING = 2.0**-100
# More than what products lose that are too small for float64's usual accuracy.
TINY = 1e-280


@kernel(float64[:, ::1])
def least(table):
    """Return the least sum of table[i, S_i] over all sets S_i without directed cycles.

    Columns are put last one by one: without cycles there is an order in which the parents of each
    column are among those before it. The sum is in two parts, and is not rounded up.
    """
    w, n = table.shape
    # cheapest[i, U]: the least of table[i, S] over the subsets S of U.
    cheapest = table.copy()
    for i in range(w):
        for j in range(w):
            if j != i:
                for s in range(n):
                    if s >> j & 1:
                        cheapest[i, s] = min(cheapest[i, s], cheapest[i, s ^ (1 << j)])
    total, rest = np.empty(n), np.empty(n)
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


@kernel(int16[::1], float64[:, ::1], int32[::1], float64, _TOTALS)
def add_local_cut(columns, table, rank, multiplier, totals):
    """Add multiplier times coefficient to the total of each allowed family.

    Parameters
    ----------
    rank : ndarray of int32
        Which column of the table has the entries of each set of positions.
    """
    bits, first, total = totals.bits, totals.first, totals.total
    for i in range(columns.size):
        bits[columns[i]] = 1 << i
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


@kernel(int16[::1], float64, _TOTALS)
def add_cluster_cut(columns, multiplier, totals):
    """Add the multiplier to the total of each allowed family without parents in a cluster."""
    bits, first, total = totals.bits, totals.first, totals.total
    for x in columns:
        bits[x] = 1
    for x in columns:
        for k in range(first[x], first[x + 1]):
            hit = 0
            for p in totals.parents[totals.allowed[k]]:
                hit |= bits[p]
            if hit == 0:
                total[0, k], left = two_sum(total[0, k], multiplier)
                total[1, k] += left
    for x in columns:
        bits[x] = 0
        totals.n_terms[x] += 1


@kernel(float64[::1], float64[::1], _TOTALS, float64[:, ::1])
def reduced_costs(cost, rest, totals, minima):
    """Replace each total by the reduced cost of its family, and fill the least of each child.

    No reduced cost is too high. The second part of a total of k terms, each a product and not
    negative, adds up 2 * k numbers of at most 2**-53 of the total each. Its rounding is below
    4 * k**2 * 2**-106 of the total, and that of the subtractions below 2 * k + 9 times 2**-106 of
    total and cost. More than the sum of these is subtracted.

    Parameters
    ----------
    minima : ndarray of shape (2, m), float64
        Filled.
    """
    allowed, first, n_terms, total = totals.allowed, totals.first, totals.n_terms, totals.total
    for x in range(first.size - 1):
        share = 0.0 if n_terms[x] == 0 else (n_terms[x] + 2.0) ** 2 * _ROUNDING
        minima[0, x], minima[1, x] = np.inf, 0.0
        for k in range(first[x], first[x + 1]):
            c = cost[allowed[k]]
            high, left = two_sum(c, -total[0, k])
            low = (left + rest[allowed[k]]) - total[1, k]
            if share > 0:
                low -= share * (abs(c) + total[0, k]) + TINY
            high, low = two_sum(high, low)
            total[0, k], total[1, k] = high, low
            if is_less(high, low, minima[0, x], minima[1, x]):
                minima[0, x], minima[1, x] = high, low
    return minima


@kernel(int64[::1], float64[:, ::1], float64[:, ::1], float64[::1])
def excesses(first, reduced, minima, excess):
    """Fill by how much each reduced cost is above the least one of its child, at least."""
    for x in range(first.size - 1):
        least_high, least_low = minima[0, x], minima[1, x]
        for k in range(first[x], first[x + 1]):
            over = (reduced[0, k] - least_high) + (reduced[1, k] - least_low)
            lost = _ROUNDING * (abs(reduced[0, k]) + abs(least_high)) + 2 * EPSILON * over
            excess[k] = over - lost


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


@inner_kernel
def _lead(before, parents, x, reach):
    """Extend the paths that end at some parents to their child and its descendants."""
    for p in parents:
        for y in range(before.shape[0]):
            if before[y, p]:
                for z in range(before.shape[1]):
                    reach[y, z] |= before[x, z]


@inner_kernel
def _reaches(networks, cutoff):
    """Return whether families cost at least the cutoff, summed with twice the digits."""
    high, low, size = -cutoff, 0.0, abs(cutoff)
    for next_one in networks.at:
        k = networks.allowed[next_one - 1]
        high, left = two_sum(high, networks.cost[k])
        low += left + networks.rest[k]
        size += abs(networks.cost[k])
    return high + low >= (networks.at.size + 2) ** 2 * _ROUNDING * size


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


CHECKER_KERNELS = (least, add_local_cut, add_cluster_cut, reduced_costs, excesses, all_cost_more)
