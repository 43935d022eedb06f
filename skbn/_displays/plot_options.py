"""Options of `NetworkDisplay.plot`, as users give them, checked and read."""

from __future__ import annotations

from collections.abc import Collection, Container, Hashable, Mapping
from typing import Any, NamedTuple, Self, TypedDict

import networkx as nx

from skbn._core.columns import by_label, column_number, finite_number, is_labelled
from skbn._core.text import readable_name, readable_value
from skbn._displays.appearance import Edge
from skbn._displays.layout.curves import Point

__all__ = [
    "Bands",
    "Emphasis",
    "PlotOptions",
    "bands_of",
    "checked_font_size",
    "checked_legend",
    "checked_orientation",
    "checked_size",
    "emphasis_on",
    "lanes_of",
    "names_of",
    "places_of",
    "shown_part",
]


class PlotOptions(TypedDict, total=False):
    """The options that other methods hand on to `NetworkDisplay.plot`, which describes them."""

    figsize: Any
    orientation: str
    pos: Any
    tiers: Any
    lanes: Any
    node_color: Any
    edge_label: Any
    highlight: Any
    markov_blanket: Any
    nodes: Any
    hide_isolated: bool
    labels: Any
    legend: bool | str
    min_font_size: float


# Nodes and edges to show


def _no_such_node(dag: nx.DiGraph, node: Any) -> str:
    """Return what to say of a node that a graph does not have."""
    return f"there is no node {readable_value(node)}; the nodes are {readable_value(list(dag))}."


def _chosen_nodes(dag: nx.DiGraph, nodes: Any, option: str) -> list[Hashable]:
    """Return one node, or the nodes of a list, as a list; raise a ValueError of unknown ones."""
    is_one = nodes in dag or isinstance(nodes, str | bytes)
    try:
        named = [nodes] if is_one else list(nodes)
    except TypeError:  # neither a node nor a list
        named = [nodes]
    for node in named:
        if node not in dag:
            raise ValueError(f"{option}: {_no_such_node(dag, node)}")
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
        chosen = {*_chosen_nodes(dag, nodes, "nodes")}
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
    chosen = [] if highlight is None else _chosen_nodes(dag, highlight, "highlight")
    if centre is None:
        return Emphasis({*chosen}, set(), set(), None)
    if centre not in dag:
        raise ValueError(f"markov_blanket: {_no_such_node(dag, centre)}")
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


# Names, sizes and places


def names_of(dag: nx.DiGraph, labels: Any) -> dict[Hashable, str]:
    """Return the labels of nodes that have one; that of a category has the number of levels.

    Raises
    ------
    TypeError
        If `labels` is not a mapping.
    ValueError
        If it names nodes that do not exist.
    """
    of_categories = {
        node: f"{readable_name(node)} ({len(levels)} levels)"
        for node, levels in dag.nodes(data="levels")
        if levels
    }
    if labels is None:
        return of_categories
    if not is_labelled(labels):
        raise TypeError(f"labels must be a dict of node to text; got {type(labels).__name__}.")
    names = by_label(labels, "labels", "node")
    unknown = [node for node in names if node not in dag]
    if unknown:
        raise ValueError(
            f"labels: there are no nodes {readable_value(unknown)}; the nodes are "
            f"{readable_value(list(dag))}."
        )
    return of_categories | {node: str(name) for node, name in names.items()}


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


def checked_font_size(min_font_size: Any) -> float:
    """Return the size of the smallest text in points, which is not negative."""
    size = finite_number(min_font_size, "min_font_size")
    if size < 0:
        raise ValueError(f"min_font_size must not be negative; got {min_font_size}.")
    return size


def checked_orientation(orientation: Any) -> bool:
    """Return whether parents stand left of their children."""
    if not isinstance(orientation, str) or orientation not in ("top-bottom", "left-right"):
        raise ValueError(
            f"orientation must be 'top-bottom' or 'left-right'; got {readable_value(orientation)}."
        )
    return orientation == "left-right"


def checked_legend(legend: Any, ax: Any) -> bool:
    """Return whether to draw a legend, by default if there are no axes yet."""
    if isinstance(legend, str) and legend == "auto":
        return ax is None
    if not isinstance(legend, bool):
        raise ValueError(f"legend must be True, False or 'auto'; got {readable_value(legend)}.")
    return legend


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
            raise ValueError(f"pos: {_no_such_node(dag, node)}")
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


# Tiers and lanes


class Bands(NamedTuple):
    """The bands of a picture, numbered from 0.

    Parameters
    ----------
    band_of : dict of node to int
    titles : dict of int to str
    """

    band_of: dict[Hashable, int]
    titles: dict[int, str]

    def of(self, nodes: Container[Hashable]) -> Self:
        """Return the bands of some nodes, without bands that hold none of them."""
        band_of = {node: band for node, band in self.band_of.items() if node in nodes}
        used = sorted({*band_of.values()})
        return self._replace(
            band_of={node: used.index(band) for node, band in band_of.items()},
            titles={i: self.titles[band] for i, band in enumerate(used)},
        )


def bands_of(dag: nx.DiGraph, tiers: Any) -> Bands:
    """Return the bands of tiers: a list of lists of nodes, or a dict of title to list.

    Nodes are given by name or number, and `...` stands for all that are not named.

    Raises
    ------
    TypeError
        If `tiers` is something else.
    ValueError
        If a node is unknown, in no tier or in two, or an edge leads to an earlier tier.

    Examples
    --------
    >>> dag = nx.DiGraph([("a", "b"), ("a", "c")])
    >>> bands_of(dag, {"before": ["a"], "after": ...})
    Bands(band_of={'a': 0, 'b': 1, 'c': 1}, titles={0: 'before', 1: 'after'})
    """
    if isinstance(tiers, str) or not isinstance(tiers, Collection):
        raise TypeError(
            "tiers must be a list of lists of nodes, or a dict of title to list; got "
            f"{readable_value(tiers)}."
        )
    if isinstance(tiers, Mapping):
        titles, groups = [str(title) for title in tiers], list(tiers.values())
    else:
        titles, groups = [f"tier {i + 1}" for i in range(len(tiers))], list(tiers)
    nodes = list(dag)
    named = _numbers_of_named(nodes, groups, "tiers")
    rest = next((number for number, group in enumerate(groups) if group is ...), None)
    missing = [node for node in nodes if node not in named]
    if missing and rest is None:
        raise ValueError(
            f"tiers: the nodes {readable_value(missing)} are in no tier; add each to one, or add "
            "the tier `...`, which stands for all nodes that are not named."
        )
    numbers = {node: named.get(node, rest or 0) for node in nodes}
    for a, b in dag.edges:
        if numbers[a] > numbers[b]:
            raise ValueError(
                f"tiers: the edge {a!r} -> {b!r} leads from {titles[numbers[a]]!r} back to "
                f"{titles[numbers[b]]!r}. Give the tiers in the order of the edges."
            )
    used = sorted({*numbers.values()})  # a tier may be empty
    return Bands(
        {node: used.index(numbers[node]) for node in nodes},
        {band: titles[number] for band, number in enumerate(used)},
    )


def lanes_of(
    dag: nx.DiGraph, lanes: Any, bands: Bands | None, shown: Container[Hashable]
) -> dict[Hashable, int] | None:
    """Return the lanes of the nodes that are shown, numbered from 0; None without lanes.

    Raises
    ------
    TypeError
        If `lanes` is neither None nor a list of lists of nodes.
    ValueError
        If there are no bands; if a node is unknown, in no lane or in two, or shares its lane with
        another of its band.

    Examples
    --------
    >>> dag = nx.DiGraph([("a", "b"), ("c", "b")])
    >>> lanes_of(dag, [["c"], ["a", "b"]], bands_of(dag, [["a", "c"], ["b"]]), dag)
    {'a': 1, 'b': 1, 'c': 0}
    """
    if lanes is None:
        return None
    if isinstance(lanes, str | Mapping) or not isinstance(lanes, Collection):
        raise TypeError(f"lanes must be a list of lists of nodes; got {readable_value(lanes)}.")
    if bands is None:
        raise ValueError("lanes need tiers, which they run across; give tiers, too.")
    nodes = list(dag)
    lane_of = _numbers_of_named(nodes, list(lanes), "lanes")
    missing = [node for node in nodes if node not in lane_of]
    if missing:
        raise ValueError(
            f"lanes: the nodes {readable_value(missing)} are in no lane; add each to one."
        )
    first: dict[tuple[int, int], Hashable] = {}
    for node in nodes:
        place = lane_of[node], bands.band_of[node]
        if place in first:
            raise ValueError(
                f"lanes: the nodes {readable_value(first[place])} and {readable_value(node)} are "
                f"in one lane and in one tier, {bands.titles[place[1]]!r}. Give one of them a lane "
                "of its own."
            )
        first[place] = node
    used = sorted({lane_of[node] for node in nodes if node in shown})
    return {node: used.index(lane_of[node]) for node in nodes if node in shown}


def _numbers_of_named(nodes: list[Any], groups: list[Any], option: str) -> dict[Hashable, int]:
    """Return the number of the group of each node that is named in one."""
    named: dict[Hashable, int] = {}
    for number, group in enumerate(groups):
        if group is ...:
            continue
        if isinstance(group, str) or not isinstance(group, Collection):
            raise TypeError(f"{option} must be lists of nodes; one is {readable_value(group)}.")
        for each in group:
            node = each if each in nodes else nodes[column_number(nodes, each)]
            if node in named:
                raise ValueError(f"{option}: the node {readable_value(node)} is given twice.")
            named[node] = number
    return named
