"""The walk through all sets of columns up to a given size, from one triangular factor.

It descends the same tree as the seeds do: starting from the last column, each column either
drops out or is moved to the front by a chain of swaps and projected out. At each node the
columns before the chosen ones are left; their norms are the residuals of all sets that have
one column more. Small sets may be independent even if all columns together are not, as with
few rows; the log-determinants of dependent sets are -inf or noise.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import float64, int64

from skbn._core.compile import inner_kernel, kernel
from skbn._core.memory import allocate
from skbn._core.progress import Progress
from skbn._core.subsets import SmallSubsets
from skbn._core.threads import Threads
from skbn._regressions.givens import copy_block, move_last_in_front

__all__ = [
    "add_singles",
    "small_log_determinants",
    "small_log_determinants_work",
    "walk_small_sets",
]


def small_log_determinants(
    factor: npt.NDArray[np.float64],
    subsets: SmallSubsets,
    offsets: npt.NDArray[np.float64],
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> npt.NDArray[np.float64]:
    """Return the log-determinants of small sets of columns.

    Parameters
    ----------
    factor : ndarray of shape (m, m), float64
        Upper triangular, with rows of zeros if there are fewer rows than columns.
    subsets : SmallSubsets
        Sets of m columns, with at least one column each.
    offsets : ndarray of shape (m,), float64
        What each column adds to the log-determinants of all sets that it is in.
    n_jobs : int or None
        Number of threads, by joblib's rules. It does not change a bit of the result.
    progress : Progress or None
        Advanced by ``small_log_determinants_work(subsets)`` in all.

    Returns
    -------
    log_det : ndarray of shape (subsets.n_sets,), float64
        In the order of `subsets`; 0 for the empty set.
    """
    m = len(factor)
    factor = np.array(factor, order="C")  # the kernels are compiled for arrays that can be written
    log_det = allocate(subsets.n_sets)
    log_det[0] = 0.0
    add_singles(factor, offsets, log_det)
    if subsets.most == 1:
        return log_det
    arguments = [
        (factor, offsets, last, subsets.most, subsets.binomials, subsets.starts, log_det)
        for last in range(m - 1, 0, -1)  # the longest first
    ]
    work = small_log_determinants_work(subsets) / len(arguments)
    with Threads(n_jobs, m) as threads:
        for _ in threads.map(walk_small_sets, arguments):
            if progress is not None:
                progress.advance(work)
    return log_det


def small_log_determinants_work(subsets: SmallSubsets) -> int:
    """Return about how long they take, in units of one local score of a search."""
    return 60 * subsets.n_sets


@kernel(float64[:, ::1], float64[::1], float64[::1])
def add_singles(factor, offsets, log_det):
    """Store the log-determinants of the single columns."""
    _add_one_column(factor, factor.shape[0], 0.0, offsets, log_det, np.int64(1))


@kernel(float64[:, ::1], float64[::1], int64, int64, int64[:, ::1], int64[::1], float64[::1])
def walk_small_sets(start, offsets, last, most, binomials, starts, log_det):
    """Store the log-determinants of the sets of two or more whose last column is `last`."""
    blocks = np.empty((most - 1, last + 1, last + 1))
    sums = np.empty(most - 1)
    chosen = np.empty(most - 1, dtype=np.int64)
    following = np.empty(most - 1, dtype=np.int64)
    depth = 0
    column = last
    copy_block(start, blocks[0], last + 1)
    above = 0.0
    while True:
        log_square = move_last_in_front(blocks[depth], column + 1)
        sums[depth] = above + log_square + offsets[column]
        chosen[depth] = column
        following[depth] = column
        size = depth + 2
        first = starts[size]
        for i in range(depth + 1):
            first += binomials[chosen[i], size - i]
        _add_one_column(blocks[depth], column, sums[depth], offsets, log_det, first)
        while depth >= 0 and (depth + 2 == most or following[depth] == 1):
            depth -= 1
        if depth < 0:
            return
        following[depth] -= 1
        column = following[depth]
        copy_block(blocks[depth], blocks[depth + 1], column + 1)
        above = sums[depth]
        depth += 1


@inner_kernel
def _add_one_column(factor, n, log_det_before, offsets, log_det, first):
    for column in range(n):
        square = 0.0
        for row in range(column + 1):
            square += factor[row, column] * factor[row, column]
        log_det[first + column] = log_det_before + math.log(square) + offsets[column]
