"""Reads tables whose nodes have several columns: which columns these are, and their numbers."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from skbn._core.arrays import Floats, Integers
from skbn._core.columns import column_number, is_missing
from skbn._core.text import first_few, readable_value
from skbn._data.nodes import NodeColumn, Nodes
from skbn._data.table import Table, numbers_of

__all__ = ["encoded_rows", "learn_nodes"]


def learn_nodes(spec: Any, table: Table, *, may_miss: bool = False) -> Nodes | None:
    """Return the nodes of a table that a user's parameter asks for; None if each column is one.

    Parameters
    ----------
    spec : None, "auto", dict or sequence
        As the parameter `nodes` of a learner.
    table : Table
    may_miss : bool
        Whether values may be missing.

    Raises
    ------
    ValueError, TypeError
        If `spec` does not go with the columns; if a category has one level, or lacks values that
        may not be missing.
    """
    if spec is None:
        return None
    labels = table.labels
    blocks = _blocks(spec, table)
    levels_of = {} if table.is_lazy else _categories(table, may_miss)
    if not levels_of and all(len(own) == 1 and name == labels[own[0]] for name, own in blocks):
        return None
    columns: list[NodeColumn] = []
    widths: list[int] = []
    levels: dict[str | int, list[Any]] = {}
    for name, own in blocks:
        before = len(columns)
        if len(own) == 1 and own[0] in levels_of:
            levels[name] = levels_of[own[0]]
            columns += [NodeColumn(f"{name}={v}", own[0], v) for v in levels[name][1:]]
        else:
            for j in own:
                if j in levels_of:
                    raise ValueError(
                        f"Column {labels[j]!r} of node {name!r} is a category, which is a node by "
                        "itself. Leave it out of nodes, or encode it as numbers."
                    )
                columns.append(NodeColumn(labels[j], j))
        widths.append(len(columns) - before)
    names = [column.name for column in columns]
    repeated = sorted({str(name) for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(
            f"The columns [{first_few(repeated)}] would have the names of levels' indicators. "
            "Rename them."
        )
    return Nodes([name for name, _ in blocks], columns, widths, levels, list(labels))


def encoded_rows(nodes: Nodes, table: Table, *, may_miss: bool = False) -> Floats:
    """Return the numbers of the nodes' columns, shape (n, n_columns).

    With `may_miss`, they are NaN where values are missing: in all columns of a category whose level
    is.

    Raises
    ------
    ValueError, TypeError
        If columns are missing, or hold values that are not finite numbers; naming the column and
        the level, if a category has one that was not there when the nodes were learned.
    """
    names = nodes.column_names
    if table.names is not None and set(names) <= set(table.names):  # encoded already
        return table.rows(numbers_of(table, names, names), names, may_miss=may_miss)
    source = numbers_of(table, nodes.labels, nodes.labels)
    numeric = [i for i, column in enumerate(nodes.columns) if column.level is None]
    found: dict[int, Floats] = {}
    if numeric:
        at = [source[nodes.columns[i].source] for i in numeric]
        rows = table.rows(at, [nodes.columns[i].name for i in numeric], may_miss=may_miss)
        found = {i: rows[:, k] for k, i in enumerate(numeric)}
    of_category = {
        column.source: name
        for name, start in zip(nodes.names, nodes.starts, strict=False)
        if name in nodes.levels and (column := nodes.columns[start])
    }
    for j, name in of_category.items():
        codes = _codes(table, source[j], name, nodes.levels[name], may_miss)
        for i, column in enumerate(nodes.columns):
            if column.source == j:
                indicator = codes == nodes.levels[name].index(column.level)
                found[i] = np.where(codes < 0, np.nan, indicator)
    return np.ascontiguousarray(np.column_stack([found[i] for i in range(len(nodes.columns))]))


# What the user says


def _blocks(spec: Any, table: Table) -> list[tuple[str | int, list[int]]]:
    """Return the nodes' names and the numbers of their columns, in the order of the first ones."""
    labels: list[Any] = table.labels
    if isinstance(spec, str):
        if spec != "auto":
            raise ValueError(
                f"nodes must be 'auto', a dict, a label for each column, or None; got {spec!r}."
            )
        return [(label, [j]) for j, label in enumerate(labels)]
    if isinstance(spec, Mapping):
        return _blocks_of_dict(spec, table)
    own = list(spec) if isinstance(spec, Sequence | np.ndarray) else None
    if own is None or len(own) != len(labels):
        raise ValueError(
            f"nodes must have a label for each of the {len(labels)} columns; got "
            f"{readable_value(spec)}."
        )
    names = [label.item() if isinstance(label, np.generic) else label for label in own]
    blocks: dict[str | int, list[int]] = {}
    for j, name in enumerate(names):
        blocks.setdefault(name, []).append(j)
    numbers = all(isinstance(name, int) and not isinstance(name, bool) for name in blocks)
    if numbers and sorted(blocks) != list(range(len(blocks))):
        raise ValueError(
            "nodes: labels that are numbers must be 0, 1, ... without gaps, the numbers of the "
            f"nodes; got {readable_value(sorted(blocks))}. Use strings."
        )
    if not numbers and not all(isinstance(name, str) for name in blocks):
        raise TypeError(
            f"nodes: labels must be all strings or all integers; got {readable_value(names)}."
        )
    return sorted(blocks.items()) if numbers else list(blocks.items())


def _blocks_of_dict(spec: Mapping[Any, Any], table: Table) -> list[tuple[str | int, list[int]]]:
    labels: list[Any] = table.labels
    node_of: dict[int, str] = {}
    for name, columns in spec.items():
        if not isinstance(name, str):
            raise TypeError(f"nodes: names of nodes must be strings; got {readable_value(name)}.")
        if isinstance(columns, str | int | np.integer):
            columns = [columns]
        if not isinstance(columns, Sequence | np.ndarray) or not len(columns):
            raise ValueError(
                f"nodes[{name!r}] must be a list of columns; got {readable_value(columns)}."
            )
        for column in columns:
            try:
                j = column_number(labels, column)
            except (TypeError, ValueError) as error:
                raise type(error)(f"nodes[{name!r}]: {error}") from None
            if j in node_of:
                raise ValueError(
                    f"nodes: column {labels[j]!r} belongs to {node_of[j]!r} and {name!r}. Name "
                    "each column once."
                )
            node_of[j] = name
    blocks: dict[str | int, list[int]] = {}
    for j, label in enumerate(labels):
        own = f"x{j}" if table.names is None else label
        if j not in node_of and own in spec:
            raise ValueError(
                f"nodes: {own!r} is the name of a node and of a column that is not in it. Rename "
                "one of them."
            )
        blocks.setdefault(node_of.get(j, own), []).append(j)
    return list(blocks.items())


# Categories


def _categories(table: Table, may_miss: bool) -> dict[int, list[Any]]:
    """Return the levels of each category, by its number."""
    found = {j: _levels(table, j, may_miss) for j in range(len(table.labels))}
    return {j: levels for j, levels in found.items() if levels is not None}


def _levels(table: Table, number: int, may_miss: bool) -> list[Any] | None:
    """Return the levels of a column, or None if it is not a category."""
    column = table.column(number)
    label = table.labels[number]
    dtype = getattr(column, "dtype", getattr(column, "type", None))
    declared = getattr(dtype, "categories", None)
    declared = declared if hasattr(declared, "__len__") else None  # polars' may be open
    is_declared = str(dtype) in ("category", "Categorical", "Enum") or declared is not None
    is_declared = is_declared or str(dtype).startswith("dictionary")
    values = np.asarray(column)
    if values.dtype.kind not in "bUSO" and not is_declared:
        return None
    known = [value for value in _values(values, label, may_miss) if value is not None]
    if not is_declared and not any(isinstance(value, str | bool | bytes) for value in known):
        return None
    if declared is not None:
        levels = np.asarray(declared).tolist()
    else:
        seen = set(known)
        levels = sorted(seen, key=None if _are_alike(seen) else str)
    if len(levels) < 2:
        raise ValueError(
            f"Column {label!r} is a category with one level, {levels[0]!r}: it cannot depend on "
            "anything. Leave it out."
            if levels
            else f"Column {label!r} is a category without levels. Leave it out."
        )
    return levels


def _are_alike(values: set[Any]) -> bool:
    return len({type(value) for value in values}) == 1


def _values(values: Any, label: Hashable, may_miss: bool) -> list[Any]:
    """Return a column's values as Python's, None for those that are missing if they may be."""
    found: list[Any] = values.tolist()
    for row, value in enumerate(found):
        if is_missing(value):
            if not may_miss:
                raise ValueError(
                    f"X has missing values: the first of column {label!r}, a category, is in row "
                    f"{row}. Let GaussianBNLearner(missing='em') take them, give them a level of "
                    "their own, such as 'unknown', or drop these rows."
                )
            found[row] = None
    return found


def _codes(
    table: Table, number: int, name: Hashable, levels: list[Any], may_miss: bool
) -> Integers:
    """Return the number of each row's level, -1 where it is missing."""
    values = _values(np.asarray(table.column(number)), table.labels[number], may_miss)
    code = {None: -1, **{level: k for k, level in enumerate(levels)}}
    try:
        return np.array([code[value] for value in values], dtype=np.int64)
    except KeyError as error:
        (level,) = error.args
        raise ValueError(
            f"Column {name!r} has the level {level!r}, which fit did not see; it saw "
            f"[{first_few(levels)}]. Fit with rows of this level, declare it in a categorical "
            "dtype, or merge rare levels before (OneHotEncoder(min_frequency=...) does)."
        ) from None
