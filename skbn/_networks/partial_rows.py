"""What a network says of rows with missing values: means and draws of what is missing.

Rows with the same holes are computed together, in one thread: the systems of equations are small.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from skbn._core.arrays import Booleans, Floats, Random
from skbn._core.resources import one_blas_thread
from skbn._data.containers import array_of, as_numpy, missing_in
from skbn._data.nodes import Nodes
from skbn._data.table import Table, numbers_of
from skbn._missing.incomplete_rows import rows_by_pattern
from skbn._networks.gaussian import LinearGaussianModel


@one_blas_thread()
def conditional_means(
    model: LinearGaussianModel, given: list[int], rows: Floats, others: list[int]
) -> Floats:
    """Return the conditional means of nodes, given what each row has of some.

    Parameters
    ----------
    model : LinearGaussianModel
    given, others : list of g and of k int
        Numbers of nodes.
    rows : ndarray of shape (n, g)
        NaN where a value is missing.

    Returns
    -------
    means : ndarray of shape (n, k)
    """
    means = np.empty((len(rows), len(others)))
    for at, observed in rows_by_pattern(~np.isnan(rows)):
        seen = np.flatnonzero(observed)
        known = [given[j] for j in seen]
        means[at], _ = model.condition(known, rows[at][:, observed], others)
    return means


@one_blas_thread()
def filled(
    model: LinearGaussianModel,
    rows: Floats,
    rng: Random | None = None,
    is_set: Booleans | None = None,
) -> Floats:
    """Return rows, (n, m), with values in place of NaN; what is observed is copied.

    They are conditional means or, with a generator, draws from the conditional distributions.
    `is_set`, of the same shape, says which values were set: no arrow points to these.
    """
    result = rows.copy()
    noise = np.zeros((0, 0))
    if rng is not None:  # as many numbers whatever the order of the patterns
        noise = np.asarray(rng.standard_normal(rows.shape))
    seen_and_set = ~np.isnan(rows)
    if is_set is not None:
        seen_and_set = np.hstack([seen_and_set, is_set])
    for at, pattern in rows_by_pattern(seen_and_set):
        observed, was_set = pattern[: rows.shape[1]], pattern[rows.shape[1] :]
        seen, hidden = np.flatnonzero(observed).tolist(), np.flatnonzero(~observed).tolist()
        if not hidden:
            continue
        own = model.given(np.flatnonzero(was_set).tolist())
        values, factor = own.conditional_factor(seen, rows[at][:, observed], hidden)
        if rng is not None:
            values = values + noise[at][:, ~observed] @ factor
        result[at[:, np.newaxis], hidden] = values
    return result


# Users' tables


def with_holes_filled(X: Any, nodes: Nodes, rows: Floats, complete: Floats) -> Any:
    """Return a user's table with values where some are missing.

    Parameters
    ----------
    X : table
    nodes : Nodes
    rows, complete : ndarray of shape (n, n_columns)
        The nodes' columns, with holes and without. A missing level of a category becomes the most
        probable one.
    """
    with_holes = np.flatnonzero(np.isnan(rows).any(axis=0)).tolist()
    return _with_columns(X, nodes.labels, _users_columns(nodes, complete, with_holes), False)


def with_changes(X: Any, nodes: Nodes, changed: Floats, columns: list[int]) -> Any:
    """Return a user's table with other values in some columns, given by number.

    `changed` has all columns of the nodes, shape (n, n_columns). A category has the most probable
    level.
    """
    return _with_columns(X, nodes.labels, _users_columns(nodes, changed, columns), True)


def _users_columns(nodes: Nodes, rows: Floats, some: list[int]) -> dict[int, Any]:
    """Return the values of some columns, by the numbers of the user's columns they are made of."""
    columns: dict[int, Any] = {}
    for v, node in enumerate(nodes.names):
        own = [i for i in nodes.columns_of([v]) if i in some]
        if node in nodes.levels and own:
            levels, shares = shares_of_levels(nodes, v, rows)
            most_probable = np.empty(len(rows), dtype=object)  # a level may be a tuple
            most_probable[:] = [levels[k] for k in shares.argmax(axis=1)]
            columns[nodes.columns[own[0]].source] = most_probable
        else:
            columns |= {nodes.columns[i].source: rows[:, i] for i in own}
    return columns


def with_levels(nodes: Nodes, rows: Floats) -> Any:
    """Return the user's columns of some rows, as objects: the nearest levels of categories."""
    shown = np.empty((len(rows), len(nodes.labels)), dtype=object)
    for v, node in enumerate(nodes.names):
        own = nodes.columns_of([v])
        if node in nodes.levels:
            levels, shares = shares_of_levels(nodes, v, rows)
            chosen = [levels[k] for k in shares.argmax(axis=1)]
            shown[:, nodes.columns[own[0]].source] = chosen
        else:
            shown[:, [nodes.columns[i].source for i in own]] = rows[:, own]
    return shown


def shares_of_levels(nodes: Nodes, v: int, means: Floats) -> tuple[list[Any], Floats]:
    """Return a category's levels, and their linear probabilities by the means of all columns."""
    own = nodes.columns_of([v])
    return nodes.levels_of(v), np.column_stack([1 - means[:, own].sum(axis=1), means[:, own]])


def _with_columns(X: Any, labels: list[Any], columns: Mapping[int, Any], replaces: bool) -> Any:
    """Return a table with some columns replaced; levels only where they are missing, or everywhere.

    Data frames of pandas and polars stay what they are; other tables become arrays.

    Parameters
    ----------
    X : table
    labels : list
        What columns are looked up in it, by label or else by position.
    columns : mapping of int to ndarray of shape (n,)
        The values, by the numbers of the columns among these.
    replaces : bool
        Whether observed levels are replaced too.
    """
    table = Table(X)
    numbers = numbers_of(table, labels, labels)
    columns = {numbers[j]: values for j, values in columns.items()}
    own = {j: as_numpy(table.column(j), "X", "Pass a data frame.") for j in columns}
    holes = {j: replaces | missing_in(table.column(j), own[j]) for j in columns}
    for j, values in columns.items():
        if values.dtype.kind != "f":  # an observed level stays what it is
            columns[j] = np.where(holes[j], values, own[j])
    pandas: Any = sys.modules.get("pandas")
    if pandas is not None and isinstance(X, pandas.DataFrame):
        result = X.copy()
        for j, values in columns.items():
            column = result[table.labels[j]]
            fill = pandas.Series(values, index=column.index)
            is_number = values.dtype.kind == "f"
            if not is_number:
                fill = column.where(~holes[j], fill.astype(column.dtype))
            result[column.name] = fill
        return result
    polars: Any = sys.modules.get("polars")
    if polars is not None and isinstance(X, polars.DataFrame):
        series = []
        for j, values in columns.items():
            label = table.labels[j]
            kept = polars.Float64 if values.dtype.kind == "f" else X.schema[label]
            series.append(polars.Series(label, values.tolist(), dtype=kept))
        return X.with_columns(series)
    rows = array_of(X) if isinstance(X, np.ma.MaskedArray) else np.asarray(X)
    is_number = all(values.dtype.kind == "f" for values in columns.values())
    result = np.array(rows, dtype=np.float64 if is_number and _is_real(rows) else object)
    for number, values in columns.items():
        result[:, number] = values
    return result


def _is_real(rows: Any) -> bool:
    if rows.dtype.kind in "biuf":
        return True
    try:
        np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return True
