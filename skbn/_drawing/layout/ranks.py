"""The layer of each node, with every parent above its children."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

import numpy as np
from scipy.optimize import linprog

__all__ = ["shortest_layers", "split_wide_layers"]

Edge = tuple[int, int]


def shortest_layers(n_nodes: int, edges: Sequence[Edge]) -> list[int]:
    """Choose layers, numbered from the top, that make the edges as short as possible in total.

    This is a linear program whose vertices are integer, because each constraint compares two
    nodes. Of all optima it takes the one with the nodes as high as possible, which is unique.
    """
    incidence = np.zeros((len(edges), n_nodes))
    for row, (parent, child) in zip(incidence, edges, strict=True):
        row[parent], row[child] = -1, 1
    # The layers add up to less than n_nodes**2, so they only decide between equal lengths.
    cost = n_nodes**2 * incidence.sum(axis=0) + 1
    found = linprog(cost, A_ub=-incidence, b_ub=-np.ones(len(edges)))
    return [round(layer) for layer in found.x.tolist()]


def split_wide_layers(
    layers: Sequence[int], edges: Sequence[Edge], widths: Sequence[float], widest: float
) -> list[int]:
    """Split layers whose nodes are wider than allowed, and move the layers below down.

    Within a layer, nodes without children go to the top, and nodes without parents to the bottom.
    """
    parents, children = {a for a, _ in edges}, {b for _, b in edges}
    split = [0] * len(layers)
    first = 0
    for layer in range(max(layers) + 1):
        nodes = [node for node, its_layer in enumerate(layers) if its_layer == layer]
        nodes.sort(key=lambda node: (node in parents) - (node in children))
        n_rows = ceil(sum(widths[node] for node in nodes) / widest)
        n_rows = max(1, min(n_rows, len(nodes)))
        for i, node in enumerate(nodes):
            split[node] = first + i * n_rows // len(nodes)
        first += n_rows
    return split
