"""Lagged copies of a table's columns, beside the columns, in the table's own container."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from skbn._core.arrays import Integers

__all__ = ["beside_lags", "rows_of_lags"]


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

        lags = [values.iloc[each] for each in rows]
        index = lags[0].index
        return pd.concat(
            [
                lag.set_axis(own, axis="columns").set_axis(index, axis="index")
                for lag, own in zip(lags, names, strict=True)
            ],
            axis="columns",
        )
    if hasattr(values, "hstack"):  # polars
        lags = [values[each] for each in rows]
        table = lags[0]
        for lag, own in zip(lags[1:], names[1:], strict=True):
            table = table.hstack(lag.rename(dict(zip(names[0], own, strict=True))).get_columns())
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
