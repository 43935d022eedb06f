"""What a network says of its nodes when some are seen: samples, conditionals and predictions.

Each function takes the network's model, and what users give to the method of the same name.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Mapping
from importlib import import_module
from typing import Any

import numpy as np
from sklearn import get_config

from skbn._core.arrays import Floats, is_listed, numbers_in
from skbn._core.columns import by_label, is_missing, is_series, named_nodes, reject_unknown
from skbn._core.estimator import random_generator
from skbn._core.graphs import require_finite
from skbn._core.text import readable_value
from skbn._data.encoding import encoded_rows
from skbn._data.nodes import Nodes
from skbn._data.table import REMEDY, Table
from skbn._networks.gaussian import LinearGaussianModel, require_exogenous_values
from skbn._networks.partial_rows import conditional_means, shares_of_levels

_CONTAINERS = ("default", "pandas", "polars")  # as in sklearn.set_config(transform_output=...)


# Samples


def sample(
    model: LinearGaussianModel,
    n_samples: int,
    random_state: Any,
    container: str | None,
    exogenous: Floats | None = None,
) -> Any:
    """Draw rows from a network, as an array or as a data frame of a container.

    A container of None stands for scikit-learn's setting. With values of the exogenous nodes, one
    row is drawn for each of theirs.
    """
    if exogenous is not None:
        if n_samples != 1:
            raise ValueError(
                f"n_samples={n_samples} was given with a table of exogenous values, for each row "
                "of which one row is drawn. Leave n_samples out, and repeat rows of the table."
            )
        n_samples = len(exogenous)
    noise = random_generator(random_state).standard_normal((n_samples, len(model.nodes)))
    return _in_container(model.draw(noise, exogenous), model.nodes, container)


def check_container(name: Any) -> None:
    """Raise a ValueError unless `sample` knows this container."""
    if name not in _CONTAINERS:
        raise ValueError(
            f"transform must be one of {', '.join(map(repr, _CONTAINERS))}, or None; got "
            f"{readable_value(name)}."
        )


def _in_container(rows: Floats, nodes: list[Hashable], container: str | None) -> Any:
    """Return rows as an array, or as a data frame if one is asked for and all nodes are strings."""
    container = get_config()["transform_output"] if container is None else container
    if container == "default" or not all(isinstance(node, str) for node in nodes):
        return rows
    try:
        library: Any = import_module(container)
    except ImportError as error:
        raise ImportError(
            f"Rows as a data frame of {container} need it: pip install {container}, or "
            f'set_output(transform="default") ({error}).'
        ) from error
    if container == "pandas":
        return library.DataFrame(rows, columns=nodes)
    return library.DataFrame(rows, schema=nodes, orient="row")


# Conditional distributions


def values_of_columns(given: Any, nodes: Nodes, parameter: str) -> dict[int, float | Floats]:
    """Return the values of columns, by number, from what users say of nodes.

    Arrays have a value for each scenario, and all have the same length, which is not 0.
    """
    values: dict[int, float | Floats] = {}
    labelled = by_label(given, parameter, "node")
    reject_unknown(labelled, nodes.names, parameter)
    for v, node in enumerate(nodes.names):
        if node not in labelled:
            continue
        read = _indicators if node in nodes.levels else _parts
        own = nodes.columns_of([v])
        values |= zip(own, read(nodes, own, node, labelled[node], parameter), strict=True)
    names = nodes.column_names
    lengths = {names[i]: len(x) for i, x in values.items() if isinstance(x, np.ndarray)}
    if len({*lengths.values()}) > 1 or 0 in lengths.values():
        raise ValueError(
            "Lists of values have one for each scenario: they must have the same length, and not "
            f"be empty; got lengths of {readable_value(lengths)}. Give a single value of what is "
            "the same in all scenarios."
        )
    return values


def _indicators(nodes: Nodes, own: list[int], node: Any, value: Any, parameter: str) -> list[Any]:
    """Return the values of a category's indicators, for a level or a list of them."""
    levels = nodes.levels[node]
    # A tuple may be a level.
    is_list = is_listed(value) and not (isinstance(value, tuple) and value in levels)
    given = list(value) if is_list else [value[()] if isinstance(value, np.ndarray) else value]
    for level in given:
        if not isinstance(level, Hashable) or is_missing(level) or level not in levels:
            raise ValueError(
                f"{parameter}: node {node!r} has the levels {levels}; got {readable_value(level)}."
            )
    indicated = [nodes.columns[i].level for i in own]
    parts = np.array([[float(level == each) for level in given] for each in indicated])
    return list(parts if is_list else parts[:, 0])


def _parts(nodes: Nodes, own: list[int], node: Any, value: Any, parameter: str) -> list[Any]:
    """Return the values of a node's columns, which may be arrays."""
    columns = [nodes.columns[i].name for i in own]
    got = value
    if hasattr(value, "columns"):
        value = {label: value[label] for label in value.columns}
    if isinstance(value, Mapping) or (is_series(value) and len(own) > 1):
        of_columns = by_label(value, f"{parameter}[{node!r}]", "column")
        value = [of_columns[each] for each in columns if each in of_columns]
    elif len(own) == 1:
        value = [value]
    elif is_listed(value) and all(map(is_listed, value)):  # a row for each scenario
        is_table = {*map(len, value)} == {len(own)}
        value = list(zip(*value, strict=True)) if is_table else []
    parts = list(value) if is_listed(value) else [value]
    if len(parts) != len(own):
        raise ValueError(
            f"{parameter}: node {node!r} has {len(own)} columns; got {readable_value(got)}. "
            "Give a value for each, in a list, or a list of such lists for several scenarios."
        )
    what = "node" if columns == [node] else "column"
    return [
        numbers_in(part, f"The value of {what} {column!r} in {parameter}")
        for column, part in zip(columns, parts, strict=True)
    ]


def predict(
    model: LinearGaussianModel,
    nodes: Nodes,
    exogenous: list[Hashable],
    X: Any,
    target: Any = None,
    given: Any = None,
) -> Any:
    """Return the conditional means of nodes, given the values of others in each row of a table.

    By default those are given that have a variance, are in the table, and are no targets.
    """
    table = Table(X)
    names: list[Any] = nodes.names
    targets, is_single = ([], False) if target is None else named_nodes(target, names, "target")
    for node in targets:
        if node in exogenous:
            raise ValueError(
                f"Node {node!r} is exogenous: the network does not say how it is distributed, and "
                "cannot predict it. Name another target."
            )
    columns: list[Hashable] | None = None
    remedy = REMEDY
    if given is not None:
        given, _ = named_nodes(given, names, "given")
        if both := [node for node in given if node in targets]:
            raise ValueError(f"The nodes {both} are both in given and in target.")
    else:
        varying = _varying_nodes(model, nodes)
        known = nodes.labels if table.names is None else table.names
        given = [
            node for node, own in varying.items() if node not in targets and {*own} <= {*known}
        ]
        if not given:
            raise ValueError(
                "No node is left to predict from: the nodes with a variance are "
                f"{[*varying]}, the target {targets}, and the columns of X {known}."
            )
        columns = nodes.labels
        remedy = "Give these columns, or name those that X has in given."
    if target is None:
        targets = [node for node in names if node not in given]
    if not targets:
        raise ValueError("All nodes are given, so none is left to predict; name a target.")
    require_exogenous_values(exogenous, given)
    inputs, outputs = ([names.index(node) for node in some] for some in (given, targets))
    rows = encoded_rows(nodes.select_nodes(inputs), table, columns, remedy, may_miss=True)
    means = conditional_means(model, nodes.columns_of(inputs), rows, nodes.columns_of(outputs))
    predicted, labels = _with_first_levels(nodes.select_nodes(outputs), means, is_single)
    return like_pandas(predicted, X, labels, is_single and len(labels) == 1)


def _varying_nodes(model: LinearGaussianModel, nodes: Nodes) -> dict[Hashable, list[Hashable]]:
    """Return the nodes that have a variance, with the labels of the columns they are made of."""
    varies = model.standard_deviations() > 0
    found: dict[Hashable, list[Hashable]] = {}
    for v, node in enumerate(nodes.names):
        own = nodes.columns_of([v])
        if varies[own].any():
            found[node] = [nodes.labels[nodes.columns[i].source] for i in own]
    return found


def _with_first_levels(
    nodes: Nodes, means: Floats, is_single: bool
) -> tuple[Floats, list[Hashable]]:
    """Return the means of the nodes' columns and of categories' first levels, with their names."""
    labels: list[Hashable] = []
    parts = []
    for v, node in enumerate(nodes.names):
        if node in nodes.levels:
            levels, shares = shares_of_levels(nodes, v, means)
            labels += levels if is_single else [f"{node}={level}" for level in levels]
            parts.append(shares)
        else:
            own = nodes.columns_of([v])
            labels += [nodes.columns[i].name for i in own]
            parts.append(means[:, own])
    return np.column_stack(parts), labels


def residuals(model: LinearGaussianModel, rows: Floats, X: Any) -> Any:
    """Return the differences of the rows of a table from what the nodes' parents predict."""
    differences = model.residuals(rows)
    require_finite(
        differences,
        model.nodes,
        "The residual of node {node!r} in row {row} is out of float64's range. Leave out this row, "
        "or measure the nodes in other units.",
    )
    return like_pandas(differences, X, model.nodes, is_single=False)


def like_pandas(values: Floats, X: Any, target: list[Hashable], is_single: bool) -> Any:
    """Return values of shape (n, k) in the container of X: pandas keeps its index.

    A single column becomes a vector, or a Series.
    """
    pandas: Any = sys.modules.get("pandas")
    if pandas is None or not isinstance(X, pandas.DataFrame):
        return values[:, 0] if is_single else values
    if is_single:
        return pandas.Series(values[:, 0], index=X.index, name=target[0])
    names = pandas.Index(target, tupleize_cols=False)
    return pandas.DataFrame(values, index=X.index, columns=names)
