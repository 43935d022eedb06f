"""The search as a whole: fill the tables, extend the best networks, walk back."""

from __future__ import annotations

import math
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from skbn._memory import allocate
from skbn._parallel import Threads
from skbn._progress import Progress
from skbn._search._best_sinks import extend_blocks
from skbn._search._family_maxima import fill_blocks
from skbn._search._plan import SearchPlan
from skbn._search._walk_back import walk_back
from skbn._search._zeta import max_zeta
from skbn._subsets import submasks_by_size

__all__ = ["SearchResult", "best_scores", "exact_search"]

# Rounding of one local score, in units of the largest term that enters it.
_ROUNDING = 64 * np.finfo(np.float64).eps


class SearchResult(NamedTuple):
    """The optimum: the mask of each column's parents, and the network's score."""

    parents: list[int]
    score: float


# A task of so many local scores, or of so many numbers to go over, takes some tenths
# of a second: a user's interruption waits for it.
_TASK = 1 << 28
_PIECE = 1 << 24


def exact_search(
    log_det: npt.NDArray[np.float64],
    tables: npt.NDArray[np.float64],
    plan: SearchPlan,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> SearchResult:
    """Return a network of the highest score.

    Parameters
    ----------
    log_det : ndarray of shape (2**m,), float64
        The log-determinants of all subsets of the m columns.
    tables : ndarray of shape (3, m), float64
        ``tables[:, l] = c, a0, a1`` define the local score of a child x with l
        parents P as ``c + a0 * log_det[P] + a1 * log_det[P + x]``.
    plan : SearchPlan
    n_jobs : int or None
        Number of threads, by joblib's rules. It does not change a bit of the result.
    progress : Progress or None
        Advanced by ``plan.work`` in all.

    Returns
    -------
    result : SearchResult
        Of several networks whose scores are equal up to rounding, the one that
        `walk_back` describes.
    """
    spread = spread_tables(tables, plan.width)
    with Threads(n_jobs, plan.n_columns) as threads:
        best, local = best_scores(log_det, spread, plan, threads, progress or Progress())
        pieces = [(log_det[i : i + _PIECE],) for i in range(0, len(log_det), _PIECE)]
        largest_log_det = max(threads.map(_largest_magnitude, pieces))
        largest_term = np.abs(tables[0]).max() + np.abs(tables[1:]).max() * largest_log_det
        tolerance = _ROUNDING * plan.n_columns * largest_term
        parents = walk_back(best, local, log_det, spread, tolerance, threads)
    return SearchResult(parents, float(best[-1]))


def best_scores(
    log_det: npt.NDArray[np.float64],
    tables: npt.NDArray[np.float64],
    plan: SearchPlan,
    threads: Threads,
    progress: Progress,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the score of the best network on each set of columns, and each child's best score.

    Returns
    -------
    best : ndarray of shape (2**m,), float64
    local : ndarray of shape (m,), float64
        Each child's best local score with any parents.
    """
    m, n_inner, block_bits = plan.n_columns, plan.n_inner, plan.block_bits
    best = allocate(1 << m)
    pieces = [(best[i : i + _PIECE], -np.inf) for i in range(0, len(best), _PIECE)]
    list(threads.map(np.copyto, pieces))
    best[0] = 0.0
    slab = allocate(plan.slab_size)
    scratch: SimpleQueue[npt.NDArray[np.float64]] = SimpleQueue()
    for _ in range(threads.n_threads):
        shape = (2, 1 << plan.n_outer, 1 << block_bits)
        scratch.put(allocate(math.prod(shape)).reshape(shape))
    starts = np.zeros(m + 1, dtype=np.int64)
    starts[1:] = np.cumsum([plan.table_size(child) for child in range(m)])
    local = np.empty(m)
    blocks = np.arange(1 << (n_inner - block_bits))
    blocks_by_size = submasks_by_size(n_inner - block_bits)

    for fixed in range(1 << plan.n_outer):
        to_fill, to_transform, to_use = plan.slab_work(fixed)
        parts = threads.split(blocks, to_fill // _TASK)
        for _ in threads.map(
            _fill_blocks,
            [(scratch, log_det, tables, n_inner, fixed, part, slab, starts) for part in parts],
        ):
            progress.advance(to_fill / len(parts))

        children = np.array([x for x in range(m) if not fixed << n_inner >> x & 1])
        parts = threads.split(children, to_transform // _TASK)
        for _ in threads.map(_transform_tables, [(slab, starts, plan, part) for part in parts]):
            progress.advance(to_transform / len(parts))
        # The last slab that has a child's table has all other columns among the parents.
        local[children] = slab[starts[1:][children] - 1]
        for group in blocks_by_size:
            parts = threads.split(group, to_use // _TASK)
            for _ in threads.map(
                extend_blocks,
                [(best, slab, starts, n_inner, fixed, block_bits, part) for part in parts],
            ):
                progress.advance(to_use * len(group) / len(blocks) / len(parts))
    return best, local


def _fill_blocks(scratch: SimpleQueue[npt.NDArray[np.float64]], *arguments: Any) -> None:
    """Fill blocks with one of the scratch arrays, which are touched for the first time once."""
    array = scratch.get()
    try:
        fill_blocks(*arguments, array)
    finally:
        scratch.put(array)


def _transform_tables(
    slab: npt.NDArray[np.float64],
    starts: npt.NDArray[np.int64],
    plan: SearchPlan,
    children: npt.NDArray[np.int64],
) -> None:
    """Transform the tables of some children over the bits above those of a block."""
    for x in children:
        table = slab[starts[x] : starts[x + 1]]
        max_zeta(table, plan.row_bits(x), plan.table_size(x).bit_length() - 1)


def _largest_magnitude(values: npt.NDArray[np.float64]) -> float:
    return max(values.max(), -values.min())  # without a copy of them


def spread_tables(tables: npt.NDArray[np.float64], width: int) -> npt.NDArray[np.float64]:
    """Spread a criterion's tables over `width` neighbouring sets.

    Parameters
    ----------
    tables : ndarray of shape (3, m), float64
        c, a0 and a1 by the number of parents.
    width : int

    Returns
    -------
    spread : ndarray of shape (3, m + 1, width), float64
        ``c[l], a0[l]`` for the parent sets of ``l = s + popcount(i)`` columns and
        ``a1[l - 1]`` for the families of l columns, at ``[:, s, i]``.
    """
    m = tables.shape[1]
    size = np.arange(m + 1)[:, np.newaxis] + np.bitwise_count(np.arange(width))
    parents = np.minimum(size, m - 1)
    return np.stack([*tables[:2, parents], tables[2, np.clip(size - 1, 0, m - 1)]])
