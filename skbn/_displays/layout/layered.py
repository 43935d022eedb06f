"""Where to draw a network: boxes in layers, curves between them, with few crossings."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from types import MappingProxyType
from typing import NamedTuple

import networkx as nx
import numpy as np

from skbn._core.arrays import Floats, Names
from skbn._displays.layout.coordinates import Items, Point, Size, Sizes, halfway, sampled, split
from skbn._displays.layout.order import order_by_lanes, order_layers, shortest_layers

Edge = tuple[Hashable, Hashable]
Extent = tuple[float, float, float, float]  # left, right, bottom, top

# Lengths in points, chosen by looking at pictures.
_WIDEST = 520.0  # a layer's width, unless the picture is narrow or large
ASPECT = 1.6  # width over height that pictures aim at
_NODE_ROOM = 16.0  # added to the width of a box
_PASSING_ROOM = 7.0  # an edge takes this in a layer, in a picture of a given width
_LAYER_ROOM = 77.0  # about the height of a layer and the gap below it
_USUAL_HEIGHT = 24.0  # the height of a box that _LAYER_ROOM assumes
_PART_GAP = 24.0  # gap between parts that no edge connects
BAND_PADDING = 14.0  # gap between the boxes of a band and the end of the picture
_BAND_BORDER = 5.0  # gap between two bands


class Layout(NamedTuple):
    """Boxes and curves of a drawn network, in points."""

    positions: dict[Hashable, Point]  # centres of the nodes' boxes; y grows upwards
    # control points of cubic Bézier curves, 3k + 1 of them: start, two controls, knot, two
    # controls, knot, ... They lead from the border of the parent's box to the child's.
    routes: dict[Edge, list[Point]]
    extent: Extent  # left, right, bottom and top of all boxes, curves and bands
    bands: Mapping[int, Extent] = MappingProxyType({})  # the rectangle of each band, as an extent


@dataclass(eq=False)
class LayeredGraph:
    """A graph in layers, from which layouts of any proportions are made.

    Each connected part is laid out in layers, so that edges pass few layers (`shortest_layers`),
    seldom cross (`order_layers`), are short and bend little (`Items`). No curve runs through a
    box. The same graph gives the same picture.

    >>> import networkx as nx
    >>> dag = nx.DiGraph([("a", "b"), ("a", "c")])
    >>> layout = LayeredGraph(dag, dict.fromkeys(dag, (40.0, 22.0))).layout()
    >>> layout.positions["a"][0] == (layout.positions["b"][0] + layout.positions["c"][0]) / 2
    True
    """

    dag: nx.DiGraph  # acyclic
    sizes: Sizes  # the boxes to place, in points
    _: KW_ONLY
    # whether parents stand left of their children; else they stand above them
    is_sideways: bool = False
    # stretches of layers to which the nodes must keep: first band 0, then band 1, ... No edge leads
    # to an earlier band.
    bands: Mapping[Hashable, int] | None = None
    aspect: float = ASPECT  # the width over the height of the pictures aimed at
    # in points. No layer is wider, if its boxes and edges have room in it; the picture is as high
    # as it then needs to be.
    width: float | None = None
    # only with bands. Nodes of a lane, which are in different bands, stand in one line across the
    # layers. The lanes are side by side, and `aspect` and `width` have no effect.
    lanes: Mapping[Hashable, int] | None = None

    def __post_init__(self) -> None:
        # Sideways, everything is laid out from top to bottom with x and y exchanged, and turned.
        sizes = self.sizes
        self.sizes = {v: sizes[v][::-1] if self.is_sideways else sizes[v] for v in self.dag}
        connected = [{*self.dag}] if self.bands else nx.weakly_connected_components(self.dag)
        self._parts = []
        self._layouts: dict[tuple[float, float], Layout] = {}
        for members in connected:
            nodes = [v for v in self.dag if v in members]
            edges = [edge for edge in self.dag.edges if edge[0] in members]
            self._parts.append((nodes, edges, self._place(nodes, edges)))

    def layout(self, stretch: tuple[float, float] = (1.0, 1.0)) -> Layout:
        """Return the layout, stretched by factors of 1 or more in x and in y.

        Distances are stretched; boxes keep their sizes.
        """
        if stretch not in self._layouts:
            self._layouts[stretch] = self._layout(stretch)
        return self._layouts[stretch]

    def _layout(self, stretch: tuple[float, float]) -> Layout:
        across, down = stretch[::-1] if self.is_sideways else stretch
        parts = []
        for nodes, edges, items in self._parts:
            stretched = items.stretched(across, down)
            positions = dict(zip(nodes, stretched.centres(), strict=True))
            routes = dict(zip(edges, stretched.curves(), strict=True))
            part = with_extent(positions, routes, self.sizes)
            if self.bands:
                part = _with_bands(part, self.sizes, self.bands)
            parts.append(_mapped(part, lambda p: (-p[1], -p[0])) if self.is_sideways else part)
        aspect = self.aspect * stretch[0] / stretch[1]
        moves = _pack([part.extent for part in parts], aspect, self.width)
        placed = [
            _mapped(part, lambda p: (round(p[0] + right, 3), round(p[1] + up, 3)))  # noqa: B023
            for part, (right, up) in zip(parts, moves, strict=True)
        ]
        positions = {v: point for part in placed for v, point in part.positions.items()}
        routes = {e: curve for part in placed for e, curve in part.routes.items()}
        lefts, rights, bottoms, tops = zip(*(part.extent for part in placed), strict=True)
        return Layout(
            {v: positions[v] for v in self.dag},
            {e: routes[e] for e in self.dag.edges},
            (min(lefts), max(rights), min(bottoms), max(tops)),
            placed[0].bands,
        )

    def _place(self, nodes: Names, edges: Sequence[Edge]) -> Items:
        """Place the boxes of a part in layers, and lead the edges between them."""
        boxes = [self.sizes[node] for node in nodes]
        bands = None if self.bands is None else [self.bands[node] for node in nodes]
        if len(nodes) == 1:
            return Items([0], [(0,)], [], boxes)
        number = {node: i for i, node in enumerate(nodes)}
        pairs = [(number[a], number[b]) for a, b in edges]
        layers = shortest_layers(len(nodes), pairs, bands)
        if self.lanes is not None:
            lanes = [self.lanes[node] for node in nodes]
            orders = order_by_lanes(layers, pairs, lanes)
            return Items(layers, orders, pairs, boxes, bands, lanes=lanes)
        widths = [width + _NODE_ROOM for width, _ in boxes]
        aspect, usual, layer_room = self.aspect, ASPECT, _LAYER_ROOM
        if self.is_sideways:
            aspect, usual = 1 / aspect, 1 / ASPECT
            layer_room += sum(height for _, height in boxes) / len(boxes) - _USUAL_HEIGHT
        # A layer may be wider if the picture is large anyway.
        side = (aspect * sum(widths) * layer_room) ** 0.5
        height = (max(layers) + 1) * layer_room
        least = _WIDEST * min(aspect / usual, 1.0)
        widest = max(least, 1.2 * side, aspect * height, *widths)
        if self.width is None:
            _, layers, orders = order_layers(layers, pairs, widths, widest, bands)
            return Items(layers, orders, pairs, boxes, bands)
        widest = max(self.width, *widths)
        ordered = order_layers(layers, pairs, widths, widest, bands, _PASSING_ROOM)
        _, layers, orders = ordered
        return Items(layers, orders, pairs, boxes, bands, self.width)


def _with_bands(layout: Layout, sizes: Sizes, bands: Mapping[Hashable, int]) -> Layout:
    """Return a layout with a rectangle around the layers of each band, as wide as the picture."""
    left, right, _, _ = layout.extent
    left, right = left - BAND_PADDING, right + BAND_PADDING
    n = max(bands.values()) + 1
    highest, lowest = np.full(n, -np.inf), np.full(n, np.inf)
    for v, band in bands.items():
        y, half = layout.positions[v][1], sizes[v][1] / 2
        highest[band] = max(highest[band], y + half)
        lowest[band] = min(lowest[band], y - half)
    between = (lowest[:-1] + highest[1:]) / 2
    tops = [float(highest[0]) + BAND_PADDING, *(between - _BAND_BORDER / 2).tolist()]
    bottoms = [*(between + _BAND_BORDER / 2).tolist(), float(lowest[-1]) - BAND_PADDING]
    rectangles = {
        band: (left, right, bottom, top)
        for band, (bottom, top) in enumerate(zip(bottoms, tops, strict=True))
    }
    return layout._replace(extent=(left, right, bottoms[-1], tops[0]), bands=rectangles)


def _pack(extents: Sequence[Extent], aspect: float, width: float | None) -> list[Point]:
    """Return how far to move each part: the highest first, each as far up and left as it fits."""
    sizes = [(right - left, top - bottom) for left, right, bottom, top in extents]
    area = sum((each + _PART_GAP) * (height + _PART_GAP) for each, height in sizes)
    highest = max((area / aspect) ** 0.5, *(each + _PART_GAP for _, each in sizes))
    widest = max(width or area / highest, *(each for each, _ in sizes))
    moves = [(0.0, 0.0)] * len(sizes)
    skyline = [(0.0, 0.0)]  # how far down it is filled, from each x on up to the next
    for i in sorted(range(len(sizes)), key=lambda i: -sizes[i][1]):
        room = sizes[i][0] + _PART_GAP
        fits = [n for n, (x, _) in enumerate(skyline) if x == 0 or x + sizes[i][0] <= widest]
        places = []
        for n in fits:
            below = [depth for x, depth in skyline[n:] if x < skyline[n][0] + room]
            places.append((max(below), skyline[n][0], n, below[-1], len(below)))
        depth, left, n, last, n_below = min(places)
        moves[i] = left - extents[i][0], -depth - extents[i][3]
        rest = skyline[n + n_below :]
        if not rest or rest[0][0] > left + room:
            rest = [(left + room, last), *rest]
        skyline[n:] = [(left, depth + sizes[i][1] + _PART_GAP), *rest]
    return moves


def _mapped(layout: Layout, to: Callable[[Point], Point]) -> Layout:
    """Return a layout all of whose points are mapped to others."""

    def mapped_extent(extent: Extent) -> Extent:
        left, right, bottom, top = extent
        (x0, y0), (x1, y1) = to((left, bottom)), to((right, top))
        return min(x0, x1), max(x0, x1), min(y0, y1), max(y0, y1)

    return Layout(
        {v: to(point) for v, point in layout.positions.items()},
        {e: [to(point) for point in curve] for e, curve in layout.routes.items()},
        mapped_extent(layout.extent),
        {band: mapped_extent(extent) for band, extent in layout.bands.items()},
    )


def with_extent(
    positions: dict[Hashable, Point], routes: dict[Edge, list[Point]], sizes: Sizes
) -> Layout:
    """Return a layout, and how far it extends."""
    centres = np.array(list(positions.values()))
    halves = np.array([sizes[v] for v in positions]) / 2
    points = np.concatenate([centres - halves, centres + halves, *routes.values()])
    (left, bottom), (right, top) = points.min(axis=0).tolist(), points.max(axis=0).tolist()
    return Layout(positions, routes, (left, right, bottom, top))


# Boxes where the caller wants them, and edges that avoid other boxes

_GAP = 18.0  # between two boxes, in points: room for an arrowhead
_CLEARANCE = 4.0  # between an edge and a box, in points
_LOOSEST = 8.0  # largest area of the picture, over the area of the boxes with their gaps
_PUSHES = 200  # rounds of pushing overlapping boxes apart, at most
_SPACING = 2.0  # distance between the points of an edge that are compared with boxes
# How far the middle of an edge may be from the straight line, over its length; the least first.
_BENDS = (0.0, 0.1, -0.1, 0.2, -0.2, 0.3, -0.3, 0.45, -0.45, 0.6, -0.6)


class PlacedGraph:
    """A graph whose nodes have places, in any unit.

    The places are scaled alike in x and y until the boxes are apart; single boxes that are still
    too close are pushed apart. Edges are straight, or bend around boxes that stand in their way.

    `sizes`: the boxes, in points
    `places`: no two are the same
    """

    def __init__(self, graph: nx.DiGraph, sizes: Sizes, places: Mapping[Hashable, Point]) -> None:
        self._graph, self._sizes = graph, sizes
        self._boxes = np.array([sizes[v] for v in graph])
        self._places = _apart(np.array([places[v] for v in graph], dtype=float), self._boxes)

    def layout(self, stretch: tuple[float, float] = (1.0, 1.0)) -> Layout:
        """Return the layout, stretched by factors of 1 or more in x and in y."""
        places = self._places * np.array(stretch)
        positions: dict[Hashable, Point] = {
            v: (round(x, 2), round(y, 2))
            for v, (x, y) in zip(self._graph, places.tolist(), strict=True)
        }
        routes = {(a, b): self._route(positions, a, b) for a, b in self._graph.edges}
        return with_extent(positions, routes, self._sizes)

    def _route(self, positions: Mapping[Hashable, Point], a: Hashable, b: Hashable) -> list[Point]:
        """Lead an edge from border to border, with the least bend that avoids most boxes."""
        others = [v for v in positions if v not in (a, b)]
        centres = np.array([positions[v] for v in others]).reshape(-1, 2)
        halves = np.array([self._sizes[v] for v in others]).reshape(-1, 2) / 2 + _CLEARANCE
        start, end = positions[a], positions[b]
        best, least = [start, start, end, end], np.inf
        for bend in _BENDS:
            route = _bent(start, end, bend)
            route = _outside(_outside(route, start, self._sizes[a])[::-1], end, self._sizes[b])
            route = route[::-1]
            points = sampled(route, _SPACING)[:, np.newaxis]
            hidden = float((np.abs(points - centres) < halves).all(axis=-1).sum())
            if hidden < least:
                best, least = route, hidden
            if least == 0:
                break
        return [(round(x, 3), round(y, 3)) for x, y in best]


class SharedPlaces(PlacedGraph):
    """A graph whose nodes stand exactly where another picture has them.

    The edges that it shares keep their curves, unless boxes have other sizes.

    `layout`: that of the other picture
    """

    def __init__(self, graph: nx.DiGraph, sizes: Sizes, layout: Layout, sizes_there: Sizes) -> None:
        self._graph, self._sizes, self._layout = graph, sizes, layout
        self._same = {v for v in graph if sizes[v] == sizes_there[v]}

    def layout(self, stretch: tuple[float, float] = (1.0, 1.0)) -> Layout:
        """Return the layout, which is never stretched."""
        there = self._layout
        positions = {v: there.positions[v] for v in self._graph}
        routes = {}
        for a, b in self._graph.edges:
            known = there.routes.get((a, b)) or there.routes.get((b, a), [])[::-1]
            keeps = known and {a, b} <= self._same
            routes[a, b] = known if keeps else self._route(positions, a, b)
        return there._replace(positions=positions, routes=routes)


def _apart(places: Floats, boxes: Floats) -> Floats:
    """Scale places, with their proportions kept, until boxes of these sizes are apart."""
    first, second = np.triu_indices(len(places), 1)
    if not first.size:
        return places - places
    least = (boxes[first] + boxes[second]) / 2 + _GAP
    apart = np.abs(places[first] - places[second])
    with np.errstate(divide="ignore"):
        scale = (least / apart).min(axis=1).max()
    extent = np.ptp(places, axis=0)
    # Two close nodes must not make the whole picture huge: they are pushed apart below instead.
    # Nodes in a row have no area, so the picture counts as at least a quarter as high as wide.
    room = _LOOSEST * np.prod(boxes + _GAP, axis=1).sum()
    scale = min(scale, (room / max(np.prod(extent), extent.max() ** 2 / 4)) ** 0.5)
    places = (places - places.min(axis=0)) * scale
    for _ in range(_PUSHES):
        moved = False
        for i, j in zip(first, second, strict=True):
            need = (boxes[i] + boxes[j]) / 2 + _GAP / 2 - np.abs(places[i] - places[j])
            if (need > 1e-9).all():
                axis = int(need[1] < need[0])
                push = (need[axis] + 0.01) / 2
                side = 1 if places[i, axis] > places[j, axis] else -1
                places[i, axis] += side * push
                places[j, axis] -= side * push
                moved = True
        if not moved:
            break
    return places


def _bent(start: Point, end: Point, bend: float) -> list[Point]:
    """Return a curve whose middle is this far from the straight line, over its length."""
    along = end[0] - start[0], end[1] - start[1]
    x, y = halfway(start, end)
    # A parabola's middle is halfway between the straight line and its control point.
    top = x - 2 * bend * along[1], y + 2 * bend * along[0]
    return [start, halfway(start, top, 2 / 3), halfway(end, top, 2 / 3), end]


def _outside(route: list[Point], centre: Point, size: Size) -> list[Point]:
    """Return the part of a curve from where it leaves the box that it starts in."""
    low, high = 0.0, 1.0
    half = np.array(size) / 2
    for _ in range(30):
        middle = (low + high) / 2
        inside = (np.abs(np.subtract(split(route, middle)[-1], centre)) < half).all()
        low, high = (middle, high) if inside else (low, middle)
    return split(route[::-1], 1 - low)[::-1]
