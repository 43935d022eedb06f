"""What is written in a picture: the names of nodes, in lines, and texts at edges."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, NamedTuple, Self

import networkx as nx
import numpy as np

from skbn._core.linear_model import is_parametrised
from skbn._core.text import readable_value
from skbn._drawing.appearance import Edge
from skbn._drawing.probabilities import probabilities_of, readable_probability
from skbn._drawing.weights import Strengths, readable_weight

__all__ = ["LINE_HEIGHT", "NodeNames", "broken_into_lines", "edge_texts", "printable", "text_width"]

_LINE_LENGTH = 14  # characters, if there is a sign to break the name after
_LONGEST_WORD = 28  # characters, if there is none
_PADDING = 8.0, 5.0  # points between a name and the border
_NARROWEST = 24.0
LINE_HEIGHT = 1.2  # in font sizes


class NodeNames(NamedTuple):
    """The names of nodes, broken into lines, and the sizes of their boxes.

    Parameters
    ----------
    lines : dict of node to list of str
    sizes : dict of node to (width, height)
        In points.
    """

    lines: dict[Hashable, list[str]]
    sizes: dict[Hashable, tuple[float, float]]

    @classmethod
    def of(cls, nodes: Iterable[Hashable], font_size: float) -> Self:
        """Break the names of nodes into lines and measure them, with matplotlib."""
        lines = {node: broken_into_lines(str(node)) for node in nodes}
        return cls(lines, {node: _box_size(lines[node], font_size) for node in lines})


def broken_into_lines(name: str) -> list[str]:
    """Break a name after spaces and punctuation.

    Only spaces at the end of a line are lost.

    Examples
    --------
    >>> broken_into_lines("od280/od315_of_diluted_wines")
    ['od280/od315_of_', 'diluted_wines']
    """
    lines: list[str] = []
    for part in name.splitlines():
        part = printable(part)
        lines.append("")
        for word in re.findall(rf"[^\s_/.:-]{{1,{_LONGEST_WORD}}}[\s_/.:-]*|[\s_/.:-]+", part):
            if lines[-1] and len((lines[-1] + word).rstrip(" _/.:-")) > _LINE_LENGTH:
                lines.append("")
            lines[-1] += word
    return [line.rstrip() for line in lines] or [""]


def printable(text: str) -> str:
    r"""Return a text in which codes replace the characters that cannot be drawn.

    Examples
    --------
    >>> print(printable("a\0"))
    a\x00
    """
    return "".join(_printable(c) for c in text)


def _printable(character: str) -> str:
    if character.isspace():
        return " "
    # Some scripts need joiners to spell a word.
    is_drawn = character.isprintable() or character in "\u200c\u200d"
    return character if is_drawn else ascii(character)[1:-1]


def text_width(text: str, font_size: float) -> float:
    """Return how wide a line is drawn, in points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font: Any = FontProperties(size=font_size)
    return float(text_to_path.get_text_width_height_descent(text, font, ismath=False)[0])


def _box_size(lines: list[str], font_size: float) -> tuple[float, float]:
    width = max(text_width(line, font_size) for line in lines) + 2 * _PADDING[0]
    return max(width, _NARROWEST), len(lines) * LINE_HEIGHT * font_size + 2 * _PADDING[1]


def edge_texts(dag: nx.DiGraph, edge_labels: Any, strengths: Strengths) -> dict[Edge, str]:
    """Return the texts of the edges that have one.

    Edges whose parent does not vary have no standardised weight, and get no text for it.

    Raises
    ------
    ValueError
        If `edge_labels` is not a bool, "weight", "probability" or a dict, names an edge that does
        not exist, or asks for weights or probabilities of a graph without them.
    """
    if isinstance(edge_labels, Mapping):
        for edge in edge_labels:
            if not (isinstance(edge, tuple) and len(edge) == 2 and dag.has_edge(*edge)):
                raise ValueError(f"edge_labels: there is no edge {readable_value(edge)}.")
        return {edge: printable(str(text)) for edge, text in edge_labels.items()}
    if isinstance(edge_labels, bool | np.bool_):
        if not edge_labels:
            return {}
        _require_weights(dag)
        return {edge: readable_weight(weight) for edge, weight in strengths.weights.items()}
    if isinstance(edge_labels, str) and edge_labels == "weight":
        _require_weights(dag)
        return {(a, b): f"{weight:.3g}" for a, b, weight in dag.edges(data="weight")}
    if isinstance(edge_labels, str) and edge_labels == "probability":
        return _texts_of_probabilities(dag)
    raise ValueError(
        "edge_labels must be a bool, 'weight', 'probability' or a dict of edge to text; got "
        f"{readable_value(edge_labels)}."
    )


def _require_weights(dag: nx.DiGraph) -> None:
    """Raise a ValueError if the edges of a graph have no weights."""
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


def _texts_of_probabilities(dag: nx.DiGraph) -> dict[Edge, str]:
    """Return the text of each edge's probability; raise a ValueError if edges have none."""
    probabilities = probabilities_of(dag)
    if dag.edges and not probabilities:
        raise ValueError(
            "edge_labels='probability' was asked for, but the edges have no attribute probability, "
            "as those of GaussianBNPosterior.dag_ have. Set it, or give a dict of texts."
        )
    return {edge: readable_probability(value) for edge, value in probabilities.items()}
