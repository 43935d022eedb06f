"""The text in a picture: the names of nodes, in lines, and labels at edges.

Labels stand on their edges, where nothing else passes.
"""

import math
import re
from collections.abc import Hashable, Iterable, Mapping
from numbers import Real
from types import MappingProxyType
from typing import Any, NamedTuple, Self

import networkx as nx
import numpy as np
from scipy.spatial import KDTree

from skbn._core.arrays import Floats
from skbn._core.graphs import is_parametrised
from skbn._core.text import readable_value
from skbn._displays.appearance import (
    Edge,
    Strengths,
    pair_texts,
    readable_weight,
)
from skbn._displays.layout.coordinates import Point, halfway, sampled
from skbn._displays.layout.layered import Layout

LINE_LENGTH = 16  # characters of a line, if the name can be broken after a sign
_LONGEST_WORD = 28  # characters of a line, if it cannot
_BOX_PADDING = 8.0, 5.0  # points between a name and the border of its box
_NARROWEST = 24.0  # points: boxes of one letter are still boxes
LINE_HEIGHT = 1.2  # in font sizes
_MOST_LABELLED = 60  # more edges are labelled only if that is asked for


class NodeNames(NamedTuple):
    """The names of nodes, broken into lines, and the sizes of their boxes."""

    lines: dict[Hashable, list[str]]
    sizes: dict[Hashable, tuple[float, float]]  # in points

    @classmethod
    def of(
        cls,
        nodes: Iterable[Hashable],
        font_size: float,
        line_length: int = LINE_LENGTH,
        names: Mapping[Hashable, str] = MappingProxyType({}),
    ) -> Self:
        """Break nodes, or what they are to be called, into lines; measure them by matplotlib."""
        lines = {v: broken_into_lines(str(names.get(v, v)), line_length) for v in nodes}
        return cls(lines, {node: _box_size(lines[node], font_size) for node in lines})


def broken_into_lines(name: str, length: int = LINE_LENGTH) -> list[str]:
    """Break a name after spaces and punctuation, into lines of about a length in characters.

    There are as few lines as possible, about equally long. Only spaces at the end of a line are
    lost.

    >>> broken_into_lines("od280/od315_of_diluted_wines")
    ['od280/od315_of_', 'diluted_wines']
    >>> broken_into_lines("alcalinity_of_ash")
    ['alcalinity_', 'of_ash']
    """
    lines: list[str] = []
    for part in name.splitlines():
        words = re.findall(
            rf"[^\s_/.:-]{{1,{_LONGEST_WORD}}}[\s_/.:-]*|[\s_/.:-]+", printable(part)
        )
        n_lines = len(_filled_lines(words, length))
        lines += next(
            filled
            for limit in range(1, length + 1)
            if len(filled := _filled_lines(words, limit)) <= n_lines
        )
    return [line.rstrip() for line in lines] or [""]


def _filled_lines(words: Iterable[str], length: int) -> list[str]:
    """Fill lines with words up to a length, which signs at their ends may exceed."""
    lines = [""]
    for word in words:
        if lines[-1] and len((lines[-1] + word).rstrip(" _/.:-")) > length:
            lines.append("")
        lines[-1] += word
    return lines


def printable(text: str) -> str:
    r"""Return a text in which codes replace the characters that cannot be drawn.

    >>> print(printable("a\0"))
    a\x00
    """
    # Some scripts need joiners within words.
    drawn = (" " if c.isspace() else c for c in text)
    return "".join(c if c.isprintable() or c in "\u200c\u200d" else ascii(c)[1:-1] for c in drawn)


def text_width(text: str, font_size: float) -> float:
    """Return how wide a line is drawn, in points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font: Any = FontProperties(size=font_size)
    return float(text_to_path.get_text_width_height_descent(text, font, ismath=False)[0])


def _box_size(lines: list[str], font_size: float) -> tuple[float, float]:
    width = max(text_width(line, font_size) for line in lines) + 2 * _BOX_PADDING[0]
    return max(width, _NARROWEST), len(lines) * LINE_HEIGHT * font_size + 2 * _BOX_PADDING[1]


def edge_texts(dag: nx.DiGraph, edge_label: Any, strengths: Strengths) -> dict[Edge, str]:
    """Return the texts of the edges that have one.

    Edges whose parent does not vary have no standardised weight, and get no text for it.
    """
    if edge_label is None:
        return pair_texts(dag) if len(dag.edges) <= _MOST_LABELLED else {}
    if isinstance(edge_label, Mapping):
        for edge in edge_label:
            if not (isinstance(edge, tuple) and len(edge) == 2 and dag.has_edge(*edge)):
                raise ValueError(f"edge_label: there is no edge {readable_value(edge)}.")
        return {edge: printable(str(text)) for edge, text in edge_label.items()}
    names = [edge_label] if isinstance(edge_label, str) else edge_label
    if not (isinstance(names, list | tuple) and all(isinstance(name, str) for name in names)):
        raise TypeError(
            "edge_label must be None, the name of an attribute such as 'weight', a list of names, "
            f"or a dict of edge to text; got {readable_value(edge_label)}."
        )
    columns = [_texts_of_attribute(dag, name, strengths) for name in names]
    texts = {edge: [column[edge] for column in columns if edge in column] for edge in dag.edges}
    return {edge: ", ".join(parts) for edge, parts in texts.items() if parts}


def _texts_of_attribute(dag: nx.DiGraph, name: str, strengths: Strengths) -> dict[Edge, str]:
    """Return an attribute's texts; raise a ValueError if there are edges, and none has it."""
    if name == "standardised_weight" and is_parametrised(dag):
        return {edge: readable_weight(weight) for edge, weight in strengths.weights.items()}
    given = nx.get_edge_attributes(dag, name)
    found = {edge: value for edge, value in given.items() if value is not None}
    if dag.edges and not found:
        known = sorted({name for _, _, data in dag.edges(data=True) for name in data})
        raise ValueError(
            f"edge_label={name!r}: the edges have no attribute {name}. They have "
            f"{readable_value(known)}. Draw a fitted network for weights, a learner for "
            "score_loss, or a posterior or a bootstrap; or give a dict of edge to text."
        )
    return {edge: _readable(value, name) for edge, value in found.items()}


def _readable(value: Any, name: str) -> str:
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        return printable(str(value))
    if name in ("probability", "support"):
        return f"{float(value):.2f}"
    return f"{float(value):.3g}"


# Places of labels

_LABEL_PADDING = 1.5  # points around a label
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
_ROUNDS = 3  # each round places every label again, with the others fixed


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
) -> tuple[dict[Edge, Point], int, Layout]:
    """Place each label where it hides least of nodes, edges and other labels.

    Return the labels' centres, how many hide something, and the layout with room for them.
    """
    if not texts:
        return {}, 0, layout
    boxes = [(layout.positions[node], sizes[node]) for node in sizes]
    boxes += [(_head(route), (_HEAD, _HEAD)) for route in layout.routes.values()]
    centres = np.array([centre for centre, _ in boxes])
    halves = np.array([size for _, size in boxes]) / 2
    curves = {edge: sampled(route, _SPACING) for edge, route in layout.routes.items()}
    places = {}
    for edge, text in texts.items():
        width = text_width(text, font_size) + 2 * _LABEL_PADDING
        size = width, LINE_HEIGHT * font_size + 2 * _LABEL_PADDING
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
    return positions, n_hiding, layout._replace(extent=(left, right, bottom, top))


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
