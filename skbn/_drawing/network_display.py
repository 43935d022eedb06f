"""NetworkDisplay: a network as a picture."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import networkx as nx
import numpy as np

from skbn._core.graphs import check_dag
from skbn._core.linear_model import is_parametrised
from skbn._core.text import readable_value
from skbn._drawing.appearance import (
    Edge,
    EdgeLook,
    NodeLook,
    Style,
    check_axes,
    require_matplotlib,
    style_for,
)
from skbn._drawing.fitted import fitted_graph
from skbn._drawing.labels import NodeNames, edge_texts
from skbn._drawing.layout.layered import layered_layout
from skbn._drawing.probabilities import probabilities_of
from skbn._drawing.weights import Strengths, strengths_of

if TYPE_CHECKING:
    from skbn._drawing.picture import Artists

__all__ = ["NetworkDisplay", "draw_network"]

_EXPECTED = "a networkx.DiGraph (for estimators there is NetworkDisplay.from_estimator)"
# Widths of lines, in points
_WIDTHS = 0.8, 4.0  # edges of standardised weight 0, and of 1 or more
_WIDTH_UNKNOWN = 1.5
_BORDER, _BORDER_HELD = 0.8, 2.4
_LEAST_OPACITY = 0.2  # of an edge of probability 0; the thinnest line can still be seen


class _Emphasis(NamedTuple):
    """Which nodes are marked. With a centre, all but its Markov blanket is faint."""

    chosen: set[Hashable]
    blanket: set[Hashable]
    centre: Hashable | None


_NO_EMPHASIS = _Emphasis(set(), set(), None)


class NetworkDisplay:
    """A picture of a Gaussian network, or of the CPDAG of one.

    Parents stand above their children, in layers that are ordered so that few edges cross.
    An edge is blue if its weight is positive and orange if it is negative. Its width grows with
    its standardised weight, up to 1; standardised weights are those of columns scaled to a
    standard deviation of 1. Edges of weight 0 and edges of a graph without parameters are grey.
    Edges that a CPDAG leaves undirected have no arrowhead. A node held at a value by
    `GaussianBayesianNetwork.do` has a thick border. The edges out of it all have the same width,
    because it has no standard deviation to scale their weights by.

    If the edges have the attribute `probability`, as those of `GaussianBNPosterior.dag_` have, an
    edge's opacity grows with it: from 0.2 at probability 0 to 1 at probability 1. You can set this
    attribute in any graph, for example to how often resampled tables gave the edge.

    Use `from_estimator` or `from_graph` to make one. Needs matplotlib (``pip install
    skbn[plot]``).

    Parameters
    ----------
    dag : networkx.DiGraph
        An acyclic graph with the attributes of `GaussianBNLearner.dag_`, or one without
        parameters, such as `GaussianBayesianNetwork.cpdag` returns. All edges have the attribute
        `probability`, or none.

    Attributes
    ----------
    dag : networkx.DiGraph
        A copy.
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure or matplotlib.figure.SubFigure
    nodes_ : dict of node to matplotlib.patches.FancyBboxPatch
        The boxes, which you may change.
    edges_ : dict of (parent, child) to matplotlib.patches.PathPatch
        The lines, without their arrowheads.
    heads_ : dict of (parent, child) to matplotlib.patches.Polygon
        The arrowheads of the edges that have one.

    Raises
    ------
    TypeError
        If `dag` is not a networkx.DiGraph.
    ValueError
        If it has a cycle or no nodes; if a parameter is missing, not a finite number or a
        negative variance, or if a mean or a variance is out of float64's range; if only some edges
        have a probability, or one is not a number from 0 to 1.

    See Also
    --------
    NetworkComparisonDisplay : Two networks side by side.
    EdgeWeightsDisplay : The weights as a heat map.
    EdgeProbabilitiesDisplay : The probabilities of all edges as a heat map.

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
        strengths_of(dag)  # raises if a parameter is wrong
        probabilities_of(dag)  # raises if a probability is wrong
        self.dag = dag.copy()

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **options: Any) -> Self:
        """Draw the network of a fitted learner, the median network of a posterior, or a network.

        Parameters
        ----------
        estimator : GaussianBNLearner, GaussianBNLearnerCV, GaussianBNPosterior or \
GaussianBayesianNetwork
            Or a pipeline that ends with one, or a search such as GridSearchCV over one.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default in a new figure.
        **options
            Options of `plot`.

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
            As for the class and `plot`.
        """
        return cls(fitted_graph(estimator)).plot(ax=ax, **options)

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
            Options of `plot`.

        Returns
        -------
        display : NetworkDisplay

        Raises
        ------
        TypeError, ValueError, ImportError
            As for the class and `plot`.

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
            The colours suit the figure's background, dark or light.
        highlight : node or list of nodes, optional
            Nodes to mark.
        markov_blanket : node, optional
            Mark this node and its Markov blanket (parents, children and their other parents),
            and draw everything else faintly. In a CPDAG, mark what is in its blanket in every
            network of the class. Faint edges are equally faint, whatever their probability.
        edge_labels : bool, "weight", "probability" or dict of (parent, child) to str, default=False
            True writes standardised weights at the edges whose parent varies, "weight" writes
            weights in the columns' units, "probability" writes the edges' probabilities to two
            decimals, and a dict has your own texts for some edges.

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
            If there is no such node or edge, or if weights or probabilities are asked for and
            there are none.

        Examples
        --------
        >>> import networkx as nx
        >>> from skbn import NetworkDisplay
        >>> dag = nx.DiGraph()
        >>> dag.add_edge("a", "b", probability=0.93)
        >>> dag.add_edge("b", "c", probability=0.58)
        >>> display = NetworkDisplay(dag).plot(edge_labels="probability")
        """
        require_matplotlib("NetworkDisplay.plot")
        check_axes(ax)
        emphasis = _emphasis_on(self.dag, highlight, markov_blanket)
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
    emphasis: _Emphasis = _NO_EMPHASIS,
    texts: Mapping[Edge, str] = MappingProxyType({}),
) -> tuple[Any, Artists]:
    """Draw a graph on axes, or on new ones, by default in the colours that suit them."""
    from matplotlib import rcParams

    from skbn._drawing.picture import draw_picture, new_axes, place_labels

    font_size = float(rcParams["font.size"])
    names = NodeNames.of(dag, font_size)
    layout = layered_layout(dag, names.sizes)
    labels, layout = place_labels(layout, names.sizes, texts, font_size)
    if ax is None:
        (ax,) = new_axes(layout)
    style = style_for(ax) if style is None else style
    nodes = {node: _node_look(names, node, style, emphasis, node in strengths.held) for node in dag}
    edges = _edge_looks(dag, strengths.weights, probabilities_of(dag), style, emphasis)
    return ax, draw_picture(ax, layout, nodes, edges, labels, style=style, font_size=font_size)


def _node_look(
    names: NodeNames, node: Hashable, style: Style, emphasis: _Emphasis, is_held: bool
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
    dag: nx.DiGraph,
    weights: Mapping[Edge, float],
    probabilities: Mapping[Edge, float],
    style: Style,
    emphasis: _Emphasis,
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
        opacity, centre = None, emphasis.centre
        if centre is not None and not _makes_blanket(dag, parent, child, centre):
            colour, text = style.faint(colour), style.faint(text)
        elif (parent, child) in probabilities:
            opacity = _LEAST_OPACITY + (1 - _LEAST_OPACITY) * probabilities[parent, child]
        has_head = not data.get("undirected")
        looks[parent, child] = EdgeLook(colour, width, text, has_head, opacity=opacity)
    return looks


def _emphasis_on(dag: nx.DiGraph, highlight: Any, centre: Any) -> _Emphasis:
    """Return which nodes to mark; raise a ValueError if there is no such node."""
    chosen = [] if highlight is None else _nodes(dag, highlight)
    if centre is None:
        return _Emphasis(set(chosen), set(), None)
    if centre not in dag:
        raise ValueError(f"markov_blanket: {_no_such_node(dag, centre)}")
    edges = [(a, b) for a, b in dag.edges if _makes_blanket(dag, a, b, centre)]
    members = {node for edge in edges for node in edge}
    return _Emphasis({*chosen, centre}, members - {centre}, centre)


def _makes_blanket(dag: nx.DiGraph, parent: Hashable, child: Hashable, centre: Hashable) -> bool:
    """Whether an edge makes its ends members of a node's Markov blanket.

    In a CPDAG only directed edges lead to a child's other parents. If these are not neighbours of
    the node, all networks of the class share them.
    """
    if centre in (parent, child):
        return True
    return (
        dag.has_edge(centre, child)
        and not dag.edges[centre, child].get("undirected")
        and not dag.edges[parent, child].get("undirected")
    )


def _nodes(dag: nx.DiGraph, highlight: Any) -> list[Hashable]:
    """Return one node, or the nodes of a list, as a list."""
    is_one = highlight in dag or isinstance(highlight, str | bytes)
    try:
        nodes = [highlight] if is_one else list(highlight)
    except TypeError:  # neither a node nor a list
        nodes = [highlight]
    for node in nodes:
        if node not in dag:
            raise ValueError(f"highlight: {_no_such_node(dag, node)}")
    return nodes


def _no_such_node(dag: nx.DiGraph, node: Any) -> str:
    return f"there is no node {readable_value(node)}; the nodes are {readable_value(list(dag))}."
