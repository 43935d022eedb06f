"""The axes that users give."""

from __future__ import annotations

from typing import Any

__all__ = ["check_axes"]


def check_axes(ax: Any) -> None:
    """Raise unless this is what a picture can be drawn on, or None.

    Raises
    ------
    TypeError
        If it is something else, such as an array of axes.
    """
    from matplotlib.axes import Axes

    if ax is None or (isinstance(ax, Axes) and ax.name != "3d"):
        return
    raise TypeError(f"ax must be one matplotlib.axes.Axes in a plane; got {type(ax).__name__}.")
