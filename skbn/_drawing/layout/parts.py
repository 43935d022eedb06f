"""Where to put the parts of a network that no edge connects."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

__all__ = ["pack"]

Box = tuple[float, float]
Extent = tuple[float, float, float, float]
Point = tuple[float, float]

_ASPECT = 1.5  # width over height that is aimed at
_PART_GAP = 28.0
_NODE_GAP = 16.0


def pack(parts: Sequence[Extent], nodes: Sequence[Extent]) -> list[Point]:
    """Pack parts in rows, the highest first, and single nodes in a grid of their own.

    Of several widths of the rows and of the grid, those are taken that need the smallest page.

    Parameters
    ----------
    parts, nodes : sequences of (left, right, bottom, top)
        What is to be placed.

    Returns
    -------
    list of (x, y)
        By how much to move each of the parts, and each of the nodes.
    """
    sizes = [(right - left, top - bottom) for left, right, bottom, top in parts]
    singles = [(right - left, top - bottom) for left, right, bottom, top in nodes]
    best: tuple[float, list[Point]] | None = None
    for n_columns in range(1, len(nodes) + 1) if nodes else [0]:
        grid, grid_size = _grid(singles, n_columns)
        for corners, need in _ways_in_rows([*sizes, grid_size] if nodes else sizes):
            if best is None or need < best[0] - 1e-6:
                x, y = corners[-1] if nodes else (0.0, 0.0)
                corners = corners[: len(parts)] + [(x + a, y + b) for a, b in grid]
                best = need, corners
    if best is None:
        return []
    extents = [*parts, *nodes]
    return [(x - e[0], y - e[3]) for (x, y), e in zip(best[1], extents, strict=True)]


def _grid(boxes: Sequence[Box], n_columns: int) -> tuple[list[Point], Box]:
    """Give the left upper corners of boxes in a grid, and its size."""
    if not boxes:
        return [], (0.0, 0.0)
    columns = [max(width for width, _ in boxes[k::n_columns]) for k in range(n_columns)]
    lefts = [0.0, *accumulate(width + _NODE_GAP for width in columns)]
    rows = [boxes[k : k + n_columns] for k in range(0, len(boxes), n_columns)]
    tops = [0.0, *accumulate(-max(height for _, height in row) - _NODE_GAP for row in rows)]
    corners = [
        (lefts[k % n_columns] + (columns[k % n_columns] - boxes[k][0]) / 2, tops[k // n_columns])
        for k in range(len(boxes))
    ]
    return corners, (lefts[-1] - _NODE_GAP, -tops[-1] - _NODE_GAP)


def _ways_in_rows(boxes: Sequence[Box]) -> list[tuple[list[Point], float]]:
    """Give the left upper corners of boxes in rows of several widths, and the page needed."""
    order = sorted(range(len(boxes)), key=lambda i: -boxes[i][1])
    widest = max([width for width, _ in boxes], default=0.0)
    ways = []
    for limit in accumulate(boxes[i][0] + _PART_GAP for i in order):
        corners: list[Point] = [(0.0, 0.0)] * len(boxes)
        x = y = right = row = 0.0
        for i in order:
            width, height = boxes[i]
            if x and x + width > max(limit, widest):
                x, y = 0.0, y - row - _PART_GAP
            row = height if not x else row
            corners[i] = x, y
            x += width + _PART_GAP
            right = max(right, x - _PART_GAP)
        ways.append((corners, max(right / _ASPECT, row - y)))
    return ways
