"""What nodes, edges and their ground look like: colours, boxes and lines."""

from __future__ import annotations

from collections.abc import Hashable
from importlib.util import find_spec
from typing import Any, NamedTuple

__all__ = [
    "DARK",
    "LIGHT",
    "Edge",
    "EdgeLook",
    "NodeLook",
    "Style",
    "check_axes",
    "require_matplotlib",
    "style_for",
]

Edge = tuple[Hashable, Hashable]

_OPACITY = 0.3  # of faint nodes and edges


class Style(NamedTuple):
    """Colours of a picture, as matplotlib takes them.

    The colours of edges are from Okabe & Ito (2008), which colour-blind readers can tell apart.
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

    def faint(self, colour: str) -> str:
        """Return a faint version of a colour, which does not catch the eye."""
        from matplotlib.colors import to_hex, to_rgb

        pairs = zip(to_rgb(colour), to_rgb(self.ground), strict=True)
        return to_hex([_OPACITY * own + (1 - _OPACITY) * ground for own, ground in pairs])


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
    missing="#D55E00",
    extra="#0072B2",
    reversed="#B5548A",
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
    missing="#E69F00",
    extra="#56B4E9",
    reversed="#E08CBB",
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


def _luminance(colour: Any) -> float:
    red, green, blue = colour
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


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
    the arrowhead are opaque.
    """

    colour: str
    width: float
    text: str
    has_head: bool = True
    line_style: Any = "-"
    opacity: float | None = None


def require_matplotlib(caller: str) -> None:
    """Raise an ImportError that says how to install matplotlib, which is optional."""
    if find_spec("matplotlib") is None:
        raise ImportError(
            f"{caller} requires matplotlib. You can install it with `pip install matplotlib`."
        )


def check_axes(ax: Any) -> None:
    """Raise a TypeError unless a picture can be drawn on these axes, or they are None."""
    from matplotlib.axes import Axes

    if ax is None or (isinstance(ax, Axes) and ax.name != "3d"):
        return
    raise TypeError(f"ax must be one matplotlib.axes.Axes in a plane; got {type(ax).__name__}.")
