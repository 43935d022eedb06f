"""Standardised weights: how strong edges are, independently of the columns' units."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

import networkx as nx
import numpy as np

from skbn._core.linear_model import LinearModel, is_parametrised
from skbn._displays.appearance import Edge

__all__ = ["Strengths", "readable_weight", "strengths_of"]


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
    if not is_parametrised(dag):
        return Strengths({}, set())
    model = LinearModel.from_dag(dag)
    deviation = model.standard_deviations()
    with np.errstate(over="ignore"):
        weights = (
            model.coef * deviation[:, np.newaxis] / np.where(deviation == 0, np.inf, deviation)
        )
    index = {node: i for i, node in enumerate(dag)}
    held = {node for node, i in index.items() if deviation[i] == 0}
    edges = [(a, b) for a, b in dag.edges if a not in held]
    return Strengths({(a, b): float(weights[index[a], index[b]]) for a, b in edges}, held)
