"""The walk through all sets of columns up to a given size, from one triangular factor.

It descends the same tree as the seeds do: starting from the last column, each column either
drops out or is moved to the front by a chain of swaps and projected out. At each node the
columns before the chosen ones are left; their norms are the residuals of all sets that have
one column more. A node may have several columns: they are moved together, and what they add is
their log-determinant. Small sets may be independent even if all columns together are not, as with
few rows; the log-determinants of dependent sets are -inf or noise.
"""

import math
from collections.abc import Sequence
from math import comb

import numpy as np
from numba import float64, int64

from skbn._core.arrays import Floats, Integers
from skbn._core.compile import inner_kernel, kernel
from skbn._core.resources import Progress, Threads, allocate
from skbn._core.subsets import SmallSubsets
from skbn._regressions.givens import copy_block, move_last_in_front

# How long a log-determinant takes, in units of one local score of a search.
WORK_OF_SMALL_SET = 60


def small_log_determinants(
    factor: Floats,
    subsets: SmallSubsets,
    offsets: Floats,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    widths: Sequence[int] | None = None,
) -> Floats:
    """Return the log-determinants of small sets of nodes.

    `factor`: (n_columns, n_columns), upper triangular, with rows of zeros if there are fewer rows
        than columns
    `subsets`: sets of m nodes, with at least one node each
    `progress`: advanced by ``WORK_OF_SMALL_SET * subsets.n_sets`` in all
    `widths`: how many columns each node has; by default one

    Returns `log_det`: (subsets.n_sets,), in the order of `subsets`; 0 for the empty set.
    """
    widths = [1] * len(factor) if widths is None else widths
    m, starts = len(widths), np.append(0, np.cumsum(widths))
    factor = np.array(factor, order="C")  # the kernels are compiled for arrays that can be written
    log_det = allocate(subsets.n_sets)
    log_det[0] = 0.0
    lasts = range(m, 0, -1) if subsets.most > 1 else [m]
    arguments = [
        (factor, starts, offsets, last, subsets.most, subsets.binomials, subsets.starts, log_det)
        for last in lasts  # the longest first
    ]
    work = WORK_OF_SMALL_SET * subsets.n_sets / len(arguments)
    with Threads(n_jobs, m) as threads:
        for _ in threads.map(walk_small_sets, arguments):
            if progress is not None:
                progress.advance(work)
    return log_det


def columns_of_small_sets(subsets: SmallSubsets, widths: Sequence[int]) -> Integers:
    """Return how many columns each of some small sets of nodes has, in the order of `subsets`."""
    of_size = np.zeros(1, dtype=np.int64)
    found = [of_size]
    for size in range(1, subsets.most + 1):
        # Sets of one size come in the order of their last members.
        of_size = np.concatenate(
            [of_size[: comb(last, size - 1)] + widths[last] for last in range(size - 1, subsets.n)]
        )
        found.append(of_size)
    return np.concatenate(found)


@kernel(
    *(float64[:, ::1], int64[::1], float64[::1], int64, int64),
    *(int64[:, ::1], int64[::1], float64[::1]),
)
def walk_small_sets(start, starts, offsets, last, most, binomials, set_starts, log_det):
    """Store the log-determinants of the sets of two or more whose last node is `last`.

    After the last one, store those of the single nodes.
    """
    if last == starts.size - 1:
        _add_one_node(start, starts, last, 0.0, offsets, log_det, np.int64(1))
        return
    width = starts[last + 1]
    blocks = np.empty((most - 1, width, width))
    sums = np.empty(most - 1)
    chosen = np.empty(most - 1, dtype=np.int64)
    following = np.empty(most - 1, dtype=np.int64)
    depth = 0
    node = last
    copy_block(start, blocks[0], width)
    above = 0.0
    while True:
        log_det_of_node = move_last_in_front(blocks[depth], starts[node], starts[node + 1])
        sums[depth] = above + log_det_of_node + offsets[node]
        chosen[depth] = node
        following[depth] = node
        size = depth + 2
        first = set_starts[size]
        for i in range(depth + 1):
            first += binomials[chosen[i], size - i]
        _add_one_node(blocks[depth], starts, node, sums[depth], offsets, log_det, first)
        while depth >= 0 and (depth + 2 == most or following[depth] == 1):
            depth -= 1
        if depth < 0:
            return
        following[depth] -= 1
        node = following[depth]
        copy_block(blocks[depth], blocks[depth + 1], starts[node + 1])
        above = sums[depth]
        depth += 1


@inner_kernel
def _add_one_node(factor, starts, n, log_det_before, offsets, log_det, first):
    for node in range(n):
        begin, end = starts[node], starts[node + 1]
        if end - begin == 1:
            added = math.log(_squared_length(factor, begin, end))
        else:
            added = _log_determinant_of(factor[:end, begin:end].copy())
        log_det[first + node] = log_det_before + added + offsets[node]


@inner_kernel
def _squared_length(columns, j, n_rows):
    square = 0.0
    for row in range(n_rows):
        square += columns[row, j] * columns[row, j]
    return square


@inner_kernel
def _log_determinant_of(columns):
    """Return the log-determinant of columns, taking each in turn out of those after it."""
    log_det = 0.0
    n_rows, n = columns.shape
    for i in range(n):
        square = _squared_length(columns, i, n_rows)
        log_det += math.log(square)
        for j in range(i + 1, n):
            product = 0.0
            for row in range(n_rows):
                product += columns[row, i] * columns[row, j]
            for row in range(n_rows):
                columns[row, j] -= product / square * columns[row, i]
    return log_det
