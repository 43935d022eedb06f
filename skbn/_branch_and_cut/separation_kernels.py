"""Kernels that find the local cut of a window that a point violates most: a small simplex method.

The point gives each family of the window a weight y. If it is no mixture of networks, a cut
``sum of alpha * y >= beta``, with alpha from 0 to 1, is violated: the one with the largest
``beta - sum of alpha * y`` solves a linear program with a row for each network. Its dual mixes
networks so that the mixture exceeds y by as little as possible,

    minimise sum(excess)  subject to  mixture + slack - excess = y,  sum of the mixture's weights = 1,

and gets its columns, the networks, from a dynamic program. The basis has a row for each family
and one for the sum of the weights, a few dozens; its inverse is kept as a dense matrix.
"""

from __future__ import annotations

import numpy as np
from numba import float64, int64, uint64

from skbn._branch_and_cut.window_kernels import (
    cheapest_networks,
    cost_of_cheapest,
    costs_by_predecessors,
    lift,
)
from skbn._core.compile import inner_kernel, kernel
from skbn._core.random_numbers import random_below, uniform

__all__ = ["separate"]

_TOLERANCE = 1e-9
_PIVOT = 1e-9
# In perturbed weights, which make ties in the ratio test rare.
_PERTURBATION = 1e-3
_MOST_PIVOTS = 3000
_N_STEPS = 80
_N_KEPT = 4
_FIRST_DELTA = 0.5
_DECAY = 0.95
_SHARE_OF_BEST = 0.8
_MOST_NETWORKS = 1024


@kernel(
    int64[::1],
    int64[::1],
    float64[::1],
    int64,
    float64,
    float64,
    uint64[::1],
    float64[:, ::1],
)
def separate(starts, masks, weights, w, least, accept, random, table):
    """Find a cut of a window that a point violates, and lift it.

    Parameters
    ----------
    starts : ndarray of shape (w + 1,), int64
        Column x has the families starts[x], ..., starts[x + 1] - 1; one of them has no parents.
    masks : ndarray of shape (n_families,), int64
        Parents, as masks of positions in the window.
    weights : ndarray of shape (n_families,), float64
        Of each column they add up to 1.
    w : int
        The number of columns.
    least : float
        Cuts that are violated by less are not worth having.
    accept : float
        The share of the largest violation that is good enough, below 1.
    random : ndarray of shape (1,), uint64
        The state of a random generator.
    table : ndarray of shape (w, 2**w), float64
        Filled with the coefficients of the cut, 0 for sets with the column itself.

    Returns
    -------
    bound : float
        Of the cut, the cost of the cheapest network by `table`.
    violation : float
        0 if no cut is violated by `least`.
    """
    n = 1 << w
    coefficients = np.empty(masks.size)
    costs = np.empty((n, w))
    forward = np.empty(n)
    if not _most_violated(
        starts, masks, weights, w, least, accept, random, coefficients, costs, forward
    ):
        return 0.0, 0.0
    costs_by_predecessors(starts, masks, coefficients, w, costs)
    bound = cost_of_cheapest(costs, w, forward)
    order = np.arange(w)
    for i in range(w - 1, 0, -1):
        j = random_below(random, 0, i + 1)
        order[i], order[j] = order[j], order[i]
    bound = lift(costs, w, bound, order, forward, np.empty(n), np.empty(n))
    violation = bound
    for x in range(w):
        for f in range(starts[x], starts[x + 1]):
            violation -= weights[f] * costs[masks[f], x]
        for s in range(n):
            table[x, s] = 0.0 if s >> x & 1 else costs[s, x]
    if violation < least:
        return 0.0, 0.0
    return bound, violation


@inner_kernel
def _most_violated(starts, masks, weights, w, least, accept, random, coefficients, costs, forward):
    """Fill the coefficients of a cut; return whether it is violated by at least `least`."""
    n_families = masks.size
    size = n_families + 1
    y = np.empty(size)
    for f in range(n_families):
        y[f] = weights[f] + _PERTURBATION * (0.5 + uniform(random, 0))
        coefficients[f] = (1.0 if masks[f] == 0 else 0.0) + 1e-3 * uniform(random, 0)
    y[n_families] = 1.0
    pool = np.empty((_MOST_NETWORKS, w), dtype=np.int64)
    networks = np.empty((w, w), dtype=np.int64)
    found = np.empty(w)
    cheapest_networks(starts, masks, coefficients, w, costs, forward, networks, found)
    n_pool = 0
    best_violation = -np.inf
    best = np.empty(n_families)
    delta = _FIRST_DELTA
    for _ in range(_N_STEPS):
        violation = cheapest_networks(
            starts, masks, coefficients, w, costs, forward, networks, found
        )
        for f in range(n_families):
            violation -= coefficients[f] * weights[f]
        if violation > best_violation:
            best_violation = violation
            best[:] = coefficients
        order = np.argsort(found)
        for i in range(min(w, _N_KEPT)):
            if n_pool < _MOST_NETWORKS and _is_new(pool, 0, n_pool, networks[order[i]]):
                pool[n_pool] = networks[order[i]]
                n_pool += 1
        network = networks[order[0]]
        square = 0.0
        for f in range(n_families):
            square += weights[f] * weights[f]
        for x in range(w):
            square += 1.0 - 2.0 * weights[network[x]]
        if square < 1e-9:
            break
        step = (max(best_violation, 0.0) + delta - violation) / square
        for f in range(n_families):
            coefficients[f] -= step * weights[f]
        for x in range(w):
            coefficients[network[x]] += step
        for x in range(w):
            least_of_x = np.inf
            for f in range(starts[x], starts[x + 1]):
                least_of_x = min(least_of_x, coefficients[f])
            for f in range(starts[x], starts[x + 1]):
                coefficients[f] = min(coefficients[f] - least_of_x, 1.0)
        delta *= _DECAY
    # The first basis: that network, the excess of its families and the slack of the others.
    inverse = np.eye(size)
    values = y.copy()
    prices = np.zeros(size)
    objective = 0.0
    for x in range(w):
        f = pool[0, x]
        sign = 1.0 if y[f] < 1.0 else -1.0  # a weight of 1 and its perturbation leave no excess
        inverse[f, f] = -sign
        inverse[f, n_families] = sign
        values[f] = sign * (1.0 - y[f])
        if sign > 0:
            objective += values[f]
            prices[f] = -1.0
            prices[n_families] += 1.0
    column = np.empty(size)
    # Reduced costs: of the slack of each family, its excess, and the networks; and Devex weights.
    n_known = 2 * n_families
    rates = np.empty(2 * n_families + _MOST_NETWORKS)
    norms = np.ones(2 * n_families + _MOST_NETWORKS)
    for f in range(n_families):
        rates[f] = -prices[f]
        rates[n_families + f] = 1.0 + prices[f]
    for k in range(n_pool):
        rates[n_known] = -prices[n_families]
        for x in range(w):
            rates[n_known] -= prices[pool[k, x]]
        n_known += 1
    n_pivots = 0
    share = 0.0
    while n_pivots < _MOST_PIVOTS:
        entering = -1
        steepest = 0.0
        for k in range(n_known):
            if rates[k] < -_TOLERANCE and rates[k] * rates[k] > steepest * norms[k]:
                steepest = rates[k] * rates[k] / norms[k]
                entering = k
        if entering < 0:
            if objective < least:
                return False
            share = share if best_violation > -np.inf else 0.0
            for f in range(n_families):
                own = min(max(-prices[f], 0.0), 1.0)
                coefficients[f] = share * best[f] + (1.0 - share) * own if share > 0 else own
            violation = cheapest_networks(
                starts, masks, coefficients, w, costs, forward, networks, found
            )
            for f in range(n_families):
                violation -= coefficients[f] * weights[f]
            if violation > best_violation:
                best_violation = violation
                best[:] = coefficients
            if best_violation >= accept * objective or n_pool + w > _MOST_NETWORKS:
                break
            n_before = n_pool
            for x in range(w):
                reduced = -prices[n_families]
                for z in range(w):
                    reduced -= prices[networks[x, z]]
                if reduced < -10 * _TOLERANCE:
                    if _is_new(pool, n_before, n_pool, networks[x]):
                        pool[n_pool] = networks[x]
                        rates[n_known] = reduced
                        norms[n_known] = 1.0
                        n_pool += 1
                        n_known += 1
            if n_pool > n_before:
                share = _SHARE_OF_BEST
            elif share > 0:
                share = 0.0
            else:
                break
            continue
        rate = rates[entering]
        # The entering column in terms of the basis.
        if entering >= 2 * n_families:
            network = pool[entering - 2 * n_families]
            for i in range(size):
                total = inverse[i, n_families]
                for x in range(w):
                    total += inverse[i, network[x]]
                column[i] = total
        elif entering < n_families:
            for i in range(size):
                column[i] = inverse[i, entering]
        else:
            for i in range(size):
                column[i] = -inverse[i, entering - n_families]
        step = np.inf
        row = -1
        for i in range(size):
            if column[i] > _PIVOT:
                ratio = values[i] / column[i]
                if ratio < step or (ratio == step and column[i] > column[row]):
                    step = ratio
                    row = i
        if row < 0:
            break
        pivot = column[row]
        for i in range(size):
            values[i] = max(0.0, values[i] - step * column[i])
        values[row] = step
        objective += rate * step
        pivot_row = inverse[row]
        for j in range(size):
            pivot_row[j] /= pivot
        for i in range(size):
            factor = column[i]
            if i != row and factor != 0.0:
                other = inverse[i]
                for j in range(size):
                    other[j] -= factor * pivot_row[j]
        for j in range(size):
            prices[j] += rate * pivot_row[j]
        norm = norms[entering]
        for f in range(n_families):
            entry = pivot_row[f]
            rates[f] -= rate * entry
            rates[n_families + f] += rate * entry
            norms[f] = max(norms[f], entry * entry * norm)
            norms[n_families + f] = max(norms[n_families + f], entry * entry * norm)
        for k in range(n_pool):
            entry = pivot_row[n_families]
            for x in range(w):
                entry += pivot_row[pool[k, x]]
            rates[2 * n_families + k] -= rate * entry
            norms[2 * n_families + k] = max(norms[2 * n_families + k], entry * entry * norm)
        rates[entering] = 0.0
        n_pivots += 1
    if best_violation < least:
        return False
    coefficients[:] = best
    return True


@inner_kernel
def _is_new(pool, first, end, network):
    for k in range(first, end):
        x = 0
        while x < network.size and pool[k, x] == network[x]:
            x += 1
        if x == network.size:
            return False
    return True
