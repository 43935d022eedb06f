"""ForestDisplay: estimates with their intervals, in rows."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from skbn._displays.appearance import style_for
from skbn._displays.display import Display

_WIDTH, _HEIGHT_A_ROW, _MARGIN = 6.0, 0.28, 0.9  # in inches


class ForestDisplay(Display):
    """Estimates as dots with their intervals, one below the other: a forest plot.

    The first stands at the top. The line at 0 stands for no effect; estimates that are not marked
    are grey.

    `estimates`, `low`, `high`: (k,), the dots, and where their intervals end
    `marked`: which ones are coloured; by default those whose interval leaves out 0
    """

    def __init__(
        self,
        labels: Sequence[str],
        estimates: Any,
        low: Any,
        high: Any,
        *,
        marked: Any = None,
        xlabel: str = "effect",
    ) -> None:
        self.labels = [str(label) for label in labels]
        self.estimates, self.low, self.high = (
            np.asarray(each, dtype=np.float64) for each in (estimates, low, high)
        )
        outside: Any = (self.low > 0) | (self.high < 0) if marked is None else marked
        self.marked = np.asarray(outside, dtype=bool)
        self.xlabel = xlabel
        shapes = {each.shape for each in (self.estimates, self.low, self.high, self.marked)}
        if shapes != {(len(self.labels),)} or not self.labels:
            raise ValueError(
                "A forest plot needs one estimate or more, each with a label and both ends; got "
                f"{len(self.labels)} labels and arrays of the shapes {shapes}."
            )

    @classmethod
    def from_effects(cls, effects: Any, level: float = 0.95, *, ax: Any = None) -> Self:
        """Draw several effects, the largest first, with intervals of this probability."""
        ordered = sorted(effects, key=lambda effect: -abs(effect.mean))
        labels = [effect._caption().removeprefix("Effect of ") for effect in ordered]
        if len({effect.source for effect in ordered}) > 1:
            labels = [f"{label}: {x.source}" for label, x in zip(labels, ordered, strict=True)]
        ends = [effect.interval(level) for effect in ordered]
        display = cls(
            labels,
            [effect.mean for effect in ordered],
            [low for low, _ in ends],
            [high for _, high in ends],
            xlabel=f"effect, {100 * level:g} % interval",
        )
        return display.plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the estimates on these axes, by default in a new figure."""
        k = len(self.labels)
        ax = self._own_axes(ax, (_WIDTH, _MARGIN + _HEIGHT_A_ROW * k))
        style = style_for(ax)
        places = np.arange(k)
        colours = np.where(self.marked, style.positive, style.neutral)
        ax.axvline(0, color=style.neutral, linewidth=1, zorder=0)
        ax.hlines(places, self.low, self.high, colors=colours, linewidth=2)
        ax.scatter(self.estimates, places, c=colours, s=30, zorder=3)
        ax.set(yticks=places, ylim=(k - 0.5, -0.5), xlabel=self.xlabel)
        ax.set_yticklabels(self.labels, parse_math=False)
        ax.spines[["left", "right", "top"]].set_visible(False)
        ax.tick_params(left=False)
        return self._drawn_on(ax=ax)
