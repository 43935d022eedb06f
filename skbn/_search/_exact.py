"""The search as a whole: fill the tables, extend the best networks, walk back."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from skbn._parallel import Threads
from skbn._search._best_sinks import extend_blocks
from skbn._search._family_maxima import fill_family_maxima
from skbn._search._plan import SearchPlan
from skbn._search._walk_back import walk_back
from skbn._subsets import submasks_by_size

__all__ = ["SearchResult", "best_network_scores", "exact_search"]

# Rounding of one local score, in units of the largest term that enters it.
_ROUNDING = 64 * np.finfo(np.float64).eps


class SearchResult(NamedTuple):
    """The optimum: the mask of each column's parents, and the network's score."""

    parents: list[int]
    score: float


def exact_search(
    log_det: npt.NDArray[np.float64],
    tables: npt.NDArray[np.float64],
    plan: SearchPlan,
    n_jobs: int | None = None,
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

    Returns
    -------
    result : SearchResult
        Of several networks whose scores are equal up to rounding, the one that
        `walk_back` describes.
    """
    spread = _spread(tables, plan.width)
    best = best_network_scores(log_det, spread, plan, n_jobs)
    m = plan.n_columns
    largest_log_det = max(log_det.max(), -log_det.min())  # without a copy of all of them
    largest_term = np.abs(tables[0]).max() + np.abs(tables[1:]).max() * largest_log_det
    parents = walk_back(best, log_det, spread, _ROUNDING * m * largest_term)
    return SearchResult(parents, float(best[-1]))


def best_network_scores(
    log_det: npt.NDArray[np.float64],
    spread: npt.NDArray[np.float64],
    plan: SearchPlan,
    n_jobs: int | None,
) -> npt.NDArray[np.float64]:
    """Return the score of the best network on each set of columns, shape (2**m,)."""
    m, n_inner = plan.n_columns, plan.n_inner
    best = np.full(1 << m, -np.inf)
    best[0] = 0.0
    slab = np.empty(plan.slab_size)
    starts = np.zeros(m + 1, dtype=np.int64)
    starts[1:] = np.cumsum([plan.table_size(child) for child in range(m)])
    blocks_by_size = submasks_by_size(n_inner - plan.block_bits)

    with Threads(n_jobs, m) as threads:
        for fixed in range(1 << plan.n_outer):
            in_every_set = fixed << n_inner
            threads.run(
                _fill_table,
                [
                    (log_det, spread, plan, fixed, child, slab[starts[child] : starts[child + 1]])
                    for child in range(m)
                    if not in_every_set >> child & 1
                ],
            )
            for blocks in blocks_by_size:
                threads.run(
                    extend_blocks,
                    [
                        (best, slab, starts, m, n_inner, fixed, plan.block_bits, part)
                        for part in threads.split(blocks)
                    ],
                )
    return best


def _fill_table(
    log_det: npt.NDArray[np.float64],
    spread: npt.NDArray[np.float64],
    plan: SearchPlan,
    fixed: int,
    child: int,
    table: npt.NDArray[np.float64],
) -> None:
    row_bits = plan.row_bits(child)
    tile = np.empty((table.size >> row_bits) * plan.width)
    fill_family_maxima(log_det, spread, child, plan.n_inner, fixed, row_bits, tile, table)


def _spread(tables: npt.NDArray[np.float64], width: int) -> npt.NDArray[np.float64]:
    """Spread tables over neighbouring parent sets: entry i is for l + popcount(i) parents."""
    m = tables.shape[1]
    n_parents = np.arange(m)[:, np.newaxis] + np.bitwise_count(np.arange(width))
    return np.ascontiguousarray(tables[:, np.minimum(n_parents, m - 1)])
