"""Items in ordered layers: nodes, and the edges that pass between them.

A node is put in where it costs least, with its edges to the nodes that are there. What each place
would cost follows from the cheapest ways of these edges through the gaps between all other items,
layer by layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

__all__ = ["Edge", "Ranking", "State"]

Edge = tuple[int, int]
State = tuple[list[int], list[list[int]], list[list[Edge]], list[bool], list[int | None]]

# Costs are integers: they add up to the same on every machine.
_CROSSING = 1000
_PASSING = 250  # an edge takes a place in a layer
_SIDEWAYS = 8  # an edge goes sideways by half a place
_OVERFULL = 3000  # a node is in a layer that is too wide


class Ranking:
    """Items in layers, from left to right: some of the nodes, and the edges between these.

    Node v is item v, and edge e is item n + e in each layer that it passes.

    Parameters
    ----------
    layers : sequence of int
        The layer of each node, parents before children; nodes may change theirs.
    edges : sequence of (parent, child)
        Nodes are numbers from 0.
    widths : sequence of float
        The width that each node needs.
    widest : float
        The width that the nodes of a layer should not exceed together.
    """

    def __init__(
        self, layers: Sequence[int], edges: Sequence[Edge], widths: Sequence[float], widest: float
    ) -> None:
        self.n = len(layers)
        self.edges = edges
        self.widths = widths
        self.widest = widest
        self.parents: list[list[int]] = [[] for _ in range(self.n)]
        self.children: list[list[int]] = [[] for _ in range(self.n)]
        self.incident: list[list[int]] = [[] for _ in range(self.n)]
        for e, (a, b) in enumerate(edges):
            self.parents[b].append(a)
            self.children[a].append(b)
            self.incident[a].append(e)
            self.incident[b].append(e)
        self.layers = list(layers)
        self.orders: list[list[int]] = [[] for _ in range(max(layers) + 1)]
        # the pieces of edges between each layer and the next, as pairs of items
        self.links: list[list[Edge]] = [[] for _ in self.orders[1:]]
        self.placed = [False] * self.n
        self._cells: list[list[int]] = [[] for _ in self.links]  # of the links, in the tables
        # what is known of each pair of neighbouring layers, until one of them changes
        self._prices: list[int | None] = [None] * len(self.links)
        self._tables: list[np.ndarray | None] = [None] * len(self.links)
        self._hops: list[np.ndarray | None] = [None] * len(self.links)

    def save(self) -> State:
        """Copy the state."""
        return (
            self.layers.copy(),
            [order.copy() for order in self.orders],
            [links.copy() for links in self.links],
            self.placed.copy(),
            self._prices.copy(),
        )

    def load(self, state: State) -> None:
        """Return to a state."""
        layers, orders, links, placed, prices = state
        for layer, order in enumerate(orders):
            if order != self.orders[layer]:
                self._reorder(layer, order.copy())
        for layer, pairs in enumerate(links):
            if pairs != self.links[layer]:
                self.links[layer] = pairs.copy()
                self._forget(layer)
        self.layers, self.placed, self._prices = layers.copy(), placed.copy(), prices.copy()

    def cost(self) -> int:
        """Cost of the crossings, of the edges' lengths and slopes, and of layers too wide."""
        passing = sum(item >= self.n for order in self.orders for item in order)
        overfull = 0
        for order in self.orders:
            widths = [self.widths[v] for v in order if v < self.n]
            if sum(widths) > self.widest:
                overfull += len(widths) - 1
        prices = sum(self._price(layer) for layer in range(len(self.links)))
        return _PASSING * passing + _OVERFULL * overfull + prices

    def remove(self, node: int) -> None:
        """Take a node and its edges out."""
        gone = {node, *(self.n + e for e in self.incident[node])}
        near = [self.layers[v] for v in (node, *self.parents[node], *self.children[node])]
        for layer in range(min(near), max(near) + 1):
            order = [item for item in self.orders[layer] if item not in gone]
            if len(order) < len(self.orders[layer]):
                self._reorder(layer, order)
            if layer < max(near):
                self.links[layer] = [
                    (a, b) for a, b in self.links[layer] if a not in gone and b not in gone
                ]
        self.placed[node] = False

    def insert(self, node: int) -> None:
        """Put a node in where it costs least, and its edges to nodes that are there."""
        around = [e for e in self.incident[node] if self.placed[sum(self.edges[e]) - node]]
        layer, slot = self._best_place(node, around)
        self.orders[layer].insert(slot, node)
        self._reorder(layer, self.orders[layer])
        self.layers[node] = layer
        self.placed[node] = True
        spans = [self.layers[self.edges[e][1]] - self.layers[self.edges[e][0]] for e in around]
        for _, e in sorted(zip(spans, around, strict=True)):
            self._insert_edge(e)

    # Where to put a node

    def _best_place(self, node: int, edges: Sequence[int]) -> tuple[int, int]:
        highest = max([self.layers[v] + 1 for v in self.parents[node]], default=0)
        lowest = min(
            [self.layers[v] - 1 for v in self.children[node]], default=len(self.orders) - 1
        )
        costs = {
            layer: self._crowding(node, layer) + np.zeros(len(self.orders[layer]) + 1, np.int64)
            for layer in range(highest, lowest + 1)
        }
        for e in edges:
            ways = (
                self._ways_up(e, highest)
                if self.edges[e][0] == node
                else self._ways_down(e, lowest)
            )
            for layer, way in ways:
                if layer in costs:
                    costs[layer] += way
        best = min(costs, key=lambda layer: (int(costs[layer].min()), layer))
        slots = np.flatnonzero(costs[best] == costs[best].min())
        return best, int(slots[len(slots) // 2])

    def _ways_down(self, e: int, lowest: int) -> list[tuple[int, np.ndarray]]:
        """Give what an edge costs from its parent to each gap of each layer, down to the lowest."""
        layer = self.layers[self.edges[e][0]]
        way = self._from_item(layer, self.edges[e][0])
        ways = [(layer + 1, way)]
        for between in range(layer + 1, lowest):
            way = (way[:, None] + self._hop(between)).min(0)
            ways.append((between + 1, way))
        return ways

    def _ways_up(self, e: int, highest: int) -> list[tuple[int, np.ndarray]]:
        """Give what an edge costs to its child from each gap of each layer, up to the highest."""
        layer = self.layers[self.edges[e][1]] - 1
        way = self._to_item(layer, self.edges[e][1])
        ways = [(layer, way)]
        for between in range(layer - 1, highest - 1, -1):
            way = (way + self._hop(between)).min(1)
            ways.append((between, way))
        return ways

    def _crowding(self, node: int, layer: int) -> int:
        widths = [self.widths[v] for v in self.orders[layer] if v < self.n]
        return _OVERFULL * (bool(widths) and sum(widths) + self.widths[node] > self.widest)

    def _insert_edge(self, e: int) -> None:
        """Lead an edge through the layers between its ends."""
        a, b = self.edges[e]
        top, bottom = self.layers[a], self.layers[b]
        if bottom > top + 1:
            way = self._from_item(top, a)
            came: list[np.ndarray] = []
            for layer in range(top + 1, bottom - 1):
                through = way[:, None] + self._hop(layer)
                came.append(through.argmin(0))
                way = through.min(0)
            slot = int((way + self._to_item(bottom - 1, b)).argmin())
            for layer in range(bottom - 1, top, -1):
                self.orders[layer].insert(slot, self.n + e)
                self._reorder(layer, self.orders[layer])
                if came:
                    slot = int(came.pop()[slot])
        for layer in range(top, bottom):
            upper = a if layer == top else self.n + e
            lower = b if layer == bottom - 1 else self.n + e
            self.links[layer].append((upper, lower))
            self._forget(layer)

    # Links between a layer and the next

    def _reorder(self, layer: int, order: list[int]) -> None:
        self.orders[layer] = order
        if layer > 0:
            self._forget(layer - 1)
        if layer < len(self.links):
            self._forget(layer)

    def _forget(self, layer: int) -> None:
        self._prices[layer] = self._tables[layer] = self._hops[layer] = None

    def _table(self, layer: int) -> np.ndarray:
        """Count the links between the first a items of a layer and the first b of the next."""
        table = self._tables[layer]
        if table is None:
            upper = {item: i for i, item in enumerate(self.orders[layer], 1)}
            lower = {item: i for i, item in enumerate(self.orders[layer + 1], 1)}
            shape = len(upper) + 1, len(lower) + 1
            cells = [shape[1] * upper[a] + lower[b] for a, b in self.links[layer]]
            counts = np.bincount(np.array(cells, dtype=np.intp), minlength=shape[0] * shape[1])
            table = self._tables[layer] = counts.reshape(shape).cumsum(0).cumsum(1)
            self._cells[layer] = cells
        return table

    def _sideways(self, layer: int) -> np.ndarray:
        return _sideways(len(self.orders[layer]), len(self.orders[layer + 1]))

    def _hop(self, layer: int) -> np.ndarray:
        """Cost of a link from each gap of a layer to each gap of the next."""
        hop = self._hops[layer]
        if hop is None:
            table = self._table(layer)
            crossings = table[:, -1:] + table[-1] - 2 * table
            hop = _CROSSING * crossings + (self._sideways(layer)[::2, ::2] + _PASSING)
            self._hops[layer] = hop
        return hop

    def _from_item(self, layer: int, item: int) -> np.ndarray:
        """Cost of a link from an item to each gap of the next layer."""
        table, i = self._table(layer), self.orders[layer].index(item)
        crossings = (table[i, -1] - table[i]) + (table[-1] - table[i + 1])
        return _CROSSING * crossings + self._sideways(layer)[2 * i + 1, ::2]

    def _to_item(self, layer: int, item: int) -> np.ndarray:
        """Cost of a link from each gap of a layer to an item of the next."""
        table, j = self._table(layer), self.orders[layer + 1].index(item)
        crossings = (table[:, -1] - table[:, j + 1]) + (table[-1, j] - table[:, j])
        return _CROSSING * crossings + self._sideways(layer)[::2, 2 * j + 1]

    def _price(self, layer: int) -> int:
        """Cost of all links between a layer and the next."""
        price = self._prices[layer]
        if price is None:
            table, sideways = self._table(layer), self._sideways(layer)
            cells = np.array(self._cells[layer], dtype=np.intp)
            i, j = cells // table.shape[1] - 1, cells % table.shape[1] - 1
            price = _CROSSING * int((table[i, -1] - table[i, j + 1]).sum())
            price += int(sideways[2 * i + 1, 2 * j + 1].sum())
            self._prices[layer] = price
        return price


@lru_cache(maxsize=256)
def _sideways(upper: int, lower: int) -> np.ndarray:
    """Cost of a link's slope, by the numbers of its half-places in two centred layers."""
    steps = np.arange(2 * upper + 1)[:, None] - upper - (np.arange(2 * lower + 1) - lower)
    return _SIDEWAYS * np.abs(steps)
