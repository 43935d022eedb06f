"""What a notebook shows: tables, and an estimator's links to its documentation."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Literal

from sklearn import get_config

__all__ = ["Alignment", "DocLinkMixin", "html_table"]


class DocLinkMixin:
    """Links from an estimator's HTML to its page, and from its parameters to their lines.

    A class derived in another package has no page here, and gets no links.

    Examples
    --------
    >>> from skbn import BIC
    >>> "https://skbn.readthedocs.io/en/latest/api/skbn.BIC.html" in BIC()._repr_html_()
    True
    """

    # The names are those of scikit-learn's guide for developers.
    _doc_link_module = "skbn"
    _doc_link_template = "https://skbn.readthedocs.io/en/latest/api/skbn.{name}.html"

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        return {"name": type(self).__name__}


Alignment = Literal["left", "right"]

# Styles are attributes because notebooks that are not trusted drop style sheets. Colours are the
# page's own, apart from a grey that is visible on any background.
_TABLE = "width:auto;margin:0.5em 0;border-collapse:collapse;color:inherit"
_CAPTION = "caption-side:top;padding:0 0.6em 0.3em;text-align:left;font-weight:bold;color:inherit"
_CELL = "padding:0.2em 0.6em;border:0;border-top:1px solid rgba(128,128,128,0.4);vertical-align:top"


def html_table(
    caption: str,
    rows: Sequence[Sequence[str]],
    alignments: Sequence[Alignment],
    header: Sequence[str] = (),
) -> str | None:
    """Return a table in HTML, or None if scikit-learn is set to display text.

    Parameters
    ----------
    caption : str
    rows : sequence of sequences of k str
        Plain texts, which are escaped. The first cell of a row is its heading.
    alignments : sequence of k {"left", "right"}
    header : sequence of k str, optional
        The columns' headings.

    Returns
    -------
    table : str or None
        For None, IPython shows the object's text.

    Examples
    --------
    >>> table = html_table("1 < 2", [["a", "1"]], ["left", "right"])
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


def _row(cells: Sequence[str], alignments: Sequence[Alignment], n_headings: int, scope: str) -> str:
    """Return a row whose first cells are headings."""
    texts = []
    for i, (cell, alignment) in enumerate(zip(cells, alignments, strict=True)):
        style = f'style="{_CELL};text-align:{alignment}"'
        if i < n_headings:
            texts.append(f'<th scope="{scope}" {style}>{escape(cell)}</th>')
        else:
            texts.append(f"<td {style}>{escape(cell)}</td>")
    return f"<tr>{''.join(texts)}</tr>"
