"""In which layer to draw each node: every parent above its children."""

from __future__ import annotations

from collections.abc import Sequence

import networkx as nx

__all__ = ["shortest_layers"]

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
    closure, agenda = {"source"}, ["source"]
    while agenda:
        for node, arc in residual[agenda.pop()].items():
            if arc["flow"] < arc["capacity"] and node not in closure:
                closure.add(node)
                agenda.append(node)
    return closure - {"source"}
