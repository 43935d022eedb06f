"""Coordinates of ordered layers: where boxes stand, and which knots their edges pass.

All boxes and all edges are placed at once, by one quadratic program: edges are short and bend
little, and whatever is left of something else in the order of a layer stays left of it, at a
distance.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy import sparse

from skbn._drawing._layout_quadratic import minimise_quadratic

__all__ = ["CLEARANCE", "Coordinates", "place_items"]

Edge = tuple[int, int]
Size = tuple[float, float]

CLEARANCE = 5.0  # of an edge from a box
_BOX_GAP = 16.0
_EDGE_GAP = 8.0  # between edges that pass a layer
_PORT_GAP = 7.0  # between edges of one node
_STIFF = 120.0  # the length over which bends count as much as slopes
_FIRST_GAP, _LEAST_GAP, _GREATEST_GAP = 44.0, 30.0, 84.0  # between the bands of layers
_STEEP = 0.5  # slope, vertical over horizontal, that the gaps make room for


class Coordinates(NamedTuple):
    """Centres of the boxes, and the knots of each edge, from its parent to its child."""

    centres: list[tuple[float, float]]
    knots: list[np.ndarray]


def place_items(
    layers: Sequence[int],
    orders: Sequence[Sequence[int]],
    edges: Sequence[Edge],
    sizes: Sequence[Size],
) -> Coordinates:
    """Place the nodes of ordered layers, and the knots of the edges between them.

    An edge has a knot in the middle of its parent, where it leaves the parent's layer, where it
    enters and leaves each layer that it passes, where it enters its child's layer, and in the
    middle of its child.
    """
    heights = [max([sizes[v][1] for v in order if v < len(sizes)], default=0) for order in orders]
    bands = [height + 2 * CLEARANCE for height in heights]
    program = _Program(layers, orders, edges, sizes)
    gaps = [_FIRST_GAP] * (len(orders) - 1)
    x = program.solve(bands, gaps)
    gaps = program.better_gaps(x)
    x = program.solve(bands, gaps)
    tops, middles, bottoms = _levels(bands, gaps)
    x = np.round(x, 2)
    knots = []
    for e, (a, b) in enumerate(edges):
        top, bottom = layers[a], layers[b]
        levels = [middles[top], bottoms[top]]
        for layer in range(top + 1, bottom):
            levels += [tops[layer], bottoms[layer]]
        levels += [tops[bottom], middles[bottom]]
        start = program.first[e]
        knots.append(np.column_stack([x[start : start + len(levels)], levels]))
    return Coordinates([(float(x[v]), middles[layers[v]]) for v in range(len(sizes))], knots)


def _levels(
    bands: Sequence[float], gaps: Sequence[float]
) -> tuple[list[float], list[float], list[float]]:
    tops, bottoms, y = [], [], 0.0
    for band, gap in zip(bands, [*gaps, 0.0], strict=True):
        tops.append(y)
        bottoms.append(y - band)
        y -= band + gap
    return tops, [(t + b) / 2 for t, b in zip(tops, bottoms, strict=True)], bottoms


class _Program:
    """The variables are the x of the nodes and of the knots of one edge after the other."""

    def __init__(
        self,
        layers: Sequence[int],
        orders: Sequence[Sequence[int]],
        edges: Sequence[Edge],
        sizes: Sequence[Size],
    ) -> None:
        self.n = len(sizes)
        self.layers, self.orders, self.edges, self.sizes = layers, orders, edges, sizes
        self.first = []
        self.size = self.n
        for a, b in edges:
            self.first.append(self.size)
            self.size += 2 * (layers[b] - layers[a] + 1)
        self.incoming: list[list[int]] = [[] for _ in range(self.n)]
        self.outgoing: list[list[int]] = [[] for _ in range(self.n)]
        place = {(layer, v): i for layer, order in enumerate(orders) for i, v in enumerate(order)}

        def neighbour(e: int, layer: int) -> int:
            ends = {layers[v]: v for v in edges[e]}
            return place[layer, ends.get(layer, self.n + e)]

        for e, (a, b) in enumerate(edges):
            self.outgoing[a].append(e)
            self.incoming[b].append(e)
        for v in range(self.n):
            self.outgoing[v].sort(key=lambda e: neighbour(e, layers[v] + 1))  # noqa: B023
            self.incoming[v].sort(key=lambda e: neighbour(e, layers[v] - 1))  # noqa: B023
        self.apart: dict[tuple[int, int], float] = {}
        self._separate()

    def knot(self, e: int, layer: int, *, entering: bool) -> int:
        """Number of the variable where an edge enters or leaves a layer."""
        return self.first[e] + 2 * (layer - self.layers[self.edges[e][0]]) + (not entering)

    def port(self, e: int, node: int) -> int:
        a, b = self.edges[e]
        return (
            self.first[e]
            if node == a
            else self.first[e] + 2 * (self.layers[b] - self.layers[a]) + 1
        )

    # Constraints

    def _separate(self) -> None:
        for layer, order in enumerate(self.orders):
            boxes = [v for v in order if v < self.n]
            for a, b in pairwise(boxes):
                self._keep(a, b, (self.sizes[a][0] + self.sizes[b][0]) / 2 + _BOX_GAP)
            for entering in (True, False):
                self._separate_level(layer, order, entering)
        for v in range(self.n):
            reach = self._reach(v)
            for edges in (self.incoming[v], self.outgoing[v]):
                ports = [self.port(e, v) for e in edges]
                for port in ports:
                    self._keep(v, port, -reach)
                    self._keep(port, v, -reach)
                for a, b in pairwise(ports):
                    self._keep(a, b, self._port_gap(v, len(ports)))

    def _reach(self, v: int) -> float:
        """How far from the middle of a box an edge can aim."""
        width, height = self.sizes[v]
        return max(width - height, 0.4 * width) / 2

    def _port_gap(self, v: int, n_ports: int) -> float:
        return min(_PORT_GAP, 1.9 * self._reach(v) / max(n_ports - 1, 1))

    def _separate_level(self, layer: int, order: Sequence[int], entering: bool) -> None:
        """Keep the edges of a level apart from each other and from the boxes of others."""
        box, edge = None, None
        waiting: list[int] = []  # edges since the last box that is not their own
        own: list[int] = []
        for item in order:
            if item >= self.n:
                knot = self.knot(item - self.n, layer, entering=entering)
                if box is not None:
                    self._keep(box, knot, self.sizes[box][0] / 2 + CLEARANCE)
                if edge is not None:
                    self._keep(edge, knot, _EDGE_GAP)
                edge = knot
                waiting.append(knot)
                continue
            ends = (self.incoming if entering else self.outgoing)[item]
            for knot in waiting:
                self._keep(knot, item, self.sizes[item][0] / 2 + CLEARANCE)
            own = []
            for i, e in enumerate(ends):
                knot = self.knot(e, layer, entering=entering)
                if box is not None:
                    self._keep(box, knot, self.sizes[box][0] / 2 + CLEARANCE)
                if edge is not None:
                    self._keep(edge, knot, self._port_gap(item, len(ends)) if i else _EDGE_GAP)
                edge = knot
                own.append(knot)
            box, waiting = item, own

    def _keep(self, left: int, right: int, distance: float) -> None:
        self.apart[left, right] = max(distance, self.apart.get((left, right), distance))

    # Objective

    def solve(self, bands: Sequence[float], gaps: Sequence[float]) -> np.ndarray:
        terms: list[tuple[list[int], list[float], float]] = []  # weight * (coefficients . x)^2
        for e, (a, b) in enumerate(self.edges):
            top, bottom = self.layers[a], self.layers[b]
            rises = [bands[top] / 2]
            for layer in range(top, bottom):
                rises += [gaps[layer], bands[layer + 1]]
            rises[-1] /= 2
            start = self.first[e]
            for k, rise in enumerate(rises):
                terms.append(([start + k, start + k + 1], [1.0, -1.0], 1 / rise))
            for k, (r, s) in enumerate(pairwise(rises)):
                weight = _STIFF**2 / ((r + s) / 2)
                terms.append(
                    (
                        [start + k, start + k + 1, start + k + 2],
                        [1 / r, -1 / r - 1 / s, 1 / s],
                        weight,
                    )
                )
            for v in (a, b):
                terms.append(([v, self.port(e, v)], [1.0, -1.0], 0.03))
        terms += [([v], [1.0], 1e-4) for v in range(self.n)]
        sizes = [len(columns) for columns, _, _ in terms]
        which = np.repeat(np.arange(len(terms)), sizes)
        columns = np.concatenate([c for c, _, _ in terms])
        values = np.concatenate([np.multiply(v, np.sqrt(w)) for _, v, w in terms])
        roots = sparse.csr_matrix((values, (which, columns)), shape=(len(terms), self.size))
        pairs = np.array(list(self.apart), dtype=np.intp).reshape(-1, 2)
        ones = np.ones(len(pairs))
        rows = sparse.csr_matrix(
            (
                np.concatenate([-ones, ones]),
                (np.tile(np.arange(len(pairs)), 2), pairs.T.ravel()),
            ),
            shape=(len(pairs), self.size),
        )
        return minimise_quadratic(
            (roots.T @ roots).tocsc(), rows, np.array(list(self.apart.values()))
        )

    def better_gaps(self, x: np.ndarray) -> list[float]:
        gaps = []
        for layer in range(len(self.orders) - 1):
            widest = max(
                (
                    abs(
                        float(
                            x[self.knot(e, layer, entering=False)]
                            - x[self.knot(e, layer + 1, entering=True)]
                        )
                    )
                    for e, (a, b) in enumerate(self.edges)
                    if self.layers[a] <= layer < self.layers[b]
                ),
                default=0.0,
            )
            gaps.append(round(min(max(widest * _STEEP, _LEAST_GAP), _GREATEST_GAP), 1))
        return gaps
