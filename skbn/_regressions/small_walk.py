"""The walk through all sets of nodes up to a given size, from one triangular factor.

It descends the same tree as the seeds do: starting from the last column, each column either
drops out or is moved to the front by a chain of swaps and projected out. At each node the
columns before the chosen ones are left; their norms are the residuals of all sets that have
one column more. Small sets may be independent even if all columns together are not, as with
few rows; the log-determinants of dependent sets are -inf or noise.

The sets may be sets of nodes, each a block of neighbouring columns. The columns of a node move
together, and those of a node that is added last are made orthogonal one after the other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

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
    "columns_in_small_sets",
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
    widths: Sequence[int] | npt.NDArray[np.int64] | None = None,
) -> npt.NDArray[np.float64]:
    """Return the log-determinants of small sets of nodes.

    Parameters
    ----------
    factor : ndarray of shape (n_columns, n_columns), float64
        Upper triangular, with rows of zeros if there are fewer rows than columns.
    subsets : SmallSubsets
        Sets of m nodes, up to a size of at least one.
    offsets : ndarray of shape (m,), float64
        What each node adds to the log-determinants of all sets that it is in.
    n_jobs : int or None
        Number of threads, by joblib's rules. It does not change a bit of the result.
    progress : Progress or None
        Advanced by ``small_log_determinants_work(subsets)`` in all.
    widths : sequence of m int, optional
        How many columns stand for each node, one node after the other. By default each column is
        a node.

    Returns
    -------
    log_det : ndarray of shape (subsets.n_sets,), float64
        In the order of `subsets`; 0 for the empty set.
    """
    m = subsets.n
    ends = np.cumsum(np.ones(m) if widths is None else widths, dtype=np.int64)
    factor = np.array(factor, order="C")  # the kernels are compiled for arrays that can be written
    log_det = allocate(subsets.n_sets)
    log_det[0] = 0.0
    add_singles(factor, ends, offsets, log_det)
    if subsets.most == 1:
        return log_det
    arguments = [
        (factor, ends, offsets, last, subsets.most, subsets.binomials, subsets.starts, log_det)
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


def columns_in_small_sets(
    subsets: SmallSubsets, widths: Sequence[int] | npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Return how many columns small sets of nodes have, in the order of `subsets`.

    Examples
    --------
    >>> columns_in_small_sets(SmallSubsets(3, 2), [1, 1, 3]).tolist()
    [0, 1, 1, 3, 2, 4, 4]
    """
    of_size = np.zeros(1, dtype=np.int64)
    of_all = [of_size]
    for size in range(1, subsets.most + 1):
        # The sets whose last node is c are the smaller sets of the c nodes before it, each with c.
        of_size = np.concatenate(
            [of_size[: math.comb(c, size - 1)] + width for c, width in enumerate(widths)]
        )
        of_all.append(of_size)
    return np.concatenate(of_all)


@kernel(float64[:, ::1], int64[::1], float64[::1], float64[::1])
def add_singles(factor, ends, offsets, log_det):
    """Store the log-determinants of the single nodes; the columns of each end at ``ends[node]``."""
    scratch = np.empty_like(factor)
    _add_one_node(factor, ends, ends.size, 0.0, offsets, log_det, np.int64(1), scratch)


@kernel(
    *(float64[:, ::1], int64[::1], float64[::1], int64, int64, int64[:, ::1], int64[::1]),
    float64[::1],
)
def walk_small_sets(start, ends, offsets, last, most, binomials, starts, log_det):
    """Store the log-determinants of the sets of two or more whose last node is `last`."""
    n_columns = ends[last]
    blocks = np.empty((most - 1, n_columns, n_columns))
    scratch = np.empty((n_columns, n_columns))
    sums = np.empty(most - 1)
    chosen = np.empty(most - 1, dtype=np.int64)
    following = np.empty(most - 1, dtype=np.int64)
    depth = 0
    node = last
    copy_block(start, blocks[0], n_columns)
    total = 0.0
    while True:
        for size in range(ends[node], ends[node - 1], -1):
            total += move_last_in_front(blocks[depth], size)
        sums[depth] = total + offsets[node]
        chosen[depth] = node
        following[depth] = node
        size = depth + 2
        first = starts[size]
        for i in range(depth + 1):
            first += binomials[chosen[i], size - i]
        _add_one_node(blocks[depth], ends, node, sums[depth], offsets, log_det, first, scratch)
        while depth >= 0 and (depth + 2 == most or following[depth] == 1):
            depth -= 1
        if depth < 0:
            return
        following[depth] -= 1
        node = following[depth]
        copy_block(blocks[depth], blocks[depth + 1], ends[node])
        total = sums[depth]
        depth += 1


@inner_kernel
def _add_one_node(factor, ends, n, log_det_before, offsets, log_det, first, scratch):
    begin = 0
    for node in range(n):
        end = ends[node]
        total = log_det_before
        if end == begin + 1:
            square = 0.0
            for row in range(end):
                square += factor[row, begin] * factor[row, begin]
            total += math.log(square)
        else:
            total = _add_columns(factor, begin, end, total, scratch)
        log_det[first + node] = total + offsets[node]
        begin = end


@inner_kernel
def _add_columns(factor, begin, end, total, scratch):
    """Add the log-determinant of neighbouring columns, by modified Gram-Schmidt."""
    for column in range(begin, end):
        for row in range(end):
            scratch[column, row] = factor[row, column]
    for column in range(begin, end):
        square = 0.0
        for row in range(end):
            square += scratch[column, row] * scratch[column, row]
        total += math.log(square)
        if square == 0.0:  # dependent columns: -inf, whatever the others are
            continue
        for other in range(column + 1, end):
            product = 0.0
            for row in range(end):
                product += scratch[column, row] * scratch[other, row]
            product /= square
            for row in range(end):
                scratch[other, row] -= product * scratch[column, row]
    return total
