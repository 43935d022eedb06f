"""NetworkDisplay: a network as a picture."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

import networkx as nx
import numpy as np
from sklearn.utils._optional_dependencies import check_matplotlib_support

from skbn._core.graphs import check_dag
from skbn._drawing.axes import check_axes
from skbn._drawing.edge_labels import edge_texts, place_labels
from skbn._drawing.emphasis import NO_EMPHASIS, Emphasis, emphasis_on, makes_blanket
from skbn._drawing.graph_of import graph_of
from skbn._drawing.labels import NodeNames
from skbn._drawing.layout.layered import layered_layout
from skbn._drawing.looks import Edge, EdgeLook, NodeLook
from skbn._drawing.styles import Style, style_for
from skbn._drawing.weights import Strengths, strengths_of
from skbn._networks.gaussian import is_parametrised

if TYPE_CHECKING:
    from skbn._drawing.picture import Artists

__all__ = ["NetworkDisplay", "draw_network"]

_EXPECTED = "a networkx.DiGraph (for estimators there is NetworkDisplay.from_estimator)"
_WIDTHS = 0.8, 4.0  # of an edge of standardised weight 0, and of 1 or more
_WIDTH_UNKNOWN = 1.5
_BORDER, _BORDER_HELD = 0.8, 2.4


class NetworkDisplay:
    """A picture of a Gaussian network, or of the CPDAG of one.

    Parents stand above their children, in layers that are ordered so that few edges cross.
    An edge is blue if its weight is positive and orange if it is negative, and the wider,
    the larger the standardised weight, up to 1: that of columns which are scaled to a standard
    deviation of 1. Edges of weight 0 and those of a graph without parameters are grey. Edges that
    a CPDAG leaves undirected, with knowledge or without, have no arrowhead. A node that does not
    vary, as `GaussianBayesianNetwork.do` holds it, has a thick border. The edges out of it have
    one width, as there is no standard deviation to measure them by.

    Use `from_estimator` or `from_graph` to make one. Needs matplotlib (``pip install
    skbn[plot]``).

    Parameters
    ----------
    dag : networkx.DiGraph
        Acyclic, with the attributes that `GaussianBNLearner` gives its `dag_`; or with
        no parameters, as `GaussianBayesianNetwork.cpdag` gives it.

    Attributes
    ----------
    dag : networkx.DiGraph
        A copy.
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure or matplotlib.figure.SubFigure
    nodes_ : dict of node to matplotlib.patches.FancyBboxPatch
        The boxes, to be changed at will.
    edges_ : dict of (parent, child) to matplotlib.patches.PathPatch
        The lines, without their heads.
    heads_ : dict of (parent, child) to matplotlib.patches.Polygon
        The heads of those that have one.

    Raises
    ------
    TypeError
        If it is no networkx.DiGraph.
    ValueError
        If it has a cycle or no nodes; if a parameter is missing, no finite number or a
        negative variance, or if a mean or a variance is out of float64's range.

    See Also
    --------
    NetworkComparisonDisplay : Two networks side by side.
    EdgeWeightsDisplay : The weights as a heat map.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from skbn import GaussianBNLearner, NetworkDisplay
    >>> learner = GaussianBNLearner().fit(load_wine(as_frame=True).data)
    >>> display = NetworkDisplay.from_estimator(learner, markov_blanket="hue")
    >>> display.figure_.savefig("wine.png")  # doctest: +SKIP
    """

    def __init__(self, dag: nx.DiGraph) -> None:
        check_dag(dag, expected=_EXPECTED, may_be_undirected=True)
        strengths_of(dag)  # or what is wrong with the parameters
        self.dag = dag.copy()

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **options: Any) -> Self:
        """Draw the network of a fitted learner, or a network.

        Parameters
        ----------
        estimator : GaussianBNLearner, GaussianBNLearnerCV or GaussianBayesianNetwork
            Or a pipeline that ends with one, or a search such as GridSearchCV over one.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default in a new figure.
        **options
            Those of `plot`.

        Returns
        -------
        display : NetworkDisplay

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the estimator is not fitted.
        TypeError
            If it is another estimator, or a search with refit=False.
        ValueError, ImportError
            As for the class, and as `plot`.
        """
        return cls(graph_of(estimator)).plot(ax=ax, **options)

    @classmethod
    def from_graph(cls, graph: nx.DiGraph, *, ax: Any = None, **options: Any) -> Self:
        """Draw an acyclic graph, or a CPDAG.

        Parameters
        ----------
        graph : networkx.DiGraph
            As `dag` above.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default in a new figure.
        **options
            Those of `plot`.

        Returns
        -------
        display : NetworkDisplay

        Raises
        ------
        TypeError, ValueError, ImportError
            As for the class, and as `plot`.

        Examples
        --------
        >>> import networkx as nx
        >>> from skbn import GaussianBayesianNetwork, NetworkDisplay
        >>> network = GaussianBayesianNetwork(nx.DiGraph([("a", "b"), ("b", "c")]))
        >>> display = NetworkDisplay.from_graph(network.cpdag(), highlight="b")
        """
        return cls(graph).plot(ax=ax, **options)

    def plot(
        self,
        *,
        ax: Any = None,
        highlight: Any = None,
        markov_blanket: Any = None,
        edge_labels: Any = False,
    ) -> Self:
        """Draw the network.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default in a new figure of the size that the network takes.
            The colours are for dark or light ground, as the figure has it.
        highlight : node or list of nodes, optional
            Nodes to be marked.
        markov_blanket : node, optional
            Mark this node and its Markov blanket (parents, children and their other parents),
            and leave all else faint. In a CPDAG it is what all networks of the class have.
        edge_labels : bool, "weight" or dict of (parent, child) to str, default=False
            True writes the standardised weights at the edges whose parent varies, "weight" those
            in the columns' units, a dict texts of one's own at some of them.

        Returns
        -------
        display : NetworkDisplay
            Itself.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        TypeError
            If `ax` is something else.
        ValueError
            If there is no such node or edge, or weights are asked for and there are none.
        """
        check_matplotlib_support("NetworkDisplay.plot")
        check_axes(ax)
        emphasis = emphasis_on(self.dag, highlight, markov_blanket)
        strengths = strengths_of(self.dag)
        texts = edge_texts(self.dag, edge_labels, strengths)
        self.ax_, artists = draw_network(self.dag, strengths, ax=ax, emphasis=emphasis, texts=texts)
        self.figure_ = self.ax_.figure
        self.nodes_, self.edges_, self.heads_ = artists.nodes, artists.edges, artists.heads
        return self


def draw_network(
    dag: nx.DiGraph,
    strengths: Strengths,
    *,
    ax: Any = None,
    style: Style | None = None,
    emphasis: Emphasis = NO_EMPHASIS,
    texts: Mapping[Edge, str] = MappingProxyType({}),
) -> tuple[Any, Artists]:
    """Draw a graph on axes, or on new ones, with the colours that suit these; needs matplotlib."""
    from matplotlib import rcParams

    from skbn._drawing.picture import draw_picture, new_axes

    font_size = float(rcParams["font.size"])
    names = NodeNames.of(dag, font_size)
    layout = layered_layout(dag, names.sizes)
    labels, layout = place_labels(layout, names.sizes, texts, font_size)
    if ax is None:
        (ax,) = new_axes(layout)
    style = style_for(ax) if style is None else style
    nodes = {node: _node_look(names, node, style, emphasis, node in strengths.held) for node in dag}
    edges = _edge_looks(dag, strengths.weights, style, emphasis)
    return ax, draw_picture(ax, layout, nodes, edges, labels, style=style, font_size=font_size)


def _node_look(
    names: NodeNames, node: Hashable, style: Style, emphasis: Emphasis, is_held: bool
) -> NodeLook:
    lines, size = names.lines[node], names.sizes[node]
    width = _BORDER_HELD if is_held else _BORDER
    if node in emphasis.chosen:
        return NodeLook(lines, size, style.chosen, style.accent, style.text, max(width, 1.4))
    if node in emphasis.blanket:
        return NodeLook(lines, size, style.blanket, style.accent, style.text, width)
    if emphasis.centre is None:
        return NodeLook(lines, size, style.box, style.border, style.text, width)
    faint = style.faint
    return NodeLook(lines, size, faint(style.box), faint(style.border), faint(style.text), width)


def _edge_looks(
    dag: nx.DiGraph, weights: Mapping[Edge, float], style: Style, emphasis: Emphasis
) -> dict[Edge, EdgeLook]:
    has_weights, looks = is_parametrised(dag), {}
    for parent, child, data in dag.edges(data=True):
        colour, text, width = style.neutral, style.text, _WIDTH_UNKNOWN
        if has_weights:
            sign = np.sign(data["weight"])
            colour = {1: style.positive, -1: style.negative}.get(sign, style.neutral)
        if (parent, child) in weights:
            strength = min(abs(weights[parent, child]), 1)
            width = _WIDTHS[0] + (_WIDTHS[1] - _WIDTHS[0]) * strength
        centre = emphasis.centre
        if centre is not None and not makes_blanket(dag, parent, child, centre):
            colour, text = style.faint(colour), style.faint(text)
        looks[parent, child] = EdgeLook(colour, width, text, not data.get("undirected"))
    return looks
