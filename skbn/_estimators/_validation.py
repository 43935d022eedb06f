"""What the estimators accept: parameters, tables of finite numbers, scores of families."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import validate_data

from skbn._scores._criteria import CRITERIA, as_criterion, same_criterion
from skbn._scores._criterion import LARGEST_PENALTY, Criterion
from skbn._scores._local_scores import LocalScores
from skbn._scores._parent_set_scores import ParentSetScores
from skbn._scores._sample import Sample
from skbn._table_checks import (
    columns_of_other_types,
    reject_lost_labels,
    reject_no_columns,
    reject_non_finite,
    reject_non_numbers,
    reject_other_containers,
    reject_repeated_names,
    reject_unread_names,
)

__all__ = [
    "PARAMETER_CONSTRAINTS",
    "check_columns",
    "check_settings",
    "make_scores",
    "most_parents",
    "read_rows",
]

PARAMETER_CONSTRAINTS: dict[str, list[Any]] = {
    "criterion": [StrOptions(set(CRITERIA)), Criterion],
    "penalty": [Interval(Real, 0, LARGEST_PENALTY, closed="left")],
    "max_parents": [Interval(Integral, 0, None, closed="left"), None],
    "n_jobs": [
        Interval(Integral, 1, None, closed="left"),
        Interval(Integral, None, -1, closed="right"),
        None,
    ],
}
"""What the estimators accept for the parameters that they share."""


def make_scores(
    estimator: BaseEstimator, sample: Sample, criterion: str | Criterion, penalty: float
) -> LocalScores:
    """Return the local scores of a sample of the columns that an estimator was fitted to."""
    return LocalScores(
        sample,
        as_criterion(criterion),
        getattr(estimator, "feature_names_in_", None),
        penalty=float(penalty),
        max_parents=estimator.max_parents,
        n_jobs=estimator.n_jobs,
    )


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
        only finite ones, if a name is given twice, if names are neither strings nor the
        columns' positions, if scikit-learn cannot read them, if the columns are not those
        of `fit`, if there are too few columns or rows.
    """
    reject_other_containers(X)
    reject_no_columns(X)
    reject_repeated_names(X)
    reject_lost_labels(X)
    for name, values in columns_of_other_types(X):
        reject_non_numbers(name, values)
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
        reject_non_finite(name, column)
    fitted = getattr(estimator, "feature_names_in_", None)
    if reset or fitted is not None:
        reject_unread_names(X, fitted)
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


def check_settings(
    scores: LocalScores | ParentSetScores,
    *,
    criterion: str | Criterion | None,
    penalty: float | None,
) -> None:
    """Hold the criterion and the penalty that a learner asks for against those of scores.

    Raises
    ------
    ValueError
        If they were made with others.
    """
    made = getattr(scores, "criterion", None)
    made_penalty = getattr(scores, "penalty", None)
    same_penalty = penalty in (None, made_penalty)
    same = criterion is None or (made is not None and same_criterion(as_criterion(criterion), made))
    if same and same_penalty:
        return
    parameter, asked, has = (
        ("penalty", penalty, made_penalty) if same else ("criterion", criterion, made)
    )
    raise ValueError(
        f"{parameter}={asked!r} was asked for, but the {type(scores).__name__} were made with "
        f"{parameter}={has!r}. Set it where they are made, and leave the learner's {parameter} "
        "at None."
    )


def most_parents(learner: BaseEstimator, scores: LocalScores | ParentSetScores) -> int:
    """Return the largest number of parents that a learner and its scores allow.

    Raises
    ------
    ValueError
        If the learner asks for more than the scores were made with.
    """
    made_with = getattr(scores, "max_parents", None)
    most = len(scores.columns) - 1
    if learner.max_parents is None:
        return most if made_with is None else min(made_with, most)
    if made_with is not None and learner.max_parents > made_with:
        raise ValueError(
            f"max_parents={learner.max_parents} was asked for, but the LocalScores were made with "
            f"max_parents={made_with}. Make them with more, or leave the learner's max_parents "
            "at None."
        )
    return min(learner.max_parents, most)
