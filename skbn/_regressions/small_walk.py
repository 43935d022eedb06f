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
from skbn._core.compile import inner_kernel, kernel, pasted_kernel
from skbn._core.resources import Progress, Threads, allocate
from skbn._core.subsets import SmallSubsets
from skbn._regressions.givens import move_last_in_front

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
    seconds=1.0,
)
def walk_small_sets(factor, starts, offsets, last, most, binomials, set_starts, log_det):
    """Store the log-determinants of the sets of two or more whose last node is `last`.

    If `last` is the number of nodes, store those of the single nodes instead.
    """
    m = starts.size - 1
    width = starts[min(last + 1, m)]
    blocks = np.empty((most, width, width))
    sums = np.empty(most)
    nodes = np.empty(most, dtype=np.int64)  # those chosen, and one before them to be chosen next
    nodes[0] = node = last
    size, above, source = 0, 0.0, factor
    if last == m:
        _add_one_node(factor, starts, m, 0.0, offsets, log_det, np.int64(1), blocks[0])
        return
    while True:
        block = blocks[size]
        above += move_last_in_front(source, block, starts[node], starts[node + 1])
        above += offsets[node]
        sums[size] = above
        size += 1
        nodes[size] = node
        first = set_starts[size + 1]
        for i in range(size):
            first += binomials[nodes[i], size + 1 - i]
        _add_one_node(block, starts, node, above, offsets, log_det, first, blocks[most - 1])
        while size > 0 and (size + 1 == most or nodes[size] == 1):
            size -= 1
        if size == 0:
            return
        nodes[size] -= 1
        node, above, source = nodes[size], sums[size - 1], blocks[size - 1]


@inner_kernel
def _add_one_node(factor, starts, n, log_det_before, offsets, log_det, first, scratch):
    """Store the log-determinants of sets with each of the first n nodes beside those in front."""
    for node in range(n):
        begin, end = starts[node], starts[node + 1]
        if end - begin == 1:
            added = math.log(_squared_length(factor, begin, end))
        else:
            added = _log_determinant_of(factor, begin, end, scratch)
        log_det[first + node] = log_det_before + added + offsets[node]


@inner_kernel
def _squared_length(columns, j, n_rows):
    square = 0.0
    for row in range(n_rows):
        square += columns[row, j] * columns[row, j]
    return square


@pasted_kernel
def _log_determinant_of(factor, begin, end, columns):
    """Return the log-determinant of columns, taking each in turn out of those after it."""
    for row in range(end):
        for i in range(begin, end):
            columns[row, i] = factor[row, i]
    log_det = 0.0
    for i in range(begin, end):
        square = _squared_length(columns, i, end)
        log_det += math.log(square)
        for j in range(i + 1, end):
            product = 0.0
            for row in range(end):
                product += columns[row, i] * columns[row, j]
            for row in range(end):
                columns[row, j] -= product / square * columns[row, i]
    return log_det
