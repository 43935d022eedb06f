"""The joint Gaussian of a network, in arrays: estimates, density, conditioning, interventions.

If nodes are exogenous, it is the distribution of the other nodes, given these. They have no parents
among the others, so once all of them have values, nothing depends on their distribution. They are
treated as Gaussians with the means and variances that they had in some table, and their share of a
density is removed again.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Self

import numpy as np

from skbn._core.arrays import Booleans, Floats, Integers, Names
from skbn._core.graphs import LinearModel, equilibrated, propagate, require_finite
from skbn._core.resources import one_blas_thread
from skbn._core.subsets import bits_of
from skbn._core.text import first_few, readable_value
from skbn._data.sample import Sample
from skbn._data.statistics import Groups, SampleStatistics
from skbn._missing.incomplete_rows import rows_by_pattern
from skbn._regressions.least_squares import solve_triangular, triangular_factor

# Where a row has this many times as many values as it lacks, what it lacks is eliminated.
_FEW = 8


def estimate_model(
    groups: Groups,
    parents: list[int],
    nodes: Names,
    *,
    fixed: list[int] | None = None,
    exogenous: Sequence[int] = (),
    divisors: Sequence[Floats] | None = None,
) -> LinearGaussianModel:
    """Return the model of a network with parameters by least squares.

    `groups`: the statistics of the rows that count for each node; together they have all nodes
    `fixed`: the masks of the parents whose edges are known to have this direction; by default none
    `divisors`: (m,), for each group: of the residual sum of squares of a child with l parents; by
        default n, which maximises the likelihood
    """
    m = len(parents)
    coef, intercept, noise_variance = np.zeros((m, m)), np.empty(m), np.empty(m)
    for i, (own, statistics) in enumerate(groups):
        counts = {*own}
        is_parent = bits_of([mask if x in counts else 0 for x, mask in enumerate(parents)], m)
        scaled, left = scaled_regressions(statistics, is_parent, own)
        for child in own:
            members, n = is_parent[child], parents[child].bit_count()
            divisor = statistics.n_samples if divisors is None else divisors[i][n]
            if not divisor > 0:
                fewer = f", or set max_parents to fewer than {n}" if n else ""
                raise ValueError(
                    f"The noise of column {nodes[child]!r} with {n} parents cannot be "
                    "estimated: the criterion divides its residual sum of squares by "
                    f"{readable_value(divisor)}. Give more rows{fewer}."
                )
            with np.errstate(over="ignore"):
                unscaled = scaled[members, child] * statistics.scale[child]
                coef[members, child] = unscaled / statistics.scale[members]
            if not np.isfinite(coef[:, child]).all():
                parent = nodes[int(np.argmax(~np.isfinite(coef[:, child])))]
                raise ValueError(
                    f"The coefficient of column {parent!r} for column {nodes[child]!r} is out of "
                    "float64's range. Measure them in units nearer to each other."
                )
            noise_variance[child] = (left[child] * statistics.scale[child]) ** 2 / divisor
            if noise_variance[child] < np.finfo(np.float64).tiny:
                raise ValueError(
                    f"Column {nodes[child]!r} has noise of a variance below float64's range. "
                    "Measure it in smaller units."
                )
        mean = statistics.mean.copy()
        intercept[own] = (mean - mean @ coef)[own]
    if len(groups) > 1:
        mean = propagate(intercept, coef, parents)
    rest = [0] * m if fixed is None else fixed, tuple(exogenous)
    return LinearGaussianModel(list(nodes), parents, coef, intercept, mean, noise_variance, *rest)


def scaled_regressions(
    statistics: SampleStatistics, is_parent: Booleans, children: Sequence[int] | None = None
) -> tuple[Floats, Floats]:
    """Return the coefficients of columns of unit norm, (m, m), and the norms of their residuals.

    `children`: the columns that are regressed; by default all
    """
    m = len(is_parent)
    coef, left = np.zeros((m, m)), np.empty(m)
    for families in statistics.families_of(is_parent, children):
        coefficients, left[families.children] = families.regressions()
        for child, own, n in zip(families.children, coefficients, families.n_parents, strict=True):
            coef[is_parent[child], child] = own[:n]
    return coef, left


class LinearGaussianModel(LinearModel):
    """The joint Gaussian distribution of a network's nodes, whose noise is Gaussian."""

    @classmethod
    def about_mean(
        cls, nodes: Names, parents: list[int], coef: Floats, mean: Floats, noise_variance: Floats
    ) -> Self:
        """Return the model of a graph, with its intercepts computed from the means."""
        intercept, fixed = mean - mean @ coef, [0] * len(parents)
        return cls(list(nodes), parents, coef, intercept, mean, noise_variance, fixed)

    def require_distribution(self, given: Sequence[int] = ()) -> None:
        """Raise unless all nodes have a distribution, or are given."""
        require_exogenous_values([self.nodes[v] for v in self.exogenous if v not in given], ())

    @one_blas_thread()  # more would change bits, here and below
    def draw(self, noise: Floats, exogenous: Floats | None = None) -> Floats:
        """Return rows of the network, (n, m), from rows of standard noise, or raise a ValueError.

        `noise`: (n, m)
        `exogenous`: (n, k), the values of the exogenous nodes, if there are any
        """
        if exogenous is None:
            self.require_distribution()
            return np.asarray(self.mean + noise @ self.factor())
        noise = noise.copy()
        noise[:, list(self.exogenous)] = 0.0
        return np.asarray(self.mean + noise @ self.factor() + self._effects(exogenous))

    def _effects(self, exogenous: Floats) -> Floats:
        """Return by how much values of the exogenous nodes move all nodes, shape (n, m)."""
        outside = list(self.exogenous)
        own = np.zeros((len(exogenous), len(self.nodes)))
        own[:, outside] = exogenous - self.mean[outside]
        return propagate(own, *self.without_parents(outside))

    def without_parents(self, held: Collection[int]) -> tuple[Floats, list[int]]:
        """Return the coefficients, and the masks of the parents, if these nodes had no parents."""
        coef = self.coef.copy()
        coef[:, list(held)] = 0.0
        return coef, [0 if v in held else mask for v, mask in enumerate(self.parents)]

    def given(self, held: Sequence[int]) -> LinearGaussianModel:
        """Return the model of the other nodes, given these, to which no arrow points."""
        if not held:
            return self
        held = sorted({*self.exogenous, *held})
        coef, parents = self.without_parents(held)
        return replace(self, parents=parents, coef=coef, exogenous=tuple(held))

    @one_blas_thread()
    def covariance(self) -> Floats:
        """Return the joint covariance, shape (m, m)."""
        self.require_distribution()
        factor = self.factor()
        with np.errstate(over="ignore"):
            covariance = factor.T @ factor
        require_finite(covariance, self.nodes)
        return np.asarray(covariance)

    @cached_property
    def _factor(self) -> Floats:
        """The factor, which conditions on many patterns of holes have in common; not to change."""
        return self.factor()

    def conditional_factor(
        self, given: list[int], values: Floats, others: list[int]
    ) -> tuple[Floats, Floats]:
        """Return the distribution of nodes given others, by a QR decomposition of the factor.

        `given`, `others`: numbers of nodes
        `values`: (g,)

        Returns `mean`: (k,); `factor`: (k, k), the product of rows of standard noise with it has
        the distribution about the mean.
        """
        self.require_distribution(given)
        g = len(given)
        scaled, unit = equilibrated(self._factor[:, [*given, *others]])
        require_finite(unit, [self.nodes[v] for v in [*given, *others]])
        triangle = triangular_factor(scaled)
        own = np.abs(np.diag(triangle)[:g])
        # Where others determine a node, rounding leaves a multiple of m eps of it, and more if they
        # nearly determine each other.
        rounding = 10 * len(self.nodes) * np.finfo(np.float64).eps
        for v, deviation in zip(given, own, strict=True):
            if deviation <= rounding:
                raise ValueError(
                    f"Node {self.nodes[v]!r} cannot be given: the network, or the other nodes that "
                    "are given, fix its value up to rounding. Leave it out."
                )
        coefficients = solve_triangular(triangle[:g, :g], triangle[:g, g:])
        with np.errstate(over="ignore", invalid="ignore"):
            deviations = (values - self.mean[given]) / unit[:g]
            mean = self.mean[others] + deviations @ coefficients * unit[g:]
            factor = triangle[g:, g:] * unit[g:]
        require_finite(mean, [self.nodes[v] for v in others])
        return np.asarray(mean), np.asarray(factor)

    def residuals(self, rows: Floats) -> Floats:
        """Return each row's differences from what the nodes' parents predict, shape (n, m).

        They are infinite or NaN if the difference of a row from the mean is out of range, and NaN
        where the node or one of its parents is missing.
        """
        missing = np.isnan(rows)
        if missing.any():
            follows = missing.astype(np.float64) @ (self.coef != 0) > 0
            known = self.residuals(np.where(missing, self.mean, rows))
            return np.where(missing | follows, np.nan, known)
        with np.errstate(over="ignore", invalid="ignore"):
            return self.unexplained(rows - self.mean)

    def unexplained(self, deviations: Floats) -> Floats:
        """Return the part of deviations from the mean, (n, m), that parents do not explain.

        It is 0 for exogenous nodes.
        """
        unexplained = deviations - deviations @ self.coef
        unexplained[:, list(self.exogenous)] = 0.0
        return np.asarray(unexplained)

    @one_blas_thread()
    def log_density(self, rows: Floats, is_set: Booleans | None = None) -> Floats:
        """Return the log density of each row, shape (n,), in nats.

        If values are NaN, it is the density of what is observed, which is 0 for a row without any;
        if nodes are exogenous, that of the others, given these.

        `rows`: (n, m)
        `is_set`: (n, m), where an experimenter set values: the density is then of the others
        """
        outside = list(self.exogenous)
        is_missing = np.isnan(rows[:, outside])
        if is_missing.any():
            row, i = np.argwhere(is_missing)[0]
            raise ValueError(
                f"Node {self.nodes[outside[i]]!r} is exogenous and has no value in row {row}. Give "
                "the values of all exogenous nodes, or leave the row out."
            )
        for node, variance in zip(self.nodes, self.noise_variance, strict=True):
            if variance == 0:
                raise ValueError(
                    f"Node {node!r} has no noise, so that the network has no density: rows lie in "
                    "a subspace. Use mean_ and covariance_, sample or condition."
                )
        seen = ~np.isnan(rows)
        if seen.all():
            log_density = self._joint_log_density(rows, is_set)
        elif is_set is None:
            log_density = self._marginal_log_density(rows, seen)
        else:
            return self._log_density_given(rows, is_set)
        # Exogenous nodes count with their densities at their means, whatever the row.
        return log_density + 0.5 * np.log(2 * np.pi * self.noise_variance[outside]).sum()

    def _joint_log_density(self, rows: Floats, is_set: Booleans | None = None) -> Floats:
        """Return the log density of rows without missing values."""
        log_scales = np.log(2 * np.pi) + np.log(self.noise_variance)
        with np.errstate(over="ignore", invalid="ignore"):
            squares = (self.residuals(rows) / np.sqrt(self.noise_variance)) ** 2
            if is_set is None:
                total, log_scale = squares.sum(axis=1), log_scales.sum()
            else:
                counts = ~is_set
                counts[:, list(self.exogenous)] = True
                total, log_scale = squares.sum(axis=1, where=counts), counts @ log_scales
        # A row so far off that its squares overflow has log density -inf.
        total[np.isnan(total)] = np.inf
        return np.asarray(-0.5 * (total + log_scale))

    def _log_density_given(self, rows: Floats, is_set: Booleans) -> Floats:
        """Return the log density of what is seen, given the nodes that were set in each row.

        To these, as to exogenous nodes, no arrow points.
        """
        require_values_set(rows, is_set, self.nodes)
        log_density = np.empty(len(rows))
        for at, was_set in rows_by_pattern(is_set):
            given = self.given(np.flatnonzero(was_set).tolist())
            log_density[at] = given.log_density(rows[at])
        return log_density

    def _marginal_log_density(self, rows: Floats, seen: Booleans) -> Floats:
        """Return the log density of the values that are seen, by a factor for each pattern."""
        log_density = np.zeros(len(rows))
        factor = self.factor()
        if self.exogenous:
            rows = rows - self._effects(rows[:, list(self.exogenous)])
        for at, observed in rows_by_pattern(seen):
            columns, lacking = np.flatnonzero(observed), np.flatnonzero(~observed)
            if len(lacking) == 0:
                log_density[at] = self._joint_log_density(rows[at])
            elif len(columns):
                with np.errstate(over="ignore", invalid="ignore"):
                    if len(columns) < _FEW * len(lacking):
                        deviations = rows[np.ix_(at, columns)] - self.mean[columns]
                        squares, log_scale = _squares_of_seen(factor[:, columns], deviations)
                    else:
                        squares, log_scale = self._squares_without(lacking, rows[at] - self.mean)
                squares[np.isnan(squares)] = np.inf
                log_scale += len(columns) * np.log(2 * np.pi) / 2
                log_density[at] = -0.5 * squares - log_scale
        return log_density

    def _squares_without(self, lacking: Integers, deviations: Floats) -> tuple[Floats, float]:
        """Return what `_squares_of_seen` does, faster where few nodes are lacking.

        These get the values with the least sum of squares.
        """
        deviations[:, lacking] = 0.0
        sizes = np.sqrt(self.noise_variance)
        residuals = (deviations - deviations @ self.coef) / sizes
        moved = (np.eye(len(sizes))[lacking] - self.coef[lacking]) / sizes
        scaled, unit = equilibrated(moved.T)
        basis, triangle = np.linalg.qr(scaled)
        residuals -= (residuals @ basis) @ basis.T
        log_scale = np.log(sizes).sum() + np.log(np.abs(np.diag(triangle)) * unit).sum()
        return (residuals**2).sum(axis=1), float(log_scale)

    @one_blas_thread()
    def mean_log_density(
        self, sample: Sample, is_set: Booleans | None = None, rows: Floats | None = None
    ) -> float:
        """Return the weighted mean of the rows' log densities, in nats; `is_set` as there.

        Rows whose density is of no value do not count. A summary of the rows is enough: the mean of
        a square is the square of the mean, plus the mean squared deviation from it. `rows` are
        those of the sample by default.
        """
        if sample.has_rows:
            rows = sample.rows if rows is None else rows
            log_density = self.log_density(rows, is_set)
            counts = have_density(sample, rows, self.exogenous, is_set)
            return sample[counts].mean(log_density[counts])
        summary = sample.summary
        at_mean = self.log_density(summary.column_means[np.newaxis])[0]
        with np.errstate(over="ignore", invalid="ignore"):
            factor = np.ldexp(summary.factor, summary.exponent)
            residuals = self.unexplained(factor) / np.sqrt(self.noise_variance)
            squares = float((residuals**2).sum()) / summary.n_samples
        return float(at_mean) - 0.5 * (np.inf if np.isnan(squares) else squares)

    def do(self, values: Mapping[int, float | Floats]) -> LinearGaussianModel:
        """Return the model after nodes, by number, lose their parents and are set to values.

        If a value is an array of shape (k,), for k scenarios, the intercepts and the means have
        shape (k, m).
        """
        held, own = list(values), stacked(values.values())
        coef, parents = self.without_parents(held)
        noise_variance = self.noise_variance.copy()
        shape = (*own.shape[:-1], len(parents))
        intercept, shift = np.broadcast_to(self.intercept, shape).copy(), np.zeros(shape)
        noise_variance[held] = 0
        intercept[..., held] = own
        shift[..., held] = own - self.mean[held]
        mean = self.mean + propagate(shift, coef, parents)
        mean[..., held] = own
        require_finite(mean, self.nodes)
        return replace(
            self,
            parents=parents,
            coef=coef,
            intercept=intercept,
            mean=mean,
            noise_variance=noise_variance,
            fixed=[0 if v in values else mask for v, mask in enumerate(self.fixed)],
            exogenous=tuple(v for v in self.exogenous if v not in values),
            before=self.before or self,
        )


def _squares_of_seen(factor: Floats, deviations: Floats) -> tuple[Floats, float]:
    """Return each row's squared Mahalanobis distance, and half the covariance's log-determinant.

    `deviations`: (n, k), from the mean of k nodes
    `factor`: of their covariance
    """
    scaled, unit = equilibrated(factor)
    triangle = triangular_factor(scaled)
    noise = solve_triangular(triangle, (deviations / unit).T, transposed=True)
    return (noise**2).sum(axis=0), float(np.log(np.abs(np.diag(triangle)) * unit).sum())


def have_density(
    sample: Sample, rows: Floats, outside: Sequence[int], is_set: Booleans | None
) -> Booleans:
    """Return which rows count and have a value of a node that is not exogenous and was not set."""
    counts = ~np.isnan(rows)
    counts[:, list(outside)] = False
    if is_set is not None:
        counts &= ~is_set
    found = np.asarray(counts.any(axis=1))
    if sample.weight is not None and sample.weight.any():  # else the mean says that none counts
        found &= sample.weight > 0
    if not found.any():
        raise ValueError(
            "No row has a density: all values of rows of a positive weight are missing, were set, "
            "or are exogenous. Give rows with a value of another node."
        )
    return found


def require_exogenous_values(exogenous: Names, given: Container[Hashable]) -> None:
    """Raise a ValueError unless all exogenous nodes are among those that are given."""
    if missing := [node for node in exogenous if node not in given]:
        raise ValueError(
            f"The nodes [{first_few(missing)}] are exogenous, and the network does not say how "
            "they are distributed. Give their values: in condition or do, as `exogenous` of "
            "sample, or in the columns of X."
        )


def stacked(values: Iterable[float | Floats]) -> Floats:
    """Return g values, (g,), or (k, g) if some are arrays of shape (k,)."""
    values = [*values]
    return np.stack(np.broadcast_arrays(*values), axis=-1) if values else np.empty(0)


def require_values_set(rows: Floats, is_set: Booleans, labels: Names) -> None:
    """Raise if a node was set in a row that does not say to which value."""
    for row, v in np.argwhere(np.isnan(rows) & is_set)[:1]:
        raise ValueError(
            f"Node {labels[v]!r} was set in row {row}, where it has no value. Give the value that "
            "it was set to, or leave the row out."
        )
