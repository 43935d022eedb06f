"""The state of a search through the parent sets of a child, and kernels that leave nodes out of it.

With the inverse B of the products of all columns that are left, ``-log(det(R))`` of the child's
residuals R is the log-determinant of the child's block of B. Each row of B has a bound of its
error, which grows as columns are left out.
"""

from typing import NamedTuple

import numpy as np

from skbn._branch_and_cut.checker_kernels import EPSILON
from skbn._branch_and_cut.pricing_problem import ChildCosts
from skbn._branch_and_cut.relaxed_kernels import Relaxed, new_relaxed
from skbn._branch_and_cut.rounding_kernels import error_of
from skbn._core.arrays import B1, B2, F1, F2, F3, I1, I2
from skbn._core.compile import inner_kernel, pasted_kernel, tuple_type

PAUSED, FULL, DONE = 0, 1, 2
# The numbers of a search, by their places in `Walk.numbers` and `Walk.limits`.
LEVEL, IS_FRESH, N_FOUND, N_NODES, WITH_DOMINATED = range(5)
REACH, LEAST, TIE, GROWTH = range(4)


class WalkMemory(NamedTuple):
    """Memory for one set after the other."""

    block: F2  # (n, n): of an inverse, for columns of a node and of the child
    errors: F1  # (n,): of its rows, and what rounding adds to them
    roundings: F1  # (n,)
    row: F1  # (n,)
    is_out: B1  # (n,): by column
    costs: F1  # (k + 2,): of further parents
    losses: F1  # (k + 2,): of the open nodes, and what each takes of the discount
    lost: F1  # (k + 2,)
    # by candidates or their numbers, if none has several columns
    coefficients: F1  # (k,)
    order: I1  # (k,)
    gains: F1  # (k + 1,)
    limits: F1  # (k + 1,)
    totals: F1  # (k + 1,)
    relaxed: Relaxed


class Walk(NamedTuple):
    """The state of a search, so that it can pause. A level is a node that is left out."""

    # (k + 1, n, n): the inverse of the products of the columns that are left at each level
    inverses: F3
    errors: F2  # (k + 1, n): the errors of its rows
    roundings: F1  # (n,): what leaving out a column adds to the error of each column's row
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
    # (4,): the reduced cost up to which families are sought, the least one found, by how much more
    # than a subset a family must cost to be dominated, and the factor of errors when a column is
    # left out
    limits: F1
    work: WalkMemory


WALK = tuple_type(Walk)


def new_walk(
    child: ChildCosts, reach: float, with_dominated: bool = False, tie: float = 0.0
) -> Walk:
    """Return the state in which a search begins that finds reduced costs up to `reach`."""
    n, k = len(child.products), len(child.starts) - 2
    inverses = np.empty((k + 1, n, n))
    inverses[0] = inverse = np.linalg.inv(child.products)
    errors = np.empty((k + 1, n))
    off = (n + 4) * EPSILON
    residuals = np.abs(np.eye(n) - inverse @ child.products)
    residuals += off * (1 + np.abs(inverse).sum(axis=1, keepdims=True))
    errors[0] = (1 + off) * np.sqrt((residuals**2).sum(axis=1))
    # When a column is left out, the entries of the others' rows round three times, and its own ones
    # are not quite 0. The norm of a row of the exact inverse is at most the root of its diagonal
    # entry over the eigenvalue, and that of the products at most n.
    largest = inverse.diagonal() + errors[0] / child.eigenvalue
    roundings = 4 * off * np.sqrt(largest / child.eigenvalue)
    is_open = np.ones((k + 1, k), dtype=np.bool_)
    is_open[:, : child.n_required] = False
    sizes = np.full(k + 1, n), np.full(k + 1, child.n_required), np.full(k + 1, -1)
    left, numbers = np.tile(np.arange(n), (k + 1, 1)), np.array([0, 1, 0, 0, with_dominated])
    limits = np.array([reach, np.inf, tie, 1 + 4 * off * (1 + 1 / child.eigenvalue)])
    n_single = len(child.diagonal)
    of_columns, of_nodes = np.empty((3, n)), np.empty((3, k + 2))
    of_some = np.empty((3, n_single + 1))
    work = WalkMemory(
        np.empty((n, n)),
        errors=of_columns[0],
        roundings=of_columns[1],
        row=of_columns[2],
        is_out=np.empty(n, dtype=np.bool_),
        costs=of_nodes[0],
        losses=of_nodes[1],
        lost=of_nodes[2],
        coefficients=np.empty(n_single),
        order=np.empty(n_single, dtype=np.int64),
        gains=of_some[0],
        limits=of_some[1],
        totals=of_some[2],
        relaxed=new_relaxed(n_single),
    )
    cheapest = np.full(k + 1, np.inf)
    return Walk(inverses, errors, roundings, left, *sizes, is_open, cheapest, numbers, limits, work)


@inner_kernel
def leave_out(child, walk, level, at, n, target):
    """Fill a level's inverse with that of a level without a column; they may be the same.

    The new residual of a row is ``r - factor * r_at``, and the entries round.
    """
    inverse, left, errors = walk.inverses[level], walk.left[level], walk.errors[level]
    of_target, roundings, growth = walk.inverses[target], walk.roundings, walk.limits[GROWTH]
    pivot, taken = inverse[at, at], walk.work.row
    for b in range(n):
        taken[b] = inverse[at, b]
    error = growth * errors[at] + roundings[left[at]]
    for a in range(n):
        if a != at:
            to = a - (a > at)
            factor = inverse[a, at] / pivot
            own = growth * errors[a] + roundings[left[a]]
            for b in range(at):
                of_target[to, b] = inverse[a, b] - factor * taken[b]
            for b in range(at + 1, n):
                of_target[to, b - 1] = inverse[a, b] - factor * taken[b]
            walk.left[target, to] = left[a]
            walk.errors[target, to] = own + abs(factor) * error
    walk.n_left[target] = n - 1


@pasted_kernel
def leave_out_node(child, walk, level, target, node):
    """Fill a level's inverse with that of a level without a node; they may be the same."""
    n, source = walk.n_left[level], level
    for column in range(child.starts[node], child.starts[node + 1]):
        at = 0
        while walk.left[source, at] != column:
            at += 1
        leave_out(child, walk, source, at, n, target)
        n -= 1
        source = target


@pasted_kernel
def leave_out_all(child, walk, level, is_out):
    """Leave out columns, one by one or, if few are left, by a new inverse."""
    inverse, left, n = walk.inverses[level], walk.left[level], walk.n_left[level]
    n_kept = n
    for at in range(n - 1):
        n_kept -= is_out[left[at]]
    if n_kept**3 >= (n - n_kept) * n * n:
        for at in range(n - 2, -1, -1):
            if is_out[left[at]]:
                leave_out(child, walk, level, at, n, level)
                n -= 1
    else:
        n_kept = 0
        for at in range(n):
            if at == n - 1 or not is_out[left[at]]:
                left[n_kept] = left[at]
                n_kept += 1
        _invert(child.products, left, n_kept, inverse)
        rest = child.products, left, n_kept
        for at in range(n_kept):
            walk.errors[level, at] = error_of(*rest, inverse[at], at, walk.work.row)
        walk.n_left[level] = n_kept


@pasted_kernel
def _invert(products, columns, n, inverse):
    """Fill the inverse of the products of n columns, by Gauss-Jordan elimination."""
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


@pasted_kernel
def largest_first(numbers, others, first, stop):
    """Exchange the first of some numbers with the largest one; others move along."""
    i = first
    for j in range(first + 1, stop):
        if numbers[j] > numbers[i]:
            i = j
    numbers[first], numbers[i] = numbers[i], numbers[first]
    others[first], others[i] = others[i], others[first]
