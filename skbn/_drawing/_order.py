"""The order of nodes and passing edges within the layers, with few crossings.

An edge that passes a layer takes a place in it, as a node does. A node is taken out together
with its edges and put back where this costs least: what each place would cost follows from
the cheapest ways of its edges through the gaps between all others, layer by layer. The search
puts all nodes in, one by one, and then takes some out and puts them back again, again and again;
it keeps what is not worse. A node may change its layer, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random

import numpy as np

__all__ = ["order_layers"]

Edge = tuple[int, int]
State = tuple[list[int], list[list[int]], list[list[Edge]], list[bool]]

# Costs are integers: they add up to the same on every machine.
_CROSSING = 1000
_PASSING = 250  # an edge takes a place in a layer
_SIDEWAYS = 8  # an edge goes sideways by half a place
_OVERFULL = 3000  # a node in a layer that is wider than it should be

_EFFORT = 200  # insertions


def order_layers(
    layers: Sequence[int], edges: Sequence[Edge], widths: Sequence[float], widest: float
) -> tuple[list[int], list[list[int]]]:
    """Order layers so that few edges cross.

    Parameters
    ----------
    layers : sequence of int
        The layer of each node, where the search begins.
    edges : sequence of (parent, child)
        Nodes are numbers from 0.
    widths : sequence of float
        The width that each node needs.
    widest : float
        The width that a layer's nodes should not exceed.

    Returns
    -------
    layers : list of int
        The layer of each node.
    orders : list of list of int
        Who is in each layer, from left to right: nodes, and n + e for edge number e.
    """
    random = Random(0)  # Python promises that random() does not change
    best: _Ranking | None = None
    best_cost = 0
    effort, n_starts = 0, 4
    for start in range(n_starts):
        ranking = _Ranking(layers, edges, widths, widest)
        for node in _breadth_first(ranking, start, random):
            ranking.insert(node)
        cost = ranking.cost()
        limit = _EFFORT * (start + 1) // (n_starts + 2)
        if start == n_starts - 1:
            limit = _EFFORT
        if best is not None and start == n_starts - 1:
            pass
        cost = _improve(ranking, cost, random, limit - effort)
        effort += ranking.effort
        if best is None or cost < best_cost:
            best, best_cost = ranking, cost
    return best.layers, best.orders


def _breadth_first(ranking: _Ranking, start: int, random: Random) -> list[int]:
    n = ranking.n
    first = sorted(range(n), key=lambda v: (-len(ranking.incident[v]), v))
    if start:
        first.sort(key=lambda v: random.random())
    found: list[int] = []
    seen = [False] * n
    for root in first:
        agenda = [] if seen[root] else [root]
        seen[root] = True
        for node in agenda:
            found.append(node)
            for e in ranking.incident[node]:
                other = sum(ranking.edges[e]) - node
                if not seen[other]:
                    seen[other] = True
                    agenda.append(other)
    return found


def _improve(ranking: _Ranking, cost: int, random: Random, effort: int) -> int:
    state = ranking.save()
    limit = ranking.effort + effort
    while ranking.effort < limit:
        for nodes in _batches(ranking, random):
            for node in nodes:
                ranking.remove(node)
            for node in nodes:
                ranking.insert(node)
            changed = ranking.cost()
            if changed <= cost:
                cost, state = changed, ranking.save()
            else:
                ranking.load(state)
            if ranking.effort >= limit:
                break
    return cost


def _batches(ranking: _Ranking, random: Random) -> Iterable[list[int]]:
    nodes = sorted(range(ranking.n), key=lambda v: random.random())
    for node in nodes:
        yield [node]
    for node in nodes:
        batch = [node]
        size = 2 + int(random.random() * 3)
        while len(batch) < size:
            around = ranking.incident[batch[int(random.random() * len(batch))]]
            if random.random() < 0.3 or not around:
                other = int(random.random() * ranking.n)
            else:
                a, b = ranking.edges[around[int(random.random() * len(around))]]
                other = a if a not in batch else b
            if other in batch:
                size -= 1
            else:
                batch.append(other)
        yield sorted(batch, key=lambda v: random.random())


class _Ranking:
    """Items in layers, from left to right: some of the nodes, and the edges between these."""

    def __init__(
        self,
        layers: Sequence[int],
        edges: Sequence[Edge],
        widths: Sequence[float],
        widest: float,
    ) -> None:
        self.n = len(layers)
        self.edges = edges
        self.widths = widths
        self.widest = widest
        self.incident: list[list[int]] = [[] for _ in range(self.n)]
        self.parents: list[list[int]] = [[] for _ in range(self.n)]
        self.children: list[list[int]] = [[] for _ in range(self.n)]
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
        self.effort = 0

    def save(self) -> State:
        return (
            self.layers.copy(),
            [order.copy() for order in self.orders],
            [links.copy() for links in self.links],
            self.placed.copy(),
        )

    def load(self, state: State) -> None:
        layers, orders, links, placed = state
        self.layers, self.placed = layers.copy(), placed.copy()
        self.orders = [order.copy() for order in orders]
        self.links = [pairs.copy() for pairs in links]

    def cost(self) -> int:
        cost = _PASSING * sum(item >= self.n for order in self.orders for item in order)
        for layer, links in enumerate(self.links):
            if links:
                table = self._table(layer)
                upper, lower = self.orders[layer], self.orders[layer + 1]
                i, j = np.array([(upper.index(a), lower.index(b)) for a, b in links]).T
                cost += _CROSSING * int((table[i, -1] - table[i, j + 1]).sum())
                slopes = (2 * i + 1 - len(upper)) - (2 * j + 1 - len(lower))
                cost += _SIDEWAYS * int(np.abs(slopes).sum())
        for order in self.orders:
            widths = [self.widths[v] for v in order if v < self.n]
            if sum(widths) > self.widest:
                cost += _OVERFULL * (len(widths) - 1)
        return cost

    def remove(self, node: int) -> None:
        """Take a node and its edges out."""
        gone = {node, *(self.n + e for e in self.incident[node])}
        self.orders = [[item for item in order if item not in gone] for order in self.orders]
        self.links = [
            [(a, b) for a, b in links if a not in gone and b not in gone] for links in self.links
        ]
        self.placed[node] = False

    def insert(self, node: int) -> None:
        """Put a node in where it costs least, and its edges to nodes that are there."""
        incoming, outgoing = [], []
        for e in self.incident[node]:
            a, b = self.edges[e]
            if b == node and self.placed[a]:
                incoming.append(e)
            if a == node and self.placed[b]:
                outgoing.append(e)
        highest = max([self.layers[a] + 1 for a in self.parents[node]], default=0)
        lowest = min(
            [self.layers[b] - 1 for b in self.children[node]], default=len(self.orders) - 1
        )
        self.effort += 1
        layer, slot = self._best_place(node, incoming, outgoing, highest, lowest)
        self.orders[layer].insert(slot, node)
        self.layers[node] = layer
        self.placed[node] = True
        span = {
            e: self.layers[self.edges[e][1]] - self.layers[self.edges[e][0]]
            for e in incoming + outgoing
        }
        for e in sorted(span, key=lambda e: (span[e], e)):
            self._insert_edge(e)

    def _best_place(
        self, node: int, incoming: list[int], outgoing: list[int], highest: int, lowest: int
    ) -> tuple[int, int]:
        layers = range(highest, lowest + 1)
        costs = {
            layer: np.full(len(self.orders[layer]) + 1, self._crowding(node, layer))
            for layer in layers
        }
        tables: dict[int, np.ndarray] = {}
        hops: dict[int, np.ndarray] = {}

        def hop(layer: int) -> np.ndarray:
            if layer not in hops:
                tables[layer] = self._table(layer)
                hops[layer] = self._hop(layer, tables[layer], None, None) + _PASSING
            return hops[layer]

        for e in incoming:
            a = self.edges[e][0]
            top = self.layers[a]
            hop(top)
            way = self._hop(top, tables[top], a, None)[0]
            for layer in range(top + 1, lowest + 1):
                if layer > top + 1:
                    way = (way[:, None] + hop(layer - 1)).min(0)
                if layer >= highest:
                    costs[layer] += way
        for e in outgoing:
            b = self.edges[e][1]
            bottom = self.layers[b]
            hop(bottom - 1)
            way = self._hop(bottom - 1, tables[bottom - 1], None, b)[:, 0]
            for layer in range(bottom - 1, highest - 1, -1):
                if layer < bottom - 1:
                    way = (way + hop(layer)).min(1)
                if layer <= lowest:
                    costs[layer] += way
        best = min(layers, key=lambda layer: (int(costs[layer].min()), layer))
        slots = np.flatnonzero(costs[best] == costs[best].min())
        return best, int(slots[len(slots) // 2])

    def _crowding(self, node: int, layer: int) -> int:
        widths = [self.widths[v] for v in self.orders[layer] if v < self.n]
        crowded = bool(widths) and sum(widths) + self.widths[node] > self.widest
        return _OVERFULL * crowded

    def _insert_edge(self, e: int) -> None:
        """Lead an edge through the layers between its ends."""
        a, b = self.edges[e]
        top, bottom = self.layers[a], self.layers[b]
        if bottom > top + 1:
            way = self._hop(top, self._table(top), a, None)[0]
            came: list[np.ndarray] = []
            for layer in range(top + 1, bottom):
                last = layer == bottom - 1
                hop = self._hop(layer, self._table(layer), None, b if last else None)
                through = way[:, None] + hop
                came.append(through.argmin(0))
                way = through.min(0)
            slot = 0
            for layer in range(bottom - 1, top, -1):
                slot = int(came[layer - top - 1][slot])
                self.orders[layer].insert(slot, self.n + e)
        for layer in range(top, bottom):
            upper = a if layer == top else self.n + e
            lower = b if layer == bottom - 1 else self.n + e
            self.links[layer].append((upper, lower))

    def _table(self, layer: int) -> np.ndarray:
        """Count the links between the first a items of a layer and the first b of the next."""
        upper = {item: i for i, item in enumerate(self.orders[layer], 1)}
        lower = {item: i for i, item in enumerate(self.orders[layer + 1], 1)}
        shape = len(upper) + 1, len(lower) + 1
        cells = [upper[a] * shape[1] + lower[b] for a, b in self.links[layer]]
        table = np.bincount(np.array(cells, dtype=np.intp), minlength=shape[0] * shape[1])
        return table.reshape(shape).cumsum(0).cumsum(1)

    def _hop(
        self, layer: int, table: np.ndarray, upper: int | None, lower: int | None
    ) -> np.ndarray:
        """Cost of a link, by its ends: at an item, or in any of the gaps between items."""
        left, right = self._ends(layer, upper)
        under_left, under_right = self._ends(layer + 1, lower)
        rightwards = table[left, -1][:, None] - table[left[:, None], under_right]
        leftwards = table[-1, under_left] - table[right[:, None], under_left]
        middle = left + right - len(self.orders[layer])
        under_middle = under_left + under_right - len(self.orders[layer + 1])
        sideways = np.abs(middle[:, None] - under_middle)
        return _CROSSING * (rightwards + leftwards) + _SIDEWAYS * sideways

    def _ends(self, layer: int, item: int | None) -> tuple[np.ndarray, np.ndarray]:
        """How many items are left of an end, and how many are not right of it."""
        if item is None:
            gaps = np.arange(len(self.orders[layer]) + 1)
            return gaps, gaps
        i = self.orders[layer].index(item)
        return np.array([i]), np.array([i + 1])
