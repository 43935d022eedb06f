"""Where to draw a network: boxes in layers, curves between them, with few crossings."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import NamedTuple

import networkx as nx
import numpy as np

from skbn._drawing._coordinates import place_items
from skbn._drawing._layers import shortest_layers
from skbn._drawing._order import order_layers
from skbn._drawing._routes import curve_through, leave_box

__all__ = ["Layout", "Point", "layered_layout"]

Point = tuple[float, float]


class Layout(NamedTuple):
    """Boxes and curves of a drawn network, in points.

    Parameters
    ----------
    positions : dict of node to (x, y)
        Centres of the nodes' boxes; y grows upwards, and parents are above their children.
    routes : dict of edge to list of (x, y)
        Control points of cubic Bézier curves, 3k + 1 of them: start, two controls, knot,
        two controls, knot, ... They lead from the border of the parent's box to that of the child's.
    extent : tuple of float
        Left, right, bottom and top of all that is drawn.
    """

    positions: dict[Hashable, Point]
    routes: dict[tuple[Hashable, Hashable], list[Point]]
    extent: tuple[float, float, float, float]


def layered_layout(dag: nx.DiGraph, sizes: Mapping[Hashable, tuple[float, float]]) -> Layout:
    """Lay a network out from top to bottom, parents above their children.

    Parameters
    ----------
    dag : networkx.DiGraph
        Acyclic.
    sizes : mapping of node to (width, height)
        The boxes to place, in points.
    """
    parts = [dag.subgraph(c) for c in _components(dag)]
    positions, routes = {}, {}
    x = 0.0
    for part in parts:
        drawn = _lay_out_component([v for v in dag if v in part], list(part.edges), sizes)
        left, right, _, top = drawn.extent
        for v, (a, b) in drawn.positions.items():
            positions[v] = (a + x - left, b - top)
        for e, points in drawn.routes.items():
            routes[e] = [(a + x - left, b - top) for a, b in points]
        x += right - left + 24
    positions = {v: positions[v] for v in dag}
    routes = {e: routes[e] for e in dag.edges}
    return Layout(positions, routes, _extent(positions, routes, sizes))


def _components(dag):
    return nx.weakly_connected_components(dag)


def _lay_out_component(nodes, edges, sizes):
    number = {v: i for i, v in enumerate(nodes)}
    pairs = [(number[a], number[b]) for a, b in edges]
    boxes = [sizes[v] for v in nodes]
    layers = shortest_layers(len(nodes), pairs)
    layers, orders = order_layers(layers, pairs, [w + 16 for w, _ in boxes], 1e9)
    centres, knots = place_items(layers, orders, pairs, boxes)
    routes = {}
    for e, (a, b) in enumerate(pairs):
        curve = leave_box(curve_through(knots[e]), centres[a], boxes[a])
        curve = leave_box(curve[::-1], centres[b], boxes[b])[::-1]
        routes[edges[e]] = [(float(px), float(py)) for px, py in np.round(curve, 3)]
    positions = dict(zip(nodes, centres, strict=True))
    return Layout(positions, routes, _extent(positions, routes, sizes))


def _extent(positions, routes, sizes):
    xs, ys = [], []
    for v, (x, y) in positions.items():
        w, h = sizes[v]
        xs += [x - w / 2, x + w / 2]
        ys += [y - h / 2, y + h / 2]
    for points in routes.values():
        xs += [x for x, _ in points]
        ys += [y for _, y in points]
    return (min(xs), max(xs), min(ys), max(ys)) if xs else (0.0, 0.0, 0.0, 0.0)
