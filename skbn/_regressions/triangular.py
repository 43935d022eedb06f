"""Triangular factors of chosen columns, by LAPACK alone.

The walk through all subsets starts from such a factor.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.linalg import lapack

__all__ = [
    "solve_triangular",
    "stacked_factors",
    "triangular_factor",
]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


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
