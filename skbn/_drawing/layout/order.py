"""The layers of nodes, and the order of nodes and passing edges in them, with few crossings.

All nodes are inserted one by one, each where it costs least. Then a few nodes at a time are
removed and inserted again. A result that is a little worse is kept at first, to escape from local
minima, and the best of all is returned.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations, pairwise
from math import ceil

import networkx as nx
import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog

__all__ = ["Edge", "Order", "order_layers", "shortest_layers"]

Edge = tuple[int, int]
Order = tuple[int, ...]
Costs = npt.NDArray[np.int64]

# Costs are integers, so their sums are the same on every machine. A crossing counts most.
_CROSSING = 1000
_PASSING = 250  # an edge passes through a layer
_SIDEWAYS = 8  # an edge goes sideways by half a place
_OVERFULL = 3000  # a node is in a layer that is too wide

# How long to search: chosen by the crossings in tests/benchmarks/crossings.py.
_STEPS = 10  # per node
_MOST_STEPS = 250
_MANY_EDGES = 80  # with more edges a step takes longer, so there are fewer of them
_NEIGHBOURS, _LARGEST_BATCH = 0.3, 4  # share of neighbours, and nodes, moved at a time
_FIRST_TOLERANCE = 4000  # by how much a result may be worse at the beginning


def shortest_layers(
    n_nodes: int, edges: Sequence[Edge], bands: Sequence[int] | None = None
) -> list[int]:
    """Choose layers, numbered from the top, that make the edges as short as possible in total.

    With the band of each node, 0 or more, all layers of a band are above those of the next.

    This is a linear program whose vertices are integer, because each constraint compares two
    nodes. Of all optima it takes the one with the nodes as high as possible, which is unique.
    """
    # Below the nodes of each band but the last stands a fence, above those of the next.
    n_fences = max(bands) if bands else 0
    pairs = list(edges)
    for v, band in enumerate(bands or ()):
        pairs += [(n_nodes + band - 1, v)] if band > 0 else []
        pairs += [(v, n_nodes + band)] if band < n_fences else []
    graph = nx.DiGraph(pairs)
    size = n_nodes + n_fences
    graph.add_nodes_from(range(size))
    incidence = nx.incidence_matrix(graph, range(size), pairs, oriented=True).T
    # The layers add up to less than size**2, so they only decide between equal lengths.
    cost = size**2 * incidence[: len(edges)].sum(axis=0) + 1
    found = linprog(cost, A_ub=-incidence, b_ub=-np.ones(len(pairs)))
    layers = [round(layer) for layer in found.x.tolist()[:n_nodes]]
    return layers if bands is None else [x - band for x, band in zip(layers, bands, strict=True)]


def order_layers(
    layers: Sequence[int],
    edges: Sequence[Edge],
    widths: Sequence[float],
    widest: float,
    bands: Sequence[int] | None = None,
) -> tuple[list[int], list[Order]]:
    """Order the layers of a graph so that few edges cross.

    Nodes may move to other layers of their band, and do where the nodes of a layer are wider
    together than `widest`. Return the layer of each node, and the items of each layer from left to
    right: node v is item v, and edge number e is item n + e in every layer that it passes through.
    """
    random = np.random.RandomState(0)  # the same numbers in all versions of NumPy
    bands = [0] * len(layers) if bands is None else bands
    layering = _Layering(_spread(layers, widths, widest), edges, widths, widest, bands)
    graph = nx.Graph(edges)
    graph.add_nodes_from(range(layering.n))
    for part in nx.connected_components(graph):
        root = max(sorted(part), key=graph.degree)
        for node in [root, *(node for _, node in nx.bfs_edges(graph, root))]:
            layering.insert(node)
    _improve(layering, random)
    orders = [order for order in layering.orders if order]
    number = {item: i for i, order in enumerate(orders) for item in order if item < layering.n}
    return [number[v] for v in range(layering.n)], _in_natural_order(layering, orders)


def _spread(layers: Sequence[int], widths: Sequence[float], widest: float) -> list[int]:
    """Divide each layer into as many as the widest of them needs.

    Nodes of narrow layers may come together again: an edge through fewer layers costs less.
    """
    totals = np.bincount(layers, widths)
    n_rows = ceil(totals.max() / widest)
    before = [0.0] * len(totals)
    spread = []
    for layer, width in zip(layers, widths, strict=True):
        spread.append(n_rows * layer + int(n_rows * before[layer] / totals[layer]))
        before[layer] += width
    return spread


class _Layering:
    """Layers of items: the nodes inserted so far, and the edges passing between them."""

    def __init__(
        self,
        layers: Sequence[int],
        edges: Sequence[Edge],
        widths: Sequence[float],
        widest: float,
        bands: Sequence[int],
    ) -> None:
        self.n = len(layers)
        self.edges, self.widths, self.widest = edges, widths, widest
        self.incident = [[e for e, edge in enumerate(edges) if v in edge] for v in range(self.n)]
        self.layers = list(layers)
        self.orders: list[Order] = [()] * (max(layers) + 1)
        starts = [
            min(x for x, band in zip(layers, bands, strict=True) if band >= least)
            for least in range(max(bands) + 1)
        ]
        ends = [*(start - 1 for start in starts[1:]), max(layers)]
        self.reach = [(starts[band] if band else 0, ends[band]) for band in bands]
        # Most insertions change few layers.
        self._compare = lru_cache(maxsize=256)(self._compare_layers)

    def cost(self) -> int:
        """Cost of crossings, lengths and slopes of edges, and of layers that are too wide."""
        total = sum(self._compare(*pair)[2] for pair in pairwise(self.orders))
        for order in self.orders:
            nodes = [item for item in order if item < self.n]
            total += _PASSING * (len(order) - len(nodes))
            if sum(self.widths[v] for v in nodes) > self.widest:
                total += _OVERFULL * (len(nodes) - 1)
        return total

    def remove(self, node: int) -> None:
        """Remove a node and its edges."""
        gone = {node, *(self.n + e for e in self.incident[node])}
        self.orders = [tuple(x for x in order if x not in gone) for order in self.orders]

    def insert(self, node: int) -> None:
        """Insert a node where it costs least, and its edges to the nodes that are there."""
        other = {e: sum(self.edges[e]) - node for e in self.incident[node]}
        parents = [v for e, v in other.items() if v == self.edges[e][0]]
        children = [v for e, v in other.items() if v == self.edges[e][1]]
        first, last = self.reach[node]
        highest = max([first, *(self.layers[v] + 1 for v in parents)])
        lowest = min([last, *(self.layers[v] - 1 for v in children)])
        costs = {layer: self._crowding(node, layer) for layer in range(highest, lowest + 1)}
        inserted = {e: v for e, v in other.items() if v in self.orders[self.layers[v]]}
        for v in inserted.values():
            for layer, way, _ in self._ways(v, lowest if v in parents else highest):
                if layer in costs:
                    costs[layer] += way
        best = min(costs, key=lambda layer: (int(costs[layer].min()), layer))
        gaps = np.flatnonzero(costs[best] == costs[best].min())
        self._put(node, best, int(gaps[len(gaps) // 2]))
        self.layers[node] = best
        for e in sorted(inserted, key=lambda e: (abs(self.layers[inserted[e]] - best), e)):
            self._insert_edge(e)

    def _crowding(self, node: int, layer: int) -> Costs:
        """Cost of each gap of a layer for having too little room for a node."""
        widths = [self.widths[v] for v in self.orders[layer] if v < self.n]
        is_overfull = bool(widths) and sum(widths) + self.widths[node] > self.widest
        return np.full(len(self.orders[layer]) + 1, _OVERFULL * is_overfull)

    def _put(self, item: int, layer: int, gap: int) -> None:
        order = self.orders[layer]
        self.orders[layer] = (*order[:gap], item, *order[gap:])

    def _insert_edge(self, e: int) -> None:
        """Insert an edge in the layers between its ends, on the cheapest way through them."""
        parent, child = self.edges[e]
        ways = list(self._ways(parent, self.layers[child] - 1))
        if ways:
            gap = int((ways[-1][1] + self._from_node(child, -1)).argmin())
            for layer, _, came_from in reversed(ways):
                self._put(self.n + e, layer, gap)
                gap = int(came_from[gap])

    def _ways(self, node: int, last: int) -> Iterator[tuple[int, Costs, Costs]]:
        """Lead an edge from a node to another layer, one layer at a time.

        Yield the layer, the cost of the cheapest way to each of its gaps, and the gap of the
        layer before through which that way comes.
        """
        layer, step = self.layers[node], 1 if last > self.layers[node] else -1
        cost = came_from = np.zeros(0, np.int64)
        while layer != last:
            if layer == self.layers[node]:
                cost = self._from_node(node, step)
                came_from = np.zeros_like(cost)
            else:
                through = cost[:, np.newaxis] + self._between(layer, step)[1]
                cost, came_from = through.min(axis=0), through.argmin(axis=0)
            layer += step
            yield layer, cost, came_from

    def _from_node(self, node: int, step: int) -> Costs:
        """Cost of an edge from a node to each gap of the layer below (step 1) or above (-1)."""
        order, other = (self.orders[self.layers[node] + k] for k in (0, step))
        i = order.index(node)
        links, _ = self._between(self.layers[node], step)
        crossings = links[i, -1] - links[i] + links[-1] - links[i + 1]
        return _CROSSING * crossings + _slopes(len(order), len(other))[2 * i + 1, ::2]

    def _between(self, layer: int, step: int) -> tuple[Costs, Costs]:
        """Compare a layer with the one below (step 1) or above (-1)."""
        if step == 1:
            links, hops, _ = self._compare(self.orders[layer], self.orders[layer + 1])
            return links, hops
        links, hops, _ = self._compare(self.orders[layer - 1], self.orders[layer])
        return links.T, hops.T

    def _compare_layers(self, above: Order, below: Order) -> tuple[Costs, Costs, int]:
        """Count the links between the first i items of a layer and the first j of the next.

        Also return the cost of another link from gap i to gap j, and of all the links together.
        """
        place = {item: j for j, item in enumerate(below)}
        upper, lower = [], []
        for i, item in enumerate(above):
            for e in self.incident[item] if item < self.n else [item - self.n]:
                child = self.edges[e][1]
                if child != item and (child in place or self.n + e in place):
                    upper.append(i)
                    lower.append(place[child if child in place else self.n + e])
        first, second = np.array([upper, lower], np.intp)
        links = np.zeros((len(above) + 1, len(below) + 1), np.int64)
        links[first + 1, second + 1] = 1
        links = links.cumsum(axis=0).cumsum(axis=1)
        slopes = _slopes(len(above), len(below))
        crossings = links[:, -1:] + links[-1] - 2 * links
        hops = _CROSSING * crossings + (slopes[::2, ::2] + _PASSING)
        cost = _CROSSING * (links[first, -1] - links[first, second + 1]).sum()
        return links, hops, int(cost + slopes[2 * first + 1, 2 * second + 1].sum())


@lru_cache(maxsize=256)
def _slopes(above: int, below: int) -> Costs:
    """Cost of slopes between two centred layers, by half-places: gaps are even, items odd."""
    steps = np.arange(2 * above + 1)[:, np.newaxis] - above - (np.arange(2 * below + 1) - below)
    return _SIDEWAYS * np.abs(steps)


def _improve(layering: _Layering, random: np.random.RandomState) -> None:
    """Remove each node in turn with some of its neighbours, and insert them again."""
    n_steps = min(_STEPS * layering.n, _MOST_STEPS)
    n_steps = n_steps * _MANY_EDGES**2 // max(len(layering.edges), _MANY_EDGES) ** 2
    cost = best = layering.cost()
    state = best_state = layering.layers.copy(), layering.orders.copy()
    nodes: list[int] = []
    for left in range(n_steps, 0, -1):
        nodes = nodes or random.permutation(layering.n).tolist()
        node = nodes.pop()
        around = [sum(layering.edges[e]) - node for e in layering.incident[node]]
        chosen = [v for v in around if random.random_sample() < _NEIGHBOURS]
        batch = random.permutation([node, *chosen[: _LARGEST_BATCH - 1]]).tolist()
        for v in batch:
            layering.remove(v)
        for v in batch:
            layering.insert(v)
        changed = layering.cost()
        if changed <= cost + _FIRST_TOLERANCE * left // n_steps:
            cost, state = changed, (layering.layers.copy(), layering.orders.copy())
            if cost < best:
                best, best_state = cost, state
        else:
            layering.layers, layering.orders = state[0].copy(), state[1].copy()
    layering.layers, layering.orders = best_state


def _in_natural_order(layering: _Layering, orders: Sequence[Order]) -> list[Order]:
    """Put first nodes left where this makes no difference to the crossings.

    Left and right are exchanged, and so are nodes of a layer with the same parents and children.
    """
    n, edges = layering.n, layering.edges
    alike: dict[Hashable, list[int]] = {}
    for v in range(n):
        neighbours = frozenset(sum(edges[e]) - v for e in layering.incident[v])
        alike.setdefault((layering.layers[v], neighbours), []).append(v)
    first = {v: nodes[0] for nodes in alike.values() for v in nodes}
    pairs = [p for order in orders for p in combinations([v for v in order if v < n], 2)]
    if sum(np.sign(first[a] - first[b]) for a, b in pairs) > 0:
        orders = [order[::-1] for order in orders]
    places = {item: i for order in orders for i, item in enumerate(order) if item < n}
    renamed = list(range(n + len(edges)))
    for nodes in alike.values():
        for old, new in zip(sorted(nodes, key=places.__getitem__), nodes, strict=True):
            renamed[old] = new
    number = {edge: n + e for e, edge in enumerate(edges)}
    for (a, b), item in number.items():
        renamed[item] = number[renamed[a], renamed[b]]
    return [tuple(renamed[item] for item in order) for order in orders]
