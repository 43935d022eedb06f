"""Kernels for the regressions of a column on a growing set of parents.

They work on the products of the columns, which are centred and of unit norm: a pivot of the
Cholesky decomposition is what the parents so far leave of a column. A column of which they leave
less than `LEAST_PIVOT` cannot become a parent, since rounding would decide its gain.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import float64, int64

from skbn._core.arrays import B1, B2, F1, F2, F3, I1
from skbn._core.compile import inlined_kernel, inner_kernel, kernel, pasted_kernel, tuple_type
from skbn._core.subsets import popcount

# Sums of products of unit columns are wrong by about 1e-15 for each parent: what is left of a
# column has three digits here.
LEAST_PIVOT = 1e-12


class Regressions(NamedTuple):
    """What the scores of all families follow from."""

    products: F2  # (m, m): products of the columns, which are centred and of unit norm
    offsets: F1  # (m,): what the unit of each column adds to log-determinants
    tables: F2  # (3, m): the criterion's tables c, a0 and a1 by the number of parents
    may_be_parent: B2  # (m, m): row x has the columns that the constraints allow as parents of x
    must_be_parent: B2  # (m, m)


class Family(NamedTuple):
    """A child and its parents, with what these leave of all columns. Scratch of m columns."""

    members: I1  # (width,): the parents, in the order in which they came
    # (width, m): row t is what column ``members[t]``, freed of the parents before it and of unit
    # norm, has in common with each column
    factor: F2
    # (m,): what the parents leave of the square of each column; infinite for the parents, so that
    # no search for a further parent finds them
    left: F1
    shared: F1  # (m,): the product of each column and the child, both freed of the parents
    log_det: F1  # (1,): the log-determinant of the parents
    inverse: F2  # (width + 1, width + 1): scratch
    is_open: B1  # (m,): which columns may be parents
    refit: int  # the address of `refit_parents`


class Subsets(NamedTuple):
    """What `score_subsets` finds of k free columns, and scratch."""

    scores: F1  # (2**k,): -inf for sets that are ruled out
    best: F1  # (2**k,): the highest score of a subset of each set
    products: F2  # (n, n): those of all columns that it gets; scratch, as all that follows
    log_det: F1  # (k + 1,)
    stack: F3  # (k + 1, k + 1, k + 1)


REGRESSIONS = tuple_type(Regressions)
FAMILY = tuple_type(Family)
SUBSETS = tuple_type(Subsets)


@pasted_kernel
def start(regressions, family, x):
    """Begin with no parents; return how many these are."""
    for y in range(family.left.size):
        family.left[y] = 1.0
        family.shared[y] = regressions.products[x, y]
    family.log_det[0] = 0.0
    return np.int64(0)


@pasted_kernel
def add_parent(regressions, family, n, x, y):
    """Add y to n parents of x; return how many there are then."""
    row = family.factor[n]
    products = regressions.products[y]
    m = row.size
    root = math.sqrt(family.left[y])
    for z in range(m):
        row[z] = products[z]
    for t in range(n):
        earlier = family.factor[t]
        weight = earlier[y]
        for z in range(m):
            row[z] -= weight * earlier[z]
    scale = 1.0 / root
    of_child = row[x] * scale
    for z in range(m):
        row[z] *= scale
        family.left[z] -= row[z] * row[z]
        family.shared[z] -= of_child * row[z]
    row[y] = root
    family.left[y] = np.inf
    family.log_det[0] += 2.0 * math.log(root) + regressions.offsets[y]
    family.members[n] = y
    return n + 1


@pasted_kernel
def remove_parent(regressions, family, n, x, y):
    """Remove y from n parents of x; return which member it was.

    Givens rotations make its row of the factor the last one, and the others those of the other
    parents.
    """
    members, left, shared = family.members, family.left, family.shared
    t = np.int64(0)
    while members[t] != y:
        t += 1
    row = family.factor[t]
    for i in range(t + 1, n):
        p, other = members[i], family.factor[i]
        root = math.sqrt(row[p] * row[p] + other[p] * other[p])
        c, s = row[p] / root, other[p] / root
        for z in range(left.size):
            u, v = row[z], other[z]
            row[z] = c * u + s * v
            other[z] = c * v - s * u
        members[i - 1], row = p, other
    of_child = row[x]
    for z in range(left.size):
        left[z] += row[z] * row[z]
        shared[z] += of_child * row[z]
    left[y] = row[y] * row[y]
    family.log_det[0] -= math.log(left[y]) + regressions.offsets[y]
    return t


@inlined_kernel
def family_score(tables, n_parents, of_parents, left_of_child, offset):
    """Return the score, from a log-determinant and what the parents leave of the child."""
    return (
        tables[0, n_parents]
        + tables[1, n_parents] * of_parents
        + tables[2, n_parents] * (of_parents + math.log(left_of_child) + offset)
    )


@inlined_kernel
def own_score(regressions, family, n, x):
    """Return the score of x with its n parents."""
    left = family.left[x]
    left = LEAST_PIVOT if left < LEAST_PIVOT else left
    return family_score(regressions.tables, n, family.log_det[0], left, regressions.offsets[x])


@inner_kernel
def score_with(regressions, family, n, x, y):
    """Return the score with one more parent, y; -inf if rounding would decide it."""
    # Without branches, numba need not count references to all the arrays.
    left, offsets = family.left[y], regressions.offsets
    of_child = family.left[x] - family.shared[y] * family.shared[y] / left
    of_parents = family.log_det[0] + math.log(left) + offsets[y]
    score = family_score(regressions.tables, n + 1, of_parents, of_child, offsets[x])
    return score if left >= LEAST_PIVOT and of_child >= LEAST_PIVOT else -np.inf


@inlined_kernel
def explains_most(left, shared, is_open, most):
    """Return the open column that explains most of the child, if more than `most`; or else -1."""
    chosen, n_better = np.int64(-1), 0
    for y in range(is_open.size):  # without branches: there is seldom any
        n_better += (shared[y] * shared[y] > most * left[y]) & is_open[y]
    for y in range(is_open.size if n_better > 0 else 0):
        square = shared[y] * shared[y]
        if square > most * left[y] and is_open[y] and left[y] >= LEAST_PIVOT:
            most = square / left[y]
            chosen = np.int64(y)
    return chosen


@kernel(
    REGRESSIONS, int64[::1], int64, int64, float64, SUBSETS,
)  # fmt: skip
def score_subsets(regressions, columns, n_free, max_parents, least, subsets):
    """Score a child with fixed parents and every subset of free ones.

    The subsets count up as masks. The lowest column of a mask is the pivot of a step of Cholesky's
    decomposition on the matrix of those below it, and half of the masks have no columns below.

    `columns`: the `n_free` free columns, then the child, then the fixed ones
    """
    scores, best, log_det, stack = subsets.scores, subsets.best, subsets.log_det, subsets.stack
    n_fixed = columns.size - n_free - 1
    log_det[0] = _project_out(regressions, columns, n_free, subsets)
    offset = regressions.offsets[columns[n_free]]
    left = stack[0, n_free, n_free]
    scores[0] = -np.inf
    if log_det[0] > -np.inf and left >= LEAST_PIVOT and n_fixed <= max_parents:
        scores[0] = family_score(regressions.tables, n_fixed, log_det[0], left, offset)
    best[0] = scores[0]
    for mask in range(1, 1 << n_free):
        t = popcount((mask & -mask) - 1)
        n = popcount(mask)
        pivot = stack[n - 1, t, t]
        score = -np.inf
        log_det[n] = -np.inf
        if log_det[n - 1] > -np.inf and pivot >= LEAST_PIVOT:
            log_det[n] = log_det[n - 1] + math.log(pivot) + regressions.offsets[columns[t]]
            left = _eliminate(stack, n, t, n_free)
            if left >= LEAST_PIVOT and n_fixed + n <= max_parents:
                score = family_score(regressions.tables, n_fixed + n, log_det[n], left, offset)
        top = -np.inf
        rest = mask
        while rest:
            low = rest & -rest
            top = max(top, best[mask ^ low])
            rest ^= low
        best[mask] = max(score, top)
        # Otherwise a subset is as good.
        scores[mask] = score if score > top + least else -np.inf


@pasted_kernel
def _project_out(regressions, columns, n_free, subsets):
    """Set ``stack[0]`` to the products of the free columns and the child, freed of the fixed ones.

    Returns `log_det`: the log-determinant of the fixed columns; -inf if rounding would decide it.
    """
    products, target, k = subsets.products, subsets.stack, columns.size
    log_det = 0.0
    for t in range(k - 1, n_free, -1):
        if products[t, t] < LEAST_PIVOT:
            return -np.inf
        log_det += math.log(products[t, t]) + regressions.offsets[columns[t]]
        for i in range(t):
            weight = products[i, t] / products[t, t]
            for j in range(t):
                products[i, j] -= weight * products[t, j]
    for i in range(n_free + 1):
        for j in range(n_free + 1):
            target[0, i, j] = products[i, j]
    return log_det


@pasted_kernel
def _eliminate(stack, n, t, child):
    """Free columns below t, and the child, of column t; return what is left of the child."""
    inverse = 1.0 / stack[n - 1, t, t]
    for i in range(t):
        weight = stack[n - 1, t, i] * inverse
        for j in range(i + 1):
            stack[n, i, j] = stack[n - 1, i, j] - weight * stack[n - 1, t, j]
    weight = stack[n - 1, child, t] * inverse
    for j in range(t):
        stack[n, child, j] = stack[n - 1, child, j] - weight * stack[n - 1, t, j]
    stack[n, child, child] = stack[n - 1, child, child] - weight * stack[n - 1, child, t]
    return stack[n, child, child]
