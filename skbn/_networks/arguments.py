"""What users give to a network: nodes, values for them, tables with the nodes as columns."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array

from skbn._core.columns import by_label, finite_number, is_labelled
from skbn._core.text import readable_value
from skbn._data.table import Table

__all__ = [
    "like_pandas",
    "named_nodes",
    "named_values",
    "random_generator",
    "read_columns",
    "read_given_columns",
]


# Nodes and values


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


def random_generator(random_state: Any) -> np.random.Generator | np.random.RandomState:
    """Return the generator to draw from, a new one for a seed, and NumPy's global one for None.

    Raises
    ------
    ValueError
        If `random_state` is not a seed, a generator of NumPy's, or None.
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    try:
        return check_random_state(random_state)
    except (TypeError, ValueError):
        raise ValueError(
            "random_state must be None, an integer from 0 to 2**32 - 1, or a Generator or "
            f"RandomState of numpy.random; got {readable_value(random_state)}."
        ) from None


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


# Tables


def read_columns(
    table: Table,
    wanted: Sequence[Hashable],
    columns: Sequence[Hashable],
    remedy: str = "Give these columns, or a data frame whose columns have the nodes' names.",
) -> npt.NDArray[np.float64]:
    """Return some columns of a table, by name if the names are strings, else by position.

    Parameters
    ----------
    table : Table
        Columns that are not wanted may hold anything.
    wanted : sequence of k nodes
        The columns to return, in this order.
    columns : sequence of nodes
        The nodes that the columns stand for if they have no names.
    remedy : str, optional
        What an error advises if the table has more or fewer columns than that.

    Returns
    -------
    rows : ndarray of shape (n, k), float64

    Raises
    ------
    ValueError, TypeError
        Naming the columns: if some are missing, or hold values that are not finite numbers; if
        the labels are not strings, positions or nodes.
    """
    names: list[Any] | None = table.names
    if names is None:
        table.check_positions(columns)
        names = list(columns)
        if len(table.labels) != len(names):
            hint = " Names of columns must be strings to be matched to the nodes."
            raise ValueError(
                f"X must be of shape (n, {len(names)}), its columns standing for {names}; got "
                f"{table.container} with {len(table.labels)} columns. {remedy}"
                f"{hint if table.is_frame else ''}"
            )
    missing = [node for node in wanted if node not in names]
    if missing:
        raise ValueError(
            f"X has no columns {missing}; its columns are {names}. Rename them to the nodes, or "
            "give an array with the columns in the nodes' order."
        )
    rows = table.rows([names.index(node) for node in wanted], wanted)
    return np.asarray(check_array(rows, ensure_all_finite=False, input_name="X"))


def read_given_columns(
    X: Any,
    given: list[Hashable] | None,
    target: list[Hashable],
    nodes: list[Hashable],
    varying: list[Hashable],
) -> tuple[npt.NDArray[np.float64], list[Hashable]]:
    """Return the columns of a table to predict from, and the nodes that they are.

    Parameters
    ----------
    X : array-like, data frame or LocalScores
    given : list of nodes, or None
        By default, the nodes with a variance that are columns of X and not targets.
    target, nodes : list of nodes
    varying : list of nodes
        Those with a variance.

    Raises
    ------
    ValueError, TypeError
        As `Table` and `read_columns`; if no column is left, or one is a target.
    """
    if given is not None:
        both = [node for node in given if node in target]
        if both:
            raise ValueError(f"The nodes {both} are both in given and in target.")
        return read_columns(Table(X), given, given), given
    table = Table(X)
    names = table.names
    given = [node for node in varying if node not in target and (names is None or node in names)]
    if not given:
        raise ValueError(
            f"No node is left to predict from: the nodes with a variance are {varying}, the target "
            f"{target}, and the columns of X {nodes if names is None else names}."
        )
    remedy = "Give these columns, or name those that X has in given."
    return read_columns(table, given, nodes, remedy), given


def like_pandas(
    values: npt.NDArray[np.float64], X: Any, target: list[Hashable], is_single: bool
) -> Any:
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
