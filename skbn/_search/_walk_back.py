"""From the best scores back to the network behind them.

No argument of a maximum was stored. At each set of columns, from all of them
down, the sink is a column that attains the best score, and its parents are a
set with which it does. They are searched for anew, which the sets' halving in
size keeps cheap.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from skbn._compile import kernel
from skbn._parallel import Threads
from skbn._search._family_maxima import (
    raise_to_families,
    raise_to_pairs,
    weigh_families,
    weigh_parent_sets,
)
from skbn._subsets import insert_zero_bit, mask_of, members_of, popcount, subsets_of

__all__ = ["walk_back"]

# The subsets of so many candidates are shared by threads, or a user's interruption
# would have to wait for them: a task for each subset of the last few, which are later
# than the columns in which neighbouring sets differ.
_FEWEST_TO_SHARE = 19
_SHARED_COLUMNS = 3


def walk_back(
    best: npt.NDArray[np.float64],
    best_local: npt.NDArray[np.float64],
    log_det: npt.NDArray[np.float64],
    tables: npt.NDArray[np.float64],
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
    log_det : ndarray of shape (2**m,), float64
    tables : ndarray of shape (3, m + 1, width), float64
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
        sink, parents[sink] = _last_sink(
            best, best_local, log_det, tables, tolerance, threads, columns
        )
        columns ^= 1 << sink
    return parents


def _last_sink(
    best: npt.NDArray[np.float64],
    best_local: npt.NDArray[np.float64],
    log_det: npt.NDArray[np.float64],
    tables: npt.NDArray[np.float64],
    tolerance: float,
    threads: Threads,
    columns: int,
) -> tuple[int, int]:
    """Return the last column that is a sink of a best network on some columns, and its parents."""
    for sink in reversed(members_of(columns)):
        candidates = columns ^ 1 << sink
        threshold = best[columns] - best[candidates] - tolerance
        if best_local[sink] >= threshold:  # else no parents at all suffice
            parents = _first_parents(log_det, tables, threads, sink, candidates, threshold)
            if parents >= 0:
                return sink, parents
    raise RuntimeError(
        f"no column attains the best score of the set {members_of(columns)}; "
        "this is a defect of the search, please report it"
    )


def _first_parents(
    log_det: npt.NDArray[np.float64],
    tables: npt.NDArray[np.float64],
    threads: Threads,
    child: int,
    candidates: int,
    threshold: float,
) -> int:
    """Return what `first_parents_that_reach` does, the search shared by threads."""
    shared = 0
    if candidates.bit_count() >= _FEWEST_TO_SHARE:
        shared = mask_of(members_of(candidates)[-_SHARED_COLUMNS:])
    arguments = [
        (log_det, tables, child, candidates ^ shared, fixed, threshold)
        for fixed in subsets_of(shared)
    ]
    found = [int(mask) for mask in threads.map(first_parents_that_reach, arguments) if mask >= 0]
    return min(found, key=lambda mask: (mask.bit_count(), members_of(mask)), default=-1)


@kernel
def first_parents_that_reach(log_det, tables, child, candidates, fixed, threshold):
    """Return the first parent set whose local score reaches a threshold, or -1.

    The parents are `fixed` and any of the `candidates`. What is fixed is later than the
    candidates, and than the columns in which `width` neighbouring sets differ. Fewer
    parents come first, then the order of the sorted columns.
    """
    width = tables.shape[2]
    in_row = child if 1 << child < width else -1
    parent_sets = np.empty(width)
    families = np.empty(width)
    scores = np.empty(width // 2 if in_row >= 0 else width)
    chosen = -1
    chosen_size = tables.shape[1]
    high = candidates & -width
    above = 0
    while True:
        base = fixed | above
        for i in range(scores.size):
            scores[i] = -math.inf
        weigh_parent_sets(log_det, tables, base, parent_sets)
        if in_row >= 0:
            weigh_families(log_det, tables, base, families)
            raise_to_pairs(scores, parent_sets, families, in_row)
        else:
            raise_to_families(scores, parent_sets, log_det, tables, base | 1 << child)
        n_reached = 0
        for i in range(scores.size):
            n_reached += scores[i] >= threshold
        if n_reached:
            for i in range(scores.size):
                parents = base | (i if in_row < 0 else insert_zero_bit(i, in_row))
                if scores[i] >= threshold and parents & ~(fixed | candidates) == 0:
                    size = popcount(parents)
                    difference = parents ^ chosen
                    is_first = chosen < 0 or size < chosen_size
                    if is_first or (size == chosen_size and parents & difference & -difference):
                        chosen = parents
                        chosen_size = size
        above = (above - high) & high  # the next larger subset, in the order of memory
        if above == 0:
            return chosen
