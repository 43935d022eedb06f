"""Nodes and numbers as users give them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from skbn._core.labels import by_label, finite_number, is_labelled
from skbn._core.text import readable_value

__all__ = ["attribute", "named_nodes", "named_values", "random_generator"]


def named_nodes(
    value: Any, nodes: Sequence[Hashable], parameter: str
) -> tuple[list[Hashable], bool]:
    """Return the nodes that a node or a list of them names, and whether it was a single one.

    Raises
    ------
    ValueError
        If there is no such node, none is named, or one twice.

    Examples
    --------
    >>> named_nodes("b", ["a", "b"], "target"), named_nodes(["b"], ["a", "b"], "target")
    ((['b'], True), (['b'], False))
    """
    if _is_among(value, nodes):
        return [value], True
    is_list = isinstance(value, Iterable) and not isinstance(value, (str, bytes))
    chosen = list(value) if is_list else [value]
    _reject_unknown(chosen, nodes, parameter)
    if not chosen or len(set(chosen)) < len(chosen):
        raise ValueError(f"{parameter} must name nodes, each once; got {chosen}.")
    return chosen, False


def named_values(values: Any, nodes: Sequence[Hashable], parameter: str) -> dict[int, float]:
    """Return the values of some nodes, by the nodes' numbers, in their order.

    Raises
    ------
    TypeError
        If they are given as anything but a dict or a series.
    ValueError
        If there is no such node, one is named twice, or a value is no finite number.

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


def attribute(data: Mapping[str, Any], key: str, owner: str) -> float:
    """Return a finite number among the attributes of a node or an edge.

    Raises
    ------
    ValueError
        If there is none.
    """
    if key not in data:
        raise ValueError(
            f"{owner} has no attribute {key}. Give each node an intercept and a noise_variance and "
            "each edge a weight."
        )
    return finite_number(data[key], f"{key} of {owner}")


def random_generator(random_state: Any) -> np.random.Generator | np.random.RandomState:
    """Return what to draw from: a new one for a number, and NumPy's own for None.

    Raises
    ------
    ValueError
        If it is neither of these, nor one of NumPy's two kinds of generators.
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
        if not _is_among(node, nodes):
            raise ValueError(
                f"{parameter} must name nodes; {readable_value(node)} is none of "
                f"{readable_value(list(nodes))}."
            )


def _is_among(value: Any, nodes: Sequence[Hashable]) -> bool:
    try:
        return value in frozenset(nodes)
    except TypeError:  # what has no hash is no node
        return False
