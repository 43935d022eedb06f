"""A network of a lagged table as what it is in time: a vector autoregression with given columns.

With the weights B within a step and A_k of lag k, and the intercepts c, the values of a step are
``x_t = (c + sum_k x_{t-k} A_k + noise_t) W``, where W is the inverse of ``I - B``. A column that is
given or set in a step loses its parents and its noise there: its column of B is 0.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skbn._core.arrays import Booleans, Floats
from skbn._core.columns import is_missing, reject_unknown
from skbn._core.graphs import propagate
from skbn._core.subsets import mask_of
from skbn._core.text import readable_value


@dataclass(frozen=True)
class Dynamics:
    """A network of a lagged table, in arrays.

    Parameters
    ----------
    columns : list of m nodes
        Those of the present.
    given : dict of column to node
        The columns that are not modelled, with the nodes that they belong to.
    weights : ndarray of shape (n_lags + 1, m, m)
        ``weights[k, i, j]`` is the effect of column i on column j after k steps.
    intercept, deviation : ndarray of shape (m,)
        The deviation is that of the noise.
    """

    columns: list[Any]
    given: dict[Any, Hashable]
    weights: Floats
    intercept: Floats
    deviation: Floats

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
        """Return the values of some steps, in each of k series.

        Parameters
        ----------
        past : ndarray of shape (k, n_lags, m)
            From lag 1 on.
        held : ndarray of shape (k, n_steps, m)
            The values that are given or set, NaN elsewhere, in the same places of all series.
        noise : ndarray of shape (k, n_steps, m), optional
            Standard noise; without it, these are the means.

        Returns
        -------
        values : ndarray of shape (k, n_steps, m)
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


def dynamics_of(network: Any, columns: list[Any], lags: list[list[Any]]) -> Dynamics:
    """Return a network as a process in time.

    Parameters
    ----------
    network : GaussianBayesianNetwork
    columns : list
        The columns of the series.
    lags : list of lists
        The copies of the columns, from lag 1 on.

    Raises
    ------
    ValueError
        If an edge leads back in time; if a column of the series is a node of several columns.
    """
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
    outside = {part for part, node in node_of.items() if node in network.exogenous}
    dag = getattr(network, "columns_", network).dag_
    present = [v for v in dag if v not in place]
    # A column that has copies and is no node itself must be given.
    known = {column: None for _, column in (place[v] for v in dag if v in place)}
    present += [column for column in known if column not in present]
    number = {v: i for i, v in enumerate(present)}
    given = {v: node_of.get(v, v) for v in present if v in outside or v not in dag}
    weights = np.zeros((len(lags) + 1, len(present), len(present)))
    intercept, deviation = np.zeros((2, len(present)))
    for parent, child, weight in dag.edges(data="weight"):
        lag, column = place.get(parent, (0, parent))
        if child not in place:
            weights[lag, number[column], number[child]] = weight
        elif not lag:
            raise ValueError(
                f"The edge {parent!r} -> {child!r} leads back in time. Give the learner "
                "exogenous=series.exogenous."
            )
    for v in present:
        if v not in given:
            intercept[number[v]] = dag.nodes[v]["intercept"]
            deviation[number[v]] = np.sqrt(dag.nodes[v]["noise_variance"])
    return Dynamics(present, given, weights, intercept, deviation)


def held_values(
    dynamics: Dynamics,
    network: Any,
    n_steps: int,
    series: list[Any],
    do: Any,
    exogenous: Any,
) -> Floats:
    """Return the values that are set or given, NaN elsewhere, shape (k, n_steps, m).

    Parameters
    ----------
    dynamics : Dynamics
    network : GaussianBayesianNetwork
    n_steps : int
    series : list of k hashables
    do, exogenous : dict of column to a value or n_steps of them, or to a dict of these by series
        Or a data frame, with a row for each step.

    Raises
    ------
    ValueError, TypeError
        If a given column has no values, or a modelled one has some; if a value is missing or is no
        number; if there are not as many as steps.
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
            f"{name} must be a dict or a data frame of columns and their values; got "
            f"{type(given).__name__}."
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
    """Return values as numbers, NaN where they are missing."""
    try:
        numbers = np.array([np.nan if is_missing(each) else float(each) for each in values])
    except (TypeError, ValueError):
        raise ValueError(f"{name} must have numbers; got {readable_value(values)}.") from None
    if np.isinf(numbers).any() or (np.isnan(numbers).any() and not may_miss):
        raise ValueError(f"{name} must have finite numbers; got {readable_value(values)}.")
    return numbers


def _encoded(
    dynamics: Dynamics, network: Any, paths: dict[Any, list[Any]]
) -> dict[Any, list[Any] | Floats]:
    """Return the values of given columns, those of a category as its indicators."""
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
