"""The posterior of total effects, averaged over sampled networks and their parameters.

In a network with the coefficients B the effect of do(x) on y is the sum, over the directed paths
from x to y, of the products of their coefficients: an entry of the inverse of I - B. No path has
two coefficients of the same family, and given the network the parameters of different families are
independent. So the effect's expectation in a network is the same sum with the coefficients'
posterior means, exactly. The mean over networks is that of these expectations, which spread less
than effects with drawn coefficients; the latter give the standard deviation and the quantiles.

Where the probability of a path is known, only the effect given a path is left to the samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from skbn._chains.convergence import batches_of_states, errors_of_batches
from skbn._core.arrays import Booleans, Floats, Integers
from skbn._core.columns import column_number
from skbn._core.compile import compile_kernels
from skbn._core.resources import one_blas_thread, require_memory
from skbn._core.subsets import parents_of_masks
from skbn._core.text import readable_count, readable_name, readable_value, text_table
from skbn._data.statistics import GroupStatistics
from skbn._displays.frames import frame_of
from skbn._displays.notebook import html_table
from skbn._posterior.effect_kernels import sum_paths
from skbn._posterior.effects import (
    EffectPosterior,
    as_probabilities,
    quantiles,
    standard_deviations,
)
from skbn._posterior.parameter_draws import NETWORKS_AT_A_TIME, draw_coefficients
from skbn._scores.criteria import Criterion

_MOST_SHOWN = 10


@dataclass(frozen=True, eq=False, repr=False)
class TotalEffects:
    """The posterior of the total effects of columns on others, all from the same samples.

    ``effects[cause, outcome]`` is the posterior of one of them, an `EffectPosterior`, which says
    what an effect is. In arrays, [i, j] stands for the effect of column i on column j.

    Parameters
    ----------
    columns : list of m str or int
        The columns' names or numbers.
    causes : list of k int
        The numbers of the columns whose effects these are: all of them, in order, in what
        `GaussianBNPosterior.effects` returns.
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
        The standard errors of ``mean``, as those of an `EffectPosterior`.
    freedom : float
        The fewest degrees of freedom with which a sampled network's coefficients are known. With
        1 or less there are no means, and with 2 or less no standard deviations.

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

    columns: list[str | int]
    causes: list[int]
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
            effects = self._values(i, j)
            if len(effects):
                at_zero = 1 - self.path_probabilities[i, j]
                values[:, i, j] = quantiles(np.sort(effects), at_zero, q.ravel())
        return values.reshape(q.shape + values.shape[1:])

    def __getitem__(self, pair: tuple[str | int, str | int]) -> EffectPosterior:
        if not (isinstance(pair, tuple) and len(pair) == 2):
            raise TypeError(
                "Give a cause and an outcome, as in effects[cause, outcome]; got "
                f"{readable_value(pair)}."
            )
        x, y = (column_number(self.columns, column) for column in pair)
        if x == y:
            raise ValueError(
                f"cause and outcome are both column {self.columns[x]!r}. Give two columns."
            )
        i = self.causes.index(x)
        return EffectPosterior(
            self.columns[x],
            self.columns[y],
            1 - float(self.path_probabilities[i, y]),
            self._values(i, y),
            float(self.given_path[i, y]),
            float(self.standard_error[i, y]),
            float(self.path_errors[i, y]),
            self.freedom,
        )

    def _values(self, i: int, y: int) -> Floats:
        draws = self.draws[i, y]
        return draws[~np.isnan(draws)]

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
        if not 0 <= level <= 1:
            raise ValueError(f"level must be from 0 to 1; got {readable_value(level)}.")
        low, high = self.quantile([(1 - level) / 2, (1 + level) / 2])
        rows, columns = self._pairs()
        return frame_of(
            {
                "cause": [self.columns[self.causes[i]] for i in rows],
                "outcome": [self.columns[j] for j in columns],
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
        outcomes = np.arange(len(self.columns))
        rows, columns = np.nonzero(outcomes != np.array(self.causes)[:, np.newaxis])
        order = np.argsort(-np.abs(self.mean[rows, columns]), kind="stable")
        return rows[order], columns[order]

    def __repr__(self) -> str:
        return "\n".join([self._caption(), text_table(self._lines(), "llrrr", _HEADER)])

    def _repr_html_(self) -> str | None:
        alignments = ["left", "left", "right", "right", "right"]
        return html_table(self._caption(), self._lines(), alignments, _HEADER)  # type: ignore[arg-type]

    def _caption(self) -> str:
        n_pairs, n_samples = len(self._pairs()[0]), self.draws.shape[-1]
        largest = f", the {_MOST_SHOWN} largest" if n_pairs > _MOST_SHOWN else ""
        return (
            f"{readable_count(n_pairs)} total effects from {readable_count(n_samples)} "
            f"networks{largest}"
        )

    def _lines(self) -> list[tuple[str, ...]]:
        return [
            (
                readable_name(self.columns[self.causes[i]]),
                readable_name(self.columns[j]),
                f"{self.path_probabilities[i, j]:.3g}",
                f"{self.mean[i, j]:.3g}",
                f"{self.standard_error[i, j]:.1g}",
            )
            for i, j in zip(*(each[:_MOST_SHOWN] for each in self._pairs()), strict=True)
        ]


_HEADER = ["cause", "outcome", "path", "mean", "standard error"]


def total_effects(
    groups: Sequence[GroupStatistics],
    criterion: Criterion,
    networks: Integers,
    rng: np.random.Generator | np.random.RandomState,
    known_paths: Floats,
    causes: Sequence[int],
    n_chains: int = 0,
) -> TotalEffects:
    """Return the posterior of some columns' effects on all columns, from sampled networks.

    Parameters
    ----------
    groups : sequence of GroupStatistics
        All columns.
    criterion : Criterion
    networks : ndarray of shape (n, m), int64 or object
        The masks of each column's parents in networks drawn from their posterior.
    rng : numpy.random.Generator or RandomState
        The parameters are drawn with it.
    known_paths : ndarray of shape (m, m)
        At [i, j], the probability of a path from i to j, NaN where it is not known.
    causes : sequence of k int
    n_chains : int
        Of how many Markov chains the networks are states, chain after chain; 0 if they are
        independent of each other.

    Raises
    ------
    ValueError
        If the draws do not fit in memory; if the posterior of the parameters is not known (see
        `family_posteriors`); if an effect is out of float64's range.
    """
    compile_kernels([sum_paths])
    n, m = networks.shape
    k = len(causes)
    require_memory(
        8 * m * (n * k + NETWORKS_AT_A_TIME * (4 * k + 6 * m)),
        f"The effects of {k} columns in {readable_count(n)} networks",
        lambda _: "draw fewer",
    )
    rows = np.array(causes, dtype=np.int64)
    # Until the end everything is in units of the columns' norms, whose squares cannot overflow.
    scale = groups[0].statistics.scale
    to_norms, units = scale[:, np.newaxis] / scale, scale / scale[rows, np.newaxis]
    draws = np.empty((k, m, n))
    expected = _Moments(np.zeros((k, m)), np.zeros((k, m)), np.zeros((k, m)))
    in_batches = _Batches(k, m, n, n_chains)
    freedom = np.inf
    with one_blas_thread():
        for start in range(0, n, NETWORKS_AT_A_TIME):
            some = networks[start : start + NETWORKS_AT_A_TIME]
            is_parent = parents_of_masks(some)
            drawn = draw_coefficients(groups, criterion, some, rng)
            of_draws, of_means = np.empty((2, k, m, len(some)))
            sum_paths(is_parent, drawn.coef * to_norms, rows, of_draws)
            draws[:, :, start : start + len(some)] = of_draws
            sum_paths(is_parent, drawn.expected * to_norms, rows, of_means)
            expected = expected.with_more(of_means)
            in_batches.add(start, of_means)
            freedom = min(freedom, drawn.least_freedom)
    probability = known_paths[rows]
    is_known = ~np.isnan(probability)
    share = expected.count / n
    probability = np.where(is_known, probability, share)
    path_errors = np.where(is_known, 0.0, np.sqrt(share * (1 - share) / (n - 1)))
    if n_chains:
        path_errors = np.where(is_known, 0.0, in_batches.path_errors)
    given_path = np.where((expected.count > 0) & (freedom > 1), expected.mean, np.nan)
    names = groups[0].statistics.independence.names
    with np.errstate(over="ignore"):
        draws *= units[..., np.newaxis]
        given_path *= units
    _require_range(names, rows, np.isinf(draws).any(axis=-1) | np.isinf(given_path))
    errors = _standard_errors(expected, probability, path_errors, freedom)
    if n_chains and freedom > 1:
        errors = in_batches.errors
    errors = errors * units
    return TotalEffects(
        list(names), list(causes), draws, probability, path_errors, given_path, errors, freedom
    )


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


class _Batches:
    """Sums of effects over neighbouring states of Markov chains, whose spread gives errors."""

    def __init__(self, k: int, m: int, n: int, n_chains: int) -> None:
        self._n_chains = n_chains
        self._of_network = batches_of_states(n, n_chains)
        n_batches = int(self._of_network[-1]) + 1 if n_chains else 0
        self._sums, self._paths = np.zeros((2, n_batches, k, m))
        self._sizes = np.bincount(self._of_network, minlength=n_batches)[:n_batches]

    def add(self, start: int, values: Floats) -> None:
        """Add the effects in networks from `start` on; NaN stands for no path."""
        if not self._n_chains:
            return
        own = self._of_network[start : start + values.shape[-1]]
        for batch in np.unique(own):
            of_batch = values[..., own == batch]
            self._sums[batch] += np.nansum(of_batch, axis=-1)
            self._paths[batch] += np.isfinite(of_batch).sum(axis=-1)

    @property
    def errors(self) -> Floats:
        """The standard errors of the mean effects."""
        return self._errors_of(self._sums)

    @property
    def path_errors(self) -> Floats:
        """The standard errors of the shares of networks with a path."""
        return self._errors_of(self._paths)

    def _errors_of(self, sums: Floats) -> Floats:
        means = sums / self._sizes[:, np.newaxis, np.newaxis]
        return errors_of_batches(means.reshape(self._n_chains, -1, *means.shape[1:]))


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


def _require_range(names: Sequence[Any], causes: Integers, is_out: Booleans) -> None:
    """Raise if an effect is out of float64's range."""
    if is_out.any():
        cause, outcome = np.argwhere(is_out)[0]
        raise ValueError(
            f"The effect of column {names[causes[cause]]!r} on column {names[outcome]!r} is out "
            "of float64's range. Measure them in units nearer to each other."
        )
