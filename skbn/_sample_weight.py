"""Weights of rows: how often each counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_array

from skbn._scores._local_scores import LocalScores

__all__ = ["read_sample_weight", "weighted_mean", "weights_of"]

Floats = npt.NDArray[np.float64]


def read_sample_weight(
    sample_weight: Any, n_rows: int, *, allow_all_zero: bool = False
) -> Floats | None:
    """Return weights as an array of their own, or None if there are none.

    Parameters
    ----------
    sample_weight : array-like of shape (n_rows,), number or None
    n_rows : int
    allow_all_zero : bool, default=False

    Raises
    ------
    ValueError, TypeError
        Naming the row and its weight: if they are not `n_rows` finite numbers, not
        negative and not all zero unless this is allowed.
    """
    if sample_weight is None:
        return None
    if np.isscalar(sample_weight):
        sample_weight = [sample_weight] * n_rows
    try:
        weight = check_array(
            sample_weight, ensure_2d=False, dtype=np.float64, ensure_all_finite=False, copy=True
        )
    except (TypeError, ValueError) as error:
        raise type(error)(f"sample_weight must hold a number for each row: {error}") from None
    if weight.shape != (n_rows,):
        raise ValueError(
            f"sample_weight must have a weight for each of the {n_rows} rows; got an array of "
            f"shape {weight.shape}."
        )
    wrong = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))
    if len(wrong):
        raise ValueError(
            f"sample_weight must be finite and not negative, as a weight says how often its row "
            f"counts; got {weight[wrong[0]]:g} for row {wrong[0]}."
        )
    with np.errstate(over="ignore"):
        total = weight.sum()
    if not np.isfinite(total):
        raise ValueError("The sum of sample_weight is out of float64's range; divide all of them.")
    if not (allow_all_zero or weight.any()):
        raise ValueError("sample_weight is zero for all rows; give some of them a positive one.")
    weight.setflags(write=False)
    return weight


def weights_of(X: Any, n_rows: int, sample_weight: Any) -> Floats | None:
    """Return the weights of a table's rows, or those that LocalScores have.

    Raises
    ------
    ValueError, TypeError
        As `read_sample_weight`; if LocalScores have other weights already.
    """
    weight = read_sample_weight(sample_weight, n_rows)
    if isinstance(X, LocalScores):
        weight = (X if weight is None else X.with_sample_weight(weight)).sample.weight
    if weight is not None and not weight.any():
        raise ValueError("All rows have a sample_weight of zero; give some a positive one.")
    return weight


def weighted_mean(values: Floats, X: Any, sample_weight: Any) -> float:
    """Return the mean of a value for each row of X; errors are those of `weights_of`."""
    weight = weights_of(X, len(values), sample_weight)
    if weight is None:
        return float(values.mean())
    # Rows of no weight may have a log-likelihood of -inf.
    return float(np.average(values[weight > 0], weights=weight[weight > 0]))
