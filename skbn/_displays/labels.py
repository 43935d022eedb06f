"""What is written in a picture: the names of nodes, in lines, and texts at edges."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping
from numbers import Real
from types import MappingProxyType
from typing import Any, NamedTuple, Self

import networkx as nx
import numpy as np

from skbn._core.graphs import is_parametrised
from skbn._core.text import readable_value
from skbn._displays.appearance import Edge
from skbn._displays.edge_measures import Strengths, readable_probability, readable_weight

LINE_LENGTH = 16  # characters of a line, if the name can be broken after a sign
_LONGEST_WORD = 28  # characters of a line, if it cannot
_PADDING = 8.0, 5.0  # points between a name and the border of its box
_NARROWEST = 24.0  # points: boxes of one letter are still boxes
LINE_HEIGHT = 1.2  # in font sizes
_WITHOUT_WEIGHTS = "Fit a GaussianBayesianNetwork of the graph. "
_REMEDIES = {
    "weight": _WITHOUT_WEIGHTS,
    "standardised_weight": _WITHOUT_WEIGHTS,
    "probability": "Those of GaussianBNPosterior.dag_ have it. ",
    "support": "Those of BootstrapBNLearner.dag_ have it. ",
    "score_loss": "The network of a learner knows it. ",
}


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

    There are no more lines than that takes, about equally long. Only spaces at the end of a line
    are lost.

    Examples
    --------
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


def edge_texts(dag: nx.DiGraph, edge_label: Any, strengths: Strengths) -> dict[Edge, str]:
    """Return the texts of the edges that have one.

    Edges whose parent does not vary have no standardised weight, and get no text for it.

    Raises
    ------
    ValueError
        If a dict names an edge that does not exist, or if no edge has an attribute.
    TypeError
        If `edge_label` is something else.
    """
    if edge_label is None:
        return {}
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
        remedy = f"They have {readable_value(known)}. "
        if "coefficients" not in known:  # edges of several weights have no single one
            remedy = _REMEDIES.get(name, remedy)
        raise ValueError(
            f"edge_label={name!r}: the edges have no attribute {name}. {remedy}You can also give a "
            "dict of edge to text."
        )
    return {edge: _readable(value, name) for edge, value in found.items()}


def _readable(value: Any, name: str) -> str:
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        return printable(str(value))
    if name in ("probability", "support"):
        return readable_probability(float(value))
    return f"{float(value):.3g}"
