"""Weights of rows, as users give them: how often each row counts."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["read_sample_weight"]

# Sums beyond these, and what is computed of them, may not be numbers.
_SMALLEST_SUM, _LARGEST_SUM = 1e-300, 1e300


def read_sample_weight(sample_weight: Any, n_rows: int) -> npt.NDArray[np.float64]:
    """Return weights as an array of their own that nobody can change.

    Parameters
    ----------
    sample_weight : array-like of shape (n_rows,)
    n_rows : int

    Returns
    -------
    weight : ndarray of shape (n_rows,), float64

    Raises
    ------
    ValueError, TypeError
        Naming the row and its weight: if they are not `n_rows` finite numbers, none
        negative; if their sum is out of range.
    """
    given = _as_array(sample_weight)
    if given.shape != (n_rows,):
        raise ValueError(
            f"sample_weight must have a weight for each of the {n_rows} rows; got an array of "
            f"shape {given.shape}."
        )
    if given.dtype.kind not in "biuf":
        for row, value in enumerate(given.tolist()):
            if not isinstance(value, Real):
                raise TypeError(
                    f"sample_weight must hold numbers; got {str(value)!r} for row {row}."
                )
    weight = np.empty(n_rows)
    try:
        with np.errstate(over="ignore"):
            weight[:] = given
    except OverflowError:
        raise ValueError("sample_weight has a number that is out of float64's range.") from None
    wrong = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))
    if len(wrong):
        raise ValueError(
            f"sample_weight must be finite and not negative, as a weight says how often its row "
            f"counts; got {weight[wrong[0]]:g} for row {wrong[0]}."
        )
    with np.errstate(over="ignore"):
        total = weight.sum()
    if weight.any() and not _SMALLEST_SUM <= total <= _LARGEST_SUM:
        raise ValueError(
            f"The sum of sample_weight is {total:g}; it must be from {_SMALLEST_SUM:g} to "
            f"{_LARGEST_SUM:g}. Multiply or divide all weights."
        )
    weight.setflags(write=False)
    return weight


def _as_array(sample_weight: Any) -> npt.NDArray[Any]:
    if isinstance(sample_weight, np.ma.MaskedArray):
        raise TypeError("sample_weight is a masked array, whose mask would be lost; fill it.")
    if isinstance(sample_weight, Mapping):
        raise TypeError("sample_weight is a dict; give pandas.Series(sample_weight).")
    try:
        return np.asarray(sample_weight)
    except ValueError:  # lists of different lengths
        return np.empty((0, 0))
