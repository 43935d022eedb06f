"""What rows would have been, had nodes been set to other values.

Abduction, action, prediction (Pearl 2009, "Causality", section 7.1): a row determines its noise,
the nodes are set, and the equations are followed with the same noise. As they are linear, only the
differences from the row need to be followed, so that values that nothing changes keep all bits.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from skbn._core.arrays import Floats
from skbn._core.columns import named_values
from skbn._core.graphs import propagate
from skbn._core.text import readable_value
from skbn._data.containers import row_labels
from skbn._data.row_values import in_order_of_rows
from skbn._data.table import Table, read_columns
from skbn._networks.gaussian import LinearGaussianModel
from skbn._networks.partial_rows import with_columns


def counterfactual(model: LinearGaussianModel, X: Any, do: Mapping[Hashable, Any]) -> Any:
    """Return a table as it would have been with nodes set to one value, or to one for each row."""
    rows = read_columns(Table(X), model.nodes, model.nodes)
    values = _values_of_rows(do, model.nodes, len(rows), row_labels(X))
    held = list(values)
    coef = model.coef.copy()
    coef[:, held] = 0
    parents = [0 if v in values else mask for v, mask in enumerate(model.parents)]
    shift = np.zeros(rows.shape)
    with np.errstate(over="ignore", invalid="ignore"):
        for v, value in values.items():
            shift[:, v] = value - rows[:, v]
        changed = rows + propagate(shift, coef, parents)
    for v, value in values.items():
        changed[:, v] = value
    for node, column in zip(model.nodes, changed.T, strict=True):
        if not np.isfinite(column).all():
            row = int(np.argmax(~np.isfinite(column)))
            raise ValueError(
                f"The value of node {node!r} in row {row} would be out of float64's range. Set the "
                "nodes in do to values nearer to those of the row."
            )
    reached = np.flatnonzero(propagate(np.eye(len(coef))[held], coef != 0, parents).any(axis=0))
    return with_columns(X, model.nodes, {v: changed[:, v] for v in reached.tolist()})


def _values_of_rows(
    do: Mapping[Hashable, Any], nodes: list[Hashable], n_rows: int, labels: Any
) -> dict[int, float | Floats]:
    """Return the values that nodes are set to, by the nodes' numbers.

    Raises
    ------
    TypeError, ValueError
        As `named_values`; if there is not one finite value for each row.
    """
    is_dict = isinstance(do, Mapping)
    columns = {node: value for node, value in do.items() if np.ndim(value)} if is_dict else {}
    one_each = {**do, **dict.fromkeys(columns, 0.0)} if columns else do
    values: dict[int, float | Floats] = {**named_values(one_each, nodes, "do")}
    for node, column in columns.items():
        in_order = in_order_of_rows(column, labels, n_rows, f"do[{node!r}]")
        try:
            numbers = np.asarray(in_order, dtype=np.float64)
        except (TypeError, ValueError):
            numbers = np.empty(0)
        if numbers.shape != (n_rows,) or not np.isfinite(numbers).all():
            raise ValueError(
                f"do[{node!r}] must be a finite number, or one for each of the {n_rows} rows of X; "
                f"got {readable_value(column)}."
            )
        values[nodes.index(node)] = numbers
    return values
