"""The values of a table's columns as numbers, and errors that name those that are none."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from skbn._core.text import first_few, shortened

__all__ = [
    "as_numpy",
    "check_finite",
    "check_integers",
    "floats_of_series",
    "floats_of_values",
]

# A value that is quoted in an error may be a list, or a whole table.
_LONGEST_VALUE = 60
# Integers up to here are float64s.
_LARGEST_EXACT = 1 << 53
# Types that float() would accept, or refuse with an unhelpful message.
_NOT_REAL = (
    *(str, bytes, bytearray, complex),
    *(np.ndarray, np.complexfloating, np.datetime64, np.timedelta64),
)


def as_numpy(values: Any, what: str, remedy: str) -> npt.NDArray[Any]:
    """Return values as numpy reads them, or raise an error that says what they are."""
    try:
        return np.asarray(values)
    except MemoryError:
        raise
    except Exception as error:  # every library raises errors of its own
        if isinstance(values, list | tuple) and isinstance(error, ValueError):
            raise ValueError("X must be a table; its rows are of different lengths.") from None
        text = shortened(str(error), 2 * _LONGEST_VALUE)
        raise TypeError(f"{what} cannot be read as numbers ({text}). {remedy}") from error


def floats_of_series(column: Any, name: Hashable, number: int) -> npt.NDArray[np.float64]:
    """Return a data frame's column as numbers, with NaN for missing values."""
    if str(getattr(column, "type", "")).startswith("dictionary"):
        raise ValueError(
            f"Column {name!r} is dictionary-encoded, as categories are. Leave it out, or, if they "
            f"are numbers, pass X.set_column({number}, {name!r}, X[{name!r}].cast('double'))."
        )
    values = as_numpy(column, f"Column {name!r}", "Cast it to float64 or leave it out.")
    floats = floats_of_values(values, name)
    # In pyarrow's extension types a null may look like a number.
    for method in ("isna", "is_null"):
        if hasattr(type(column), method):  # not the column, as a row may have that label
            floats[np.asarray(getattr(column, method)(), dtype=bool)] = np.nan
    return floats


def floats_of_values(values: npt.NDArray[Any], name: Hashable) -> npt.NDArray[np.float64]:
    """Return a column's values as a new array of numbers, with NaN for None."""
    if values.ndim != 1:
        raise TypeError(
            f"Column {name!r} holds several values in each row. Give each a column of its own, or "
            "leave it out."
        )
    if values.dtype.kind == "c":
        raise ValueError(
            f"Complex data not supported: column {name!r} is complex. Give its real and imaginary "
            "part a column each."
        )
    if values.dtype.kind in "biuf":
        check_integers(values[:, np.newaxis], [name])
        with np.errstate(over="ignore"):
            return values.astype(np.float64)
    return np.array([_float(value, name, row) for row, value in enumerate(values)], np.float64)


def _float(value: Any, name: Hashable, row: int) -> float:
    if value is None or type(value).__name__ == "NAType":  # pandas.NA
        return np.nan
    reason = ""
    kind: type[Exception] = ValueError
    if not isinstance(value, _NOT_REAL):
        try:
            number = float(value)
        except (ValueError, OverflowError) as error:
            reason = f" ({error})"
        except TypeError as error:
            reason, kind = f" ({error})", TypeError
        else:
            if isinstance(value, Integral) and int(number) != value:
                raise ValueError(_inexact(int(value), name, row))
            return number
    remedy = "Encode it as numbers or leave the column out."
    if isinstance(value, (complex, np.complexfloating)):
        remedy = "Give its real and imaginary part a column each."
    text = shortened(str(value), _LONGEST_VALUE)
    raise kind(
        f"Column {name!r} holds {text!r} in row {row}, which is not a number{reason}. {remedy}"
    )


def check_integers(values: npt.NDArray[Any], names: Sequence[Hashable]) -> None:
    """Raise if integers, of shape (n, k), would lose digits as float64."""
    if values.dtype.kind not in "iu" or values.dtype.itemsize < 8 or not values.size:
        return
    if values.max() <= _LARGEST_EXACT and values.min() >= -_LARGEST_EXACT:
        return
    for row, j in np.argwhere((values > _LARGEST_EXACT) | (values < -_LARGEST_EXACT)).tolist():
        value = int(values[row, j])
        if int(float(value)) != value:
            raise ValueError(_inexact(value, names[j], row))


def _inexact(value: int, name: Hashable, row: int) -> str:
    return (
        f"Column {name!r} holds {value} in row {row}, an integer that float64 would round. Leave "
        "the column out if it is an identifier; otherwise subtract a constant from it, or pass "
        "it as float64 if rounding does no harm."
    )


def check_finite(
    rows: npt.NDArray[np.float64],
    names: Sequence[Hashable],
    n_columns: int,
    may_miss: bool = False,
) -> None:
    """Raise if values are missing or infinite; the rows may be some of `n_columns` columns.

    With `may_miss`, values may be missing.
    """
    if np.isfinite(rows).all():
        return
    missing, infinite = np.isnan(rows), np.isinf(rows)
    if may_miss and not infinite.any():
        return
    where = "" if not infinite.any() else _places(infinite, names, n_columns)
    if not missing.any():
        raise ValueError(
            f"X has infinite values in {where}. Drop these rows or replace the values."
        )
    also = f" It has infinite values in {where}; drop or replace these first." if where else ""
    keep_names = '.set_output(transform="pandas")' if isinstance(names[0], str) else ""
    raise ValueError(
        f"X has missing values (NaN) in {_places(missing, names, n_columns)}.{also} Impute "
        f"the values, for example by sklearn.impute.IterativeImputer(){keep_names}, which needs "
        "`from sklearn.experimental import enable_iterative_imputer`; dropping the rows loses more."
    )


def _places(wrong: npt.NDArray[np.bool_], names: Sequence[Hashable], n_columns: int) -> str:
    n_rows, k = wrong.shape
    columns = np.flatnonzero(wrong.any(axis=0)).tolist()
    first = columns[0]
    read = f"its {k} columns" if k == n_columns else f"the {k} columns that are read"
    return (
        f"{len(columns)} of {read} ({first_few(names[j] for j in columns)}) and in "
        f"{wrong.any(axis=1).sum()} of its {n_rows} rows; the first is in column "
        f"{names[first]!r}, row {wrong[:, first].argmax()}"
    )
