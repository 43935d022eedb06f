"""What a notebook shows: tables, an estimator's links to its documentation, a picture below it.

The mixins come before BaseEstimator.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Literal

import networkx as nx
from sklearn import get_config
from sklearn.utils import estimator_html_repr

if TYPE_CHECKING:
    from skbn._drawing.network_display import NetworkDisplay

__all__ = ["DocLinkMixin", "PlotMixin", "html_table"]


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


class PlotMixin:
    """`plot`, and a picture of the network below scikit-learn's own HTML."""

    def plot(
        self,
        *,
        ax: Any = None,
        highlight: Any = None,
        markov_blanket: Any = None,
        edge_labels: Any = False,
    ) -> NetworkDisplay:
        """Draw the network.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default in a new figure.
        highlight : node or list of nodes, optional
            Nodes to be marked.
        markov_blanket : node, optional
            Mark this node and its Markov blanket, and leave all else faint.
        edge_labels : bool, "weight" or dict of (parent, child) to str, default=False
            As in `NetworkDisplay.plot`.

        Returns
        -------
        display : NetworkDisplay

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before a learner is fitted.
        ImportError
            If matplotlib is not installed.
        ValueError
            If there is no such node or edge, or weights are asked for and there are none.

        See Also
        --------
        NetworkDisplay : What is drawn how.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from skbn import GaussianBNLearner
        >>> learner = GaussianBNLearner().fit(load_wine(as_frame=True).data)
        >>> display = learner.plot(markov_blanket="hue")
        """
        from skbn._drawing.network_display import NetworkDisplay

        return NetworkDisplay.from_estimator(
            self,
            ax=ax,
            highlight=highlight,
            markov_blanket=markov_blanket,
            edge_labels=edge_labels,
        )

    def _shown_graph(self) -> nx.DiGraph | None:
        """Return the graph to show, or None if there is none without a search."""
        raise NotImplementedError

    def _repr_html_(self) -> str | None:
        if get_config()["display"] != "diagram":
            return None  # a notebook shows the text
        html: str = estimator_html_repr(self)
        graph = self._shown_graph()
        if graph is None:
            return html
        from skbn._drawing.network_display import notebook_picture

        return html + notebook_picture(graph)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        html = self._repr_html_()
        return {"text/plain": repr(self)} | ({} if html is None else {"text/html": html})


# Tables

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
