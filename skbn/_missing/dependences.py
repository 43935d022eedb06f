"""Columns with holes of which some are combinations of others wherever they are observed."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from skbn._core.arrays import Floats, Integers
from skbn._data.degenerate_columns import collinear_error, equation
from skbn._missing.em import PRIOR_ROWS, saturated
from skbn._missing.incomplete_rows import incomplete_rows
from skbn._regressions.least_squares import Dependence

# A column whose residual is a smaller share of its spread is a combination of others. EM meets one
# that is less exact if a network has such a family.
_EXACT, _DETERMINED = 1e-6, 3e-5
# Where columns are combinations, the saturated model leaves no more than its prior's scatter, times
# the squared weights, and what EM is short of.
_SUSPECT = 10
_FEWEST_TOGETHER = 4
# Squares of larger numbers may overflow; EM says so of columns in such units.
_LARGEST = 1e100
_COARSE = 1e-2


def require_independent(
    rows: Floats,
    names: Sequence[str | int],
    *,
    labels: Sequence[Any],
    node_of: Integers,
    largest_family: int,
    weight: Floats | None = None,
    scatter: Floats | None = None,
    is_unbounded: bool = False,
) -> None:
    """Raise if columns are combinations of others, naming all of them.

    Parameters
    ----------
    rows : ndarray of shape (n, m), float64
        NaN where a value is missing. Columns that do not vary are left out.
    names : sequence of m str or int
    labels : sequence
        Which of the user's columns each column is made of.
    node_of : ndarray of shape (m,), int
        The number of each column's node.
    largest_family : int
        How many nodes take part in a regression.
    weight : ndarray of shape (n,), float64, optional
    scatter : ndarray of shape (m, m), optional
        That of the saturated model, if all columns vary.
    is_unbounded : bool
        Whether EM has met a family with too small a residual.
    """
    size = np.nanmax(np.abs(rows), axis=0)
    rows = np.where((size > 1 / _LARGEST) & (size < _LARGEST), rows, 0.0)
    kept = np.flatnonzero(np.nanmin(rows, axis=0) < np.nanmax(rows, axis=0)).tolist()
    if len(kept) < 2:
        return
    if scatter is None or len(kept) < len(size):
        (of_kept,) = saturated(incomplete_rows(rows[:, kept], weight), _COARSE).scatter
        scatter = np.zeros((rows.shape[1],) * 2)
        scatter[np.ix_(kept, kept)] = of_kept
    deviations = rows - np.nanmean(rows, axis=0)
    scale = np.nanstd(rows, axis=0)
    deviations[:, kept] /= scale[kept]
    combinations = []
    for last in (True, False):  # columns that others before them make up, if they do
        precision = np.zeros_like(scatter)
        precision[np.ix_(kept, kept)] = np.linalg.inv(scatter[np.ix_(kept, kept)])
        is_suspect = np.diag(precision) <= _SUSPECT * PRIOR_ROWS * (precision**2).sum(axis=1)
        for j in [j for j in kept if is_suspect[j]]:
            others = [i for i in kept if i < j or (i > j and not last)]
            own = _combination(deviations, j, others)
            if own is None:
                continue
            n_nodes = len({*node_of[[j, *own.others]]})
            if n_nodes <= largest_family:
                kept.remove(j)
                combinations += [own] if n_nodes > 1 or is_unbounded else []
    if min((each.residual for each in combinations), default=1.0) <= (
        _DETERMINED if is_unbounded else _EXACT
    ):
        raise collinear_error(
            [names[each.column] for each in combinations],
            [labels[each.column] for each in combinations],
            [
                equation(
                    names[each.column],
                    [names[i] for i in each.others],
                    each.weights * (scale[each.column] / scale[each.others]),
                )
                for each in combinations
            ],
            "In the rows in which they are observed together, the likelihood is unbounded. Leave "
            "out {}, or give rows in which they differ.",
        )


def _combination(rows: Floats, column: int, others: list[int]) -> Dependence | None:
    """Return a column as a combination of some others, if it is one.

    They are found one by one: the next is the one that explains most of what is left.
    """
    of_all = _regressed(rows, column, others)
    if of_all is not None and of_all[1] > _DETERMINED:
        return None
    chosen: list[int] = []
    while (own := _regressed(rows, column, chosen)) is not None:
        weights, residual, seen, left = own
        if residual <= _DETERMINED:
            counts = np.abs(weights) > _EXACT
            return Dependence(column, np.array(chosen)[counts].tolist(), weights[counts], residual)
        more = [i for i in others if i not in chosen]
        if not more:
            return None
        values = np.nan_to_num(rows[seen][:, more])
        norms = np.linalg.norm(values, axis=0)
        chosen.append(more[int(np.argmax(np.abs(left @ values) / np.where(norms > 0, norms, 1)))])
    return None


def _regressed(
    rows: Floats, column: int, others: list[int]
) -> tuple[Floats, float, Integers, Floats] | None:
    """Return a column's weights on others, the share that is left, the rows and what is left there.

    Return None if too few rows have all of these columns.
    """
    values = rows[:, [*others, column]]
    seen = np.flatnonzero(~np.isnan(values).any(axis=1))
    if len(seen) < max(_FEWEST_TOGETHER, len(others) + 2):
        return None
    values = values[seen] - values[seen].mean(axis=0)
    norm = np.linalg.norm(values[:, -1])
    weights = np.linalg.lstsq(values[:, :-1], values[:, -1], rcond=None)[0]
    left = values[:, -1] - values[:, :-1] @ weights
    return weights, float(np.linalg.norm(left) / norm) if norm else 1.0, seen, left
