"""The kernel of total effects: sums over directed paths, column by column in topological order."""

from __future__ import annotations

import numpy as np
from numba import float64, int64

from skbn._core.compile import inner_kernel, kernel
from skbn._core.subsets import popcount

__all__ = ["sum_paths"]


@inner_kernel
def topological_order(parents, order):
    """Set `order` to the columns of a network, parents before their children."""
    placed = np.int64(0)
    n_placed = 0
    while n_placed < parents.size:
        for x in range(parents.size):
            if not placed >> x & 1 and not parents[x] & ~placed:
                order[n_placed] = x
                placed |= np.int64(1) << x
                n_placed += 1


@kernel(int64[:, ::1], float64[:, :, ::1], int64[::1], float64[:, :, ::1])
def sum_paths(parents, coef, causes, effects):
    """Set `effects` to the effects of some causes on all columns, one for each network.

    An effect is the sum over the paths of the products of their coefficients: NaN without a path,
    infinite if it leaves float64's range.

    Parameters
    ----------
    parents : ndarray of shape (n, m), int64
        The masks of each column's parents in acyclic networks.
    coef : ndarray of shape (n, m, m), float64
    causes : ndarray of shape (k,), int64
    effects : ndarray of shape (k, m, n), float64
    """
    n, m = parents.shape
    order = np.empty(m, np.int64)
    effect = np.empty(m)
    for i in range(n):
        topological_order(parents[i], order)
        for c in range(causes.size):
            reached = np.int64(1) << causes[c]
            effect[causes[c]] = 1.0
            for y in order:
                among = parents[i, y] & reached
                if not among:
                    effects[c, y, i] = np.nan
                    continue
                total = 0.0
                while among:
                    p = popcount((among & -among) - 1)
                    total += coef[i, p, y] * effect[p]
                    among &= among - 1
                if not np.isfinite(total):
                    total = np.inf
                effect[y] = effects[c, y, i] = total
                reached |= np.int64(1) << y
