"""Which nodes and edges of a picture are marked, and which are faint."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

import networkx as nx

from skbn._displays.appearance import Edge
from skbn._displays.plot_options import chosen_nodes, no_such_node

__all__ = ["Emphasis", "emphasis_on"]


class Emphasis(NamedTuple):
    """Which nodes are marked. With a centre, all but its Markov blanket is faint.

    Parameters
    ----------
    chosen, blanket : set of nodes
    edges : set of edges
        Those that make nodes members of the blanket.
    centre : node or None
    """

    chosen: set[Hashable]
    blanket: set[Hashable]
    edges: set[Edge]
    centre: Hashable | None


def emphasis_on(dag: nx.DiGraph, highlight: Any, centre: Any) -> Emphasis:
    """Return which nodes to mark; raise a ValueError if there is no such node."""
    chosen = [] if highlight is None else chosen_nodes(dag, highlight, "highlight")
    if centre is None:
        return Emphasis({*chosen}, set(), set(), None)
    if centre not in dag:
        raise ValueError(f"markov_blanket: {no_such_node(dag, centre)}")
    edges = {(a, b) for a, b in dag.edges if _makes_blanket(dag, a, b, centre)}
    members = {node for edge in edges for node in edge}
    return Emphasis({*chosen, centre}, members - {centre}, edges, centre)


def _makes_blanket(dag: nx.DiGraph, parent: Hashable, child: Hashable, centre: Hashable) -> bool:
    """Whether an edge makes its ends members of a node's Markov blanket.

    In a CPDAG only directed edges lead to a child's other parents. If these are not neighbours of
    the node, all networks of the class share them.
    """
    if centre in (parent, child):
        return True
    return (
        dag.has_edge(centre, child)
        and not dag.edges[centre, child].get("undirected")
        and not dag.edges[parent, child].get("undirected")
    )
