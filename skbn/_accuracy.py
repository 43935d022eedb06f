"""How far scores may be off: the limit by which tables are refused, and results compared."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["SCORE_ACCURACY", "score_tolerance"]

# How far a score may be from the exact one, in nats; else the columns are refused.
SCORE_ACCURACY = 1e-3
# What may be lost in rounding, in units of the largest term that enters a score.
_ROUNDING = 1e-12


def score_tolerance(magnitude: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return by how many nats two ways to compute one score may differ.

    Parameters
    ----------
    magnitude : float or ndarray
        Of the largest term that enters each score.
    """
    return SCORE_ACCURACY + _ROUNDING * np.asarray(magnitude, dtype=np.float64)
