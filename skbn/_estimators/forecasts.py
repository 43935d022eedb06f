"""Forecasts and impulse responses of lagged tables, as frames and pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from scipy.special import ndtri

from skbn._core.arrays import Floats
from skbn._core.text import readable_value
from skbn._displays.appearance import style_for
from skbn._displays.display import Display
from skbn._displays.frames import PlainTable, frame_of

_PANEL = 3.2, 2.2  # width and height in inches


@dataclass(eq=False, repr=False)
class Forecast(Display):
    """The distribution of the next steps of a series, as `LaggedTable.forecast` returns it.

    Each value is Gaussian, given the network and the values so far.

    Parameters
    ----------
    columns : list of m nodes
    means : ndarray of shape (k, n_steps, m)
        For each of k series.
    deviations : ndarray of shape (n_steps, m)
        The standard deviations, 0 where a value is set. They are those of the noise to come, and
        leave out that the weights are estimates.
    series : list of k hashables
        [None] for a single series.
    labels : pandas.Index or list of int
        What the steps are called: the times that go on those of the table, or 1 to n_steps.
    level : float
        The probability of intervals for which none is given.

    See Also
    --------
    LaggedTable.forecast : Makes one, and has an example.
    """

    columns: list[Any]
    means: Floats
    deviations: Floats
    series: list[Any]
    labels: Any
    level: float = 0.9

    @property
    def mean(self) -> Any:
        """The means: a data frame with a row for each step, or for each series and step."""
        return self._frame(self.means)

    @property
    def std(self) -> Any:
        """The standard deviations, in a data frame like the means."""
        return self._frame(np.broadcast_to(self.deviations, self.means.shape))

    def interval(self, level: float | None = None) -> tuple[Any, Any]:
        """Return the lower and the upper ends of intervals with a given probability.

        Parameters
        ----------
        level : float, optional
            Between 0 and 1; by default that of `forecast`.

        Returns
        -------
        low, high : two data frames like the means

        Raises
        ------
        ValueError
            If the level is not between 0 and 1.
        """
        margin = self._margin(level)
        return self._frame(self.means - margin), self._frame(self.means + margin)

    def to_frame(self, level: float | None = None) -> Any:
        """Return a table with a row for each step and column.

        Parameters
        ----------
        level : float, optional
            As in `interval`.

        Returns
        -------
        table : pandas.DataFrame
            With the columns `series` if there are several, `step`, `column`, `mean`, `std`, `low`
            and `high`. Without pandas, a dict of these that is displayed as a table.
        """
        margin = self._margin(level)
        places = [*np.ndindex(self.means.shape)]
        several = {"series": [self.series[s] for s, _, _ in places]} if self._are_several else {}
        return frame_of(
            several
            | {
                "step": [self.labels[h] for _, h, _ in places],
                "column": [self.columns[v] for _, _, v in places],
                "mean": self.means.ravel(),
                "std": np.broadcast_to(self.deviations, self.means.shape).ravel(),
                "low": (self.means - margin).ravel(),
                "high": (self.means + margin).ravel(),
            }
        )

    def plot(self, level: float | None = None) -> Forecast:
        """Draw the means and the intervals, a panel for each column and a line for each series.

        Parameters
        ----------
        level : float, optional
            As in `interval`.

        Returns
        -------
        forecast : Forecast
            Itself, with the attributes `axes_` and `figure_`.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        self._require_matplotlib()
        margin, labels = self._margin(level), [*self.labels]
        steps = [each.to_timestamp() if hasattr(each, "to_timestamp") else each for each in labels]
        axes = _panels(len(self.columns))
        for v, (ax, column) in enumerate(zip(axes.flat, self.columns, strict=False)):
            for s, name in enumerate(self.series):
                mean = self.means[s, :, v]
                (line,) = ax.plot(steps, mean, label=None if name is None else str(name))
                band = mean - margin[:, v], mean + margin[:, v]
                ax.fill_between(steps, *band, color=line.get_color(), alpha=0.2, linewidth=0)
            ax.set_title(str(column))
            ax.tick_params("x", rotation=30)
        if self._are_several:
            axes.flat[0].legend()
        return self._drawn_on(axes=axes)

    def __repr__(self) -> str:
        return f"<Forecast of {len(self.labels)} steps>\n{self.mean}"

    @property
    def _are_several(self) -> bool:
        return self.series != [None]

    def _margin(self, level: float | None) -> Floats:
        return np.asarray(quantile_of(self.level if level is None else level) * self.deviations)

    def _frame(self, values: Floats) -> Any:
        outer = {"series": self.series} if self._are_several else {}
        return by_step(values, self.columns, outer, self.labels)


def quantile_of(level: float) -> float:
    """Return the half width of the standard normal's interval, or raise for no such level."""
    if isinstance(level, bool) or not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1; got {readable_value(level)}.")
    return float(ndtri((1 + level) / 2))


def by_step(values: Floats, columns: list[Any], outer: dict[str, list[Any]], labels: Any) -> Any:
    """Return values of shape (..., n_steps, m) as a data frame with a row for each step.

    `outer` names what the axes before are. Without pandas these and the steps are columns.
    """
    rows = values.reshape(-1, len(columns))
    keys = [*outer.values(), [*labels]]
    names = [*outer, "step"]
    try:
        import pandas as pd
    except ImportError:
        index = zip(*product(*keys), strict=True)
        own = dict(zip(names, map(list, index), strict=True))
        return PlainTable(own | {str(c): rows[:, v] for v, c in enumerate(columns)})
    if outer:
        index = pd.MultiIndex.from_product(keys, names=names)
    else:
        index = labels if isinstance(labels, pd.Index) else pd.Index(labels, name="step")
    return pd.DataFrame(rows, index=index, columns=pd.Index(columns, tupleize_cols=False))


@dataclass(eq=False, repr=False)
class ImpulseResponses(Display):
    """How columns respond to shocks, step by step, as `LaggedTable.impulse_responses` returns it.

    ``responses["cold", "price"]`` are the responses of price to a shock of cold, from the step of
    the shock on.

    Parameters
    ----------
    columns : list of m nodes
    values : ndarray of shape (n_networks, n_steps + 1, m, m)
        ``[n, h, i, j]`` is the response of column j, h steps after a shock of column i, by network
        n: of a posterior's draws, of a bootstrap's resamples, or a single one.

    Attributes
    ----------
    mean, std : ndarray of shape (n_steps + 1, m, m)
        Over the networks. A single network has no standard deviation.

    See Also
    --------
    LaggedTable.impulse_responses : Makes one, and has an example.
    """

    columns: list[Any]
    values: Floats

    @property
    def mean(self) -> Floats:
        return np.asarray(self.values.mean(axis=0))

    @property
    def std(self) -> Floats:
        return np.asarray(self._several().std(axis=0, ddof=1))

    def interval(self, level: float = 0.9) -> tuple[Floats, Floats]:
        """Return the ends of intervals in which a share of the networks lies.

        Parameters
        ----------
        level : float, default=0.9

        Returns
        -------
        low, high : two ndarrays of shape (n_steps + 1, m, m)

        Raises
        ------
        ValueError
            If the level is not between 0 and 1; if there is a single network.
        """
        quantile_of(level)
        low, high = np.quantile(self._several(), [(1 - level) / 2, (1 + level) / 2], axis=0)
        return low, high

    def __getitem__(self, pair: tuple[Any, Any]) -> Floats:
        i, j = (self._number(column) for column in pair)
        return self.mean[:, i, j]

    def to_frame(self, level: float = 0.9) -> Any:
        """Return a table with a row for each cause, effect and step.

        Parameters
        ----------
        level : float, default=0.9
            Of the intervals.

        Returns
        -------
        table : pandas.DataFrame
            With the columns `cause`, `effect`, `step` and `response`; `low` and `high` if there are
            several networks. Without pandas, a dict of these that is displayed as a table.
        """
        n, m = self.values.shape[1], len(self.columns)
        places = [(i, j, h) for i in range(m) for j in range(m) for h in range(n)]
        i, j, h = np.array(places).reshape(-1, 3).T
        ends = (
            dict(zip(("low", "high"), self.interval(level), strict=True)) if self._has_bands else {}
        )
        return frame_of(
            {
                "cause": [self.columns[v] for v in i],
                "effect": [self.columns[v] for v in j],
                "step": h,
                "response": self.mean[h, i, j],
            }
            | {name: values[h, i, j] for name, values in ends.items()}
        )

    def plot(
        self, causes: Sequence[Any] | None = None, effects: Sequence[Any] | None = None,
        *, level: float = 0.9,
    ) -> ImpulseResponses:  # fmt: skip
        """Draw the responses, a panel for each cause and effect, with bands if there are any.

        Parameters
        ----------
        causes, effects : list of nodes, optional
            By default all columns.
        level : float, default=0.9
            Of the bands.

        Returns
        -------
        responses : ImpulseResponses
            Itself, with the attributes `axes_` and `figure_`.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        self._require_matplotlib()
        causes, effects = ([*(self.columns if own is None else own)] for own in (causes, effects))
        axes, mean = _panels(len(causes) * len(effects), len(effects)), self.mean
        ends = self.interval(level) if self._has_bands else ()
        pairs = ((cause, effect) for cause in causes for effect in effects)
        for ax, (cause, effect) in zip(axes.flat, pairs, strict=True):
            i, j = self._number(cause), self._number(effect)
            (line,) = ax.plot(mean[:, i, j])
            if ends:
                band = (end[:, i, j] for end in ends)
                ax.fill_between(range(len(mean)), *band, color=line.get_color(), alpha=0.2)
            ax.axhline(0, color=style_for(ax).border, linewidth=0.8)
            ax.set_title(f"{cause} on {effect}")
        return self._drawn_on(axes=axes)

    def __repr__(self) -> str:
        n, h, m, _ = self.values.shape
        networks = f"{n} networks" if self._has_bands else "one network"
        return f"<ImpulseResponses of {m} columns, steps 0 to {h - 1}, by {networks}>"

    @property
    def _has_bands(self) -> bool:
        return len(self.values) > 1

    def _several(self) -> Floats:
        if not self._has_bands:
            raise ValueError(
                "A single network does not say how sure its responses are. Pass a fitted "
                "GaussianBNPosterior or BootstrapBNLearner."
            )
        return self.values

    def _number(self, column: Any) -> int:
        if column not in self.columns:
            raise ValueError(
                f"There is no modelled column {readable_value(column)}; the columns are "
                f"{readable_value(self.columns)}."
            )
        return self.columns.index(column)


def _panels(n: int, n_columns: int | None = None) -> Any:
    """Return the axes of n panels, in rows of at most four."""
    from matplotlib import pyplot

    width = min(n, 4) if n_columns is None else n_columns
    height = -(-n // width)
    size = _PANEL[0] * width, _PANEL[1] * height
    figure, axes = pyplot.subplots(height, width, figsize=size, layout="constrained", squeeze=False)
    for ax in [*axes.flat][n:]:
        figure.delaxes(ax)
    return axes


def networks_of(source: Any, n_samples: int, random_state: Any) -> Iterator[Any]:
    """Yield the networks of a posterior's draws, of a bootstrap, of a list, or a single one."""
    if hasattr(source, "sample_networks"):
        yield from source.sample_networks(n_samples, random_state)
    elif hasattr(source, "networks_"):
        yield from source.networks_
    elif isinstance(source, list | tuple):
        yield from source
    else:
        yield getattr(source, "network_", source)
