"""Experiments: which columns an experimenter set in each row, as users say it."""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Set
from numbers import Real
from typing import Any

import numpy as np

from skbn._core.arrays import Booleans
from skbn._core.columns import column_number, column_numbers, is_missing, is_series
from skbn._core.text import readable_value
from skbn._data.containers import is_dask
from skbn._data.row_values import in_order_of_rows
from skbn._data.sample import Sample
from skbn._data.table import Table


def read_interventions(interventions: Any, sample: Sample, names: list[Any]) -> Booleans:
    """Return whether each node was set in each row, as a new array of shape (n, m).

    `interventions`: data frame, array-like of shape (n, m) of bool, or sequence of length n; a data
        frame may lack columns, which were never set then. A sequence has a node, a tuple or list of
        nodes, or None, for each row. Numbers in all rows are refused: they may count from 0 or from
        1.
    `sample`: the rows
    `names`: list of m str or int
    """
    if is_dask(interventions):
        raise TypeError(
            "interventions are read in memory, and these are of dask. Pass interventions.compute()."
        )
    n_rows = len(sample.rows)
    if hasattr(interventions, "columns"):
        return _of_frame(interventions, sample, names)
    if hasattr(interventions, "to_pylist"):  # pyarrow
        interventions = interventions.to_pylist()
    if is_series(interventions):
        interventions = in_order_of_rows(interventions, sample.labels, n_rows, "interventions")
    if not isinstance(interventions, Iterable) or isinstance(interventions, _NO_ROWS):
        raise TypeError(f"{_EXPECTED}; got {readable_value(interventions)}.")
    if getattr(interventions, "ndim", 1) != 1:
        return _of_matrix(np.asarray(interventions), n_rows, len(names))
    # Rows of polars' lists are series.
    values = [x.tolist() if isinstance(x, np.ndarray) else x for x in interventions]
    values = [x.to_list() if hasattr(x, "to_list") else x for x in values]
    _require_all_rows(len(values), n_rows)
    _reject_numbers(values)
    rows = [value for value in values if isinstance(value, list | tuple) and value]
    is_truth = all(isinstance(each, bool | np.bool_) for row in rows for each in row)
    if len(rows) < n_rows or not is_truth:
        return _of_names(values, names)
    for row, value in enumerate(rows):
        if len(value) != len(names):
            raise ValueError(
                f"interventions must have a truth value for each of the {len(names)} columns or "
                f"nodes of X in each row; row {row} has {len(value)}."
            )
    return _of_matrix(np.array(rows), n_rows, len(names))


_EXPECTED = (
    "interventions must be a boolean array or data frame like X, or have a column, a tuple of "
    "columns or None for each row"
)
# A dict or a set has no rows, and an iterator has them only once.
_NO_ROWS = str, bytes, Mapping, Set, Iterator


def _reject_numbers(values: list[Any]) -> None:
    """Raise if there is a number in each row: 0 may be a column, or say that nothing was set."""
    are_numbers = all(isinstance(k, Real) and not isinstance(k, bool) for k in values)
    if not are_numbers or all(map(is_missing, values)):
        return
    raise ValueError(
        "interventions hold one number for each row, which may be a column's number from 0, or "
        "from 1 with 0 where nothing was set, as in bnlearn. Give a tuple of columns for each row, "
        "such as (2,) for the third, or None where nothing was set."
    )


def _require_all_rows(n_given: int, n_rows: int) -> None:
    if n_given != n_rows:
        raise ValueError(
            f"interventions must have an entry for each of the {n_rows} rows of X; got {n_given}."
        )


def _of_names(values: list[Any], names: list[Any]) -> Booleans:
    """Return what the nodes, tuples of nodes or Nones of the rows say."""
    is_set = np.zeros((len(values), len(names)), dtype=bool)
    number_of: dict[Hashable, int] = {}
    for row, value in enumerate(values):
        if isinstance(value, bool | np.bool_):
            raise TypeError(
                f"{_EXPECTED}; row {row} is {value}. If it says whether one of the columns was "
                "set, give a data frame in which the values have the name of that column."
            )
        is_list = isinstance(value, tuple | list | set | frozenset)
        for node in value if is_list else () if is_missing(value) else (value,):
            try:
                if node not in number_of:
                    number_of[node] = column_number(names, node)
            except (TypeError, ValueError) as error:
                raise type(error)(
                    f"interventions of row {row}: {error} Give columns of X, a tuple of them, or "
                    "None where nothing was set."
                ) from None
            is_set[row, number_of[node]] = True
    return is_set


def _of_matrix(values: Any, n_rows: int, m: int) -> Booleans:
    if values.ndim != 2:
        raise TypeError(f"{_EXPECTED}; got an array of shape {values.shape}.")
    if values.shape[1] == 1 < m:
        _reject_numbers(values[:, 0].tolist())
    if values.dtype.kind != "b":
        raise TypeError(
            f"{_EXPECTED}; got an array of {values.dtype}. If its numbers say whether a column was "
            "set, call astype(bool). An intervention that only shifts a column sets nothing: make "
            "the condition an exogenous column instead."
        )
    _require_all_rows(len(values), n_rows)
    if values.shape[1] != m:
        raise ValueError(
            f"interventions as an array must have a column for each of the {m} columns or nodes "
            f"of X; its shape is {values.shape}."
        )
    return np.array(values)


def _of_frame(frame: Any, sample: Sample, names: list[Any]) -> Booleans:
    """Return what a data frame says; columns that it lacks were never set."""
    n_rows = len(sample.rows)
    _require_all_rows(len(frame), n_rows)
    is_set = np.zeros((n_rows, len(names)), dtype=bool)
    if not len(frame.columns):
        return is_set
    table = Table(frame)
    for number, label in enumerate(table.labels):
        (node,) = column_numbers(names, [label], "interventions")
        column = in_order_of_rows(table.column(number), sample.labels, n_rows, "interventions")
        values = np.asarray(column)
        if values.dtype.kind != "b":
            raise TypeError(
                f"interventions must hold True and False; column {label!r} has the dtype "
                f"{values.dtype}. Call astype(bool) if it says whether the column was set."
            )
        is_set[:, node] = values
    return is_set
