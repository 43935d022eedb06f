"""What a layout of layers costs."""

from itertools import combinations


def cost_of_layers(orders, n, edges, widths, widest, passing=0.0):
    """What layers of items cost: nodes are 0, ..., n - 1, and n + e is edge e where it passes.

    1000 for a crossing, 250 for a layer that an edge passes, 8 for half a place sideways, 3000 for
    each node but one in a layer that is too wide, and 100 for a point of that if edges take room.
    """
    total = 0
    layer_of = {item: k for k, order in enumerate(orders) for item in order if item < n}
    for k, order in enumerate(orders):
        nodes = [item for item in order if item < n]
        total += 250 * (len(order) - len(nodes))
        width = sum(widths[v] for v in nodes) + passing * (len(order) - len(nodes))
        if width > widest:
            total += 3000 * max(len(nodes) - 1, 0) + int(100 * (width - widest)) * (passing > 0)
        links = []
        for e, (a, b) in enumerate(edges):
            if layer_of[a] <= k < layer_of[b]:
                upper = a if layer_of[a] == k else n + e
                lower = b if layer_of[b] == k + 1 else n + e
                links.append((order.index(upper), orders[k + 1].index(lower)))
        for i, j in links:
            middle, other = len(order), len(orders[k + 1])
            total += 8 * abs(2 * i + 1 - middle - (2 * j + 1 - other))
        crossed = [(p, q) for p, q in combinations(links, 2) if (p[0] - q[0]) * (p[1] - q[1]) < 0]
        total += 1000 * len(crossed)
    return total
