"""Options of `NetworkDisplay.plot`, as users give them, checked and read; the colours of nodes."""

import math
from collections.abc import Collection, Container, Hashable, Mapping, Set
from numbers import Real
from types import MappingProxyType
from typing import Any, NamedTuple, Self, TypedDict

import networkx as nx
import numpy as np

from skbn._core.arrays import finite_number
from skbn._core.columns import by_label, is_labelled, is_missing, reject_unknown, tier_numbers
from skbn._core.text import must_be, readable_name, readable_value
from skbn._displays.appearance import Edge
from skbn._displays.labels import printable
from skbn._displays.layout.coordinates import Point


class PlotOptions(TypedDict, total=False):
    """The options that other methods hand on to `NetworkDisplay.plot`, which describes them."""

    figsize: Any
    orientation: str
    pos: Any
    tiers: Any
    node_color: Any
    edge_label: Any
    highlight: Any
    only: Any


# Nodes and edges to show


def chosen_parts(dag: nx.DiGraph, given: Any, option: str) -> tuple[set[Hashable], set[Edge]]:
    """Return the nodes and the edges of a list, or of one; raise a ValueError of unknown ones."""
    nodes, edges = set[Hashable](), set[Edge]()
    try:
        is_one = given in dag or isinstance(given, str | bytes)
        given = given.to_numpy() if hasattr(given, "to_numpy") else given  # of a data frame too
        named = [given] if is_one else list(given.tolist() if hasattr(given, "tolist") else given)
    except TypeError:  # nothing of the kind
        named = [given]
    for each in named:
        is_pair = isinstance(each, list | tuple) and len(each) == 2
        if each in dag:
            nodes.add(each)
        elif is_pair and dag.has_edge(*each):
            edges.add((each[0], each[1]))
        elif is_pair and dag.has_edge(*each[::-1]) and dag.edges[each[::-1]].get("undirected"):
            edges.add((each[1], each[0]))
        else:
            raise ValueError(
                f"{option}: there is no {'edge' if is_pair else 'node'} {readable_value(each)}; "
                f"the nodes are {readable_value(list(dag))}, and an edge is a pair (parent, child)."
            )
    return nodes, edges


def shown_part(dag: nx.DiGraph, only: Any) -> nx.DiGraph:
    """Return the part of a graph to show, with nodes and edges in their order.

    >>> dag = nx.DiGraph(["ab", "bc", "ac"])
    >>> list(shown_part(dag, ["c", "a"]).edges), list(shown_part(dag, [("a", "b"), "c"]).edges)
    ([('a', 'c')], [('a', 'b')])
    """
    nodes, edges = ({*dag}, set()) if only is None else chosen_parts(dag, only, "only")
    nodes |= {node for edge in edges for node in edge}
    if not nodes:
        raise ValueError("only must name a node or an edge; leave it out to draw all.")
    part = nx.DiGraph()
    part.add_nodes_from((v, data) for v, data in dag.nodes(data=True) if v in nodes)
    kept = edges or dag.subgraph(nodes).edges
    part.add_edges_from((a, b, data) for a, b, data in dag.edges(data=True) if (a, b) in kept)
    return part


def notes_of(dag: nx.DiGraph, shown: nx.DiGraph) -> list[str]:
    """Return what to write below a picture: how directions were found, and which edges it lacks."""
    n = dag.subgraph(shown).number_of_edges()
    n_left_out = n - shown.number_of_edges()
    notes = [f"directions {dag.graph['directions']}"] if "directions" in dag.graph else []
    return notes + [f"{n_left_out} of {n} edges not shown"] * (n_left_out > 0)


class Emphasis(NamedTuple):
    """Which nodes and edges are drawn strong; if there are chosen nodes, all others are faint."""

    chosen: Set[Hashable] = frozenset()  # the nodes to mark
    beside: Set[Hashable] = frozenset()  # the other ends of strong edges
    edges: Set[Edge] = frozenset()


def emphasis_on(dag: nx.DiGraph, shown: nx.DiGraph, highlight: Any) -> Emphasis:
    """Return what to draw strong: nodes with their shown edges, and edges with their ends."""
    chosen, edges = chosen_parts(dag, [] if highlight is None else highlight, "highlight")
    ends = {node for edge in edges for node in edge}
    edges |= {(a, b) for a, b in shown.edges if a in chosen or b in chosen}
    chosen |= ends
    return Emphasis(chosen, {node for edge in edges for node in edge} - chosen, edges)


# Names, sizes and places


def names_of_categories(dag: nx.DiGraph) -> dict[Hashable, str]:
    """Return the names of categories with the number of their levels.

    With two levels, the name begins with the level that the signs of its edges are for.
    """
    return {
        node: f"{data.get('level', readable_name(node))} ({data['levels']} levels)"
        for node, data in dag.nodes(data=True)
        if "levels" in data
    }


def checked_size(figsize: Any, ax: Any) -> tuple[float, float | None] | None:
    """Return a figure's width and height in inches; the height may be None."""
    if figsize is None:
        return None
    if ax is not None:
        raise ValueError("figsize is the size of a new figure; leave it out, or leave ax out.")
    if isinstance(figsize, str) or not hasattr(figsize, "__len__") or len(figsize) != 2:
        raise ValueError(must_be("figsize", "(width, height) in inches, or (width, None)", figsize))
    width = finite_number(figsize[0], "The width in figsize")
    height = None if figsize[1] is None else finite_number(figsize[1], "The height in figsize")
    if width <= 0 or (height is not None and height <= 0):
        raise ValueError(f"figsize must be positive; got {readable_value(figsize)}.")
    return width, height


def places_of(dag: nx.DiGraph, pos: Any, shown: Collection[Hashable]) -> Any:
    """Return the checked places of the nodes that are shown, or the picture that has them."""
    if pos is None:
        return None
    if hasattr(pos, "_picture"):  # a NetworkDisplay
        there = pos._picture
        if lacking := [v for v in shown if there is None or v not in there.dag]:
            drawn = "draw it by plot first" if there is None else "draw it with all nodes"
            raise ValueError(
                f"pos: the display shows no node {readable_value(lacking[0])}; {drawn}."
            )
        return there
    if not is_labelled(pos):
        raise TypeError(f"pos must be a dict of node to (x, y); got {type(pos).__name__}.")
    given = by_label(pos, "pos", "node")
    reject_unknown(given, list(dag), "pos")
    places: dict[Hashable, Point] = {}
    for node in shown:
        if node not in given:
            raise ValueError(f"pos has no place for the node {readable_value(node)}; add it.")
        place = given[node]
        if isinstance(place, str) or not hasattr(place, "__len__") or len(place) != 2:
            raise ValueError(
                must_be(f"pos: the place of node {readable_value(node)}", "(x, y)", place)
            )
        x, y = (finite_number(each, f"pos: x and y of node {node!r}") for each in place)
        if (x, y) in places.values():
            raise ValueError(
                f"pos: node {readable_value(node)} has the same place as another; move one."
            )
        places[node] = x, y
    return places


# Tiers


class Bands(NamedTuple):
    """The bands of a picture, numbered from 0."""

    band_of: dict[Hashable, int]
    titles: dict[int, str]

    def of(self, nodes: Container[Hashable]) -> Self:
        """Return the bands of some nodes, without bands that would be empty."""
        band_of = {node: band for node, band in self.band_of.items() if node in nodes}
        used = sorted({*band_of.values()})
        return self._replace(
            band_of={node: used.index(band) for node, band in band_of.items()},
            titles={i: self.titles[band] for i, band in enumerate(used)},
        )


def bands_of(dag: nx.DiGraph, tiers: Any) -> Bands:
    """Return the bands of tiers: a list of lists of nodes, or a dict of title to list.

    Nodes are given by name or number, and `...` stands for all that are not named.

    >>> dag = nx.DiGraph([("a", "b"), ("a", "c")])
    >>> bands_of(dag, {"before": ["a"], "after": ...})
    Bands(band_of={'a': 0, 'b': 1, 'c': 1}, titles={0: 'before', 1: 'after'})
    """
    numbers = dict(zip(dag, tier_numbers(list(dag), tiers, "node"), strict=True))
    titles = [*map(str, tiers)]
    if not isinstance(tiers, Mapping):
        titles = [f"tier {i + 1}" for i in range(len(tiers))]
    for a, b in dag.edges:
        if numbers[a] > numbers[b]:
            raise ValueError(
                f"tiers: the edge {a!r} -> {b!r} leads from {titles[numbers[a]]!r} back to "
                f"{titles[numbers[b]]!r}. Give the tiers in the order of the edges."
            )
    return Bands(numbers, dict(enumerate(titles))).of(dag)  # a tier may be empty


# Colours of nodes: one for all, one for each, by group or by number

# "light" of Paul Tol's notes on colour schemes, SRON/EPS/TN/09-002 (2021): made to fill labelled
# cells, told apart by colour-blind readers, and dark text can be read on each.
# Blue and orange come last: on edges they mean signs.
_GROUP_COLOURS = (
    "#44BB99",
    "#EEDD88",
    "#FFAABB",
    "#BBCC33",
    "#99DDFF",
    "#DDDDDD",
    "#AAAA00",
    "#77AADD",
    "#EE8866",
)
_COLOUR_MAP = "cividis"  # its order is the same for colour-blind readers and in print
_N_SHOWN = 4  # numbers in a legend, from the least to the greatest


class NodeColours(NamedTuple):
    """Colours of nodes and what they mean."""

    # the nodes that have a colour of their own
    faces: Mapping[Hashable, Any] = MappingProxyType({})
    name: str = ""  # the legend's title
    # the legend's entries; empty if the colours speak for themselves
    meanings: Mapping[str, Any] = MappingProxyType({})
    has_groups: bool = False  # whether each entry stands for a group of nodes

    def of(self, nodes: Container[Hashable]) -> Self:
        """Return the colours of some nodes, without groups that would be empty."""
        faces = {node: face for node, face in self.faces.items() if node in nodes}
        gone = {*self.faces.values()} - {*faces.values()} if self.has_groups else set()
        meanings = {text: face for text, face in self.meanings.items() if face not in gone}
        return self._replace(faces=faces, meanings=meanings)


def node_colours(dag: nx.DiGraph, node_color: Any) -> NodeColours:
    """Return the colours of nodes.

    `node_color`: None, colour, dict or Series; maps nodes to colours, numbers or groups. Texts are
        colours if all of them are.

    Raises TypeError if it is something else; ValueError if there is no such node, or there are more
    groups than colours.
    """
    from matplotlib.colors import is_color_like

    if node_color is None:
        return NodeColours()
    if not is_labelled(node_color):
        if isinstance(node_color, str | tuple) and is_color_like(node_color):
            return NodeColours(dict.fromkeys(dag, node_color))
        raise TypeError(
            "node_color must be a colour of matplotlib, or a dict or Series of node to colour, "
            f"group or number; got {readable_value(node_color)}."
        )
    name = printable(str(getattr(node_color, "name", None) or ""))
    values = by_label(node_color, "node_color", "node")
    reject_unknown(values, list(dag), "node_color")
    values = {node: value for node, value in values.items() if not is_missing(value)}
    if not values:
        return NodeColours()
    is_bool = any(isinstance(value, bool | np.bool_) for value in values.values())
    if not is_bool and all(isinstance(value, Real) for value in values.values()):
        return _by_number({node: float(value) for node, value in values.items()}, name)
    if all(_is_colour(value) for value in values.values()):
        return NodeColours(values)
    return _by_group(values, name)


def _is_colour(value: Any) -> bool:
    """Whether a value is a colour; "b" and "1" are too short to be meant as one."""
    from matplotlib.colors import is_color_like

    if isinstance(value, str):
        has_letters = len(value) > 1 and any(c.isalpha() or c == "#" for c in value)
        return has_letters and is_color_like(value)
    return isinstance(value, tuple) and is_color_like(value)


def _by_group(values: Mapping[Hashable, Any], name: str) -> NodeColours:
    groups = list(dict.fromkeys(values.values()))
    if len(groups) > len(_GROUP_COLOURS):
        raise ValueError(
            f"node_color has {len(groups)} groups, and only {len(_GROUP_COLOURS)} colours can be "
            "told apart. Join some of them, or give a colour for each node."
        )
    colour = dict(zip(groups, _GROUP_COLOURS, strict=False))
    return NodeColours(
        {node: colour[group] for node, group in values.items()},
        name,
        {printable(readable_name(group)): colour[group] for group in groups},
        has_groups=True,
    )


def _by_number(values: Mapping[Hashable, float], name: str) -> NodeColours:
    from matplotlib import colormaps
    from matplotlib.colors import Normalize, to_hex

    low, high = min(values.values()), max(values.values())
    if not math.isfinite(high - low):
        raise ValueError("node_color: the numbers must be finite, and less than 1e308 apart.")
    scale = Normalize(low, high) if high > low else Normalize(low - 1, low + 1)
    colour = colormaps[_COLOUR_MAP]
    shown = np.linspace(low, high, _N_SHOWN).tolist() if high > low else [low]
    return NodeColours(
        {node: to_hex(colour(scale(value))) for node, value in values.items()},
        name,
        {f"{value:.3g}": to_hex(colour(scale(value))) for value in shown},
    )
