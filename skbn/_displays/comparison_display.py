"""NetworkComparisonDisplay: two networks side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import networkx as nx

from skbn._core.graphs import check_dag, check_same_nodes
from skbn._core.text import readable_value
from skbn._displays.appearance import Edge, EdgeLook, NodeLook, Style, style_for
from skbn._displays.display import Display, check_axes
from skbn._displays.fitted import fitted_graph
from skbn._displays.labels import NodeNames
from skbn._displays.layout.layered import LayeredGraph

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

    Parameters
    ----------
    expected, found : networkx.DiGraph
        Acyclic, on the same nodes in any order. To compare equivalence classes, pass both
        CPDAGs, as `GaussianBayesianNetwork.cpdag` returns them.

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
    TypeError
        If one is not a networkx.DiGraph.
    ValueError
        If one has a cycle, or they do not have the same nodes.

    See Also
    --------
    GaussianBayesianNetwork.structural_hamming_distance : The number of edges that are
        missing, extra or reversed; pass ``cpdag=True`` for CPDAGs without knowledge.

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
        sklearn.exceptions.NotFittedError
            If a learner is not fitted.
        TypeError, ValueError, ImportError
            As for the class and `plot`.
        """
        graphs = [x if isinstance(x, nx.Graph) else fitted_graph(x) for x in (expected, found)]
        return cls(*graphs).plot(titles=titles, axes=axes)

    def plot(self, *, titles: Sequence[str] = ("expected", "found"), axes: Any = None) -> Self:
        """Draw the networks.

        Parameters
        ----------
        titles : sequence of two str, default=("expected", "found")
        axes : sequence of two matplotlib.axes.Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        display : NetworkComparisonDisplay
            Itself.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If there are not two titles, or not two axes.
        TypeError
            If one of the axes is something else.
        """
        self._require_matplotlib()
        import numpy as np
        from matplotlib import rcParams

        from skbn._displays.picture import Canvas, new_axes

        _check_two("titles", titles)
        font_size = float(rcParams["font.size"])
        names = NodeNames.of(self.expected, font_size)
        layout = LayeredGraph(_union(self.expected, self.found), names.sizes).layout()
        if axes is None:
            axes = new_axes(
                layout,
                2,
                narrowest=_LEGEND_WIDTH * font_size,
                top=_TITLE_ROOM * font_size,
                bottom=_LEGEND_ROOM * font_size,
            )
        axes = np.asarray(axes, dtype=object).ravel()
        _check_two("axes", axes)
        for ax in axes:
            check_axes(ax)
        graphs = self.expected, self.found
        for ax, title, graph, kinds in zip(axes, titles, graphs, self._kinds, strict=True):
            style = style_for(ax)
            boxes = {
                node: NodeLook(lines, names.sizes[node], style.box, style.border, style.text)
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


def _kinds(graph: nx.DiGraph, other: nx.DiGraph, own: str) -> dict[Edge, str]:
    """Compare each edge of a graph with the other graph: common, reversed, or `own`."""
    return {edge: _kind(edge, graph, other) or own for edge in graph.edges}


def _kind(edge: Edge, graph: nx.DiGraph, other: nx.DiGraph) -> str | None:
    """Return "common" or "reversed", or None if the other graph does not join the nodes."""
    parent, child = edge
    if not (other.has_edge(parent, child) or other.has_edge(child, parent)):
        return None
    is_undirected = bool(graph.edges[edge].get("undirected"))
    there = (parent, child) if other.has_edge(parent, child) else (child, parent)
    if bool(other.edges[there].get("undirected")) != is_undirected:
        return "reversed"
    return "common" if is_undirected or there == edge else "reversed"


def _union(first: nx.DiGraph, second: nx.DiGraph) -> nx.DiGraph:
    """Return an acyclic graph with an edge wherever either graph has one."""
    union = nx.DiGraph()
    union.add_nodes_from(first)
    union.add_edges_from(first.edges)
    for parent, child in second.edges:
        if not union.has_edge(child, parent):
            closes_cycle = nx.has_path(union, child, parent)
            union.add_edge(*((child, parent) if closes_cycle else (parent, child)))
    return union


def _edge_look(kind: str, style: Style, has_head: bool = True) -> EdgeLook:
    colour = style.neutral if kind == "common" else str(getattr(style, kind))
    width = _WIDTH_COMMON if kind == "common" else _WIDTH_OTHER
    return EdgeLook(colour, width, style.text, has_head, _LINE_STYLES.get(kind, "-"))


def _draw_legend(ax: Any, kinds: list[str], style: Style) -> None:
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
