"""Kernels for the networks of few columns, a window: the cheapest ones, and cuts lifted exactly.

A window has w columns, by their positions 0, ..., w - 1. ``costs[S, x]``, which is not negative, is
what column x costs if the columns in S precede it, where S is a mask of positions.
"""

from __future__ import annotations

import numpy as np

from skbn._core.compile import inner_kernel

__all__ = ["cheapest_networks", "cost_of_cheapest", "costs_by_predecessors", "lift"]


@inner_kernel
def costs_by_predecessors(starts, masks, coefficients, w, costs):
    """Fill what each column costs at least, by the columns that precede it.

    Parameters
    ----------
    starts : ndarray of shape (w + 1,), int64
        Column x has the families starts[x], ..., starts[x + 1] - 1; one of them has no parents.
    masks : ndarray of shape (n_families,), int64
        Their parents.
    coefficients : ndarray of shape (n_families,), float64
        Their costs.
    w : int
    costs : ndarray of shape (2**w, w), float64
        Filled.
    """
    costs[:] = np.inf
    for x in range(w):
        for f in range(starts[x], starts[x + 1]):
            costs[masks[f], x] = min(costs[masks[f], x], coefficients[f])
    flat = costs.reshape(costs.size)
    for y in range(w):
        size = w << y
        for start in range(0, flat.size, 2 * size):
            without = flat[start : start + size]  # slices make the loop a vector's
            with_y = flat[start + size : start + 2 * size]
            for i in range(size):
                with_y[i] = min(with_y[i], without[i])


@inner_kernel
def cost_of_cheapest(costs, w, forward):
    """Fill the cost of the cheapest network of each subset; return that of all columns."""
    n = 1 << w
    forward[:] = np.inf
    forward[0] = 0.0
    for s in range(n - 1):
        own = forward[s]
        for x in range(w):
            s_and_x = s | 1 << x
            forward[s_and_x] = min(forward[s_and_x], own + costs[s, x])
    return forward[n - 1]


@inner_kernel
def cheapest_networks(starts, masks, coefficients, w, costs, forward, networks, found):
    """Find the cheapest network with each column as the last of its order.

    Parameters
    ----------
    starts, masks, coefficients, w, costs
        As in `costs_by_predecessors`.
    forward : ndarray of shape (2**w,), float64
        Scratch.
    networks : ndarray of shape (w, w), int64
        Filled: ``networks[x, y]`` is y's family in the cheapest network in which x is the last.
    found : ndarray of shape (w,), float64
        Filled with the costs of these networks.

    Returns
    -------
    cost : float
        Of the cheapest one.
    """
    costs_by_predecessors(starts, masks, coefficients, w, costs)
    cost = cost_of_cheapest(costs, w, forward)
    for x in range(w):
        s = (1 << w) - 1
        y = x
        found[x] = forward[s ^ (1 << x)] + costs[s ^ (1 << x), x]
        while True:
            s ^= 1 << y
            best = np.inf
            for f in range(starts[y], starts[y + 1]):
                if masks[f] & ~s == 0 and coefficients[f] < best:
                    best = coefficients[f]
                    networks[x, y] = f
            if s == 0:
                break
            y = _last(costs, w, forward, s)
    return cost


@inner_kernel
def _last(costs, w, forward, s):
    """Return the last column of the cheapest network of a subset."""
    best = np.inf
    last = 0
    for x in range(w):
        if s >> x & 1:
            rest = s ^ (1 << x)
            cost = forward[rest] + costs[rest, x]
            if cost < best:
                best = cost
                last = x
    return last


@inner_kernel
def lift(costs, w, bound, order, forward, backward, own):
    """Raise the coefficients of a cut as far as it stays valid, one column after the other.

    A network in which x has the parents S costs at least what its other columns cost with x
    somewhere after all of S. So the coefficient of x with S may be what the bound exceeds that
    by, and then no network costs less than the bound because of it.

    Parameters
    ----------
    costs : ndarray of shape (2**w, w), float64
        The coefficients by predecessors. Overwritten by the lifted ones, which are smaller for
        larger sets.
    w : int
    bound : float
        At most the cost of the cheapest network.
    order : ndarray of shape (w,), int64
        In which columns are lifted.
    forward, backward, own : ndarray of shape (2**w,), float64
        Scratch.

    Returns
    -------
    bound : float
        The cost of the cheapest network after lifting.
    """
    n = 1 << w
    for i in range(w):
        x = order[i]
        cost_of_cheapest(costs, w, forward)
        backward[n - 1] = 0.0
        for s in range(n - 2, -1, -1):
            backward[s] = np.inf
            for y in range(w):
                backward[s] = min(backward[s], costs[s, y] + backward[s | 1 << y])
        for s in range(n):
            own[s] = np.inf if s >> x & 1 else forward[s] + backward[s | 1 << x]
        for y in range(w):
            size = 1 << y
            for start in range(0, n, 2 * size):
                without = own[start : start + size]
                with_y = own[start + size : start + 2 * size]
                for i in range(size):
                    without[i] = min(without[i], with_y[i])
        for s in range(n):
            costs[s, x] = max(0.0, bound - own[s])
    return cost_of_cheapest(costs, w, forward)
