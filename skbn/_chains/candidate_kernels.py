"""Draws of random candidates, and how probable these are given a column's parents.

The random candidates of a column are R of the columns outside its fixed ones. Given its parents, of
which o are outside, they are these and R - o further columns: each set of them has a probability
proportional to the product of its columns' weights (conditional Poisson sampling: Tillé 2006,
"Sampling algorithms", section 5). What the products of all sets sum to follows from those of fewer
columns: they are the coefficients of the product of ``1 + weight * t`` over the columns.
"""

import math

import numpy as np
from numba import float64, int64

from skbn._chains.family_kernels import draw_parents
from skbn._chains.partition_kernels import PARTITION
from skbn._core.compile import kernel
from skbn._core.random_numbers import uniform
from skbn._core.subsets import popcount


@kernel(PARTITION, int64, int64, int64[::1], float64[::1])
def redraw_candidates(state, x, n_fixed, outside, weights):
    """Draw a column's parents, and then its random candidates given these.

    The first `n_fixed` candidates stay, and parents among the others do. The scores are not
    changed.

    `outside`: (M,), the possible parents that are not fixed candidates
    `weights`: (M,), theirs, positive
    """
    n_candidates = state.n_candidates[x]
    parents = draw_parents(state, x)
    kept = n_fixed
    for p in range(n_fixed, n_candidates):
        z = state.candidates[x, p]
        state.places[x, z] = -1
        if parents >> p & 1:
            state.candidates[x, kept] = z
            kept += 1
    for p in range(n_fixed, kept):
        state.places[x, state.candidates[x, p]] = p
    missing = n_candidates - kept
    sums = np.zeros((outside.size + 1, missing + 1))  # over sets of k of the columns from i on
    sums[:, 0] = 1.0
    for i in range(outside.size - 1, -1, -1):
        weight = weights[i] if state.places[x, outside[i]] < 0 else 0.0
        for k in range(1, missing + 1):
            sums[i, k] = sums[i + 1, k] + weight * sums[i + 1, k - 1]
    for i in range(outside.size):
        z = outside[i]
        if missing == 0:
            break
        if state.places[x, z] >= 0:
            continue
        if uniform(state.random, 0) * sums[i, missing] < weights[i] * sums[i + 1, missing - 1]:
            state.candidates[x, kept] = z
            state.places[x, z] = kept
            kept += 1
            missing -= 1


@kernel(PARTITION, int64, int64, int64[::1], float64[::1], float64[::1])
def weigh_candidates(state, x, n_fixed, outside, weights, logs):
    """Set the log probabilities of a column's random candidates given each set of parents.

    `state`, `x`, `n_fixed`, `outside`, `weights`: as for `redraw_candidates`
    `logs`: (2**R,), set for each set of the random candidates that are parents
    """
    n = state.n_candidates[x] - n_fixed
    of_random = np.empty(n)
    sums = np.zeros((logs.size, n + 1))  # over sets of k of the columns that are no parents
    sums[-1, 0] = 1.0
    for i in range(outside.size):
        place = state.places[x, outside[i]]
        if place >= 0:
            of_random[place - n_fixed] = weights[i]
        else:
            for k in range(n, 0, -1):
                sums[-1, k] += weights[i] * sums[-1, k - 1]
    logs[-1] = 0.0
    for parents in range(logs.size - 2, -1, -1):
        p = 0
        while parents >> p & 1:
            p += 1
        more = parents | 1 << p
        logs[parents] = logs[more] + math.log(of_random[p])
        sums[parents, 0] = 1.0
        for k in range(1, n + 1):
            sums[parents, k] = sums[more, k] + of_random[p] * sums[more, k - 1]
    for parents in range(logs.size):
        logs[parents] -= math.log(sums[parents, n - popcount(parents)])
