"""Where to draw the nodes of a network: in layers, with few crossings."""

from __future__ import annotations

from collections.abc import Hashable

import networkx as nx

__all__ = ["layered_layout"]

_SWEEPS = 24


def layered_layout(dag: nx.DiGraph) -> dict[Hashable, tuple[float, float]]:
    """Return a position for each node, parents above their children.

    A node's layer is the length of the longest path to it. Within the layers the
    nodes are ordered by the mean position of their neighbours above and below in
    turn (Sugiyama, Tagawa & Toda 1981), and the order with the fewest crossings is
    kept.

    Parameters
    ----------
    dag : networkx.DiGraph
        Acyclic.

    Returns
    -------
    positions : dict of node to (x, y)
        Layers lie at y = 0, -1, ...; nodes of a layer are 1 apart and centred at 0.

    Examples
    --------
    >>> import networkx as nx
    >>> layered_layout(nx.DiGraph([("a", "b"), ("a", "c")]))
    {'a': (0.0, 0.0), 'b': (-0.5, -1.0), 'c': (0.5, -1.0)}
    """
    layers = [list(layer) for layer in nx.topological_generations(dag)]
    best = _positions(layers)
    fewest = _crossings(dag, best)
    for sweep in range(_SWEEPS):
        downwards = sweep % 2 == 0
        for layer in layers if downwards else reversed(layers):
            positions = _positions(layers)
            neighbours = dag.predecessors if downwards else dag.successors
            layer.sort(key=lambda node: _barycentre(node, neighbours, positions))
        positions = _positions(layers)
        crossings = _crossings(dag, positions)
        if crossings < fewest:
            best, fewest = positions, crossings
    return best


def _positions(layers: list[list[Hashable]]) -> dict[Hashable, tuple[float, float]]:
    return {
        node: (i - (len(layer) - 1) / 2, -float(depth))
        for depth, layer in enumerate(layers)
        for i, node in enumerate(layer)
    }


def _barycentre(node, neighbours, positions) -> float:  # type: ignore[no-untyped-def]
    around = [positions[other][0] for other in neighbours(node)]
    return sum(around) / len(around) if around else positions[node][0]


def _crossings(dag: nx.DiGraph, positions: dict[Hashable, tuple[float, float]]) -> int:
    """Count the pairs of edges whose straight lines cross."""
    lines = [(positions[a], positions[b]) for a, b in dag.edges]
    return sum(_cross(*lines[i], *lines[j]) for i in range(len(lines)) for j in range(i))


def _cross(
    a: tuple[float, float], b: tuple[float, float], c: tuple[float, float], d: tuple[float, float]
) -> bool:
    def side(p: tuple[float, float], q: tuple[float, float], r: tuple[float, float]) -> float:
        return (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])

    return side(a, b, c) * side(a, b, d) < 0 and side(c, d, a) * side(c, d, b) < 0
