"""Forecasts and impulse responses of lagged tables, as frames and pictures."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from skbn._core.arrays import Booleans, Floats, finite_number, level_of
from skbn._core.columns import is_missing, reject_unknown
from skbn._core.graphs import propagate
from skbn._core.subsets import mask_of
from skbn._core.text import must_be, readable_value
from skbn._displays.appearance import style_for
from skbn._displays.display import Display, new_panels
from skbn._displays.notebook import PlainTable, frame_of

_PANEL = 3.2, 2.2  # width and height in inches
_BISECTIONS = 50


@dataclass(eq=False, repr=False)
class Forecast(Display):
    """The distribution of the next steps of a series, as `LaggedTable.forecast` returns it.

    By each network a value is Gaussian, given the values so far; several count alike. A single
    network's forecast leaves out that weights and edges are estimates.

    Parameters
    ----------
    columns : list of m nodes
    means : ndarray of shape (n_networks, k, n_steps, m)
        For each of k series.
    deviations : ndarray of shape (n_networks, n_steps, m)
        The standard deviations of the noise to come, 0 where a value is set.
    series : list of k hashables
        [None] for a single series.
    labels : pandas.Index or list of int
        What the steps are called: the times after those of the table, or 1 to n_steps.
    level : float
        The probability of intervals for which none is given.
    source : str
        What the networks are; empty for a single one.

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
    source: str = ""

    @property
    def mean(self) -> Any:
        """The means: a data frame with a row for each step, or for each series and step."""
        return self._frame(self._mean)

    @property
    def std(self) -> Any:
        """The standard deviations, in a data frame like the means."""
        return self._frame(self._std)

    def interval(self, level: float | None = None) -> tuple[Any, Any]:
        """Return the lower and the upper ends of intervals with a given probability.

        Parameters
        ----------
        level : float, optional
            Between 0 and 1; by default that of `forecast`.

        Returns
        -------
        low, high : two data frames like the means
            Of several networks, quantiles of the mixture of their distributions.
        """
        low, high = self._ends(level)
        return self._frame(low), self._frame(high)

    def to_frame(self, level: float | None = None) -> Any:
        """Return a table with a row for each step and column.

        Parameters
        ----------
        level : float, optional
            As in `interval`.

        Returns
        -------
        table : pandas.DataFrame, or a dict that is displayed as a table without pandas
            With the columns `series` if there are several, `step`, `column`, `mean`, `std`, `low`
            and `high`.
        """
        mean, (low, high) = self._mean, self._ends(level)
        places = [*np.ndindex(mean.shape)]
        several = {"series": [self.series[s] for s, _, _ in places]} if self._are_several else {}
        return frame_of(
            several
            | {
                "step": [self.labels[h] for _, h, _ in places],
                "column": [self.columns[v] for _, _, v in places],
                "mean": mean.ravel(),
                "std": self._std.ravel(),
                "low": low.ravel(),
                "high": high.ravel(),
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
        """
        self._require_matplotlib()
        mean, (low, high), labels = self._mean, self._ends(level), [*self.labels]
        steps = [each.to_timestamp() if hasattr(each, "to_timestamp") else each for each in labels]
        axes = new_panels(len(self.columns), min(len(self.columns), 4), _PANEL)
        for v, (ax, column) in enumerate(zip(axes.flat, self.columns, strict=False)):
            for s, name in enumerate(self.series):
                label = None if name is None else str(name)
                (line,) = ax.plot(steps, mean[s, :, v], label=label)
                band = low[s, :, v], high[s, :, v]
                ax.fill_between(steps, *band, color=line.get_color(), alpha=0.2, linewidth=0)
            ax.set_title(str(column))
            ax.tick_params("x", rotation=30)
        if self._are_several:
            axes.flat[0].legend()
        return self._drawn_on(axes=axes)

    def __repr__(self) -> str:
        known = "one network; intervals leave out that it is an estimate"
        return f"<Forecast of {len(self.labels)} steps by {self.source or known}>\n{self.mean}"

    @property
    def _are_several(self) -> bool:
        return self.series != [None]

    @property
    def _mean(self) -> Floats:
        return np.asarray(self.means.mean(axis=0))

    @property
    def _std(self) -> Floats:
        of_noise = (self.deviations**2).mean(axis=0)
        return np.asarray(np.sqrt(of_noise + self.means.var(axis=0)))

    def _ends(self, level: float | None) -> tuple[Floats, Floats]:
        """Return quantiles of shape (k, n_steps, m), series by series to save memory."""
        level = level_of(self.level if level is None else level)
        by_series, tail = self.means.swapaxes(0, 1), (1 - level) / 2
        low, high = (
            np.stack([mixture_quantile(q, own, self.deviations) for own in by_series])
            for q in (tail, 1 - tail)
        )
        return low, high

    def _frame(self, values: Floats) -> Any:
        outer = {"series": self.series} if self._are_several else {}
        return by_step(values, self.columns, outer, self.labels)


def mixture_quantile(q: float, means: Floats, deviations: Floats) -> Floats:
    """Return a quantile of mixtures of normal distributions, the first axis, by bisection."""
    quantiles = means + ndtri(q) * deviations
    low, high = quantiles.min(axis=0), quantiles.max(axis=0)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        with np.errstate(divide="ignore", invalid="ignore"):  # where values are set
            is_below = ndtr((middle - means) / deviations).mean(axis=0) < q
        low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
        if np.array_equal(low, high):
            break
    return np.asarray((low + high) / 2)


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
        n.

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
        level = level_of(level)
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
            The probability of the intervals.

        Returns
        -------
        table : pandas.DataFrame, or a dict that is displayed as a table without pandas
            With the columns `cause`, `effect`, `step` and `response`; `low` and `high` if there are
            several networks.
        """
        n, m = self.values.shape[1], len(self.columns)
        i, j, h = np.indices((m, m, n)).reshape(3, -1)
        columns: dict[str, Any] = {
            "cause": [self.columns[v] for v in i],
            "effect": [self.columns[v] for v in j],
            "step": h,
            "response": self.mean[h, i, j],
        }
        if self._has_bands:
            low, high = self.interval(level)
            columns |= {"low": low[h, i, j], "high": high[h, i, j]}
        return frame_of(columns)

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
            The probability of the bands.

        Returns
        -------
        responses : ImpulseResponses
            Itself, with the attributes `axes_` and `figure_`.
        """
        self._require_matplotlib()
        causes, effects = ([*(self.columns if own is None else own)] for own in (causes, effects))
        axes, mean = new_panels(len(causes) * len(effects), len(effects), _PANEL), self.mean
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
                "GaussianBNPosterior or BootstrapBNLearner, or near-optimal networks."
            )
        return self.values

    def _number(self, column: Any) -> int:
        if column not in self.columns:
            raise ValueError(
                f"There is no modelled column {readable_value(column)}; the columns are "
                f"{readable_value(self.columns)}."
            )
        return self.columns.index(column)


@dataclass(frozen=True)
class Dynamics:
    """A network of a lagged table, in arrays."""

    columns: list[Any]  # m nodes, those of the present
    # the columns that are not modelled, with the nodes that they belong to
    given: dict[Any, Hashable]
    # (n_lags + 1, m, m): ``weights[k, i, j]`` is the effect of column i on column j after k steps
    weights: Floats
    intercept: Floats  # (m,)
    deviation: Floats  # (m,): the noise's

    @property
    def modelled(self) -> list[int]:
        """The numbers of the columns that are modelled."""
        return [v for v, column in enumerate(self.columns) if column not in self.given]

    @property
    def n_lags(self) -> int:
        return len(self.weights) - 1

    def whole(self, is_held: Booleans) -> Floats:
        """Return the total effects of the columns on each other within a step."""
        within = np.where(is_held, 0.0, self.weights[0])
        parents = [mask_of(np.flatnonzero(column).tolist()) for column in within.T]
        return propagate(np.eye(len(within)), within, parents)

    def paths(self, past: Floats, held: Floats, noise: Floats | None = None) -> Floats:
        """Return the values of some steps, in each of k series, (k, n_steps, m).

        `past`: (k, n_lags, m), from lag 1 on
        `held`: (k, n_steps, m), the values that are given or set, NaN elsewhere, in the same places
            of all series
        `noise`: (k, n_steps, m), standard noise; without it, these are the means
        """
        values = [*past.transpose(1, 0, 2)[::-1]]
        for step in range(held.shape[1]):
            own = self.intercept + self._from_before(values)
            if noise is not None:
                own += noise[:, step] * self.deviation
            is_held = ~np.isnan(held[0, step])
            own[:, is_held] = held[:, step, is_held]
            values.append(own @ self.whole(is_held))
        return np.stack(values[self.n_lags :], axis=1)

    def standard_deviations(self, is_held: Booleans) -> Floats:
        """Return those of the values about their means, shape (n_steps, m).

        `is_held` has that shape, too. All noise up to a step has its row of responses.
        """
        m = len(self.columns)
        responses = [np.zeros((0, m))] * self.n_lags
        for held in is_held:
            own = np.vstack([self._from_before(responses), np.diag(self.deviation)])
            own[:, held] = 0.0
            responses.append(own @ self.whole(held))
        return np.sqrt([(each**2).sum(axis=0) for each in responses[self.n_lags :]])

    def responses(self, n_steps: int, shocks: Floats) -> Floats:
        """Return the responses to shocks of the columns, shape (n_steps + 1, m, m).

        ``[h, i, j]`` is for column j, h steps after the noise of column i was raised.
        """
        is_held = np.array([column in self.given for column in self.columns])
        whole, start = self.whole(is_held), np.diag(np.where(is_held, 0.0, shocks))
        responses = [np.zeros_like(start)] * self.n_lags + [start @ whole]
        for _ in range(n_steps):
            responses.append(np.where(is_held, 0.0, self._from_before(responses)) @ whole)
        return np.array(responses[self.n_lags :])

    def _from_before(self, values: Sequence[Floats]) -> Floats:
        """Return what earlier steps contribute, where later steps have as many rows or more."""
        total = np.zeros_like(values[-1])
        for lag in range(1, self.n_lags + 1):
            total[: len(values[-lag])] += values[-lag] @ self.weights[lag]
        return total


def dynamics_of(
    network: Any, columns: list[Any], lags: list[list[Any]], like: Dynamics | None = None
) -> Dynamics:
    """Return a network as a process in time, with the columns in the order of another, `like`."""
    place = {
        copy: (lag, column)
        for lag, copies in enumerate(lags, start=1)
        for copy, column in zip(copies, columns, strict=True)
    }
    parts: Mapping[Any, list[Any]] = getattr(network, "nodes_", {v: [v] for v in network.nodes})
    for node, own in parts.items():
        if (node in place or node in columns) and own != [node]:
            raise ValueError(
                f"Column {node!r} of the series is a node of the columns {own}, whose future the "
                "network does not say. Leave it out of the network, or put it into the table "
                "beside the series, exogenous."
            )
    node_of = {part: node for node, own in parts.items() for part in own}
    model = network._model()
    outside = {model.nodes[v] for v in model.exogenous}
    present = [v for v in model.nodes if v not in place]
    modelled = {*present} - outside
    # A column that has copies and is no node itself must be given.
    known = {column: None for _, column in (place[v] for v in model.nodes if v in place)}
    present += [column for column in known if column not in present]
    if like is not None:
        others = {like.columns[v] for v in like.modelled}
        if {*present} != {*like.columns} or modelled != others:
            raise ValueError(
                f"The networks must model the same columns; got {readable_value([*others])} and "
                f"{readable_value([*modelled])}."
            )
        present = like.columns
    number = {v: i for i, v in enumerate(present)}
    given = {v: node_of.get(v, v) for v in present if v not in modelled}
    weights = np.zeros((len(lags) + 1, len(present), len(present)))
    intercept, deviation = np.zeros((2, len(present)))
    for i, j in np.argwhere(model.coef).tolist():
        parent, child = model.nodes[i], model.nodes[j]
        lag, column = place.get(parent, (0, parent))
        if child not in place:
            weights[lag, number[column], number[child]] = model.coef[i, j]
        elif not lag:
            raise ValueError(
                f"The edge {parent!r} -> {child!r} leads back in time. Give the learner "
                "exogenous=series.exogenous."
            )
    for i, v in enumerate(model.nodes):
        if v in modelled:
            intercept[number[v]] = model.intercept[i]
            deviation[number[v]] = np.sqrt(model.noise_variance[i])
    return Dynamics(present, given, weights, intercept, deviation)


def held_values(
    dynamics: Dynamics, network: Any, n_steps: int, series: list[Any], do: Any, exogenous: Any
) -> Floats:
    """Return the values that are set or given, NaN elsewhere, shape (k, n_steps, m).

    `do`, `exogenous`: dict of column to a value or n_steps of them, or to a dict of these by
        series; or a data frame, with a row for each step
    """
    held = np.full((len(series), n_steps, len(dynamics.columns)), np.nan)
    outside = [*dict.fromkeys(dynamics.given.values())]
    paths = _paths(exogenous, "exogenous", outside, n_steps, series)
    if lacking := [node for node in outside if node not in paths]:
        raise ValueError(
            f"The columns {readable_value(lacking)} are exogenous, and the network does not say "
            f"how they go on. Give {n_steps} values of each, by "
            f"exogenous={{{lacking[0]!r}: [...]}}."
        )
    for s in range(len(series)):
        values = _encoded(dynamics, network, {node: paths[node][s] for node in outside})
        for v, column in enumerate(dynamics.columns):
            if column in dynamics.given:
                held[s, :, v] = values[column]
    modelled = [dynamics.columns[v] for v in dynamics.modelled]
    for column, of_series in _paths(do, "do", modelled, n_steps, series).items():
        held[:, :, dynamics.columns.index(column)] = [
            _numbers(values, f"do of {column!r}", may_miss=True) for values in of_series
        ]
    if (np.isnan(held) != np.isnan(held[0])).any():
        raise ValueError(
            "do must set the same steps of all series. Forecast each series on its own otherwise."
        )
    return held


def _paths(
    given: Any, name: str, columns: list[Any], n_steps: int, series: list[Any]
) -> dict[Any, list[list[Any]]]:
    """Return the values of columns, by series and step."""
    if given is None:
        return {}
    if hasattr(given, "columns"):
        given = {column: list(given[column]) for column in given.columns}
    if not isinstance(given, Mapping):
        raise TypeError(
            must_be(name, "a dict or a data frame of columns and their values", type(given))
        )
    reject_unknown(given, columns, name)
    paths = {}
    for column, values in given.items():
        by_series = values if isinstance(values, Mapping) else dict.fromkeys(series, values)
        reject_unknown(by_series, series, f"{name} of {column!r}")
        if lacking := [each for each in series if each not in by_series]:
            raise ValueError(f"{name} of {column!r} lacks the series {readable_value(lacking)}.")
        paths[column] = [
            _steps(by_series[each], n_steps, f"{name} of {column!r}") for each in series
        ]
    return paths


def _steps(values: Any, n_steps: int, name: str) -> list[Any]:
    """Return a value for each step."""
    if isinstance(values, str) or not np.ndim(values):
        return [values] * n_steps
    if len(values) != n_steps:
        raise ValueError(
            f"{name} must have {n_steps} values, one for each step; got {len(values)}."
        )
    return list(values)


def _numbers(values: list[Any], name: str, *, may_miss: bool = False) -> Floats:
    holes = [may_miss and is_missing(each) for each in values]
    parts = zip(values, holes, strict=True)
    return np.array([np.nan if hole else finite_number(each, name) for each, hole in parts])


def _encoded(
    dynamics: Dynamics, network: Any, paths: dict[Any, list[Any]]
) -> dict[Any, list[Any] | Floats]:
    """Return the values of given columns; a category is given by its indicators."""
    plain: dict[Any, list[Any] | Floats] = {
        node: _numbers(values, f"exogenous values of {node!r}")
        for node, values in paths.items()
        if node in dynamics.given
    }
    if len(plain) == len(paths):
        return plain
    others = {node: 0.0 for node in network.exogenous if node not in paths}
    found = network.do(
        {**others, **{node: v for node, v in paths.items() if node in network.nodes}}
    )
    columns = zip(found.nodes, found.mean.T, strict=True)
    return {column: values for column, values in columns if column in dynamics.given} | plain
