"""Gaussian distributions of which some values are known to lie in intervals.

Values in intervals are drawn one after the other, each from its Gaussian given the earlier ones,
cut at its ends; a draw counts by the product of the probabilities of its intervals (Geweke 1991,
Hajivassiliou & McFadden 1990, Keane 1990). For one interval that is exact. For two, an even grid
of the first one's quantiles integrates over it.
"""

from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri
from scipy.stats import truncnorm

from skbn._core.arrays import Floats, Random
from skbn._core.columns import reject_unknown
from skbn._core.text import readable_value

_DRAWS = 20_000
_FAR = 40.0  # standard deviations, beyond which there is no value
_JITTER = 1e-13  # share of a variance that nodes keep which others determine

Bounds = Mapping[int, tuple[float, float]]


def read_bounds(values: Mapping[Any, Any], nodes: Sequence[Hashable], parameter: str) -> Bounds:
    """Return the intervals of some nodes, by number."""
    bounds = {}
    reject_unknown(values, nodes, parameter)
    for node, value in values.items():
        is_pair = isinstance(value, tuple | list) and len(value) == 2
        try:
            low, high = map(float, value if is_pair else (np.nan, np.nan))
        except (TypeError, ValueError):
            low = high = np.nan
        if not low < high:
            raise ValueError(
                f"{parameter}: the interval of node {node!r} must be (low, high), two numbers of "
                f"which the first is less, such as (0, inf); got {readable_value(value)}. Values "
                "of several scenarios are a list."
            )
        bounds[nodes.index(node)] = low, high
    return bounds


class WithinBounds(NamedTuple):
    """A Gaussian distribution of m nodes, some of which lie in intervals.

    Parameters
    ----------
    nodes : list of m hashables
    mean : ndarray of shape (m,)
    covariance : ndarray of shape (m, m)
        Both without the intervals.
    bounds : dict of int to (low, high)
        By the nodes' numbers.
    """

    nodes: list[Hashable]
    mean: Floats
    covariance: Floats
    bounds: Bounds

    def probability(self, event: Bounds) -> tuple[float, float]:
        """Return the probability that values lie in further intervals, and its standard error."""
        whole = [-np.inf, np.inf]
        both = {}
        for v in {**self.bounds, **event}:
            ends = [each.get(v, whole) for each in (self.bounds, event)]
            both[v] = max(low for low, _ in ends), min(high for _, high in ends)
        if any(low > high for low, high in both.values()):
            return 0.0, 0.0
        (log_p, error), (log_q, other) = map(self._log_probability, (both, self.bounds))
        value = min(float(np.exp(log_p - log_q)), 1.0)
        return value, value * float(np.hypot(error, other))

    def _log_probability(self, bounds: Bounds) -> tuple[float, float]:
        """Return the log probability of intervals, and its standard error."""
        grid = (np.arange(_DRAWS) + 0.5) / _DRAWS
        few = {0: grid[:1, np.newaxis], 1: grid[:1, np.newaxis], 2: np.column_stack([grid, grid])}
        uniform = few.get(len(bounds))
        if uniform is None:
            uniform = np.random.default_rng(0).uniform(size=(_DRAWS, len(bounds)))
        _, logs = self._draws(bounds, uniform)
        if (most := logs.max()) == -np.inf:
            return -np.inf, 0.0
        weights = np.exp(logs - most)
        error = weights.std() / weights.mean() / np.sqrt(len(weights)) if len(bounds) > 2 else 0.0
        return float(most + np.log(weights.mean())), float(error)

    @np.errstate(divide="ignore", invalid="ignore")
    def _draws(self, bounds: Bounds, uniform: Floats) -> tuple[Floats, Floats]:
        """Return values in intervals, (n, t), and the logs of their weights, from (0, 1)."""
        v, ends = list(bounds), np.array([*bounds.values()]).reshape(-1, 2)
        own = self.covariance[np.ix_(v, v)]
        scale = np.sqrt(np.diag(own))
        scale[scale == 0] = 1.0
        root = np.linalg.cholesky(own / np.outer(scale, scale) + _JITTER * np.eye(len(v)))
        noise, logs = np.zeros((len(uniform), len(v))), np.zeros(len(uniform))
        for i, (low, high) in enumerate((ends - self.mean[v, np.newaxis]) / scale[:, np.newaxis]):
            before = noise[:, :i] @ root[i, :i]
            low, high = (low - before) / root[i, i], (high - before) / root[i, i]
            side = np.where(low > 0, -1.0, 1.0)  # lower tails are more precise
            tails = ndtr(np.sort(side * np.array([low, high]), axis=0))
            noise[:, i] = side * ndtri(tails[0] + uniform[:, i] * (tails[1] - tails[0]))
            logs += np.log(tails[1] - tails[0])
        return self.mean[v] + noise @ root.T * scale, logs

    def moments(self) -> tuple[Floats, Floats, Floats]:
        """Return the means, the covariance, and the means' standard errors.

        Raises
        ------
        ValueError
            If the intervals are beyond what float64 can tell from impossible.
        """
        v = list(self.bounds)
        mean, covariance, errors = self.mean[v], self.covariance[np.ix_(v, v)], 0.0 * self.mean
        if not v:
            return self.mean, self.covariance, errors
        slopes = self._slopes()
        if self._log_probability(self.bounds)[0] == -np.inf:
            raise ValueError(
                "The intervals are so far from the mean that their probability is 0 in float64. "
                "Give intervals nearer to it."
            )
        if len(v) == 1:
            scale = np.sqrt(covariance[0])
            ends = (np.array(self.bounds[v[0]]) - mean) / scale
            first, second = truncnorm.stats(*ends, moments="mv")
            inside = mean + scale * first, covariance * second
        else:
            uniform = np.random.default_rng(0).uniform(size=(_DRAWS, len(v)))
            values, logs = self._draws(self.bounds, uniform)
            weights = np.exp(logs - logs.max())
            weights /= weights.sum()
            apart = values - weights @ values
            inside = weights @ values, (apart * weights[:, np.newaxis]).T @ apart
            errors = np.sqrt(weights**2 @ (apart @ slopes) ** 2)
        covariance = self.covariance + slopes.T @ (inside[1] - covariance) @ slopes
        return self.mean + (inside[0] - mean) @ slopes, covariance, errors

    def _slopes(self) -> Floats:
        """Return the coefficients of all values on those in intervals, (t, m)."""
        v = list(self.bounds)
        return np.asarray(np.linalg.lstsq(self.covariance[np.ix_(v, v)], self.covariance[v])[0])

    def quantiles(self, nodes: Sequence[Hashable], q: float) -> Floats:
        """Return a quantile of each of some nodes."""
        found = []
        means, covariance, _ = self.moments()
        for v in map(self.nodes.index, nodes):
            mean, scale = means[v], float(np.sqrt(max(covariance[v, v], 0.0)))
            low, high = self.bounds.get(v, (-np.inf, np.inf)) if scale else (mean, mean)
            if self.bounds and scale and 0 < q < 1:
                ends = max(low, mean - _FAR * scale), min(high, mean + _FAR * scale)
                at = partial(self._share_below, v, q)
                low = high = brentq(at, *ends, xtol=1e-12 * scale)
            elif scale and not self.bounds:
                low = high = mean + scale * ndtri(q)
            found.append(low if q < 0.5 else high)
        return np.array(found)

    def _share_below(self, v: int, q: float, value: float) -> float:
        return self.probability({v: (-np.inf, value)})[0] - q

    def sample(self, n: int, rng: Random) -> Floats:
        """Return rows, (n, m); with two intervals or more, from more draws by their weights."""
        v, slopes = list(self.bounds), self._slopes()
        n_draws = n if len(v) < 2 else max(_DRAWS, 10 * n)
        values, logs = self._draws(self.bounds, rng.uniform(size=(n_draws, len(v))))
        if len(v) > 1:
            weights = np.exp(logs - logs.max())
            values = values[rng.choice(n_draws, n, p=weights / weights.sum())]
        left = self.covariance - slopes.T @ self.covariance[v]
        sizes, directions = np.linalg.eigh(left)
        noise = rng.normal(size=(n, len(left))) * np.sqrt(np.maximum(sizes, 0)) @ directions.T
        return np.asarray(self.mean + (values - self.mean[v]) @ slopes + noise)

    def log_density(self, rows: Floats) -> Floats:
        """Return the log density of rows of all nodes, in nats.

        Raises
        ------
        numpy.linalg.LinAlgError
            If there is none, because some nodes determine others.
        """
        root = np.linalg.cholesky(self.covariance)
        noise = np.linalg.solve(root, (rows - self.mean).T)
        log_density = -0.5 * (noise**2).sum(axis=0) - np.log(np.diag(root)).sum()
        log_density -= len(root) * np.log(2 * np.pi) / 2 + self._log_probability(self.bounds)[0]
        for v, (low, high) in self.bounds.items():
            log_density[(rows[:, v] < low) | (rows[:, v] > high)] = -np.inf
        return np.asarray(log_density)
