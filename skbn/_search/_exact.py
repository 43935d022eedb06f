"""The search as a whole: fill the tables, extend the best networks, walk back."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from skbn._memory import allocate
from skbn._parallel import Threads
from skbn._progress import Progress
from skbn._search._plan import SearchPlan
from skbn._search._slab import Slab
from skbn._search._walk_back import walk_back

__all__ = ["SearchResult", "best_scores", "exact_search", "spread_tables"]

# Rounding of one local score, in units of the largest term that enters it.
_ROUNDING = 64 * np.finfo(np.float64).eps
# So many numbers are gone over in some tenths of a second: a user's interruption waits for it.
_PIECE = 1 << 24


class SearchResult(NamedTuple):
    """The optimum: the mask of each column's parents, and the network's score."""

    parents: list[int]
    score: float


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
        best, best_local = best_scores(log_det, spread, plan, threads, progress or Progress())
        pieces = [(log_det[i : i + _PIECE],) for i in range(0, len(log_det), _PIECE)]
        largest_log_det = max(threads.map(_largest_magnitude, pieces))
        largest_term = np.abs(tables[0]).max() + np.abs(tables[1:]).max() * largest_log_det
        tolerance = _ROUNDING * plan.n_columns * largest_term
        parents = walk_back(best, best_local, log_det, spread, tolerance, threads)
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
    best_local : ndarray of shape (m,), float64
        Each child's best local score with any parents.
    """
    best = allocate(1 << plan.n_columns)
    pieces = [(best[i : i + _PIECE], -np.inf) for i in range(0, len(best), _PIECE)]
    list(threads.map(np.copyto, pieces))
    best[0] = 0.0
    slab = Slab(log_det, tables, plan, threads, progress)
    for fixed in range(1 << plan.n_outer):
        slab.fill(fixed)
        slab.transform(fixed)
        slab.extend(best, fixed)
    return best, slab.best_local


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
