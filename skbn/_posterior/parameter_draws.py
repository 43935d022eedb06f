"""The posterior of a network's parameters, given its graph.

For a child y with l parents S, let R be the matrix of the sums of squares and products of the
columns about their posterior means, with the prior's matrix added to it, and R_y|S the residual
sum of squares of y on S by this matrix. Then

- ``R_y|S / variance`` has a chi-squared distribution with d degrees of freedom,
- the coefficients given the variance are normal about ``R_SS^-1 R_Sy`` with covariance
  ``variance * R_SS^-1``,
- the child's mean where the parents are at their posterior means is normal about the child's
  posterior mean with variance ``variance / k``, independently of the coefficients.

For BGe this is the normal-Wishart posterior: ``d = n + alpha_w - m + l + 1`` and
``k = n + alpha_mu`` (Geiger & Heckerman 2002, "Parameter priors for directed acyclic graphical
models and the characterization of several probability distributions"). Under other criteria the
prior is flat in the coefficients, the intercept and the logarithm of the variance, so that R is
the scatter of the rows, ``d = n - l - 1`` and ``k = n``.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from skbn._core.arrays import F2, F3, I2, Floats, Integers, Names, Random
from skbn._core.subsets import members_of, parents_of_masks
from skbn._core.text import readable_value
from skbn._data.nodes import Nodes
from skbn._data.statistics import Groups, SampleStatistics
from skbn._networks.gaussian import LinearGaussianModel
from skbn._networks.network import GaussianBayesianNetwork
from skbn._posterior.family_weights import mask_type
from skbn._regressions.least_squares import stacked_factors
from skbn._scores.criteria import BIC, BGe, Criterion
from skbn._scores.local_scores import LocalScores

DrawParameters = Callable[..., list[GaussianBayesianNetwork]]
# Networks whose draws are in memory at once. All callers draw in these portions, so that equal
# random numbers give equal parameters.
NETWORKS_AT_A_TIME = 1000


@dataclass(frozen=True)
class FamilyPosteriors:
    """The posteriors of the parameters of k families with l parents each, in the columns' units."""

    freedom: float  # degrees of freedom of ``sum_of_squares / variance``, which is chi-squared
    sum_of_squares: Floats  # (k,)
    coefficients: Floats  # (k, l): the coefficients' posterior means, in the order of the parents
    # (k, l, l): the coefficients' covariance given the noise's variance is ``variance * root @
    # root.T``
    root: Floats
    mean: Floats  # (k,): the child's posterior mean where its parents are at theirs
    n_behind_mean: float  # the variance of that mean is the noise's variance divided by this number


class SampledNetworks(NamedTuple):
    """Networks that were sampled from the posterior of one table."""

    groups: Groups  # those of the table: all columns
    criterion: Criterion
    parents: I2  # (n, m): the masks of the parents of each node, or of each column

    def portions(self, nodes: Nodes) -> Iterator[tuple[Integers, Self]]:
        """Yield the masks of some networks at a time, and these as networks of columns."""
        for start in range(0, len(self.parents), NETWORKS_AT_A_TIME):
            masks = some = self.parents[start : start + NETWORKS_AT_A_TIME]
            if not nodes.are_columns:
                of_columns = [nodes.parents_of_columns(each) for each in some.tolist()]
                masks = np.array(of_columns, dtype=mask_type(len(nodes.columns)))
            yield some, self._replace(parents=masks)


class CoefficientDraws(NamedTuple):
    """Coefficients that were drawn from their posteriors, one draw for each network."""

    # (n_dags, m, m): at [k, i, j], the coefficient of the edge i -> j of network k, or 0 without an
    # edge
    coef: F3
    expected: F3  # (n_dags, m, m): their posterior means, given the network
    noise_deviation: F2  # (n_dags, m): the noises' standard deviations
    # (n_dags, m): how far a child's mean is from its posterior mean where its parents are at theirs
    mean_deviation: F2
    # the fewest degrees of freedom of a family with parents, infinite if there is none
    least_freedom: float


def family_posteriors(
    statistics: SampleStatistics,
    criterion: Criterion,
    children: Sequence[int] | Integers,
    parents: Sequence[Sequence[int]] | Integers,
) -> FamilyPosteriors:
    """Return the posteriors of the parameters of k families with l parents each.

    `statistics`: the criterion's: those of a `FamilyScorer` include the rows of its prior
    `children`: (k,); `parents`: (k, l)

    Raises ValueError if there are too few rows for l parents; if the columns of a family are not
    linearly independent; if a coefficient or a variance is out of float64's range.
    """
    child = np.asarray(children, dtype=np.int64)
    others = np.asarray(parents, dtype=np.int64).reshape(len(child), -1)
    l = others.shape[1]  # noqa: E741
    freedom = float(residual_freedom(statistics, criterion, np.array([l]))[0])
    columns = np.column_stack([others, child])
    factors = stacked_factors(statistics.factor, columns)
    if not statistics.is_checked:
        for factor, family in zip(factors, columns.tolist(), strict=True):
            statistics.independence.check(factor, family)
    inverse = np.linalg.inv(factors[:, :l, :l])
    # In units of the columns' norms up to here.
    own, scale = statistics.scale[child], statistics.scale[others]
    with np.errstate(over="ignore"):
        unscaled = (inverse @ factors[:, :l, l:])[:, :, 0] * own[:, np.newaxis]
        coefficients = unscaled / scale
    sum_of_squares = (factors[:, l, l] * own) ** 2
    _require_range(statistics, columns, coefficients, sum_of_squares)
    return FamilyPosteriors(
        freedom,
        sum_of_squares,
        coefficients,
        inverse / scale[:, :, np.newaxis],
        statistics.mean[child],
        statistics.n_samples + (float(criterion.alpha_mu) if isinstance(criterion, BGe) else 0.0),
    )


def log_predictive(
    statistics: SampleStatistics,
    criterion: Criterion,
    child: int,
    parents: Sequence[int],
    rows: Floats,
    weight: Floats,
) -> float:
    """Return the log density of new values of a child, given those of its parents, in nats.

    The parameters are integrated out: it is the evidence of all rows divided by that of the rows of
    the statistics, by the scatter that the new rows add.

    `statistics`, `criterion`: as for `family_posteriors`, which says what is raised
    `rows`: (n, m), new rows of all columns
    `weight`: (n,), how often each row counts
    """
    found = family_posteriors(statistics, criterion, [child], [[*parents]])
    scale = statistics.scale[[*parents]]
    apart = (rows[:, [*parents]] - statistics.mean[[*parents]]) / scale
    left = rows[:, child] - found.mean[0] - apart @ (found.coefficients[0] * scale)
    # In units in which mean and coefficients are independent, with variances of 1.
    root = found.root[0] * scale[:, np.newaxis]
    ones = np.full(len(rows), 1 / np.sqrt(found.n_behind_mean))
    basis = np.column_stack([ones, apart @ root]) * np.sqrt(weight)[:, np.newaxis]
    unit = np.sqrt(found.sum_of_squares[0])
    left = left / unit * np.sqrt(weight)
    system = np.eye(basis.shape[1]) + basis.T @ basis
    explained = basis.T @ left
    squares = float(left @ left - explained @ np.linalg.solve(system, explained))
    n, d = float(weight.sum()), found.freedom
    log_det = float(np.linalg.slogdet(system)[1])
    constant = gammaln((d + n) / 2) - gammaln(d / 2) - n * (np.log(np.pi) / 2 + np.log(unit))
    return float(constant - (d + n) / 2 * np.log1p(squares) - log_det / 2)


def draw_parameters(
    networks: SampledNetworks, rng: Random, names: Names | None = None
) -> list[LinearGaussianModel]:
    """Draw the parameters of each network from their posterior, given its graph.

    Memory grows with the number of networks times m squared: pass a few thousand at a time.

    `networks`: networks of columns
    `names`: what the columns are called, by default by number

    Returns `models`: one draw for each network.
    """
    drawn, groups = draw_coefficients(networks, rng), networks.groups
    first = groups[0].statistics.mean
    own = drawn.mean_deviation
    for columns, statistics in groups[1:]:  # from the same mean as the first columns
        apart = statistics.mean - first
        own[:, columns] += apart[columns] - (apart @ drawn.coef)[:, columns]
    mean = first + _propagate(own, drawn.coef)
    variance = drawn.noise_deviation**2
    every = zip(networks.parents.tolist(), drawn.coef, mean, variance, strict=True)
    names = range(len(first)) if names is None else names
    return [LinearGaussianModel.about_mean(names, *each) for each in every]


def with_parameters(
    scores: LocalScores, parents: npt.NDArray[Any], random_state: Random, exogenous: int = 0
) -> list[GaussianBayesianNetwork]:
    """Return networks with parameters drawn from their posterior.

    `exogenous` is the mask of the columns that are not modelled.
    """
    scorer, nodes = scores.scorer, scores.scorer.nodes
    outside = tuple(nodes.columns_of(members_of(exogenous)))
    networks = []
    every = SampledNetworks(scorer.group_statistics, scorer.criterion, parents)
    for _, some in every.portions(nodes):
        for model in draw_parameters(some, random_state, nodes.column_names):
            model = replace(model, exogenous=outside)
            networks.append(GaussianBayesianNetwork._from_model(model, nodes))
    return networks


def with_predictive_parameters(
    scores: LocalScores, parents: npt.NDArray[Any], random_state: Random, exogenous: int = 0
) -> list[GaussianBayesianNetwork]:
    """Return networks with parameters drawn for predictions, as `with_parameters` takes them.

    BGe's default prior makes edges comparable; of the noise it expects a small variance, so that
    intervals would be too narrow. A flat prior takes its place, unless there are too few rows or
    columns are dependent.
    """
    if isinstance(scores.criterion, BGe) and scores.criterion.alpha_w is None:
        flat = scores._with_sample(scores.sample, criterion=BIC())
        with suppress(ValueError):
            return with_parameters(flat, parents, random_state, exogenous)
    return with_parameters(scores, parents, random_state, exogenous)


def draw_coefficients(networks: SampledNetworks, rng: Random) -> CoefficientDraws:
    """Draw the coefficients of each network; the arguments are those of `draw_parameters`."""
    groups, criterion, masks = networks
    n_dags, m = masks.shape
    n_parents = parents_of_masks(masks).sum(axis=-1)
    # All random numbers come first, so that they do not depend on how families are grouped.
    normal = rng.standard_normal((n_dags, m, m))
    freedom = np.empty((n_dags, m))
    for columns, statistics in groups:
        freedom[:, columns] = residual_freedom(statistics, criterion, n_parents[:, columns])
    deviation = 1 / np.sqrt(rng.chisquare(freedom))  # of the noise, per root of sum_of_squares
    mean_deviation = np.zeros((n_dags, m))
    coef, expected = np.zeros((n_dags, m, m)), np.zeros((n_dags, m, m))
    for (columns, statistics), size in product(groups, range(m)):
        dag, place = np.nonzero(n_parents[:, columns] == size)
        if len(dag) == 0:
            continue
        child = np.asarray(columns)[place]
        children, sets, family = _distinct_families(child, masks[dag, child])
        parents = np.array([members_of(mask) for mask in sets], dtype=np.int64)
        parents = parents.reshape(len(sets), size)
        posteriors = family_posteriors(statistics, criterion, children, parents)
        deviation[dag, child] *= np.sqrt(posteriors.sum_of_squares)[family]
        noise = deviation[dag, child]
        spread = posteriors.root[family] @ normal[dag, child, :size, np.newaxis]
        edges = dag[:, np.newaxis], parents[family], child[:, np.newaxis]
        expected[edges] = posteriors.coefficients[family]
        coef[edges] = posteriors.coefficients[family] + noise[:, np.newaxis] * spread[:, :, 0]
        unit = normal[dag, child, size] / np.sqrt(posteriors.n_behind_mean)
        mean_deviation[dag, child] = noise * unit
    least = float(freedom[n_parents > 0].min(initial=np.inf))
    return CoefficientDraws(coef, expected, deviation, mean_deviation, least)


def _distinct_families(children: Integers, masks: Integers) -> tuple[Integers, list[int], Integers]:
    """Return the children and masks of the distinct families, and the number of each one there."""
    families = [*zip(children.tolist(), masks.tolist(), strict=True)]
    number = {family: i for i, family in enumerate(dict.fromkeys(families))}
    own, sets = zip(*number, strict=True)
    return np.array(own), [*sets], np.array([number[family] for family in families])


def residual_freedom(
    statistics: SampleStatistics, criterion: Criterion, n_parents: npt.NDArray[np.integer]
) -> Floats:
    """Return the degrees of freedom of the noise's variance by the number of parents."""
    n, m = statistics.n_samples, len(statistics.mean)
    if isinstance(criterion, BGe):
        return criterion.noise_divisors(n, m)[n_parents]
    if statistics.independence.has_prior:
        raise ValueError(
            f"The posterior of the parameters is not known for {type(criterion).__name__}, which "
            'has a prior of its own. Use criterion="bge" or "bic".'
        )
    freedom = n - np.asarray(n_parents, dtype=np.float64) - 1
    if not (freedom > 0).all():
        largest = int(n_parents.max())
        raise ValueError(
            f"X has n_samples = {readable_value(n)} rows, and a regression on {largest} columns "
            f"needs more than {largest + 1}. Give more rows, set max_parents to a smaller number, "
            'or use criterion="bge".'
        )
    return freedom


def _propagate(own: Floats, coef: Floats) -> Floats:
    """Solve ``x = own + x @ coef`` for each network, shape (n_dags, m)."""
    x = own
    for _ in range(own.shape[1]):  # a step settles the columns whose parents are settled
        before, x = x, own + (x[:, np.newaxis] @ coef)[:, 0]
        if np.array_equal(before, x):
            break
    return x


def _require_range(
    statistics: SampleStatistics, columns: Integers, coefficients: Floats, sum_of_squares: Floats
) -> None:
    """Raise if a number of these families, each with its child last, is out of range."""
    names = statistics.independence.names
    families, places = np.nonzero(~np.isfinite(coefficients))
    if len(families):
        family = columns[families[0]]
        raise ValueError(
            f"The coefficient of column {names[family[places[0]]]!r} for column "
            f"{names[family[-1]]!r} is out of float64's range. Measure them in units nearer to "
            "each other."
        )
    too_small = sum_of_squares < np.finfo(np.float64).tiny
    if too_small.any():
        raise ValueError(
            f"Column {names[columns[int(np.argmax(too_small)), -1]]!r} has noise of a variance "
            "below float64's range. Measure it in smaller units."
        )
