"""Where to draw a network: boxes in layers, curves between them, with few crossings."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

import networkx as nx
import numpy as np

from skbn._drawing.layout.coordinates import place_items
from skbn._drawing.layout.layers import shortest_layers, split_wide_layers
from skbn._drawing.layout.order import order_layers
from skbn._drawing.layout.parts import pack
from skbn._drawing.layout.routes import curve_through, leave_box

__all__ = ["Layout", "Point", "layered_layout"]

Point = tuple[float, float]
Edge = tuple[Hashable, Hashable]
Size = tuple[float, float]

_WIDEST = 520.0  # a layer's boxes, where more layers make the picture less wide
_ASPECT = 1.6  # width over height that is aimed at
_ROOM = (16.0, 55.0)  # what a box takes besides its size, about


class Layout(NamedTuple):
    """Boxes and curves of a drawn network, in points.

    Parameters
    ----------
    positions : dict of node to (x, y)
        Centres of the nodes' boxes; y grows upwards, and parents are above their children.
    routes : dict of edge to list of (x, y)
        Control points of cubic Bézier curves, 3k + 1 of them: start, two controls, knot,
        two controls, knot, ... They lead from the border of the parent's box to the child's.
    extent : tuple of float
        Left, right, bottom and top of all boxes and curves.
    """

    positions: dict[Hashable, Point]
    routes: dict[Edge, list[Point]]
    extent: tuple[float, float, float, float]


def layered_layout(dag: nx.DiGraph, sizes: Mapping[Hashable, Size]) -> Layout:
    """Lay a network out from top to bottom, parents above their children.

    Each part that is connected is laid out in layers: so that the edges pass few layers
    (`shortest_layers`), cross seldom (`order_layers`), and are short and bend little
    (`place_items`). No curve runs through a box. The same graph gives the same picture.

    Parameters
    ----------
    dag : networkx.DiGraph
        Acyclic.
    sizes : mapping of node to (width, height)
        The boxes to place, in points.

    Examples
    --------
    >>> import networkx as nx
    >>> dag = nx.DiGraph([("a", "b"), ("a", "c")])
    >>> layout = layered_layout(dag, dict.fromkeys(dag, (40.0, 22.0)))
    >>> layout.positions["a"][0] == (layout.positions["b"][0] + layout.positions["c"][0]) / 2
    True
    """
    parts: list[Layout] = []
    isolated: list[Layout] = []
    for members in nx.weakly_connected_components(dag):
        nodes = [v for v in dag if v in members]
        edges = [edge for edge in dag.edges if edge[0] in members]
        (parts if edges else isolated).append(_lay_out_part(nodes, edges, sizes))
    origins = pack(*([part.extent for part in group] for group in (parts, isolated)))
    positions: dict[Hashable, Point] = {}
    routes: dict[Edge, list[Point]] = {}
    for part, (x, y) in zip([*parts, *isolated], origins, strict=True):
        positions |= {v: _moved(point, x, y) for v, point in part.positions.items()}
        routes |= {e: [_moved(p, x, y) for p in curve] for e, curve in part.routes.items()}
    return _with_extent({v: positions[v] for v in dag}, {e: routes[e] for e in dag.edges}, sizes)


def _moved(point: Point, x: float, y: float) -> Point:
    return round(point[0] + x, 3), round(point[1] + y, 3)


def _lay_out_part(
    nodes: Sequence[Hashable], edges: Sequence[Edge], sizes: Mapping[Hashable, Size]
) -> Layout:
    """Lay out a part that is connected."""
    if not edges:
        return _with_extent(dict.fromkeys(nodes, (0.0, 0.0)), {}, sizes)
    number = {node: i for i, node in enumerate(nodes)}
    pairs = [(number[a], number[b]) for a, b in edges]
    boxes = [sizes[node] for node in nodes]
    layers = shortest_layers(len(nodes), pairs)
    widths = [width + _ROOM[0] for width, _ in boxes]
    widest = _widest(widths, layers)
    layers = split_wide_layers(layers, pairs, widths, widest)
    layers, orders = order_layers(layers, pairs, widths, widest)
    centres, knots = place_items(layers, orders, pairs, boxes)
    routes: dict[Edge, list[Point]] = {}
    for edge, (a, b), passed in zip(edges, pairs, knots, strict=True):
        curve = leave_box(curve_through(passed), centres[a], boxes[a])
        curve = leave_box(curve[::-1], centres[b], boxes[b])[::-1]
        routes[edge] = [(x, y) for x, y in np.round(curve, 3).tolist()]
    return _with_extent(dict(zip(nodes, centres, strict=True)), routes, sizes)


def _widest(widths: Sequence[float], layers: Sequence[int]) -> float:
    """Return how wide a layer may be: wider, the more the network needs room anyway."""
    n_layers = max(layers) + 1
    rise = _ROOM[1] + 22.0
    area = sum(widths) * rise
    return max(_WIDEST, 1.2 * (_ASPECT * area) ** 0.5, _ASPECT * n_layers * rise, *widths)


def _with_extent(
    positions: dict[Hashable, Point],
    routes: dict[Edge, list[Point]],
    sizes: Mapping[Hashable, Size],
) -> Layout:
    """Return a layout, and how far it extends."""
    corners = [
        (x + side * sizes[v][0] / 2, y + side * sizes[v][1] / 2)
        for v, (x, y) in positions.items()
        for side in (-1, 1)
    ]
    points = [*corners, *(point for curve in routes.values() for point in curve)]
    if not points:
        return Layout({}, {}, (0.0, 0.0, 0.0, 0.0))
    xs, ys = zip(*points, strict=True)
    return Layout(positions, routes, (min(xs), max(xs), min(ys), max(ys)))
