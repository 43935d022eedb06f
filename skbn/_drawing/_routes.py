"""Curves through the knots of edges, from border to border."""

from __future__ import annotations

import numpy as np
from scipy.interpolate import CubicSpline

__all__ = ["CORNER", "curve_through", "leave_box"]

CORNER = 5.0  # radius of the boxes' corners

Point = tuple[float, float]


def curve_through(knots: np.ndarray) -> np.ndarray:
    """Lead a smooth curve through knots, as the control points of cubic Bézier pieces.

    The height falls evenly over each piece. Within the bands of layers, every second piece, the
    curve keeps between its knots: it does not swing out to the boxes beside it.
    """
    x, y = knots.T
    drops = -np.diff(y)
    secants = np.diff(x) / drops
    slopes = CubicSpline(-y, x, bc_type="natural")(-y, 1)
    for k in range(0, len(secants), 2):
        for end in (k, k + 1):
            if slopes[end] * secants[k] <= 0:
                slopes[end] = 0.0
            elif abs(slopes[end]) > 3 * abs(secants[k]):
                slopes[end] = 3 * secants[k]
    points = [knots[0]]
    for k, drop in enumerate(drops):
        third = drop / 3
        points.append((x[k] + slopes[k] * third, y[k] - third))
        points.append((x[k + 1] - slopes[k + 1] * third, y[k + 1] + third))
        points.append(knots[k + 1])
    return np.array(points)


def leave_box(curve: np.ndarray, centre: Point, size: tuple[float, float]) -> np.ndarray:
    """Cut off what of a curve's beginning is in a box with rounded corners."""
    while _inside(curve[3], centre, size) and len(curve) > 4:
        curve = curve[3:]
    low, high = 0.0, 1.0
    piece = curve[:4]
    for _ in range(40):
        middle = (low + high) / 2
        if _inside(_split(piece, middle)[0], centre, size):
            low = middle
        else:
            high = middle
    return np.concatenate([_split(piece, high), curve[4:]])


def _split(piece: np.ndarray, t: float) -> np.ndarray:
    """The part of a Bézier piece after the parameter t."""
    a = (1 - t) * piece[:-1] + t * piece[1:]
    b = (1 - t) * a[:-1] + t * a[1:]
    c = (1 - t) * b[:-1] + t * b[1:]
    return np.array([c[0], b[1], a[2], piece[3]])


def _inside(point: np.ndarray, centre: Point, size: tuple[float, float]) -> bool:
    radius = min(CORNER, *(length / 2 for length in size))
    dx = abs(float(point[0]) - centre[0]) - (size[0] / 2 - radius)
    dy = abs(float(point[1]) - centre[1]) - (size[1] / 2 - radius)
    if dx <= 0 or dy <= 0:
        return max(dx, dy) < radius
    return bool(np.hypot(dx, dy) < radius)
