"""The quadratic program that places boxes and edges side by side.

All boxes and all edges are placed at once: edges are short and bend little, and what is left of
something else in the order of a layer stays left of it, at a distance.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from scipy import sparse

from skbn._drawing.layout.quadratic import minimise_quadratic

__all__ = ["CLEARANCE", "Edge", "Program", "Size"]

Edge = tuple[int, int]
Size = tuple[float, float]
Term = tuple[list[int], list[float], float]

CLEARANCE = 5.0  # of an edge from a box
_BOX_GAP = 16.0
_EDGE_GAP = 8.0  # between edges in a layer
_CROSSING_GAP = 3.0  # between those that cross above where they enter, or below where they leave
_PORT_GAP = 8.0  # between edges of one node, where there is room
_STIFF = 140.0  # the length over which bends count as much as slopes
_CENTRED = 0.03  # weight of an edge aiming at the middle of a box
_UNIQUE = 1e-4  # weight of boxes being in the middle of the picture


class Program:
    """Boxes and edges in ordered layers.

    The variables are the x of the nodes, followed by those of the knots of each edge.

    Parameters
    ----------
    layers : sequence of int
        The layer of each node.
    orders : sequence of sequence of int
        What is in each layer, from left to right: nodes, and n + e for edge number e.
    edges : sequence of (parent, child)
        Nodes are numbers from 0.
    sizes : sequence of (width, height)
        Of the nodes' boxes.
    """

    def __init__(
        self,
        layers: Sequence[int],
        orders: Sequence[Sequence[int]],
        edges: Sequence[Edge],
        sizes: Sequence[Size],
    ) -> None:
        self.n = len(sizes)
        self.layers, self.orders, self.edges, self.sizes = layers, orders, edges, sizes
        self.spread = 1.0  # multiplies the gaps between boxes and between edges
        self.first: list[int] = []  # the variable of each edge's first knot
        self.size = self.n
        for a, b in edges:
            self.first.append(self.size)
            self.size += 2 * (layers[b] - layers[a] + 1)
        self._places = {
            (layer, item): i for layer, order in enumerate(orders) for i, item in enumerate(order)
        }
        self._incoming: list[list[int]] = [[] for _ in range(self.n)]
        self._outgoing: list[list[int]] = [[] for _ in range(self.n)]
        for e, (a, b) in enumerate(edges):
            self._outgoing[a].append(e)
            self._incoming[b].append(e)
        for v in range(self.n):
            self._outgoing[v].sort(key=lambda e: self._place(e, layers[v] + 1))
            self._incoming[v].sort(key=lambda e: self._place(e, layers[v] - 1))

    def solve(self, bands: Sequence[float], gaps: Sequence[float]) -> np.ndarray:
        """Find the best x, given the heights of the layers and of the gaps between them."""
        terms: list[Term] = [([v], [1.0], _UNIQUE) for v in range(self.n)]
        for e in range(len(self.edges)):
            terms += self._terms(e, bands, gaps)
        lengths = [len(columns) for columns, _, _ in terms]
        values = np.concatenate([np.multiply(v, weight**0.5) for _, v, weight in terms])
        where = np.repeat(np.arange(len(terms)), lengths), [k for c, _, _ in terms for k in c]
        roots = sparse.csr_matrix((values, where), shape=(len(terms), self.size))
        apart = self._distances()
        left, right = np.array(list(apart)).T
        rows = np.arange(len(apart))
        entries = (
            np.repeat([-1.0, 1.0], len(apart)),
            (
                np.concatenate([rows, rows]),
                np.concatenate([left, right]),
            ),
        )
        differences = sparse.csr_matrix(entries, shape=(len(apart), self.size))
        return minimise_quadratic(
            (roots.T @ roots).tocsc(), differences, np.array(list(apart.values()))
        )

    def widths_between(self, x: np.ndarray) -> list[float]:
        """Tell how far edges go sideways between each layer and the next, at most."""
        widths = [0.0] * (len(self.orders) - 1)
        for e, (a, b) in enumerate(self.edges):
            for layer in range(self.layers[a], self.layers[b]):
                leaving, entering = self._knot(e, layer, False), self._knot(e, layer + 1, True)
                widths[layer] = max(widths[layer], abs(float(x[leaving] - x[entering])))
        return widths

    # Variables

    def _knot(self, e: int, layer: int, entering: bool) -> int:
        """Return the variable where an edge enters or leaves a layer."""
        return self.first[e] + 2 * (layer - self.layers[self.edges[e][0]]) + (not entering)

    def _port(self, e: int, node: int) -> int:
        """Return the variable of an edge's knot in the middle of its parent or child."""
        return self._knot(e, self.layers[node], node == self.edges[e][0])

    def _place(self, e: int, layer: int) -> int:
        """Return where an edge is, or ends, in the order of a layer."""
        a, b = self.edges[e]
        item = {self.layers[a]: a, self.layers[b]: b}.get(layer, self.n + e)
        return self._places[layer, item]

    # Objective

    def _terms(self, e: int, bands: Sequence[float], gaps: Sequence[float]) -> list[Term]:
        """Give slopes, bends and distances from the boxes' middles, to be squared and weighted."""
        a, b = self.edges[e]
        drops = [bands[self.layers[a]] / 2]
        for layer in range(self.layers[a], self.layers[b]):
            drops += [gaps[layer], bands[layer + 1]]
        drops[-1] /= 2
        knots = range(self.first[e], self.first[e] + len(drops) + 1)
        terms: list[Term] = [
            ([k, k + 1], [1.0, -1.0], 1 / drop) for k, drop in zip(knots[:-1], drops, strict=True)
        ]
        for k, (above, below) in zip(knots, pairwise(drops), strict=False):
            bend = [1 / above, -1 / above - 1 / below, 1 / below]
            terms.append(([k, k + 1, k + 2], bend, _STIFF**2 / ((above + below) / 2)))
        terms += [([v, self._port(e, v)], [1.0, -1.0], _CENTRED) for v in (a, b)]
        return terms

    # Constraints

    def _distances(self) -> dict[tuple[int, int], float]:
        """Tell by how much the second of two variables must be greater than the first."""
        apart: dict[tuple[int, int], float] = {}
        for v in range(self.n):
            for ends in (self._incoming[v], self._outgoing[v]):
                ports = [self._port(e, v) for e in ends]
                for port in ports:
                    apart[v, port] = apart[port, v] = -self._reach(v)
                for pair in pairwise(ports):
                    apart[pair] = self._port_gap(v, len(ports))
        for layer, order in enumerate(self.orders):
            boxes = [item for item in order if item < self.n]
            for a, b in pairwise(boxes):
                apart[a, b] = (self.sizes[a][0] + self.sizes[b][0]) / 2 + _BOX_GAP * self.spread
            for entering in (True, False):
                self._separate(apart, layer, entering)
        return apart

    def _reach(self, v: int) -> float:
        """Return how far from the middle of a box an edge can aim."""
        width, height = self.sizes[v]
        return max(width - 0.8 * height, 0.4 * width) / 2

    def _port_gap(self, v: int, n_ports: int) -> float:
        return min(_PORT_GAP, 1.9 * self._reach(v) / max(n_ports - 1, 1))

    def _separate(self, apart: dict[tuple[int, int], float], layer: int, entering: bool) -> None:
        """Keep edges apart, where they enter or leave a layer, and from the boxes of others."""
        ends = self._incoming if entering else self._outgoing
        box: int | None = None
        last: int | None = None
        passing: list[int] = []  # knots of what passes right of the box
        for item in self.orders[layer]:
            if item < self.n:
                for knot in passing:
                    apart[knot, item] = self.sizes[item][0] / 2 + CLEARANCE
            edges = ends[item] if item < self.n else [item - self.n]
            knots = [self._knot(e, layer, entering) for e in edges]
            for e, knot in zip(edges, knots, strict=True):
                if box is not None:
                    apart[box, knot] = self.sizes[box][0] / 2 + CLEARANCE
                if last is not None:
                    before = self._knot(last, layer, entering)
                    apart[before, knot] = self._edge_gap(last, e, layer, entering)
                last = e
            if item < self.n:
                self._keep_from_next(apart, layer, item, knots)
                box, passing = item, []
            else:
                passing += knots

    def _keep_from_next(
        self, apart: dict[tuple[int, int], float], layer: int, v: int, knots: Sequence[int]
    ) -> None:
        """Keep the edges of a node from the next box to the right."""
        order = self.orders[layer]
        after = [item for item in order[order.index(v) + 1 :] if item < self.n]
        if after:
            for knot in knots:
                apart[knot, after[0]] = self.sizes[after[0]][0] / 2 + CLEARANCE

    def _edge_gap(self, left: int, right: int, layer: int, entering: bool) -> float:
        """Return how far apart two edges are where they enter or leave a layer."""
        ends = self._incoming if entering else self._outgoing
        common = self.edges[left][entering]
        if common == self.edges[right][entering] and self.layers[common] == layer:
            return self._port_gap(common, len(ends[common]))
        if self._swapped(left, right, layer - 1 if entering else layer + 1):
            return _CROSSING_GAP
        if self._swapped(left, right, layer + 1 if entering else layer - 1):
            return _EDGE_GAP / 2
        return _EDGE_GAP * self.spread

    def _swapped(self, left: int, right: int, layer: int) -> bool:
        """Tell whether two edges are in the other order in a layer."""
        reach = all(
            self.layers[self.edges[e][0]] <= layer <= self.layers[self.edges[e][1]]
            for e in (left, right)
        )
        return reach and self._place(left, layer) > self._place(right, layer)
