"""Coordinates of ordered layers: where boxes stand, and the curves of the edges between them.

A layer is a strip as high as its highest box. A curve is drawn from the border of the parent's box
through a knot at the lower edge of its strip, two knots at the upper and the lower edge of each
strip that it passes, and one at the upper edge of the child's strip, to the border of its box.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from copy import copy
from itertools import pairwise
from typing import Self

import numpy as np
from scipy.interpolate import CubicSpline, PchipInterpolator
from scipy.optimize import isotonic_regression

from skbn._core.arrays import Floats, Integers
from skbn._displays.layout.order import Edge, Order

Size = tuple[float, float]
Sizes = Mapping[Hashable, Size]  # of nodes
Point = tuple[float, float]

# Lengths in points, chosen by looking at pictures.
CORNER = 5.0  # radius of the boxes' corners
_CLEARANCE = 5.0  # between an edge and a box
_BOX_GAP = 16.0  # between the boxes of a layer
_EDGE_GAP = 9.0  # in the middle of a layer, between an edge and its neighbours
_CLOSE_EDGE_GAP = 5.0  # the same where a layer would be too wide
_LEAST_EDGE_GAP = 4.0  # between two edges at the upper or the lower edge of a layer
_PORT_GAP = 8.0  # between edges at a box, where there is room
_LEAST_GAP, _GREATEST_GAP = 30.0, 84.0  # between two layers
_BAND_GAP = 10.0  # more than that between the layers of two bands
_STEEP = 0.42  # the least height over width of edges, up to the greatest gap
_AIM = 0.6  # how far an edge's end moves along its box, over the distance of its other end
_STIFF = 140.0  # the length over which bends count as much as slopes
_STILL = 1e-3  # the search for the best places ends with a step as short as this
_MOST_STEPS = 500  # or after this many
_ROUNDS = 3  # each places the items, then moves the edges' ends and the layers accordingly
_FAR = 1e6  # wider than any picture
_STAYS = 1e9  # the weight of a box that others move around


class Items:
    """The items of all layers, numbered layer by layer from left to right, in their places.

    Each edge has a path of items: its parent, itself in each layer that it passes, its child.

    `layers`, `orders`: as `order_layers` returns them
    `sizes`: the sizes of the boxes
    `bands`: the band of each box
    `width`: the width that layers keep to, as far as they have room in it
    `lanes`: the lane of each box, from the left. Boxes of a lane, which stand in different layers,
        have the same x. A layer's boxes are in the order of their lanes, and there is no `width`.
    """

    def __init__(
        self,
        layers: Sequence[int],
        orders: Sequence[Order],
        edges: Sequence[Edge],
        sizes: Sequence[Size],
        bands: Sequence[int] | None = None,
        width: float = np.inf,
        lanes: Sequence[int] | None = None,
    ) -> None:
        n = len(sizes)
        items = [(layer, item) for layer, order in enumerate(orders) for item in order]
        number = {item: k for k, item in enumerate(items)}
        self.boxes = [number[layer, v] for v, layer in enumerate(layers)]
        self.paths = []
        for e, (a, b) in enumerate(edges):
            passed = [number[layer, n + e] for layer in range(layers[a] + 1, layers[b])]
            self.paths.append([self.boxes[a], *passed, self.boxes[b]])
        self.layers = np.array([layer for layer, _ in items])
        self.widths, self.heights = np.zeros((2, len(items)))
        self.widths[self.boxes], self.heights[self.boxes] = np.transpose(sizes)
        self.strips = np.full(len(orders), 2 * _CLEARANCE)
        np.maximum.at(self.strips, self.layers, self.heights + 2 * _CLEARANCE)
        band_of = np.zeros(len(orders), int)
        if bands is not None:
            np.maximum.at(band_of, layers, bands)
            band_of = np.maximum.accumulate(band_of)
        self.more_gap = _BAND_GAP * np.diff(band_of).astype(bool)
        self.width = width
        self.distances = self._distances(_EDGE_GAP, _EDGE_GAP)
        if np.isfinite(width):
            close = self._distances(_CLOSE_EDGE_GAP, _CLOSE_EDGE_GAP)
            is_wide = self._layer_widths(self.distances) > width
            self.distances = np.where(is_wide[self.layers[1:]], close, self.distances)
        self.weights = np.ones(len(items))  # how much it costs to move each item
        wanted = np.zeros(len(items))
        if lanes is not None:
            self.weights[self.boxes] = _STAYS
            wanted[self.boxes] = self._lane_places(lanes)[list(lanes)]
        self.x = self._separated(wanted, self.distances, self.weights)
        self.ends = np.zeros((2, len(edges)))  # from the middle of the parent, and of the child
        self.space_layers()
        for _ in range(_ROUNDS):
            self._settle()
            self._aim_edges()
            self.space_layers()

    def _distances(self, from_box: float, from_edge: float) -> Floats:
        """Return how far each item must be from the one before; beyond all others for a layer."""
        n_boxes = (self.widths[1:] > 0).astype(int) + (self.widths[:-1] > 0)
        gaps = np.array([from_edge, from_box, _BOX_GAP])[n_boxes]
        distances = gaps + (self.widths[1:] + self.widths[:-1]) / 2
        return np.where(self.layers[1:] > self.layers[:-1], -_FAR, distances)

    def _layer_widths(self, distances: Floats) -> Floats:
        """Return how wide each layer is at least."""
        inside = np.where(distances > -_FAR / 2, distances, 0.0)
        widths = np.bincount(self.layers[1:], inside, len(self.strips))
        first, last = self._ends()
        return widths + (self.widths[first] + self.widths[last]) / 2

    def _ends(self) -> tuple[Integers, Integers]:
        """Return the first and the last item of each layer."""
        counts = np.bincount(self.layers)
        last = np.cumsum(counts) - 1
        return last - counts + 1, last

    def _lane_places(self, lanes: Sequence[int]) -> Floats:
        """Return the x of each lane: apart, and with room for what is between two boxes."""
        lane_of = dict(zip(self.boxes, lanes, strict=True))
        widest = np.zeros(max(lanes) + 1)
        np.maximum.at(widest, lanes, self.widths[self.boxes])
        starts = np.append(0.0, np.cumsum(self.distances))
        # How far each lane must be from some that come before.
        needs: list[list[tuple[int, float]]] = [[] for _ in widest]
        for lane, (width, other) in enumerate(pairwise(widest.tolist()), start=1):
            needs[lane].append((lane - 1, (width + other) / 2 + _BOX_GAP))
        for a, b in pairwise(sorted(lane_of)):
            if self.layers[a] == self.layers[b]:
                needs[lane_of[b]].append((lane_of[a], starts[b] - starts[a]))
        places = np.zeros(len(widest))
        for lane, before in enumerate(needs):
            places[lane] = max((places[other] + need for other, need in before), default=0.0)
        return places

    def _separated(self, wanted: Floats, distances: Floats, scale: Floats) -> Floats:
        """Move items as little as possible, to their distances apart and into the width."""
        shifts = np.append(0.0, np.cumsum(distances))
        x = np.asarray(isotonic_regression(wanted - shifts, weights=scale).x)
        if np.isfinite(self.width):
            # Items that are pushed together at an end of the layer are in the best places, too.
            first, last = self._ends()
            half = np.maximum(self.width, self._layer_widths(distances)) / 2
            low = self.widths[first] / 2 - half - shifts[first]
            high = half - self.widths[last] / 2 - shifts[last]
            x = np.clip(x, low[self.layers], high[self.layers])
        return x + shifts

    def _settle(self) -> None:
        """Place the items so that edges are short and bend little.

        The sum of the squared slopes and bends is a convex quadratic function. It is minimised by
        an accelerated projected gradient method (Beck & Teboulle 2009) with restarts.
        """
        if not self.paths:
            return
        hessian, shift = np.zeros((len(self.x), len(self.x))), np.zeros(len(self.x))
        y = self._middles()[self.layers]
        for path, ends in zip(self.paths, self.ends.T, strict=True):
            drops = -np.diff(y[path])[:, np.newaxis]
            slopes = np.diff(np.eye(len(path)), axis=0) / drops
            bends = np.diff(slopes, axis=0)
            form = slopes.T @ (drops * slopes)
            form += bends.T @ (_STIFF**2 / (drops[1:] + drops[:-1]) * 2 * bends)
            hessian[np.ix_(path, path)] += form
            shift[path] += form[:, [0, -1]] @ ends
        scale = hessian.diagonal().copy()
        scale[scale == 0] = scale.max()  # boxes without edges stay
        step = 1 / (np.abs(hessian).sum(axis=1) / scale).max()
        scale *= self.weights
        x = ahead = self.x
        momentum = 1.0
        for _ in range(_MOST_STEPS):
            wanted = ahead - step * (hessian @ ahead + shift) / scale
            moved = self._separated(wanted, self.distances, scale)
            change = moved - x
            if scale * (ahead - moved) @ change > 0:
                momentum = 1.0
            following = (1 + (1 + 4 * momentum**2) ** 0.5) / 2
            ahead = moved + (momentum - 1) / following * change
            x, momentum = moved, following
            if np.abs(change).max() < _STILL:
                break
        self.x = x

    def _aim_edges(self) -> None:
        """Move the ends of edges along their boxes, towards their other ends."""
        for ends, pairs in (
            (self.ends[0], [path[:2] for path in self.paths]),
            (self.ends[1], [path[:-3:-1] for path in self.paths]),
        ):
            for box in self.boxes:
                others = sorted((pair[1], e) for e, pair in enumerate(pairs) if pair[0] == box)
                if not others:
                    continue
                numbers, reached = np.transpose(others)
                reach = max(self.widths[box] / 2 - CORNER, 0.0)
                gap = min(_PORT_GAP, 2 * reach / max(len(others) - 1, 1))
                evenly = gap * (np.arange(len(others)) - (len(others) - 1) / 2)
                aims = _AIM * (self.x[numbers] - self.x[box])
                room = reach - evenly[-1]
                shifts = isotonic_regression(aims - evenly).x
                ends[reached] = evenly + np.clip(shifts, -room, room)

    def space_layers(self) -> None:
        """Move layers apart where edges between them would be flat."""
        widths = np.zeros(len(self.strips) - 1)
        for e, path in enumerate(self.paths):
            np.maximum.at(widths, self.layers[path[:-1]], np.abs(np.diff(self._through(e))))
        gaps = np.clip(_STEEP * widths, _LEAST_GAP, _GREATEST_GAP) + self.more_gap
        self.tops = -np.append(0.0, np.cumsum(self.strips[:-1] + gaps))

    def stretched(self, across: float, down: float) -> Self:
        """Return the items with the middles in a layer, and the gaps between layers, farther apart.

        Both are factors of 1 or more. Boxes keep their sizes, and edges their clearance.
        """
        items = copy(self)
        items.x = self.x * across
        gaps = down * (-np.diff(self.tops) - self.strips[:-1])
        items.tops = -np.append(0.0, np.cumsum(self.strips[:-1] + gaps))
        return items

    def _middles(self) -> Floats:
        return self.tops - self.strips / 2

    def _through(self, e: int) -> Floats:
        """Return the x of an edge in the middle of its path's layers."""
        x = self.x[self.paths[e]]
        x[[0, -1]] += self.ends[:, e]
        return x

    def centres(self) -> list[Point]:
        """Return the middle of each box."""
        places = np.column_stack([self.x, self._middles()[self.layers]])[self.boxes]
        return [(x, y) for x, y in np.round(places, 2).tolist()]

    def curves(self) -> list[list[Point]]:
        """Return the control points of each edge."""
        tops = self.tops[self.layers]
        bottoms = tops - self.strips[self.layers]
        splines, ends = [], []
        upper, lower = self.x.copy(), self.x.copy()
        for e, path in enumerate(self.paths):
            y = (tops + bottoms)[path] / 2
            y[0] -= self.heights[path[0]] / 2
            y[-1] += self.heights[path[-1]] / 2
            x = self._through(e)
            spline = CubicSpline(-y, x, bc_type="natural")
            passed = path[1:-1]
            upper[passed], lower[passed] = spline(-tops[passed]), spline(-bottoms[passed])
            splines.append(spline)
            ends.append(((x[0], y[0]), (x[-1], y[-1])))
        distances = self._distances(_CLEARANCE, _LEAST_EDGE_GAP)
        scale = np.where(self.widths > 0, _STAYS, 1.0)
        upper = self._separated(upper, distances, scale)
        lower = self._separated(lower, distances, scale)
        curves = []
        for path, spline, (start, end) in zip(self.paths, splines, ends, strict=True):
            # Beside its box an edge stays within the box's width, clear of the neighbours.
            leaving = np.clip(spline(-bottoms[path[0]]), start[0] - CORNER, start[0] + CORNER)
            entering = np.clip(spline(-tops[path[-1]]), end[0] - CORNER, end[0] + CORNER)
            knots = [start, (leaving, bottoms[path[0]])]
            for k in path[1:-1]:
                knots += [(upper[k], tops[k]), (lower[k], bottoms[k])]
            knots += [(entering, tops[path[-1]]), end]
            curves.append(_curve_through(np.array(knots)))
        return curves


def _curve_through(knots: Floats) -> list[Point]:
    """Lead a smooth curve through knots; between two of them it goes neither back nor beyond."""
    x, y = knots.T
    slopes = PchipInterpolator(-y, x)(-y, 1)
    controls = np.empty((3 * len(knots) - 2, 2))
    thirds = np.column_stack([slopes, np.full(len(knots), -1.0)]) / 3
    drops = -np.diff(y)[:, np.newaxis]
    controls[::3] = knots
    controls[1::3] = knots[:-1] + drops * thirds[:-1]
    controls[2::3] = knots[1:] - drops * thirds[1:]
    return [(a, b) for a, b in np.round(controls, 3).tolist()]


# Curves: cubic Bézier curves, as lists of 3k + 1 control points

_BISECTIONS = 30  # halvings, which find a point to a billionth of its curve


def cut_at_end(route: list[Point], length: float) -> list[Point]:
    """Return the curve up to the point this far from its end, or half of a shorter curve.

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
