"""The triangular factor that every walk starts from, and equations with it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.linalg import lapack

__all__ = ["solve_triangular", "triangular_factor"]


def triangular_factor(columns: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return R of the QR decomposition of n columns by Householder reflections.

    Its shape is n x n, or k x n for k rows if these are fewer. The covariance
    ``columns.T @ columns`` is never formed: it would lose half the digits.
    """
    return np.asarray(np.linalg.qr(columns, mode="r"))


def solve_triangular(
    factor: npt.NDArray[np.float64], right: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Solve ``factor @ x = right`` for x, an upper triangular factor without a zero diagonal.

    LAPACK without the checks around it, which take longer than some twenty columns do.
    """
    if right.size == 0:
        return np.zeros(right.shape)
    solution, _ = lapack.dtrtrs(factor, right)
    return np.asarray(solution)
