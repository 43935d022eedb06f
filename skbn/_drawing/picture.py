"""A laid out graph as artists on axes.

One unit of the axes is a point of the layout. Boxes and arrowheads scale with the axes.
matplotlib measures text and lines in points of the figure, so an artist that is drawn before
them keeps them in proportion. This module imports matplotlib; import it only to draw.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from matplotlib import pyplot
from matplotlib.artist import Artist
from matplotlib.patches import FancyBboxPatch, PathPatch, Polygon
from matplotlib.path import Path
from matplotlib.text import Text

from skbn._drawing.appearance import Edge, EdgeLook, NodeLook, Style
from skbn._drawing.labels import LINE_HEIGHT, text_width
from skbn._drawing.layout.coordinates import CORNER
from skbn._drawing.layout.layered import Layout, Point

__all__ = [
    "Artists",
    "Labels",
    "cut_at_end",
    "draw_picture",
    "new_axes",
    "place_labels",
    "point_at",
]

_MARGIN = 6.0  # points around the layout
_LARGEST_SCALE = 1.25  # on axes that are larger than the picture needs
_LABEL_SIZE = 0.8  # of the font size of names
_LABEL_PADDING = 1.5  # points
_HEAD = 10.0  # points, the side of a square around an arrowhead
# Where along its edge a label may stand, the best place first.
_PLACES = (0.5, 0.43, 0.57, 0.36, 0.64, 0.3, 0.7, 0.24, 0.76)
_SAMPLES = 24  # points of each edge that labels avoid hiding
_HIDDEN_POINT = 10.0  # cost of hiding one; hiding boxes costs their area in square points
_BISECTIONS = 30


class Labels(NamedTuple):
    """The labels of edges.

    Parameters
    ----------
    texts : dict of edge to str
    positions : dict of edge to (x, y)
        The labels' centres.
    font_size : float
    """

    texts: dict[Edge, str]
    positions: dict[Edge, Point]
    font_size: float


_NO_LABELS = Labels({}, {}, 0.0)


class Artists(NamedTuple):
    """The artists of a picture.

    Parameters
    ----------
    nodes : dict of node to matplotlib.patches.FancyBboxPatch
    names : dict of node to matplotlib.text.Text
    edges : dict of edge to matplotlib.patches.PathPatch
    heads : dict of edge to matplotlib.patches.Polygon
        The arrowheads of the edges that have one.
    labels : dict of edge to matplotlib.text.Text
    """

    nodes: dict[Hashable, FancyBboxPatch]
    names: dict[Hashable, Text]
    edges: dict[Edge, PathPatch]
    heads: dict[Edge, Polygon]
    labels: dict[Edge, Text]


def new_axes(
    layout: Layout,
    n_axes: int = 1,
    *,
    narrowest: float = 0.0,
    top: float = 0.0,
    bottom: float = 0.0,
) -> list[Any]:
    """Return axes side by side, in a new figure in which a layout has its own size.

    Parameters
    ----------
    layout : Layout
    n_axes : int
    narrowest, top, bottom : float
        Room for a legend and for titles, in points.
    """
    width, height = _size(layout)
    width, whole = max(width, narrowest), top + height + bottom
    figure = pyplot.figure(figsize=(n_axes * width / 72, whole / 72), layout="none")
    return [
        figure.add_axes((i / n_axes, bottom / whole, 1 / n_axes, height / whole))
        for i in range(n_axes)
    ]


def place_labels(
    layout: Layout,
    sizes: Mapping[Any, tuple[float, float]],
    texts: Mapping[Edge, str],
    font_size: float,
) -> tuple[Labels, Layout]:
    """Place each label on its edge where it hides least.

    `font_size` is that of the nodes' names. Return the labels, and the layout with an extent that
    has room for them.
    """
    labels = Labels(dict(texts), {}, _LABEL_SIZE * font_size)
    if not texts:
        return labels, layout
    taken = [(layout.positions[node], sizes[node]) for node in sizes]
    taken += [
        (halfway(route[-1], route[-2], 0.2), (_HEAD, _HEAD)) for route in layout.routes.values()
    ]
    owners = list(layout.routes)
    points = np.array(
        [[point_at(layout.routes[e], i / _SAMPLES) for i in range(_SAMPLES)] for e in owners]
    )
    left, right, bottom, top = layout.extent
    for edge, text in texts.items():
        width = text_width(text, labels.font_size) + 2 * _LABEL_PADDING
        size = (width, LINE_HEIGHT * labels.font_size + 2 * _LABEL_PADDING)
        places = [point_at(layout.routes[edge], share) for share in _PLACES]
        others = points[[other != edge for other in owners]]
        costs = [
            sum(_overlap(place, size, *other) for other in taken)
            + _HIDDEN_POINT * _n_inside(others, place, size)
            for place in places
        ]
        labels.positions[edge] = x, y = places[int(np.argmin(costs))]
        taken.append(((x, y), size))
        left, right = min(left, x - size[0] / 2), max(right, x + size[0] / 2)
        bottom, top = min(bottom, y - size[1] / 2), max(top, y + size[1] / 2)
    return labels, layout._replace(extent=(left, right, bottom, top))


def draw_picture(
    ax: Any,
    layout: Layout,
    nodes: Mapping[Hashable, NodeLook],
    edges: Mapping[Edge, EdgeLook],
    labels: Labels = _NO_LABELS,
    *,
    style: Style,
    font_size: float,
) -> Artists:
    """Draw a graph and set the limits of the axes around it.

    Edges that lie the wrong way round in the layout are drawn from its end to its start.
    """
    proportions = _Proportions()
    artists = Artists({}, {}, {}, {}, {})
    for edge, edge_look in edges.items():
        _draw_edge(ax, artists, proportions, edge, _route(layout, edge), edge_look)
    for node, node_look in nodes.items():
        _draw_node(ax, artists, proportions, node, layout.positions[node], node_look, font_size)
    for edge in labels.texts:
        artists.labels[edge] = _draw_label(ax, proportions, labels, edge, edges[edge].text, style)
    ax.add_artist(proportions)
    _set_limits(ax, layout)
    return artists


def _route(layout: Layout, edge: Edge) -> list[Point]:
    if edge in layout.routes:
        return layout.routes[edge]
    return layout.routes[edge[1], edge[0]][::-1]


def _draw_edge(
    ax: Any,
    artists: Artists,
    proportions: _Proportions,
    edge: Edge,
    route: list[Point],
    look: EdgeLook,
) -> None:
    level = 1 + look.width / 100  # where edges cross, strong ones are on top
    if look.has_head:
        line = cut_at_end(route, 6.0 + 1.3 * look.width)
        tip, base = route[-1], line[-1]
        across = (base[1] - tip[1], tip[0] - base[0])
        half = (2.4 + 0.8 * look.width) / (math.hypot(*across) or 1.0)
        corners = [
            (base[0] + side * half * across[0], base[1] + side * half * across[1])
            for side in (1, -1)
        ]
        artists.heads[edge] = ax.add_patch(
            Polygon(
                [tip, *corners],
                facecolor=look.colour,
                alpha=look.opacity,
                linewidth=0,
                zorder=2,
                clip_on=False,
            )
        )
        # An overlap leaves no gap between line and head, but it would show if both are translucent.
        overlap = 0.3 if look.opacity is None else 0.0
        route = [*line[:-1], halfway(base, tip, overlap)]
    codes = [Path.MOVETO] + [Path.CURVE4] * (len(route) - 1)
    patch = PathPatch(
        Path(route, codes),
        fill=False,
        edgecolor=look.colour,
        alpha=look.opacity,
        linestyle=look.line_style,
        capstyle="butt",
        zorder=level,
        clip_on=False,
    )
    artists.edges[edge] = ax.add_patch(patch)
    proportions.keep(patch.set_linewidth, look.width)


def _draw_node(
    ax: Any,
    artists: Artists,
    proportions: _Proportions,
    node: Hashable,
    position: Point,
    look: NodeLook,
    font_size: float,
) -> None:
    (x, y), (width, height) = position, look.size
    artists.nodes[node] = box = FancyBboxPatch(
        (x - width / 2, y - height / 2),
        width,
        height,
        boxstyle=f"round,pad=0,rounding_size={CORNER}",
        facecolor=look.face,
        edgecolor=look.border,
        zorder=3,
        clip_on=False,
    )
    ax.add_patch(box)
    proportions.keep(box.set_linewidth, look.border_width)
    text = ax.text(
        x,
        y,
        "\n".join(look.lines),
        parse_math=False,
        usetex=False,
        ha="center",
        va="center_baseline" if len(look.lines) == 1 else "center",
        linespacing=LINE_HEIGHT,
        color=look.text,
        zorder=4,
    )
    text.set_in_layout(False)
    artists.names[node] = text
    proportions.keep(text.set_fontsize, font_size)


def _draw_label(
    ax: Any, proportions: _Proportions, labels: Labels, edge: Edge, colour: str, style: Style
) -> Text:
    text: Text = ax.text(
        *labels.positions[edge],
        labels.texts[edge],
        parse_math=False,
        usetex=False,
        ha="center",
        va="center_baseline",
        color=colour,
        bbox={"facecolor": style.ground, "edgecolor": "none", "pad": 0.8, "alpha": 0.85},
        zorder=5,
    )
    text.set_in_layout(False)
    proportions.keep(text.set_fontsize, labels.font_size)
    return text


def _size(layout: Layout) -> tuple[float, float]:
    left, right, bottom, top = layout.extent
    return right - left + 2 * _MARGIN, top - bottom + 2 * _MARGIN


def _set_limits(ax: Any, layout: Layout) -> None:
    """Put the layout in the middle of the axes, not much larger than its own size."""
    left, right, bottom, top = layout.extent
    own, points = ax.get_window_extent(), 72 / ax.figure.dpi
    width, height = _size(layout)
    room = min(own.width * points / width, own.height * points / height) / _LARGEST_SCALE
    x, y = halfway((left, bottom), (right, top))
    half = max(room, 1.0) / 2
    ax.set_xlim(x - half * width, x + half * width)
    ax.set_ylim(y - half * height, y + half * height)
    ax.set_aspect("equal")
    ax.set_axis_off()


def _overlap(a: Point, a_size: Point, b: Point, b_size: Point) -> float:
    """Return the area that two boxes share, by their centres and sizes."""
    x, y = ((a_size[i] + b_size[i]) / 2 - abs(a[i] - b[i]) for i in (0, 1))
    return max(x, 0.0) * max(y, 0.0)


def _n_inside(points: npt.NDArray[np.float64], centre: Point, size: Point) -> int:
    return int((np.abs(points - centre) < np.array(size) / 2).all(axis=-1).sum())


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


# Cubic Bézier curves, as lists of 3k + 1 control points


def cut_at_end(route: list[Point], length: float) -> list[Point]:
    """Return the curve up to the point this far from its end, or half of a shorter curve.

    Examples
    --------
    >>> _, height = cut_at_end([(0, 0), (0, 3), (0, 6), (0, 9)], 3)[-1]
    >>> round(height, 6)
    6.0
    """
    end = route[-1]
    while len(route) > 4 and math.dist(route[-4], end) < length:
        route = route[:-3]
    piece = route[-4:]
    if len(route) == 4:
        length = min(length, math.dist(piece[0], end) / 2)
    low, high = 0.0, 1.0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if math.dist(_split(piece, middle)[-1], end) > length:
            low = middle
        else:
            high = middle
    return route[:-4] + _split(piece, high)


def point_at(route: list[Point], share: float) -> Point:
    """Return the point at a share of the curve, whose pieces all count as equally long."""
    n_pieces = (len(route) - 1) // 3
    piece = min(int(share * n_pieces), n_pieces - 1)
    return _split(route[3 * piece : 3 * piece + 4], share * n_pieces - piece)[-1]


def halfway(a: Point, b: Point, share: float = 0.5) -> Point:
    """Return the point at a share of the way from one point to another."""
    return a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1])


def _split(piece: list[Point], share: float) -> list[Point]:
    """Return the first part of a curve of four control points (de Casteljau)."""
    first = [piece[0]]
    while len(piece) > 1:
        piece = [halfway(a, b, share) for a, b in pairwise(piece)]
        first.append(piece[0])
    return first
