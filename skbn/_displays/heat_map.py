"""Heat maps of edges: a row for each parent and a column for each child."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from skbn._core.arrays import Floats
from skbn._displays.appearance import style_for
from skbn._displays.display import Display, check_axes
from skbn._displays.labels import broken_into_lines, printable, text_width

LARGEST_WITH_NUMBERS = 20  # nodes; in larger maps the numbers are too small to read
# In sizes of the font: a cell, and the room for the colour bar beside and an axis's name below.
_CELL = 2.6
_ROOM = 10.0, 5.0
_LONGEST_NAME = 40  # characters in one line


class HeatMapDisplay(Display):
    """A display of a number for each pair of nodes."""

    nodes: list[Any]
    im_: Any

    def _draw_heat_map(
        self,
        values: Floats,
        *,
        ax: Any,
        colours: Sequence[str],
        limits: tuple[float, float],
        label: str,
        axes_labels: tuple[str, str] = ("parent", "child"),
        text_of: Callable[[float], str] | None,
    ) -> Self:
        """Draw an array of the nodes' pairs as a heat map.

        Parameters
        ----------
        values : ndarray of shape (m, m)
            Cells of NaN stay empty.
        ax : matplotlib.axes.Axes or None
            None stands for those of a new figure.
        colours : sequence of str
            Which of a style's colours the map goes through, from the lower limit to the upper one.
        limits : (float, float)
            The upper one is the larger one in absolute value.
        label : str
            What the colour bar shows.
        axes_labels : (str, str)
            What rows and columns are.
        text_of : callable or None
            Returns the text of a cell, which may be empty; None writes nothing.

        Raises
        ------
        TypeError
            If `ax` is something else.
        """
        from matplotlib import pyplot, rcParams
        from matplotlib.colors import LinearSegmentedColormap

        check_axes(ax)
        m = len(self.nodes)
        names = [_name(node) for node in self.nodes]
        if ax is None:
            font_size = float(rcParams["font.size"])
            lines = [line for name in names for line in name.split("\n")]
            room = max(text_width(line, font_size) for line in lines)
            side = m * _CELL * font_size + room
            figsize = (side + _ROOM[0] * font_size) / 72, (side + _ROOM[1] * font_size) / 72
            _, ax = pyplot.subplots(figsize=figsize, layout="constrained")
        style = style_for(ax)
        colour_map = LinearSegmentedColormap.from_list(
            label, [getattr(style, colour) for colour in colours]
        )
        image = ax.imshow(values, cmap=colour_map, vmin=limits[0], vmax=limits[1], origin="upper")
        ax.set_facecolor(style.ground)
        ax.set_xticks(range(m), names, rotation=90, parse_math=False, usetex=False)
        ax.set_yticks(range(m), names, parse_math=False, usetex=False)
        ax.set(xlabel=axes_labels[1], ylabel=axes_labels[0])
        ax.set_xticks(np.arange(m - 1) + 0.5, minor=True)
        ax.set_yticks(np.arange(m - 1) + 0.5, minor=True)
        ax.grid(visible=False, which="major")
        ax.grid(which="minor", color=style.border, linewidth=0.3)
        ax.tick_params(which="both", length=0)
        ax.figure.colorbar(image, ax=ax, label=label, shrink=0.7)
        for row, column in np.argwhere(~np.isnan(values)):
            value = values[row, column]
            text = "" if text_of is None else text_of(value)
            colour = style.ground if abs(value) > 0.6 * limits[1] else style.text
            if text:
                ax.text(
                    column, row, text, ha="center", va="center", fontsize="x-small", color=colour
                )
        self.im_ = image
        return self._drawn_on(ax=ax)


def _name(node: Any) -> str:
    name = printable(str(node))
    return name if len(name) <= _LONGEST_NAME else "\n".join(broken_into_lines(name))
