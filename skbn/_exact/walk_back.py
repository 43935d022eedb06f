"""From the best scores back to the network behind them.

No argument of a maximum was stored. At each set of columns, from all of them
down, the sink is a column that attains the best score, and its parents are a
set with which it does. They are searched for anew, which the sets' halving in
size keeps cheap.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from skbn._core.defect import defect
from skbn._core.subsets import members_of
from skbn._core.threads import Threads
from skbn._exact.family_source import FamilySource

__all__ = ["walk_back"]


# Of a sum and of a difference of scores, in units of the scores.
_ROUNDING = 4 * np.finfo(np.float64).eps


def walk_back(
    best: npt.NDArray[np.float64],
    best_local: npt.NDArray[np.float64],
    families: FamilySource,
    n_roots: int,
    threads: Threads,
    tolerance: float,
) -> list[int]:
    """Return the parents' mask of each column in a best network.

    Parameters
    ----------
    best : ndarray of shape (2**m,), float64
        The score of the best network on each set of columns.
    best_local : ndarray of shape (m,), float64
        Each child's best local score with any parents.
    families : FamilySource
    n_roots : int
        How many of the last columns have no parents. They are sinks after all others, so
        that they may be parents of these.
    threads : Threads
    tolerance : float
        Scores that differ by no more than this, or than their sums are rounded, are tied.
        Of tied sinks the last in column order is taken; of tied parent sets one of the
        fewest columns, and of these the one that comes first when their columns are
        compared in order.
    """
    m = len(best).bit_length() - 1
    parents = [0] * m
    columns = (1 << m) - 1
    not_roots = columns >> n_roots
    while columns:
        sink, parents[sink] = _last_sink(
            best, best_local, families, threads, tolerance, columns, columns & not_roots or columns
        )
        columns ^= 1 << sink
    return parents


def _last_sink(
    best: npt.NDArray[np.float64],
    best_local: npt.NDArray[np.float64],
    families: FamilySource,
    threads: Threads,
    tolerance: float,
    columns: int,
    sinks: int,
) -> tuple[int, int]:
    """Return the last of some sinks of a best network on some columns, and its parents."""
    for sink in reversed(members_of(sinks)):
        candidates = columns ^ 1 << sink
        if best[candidates] == -np.inf:
            continue
        rounding = _ROUNDING * (abs(best[columns]) + abs(best[candidates]))
        threshold = best[columns] - best[candidates] - rounding - tolerance
        if best_local[sink] >= threshold:  # else no parents at all suffice
            parents = families.first_parents(sink, candidates, threshold, threads)
            if parents is not None:
                return sink, parents
    raise defect(f"no column attains the best score of the set {members_of(columns)}")
