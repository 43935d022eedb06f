"""The state of a search through the parent sets of a child, and kernels that leave nodes out of it.

With the inverse B of the products of all columns that are left, ``-log(det(R))`` of the child's
residuals R is the log-determinant of the child's block of B. The check of a proof has this state
too, but trusts no inverse.
"""

from typing import NamedTuple

import numpy as np

from skbn._branch_and_cut.pricing_problem import ChildCosts
from skbn._core.arrays import B2, F1, F3, I1, I2
from skbn._core.compile import inner_kernel, tuple_type

PAUSED, FULL, DONE = 0, 1, 2
# The numbers of a search, by their places in `Walk.numbers` and `Walk.limits`.
LEVEL, IS_FRESH, N_FOUND, N_NODES, WITH_DOMINATED = range(5)
REACH, LEAST, TIE = range(3)


class Walk(NamedTuple):
    """The state of a search, so that it can pause. A level is a node that is left out."""

    # (k + 1, n, n): the inverse of the products of the columns that are left at each level
    inverses: F3
    left: I2  # (k + 1, n): these columns; the child's are the last
    # (k + 1,): how many they are, how many nodes are chosen, and which one is being left out
    n_left: I1
    n_chosen: I1  # (k + 1,)
    branch: I1  # (k + 1,)
    is_open: B2  # (k + 1, k): which nodes are neither chosen nor left out
    # (k + 1,): what a family of the chosen nodes, or some of them, costs: its supersets must cost
    # less
    cheapest: F1
    # (5,): the level, whether its last chosen node is new, how many families were found and sets
    # visited, and whether families are sought that a subset dominates
    numbers: I1
    # (3,): the reduced cost up to which families are sought, the least one found, and by how much
    # more than a subset a family must cost to be dominated
    limits: F1


WALK = tuple_type(Walk)


def new_walk(
    child: ChildCosts, reach: float, with_dominated: bool = False, tie: float = 0.0
) -> Walk:
    """Return the state in which a search begins that finds reduced costs up to `reach`."""
    n, k = len(child.products), len(child.starts) - 2
    inverses = np.empty((k + 1, n, n))
    inverses[0] = np.linalg.inv(child.products)
    is_open = np.ones((k + 1, k), dtype=np.bool_)
    is_open[:, : child.n_required] = False
    sizes = np.full(k + 1, n), np.full(k + 1, child.n_required), np.full(k + 1, -1)
    left, numbers = np.tile(np.arange(n), (k + 1, 1)), np.array([0, 1, 0, 0, with_dominated])
    limits = np.array([reach, np.inf, tie])
    return Walk(inverses, left, *sizes, is_open, np.full(k + 1, np.inf), numbers, limits)


@inner_kernel
def eliminate(chain, n):
    """Make columns of an inverse those of the inverses for its first columns alone.

    Parameters
    ----------
    chain : ndarray of shape (d, ...), float64
        The last d columns of an inverse for n columns, as rows. Then row t is the last column of
        the inverse for the first n - d + t + 1.
    n : int
    """
    d = chain.shape[0]
    for t in range(d - 1, 0, -1):
        own = n - d + t
        for before in range(t):
            ratio = chain[before, own] / chain[t, own]
            for a in range(own + 1):
                chain[before, a] -= ratio * chain[t, a]


@inner_kernel
def leave_out(inverse, left, n, at, target, target_left):
    """Fill an inverse and its columns without a column; they may take the place of the old ones."""
    pivot = inverse[at, at]
    taken = inverse[at, :n].copy()
    for a in range(n):
        if a != at:
            to = a - (a > at)
            factor = inverse[a, at] / pivot
            for b in range(at):
                target[to, b] = inverse[a, b] - factor * taken[b]
            for b in range(at + 1, n):
                target[to, b - 1] = inverse[a, b] - factor * taken[b]
            target_left[to] = left[a]


@inner_kernel
def leave_out_node(starts, walk, level, target, node):
    """Fill a level's inverse with that of a level without a node; they may be the same."""
    n, source = walk.n_left[level], level
    for column in range(starts[node], starts[node + 1]):
        left, at = walk.left[source], 0
        while left[at] != column:
            at += 1
        leave_out(walk.inverses[source], left, n, at, walk.inverses[target], walk.left[target])
        n -= 1
        source = target
    walk.n_left[target] = n


@inner_kernel
def leave_out_all(products, walk, level, is_out):
    """Leave out columns, one by one or, if few are left, by a new inverse."""
    inverse, left, n = walk.inverses[level], walk.left[level], walk.n_left[level]
    n_kept = n
    for at in range(n - 1):
        n_kept -= is_out[left[at]]
    if n_kept**3 >= (n - n_kept) * n * n:
        for at in range(n - 2, -1, -1):
            if is_out[left[at]]:
                leave_out(inverse, left, n, at, inverse, left)
                n -= 1
    else:
        n_kept = 0
        for at in range(n):
            if at == n - 1 or not is_out[left[at]]:
                left[n_kept] = left[at]
                n_kept += 1
        _invert(products, left[:n_kept], inverse)
    walk.n_left[level] = n_kept


@inner_kernel
def _invert(products, columns, inverse):
    """Fill the inverse of the products of some columns, by Gauss-Jordan elimination."""
    n = columns.size
    for a in range(n):
        for b in range(n):
            inverse[a, b] = products[columns[a], columns[b]]
    for p in range(n):
        pivot = inverse[p, p]
        inverse[p, p] = 1.0
        for b in range(n):
            inverse[p, b] /= pivot
        for a in range(n):
            if a != p:
                factor = inverse[a, p]
                inverse[a, p] = 0.0
                for b in range(n):
                    inverse[a, b] -= factor * inverse[p, b]


@inner_kernel
def largest_first(numbers, others):
    """Exchange the first number with the largest one, and return this; others move along."""
    if numbers.size == 0:
        return 0.0
    i = np.argmax(numbers)
    numbers[0], numbers[i] = numbers[i], numbers[0]
    others[0], others[i] = others[i], others[0]
    return numbers[0]
