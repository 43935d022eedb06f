"""Mixtures of t distributions: their distribution function and its inverse."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import gammaln, stdtr, stdtrit

from skbn._core.arrays import Floats

__all__ = ["StudentMixture"]


# Quantiles are first found for a mixture merged to this many components: a few milliseconds.
_N_MERGED = 1 << 10
# Newton's method doubles the digits: a step of 1e-8 leaves an error of about 1e-16.
_LAST_STEP = 1e-8
# More steps than bisection alone, the slowest course, needs to exhaust float64.
_MOST_STEPS = 1100


@dataclass(frozen=True)
class StudentMixture:
    """A mixture of t distributions whose weights need not sum to 1.

    Parameters
    ----------
    weights, locations, scales, freedoms : ndarray of shape (k,)
        Each component's weight, and the parameters of its t distribution.
    """

    weights: Floats
    locations: Floats
    scales: Floats
    freedoms: Floats

    @cached_property
    def total(self) -> float:
        """The sum of the weights."""
        return float(self.weights.sum())

    def reflected(self) -> StudentMixture:
        """Return the mixture of the negative values."""
        return StudentMixture(self.weights, -self.locations, self.scales, self.freedoms)

    def cdf(self, value: float) -> float:
        """Return the weight of what is no larger than a value."""
        with np.errstate(over="ignore"):
            standard = (value - self.locations) / self.scales
        return float(self.weights @ stdtr(self.freedoms, standard))

    def density(self, value: float) -> float:
        """Return the derivative of `cdf`."""
        d = self.freedoms
        with np.errstate(over="ignore"):
            standard = (value - self.locations) / self.scales
            powers = np.exp(-(d + 1) / 2 * np.log1p(standard**2 / d))
        return float((self.weights / self.scales * self._at_centre) @ powers)

    @cached_property
    def _at_centre(self) -> Floats:
        """The density of the standard t distribution at 0."""
        d, where = np.unique(self.freedoms, return_inverse=True)
        logs = gammaln((d + 1) / 2) - gammaln(d / 2) - np.log(np.pi * d) / 2
        return np.exp(logs)[where]

    def lower_quantile(self, target: float) -> float:
        """Return the value whose cdf is the target, at most half of `total` and positive."""
        freedoms, where = np.unique(self.freedoms, return_inverse=True)
        # The mixture's quantile lies among those of its components, which have about ten digits.
        apart = self.scales * stdtrit(freedoms, target / self.total)[where]
        margin = 1e-6 * (self.scales + np.abs(apart))
        own = self.locations + apart
        bracket = float((own - margin).min()), float((own + margin).max())
        start = bracket[0] + (bracket[1] - bracket[0]) / 2
        if len(self.weights) > 2 * _N_MERGED:
            start = self._merged.lower_quantile(target)
        return self._solve(target, start, *bracket)

    @cached_property
    def _merged(self) -> StudentMixture:
        """A mixture of fewer components that is almost the same: neighbours are averaged."""
        order = np.argsort(self.locations)
        starts = np.linspace(0, len(order), _N_MERGED, endpoint=False).astype(np.int64)
        weights = np.add.reduceat(self.weights[order], starts)
        locations, scales, freedoms = (
            np.add.reduceat((self.weights * values)[order], starts) / weights
            for values in (self.locations, self.scales, self.freedoms)
        )
        return StudentMixture(weights, locations, scales, freedoms)

    def _solve(self, target: float, value: float, low: float, high: float) -> float:
        """Find the quantile between two bounds by Newton's method for the cdf's logarithm."""
        narrowest = self.scales.min()
        for _ in range(_MOST_STEPS):
            cdf, density = self.cdf(value), self.density(value)
            if cdf < target:
                low = value
            else:
                high = value
            step = np.inf
            if cdf > 0 and density > 0:
                step = cdf / density * np.log(target / cdf)
                if abs(step) <= _LAST_STEP * min(cdf / density, narrowest):
                    return float(value + step)
            previous, value = value, value + step
            if not low < value < high:
                value = low + (high - low) / 2
            if value in {previous, low, high}:  # no number is nearer
                return float(value)
        return float(value)
