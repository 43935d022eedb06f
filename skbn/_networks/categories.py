"""What a network says of its categories: Bayes's rule over their levels.

A network with categories is the joint Gaussian of its columns, of which some are indicators. Read
as it stands, the mean of an indicator is a linear probability: it may leave [0, 1], and the middle
one of three groups is never the most probable (Hastie, Tibshirani & Friedman 2009, "The elements of
statistical learning", section 4.2). So the Gaussian is read the other way round: for levels l with
the indicators e(l),

    P(l, x) = P(l) N(x | e(l)),    P(l) = product over categories of P(l_c | levels before l_c).

N(x | e) is the Gaussian of the numbers given the indicators, and P(l_c | ...) the regression of a
category's indicators on those of the categories before it, its negative shares set to 0 and scaled
to sum to 1; for the first one, its shares. Members of an equivalence class have the same N, and the
same P(l) unless more than two categories are joined. With one category and all edges this is linear
discriminant analysis with the covariance of maximum likelihood.

As N(x | e) = N(e | x) N(x) / N(e), all that is needed are Gaussians of the indicators:

    P(l | x) is proportional to P(l) N(e(l) | x) / N(e(l)).

Nodes that an experimenter set, and exogenous ones, come before all categories: in P(l), given
categories are conditions of the regressions, and given numbers h multiply each factor by
N(e_c | levels before, h) / N(e_c | levels before), which is scaled to sum to 1 again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.csgraph import connected_components
from scipy.special import ndtr

from skbn._core.arrays import Booleans, Floats, Integers, Random
from skbn._core.graphs import propagate, topological_order
from skbn._core.subsets import bits_of
from skbn._core.text import readable_name, readable_value, warn
from skbn._data.nodes import Nodes
from skbn._displays.notebook import TableRepr, frame_of
from skbn._networks.gaussian import LinearGaussianModel
from skbn._regressions.least_squares import solve_triangular, triangular_factor

# More combinations of missing levels than these are not listed, but drawn.
_MOST_COMBINATIONS = 4096
# Gibbs steps, without and with those at the beginning, which are left out.
_STEPS, _BURN_IN = 500, 50
# A level has at least this share, so that evidence that contradicts the shares can be weighed.
_LEAST_SHARE = 1e-12
# How many indicators are in memory at a time.
_MOST_NUMBERS = 2**22
_MOST_SCENARIOS = 5  # whose numbers are displayed
# Log weights beyond this differ by infinitely much.
_LARGEST = 1e300
_MANY = (
    f"In some rows, so many categories have no value that more than {_MOST_COMBINATIONS:,} "
    f"combinations of levels are possible. Probabilities are then shares of {_STEPS} Gibbs steps, "
    "with errors of up to 0.05. Give the levels of more categories for exact ones."
)


Block = tuple[int, int]


class _Normal(NamedTuple):
    """A Gaussian distribution of indicators: means, (n, k) or (1, k), and R with covariance R'R."""

    mean: Floats
    factor: Floats

    @classmethod
    def of(
        cls, model: LinearGaussianModel, given: list[int], rows: Floats, columns: list[int]
    ) -> _Normal:
        mean, factor = model.conditional_factor(given, rows[:, given], columns)
        return cls(np.atleast_2d(mean), factor)

    def moments(self, hidden: list[Block]) -> tuple[Floats, Floats]:
        """Return the same if no evidence is there: the shares, and the covariance by the model."""
        shares = [np.maximum(of_all_levels(self.mean[:, start:end]), 0) for start, end in hidden]
        mean = np.hstack([(each / each.sum(1, keepdims=True))[:, 1:] for each in shares])
        factor = self.factor[:, _numbers(hidden)]
        return mean, np.broadcast_to(factor.T @ factor, (len(mean), *[mean.shape[1]] * 2))

    def precision(self) -> Floats:
        """Return the inverse of the covariance."""
        inverse = solve_triangular(self.factor, np.eye(len(self.factor)))
        return np.asarray(inverse @ inverse.T)

    def in_order(self, blocks: list[Block]) -> tuple[Floats, Floats, Floats]:
        """Return the intercepts, slopes and precisions of each category given the ones before."""
        slopes, precisions = np.zeros((2, *self.factor.shape))
        for start, end in blocks:
            own, factor = slice(start, end), self.factor
            slopes[:start, own] = solve_triangular(factor[:start, :start], factor[:start, own])
            precisions[own, own] = _Normal(self.mean, factor[own, own]).precision()
        return self.mean - self.mean @ slopes, slopes, precisions

    def with_variances(self, whole: _Normal, blocks: list[Block]) -> _Normal:
        """Return the same, with the variances that indicators of some blocks have by their shares.

        They lack the correlations of exogenous numbers. `whole` has the shares, and the variances
        that the model has without conditions.
        """
        factor = self.factor.copy()
        for start, end in blocks:
            own, shares = factor[:, start:end], whole.mean[0, start:end]
            of_model = whole.factor[:, start:end].T @ whole.factor[:, start:end]
            wanted = own.T @ own + np.diag(shares) - np.outer(shares, shares) - of_model
            if np.linalg.eigvalsh(wanted)[0] > _LEAST_SHARE:
                root = np.linalg.cholesky(wanted).T
                factor[:, start:end] = own @ solve_triangular(triangular_factor(own), root)
        return _Normal(self.mean, triangular_factor(factor))


def _levels(width: int) -> Floats:
    """Return the indicators of each level of a category, a row for each."""
    return np.eye(width + 1)[:, 1:]


def of_all_levels(indicators: Floats) -> Floats:
    """Return indicators, or their means, (..., width), with those of the first level before."""
    return np.concatenate([1 - indicators.sum(-1, keepdims=True), indicators], -1)


class _Levels(NamedTuple):
    """The log weights of levels, in n rows with the same holes, as functions of k indicators e.

    Parameters
    ----------
    blocks : list of tuple of int
        Where the indicators of each category start and end, in topological order.
    shares, ratios : tuple of ndarray of shape (n, k) and (k, k)
        Intercepts and slopes, by those of the categories before, of P(l_c | levels before), and of
        the log density of numbers that were set relative to that with a category's first level.
    linear, quadratic : ndarray of shape (n, k) and (k, k)
        e'(quadratic)e + e'(linear) is log N(e | x) - log N(e).
    """

    blocks: list[Block]
    shares: tuple[Floats, Floats]
    ratios: tuple[Floats, Floats]
    linear: Floats
    quadratic: Floats

    @classmethod
    def of(cls, blocks: list[Block], shares: _Normal, held: _Normal, seen: _Normal) -> _Levels:
        """Return those of three Gaussians of the indicators.

        They are given the categories that were set or are exogenous, all nodes that were set or are
        exogenous, and these with the numbers that are observed.
        """
        means, slopes, precisions = shares.in_order(blocks)
        held_means, held_slopes, held_precisions = held.in_order(blocks)
        ratio = held_means @ held_precisions - means @ precisions
        ratio += np.diag(precisions - held_precisions) / 2
        ratio_slopes = held_slopes @ held_precisions - slopes @ precisions
        before, after = held.precision(), seen.precision()
        linear = seen.mean @ after - held.mean @ before
        of_shares, of_ratios = (means, slopes), (ratio, ratio_slopes)
        return cls(blocks, of_shares, of_ratios, linear, (before - after) / 2)

    def of_rows(self, some: slice) -> _Levels:
        """Return the log weights in some of the rows."""
        shares, ratios = ((each[some], slopes) for each, slopes in (self.shares, self.ratios))
        return self._replace(shares=shares, ratios=ratios, linear=self.linear[some])

    def log_weights(self, indicators: Floats) -> Floats:
        """Return log P(l | x) of levels, (n, s, k), up to a constant for each row; shape (n, s)."""
        means, ratios = (
            each[:, np.newaxis] + indicators @ slopes for each, slopes in (self.shares, self.ratios)
        )
        total = ((indicators @ self.quadratic + self.linear[:, np.newaxis]) * indicators).sum(-1)
        for start, end in self.blocks:
            own = slice(start, end)
            logs = np.log(np.maximum(of_all_levels(means[..., own]), _LEAST_SHARE))
            logs[..., 1:] += ratios[..., own]
            chosen = (logs * of_all_levels(indicators[..., own])).sum(-1)
            total += chosen - _log_sum(logs)[..., 0]
        return np.asarray(np.clip(total, -_LARGEST, _LARGEST))

    def listed(self, indicators: Floats, hidden: list[Block]) -> tuple[Floats, Floats]:
        """Return all levels of hidden categories, (1, s, k), and their probabilities, (n, s)."""
        sizes = [end - start + 1 for start, end in hidden]
        chosen = np.indices(sizes).reshape(len(sizes), -1)
        parts = [_levels(size - 1)[own] for size, own in zip(sizes, chosen, strict=True)]
        combinations = np.hstack(parts)
        whole = np.repeat(indicators[:, np.newaxis], len(combinations), axis=1)
        whole[..., _numbers(hidden)] = combinations
        return combinations[np.newaxis], _probabilities(self.log_weights(whole))

    def sampled(
        self, indicators: Floats, hidden: list[Block], rng: Random
    ) -> tuple[Floats, Floats]:
        """Return levels of hidden categories by Gibbs steps, (n, s, k), and their weights."""
        state, n, found = indicators.copy(), len(indicators), []
        state[:, _numbers(hidden)] = 0.0
        for _ in range(_BURN_IN + _STEPS):
            for start, end in hidden:
                each = np.repeat(state[:, np.newaxis], end - start + 1, axis=1)
                each[..., start:end] = _levels(end - start)
                probabilities = _probabilities(self.log_weights(each))
                state = each[np.arange(n), _chosen(probabilities, rng.uniform(size=n))]
            found.append(state[:, _numbers(hidden)])
        return np.stack(found[_BURN_IN:], axis=1), np.full((n, _STEPS), 1 / _STEPS)

    def answer(
        self, indicators: Floats, hidden: list[Block], uniform: Floats | None, rng: Random | None
    ) -> tuple[Floats, Floats]:
        """Return the means and covariances of hidden indicators, or drawn ones; by small steps."""
        n_combinations = math.prod(end - start + 1 for start, end in hidden)
        is_listed = n_combinations <= _MOST_COMBINATIONS
        if not is_listed:
            warn(_MANY)
            rng = np.random.default_rng(0) if rng is None else rng
        parts = []
        step = max(
            1, _MOST_NUMBERS // (indicators.shape[1] * max(n_combinations * is_listed, _STEPS))
        )
        for start in range(0, len(indicators), step):
            some = slice(start, start + step)
            own = self.of_rows(some)
            if is_listed:
                each, weights = own.listed(indicators[some], hidden)
            else:
                each, weights = own.sampled(indicators[some], hidden, rng)
            if uniform is None:
                mean = (weights[:, np.newaxis] @ each)[:, 0]
            else:
                chosen = _chosen(weights, uniform[some])
                mean = np.broadcast_to(each, (len(chosen), *each.shape[1:]))[
                    np.arange(len(chosen)), chosen
                ]
            deviations = each - mean[:, np.newaxis]
            squares = (deviations * weights[..., np.newaxis]).swapaxes(1, 2) @ deviations
            parts.append((mean, squares))
        means, covariances = zip(*parts, strict=True)
        return np.concatenate(means), np.concatenate(covariances)


def _numbers(blocks: list[Block]) -> list[int]:
    return [i for start, end in blocks for i in range(start, end)]


def _log_sum(logs: Floats) -> Floats:
    """Return the logarithm of the sum of the last axis's exponentials, an axis of length 1."""
    largest = logs.max(axis=-1, keepdims=True)
    return np.asarray(largest + np.log(np.exp(logs - largest).sum(axis=-1, keepdims=True)))


def _probabilities(log_weights: Floats) -> Floats:
    return np.asarray(np.exp(log_weights - _log_sum(log_weights)))


def _chosen(probabilities: Floats, uniform: Floats) -> Integers:
    """Return a column for each row, by its probabilities and a uniform number."""
    sums = probabilities.cumsum(axis=1)
    return np.asarray((sums[:, :-1] < uniform[:, np.newaxis] * sums[:, -1:]).sum(axis=1))


def _reached(model: LinearGaussianModel, nodes: list[int]) -> Booleans:
    """Return which columns directed paths from some lead to, these included."""
    return propagate(np.eye(len(model.nodes))[nodes], model.coef != 0, model.parents).any(axis=0)


def missing_levels(
    own: LinearGaussianModel,
    before: LinearGaussianModel,
    nodes: Nodes,
    rows: Floats,
    noise: Floats | None = None,
    rng: Random | None = None,
) -> tuple[list[int], Floats, Floats]:
    """Return what rows with the same holes say of the levels that they lack.

    Parameters
    ----------
    own : LinearGaussianModel
        Given the nodes that were set in these rows.
    before : LinearGaussianModel
        Without any node set.
    nodes : Nodes
    rows : ndarray of shape (n, m)
        NaN where values are missing.
    noise : ndarray of shape (n, m), optional
        Standard normal numbers, for draws in place of probabilities.
    rng : RandomState or Generator, optional
        For Gibbs steps.

    Returns
    -------
    columns : list of k int
        The indicators of the missing levels.
    values : ndarray of shape (n, k)
        The levels' probabilities, or drawn indicators.
    covariances : ndarray of shape (n, k, k)
    """
    m = len(own.nodes)
    is_seen, is_outside = ~np.isnan(rows[0]), np.isin(np.arange(m), own.exogenous)
    is_held = is_outside | (own.noise_variance == 0)
    categories = [nodes.columns_of([v]) for v, n in enumerate(nodes.names) if n in nodes.levels]
    is_number = ~np.isin(np.arange(m), [i for c in categories for i in c])
    rank = np.argsort(topological_order(before.parents))
    free = sorted((c for c in categories if not is_held[c[0]]), key=lambda c: rank[c[0]])
    columns = [i for c in free for i in c if not is_seen[i]]
    k = len(columns)
    values, covariances = np.zeros((len(rows), k)), np.zeros((len(rows), k, k))
    if not columns:
        return columns, values, covariances
    known = np.where(is_seen, rows, own.mean)
    given = is_held & ~is_number & (before.noise_variance > 0)
    unset = replace(before, exogenous=()).given(np.flatnonzero(given).tolist())
    follows = _reached(own, np.flatnonzero(is_held & is_number).tolist())
    outside = [v for v in before.exogenous if is_number[v]]
    lacks_correlations = _reached(before, outside if len(outside) > 1 else [])
    joined = bits_of(own.parents, m) & ~is_held
    _, part_of = connected_components(joined, directed=False)
    for part in dict.fromkeys(part_of[columns].tolist()):
        is_in = part_of == part
        inside = [c for c in free if is_in[c[0]]]
        ends = np.cumsum([len(c) for c in inside]).tolist()
        blocks = [*zip([0, *ends[:-1]], ends, strict=True)]
        hidden = [b for c, b in zip(inside, blocks, strict=True) if not is_seen[c[0]]]
        every = [i for c in inside for i in c]
        shares, held, seen = (
            _Normal.of(each, np.flatnonzero(is_given).tolist(), known, every)
            for each, is_given in [
                (unset, given),
                (own, is_outside),
                (own, is_outside | (is_in & is_seen & is_number)),
            ]
        )
        lacking = [b for c, b in zip(inside, blocks, strict=True) if lacks_correlations[c[0]]]
        if lacking:
            whole = _Normal.of(replace(before, exogenous=()), [], known[:1], every)
            shares = shares.with_variances(whole, lacking)
        if follows[every].all():  # numbers that were set are evidence like others
            held = shares
        levels = _Levels.of(blocks, shares, held, seen)
        at = [columns.index(every[i]) for i in _numbers(hidden)]
        if noise is None and not follows[every].any() and not (is_in & is_seen).any():
            mean, covariance = shares.moments(hidden)
        else:
            uniform = None if noise is None else ndtr(noise[:, columns[at[0]]])
            mean, covariance = levels.answer(rows[:, every], hidden, uniform, rng)
        values[:, at] = mean
        covariances[np.ix_(range(len(rows)), at, at)] = covariance
    return columns, values, covariances


@dataclass(frozen=True, eq=False, repr=False)
class LevelProbabilities(TableRepr, Mapping[Any, Any]):
    """The probabilities of a category's levels.

    It is a mapping from each level to its probability, is displayed as a table, and has `to_frame`.

    Parameters
    ----------
    levels : list of n_levels hashables
    probabilities : ndarray of shape (n_levels,), or (k, n_levels) for k scenarios
        They sum to 1.

    See Also
    --------
    GaussianDistribution : Has one for each category.

    Examples
    --------
    >>> import numpy as np
    >>> from skbn import LevelProbabilities
    >>> sites = LevelProbabilities(["north", "south"], np.array([0.25, 0.75]))
    >>> sites
    Probabilities of 2 levels
    level  probability
    north         0.25
    south         0.75
    >>> sites["south"], max(sites, key=sites.get)
    (0.75, 'south')
    """

    levels: list[Any]
    probabilities: Floats

    _alignments = "lr"
    _header = "level", "probability"

    def __getitem__(self, level: Any) -> Any:
        """Return the probability of a level: a float, or an array of shape (k,)."""
        if level not in self.levels:
            raise KeyError(f"{readable_value(level)} is not one of {readable_value(self.levels)}")
        found = self.probabilities[..., self.levels.index(level)]
        return found if found.ndim else float(found)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.levels)

    def __len__(self) -> int:
        return len(self.levels)

    def to_frame(self) -> Any:
        """Return a table of the probabilities.

        Returns
        -------
        table : pandas.DataFrame
            With the columns `level` and `probability`, after the column `scenario` (0, 1, ...) if
            there are several. Without pandas, a dict of these columns that is displayed as a table.

        Examples
        --------
        >>> import numpy as np
        >>> from skbn import LevelProbabilities
        >>> sites = LevelProbabilities(["north", "south"], np.array([0.25, 0.75]))
        >>> print(sites.to_frame().to_string(index=False))
        level  probability
        north         0.25
        south         0.75
        """
        n, k = len(np.atleast_2d(self.probabilities)), len(self.levels)
        scenario = {"scenario": np.repeat(np.arange(n), k)} if self.probabilities.ndim > 1 else {}
        parts = {"level": self.levels * n, "probability": self.probabilities.ravel()}
        return frame_of({**scenario, **parts})

    def _caption(self) -> str:
        n = len(np.atleast_2d(self.probabilities))
        scenarios = f" in {n} scenario{'s' * (n != 1)}" if self.probabilities.ndim > 1 else ""
        return f"Probabilities of {len(self.levels)} levels{scenarios}"

    def _rows(self) -> list[tuple[str, str]]:
        own = np.atleast_2d(self.probabilities).T
        return [
            (readable_name(level), numbers_text(p))
            for level, p in zip(self.levels, own, strict=True)
        ]


def numbers_text(numbers: Floats) -> str:
    """Return numbers of all scenarios, cut if there are more than five."""
    texts = [f"{number:.4g}" for number in numbers[:_MOST_SCENARIOS]]
    return ", ".join(texts + ["..."] * (len(numbers) > _MOST_SCENARIOS))


class Conditional(NamedTuple):
    """What rows with the same holes say of all values that they lack.

    Parameters
    ----------
    columns : list of h int
        Ascending.
    values : ndarray of shape (n, h)
        Means or, with noise, draws.
    factor : ndarray of shape (r, h)
        F'F is the covariance given the levels of all categories.
    slopes : ndarray of shape (k, h)
        By how much the missing indicators change the means.
    of_levels : ndarray of shape (n, k, k)
        The indicators' covariances.
    """

    columns: list[int]
    values: Floats
    factor: Floats
    slopes: Floats
    of_levels: Floats

    def covariances(self) -> Floats:
        """Return the covariances, (n, h, h), or one for all rows if no level is missing."""
        with np.errstate(over="ignore", invalid="ignore"):
            given_levels = np.asarray(self.factor.T @ self.factor)
        by_levels = self.slopes.T @ self.of_levels @ self.slopes if len(self.slopes) else 0.0
        return given_levels + by_levels

    def deviations(self) -> Floats:
        """Return the standard deviations in each row, (n, h)."""
        by_levels = ((self.of_levels @ self.slopes) * self.slopes).sum(axis=1)
        return np.sqrt((self.factor**2).sum(axis=0) + by_levels)


def conditional(
    own: LinearGaussianModel,
    before: LinearGaussianModel,
    nodes: Nodes,
    rows: Floats,
    noise: Floats | None = None,
    rng: Random | None = None,
) -> Conditional:
    """Return what rows with the same holes say of what they lack; as `missing_levels`."""
    n, hidden = len(rows), np.flatnonzero(np.isnan(rows[0])).tolist()
    columns, values, of_levels = missing_levels(own, before, nodes, rows, noise, rng)
    rows = rows.copy()
    rows[:, columns] = values
    seen, others = np.flatnonzero(~np.isnan(rows[0])), np.flatnonzero(np.isnan(rows[0])).tolist()
    raised = np.repeat(own.mean[np.newaxis], len(columns), axis=0)
    raised[range(len(columns)), columns] += 1.0
    known = np.vstack([rows, raised])[:, seen]
    means, of_others = own.conditional_factor(seen.tolist(), known, others)
    slopes, factor = np.zeros((len(columns), rows.shape[1])), np.zeros((len(others), rows.shape[1]))
    slopes[range(len(columns)), columns] = 1.0
    slopes[:, others] = means[n:] - own.mean[others]
    factor[:, others] = of_others
    rows[:, others] = means[:n] if noise is None else means[:n] + noise[:, others] @ of_others
    return Conditional(hidden, rows[:, hidden], factor[:, hidden], slopes[:, hidden], of_levels)
