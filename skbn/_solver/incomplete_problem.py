"""IncompleteProblem: a table with missing values, and constraints."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np

from skbn._core.resources import one_blas_thread
from skbn._core.subsets import members_of
from skbn._core.text import first_few, readable_value
from skbn._data.degenerate_columns import joined
from skbn._data.nodes import Nodes
from skbn._data.sample import RowSummary, Sample, summarise
from skbn._missing.dependences import require_independent
from skbn._missing.em import Estimate, UnboundedError, estimate, saturated, start
from skbn._missing.incomplete_rows import (
    IncompleteRows,
    incomplete_rows,
    require_spread,
    require_values,
)
from skbn._networks.gaussian import LinearGaussianModel
from skbn._scores.block_scorer import independent_columns, too_many_columns
from skbn._scores.criteria import InformationCriterion
from skbn._scores.local_scores import LocalScores
from skbn._solver.constraints import Constraints, read_constraints
from skbn._solver.problem import Shape, TableProblem
from skbn.exceptions import DegenerateColumnsError

# In nats. EM that only compares networks ends when a step raises its likelihood by no more.
COARSE = 1e-4
# With fewer rows for each column, the likelihood of the observed values says little.
_ROWS_A_COLUMN = 5
# The share of a number by which its rounding changes it at most.
_ROUNDING = np.finfo(np.float64).eps / 2


class IncompleteProblem(TableProblem):
    """A table with missing values, and constraints.

    Its families have no scores of their own; `expected` returns the problem of complete rows as EM
    expects them.

    Parameters
    ----------
    scores : LocalScores
        Of rows with holes.
    constraints : Constraints

    Raises
    ------
    ValueError
        If the criterion is no maximum of the log-likelihood less a cost, or columns are exogenous.
    """

    def __init__(self, scores: LocalScores, constraints: Constraints) -> None:
        super().__init__(scores, constraints)
        criterion = scores.criterion
        if not isinstance(criterion, InformationCriterion):
            raise ValueError(
                "missing='em' maximises a likelihood less a cost, and criterion="
                f"{readable_value(criterion)} has none. Use 'bic', 'ebic', 'aic' or "
                "'loglik'; GaussianBNPosterior(missing='augment') takes 'bge'."
            )
        if criterion.unbiased_variance:
            raise ValueError(
                "missing='em' maximises the likelihood, and with unbiased_variance=True criterion="
                f"{readable_value(criterion)} has no maximum of it. Leave unbiased_variance at "
                "False."
            )
        if constraints.exogenous:
            names = first_few(self.names[x] for x in members_of(constraints.exogenous))
            raise ValueError(
                "missing='em' expects values of all columns, and does not know how exogenous ones "
                f"are distributed; exogenous has [{names}]. Complete the table first, by "
                "GaussianBNImputer for example, or model these columns in the first of the tiers."
            )

    def read(self) -> Shape:
        return self.expected(start(self.rows), self.rows.n_samples).read()

    def of_sample(self, sample: Sample, n_jobs: int | None = None) -> Self:
        return type(self)(self.scores._with_sample(sample, n_jobs), self.constraints)

    # The columns

    @cached_property
    def _known(self) -> Sample:
        """The rows of a positive weight in which a value is observed."""
        sample = self.scores.sample
        counts = ~np.isnan(sample.rows).all(axis=1)
        return sample[counts if sample.weight is None else counts & (sample.weight > 0)]

    @cached_property
    def _filled(self) -> RowSummary:
        """The summary of these rows with a column's first value in its holes.

        Raises
        ------
        ValueError
            Naming a column without values.
        """
        rows, weight = self._known.rows, self._known.weight
        require_values(rows, self._names_of(range(rows.shape[1])))
        seen = ~np.isnan(rows)
        first = rows[seen.argmax(axis=0), range(rows.shape[1])]
        return summarise(np.where(seen, rows, first), weight)

    @property
    def _all_names(self) -> list[str | int]:
        nodes = self.scores.sample.nodes
        return self.names if nodes is None else nodes.column_names

    def _names_of(self, columns: Iterable[int]) -> list[Any]:
        """Return what users call some columns: the category, for indicators of its levels."""
        nodes = self.scores.sample.nodes
        if nodes is None:
            return [self.names[j] for j in columns]
        return [nodes.labels[nodes.columns[j].source] for j in columns]

    @property
    def _user_names(self) -> list[Any]:
        return self._names_of(self._kept)

    @cached_property
    def _independent(self) -> tuple[list[int], dict[str | int, list[Any]]]:
        """The columns that vary, independent of the others of their node; levels with rows."""
        nodes, filled, rows = self.scores.sample.nodes, self._filled, self._known.rows
        every = [*range(filled.n_columns)]
        try:
            kept, levels = (every, {}) if nodes is None else independent_columns(filled, nodes)
            names = [self._all_names[j] for j in kept]
            require_spread(rows[:, kept], names, self._names_of(kept))
            return kept, levels
        except DegenerateColumnsError as error:
            constant = error
        raise joined(constant, lambda: self._require_independent(every))

    def _require_independent(self, columns: list[int], **settings: Any) -> None:
        nodes, known = self.scores.sample.nodes, self._known
        numbers = np.arange(len(self.names))
        require_independent(
            known.rows[:, columns],
            [self._all_names[j] for j in columns],
            labels=self._names_of(columns),
            node_of=(numbers if nodes is None else nodes.by_column(numbers))[columns],
            largest_family=self.constraints.max_parents + 1,
            weight=known.weight,
            **settings,
        )

    @property
    def _kept(self) -> list[int]:
        return self._independent[0]

    @cached_property
    def nodes(self) -> Nodes | None:
        """The nodes with these columns."""
        nodes = self.scores.sample.nodes
        return None if nodes is None else nodes.select(*self._independent)

    @property
    def column_names(self) -> list[str | int]:
        """The names of these columns."""
        return [self._all_names[j] for j in self._kept]

    # The rows

    @property
    def observed(self) -> Sample:
        """The rows of these columns, with their holes."""
        known = self._known
        return Sample(known.rows[:, self._kept], known.weight, may_miss=True)

    @cached_property
    def rows(self) -> IncompleteRows:
        """The rows of these columns.

        Raises
        ------
        ValueError
            If a column has no two values, or two columns are seen together in too few rows.
        """
        rows = incomplete_rows(self._known.rows[:, self._kept], self._known.weight)
        n = float(rows.pair_weights().min())
        if n <= self._most_columns:
            largest, total = self._most_columns, rows.n_samples
            too_few = total <= largest  # without holes, too
            if self.nodes is not None and (too_few or 2 * max(self.nodes.widths) > largest):
                weight = total if too_few else n
                raise too_many_columns(self.nodes, largest, rows.n_rows, weight, holes=True)
            most = math.ceil(n) - 2
            fewer = f", or set max_parents to {most} or less" if most > 0 and not self.nodes else ""
            few = "too few to tell" if n else "so that nothing tells"
            what, some = rows.seen_least(self._user_names), "one of them"
            if too_few:
                what, some = f"X has rows of weight {total:g} for {largest} columns", "columns"
            raise ValueError(
                f"{what}, {few} how they depend on each other. Leave {some} out{fewer}."
            )
        return rows

    @property
    def _most_columns(self) -> int:
        """How many columns the largest family has."""
        widths = [1] * len(self.names) if self.nodes is None else self.nodes.widths
        return sum(sorted(widths)[-self.constraints.max_parents - 1 :])

    @property
    def n_effective(self) -> float:
        """The smallest weight of the rows in which any two columns are both observed."""
        return float(self.rows.pair_weights().min())

    def remarks(self) -> list[str]:
        """Return what a user should be warned of."""
        sample = self.scores.sample
        found = []
        n_empty = int(np.isnan(sample.rows).all(axis=1).sum())
        if n_empty:
            found.append(
                f"{n_empty} of {len(sample.rows)} rows of X have no value and are ignored."
            )
        if self.n_effective < _ROWS_A_COLUMN * self.rows.n_columns:
            found.append(
                f"{self.rows.seen_least(self._user_names)}, which is fewer than {_ROWS_A_COLUMN} "
                f"for each of the {self.rows.n_columns} columns. The network may be far from that "
                "of a complete table; leave out columns with few values."
            )
        return found

    def log_likelihood(self, model: LinearGaussianModel) -> float:
        """Return the log-likelihood of the observed values, by regressions alone."""
        rows, weight = self._known.rows, self._known.weight
        of_rows = model.log_density(rows[:, self._kept])
        return float(of_rows.sum() if weight is None else weight @ of_rows)

    def rounding(self, model: LinearGaussianModel) -> float:
        """Return what the rounding of a model's means may take from that log-likelihood.

        It is of the second order where the likelihood has its maximum: half the squared shift of
        each residual, in units of its noise.
        """
        shift = _ROUNDING * np.abs(model.mean)
        shift = shift + shift @ np.abs(model.coef)
        return float(self.rows.n_samples / 2 * (shift**2 / model.noise_variance).sum())

    # Expected rows

    def saturated(self, is_over: Callable[[], bool] = bool) -> Estimate:
        """Return what EM of the saturated model expects of the holes.

        Raises
        ------
        DegenerateColumnsError
            If columns are combinations of others where they are observed together.
        """
        found = saturated(self.rows, COARSE, is_over)
        self._require_independent(self._kept, found=found)
        return found

    def estimate(
        self,
        parents: Sequence[int],
        begin: Estimate,
        tolerance: float,
        is_over: Callable[[], bool] = bool,
    ) -> Estimate:
        """Return the parameters of a network, given the masks of its nodes' parents.

        Raises
        ------
        ValueError
            If the likelihood is unbounded, naming a column.
        """
        of_columns = list(parents) if self.nodes is None else self.nodes.parents_of_columns(parents)
        try:
            return estimate(self.rows, of_columns, begin, tolerance=tolerance, is_over=is_over)
        except UnboundedError as error:
            column = error.column
        self._require_independent(self._kept, is_unbounded=True)
        others = "others, or nearly so, in the rows in which they are observed together"
        raise DegenerateColumnsError(
            f"Column {self.column_names[column]!r} is collinear with {others}, and the likelihood "
            "is unbounded there. Leave out one of these columns, give more rows, or set a smaller "
            "max_parents.",
            (),
            [self._user_names[column]],
        )

    def expected(self, statistics: Estimate, n_samples: float) -> TableProblem:
        """Return the problem of complete rows with the expected moments, as so many rows."""
        rows, filled = self.rows, self._filled.select(self._kept)
        exponent = filled.exponent
        unit = np.ldexp(rows.scale, -exponent)
        factor = np.linalg.cholesky(statistics.scatter * (n_samples / rows.n_samples)).T
        summary = RowSummary(
            rows.n_rows,
            n_samples,
            filled.minimum,
            filled.maximum,
            exponent,
            np.asarray(np.ldexp(rows.mean, -exponent)),
            statistics.expected_mean * unit,
            np.asarray(factor * unit),
        )
        sample = Sample.of_summary(summary, self.nodes)
        return TableProblem(self.scores._with_sample(sample), self.constraints)


def expected_sample(scores: LocalScores) -> Sample:
    """Return the rows with holes of some scores as EM of the saturated model expects them.

    They count as many rows as the two columns have that are observed together least.
    """
    m = len(scores.columns)
    most = m - 1 if scores.max_parents is None else min(scores.max_parents, m - 1)
    problem = IncompleteProblem(scores, read_constraints(scores.columns, max_parents=most))
    with one_blas_thread():
        return problem.expected(problem.saturated(), problem.n_effective).scores.sample
