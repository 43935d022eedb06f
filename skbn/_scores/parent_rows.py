"""Sets of parents as rows of ascending numbers, padded with -1 at their end."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["MOST_COLUMNS", "padded_rows", "repeated_row"]

MOST_COLUMNS = np.iinfo(np.int16).max
_LAST = MOST_COLUMNS  # greater than any column's number


def padded_rows(
    members: npt.NDArray[np.int16], sizes: npt.NDArray[np.intp]
) -> npt.NDArray[np.int16]:
    """Return the rows of sets whose members come one after the other.

    Examples
    --------
    >>> padded_rows(np.array([7, 3, 5], dtype=np.int16), np.array([2, 0, 1]))
    array([[ 3,  7],
           [-1, -1],
           [ 5, -1]], dtype=int16)
    """
    width = int(sizes.max(initial=0))
    rows = np.full((len(sizes), width), _LAST, dtype=np.int16)
    rows[np.arange(width) < sizes[:, None]] = members
    rows.sort(axis=1)
    rows[rows == _LAST] = -1
    return rows


def repeated_row(rows: npt.NDArray[np.int16]) -> int | None:
    """Return the number of the first row that is equal to one before it, if there is any.

    Examples
    --------
    >>> repeated_row(np.array([[1, 2], [1, 3], [1, 2]], dtype=np.int16))
    2
    """
    n, width = rows.shape
    if n < 2 or width == 0:
        return 1 if n > 1 else None
    order = np.lexsort(rows.T)  # stable: of equal rows, the later ones follow
    repeats = (rows[order[1:]] == rows[order[:-1]]).all(axis=1)
    return int(order[1:][repeats].min()) if repeats.any() else None
