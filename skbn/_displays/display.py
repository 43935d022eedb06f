"""Display: what all displays share."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, Self


class Display:
    """Draws with matplotlib in `plot`, and keeps the axes and the figure.

    A derived class begins `plot` by `_require_matplotlib` and ends it by `_drawn_on`.
    """

    ax_: Any
    axes_: Any
    figure_: Any

    def _require_matplotlib(self) -> None:
        """Raise an ImportError that says how to install matplotlib, which is optional."""
        if find_spec("matplotlib") is None:
            raise ImportError(
                f"{type(self).__name__}.plot requires matplotlib. You can install it with "
                "`pip install matplotlib`."
            )

    def _drawn_on(self, *, ax: Any = None, axes: Any = None) -> Self:
        """Keep one axes or an array of several, with their figure; return the display."""
        if axes is None:
            self.ax_, self.figure_ = ax, ax.figure
        else:
            self.axes_, self.figure_ = axes, axes.flat[0].figure
        return self


def check_axes(ax: Any) -> None:
    """Raise a TypeError unless a picture can be drawn on these axes, or they are None."""
    from matplotlib.axes import Axes

    if ax is None or (isinstance(ax, Axes) and ax.name != "3d"):
        return
    raise TypeError(f"ax must be one matplotlib.axes.Axes in a plane; got {type(ax).__name__}.")
