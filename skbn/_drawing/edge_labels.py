"""What is written at edges, and where."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import numpy.typing as npt

from skbn._core.text import readable_value
from skbn._drawing.bezier import halfway, point_at
from skbn._drawing.labels import LINE_HEIGHT, printable, text_width
from skbn._drawing.layout.layered import Layout, Point
from skbn._drawing.looks import Edge
from skbn._drawing.weights import Strengths, readable_weight
from skbn._networks.gaussian import is_parametrised

__all__ = ["Labels", "edge_texts", "place_labels"]

_SIZE = 0.8  # of a label, in sizes of names
_PADDING = 1.5  # points
_HEAD = 10.0  # points along an edge that its head takes
# Where along an edge its label may stand, the best place first.
_PLACES = (0.5, 0.43, 0.57, 0.36, 0.64, 0.3, 0.7, 0.24, 0.76)
_SAMPLES = 24  # points of an edge that a label had better not hide
_HIDDEN_POINT = 10.0  # what it costs to hide one, in square points of boxes


class Labels(NamedTuple):
    """The labels of edges.

    Parameters
    ----------
    texts : dict of edge to str
    positions : dict of edge to (x, y)
        Of the labels' centres.
    font_size : float
    """

    texts: dict[Edge, str]
    positions: dict[Edge, Point]
    font_size: float


def edge_texts(dag: nx.DiGraph, edge_labels: Any, strengths: Strengths) -> dict[Edge, str]:
    """Return the texts of the edges that have one.

    Parameters
    ----------
    dag : networkx.DiGraph
    edge_labels : bool, "weight" or dict of edge to str
        Of standardised weights, there are none where the parent does not vary.
    strengths : Strengths

    Raises
    ------
    ValueError
        If it is something else, or names no edge, or asks for weights that are not there.
    """
    if isinstance(edge_labels, Mapping):
        for edge in edge_labels:
            if not (isinstance(edge, tuple) and len(edge) == 2 and dag.has_edge(*edge)):
                raise ValueError(f"edge_labels: there is no edge {readable_value(edge)}.")
        return {edge: printable(str(text)) for edge, text in edge_labels.items()}
    if isinstance(edge_labels, bool | np.bool_):
        if not edge_labels:
            return {}
    elif not (isinstance(edge_labels, str) and edge_labels == "weight"):
        raise ValueError(
            "edge_labels must be a bool, 'weight' or a dict of edge to text; got "
            f"{readable_value(edge_labels)}."
        )
    if any(is_undirected for _, _, is_undirected in dag.edges(data="undirected")):
        raise ValueError(
            "edge_labels asks for weights, and a CPDAG has none. Plot the network itself, or give "
            "a dict of texts."
        )
    if not is_parametrised(dag):
        raise ValueError(
            "edge_labels asks for weights, and the graph has no parameters. Fit a "
            "GaussianBayesianNetwork of it, or give a dict of texts."
        )
    if isinstance(edge_labels, str):
        return {(a, b): f"{weight:.3g}" for a, b, weight in dag.edges(data="weight")}
    return {edge: readable_weight(weight) for edge, weight in strengths.weights.items()}


def place_labels(
    layout: Layout,
    sizes: Mapping[Any, tuple[float, float]],
    texts: Mapping[Edge, str],
    font_size: float,
) -> tuple[Labels, Layout]:
    """Find each label a place on its edge where it hides least.

    Parameters
    ----------
    layout : Layout
    sizes : mapping of node to (width, height)
    texts : mapping of edge to str
    font_size : float
        Of names.

    Returns
    -------
    labels : Labels
    layout : Layout
        With room for the labels.
    """
    labels = Labels(dict(texts), {}, _SIZE * font_size)
    if not texts:
        return labels, layout
    taken = [(layout.positions[node], sizes[node]) for node in sizes]
    taken += [
        (halfway(route[-1], route[-2], 0.2), (_HEAD, _HEAD)) for route in layout.routes.values()
    ]
    owners = list(layout.routes)
    points = np.array(
        [[point_at(layout.routes[e], i / _SAMPLES) for i in range(_SAMPLES)] for e in owners]
    )
    left, right, bottom, top = layout.extent
    for edge, text in texts.items():
        width = text_width(text, labels.font_size) + 2 * _PADDING
        size = (width, LINE_HEIGHT * labels.font_size + 2 * _PADDING)
        places = [point_at(layout.routes[edge], share) for share in _PLACES]
        others = points[[other != edge for other in owners]]
        costs = [
            sum(_overlap(place, size, *other) for other in taken)
            + _HIDDEN_POINT * _n_inside(others, place, size)
            for place in places
        ]
        labels.positions[edge] = x, y = places[int(np.argmin(costs))]
        taken.append(((x, y), size))
        left, right = min(left, x - size[0] / 2), max(right, x + size[0] / 2)
        bottom, top = min(bottom, y - size[1] / 2), max(top, y + size[1] / 2)
    return labels, layout._replace(extent=(left, right, bottom, top))


def _overlap(a: Point, a_size: Point, b: Point, b_size: Point) -> float:
    """Return the area that two boxes share, by their centres and sizes."""
    x, y = ((a_size[i] + b_size[i]) / 2 - abs(a[i] - b[i]) for i in (0, 1))
    return max(x, 0.0) * max(y, 0.0)


def _n_inside(points: npt.NDArray[np.float64], centre: Point, size: Point) -> int:
    return int((np.abs(points - centre) < np.array(size) / 2).all(axis=-1).sum())
