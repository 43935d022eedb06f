"""Gaussian distributions of which some values are known to lie in intervals.

Values in intervals are drawn one after the other, each from its Gaussian given the earlier ones,
cut at its ends; a draw counts by the product of the probabilities of its intervals (Geweke 1991,
Hajivassiliou & McFadden 1990, Keane 1990). For one interval that is exact. For two, an even grid
of the first one's quantiles integrates over it.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri
from scipy.stats import multivariate_normal, truncnorm

from skbn._core.arrays import Floats, Random
from skbn._core.columns import reject_unknown
from skbn._core.text import readable_value

_DRAWS = 20_000
_FAR = 40.0  # standard deviations, beyond which there is no value
_JITTER = 1e-13  # share of a variance that nodes keep which others determine

Bounds = Mapping[int, tuple[float, float]]


class WithinBounds(NamedTuple):
    """A Gaussian distribution of m nodes, some of which lie in intervals."""

    nodes: list[Hashable]
    mean: Floats  # (m,): like the next two, without the intervals
    scale: Floats  # (m,): the standard deviations, or 1 where these are 0
    correlation: Floats  # (m, m): the covariance, over the scales
    bounds: Bounds  # by the nodes' numbers

    @classmethod
    def of(cls, nodes: list[Hashable], mean: Floats, covariance: Floats) -> Self:
        """Return a Gaussian distribution without intervals."""
        scale = np.sqrt(np.diag(covariance))
        scale[scale == 0] = 1.0
        return cls(nodes, mean, scale, covariance / np.outer(scale, scale), {})

    def read(self, values: Mapping[Any, Any], parameter: str) -> Bounds:
        """Return the intervals of some nodes that a user gives."""
        bounds = {}
        reject_unknown(values, self.nodes, parameter)
        for node, value in values.items():
            try:
                low, high = map(float, value)
            except (TypeError, ValueError):
                low = high = np.nan
            if not low < high:
                raise ValueError(
                    f"{parameter}: the interval of node {node!r} must be (low, high), two numbers "
                    f"of which the first is less, such as (0, inf); got {readable_value(value)}. "
                    "Values of several scenarios are a list."
                )
            bounds[self.nodes.index(node)] = low, high
        return bounds

    def probability(self, event: Bounds) -> tuple[float, float]:
        """Return the probability that nodes lie in further intervals, and its standard error."""
        both = {**self.bounds}
        for v, (low, high) in event.items():
            before = both.get(v, (low, high))
            both[v] = max(low, before[0]), min(high, before[1])
            if both[v][0] > both[v][1]:
                return 0.0, 0.0
        (log_p, error), (log_q, other) = map(self._log_probability, (both, self.bounds))
        value = min(float(np.exp(log_p - log_q)), 1.0)
        return value, value * float(np.hypot(error, other))

    def _log_probability(self, bounds: Bounds) -> tuple[float, float]:
        """Return the log probability of intervals, and its standard error."""
        n, t = _DRAWS if len(bounds) > 1 else 1, len(bounds)
        uniform = np.random.default_rng(0).uniform(size=(n, t))
        if t == 2:
            uniform[:, 0] = (np.arange(n) + 0.5) / n
        weights, log_scale = self._draws(bounds, uniform)[1:]
        if not weights.any():
            return -np.inf, 0.0
        error = weights.std() / weights.mean() / np.sqrt(n) if t > 2 else 0.0
        return float(log_scale + np.log(weights.mean())), float(error)

    def _units(self, v: int, *values: float) -> list[float]:
        """Return values of a node as differences from its mean, over its scale."""
        return [float((value - self.mean[v]) / self.scale[v]) for value in values]

    @np.errstate(divide="ignore", invalid="ignore")
    def _draws(self, bounds: Bounds, uniform: Floats) -> tuple[Floats, Floats, float]:
        """Return units in intervals, (n, t), their weights, (n,), and the log of the largest."""
        v = list(bounds)
        root = np.linalg.cholesky(self.correlation[np.ix_(v, v)] + _JITTER * np.eye(len(v)))
        noise, logs = np.zeros((len(uniform), len(v))), np.zeros(len(uniform))
        for i, ends in enumerate(self._units(v, *own) for v, own in bounds.items()):
            low, high = ((end - noise[:, :i] @ root[i, :i]) / root[i, i] for end in ends)
            side = np.where(low > 0, -1.0, 1.0)  # lower tails are more precise
            tails = ndtr(np.sort(side * np.array([low, high]), axis=0))
            noise[:, i] = side * ndtri(tails[0] + uniform[:, i] * (tails[1] - tails[0]))
            logs += np.log(tails[1] - tails[0])
        unit = max(logs.max(), -np.finfo(float).max)
        return noise @ root.T, np.exp(logs - unit), unit

    def moments(self) -> tuple[Floats, Floats, Floats]:
        """Return the means, the covariance, and the means' standard errors."""
        uniform = np.random.default_rng(0).uniform(size=(_DRAWS, len(self.bounds)))
        values, weights, _ = self._draws(self.bounds, uniform)
        if not weights.any():
            raise ValueError(
                "The intervals are so far from the mean that their probability is 0 in float64. "
                "Give intervals nearer to it."
            )
        weights /= weights.sum()
        mean, slopes = weights @ values, self._slopes()
        apart = values - mean
        inside = (apart * weights[:, np.newaxis]).T @ apart
        errors = np.sqrt(weights**2 @ (apart @ slopes) ** 2) * (len(self.bounds) > 1)
        if len(self.bounds) == 1:
            ((only, ends),) = self.bounds.items()
            first, second = truncnorm.stats(*self._units(only, *ends), moments="mv")
            mean, inside = np.array([first]), np.array([[second]])
        v = list(self.bounds)
        change = slopes.T @ (inside - self.correlation[np.ix_(v, v)]) @ slopes
        covariance = (self.correlation + change) * np.outer(self.scale, self.scale)
        return self.mean + self.scale * (mean @ slopes), covariance, self.scale * errors

    def _slopes(self) -> Floats:
        """Return the coefficients of all nodes on those in intervals, (t, m)."""
        v = list(self.bounds)
        found = np.linalg.lstsq(self.correlation[np.ix_(v, v)], self.correlation[v])
        return np.asarray(found[0])

    def quantiles(self, nodes: Sequence[Hashable], q: float) -> Floats:
        """Return a quantile of each of some nodes."""
        means, covariance, _ = self.moments()
        found = []
        for v in map(self.nodes.index, nodes):
            low, high = self.bounds.get(v, (-np.inf, np.inf))
            if covariance[v, v] <= 0:
                low = high = means[v]
            elif 0 < q < 1:
                far = _FAR * np.sqrt(covariance[v, v])
                low = high = brentq(
                    lambda x, v=v: self.probability({v: (-np.inf, x)})[0] - q,
                    max(low, means[v] - far),
                    min(high, means[v] + far),
                    xtol=1e-14 * far,
                )
            found.append(low if q < 0.5 else high)
        return np.array(found)

    def sample(self, n: int, rng: Random) -> Floats:
        """Return rows, (n, m); with two intervals or more, from more draws by their weights."""
        v, slopes = list(self.bounds), self._slopes()
        n_draws = n if len(v) < 2 else max(_DRAWS, 10 * n)
        values, weights, _ = self._draws(self.bounds, rng.uniform(size=(n_draws, len(v))))
        if len(v) > 1:
            values = values[rng.choice(n_draws, n, p=weights / weights.sum())]
        left = self.correlation - slopes.T @ self.correlation[v]
        noise = rng.multivariate_normal(np.zeros(len(left)), left, size=n, check_valid="ignore")
        return np.asarray(self.mean + self.scale * (values @ slopes + noise))

    def log_density(self, rows: Floats) -> Floats:
        """Return the log density of rows of all nodes, in nats.

        Raises numpy.linalg.LinAlgError if there is none, because some nodes determine others.
        """
        units = (rows - self.mean) / self.scale
        log_density = np.atleast_1d(multivariate_normal(cov=self.correlation).logpdf(units))
        log_density -= np.log(self.scale).sum() + self._log_probability(self.bounds)[0]
        for v, (low, high) in self.bounds.items():
            log_density[(rows[:, v] < low) | (rows[:, v] > high)] = -np.inf
        return np.asarray(log_density)
