"""What nodes, edges and their ground look like: colours, boxes and lines."""

from collections.abc import Hashable
from typing import Any, NamedTuple

import networkx as nx
import numpy as np

from skbn._core.arrays import Floats, Names, finite_number
from skbn._core.graphs import LinearModel, is_parametrised
from skbn._core.text import must_be, readable_value

Edge = tuple[Hashable, Hashable]

_OPACITY = 0.3  # the share of their colour that faint nodes and edges keep
READABLE_OPACITY = 0.5  # the same of text that can still be read
BAND_OPACITY = 0.07  # the share of the text's colour in a band: pale, but visible in print


class Style(NamedTuple):
    """Colours of a picture, as matplotlib takes them.

    The colours of edges are from Okabe & Ito (2008), which colour-blind readers can tell apart.
    Comparisons use other colours than signs do, so that no colour means two things.
    """

    ground: str
    text: str
    box: str
    border: str
    chosen: str  # the box of a highlighted node
    beside: str  # the box of a node at the other end of its edges
    accent: str  # the border of both
    positive: str
    negative: str
    neutral: str
    missing: str
    extra: str
    reversed: str

    def faint(self, colour: Any, opacity: float = _OPACITY) -> str:
        """Return a colour mixed with the ground, which keeps this share of it."""
        from matplotlib.colors import to_hex, to_rgb

        pairs = zip(to_rgb(colour), to_rgb(self.ground), strict=True)
        return to_hex([opacity * own + (1 - opacity) * ground for own, ground in pairs])

    @property
    def is_light(self) -> bool:
        """Whether text is dark, on a light ground."""
        from matplotlib.colors import to_rgb

        return _luminance(to_rgb(self.text)) < 0.5


# For a light ground, and for a dark one.
_COLOURS = {
    "ground": ("#FFFFFF", "#000000"),
    "text": ("#1A1A1A", "#F2F2F2"),
    "box": ("#F3F3F0", "#2C2C2E"),
    "border": ("#8A8A8A", "#8E8E93"),
    "chosen": ("#FFD94D", "#8A6A00"),
    "beside": ("#FFF3C4", "#4A3F1A"),
    "accent": ("#B07D00", "#F0E442"),
    "positive": ("#0072B2", "#56B4E9"),
    "negative": ("#D55E00", "#E69F00"),
    "neutral": ("#777777", "#A0A0A0"),
    "missing": ("#AA4499", "#DD77DD"),
    "extra": ("#117733", "#44DD99"),
    "reversed": ("#1A1A1A", "#F2F2F2"),
}
LIGHT, DARK = (Style(**{name: both[i] for name, both in _COLOURS.items()}) for i in (0, 1))


def style_for(ax: Any) -> Style:
    """Return the colours that suit the background of the figure of some axes."""
    from matplotlib import rcParams
    from matplotlib.colors import to_hex, to_rgba

    for figure in (ax.figure, ax.figure.figure):  # a transparent subfigure shows its figure
        *colour, alpha = to_rgba(figure.get_facecolor())
        if alpha > 0:
            style = LIGHT if _luminance(colour) > 0.4 else DARK
            return style._replace(ground=to_hex(colour))
    # The background is unknown, but the colour of text was chosen to be readable on it.
    return DARK if _luminance(to_rgba(rcParams["text.color"])[:3]) > 0.5 else LIGHT


def text_on(face: Any) -> str:
    """Return black or white, whichever can be read better on a colour."""
    from matplotlib.colors import to_rgb

    # The contrast ratios of the Web Content Accessibility Guidelines 2.1, with black and white.
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(face)]
    luminance = _luminance(linear)
    black, white = (luminance + 0.05) / 0.05, 1.05 / (luminance + 0.05)
    return "#000000" if black >= white else "#FFFFFF"


def _luminance(colour: Any) -> float:
    red, green, blue = colour
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


# The least probability or support of each line style, the firmest first. Dashes also tell firm
# edges from doubtful ones in black and white.
LINE_STYLES: dict[float, Any] = {0.9: "-", 0.5: (0, (4, 1.6)), 0.0: (0, (1.2, 1.6))}
WIDTHS = 0.8, 4.0  # line widths in points for standardised weights of 0, and of 1 or more
_LEAST_OPACITY = 0.3  # for probability 0: the thinnest line can still be seen


def width_for(weight: float) -> float:
    """Return the width of an edge of a standardised weight."""
    return WIDTHS[0] + (WIDTHS[1] - WIDTHS[0]) * min(abs(weight), 1.0)


def opacity_for(confidence: float) -> float:
    """Return the opacity of an edge of a probability or support."""
    return _LEAST_OPACITY + (1 - _LEAST_OPACITY) * confidence


def line_style_for(confidence: float) -> Any:
    """Return the line style of an edge of a probability or support."""
    return next(style for least, style in LINE_STYLES.items() if confidence >= least)


class NodeLook(NamedTuple):
    """How a node is drawn: its name in lines, the box around it in points."""

    lines: list[str]
    size: tuple[float, float]
    face: str
    border: str
    text: str
    border_width: float = 0.8


class Swatch(NamedTuple):
    """A sample of a node in a legend: the colour of its box, and the width of its border."""

    face: Any
    border_width: float = 0.8


class EdgeLook(NamedTuple):
    """How an edge is drawn.

    Its width is in points, and `text` is the colour of its label. Without an opacity, the line and
    the arrowhead are opaque. `hollow` is the colour inside an arrowhead whose border alone has the
    edge's own colour. `has_dots` marks both ends, so that a line without an arrowhead is not read
    as a part of an edge that goes on behind a box.
    """

    colour: str
    width: float
    text: str
    has_head: bool = True
    line_style: Any = "-"
    opacity: float | None = None
    hollow: str | None = None
    has_dots: bool = False


# How strong edges are, by standardised weights, and how sure, by probability or support

_NAMES = {"probability": "posterior probability", "support": "bootstrap support"}
_ROUNDING = 1e-9  # a probability may exceed 1 by this, because sums of many shares are rounded


# Weights


class Strengths(NamedTuple):
    """How strong a network's edges are."""

    # each edge's weight, scaled by the standard deviations that the network implies. Empty for a
    # graph without parameters; edges whose parent does not vary are left out.
    weights: dict[Edge, float]
    held: set[Hashable]  # the nodes that do not vary, because `do` holds them at a value


def readable_weight(weight: float) -> str:
    """Return a standardised weight to two decimals, and zero without a sign.

    >>> readable_weight(-0.126), readable_weight(-0.001)
    ('-0.13', '0.00')
    """
    return f"{round(weight, 2) + 0.0:.2f}"


def strengths_of(dag: nx.DiGraph) -> Strengths:
    """Return how strong a network's edges are.

    Raises ValueError if a parameter is missing, not a finite number or a negative variance, or if a
    mean or a variance is out of float64's range.
    """
    if not is_parametrised(dag):  # with nodes of several columns, some edges have weights
        known = dag.edges(data="standardised_weight")
        held = {v for v, is_held in dag.nodes(data="held") if is_held}
        return Strengths({(a, b): float(w) for a, b, w in known if w is not None}, held)
    model = LinearModel.from_networkx(dag)
    held = {v for v, own in zip(model.nodes, model.standard_deviations(), strict=True) if own == 0}
    return Strengths(model.standardised_weights(), held)


# Probabilities


# What the edges of averaged networks say of their pairs, and the share of these that one way must
# exceed to have an arrowhead.
_PAIRS = {"probability": "joined", "support": "strength"}
ONE_WAY = 0.75


def pair_texts(graph: nx.DiGraph) -> dict[Edge, str]:
    """Return how surely pairs are joined, where that is known, and whether either way is likely.

    >>> pair_texts(nx.DiGraph([("a", "b", {"support": 0.4, "strength": 0.79})]))
    {('a', 'b'): '0.79, either way'}
    """
    texts = {}
    for a, b, data in graph.edges(data=True):
        for own, pair in _PAIRS.items():
            if own in data and pair in data:
                share, back = data[own], data[pair] - data[own]
                most = ONE_WAY * data[pair]
                way = "" if share > most else ", mostly back" if back > most else ", either way"
                texts[a, b] = f"{data[pair]:.2f}{way}"
    return texts


class Confidence(NamedTuple):
    """How sure each edge is."""

    name: str  # what the numbers are: "posterior probability" or "bootstrap support"
    values: dict[Edge, float]  # from 0 to 1; empty if nothing is known


def confidence_in(graph: nx.DiGraph) -> Confidence:
    """Return the attribute `probability` of the edges, or else their attribute `support`.

    Where it is known how surely pairs are joined, that is returned.

    >>> confidence_in(nx.DiGraph([("a", "b", {"support": 0.5})]))
    Confidence(name='bootstrap support', values={('a', 'b'): 0.5})
    """
    edges = graph.edges.items()
    for attribute, name in _NAMES.items():
        pair = _PAIRS[attribute]
        given = {edge: d.get(pair, d[attribute]) for edge, d in edges if attribute in d}
        if not given:
            continue
        if missing := [edge for edge in graph.edges if edge not in given]:
            raise ValueError(
                f"The edge {_edge(*missing[0])} has no attribute {attribute}, but "
                f"{_edge(*next(iter(given)))} has one. Give it to all edges, or to none."
            )
        values = {edge: _probability(value, edge, attribute) for edge, value in given.items()}
        return Confidence(name, values)
    return Confidence("", {})


def square_array(array: Any, names: Names | None) -> tuple[Floats, list[Any]]:
    """Return an array of numbers for edges i -> j, with NaN on the diagonal, and the names.

    `array`: array-like of shape (m, m) or data frame, which names its columns, and its rows in any
        order
    `names`: None stands for the names in the data frame, or for 0 to m - 1
    """
    try:
        values = np.array(array, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(must_be("values", "numbers, of edges i -> j at [i, j]", array)) from None
    m = len(values) if values.ndim else 0
    if m == 0 or values.shape != (m, m):
        raise ValueError(f"values must have shape (m, m), for m nodes; got shape {values.shape}.")
    columns = getattr(array, "columns", None)
    if columns is not None:
        rows = [*getattr(array, "index", columns)]
        columns = [*columns]
        if len({*columns}) < m or {*rows} != {*columns}:
            raise ValueError(
                "The rows and columns of values must have the same names, each once; got "
                f"{readable_value(rows)} and {readable_value(columns)}."
            )
        values = values[[rows.index(name) for name in columns]]
    if names is None:
        names = range(m) if columns is None else columns
    names = list(names)
    if len(names) != m or len({*names}) < m:
        raise ValueError(
            f"names must have a different name for each of the {m} columns; got "
            f"{readable_value(names)}."
        )
    np.fill_diagonal(values, np.nan)
    return values, names


def checked_probabilities(values: Floats, names: Names) -> Floats:
    """Return probabilities without rounding errors; raise unless all are from 0 to 1."""
    wrong = ~((values >= -_ROUNDING) & (values <= 1 + _ROUNDING))
    np.fill_diagonal(wrong, False)
    for i, j in np.argwhere(wrong):
        _probability(values[i, j], (names[i], names[j]))  # raises
    return values.clip(0.0, 1.0)


def joined_probabilities(values: Floats, names: Names) -> Floats:
    """Return the probabilities that two nodes are joined by an edge of either direction.

    A network has no edges of both directions, so these are the sums.

    >>> joined_probabilities(np.array([[np.nan, 0.25], [0.5, np.nan]]), ["a", "b"])
    array([[ nan, 0.75],
           [0.75,  nan]])
    """
    sums = values + values.T
    for i, j in np.argwhere(sums > 1 + _ROUNDING):
        raise ValueError(
            f"The probabilities of edges {_edge(names[i], names[j])} and "
            f"{_edge(names[j], names[i])} exceed 1 in sum: {values[i, j]:.3g} and "
            f"{values[j, i]:.3g}. A network has one of them at most."
        )
    return np.minimum(sums, 1.0)


def _probability(value: Any, edge: Edge, attribute: str = "probability") -> float:
    """Return the probability of an edge as a float, or raise a ValueError that names the edge."""
    name = f"The {attribute} of edge {_edge(*edge)}"
    number = finite_number(value, name)
    if not -_ROUNDING <= number <= 1 + _ROUNDING:
        raise ValueError(f"{name} must be from 0 to 1; got {readable_value(value)}.")
    return min(max(number, 0.0), 1.0)


def _edge(parent: Hashable, child: Hashable) -> str:
    return f"{parent!r} -> {child!r}"
