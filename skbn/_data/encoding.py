"""Reads tables whose nodes have several columns: which columns these are, and their numbers."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from skbn._core.arrays import BYTES, Floats, Integers, Names
from skbn._core.columns import column_numbers, is_series
from skbn._core.resources import require_memory
from skbn._core.text import first_few, must_be, readable_value, warn
from skbn._data.containers import as_numpy, missing_in
from skbn._data.nodes import NodeColumn, Nodes
from skbn._data.sample import Sample
from skbn._data.table import MOST_LEVELS, REMEDY, Table, check_is_category, numbers_of, read_columns
from skbn.exceptions import DegenerateColumnsError

# A share of rows below this is the rounding of a sum of shares.
_ROUNDING = 1e-12


def learn_nodes(spec: Any, table: Table, *, may_miss: bool = False) -> Nodes | None:
    """Return the nodes of a table that a user's parameter asks for; None if each column is one.

    `spec`: None, "auto", dict or sequence; as the parameter `nodes` of a learner
    """
    if spec is None:
        return None
    labels = table.labels
    blocks = _blocks(spec, table)
    named = {j for name, own in blocks for j in own if isinstance(spec, Mapping) and name in spec}
    if not table.is_lazy:
        table.reject_identifiers(range(len(labels)))
    levels_of = {} if table.is_lazy else _categories(table, may_miss, named)
    if not levels_of and all(len(own) == 1 and name == labels[own[0]] for name, own in blocks):
        return None
    return _nodes_of(blocks, levels_of, [*labels])


def category_nodes(names: Sequence[Any], table: Table) -> Nodes | None:
    """Return nodes that are a column each, of which some are categories; None if none is.

    Truth values count as numbers.
    """
    if table.is_lazy or {*names} <= {*range(len(names))}:
        return None
    found: dict[int, list[Any]] = {}
    numbers = numbers_of(table, names, names)
    table.reject_identifiers(numbers)
    for source, number in enumerate(numbers):
        own = _levels(table, number, may_miss=True, is_named=False)
        if own and len(own) > 1 and not {*own} <= {False, True}:
            found[source] = own
    blocks = [(name, [source]) for source, name in enumerate(names)]
    return _nodes_of(blocks, found, [*names]) if found else None


def _nodes_of(
    blocks: list[tuple[str | int, list[int]]], levels_of: dict[int, list[Any]], labels: list[Any]
) -> Nodes:
    """Return nodes of these columns; one with levels has an indicator for each but the first."""
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
    if repeated := sorted({str(name) for name in names if names.count(name) > 1}):
        raise ValueError(
            f"The columns [{first_few(repeated)}] would have the names of levels' indicators. "
            "Rename them."
        )
    return Nodes([name for name, _ in blocks], columns, widths, levels, labels)


def encoded_rows(
    nodes: Nodes,
    table: Table,
    columns: Names | None = None,
    remedy: str = REMEDY,
    *,
    may_miss: bool = False,
    unseen: set[int] | None = None,
) -> Floats:
    """Return the numbers of the nodes' columns, shape (n, n_columns).

    With `may_miss`, they are NaN where values are missing: in all columns of a category whose level
    is. `columns` are what the table's columns stand for if they have no names, by default the
    columns that these nodes are made of; `remedy` is as for `numbers_of`. Rows with a level that
    `fit` did not see are added to `unseen`, with a warning, and get the first level.
    """
    names, wanted = nodes.column_names, nodes.labels
    columns = wanted if columns is None else columns
    if not nodes.levels:
        of_nodes = [wanted[column.source] for column in nodes.columns]
        return read_columns(table, of_nodes, columns, remedy, may_miss=may_miss)
    if table.names is not None and set(names) <= set(table.names):  # encoded already
        return table.rows(numbers_of(table, names, names), names, may_miss=may_miss)
    source = numbers_of(table, wanted, columns, remedy)
    numeric = [i for i, column in enumerate(nodes.columns) if column.level is None]
    found: dict[int, Floats] = {}
    if numeric:
        at = [source[nodes.columns[i].source] for i in numeric]
        rows = table.rows(at, [nodes.columns[i].name for i in numeric], may_miss=may_miss)
        found = {i: rows[:, k] for k, i in enumerate(numeric)}
    for name, levels in nodes.levels.items():
        own = nodes.columns_of([nodes.names.index(name)])
        of_node = source[nodes.columns[own[0]].source]
        codes = _codes(table, of_node, name, levels, may_miss, unseen)
        require_memory(
            2 * BYTES * len(codes) * len(nodes.columns),
            f"The table of {len(nodes.columns)} columns that nodes have, of them "
            f"{len(own)} for the levels of {name!r},",
            "merge levels, or leave columns out",
        )
        for i in own:
            indicator = codes == levels.index(nodes.columns[i].level)
            found[i] = np.where(codes < 0, np.nan, indicator)
    return np.ascontiguousarray(np.column_stack([found[i] for i in range(len(nodes.columns))]))


def require_levels(sample: Sample, nodes: Nodes) -> None:
    """Raise if a row that counts has a level that categories had, and these nodes do not."""
    own = sample.nodes
    if own is None:
        return
    for v, name in enumerate(own.names):
        levels = nodes.levels.get(name, [])
        if len(levels) == len(own.levels.get(name, [])):
            continue
        at = own.columns_of([v])
        if sample.has_rows:
            rows = sample.rows[:, at]
            counts = ~np.isnan(rows[:, 0])
            rows = rows[counts if sample.weight is None else counts & (sample.weight > 0)]
            shares = rows.mean(axis=0) if len(rows) else np.zeros(len(at))
        else:
            shares = sample.summary.column_means[at]
        occurs = np.append(1 - shares.sum(), shares) > _ROUNDING
        for level, found in zip(own.levels[name], occurs, strict=True):
            if found and level not in levels:
                raise _unseen(name, level, levels)


# What the user says


def _blocks(spec: Any, table: Table) -> list[tuple[str | int, list[int]]]:
    """Return the nodes' names and the numbers of their columns, in the order of the first ones."""
    labels: list[Any] = table.labels
    if isinstance(spec, np.ndarray) and spec.ndim == 0:
        spec = spec.item()
    if isinstance(spec, str):
        if spec != "auto":
            raise ValueError(
                f"nodes must be 'auto', a dict, a label for each column, or None; got {spec!r}."
            )
        return [(label, [j]) for j, label in enumerate(labels)]
    if isinstance(spec, Mapping):
        return _blocks_of_dict(spec, table)
    own = _labels_of(spec, labels)
    if own is None or len(own) != len(labels):
        raise ValueError(
            f"nodes must have a label for each of the {len(labels)} columns; got "
            f"{readable_value(spec)}."
        )
    names = [label.item() if isinstance(label, np.generic) else label for label in own]
    kinds = {*map(type, names)}
    if kinds not in ({str}, {int}):
        odd = next((j for j, name in enumerate(names) if type(name) not in (str, int)), 0)
        raise TypeError(
            f"nodes: labels must be all strings or all integers; got {readable_value(names)}, "
            f"with {readable_value(names[odd])} for column {labels[odd]!r}."
        )
    blocks: dict[str | int, list[int]] = {}
    for j, name in enumerate(names):
        blocks.setdefault(name, []).append(j)
    if kinds == {str}:
        return list(blocks.items())
    if sorted(blocks) != list(range(len(blocks))):
        raise ValueError(
            "nodes: labels that are numbers must be 0, 1, ... without gaps, the numbers of the "
            f"nodes; got {readable_value(sorted(blocks))}. Use strings."
        )
    return sorted(blocks.items())


def _labels_of(spec: Any, labels: list[Any]) -> list[Any] | None:
    """Return the labels that a sequence, an array or a series has for the columns, or None."""
    if is_series(spec) and spec.index.tolist() != [*range(len(labels))]:
        if not spec.index.is_unique or set(spec.index) != set(labels):
            raise ValueError(
                f"nodes is a Series with the labels [{first_few(spec.index)}], and the columns of "
                f"X are [{first_few(labels)}]. If its values are in their order, pass "
                "nodes.tolist()."
            )
        spec = [spec[label] for label in labels]
    if hasattr(type(spec), "__array__") and not hasattr(type(spec), "columns"):
        spec = np.asarray(spec).tolist()
    return list(spec) if isinstance(spec, Sequence) else None


def _blocks_of_dict(spec: Mapping[Any, Any], table: Table) -> list[tuple[str | int, list[int]]]:
    labels: list[Any] = table.labels
    node_of: dict[int, str] = {}
    for name, columns in spec.items():
        if not isinstance(name, str):
            raise TypeError(f"nodes: names of nodes must be strings; got {readable_value(name)}.")
        if isinstance(columns, str | int | np.integer):
            columns = [columns]
        if not isinstance(columns, Sequence | np.ndarray) or not len(columns):
            raise ValueError(must_be(f"nodes[{name!r}]", "a list of columns", columns))
        for j in column_numbers(labels, columns, f"nodes[{name!r}]"):
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


def _categories(table: Table, may_miss: bool, named: set[int]) -> dict[int, list[Any]]:
    """Return the levels of each category, by its number; the user names some columns."""
    every = {j: _levels(table, j, may_miss, j in named) for j in range(len(table.labels))}
    found = {j: levels for j, levels in every.items() if levels is not None}
    if constant := {table.labels[j]: levels for j, levels in found.items() if len(levels) < 2}:
        told = [
            f"Column {each!r} is a category with the levels {own}, of which it needs two. Leave "
            "it out."
            for each, own in constant.items()
        ]
        raise DegenerateColumnsError(" ".join(told), constant)
    return found


def _levels(table: Table, number: int, may_miss: bool, is_named: bool) -> list[Any] | None:
    """Return the levels of a column, or None if it is not a category."""
    column = table.column(number)
    label = table.labels[number]
    dtype = getattr(column, "dtype", getattr(column, "type", None))
    declared = getattr(dtype, "categories", None)
    declared = declared if hasattr(declared, "__len__") else None  # polars' may be open
    kinds = "category", "Categorical", "Enum", "dictionary"
    is_declared = declared is not None or str(dtype).startswith(kinds)
    values = as_numpy(column, f"Column {label!r}", "Leave it out.")
    if values.dtype.kind not in "bUSO" and not is_declared:
        return None
    found = _values(column, values, label, may_miss)
    known = [value for value in found if value is not None]
    if not is_declared and not any(isinstance(value, str | bool | bytes) for value in known):
        return None
    seen = _distinct(found, label)
    if not is_declared and not is_named:
        check_is_category(found, label)
    if len(seen) > max(MOST_LEVELS, len(known) / 2):  # before indicators take memory
        raise ValueError(
            f"Column {label!r} has {len(seen)} different values in {len(known)} rows, too many for "
            "the levels of a category. Merge levels, or leave the column out; if they are numbers, "
            'call pandas.to_numeric(column, errors="coerce").'
        )
    if declared is not None:
        levels = _as_python(np.asarray(declared))
    else:  # of several types, they cannot be compared
        levels = sorted(seen, key=str if len({*map(type, seen)}) > 1 else None)
    return levels


def _distinct(values: list[Any], label: Hashable) -> set[Any]:
    """Return the values that are not None, or raise if they are no levels."""
    first: dict[Any, tuple[int, Any]] = {}
    for row, value in enumerate(values):
        try:
            before, same = first.setdefault(value, (row, value))
        except TypeError:
            raise TypeError(
                f"Column {label!r} holds {readable_value(value)} in row {row}, a "
                f"{type(value).__name__}, which is no level of a category. Leave the column out, "
                "or make texts of its values."
            ) from None
        if isinstance(value, bool) is not isinstance(same, bool):  # True == 1
            raise ValueError(
                f"Column {label!r} holds {same!r} in row {before} and {value!r} in row {row}, "
                "which are equal, so that they would be one level. Make texts of its values, as "
                "pandas does by astype(str)."
            )
    return first.keys() - {None}


def _values(column: Any, values: Any, label: Hashable, may_miss: bool) -> list[Any]:
    """Return a column's values as Python's, None for those that are missing if they may be."""
    # An array of objects may hold numpy's own scalars.
    found = [v.item() if isinstance(v, np.generic) else v for v in _as_python(values)]
    for row in np.flatnonzero(missing_in(column, values)).tolist():
        if not may_miss:
            raise ValueError(
                f"X has missing values: the first of column {label!r}, a category, is in row "
                f"{row}. Let GaussianBNLearner(missing='em') take them, give them a level of "
                "their own, such as 'unknown', or drop these rows."
            )
        found[row] = None
    return found


def _as_python(values: npt.NDArray[Any]) -> list[Any]:
    """Return values as Python's: times, which numpy gives as whole numbers of nanoseconds, too."""
    kind = values.dtype.kind
    return (values.astype(f"{kind}8[us]") if kind in "mM" else values).tolist()


def _codes(
    table: Table, j: int, name: Hashable, levels: list[Any], may_miss: bool, unseen: set[int] | None
) -> Integers:
    """Return the number of each row's level, -1 where it is missing."""
    column = table.column(j)
    values = _values(
        column, as_numpy(column, f"Column {name!r}", "Leave it out."), table.labels[j], may_miss
    )
    code = {None: -1, **{level: k for k, level in enumerate(levels)}}
    _distinct(values, name)
    if found := [i for i, value in enumerate(values) if value not in code]:
        level = values[found[0]]
        if unseen is None:
            raise _unseen(name, level, levels)
        unseen.update(found)
        warn(
            f"Column {name!r} has levels that fit did not see in {len(found)} of {len(values)} "
            f"rows, which get NaN: the first is {readable_value(level)}, in row {found[0]}."
        )
    return np.array([code.get(value, 0) for value in values], dtype=np.int64)


def _unseen(name: Hashable, level: Any, levels: list[Any]) -> ValueError:
    return ValueError(
        f"Column {name!r} has the level {level!r}, which fit did not see; it saw "
        f"[{first_few(levels)}]. Fit with rows of this level, of positive weight (in folds, by "
        "cv=list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, values)), with the "
        "column's values), or merge rare levels before (OneHotEncoder(min_frequency=...) does)."
    )
