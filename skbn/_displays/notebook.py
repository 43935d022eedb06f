"""What a notebook shows of estimators: a picture, and links to their documentation."""

from __future__ import annotations

from base64 import b64encode
from html import escape
from importlib.util import find_spec
from io import BytesIO
from typing import TYPE_CHECKING, Any, Unpack

import networkx as nx
from sklearn import get_config
from sklearn.utils import estimator_html_repr

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

    Examples
    --------
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
            Whether to draw edges without an arrowhead if the data, and the constraints of `fit`,
            do not tell their direction.
        **options
            Options of `NetworkDisplay.plot`: `figsize`, `orientation`, `pos`, `tiers`, `lanes`,
            `node_color`, `edge_label`, `highlight`, `markov_blanket`, ``nodes``, `edges`,
            `min_weight`, `min_probability`, `min_support`, `hide_isolated`, `labels`, `legend` and
            `min_font_size`.

        Returns
        -------
        display : NetworkDisplay

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before a learner is fitted.
        ImportError
            If matplotlib is not installed.
        TypeError, ValueError
            If an option is wrong, there is no such node or edge, or edges lack an attribute that
            is to be written.

        See Also
        --------
        NetworkDisplay : What is drawn how.
        NetworkDisplay.plot : What each option does.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from skbn import GaussianBNLearner
        >>> learner = GaussianBNLearner().fit(load_wine(as_frame=True).data)
        >>> display = learner.plot(markov_blanket="hue")
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

    from skbn._displays.edge_measures import confidence_in, strengths_of
    from skbn._displays.network_display import NetworkDisplay
    from skbn._displays.network_picture import NetworkPicture
    from skbn._displays.plot_options import names_of

    figure = Figure(facecolor="white")  # which the colours suit; it is not saved
    figure.set_layout_engine("none")
    dag = NetworkDisplay(graph).dag
    NetworkPicture(
        figure.add_axes((0, 0, 1, 1)),
        dag,
        strengths_of(dag),
        confidence_in(dag),
        labels=names_of(dag, None),
        has_legend=True,
    ).draw_in_new_figure(None)
    svg = BytesIO()
    figure.savefig(svg, format="svg", transparent=True, metadata={"Date": None})
    return svg.getvalue()
