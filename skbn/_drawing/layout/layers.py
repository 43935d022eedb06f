"""In which layer to draw each node: every parent above its children."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import ceil

import networkx as nx

__all__ = ["shortest_layers", "split_wide_layers"]

Edge = tuple[int, int]


def shortest_layers(n_nodes: int, edges: Sequence[Edge]) -> list[int]:
    """Give the layers, counted from the top, that make the edges shortest in total.

    From the highest layers possible, whole sets of nodes are moved down by one as long as
    this shortens the edges. The total length is an L-natural-convex function of the layers:
    where no set leads down, it is least. The best set is a closure of greatest gain, which a
    minimal cut finds (Picard 1976).
    """
    layers = _highest_layers(n_nodes, edges)
    gains = [0] * n_nodes
    for parent, child in edges:
        gains[parent] += 1
        gains[child] -= 1
    while moved := _best_closure(gains, [(a, b) for a, b in edges if layers[b] == layers[a] + 1]):
        for node in moved:
            layers[node] += 1
    return layers


def split_wide_layers(
    layers: Sequence[int], edges: Sequence[Edge], widths: Sequence[float], widest: float
) -> list[int]:
    """Split layers whose nodes are wider than allowed, and move those below down.

    Nodes without children come above the others of their layer, nodes without parents below.
    """
    parents, children = {a for a, _ in edges}, {b for _, b in edges}
    split = [0] * len(layers)
    first = 0
    for layer in range(max(layers) + 1):
        nodes = [node for node, of_node in enumerate(layers) if of_node == layer]
        nodes.sort(key=lambda node: (node in parents) - (node in children))
        n_rows = ceil(sum(widths[node] for node in nodes) / widest)
        n_rows = max(1, min(n_rows, len(nodes)))
        for i, node in enumerate(nodes):
            split[node] = first + i * n_rows // len(nodes)
        first += n_rows
    return split


def _highest_layers(n_nodes: int, edges: Sequence[Edge]) -> list[int]:
    dag = nx.DiGraph()
    dag.add_nodes_from(range(n_nodes))
    dag.add_edges_from(edges)
    layers = [0] * n_nodes
    for layer, nodes in enumerate(nx.topological_generations(dag)):
        for node in nodes:
            layers[node] = layer
    return layers


def _best_closure(gains: Sequence[int], implications: Sequence[Edge]) -> set[int]:
    """Find the smallest set of greatest positive gain that has b if it has a, for all (a, b)."""
    flow = nx.DiGraph()
    flow.add_nodes_from(["source", "sink"])
    for node, gain in enumerate(gains):
        if gain > 0:
            flow.add_edge("source", node, capacity=gain)
        elif gain < 0:
            flow.add_edge(node, "sink", capacity=-gain)
    flow.add_edges_from(implications)  # of infinite capacity
    residual = nx.algorithms.flow.shortest_augmenting_path(flow, "source", "sink")
    closure: set[Hashable] = {"source"}
    agenda: list[Hashable] = ["source"]
    while agenda:
        for node, arc in residual[agenda.pop()].items():
            if arc["flow"] < arc["capacity"] and node not in closure:
                closure.add(node)
                agenda.append(node)
    return {node for node in range(len(gains)) if node in closure}
