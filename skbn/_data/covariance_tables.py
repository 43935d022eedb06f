"""Matrices of correlations or covariances that are passed in place of a table's rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from skbn._core.arrays import Floats
from skbn._core.text import first_few

_ROUNDING = 1e-6
# Smaller tables of whole numbers may be symmetric by chance.
_FEWEST_WHOLE = 5


def reject_covariance(columns: Sequence[Any], labels: list[Any], rows: Any, *, named: bool) -> None:
    """Raise if a table is a covariance matrix of its columns, by its labels or by its numbers.

    Parameters
    ----------
    columns : sequence of m columns
    labels : list of m hashables
    rows : pandas.Index or None
        The labels of the rows; else the first column may have them.
    named : bool
        Whether the labels are strings.

    Raises
    ------
    ValueError
        If it is symmetric, or a triangle of such a matrix.
    """
    read, own = "numpy.asarray(X).astype(float)", rows
    if len(columns[0]) == len(labels) - 1:
        read, own = "numpy.asarray(X)[:, 1:].astype(float)", np.asarray(columns[0])
        columns, labels = columns[1:], labels[1:]
    is_labelled = named and own is not None and [*map(str, own)] == labels
    values = [np.asarray(column) for column in columns]
    if any(each.dtype.kind not in "iufO" for each in values):
        return
    try:
        matrix = np.array(values, dtype=np.float64).T
    except (TypeError, ValueError):
        return
    for full, kept in ((matrix, ""), (_mirrored(matrix), ""), (_mirrored(matrix.T), ".T")):
        if full.shape == (len(labels),) * 2 and _is_covariance(full, is_labelled):
            names = f", columns={labels}" if named else ""
            raise ValueError(
                f"X is a matrix of its columns ({first_few(labels)}), such as their correlations "
                "or covariances, and no table of rows. Pass the rows that it was computed from. "
                "If only their number n is known, more than the columns, these have the same "
                "covariance: import numpy, pandas; Z = numpy.random.default_rng(0).normal(size=(n, "
                f"{len(labels)})); Q, _ = numpy.linalg.qr(Z - Z.mean(axis=0)); X = pandas."
                f"DataFrame(n**0.5 * Q @ numpy.linalg.cholesky({read}{kept}).T{names})"
            )


def _mirrored(matrix: Floats) -> Floats:
    """Return a lower triangle, with nothing above it, as a symmetric matrix."""
    upper = np.triu(matrix, 1)
    is_blank = not np.nan_to_num(upper).any()
    return np.tril(matrix) + np.tril(matrix, -1).T if is_blank else np.empty((0, 0))


def _is_covariance(matrix: Floats, is_labelled: bool) -> bool:
    diagonal, m = np.diag(matrix), len(matrix)
    with np.errstate(all="ignore"):
        off = matrix - np.diag(diagonal)
        if not np.isfinite(matrix).all() or not off.any():
            return False
        if not np.allclose(matrix, matrix.T, rtol=_ROUNDING, atol=_ROUNDING * np.abs(off).max()):
            return False
        if is_labelled:
            return True
        is_unit = np.allclose(diagonal, 1, rtol=0, atol=_ROUNDING)
        most = np.sqrt(np.outer(diagonal, diagonal)) * (1 + _ROUNDING)
        fewest = _FEWEST_WHOLE if (matrix == np.round(matrix)).all() else 3 - is_unit
        return bool(m >= fewest and (diagonal > 0).all() and (np.abs(off) <= most).all())
