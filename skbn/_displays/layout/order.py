"""The layers of nodes, and the order of nodes and passing edges in them, with few crossings.

All nodes are inserted one by one, each where it costs least. Then a few nodes at a time are
removed and inserted again. A result that is a little worse is kept at first, to escape from local
minima, and the best of all is returned.
"""

from collections.abc import Hashable, Sequence
from itertools import combinations
from math import ceil

import networkx as nx
import numpy as np
from scipy.optimize import linprog

from skbn._core.arrays import Floats, Integers
from skbn._core.compile import compile_kernels
from skbn._displays.layout.order_kernels import order_items

Edge = tuple[int, int]
Order = tuple[int, ...]

# How long to search: chosen by the crossings in tests/benchmarks/crossings.py.
_STEPS = 40  # for each node
_MOST_STEPS = 1200  # in all
_MANY_EDGES = 80  # with more edges a step takes longer, so there are fewer steps
# A step moves at most this share of a node's neighbours, and at most this many nodes.
_NEIGHBOURS, _LARGEST_BATCH = 0.3, 4


def shortest_layers(
    n_nodes: int, edges: Sequence[Edge], bands: Sequence[int] | None = None
) -> list[int]:
    """Choose layers, numbered from the top, that make the edges as short as possible in total.

    With the band of each node, 0 or more, all layers of a band are above the next band's.

    This is a linear program whose vertices are integer, because each constraint compares two
    nodes. Among all optima it takes the one with the nodes as high as possible, which is unique.
    """
    # A fence stands between the nodes of each band and the next.
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
    passing: float = 0.0,
) -> tuple[int, list[int], list[Order]]:
    """Order the layers of a graph so that few edges cross.

    Nodes may move to other layers of their band, and do if a layer's nodes and passing edges (each
    of the width `passing`) are wider together than `widest`. Return the cost, the layer of each
    node, and the items of each layer from left to right: node v is item v, and edge number e is
    item n + e in every layer that it passes through.
    """
    n = len(layers)
    incident = [[e for e, edge in enumerate(edges) if v in edge] for v in range(n)]
    n_passing = np.zeros(max(layers) + 1)
    for a, b in edges:
        n_passing[layers[a] + 1 : layers[b]] += 1
    spread = _spread(layers, widths, widest - passing * n_passing)
    compile_kernels([order_items])
    n_items = n + len(edges)
    graph = np.zeros((6, max(2 * len(edges), n + 1)), np.int64)
    graph[:2, : len(edges)] = np.array(edges, np.int64).reshape(-1, 2).T
    graph[2, 1 : n + 1] = np.cumsum([*map(len, incident)])
    graph[3, : 2 * len(edges)] = [e for own in incident for e in own]
    graph[4:, :n] = np.transpose(_reach(spread, [0] * n if bands is None else bands))
    state = np.zeros((max(spread) + 3, n_items + 1), np.int64)
    state[-2] = -1
    state[-1, :n] = spread
    state[-2:, -1] = n_items, n
    best = state.copy()
    cost = order_items(
        graph,
        np.array([*widths, *[passing] * len(edges), passing, widest], float),
        _batches(edges, incident),
        state,
        state.copy(),
        best,
        np.zeros((n_items + 1, n_items + 1), np.int64),
        np.zeros((3, *state.shape), np.int64),
    )
    orders = [tuple(row[: row[-1]]) for row in best[:-2].tolist() if row[-1]]
    number = {item: i for i, order in enumerate(orders) for item in order if item < n}
    found = [number[v] for v in range(n)]
    return int(cost), found, _in_natural_order(found, edges, incident, orders)


def order_by_lanes(
    layers: Sequence[int], edges: Sequence[Edge], lanes: Sequence[int]
) -> list[Order]:
    """Order the nodes of each layer by lanes, and the edges that pass it by the straight lines.

    Items are numbered as in `order_layers`. An edge passes a node on its line on the left, and also
    edges on the same line that begin in later layers.

    >>> order_by_lanes([0, 1, 2, 1], [(0, 2)], [0, 0, 0, 1])
    [(0,), (4, 1, 3), (2,)]
    """
    n = len(layers)
    keys: list[list[tuple[float, int, int, int]]] = [[] for _ in range(max(layers) + 1)]
    for v, layer in enumerate(layers):
        keys[layer].append((lanes[v], max(lanes) + 1, layer, v))  # after edges of the same place
    for e, (a, b) in enumerate(edges):
        for layer in range(layers[a] + 1, layers[b]):
            share = (layer - layers[a]) / (layers[b] - layers[a])
            place = lanes[a] + share * (lanes[b] - lanes[a])
            keys[layer].append((round(place, 6), lanes[b], layers[a], n + e))
    return [tuple(item for *_, item in sorted(each)) for each in keys]


def _spread(layers: Sequence[int], widths: Sequence[float], rooms: Floats) -> list[int]:
    """Divide each layer into as many as the one with the least room for its nodes needs.

    Nodes of narrow layers may come together again: an edge through fewer layers costs less.
    """
    totals = np.bincount(layers, widths)
    widest = np.zeros(len(totals))
    np.maximum.at(widest, layers, widths)
    n_rows = ceil((totals / np.maximum(rooms, widest)).max())
    before = [0.0] * len(totals)
    spread = []
    for layer, width in zip(layers, widths, strict=True):
        spread.append(n_rows * layer + int(n_rows * before[layer] / totals[layer]))
        before[layer] += width
    return spread


def _reach(layers: Sequence[int], bands: Sequence[int]) -> list[tuple[int, int]]:
    """Return the first and the last layer in which each node may stand, by its band."""
    starts = [
        min(x for x, band in zip(layers, bands, strict=True) if band >= least)
        for least in range(max(bands) + 1)
    ]
    ends = [*(start - 1 for start in starts[1:]), max(layers)]
    return [(starts[band] if band else 0, ends[band]) for band in bands]


def _insertion_order(n_nodes: int, edges: Sequence[Edge]) -> list[int]:
    """Return the nodes part by part, outwards from the one with the most edges."""
    graph = nx.Graph(edges)
    graph.add_nodes_from(range(n_nodes))
    nodes = []
    for part in nx.connected_components(graph):
        root = max(sorted(part), key=graph.degree)
        nodes += [root, *(node for _, node in nx.bfs_edges(graph, root))]
    return nodes


def _batches(edges: Sequence[Edge], incident: Sequence[Sequence[int]]) -> Integers:
    """Draw which nodes to remove and insert again: each in turn, with some of its neighbours.

    The first batch has all nodes, in the order in which they are inserted.
    """
    random = np.random.RandomState(0)  # draws the same numbers in all versions of NumPy
    n = len(incident)
    n_steps = min(_STEPS * n, _MOST_STEPS)
    n_steps = n_steps * _MANY_EDGES**2 // max(len(edges), _MANY_EDGES) ** 2
    batches = np.full((1 + n_steps, max(n, _LARGEST_BATCH)), -1, np.int64)
    batches[0, :n] = _insertion_order(n, edges)
    nodes: list[int] = []
    for batch in batches[1:]:
        nodes = nodes or random.permutation(n).tolist()
        node = nodes.pop()
        around = [sum(edges[e]) - node for e in incident[node]]
        chosen = [v for v in around if random.random_sample() < _NEIGHBOURS]
        drawn = random.permutation([node, *chosen[: _LARGEST_BATCH - 1]])
        batch[: len(drawn)] = drawn
    return batches


def _in_natural_order(
    layers: Sequence[int],
    edges: Sequence[Edge],
    incident: Sequence[Sequence[int]],
    orders: Sequence[Order],
) -> list[Order]:
    """Put first nodes left where this makes no difference to the crossings.

    Left and right are exchanged, and so are nodes of a layer with the same parents and children.
    """
    n = len(layers)
    alike: dict[Hashable, list[int]] = {}
    for v in range(n):
        neighbours = frozenset(sum(edges[e]) - v for e in incident[v])
        alike.setdefault((layers[v], neighbours), []).append(v)
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
