"""NetworkDisplay and NetworkComparisonDisplay: one network as a picture, and two side by side."""

from collections.abc import Hashable, Sequence
from typing import Any, Self, Unpack

import networkx as nx

from skbn._core.estimator import StrOptions, check_values
from skbn._core.graphs import check_dag, check_same_nodes
from skbn._core.text import readable_value
from skbn._displays import appearance, plot_options
from skbn._displays.composition import size_of
from skbn._displays.display import (
    Display,
    add_score_losses,
    check_axes,
    fitted_class,
    fitted_graph,
    fitted_tiers,
)
from skbn._displays.labels import NodeNames, edge_texts
from skbn._displays.layout.layered import LayeredGraph
from skbn._displays.network_picture import NetworkPicture
from skbn._displays.plot_options import Bands, PlotOptions, node_colours

_ALLOWED: dict[str, list[Any]] = {"orientation": [StrOptions({"top-bottom", "left-right"})]}
_EXPECTED = "a networkx.DiGraph (for estimators there is NetworkDisplay.from_estimator)"


class NetworkDisplay(Display):
    """A picture of a Gaussian network, or of the CPDAG of one.

    Parents stand above their children, in layers that are ordered so that few edges cross. An edge
    is blue if its weight is positive; if it is negative, it is orange and has a hollow arrowhead,
    which shows in black and white, too. Its width grows with its standardised weight, up to 1: the
    weight between columns scaled to a standard deviation of 1. Edges of weight 0 and of a graph
    without parameters are grey. Edges that are undirected, as in a CPDAG, have a dot at both ends
    and no arrowhead. A node held at a value by `GaussianBayesianNetwork.do` has a thick border, and
    the edges out of it all have the same width, because it has no standard deviation.

    If the edges have the attribute `probability`, as in `GaussianBNPosterior.dag_`, or else the
    attribute `support`, the share of resampled tables that gave the edge, an edge's opacity grows
    with it: from 0.3 at 0 to 1 at 1. The line is solid from 0.9 on, dashed from 0.5 on and dotted
    below. You can set either attribute in any graph.

    If the edges also say how surely their pair is joined, in either direction, by the attribute
    `joined` beside `probability` or `strength` beside `support`, as those of a posterior and of a
    bootstrap do, opacity, line and label show that. An edge then has an arrowhead only if its
    direction has more than 75 % of it. Otherwise its label says "either way", or "mostly back" if
    the other direction has more than 75 %.

    Use `from_estimator` or `from_graph` to make one. Needs matplotlib (``pip install -e
    ".[plot]"``).

    Parameters
    ----------
    dag : networkx.DiGraph
        An acyclic graph with the attributes of `GaussianBNLearner.dag_`, or one without parameters,
        such as `GaussianBayesianNetwork.cpdag` returns. Edges may have the attribute `undirected`.
        All edges have the attribute `probability` or `support`, or none.

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
    names_ : dict of node to matplotlib.text.Text
    labels_ : dict of (parent, child) to matplotlib.text.Text
        The labels of the edges that have one.

    Raises
    ------
    TypeError, ValueError
        If `dag` is not a networkx.DiGraph, has a cycle or no nodes; if a parameter is missing, not
        a finite number or a negative variance, or if a mean or a variance is out of float64's
        range; if only some edges have a probability or support, or one is not a number from 0 to 1.

    See Also
    --------
    NetworkComparisonDisplay : Two networks side by side.
    NetworkGridDisplay : Several networks, with the nodes at the same places.
    EdgeHeatMapDisplay : The weights, or the probabilities of all edges, as a heat map.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from skbn import GaussianBNLearner, NetworkDisplay
    >>> learner = GaussianBNLearner().fit(load_wine(as_frame=True).data)
    >>> display = NetworkDisplay.from_estimator(learner, highlight="hue")
    >>> display.figure_.savefig("wine.png")  # doctest: +SKIP
    """

    def __init__(self, dag: nx.DiGraph) -> None:
        check_dag(dag, expected=_EXPECTED, may_be_undirected=True)
        appearance.strengths_of(dag)  # raises if a parameter is wrong
        appearance.confidence_in(dag)  # raises if a probability is wrong
        self.dag = dag.copy()
        for edge, text in appearance.pair_texts(dag).items():
            if "," in text:
                self.dag.edges[edge]["undirected"] = True
        self._tiers: Any = None
        self._lanes: dict[Hashable, int] = {}  # of nodes that stand in one line across the tiers
        self._picture: NetworkPicture | None = None

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, ax: Any = None, cpdag: bool = False, **options: Unpack[PlotOptions]
    ) -> Self:
        """Draw the network of a fitted learner, the median network of a posterior, or a network.

        Parameters
        ----------
        estimator : fitted learner, GaussianBNPosterior or GaussianBayesianNetwork
            Or a pipeline that ends with one, or a search such as GridSearchCV over one.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default in a new figure.
        cpdag : bool, default=False
            Whether to draw edges without an arrowhead if the data, and the constraints of `fit`, do
            not tell their direction. Widths and colours stay as in the network.
        **options
            Options of `plot`.

        Returns
        -------
        display : NetworkDisplay

        Raises
        ------
        TypeError, ValueError, ImportError
            If it is another estimator, or a search with refit=False; as for the class and `plot`.
        """
        return cls._of(estimator, cpdag, options).plot(ax=ax, **options)

    @classmethod
    def _of(cls, estimator: Any, cpdag: bool, options: PlotOptions) -> Self:
        """Return the display of a fitted estimator, before it is drawn."""
        display = cls(fitted_class(estimator) if cpdag else fitted_graph(estimator))
        label = options.get("edge_label")
        if isinstance(label, str | list | tuple) and "score_loss" in label:
            add_score_losses(display.dag, estimator)
        display._tiers = fitted_tiers(estimator)
        return display

    @classmethod
    def from_graph(
        cls, graph: nx.DiGraph, *, ax: Any = None, **options: Unpack[PlotOptions]
    ) -> Self:
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
        figsize: Any = None,
        orientation: str = "top-bottom",
        pos: Any = None,
        tiers: Any = "auto",
        node_color: Any = None,
        edge_label: Any = None,
        highlight: Any = None,
        only: Any = None,
    ) -> Self:
        """Draw the network.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default in a new figure of the size that the network takes, with names
            in matplotlib's `font.size` and a legend below. The colours suit the figure's
            background, dark or light.
        figsize : (width, height), optional
            Size of the new figure in inches. The network is scaled and stretched to fill it. With a
            height of None the figure is as high as the network takes at this width.
        orientation : {"top-bottom", "left-right"}, default="top-bottom"
            Whether parents stand above their children or left of them.
        pos : dict of node to (x, y), or NetworkDisplay, optional
            Where nodes stand instead of in layers, in any unit, as networkx's layouts return. All
            distances are scaled alike; nodes too close to each other are pushed apart, and edges
            bend around nodes in their way. Another display stands for its own places, bands and
            orientation: on axes of one size, nodes stand at the same places.
        tiers : list of lists of nodes, dict of title to list, None or "auto", default="auto"
            Groups of nodes that each have a band of the picture, in the order of the edges; `...`
            in place of a list stands for all nodes that are not named. "auto" takes those that the
            learner was given, and none with `pos`.
        node_color : colour, dict or Series of node to value, optional
            A colour for all nodes, or values of some nodes. Numbers are drawn by a colour map. If
            all values are colours of matplotlib by their full names, such as "tab:blue", "C0" or
            "#ffcc00", or tuples, they are used. Other values are groups, each of which gets a
            colour.
        edge_label : str, list of str or dict of (parent, child) to str, optional
            The attribute to write at the edges, or several, with commas between them: "weight" is
            the weight in the columns' units, "standardised_weight" that between columns of standard
            deviation 1 (of the edges whose parent varies), "probability" and "support" have two
            decimals, and you can set others in `dag`. From a learner, "score_loss" is how many nats
            the score loses without the edge. A dict has your own texts for some edges, or none. The
            default says how surely pairs are joined, if that is known and there are up to 60 edges.
        highlight : node, or list of nodes and edges, optional
            Nodes to mark, with the edges that they have, and edges as pairs (parent, child).
            Everything else is drawn faintly, and equally so whatever its probability.
        only : node, list of nodes and edges, or data frame of parents and children, optional
            The part to draw: nodes with the edges between them, or, if there are edges in the list,
            only these with their ends. Widths, colours and opacities are those in the whole
            network. A line below counts the edges that are left out between the nodes.

        Returns
        -------
        display : NetworkDisplay
            Itself.

        Raises
        ------
        TypeError, ValueError
            If an option is wrong, there is no such node or edge, or edges lack an attribute that is
            to be written.

        Warns
        -----
        UserWarning
            If text is smaller than 6 points. A new figure without `figsize` has larger text.

        Examples
        --------
        >>> import networkx as nx
        >>> from skbn import NetworkDisplay
        >>> dag = nx.DiGraph()
        >>> dag.add_edge("a", "b", probability=0.93)
        >>> dag.add_edge("b", "c", probability=0.58)
        >>> display = NetworkDisplay(dag).plot(edge_label="probability", orientation="left-right")
        """
        self._require_matplotlib()
        from matplotlib import pyplot

        check_axes(ax)
        size = plot_options.checked_size(figsize, ax)
        check_values("plot", _ALLOWED, {"orientation": orientation})
        strengths = appearance.strengths_of(self.dag)
        shown = plot_options.shown_part(self.dag, only)
        texts = edge_texts(self.dag, edge_label, strengths)
        bands = self._bands(tiers, pos)
        places = plot_options.places_of(self.dag, pos, shown)
        own = self._lanes if isinstance(tiers, str) and bands else {}
        lanes = sorted({lane for node, lane in own.items() if node in shown})
        is_sideways = orientation == "left-right"
        if isinstance(places, NetworkPicture):
            bands, is_sideways = places.bands, places.is_sideways
        elif bands is not None:
            bands = bands.of(shown)
        self._picture = picture = NetworkPicture(
            dag=shown,
            strengths=strengths,
            confidence=appearance.confidence_in(self.dag),
            texts={edge: text for edge, text in texts.items() if edge in shown.edges},
            names_of_categories=plot_options.names_of_categories(self.dag),
            colours=node_colours(self.dag, node_color).of(shown),
            emphasis=plot_options.emphasis_on(self.dag, shown, highlight),
            places=places,
            bands=bands,
            lanes={v: lanes.index(own[v]) for v in shown} if own else None,
            is_sideways=is_sideways,
            has_legend=ax is None,
            notes=plot_options.notes_of(self.dag, shown),
            # Made last, so that a wrong option leaves no empty figure behind.
            ax=pyplot.figure(layout="none").add_axes((0, 0, 1, 1)) if ax is None else ax,
        )
        canvas = picture.draw_in_new_figure(size) if ax is None else picture.draw()
        self.nodes_, self.edges_, self.heads_ = canvas.nodes, canvas.edges, canvas.heads
        self.names_, self.labels_ = canvas.names, canvas.labels
        return self._drawn_on(ax=picture.ax)

    def _bands(self, tiers: Any, pos: Any) -> Bands | None:
        """Return the bands of tiers."""
        if isinstance(tiers, str) and tiers == "auto":
            tiers = self._tiers if pos is None else None
        elif tiers is not None and pos is not None:
            raise ValueError("tiers are drawn as bands of layers, and pos places nodes; give one.")
        return None if tiers is None else plot_options.bands_of(self.dag, tiers)


_TITLE_ROOM, _LEGEND_ROOM, _LEGEND_WIDTH = 2.6, 3.0, 34.0  # in sizes of the font
_WIDTH_COMMON, _WIDTH_OTHER = 1.3, 2.4
_LINE_STYLES: dict[str, Any] = {"missing": (0, (3, 1.5)), "reversed": (0, (5, 1.5, 1.2, 1.5))}


class NetworkComparisonDisplay(Display):
    """Two networks on the same nodes, side by side.

    Nodes stand at the same places in both pictures. Edges that both networks have are grey. Edges
    that only the first has are *missing* from the second: purple and dashed. Edges that only the
    second has are *extra*: green. Edges that they direct differently, or that only one of two
    CPDAGs leaves undirected, are *reversed*: dark and dash-dotted (light on a dark background).
    None of these colours says anything about signs. Nodes are laid out by the first network, so
    edges of the second may point upwards.

    Use `from_networks` to make one. Needs matplotlib (``pip install -e ".[plot]"``).
    `GaussianBayesianNetwork.compare` counts the edges of each kind.

    Parameters
    ----------
    expected, found : networkx.DiGraph
        Acyclic, on the same nodes in any order. To compare equivalence classes, pass both CPDAGs,
        as `GaussianBayesianNetwork.cpdag` returns them.

    Attributes
    ----------
    expected, found : networkx.DiGraph
        Copies.
    common, missing, extra, reversed : list of (parent, child)
        The edges of each colour. Reversed edges are listed as they are in `expected`.
    axes_ : ndarray of two matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure

    Raises
    ------
    TypeError, ValueError
        If one is not a networkx.DiGraph, or has a cycle, or they do not have the same nodes.

    Examples
    --------
    >>> import networkx as nx
    >>> from skbn import NetworkComparisonDisplay
    >>> expected = nx.DiGraph([("a", "b"), ("b", "c"), ("a", "d")])
    >>> found = nx.DiGraph([("a", "b"), ("c", "b"), ("c", "d")])
    >>> display = NetworkComparisonDisplay.from_networks(expected, found)
    >>> display.common, display.missing, display.extra, display.reversed
    ([('a', 'b')], [('a', 'd')], [('c', 'd')], [('b', 'c')])
    """

    def __init__(self, expected: nx.DiGraph, found: nx.DiGraph) -> None:
        for name, dag in (("expected", expected), ("found", found)):
            check_dag(dag, name, may_be_undirected=True)
        check_same_nodes(expected, found, names=("expected", "found"))
        self.expected, self.found = expected.copy(), found.copy()
        self._kinds = _kinds(expected, found, "missing"), _kinds(found, expected, "extra")
        own, others = self._kinds
        self.common = [edge for edge, kind in own.items() if kind == "common"]
        self.missing = [edge for edge, kind in own.items() if kind == "missing"]
        self.reversed = [edge for edge, kind in own.items() if kind == "reversed"]
        self.extra = [edge for edge, kind in others.items() if kind == "extra"]

    @classmethod
    def from_networks(
        cls,
        expected: Any,
        found: Any,
        *,
        titles: Sequence[str] = ("expected", "found"),
        axes: Any = None,
    ) -> Self:
        """Draw two networks side by side.

        Parameters
        ----------
        expected, found : networkx.DiGraph, GaussianBayesianNetwork or fitted learner
            Or a pipeline that ends with a learner, or a search over one.
        titles : sequence of two str, default=("expected", "found")
        axes : sequence of two matplotlib.axes.Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        display : NetworkComparisonDisplay

        Raises
        ------
        TypeError, ValueError, ImportError
            As for the class; if there are not two titles, or not two axes.
        """
        graphs = [x if isinstance(x, nx.Graph) else fitted_graph(x) for x in (expected, found)]
        return cls(*graphs).plot(titles=titles, axes=axes)

    def plot(self, *, titles: Sequence[str] = ("expected", "found"), axes: Any = None) -> Self:
        """Draw the networks.

        Parameters
        ----------
        titles : sequence of two str, default=("expected", "found")
        axes : sequence of two matplotlib.axes.Axes, optional
            As for `from_networks`.

        Returns
        -------
        display : NetworkComparisonDisplay
            Itself.
        """
        self._require_matplotlib()
        import numpy as np
        from matplotlib import pyplot, rcParams

        from skbn._displays.picture import Canvas

        _check_two("titles", titles)
        font_size = float(rcParams["font.size"])
        names = NodeNames.of(self.expected, font_size)
        layout = LayeredGraph(union(self.expected, self.found), names.sizes).layout()
        if axes is None:
            width, height = size_of(layout)
            width, bottom = max(width, _LEGEND_WIDTH * font_size), _LEGEND_ROOM * font_size
            whole = _TITLE_ROOM * font_size + height + bottom
            figure = pyplot.figure(figsize=(width / 36, whole / 72), layout="none")
            own = bottom / whole, 0.5, height / whole
            axes = [figure.add_axes((left, *own)) for left in (0, 0.5)]
        axes = np.asarray(axes, dtype=object).ravel()
        _check_two("axes", axes)
        for ax in axes:
            check_axes(ax)
        graphs = self.expected, self.found
        for ax, title, graph, kinds in zip(axes, titles, graphs, self._kinds, strict=True):
            style = appearance.style_for(ax)
            boxes = {
                node: appearance.NodeLook(
                    lines, names.sizes[node], style.box, style.border, style.text
                )
                for node, lines in names.lines.items()
            }
            lines = {
                edge: _edge_look(kind, style, not graph.edges[edge].get("undirected"))
                for edge, kind in kinds.items()
            }
            canvas = Canvas(ax)
            canvas.draw_graph(layout, boxes, lines, font_size)
            canvas.finish(layout)
            ax.set_title(title, color=style.text)
            _draw_legend(ax, list(kinds.values()), style)
        return self._drawn_on(axes=axes)


def _check_two(name: str, values: Any) -> None:
    if isinstance(values, str) or not hasattr(values, "__len__") or len(values) != 2:
        raise ValueError(f"{name} must be two, one for each network; got {readable_value(values)}.")


def _kinds(graph: nx.DiGraph, other: nx.DiGraph, own: str) -> dict[appearance.Edge, str]:
    """Compare each edge of a graph with the other graph: common, reversed, or `own`."""
    kinds = {}
    for edge, data in graph.edges.items():
        is_open, there = bool(data.get("undirected")), edge
        if not other.has_edge(*edge):
            there = edge[::-1]
        if not other.has_edge(*there):
            kinds[edge] = own
        elif bool(other.edges[there].get("undirected")) != is_open:
            kinds[edge] = "reversed"
        else:
            kinds[edge] = "common" if is_open or there == edge else "reversed"
    return kinds


def union(first: nx.DiGraph, *others: nx.DiGraph) -> nx.DiGraph:
    """Return an acyclic graph with an edge wherever one graph has one, without parameters."""
    union = nx.DiGraph()
    known = ("level", "levels")
    for node, data in first.nodes(data=True):
        union.add_node(node, **{name: data[name] for name in known if name in data})
    union.add_edges_from(first.edges)
    for parent, child in (edge for each in others for edge in each.edges):
        if not union.has_edge(child, parent):
            closes_cycle = nx.has_path(union, child, parent)
            union.add_edge(*((child, parent) if closes_cycle else (parent, child)))
    return union


def _edge_look(kind: str, style: appearance.Style, has_head: bool = True) -> appearance.EdgeLook:
    colour = style.neutral if kind == "common" else str(getattr(style, kind))
    width = _WIDTH_COMMON if kind == "common" else _WIDTH_OTHER
    line_style = _LINE_STYLES.get(kind, "-")
    return appearance.EdgeLook(
        colour, width, style.text, has_head, line_style, has_dots=not has_head
    )


def _draw_legend(ax: Any, kinds: list[str], style: appearance.Style) -> None:
    """Write below the axes how many edges there are of each kind."""
    from matplotlib.lines import Line2D

    handles = []
    for kind in ("common", "missing", "extra", "reversed"):
        if n_edges := kinds.count(kind):
            look, text = _edge_look(kind, style), f"{kind} ({n_edges})"
            line = {"linewidth": look.width, "linestyle": look.line_style}
            handles.append(Line2D([], [], color=look.colour, label=text, **line))
    if handles:
        ax.legend(
            handles=handles,
            loc="upper center",
            bbox_to_anchor=(0.5, 0.0),
            ncols=len(handles),
            frameon=False,
            borderpad=0.2,
            columnspacing=1.2,
            labelcolor=style.text,
        )
