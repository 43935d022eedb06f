"""The posterior of the total effect of one column on another.

It has a point mass at 0, where no path leads from the cause to the outcome; the rest of it is that
of the effects in sampled networks (see `total_effects`).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from skbn._core.arrays import Floats
from skbn._core.text import readable_name, readable_value, text_table
from skbn._displays.notebook import html_table

_EPS = np.finfo(np.float64).eps


@dataclass(frozen=True, eq=False, repr=False)
class EffectPosterior:
    """The posterior of the total effect of do(cause) on an outcome, from sampled networks.

    The effect is by how much the outcome's expectation changes when the cause is set to a
    value larger by 1, in the outcome's units per unit of the cause. In a network it is the sum,
    over the directed paths from the cause to the outcome, of the products of their coefficients,
    and 0 without a path. Its posterior averages over the networks and their parameters.

    Parameters
    ----------
    cause, outcome : str or int
        The columns' names or numbers.
    probability_zero : float
        The probability that there is no path, and so no effect.
    values : ndarray of shape (k,)
        The effects in the sampled networks that have a path, with parameters drawn from theirs.
    given_path : float
        The expected effect if there is a path: the mean, over these networks, of the effect's
        expectation in each of them. NaN if no sampled network has a path, or if the expectation
        does not exist.
    standard_error : float
        The standard error of ``mean``, by the spread of the effect's expectation among the sampled
        networks: 0 if it is the same in all of them. Give thousands of samples if a path is
        improbable, since it knows nothing of networks that are too rare to be among them.
    probability_zero_error : float, default=0
        The standard error of `probability_zero`: 0 if this is exact.
    freedom : float, default=inf
        The fewest degrees of freedom with which a sampled network's coefficients are known.

    See Also
    --------
    TotalEffects : The effects of all columns on all others, from the same samples.
    GaussianBayesianNetwork.do : What an intervention does in one network.

    Examples
    --------
    >>> import numpy as np
    >>> from skbn import EffectPosterior
    >>> effect = EffectPosterior(
    ...     "dose",
    ...     "response",
    ...     probability_zero=0.25,
    ...     values=np.array([1.1, 0.8, 1.4, 0.9]),
    ...     given_path=1.0,
    ...     standard_error=0.02,
    ... )
    >>> effect
    Effect of do(dose) on response
    probability of no effect        0.25
    mean                            0.75
    standard error of the mean      0.02
    standard deviation             0.478
    95 % interval               0 to 1.4
    >>> effect.quantile([0.1, 0.75])
    array([0. , 1.1])
    >>> effect.cdf(1.0)
    0.625
    """

    cause: Hashable
    outcome: Hashable
    probability_zero: float
    values: Floats
    given_path: float
    standard_error: float
    probability_zero_error: float = 0.0
    freedom: float = np.inf

    @cached_property
    def mean(self) -> float:
        """The expected effect; NaN if `freedom` is 1 or less."""
        return (1 - self.probability_zero) * self.given_path if len(self.values) else 0.0

    @cached_property
    def std(self) -> float:
        """The standard deviation; infinite if `freedom` is 2 or less."""
        given_path = np.array(self.given_path)
        probability = np.array(1 - self.probability_zero)
        return float(standard_deviations(self.values, given_path, probability, self.freedom))

    @cached_property
    def _ascending(self) -> Floats:
        return np.sort(self.values)

    @property
    def _at_zero(self) -> float:
        return self.probability_zero if len(self.values) else 1.0

    def _cdf(self, value: float) -> float:
        share = np.searchsorted(self._ascending, value, side="right") / max(1, len(self.values))
        return float((1 - self._at_zero) * share + self._at_zero * (value >= 0))

    def _quantile(self, q: float) -> float:
        return float(quantiles(self._ascending, self._at_zero, np.array([q]))[0])

    @overload
    def cdf(self, values: float) -> float: ...
    @overload
    def cdf(self, values: Sequence[float] | npt.NDArray[Any]) -> Floats: ...
    def cdf(self, values: Any) -> Any:
        """Return the probability that the effect is no larger than each value.

        Parameters
        ----------
        values : float or array-like

        Returns
        -------
        probabilities : float or ndarray of the values' shape
            NaN for NaN.
        """
        values = np.asarray(values, dtype=np.float64)
        probabilities = np.array([self._cdf(each) for each in values.ravel()])
        probabilities[np.isnan(values.ravel())] = np.nan
        probabilities = probabilities.reshape(values.shape).clip(max=1.0)
        return probabilities if values.ndim else float(probabilities)

    @overload
    def quantile(self, q: float) -> float: ...
    @overload
    def quantile(self, q: Sequence[float] | npt.NDArray[Any]) -> Floats: ...
    def quantile(self, q: Any) -> Any:
        """Return the smallest value that the effect does not exceed with probability q.

        Parameters
        ----------
        q : float or array-like
            From 0 to 1.

        Returns
        -------
        values : float or ndarray of the shape of q
            0 for a range of q, if the effect may be 0.

        Raises
        ------
        ValueError
            If a q is not from 0 to 1.
        """
        q = as_probabilities(q)
        values = np.array([self._quantile(each) for each in q.ravel()]).reshape(q.shape)
        return values if q.ndim else float(values)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the interval that leaves out the same probability on both sides.

        Parameters
        ----------
        level : float, default=0.95
            The interval's probability, from 0 to 1.

        Returns
        -------
        low, high : float

        Raises
        ------
        ValueError
            If the level is not from 0 to 1.
        """
        if not 0 <= level <= 1:
            raise ValueError(f"level must be from 0 to 1; got {readable_value(level)}.")
        return self.quantile((1 - level) / 2), self.quantile((1 + level) / 2)

    def __repr__(self) -> str:
        first, *others = self._lines()
        return "\n".join([self._caption(), text_table(others, "lr", first)])

    def _repr_html_(self) -> str | None:
        return html_table(self._caption(), self._lines(), ["left", "right"])

    def _caption(self) -> str:
        return f"Effect of do({readable_name(self.cause)}) on {readable_name(self.outcome)}"

    def _lines(self) -> list[tuple[str, str]]:
        low, high = self.interval()
        return [
            ("probability of no effect", f"{self.probability_zero:.3g}"),
            *self._moments(),
            ("95 % interval", f"{low:.3g} to {high:.3g}"),
        ]

    def _moments(self) -> list[tuple[str, str]]:
        return [
            ("mean", f"{self.mean:.3g}"),
            ("standard error of the mean", f"{self.standard_error:.1g}"),
            ("standard deviation", f"{self.std:.3g}"),
        ]


def as_probabilities(q: Any) -> Floats:
    """Return probabilities as an array; raise if one of them is not from 0 to 1."""
    q = np.asarray(q, dtype=np.float64)
    if not ((q >= 0) & (q <= 1)).all():
        wrong = q[~((q >= 0) & (q <= 1))][0]
        raise ValueError(f"q must be from 0 to 1; got {readable_value(wrong)}.")
    return q


def quantiles(ascending: Floats, at_zero: float, q: Floats) -> Floats:
    """Return quantiles of 0, with a probability, and of values that share the rest equally."""
    k = len(ascending)
    shares = np.full(k, (1 - at_zero) / max(1, k))
    if at_zero > 0:
        place = int(np.searchsorted(ascending, 0.0))
        ascending, shares = np.insert(ascending, place, 0.0), np.insert(shares, place, at_zero)
    # Rounding of the sums must not move a quantile to the next value.
    reached = np.searchsorted(np.cumsum(shares), q * (1 - _EPS * (k + 1)))
    return np.asarray(ascending[np.minimum(reached, len(ascending) - 1)])


def standard_deviations(
    values: Floats, given_path: Floats, probability: Floats, freedom: float
) -> Floats:
    """Return the standard deviations of effects, of which the last axis of `values` has draws.

    NaN stands for no path among the draws.
    """
    if freedom <= 2:
        return np.where(probability > 0, np.inf, 0.0)
    has_path = ~np.isnan(values)
    k = has_path.sum(axis=-1)
    given_path = np.where(k > 0, given_path, 0.0)
    apart = np.where(has_path, values - given_path[..., np.newaxis], 0.0)
    unit = np.abs(apart).max(axis=-1, initial=0.0) + np.abs(given_path)
    unit = np.where(unit > 0, unit, 1.0)  # squares of the rest cannot overflow
    within = ((apart / unit[..., np.newaxis]) ** 2).sum(axis=-1) / np.maximum(k, 1)
    between = (1 - probability) * (given_path / unit) ** 2
    return np.asarray(unit * np.sqrt(probability * (within + between)))
