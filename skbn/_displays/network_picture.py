"""What the nodes and edges of a network look like, and a picture of them all."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np

from skbn._core.graphs import is_parametrised
from skbn._core.text import warn
from skbn._displays.appearance import (
    LINE_STYLES,
    ONE_WAY,
    READABLE_OPACITY,
    Confidence,
    Edge,
    EdgeLook,
    NodeLook,
    Strengths,
    Swatch,
    line_style_for,
    opacity_for,
    pair_texts,
    style_for,
    text_on,
    width_for,
)
from skbn._displays.composition import (
    LEAST_FONT,
    Arranged,
    Composition,
    Contents,
    LegendRow,
    compose,
    size_of,
)
from skbn._displays.labels import LINE_LENGTH, NodeNames
from skbn._displays.layout.coordinates import CORNER, Point
from skbn._displays.layout.layered import LayeredGraph, PlacedGraph, SharedPlaces
from skbn._displays.plot_options import Bands, Emphasis, NodeColours

if TYPE_CHECKING:
    from skbn._displays.picture import Canvas

# Line widths in points: an edge without a standardised weight, and borders of nodes.
_WIDTH_UNKNOWN = 1.5
_BORDER, _BORDER_HELD, _BORDER_MARKED = 0.8, 2.4, 1.4
_STRENGTHS = (0.25, 0.5, 1.0)  # the weights whose widths are shown
# Line widths in points, where the sample shows a colour, or whether there is an arrowhead.
_SIGN_WIDTH, _WAY_WIDTH = 2.4, 1.5
_PORT_ROOM = 4.5  # points between edges at the end of a box, where layers stand side by side
_SHORT_LINES = 11  # characters in a line of a name, where layers stand side by side
_SHORTEST_LINES = 9  # the same where the picture must be narrow


@dataclass
class NetworkPicture:
    """A picture of a network on some axes: what is drawn, with all options checked."""

    ax: Any  # matplotlib.axes.Axes
    dag: nx.DiGraph  # what is drawn, which may be a part of a network
    strengths: Strengths
    confidence: Confidence  # both of the whole network
    texts: Mapping[Edge, str] = field(default_factory=dict)
    names_of_categories: Mapping[Hashable, str] = field(default_factory=dict)
    colours: NodeColours = field(default_factory=NodeColours)
    emphasis: Emphasis = field(default_factory=Emphasis)
    # None for layers; a picture that has been drawn for its own places
    places: Mapping[Hashable, Point] | NetworkPicture | None = None
    bands: Bands | None = None
    lanes: Mapping[Hashable, int] | None = None  # only with bands
    is_sideways: bool = False
    has_legend: bool = False
    notes: Sequence[str] = ()  # lines below the picture, with or without a legend

    def __post_init__(self) -> None:
        from matplotlib import rcParams

        style = style_for(self.ax)
        # White boxes stand out from bands.
        self.style = style._replace(box=style.ground) if self.bands and style.is_light else style
        self.font_size = float(rcParams["font.size"])
        self.names = self._named(_SHORT_LINES if self.is_sideways else LINE_LENGTH)
        self._arranged: dict[tuple[float, float | None], Arranged] = {}
        self._edges = {edge: self._edge_look(edge) for edge in self.dag.edges}
        rows = self.legend_rows() if self.has_legend else []
        rows += [LegendRow(note, []) for note in self.notes]
        self.contents = Contents(
            self.names.sizes,
            self.texts,
            self.bands.titles if self.bands else {},
            rows,
            self.font_size,
            self.is_sideways,
        )

    def legend_rows(self) -> list[LegendRow]:
        """Return the rows of a legend: signs, arrowheads, widths, dashes and colours that occur."""
        style, looks, rows = self.style, self._edges, []
        signs = {edge: self._sign(edge) for edge in looks}
        kinds: list[tuple[Any, str]] = []
        for sign, name in ((1, "positive"), (-1, "negative")):
            heads = {looks[edge].has_head for edge, other in signs.items() if other == sign}
            if heads:
                colour = style.positive if sign > 0 else style.negative
                hollow = None if sign > 0 else style.ground
                look = EdgeLook(colour, _SIGN_WIDTH, style.text, any(heads), hollow=hollow)
                kinds.append((look, name))
        if kinds:
            rows.append(LegendRow("weight", kinds))
        if any("coefficients" in self.dag.edges[edge] and not sign for edge, sign in signs.items()):
            look = EdgeLook(style.neutral, _SIGN_WIDTH, style.text, True)
            rows.append(LegendRow("", [(look, "several weights (of levels or columns)")]))
        if any("level" in self.dag.nodes[node] and self.dag.degree(node) for node in self.dag):
            rows.append(LegendRow("two levels: the sign is that of the level in the box", []))
        has_heads = {look.has_head for look in looks.values()}
        if False in has_heads:
            has_pairs = bool(pair_texts(self.dag))
            one_way = f"over {100 * ONE_WAY:.0f} % one way" if has_pairs else "directed"
            of_ways = style.neutral, _WAY_WIDTH, style.text
            ways: list[tuple[Any, str]] = [(EdgeLook(*of_ways), one_way)] * (True in has_heads)
            undirected = EdgeLook(*of_ways, has_head=False, has_dots=True)
            rows.append(LegendRow("edge", [*ways, (undirected, "undirected")]))
        strengths = [abs(w) for edge, w in self.strengths.weights.items() if edge in looks]
        if strengths:
            largest = max(strengths)
            shown = [s for i, s in enumerate(_STRENGTHS) if i == 0 or largest > _STRENGTHS[i - 1]]
            widths = [EdgeLook(style.neutral, width_for(s), style.text, False) for s in shown]
            texts = ["1 or more" if s == 1 else f"{s:g}" for s in shown]
            rows.append(LegendRow("standardised weight", list(zip(widths, texts, strict=True))))
        if entries := self._confidence_entries():
            rows.append(LegendRow(self.confidence.name, entries))
        return rows + self._rows_of_nodes()

    def _rows_of_nodes(self) -> list[LegendRow]:
        rows = []
        if self.strengths.held & {*self.dag}:
            held = Swatch(self.style.box, _BORDER_HELD)
            rows.append(LegendRow("", [(held, "held at a value by do")]))
        if meanings := self.colours.meanings:
            swatches = [(Swatch(colour), text) for text, colour in meanings.items()]
            rows.append(LegendRow(self.colours.name, [*swatches]))
        return rows

    def _confidence_entries(self) -> list[tuple[Any, str]]:
        """Return a sample of each line style that occurs, the firmest first."""
        values = self.confidence.values.items()
        found = {line_style_for(value) for edge, value in values if edge in self._edges}
        entries = []
        bounds = [1.0, *LINE_STYLES]
        for high, (low, line_style) in zip(bounds, LINE_STYLES.items(), strict=False):
            if line_style in found:
                text = f"{low:g} to {high:g}" if low > 0 else f"below {high:g}"
                opacity, text_colour = opacity_for((low + high) / 2), self.style.text
                look = EdgeLook(text_colour, 2.0, text_colour, False, line_style, opacity)
                entries.append((look, text))
        return entries

    def draw_in_new_figure(self, figsize: tuple[float, float | None] | None) -> Canvas:
        """Draw on axes that fill a new figure, and give the figure the size that it takes.

        With a size in inches, whose height may be None, keep to it, and warn of small text.
        """
        if figsize is None:
            composition = compose(self.arrange, self.contents)
            width, height = size_of(composition.layout)
            scale = max(1.0, LEAST_FONT / self.contents.smallest_font)
        else:
            room = 72 * figsize[0], 72 * (figsize[1] or np.inf)
            composition, scale = self.compose_in(room)
            width, height = size_of(composition.layout)
            width = room[0] / scale
            height = height if figsize[1] is None else room[1] / scale
        self.ax.figure.set_size_inches(scale * width / 72, scale * height / 72)
        return self._draw(composition)

    def draw(self) -> Canvas:
        """Draw in the room that the axes have, and warn of small text."""
        own, points = self.ax.get_window_extent(), 72 / self.ax.figure.dpi
        room = max(own.width * points, 1.0), max(own.height * points, 1.0)
        composition, _ = self.compose_in(room)
        return self._draw(composition)

    def _named(self, line_length: int) -> NodeNames:
        """Break the names of nodes into lines, and give them boxes."""
        if isinstance(self.places, NetworkPicture):
            lines, sizes = self.places.names
            return NodeNames({v: lines[v] for v in self.dag}, {v: sizes[v] for v in self.dag})
        names = NodeNames.of(self.dag, self.font_size, line_length, self.names_of_categories)
        if not self.is_sideways:
            return names
        n_edges = {v: max(self.dag.in_degree(v), self.dag.out_degree(v)) for v in self.dag}
        sizes = {
            node: (width, max(height, _PORT_ROOM * (n_edges[node] - 1) + 2 * CORNER))
            for node, (width, height) in names.sizes.items()
        }
        return names._replace(sizes=sizes)

    def arrange(self, aspect: float, width: float | None) -> Arranged:
        """Place nodes and edges, aiming at a ratio of width to height, perhaps within a width."""
        key = aspect, width
        if key not in self._arranged:  # finding a good one takes the longest
            self._arranged[key] = self._arrangement(aspect, width)
        return self._arranged[key]

    def _arrangement(self, aspect: float, width: float | None) -> Arranged:
        sizes, there = self.names.sizes, self.places
        if isinstance(there, NetworkPicture):
            return SharedPlaces(self.dag, sizes, there.drawn.arranged, there.names.sizes)
        if there is not None:
            return PlacedGraph(self.dag, sizes, there)
        return LayeredGraph(
            self.dag,
            sizes,
            is_sideways=self.is_sideways,
            bands=self.bands.band_of if self.bands else None,
            aspect=aspect,
            width=None if self.is_sideways else width,
            lanes=self.lanes,
        )

    def compose_in(self, room: tuple[float, float]) -> tuple[Composition, float]:
        """Put the picture together to fill a room; return it, and its scale in that room.

        If small text would be too small, it is drawn as large as names. If names are too small as
        well, they are broken into shorter lines. If that does not help, warn, and say what size
        would.
        """
        tries = [(self.names, self.contents.small_text), (self.names, 1.0)]
        if not self.is_sideways and self.places is None:
            tries.append((self._named(_SHORTEST_LINES), 1.0))
        found: list[Any] = []
        for names, small_text in tries:
            if names is not self.names:
                self.names, self._arranged = names, {}
            contents = self.contents._replace(sizes=names.sizes, small_text=small_text)
            composition = compose(self.arrange, contents, room)
            width, height = size_of(composition.layout)
            scale = min(room[0] / width, room[1] / height)
            font_size = min(scale, contents.largest_scale) * contents.smallest_font
            found.append((font_size, names, contents, composition, scale))
            if font_size >= LEAST_FONT:
                break
        font_size, self.names, self.contents, composition, scale = max(found, key=lambda x: x[0])
        if font_size < LEAST_FONT:
            more = LEAST_FONT / self.contents.smallest_font / 72
            width, height = (math.ceil(10 * more * x) / 10 for x in size_of(composition.layout))
            other = "top-bottom" if self.is_sideways else "left-right"
            warn(
                f"Names are drawn at {math.floor(10 * font_size) / 10:g} pt, less than "
                f"{LEAST_FONT:g}. A figure of {width:g} x {height:g} inches has room for that "
                f"size. You can also try orientation={other!r}, or draw a part (only=)."
            )
        return composition, scale

    def _draw(self, composition: Composition) -> Canvas:
        from skbn._displays.picture import Canvas

        self.drawn = composition
        canvas = Canvas(self.ax)
        nodes = {node: self._node_look(node) for node in self.dag}
        canvas.draw_composition(composition, self.contents, nodes, self._edges, self.style)
        return canvas

    def _node_look(self, node: Hashable) -> NodeLook:
        style, emphasis = self.style, self.emphasis
        lines, size = self.names.lines[node], self.names.sizes[node]
        width = _BORDER_HELD if node in self.strengths.held else _BORDER
        own = self.colours.faces.get(node)
        face, text = (style.box, style.text) if own is None else (own, text_on(own))
        if node in emphasis.chosen or node in emphasis.beside:
            if own is None:
                face = style.chosen if node in emphasis.chosen else style.beside
            width = max(width, _BORDER_MARKED) if node in emphasis.chosen else width
            return NodeLook(lines, size, face, style.accent, text, width)
        if not emphasis.chosen:
            return NodeLook(lines, size, face, style.border, text, width)
        face, border, text = (style.faint(colour) for colour in (face, style.border, style.text))
        if own is not None:
            text = style._replace(ground=face).faint(text_on(face), READABLE_OPACITY)
        return NodeLook(lines, size, face, border, text, width)

    def _edge_look(self, edge: Edge) -> EdgeLook:
        style, sign = self.style, self._sign(edge)
        colour = {1: style.positive, -1: style.negative}.get(sign, style.neutral)
        text, width = style.text, _WIDTH_UNKNOWN
        if edge in self.strengths.weights:
            width = width_for(self.strengths.weights[edge])
        opacity, line_style = None, "-"
        if self.emphasis.chosen and edge not in self.emphasis.edges:
            colour, text = style.faint(colour), style.faint(text)
        elif edge in self.confidence.values:
            opacity = opacity_for(self.confidence.values[edge])
            line_style = line_style_for(self.confidence.values[edge])
        has_head = not self.dag.edges[edge].get("undirected")
        hollow = style.ground if sign < 0 else None
        return EdgeLook(
            colour, width, text, has_head, line_style, opacity, hollow, has_dots=not has_head
        )

    def _sign(self, edge: Edge) -> int:
        """Return the sign of an edge's weight; 0 also stands for an unknown one."""
        data = self.dag.edges[edge]
        if is_parametrised(self.dag) or "coefficients" in data:
            return int(np.sign(data.get("weight", 0.0)))
        return int(np.sign(self.strengths.weights.get(edge, 0.0)))
