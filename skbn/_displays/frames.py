"""Tables of results: data frames where pandas is installed, plain tables elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy.typing as npt

from skbn._core.text import text_table
from skbn._displays.notebook import Alignment, html_table

# Tables of more rows are shown by their first and last ones, as pandas shows them.
_MOST_ROWS = 60
_ROWS_AT_AN_END = 5


def frame_of(columns: Mapping[str, Sequence[Any] | npt.NDArray[Any]]) -> Any:
    """Return columns of equal length as a pandas data frame, or as a `PlainTable` without pandas.

    Examples
    --------
    >>> frame = frame_of({"parent": ["alcohol"], "weight": [258.1]})
    >>> list(frame["parent"])
    ['alcohol']
    """
    try:
        import pandas as pd
    except ImportError:
        return PlainTable(columns)
    return pd.DataFrame(dict(columns))


class PlainTable(dict[str, list[Any]]):
    """A table as a dict from the name of each column to the list of its values.

    ``polars.DataFrame(table)`` and ``pyarrow.table(table)`` convert it, and
    ``csv.writer(file).writerows(table.rows())`` writes it.

    Parameters
    ----------
    columns : mapping of str to sequence
        The columns, of equal length.

    Examples
    --------
    >>> table = PlainTable({"parent": ["alcohol", "hue"], "weight": [258.1, 391.0]})
    >>> table
    parent   weight
    alcohol   258.1
    hue         391
    >>> table["weight"]
    [258.1, 391.0]
    """

    def __init__(self, columns: Mapping[str, Sequence[Any] | npt.NDArray[Any]]) -> None:
        super().__init__(
            (name, values.tolist() if hasattr(values, "tolist") else list(values))
            for name, values in columns.items()
        )

    def rows(self) -> list[tuple[Any, ...]]:
        """Return the rows, each with its values in the order of the columns."""
        return list(zip(*self.values(), strict=True))

    def __repr__(self) -> str:
        alignments = "".join("r" if self._is_number(name) else "l" for name in self)
        return text_table(self._texts(), alignments, list(self))

    def _repr_html_(self) -> str | None:
        rows = self.rows()
        alignments: list[Alignment] = [
            "right" if self._is_number(name) else "left" for name in self
        ]
        return html_table(f"{len(rows)} rows", self._texts(), alignments, list(self))

    def _is_number(self, name: str) -> bool:
        kinds = {type(value) for value in self[name]}
        return kinds <= {int, float}  # not bool, which is text

    def _texts(self) -> list[list[str]]:
        texts = [[_text(value) for value in row] for row in self.rows()]
        if len(texts) <= _MOST_ROWS:
            return texts
        return [*texts[:_ROWS_AT_AN_END], ["..."] * len(self), *texts[-_ROWS_AT_AN_END:]]


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
