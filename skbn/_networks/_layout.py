"""Where to draw a network: nodes in layers, edges between them, with few crossings."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import pairwise
from typing import NamedTuple

import networkx as nx

__all__ = ["Layout", "Point", "layered_layout"]

_SWEEPS = 24

Point = tuple[float, float]


class Layout(NamedTuple):
    """Positions of nodes, and the points that each edge passes.

    Parameters
    ----------
    positions : dict of node to (x, y)
        Layers lie at y = 0, -1, ...; what lies in a layer is 1 apart, centred at 0.
    routes : dict of edge to list of (x, y)
        From the parent's position to the child's, one point a layer.
    """

    positions: dict[Hashable, Point]
    routes: dict[tuple[Hashable, Hashable], list[Point]]


def layered_layout(dag: nx.DiGraph) -> Layout:
    """Lay a network out from top to bottom, parents above their children.

    A node's layer is the length of the longest path to it. An edge takes a place of
    its own in each layer that it passes. The layers are ordered by the mean position
    of the neighbours above and below in turn, and the order with the fewest
    crossings is kept (Sugiyama, Tagawa & Toda 1981).

    Parameters
    ----------
    dag : networkx.DiGraph
        Acyclic.

    Examples
    --------
    >>> import networkx as nx
    >>> layered_layout(nx.DiGraph([("a", "b"), ("a", "c")])).positions
    {'a': (0.0, 0.0), 'b': (-0.5, -1.0), 'c': (0.5, -1.0)}
    """
    chains = nx.DiGraph()  # each edge as a chain of places from layer to layer
    depth: dict[Hashable, int] = {}
    for layer, nodes in enumerate(nx.topological_generations(dag)):
        depth.update(dict.fromkeys(nodes, layer))
    chains.add_nodes_from(("node", node) for node in dag)
    paths = {}
    for parent, child in dag.edges:
        between = [("edge", parent, child, d) for d in range(depth[parent] + 1, depth[child])]
        paths[parent, child] = [("node", parent), *between, ("node", child)]
        nx.add_path(chains, paths[parent, child])
    places = _order_layers(chains, {("node", node): depth[node] for node in dag})
    return Layout(
        {node: places["node", node] for node in dag},
        {edge: [places[place] for place in path] for edge, path in paths.items()},
    )


def _order_layers(chains: nx.DiGraph, depth: dict[Hashable, int]) -> dict[Hashable, Point]:
    layers: list[list[Hashable]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for place in chains:
        layers[depth[place] if place in depth else place[3]].append(place)
    best = _positions(layers)
    fewest = _crossings(chains, layers, best)
    for sweep in range(_SWEEPS):
        downwards = sweep % 2 == 0
        for layer in layers if downwards else reversed(layers):
            around = chains.pred if downwards else chains.succ
            positions = _positions(layers)
            centres = {
                place: sum(positions[other][0] for other in around[place]) / len(around[place])
                if around[place]
                else positions[place][0]
                for place in layer
            }
            layer.sort(key=centres.__getitem__)
        positions = _positions(layers)
        crossings = _crossings(chains, layers, positions)
        if crossings < fewest:
            best, fewest = positions, crossings
    return best


def _positions(layers: list[list[Hashable]]) -> dict[Hashable, Point]:
    return {
        place: (i - (len(layer) - 1) / 2, 0.0 - depth)
        for depth, layer in enumerate(layers)
        for i, place in enumerate(layer)
    }


def _crossings(
    chains: nx.DiGraph, layers: list[list[Hashable]], positions: dict[Hashable, Point]
) -> int:
    """Count the pairs of links that cross between neighbouring layers."""
    count = 0
    for upper, _ in pairwise(layers):
        links = [(positions[a][0], positions[b][0]) for a in upper for b in chains.succ[a]]
        count += sum((a - c) * (b - d) < 0 for i, (a, b) in enumerate(links) for c, d in links[:i])
    return count
