"""Boxes where the caller wants them, and edges between them that pass other boxes by."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping

import networkx as nx
import numpy as np

from skbn._core.arrays import Floats
from skbn._displays.layout.coordinates import Size
from skbn._displays.layout.curves import Point, halfway, sampled, split
from skbn._displays.layout.layered import Edge, Layout, with_extent

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

    Parameters
    ----------
    graph : networkx.DiGraph
    sizes : mapping of node to (width, height)
        The boxes, in points.
    places : mapping of node to (x, y)
        No two are the same.
    """

    def __init__(
        self, graph: nx.DiGraph, sizes: Mapping[Hashable, Size], places: Mapping[Hashable, Point]
    ) -> None:
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
        routes: dict[Edge, list[Point]] = {}
        for a, b in self._graph.edges:
            others = [v for v in positions if v not in (a, b)]
            routes[a, b] = self._route(positions, a, b, others)
        return with_extent(positions, routes, self._sizes)

    def _route(
        self,
        positions: Mapping[Hashable, Point],
        a: Hashable,
        b: Hashable,
        others: Iterable[Hashable],
    ) -> list[Point]:
        """Lead an edge from border to border, with the least bend that avoids most boxes."""
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
