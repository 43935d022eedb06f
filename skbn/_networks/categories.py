"""What a network says of its categories: Bayes's rule over their levels.

A network with categories is the joint Gaussian of its columns, of which some are indicators. Read
as it stands, the mean of an indicator is a linear probability: it may leave [0, 1], and the middle
one of three groups is never the most probable (Hastie, Tibshirani & Friedman 2009, "The elements of
statistical learning", section 4.2). So the Gaussian is read the other way round: for levels l with
the indicators e(l),

    P(l, x) = P(l) N(x | e(l)),    P(l) = product over categories of P(l_c | levels before l_c).

N(x | e) is the Gaussian of the numbers given the indicators, and P(l_c | ...) the regression of a
category's indicators on those of the categories before it, its negative shares set to 0 and scaled
to sum to 1; for the first one, its shares. Members of an equivalence class have the same N and, of
one or two categories, the same P(l). With one category and all edges this is linear discriminant
analysis with the covariance of maximum likelihood.

As N(x | e) = N(e | x) N(x) / N(e), all that is needed are Gaussians of the indicators:

    P(l | x) is proportional to P(l) N(e(l) | x) / N(e(l)).

Nodes that an experimenter set, and exogenous ones, come before all categories. Categories among
them are conditions of all these regressions and densities. Numbers h are evidence like x if all
other categories follow them. Otherwise each factor of P(l) is multiplied by
N(e_c | levels before, h) / N(e_c | levels before) and scaled again, so that what is set changes
nothing but what follows it.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.csgraph import connected_components
from scipy.special import log_softmax, ndtr, softmax

from skbn._core.arrays import Booleans, Floats, Integers
from skbn._core.graphs import propagate, topological_order
from skbn._core.subsets import bits_of, members_of
from skbn._core.text import warn
from skbn._data.nodes import Nodes
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


class _Normal(NamedTuple):
    """A Gaussian distribution of k indicators: means, (n, k), and R with the covariance R'R."""

    mean: Floats
    factor: Floats

    def precision(self) -> Floats:
        """Return the inverse of the covariance."""
        inverse = solve_triangular(self.factor, np.eye(len(self.factor)))
        return np.asarray(inverse @ inverse.T)

    def in_order(self, blocks: list[slice]) -> tuple[Floats, Floats, Floats]:
        """Return the intercepts, slopes and precisions of each category given the ones before."""
        (slopes, precisions), factor = np.zeros((2, *self.factor.shape)), self.factor
        for own in blocks:
            before = slice(own.start)
            slopes[before, own] = solve_triangular(factor[before, before], factor[before, own])
            precisions[own, own] = _Normal(self.mean, factor[own, own]).precision()
        return self.mean - self.mean @ slopes, slopes, precisions

    def with_variances(self, whole: _Normal, blocks: list[slice]) -> _Normal:
        """Return the same, with the variances that indicators of some categories have by shares.

        `whole` has the shares, and the variances that the network has without conditions.
        """
        factor = self.factor.copy()
        for own in blocks:
            of_own, shares, of_whole = factor[:, own], whole.mean[0, own], whole.factor[:, own]
            covariance = of_own.T @ of_own
            lacking = np.diag(shares) - np.outer(shares, shares) - of_whole.T @ of_whole
            wanted = covariance + lacking
            if np.linalg.eigvalsh(wanted)[0] > _LEAST_SHARE:  # the map is that of any coding
                values, vectors = eigh(covariance, wanted)
                factor[:, own] = of_own @ (vectors / np.sqrt(values)) @ vectors.T @ wanted
        return _Normal(self.mean, triangular_factor(factor))


class _Levels(NamedTuple):
    """The log weights of levels, in n rows with the same holes, as functions of k indicators e."""

    blocks: list[slice]  # the indicators of each category, in topological order
    # (n, k): p(l_c | levels before), by intercepts and by slopes of the indicators before
    shares: Floats
    slopes: Floats
    # (n, k): the log density of numbers that were set, relative to that with a category's first
    # level
    ratios: Floats
    ratio_slopes: Floats
    linear: Floats  # (n, k): e'(quadratic)e + e'(linear) is log N(e | x) - log N(e)
    quadratic: Floats

    @classmethod
    def of(
        cls, blocks: list[slice], shares: _Normal, unset: _Normal, held: _Normal, seen: _Normal
    ) -> _Levels:
        """Return those of four Gaussians of the indicators.

        They are the one that shares follow from, and those given the categories that were set or
        are exogenous, all such nodes, and these with the numbers that are observed.
        """
        means, slopes, _ = shares.in_order(blocks)
        unset_means, unset_slopes, precisions = unset.in_order(blocks)
        held_means, held_slopes, held_precisions = held.in_order(blocks)
        ratios = held_means @ held_precisions - unset_means @ precisions
        ratios += np.diag(precisions - held_precisions) / 2
        ratio_slopes = held_slopes @ held_precisions - unset_slopes @ precisions
        before, after = held.precision(), seen.precision()
        linear, quadratic = seen.mean @ after - held.mean @ before, (before - after) / 2
        return cls(blocks, means, slopes, ratios, ratio_slopes, linear, quadratic)

    def log_weights(self, indicators: Floats) -> Floats:
        """Return log P(l | x) of levels, (n, s, k), up to a constant for each row; shape (n, s)."""
        means = self.shares[:, np.newaxis] + indicators @ self.slopes
        ratios = self.ratios[:, np.newaxis] + indicators @ self.ratio_slopes
        total = ((indicators @ self.quadratic + self.linear[:, np.newaxis]) * indicators).sum(-1)
        for own in self.blocks:
            logs = np.log(np.maximum(of_all_levels(means[..., own]), _LEAST_SHARE))
            logs[..., 1:] += ratios[..., own]
            total += (log_softmax(logs, axis=-1) * of_all_levels(indicators[..., own])).sum(-1)
        return np.asarray(np.clip(total, -_LARGEST, _LARGEST))

    def listed(self, indicators: Floats, hidden: list[slice]) -> tuple[Floats, Floats]:
        """Return all levels of hidden categories, (1, s, k), and their probabilities, (n, s)."""
        each_level = [_levels(own) for own in hidden]
        chosen = np.indices([*map(len, each_level)]).reshape(len(hidden), -1)
        levels = np.hstack([own[at] for own, at in zip(each_level, chosen, strict=True)])
        whole = np.repeat(indicators[:, np.newaxis], len(levels), axis=1)
        whole[..., np.r_[tuple(hidden)]] = levels
        return levels[np.newaxis], softmax(self.log_weights(whole), axis=1)

    def sampled(self, indicators: Floats, hidden: list[slice]) -> tuple[Floats, Floats]:
        """Return levels of hidden categories by Gibbs steps, (n, s, k), and their weights."""
        warn(_MANY)
        rng, rows, found = np.random.default_rng(0), np.arange(len(indicators)), []
        state = np.where(np.isnan(indicators), 0.0, indicators)
        for _ in range(_BURN_IN + _STEPS):
            for own in hidden:
                each = np.repeat(state[:, np.newaxis], own.stop - own.start + 1, axis=1)
                each[..., own] = _levels(own)
                probabilities = softmax(self.log_weights(each), axis=1)
                state = each[rows, _chosen(probabilities, rng.uniform(size=len(rows)))]
            found.append(state[:, np.r_[tuple(hidden)]])
        return np.stack(found[_BURN_IN:], axis=1), np.full((len(rows), _STEPS), 1 / _STEPS)

    def moments(
        self, indicators: Floats, hidden: list[slice], uniform: Floats | None
    ) -> tuple[Floats, Floats]:
        """Return means of hidden indicators, or drawn ones, and their covariances."""
        n_listed = math.prod(own.stop - own.start + 1 for own in hidden)
        is_listed = n_listed <= _MOST_COMBINATIONS
        step = max(1, _MOST_NUMBERS // indicators.shape[1] // (n_listed if is_listed else _STEPS))
        means, covariances = [], []
        for start in range(0, len(indicators), step):
            at = slice(start, start + step)
            some = self._replace(
                shares=self.shares[at], ratios=self.ratios[at], linear=self.linear[at]
            )
            each = some.listed if is_listed else some.sampled
            levels, weights = each(indicators[at], hidden)
            mean = (weights[:, np.newaxis] @ levels)[:, 0]
            deviations = levels - mean[:, np.newaxis]
            covariances.append((deviations * weights[..., np.newaxis]).swapaxes(1, 2) @ deviations)
            if uniform is not None:
                chosen = _chosen(weights, uniform[at])[:, np.newaxis, np.newaxis]
                mean = np.take_along_axis(levels, chosen, axis=1)[:, 0]
            means.append(mean)
        return np.concatenate(means), np.concatenate(covariances)


def of_all_levels(indicators: Floats) -> Floats:
    """Return indicators, or their means, (..., width), with those of the first level before."""
    return np.concatenate([1 - indicators.sum(-1, keepdims=True), indicators], -1)


def _levels(block: slice) -> Floats:
    """Return the indicators of each level of a category, a row for each."""
    return np.eye(block.stop - block.start + 1)[:, 1:]


def _clipped(means: Floats, blocks: list[slice]) -> Floats:
    """Return linear probabilities without negative ones, scaled to sum to 1."""
    levels = [np.maximum(of_all_levels(means[:, own]), 0.0) for own in blocks]
    return np.hstack([(each / each.sum(axis=1, keepdims=True))[:, 1:] for each in levels])


def _chosen(probabilities: Floats, uniform: Floats) -> Integers:
    """Return a column for each row, by its probabilities and a uniform number."""
    sums = probabilities.cumsum(axis=1)
    return np.asarray((sums[:, :-1] < uniform[:, np.newaxis] * sums[:, -1:]).sum(axis=1))


def _reached(model: LinearGaussianModel, nodes: Booleans) -> Booleans:
    """Return which columns directed paths from some lead to, these included."""
    return np.asarray(propagate(nodes.astype(float), model.coef != 0, model.parents) > 0)


def missing_levels(
    own: LinearGaussianModel,
    before: LinearGaussianModel,
    nodes: Nodes,
    rows: Floats,
    noise: Floats | None = None,
) -> tuple[list[int], Floats, Floats]:
    """Return what rows with the same holes say of the levels that they lack.

    `own`: given the nodes that were set in these rows
    `before`: without any node set
    `rows`: (n, m), NaN where values are missing
    `noise`: (n, m), standard normal numbers, for draws in place of probabilities

    Returns `columns`: the indicators of the missing levels; `values`: (n, k), the levels'
    probabilities, or drawn indicators; `covariances`: (n, k, k).
    """
    n, m = rows.shape
    if not nodes.levels:
        return [], np.zeros((n, 0)), np.zeros((n, 0, 0))
    is_seen, is_outside = ~np.isnan(rows[0]), np.isin(np.arange(m), own.exogenous)
    is_held = is_outside | (own.noise_variance == 0)
    categories = [
        nodes.columns_of([v]) for v, name in enumerate(nodes.names) if name in nodes.levels
    ]
    is_number = ~np.isin(np.arange(m), [i for c in categories for i in c])
    rank = np.argsort(topological_order(before.parents))
    free = sorted((c for c in categories if not is_held[c[0]]), key=lambda c: rank[c[0]])
    columns = [i for c in free for i in c if not is_seen[i]]
    values, covariances = np.zeros((n, len(columns))), np.zeros((n, len(columns), len(columns)))
    if not columns:
        return columns, values, covariances

    def normal(model: LinearGaussianModel, given: Booleans, of: list[int]) -> _Normal:
        at = np.flatnonzero(given)
        known = np.where(is_seen, rows, own.mean)[:, at]
        return _Normal(*model.conditional_factor(at.tolist(), known, of))

    is_given = is_held & ~is_number & (before.noise_variance > 0)
    free_model = replace(before, exogenous=())
    follows = _reached(own, is_held & is_number)
    outside = np.isin(np.arange(m), before.exogenous) & is_number
    lacks_correlations = _reached(before, outside) & (outside.sum() > 1)
    joined = bits_of(own.parents, m) & ~is_held
    _, part_of = connected_components(joined, directed=False)
    for part in dict.fromkeys(part_of[columns].tolist()):
        is_in = part_of == part
        inside = [c for c in free if is_in[c[0]]]
        ends = np.cumsum([len(c) for c in inside]).tolist()
        blocks = [slice(end - len(c), end) for c, end in zip(inside, ends, strict=True)]
        every = [i for c in inside for i in c]
        whole = normal(free_model, is_in & False, every)
        of_given = free_model.given(np.flatnonzero(is_given).tolist())
        unset = normal(of_given, is_given, every) if is_given.any() else whole
        shares = unset.with_variances(whole, blocks)
        lacking = [b for c, b in zip(inside, blocks, strict=True) if lacks_correlations[c[0]]]
        unset = unset.with_variances(whole, lacking)
        at = [columns.index(i) for i in every if not is_seen[i]]
        if noise is None and not follows[every].any() and not (is_in & is_seen).any():
            found = _clipped(unset.mean, blocks), unset.factor.T @ unset.factor
        else:
            is_mixed = len({*follows[every]}) > 1  # or numbers that were set are like others
            held = normal(own, is_outside, every) if is_mixed else unset
            seen = normal(own, is_outside | (is_in & is_seen & is_number), every)
            hidden = [b for c, b in zip(inside, blocks, strict=True) if not is_seen[c[0]]]
            uniform = None if noise is None else ndtr(noise[:, columns[at[0]]])
            levels = _Levels.of(blocks, shares, unset, held, seen)
            found = levels.moments(rows[:, every], hidden, uniform)
        values[:, at], covariances[np.ix_(range(n), at, at)] = found
    return columns, values, covariances


def levels_given_parents(model: LinearGaussianModel, nodes: Nodes, v: int, rows: Floats) -> Floats:
    """Return the probabilities of a category's levels, (n, n_levels), given its parents alone.

    They are NaN where the level or a parent is missing. Other categories count as Gaussian.
    """
    own = nodes.columns_of([v])
    parents = members_of(model.parents[own[0]])
    first = {name: nodes.columns_of([u])[0] for u, name in enumerate(nodes.names)}
    near = {k: each for k, each in nodes.levels.items() if first[k] in [own[0], *parents]}
    known, found = np.full(rows.shape, np.nan), np.full((len(rows), len(own)), np.nan)
    known[:, parents] = rows[:, parents]
    at = ~np.isnan(rows[:, [*own, *parents]]).any(axis=1)
    if at.any():
        of_near = replace(nodes, levels=near)
        _, found[at], _ = missing_levels(model, model.before or model, of_near, known[at])
    return np.clip(of_all_levels(found), 0.0, 1.0)


def numbers_text(numbers: Floats) -> str:
    """Return numbers of all scenarios, cut if there are more than five."""
    texts = [f"{number:.4g}" for number in numbers[:_MOST_SCENARIOS]]
    return ", ".join(texts + ["..."] * (len(numbers) > _MOST_SCENARIOS))


class Conditional(NamedTuple):
    """What rows with the same holes say of all values that they lack."""

    columns: list[int]  # ascending
    values: Floats  # (n, h): means or, with noise, draws
    factor: Floats  # (h, h): F'F is the covariance given the levels of all categories
    slopes: Floats  # (k, h): by how much the missing indicators change the means
    of_levels: Floats  # (n, k, k): the indicators' covariances

    def covariances(self) -> Floats:
        """Return the covariances, (n, h, h), or one for all rows if no level is missing."""
        with np.errstate(over="ignore", invalid="ignore"):
            given_levels = np.asarray(self.factor.T @ self.factor)
        by_levels = self.slopes.T @ self.of_levels @ self.slopes if len(self.slopes) else 0.0
        return given_levels + by_levels

    def deviations(self) -> Floats:
        """Return the standard deviations in each row, (n, h)."""
        by_levels = ((self.of_levels @ self.slopes) * self.slopes).sum(axis=1)
        return np.asarray(np.sqrt((self.factor**2).sum(axis=0) + by_levels))


def conditional(
    own: LinearGaussianModel,
    before: LinearGaussianModel,
    nodes: Nodes,
    rows: Floats,
    noise: Floats | None = None,
) -> Conditional:
    """Return what rows with the same holes say of what they lack; as `missing_levels`."""
    (n, m), hidden = rows.shape, np.flatnonzero(np.isnan(rows[0]))
    columns, levels, of_levels = missing_levels(own, before, nodes, rows, noise)
    rows = np.vstack([rows, np.tile(own.mean, (len(columns), 1)) + np.eye(m)[columns]])
    rows[:n, columns] = levels
    is_seen = ~np.isnan(rows[0])
    seen, others = np.flatnonzero(is_seen).tolist(), np.flatnonzero(~is_seen).tolist()
    factor = np.zeros((m, m))
    rows[:, others], of_others = own.conditional_factor(seen, rows[:, seen], others)
    factor[: len(of_others), others] = of_others
    if noise is not None:
        rows[:n, others] += noise[:, others] @ of_others
    slopes = rows[n:] - own.mean
    return Conditional(
        hidden.tolist(), rows[:n, hidden], factor[:, hidden], slopes[:, hidden], of_levels
    )
