"""Kernels for the networks of few columns, a window: the cheapest ones, and cuts lifted exactly.

A window has w columns, 3 or more, by their positions 0, ..., w - 1. ``costs[x, S]``, which is not
negative, is what column x costs if the columns in S precede it, where S is a mask of positions.
Entries where S contains x do not matter. Masks come in blocks of 8, and their loops over a block
are vectorised. For that, indices are unsigned: numba tests others for being negative.
"""

from typing import NamedTuple

import numpy as np

from skbn._core.arrays import F1, I1, ZERO
from skbn._core.compile import inner_kernel, pasted_kernel, tuple_type
from skbn._core.random_numbers import random_below
from skbn._core.subsets import least_over_subsets

_ONE = np.uint64(1)
_BITS = np.uint64(3)
_BLOCK = np.uint64(8)


class WindowFamilies(NamedTuple):
    """The families of a window's columns, and a point in which they have weights."""

    # (w + 1,): column x has the families starts[x], ..., starts[x + 1] - 1; one of them has no
    # parents
    starts: I1
    masks: I1  # (n_families,): parents, as masks of positions in the window
    weights: F1  # (n_families,): the weights of a column's families add up to 1


WINDOW = tuple_type(WindowFamilies)


@pasted_kernel
def costs_by_predecessors(window, coefficients, costs, least, places):
    """Fill what each column costs at least, by the columns that precede it.

    Parameters
    ----------
    window : WindowFamilies
    coefficients : ndarray of shape (n_families,), float64
        The costs of the families.
    costs : ndarray of shape (w, 2**w), float64
        Filled.
    least : ndarray of shape (2**w,), float64
        Scratch.
    places : ndarray of shape (2**w,), uint16
        Scratch: by the columns that some family of x has, few of the window's.
    """
    starts, masks = window.starts, window.masks
    w, n = costs.shape
    places[0] = 0
    for x in range(w):
        used = np.int64(0)
        for f in range(starts[x], starts[x + 1]):
            used |= masks[f]
        size, end = _ONE, _ONE
        for y in range(w):
            more = end if used >> y & 1 else end ^ end
            for s in range(size):
                places[size + s] = places[s] + more
            size, end = size + size, end + more
        for s in range(end):
            least[s] = np.inf
        for f in range(starts[x], starts[x + 1]):
            place = np.uint64(places[masks[f]])
            least[place] = min(least[place], coefficients[f])
        least_over_subsets(least, end)
        own = costs[x]
        for s in range(np.uint64(n)):
            own[s] = least[np.uint64(places[s])]


@inner_kernel
def cost_of_cheapest(costs, forward):
    """Fill the cost of the cheapest network of each subset; return that of all columns."""
    w = costs.shape[0]
    n_blocks = np.uint64(forward.size) >> _BITS
    own = forward.reshape(n_blocks, _BLOCK)
    blocks = costs.reshape(w, n_blocks, _BLOCK)
    for s in range(forward.size):
        forward[s] = np.inf
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


@pasted_kernel
def fill_cheapest(window, coefficients, costs, forward, networks, found):
    """Find the cheapest network with each column as the last of its order.

    Parameters
    ----------
    window : WindowFamilies
    coefficients, costs
        As in `costs_by_predecessors`, which filled the costs.
    forward : ndarray of shape (2**w,), float64
        As `cost_of_cheapest` filled it.
    networks : ndarray of shape (w, w), int64
        Filled: ``networks[x, y]`` is y's family in the cheapest network in which x is the last.
    found : ndarray of shape (w,), float64
        Filled with the costs of these networks.
    """
    starts, masks = window.starts, window.masks
    w = found.size
    for x in range(w):
        s = (1 << w) - 1
        last = x
        found[x] = forward[s ^ (1 << x)] + costs[x, s ^ (1 << x)]
        while s != 0:
            s ^= 1 << last
            best = np.inf
            for f in range(starts[last], starts[last + 1]):
                if masks[f] & ~s == 0 and coefficients[f] < best:
                    best = coefficients[f]
                    networks[x, last] = f
            # The last column of the cheapest network of the columns that are left.
            best = np.inf
            for y in range(w):
                if s >> y & 1:
                    cost = forward[s ^ (1 << y)] + costs[y, s ^ (1 << y)]
                    if cost < best:
                        best = cost
                        last = y


@pasted_kernel
def lift(window, costs, forward, scratch, order, random):
    """Lower the coefficients of a cut as far as it stays valid, one column after the other.

    A network in which x has the parents S costs at least what its other columns cost with x
    somewhere after all of S. So the coefficient of x with S becomes what the bound exceeds that
    by, or 0. If it is positive, some network with it costs no more than the bound, and that
    remains so while other columns follow: in the end no single coefficient can be lower.

    Parameters
    ----------
    window : WindowFamilies
    costs : ndarray of shape (w, 2**w), float64
        What `costs_by_predecessors` made of coefficients that are multiples of a power of two:
        their sums and differences are exact, and so is the bound. They are lowered to the lifted
        coefficients by the parents of each column.
    forward : ndarray of shape (2**w,), float64
        As `cost_of_cheapest` filled it.
    scratch : ndarray of shape (2, 2**w), float64
    order : ndarray of shape (w,), int64
        The columns. They are lifted in a random order, which replaces it.
    random : ndarray of shape (1,), uint64
        The state of a random generator.

    Returns
    -------
    bound : float
        The cost of the cheapest network after lifting.
    violation : float
        By how much the point violates the cut.
    """
    w = costs.shape[0]
    backward, own, all_in = scratch[0], scratch[1], forward.size - 1
    bound = forward[all_in]
    for i in range(w - 1, 0, -1):
        j = random_below(random, ZERO, i + 1)
        order[i], order[j] = order[j], order[i]
    lifted = bound
    for x in order:
        _costs_of_the_rest(costs, backward)
        # By the columns that are not in each set: the least of its supersets is that of subsets.
        for s in range(own.size):
            own[all_in - s] = np.inf if s >> x & 1 else forward[s] + backward[s | 1 << x]
        least_over_subsets(own, np.uint64(own.size))
        for s in range(own.size):
            costs[x, s] = max(0.0, bound - own[all_in - s])
        lifted = cost_of_cheapest(costs, forward)
    violation = lifted
    for x in range(w):
        for f in range(window.starts[x], window.starts[x + 1]):
            violation -= window.weights[f] * costs[x, window.masks[f]]
    return lifted, violation


@inner_kernel
def _costs_of_the_rest(costs, backward):
    """Fill what the columns outside of each subset cost at least if it precedes them."""
    w = costs.shape[0]
    n_blocks = np.uint64(backward.size) >> _BITS
    own = backward.reshape(n_blocks, _BLOCK)
    blocks = costs.reshape(w, n_blocks, _BLOCK)
    for s in range(backward.size):
        backward[s] = np.inf
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
