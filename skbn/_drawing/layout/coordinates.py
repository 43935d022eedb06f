"""Coordinates of ordered layers: where boxes stand, and which knots their edges pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from skbn._drawing.layout.program import CLEARANCE, Edge, Program, Size

__all__ = ["Coordinates", "place_items"]

_LEAST_GAP, _FIRST_GAP, _GREATEST_GAP = 30.0, 44.0, 84.0  # between the bands of two layers
_STEEP = 0.5  # height over width of edges that the gaps make room for
_TALL = 1.2  # height over width beyond which a picture is spread sideways
_MOST_SPREAD = 1.5


class Coordinates(NamedTuple):
    """Centres of the boxes, and the knots of each edge, from its parent to its child."""

    centres: list[tuple[float, float]]
    knots: list[np.ndarray]


def place_items(
    layers: Sequence[int],
    orders: Sequence[Sequence[int]],
    edges: Sequence[Edge],
    sizes: Sequence[Size],
) -> Coordinates:
    """Place the nodes of ordered layers, and the knots of the edges between them.

    An edge has a knot in the middle of its parent, where it leaves the parent's layer, where it
    enters and leaves each layer that it passes, where it enters its child's layer, and in the
    middle of its child. First all layers are equally far apart, then as far as the edges between
    them need, so that they do not become too flat; a tall picture is spread sideways.
    """
    heights = [max([sizes[v][1] for v in order if v < len(sizes)], default=0) for order in orders]
    bands = [height + 2 * CLEARANCE for height in heights]
    program = Program(layers, orders, edges, sizes)
    gaps = [_FIRST_GAP] * (len(orders) - 1)
    x = program.solve(bands, gaps)
    spread = ((sum(bands) + sum(gaps)) / (_TALL * float(np.ptp(x)) + 1)) ** 0.5
    program.spread = min(max(spread, 1.0), _MOST_SPREAD)
    gaps = [_gap(width, program.spread) for width in program.widths_between(x)]
    x = program.solve(bands, gaps)
    tops, middles, bottoms = _levels(bands, gaps)
    x = np.round(x, 2)
    knots = []
    for e, (a, b) in enumerate(edges):
        top, bottom = layers[a], layers[b]
        levels = [middles[top], bottoms[top]]
        for layer in range(top + 1, bottom):
            levels += [tops[layer], bottoms[layer]]
        levels += [tops[bottom], middles[bottom]]
        start = program.first[e]
        knots.append(np.column_stack([x[start : start + len(levels)], levels]))
    return Coordinates([(float(x[v]), middles[layers[v]]) for v in range(len(sizes))], knots)


def _gap(width: float, spread: float) -> float:
    """Return the gap between two layers, by how far an edge goes sideways between them."""
    least = _LEAST_GAP / spread**0.5
    return round(min(max(width * _STEEP / spread**2, least), _GREATEST_GAP), 1)


def _levels(
    bands: Sequence[float], gaps: Sequence[float]
) -> tuple[list[float], list[float], list[float]]:
    """Give the tops, middles and bottoms of layers."""
    tops, bottoms, y = [], [], 0.0
    for band, gap in zip(bands, [*gaps, 0.0], strict=True):
        tops.append(y)
        bottoms.append(y - band)
        y -= band + gap
    return tops, [(t + b) / 2 for t, b in zip(tops, bottoms, strict=True)], bottoms
