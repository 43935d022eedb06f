"""Columns as users name them."""

from __future__ import annotations

import operator
from collections.abc import Hashable

__all__ = ["column_number"]


def column_number(columns: list[str | int], column: Hashable) -> int:
    """Return the number of a column that is given by its name or its number.

    Raises
    ------
    ValueError
        If there is no such column.
    TypeError
        If it is given as anything else.

    Examples
    --------
    >>> column_number(["hue", "ash"], "ash"), column_number(["hue", "ash"], 0)
    (1, 0)
    """
    if isinstance(column, str):
        if column in columns:
            return columns.index(column)
        raise ValueError(f"There is no column {column!r}; the columns are {columns}.")
    try:
        number = operator.index(column)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"A column is given by its name or its number; got {column!r}.") from None
    if isinstance(column, bool) or not 0 <= number < len(columns):
        raise ValueError(
            f"There is no column {column!r}; the columns' numbers are 0 to {len(columns) - 1}."
        )
    return number
