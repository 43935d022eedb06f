"""Legends: what the colours, widths and dashes of a picture mean, in rows below it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import networkx as nx

from skbn._displays.appearance import (
    LINE_STYLES,
    Edge,
    EdgeLook,
    Style,
    line_style_for,
    opacity_for,
    width_for,
)
from skbn._displays.edge_measures import Confidence
from skbn._displays.labels import text_width
from skbn._displays.layout.curves import Point
from skbn._displays.node_colours import NodeColours

# Lengths in font sizes.
_SAMPLE, _SAMPLE_GAP, _ENTRY_GAP = 2.6, 0.5, 1.2  # a line or swatch, and the gaps after it
_ROW = 1.6  # height
_ABOVE = 1.0  # gap between picture and legend
_LEAST_WIDTH = 36.0  # narrow pictures get a legend this wide, so that few rows are broken

_STRENGTHS = (0.25, 0.5, 1.0)  # the weights whose widths are shown
# Line widths in points, where the sample shows a colour, or whether there is an arrowhead.
_SIGN_WIDTH, _WAY_WIDTH = 2.4, 1.5


class LegendRow(NamedTuple):
    """A title, and what each sample means.

    Parameters
    ----------
    title : str
    entries : list of (EdgeLook or colour of a node, str)
    """

    title: str
    entries: list[tuple[EdgeLook | Any, str]]


class Legend(NamedTuple):
    """A legend in its place, in the units of a layout.

    Parameters
    ----------
    texts : list of ((x, y), str)
        The left ends of the texts, and the middle of their height.
    samples : list of ((x, y), EdgeLook or colour of a node)
        The left ends of the samples.
    sample_width, height, font_size : float
    """

    texts: list[tuple[Point, str]]
    samples: list[tuple[Point, EdgeLook | Any]]
    sample_width: float
    height: float
    font_size: float


def legend_rows(
    dag: nx.DiGraph,
    signs: Mapping[Edge, int],
    looks: Mapping[Edge, EdgeLook],
    strengths: Iterable[float],
    confidence: Confidence,
    colours: NodeColours,
    style: Style,
) -> list[LegendRow]:
    """Return the rows of a legend: signs, arrowheads, widths, dashes and colours that occur.

    Parameters
    ----------
    dag : networkx.DiGraph
    signs : dict of edge to int
        The signs of the edges' weights.
    looks : dict of edge to EdgeLook
    strengths : iterable of float
        The sizes of their standardised weights.
    confidence : Confidence
    colours : NodeColours
    style : Style
    """
    rows = []
    strengths = [*strengths]
    kinds: list[tuple[Any, str]] = []
    for sign, name in ((1, "positive"), (-1, "negative")):
        heads = {looks[edge].has_head for edge, other in signs.items() if other == sign}
        if heads:
            colour, hollow = (style.positive, None) if sign > 0 else (style.negative, style.ground)
            look = EdgeLook(colour, _SIGN_WIDTH, style.text, any(heads), hollow=hollow)
            kinds.append((look, name))
    if kinds:
        rows.append(LegendRow("weight", kinds))
    if any("coefficients" in dag.edges[edge] and not sign for edge, sign in signs.items()):
        look = EdgeLook(style.neutral, _SIGN_WIDTH, style.text, True)
        rows.append(LegendRow("", [(look, "several weights (of levels or columns)")]))
    if any("level" in dag.nodes[node] and dag.degree(node) for node in dag):
        rows.append(LegendRow("two levels: the sign is that of the level in the box", []))
    has_heads = {look.has_head for look in looks.values()}
    if False in has_heads:
        ways: list[tuple[Any, str]] = [
            (EdgeLook(style.neutral, _WAY_WIDTH, style.text, has_head), name)
            for has_head, name in ((True, "directed"), (False, "undirected"))
            if has_head in has_heads
        ]
        rows.append(LegendRow("edge", ways))
    if strengths:
        largest = max(strengths)
        shown = [s for i, s in enumerate(_STRENGTHS) if i == 0 or largest > _STRENGTHS[i - 1]]
        widths = [EdgeLook(style.neutral, width_for(s), style.text, False) for s in shown]
        texts = ["1 or more" if s == 1 else f"{s:g}" for s in shown]
        rows.append(LegendRow("standardised weight", list(zip(widths, texts, strict=True))))
    if confidence.values:
        rows.append(LegendRow(confidence.name, _confidence_entries(confidence, style)))
    if colours.meanings:
        rows.append(LegendRow(colours.name, [(c, text) for text, c in colours.meanings.items()]))
    return rows


def _confidence_entries(confidence: Confidence, style: Style) -> list[tuple[Any, str]]:
    """Return a sample of each line style that occurs, the firmest first."""
    found = {line_style_for(value) for value in confidence.values.values()}
    entries = []
    bounds = [1.0, *LINE_STYLES]
    for high, (low, line_style) in zip(bounds, LINE_STYLES.items(), strict=False):
        if line_style not in found:
            continue
        text = f"{low:g} to {high:g}" if low > 0 else f"below {high:g}"
        opacity = opacity_for((low + high) / 2)
        look = EdgeLook(style.text, 2.0, style.text, False, line_style, opacity)
        entries.append((look, text))
    return entries


def place_legend(
    rows: Sequence[LegendRow], left: float, right: float, bottom: float, font_size: float
) -> tuple[Legend, float]:
    """Place a legend below a picture; rows that are too wide are broken.

    Return it, and how far it extends to the right.
    """
    width = max(right - left, _LEAST_WIDTH * font_size)
    sample = _SAMPLE * font_size
    texts: list[tuple[Point, str]] = []
    samples: list[tuple[Point, Any]] = []
    y, furthest = bottom - _ABOVE * font_size, left
    for title, entries in rows:
        x = left
        y -= _ROW * font_size / 2
        if title:
            texts.append(((x, y), title))
            x += text_width(title, font_size) + _ENTRY_GAP * font_size
            furthest = max(furthest, x)
        start = x
        for look, text in entries:
            entry = sample + _SAMPLE_GAP * font_size + text_width(text, font_size)
            if x > start and x + entry > left + width:
                x, y = start, y - _ROW * font_size
            samples.append(((x, y), look))
            texts.append(((x + sample + _SAMPLE_GAP * font_size, y), text))
            furthest = max(furthest, x + entry)
            x += entry + _ENTRY_GAP * font_size
        y -= _ROW * font_size / 2
    return Legend(texts, samples, sample, bottom - y, font_size), furthest
