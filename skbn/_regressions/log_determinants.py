"""The walk through all subsets of the columns, from one triangular factor.

``L[S] = log det(X_S' X_S)``, the sum of ``log r_ii**2`` over the triangular factor
of the columns S, holds every regression: the residual sum of squares of x on P
is ``exp(L[P + x] - L[P])``. A swap makes one set S a prefix, of which L[S] is read
off the diagonal.

The columns fall into three groups, which are the bits of a subset's index from
the lowest: *lane* columns, *inner* columns and *outer* columns. A seed (the
paper's section 6) is a set of lane and outer columns, which stand in front. All
that its walk over the inner columns needs is the factor of the inner columns
with those in front projected out, k x k, so that a rotation acts on k columns
and not on m. The seeds with the same outer columns walk side by side.
"""

from __future__ import annotations

from copy import copy
from functools import cache
from typing import Self

import numpy as np
import numpy.typing as npt
from numba import float64, int64

from skbn._core.compile import inner_kernel, kernel
from skbn._core.memory import allocate
from skbn._core.progress import Progress
from skbn._core.threads import Threads
from skbn._core.vectors import load, logarithm, plus, store
from skbn._regressions.givens import (
    copy_block,
    move_last_in_front,
    swap_columns_in_lanes,
)
from skbn._regressions.swaps import prefixes_of, seed_path
from skbn._regressions.triangular import triangular_factor

__all__ = [
    "SubsetWalk",
    "log_determinants",
    "log_determinants_work",
    "settle_columns",
    "walk_seeds",
]

# 64 lanes keep the SIMD units busy; 8 inner columns make the seeds' start cheap
# beside their walk, while 64 factors of 8 x 8 still fit the first-level cache.
_LANE_COLUMNS = 6
_INNER_COLUMNS = 8
# Two lane columns, for vectors of four lanes, and one inner column.
_FEWEST_COLUMNS = 3
# Subsets in a task: Ctrl-C is handled between tasks, every few tenths of a second.
_TASK = 1 << 25
# Offsets are added to rows of 2**11 subsets, which the first-level cache holds.
_OFFSET_COLUMNS = 11


def log_determinants(
    factor: npt.NDArray[np.float64],
    n_jobs: int | None = None,
    progress: Progress | None = None,
    offsets: npt.NDArray[np.float64] | None = None,
) -> npt.NDArray[np.float64]:
    """Return the log-determinants of all subsets of columns.

    Parameters
    ----------
    factor : ndarray of shape (m, m), float64
        Upper triangular and not singular; m at least 1.
    n_jobs : int or None
        Number of threads, by joblib's rules. It does not change a bit of the result.
    progress : Progress or None
        Advanced by ``log_determinants_work(m)`` in all.
    offsets : ndarray of shape (m,), float64, optional
        What each column adds to the log-determinants of all sets that it is in.

    Returns
    -------
    log_det : ndarray of shape (2**m,), float64
        ``log_det[S]`` is that of the columns whose bits are set in S; 0 for none.
    """
    m = len(factor)
    if m < _FEWEST_COLUMNS:
        with_others = np.eye(_FEWEST_COLUMNS)
        with_others[:m, :m] = factor
        if offsets is not None:
            offsets = np.pad(offsets, (0, _FEWEST_COLUMNS - m))
        return log_determinants(with_others, n_jobs, progress, offsets)[: 1 << m]
    walk = SubsetWalk(factor, offsets)
    with Threads(n_jobs, m) as threads:
        log_det = allocate(1 << m, threads)
        tasks = threads.split(np.arange(walk.n_seeds), len(log_det) // _TASK)
        for _ in threads.map(walk.fill, [(seeds, log_det) for seeds in tasks]):
            if progress is not None:
                progress.advance(log_determinants_work(m) / len(tasks))
    return log_det


class SubsetWalk:
    """The walk through all subsets of some columns, a part at a time.

    Parameters
    ----------
    factor : ndarray of shape (m, m), float64
        Upper triangular and not singular; m at least 3.
    offsets : ndarray of shape (m,), float64, optional
        What each column adds to the log-determinants of all sets that it is in.

    Attributes
    ----------
    n_columns : int
    n_seeds : int
        How many sets of outer columns there are.
    seed_size : int
        How many subsets the seeds with the same outer columns walk through.
    """

    def __init__(
        self, factor: npt.NDArray[np.float64], offsets: npt.NDArray[np.float64] | None = None
    ) -> None:
        m = len(factor)
        self._n_lane = min(_LANE_COLUMNS, m - 1)
        self._n_inner = min(_INNER_COLUMNS, m - self._n_lane)
        n_seeded = self._n_lane + self._n_inner
        columns = np.r_[self._n_lane : n_seeded, : self._n_lane, n_seeded:m]
        self._start = np.ascontiguousarray(triangular_factor(factor[:, columns]))
        self._path = _path(m, self._n_inner)
        self._in_front = 0.0
        self._offsets = None
        if offsets is not None:
            n_low = min(m, _OFFSET_COLUMNS)
            self._offsets = sums_over_subsets(offsets[:n_low]), sums_over_subsets(offsets[n_low:])

    @property
    def n_columns(self) -> int:
        return len(self._start)

    @property
    def n_seeds(self) -> int:
        return 1 << self.n_columns - self._n_lane - self._n_inner

    @property
    def seed_size(self) -> int:
        return 1 << self._n_lane + self._n_inner

    def with_columns(self, n: int, others: int) -> Self:
        """Return the walk through the subsets of the first n columns, each joined with others.

        Its log-determinants are the same bits as in the walk through all columns.

        Parameters
        ----------
        n : int
            At least as many as a seed walks through.
        others : int
            The mask of columns after these; the lowest bit is the first of them.
        """
        walk = copy(self)
        walk._start, walk._in_front = settle_columns(self._start, n, others)
        if self._offsets is not None:
            low, high = self._offsets
            size = (1 << n) // len(low)
            walk._offsets = low, high[others * size : (others + 1) * size]
        return walk

    def fill(self, seeds: npt.NDArray[np.int64], log_det: npt.NDArray[np.float64]) -> None:
        """Set the log-determinants of some seeds' subsets.

        Parameters
        ----------
        seeds : ndarray of int64
            Each is a mask of outer columns.
        log_det : ndarray of shape (2**n_columns,), float64
            Those of all subsets.
        """
        walk_seeds(
            self._start, self._in_front, self._n_inner, self._n_lane, seeds, *self._path, log_det
        )
        if self._offsets is not None:
            low, high = self._offsets
            rows = log_det.reshape(self.n_seeds, -1, len(low))
            of_rows = high.reshape(self.n_seeds, -1, 1)
            for seed in seeds:
                rows[seed] += low + of_rows[seed]


def sums_over_subsets(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the sum over each subset, by its mask."""
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums, sums + value])
    return sums


def log_determinants_work(m: int) -> int:
    """Return about how long m columns take, in units of one local score of a search."""
    return 20 << m


@cache
def _path(m: int, n_inner: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the swaps of a seed over the inner columns, and the set that each makes a prefix.

    They are those of seed 0, the empty set of columns. The path of another seed has its columns
    in front, where they stay; when they are projected out, what is left is this path.
    """
    order, swaps = seed_path(m, n_seeds=1 << (m - n_inner), seed=0)
    return swaps.astype(np.int64), prefixes_of(order, swaps)


@kernel(float64[:, ::1], int64, int64)
def settle_columns(factor, n, chosen):
    """Return the factor of the first n columns with some later ones projected out.

    Parameters
    ----------
    factor : ndarray of shape (m, m), float64
    n : int
    chosen : int
        The mask of these later columns; the lowest bit is column n.

    Returns
    -------
    factor : ndarray of shape (n, n), float64
    log_det : float
        The log-determinant of the chosen columns.
    """
    settled = factor.copy()
    log_det = _settle_last_columns(settled, n, chosen, 0.0)
    return settled[:n, :n].copy(), log_det


@kernel(
    float64[:, ::1],
    float64,
    int64,
    int64,
    int64[::1],
    int64[::1],
    int64[::1],
    float64[::1],
    seconds=1.7,
)
def walk_seeds(start, in_front, n_inner, n_lane, outer_sets, swaps, prefixes, log_det):
    """Walk all seeds with these outer columns.

    `in_front` is the log-determinant of columns that are projected out of `start`.
    """
    lanes = 1 << n_lane
    outer_factor = np.empty(start.shape)
    lane_factors = np.empty((lanes, n_inner + n_lane, n_inner + n_lane))
    factors = np.empty((n_inner, n_inner, lanes))
    sums = np.empty((n_inner + 1, lanes))
    for outer in outer_sets:
        copy_block(start, outer_factor, start.shape[0])
        sums[0, 0] = _settle_last_columns(outer_factor, n_inner + n_lane, outer, in_front)
        copy_block(outer_factor, lane_factors[0], n_inner + n_lane)
        _settle_lane_columns(lane_factors, n_inner, n_lane, sums[0])
        _lanes_last(lane_factors, factors)
        length = lanes << n_inner
        _walk(factors, sums, swaps, prefixes, log_det[outer * length : (outer + 1) * length])


@inner_kernel
def _settle_lane_columns(factors, n_inner, n_lane, log_det):
    """From lane 0, derive the factor and the log-determinant that each lane starts with."""
    for lane_column in range(n_lane - 1, -1, -1):
        size = n_inner + lane_column + 1
        chosen = 1 << lane_column
        for lane in range(0, 1 << n_lane, 2 * chosen):
            copy_block(factors[lane], factors[lane + chosen], size)
            log_square = move_last_in_front(factors[lane + chosen], size)
            log_det[lane + chosen] = log_det[lane] + log_square


@inner_kernel
def _lanes_last(source, target):
    n, _, lanes = target.shape
    for row in range(n):
        for column in range(n):
            for lane in range(lanes):
                target[row, column, lane] = source[lane, row, column]


@inner_kernel
def _settle_last_columns(factor, n, chosen, log_det):
    """Drop the columns from n on, the chosen ones to the front; add their log-determinant."""
    for size in range(factor.shape[0], n, -1):
        if chosen >> (size - 1 - n) & 1:
            log_det += move_last_in_front(factor, size)
    return log_det


@inner_kernel
def _walk(factors, sums, swaps, prefixes, log_det):
    """Follow the path; store what each new prefix's log-determinant is in each lane.

    ``sums[p, lane]`` is the log-determinant of the first p columns and those in front.
    """
    n, _, lanes = factors.shape
    order = np.empty(n, dtype=np.int64)
    cos = np.empty(lanes)
    sin = np.empty(lanes)
    squared = np.empty(lanes)
    for lane in range(lanes):
        log_det[lane] = sums[0, lane]
    for i in range(n):
        order[i] = i
        for lane in range(lanes):
            squared[lane] = factors[i, i, lane] * factors[i, i, lane]
        _store_prefix(sums, i, squared, log_det, (2 << i) - 1)
    for step in range(swaps.size):
        swap_columns_in_lanes(factors, order, swaps[step], cos, sin, squared)
        _store_prefix(sums, swaps[step], squared, log_det, prefixes[step])


@inner_kernel
def _store_prefix(sums, i, squared, log_det, prefix):
    """Extend the first i columns by one."""
    lanes = squared.size
    for lane in range(0, lanes, 4):
        shorter = load(sums, i * lanes + lane)
        longer = plus(shorter, logarithm(load(squared, lane)))
        store(sums, (i + 1) * lanes + lane, longer)
        store(log_det, prefix * lanes + lane, longer)
