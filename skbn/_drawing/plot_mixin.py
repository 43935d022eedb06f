"""PlotMixin: `plot` for estimators, and a picture of their network in a notebook.

What draws is imported when something is drawn: a fit needs none of it.
"""

from __future__ import annotations

from base64 import b64encode
from importlib.util import find_spec
from io import BytesIO
from typing import TYPE_CHECKING, Any

import networkx as nx
from sklearn import get_config
from sklearn.utils import estimator_html_repr

if TYPE_CHECKING:
    from skbn._drawing.network_display import NetworkDisplay

__all__ = ["PlotMixin"]

# Notebooks draw no larger networks, which can take seconds each time they are shown.
_MOST_NODES, _MOST_EDGES = 40, 80
_IMAGE_STYLE = "max-width:100%;height:auto;margin:0.5em 0"


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
        edge_labels : bool, "weight", "probability" or dict of (parent, child) to str, default=False
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
            If there is no such node or edge, or weights or probabilities are asked for and there
            are none.

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

    from skbn._drawing.appearance import LIGHT
    from skbn._drawing.network_display import NetworkDisplay, draw_network
    from skbn._drawing.weights import strengths_of

    figure = Figure(figsize=(1, 1))
    figure.set_layout_engine("none")
    ax = figure.add_axes((0, 0, 1, 1))
    dag = NetworkDisplay(graph).dag
    draw_network(dag, strengths_of(dag), ax=ax, style=LIGHT)
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    figure.set_size_inches((right - left) / 72, (top - bottom) / 72)
    svg = BytesIO()
    figure.savefig(svg, format="svg", transparent=True, metadata={"Date": None})
    return svg.getvalue()
