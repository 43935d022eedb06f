"""The posterior of total effects, averaged over sampled networks and their parameters.

The effect of one column on another has a point mass at 0, where no path leads from the cause to the
outcome; the rest of its posterior is that of the effects in sampled networks.

In a network with the coefficients B the effect of do(x) on y is the sum, over the directed paths
from x to y, of the products of their coefficients: an entry of the inverse of I - B. No path has
two coefficients of the same family, and given the network the parameters of different families are
independent. So the effect's expectation in a network is the same sum with the coefficients'
posterior means, exactly. The mean over networks is that of these expectations, which spread less
than effects with drawn coefficients; the latter give the standard deviation and the quantiles.

Where the probability of a path is known, only the effect given a path is left to the samples.

A node of several columns is set as a whole: a change of some of its columns leaves the others as
they are, so that arrows within a node are solved for, and count as no path. Where a table with
holes was completed several times, the networks are those of all tables, and the spread of the
tables' means along the chain gives the errors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple, Self

import numpy as np

from skbn._chains.convergence import batches_of_states, errors_of_batches
from skbn._core.arrays import F2, I1, Booleans, Floats, Integers, Random
from skbn._core.columns import column_number, named_nodes
from skbn._core.compile import compile_kernels
from skbn._core.resources import one_blas_thread, require_memory
from skbn._core.subsets import parents_of_masks
from skbn._core.text import readable_count, readable_name, readable_value
from skbn._data.nodes import Nodes
from skbn._displays.forest_display import ForestDisplay
from skbn._displays.notebook import TableRepr, frame_of
from skbn._networks.effect_estimates import EffectEstimate, as_probabilities, ends_of, quantiles
from skbn._networks.effects import Combination, change_and_reading, matrix_of
from skbn._posterior.effect_kernels import sum_paths
from skbn._posterior.parameter_draws import NETWORKS_AT_A_TIME, SampledNetworks, draw_coefficients


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


_MOST_SHOWN = 10


@dataclass(frozen=True, eq=False, repr=False)
class TotalEffects(TableRepr):
    """The posterior of the total effects of columns on others, all from the same samples.

    ``effects[cause, outcome]`` is the posterior of one of them, an `EffectEstimate`, which says
    what an effect is. In arrays, [i, j] stands for the effect of cause i on outcome j; they are the
    columns, unless a single effect was asked for.

    Parameters
    ----------
    nodes : Nodes
        The nodes, and which columns stand for each.
    causes : list of k Combination
        The changes whose effects these are. In what `GaussianBNPosterior.effects` returns, those
        of all columns, in order: by one unit, or from a category's first level to another.
    outcomes : list of m Combination
        What they are effects on: columns, or the probabilities of levels.
    draws : ndarray of shape (k, m, n_samples)
        The effects in the sampled networks, with parameters drawn from theirs; NaN in networks
        without a path.
    path_probabilities : ndarray of shape (k, m)
        The probabilities of a directed path: exact where they are known, and otherwise the share
        of the samples.
    path_errors : ndarray of shape (k, m)
        The standard errors of `path_probabilities`, 0 where they are exact.
    given_path : ndarray of shape (k, m)
        The expected effects if there is a path.
    standard_error : ndarray of shape (k, m)
        The standard errors of ``mean``, as that of an `EffectEstimate`.
    freedom : float
        The fewest degrees of freedom with which a sampled network's coefficients are known. With
        1 or less there are no means, and with 2 or less no standard deviations.

    See Also
    --------
    GaussianBNPosterior.effects : What returns it.

    Examples
    --------
    >>> import numpy as np
    >>> from skbn import GaussianBNPosterior
    >>> rows = np.random.default_rng(0).normal(size=(50, 3))
    >>> rows[:, 2] += rows[:, 0]
    >>> effects = GaussianBNPosterior().fit(rows).effects(n_samples=1000, random_state=0)
    >>> effects.mean.round(2)
    array([[0.  , 0.  , 0.56],
           [0.01, 0.  , 0.  ],
           [0.31, 0.  , 0.  ]])
    >>> round(effects[0, 2].std, 2)
    0.57
    >>> effects
    6 total effects from 1,000 networks
    cause  outcome    path     mean  standard error
    0      2         0.496    0.561           3e-05
    2      0         0.504    0.306           1e-05
    1      0        0.0898  0.00824          0.0003
    0      1        0.0712  0.00477          0.0002
    1      2        0.0714   0.0034          0.0008
    2      1        0.0606  0.00171          0.0002
    """

    nodes: Nodes
    causes: list[Combination]
    outcomes: list[Combination]
    _alignments = "llrrr"
    _header = "cause", "outcome", "path", "mean", "standard error"
    draws: Floats
    path_probabilities: Floats
    path_errors: Floats
    given_path: Floats
    standard_error: Floats
    freedom: float

    @cached_property
    def mean(self) -> Floats:
        """The expected effects; 0 on the diagonal."""
        has_path = ~np.isnan(self.draws).all(axis=-1)
        return np.where(has_path, self.path_probabilities * self.given_path, 0.0)

    @cached_property
    def std(self) -> Floats:
        """The standard deviations of the effects; 0 on the diagonal."""
        rows = zip(self.draws, self.given_path, self.path_probabilities, strict=True)
        return np.array([standard_deviations(*row, self.freedom) for row in rows])

    def quantile(self, q: float | Sequence[float] | Floats) -> Floats:
        """Return the smallest values that the effects do not exceed with probability q.

        Parameters
        ----------
        q : float or array-like
            From 0 to 1.

        Returns
        -------
        values : ndarray of shape (k, m), after the shape of q

        Raises
        ------
        ValueError
            If a q is not from 0 to 1.
        """
        q = as_probabilities(q)
        values = np.zeros((q.size, *self.path_probabilities.shape))
        for i, j in np.argwhere(self.path_probabilities > 0):
            values[:, i, j] = quantiles(*self._mixture(i, j), q.ravel())
        return values.reshape(q.shape + values.shape[1:])

    def __getitem__(self, pair: tuple[str | int, str | int]) -> EffectEstimate:
        if not (isinstance(pair, tuple) and len(pair) == 2):
            raise TypeError(
                "Give a cause and an outcome, as in effects[cause, outcome]; got "
                f"{readable_value(pair)}."
            )
        number_of = partial(column_number, self.nodes.names)
        change, reading = change_and_reading(self.nodes, *pair, number_of)
        if change not in self.causes or reading not in self.outcomes:
            raise ValueError(
                f"These effects are not of {change.label!r} on {reading.label!r}. Ask "
                f"posterior.effect({pair[0]!r}, {pair[1]!r})."
            )
        return self._effect(self.causes.index(change), self.outcomes.index(reading))

    def _effect(self, i: int, j: int) -> EffectEstimate:
        values, weights = self._mixture(i, j)
        given, probability = self.given_path[i, j], self.path_probabilities[i, j]
        return EffectEstimate(
            self.causes[i].label,
            self.outcomes[j].label,
            float(self.mean[i, j]),
            float(standard_deviations(self.draws[i, j], given, probability, self.freedom)),
            1 - float(probability),
            values,
            np.zeros(len(values)),
            weights,
            np.full(len(values), np.inf),
            "the posterior",
            float(self.standard_error[i, j]),
            float(self.path_errors[i, j]),
        )

    def _mixture(self, i: int, j: int) -> tuple[Floats, Floats]:
        """Return the values of an effect, 0 among them if there may be no path, and weights."""
        draws = self.draws[i, j]
        drawn = draws[~np.isnan(draws)]
        probability = self.path_probabilities[i, j] if len(drawn) else 0.0
        weights = np.append(1 - probability, np.full(len(drawn), probability / max(1, len(drawn))))
        is_possible = weights > 0
        return np.append(0.0, drawn)[is_possible], weights[is_possible]

    def plot(
        self,
        causes: Any = None,
        outcomes: Any = None,
        *,
        level: float = 0.95,
        n: int = 20,
        ax: Any = None,
    ) -> ForestDisplay:
        """Draw the means with their intervals, the largest first: a forest plot.

        Parameters
        ----------
        causes, outcomes : column or list of columns, optional
            By default all.
        level : float, default=0.95
            The probability of the intervals, from 0 to 1.
        n : int, default=20
            How many effects are drawn at most.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        display : ForestDisplay
            A forest plot, with the attributes `ax_` and `figure_`.

        Raises
        ------
        ValueError, TypeError, ImportError
            If there is no such column, or matplotlib is not installed.
        """
        names: list[Any] = self.nodes.names
        first, last = (
            names if each is None else named_nodes(each, names, name)[0]
            for each, name in ((causes, "causes"), (outcomes, "outcomes"))
        )
        drawn = [
            self._effect(i, j)
            for i, j in zip(*self._pairs(), strict=True)
            if names[self.causes[i].node] in first and names[self.outcomes[j].node] in last
        ]
        return ForestDisplay.from_effects(drawn[:n], level, ax=ax)

    def to_frame(self, level: float = 0.95) -> Any:
        """Return a table with a row for each cause and outcome, the largest means first.

        Parameters
        ----------
        level : float, default=0.95
            The probability of the intervals, from 0 to 1.

        Returns
        -------
        frame : pandas.DataFrame, or a table that converts to one if pandas is not installed
            Its columns are `cause`, `outcome`, `path_probability`, ``mean``, `standard_error`,
            `standard_deviation`, and the interval's `low` and `high`.

        Raises
        ------
        ValueError
            If the level is not from 0 to 1.
        """
        low, high = self.quantile(ends_of(level))
        rows, columns = self._pairs()
        return frame_of(
            {
                "cause": [self.causes[i].label for i in rows],
                "outcome": [self.outcomes[j].label for j in columns],
                "path_probability": self.path_probabilities[rows, columns],
                "mean": self.mean[rows, columns],
                "standard_error": self.standard_error[rows, columns],
                "standard_deviation": self.std[rows, columns],
                "low": low[rows, columns],
                "high": high[rows, columns],
            }
        )

    def _pairs(self) -> tuple[Integers, Integers]:
        """Return the rows and columns of all pairs, the largest means first."""
        causes, outcomes = ([x.node for x in each] for each in (self.causes, self.outcomes))
        rows, columns = np.nonzero(np.not_equal.outer(causes, outcomes))
        order = np.argsort(-np.abs(self.mean[rows, columns]), kind="stable")
        return rows[order], columns[order]

    def _caption(self) -> str:
        n_pairs, n_samples = len(self._pairs()[0]), self.draws.shape[-1]
        largest = f", the {_MOST_SHOWN} largest" if n_pairs > _MOST_SHOWN else ""
        return (
            f"{readable_count(n_pairs)} total effects from {readable_count(n_samples)} "
            f"networks{largest}"
        )

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (
                readable_name(self.causes[i].label),
                readable_name(self.outcomes[j].label),
                f"{self.path_probabilities[i, j]:.3g}",
                f"{self.mean[i, j]:.3g}",
                f"{self.standard_error[i, j]:.1g}",
            )
            for i, j in zip(*(each[:_MOST_SHOWN] for each in self._pairs()), strict=True)
        ]


class KnownPaths(NamedTuple):
    """What is known of paths without samples, and how samples depend on each other."""

    # (m, m): at [i, j], the probability of a path from node i to node j, NaN where it is not known
    probability: F2
    error: F2  # (m, m): its standard error
    batches: Batches


class Batches(NamedTuple):
    """Sampled networks that depend on each other, in batches whose means give standard errors."""

    of_network: I1  # (n,): the number of each network's batch; empty if networks are independent
    # returns the standard errors of the mean of batches from their means, (n_batches, ...)
    errors_of: Callable[[Floats], Floats]

    @classmethod
    def of_chains(cls, n: int, n_chains: int) -> Self:
        """Return the batches of Markov chains' networks, chain after chain; none without chains."""
        of_network = batches_of_states(n, n_chains) if n_chains else np.empty(0, np.int64)

        def errors_of(means: Floats) -> Floats:
            return errors_of_batches(means.reshape(n_chains, -1, *means.shape[1:]))

        return cls(of_network, errors_of)


def total_effects(
    tables: Sequence[SampledNetworks],
    nodes: Nodes,
    causes: list[Combination],
    outcomes: list[Combination],
    paths: KnownPaths,
    rng: Random,
) -> TotalEffects:
    """Return the posterior of the effects of some changes, from sampled networks.

    `tables`: networks on the same columns
    `paths`: its batches are of the networks of all tables, in order
    `rng`: the parameters are drawn with it

    Raises ValueError if the draws do not fit in memory; if the posterior of the parameters is not
    known (see `family_posteriors`); if an effect is out of float64's range.
    """
    compile_kernels([sum_paths])
    n, m = sum(len(each.parents) for each in tables), len(nodes.columns)
    k, k_out = len(causes), len(outcomes)
    own = sorted({i for cause in causes for i in cause.columns})
    require_memory(
        8 * n * k * k_out + 8 * m * NETWORKS_AT_A_TIME * (4 * len(own) + 6 * m),
        f"The effects of {k} columns in {readable_count(n)} networks",
        "draw fewer",
    )
    # Until the end everything is in units of the columns' norms, whose squares cannot overflow.
    scale = tables[0].groups[0].statistics.scale
    to_norms = scale[:, np.newaxis] / scale
    firsts = ([each.columns[0] for each in some] for some in (causes, outcomes))
    unit_causes, unit_outcomes = (scale[first] for first in firsts)
    of_causes = matrix_of(causes, m) * (unit_causes[:, np.newaxis] / scale)
    of_outcomes = matrix_of(outcomes, m) * (scale / unit_outcomes[:, np.newaxis])
    of_causes, units = of_causes[:, own], unit_outcomes / unit_causes[:, np.newaxis]
    rows = np.array(own, dtype=np.int64)
    draws = np.empty((k, k_out, n))
    expected = _Moments(*np.zeros((3, k, k_out)))
    in_batches = _Sums(paths.batches, k, k_out)
    start, freedom = 0, np.inf
    with one_blas_thread():
        for some, of_columns in (part for table in tables for part in table.portions(nodes)):
            is_parent = nodes.by_column(parents_of_masks(some))
            is_parent = np.ascontiguousarray(np.repeat(is_parent, nodes.widths, axis=1))
            drawn = draw_coefficients(of_columns, rng)
            here = slice(start, start + len(some))
            found = []
            for coef in (drawn.coef, drawn.expected):
                effects = np.empty((len(own), m, len(some)))
                sum_paths(is_parent, nodes.solved_within(coef) * to_norms, rows, effects)
                found.append(_combined(_combined(effects, of_causes, 0), of_outcomes, 1))
            draws[:, :, here], of_means = found
            expected = expected.with_more(of_means)
            in_batches.add(here, of_means)
            start, freedom = here.stop, min(freedom, drawn.least_freedom)
    pairs = np.ix_([each.node for each in causes], [each.node for each in outcomes])
    probability, path_errors = paths.probability[pairs], paths.error[pairs]
    is_known = ~np.isnan(probability)
    share = expected.count / n
    probability = np.where(is_known, probability, share)
    of_shares = np.sqrt(share * (1 - share) / (n - 1))
    if in_batches:
        of_shares = in_batches.path_errors
    path_errors = np.where(is_known, path_errors, of_shares)
    given_path = np.where((expected.count > 0) & (freedom > 1), expected.mean, np.nan)
    with np.errstate(over="ignore"):
        draws *= units[..., np.newaxis]
        given_path *= units
    _require_range(causes, outcomes, np.isinf(draws).any(axis=-1) | np.isinf(given_path))
    errors = _standard_errors(expected, probability, path_errors, freedom)
    if in_batches and freedom > 1:
        errors = in_batches.errors
    errors = errors * units
    return TotalEffects(
        nodes, causes, outcomes, draws, probability, path_errors, given_path, errors, freedom
    )


def _combined(effects: Floats, weights: Floats, axis: int) -> Floats:
    """Return combinations of effects along an axis, by the rows of `weights`; NaN stays NaN.

    Where a path leads from a node to another, one leads from each column to each.
    """
    parts = np.moveaxis(effects, axis, 0)
    of_rows = [
        sum(weight * parts[i] for i, weight in enumerate(row) if weight != 0) for row in weights
    ]
    return np.moveaxis(np.array(of_rows), 0, axis)


@dataclass
class _Moments:
    """How many values there are, their mean, and the sum of squares about it."""

    count: Floats
    mean: Floats
    squares: Floats

    def with_more(self, values: Floats) -> _Moments:
        """Add the values along the last axis that are not NaN (Chan, Golub and LeVeque 1979)."""
        has_value = ~np.isnan(values)
        n = has_value.sum(axis=-1).astype(np.float64)
        mean = np.where(has_value, values, 0.0).sum(axis=-1) / np.maximum(n, 1)
        apart = np.where(has_value, values - mean[..., np.newaxis], 0.0)
        count = np.maximum(self.count + n, 1)
        shift = mean - self.mean
        squares = (apart**2).sum(axis=-1) + shift**2 * (self.count * n / count)
        return _Moments(self.count + n, self.mean + shift * (n / count), self.squares + squares)


class _Sums:
    """Sums of effects over batches of sampled networks, whose spread gives errors."""

    def __init__(self, batches: Batches, k: int, m: int) -> None:
        self._of_network, self._errors_of = batches
        self._sizes = np.bincount(self._of_network)
        self._sums, self._paths = np.zeros((2, len(self._sizes), k, m))

    def __bool__(self) -> bool:
        return len(self._sizes) > 0

    def add(self, here: slice, values: Floats) -> None:
        """Add the effects in some of the networks; NaN stands for no path."""
        own = self._of_network[here]
        for batch in np.unique(own):
            of_batch = values[..., own == batch]
            self._sums[batch] += np.nansum(of_batch, axis=-1)
            self._paths[batch] += np.isfinite(of_batch).sum(axis=-1)

    @property
    def errors(self) -> Floats:
        """The standard errors of the mean effects."""
        return self._errors_of(self._sums / self._sizes[:, np.newaxis, np.newaxis])

    @property
    def path_errors(self) -> Floats:
        """The standard errors of the shares of networks with a path."""
        return self._errors_of(self._paths / self._sizes[:, np.newaxis, np.newaxis])


def _standard_errors(
    expected: _Moments, probability: Floats, path_errors: Floats, freedom: float
) -> Floats:
    """Return the standard errors of the mean effects over all networks."""
    if freedom <= 1:
        return np.where(probability > 0, np.nan, 0.0)
    count, mean, squares = expected.count, expected.mean, expected.squares
    of_given_path = np.sqrt(squares / np.maximum(count * (count - 1), 1))
    # A single network does not show how networks differ.
    of_given_path = np.where(count < 2, np.abs(mean), of_given_path)
    return np.hypot(probability * of_given_path, path_errors * mean)


def _require_range(
    causes: Sequence[Combination], outcomes: Sequence[Combination], is_out: Booleans
) -> None:
    """Raise if an effect is out of float64's range."""
    if is_out.any():
        cause, outcome = np.argwhere(is_out)[0]
        raise ValueError(
            f"The effect of column {causes[cause].label!r} on column {outcomes[outcome].label!r} "
            "is out of float64's range. Measure them in units nearer to each other."
        )
