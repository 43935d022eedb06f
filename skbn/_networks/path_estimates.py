"""PathEffects: through what a cause acts, with the uncertainty of several networks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from skbn._core.arrays import Floats
from skbn._core.text import readable_name, text_table
from skbn._data.nodes import Nodes
from skbn._displays.forest_display import ForestDisplay
from skbn._displays.frames import frame_of, html_table
from skbn._networks.effect_estimates import EffectEstimate
from skbn._networks.effects import path_columns
from skbn._networks.gaussian import LinearGaussianModel

_MOST_SHOWN = 10
_HEADER = ["path", "present", "mean", "95 % interval", "share"]


@dataclass(frozen=True, eq=False, repr=False)
class PathEffects:
    """A total effect and its parts along directed paths, over networks of a posterior.

    A path has the effect 0 in networks without it. Shares are of the mean total effect, and may be
    negative or above 1 if paths work against each other.

    `GaussianBNPosterior.path_effects` returns it, and has an example.

    Parameters
    ----------
    cause, outcome : object
    paths : dict of tuple of nodes to ndarray of shape (n_networks,)
        The effects along each path.
    n_networks : int
    source : str
        What the networks are of.
    """

    cause: Any
    outcome: Any
    paths: dict[tuple[Any, ...], Floats]
    n_networks: int
    source: str

    def _sum(self, counts: Callable[[tuple[Any, ...]], bool]) -> EffectEstimate:
        """Return the sum over some of the paths."""
        values = np.zeros(self.n_networks)
        for path, of_path in self.paths.items():
            if counts(path):
                values += of_path
        n = self.n_networks
        known, ones = np.zeros(n), np.full(n, 1.0)
        return EffectEstimate(
            self.cause, self.outcome, values, known, ones / n, np.inf * ones, self.source
        )

    @property
    def total(self) -> EffectEstimate:
        """The total effect, the sum over all paths."""
        return self._sum(lambda path: True)

    @property
    def direct(self) -> EffectEstimate:
        """The effect along the edge from the cause to the outcome."""
        return self._sum(lambda path: len(path) == 2)

    @property
    def indirect(self) -> EffectEstimate:
        """The effect along all other paths."""
        return self._sum(lambda path: len(path) > 2)

    @property
    def mediated_share(self) -> float:
        """The mean indirect effect over the mean total effect; NaN without a path."""
        total = self.total.mean
        return self.indirect.mean / total if total else np.nan

    def to_frame(self, level: float = 0.95) -> Any:
        """Return a table with a row for each path, the largest mean first.

        Parameters
        ----------
        level : float, default=0.95
            The probability of the intervals, from 0 to 1.

        Returns
        -------
        table : pandas.DataFrame, or a table as a dict of lists without pandas
            Its columns are `path`, `present` (the probability of the path), `mean`, `std`, `low`,
            `high` and `share`.
        """
        return self._frame({path: self._sum(path.__eq__) for path in self.paths}, "path", level)

    def mediators(self, level: float = 0.95) -> Any:
        """Return a table with a row for each node between: the effect along all paths through it.

        Paths through several nodes count for each of them, so that shares do not sum to 1.

        Parameters
        ----------
        level : float, default=0.95
            The probability of the intervals, from 0 to 1.

        Returns
        -------
        table : pandas.DataFrame, or a table as a dict of lists without pandas
            As `to_frame`, with `mediator` in the place of `path`.
        """
        between = dict.fromkeys(node for path in self.paths for node in path[1:-1])
        through = {node: self._sum(partial(_passes, node)) for node in between}
        return self._frame(through, "mediator", level)

    def _frame(self, effects: dict[Any, EffectEstimate], name: str, level: float) -> Any:
        total = self.total.mean or np.nan
        ordered = sorted(effects, key=lambda key: -abs(effects[key].mean))
        found = [effects[key] for key in ordered]
        ends = [effect.interval(level) for effect in found]
        return frame_of(
            {
                name: [list(key) if name == "path" else key for key in ordered],
                "present": [1 - effect.probability_zero for effect in found],
                "mean": [effect.mean for effect in found],
                "std": [effect.std for effect in found],
                "low": [low for low, _ in ends],
                "high": [high for _, high in ends],
                "share": [effect.mean / total for effect in found],
            }
        )

    def plot(self, level: float = 0.95, *, n: int = 20, ax: Any = None) -> ForestDisplay:
        """Draw the effects along the paths with their intervals: a forest plot.

        Parameters
        ----------
        level : float, default=0.95
            The probability of the intervals, from 0 to 1.
        n : int, default=20
            How many paths are drawn at most.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        display : ForestDisplay

        Raises
        ------
        ValueError, ImportError
            If there is no path, or matplotlib is not installed.
        """
        frame = self.to_frame(level)
        labels = [" → ".join(map(str, path)) for path in frame["path"]]
        columns = [list(frame[name])[:n] for name in ("mean", "low", "high")]
        return ForestDisplay(labels[:n], *columns, xlabel="effect along the path").plot(ax=ax)

    def __repr__(self) -> str:
        return "\n".join([self._caption(), text_table(self._lines(), "lrrrr", _HEADER)])

    def _repr_html_(self) -> str | None:
        return html_table(self._caption(), self._lines(), "lrrrr", _HEADER)

    def _caption(self) -> str:
        n, shown = len(self.paths), f", the {_MOST_SHOWN} largest" * (len(self.paths) > _MOST_SHOWN)
        return (
            f"Effect of do({readable_name(self.cause)}) on {readable_name(self.outcome)}: "
            f"{self.total.mean:.3g}, {100 * self.mediated_share:.0f} % mediated; {n} paths{shown}"
        )

    def _lines(self) -> list[list[str]]:
        frame = self.to_frame()
        names = "path", "present", "mean", "low", "high", "share"
        rows = zip(*(list(frame[name]) for name in names), strict=True)
        lines = [
            [
                " -> ".join(map(readable_name, path)),
                f"{present:.3g}",
                f"{mean:.3g}",
                f"{low:.3g} to {high:.3g}",
                f"{share:.2f}",
            ]
            for path, present, mean, low, high, share in rows
        ]
        return lines[:_MOST_SHOWN]


def _passes(node: Any, path: tuple[Any, ...]) -> bool:
    return node in path[1:-1]


def path_estimates(
    models: Sequence[LinearGaussianModel], nodes: Nodes, cause: Any, outcome: Any, source: str
) -> PathEffects:
    """Return the effects along the paths of all networks.

    Raises
    ------
    ValueError
        As `path_columns`.
    """
    paths: dict[tuple[Any, ...], Floats] = {}
    for i, model in enumerate(models):
        found = path_columns(model, nodes, cause, outcome)
        for path, effect in zip(found["path"], found["effect"], strict=True):
            paths.setdefault(tuple(path), np.zeros(len(models)))[i] = effect
    return PathEffects(cause, outcome, paths, len(models), source)
