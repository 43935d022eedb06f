"""Nodes and numbers as users give them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from skbn._readable import readable_value

__all__ = ["attribute", "finite_number", "named_nodes", "named_values"]


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
    unknown = [node for node in chosen if not _is_among(node, nodes)]
    if unknown:
        raise ValueError(
            f"{parameter} must name nodes; {readable_value(unknown[0])} is none of "
            f"{readable_value(list(nodes))}."
        )
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
    if hasattr(values, "to_dict") and getattr(values, "ndim", None) == 1:
        n_values, values = len(values), values.to_dict()
        if len(values) < n_values:
            raise ValueError(
                f"{parameter} must name each node once; got {n_values} values of the "
                f"{len(values)} nodes {list(values)}."
            )
    if not isinstance(values, Mapping):
        raise TypeError(
            f"{parameter} must be a dict or a pandas.Series of nodes and values; got "
            f"{readable_value(values)}."
        )
    unknown = [node for node in values if not _is_among(node, nodes)]
    if unknown:
        raise ValueError(
            f"{parameter} must name nodes; {readable_value(unknown[0])} is none of "
            f"{readable_value(list(nodes))}."
        )
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


def finite_number(value: Any, name: str) -> float:
    """Return a number, maybe in an array of no dimensions, as a float.

    Raises
    ------
    ValueError
        If it is no number, or not a finite one.
    """
    if type(value) is np.ndarray and value.ndim == 0:
        value = value[()]
    try:
        number = float(value) if isinstance(value, Real | Decimal) else math.nan
    except (OverflowError, ValueError):  # a huge integer, a decimal's signalling NaN
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{name} must be a finite number; got {readable_value(value)}.")
    return number


def _is_among(value: Any, nodes: Sequence[Hashable]) -> bool:
    try:
        return value in frozenset(nodes)
    except TypeError:  # what has no hash is no node
        return False
