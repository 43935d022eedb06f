"""How nodes and edges are drawn."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

__all__ = ["Edge", "EdgeLook", "NodeLook"]

Edge = tuple[Hashable, Hashable]


class NodeLook(NamedTuple):
    """How a node is drawn: its name in lines, the box around it in points."""

    lines: list[str]
    size: tuple[float, float]
    face: str
    border: str
    text: str
    border_width: float = 0.8


class EdgeLook(NamedTuple):
    """How an edge is drawn: its width in points, the colour of its label."""

    colour: str
    width: float
    text: str
    has_head: bool = True
    line_style: Any = "-"
