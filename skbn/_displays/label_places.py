"""Where the labels of edges stand: on their edges, where nothing else passes."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import NamedTuple

import numpy as np
from scipy.spatial import KDTree

from skbn._core.arrays import Floats
from skbn._displays.appearance import Edge
from skbn._displays.labels import LINE_HEIGHT, text_width
from skbn._displays.layout.curves import Point, halfway, sampled
from skbn._displays.layout.layered import Layout

_PADDING = 1.5  # points around a label
_CLEARANCE = 2.0  # points between a label and the middle of another edge, half of a wide line
_HEAD = 10.0  # points, the side of a square around an arrowhead
_SPACING = 2.0  # distance between the points that stand for an edge, which labels avoid
# Places tried along an edge: every few points, up to a number that keeps long edges quick.
_STEP = 4.0
_MOST_PLACES = 100
_ENDS = 0.12, 0.88  # a label stays between these shares of its edge, away from the boxes
# Costs, chosen by looking at pictures. Hiding part of a box costs its area in square points.
_HIDDEN_POINT = 20.0  # hiding a point of another edge
_BESIDE = 10.0  # standing beside the edge, not on it
_FLOATING = 40.0  # not touching the edge, which counts as hiding something
_OFF_MIDDLE = 8.0  # standing at the end of the edge
# Where a label stands across its edge, as a share of the distance at which it is clear of it.
_OFFSETS = (0.0, 0.3, -0.3, 0.6, -0.6, 1.0, -1.0)
_ROUNDS = 3  # each round places every label again, with all others where they are


class Labels(NamedTuple):
    """The labels of edges.

    Parameters
    ----------
    texts : dict of edge to str
    positions : dict of edge to (x, y)
        The labels' centres.
    font_size : float
    n_hiding : int
        The number of labels that hide a node, another edge or another label.
    """

    texts: dict[Edge, str]
    positions: dict[Edge, Point]
    font_size: float
    n_hiding: int = 0


class _Place(NamedTuple):
    """Places to choose from for a label, and what each costs without the other labels."""

    size: Point
    centres: Floats
    costs: Floats
    hidden: Floats


def place_labels(
    layout: Layout,
    sizes: Mapping[Hashable, tuple[float, float]],
    texts: Mapping[Edge, str],
    font_size: float,
) -> tuple[Labels, Layout]:
    """Place each label where it hides least.

    Return the labels, and the layout with an extent that has room for them.
    """
    if not texts:
        return Labels({}, {}, font_size), layout
    boxes = [(layout.positions[node], sizes[node]) for node in sizes]
    boxes += [(_head(route), (_HEAD, _HEAD)) for route in layout.routes.values()]
    centres = np.array([centre for centre, _ in boxes])
    halves = np.array([size for _, size in boxes]) / 2
    curves = {edge: sampled(route, _SPACING) for edge, route in layout.routes.items()}
    places = {}
    for edge, text in texts.items():
        width = text_width(text, font_size) + 2 * _PADDING
        size = width, LINE_HEIGHT * font_size + 2 * _PADDING
        others = np.concatenate([np.empty((0, 2)), *(c for e, c in curves.items() if e != edge)])
        places[edge] = _places(curves[edge], size, others, centres, halves)
    chosen = _choose(places)
    left, right, bottom, top = layout.extent
    positions, n_hiding = {}, 0
    for edge, (place, hidden) in chosen.items():
        (width, height), (x, y) = places[edge].size, places[edge].centres[place].tolist()
        positions[edge] = x, y
        n_hiding += bool(hidden > 0)
        left, right = min(left, x - width / 2), max(right, x + width / 2)
        bottom, top = min(bottom, y - height / 2), max(top, y + height / 2)
    labels = Labels(dict(texts), positions, font_size, n_hiding)
    return labels, layout._replace(extent=(left, right, bottom, top))


def _head(route: list[Point]) -> Point:
    """Return the middle of an arrowhead."""
    end, before = route[-1], route[-2]
    return halfway(end, before, _HEAD / 2 / max(math.dist(end, before), 1e-9))


def _places(curve: Floats, size: Point, others: Floats, centres: Floats, halves: Floats) -> _Place:
    """Return places on and beside an edge, and what each hides of nodes and other edges."""
    lengths = np.append(0.0, np.cumsum(np.hypot(*np.diff(curve, axis=0).T)))
    whole = lengths[-1] or 1.0
    n_shares = min(max(3, int(whole * (_ENDS[1] - _ENDS[0]) / _STEP)), _MOST_PLACES)
    shares = np.linspace(*_ENDS, n_shares)
    on = np.column_stack([np.interp(shares * whole, lengths, curve[:, i]) for i in (0, 1)])
    ahead = np.column_stack(
        [np.interp((shares + 0.02) * whole, lengths, curve[:, i]) for i in (0, 1)]
    )
    along = (ahead - on) / np.maximum(np.hypot(*(ahead - on).T), 1e-9)[:, np.newaxis]
    across = np.column_stack([-along[:, 1], along[:, 0]])
    reach = np.abs(across) @ (np.array(size) / 2 + _CLEARANCE)
    beside = across * reach[:, np.newaxis]
    candidates = np.concatenate([on + offset * beside for offset in _OFFSETS])
    sideways = np.repeat(np.abs(_OFFSETS), n_shares)
    preference = np.tile(_OFF_MIDDLE * np.abs(2 * shares - 1), len(_OFFSETS)) + _BESIDE * sideways
    half = np.array(size) / 2
    common = half + halves - np.abs(candidates[:, np.newaxis] - centres)
    hidden = np.maximum(common, 0).prod(axis=-1).sum(axis=-1)
    if len(others):
        # In units of the label and its clearance, what it hides is in a square of side 2.
        unit = half + _CLEARANCE
        n_near = KDTree(others / unit).query_ball_point(
            candidates / unit, 1.0, p=np.inf, return_length=True
        )
        hidden += _HIDDEN_POINT * n_near
    hidden[sideways >= 1] += _FLOATING
    return _Place(size, candidates, preference + hidden, hidden)


def _choose(places: Mapping[Edge, _Place]) -> dict[Edge, tuple[int, float]]:
    """Choose a place for each label; return its number, and how much it hides there."""
    chosen: dict[Edge, int] = {}
    hidden: dict[Edge, float] = {}
    for _ in range(_ROUNDS):
        for edge, place in places.items():
            overlap = np.zeros(len(place.costs))
            for other, number in chosen.items():
                if other == edge:
                    continue
                half = (np.array(place.size) + places[other].size) / 2
                common = half - np.abs(place.centres - places[other].centres[number])
                overlap += np.maximum(common, 0).prod(axis=-1)
            chosen[edge] = number = int(np.argmin(place.costs + overlap))
            hidden[edge] = float(place.hidden[number] + overlap[number])
    return {edge: (chosen[edge], hidden[edge]) for edge in places}
