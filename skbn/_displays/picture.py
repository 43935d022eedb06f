"""A graph with everything in its place as artists on axes.

One unit of the axes is a point of the layout. Boxes and arrowheads scale with the axes.
matplotlib measures text and lines in points of the figure, so an artist that is drawn before
them keeps them in proportion. This module imports matplotlib; import it only to draw.
"""

import math
from collections.abc import Callable, Hashable, Mapping
from typing import Any

from matplotlib.artist import Artist
from matplotlib.patches import Circle, FancyBboxPatch, PathPatch, Polygon, Rectangle
from matplotlib.path import Path
from matplotlib.text import Text

from skbn._displays.appearance import BAND_OPACITY, Edge, EdgeLook, NodeLook, Style
from skbn._displays.composition import LARGEST_SCALE, Composition, Contents, Legend, size_of
from skbn._displays.labels import LINE_HEIGHT
from skbn._displays.layout.coordinates import CORNER, Point, cut_at_end, halfway
from skbn._displays.layout.layered import Layout

_SWATCH = 0.75  # height of a node's sample in a legend, in font sizes
_HOLLOW_BORDER = 1.2  # line width of an arrowhead that is not filled, in points
_DOT = 1.6  # how far a dot at an end of a line reaches beyond its width, in points


class Canvas:
    """Axes that a picture is drawn on, and its artists.

    `ax`: matplotlib.axes.Axes
    `heads`: the arrowheads of the edges that have one
    """

    def __init__(self, ax: Any) -> None:
        self.ax = ax
        self.nodes: dict[Hashable, FancyBboxPatch] = {}
        self.names: dict[Hashable, Text] = {}
        self.edges: dict[Edge, PathPatch] = {}
        self.heads: dict[Edge, Polygon] = {}
        self.labels: dict[Edge, Text] = {}
        self._proportions = _Proportions()

    def draw_composition(
        self,
        composition: Composition,
        contents: Contents,
        nodes: Mapping[Hashable, NodeLook],
        edges: Mapping[Edge, EdgeLook],
        style: Style,
    ) -> None:
        """Draw a graph with its labels, bands and legend, and set the axes' limits around it."""
        layout, legend = composition.layout, composition.legend
        for left, right, bottom, top in layout.bands.values():
            size, colour = (right - left, top - bottom), style.faint(style.text, BAND_OPACITY)
            band = Rectangle((left, bottom), *size, color=colour, linewidth=0, zorder=0.5)
            self.ax.add_artist(band)
        self.draw_graph(layout, nodes, edges, contents.font_size)
        # The ground hides what is below a label.
        ground = {"facecolor": style.ground, "edgecolor": "none", "pad": 0.8, "alpha": 0.85}
        how: dict[str, Any] = {"ha": "center", "bbox": ground}
        for edge, place in composition.labels.items():
            text, colour = contents.texts[edge], edges[edge].text
            self.labels[edge] = self._write(place, text, colour, contents.small_font, **how)
        for place, title in composition.titles:
            self._write(place, title, style.text, legend.font_size, ha="center")
        self.draw_legend(legend, style)
        self.finish(layout, contents.largest_scale)

    def finish(self, layout: Layout, largest_scale: float = LARGEST_SCALE) -> None:
        """Keep all lengths in proportion to the axes, and set the limits around the layout."""
        self.ax.add_artist(self._proportions)
        _set_limits(self.ax, layout, largest_scale)

    def draw_graph(
        self,
        layout: Layout,
        nodes: Mapping[Hashable, NodeLook],
        edges: Mapping[Edge, EdgeLook],
        font_size: float,
    ) -> None:
        """Draw the edges, and the nodes above them.

        Edges that lie the wrong way round in the layout are drawn from its end to its start.
        """
        for edge, look in edges.items():
            # Where edges cross, strong ones are on top.
            route = layout.routes.get(edge) or layout.routes[edge[::-1]][::-1]
            line, head = self._arrow(route, look, (1 + look.width / 100, 2))
            self.edges[edge] = line
            if head is not None:
                self.heads[edge] = head
        for node, node_look in nodes.items():
            self._draw_node(node, layout.positions[node], node_look, font_size)

    def _arrow(
        self, route: list[Point], look: EdgeLook, zorders: tuple[float, float]
    ) -> tuple[PathPatch, Polygon | None]:
        """Draw a line, and the head that it may have."""
        head = None
        if look.has_head:
            line = cut_at_end(route, 6.0 + 1.3 * look.width)
            head, overlap = _head(route[-1], line[-1], look, zorders[1])
            self.ax.add_artist(head)
            if look.hollow is not None:
                self._proportions.keep(head.set_linewidth, _HOLLOW_BORDER)
            route = [*line[:-1], halfway(line[-1], route[-1], overlap)]
        for end in (route[0], route[-1]) if look.has_dots else ():
            radius = _DOT + look.width / 2
            dot = Circle(end, radius, color=look.colour, linewidth=0, zorder=3.5, clip_on=False)
            self.ax.add_artist(dot)
        codes = [Path.MOVETO] + [Path.CURVE4] * (len(route) - 1)
        patch = PathPatch(
            Path(route, codes),
            fill=False,
            edgecolor=look.colour,
            alpha=look.opacity,
            linestyle=look.line_style,
            capstyle="butt",
            zorder=zorders[0],
            clip_on=False,
        )
        self.ax.add_artist(patch)
        self._proportions.keep(patch.set_linewidth, look.width)
        return patch, head

    def _draw_node(self, node: Hashable, position: Point, look: NodeLook, font_size: float) -> None:
        (x, y), (width, height) = position, look.size
        self.nodes[node] = box = FancyBboxPatch(
            (x - width / 2, y - height / 2),
            width,
            height,
            boxstyle=f"round,pad=0,rounding_size={CORNER}",
            facecolor=look.face,
            edgecolor=look.border,
            zorder=3,
            clip_on=False,
        )
        self.ax.add_artist(box)
        self._proportions.keep(box.set_linewidth, look.border_width)
        self.names[node] = self._write(
            position,
            "\n".join(look.lines),
            look.text,
            font_size,
            ha="center",
            va="center_baseline" if len(look.lines) == 1 else "center",
            linespacing=LINE_HEIGHT,
            zorder=4,
        )

    def _write(
        self, place: Point, string: str, colour: str, font_size: float, **options: Any
    ) -> Text:
        """Write a text, by default one line with the middle of its height at a place."""
        how = {"va": "center_baseline", "zorder": 5, "parse_math": False, "usetex": False}
        text: Text = self.ax.text(*place, string, color=colour, **how | options)
        text.set_in_layout(False)
        self._proportions.keep(text.set_fontsize, font_size)
        return text

    def draw_legend(self, legend: Legend, style: Style) -> None:
        """Draw the samples and the texts of a legend."""
        for place, string in legend.texts:
            self._write(place, string, style.text, legend.font_size, ha="left")
        for (x, y), look in legend.samples:
            if isinstance(look, EdgeLook):
                end = x + legend.sample_width
                route = [(x, y), *(halfway((x, y), (end, y), share) for share in (1 / 3, 2 / 3))]
                self._arrow([*route, (end, y)], look, (5, 5.1))
                continue
            height = _SWATCH * legend.font_size
            patch = Rectangle(
                (x, y - height / 2),
                legend.sample_width,
                height,
                facecolor=look.face,
                edgecolor=style.border,
                zorder=5,
                clip_on=False,
            )
            self.ax.add_artist(patch)
            self._proportions.keep(patch.set_linewidth, look.border_width)


def _head(tip: Point, base: Point, look: EdgeLook, zorder: float) -> tuple[Polygon, float]:
    """Return an arrowhead, and how far the line reaches into it, as a share of its length."""
    across = (base[1] - tip[1], tip[0] - base[0])
    length = math.hypot(*across) or 1.0
    half = 2.4 + 0.8 * look.width
    overlap = 0.3
    if look.hollow is not None:  # a border's outer half would make the head larger
        half, overlap = half - _HOLLOW_BORDER / 2, 0.0
        tip = halfway(tip, base, min(_HOLLOW_BORDER / length, 0.5))
    if look.opacity is not None:  # an overlap would show
        overlap = 0.0
    corners = [
        (base[0] + side * half / length * across[0], base[1] + side * half / length * across[1])
        for side in (1, -1)
    ]
    face = look.colour if look.hollow is None else look.hollow
    head = Polygon(
        [tip, *corners],
        facecolor=face,
        edgecolor=look.colour,
        alpha=look.opacity,
        linewidth=0 if look.hollow is None else _HOLLOW_BORDER,
        joinstyle="miter",
        zorder=zorder,
        clip_on=False,
    )
    return head, overlap


def _set_limits(ax: Any, layout: Layout, largest_scale: float) -> None:
    """Put the layout in the middle of the axes, not much larger than its own size."""
    left, right, bottom, top = layout.extent
    own, points = ax.get_window_extent(), 72 / ax.figure.dpi
    width, height = size_of(layout)
    room = min(own.width * points / width, own.height * points / height) / largest_scale
    x, y = halfway((left, bottom), (right, top))
    half = max(room, 1.0) / 2
    ax.set_xlim(x - half * width, x + half * width)
    ax.set_ylim(y - half * height, y + half * height)
    ax.set_aspect("equal")
    ax.set_axis_off()


class _Proportions(Artist):
    """Keeps lengths that matplotlib measures in points in proportion to the axes.

    The size of axes is only known when they are drawn, because a layout engine or the user may
    still change it before.
    """

    def __init__(self) -> None:
        super().__init__()
        self.set_in_layout(False)
        self.set_zorder(0)
        self._kept: list[tuple[Callable[[float], Any], float]] = []

    def keep(self, set_length: Callable[[float], Any], length: float) -> None:
        """Set a length, and set it again whenever the picture is drawn."""
        set_length(length)
        self._kept.append((set_length, length))

    def draw(self, renderer: Any) -> None:
        ax: Any = self.axes
        (x0, _), (x1, _) = ax.transData.transform([(0, 0), (1, 0)])
        scale = (x1 - x0) * 72 / ax.figure.dpi
        for set_length, length in self._kept:
            set_length(scale * length)
