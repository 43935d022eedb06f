"""PlotMixin: what learners and networks show of themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import networkx as nx
from sklearn import get_config
from sklearn.utils import estimator_html_repr

if TYPE_CHECKING:
    from skbn._drawing.network_display import NetworkDisplay

__all__ = ["PlotMixin"]


class PlotMixin:
    """`plot`, and a picture below scikit-learn's own HTML. Comes before BaseEstimator."""

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
        """Return the graph if it is there, without any work."""
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
