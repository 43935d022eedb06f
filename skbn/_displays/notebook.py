"""What notebooks and terminals show: pictures and links of estimators, and tables of results."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from html import escape
from importlib.util import find_spec
from io import BytesIO
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

import networkx as nx
import numpy.typing as npt
from sklearn import get_config
from sklearn.utils import estimator_html_repr

from skbn._core.text import text_table

if TYPE_CHECKING:
    from skbn._displays.network_display import NetworkDisplay
    from skbn._displays.plot_options import PlotOptions

# Larger networks are not drawn: they can take seconds each time a notebook shows them.
_MOST_NODES, _MOST_EDGES = 40, 80
_NOTE_STYLE = "margin:0.5em 0"
_IMAGE_STYLE = "max-width:100%;height:auto;margin:0.5em 0"


class DocLinkMixin:
    """Links from an estimator's HTML to its page, and from its parameters to their lines.

    A class derived in another package has no page here, and gets no links.

    >>> from skbn import BIC
    >>> "https://skbn.readthedocs.io/en/latest/api/skbn.BIC.html" in BIC()._repr_html_()
    True
    """

    # scikit-learn's guide for developers prescribes these names.
    _doc_link_module = "skbn"
    _doc_link_template = "https://skbn.readthedocs.io/en/latest/api/skbn.{name}.html"

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        return {"name": type(self).__name__}


class PlotMixin:
    """`plot`, and a picture of the network below scikit-learn's own HTML."""

    def plot(
        self, *, ax: Any = None, cpdag: bool = False, **options: Unpack[PlotOptions]
    ) -> NetworkDisplay:
        """Draw the network.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default in a new figure of the size that the network takes.
        cpdag : bool, default=False
            Whether to draw edges without an arrowhead if the data, and the constraints of `fit`, do
            not tell their direction.
        **options
            Options of `NetworkDisplay.plot`: `figsize`, `orientation`, `pos`, `tiers`,
            `node_color`, `edge_label`, `highlight` and `only`.

        Returns
        -------
        display : NetworkDisplay

        Raises
        ------
        TypeError, ValueError
            As `NetworkDisplay.plot`.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from skbn import GaussianBNLearner
        >>> learner = GaussianBNLearner().fit(load_wine(as_frame=True).data)
        >>> display = learner.plot(highlight="hue")
        >>> slide = learner.plot(orientation="left-right", figsize=(13.33, 7.5))
        """
        from skbn._displays.network_display import NetworkDisplay

        return NetworkDisplay.from_estimator(self, ax=ax, cpdag=cpdag, **options)

    def _shown_graph(self) -> nx.DiGraph | None:
        """Return the graph to show, or None if there is none without a search."""
        raise NotImplementedError

    def _shown_note(self) -> str:
        """Return what to say above the picture; nothing by default."""
        return ""

    def _repr_html_(self) -> str | None:
        if get_config()["display"] != "diagram":
            return None  # a notebook shows the text
        # Without a scroll bar where there is nothing to scroll.
        html = str(estimator_html_repr(self)).replace("overflow-x: scroll", "overflow-x: auto")
        graph = self._shown_graph()
        if note := self._shown_note():
            html += f'<div style="{_NOTE_STYLE}">{escape(note)}</div>'
        return html if graph is None else html + _notebook_picture(graph)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        html = self._repr_html_()
        return {"text/plain": repr(self)} | ({} if html is None else {"text/html": html})


def _notebook_picture(graph: nx.DiGraph) -> str:
    """Return an HTML image of a graph, or nothing if it is too large or cannot be drawn.

    The same graph gives the same text. The background is transparent, and the colours can be
    read on light and on dark ones.
    """
    if find_spec("matplotlib") is None:
        return ""
    if len(graph) > _MOST_NODES or graph.number_of_edges() > _MOST_EDGES:
        return ""
    try:
        svg = b64encode(_svg(graph)).decode()
    except Exception:  # such as a graph that the user has broken: still show the estimator
        return ""
    alt = f"A network; nodes: {len(graph)}, edges: {graph.number_of_edges()}"
    return f'<img alt="{alt}" style="{_IMAGE_STYLE}" src="data:image/svg+xml;base64,{svg}" />'


def _svg(graph: nx.DiGraph) -> bytes:
    from matplotlib.figure import Figure

    from skbn._displays.appearance import confidence_in, strengths_of
    from skbn._displays.network_display import NetworkDisplay
    from skbn._displays.network_picture import NetworkPicture
    from skbn._displays.plot_options import names_of_categories

    figure = Figure(facecolor="white")  # which the colours suit; it is not saved
    figure.set_layout_engine("none")
    dag = NetworkDisplay(graph).dag
    NetworkPicture(
        figure.add_axes((0, 0, 1, 1)),
        dag,
        strengths_of(dag),
        confidence_in(dag),
        names_of_categories=names_of_categories(dag),
        has_legend=True,
    ).draw_in_new_figure(None)
    svg = BytesIO()
    figure.savefig(svg, format="svg", transparent=True, metadata={"Date": None})
    return svg.getvalue()


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

    `columns`: the columns, of equal length

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
        texts = [
            [f"{value:.6g}" if isinstance(value, float) else str(value) for value in row]
            for row in self.rows()
        ]
        if len(texts) <= _MOST_ROWS:
            return texts
        return [*texts[:_ROWS_AT_AN_END], ["..."] * len(self), *texts[-_ROWS_AT_AN_END:]]


class TableRepr:
    """Shows a caption and rows of text: in lines, and as a table in notebooks."""

    _alignments: ClassVar[str]
    _header: ClassVar[Sequence[str]] = ()

    def _caption(self) -> str:
        raise NotImplementedError

    def _rows(self) -> Sequence[Sequence[str]]:
        raise NotImplementedError

    def __repr__(self) -> str:
        header, *rows = [self._header] * bool(self._header) + [*self._rows()]
        return f"{self._caption()}\n{text_table(rows, self._alignments, header)}"

    def _repr_html_(self) -> str | None:
        return html_table(self._caption(), self._rows(), self._alignments, self._header)


def html_table(
    caption: str, rows: Sequence[Sequence[str]], alignments: str, header: Sequence[str] = ()
) -> str | None:
    """Return a table in HTML, or None if scikit-learn is set to display text.

    `rows`: plain texts, which are escaped. The first cell of a row is its heading.
    `header`: the columns' headings

    Returns `table`: for None, IPython shows the object's text.

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
