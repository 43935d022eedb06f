"""Kernels that score a child with every subset of some columns as parents."""

from __future__ import annotations

import math

import numpy as np
from numba import float64, int64

from skbn._core.compile import inner_kernel, kernel
from skbn._core.subsets import popcount
from skbn._orders.regression_kernels import LEAST_PIVOT, REGRESSIONS, family_score


@kernel(
    REGRESSIONS, int64[::1], int64, int64, float64, float64[::1], float64[::1], float64[:, :, ::1],
    seconds=1.5,
)  # fmt: skip
def score_subsets(regressions, columns, n_free, max_parents, least, scores, best, stack):
    """Score a child with fixed parents and every subset of free ones.

    The subsets count up as masks. The lowest column of a mask is the pivot of a step of Cholesky's
    decomposition on the matrix of those below it, and half of the masks have no columns below.

    Parameters
    ----------
    columns : ndarray of int64
        The `n_free` free columns, then the child, then the fixed ones.
    scores : ndarray of shape (2**n_free,), float64
        Receives -inf for sets that are ruled out.
    best : ndarray of shape (2**n_free,), float64
        Receives the highest score of a subset of each set.
    stack : ndarray of shape (n_free + 1, n_free + 1, n_free + 1), float64
        Scratch.
    """
    n_fixed = columns.size - n_free - 1
    log_det = np.empty(n_free + 1)
    log_det[0] = _project_out(regressions, columns, n_free, stack[0])
    offset = regressions.offsets[columns[n_free]]
    left = stack[0, n_free, n_free]
    scores[0] = -np.inf
    if log_det[0] > -np.inf and left >= LEAST_PIVOT and n_fixed <= max_parents:
        scores[0] = family_score(regressions, n_fixed, log_det[0], left, offset)
    best[0] = scores[0]
    for mask in range(1, 1 << n_free):
        t = popcount((mask & -mask) - 1)
        n = popcount(mask)
        pivot = stack[n - 1, t, t]
        score = -np.inf
        log_det[n] = -np.inf
        if log_det[n - 1] > -np.inf and pivot >= LEAST_PIVOT:
            log_det[n] = log_det[n - 1] + math.log(pivot) + regressions.offsets[columns[t]]
            left = _eliminate(stack[n - 1], stack[n], t, n_free)
            if left >= LEAST_PIVOT and n_fixed + n <= max_parents:
                score = family_score(regressions, n_fixed + n, log_det[n], left, offset)
        top = -np.inf
        rest = mask
        while rest:
            low = rest & -rest
            top = max(top, best[mask ^ low])
            rest ^= low
        best[mask] = max(score, top)
        # Otherwise a subset is as good.
        scores[mask] = score if score > top + least else -np.inf


@inner_kernel
def _project_out(regressions, columns, n_free, target):
    """Set `target` to the products of the free columns and the child, freed of the fixed ones.

    Returns
    -------
    log_det : float
        The log-determinant of the fixed columns; -inf if rounding would decide it.
    """
    k = columns.size
    matrix = np.empty((k, k))
    for i in range(k):
        for j in range(k):
            matrix[i, j] = regressions.products[columns[i], columns[j]]
    log_det = 0.0
    for t in range(k - 1, n_free, -1):
        if matrix[t, t] < LEAST_PIVOT:
            return -np.inf
        log_det += math.log(matrix[t, t]) + regressions.offsets[columns[t]]
        for i in range(t):
            weight = matrix[i, t] / matrix[t, t]
            for j in range(t):
                matrix[i, j] -= weight * matrix[t, j]
    for i in range(n_free + 1):
        for j in range(n_free + 1):
            target[i, j] = matrix[i, j]
    return log_det


@inner_kernel
def _eliminate(above, below, t, child):
    """Free columns below t, and the child, of column t; return what is left of the child."""
    inverse = 1.0 / above[t, t]
    for i in range(t):
        weight = above[t, i] * inverse
        for j in range(i + 1):
            below[i, j] = above[i, j] - weight * above[t, j]
    weight = above[child, t] * inverse
    for j in range(t):
        below[child, j] = above[child, j] - weight * above[t, j]
    below[child, child] = above[child, child] - weight * above[child, t]
    return below[child, child]
