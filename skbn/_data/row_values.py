"""Values that users give for the rows of a table: weights, masks, any Series with its labels."""

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from skbn._core.arrays import Floats, Integers
from skbn._core.columns import is_series
from skbn._core.text import readable_value, warn
from skbn._data.containers import frame_labels, missing_in, row_labels
from skbn.exceptions import SampleWeightWarning

# A sum of weights beyond these, or what is computed from it, may leave float64's range.
_SMALLEST_SUM, _LARGEST_SUM = 1e-300, 1e300
# Weights that were scaled to sum to the rows, perhaps as float32, may be off by this share.
_ROUNDING = 1e-5
# Whole weights that sum to more than this times the rows are not always counts.
_MOST_TIMES = 10


def is_mask(values: Any) -> bool:
    """Whether this is an array or a Series of truth values."""
    return getattr(getattr(values, "dtype", None), "kind", None) == "b"


def in_order_of_rows(values: Any, labels: Any, n_rows: int, parameter: str) -> Any:
    """Return the values of a Series in the order of a table's rows, and other values unchanged.

    If the rows have no labels (pandas.Index, ndarray or None), a Series is taken in its own order,
    as scikit-learn does: a pipeline passes arrays on along with the Series that it was given.
    """
    if not is_series(values):
        return values
    if labels is None:
        own, numbers = values.index.tolist(), list(range(n_rows))
        if own != numbers and set(own) == set(numbers):
            raise ValueError(
                f"The rows of X have no labels, and those of {parameter} number them in another "
                "order. Call sort_index() on the Series if its labels are right, or to_numpy() if "
                "its values are in the order of the rows."
            )
        return values
    if isinstance(labels, np.ndarray):
        labels = type(values)(0, index=labels).index
    return values if values.index.equals(labels) else _matched(values, labels, parameter)


def _matched(values: Any, labels: Any, parameter: str) -> Any:
    """Return a Series in the order of these labels, or raise if its own are others."""
    index = values.index
    remedy = "If the values are in the order of the rows, call to_numpy() on the Series."
    for some in (index, labels):
        if not some.is_unique:
            twice = some[some.duplicated()].tolist()[0]
            raise ValueError(
                f"The values of {parameter} cannot be matched to the rows of X, because the "
                f"label {twice!r} comes more than once. {remedy}"
            )
    positions = index.get_indexer(labels)
    if (positions < 0).any():
        label = labels[positions < 0].tolist()[0]
        raise ValueError(
            f"{parameter} has no value for the row of X labelled {label!r}. Give one for each row. "
            f"{remedy}"
        )
    if len(index) > len(labels):
        extra = index[~index.isin(labels)].tolist()[0]
        raise ValueError(
            f"{parameter} has a value labelled {extra!r}, but X has no such row. Leave it out: "
            "if X is a data frame, .loc[X.index] does that."
        )
    return values.iloc[positions]


def read_sample_weight(sample_weight: Any, n_rows: int) -> Floats:
    """Return a user's weights as a read-only array of their own.

    `sample_weight`: array-like of shape (n_rows,)

    Returns `weight`: (n_rows,).
    """
    given = _as_array(sample_weight, "sample_weight")
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
    if weight.any():
        with np.errstate(over="ignore"):
            check_total_weight(float(weight.sum()))
    weight.setflags(write=False)
    return weight


def read_row_groups(groups: Any, labels: Any, n_rows: int, name: str) -> tuple[Integers, list[Any]]:
    """Return the number of the group of each row, and the groups in order of their first rows.

    `groups`: array-like of shape (n_rows,), data frame, pandas.MultiIndex or array of k columns; a
        hashable for each row. Those of a Series go to the rows of the same labels. Of several
        columns or levels, each combination is a group, named by a tuple.

    >>> numbers, groups = read_row_groups(["b", "a", "b"], None, 3, "groups")
    >>> numbers.tolist(), groups
    ([0, 1, 0], ['b', 'a'])
    """
    if isinstance(groups, str | bytes):
        raise TypeError(
            f"{name} must have a value for each row of X; got {readable_value(groups)}. If "
            f"this is a column, pass its values, as by {name}=X[{groups!r}]."
        )
    if (columns := _label_columns(groups)) is not None:
        read = [read_row_groups(column, labels, n_rows, name) for column in columns]
        of_rows = zip(*([own[i] for i in each.tolist()] for each, own in read), strict=True)
        return read[0] if len(read) == 1 else read_row_groups([*of_rows], None, n_rows, name)
    in_order = in_order_of_rows(groups, labels, n_rows, name)
    if isinstance(in_order, list | tuple):  # beside texts, numpy makes texts of NaN and numbers
        in_order = np.array([None, *in_order], dtype=object)[1:]
    given = _as_array(in_order, name)
    if given.shape != (n_rows,):
        are_names = given.ndim == 1 and all(isinstance(each, str) for each in given.tolist())
        hint = f" If these are columns, pass their values, as by {name}=X[[...]]." * are_names
        raise ValueError(
            f"{name} must have a value for each of the {n_rows} rows of X; got an array of "
            f"shape {given.shape}.{hint}"
        )
    number_of: dict[Any, int] = {}
    numbers = np.empty(n_rows, dtype=np.int64)
    missing = missing_in(in_order, given)
    for row, (is_hole, group) in enumerate(zip(missing, given.tolist(), strict=True)):
        if is_hole:
            raise ValueError(
                f"{name} has a missing value for row {row}. Give each row a value, or leave "
                "that row out of X."
            )
        try:
            numbers[row] = number_of.setdefault(group, len(number_of))
        except TypeError:
            raise TypeError(
                f"{name} must hold texts, numbers or other hashable values; got "
                f"{readable_value(group)} for row {row}."
            ) from None
    return numbers, list(number_of)


class JointLabels(list[Any]):
    """Columns of labels, of which each row has one of each."""


def names_in(given: Any, X: Any) -> list[str]:
    """Return the names of a frame's columns or levels that are given, if they are no labels."""
    if isinstance(given, str):
        return [given]
    known = {*(frame_labels(X) or []), *getattr(row_labels(X), "names", ())}
    if not isinstance(given, list | tuple) or len(given) >= len(X):
        return []
    return [*given] if all(isinstance(name, str) and name in known for name in given) else []


def without_named(X: Any, labels: list[str], given: Any, parameter: str) -> tuple[Any, Any]:
    """Return a frame without the columns that a parameter names, and their values or levels.

    Without names the frame and what is given are returned as they are.
    """
    names = names_in(given, X)
    if not names:
        return X, given
    found = JointLabels(_column_or_level(X, labels, name, parameter) for name in names)
    rest = [label for label in labels if label not in names]
    if len(rest) < len(labels):
        X = X.select(rest) if hasattr(X, "select") else X[rest]
    return X, found if len(found) > 1 else found[0]


def _column_or_level(X: Any, labels: list[str], name: str, parameter: str) -> Any:
    """Return a frame's column, or level of its index, of a name."""
    index = row_labels(X)
    levels = [] if index is None else list(index.names)
    if (name in labels) + levels.count(name) > 1:
        raise ValueError(
            f"{parameter}={name!r} is the name of a column of X and of a level of its index, or of "
            f"two levels. Leave one out, for example by X.drop(columns={name!r})."
        )
    if name in levels:
        return index.get_level_values(name)
    if name not in labels:
        raise ValueError(
            f"{parameter}={name!r} is neither a column of X, {readable_value(labels)}, nor a level "
            f"of a pandas index; its levels are {readable_value(levels)}. Name one of these, or "
            "pass a value for each row."
        )
    return X[name]


def _label_columns(groups: Any) -> list[Any] | None:
    """Return the columns or levels that labels of rows consist of; None for single labels."""
    if isinstance(groups, JointLabels):
        return groups
    if hasattr(groups, "get_level_values") and groups.nlevels > 1:
        return [groups.get_level_values(level) for level in range(groups.nlevels)]
    if (names := frame_labels(groups)) is not None:
        return [groups[name] for name in names]
    is_table = isinstance(groups, np.ndarray) and groups.ndim == 2 and groups.shape[1] > 1
    return [*groups.T] if is_table else None


def warn_unless_counts(weight: Floats, n_rows: int) -> None:
    """Warn if weights can hardly be how often each row counts.

    `weight`: the weights of all rows, or their sum
    `n_rows`: rows of weight 0 included
    """
    total = float(weight.sum())
    is_whole = bool((np.abs(weight - np.rint(weight)) <= _ROUNDING * weight).all())
    if total <= n_rows * (_MOST_TIMES if is_whole else 1 + _ROUNDING):
        return
    kind = "" if is_whole else ", and not all are whole numbers"
    counts = " If they count the rows of an aggregated table, ignore this warning." * is_whole
    warn(
        f"sample_weight sums to {total:.6g} over {n_rows} rows of X{kind}. A weight says how often "
        "its row counts: edges and probabilities are as certain as in a table of that many rows. "
        "Scale survey weights or inverse-probability weights to sum to the number of rows: pass "
        f"sample_weight * len(X) / sample_weight.sum().{counts}",
        SampleWeightWarning,
    )


def no_weight() -> ValueError:
    """Return the error for rows that do not count."""
    return ValueError("sample_weight is zero for all rows; give some rows a positive weight.")


def check_total_weight(total: float) -> None:
    """Raise a ValueError if the sum of positive weights is out of range."""
    if not _SMALLEST_SUM <= total <= _LARGEST_SUM:
        raise ValueError(
            f"The sum of sample_weight is {total:g}; it must be from {_SMALLEST_SUM:g} to "
            f"{_LARGEST_SUM:g}. Multiply or divide all weights."
        )


def _as_array(values: Any, parameter: str) -> npt.NDArray[Any]:
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(f"{parameter} is a masked array, whose mask would be lost. Fill it.")
    if isinstance(values, Mapping):
        raise TypeError(f"{parameter} is a dict. Pass pandas.Series({parameter}).")
    try:
        return np.asarray(values)
    except ValueError:  # lists of different lengths
        return np.empty((0, 0))
