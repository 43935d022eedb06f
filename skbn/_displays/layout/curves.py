"""Cubic Bézier curves, as lists of 3k + 1 control points."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from skbn._core.arrays import Floats

Point = tuple[float, float]

_BISECTIONS = 30  # halvings, which find a point to a billionth of its curve


def cut_at_end(route: list[Point], length: float) -> list[Point]:
    """Return the curve up to the point this far from its end, or half of a shorter curve.

    Examples
    --------
    >>> _, height = cut_at_end([(0, 0), (0, 3), (0, 6), (0, 9)], 3)[-1]
    >>> round(height, 6)
    6.0
    """
    end = route[-1]
    while len(route) > 4 and math.dist(route[-4], end) < length:
        route = route[:-3]
    piece = route[-4:]
    if len(route) == 4:
        length = min(length, math.dist(piece[0], end) / 2)
    low, high = 0.0, 1.0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if math.dist(split(piece, middle)[-1], end) > length:
            low = middle
        else:
            high = middle
    return route[:-4] + split(piece, high)


def halfway(a: Point, b: Point, share: float = 0.5) -> Point:
    """Return the point at a share of the way from one point to another."""
    return a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1])


def split(piece: list[Point], share: float) -> list[Point]:
    """Return the first part of a curve of four control points (de Casteljau)."""
    first = [piece[0]]
    while len(piece) > 1:
        piece = [halfway(a, b, share) for a, b in pairwise(piece)]
        first.append(piece[0])
    return first


def sampled(route: list[Point], spacing: float) -> Floats:
    """Return points of the curve from its start to its end, up to about a length apart."""
    pieces = [np.array(route[:1])]
    for k in range(0, len(route) - 1, 3):
        a, b, c, d = np.array(route[k : k + 4])
        length = np.hypot(*np.diff([a, b, c, d], axis=0).T).sum()
        t = np.linspace(0, 1, max(2, int(np.ceil(length / spacing)) + 1))[1:, np.newaxis]
        pieces.append(
            (1 - t) ** 3 * a + 3 * t * (1 - t) ** 2 * b + 3 * t**2 * (1 - t) * c + t**3 * d
        )
    return np.concatenate(pieces)
