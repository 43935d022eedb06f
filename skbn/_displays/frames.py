"""Tables of results: data frames where pandas is installed, plain tables elsewhere, and HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, ClassVar

import numpy.typing as npt
from sklearn import get_config

from skbn._core.text import text_table

# Tables of more rows are shown by their first and last ones, as pandas shows them.
_MOST_ROWS = 60
_ROWS_AT_AN_END = 5
# Styles are attributes because notebooks that are not trusted drop style sheets. Colours are the
# page's own, apart from a grey that is visible on any background.
_TABLE = "width:auto;margin:0.5em 0;border-collapse:collapse;color:inherit"
_CAPTION = "caption-side:top;padding:0 0.6em 0.3em;text-align:left;font-weight:bold;color:inherit"
_CELL = "padding:0.2em 0.6em;border:0;border-top:1px solid rgba(128,128,128,0.4);vertical-align:top"


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
        return text_table(self._texts(), self._alignments(), list(self))

    def _repr_html_(self) -> str | None:
        return html_table(f"{len(self.rows())} rows", self._texts(), self._alignments(), list(self))

    def _alignments(self) -> str:
        """Return r for columns of numbers, and l for others."""
        kinds = ({type(value) for value in values} for values in self.values())
        return "".join("r" if kind <= {int, float} else "l" for kind in kinds)  # a bool is text

    def _texts(self) -> list[list[str]]:
        texts = [[_text(value) for value in row] for row in self.rows()]
        if len(texts) <= _MOST_ROWS:
            return texts
        return [*texts[:_ROWS_AT_AN_END], ["..."] * len(self), *texts[-_ROWS_AT_AN_END:]]


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


class TableRepr:
    """Shows a caption and rows of text: in lines, and as a table in notebooks."""

    _alignments: ClassVar[str]
    _header: ClassVar[Sequence[str]]

    def _caption(self) -> str:
        raise NotImplementedError

    def _rows(self) -> Sequence[Sequence[str]]:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{self._caption()}\n{text_table(self._rows(), self._alignments, self._header)}"

    def _repr_html_(self) -> str | None:
        return html_table(self._caption(), self._rows(), self._alignments, self._header)


def html_table(
    caption: str,
    rows: Sequence[Sequence[str]],
    alignments: str,
    header: Sequence[str] = (),
) -> str | None:
    """Return a table in HTML, or None if scikit-learn is set to display text.

    Parameters
    ----------
    caption : str
    rows : sequence of sequences of k str
        Plain texts, which are escaped. The first cell of a row is its heading.
    alignments : str of k letters, "l" or "r"
    header : sequence of k str, optional
        The columns' headings.

    Returns
    -------
    table : str or None
        For None, IPython shows the object's text.

    Examples
    --------
    >>> table = html_table("1 < 2", [["a", "1"]], "lr")
    >>> "<caption" in table, "1 &lt; 2" in table
    (True, True)
    """
    if get_config()["display"] != "diagram":
        return None
    lines = [
        f'<table style="{_TABLE}">',
        f'<caption style="{_CAPTION}">{escape(caption)}</caption>',
    ]
    if header:
        lines.append(f"<thead>{_row(header, alignments, len(header), 'col')}</thead>")
    lines += ["<tbody>", *(_row(row, alignments, 1, "row") for row in rows), "</tbody>", "</table>"]
    return "\n".join(lines)


def _row(cells: Sequence[str], alignments: str, n_headings: int, scope: str) -> str:
    """Return a row whose first cells are headings."""
    texts = []
    for i, (cell, alignment) in enumerate(zip(cells, alignments, strict=True)):
        side = "left" if alignment == "l" else "right"
        style = f'style="{_CELL};text-align:{side}"'
        if i < n_headings:
            texts.append(f'<th scope="{scope}" {style}>{escape(cell)}</th>')
        else:
            texts.append(f"<td {style}>{escape(cell)}</td>")
    return f"<tr>{''.join(texts)}</tr>"
