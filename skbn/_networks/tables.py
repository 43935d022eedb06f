"""Tables whose columns are a network's nodes: by names that are strings, else by position."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_array

from skbn._data.table import Table

__all__ = ["like_pandas", "read_columns", "read_given_columns"]


def read_columns(
    table: Table,
    wanted: Sequence[Hashable],
    columns: Sequence[Hashable],
    remedy: str = "Give these columns, or a data frame whose columns have the nodes' names.",
) -> npt.NDArray[np.float64]:
    """Return some of a table's columns, in the order in which they are wanted.

    Parameters
    ----------
    table : Table
        Other columns than those wanted may hold anything.
    wanted : sequence of k nodes
    columns : sequence of nodes
        What the columns stand for if they have no names.
    remedy : str, optional
        What an error advises if there are not as many.

    Returns
    -------
    rows : ndarray of shape (n, k), float64

    Raises
    ------
    ValueError, TypeError
        Naming the columns: if some are missing, or hold what is not a finite number; if
        their labels are neither strings nor positions nor the nodes.
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
    """Return a table's columns to predict from, and which nodes they are.

    Parameters
    ----------
    X : array-like, data frame or LocalScores
    given : list of nodes, or None
        By default the named columns that are nodes, or all nodes; of these the varying
        ones, and no target.
    target, nodes, varying : list of nodes
        The last are those with a variance.

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
    """Return values of shape (n, k) as X is: for a pandas data frame, with its index.

    A single column comes as a vector, or as a Series.
    """
    pandas: Any = sys.modules.get("pandas")
    if pandas is None or not isinstance(X, pandas.DataFrame):
        return values[:, 0] if is_single else values
    if is_single:
        return pandas.Series(values[:, 0], index=X.index, name=target[0])
    names = pandas.Index(target, tupleize_cols=False)
    return pandas.DataFrame(values, index=X.index, columns=names)
