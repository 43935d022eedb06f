"""Standardised weights: how strong edges are, whatever the columns' units."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np

from skbn._networks._gaussian import LinearGaussianModel, is_parametrised

__all__ = ["standardised_weights"]


def standardised_weights(dag: nx.DiGraph) -> dict[tuple[Any, Any], float]:
    """Return each edge's weight in units of the standard deviations that the network implies.

    None without parameters, and none of an edge whose parent does not vary, as `do` holds it.

    Raises
    ------
    ValueError
        If a parameter is missing, no finite number or a negative variance, or if a mean or
        a variance is out of float64's range.
    """
    if not is_parametrised(dag):
        return {}
    model = LinearGaussianModel.from_dag(dag)
    deviation = model.standard_deviations()
    with np.errstate(over="ignore"):
        weights = (
            model.coef * deviation[:, np.newaxis] / np.where(deviation == 0, np.inf, deviation)
        )
    index = {node: i for i, node in enumerate(dag)}
    varies = {node: deviation[i] > 0 for node, i in index.items()}
    return {(a, b): float(weights[index[a], index[b]]) for a, b in dag.edges if varies[a]}
