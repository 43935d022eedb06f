"""What a network's methods are given and return: random states, and containers of tables."""

from __future__ import annotations

import sys
from collections.abc import Hashable
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn import get_config
from sklearn.utils import check_random_state

from skbn._core.text import readable_value
from skbn._data.table import Table, read_columns

__all__ = [
    "check_container",
    "in_container",
    "like_pandas",
    "random_generator",
    "read_given_columns",
]

_CONTAINERS = ("default", "pandas", "polars")  # those of sklearn.set_config(transform_output=...)


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


def check_container(name: Any) -> None:
    """Raise a ValueError unless this is one of the containers that `in_container` knows."""
    if name not in _CONTAINERS:
        raise ValueError(
            f"transform must be one of {', '.join(map(repr, _CONTAINERS))}, or None; got "
            f"{readable_value(name)}."
        )


def in_container(
    rows: npt.NDArray[np.float64], nodes: list[Hashable], container: str | None
) -> Any:
    """Return rows as an array, or as a data frame if one is asked for and all nodes are strings.

    Parameters
    ----------
    rows : ndarray of shape (n, m)
    nodes : list of m hashables
    container : {"default", "pandas", "polars"} or None
        None stands for scikit-learn's setting.

    Raises
    ------
    ImportError
        If the library of the data frames is not installed.
    """
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
