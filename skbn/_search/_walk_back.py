"""From the best scores back to the network behind them.

No argument of a maximum was stored. At each set of columns, from all of them
down, the sink is a column that attains the best score, and its parents are a
set with which it does. They are searched for anew, which the sets' halving in
size keeps cheap.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from skbn._parallel import Threads
from skbn._search._families import Families
from skbn._subsets import members_of

__all__ = ["walk_back"]


def walk_back(
    best: npt.NDArray[np.float64],
    best_local: npt.NDArray[np.float64],
    families: Families,
    tolerance: float,
    threads: Threads,
) -> list[int]:
    """Return the parents' mask of each column in a best network.

    Parameters
    ----------
    best : ndarray of shape (2**m,), float64
        The score of the best network on each set of columns.
    best_local : ndarray of shape (m,), float64
        Each child's best local score with any parents.
    families : Families
    tolerance : float
        Scores that differ by no more than this are tied. Of tied sinks the last in
        column order is taken; of tied parent sets one of the fewest columns, and of
        these the one that comes first when their columns are compared in order.
    threads : Threads
    """
    m = len(best).bit_length() - 1
    parents = [0] * m
    columns = (1 << m) - 1
    while columns:
        sink, parents[sink] = _last_sink(best, best_local, families, tolerance, threads, columns)
        columns ^= 1 << sink
    return parents


def _last_sink(
    best: npt.NDArray[np.float64],
    best_local: npt.NDArray[np.float64],
    families: Families,
    tolerance: float,
    threads: Threads,
    columns: int,
) -> tuple[int, int]:
    """Return the last column that is a sink of a best network on some columns, and its parents."""
    for sink in reversed(members_of(columns)):
        candidates = columns ^ 1 << sink
        threshold = best[columns] - best[candidates] - tolerance
        if best_local[sink] >= threshold:  # else no parents at all suffice
            parents = families.first_parents(sink, candidates, threshold, threads)
            if parents is not None:
                return sink, parents
    raise RuntimeError(
        f"no column attains the best score of the set {members_of(columns)}; "
        "this is a defect of the search, please report it"
    )
