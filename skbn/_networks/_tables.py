"""Tables whose columns are a network's nodes: by names that are strings, else by position."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_array

from skbn._scores._local_scores import LocalScores
from skbn._table_checks import (
    columns_of_other_types,
    reject_lost_labels,
    reject_non_finite,
    reject_non_numbers,
    reject_other_containers,
    reject_repeated_names,
)

__all__ = ["like_pandas", "read_columns", "read_given_columns"]


def read_columns(
    X: Any,
    wanted: Sequence[Hashable],
    columns: Sequence[Hashable],
    remedy: str = "Give these columns, or a data frame whose columns have the nodes' names.",
) -> npt.NDArray[np.float64]:
    """Return some of a table's columns, in the order in which they are wanted.

    Parameters
    ----------
    X : array-like, data frame or LocalScores
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
        some names are strings and others are not; if X is no table.
    """
    names = _column_names(X)
    table = _table_of(X)
    if names is None:
        if not isinstance(X, LocalScores):  # which have numbers where an array has nothing
            reject_lost_labels(X, columns)
        names = list(columns)
        if len(table.shape) != 2 or table.shape[1] != len(names):
            hint = " Names of columns must be strings to be matched to the nodes."
            raise ValueError(
                f"X must be of shape (n, {len(names)}), its columns standing for {names}; got "
                f"{type(X).__name__} of shape {table.shape}. {remedy}"
                f"{hint if hasattr(X, 'columns') else ''}"
            )
    missing = [node for node in wanted if node not in names]
    if missing:
        raise ValueError(
            f"X has no columns {missing}; its columns are {names}. Rename them to the nodes, or "
            "give an array with the columns in the nodes' order."
        )
    # By number, as a frame takes a list of booleans for a mask of its rows.
    numbers = [names.index(node) for node in wanted]
    table = table.iloc[:, numbers] if hasattr(table, "iloc") else table[:, numbers]
    for column, values in columns_of_other_types(table):
        reject_non_numbers(column if hasattr(table, "columns") else wanted[column], values)
    rows = check_array(table, dtype=np.float64, ensure_all_finite=False, input_name="X")
    for node, values in zip(wanted, rows.T, strict=True):
        reject_non_finite(node, values)
    return np.asarray(rows)


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
        As `read_columns`; if no column is left, or one is a target.
    """
    if given is not None:
        both = [node for node in given if node in target]
        if both:
            raise ValueError(f"The nodes {both} are both in given and in target.")
        return read_columns(X, given, given), given
    names = _column_names(X)
    given = [node for node in varying if node not in target and (names is None or node in names)]
    if not given:
        raise ValueError(
            f"No node is left to predict from: the nodes with a variance are {varying}, the target "
            f"{target}, and the columns of X {nodes if names is None else names}."
        )
    remedy = "Give these columns, or name those that X has in given."
    return read_columns(X, given, nodes, remedy), given


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


def _column_names(X: Any) -> list[Hashable] | None:
    """Return the names of a table's columns; None if they count by their position.

    As in scikit-learn, and so for a learner, names are strings: all of them, or none.
    """
    if isinstance(X, LocalScores):
        return X.columns if hasattr(X, "feature_names_in_") else None  # type: ignore[return-value]
    reject_other_containers(X)
    reject_repeated_names(X)
    names: list[Hashable] = list(getattr(X, "columns", []))
    others = [name for name in names if not isinstance(name, str)]
    if others and len(others) < len(names):
        raise TypeError(
            f"The names of X's columns must be strings, to be matched to the nodes, or none of "
            f"them a string, to count by position; {others[0]!r} is one of both kinds. Rename them."
        )
    return None if others or not hasattr(X, "columns") else names


def _table_of(X: Any) -> Any:
    """Return a data frame as it is, and anything else as an array."""
    if isinstance(X, LocalScores):
        return np.asarray(X)
    if hasattr(X, "columns"):
        return X
    try:
        table = np.asarray(X, dtype=None if isinstance(X, np.ndarray) else object)
    except ValueError:
        raise ValueError("X must be a table; its rows are of different lengths.") from None
    if table.ndim == 0:  # what numpy takes for a single object
        raise TypeError(
            f"X must be a data frame or an array of shape (n, m); got {type(X).__name__}."
        )
    return table
