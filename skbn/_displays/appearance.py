"""What nodes, edges and their ground look like: colours, boxes and lines."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

Edge = tuple[Hashable, Hashable]

_OPACITY = 0.3  # how much of their colour faint nodes and edges keep
READABLE_OPACITY = 0.5  # the same of text that can still be read
BAND_OPACITY = 0.07  # how much of the text's colour a band has: pale, but paper still shows it


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
    blanket: str  # the box of a node in its Markov blanket
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


LIGHT = Style(
    ground="#FFFFFF",
    text="#1A1A1A",
    box="#F3F3F0",
    border="#8A8A8A",
    chosen="#FFD94D",
    blanket="#FFF3C4",
    accent="#B07D00",
    positive="#0072B2",
    negative="#D55E00",
    neutral="#777777",
    missing="#AA4499",
    extra="#117733",
    reversed="#1A1A1A",
)
DARK = Style(
    ground="#000000",
    text="#F2F2F2",
    box="#2C2C2E",
    border="#8E8E93",
    chosen="#8A6A00",
    blanket="#4A3F1A",
    accent="#F0E442",
    positive="#56B4E9",
    negative="#E69F00",
    neutral="#A0A0A0",
    missing="#DD77DD",
    extra="#44DD99",
    reversed="#F2F2F2",
)


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


class EdgeLook(NamedTuple):
    """How an edge is drawn.

    Its width is in points, and `text` is the colour of its label. Without an opacity, the line and
    the arrowhead are opaque. `hollow` is the colour inside an arrowhead whose border alone has the
    edge's own colour.
    """

    colour: str
    width: float
    text: str
    has_head: bool = True
    line_style: Any = "-"
    opacity: float | None = None
    hollow: str | None = None
