"""From the best scores back to the network behind them.

No argument of a maximum was stored. At each set of columns, from all of them
down, the sink is a column that attains the best score, and its parents are a
set that attains the child's best local score. A column's best local score is
computed anew where it is asked for, which the sets' halving in size keeps cheap.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from skbn._compile import kernel
from skbn._search._family_maxima import max_local_score_row
from skbn._subsets import bit_length, members_of, popcount, remove_bit

__all__ = ["walk_back"]


def walk_back(
    best: npt.NDArray[np.float64],
    log_det: npt.NDArray[np.float64],
    tables: npt.NDArray[np.float64],
    tolerance: float,
) -> list[int]:
    """Return the parents' mask of each column in a best network.

    Parameters
    ----------
    best : ndarray of shape (2**m,), float64
        The score of the best network on each set of columns.
    log_det : ndarray of shape (2**m,), float64
    tables : ndarray of shape (3, m, width), float64
    tolerance : float
        Scores that differ by no more than this are tied. Of tied sinks the last in
        column order is taken; of tied parent sets one of the fewest columns, and of
        these the one that comes first when their columns are compared in order.
    """
    m = tables.shape[1]
    parents = [0] * m
    columns = (1 << m) - 1
    while columns:
        for sink in reversed(members_of(columns)):
            candidates = columns ^ 1 << sink
            local = best_local_score(log_det, tables, sink, candidates)
            if best[candidates] + local >= best[columns] - tolerance:
                break
        else:
            raise RuntimeError(
                f"no column attains the best score of the set {members_of(columns)}; "
                "this is a defect of the search, please report it"
            )
        parents[sink] = int(
            first_best_parents(log_det, tables, sink, candidates, local - tolerance)
        )
        columns = candidates
    return parents


@kernel
def best_local_score(log_det, tables, child, candidates):
    """Return the largest local score of a child over the subsets of its candidates.

    One row spans all subsets of the lowest columns, and the candidates above these
    are the row's fixed columns.
    """
    width = tables.shape[2]
    row_bits = bit_length(width - 1)
    if child < row_bits + 1:
        row_bits += 1  # the row leaves out the child
    row = np.empty(width)
    max_local_score_row(log_det, tables, child, row_bits, candidates >> row_bits, 0, row)
    inner = remove_bit(candidates & ((1 << row_bits) - 1), child)
    best = -math.inf
    for i in range(width):
        if i & ~inner == 0:
            best = max(best, row[i])
    return best


@kernel
def first_best_parents(log_det, tables, child, candidates, threshold):
    """Return the first parent set whose local score reaches a threshold.

    Fewer parents come first, then the order of the sorted columns.
    """
    chosen = -1
    chosen_size = tables.shape[1]
    subset = candidates
    while True:
        size = popcount(subset)
        if size <= chosen_size:
            score = (
                tables[0, size, 0]
                + tables[1, size, 0] * log_det[subset]
                + tables[2, size, 0] * log_det[subset | 1 << child]
            )
            if score >= threshold:
                difference = subset ^ chosen
                if size < chosen_size or subset & difference & -difference:
                    chosen = subset
                    chosen_size = size
        if subset == 0:
            return chosen
        subset = (subset - 1) & candidates
