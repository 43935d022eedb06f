"""How strong edges are, by standardised weights, and how sure, by probability or support."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import networkx as nx
import numpy as np

from skbn._core.arrays import Floats, finite_number
from skbn._core.graphs import LinearModel, is_parametrised
from skbn._core.text import readable_value
from skbn._displays.appearance import Edge

_NAMES = {"probability": "posterior probability", "support": "bootstrap support"}
_ROUNDING = 1e-9  # a probability may exceed 1 by this: sums of many shares are rounded


# Weights


class Strengths(NamedTuple):
    """How strong a network's edges are.

    Parameters
    ----------
    weights : dict of edge to float
        Each edge's weight, scaled by the standard deviations that the network implies. Empty
        for a graph without parameters; edges whose parent does not vary are left out.
    held : set of nodes
        The nodes that do not vary, because `do` holds them at a value.
    """

    weights: dict[Edge, float]
    held: set[Hashable]


def readable_weight(weight: float) -> str:
    """Return a standardised weight to two decimals, and zero without a sign.

    Examples
    --------
    >>> readable_weight(-0.126), readable_weight(-0.001)
    ('-0.13', '0.00')
    """
    return f"{round(weight, 2) + 0.0:.2f}"


def strengths_of(dag: nx.DiGraph) -> Strengths:
    """Return how strong a network's edges are.

    Raises
    ------
    ValueError
        If a parameter is missing, not a finite number or a negative variance, or if a mean or
        a variance is out of float64's range.
    """
    if not is_parametrised(dag):  # nodes of several columns have them for some edges
        known = dag.edges(data="standardised_weight")
        return Strengths({(a, b): float(w) for a, b, w in known if w is not None}, set())
    model = LinearModel.from_dag(dag)
    held = {v for v, own in zip(model.nodes, model.standard_deviations(), strict=True) if own == 0}
    return Strengths(model.standardised_weights(), held)


# Probabilities


def readable_probability(probability: float) -> str:
    """Return a probability to two decimals.

    Examples
    --------
    >>> readable_probability(0.8749), readable_probability(0.996)
    ('0.87', '1.00')
    """
    return f"{probability:.2f}"


class Confidence(NamedTuple):
    """How sure each edge is.

    Parameters
    ----------
    name : str
        What the numbers are: "posterior probability" or "bootstrap support".
    values : dict of edge to float
        From 0 to 1; empty if nothing is known.
    """

    name: str
    values: dict[Edge, float]


def confidence_in(graph: nx.DiGraph) -> Confidence:
    """Return the attribute `probability` of the edges, or else their attribute `support`.

    Raises
    ------
    ValueError
        If only some edges have it, or if it is not a number from 0 to 1.

    Examples
    --------
    >>> confidence_in(nx.DiGraph([("a", "b", {"support": 0.5})]))
    Confidence(name='bootstrap support', values={('a', 'b'): 0.5})
    """
    for attribute, name in _NAMES.items():
        given = nx.get_edge_attributes(graph, attribute)
        if not given:
            continue
        if missing := [edge for edge in graph.edges if edge not in given]:
            raise ValueError(
                f"The edge {_edge(*missing[0])} has no attribute {attribute}, but "
                f"{_edge(*next(iter(given)))} has one. Give it to all edges, or to none."
            )
        values = {edge: _probability(value, edge, attribute) for edge, value in given.items()}
        return Confidence(name, values)
    return Confidence("", {})


def probability_array(
    probabilities: Any, names: Sequence[Hashable] | None
) -> tuple[Floats, list[Any]]:
    """Return the probabilities of the edges i -> j, with NaN on the diagonal, and the names.

    Parameters
    ----------
    probabilities : array-like of shape (m, m) or data frame
        A data frame names its columns, and its rows in any order.
    names : sequence of m hashables or None
        None stands for the names in the data frame, or for 0 to m - 1.

    Raises
    ------
    ValueError
        If it is not square, or the names do not fit; if a value off the diagonal is not a number
        from 0 to 1.
    """
    try:
        values = np.array(probabilities, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"probabilities must be numbers; got {readable_value(probabilities)}. Give the "
            "probability of the edge i -> j at [i, j]."
        ) from None
    m = len(values) if values.ndim else 0
    if m == 0 or values.shape != (m, m):
        raise ValueError(
            f"probabilities must have shape (m, m), a row and a column for each node; got shape "
            f"{values.shape}."
        )
    columns = getattr(probabilities, "columns", None)
    if columns is not None:
        rows = [*getattr(probabilities, "index", columns)]
        columns = [*columns]
        if len({*columns}) < m or {*rows} != {*columns}:
            raise ValueError(
                "The rows and columns of probabilities must have the same names, each once; got "
                f"{readable_value(rows)} and {readable_value(columns)}."
            )
        values = values[[rows.index(name) for name in columns]]
    if names is None:
        names = range(m) if columns is None else columns
    names = list(names)
    if len(names) != m or len({*names}) < m:
        raise ValueError(
            f"names must have a different name for each of the {m} columns; got "
            f"{readable_value(names)}."
        )
    np.fill_diagonal(values, 0.0)
    wrong = ~((values >= -_ROUNDING) & (values <= 1 + _ROUNDING))
    for i, j in np.argwhere(wrong):
        _probability(values[i, j], (names[i], names[j]))  # raises
    values = values.clip(0.0, 1.0)
    np.fill_diagonal(values, np.nan)
    return values, names


def joined_probabilities(values: Floats, names: Sequence[Hashable]) -> Floats:
    """Return the probabilities that two nodes are joined by an edge of either direction.

    A network has no edges of both directions, so these are the sums.

    Raises
    ------
    ValueError
        If one exceeds 1.

    Examples
    --------
    >>> joined_probabilities(np.array([[np.nan, 0.25], [0.5, np.nan]]), ["a", "b"])
    array([[ nan, 0.75],
           [0.75,  nan]])
    """
    sums = values + values.T
    for i, j in np.argwhere(sums > 1 + _ROUNDING):
        raise ValueError(
            f"The probabilities of edges {_edge(names[i], names[j])} and "
            f"{_edge(names[j], names[i])} exceed 1 in sum: {values[i, j]:.3g} and "
            f"{values[j, i]:.3g}. A network has one of them at most."
        )
    return np.minimum(sums, 1.0)


def _probability(value: Any, edge: Edge, attribute: str = "probability") -> float:
    """Return the probability of an edge as a float, or raise a ValueError that names the edge."""
    name = f"The {attribute} of edge {_edge(*edge)}"
    number = finite_number(value, name)
    if not -_ROUNDING <= number <= 1 + _ROUNDING:
        raise ValueError(f"{name} must be from 0 to 1; got {readable_value(value)}.")
    return min(max(number, 0.0), 1.0)


def _edge(parent: Hashable, child: Hashable) -> str:
    return f"{parent!r} -> {child!r}"
