"""How far scores may be off, and the error for results that are further off than that."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["SCORE_ACCURACY", "internal_error", "score_tolerance"]

# How far a score may be from the exact one, in nats. Columns whose scores could be further off are
# refused.
SCORE_ACCURACY = 1e-3
# What rounding may cost, in units of the largest term of a score: about 4,500 roundings.
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


def internal_error(what: str) -> RuntimeError:
    """Return the error for a result that is wrong although the input was right.

    Examples
    --------
    >>> raise internal_error("2 + 2 is 5")
    Traceback (most recent call last):
    RuntimeError: 2 + 2 is 5; this is a defect of the library or of the machine, please report it
    """
    return RuntimeError(
        f"{what}; this is a defect of the library or of the machine, please report it"
    )
