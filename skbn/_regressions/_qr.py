"""The triangular factor that every walk starts from."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["triangular_factor"]


def triangular_factor(columns: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return R of the QR decomposition of n columns by Householder reflections, n x n.

    At least as many rows as columns are needed. The covariance ``columns.T @ columns``
    is never formed: it would lose half the digits.
    """
    return np.asarray(np.linalg.qr(columns, mode="r"))
