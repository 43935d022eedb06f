"""Arguments that have labels (dicts, pandas Series) to match by, or that name nodes."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from skbn._core.text import first_few, readable_value

__all__ = [
    "by_label",
    "finite_number",
    "in_order_of_rows",
    "is_labelled",
    "is_mask",
    "is_series",
    "named_nodes",
    "named_values",
    "reject_labels",
    "row_labels",
]


def is_series(values: Any) -> bool:
    """Whether this is a pandas Series, or behaves like one."""
    return hasattr(values, "iloc") and getattr(values, "ndim", None) == 1


def is_mask(values: Any) -> bool:
    """Whether this is an array or a Series of truth values."""
    return getattr(getattr(values, "dtype", None), "kind", None) == "b"


def is_labelled(values: Any) -> bool:
    """Whether values have labels, as those of a dict or a Series do."""
    return isinstance(values, Mapping) or is_series(values)


def by_label(values: Any, parameter: str, kind: str) -> dict[Hashable, Any]:
    """Return the values of a dict or a Series by their labels.

    Parameters
    ----------
    values : Mapping or Series
    parameter, kind : str
        What errors call it, and what the labels name.

    Raises
    ------
    ValueError
        If a label comes twice.
    """
    if isinstance(values, Mapping):
        return dict(values)
    labels = values.index.tolist()
    if len(set(labels)) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise ValueError(f"{parameter} must name each {kind} once; got {twice!r} twice.")
    return dict(zip(labels, values.tolist(), strict=True))


def row_labels(X: Any) -> Any:
    """Return the index of a pandas data frame, or None if the rows of the table have no labels."""
    if not (hasattr(X, "iloc") and hasattr(X, "columns")):
        return None
    # The index of a dask frame must be computed first.
    return X.index.compute() if hasattr(type(X), "compute") else X.index


def in_order_of_rows(values: Any, labels: Any, n_rows: int, parameter: str) -> Any:
    """Return the values of a Series in the order of a table's rows, and other values unchanged.

    If the rows have no labels, a Series is taken in its own order, as scikit-learn does: a
    pipeline passes arrays on along with the Series that it was given.

    Parameters
    ----------
    values : object
    labels : pandas.Index, ndarray or None
        The labels of the rows.
    n_rows : int
    parameter : str
        What errors call the values.

    Raises
    ------
    ValueError
        If a Series has other labels than the rows. If the rows have no labels, and those of the
        Series are the rows' numbers in another order.
    """
    if not is_series(values):
        return values
    if labels is None:
        _reject_other_order(values, n_rows, parameter)
        return values
    if isinstance(labels, np.ndarray):
        labels = type(values)(0, index=labels).index
    return values if values.index.equals(labels) else _matched(values, labels, parameter)


def _reject_other_order(values: Any, n_rows: int, parameter: str) -> None:
    """Raise if the labels of a Series are the numbers of the rows, in another order."""
    labels, numbers = values.index.tolist(), list(range(n_rows))
    if labels != numbers and set(labels) == set(numbers):
        raise ValueError(
            f"The rows of X have no labels, and the labels of {parameter} are the numbers of the "
            "rows in another order. If they say which row each value is for, call sort_index() on "
            "the Series; if its values are in the order of the rows, to_numpy()."
        )


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


def reject_labels(values: Any, what: str) -> None:
    """Raise if values whose order alone counts have labels other than 0, 1, ..."""
    for axis in getattr(values, "axes", []):
        labels = list(axis)
        if labels != list(range(len(labels))):
            raise ValueError(
                f"{what} must come without labels, because its values are taken in their order; "
                f"got the labels [{first_few(labels)}]. Bring them into that order and return an "
                "array, for example by to_numpy()."
            )


def finite_number(value: Any, name: str) -> float:
    """Return a number, or an array of no dimensions that holds one, as a float.

    Raises
    ------
    ValueError
        If it is not a finite number.
    """
    if type(value) is np.ndarray and value.ndim == 0:
        value = value[()]
    try:
        number = float(value) if isinstance(value, Real | Decimal) else math.nan
    except (OverflowError, ValueError):  # a huge integer, or a decimal's signalling NaN
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{name} must be a finite number; got {readable_value(value)}.")
    return number


def named_nodes(
    value: Any, nodes: Sequence[Hashable], parameter: str
) -> tuple[list[Hashable], bool]:
    """Return the nodes that a node or a list of nodes names, and whether it was a single node.

    Raises
    ------
    ValueError
        If one of them is not a node, or is named twice; if the list is empty.

    Examples
    --------
    >>> named_nodes("b", ["a", "b"], "target"), named_nodes(["b"], ["a", "b"], "target")
    ((['b'], True), (['b'], False))
    """
    if _is_node(value, nodes):
        return [value], True
    is_list = isinstance(value, Iterable) and not isinstance(value, (str, bytes))
    chosen = list(value) if is_list else [value]
    _reject_unknown(chosen, nodes, parameter)
    if not chosen or len(set(chosen)) < len(chosen):
        raise ValueError(f"{parameter} must name nodes, each once; got {chosen}.")
    return chosen, False


def named_values(values: Any, nodes: Sequence[Hashable], parameter: str) -> dict[int, float]:
    """Return the values of some nodes, by the nodes' numbers and in the nodes' order.

    Raises
    ------
    TypeError
        If they are not a dict or a series.
    ValueError
        If a label is not a node, or comes twice; if a value is not a finite number.

    Examples
    --------
    >>> named_values({"b": 2, "a": 1}, ["a", "b"], "evidence")
    {0: 1.0, 1: 2.0}
    """
    if not is_labelled(values):
        kind = type(values).__name__
        row = f" Give one of its rows: {parameter}.iloc[0]." if hasattr(values, "iloc") else ""
        raise TypeError(
            f"{parameter} must be a dict or a pandas.Series of nodes and values; got {kind}.{row}"
        )
    values = by_label(values, parameter, "node")
    _reject_unknown(values, nodes, parameter)
    return {
        v: finite_number(values[node], f"The value of node {node!r} in {parameter}")
        for v, node in enumerate(nodes)
        if node in values
    }


def _reject_unknown(chosen: Iterable[Any], nodes: Sequence[Hashable], parameter: str) -> None:
    for node in chosen:
        if not _is_node(node, nodes):
            raise ValueError(
                f"{parameter} must name nodes; {readable_value(node)} is not one of "
                f"{readable_value(list(nodes))}."
            )


def _is_node(value: Any, nodes: Sequence[Hashable]) -> bool:
    try:
        return value in frozenset(nodes)
    except TypeError:  # nodes have hashes
        return False
