"""NetworkDisplay: a network as a picture."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import networkx as nx
import numpy as np
from sklearn.utils._optional_dependencies import check_matplotlib_support

from skbn._drawing._graph_of import graph_of
from skbn._drawing._labels import NodeNames
from skbn._drawing._layout import layered_layout
from skbn._drawing._looks import Edge, EdgeLook, NodeLook
from skbn._drawing._styles import Style, style_for
from skbn._drawing._weights import standardised_weights
from skbn._graphs import check_dag
from skbn._networks._gaussian import is_parametrised

if TYPE_CHECKING:
    from skbn._drawing._picture import Artists

__all__ = ["NetworkDisplay", "draw_network"]

_EXPECTED = "a networkx.DiGraph (for estimators there is NetworkDisplay.from_estimator)"
_WIDTHS = 0.8, 4.0  # of an edge of standardised weight 0, and of 1 or more
_WIDTH_UNKNOWN = 1.5


class NetworkDisplay:
    """A picture of a Gaussian network, or of the CPDAG of one.

    Parents stand above their children, in layers that are ordered so that few edges cross.
    An edge is blue if its weight is positive and orange if it is negative, and the wider,
    the larger the standardised weight: by how many of its own standard deviations the child
    changes with one of the parent's, up to 1. Edges of a graph without parameters, and those
    of weight 0, are grey; those that a CPDAG leaves undirected have no arrowhead.

    Use `from_estimator` or `from_graph` to make one. Needs matplotlib (``pip install
    skbn[plot]``).

    Parameters
    ----------
    dag : networkx.DiGraph
        Acyclic, with the attributes that `GaussianBNLearner` gives its `dag_`; or with
        no parameters, as `GaussianBayesianNetwork.cpdag` gives it.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure
    nodes_ : dict of node to matplotlib.patches.FancyBboxPatch
        The boxes, to be changed at will.
    edges_ : dict of (parent, child) to matplotlib.patches.PathPatch
        The lines, without their heads.

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
        standardised_weights(dag)
        self.dag = dag

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
            If it is another estimator.
        ValueError
            As for the graph itself, and as `plot`.
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
        TypeError, ValueError
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
            and leave all else faint.
        edge_labels : bool, "weight" or dict of (parent, child) to str, default=False
            True writes the standardised weights at the edges, "weight" those in the columns'
            units, a dict texts of one's own at some of them.

        Returns
        -------
        display : NetworkDisplay
            Itself.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If there is no such node or edge, or weights are asked for and there are none.
        """
        check_matplotlib_support("NetworkDisplay.plot")
        emphasis = _emphasis(self.dag, highlight, markov_blanket)
        texts = _texts(self.dag, edge_labels)
        self.ax_, artists = draw_network(self.dag, ax=ax, emphasis=emphasis, texts=texts)
        self.figure_ = self.ax_.figure
        self.nodes_, self.edges_ = artists.nodes, artists.edges
        return self


class Emphasis(NamedTuple):
    """Which nodes are marked.

    Parameters
    ----------
    chosen, blanket : set of nodes
    centre : node or None
        Whose Markov blanket it is; then all else is faint.
    """

    chosen: set[Hashable]
    blanket: set[Hashable]
    centre: Hashable | None


_NO_EMPHASIS = Emphasis(set(), set(), None)


def draw_network(
    dag: nx.DiGraph,
    *,
    ax: Any = None,
    style: Style | None = None,
    emphasis: Emphasis = _NO_EMPHASIS,
    texts: Mapping[Edge, str] = MappingProxyType({}),
) -> tuple[Any, Artists]:
    """Draw a graph on axes, or on new ones, with the colours that suit these; needs matplotlib."""
    from matplotlib import rcParams

    from skbn._drawing._picture import draw_picture, new_axes

    font_size = float(rcParams["font.size"])
    names = NodeNames.of(dag, font_size)
    layout = layered_layout(dag, names.sizes)
    if ax is None:
        (ax,) = new_axes(layout)
    style = style_for(ax) if style is None else style
    nodes = {node: _node_look(names, node, style, emphasis) for node in dag}
    edges = _edge_looks(dag, style, emphasis, texts)
    return ax, draw_picture(ax, layout, nodes, edges, style=style, font_size=font_size)


def _emphasis(dag: nx.DiGraph, highlight: Any, centre: Any) -> Emphasis:
    if highlight is None:
        nodes = []
    else:
        is_list = isinstance(highlight, Iterable) and not isinstance(highlight, str)
        nodes = [highlight] if highlight in dag or not is_list else list(highlight)
    for name, node in [*(("highlight", node) for node in nodes), ("markov_blanket", centre)]:
        if node is not None and node not in dag:
            raise ValueError(f"{name}: there is no node {node!r}; the nodes are {list(dag)}.")
    blanket = set() if centre is None else set(nx.moral_graph(dag)[centre])
    return Emphasis({*nodes, *([] if centre is None else [centre])}, blanket, centre)


def _texts(dag: nx.DiGraph, edge_labels: Any) -> dict[Edge, str]:
    """Return the texts of the edges that have one."""
    if isinstance(edge_labels, Mapping):
        for edge in edge_labels:
            if edge not in dag.edges:
                raise ValueError(f"edge_labels: there is no edge {edge!r}.")
        return {edge: str(text) for edge, text in edge_labels.items()}
    if edge_labels is False:
        return {}
    if edge_labels is not True and edge_labels != "weight":
        raise ValueError(
            f"edge_labels must be a bool, 'weight' or a dict of edge to text; got {edge_labels!r}."
        )
    if not is_parametrised(dag):
        raise ValueError(
            "edge_labels asks for weights, and the graph has no parameters. Fit a "
            "GaussianBayesianNetwork of it, or give a dict of texts."
        )
    if edge_labels == "weight":
        return {(a, b): f"{weight:.3g}" for a, b, weight in dag.edges(data="weight")}
    return {edge: f"{weight:.2f}" for edge, weight in standardised_weights(dag).items()}


def _node_look(names: NodeNames, node: Hashable, style: Style, emphasis: Emphasis) -> NodeLook:
    lines, size = names.lines[node], names.sizes[node]
    if node in emphasis.chosen:
        return NodeLook(lines, size, style.chosen, style.accent, style.text, border_width=1.4)
    if node in emphasis.blanket:
        return NodeLook(lines, size, style.blanket, style.accent, style.text)
    if emphasis.centre is None:
        return NodeLook(lines, size, style.box, style.border, style.text)
    faint = style.faint
    return NodeLook(lines, size, faint(style.box), faint(style.border), faint(style.text))


def _edge_looks(
    dag: nx.DiGraph, style: Style, emphasis: Emphasis, texts: Mapping[Edge, str]
) -> dict[Edge, EdgeLook]:
    weights = standardised_weights(dag)
    looks = {}
    for parent, child, data in dag.edges(data=True):
        colour, width = style.neutral, _WIDTH_UNKNOWN
        if (parent, child) in weights:
            # The sign is the weight's own: held parents have a standardised weight of 0.
            sign = np.sign(data["weight"])
            colour = {1: style.positive, -1: style.negative}.get(sign, style.neutral)
            strength = min(abs(weights[parent, child]), 1)
            width = _WIDTHS[0] + (_WIDTHS[1] - _WIDTHS[0]) * strength
        if not _belongs(dag, parent, child, emphasis.centre):
            colour = style.faint(colour)
        has_head, label = not data.get("undirected"), texts.get((parent, child), "")
        looks[parent, child] = EdgeLook(colour, width, has_head, label=label)
    return looks


def _belongs(dag: nx.DiGraph, parent: Hashable, child: Hashable, centre: Hashable | None) -> bool:
    """Whether an edge makes two nodes members of a Markov blanket."""
    return centre is None or centre in (parent, child) or child in dag[centre]
