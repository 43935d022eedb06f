"""What the estimators accept: parameters, tables of finite numbers, LocalScores of one."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import validate_data

from skbn._scores._criteria import CRITERIA
from skbn._scores._criterion import Criterion
from skbn._scores._local_scores import LocalScores
from skbn._scores._parent_set_scores import ParentSetScores

__all__ = ["PARAMETER_CONSTRAINTS", "check_columns", "read_rows"]

PARAMETER_CONSTRAINTS: dict[str, list[Any]] = {
    "criterion": [StrOptions(set(CRITERIA)), Criterion],
    "penalty": [Interval(Real, 0, 1e100, closed="left")],
    "max_parents": [Interval(Integral, 0, None, closed="left"), None],
    "n_jobs": [
        Interval(Integral, 1, None, closed="left"),
        Interval(Integral, None, -1, closed="right"),
        None,
    ],
}
"""What the estimators accept for the parameters that they share."""


def read_rows(
    estimator: BaseEstimator, X: Any, *, reset: bool, min_samples: int = 1
) -> npt.NDArray[np.float64]:
    """Return a table's rows as an array of its own that nobody can change.

    Parameters
    ----------
    estimator : estimator
        Learns the columns' number and names if `reset`, else is held to them.
    X : array-like or data frame of shape (n, m)
    reset : bool
    min_samples : int

    Returns
    -------
    rows : ndarray of shape (n, m), float64

    Raises
    ------
    ValueError, TypeError
        Naming the column and the value: if a column does not hold numbers or not
        only finite ones, if a name is given twice, if the columns are not those
        of `fit`, if there are too few columns or rows.
    """
    _reject_other_containers(X)
    _reject_repeated_names(X)
    for name, values in _columns_of_other_types(X):
        _reject_non_numbers(name, values)
    rows = validate_data(
        estimator,
        X,
        reset=reset,
        dtype=np.float64,
        order="C",
        copy=True,
        ensure_all_finite=False,
        ensure_min_samples=min_samples,
        ensure_min_features=2 if reset else 1,
    )
    names = getattr(X, "columns", range(rows.shape[1]))
    for name, column in zip(names, rows.T, strict=True):
        _reject_non_finite(name, column)
    rows.setflags(write=False)
    return rows


def check_columns(
    estimator: BaseEstimator, scores: LocalScores | ParentSetScores, *, reset: bool
) -> None:
    """Do for scores what scikit-learn does for tables: learn or compare the columns.

    Raises
    ------
    ValueError
        If the columns are not those of `fit`, or if there is only one.
    """
    m = len(scores.columns)
    name = type(estimator).__name__
    names = getattr(scores, "feature_names_in_", None)
    if reset:
        if m < 2:
            kind = type(scores).__name__
            raise ValueError(f"{name} needs at least 2 columns; the {kind} have {m}.")
        estimator.n_features_in_ = m
        if names is not None:
            estimator.feature_names_in_ = names
        return
    if m != estimator.n_features_in_:
        raise ValueError(
            f"X has {m} features, but {name} is expecting {estimator.n_features_in_} features as "
            "input: give the columns of fit."
        )
    fitted = getattr(estimator, "feature_names_in_", None)
    if names is not None and fitted is not None and not np.array_equal(names, fitted):
        raise ValueError(
            f"The columns must be those of fit, in their order: {list(fitted)}; got {list(names)}."
        )


def _reject_other_containers(X: Any) -> None:
    if isinstance(X, LocalScores | ParentSetScores):
        kind = type(X).__name__
        raise TypeError(f"X are {kind} already; give them to a GaussianBNLearner.")
    if isinstance(X, np.ma.MaskedArray):
        raise TypeError("X is a masked array, whose mask would be lost; impute or drop rows.")
    if hasattr(X, "collect") and not hasattr(X, "to_numpy"):
        raise TypeError(f"X is a {type(X).__name__}, which holds no values yet; call X.collect().")


def _reject_repeated_names(X: Any) -> None:
    if hasattr(X, "columns"):
        names = list(X.columns)
        repeated = sorted({str(name) for name in names if names.count(name) > 1})
        if repeated:
            raise ValueError(
                f"Each column must have a name of its own; {repeated} are given more than once. "
                "Rename them."
            )


def _columns_of_other_types(X: Any) -> Iterator[tuple[Any, npt.NDArray[Any]]]:
    """Yield those columns of a table whose dtype is not a number's, with their names."""
    if hasattr(X, "columns"):
        for name in X.columns:
            values = np.asarray(X[name])
            if values.dtype.kind not in "biufc":
                yield name, values
    elif isinstance(X, (np.ndarray, list, tuple)):
        try:
            table = np.asarray(X, dtype=None if isinstance(X, np.ndarray) else object)
        except ValueError:  # rows of different lengths, of which validate_data speaks
            return
        if table.ndim == 2 and table.dtype.kind not in "biufc":
            yield from enumerate(table.T)


def _reject_non_numbers(name: Any, values: npt.NDArray[Any]) -> None:
    for row, value in enumerate(values):
        if value is None or type(value).__name__ == "NAType":  # missing, as NaN is
            continue
        refusal = f"Column {name!r} holds {str(value)!r} in row {row}, which is not a number"
        if isinstance(value, (str, bytes, np.datetime64, np.timedelta64)):
            raise ValueError(f"{refusal}. Encode it as numbers or leave the column out.")
        if isinstance(value, complex):  # of which validate_data speaks
            continue
        try:
            float(value)
        except (TypeError, ValueError, OverflowError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"{refusal} ({error}). Encode it or leave the column out.") from None


def _reject_non_finite(name: Any, column: npt.NDArray[np.float64]) -> None:
    bad = ~np.isfinite(column)
    if bad.any():
        row = int(np.argmax(bad))
        value = "NaN" if np.isnan(column[row]) else f"{column[row]}"
        raise ValueError(
            f"Column {name!r} contains {value} in row {row} ({int(bad.sum())} values are NaN or "
            "infinity). Impute or drop such rows."
        )
