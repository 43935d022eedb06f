"""Kernels for the networks of few columns, a window: the cheapest ones, and cuts lifted exactly.

A window has w columns, 3 or more, by their positions 0, ..., w - 1. ``costs[x, S]``, which is not
negative, is what column x costs if the columns in S precede it, where S is a mask of positions.
Entries where S contains x do not matter. Masks come in blocks of 8, whose loops are vectorised;
unsigned numbers are not compared with 0 as indices, which would prevent that.
"""

from __future__ import annotations

import numpy as np

from skbn._core.compile import inner_kernel

__all__ = ["cheapest_networks", "cost_of_cheapest", "costs_by_predecessors", "lift"]

_ONE = np.uint64(1)
_BITS = np.uint64(3)
_BLOCK = np.uint64(8)


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
    costs : ndarray of shape (w, 2**w), float64
        Filled.
    """
    costs[:] = np.inf
    for x in range(w):
        for f in range(starts[x], starts[x + 1]):
            low = masks[f] & 7
            for i in range(8):
                if i & low == low:
                    s = masks[f] ^ low | i
                    costs[x, s] = min(costs[x, s], coefficients[f])
        _lower_supersets(costs[x], w, x)


@inner_kernel
def _lower_supersets(own, w, x):
    """Lower each entry to the least of its subsets, within blocks of masks already the least."""
    for y in range(_BITS, np.uint64(w)):
        if y != np.uint64(x):
            size = _ONE << y
            start = np.uint64(0)
            while start < np.uint64(own.size):
                for s in range(start, start + size):
                    own[s + size] = min(own[s + size], own[s])
                start += size + size


@inner_kernel
def _lower_subsets(own, w):
    """Lower each entry to the least of its supersets."""
    for y in range(np.uint64(w)):
        size = _ONE << y
        start = np.uint64(0)
        while start < np.uint64(own.size):
            for s in range(start, start + size):
                own[s] = min(own[s], own[s + size])
            start += size + size


@inner_kernel
def cost_of_cheapest(costs, w, forward):
    """Fill the cost of the cheapest network of each subset; return that of all columns."""
    n_blocks = np.uint64(forward.size) >> _BITS
    own = forward.reshape(n_blocks, _BLOCK)
    blocks = costs.reshape(w, n_blocks, _BLOCK)
    forward[:] = np.inf
    forward[0] = 0.0
    for b in range(n_blocks):
        for s in range(_BLOCK):
            for y in range(_BITS):
                t = s | _ONE << y
                own[b, t] = min(own[b, t], own[b, s] + blocks[y, b, s])
        for y in range(_BITS, np.uint64(w)):
            t = b | _ONE << (y - _BITS)
            if t != b:
                for s in range(_BLOCK):
                    own[t, s] = min(own[t, s], own[b, s] + blocks[y, b, s])
    return forward[forward.size - 1]


@inner_kernel
def _costs_of_the_rest(costs, w, backward):
    """Fill what the columns outside of each subset cost at least if it precedes them."""
    n_blocks = np.uint64(backward.size) >> _BITS
    own = backward.reshape(n_blocks, _BLOCK)
    blocks = costs.reshape(w, n_blocks, _BLOCK)
    backward[:] = np.inf
    backward[backward.size - 1] = 0.0
    for i in range(n_blocks):
        b = n_blocks - _ONE - i
        for y in range(_BITS, np.uint64(w)):
            t = b | _ONE << (y - _BITS)
            if t != b:
                for s in range(_BLOCK):
                    own[b, s] = min(own[b, s], own[t, s] + blocks[y, b, s])
        for j in range(_BLOCK):
            last = _BLOCK - _ONE - j
            for y in range(_BITS):
                t = last | _ONE << y
                own[b, last] = min(own[b, last], own[b, t] + blocks[y, b, last])


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
        found[x] = forward[s ^ (1 << x)] + costs[x, s ^ (1 << x)]
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
            cost = forward[rest] + costs[x, rest]
            if cost < best:
                best = cost
                last = x
    return last


@inner_kernel
def lift(costs, w, bound, order, forward, backward, own):
    """Lower the coefficients of a cut as far as it stays valid, one column after the other.

    A network in which x has the parents S costs at least what its other columns cost with x
    somewhere after all of S. So the coefficient of x with S becomes what the bound exceeds that
    by, or 0. If it is positive, some network with it costs no more than the bound, and that
    remains so while other columns follow: in the end no single coefficient can be lower.

    Parameters
    ----------
    costs : ndarray of shape (w, 2**w), float64
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
        _costs_of_the_rest(costs, w, backward)
        for s in range(n):
            own[s] = np.inf if s >> x & 1 else forward[s] + backward[s | 1 << x]
        _lower_subsets(own, w)
        for s in range(n):
            costs[x, s] = max(0.0, bound - own[s])
    return cost_of_cheapest(costs, w, forward)
