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
from typing import NamedTuple, Self

import numpy as np
from numba import float64, int64

from skbn._core.arrays import Floats, Integers
from skbn._core.compile import inner_kernel, kernel, tuple_type
from skbn._core.memory import allocate
from skbn._core.progress import Progress
from skbn._core.subsets import popcount
from skbn._core.threads import Threads
from skbn._core.vectors import load, logarithm, plus, store, times
from skbn._regressions.givens import (
    copy_block,
    move_last_in_front,
    swap_columns_in_lanes,
)
from skbn._regressions.least_squares import triangular_factor
from skbn._regressions.set_function import SET_FUNCTIONS, SetFunctions, SetWeights
from skbn._regressions.swaps import prefixes_of, seed_path

__all__ = [
    "SubsetWalk",
    "log_determinants",
    "log_determinants_work",
    "set_functions",
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
# Neighbouring sets that share one look-up of their weights: half a KiB of each table.
_WIDTH = 64
# Offsets are added to rows of 2**11 subsets, which the first-level cache holds.
_OFFSET_COLUMNS = 11


def log_determinants(
    factor: Floats,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    offsets: Floats | None = None,
) -> Floats:
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
    return _all_subsets(factor, n_jobs, progress, offsets, None).of_family


def set_functions(
    factor: Floats,
    weights: SetWeights,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    offsets: Floats | None = None,
) -> SetFunctions:
    """Return what local scores are differences of, for all subsets of columns.

    They are the same bits as those that follow from `log_determinants`, which has the other
    parameters.
    """
    return _all_subsets(factor, n_jobs, progress, offsets, weights)


def _all_subsets(
    factor: Floats,
    n_jobs: int | None,
    progress: Progress | None,
    offsets: Floats | None,
    weights: SetWeights | None,
) -> SetFunctions:
    m = len(factor)
    if m < _FEWEST_COLUMNS:
        with_others = np.eye(_FEWEST_COLUMNS)
        with_others[:m, :m] = factor
        if offsets is not None:
            offsets = np.pad(offsets, (0, _FEWEST_COLUMNS - m))
        of_more = _all_subsets(with_others, n_jobs, progress, offsets, weights)
        return SetFunctions(*(each[: 1 << m] for each in of_more))
    walk = SubsetWalk(factor, offsets, weights)
    with Threads(n_jobs, m) as threads:
        sets = walk.allocate(1 << m, threads)
        tasks = threads.split(np.arange(walk.n_seeds), (1 << m) // _TASK)
        for _ in threads.map(walk.fill, [(seeds, sets) for seeds in tasks]):
            if progress is not None:
                progress.advance(log_determinants_work(m) / len(tasks))
    return sets


class Walk(NamedTuple):
    """What the kernel of the walk needs to know.

    Parameters
    ----------
    start : ndarray of shape (k, k), float64
        The factor of all columns, with those in front projected out.
    log_det_in_front : float
    n_in_front : int
        How many columns are in front, and their log-determinant.
    n_inner, n_lane : int
        How many inner and lane columns there are.
    swaps, prefixes : ndarray of int64
        The path over the inner columns, see `_path`.
    low_offsets, high_offsets : ndarray, float64
        Sums of offsets over the subsets of the first columns, and of the others; or empty.
    weights : ndarray of shape (n_functions, 2, m + 1, width), float64
        See `SetWeights.spread`; no functions stand for the log-determinants themselves.
    """

    start: Floats
    log_det_in_front: float
    n_in_front: int
    n_inner: int
    n_lane: int
    swaps: Integers
    prefixes: Integers
    low_offsets: Floats
    high_offsets: Floats
    weights: Floats


WALK = tuple_type(
    Walk,
    *(float64[:, ::1], float64, int64, int64, int64, int64[::1], int64[::1]),
    *(float64[::1], float64[::1], float64[:, :, :, ::1]),
)


class SubsetWalk:
    """The walk through all subsets of some columns, a part at a time.

    Parameters
    ----------
    factor : ndarray of shape (m, m), float64
        Upper triangular and not singular; m at least 3.
    offsets : ndarray of shape (m,), float64, optional
        What each column adds to the log-determinants of all sets that it is in.
    weights : SetWeights, optional
        What local scores are differences of; by default the log-determinants are left as they are.

    Attributes
    ----------
    n_columns : int
    n_seeds : int
        How many sets of outer columns there are.
    seed_size : int
        How many subsets the seeds with the same outer columns walk through.
    """

    def __init__(
        self, factor: Floats, offsets: Floats | None = None, weights: SetWeights | None = None
    ) -> None:
        m = len(factor)
        n_lane = min(_LANE_COLUMNS, m - 1)
        n_inner = min(_INNER_COLUMNS, m - n_lane)
        n_seeded = n_lane + n_inner
        columns = np.r_[n_lane:n_seeded, :n_lane, n_seeded:m]
        start = np.ascontiguousarray(triangular_factor(factor[:, columns]))
        low = high = np.empty(0)
        if offsets is not None:
            n_low = min(m, _OFFSET_COLUMNS)
            low, high = sums_over_subsets(offsets[:n_low]), sums_over_subsets(offsets[n_low:])
        self._n_functions = 1 if weights is None else weights.n_functions
        width = min(_WIDTH, 1 << n_lane)
        spread = np.empty((0, 0, 0, 0)) if weights is None else weights.spread(width)
        path = _path(m, n_inner)
        self._walk = Walk(start, 0.0, 0, n_inner, n_lane, *path, low, high, spread)

    @property
    def n_columns(self) -> int:
        return len(self._walk.start)

    @property
    def n_seeds(self) -> int:
        return 1 << self.n_columns - self._walk.n_lane - self._walk.n_inner

    @property
    def seed_size(self) -> int:
        return 1 << self._walk.n_lane + self._walk.n_inner

    def with_columns(self, n: int, others: int) -> Self:
        """Return the walk through the subsets of the first n columns, each joined with others.

        Its numbers are the same bits as in the walk through all columns.

        Parameters
        ----------
        n : int
            At least as many as a seed walks through.
        others : int
            The mask of columns after these; the lowest bit is the first of them.
        """
        part, of_all = copy(self), self._walk
        start, log_det = settle_columns(of_all.start, n, others)
        high = of_all.high_offsets
        if high.size:
            size = (1 << n) // len(of_all.low_offsets)
            high = high[others * size : (others + 1) * size]
        part._walk = of_all._replace(
            start=start,
            log_det_in_front=log_det,
            n_in_front=others.bit_count(),
            high_offsets=high,
        )
        return part

    def allocate(self, size: int, threads: Threads | None = None) -> SetFunctions:
        """Return memory for the numbers of so many sets."""
        of_family = allocate(size, threads)
        return SetFunctions(
            of_family, of_family if self._n_functions == 1 else allocate(size, threads)
        )

    def fill(self, seeds: Integers, sets: SetFunctions) -> None:
        """Set the numbers of some seeds' subsets.

        Parameters
        ----------
        seeds : ndarray of int64
            Each is a mask of outer columns.
        sets : SetFunctions
            They are set for all subsets. Without weights, `of_family` is set to log-determinants.
        """
        walk_seeds(self._walk, seeds, sets)


def sums_over_subsets(values: Floats) -> Floats:
    """Return the sum over each subset, by its mask."""
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums, sums + value])
    return sums


def log_determinants_work(m: int) -> int:
    """Return about how long m columns take, in units of one local score of a search."""
    return 20 << m


@cache
def _path(m: int, n_inner: int) -> tuple[Integers, Integers]:
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


@kernel(WALK, int64[::1], SET_FUNCTIONS, seconds=2.0)
def walk_seeds(walk, outer_sets, sets):
    """Walk all seeds with these outer columns, and weigh what they find while it is in cache."""
    n_inner, n_lane = walk.n_inner, walk.n_lane
    lanes = 1 << n_lane
    outer_factor = np.empty(walk.start.shape)
    lane_factors = np.empty((lanes, n_inner + n_lane, n_inner + n_lane))
    factors = np.empty((n_inner, n_inner, lanes))
    sums = np.empty((n_inner + 1, lanes))
    length = lanes << n_inner
    for outer in outer_sets:
        copy_block(walk.start, outer_factor, walk.start.shape[0])
        in_front = walk.log_det_in_front
        sums[0, 0] = _settle_last_columns(outer_factor, n_inner + n_lane, outer, in_front)
        copy_block(outer_factor, lane_factors[0], n_inner + n_lane)
        _settle_lane_columns(lane_factors, n_inner, n_lane, sums[0])
        _lanes_last(lane_factors, factors)
        first = outer * length
        values = sets.of_family[first : first + length]
        _walk(factors, sums, walk.swaps, walk.prefixes, values)
        if walk.high_offsets.size > 0:
            _add_offsets(walk.low_offsets, walk.high_offsets, first, values)
        if walk.weights.shape[0] > 0:
            size = walk.n_in_front + popcount(outer)
            _weigh(walk.weights, size, values, sets.of_parents[first : first + length])


@inner_kernel
def _add_offsets(low, high, first, values):
    """Add the sums of offsets to the log-determinants of the sets from `first` on."""
    for start in range(0, values.size, low.size):
        of_others = high[(first + start) // low.size]
        for i in range(low.size):
            values[start + i] += low[i] + of_others


@inner_kernel
def _weigh(weights, size, values, of_parents):
    """Turn log-determinants into set functions; the first set has `size` columns.

    If there is one function, the arrays are the same memory.
    """
    n_functions, _, n_sizes, width = weights.shape
    for start in range(0, values.size, width):
        place = (size + popcount(start)) * width
        for i in range(0, width, 4):
            log_det = load(values, start + i)
            for k in range(n_functions - 1, -1, -1):  # the log-determinants are overwritten last
                constants = 2 * k * n_sizes * width + place + i
                product = times(load(weights, constants + n_sizes * width), log_det)
                weighed = plus(load(weights, constants), product)
                if k == 0:
                    store(values, start + i, weighed)
                else:
                    store(of_parents, start + i, weighed)


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
