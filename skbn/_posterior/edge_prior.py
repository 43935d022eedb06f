"""Prior odds of edges, as users give them."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from skbn._core.columns import column_number
from skbn._core.text import readable_value

__all__ = ["read_edge_prior"]


def read_edge_prior(
    edge_prior: Any, columns: list[str | int]
) -> tuple[npt.NDArray[np.float64] | None, list[tuple[int, int]]]:
    """Return the logarithms of prior odds, and the edges that they forbid.

    Parameters
    ----------
    edge_prior : float, array-like of shape (m, m), pandas.DataFrame or None
    columns : list of m str or int

    Returns
    -------
    log_odds : ndarray of shape (m, m), float64, or None
        At [i, j] that of the edge i -> j; 0 for forbidden edges and on the diagonal.
    forbidden : list of (int, int)
        The parent and the child of the edges whose odds are 0.

    Raises
    ------
    ValueError
        If there are not m rows and columns, labels do not name the columns, or a number is
        negative, infinite or NaN.
    """
    if edge_prior is None:
        return None, []
    m = len(columns)
    if isinstance(edge_prior, Real):
        odds = np.full((m, m), float(edge_prior))
    else:
        odds = _by_column(edge_prior, columns)
    off_diagonal = ~np.eye(m, dtype=bool)
    wrong = off_diagonal & ~((odds >= 0) & np.isfinite(odds))
    if wrong.any():
        i, j = np.argwhere(wrong)[0]
        raise ValueError(
            f"edge_prior must have finite odds of at least 0; that of the edge {columns[i]!r} -> "
            f"{columns[j]!r} is {odds[i, j]}. 1 leaves an edge as it is, 0 forbids it, and "
            "required_edges requires it."
        )
    is_forbidden = off_diagonal & (odds == 0)
    log_odds = np.zeros((m, m))
    np.log(odds, out=log_odds, where=off_diagonal & ~is_forbidden)
    return log_odds, [(int(i), int(j)) for i, j in np.argwhere(is_forbidden)]


def _by_column(edge_prior: Any, columns: list[str | int]) -> npt.NDArray[np.float64]:
    """Return the odds as an array in the columns' order."""
    m = len(columns)
    try:
        odds = np.asarray(edge_prior)
        if odds.dtype.kind == "c":
            raise TypeError
        odds = odds.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"edge_prior must be numbers; got {readable_value(edge_prior)}. Give one number, or "
            "those of all pairs of columns."
        ) from None
    if odds.shape != (m, m):
        raise ValueError(
            f"edge_prior has shape {odds.shape}, and the table {m} columns. Give the odds of the "
            f"edge from column i to column j at [i, j], in shape {(m, m)}."
        )
    if not (hasattr(edge_prior, "index") and hasattr(edge_prior, "columns")):
        return odds
    orders = []
    for axis in ("index", "columns"):
        names = getattr(edge_prior, axis)
        try:
            positions = [column_number(columns, name) for name in names]
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"edge_prior.{axis}: {error} Label the odds by these, or give an array."
            ) from None
        if sorted(positions) != list(range(m)):
            raise ValueError(f"edge_prior.{axis} must name each column once; got {list(names)}.")
        orders.append(np.argsort(positions))
    return odds[np.ix_(*orders)]
