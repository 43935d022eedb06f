"""Checks of the numbers that a criterion returns, and what its tables imply."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from skbn._core.columns import by_label, is_labelled
from skbn._core.text import first_few, readable_value
from skbn._data.statistics import Prior
from skbn._regressions.local_score import SCORE_ACCURACY

__all__ = [
    "LARGEST_PENALTY",
    "check_noise_divisors",
    "check_numbers",
    "check_prior",
    "check_prior_mean",
    "check_tables",
    "is_scale_free",
    "is_score_equivalent",
    "largest_constant",
    "read_penalty",
    "same_criterion",
]


# A numpy number, so that a float32 can be compared with it without a warning.
LARGEST_PENALTY = np.float64(1e100)
# Sums of larger scores might be infinite. The largest penalty times the largest gamma of
# `EBIC` remains below it.
_LARGEST = 1e250
# If c is below its largest entry by this share of its magnitude, its rounding does not matter:
# no likelihood makes up for the difference.
_FAR_BELOW = 1 / 16
# The rounding of a log-determinant, about 1e-14, times its weight in a score must stay small.
_LARGEST_WEIGHT = 1e9
# The square of a larger mean is out of float64's range, or nearly.
_LARGEST_MEAN = 1e150


def read_penalty(penalty: Any) -> float:
    """Return a penalty as a number.

    Raises
    ------
    ValueError
        If it is no finite number, or negative.
    """
    is_number = isinstance(penalty, Real) and not isinstance(penalty, bool | np.bool_)
    if not (is_number and 0 <= penalty <= LARGEST_PENALTY):
        raise ValueError(
            f"A penalty must be a number from 0 to {LARGEST_PENALTY:g}; got "
            f"{readable_value(penalty)}."
        )
    return float(penalty)


# What a criterion's methods return


def check_numbers(values: Any, shape: tuple[int, ...], what: str) -> npt.NDArray[np.float64]:
    """Return a copy of an array of real numbers of this shape."""
    _reject_labels(values, what)
    try:
        array = np.array(values)
    except ValueError:  # rows of different lengths
        array = np.array(None)
    if array.dtype.kind not in "biuf" or array.shape != shape:
        raise ValueError(
            f"{what} must be an array of numbers of shape {shape}; got {readable_value(values)}."
        )
    return array.astype(np.float64)


def check_noise_divisors(
    divisors: Any, name: str, n_samples: float, m: int
) -> npt.NDArray[np.float64]:
    """Return what the criterion of this name divides by for 0, ..., m - 1 parents."""
    what = f"{name}.noise_divisors({n_samples:.10g}, {m})"
    divisors = check_numbers(divisors, (m,), what)
    if np.isnan(divisors).any():
        raise ValueError(f"{what} must not be NaN; got {readable_value(divisors.tolist())}.")
    return divisors


def check_prior_mean(nu: Any, m: int) -> npt.NDArray[np.float64]:
    """Return the prior means of m columns, as `BGe` has them in `nu`."""
    means = np.asarray(nu)
    is_real = means.dtype.kind in "biuf"
    if not is_real or means.shape != (m,) or not (np.abs(means) <= _LARGEST_MEAN).all():
        raise ValueError(
            f"nu must hold a finite prior mean for each of the {m} columns, of at most "
            f"{_LARGEST_MEAN:g} in magnitude; got {readable_value(means)}."
        )
    return means.astype(np.float64)


def check_prior(prior: Any, what: str, m: int) -> Prior | None:
    """Return a criterion's prior for m columns with arrays of its own.

    Raises
    ------
    TypeError
        If it is no `Prior`.
    ValueError
        If its arrays do not hold finite numbers for the columns.
    """
    if prior is None:
        return None
    if not isinstance(prior, Prior):
        raise TypeError(f"{what} must return a Prior or None; got {readable_value(prior)}.")
    rows = check_numbers(prior.rows, (len(prior.rows), m), f"{what}: the rows")
    mean = check_numbers(prior.mean, (m,), f"{what}: the mean")
    if not np.isfinite(rows).all() or not np.isfinite(mean).all():
        raise ValueError(f"{what} must be finite; got {readable_value(prior)}.")
    return Prior(rows, mean)


def check_tables(
    tables: Any, name: str, n_samples: float, m: int, max_parents: int
) -> npt.NDArray[np.float64]:
    """Return the tables of the criterion of this name with -inf in c beyond `max_parents`.

    Raises
    ------
    ValueError
        If they have another shape or hold NaN; if float64 cannot tell families apart to
        `SCORE_ACCURACY`.
    """
    what = f"{name}.tables({n_samples:.10g}, {m})"
    tables = check_numbers(tables, (3, m), what)
    tables[0, max_parents + 1 :] = -np.inf
    largest_weight = np.abs(tables[1:]).max()
    if _LARGEST_WEIGHT < largest_weight < np.inf:
        raise ValueError(
            f"With n_samples = {n_samples:g}, the number of rows or the sum of their weights, "
            f"{name} weighs log-determinants by up to {largest_weight:g}, and with more than "
            f"{_LARGEST_WEIGHT:g} scores are known to too few digits; pass smaller weights, such "
            "as sample_weight / sample_weight.mean(), lower the criterion's parameters, or give "
            "fewer rows."
        )
    if np.isnan(tables).any() or (tables[0] > _LARGEST).any() or np.isinf(largest_weight):
        raise ValueError(
            f"{what} must be finite, except for -inf in its first row; got "
            f"{readable_value(tables.tolist())}."
        )
    tables[0, tables[0] < -_LARGEST] = -np.inf
    _check_differences(tables, what)
    return tables


def _check_differences(tables: npt.NDArray[np.float64], what: str) -> None:
    """Raise if the rounding of c's entries hides differences between them that may matter."""
    largest = largest_constant(tables)
    differences = largest - tables[0]
    magnitude = np.maximum(np.abs(tables[0]), abs(largest))
    # Each of two entries has a rounding of its own and one from the product with the penalty.
    error = 2 * np.finfo(np.float64).eps * magnitude
    is_uncertain = (error > SCORE_ACCURACY) & (differences < _FAR_BELOW * magnitude)
    is_uncertain[np.argmax(tables[0])] = False  # the entry that the others are compared with
    if is_uncertain.any():
        n_parents = int(np.argmax(is_uncertain))
        raise ValueError(
            f"{what} has {tables[0, n_parents]:g} in its first row for {n_parents} parents, where "
            f"float64 cannot tell scores apart to {SCORE_ACCURACY} nats. Leave out a constant that "
            "families of all sizes share, or lower the penalty; -inf rules out a number of parents."
        )


def _reject_labels(values: Any, what: str) -> None:
    """Raise if values whose order alone counts have labels other than 0, 1, ..."""
    for axis in getattr(values, "axes", []):
        labels = list(axis)
        if labels != list(range(len(labels))):
            raise ValueError(
                f"{what} must come without labels, because its values are taken in their order; "
                f"got the labels [{first_few(labels)}]. Bring them into that order and return an "
                "array, for example by to_numpy()."
            )


# What tables imply


def largest_constant(tables: npt.NDArray[np.float64]) -> float:
    """Return the largest entry of c in a criterion's tables, 0 if all are -inf."""
    largest = float(tables[0].max())
    return largest if largest > -np.inf else 0.0


def is_scale_free(tables: npt.NDArray[np.float64]) -> bool:
    """Whether a column's unit adds a constant to all its local scores, whatever its parents."""
    return bool((tables[1] == -tables[2, 0]).all() and (tables[2] == tables[2, 0]).all())


def is_score_equivalent(tables: npt.NDArray[np.float64]) -> bool:
    """Whether networks that imply the same independences have the same score.

    Reversing an edge between columns with the same other parents exchanges their numbers
    of parents, so that c cancels; what remains is the set of these parents and one column.
    """
    return bool((tables[2, :-1] == -tables[1, 1:]).all())


# Comparison


def same_criterion(a: BaseEstimator, b: BaseEstimator) -> bool:
    """Whether two criteria are of one class and have the same parameters."""
    return type(a) is type(b) and all(
        _same_parameter(value, getattr(b, name)) for name, value in a.get_params(deep=False).items()
    )


def _same_parameter(a: Any, b: Any) -> bool:
    if isinstance(a, BaseEstimator) and isinstance(b, BaseEstimator):
        return same_criterion(a, b)
    if is_labelled(a) or is_labelled(b):
        if not (is_labelled(a) and is_labelled(b)):
            return False
        a, b = (by_label(values, "A criterion's parameter", "label") for values in (a, b))
        return a.keys() == b.keys() and all(_same_parameter(a[label], b[label]) for label in a)
    return a is b or bool(np.array_equal(a, b))
