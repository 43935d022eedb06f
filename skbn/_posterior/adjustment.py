"""The posterior of the total effect of one column on another, by parent adjustment.

In a network in which a path leads from x to y, the effect of do(x) on y is the coefficient of x in
the regression of y on x and x's parents P (Pearl 2009, "Causality", section 3.3); without a path it
is 0. Averaged over networks, the posterior is a point mass at 0 and a mixture over P of t
distributions, each weighted by the probability that P are the parents and there is a path. A
regression knows nothing of edges that are missing elsewhere: `total_effects` does.

The coefficient depends only on what is left of x and y after P is projected out: the last two rows
and columns of the triangular factor of P, x and y. `_last_blocks` finds them for all sets by one
walk through the tree of their members, in which sets share the work for the members that they have
in common.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from skbn._core.arrays import Floats, Integers
from skbn._core.subsets import members_of
from skbn._data.statistics import SampleStatistics
from skbn._posterior.effects import EffectDistribution
from skbn._posterior.mixtures import StudentMixture
from skbn._posterior.network_posterior import NetworkPosterior
from skbn._posterior.parameter_draws import residual_freedom
from skbn._regressions.least_squares import triangular_factor
from skbn._scores.criteria import Criterion

__all__ = ["AdjustedEffectPosterior", "adjusted_effect", "adjusted_effect_of"]


# Parent sets of at most this probability together are left out: rounding errors of the weights
# are about as large.
_LEFT_OUT = 1e-12
# Parent sets at a time: their stacks of small matrices fit in the second-level cache.
_SETS_A_CHUNK = 1 << 13


@dataclass(frozen=True, eq=False, repr=False)
class AdjustedEffectPosterior(EffectDistribution):
    """The posterior of the total effect of do(cause) on an outcome, by parent adjustment.

    Given the cause's parents, the effect is the cause's coefficient in the outcome's regression
    on the cause and these parents. It is 0 in networks without a path from the cause to the
    outcome. Otherwise its distribution is a mixture of t distributions, one for each set of
    columns that may be the cause's parents. `EffectPosterior` describes the effect itself.

    Parameters
    ----------
    cause, outcome : str or int
        The columns' names or numbers.
    probability_zero : float
        The probability that there is no path, and so no effect.
    weights : ndarray of shape (k,)
        The components' probabilities. Together with `probability_zero` they sum to 1.
    locations, scales, freedoms : ndarray of shape (k,)
        The parameters of the components' t distributions.
    probability_left_out : float, default=0
        The probability of parent sets that were left out because they are too improbable to
        matter, at most 1e-12. The weights of the others are larger by this share.

    See Also
    --------
    EffectPosterior : The posterior of the effect in networks with their parameters.

    Notes
    -----
    The regressions make no use of edges that are missing elsewhere in the network. If no edge
    is missing, the effect in a network with drawn parameters, the sum over the paths of the
    products of their coefficients, has the same distribution. Otherwise, along a chain for
    instance, the regressions may have another mean, and often a wider distribution.

    Examples
    --------
    >>> import numpy as np
    >>> from skbn import AdjustedEffectPosterior
    >>> effect = AdjustedEffectPosterior(
    ...     "dose",
    ...     "response",
    ...     probability_zero=0.25,
    ...     weights=np.array([0.5, 0.25]),
    ...     locations=np.array([1.0, 1.4]),
    ...     scales=np.array([0.2, 0.1]),
    ...     freedoms=np.array([20.0, 19.0]),
    ... )
    >>> effect
    Effect of do(dose) on response
    probability of no effect       0.25
    mean                           0.85
    standard deviation            0.541
    95 % interval             0 to 1.54
    >>> effect.quantile([0.1, 0.75]).round(3)
    array([0.   , 1.296])
    >>> round(effect.cdf(1.0), 3)
    0.5
    """

    cause: Hashable
    outcome: Hashable
    probability_zero: float
    weights: Floats
    locations: Floats
    scales: Floats
    freedoms: Floats
    probability_left_out: float = 0.0

    @cached_property
    def mean(self) -> float:
        """The expected effect; NaN if a component has only one degree of freedom or less."""
        if (self.freedoms <= 1).any():
            return float("nan")
        return float(self.weights @ self.locations)

    @cached_property
    def std(self) -> float:
        """The standard deviation; infinite if a component has two degrees of freedom or less."""
        if (self.freedoms <= 2).any():
            return float("inf")
        unit = max(np.abs(self.locations).max(initial=0.0), self.scales.max(initial=0.0))
        if unit == 0:
            return 0.0
        mean, scales = self.mean / unit, self.scales / unit  # their squares cannot overflow
        within = scales**2 * (self.freedoms / (self.freedoms - 2))
        between = (self.locations / unit - mean) ** 2
        variance = self.weights @ (within + between) + self.probability_zero * mean**2
        return float(unit * np.sqrt(variance))

    @cached_property
    def _mixture(self) -> StudentMixture:
        return StudentMixture(self.weights, self.locations, self.scales, self.freedoms)

    @cached_property
    def _probability_below_zero(self) -> float:
        return self._mixture.cdf(0.0)

    def _cdf(self, value: float) -> float:
        return self._mixture.cdf(value) + self.probability_zero * (value >= 0)

    def _quantile(self, q: float) -> float:
        below = self._probability_below_zero
        total = self._mixture.total
        if total == 0 or below < q <= below + self.probability_zero:
            return 0.0
        target = q if q <= below else q - self.probability_zero
        if q == 0 or target <= 0:
            return -np.inf
        if q == 1 or target >= total:
            return np.inf
        if target <= total / 2:
            return self._mixture.lower_quantile(target)
        return -self._mixture.reflected().lower_quantile(total - target)

    def _moments(self) -> list[tuple[str, str]]:
        return [("mean", f"{self.mean:.3g}"), ("standard deviation", f"{self.std:.3g}")]


def adjusted_effect_of(
    posterior: NetworkPosterior,
    statistics: SampleStatistics,
    criterion: Criterion,
    cause: int,
    outcome: int,
) -> AdjustedEffectPosterior:
    """Return the effect averaged over the sets of the cause's parents in the posterior.

    Raises
    ------
    ValueError
        If the probability of a path is not known by the cause's parents; as `adjusted_effect`
        does.
    """
    paths, names = posterior.paths, statistics.independence.names
    if paths is None:
        raise ValueError(
            "Effects by adjustment are known for the uniform prior only, and this posterior has "
            "structure_prior_='order'. Use method='sampling', or set structure_prior='uniform'."
        )
    masks, weights = np.empty(0, np.int64), np.empty(0)
    if paths[cause, outcome] != 0:
        group, number = posterior.group_of(cause)
        if outcome not in group.columns[: group.n_columns]:
            raise ValueError(
                f"Knowledge alone decides the order of {names[cause]!r} and {names[outcome]!r}, "
                "and with more than 20 columns paths between such columns are not summed. Use "
                "method='sampling', or leave out columns."
            )
        weights = group.parent_sets_with_path(number, group.columns.index(outcome))
        chosen = np.flatnonzero(weights)
        masks, weights = group.masks(number, chosen), weights[chosen]
    return adjusted_effect(masks, weights, statistics, criterion, cause, outcome)


def adjusted_effect(
    masks: npt.ArrayLike,
    weights: npt.ArrayLike,
    statistics: SampleStatistics,
    criterion: Criterion,
    cause: int,
    outcome: int,
) -> AdjustedEffectPosterior:
    """Return the posterior of the total effect of one column on another.

    Parameters
    ----------
    masks : array-like of shape (k,), int
        Sets of columns that may be the cause's parents, none of them twice. The least probable
        ones are left out, up to a probability of 1e-12 in all.
    weights : array-like of shape (k,), float
        The probability that the set is the cause's parents and that there is a path from the
        cause to the outcome. It is 0 for sets that contain the outcome.
    statistics : SampleStatistics
        The criterion's: those of a `FamilyScorer` include the rows of its prior.
    criterion : Criterion
    cause, outcome : int

    Raises
    ------
    ValueError
        If there are too few rows for the regressions; if the outcome depends linearly on the
        cause and its parents; if an effect is out of float64's range.
    """
    masks, weights = np.asarray(masks, dtype=np.int64), np.asarray(weights, dtype=np.float64)
    weights = weights.clip(min=0)  # rounding errors may be negative
    total = float(weights.sum())
    is_kept = _is_kept(weights)
    masks, weights = masks[is_kept], weights[is_kept]
    order = np.argsort(masks)
    masks, weights = masks[order], weights[order]
    if (masks & (1 << cause | 1 << outcome)).any():
        raise ValueError(
            f"Columns {cause} and {outcome}, the cause and the outcome, must not be among the "
            "cause's parents where there is a path."
        )
    left_out = max(total - float(weights.sum()), 0.0)
    if len(weights):
        weights *= total / weights.sum()
    freedoms = residual_freedom(statistics, criterion, np.bitwise_count(masks) + 1)
    blocks = _last_blocks(statistics.factor, masks, cause, outcome)
    if not statistics.is_checked:
        _require_independence(statistics, masks, blocks, cause, outcome)
    left_of_cause, shared, left_of_outcome = blocks
    ratio = statistics.scale[outcome] / statistics.scale[cause]
    with np.errstate(over="ignore"):
        locations = shared / left_of_cause * ratio
        scales = np.abs(left_of_outcome / left_of_cause) / np.sqrt(freedoms) * ratio
    names = statistics.independence.names
    is_in_range = np.isfinite(locations) & np.isfinite(scales)
    if not (is_in_range & (scales >= np.finfo(np.float64).tiny)).all():
        raise ValueError(
            f"The effect of column {names[cause]!r} on column {names[outcome]!r} is out of "
            "float64's range. Measure them in units nearer to each other."
        )
    probability_zero = max(1 - total, 0.0) if len(weights) else 1.0
    return AdjustedEffectPosterior(
        names[cause],
        names[outcome],
        probability_zero,
        weights,
        locations,
        scales,
        freedoms,
        left_out,
    )


def _is_kept(weights: Floats) -> npt.NDArray[np.bool_]:
    """Choose all weights but the smallest, which sum to at most `_LEFT_OUT`."""
    ascending = np.sort(weights)
    n_left_out = np.searchsorted(np.cumsum(ascending), _LEFT_OUT, side="right")
    if n_left_out == len(weights):
        return np.zeros(len(weights), dtype=np.bool_)
    return np.asarray(weights >= ascending[n_left_out])


# Regressions


def _last_blocks(
    factor: Floats, masks: Integers, cause: int, outcome: int
) -> tuple[Floats, Floats, Floats]:
    """Return the last rows and columns of the factors of each set, the cause and the outcome.

    Parameters
    ----------
    factor : ndarray of shape (m, m)
        Triangular factor of all columns.
    masks : ndarray of shape (k,), int
        Ascending, without the cause and the outcome.

    Returns
    -------
    left_of_cause, shared, left_of_outcome : ndarray of shape (k,)
        The entries of the last block: the residuals' norm of the cause on the set, the
        component of the outcome along these residuals, and the residuals' norm of the outcome
        on both. The signs of the first two go together; that of the third has no meaning.
    """
    others = [v for v in reversed(range(factor.shape[1])) if v not in (cause, outcome)]
    root = triangular_factor(factor[:, [*others, cause, outcome]])
    blocks = np.empty((3, len(masks)))
    for start in range(0, len(masks), _SETS_A_CHUNK):
        part = slice(start, start + _SETS_A_CHUNK)
        stack = _stack_of_last_blocks(root, others, masks[part])
        blocks[:, part] = stack[0, 0], stack[0, 1], stack[1, 1]
    left_of_cause, shared, left_of_outcome = blocks
    return left_of_cause, shared, left_of_outcome


def _stack_of_last_blocks(root: Floats, others: list[int], masks: Integers) -> Floats:
    """Decide column by column, from the highest on, what each set contains.

    All sets with the same columns among those that are decided share one factor of the columns
    that are not. The factors lie side by side in the last axis.
    """
    stack = root[:, :, np.newaxis]
    beginnings, decided_down_to = np.zeros(1, dtype=np.int64), len(root)
    for column in others:
        longer = np.unique(masks >> column)
        before = np.searchsorted(beginnings, longer >> (decided_down_to - column))
        is_member = (longer & 1).astype(np.bool_)
        k = len(stack) - 1
        shorter = np.empty((k, k, len(longer)))
        # A member is projected out of the others; any other column is left out.
        shorter[:, :, is_member] = stack[1:, 1:, before[is_member]]
        shorter[:, :, ~is_member] = _without_first_column(stack[:, :, before[~is_member]])
        stack, beginnings, decided_down_to = shorter, longer, column
    return stack


def _without_first_column(stack: Floats) -> Floats:
    """Return the triangular factors of all columns but the first, by Givens rotations."""
    k = len(stack) - 1
    rows = stack[:, 1:]
    for i in range(k):
        upper, lower = rows[i, i:], rows[i + 1, i:]
        rho = np.hypot(upper[0], lower[0])
        # Without a length there is nothing to rotate: the column depends on those before it.
        cos = np.divide(upper[0], rho, where=rho > 0, out=np.ones_like(rho))
        sin = np.divide(lower[0], rho, where=rho > 0, out=np.zeros_like(rho))
        rows[i, i:], rows[i + 1, i:] = cos * upper + sin * lower, cos * lower - sin * upper
    return rows[:k]


def _require_independence(
    statistics: SampleStatistics,
    masks: Integers,
    blocks: tuple[Floats, Floats, Floats],
    cause: int,
    outcome: int,
) -> None:
    """Raise if an outcome depends linearly on a set and the cause, which have been checked."""
    # If a combination of k columns were too nearly 0, one of them would leave no more than k times
    # the largest rounding on the others.
    n_columns = np.bitwise_count(masks) + 2
    left = np.minimum(np.abs(blocks[0]), np.abs(blocks[2]))
    for mask in masks[left <= n_columns * statistics.independence.rounding.max()]:
        statistics.check([*members_of(mask), cause, outcome])
