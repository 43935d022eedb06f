"""The order of nodes and passing edges within the layers, with few crossings.

From nothing, all nodes are put in one by one, each where it costs least. Then some are taken out
and put in again, time after time; what costs more is kept at first if it is not much more, and
the best of all is returned.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import combinations
from random import Random

from skbn._drawing.layout.ranking import Edge, Ranking

__all__ = ["order_layers"]

_STARTS = 3
_INSERTIONS = 20  # of each node
_MOST_INSERTIONS = 600
_FIRST_TOLERANCE = 4000  # by how much worse a ranking may become in the beginning
_MANY_EDGES = 80  # more of them take longer, and get fewer insertions


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
        The width that the nodes of a layer should not exceed together.

    Returns
    -------
    layers : list of int
        The layer of each node.
    orders : list of list of int
        What is in each layer, from left to right: nodes, and n + e for edge number e.
    """
    random = Random(0)  # its random() is the same in all versions of Python
    candidates = []
    insertions = min(_INSERTIONS * len(layers), _MOST_INSERTIONS)
    insertions = insertions * _MANY_EDGES**2 // max(len(edges), _MANY_EDGES) ** 2
    share = insertions // (2 * _STARTS)
    for start in range(_STARTS):
        ranking = Ranking(layers, edges, widths, widest)
        for node in _breadth_first(ranking, random, shuffled=start > 0):
            ranking.insert(node)
        cost = _improve(ranking, ranking.cost(), random, max(share - len(layers), 0))
        candidates.append((cost, start, ranking))
    cost, _, ranking = min(candidates)
    _improve(ranking, cost, random, insertions // 2)
    used = sorted(set(ranking.layers))  # the nodes may have left some
    number = {layer: i for i, layer in enumerate(used)}
    orders = _in_natural_order(ranking, [ranking.orders[layer] for layer in used])
    return [number[layer] for layer in ranking.layers], orders


def _in_natural_order(ranking: Ranking, orders: Sequence[Sequence[int]]) -> list[list[int]]:
    """Put first nodes left where this makes no difference to the crossings.

    Left and right change places, and so do nodes of a layer with the same parents and children.
    """
    n, edges = ranking.n, ranking.edges
    pairs = [p for order in orders for p in combinations([v for v in order if v < n], 2)]
    if 2 * sum(a > b for a, b in pairs) > len(pairs):
        orders = [order[::-1] for order in orders]
    alike: dict[Hashable, list[int]] = {}
    for v in range(n):
        around = frozenset(ranking.parents[v]), frozenset(ranking.children[v])
        alike.setdefault((ranking.layers[v], around), []).append(v)
    places = {item: i for order in orders for i, item in enumerate(order) if item < n}
    renamed = list(range(n + len(edges)))
    for nodes in alike.values():
        for old, new in zip(sorted(nodes, key=places.__getitem__), nodes, strict=True):
            renamed[old] = new
    number = {edge: n + e for e, edge in enumerate(edges)}
    for e, (a, b) in enumerate(edges):
        renamed[n + e] = number[renamed[a], renamed[b]]
    return [[renamed[item] for item in order] for order in orders]


def _breadth_first(ranking: Ranking, random: Random, *, shuffled: bool) -> list[int]:
    roots = sorted(range(ranking.n), key=lambda v: -len(ranking.incident[v]))
    if shuffled:
        roots = _shuffle(roots, random)
    found: list[int] = []
    for root in roots:
        agenda = [root]
        for node in agenda:
            if node not in found:
                found.append(node)
                agenda += [sum(ranking.edges[e]) - node for e in ranking.incident[node]]
    return found


def _shuffle(nodes: Sequence[int], random: Random) -> list[int]:
    return [node for _, node in sorted((random.random(), node) for node in nodes)]


def _improve(ranking: Ranking, cost: int, random: Random, insertions: int) -> int:
    """Take nodes out and put them in again, as often as told."""
    state = best_state = ranking.save()
    best, total = cost, insertions
    for batch in _batches(ranking, random):
        if insertions <= 0:
            break
        insertions -= len(batch)
        for node in batch:
            ranking.remove(node)
        for node in batch:
            ranking.insert(node)
        changed = ranking.cost()
        if changed <= cost + _FIRST_TOLERANCE * insertions // total:
            cost, state = changed, ranking.save()
            if cost < best:
                best, best_state = cost, state
        else:
            ranking.load(state)
    ranking.load(best_state)
    return best


def _batches(ranking: Ranking, random: Random) -> Iterator[list[int]]:
    """Give each node by itself, then each with some that are mostly near it, for ever."""
    while True:
        nodes = _shuffle(range(ranking.n), random)
        for node in nodes:
            yield [node]
        for node in nodes:
            batch = [node]
            for _ in range(1 + int(3 * random.random())):
                around = ranking.incident[batch[int(len(batch) * random.random())]]
                other = int(ranking.n * random.random())
                if around and random.random() < 0.7:
                    a, b = ranking.edges[around[int(len(around) * random.random())]]
                    other = b if a in batch else a
                if other not in batch:
                    batch.append(other)
            yield _shuffle(batch, random)
