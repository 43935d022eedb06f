"""The kernel of total effects: sums over directed paths, column by column in topological order."""

import numpy as np
from numba import boolean, float64, int64

from skbn._core.compile import inner_kernel, kernel


@inner_kernel
def list_parents(is_parent, parents, n_parents):
    """Set row y of `parents` to the numbers of the parents of y, ascending."""
    m = n_parents.size
    for y in range(m):
        n = 0
        for p in range(m):
            if is_parent[y, p]:
                parents[y, n] = p
                n += 1
        n_parents[y] = n


@inner_kernel
def topological_order(parents, n_parents, order):
    """Set `order` to the columns of a network, parents before their children."""
    m = n_parents.size
    is_placed = np.zeros(m, np.bool_)
    n_placed = 0
    while n_placed < m:
        for y in range(m):
            is_next = not is_placed[y]
            for i in range(n_parents[y]):
                is_next &= is_placed[parents[y, i]]
            if is_next:
                order[n_placed] = y
                is_placed[y] = True
                n_placed += 1


@kernel(boolean[:, :, ::1], float64[:, :, ::1], int64[::1], float64[:, :, ::1])
def sum_paths(is_parent, coef, causes, effects):
    """Set `effects` to the effects of some causes on all columns, one for each network.

    An effect is the sum over the paths of the products of their coefficients: NaN without a path,
    infinite if it leaves float64's range.

    `is_parent`: (n, m, m), at [i, y, p], whether p is a parent of y in network i; the networks are
        acyclic
    `coef`: (n, m, m); `causes`: (k,); `effects`: (k, m, n)
    """
    n, m, _ = is_parent.shape
    order, n_parents = np.empty(m, np.int64), np.empty(m, np.int64)
    parents = np.empty((m, m), np.int64)
    effect = np.empty(m)
    is_reached = np.empty(m, np.bool_)
    for i in range(n):
        list_parents(is_parent[i], parents, n_parents)
        topological_order(parents, n_parents, order)
        for c in range(causes.size):
            is_reached[:] = False
            is_reached[causes[c]] = True
            effect[causes[c]] = 1.0
            for y in order:
                total, has_path = 0.0, False
                for j in range(n_parents[y]):
                    p = parents[y, j]
                    if is_reached[p]:
                        total += coef[i, p, y] * effect[p]
                        has_path = True
                if not has_path:
                    effects[c, y, i] = np.nan
                    continue
                if not np.isfinite(total):
                    total = np.inf
                effect[y] = effects[c, y, i] = total
                is_reached[y] = True
