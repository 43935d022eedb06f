"""What the nodes and edges of a network look like, and a picture of them all."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Hashable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import networkx as nx
import numpy as np

from skbn._core.linear_model import is_parametrised
from skbn._core.text import readable_value
from skbn._drawing.appearance import (
    Edge,
    EdgeLook,
    NodeLook,
    Style,
    line_style_for,
    opacity_for,
    style_for,
    text_on,
    width_for,
)
from skbn._drawing.bands import Bands
from skbn._drawing.composition import (
    Arranged,
    Composition,
    Contents,
    compose,
    size_of,
)
from skbn._drawing.labels import LINE_LENGTH, NodeNames
from skbn._drawing.layout.coordinates import CORNER
from skbn._drawing.layout.curves import Point
from skbn._drawing.layout.layered import LayeredGraph
from skbn._drawing.layout.placed import PlacedGraph
from skbn._drawing.legend import legend_rows
from skbn._drawing.node_colours import NodeColours
from skbn._drawing.probabilities import confidence_in
from skbn._drawing.weights import strengths_of

if TYPE_CHECKING:
    from skbn._drawing.picture import Artists

__all__ = ["Emphasis", "NetworkPicture", "emphasis_on", "no_such_node"]

_WIDTH_UNKNOWN = 1.5  # of an edge without a standardised weight, in points
_BORDER, _BORDER_HELD, _BORDER_MARKED = 0.8, 2.4, 1.4
_PORT_ROOM = 4.5  # points between edges at the end of a box, where layers stand side by side
_SHORT_LINES = 11  # characters in a line of a name, where layers stand side by side


def _rounded_up(inches: float) -> str:
    return f"{math.ceil(10 * inches) / 10:g}"


def _outside() -> int:
    """Return the `stacklevel` of a warning, for its caller, that shows the line of the user."""
    frame: Any = sys._getframe(1)
    level = 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("skbn."):
        frame, level = frame.f_back, level + 1
    return level


class Emphasis(NamedTuple):
    """Which nodes are marked. With a centre, all but its Markov blanket is faint."""

    chosen: set[Hashable]
    blanket: set[Hashable]
    centre: Hashable | None


_NO_EMPHASIS = Emphasis(set(), set(), None)
_OWN_COLOURS = NodeColours({}, "", {})


class NetworkPicture(NamedTuple):
    """A picture of a network before it has axes: what is drawn, with all options checked.

    Parameters
    ----------
    dag : networkx.DiGraph
    texts : dict of edge to str
    colours : NodeColours
    emphasis : Emphasis
    places : dict of node to (x, y), or None
        None for layers.
    bands : Bands or None
    is_sideways, has_legend : bool
    """

    dag: nx.DiGraph
    texts: Mapping[Edge, str] = MappingProxyType({})
    colours: NodeColours = _OWN_COLOURS
    emphasis: Emphasis = _NO_EMPHASIS
    places: Mapping[Hashable, Point] | None = None
    bands: Bands | None = None
    is_sideways: bool = False
    has_legend: bool = False

    def draw_in_new_figure(
        self, figure: Any, figsize: tuple[float, float | None] | None, min_font_size: float
    ) -> tuple[Any, Artists]:
        """Draw on new axes that fill a figure, and give it the size that it takes.

        With a size in inches, whose height may be None, keep to it, and warn of small text.
        """
        ax = figure.add_axes((0, 0, 1, 1))
        drawn = _Drawn(self, style_for(ax), min_font_size)
        if figsize is None:
            composition = compose(drawn.arrange, drawn.contents)
            width, height = size_of(composition.layout)
            scale = max(1.0, min_font_size / drawn.contents.smallest_font)
        else:
            room = 72 * figsize[0], 72 * (figsize[1] or np.inf)
            composition, scale = drawn.compose_in(room)
            width, height = size_of(composition.layout)
            width = room[0] / scale
            height = height if figsize[1] is None else room[1] / scale
        figure.set_size_inches(scale * width / 72, scale * height / 72)
        return ax, drawn.draw(ax, composition)

    def draw_on(self, ax: Any, min_font_size: float) -> Artists:
        """Draw on given axes, and warn of small text."""
        drawn = _Drawn(self, style_for(ax), min_font_size)
        own, points = ax.get_window_extent(), 72 / ax.figure.dpi
        room = max(own.width * points, 1.0), max(own.height * points, 1.0)
        composition, _ = drawn.compose_in(room)
        return drawn.draw(ax, composition)

    def draw_plainly(self, figure: Any, style: Style) -> None:
        """Fill a figure with the picture in its own size, in given colours."""
        ax = figure.add_axes((0, 0, 1, 1))
        drawn = _Drawn(self, style)
        composition = compose(drawn.arrange, drawn.contents)
        width, height = size_of(composition.layout)
        figure.set_size_inches(width / 72, height / 72)
        drawn.draw(ax, composition)


class _Drawn:
    """A picture in the colours of its ground."""

    def __init__(self, picture: NetworkPicture, style: Style, min_font_size: float = 0.0) -> None:
        from matplotlib import rcParams

        dag, bands = picture.dag, picture.bands
        # White boxes stand out from bands.
        self.style = style._replace(box=style.ground) if bands and style.is_light else style
        self.picture, self.font_size = picture, float(rcParams["font.size"])
        self.strengths, self.confidence = strengths_of(dag), confidence_in(dag)
        line_length = _SHORT_LINES if picture.is_sideways else LINE_LENGTH
        self.names = NodeNames.of(dag, self.font_size, line_length)
        if picture.is_sideways:
            self.names = self.names._replace(sizes=_with_room_for_edges(dag, self.names.sizes))
        self._arranged: dict[float, Arranged] = {}
        rows = []
        if picture.has_legend:
            has_weights = is_parametrised(dag)
            signs = [np.sign(w) for _, _, w in dag.edges(data="weight")] if has_weights else []
            strengths = [abs(weight) for weight in self.strengths.weights.values()]
            rows = legend_rows(signs, strengths, self.confidence, picture.colours, self.style)
        self.contents = Contents(
            self.names.sizes,
            picture.texts,
            bands.titles if bands else {},
            rows,
            self.font_size,
            picture.is_sideways,
            min_font_size=min_font_size,
        )

    def arrange(self, aspect: float) -> Arranged:
        """Place nodes and edges, with a width over height to aim at."""
        if aspect not in self._arranged:  # to find a good one takes the longest
            self._arranged[aspect] = self._arrange(aspect)
        return self._arranged[aspect]

    def _arrange(self, aspect: float) -> Arranged:
        picture = self.picture
        if picture.places is not None:
            return PlacedGraph(picture.dag, self.names.sizes, picture.places)
        return LayeredGraph(
            picture.dag,
            self.names.sizes,
            is_sideways=picture.is_sideways,
            bands=picture.bands.band_of if picture.bands else None,
            aspect=aspect,
        )

    def compose_in(self, room: tuple[float, float]) -> tuple[Composition, float]:
        """Put the picture together to fill a room; return it, and its scale in that room.

        Where small text would be too small it is as large as names. If they are too small, too,
        warn, and say what size it takes.
        """
        min_font_size = self.contents.min_font_size
        for small_text in (self.contents.small_text, 1.0):
            self.contents = self.contents._replace(small_text=small_text)
            composition = compose(self.arrange, self.contents, room)
            width, height = size_of(composition.layout)
            scale = min(room[0] / width, room[1] / height)
            drawn = min(scale, self.contents.largest_scale) * self.contents.smallest_font
            if drawn >= min_font_size:
                return composition, scale
        more = min_font_size / self.contents.smallest_font / 72
        other = "top-bottom" if self.picture.is_sideways else "left-right"
        points = math.floor(10 * drawn) / 10
        warnings.warn(
            f"Names are drawn at {points:g} pt, less than min_font_size={min_font_size:g}. A "
            f"figure of {_rounded_up(more * width)} x {_rounded_up(more * height)} inches has room "
            "for that size. "
            f"You can also try orientation={other!r}, shorter names or legend=False, or lower "
            "min_font_size.",
            UserWarning,
            stacklevel=_outside(),
        )
        return composition, scale

    def draw(self, ax: Any, composition: Composition) -> Artists:
        """Draw it all on axes."""
        from skbn._drawing.picture import draw_composition

        dag = self.picture.dag
        nodes = {node: self._node_look(node) for node in dag}
        edges = {edge: self._edge_look(*edge) for edge in dag.edges}
        return draw_composition(ax, composition, self.contents, nodes, edges, self.style)

    def _node_look(self, node: Hashable) -> NodeLook:
        style, emphasis = self.style, self.picture.emphasis
        lines, size = self.names.lines[node], self.names.sizes[node]
        width = _BORDER_HELD if node in self.strengths.held else _BORDER
        own = self.picture.colours.faces.get(node)
        face, text = (style.box, style.text) if own is None else (own, text_on(own))
        if node in emphasis.chosen:
            marked = style.chosen if own is None else own
            text = style.text if own is None else text
            return NodeLook(lines, size, marked, style.accent, text, max(width, _BORDER_MARKED))
        if node in emphasis.blanket:
            marked = style.blanket if own is None else own
            return NodeLook(lines, size, marked, style.accent, text, width)
        if emphasis.centre is None:
            return NodeLook(lines, size, face, style.border, text, width)
        face, border, text = (style.faint(colour) for colour in (face, style.border, style.text))
        if own is not None:
            text = style._replace(ground=face).half_faint(text_on(face))
        return NodeLook(lines, size, face, border, text, width)

    def _edge_look(self, parent: Hashable, child: Hashable) -> EdgeLook:
        dag, style, edge = self.picture.dag, self.style, (parent, child)
        data = dag.edges[edge]
        colour, text, width = style.neutral, style.text, _WIDTH_UNKNOWN
        if is_parametrised(dag):
            sign = np.sign(data["weight"])
            colour = {1: style.positive, -1: style.negative}.get(sign, style.neutral)
        if edge in self.strengths.weights:
            width = width_for(self.strengths.weights[edge])
        opacity, line_style, centre = None, "-", self.picture.emphasis.centre
        if centre is not None and not _makes_blanket(dag, parent, child, centre):
            colour, text = style.faint(colour), style.faint(text)
        elif edge in self.confidence.values:
            opacity = opacity_for(self.confidence.values[edge])
            line_style = line_style_for(self.confidence.values[edge])
        has_head = not data.get("undirected")
        return EdgeLook(colour, width, text, has_head, line_style, opacity)


def _with_room_for_edges(
    dag: nx.DiGraph, sizes: Mapping[Hashable, tuple[float, float]]
) -> dict[Hashable, tuple[float, float]]:
    """Return boxes that are high enough for the edges at their left and right ends."""
    n_edges = {node: max(dag.in_degree(node), dag.out_degree(node)) for node in dag}
    return {
        node: (width, max(height, _PORT_ROOM * (n_edges[node] - 1) + 2 * CORNER))
        for node, (width, height) in sizes.items()
    }


def emphasis_on(dag: nx.DiGraph, highlight: Any, centre: Any) -> Emphasis:
    """Return which nodes to mark; raise a ValueError if there is no such node."""
    chosen = [] if highlight is None else _nodes(dag, highlight)
    if centre is None:
        return Emphasis(set(chosen), set(), None)
    if centre not in dag:
        raise ValueError(f"markov_blanket: {no_such_node(dag, centre)}")
    edges = [(a, b) for a, b in dag.edges if _makes_blanket(dag, a, b, centre)]
    members = {node for edge in edges for node in edge}
    return Emphasis({*chosen, centre}, members - {centre}, centre)


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


def _nodes(dag: nx.DiGraph, highlight: Any) -> list[Hashable]:
    """Return one node, or the nodes of a list, as a list."""
    is_one = highlight in dag or isinstance(highlight, str | bytes)
    try:
        nodes = [highlight] if is_one else list(highlight)
    except TypeError:  # neither a node nor a list
        nodes = [highlight]
    for node in nodes:
        if node not in dag:
            raise ValueError(f"highlight: {no_such_node(dag, node)}")
    return nodes


def no_such_node(dag: nx.DiGraph, node: Any) -> str:
    return f"there is no node {readable_value(node)}; the nodes are {readable_value(list(dag))}."
