"""Kernels that score, compare and list the families of one child with few parents.

The parents are the required columns and a few of the candidates. The sets of candidates are
in the order of `SmallSubsets`.
"""

from __future__ import annotations

import math

import numpy as np
from numba import boolean, float64, int16, int64

from skbn._core.compile import inner_kernel, kernel
from skbn._core.subsets import advance, binomial, rank
from skbn._regressions.set_function import local_score


@kernel(
    int64,
    int64[::1],
    int64[::1],
    int64,
    float64[::1],
    float64[:, ::1],
    int64[:, ::1],
    int64[::1],
    float64[::1],
)
def score_families(child, required, candidates, most, log_det, tables, binomials, starts, scores):
    """Set `scores` to the local scores of all families of the child.

    Parameters
    ----------
    child : int
    required, candidates : ndarray of int64
        Ascending, with no column in common.
    most : int
        How many candidates may be parents.
    log_det : ndarray, float64
        The log-determinants of small sets of columns.
    tables : ndarray of shape (3, m), float64
    binomials, starts : ndarray of int64
        Those of the `SmallSubsets` that `log_det` has.
    scores : ndarray, float64
    """
    chosen = np.empty(most + 1, dtype=np.int64)
    parents = np.empty(most + required.size + 1, dtype=np.int64)
    i = 0
    for size in range(most + 1):
        n_parents = size + required.size
        for j in range(size):
            chosen[j] = j
        end = i + binomial(candidates.size, size)
        while i < end:
            _merge(required, candidates, chosen, size, parents)
            of_parents = log_det[starts[n_parents] + rank(parents, n_parents, binomials)]
            _insert(parents, n_parents, child)
            of_family = log_det[starts[n_parents + 1] + rank(parents, n_parents + 1, binomials)]
            scores[i] = local_score(tables, n_parents, of_parents, of_family)
            i += 1
            if i < end:
                advance(chosen, size)


@kernel(float64[::1], int64, int64, int64[:, ::1], int64[::1], boolean[::1])
def keep_undominated(scores, n, most, binomials, starts, keep):
    """Set `keep` to whether the score of a set exceeds those of all its subsets.

    Parameters
    ----------
    scores : ndarray, float64
        One for each set of at most `most` out of n candidates. Not NaN.
    n, most : int
    binomials, starts : ndarray of int64
        Those of the `SmallSubsets` that `scores` has.
    keep : ndarray of bool
    """
    best = scores.copy()  # the best score of a set and its subsets
    chosen = np.empty(most + 1, dtype=np.int64)
    fewer = np.empty(most + 1, dtype=np.int64)
    keep[0] = scores[0] > -math.inf
    for size in range(1, most + 1):
        for j in range(size):
            chosen[j] = j
        for i in range(starts[size], starts[size + 1]):
            best_subset = -math.inf
            for left_out in range(size):
                for j in range(size - 1):
                    fewer[j] = chosen[j + (j >= left_out)]
                subset = starts[size - 1] + rank(fewer, size - 1, binomials)
                best_subset = max(best_subset, best[subset])
            keep[i] = scores[i] > best_subset
            best[i] = max(scores[i], best_subset)
            if i + 1 < starts[size + 1]:
                advance(chosen, size)


@kernel(int64[::1], int64[::1], int64, boolean[::1], int16[:, ::1])
def list_families(required, candidates, most, keep, members):
    """Set the rows of `members` to the parents of the families that are kept."""
    chosen = np.empty(most + 1, dtype=np.int64)
    parents = np.empty(most + required.size + 1, dtype=np.int64)
    i = 0
    row = 0
    for size in range(most + 1):
        for j in range(size):
            chosen[j] = j
        end = i + binomial(candidates.size, size)
        while i < end:
            if keep[i]:
                _merge(required, candidates, chosen, size, parents)
                for j in range(size + required.size):
                    members[row, j] = parents[j]
                row += 1
            i += 1
            if i < end:
                advance(chosen, size)


@kernel(
    float64[::1], int64, int64[:, ::1], int64[::1], float64[::1], float64, int64[::1], int64, int64
)
def first_suspect(log_det, size, binomials, starts, offsets, threshold, first, begin, end):
    """Return the first set of this size in which a column nearly depends on others, or -1.

    Parameters
    ----------
    log_det : ndarray, float64
    size : int
    binomials, starts : ndarray of int64
        Those of the `SmallSubsets` that `log_det` has.
    offsets : ndarray of shape (n,), float64
        What each column's unit adds to the log-determinants.
    threshold : float
        The smallest logarithm of the square of a residual, for columns of norm 1.
    first : ndarray of shape (size,), int64
        The set to begin with. It is set to the one that was found, or the one after the last.
    begin, end : int
        The index of `first`, and the index one past the last set.
    """
    fewer = np.empty(size, dtype=np.int64)
    for i in range(begin, end):
        for left_out in range(size):
            for j in range(size - 1):
                fewer[j] = first[j + (j >= left_out)]
            subset = starts[size - 1] + rank(fewer, size - 1, binomials)
            log_square = log_det[i] - log_det[subset] - offsets[first[left_out]]
            if not log_square > threshold:  # NaN counts too: both may be -inf
                return i
        if i + 1 < starts[size + 1]:
            advance(first, size)
    return -1


@inner_kernel
def _merge(required, candidates, chosen, size, parents):
    """Set `parents` to the required and the chosen columns, ascending."""
    for j in range(size):
        parents[j] = candidates[chosen[j]]
    n_parents = size
    for column in required:
        _insert(parents, n_parents, column)
        n_parents += 1


@inner_kernel
def _insert(members, size, column):
    """Insert a column into a sorted set."""
    j = size
    while j > 0 and members[j - 1] > column:
        members[j] = members[j - 1]
        j -= 1
    members[j] = column
