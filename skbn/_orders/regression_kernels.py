"""Kernels for the regressions of a column on a growing set of parents.

They work on the products of the columns, which are centred and of unit norm: a pivot of the
Cholesky decomposition is what the parents so far leave of a column. A column of which they leave
less than `LEAST_PIVOT` cannot become a parent, since rounding would decide its gain.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import boolean, float64, int64, types

from skbn._core.arrays import Floats
from skbn._core.compile import inner_kernel, kernel

# Sums of products of unit columns are wrong by about 1e-15 for each parent: what is left of a
# column has three digits here.
LEAST_PIVOT = 1e-12


class Regressions(NamedTuple):
    """What the scores of all families follow from.

    Parameters
    ----------
    products : ndarray of shape (m, m), float64
        Products of the columns, which are centred and of unit norm.
    offsets : ndarray of shape (m,), float64
        What the unit of each column adds to log-determinants.
    tables : ndarray of shape (3, m), float64
        The criterion's tables c, a0 and a1 by the number of parents.
    may_be_parent : ndarray of shape (m, m), bool
        Row x has the columns that the constraints allow as parents of x.
    must_be_parent : ndarray of shape (m, m), bool
    """

    products: Floats
    offsets: Floats
    tables: Floats
    may_be_parent: npt.NDArray[np.bool_]
    must_be_parent: npt.NDArray[np.bool_]


class Family(NamedTuple):
    """A child and its parents, with what these leave of all columns. Scratch of m columns.

    Parameters
    ----------
    members : ndarray of shape (m,), int64
        The parents, in the order in which they came.
    factor : ndarray of shape (m, m), float64
        Row t is what column ``members[t]``, freed of the parents before it and of unit norm,
        has in common with each column.
    left : ndarray of shape (m,), float64
        What the parents leave of the square of each column.
    shared : ndarray of shape (m,), float64
        The product of each column and the child, both freed of the parents.
    log_det : ndarray of shape (1,), float64
        The log-determinant of the parents.
    is_parent : ndarray of shape (m,), bool
    inverse : ndarray of shape (m, m), float64
        Scratch.
    """

    members: npt.NDArray[np.int64]
    factor: Floats
    left: Floats
    shared: Floats
    log_det: Floats
    is_parent: npt.NDArray[np.bool_]
    inverse: Floats


REGRESSIONS = types.NamedTuple(
    (float64[:, ::1], float64[::1], float64[:, ::1], boolean[:, ::1], boolean[:, ::1]), Regressions
)
FAMILY = types.NamedTuple(
    (
        int64[::1], float64[:, ::1], float64[::1], float64[::1], float64[::1], boolean[::1],
        float64[:, ::1],
    ),
    Family,
)  # fmt: skip


@inner_kernel
def _start(regressions, family, x):
    """Begin with no parents."""
    for y in range(family.left.size):
        family.left[y] = regressions.products[y, y]
        family.shared[y] = regressions.products[x, y]
        family.is_parent[y] = False
    family.log_det[0] = 0.0


@inner_kernel
def add_parent(regressions, family, n, x, y):
    """Add y to n parents of x."""
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
    family.log_det[0] += 2.0 * math.log(root) + regressions.offsets[y]
    family.is_parent[y] = True
    family.members[n] = y


@inner_kernel
def family_score(regressions, n_parents, of_parents, left_of_child, offset):
    """Return the score, from a log-determinant and what the parents leave of the child."""
    tables = regressions.tables
    return (
        tables[0, n_parents]
        + tables[1, n_parents] * of_parents
        + tables[2, n_parents] * (of_parents + math.log(left_of_child) + offset)
    )


@inner_kernel
def own_score(regressions, family, n, x):
    """Return the score of x with its n parents."""
    return family_score(regressions, n, family.log_det[0], family.left[x], regressions.offsets[x])


@inner_kernel
def score_with(regressions, family, n, x, y):
    """Return the score with one more parent, y; -inf if rounding would decide it."""
    left = family.left[y]
    if left < LEAST_PIVOT:
        return -np.inf
    of_child = family.left[x] - family.shared[y] * family.shared[y] / left
    if of_child < LEAST_PIVOT:
        return -np.inf
    of_parents = family.log_det[0] + math.log(left) + regressions.offsets[y]
    return family_score(regressions, n + 1, of_parents, of_child, regressions.offsets[x])


@inner_kernel
def rebuild(regressions, family, n, x):
    """Begin again with the first n members that can be parents together; return how many."""
    _start(regressions, family, x)
    # Numba would compile all that is called with a literal 0 once more for it.
    kept = np.int64(0)
    for t in range(n):
        y = family.members[t]
        if family.left[y] >= LEAST_PIVOT:
            add_parent(regressions, family, kept, x, y)
            kept += 1
    return kept


@inner_kernel
def explains_most(family, is_open):
    """Return the open column that explains most of what is left of the child; -1 if none does."""
    most = 0.0
    chosen = -1
    for y in range(is_open.size):
        if is_open[y] and not family.is_parent[y] and family.left[y] >= LEAST_PIVOT:
            explained = family.shared[y] * family.shared[y] / family.left[y]
            if explained > most:
                most = explained
                chosen = y
    return chosen


@kernel(REGRESSIONS, FAMILY, int64, int64, int64[::1], seconds=1)
def select_forward(regressions, family, x, n, selected):
    """Select n columns for x: the required parents, and then what explains most of the rest.

    Returns
    -------
    n_selected : int
        Fewer than n if no other column is allowed, or explains anything.
    """
    _start(regressions, family, x)
    k = np.int64(0)
    for y in range(family.left.size):
        if regressions.must_be_parent[x, y]:
            add_parent(regressions, family, k, x, y)
            k += 1
    while k < n and family.left[x] >= LEAST_PIVOT:
        y = explains_most(family, regressions.may_be_parent[x])
        if y < 0:
            break
        add_parent(regressions, family, k, x, y)
        k += 1
    for t in range(k):
        selected[t] = family.members[t]
    return k
