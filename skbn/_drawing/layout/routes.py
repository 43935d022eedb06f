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
    while len(curve) > 4 and _inside(curve[3:4], centre, size)[0]:
        curve = curve[3:]
    low, high = 0.0, 1.0
    for _ in range(4):  # the border lies between these parameters, in the end 1e-6 apart
        t = np.linspace(low, high, 33)
        step = int(np.argmin(_inside(_points(curve[:4], t), centre, size)))
        low, high = float(t[max(step - 1, 0)]), float(t[step])
    return np.concatenate([_rest(curve[:4], high), curve[4:]])


def _points(piece: np.ndarray, t: np.ndarray) -> np.ndarray:
    t = t[:, None]
    a, b, c, d = piece
    return (1 - t) ** 3 * a + 3 * t * (1 - t) ** 2 * b + 3 * t**2 * (1 - t) * c + t**3 * d


def _rest(piece: np.ndarray, t: float) -> np.ndarray:
    """Give the part of a Bézier piece after the parameter t (de Casteljau)."""
    a = (1 - t) * piece[:-1] + t * piece[1:]
    b = (1 - t) * a[:-1] + t * a[1:]
    c = (1 - t) * b[:-1] + t * b[1:]
    return np.array([c[0], b[1], a[2], piece[3]])


def _inside(points: np.ndarray, centre: Point, size: tuple[float, float]) -> np.ndarray:
    half = np.array(size) / 2
    radius = min(CORNER, *half)
    beyond = np.maximum(np.abs(points - np.array(centre)) - (half - radius), 0)
    return np.asarray((beyond**2).sum(1) < radius**2)
