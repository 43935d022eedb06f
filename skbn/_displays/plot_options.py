"""Options of `plot`, as users give them, checked: sizes, places, nodes to show, their names."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from typing import Any

import networkx as nx

from skbn._core.columns import by_label, finite_number, is_labelled
from skbn._core.text import readable_value
from skbn._displays.layout.curves import Point

__all__ = [
    "checked_size",
    "chosen_nodes",
    "names_of",
    "no_such_node",
    "places_of",
    "shown_part",
]


def no_such_node(dag: nx.DiGraph, node: Any) -> str:
    """Return what to say of a node that a graph does not have."""
    return f"there is no node {readable_value(node)}; the nodes are {readable_value(list(dag))}."


def chosen_nodes(dag: nx.DiGraph, nodes: Any, option: str) -> list[Hashable]:
    """Return one node, or the nodes of a list, as a list; raise a ValueError of unknown ones."""
    is_one = nodes in dag or isinstance(nodes, str | bytes)
    try:
        named = [nodes] if is_one else list(nodes)
    except TypeError:  # neither a node nor a list
        named = [nodes]
    for node in named:
        if node not in dag:
            raise ValueError(f"{option}: {no_such_node(dag, node)}")
    return named


def shown_part(dag: nx.DiGraph, nodes: Any, hide_isolated: Any) -> nx.DiGraph:
    """Return the part of a graph to show, with nodes and edges in their order.

    Raises
    ------
    ValueError
        If there is no such node, or none is left.
    TypeError
        If `hide_isolated` is not a bool.

    Examples
    --------
    >>> dag = nx.DiGraph([("a", "b"), ("b", "c")])
    >>> list(shown_part(dag, ["c", "a", "b"], False)), list(shown_part(dag, ["a", "c"], False))
    (['a', 'b', 'c'], ['a', 'c'])
    """
    if not isinstance(hide_isolated, bool):
        raise TypeError(
            f"hide_isolated must be True or False; got {readable_value(hide_isolated)}."
        )
    shown = dag
    if nodes is not None:
        chosen = {*chosen_nodes(dag, nodes, "nodes")}
        if not chosen:
            raise ValueError("nodes must have at least one node; leave it out to draw all.")
        shown = dag.subgraph(chosen)
    if hide_isolated:
        connected = [node for node in shown if shown.degree(node)]
        if not connected:
            raise ValueError(
                "hide_isolated=True leaves nothing to draw: no edge joins the nodes. Leave it out."
            )
        shown = dag.subgraph(connected)
    part = nx.DiGraph()
    part.add_nodes_from((v, data) for v, data in dag.nodes(data=True) if v in shown)
    part.add_edges_from(
        (a, b, data) for a, b, data in dag.edges(data=True) if (a, b) in shown.edges
    )
    return part


def names_of(dag: nx.DiGraph, labels: Any) -> dict[Hashable, str]:
    """Return what nodes are to be called, of those that have a label.

    Raises
    ------
    TypeError
        If `labels` is not a mapping.
    ValueError
        If it names nodes that do not exist.
    """
    if labels is None:
        return {}
    if not is_labelled(labels):
        raise TypeError(f"labels must be a dict of node to text; got {type(labels).__name__}.")
    names = by_label(labels, "labels", "node")
    unknown = [node for node in names if node not in dag]
    if unknown:
        raise ValueError(
            f"labels: there are no nodes {readable_value(unknown)}; the nodes are "
            f"{readable_value(list(dag))}."
        )
    return {node: str(name) for node, name in names.items()}


def checked_size(figsize: Any, ax: Any) -> tuple[float, float | None] | None:
    """Return a figure's width and height in inches; the height may be None."""
    if figsize is None:
        return None
    if ax is not None:
        raise ValueError("figsize is the size of a new figure; leave it out, or leave ax out.")
    if isinstance(figsize, str) or not hasattr(figsize, "__len__") or len(figsize) != 2:
        raise ValueError(
            "figsize must be (width, height) in inches, or (width, None); got "
            f"{readable_value(figsize)}."
        )
    width = finite_number(figsize[0], "The width in figsize")
    height = None if figsize[1] is None else finite_number(figsize[1], "The height in figsize")
    if width <= 0 or (height is not None and height <= 0):
        raise ValueError(f"figsize must be positive; got {readable_value(figsize)}.")
    return width, height


def places_of(
    dag: nx.DiGraph, pos: Any, shown: Collection[Hashable]
) -> Mapping[Hashable, Point] | None:
    """Return the places of the nodes that are shown, checked; of others there may be none."""
    if pos is None:
        return None
    if not is_labelled(pos):
        raise TypeError(f"pos must be a dict of node to (x, y); got {type(pos).__name__}.")
    given = by_label(pos, "pos", "node")
    for node in given:
        if node not in dag:
            raise ValueError(f"pos: {no_such_node(dag, node)}")
    places: dict[Hashable, Point] = {}
    for node in shown:
        if node not in given:
            raise ValueError(f"pos has no place for the node {readable_value(node)}; add it.")
        place = given[node]
        if isinstance(place, str) or not hasattr(place, "__len__") or len(place) != 2:
            raise ValueError(
                f"pos: the place of node {readable_value(node)} must be (x, y); got "
                f"{readable_value(place)}."
            )
        x, y = (finite_number(each, f"pos: x and y of node {node!r}") for each in place)
        if (x, y) in places.values():
            other = next(each for each, there in places.items() if there == (x, y))
            raise ValueError(
                f"pos: the nodes {readable_value(other)} and {readable_value(node)} have the same "
                "place; move one."
            )
        places[node] = x, y
    return places
