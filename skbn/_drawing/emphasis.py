"""Which nodes of a picture are marked, and what is faint beside them."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

import networkx as nx

from skbn._core.text import readable_value

__all__ = ["NO_EMPHASIS", "Emphasis", "emphasis_on", "makes_blanket"]


class Emphasis(NamedTuple):
    """Which nodes are marked.

    Parameters
    ----------
    chosen, blanket : set of nodes
    centre : node or None
        Whose Markov blanket it is; then all else is faint.
    """

    chosen: set[Hashable]
    blanket: set[Hashable]
    centre: Hashable | None


NO_EMPHASIS = Emphasis(set(), set(), None)


def emphasis_on(dag: nx.DiGraph, highlight: Any, centre: Any) -> Emphasis:
    """Return what is to be marked.

    Parameters
    ----------
    dag : networkx.DiGraph
    highlight : node, list of nodes or None
    centre : node or None

    Raises
    ------
    ValueError
        If there is no such node.
    """
    chosen = [] if highlight is None else _nodes(dag, highlight)
    if centre is None:
        return Emphasis(set(chosen), set(), None)
    if centre not in dag:
        raise ValueError(f"markov_blanket: {_no_such_node(dag, centre)}")
    edges = [(a, b) for a, b in dag.edges if makes_blanket(dag, a, b, centre)]
    members = {node for edge in edges for node in edge}
    return Emphasis({*chosen, centre}, members - {centre}, centre)


def makes_blanket(dag: nx.DiGraph, parent: Hashable, child: Hashable, centre: Hashable) -> bool:
    """Whether an edge makes its ends members of a node's Markov blanket.

    In a CPDAG an undirected edge joins neighbours, and only directed ones a child's other
    parents: of nodes that are not neighbours, all networks of the class have these alike.
    """
    if centre in (parent, child):
        return True
    return (
        dag.has_edge(centre, child)
        and not dag.edges[centre, child].get("undirected")
        and not dag.edges[parent, child].get("undirected")
    )


def _nodes(dag: nx.DiGraph, highlight: Any) -> list[Hashable]:
    """Return the node or the nodes that are meant."""
    is_one = highlight in dag or isinstance(highlight, str | bytes)
    try:
        nodes = [highlight] if is_one else list(highlight)
    except TypeError:  # nothing that could be a list
        nodes = [highlight]
    for node in nodes:
        if node not in dag:
            raise ValueError(f"highlight: {_no_such_node(dag, node)}")
    return nodes


def _no_such_node(dag: nx.DiGraph, node: Any) -> str:
    return f"there is no node {readable_value(node)}; the nodes are {readable_value(list(dag))}."
