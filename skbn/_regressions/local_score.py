"""The local score of a family: ``c[l] + a0[l] * L[P] + a1[l] * L[P + x]`` in nats.

A criterion is the three tables c, a0 and a1 over the number l of parents. L holds the
log-determinants of the parents P, and of P and the child x. `local_score_terms` has the formula
for numbers and arrays, and `local_score` for kernels.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from skbn._core.compile import inner_kernel

__all__ = [
    "SCORE_ACCURACY",
    "internal_error",
    "local_score",
    "local_score_terms",
    "score_tolerance",
]

# How far a score may be from the exact one, in nats. Columns whose scores could be further off are
# refused.
SCORE_ACCURACY = 1e-3
# What rounding may cost, in units of the largest term of a score: about 4,500 roundings.
_ROUNDING = 1e-12


def local_score_terms(
    tables: npt.NDArray[np.float64], n_parents: Any, of_parents: Any, of_family: Any
) -> tuple[Any, Any, Any]:
    """Return the three terms whose sum, from left to right, is the local score.

    Parameters
    ----------
    tables : ndarray of shape (3, m), float64
        c, a0 and a1 by the number of parents.
    n_parents : int or ndarray of int
    of_parents, of_family : float or ndarray
        The log-determinants L[P] and L[P + x].
    """
    c, a0, a1 = tables[:, n_parents]
    return c, a0 * of_parents, a1 * of_family


@inner_kernel
def local_score(tables, n_parents, of_parents, of_family):
    """Return the local score of one family."""
    return (
        tables[0, n_parents] + tables[1, n_parents] * of_parents + tables[2, n_parents] * of_family
    )


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
