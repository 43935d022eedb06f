"""How far scores may be off: the limit by which tables are refused, and results compared."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["SCORE_ACCURACY", "score_tolerance"]

# How far a score may be from the exact one, in nats. Columns that would exceed it are refused.
SCORE_ACCURACY = 1e-3
# What may be lost in rounding, in units of the largest term that enters a score.
_ROUNDING = 1e-12


def score_tolerance(magnitude: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return by how many nats a score may differ between two ways to compute it.

    Parameters
    ----------
    magnitude : float or ndarray
        The largest magnitude of a term of each score.

    Returns
    -------
    tolerance : ndarray of the same shape, in nats
    """
    return SCORE_ACCURACY + _ROUNDING * np.asarray(magnitude, dtype=np.float64)
