"""Kernels that order layers: items are removed and inserted, each where it costs least.

Node v is item v, and edge e is item n + e in every layer that it passes.

These kernels are needed for the first picture, so they must compile fast: there are few of them,
which take few arrays, allocate nothing and take no slices.

graph : ndarray of shape (6, m), int64
    Its rows are named below.
state : ndarray of shape (n_layers + 2, n_items + 1), int64
    The items of each layer from left to right, and in the last column how many there are. The
    last two rows have the place of each node in its layer, -1 where it is not inserted, and its
    layer; they end with the numbers of items and of nodes.
widths : ndarray of shape (n_items + 2,), float64
    Widths: of each item, of any edge, and the largest of a layer.
links : ndarray of shape (n_items + 1, n_items + 1), int64
    Scratch: of links between the first i items of a layer and the first j of another.
work : ndarray of shape (3, n_layers, n_items + 1), int64
    Scratch: of costs of ways, where these come from, and total costs of gaps.
    Row k of the first two is of the k-th layer on a way, row l of the third of layer l.
"""

from numba import float64, int64

from skbn._core.compile import inner_kernel, kernel, pasted_kernel

# Costs are integers, so their sums are the same on every machine. A crossing counts most.
_CROSSING = 1000
_PASSING = 250  # an edge passes through a layer
_SIDEWAYS = 8  # an edge goes sideways by half a place
_OVERFULL = 3000  # a node is in a layer that is too wide
_EXCESS = 100  # a point by which a layer is too wide
_FIRST_TOLERANCE = 4000  # the search begins by accepting results that are worse by this

# Rows of `graph`: the ends of each edge; the edges of node v, which are those numbered from
# FIRST[v] to FIRST[v + 1] in the row INCIDENT; and the layers in which each node may stand.
_PARENT, _CHILD, _FIRST, _INCIDENT, _HIGHEST, _LOWEST = range(6)
_PLACE, _LAYER = -2, -1  # rows of `state`
_COSTS, _CAME_FROM, _TOTALS = range(3)  # rows of `work`


@inner_kernel
def _count_links(graph, state, layer, other, links):
    """Count the links between the first items of a layer and of another next to it.

    Return the cost of their crossings and slopes.
    """
    n = state[_LAYER, -1]
    n_own = state[layer, -1]
    n_other = state[other, -1]
    towards = _CHILD if other > layer else _PARENT
    for j in range(n_other):
        state[_PLACE, state[other, j]] = j
        links[0, j] = 0
    links[0, n_other] = 0
    cost = 0
    for i in range(n_own):
        for j in range(n_other + 1):
            links[i + 1, j] = 0
        item = state[layer, i]
        start = graph[_FIRST, item] if item < n else 0
        stop = graph[_FIRST, item + 1] if item < n else 1
        for k in range(start, stop):
            e = graph[_INCIDENT, k] if item < n else item - n
            end = graph[towards, e]
            j = state[_PLACE, end if state[_LAYER, end] == other else n + e]
            if j >= 0:
                links[i + 1, j + 1] = 1
                cost += _SIDEWAYS * abs(2 * (i - j) - n_own + n_other)
        row = 0
        for j in range(1, n_other + 1):
            if links[i + 1, j]:
                # All links from items before this one to the right of its link cross it.
                cost += _CROSSING * (links[i, n_other] - links[i, j])
                row += 1
            links[i + 1, j] = row + links[i, j]
    for j in range(n_other):
        if state[other, j] >= n:
            state[_PLACE, state[other, j]] = -1
    return cost


@inner_kernel
def _put(state, item, layer, gap):
    """Insert an item in a gap of a layer."""
    n = state[_LAYER, -1]
    state[layer, -1] += 1
    for k in range(gap, state[layer, -1]):
        moved = state[layer, k]
        state[layer, k] = item
        if item < n:
            state[_PLACE, item] = k
        item = moved


@inner_kernel
def _lead(graph, state, node, last, target, links, work):
    """Lead an edge from a node to the last layer, one layer at a time, and there to a target.

    Row k is of the k-th layer on the way: the cost of the cheapest way to each gap, and the gap
    of the layer before through which that way comes. With a target, only its place in the last
    row is written; without one, which is -1, all gaps are.
    """
    layer = state[_LAYER, node]
    step = 1 if last > layer else -1
    first = state[_PLACE, node]
    stop = first + 1
    work[_COSTS, 0, first] = 0
    from_node = 1
    k = 0
    while layer != last:
        n_own = state[layer, -1]
        n_other = state[layer + step, -1]
        _count_links(graph, state, layer + step, layer, links)
        layer += step
        k += 1
        start = 0
        end = n_other + 1
        to_node = 0
        if layer == last and target >= 0:
            start = state[_PLACE, target]
            end = start + 1
            to_node = 1
        for j in range(start, end):
            best = -1
            chosen = 0
            for i in range(first, stop):
                crossings = links[n_other, i] - links[j + to_node, i]
                crossings += links[j, n_own] - links[j, i + from_node]
                slope = abs(2 * (i - j) + from_node - to_node - n_own + n_other)
                way = work[_COSTS, k - 1, i] + _CROSSING * crossings + _SIDEWAYS * slope + _PASSING
                if best < 0 or way < best:
                    best = way
                    chosen = i
            work[_COSTS, k, j] = best
            work[_CAME_FROM, k, j] = chosen
        first = 0
        stop = n_other + 1
        from_node = 0


@pasted_kernel
def _find_room(graph, state, widths, node, work):
    """Find what each gap between the parents and children of a node costs if there is no room.

    Return the first and the last layer.
    """
    highest = graph[_HIGHEST, node]
    lowest = graph[_LOWEST, node]
    for k in range(graph[_FIRST, node], graph[_FIRST, node + 1]):
        e = graph[_INCIDENT, k]
        above = state[_LAYER, graph[_PARENT, e]]
        below = state[_LAYER, graph[_CHILD, e]]
        if graph[_CHILD, e] == node:
            if above >= highest:
                highest = above + 1
        elif below <= lowest:
            lowest = below - 1
    for layer in range(highest, lowest + 1):
        width = 0.0
        for k in range(state[layer, -1]):
            width += widths[state[layer, k]]
        cost = _OVERFULL if width > 0 and width + widths[node] > widths[-1] else 0
        for j in range(state[layer, -1] + 1):
            work[_TOTALS, layer, j] = cost
    return highest, lowest


@pasted_kernel
def _put_cheapest(state, node, highest, lowest, work):
    """Insert a node in the highest layer of least cost, in the middle one of equally good gaps."""
    best = highest
    gap = 0
    n_alike = 0
    for layer in range(highest, lowest + 1):
        for j in range(state[layer, -1] + 1):
            if work[_TOTALS, layer, j] < work[_TOTALS, best, gap]:
                best = layer
                gap = j
                n_alike = 0
            if layer == best and work[_TOTALS, layer, j] == work[_TOTALS, best, gap]:
                n_alike += 1
    least = work[_TOTALS, best, gap]
    before = n_alike // 2
    while before > 0:
        gap += 1
        if work[_TOTALS, best, gap] == least:
            before -= 1
    _put(state, node, best, gap)
    state[_LAYER, node] = best


@pasted_kernel
def _insert(graph, state, widths, node, links, work):
    """Insert a node where it costs least, and its edges to the nodes that are there.

    Edges to other nodes are inserted with these.
    """
    n = state[_LAYER, -1]
    first = graph[_FIRST, node]
    stop = graph[_FIRST, node + 1]
    highest, lowest = _find_room(graph, state, widths, node, work)
    for k in range(first, stop):
        e = graph[_INCIDENT, k]
        is_child = graph[_CHILD, e] == node
        other = graph[_PARENT if is_child else _CHILD, e]
        last = lowest if is_child else highest
        if state[_PLACE, other] >= 0:
            _lead(graph, state, other, last, -1, links, work)
            for layer in range(highest, lowest + 1):
                for j in range(state[layer, -1] + 1):
                    row = abs(layer - state[_LAYER, other])
                    work[_TOTALS, layer, j] += work[_COSTS, row, j]
    _put_cheapest(state, node, highest, lowest, work)
    for span in range(2, len(state) - 2):  # the shortest first
        for k in range(first, stop):
            e = graph[_INCIDENT, k]
            parent = graph[_PARENT, e]
            child = graph[_CHILD, e]
            layer = state[_LAYER, child]
            is_there = state[_PLACE, parent] >= 0 and state[_PLACE, child] >= 0
            if is_there and layer - state[_LAYER, parent] == span:
                _lead(graph, state, parent, layer, child, links, work)
                gap = state[_PLACE, child]
                for row in range(span, 1, -1):
                    gap = work[_CAME_FROM, row, gap]
                    layer -= 1
                    _put(state, n + e, layer, gap)


@pasted_kernel
def _remove(graph, state, node):
    """Remove a node and its edges."""
    n = state[_LAYER, -1]
    for layer in range(len(state) - 2):
        kept = 0
        for k in range(state[layer, -1]):
            item = state[layer, k]
            is_kept = item != node
            if item >= n:
                is_kept = graph[_PARENT, item - n] != node and graph[_CHILD, item - n] != node
            if is_kept:
                state[layer, kept] = item
                if item < n:
                    state[_PLACE, item] = kept
                kept += 1
        state[layer, -1] = kept
    state[_PLACE, node] = -1


@pasted_kernel
def _cost(graph, state, widths, links):
    """Return the cost of crossings, lengths and slopes, and of layers that are too wide."""
    n = state[_LAYER, -1]
    total = 0
    for layer in range(len(state) - 2):
        if layer + 3 < len(state):
            total += _count_links(graph, state, layer, layer + 1, links)
        n_nodes = 0
        width = 0.0
        for k in range(state[layer, -1]):
            width += widths[state[layer, k]]
            if state[layer, k] < n:
                n_nodes += 1
        total += _PASSING * (state[layer, -1] - n_nodes)
        if width > widths[-1]:
            if n_nodes > 1:
                total += _OVERFULL * (n_nodes - 1)
            if widths[-2] > 0:
                total += int(_EXCESS * (width - widths[-1]))
    return total


@inner_kernel
def _copy(state, to):
    """Copy the items of all layers, and the layers of all nodes."""
    for row in range(len(state)):
        for k in range(state[row, -1]):
            to[row, k] = state[row, k]
        to[row, -1] = state[row, -1]


@kernel(
    *(int64[:, ::1], float64[::1], int64[:, ::1], int64[:, ::1], int64[:, ::1], int64[:, ::1]),
    *(int64[:, ::1], int64[:, :, ::1]),
    seconds=2.4,
)
def order_items(graph, widths, batches, state, kept, best, links, work):
    """Insert all nodes; then remove and insert the nodes of each batch, and keep the best.

    `batches`: (n_batches, size), rows are filled up with -1. The first has all nodes, and these are
        inserted.
    `kept`: scratch
    `best`: the result

    Returns `least`: the cost of the best.
    """
    n_steps = len(batches) - 1
    cost = 0
    least = 0
    for step in range(n_steps + 1):
        for k in range(batches.shape[1]):
            if batches[step, k] >= 0:
                _remove(graph, state, batches[step, k])
        for k in range(batches.shape[1]):
            if batches[step, k] >= 0:
                node = batches[step, k]
                _insert(graph, state, widths, node, links, work)
        changed = _cost(graph, state, widths, links)
        if step > 0 and changed > cost + _FIRST_TOLERANCE * (n_steps + 1 - step) // n_steps:
            _copy(kept, state)
            continue
        cost = changed
        _copy(state, kept)
        if step == 0 or cost < least:
            least = cost
            _copy(state, best)
    return least
