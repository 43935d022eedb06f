"""Triangular factors of chosen columns, by LAPACK alone.

The walk through all subsets starts from such a factor. The families of a network, and those
that differ from them by one parent, need no walk: each child has a factor of its own, whose
columns are its parents, itself, and other columns, in this order. All results are sums of
squares, so that no digits cancel.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import lapack

__all__ = [
    "Neighbours",
    "families_first",
    "family_log_determinants",
    "first_block",
    "neighbours",
    "solve_triangular",
    "stacked_factors",
    "triangular_factor",
]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]


# One choice of columns


def triangular_factor(columns: Floats) -> Floats:
    """Return R of the QR decomposition of n columns by Householder reflections.

    Its shape is n x n, or k x n for k rows if these are fewer. The covariance
    ``columns.T @ columns`` is never formed: it would lose half the digits.
    """
    return np.asarray(np.linalg.qr(columns, mode="r"))


def solve_triangular(factor: Floats, right: Floats) -> Floats:
    """Solve ``factor @ x = right`` for x, an upper triangular factor without a zero diagonal.

    LAPACK without the checks of scipy's function, which take longer than 20 columns do.
    """
    if right.size == 0:
        return np.zeros(right.shape)
    solution, _ = lapack.dtrtrs(factor, right)
    return np.asarray(solution)


# The families of a network


class Neighbours(NamedTuple):
    """The log-determinants of some families, and of those with one parent more or fewer.

    Parameters
    ----------
    of_parents, of_family : ndarray of shape (n_families, width)
        The log-determinants of the parents, and of the parents and the child, after the
        column at this place has become a parent or ceased to be one. At the child's own
        place they are those of the family as it is.
    inverse : ndarray of shape (n_families, k, k)
        The inverse of each family's triangular factor, continued by the unit matrix.
    """

    of_parents: Floats
    of_family: Floats
    inverse: Floats


def families_first(is_parent: Booleans, others: Floats | None = None) -> Integers:
    """Return, for each column, its parents, itself, and the others, shape (m, m).

    Parameters
    ----------
    is_parent : ndarray of shape (m, m), bool
        Row x has column x's parents.
    others : ndarray of shape (m, m), optional
        Positive numbers by which the other columns of each row are ordered; by default
        they keep the table's order.
    """
    rank = np.where(is_parent, -1.0, 1.0 if others is None else others)
    np.fill_diagonal(rank, 0.0)
    return np.argsort(rank, axis=1, kind="stable")


def stacked_factors(factor: Floats, orders: Integers) -> Floats:
    """Return the triangular factors of several choices of a factor's columns.

    Parameters
    ----------
    factor : ndarray of shape (m, m)
    orders : ndarray of shape (n, width), int
        The columns of each choice, none of them twice.

    Returns
    -------
    factors : ndarray of shape (n, width, width)
    """
    return np.asarray(np.linalg.qr(factor[:, orders].transpose(1, 0, 2), mode="r"))


def first_block(factors: Floats, n: Integers) -> Floats:
    """Return the first n rows and columns of each factor, continued by the unit matrix."""
    k = int(n.max())
    is_first = np.arange(k) < n[:, np.newaxis]
    both = is_first[:, :, np.newaxis] & is_first[:, np.newaxis, :]
    return np.where(both, factors[:, :k, :k], np.eye(k))


def family_log_determinants(factors: Floats, n_parents: Integers) -> tuple[Floats, Floats]:
    """Return the log-determinants of each family's parents, and of all its columns, shape (n,).

    Parameters
    ----------
    factors : ndarray of shape (n, width, width)
        Their columns are a child's parents, the child, and others, in this order.
    n_parents : ndarray of shape (n,), int
    """
    each = np.arange(len(factors))
    with np.errstate(divide="ignore"):  # outside the families, columns may be dependent
        log_det = np.cumsum(np.log(np.diagonal(factors, axis1=1, axis2=2) ** 2), axis=1)
    return np.where(n_parents > 0, log_det[each, n_parents - 1], 0.0), log_det[each, n_parents]


def neighbours(factors: Floats, n_parents: Integers) -> Neighbours:
    """Return the families that differ from those of these factors by one parent.

    Parameters
    ----------
    factors : ndarray of shape (n, width, width)
        Their columns are a child's parents, the child, and others, in this order.
    n_parents : ndarray of shape (n,), int
        How many of the columns are parents.
    """
    each = np.arange(len(factors))
    own_of_parents, own_of_family = family_log_determinants(factors, n_parents)
    with np.errstate(divide="ignore"):  # outside the families, columns may be dependent
        # Another parent adds what the parents, without and with the child, leave of it.
        left = np.cumsum(factors[:, ::-1] ** 2, axis=1)[:, ::-1]
        of_parents = own_of_parents[:, np.newaxis] + np.log(left[each, n_parents])
        left_by_child = left[each, np.minimum(n_parents + 1, left.shape[1] - 1)]
        of_family = own_of_family[:, np.newaxis] + np.log(left_by_child)
    # Removing a parent takes away its residual on the others: one over the norm of its row of the
    # inverse.
    inverse = np.asarray(np.linalg.inv(first_block(factors, n_parents + 1)), dtype=np.float64)
    squares = np.cumsum(inverse**2, axis=2)
    row, parent = np.nonzero(np.arange(inverse.shape[1]) < n_parents[:, np.newaxis])
    n = n_parents[row]
    of_parents[row, parent] = own_of_parents[row] + np.log(squares[row, parent, n - 1])
    of_family[row, parent] = own_of_family[row] + np.log(squares[row, parent, n])
    of_parents[each, n_parents], of_family[each, n_parents] = own_of_parents, own_of_family
    return Neighbours(of_parents, of_family, inverse)
