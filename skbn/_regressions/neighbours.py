"""The families of a network, and those one parent away, by reflections alone.

Nothing here is shared with the walk through all subsets: each child has a triangular
factor of its own, of its parents, itself, and other columns, in this order. All that is
asked of it are sums of squares, so that no digits cancel.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = [
    "Neighbours",
    "families_first",
    "family_log_determinants",
    "first_block",
    "neighbours",
    "stacked_factors",
]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]


class Neighbours(NamedTuple):
    """Some families, and those with one parent more or fewer.

    Parameters
    ----------
    without, within : ndarray of shape (n_families, width)
        The log-determinants of the parents, and of them and the child, after the column at
        this place has become a parent or ceased to be one; at the child's own place, as
        they are.
    inverse : ndarray of shape (n_families, k, k)
        Of the triangular factor of each family; beyond it, the unit matrix.
    """

    without: Floats
    within: Floats
    inverse: Floats


def families_first(is_parent: Booleans, others: Floats | None = None) -> Integers:
    """Return, for each column, its parents, itself, and the others, shape (m, m).

    Parameters
    ----------
    is_parent : ndarray of shape (m, m), bool
        Row x has column x's parents.
    others : ndarray of shape (m, m), optional
        Positive; the others of each column come in this order, by default in their own.
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
        The numbers of the columns of each, of which none comes twice.

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
    """Return those of each family's parents, and of them and the child, shape (n,).

    Parameters
    ----------
    factors : ndarray of shape (n, width, width)
        Of a child's parents, the child, and other columns, in this order.
    n_parents : ndarray of shape (n,), int
    """
    each = np.arange(len(factors))
    with np.errstate(divide="ignore"):  # outside the families, columns may be dependent
        log_det = np.cumsum(np.log(np.diagonal(factors, axis1=1, axis2=2) ** 2), axis=1)
    return np.where(n_parents > 0, log_det[each, n_parents - 1], 0.0), log_det[each, n_parents]


def neighbours(factors: Floats, n_parents: Integers) -> Neighbours:
    """Return the families one parent away from those of these factors.

    Parameters
    ----------
    factors : ndarray of shape (n, width, width)
        Of a child's parents, the child, and other columns, in this order.
    n_parents : ndarray of shape (n,), int
        How many of the columns are parents.
    """
    each = np.arange(len(factors))
    own_without, own_within = family_log_determinants(factors, n_parents)
    with np.errstate(divide="ignore"):  # outside the families, columns may be dependent
        # Another parent adds what the parents, without and with the child, leave of it.
        left = np.cumsum(factors[:, ::-1] ** 2, axis=1)[:, ::-1]
        without = own_without[:, np.newaxis] + np.log(left[each, n_parents])
        left_by_child = left[each, np.minimum(n_parents + 1, left.shape[1] - 1)]
        within = own_within[:, np.newaxis] + np.log(left_by_child)
    # A parent takes with it what the other columns leave: one over its row of the inverse.
    inverse = np.asarray(np.linalg.inv(first_block(factors, n_parents + 1)), dtype=np.float64)
    squares = np.cumsum(inverse**2, axis=2)
    row, parent = np.nonzero(np.arange(inverse.shape[1]) < n_parents[:, np.newaxis])
    n = n_parents[row]
    without[row, parent] = own_without[row] + np.log(squares[row, parent, n - 1])
    within[row, parent] = own_within[row] + np.log(squares[row, parent, n])
    without[each, n_parents], within[each, n_parents] = own_without, own_within
    return Neighbours(without, within, inverse)
