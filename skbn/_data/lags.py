"""Lagged copies of a table's columns, beside the columns, in the table's own container."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from skbn._core.arrays import Floats, Integers

# Fewer rows of a series do not tell a random walk from a column that returns slowly to its mean.
_FEWEST_ROWS = 50
# Columns whose own lag is less are not called random walks, whatever the test says.
_LEAST_OWN_LAG = 0.95
# Columns of fewer values are codes.
_FEWEST_VALUES = 5
# MacKinnon (2010): the 5 % critical value of the test with a constant, by powers of 1 / n.
_CRITICAL = -2.86154, -2.8903, -4.234, -40.04


def rows_of_lags(series: Integers, n_lags: int) -> Integers:
    """Return which row stands for each lag of the rows that have all their lags.

    Parameters
    ----------
    series : ndarray of shape (n,), int64
        The number of the series of each row.
    n_lags : int

    Returns
    -------
    rows : ndarray of shape (n_lags + 1, k), int64
        ``rows[0]`` are the rows with at least `n_lags` earlier rows of their series, in their
        order, and ``rows[lag]`` those that many steps before them.

    Examples
    --------
    >>> rows_of_lags(np.array([0, 1, 0, 0, 1]), 1)
    array([[2, 3, 4],
           [0, 2, 1]])
    """
    by_series = np.argsort(series, kind="stable")
    ends = np.arange(n_lags, len(series))
    ends = ends[series[by_series[ends]] == series[by_series[ends - n_lags]]]
    rows = by_series[ends - np.arange(n_lags + 1)[:, np.newaxis]]
    return rows[:, np.argsort(rows[0])]


def beside_lags(values: Any, rows: Integers, names: Sequence[Sequence[str]] | None) -> Any:
    """Return columns and their lagged copies, lag by lag from 0 on.

    Parameters
    ----------
    values : ndarray, or a data frame of pandas, polars or pyarrow
    rows : ndarray of shape (n_lags + 1, k)
        As from `rows_of_lags`.
    names : sequence of sequences of str, or None
        What to call the columns of each lag; None for an array.

    Returns
    -------
    table : as values, of shape (k, (n_lags + 1) * m)
        With the row labels of lag 0.

    Raises
    ------
    TypeError
        If it is another data frame.
    """
    if names is None:
        return np.hstack([values[each] for each in rows])
    if hasattr(values, "iloc"):
        import pandas as pd

        index = values.index[rows[0]]
        lags = [
            values.iloc[each].set_axis(own, axis="columns").set_axis(index, axis="index")
            for each, own in zip(rows, names, strict=True)
        ]
        return pd.concat(lags, axis="columns")
    if hasattr(values, "hstack"):  # polars
        table = values[rows[0]]
        for each, own in zip(rows[1:], names[1:], strict=True):
            lag = values[each].rename(dict(zip(names[0], own, strict=True)))
            table = table.hstack(lag.get_columns())
        return table
    if hasattr(values, "append_column"):  # pyarrow
        table = values.take(rows[0])
        for each, own in zip(rows[1:], names[1:], strict=True):
            for number, name in enumerate(own):
                table = table.append_column(name, values.column(number).take(each))
        return table
    raise TypeError(
        f"X is a {type(values).__name__}. Pass a data frame of pandas or polars, a pyarrow.Table "
        "or an array."
    )


def column_values(values: Any, name: Any) -> Floats | None:
    """Return a column of numbers as floats, NaN where they are missing; None for another."""
    column = values[:, name] if isinstance(values, np.ndarray) else values[name]
    try:
        array = np.asarray(column)
        return array.astype(np.float64) if array.dtype.kind in "iuf" else None
    except (TypeError, ValueError):
        return None


def has_unit_root(column: Floats | None, numbers: Integers, parts: Integers) -> bool:
    """Whether a Dickey-Fuller test takes a column for a random walk, in most of its series.

    The regression is that of the changes on the last value, the last change and a constant, in
    each series of 50 rows or more; not in all together, where means that differ would bias it.

    Parameters
    ----------
    column : ndarray of shape (n,) or None
    numbers : ndarray of shape (n,), int64
        The series of each row.
    parts : ndarray of shape (n,), int64
        The same, divided at gaps.
    """
    if column is None or len(column) < _FEWEST_ROWS or len(np.unique(column)) < _FEWEST_VALUES:
        return False
    rows = rows_of_lags(parts, 2)
    rows = rows[:, np.isfinite(column[rows]).all(axis=0)]
    rows = rows[:, np.argsort(numbers[rows[0]], kind="stable")]
    votes = []
    for own in np.split(rows, np.flatnonzero(np.diff(numbers[rows[0]])) + 1, axis=1):
        if own.shape[1] >= _FEWEST_ROWS - 2:
            own_lag, t = dickey_fuller(*column[own])
            critical = np.polyval(_CRITICAL[::-1], 1 / own.shape[1])
            votes.append(bool(own_lag > _LEAST_OWN_LAG and t > critical))
    return 2 * votes.count(True) > len(votes)


def dickey_fuller(now: Floats, last: Floats, before: Floats) -> tuple[float, float]:
    """Return the effect of a column's last value on it, and the t of its difference from 1."""
    scale = np.ptp(last) or 1.0
    terms = np.column_stack([last - last.mean(), last - before, np.full(len(now), scale)]) / scale
    changes = (now - last) / scale
    inverse = np.linalg.pinv(terms.T @ terms)
    slopes = inverse @ terms.T @ changes
    residuals = changes - terms @ slopes
    noise = residuals @ residuals / (len(now) - 3)
    if noise <= 1e-20:  # an exact line: fit refuses it beside its lag
        return 0.0, -np.inf
    return 1 + slopes[0], slopes[0] / np.sqrt(noise * inverse[0, 0])
