"""Where to draw a network: boxes in layers, curves between them, with few crossings."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

import networkx as nx
import numpy as np

from skbn._drawing.layout.coordinates import Point, Size, place_items
from skbn._drawing.layout.order import order_layers, shortest_layers

__all__ = ["Layout", "Point", "layered_layout"]

Edge = tuple[Hashable, Hashable]
Extent = tuple[float, float, float, float]  # left, right, bottom, top

_WIDEST = 520.0  # of a layer, in points, unless the network is large
_ASPECT = 1.6  # width over height of the pictures aimed at
_NODE_ROOM = 16.0  # that a box takes beside its width
_LAYER_ROOM = 77.0  # height of a layer and the gap below it, about
_PART_GAP = 24.0  # between parts that no edge connects


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
    extent: Extent


def layered_layout(dag: nx.DiGraph, sizes: Mapping[Hashable, Size]) -> Layout:
    """Lay a network out from top to bottom, parents above their children.

    Each connected part is laid out in layers, so that edges pass few layers (`shortest_layers`),
    seldom cross (`order_layers`), are short and bend little (`place_items`). No curve runs through
    a box. The same graph gives the same picture.

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
    for members in nx.weakly_connected_components(dag):
        nodes = [v for v in dag if v in members]
        edges = [edge for edge in dag.edges if edge[0] in members]
        parts.append(_lay_out_part(nodes, edges, sizes))
    positions: dict[Hashable, Point] = {}
    routes: dict[Edge, list[Point]] = {}
    for part, (x, y) in zip(parts, _pack([part.extent for part in parts]), strict=True):
        positions |= {v: _moved(point, x, y) for v, point in part.positions.items()}
        routes |= {e: [_moved(p, x, y) for p in curve] for e, curve in part.routes.items()}
    return _with_extent({v: positions[v] for v in dag}, {e: routes[e] for e in dag.edges}, sizes)


def _lay_out_part(
    nodes: Sequence[Hashable], edges: Sequence[Edge], sizes: Mapping[Hashable, Size]
) -> Layout:
    """Lay out a connected part."""
    if not edges:
        return _with_extent(dict.fromkeys(nodes, (0.0, 0.0)), {}, sizes)
    number = {node: i for i, node in enumerate(nodes)}
    pairs = [(number[a], number[b]) for a, b in edges]
    boxes = [sizes[node] for node in nodes]
    layers = shortest_layers(len(nodes), pairs)
    widths = [width + _NODE_ROOM for width, _ in boxes]
    # A layer may be wider if the picture is large anyway.
    side = (_ASPECT * sum(widths) * _LAYER_ROOM) ** 0.5
    height = (max(layers) + 1) * _LAYER_ROOM
    widest = max(_WIDEST, 1.2 * side, _ASPECT * height, *widths)
    layers, orders = order_layers(layers, pairs, widths, widest)
    centres, curves = place_items(layers, orders, pairs, boxes)
    positions = dict(zip(nodes, centres, strict=True))
    return _with_extent(positions, dict(zip(edges, curves, strict=True)), sizes)


def _pack(extents: Sequence[Extent]) -> list[Point]:
    """Return how far to move each part, to pack them in rows with the highest first."""
    sizes = [(right - left, top - bottom) for left, right, bottom, top in extents]
    area = sum((width + _PART_GAP) * (height + _PART_GAP) for width, height in sizes)
    widest = max((_ASPECT * area) ** 0.5, *(width for width, _ in sizes))
    moves = [(0.0, 0.0)] * len(sizes)
    x = y = height = 0.0
    for i in sorted(range(len(sizes)), key=lambda i: -sizes[i][1]):
        if x and x + sizes[i][0] > widest:
            x, y = 0.0, y - height - _PART_GAP
        height = height if x else sizes[i][1]
        moves[i] = x - extents[i][0], y - extents[i][3]
        x += sizes[i][0] + _PART_GAP
    return moves


def _moved(point: Point, x: float, y: float) -> Point:
    return round(point[0] + x, 3), round(point[1] + y, 3)


def _with_extent(
    positions: dict[Hashable, Point],
    routes: dict[Edge, list[Point]],
    sizes: Mapping[Hashable, Size],
) -> Layout:
    """Return a layout, and how far it extends."""
    centres = np.array(list(positions.values()))
    halves = np.array([sizes[v] for v in positions]) / 2
    points = np.concatenate([centres - halves, centres + halves, *routes.values()])
    (left, bottom), (right, top) = points.min(axis=0).tolist(), points.max(axis=0).tolist()
    return Layout(positions, routes, (left, right, bottom, top))
