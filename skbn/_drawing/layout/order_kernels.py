"""Kernels that order layers: items are removed and inserted, each where it costs least.

Node v is item v, and edge e is item n + e in every layer that it passes.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np
from numba import float64, int64

from skbn._core.compile import inner_kernel, kernel

__all__ = ["order_items"]

# Costs are integers, so their sums are the same on every machine. A crossing counts most.
_CROSSING = 1000
_PASSING = 250  # an edge passes through a layer
_SIDEWAYS = 8  # an edge goes sideways by half a place
_OVERFULL = 3000  # a node is in a layer that is too wide
_EXCESS = 100  # a point by which a layer is too wide
_FIRST_TOLERANCE = 4000  # by how much a result may be worse at the beginning

# ends: parent and child of each edge
# first, incident: the edges of node v are incident[first[v] : first[v + 1]]
# widths: of the nodes; passing: that of an edge in a layer; widest: of a layer
# reach: the first and the last layer in which each node may stand
# layers: of each node
# orders, counts: the items of each layer from left to right, and how many there are
# place: scratch of an entry for each item, all -1
_Layering = namedtuple(
    "_Layering",
    "ends first incident widths passing widest reach layers orders counts place",
)


@inner_kernel
def _links(g, above, links):
    """Count the links between the first i items of a layer and the first j of the next.

    Return the cost of their crossings and slopes.
    """
    n_above = g.counts[above]
    n_below = g.counts[above + 1]
    cost = _mark_links(g, above, links)
    for i in range(1, n_above + 1):
        row = 0
        for j in range(1, n_below + 1):
            if links[i, j]:
                # All links from items before this one to the right of its child cross it.
                cost += _CROSSING * (links[i - 1, n_below] - links[i - 1, j])
            row += links[i, j]
            links[i, j] = row + links[i - 1, j]
    return cost


@inner_kernel
def _mark_links(g, above, links):
    """Set `links` to 1 after item i and item j of the next layer if they are linked, else to 0.

    Return the cost of the slopes.
    """
    n = len(g.layers)
    n_above = g.counts[above]
    n_below = g.counts[above + 1]
    for j in range(n_below):
        g.place[g.orders[above + 1, j]] = j
    links[0, : n_below + 1] = 0
    cost = 0
    for i in range(n_above):
        links[i + 1, : n_below + 1] = 0
        item = g.orders[above, i]
        start = g.first[item] if item < n else 0
        stop = g.first[item + 1] if item < n else 1
        for k in range(start, stop):
            e = g.incident[k] if item < n else item - n
            child = g.ends[e, 1]
            j = max(g.place[child], g.place[n + e])
            if child != item and j >= 0:
                links[i + 1, j + 1] = 1
                cost += _SIDEWAYS * abs(2 * i + 1 - n_above - (2 * j + 1 - n_below))
    for j in range(n_below):
        g.place[g.orders[above + 1, j]] = -1
    return cost


@inner_kernel
def _width(g, layer):
    """Return how wide a layer is."""
    n = len(g.layers)
    width = 0.0
    for k in range(g.counts[layer]):
        item = g.orders[layer, k]
        width += g.widths[item] if item < n else g.passing
    return width


@inner_kernel
def _cost(g, links):
    """Return the cost of crossings, lengths and slopes, and of layers that are too wide."""
    n = len(g.layers)
    total = 0
    for layer in range(len(g.counts)):
        if layer + 1 < len(g.counts):
            total += _links(g, layer, links)
        n_nodes = 0
        for k in range(g.counts[layer]):
            n_nodes += g.orders[layer, k] < n
        total += _PASSING * (g.counts[layer] - n_nodes)
        if _width(g, layer) > g.widest:
            total += _OVERFULL * max(n_nodes - 1, 0)
            if g.passing > 0:
                total += int(_EXCESS * (_width(g, layer) - g.widest))
    return total


@inner_kernel
def _remove(g, node):
    """Remove a node and its edges."""
    n = len(g.layers)
    for layer in range(len(g.counts)):
        kept = 0
        for k in range(g.counts[layer]):
            item = g.orders[layer, k]
            is_gone = item == node
            if item >= n:
                is_gone = g.ends[item - n, 0] == node or g.ends[item - n, 1] == node
            if not is_gone:
                g.orders[layer, kept] = item
                kept += 1
        g.counts[layer] = kept


@inner_kernel
def _put(g, item, layer, gap):
    for k in range(g.counts[layer], gap, -1):
        g.orders[layer, k] = g.orders[layer, k - 1]
    g.orders[layer, gap] = item
    g.counts[layer] += 1


@inner_kernel
def _index(g, node):
    """Return the place of a node in its layer, or -1 before it is inserted."""
    layer = g.layers[node]
    for k in range(g.counts[layer]):
        if g.orders[layer, k] == node:
            return k
    return -1


@inner_kernel
def _from_node(g, node, step, links, cost):
    """Find the cost of an edge from a node to each gap of the layer below (1) or above (-1)."""
    layer = g.layers[node]
    i = _index(g, node)
    n_own = g.counts[layer]
    n_other = g.counts[layer + step]
    _links(g, min(layer, layer + step), links)
    for j in range(n_other + 1):
        if step == 1:
            crossings = links[i, n_other] - links[i, j] + links[n_own, j] - links[i + 1, j]
        else:
            crossings = links[n_other, i] - links[j, i] + links[j, n_own] - links[j, i + 1]
        slope = abs(2 * i + 1 - n_own - (2 * j - n_other))
        cost[j] = _CROSSING * crossings + _SIDEWAYS * slope


@inner_kernel
def _ways(g, node, last, links, costs, came_from):
    """Lead an edge from a node to another layer, one layer at a time.

    Row k is of the k-th layer on the way: the cost of the cheapest way to each gap, and the gap
    of the layer before through which that way comes. Return the number of rows.
    """
    layer = g.layers[node]
    if layer == last:
        return 0
    step = 1 if last > layer else -1
    _from_node(g, node, step, links, costs[0])
    rows = abs(last - layer)
    for k in range(1, rows):
        layer += step
        n_own = g.counts[layer]
        n_other = g.counts[layer + step]
        _links(g, min(layer, layer + step), links)
        for j in range(n_other + 1):
            best = -1
            chosen = 0
            for i in range(n_own + 1):
                if step == 1:
                    crossings = links[i, n_other] + links[n_own, j] - 2 * links[i, j]
                else:
                    crossings = links[n_other, i] + links[j, n_own] - 2 * links[j, i]
                slope = abs(2 * i - n_own - (2 * j - n_other))
                way = costs[k - 1, i] + _CROSSING * crossings + _SIDEWAYS * slope + _PASSING
                if best < 0 or way < best:
                    best = way
                    chosen = i
            costs[k, j] = best
            came_from[k, j] = chosen
    return rows


@inner_kernel
def _insert_edge(g, e, links, costs, came_from):
    """Insert an edge in the layers between its ends, on the cheapest way through them."""
    n = len(g.layers)
    parent = g.ends[e, 0]
    child = g.ends[e, 1]
    rows = _ways(g, parent, g.layers[child] - 1, links, costs, came_from)
    if rows == 0:
        return
    layer = g.layers[child] - 1
    last = costs[rows]
    _from_node(g, child, -1, links, last)
    gap = 0
    for j in range(g.counts[layer] + 1):
        last[j] += costs[rows - 1, j]
        if last[j] < last[gap]:
            gap = j
    for k in range(rows - 1, -1, -1):
        _put(g, n + e, layer, gap)
        gap = came_from[k, gap]
        layer -= 1


@inner_kernel
def _cheapest(g, highest, lowest, totals):
    """Return the highest layer of least cost, and its gap; of gaps alike, that in the middle."""
    best = highest
    gap = 0
    for layer in range(highest, lowest + 1):
        for j in range(g.counts[layer] + 1):
            if totals[layer, j] < totals[best, gap]:
                best = layer
                gap = j
    n_alike = 0
    for j in range(g.counts[best] + 1):
        n_alike += totals[best, j] == totals[best, gap]
    before = n_alike // 2
    for j in range(gap, g.counts[best] + 1):
        if totals[best, j] == totals[best, gap]:
            if before == 0:
                return best, j
            before -= 1
    return best, gap


@inner_kernel
def _allowed(g, node):
    """Return the highest and the lowest layer between the parents and the children of a node."""
    highest = g.reach[node, 0]
    lowest = g.reach[node, 1]
    for k in range(g.first[node], g.first[node + 1]):
        e = g.incident[k]
        if g.ends[e, 1] == node:
            highest = max(highest, g.layers[g.ends[e, 0]] + 1)
        else:
            lowest = min(lowest, g.layers[g.ends[e, 1]] - 1)
    return highest, lowest


@inner_kernel
def _crowding(g, node, highest, lowest, totals):
    """Find the cost of each gap of some layers for having too little room for a node."""
    for layer in range(highest, lowest + 1):
        width = _width(g, layer)
        is_overfull = width > 0 and width + g.widths[node] > g.widest
        totals[layer, : g.counts[layer] + 1] = _OVERFULL if is_overfull else 0


@inner_kernel
def _insert(g, node, links, costs, came_from, totals):
    """Insert a node where it costs least, and its edges to the nodes that are there."""
    first = g.first[node]
    stop = g.first[node + 1]
    highest, lowest = _allowed(g, node)
    _crowding(g, node, highest, lowest, totals)
    # Edges to nodes that are not there yet are inserted with these.
    inserted = np.zeros(stop - first, np.bool_)
    for k in range(first, stop):
        e = g.incident[k]
        is_child = g.ends[e, 1] == node
        other = g.ends[e, 0] if is_child else g.ends[e, 1]
        if _index(g, other) < 0:
            continue
        inserted[k - first] = True
        step = 1 if is_child else -1
        last = lowest if is_child else highest
        for row in range(_ways(g, other, last, links, costs, came_from)):
            layer = g.layers[other] + step * (row + 1)
            if highest <= layer <= lowest:
                for j in range(g.counts[layer] + 1):
                    totals[layer, j] += costs[row, j]
    best, gap = _cheapest(g, highest, lowest, totals)
    _put(g, node, best, gap)
    g.layers[node] = best
    for span in range(1, len(g.counts)):  # the shortest first
        for k in range(first, stop):
            e = g.incident[k]
            if inserted[k - first] and g.layers[g.ends[e, 1]] - g.layers[g.ends[e, 0]] == span:
                _insert_edge(g, e, links, costs, came_from)


@inner_kernel
def _scratch(g):
    """Return room for `links`, `costs`, `came_from` and `totals`."""
    n_layers, n_items = g.orders.shape
    links = np.zeros((n_items + 1, n_items + 1), np.int64)
    rows = np.zeros((3, n_layers + 1, n_items + 1), np.int64)
    return links, rows[0], rows[1], rows[2]


@inner_kernel
def _copy(layers, orders, counts, to_layers, to_orders, to_counts):
    """Copy the items of all layers."""
    for v in range(len(layers)):
        to_layers[v] = layers[v]
    for layer in range(len(counts)):
        to_counts[layer] = counts[layer]
        for k in range(counts[layer]):
            to_orders[layer, k] = orders[layer, k]


@kernel(
    *(int64[:, ::1], int64[::1], int64[::1], float64[::1], float64, float64),
    *(int64[:, ::1], int64[::1], int64[:, ::1], int64[::1], int64[::1]),
    *(int64[::1], int64[:, ::1]),
)
def order_items(
    ends,
    first,
    incident,
    widths,
    passing,
    widest,
    reach,
    layers,
    orders,
    counts,
    place,
    nodes,
    batches,
):
    """Insert nodes one by one; then remove and insert those of each batch, and keep the best.

    Parameters
    ----------
    nodes : ndarray of shape (n,), int64
    batches : ndarray of shape (n_batches, size), int64
        Rows are filled up with -1.

    Returns
    -------
    cost : int
        Of the layers that are left in `layers`, `orders` and `counts`.
    """
    g = _Layering(
        ends, first, incident, widths, passing, widest, reach, layers, orders, counts, place
    )
    links, costs, came_from, totals = _scratch(g)
    now_layers, now_orders, now_counts = layers.copy(), orders.copy(), counts.copy()
    best_layers, best_orders, best_counts = layers.copy(), orders.copy(), counts.copy()
    for k in range(len(nodes)):
        _insert(g, nodes[k], links, costs, came_from, totals)
    cost = best = _cost(g, links)
    _copy(layers, orders, counts, now_layers, now_orders, now_counts)
    _copy(layers, orders, counts, best_layers, best_orders, best_counts)
    for step in range(len(batches)):
        for k in range(batches.shape[1]):
            if batches[step, k] >= 0:
                _remove(g, batches[step, k])
        for k in range(batches.shape[1]):
            if batches[step, k] >= 0:
                _insert(g, batches[step, k], links, costs, came_from, totals)
        changed = _cost(g, links)
        if changed > cost + _FIRST_TOLERANCE * (len(batches) - step) // len(batches):
            _copy(now_layers, now_orders, now_counts, layers, orders, counts)
            continue
        cost = changed
        _copy(layers, orders, counts, now_layers, now_orders, now_counts)
        if cost < best:
            best = cost
            _copy(layers, orders, counts, best_layers, best_orders, best_counts)
    _copy(best_layers, best_orders, best_counts, layers, orders, counts)
    return best
