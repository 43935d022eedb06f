"""IncompleteProblem: a table with missing values, and constraints."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np

from skbn._core.arrays import Booleans, Floats, Integers
from skbn._core.resources import IsOver, explained, one_blas_thread
from skbn._core.subsets import bits_of, members_of
from skbn._core.text import first_few, readable_value
from skbn._data.degenerate_columns import joined
from skbn._data.nodes import Nodes
from skbn._data.sample import RowSummary, Sample, summarise
from skbn._missing import em
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
from skbn._solver.problem import Problem, Shape
from skbn.exceptions import DegenerateColumnsError

Computed = TypeVar("Computed")

# In nats. EM that only compares networks ends when a step raises its likelihood by no more.
COARSE = 1e-4
# With fewer rows for each column, the likelihood of the observed values says little.
_ROWS_A_COLUMN = 5
# The share of a number by which its rounding changes it at most.
_ROUNDING = np.finfo(np.float64).eps / 2


class IncompleteProblem(Problem):
    """A table with missing values, and constraints.

    Its families have no scores of their own; `expected` returns the problem of complete rows as EM
    expects them.

    `scores`: scores of rows with holes
    """

    def __init__(self, scores: LocalScores, constraints: Constraints) -> None:
        super().__init__(scores, constraints)
        self._require_given()

    def require_likelihood(self) -> None:
        """Raise unless the criterion is the maximum of a log-likelihood less a cost."""
        criterion = self.scores.criterion
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

    def _require_given(self) -> None:
        """Raise if a value is missing that was set, or is not modelled."""
        sample, names = self.scores.sample, self._names_of(range(self._is_given.shape[1]))
        is_missing = self._is_given & np.isnan(sample.rows)
        if sample.weight is not None:
            is_missing &= (sample.weight > 0)[:, np.newaxis]
        if not is_missing.any():
            return
        row, column = np.argwhere(is_missing)[0].tolist()
        outside = members_of(self.constraints.exogenous)
        if names[column] in self._names_of(self._all_nodes.columns_of(outside)):
            raise ValueError(
                f"Column {names[column]!r} is exogenous and has no value in row {row}: nothing "
                "says how exogenous columns are distributed. Model it in the first of the tiers, "
                f"by tiers=[[{first_few(self.names[x] for x in outside)}], ...] in place of "
                "exogenous, or leave out such rows."
            )
        raise ValueError(
            f"interventions set column {names[column]!r} in row {row}, where it has no value. Give "
            "the value that it was set to, or leave out such rows."
        )

    def read(self) -> Shape:
        return self.expected(em.start(self.rows)).read()

    # The columns

    @property
    def _all_nodes(self) -> Nodes:
        """The nodes with all columns of the table."""
        return self.scores._nodes

    @cached_property
    def _is_given(self) -> Booleans:
        """Which values were set or are not modelled, so that they are given."""
        sample = self.scores.sample
        is_given = np.zeros(sample.shape, dtype=bool)
        if sample.is_set is not None:
            is_given |= self._all_nodes.by_column(sample.is_set)
        is_given[:, self._all_nodes.columns_of(members_of(self.constraints.exogenous))] = True
        return is_given

    @cached_property
    def _says_something(self) -> Booleans:
        """Whether a row has a value that is not given."""
        return np.asarray((~np.isnan(self.scores.sample.rows) & ~self._is_given).any(axis=1))

    @cached_property
    def _counts(self) -> Booleans:
        weight, counts = self.scores.sample.weight, self._says_something
        return counts if weight is None else counts & (weight > 0)

    @cached_property
    def _known(self) -> Sample:
        """The rows of a positive weight in which a value is observed that is not given."""
        return self.scores.sample[self._counts]

    @cached_property
    def _filled(self) -> RowSummary:
        """The summary of these rows with a column's first value in its holes.

        Raises ValueError, naming a column without values.
        """
        rows, weight = self._known.rows, self._known.weight
        require_values(rows, self._names_of(range(rows.shape[1])))
        seen = ~np.isnan(rows)
        first = rows[seen.argmax(axis=0), range(rows.shape[1])]
        return summarise(np.where(seen, rows, first), weight)

    def _names_of(self, columns: Iterable[int]) -> list[Any]:
        """Return what users call some columns: the category, for indicators of its levels."""
        nodes = self._all_nodes
        return [nodes.labels[nodes.columns[j].source] for j in columns]

    @property
    def _user_names(self) -> list[Any]:
        return self._names_of(self._kept)

    @cached_property
    def _independent(self) -> tuple[list[int], dict[str | int, list[Any]]]:
        """The columns that vary, independent of the others of their node; levels with rows."""
        nodes, filled, rows = self._all_nodes, self._filled, self._known.rows
        try:
            kept, levels = independent_columns(filled, nodes)
            names = [nodes.column_names[j] for j in kept]
            require_spread(rows[:, kept], names, self._names_of(kept))
            return kept, levels
        except DegenerateColumnsError as error:
            constant = error
        every = [*range(filled.n_columns)]
        raise joined(constant, lambda: self.require_independent(every))

    def require_independent(
        self, columns: list[int] | None = None, not_set: int | None = None, **settings: Any
    ) -> None:
        """Raise if columns are combinations of others where they are observed together.

        `columns` are by default those of the regressions. With `not_set`, one of these, only the
        rows count in which it was not set.
        """
        columns = self._kept if columns is None else columns
        nodes, known = self._all_nodes, self._known
        if not_set is not None:
            known = known[~self._is_given[self._counts][:, self._kept[not_set]]]
        em.require_independent(
            known.rows[:, columns],
            [nodes.column_names[j] for j in columns],
            labels=self._names_of(columns),
            node_of=nodes.by_column(np.arange(len(nodes.names)))[columns],
            largest_family=self.constraints.max_parents + 1,
            weight=known.weight,
            **settings,
        )

    @property
    def _kept(self) -> list[int]:
        return self._independent[0]

    @cached_property
    def nodes(self) -> Nodes:
        """The nodes with these columns."""
        return self._all_nodes.select(*self._independent)

    @property
    def has_complexity(self) -> bool:
        return self.expected(em.start(self.rows)).has_complexity

    def kept(self, rows: Floats) -> Floats:
        return rows[:, self._kept]

    # The rows

    @property
    def observed(self) -> Sample:
        """The rows of these columns, with their holes."""
        known = self._known
        rows, is_set = known.rows[:, self._kept], known.is_set
        return Sample(rows, known.weight, None, self.nodes, is_set, may_miss=True)

    @cached_property
    def rows(self) -> IncompleteRows:
        """The rows of these columns."""
        known, is_given = self._known, self._is_given[self._counts]
        always = self._all_nodes.columns_of(
            [
                x
                for x in self.constraints.modelled
                if is_given[:, self._all_nodes.columns_of([x])].all()
            ]
        )
        if always and len(is_given):
            names = first_few(dict.fromkeys(self._names_of(always)))
            raise ValueError(
                f"interventions set the columns [{names}] in all {len(is_given)} rows, so that "
                "nothing says what they depend on. Give rows in which they were not set, leave "
                f"them out, or let them be causes only, by exogenous=[{names}]."
            )
        rows = incomplete_rows(known.rows[:, self._kept], known.weight, is_given[:, self._kept])
        self._require_pairs(rows)
        for g, columns in enumerate(rows.groups[1:], start=1):
            self._of_group(columns, partial(self._require_pairs, rows.of_group(g)))
        return rows

    def _require_pairs(self, rows: IncompleteRows) -> None:
        """Raise if two columns that an edge may join are seen together in too few rows.

        Other pairs are not needed: with the rows of its edges, a network has the covariances of all
        columns, one after the other in its order.
        """
        n = float(rows.pair_weights(self._needed).min())
        if n > self._most_columns:
            return
        largest, total = self._most_columns, rows.n_samples
        too_few = total <= largest  # without holes, too
        if not self.nodes.are_columns and (too_few or 2 * max(self.nodes.widths) > largest):
            weight = total if too_few else n
            raise too_many_columns(self.nodes, largest, rows.n_rows, weight, holes=True)
        most = math.ceil(n) - 2
        fewer = (
            f", or set max_parents to {most} or less" if most > 0 and self.nodes.are_columns else ""
        )
        few = "too few to tell" if n else "so that nothing tells"
        what, some = rows.seen_least(self._user_names, self._needed), "one of them"
        may_be_apart = self._needed is not None and not too_few
        apart = ", or forbid a learner both edges between them" * may_be_apart
        if too_few:
            what, some = f"X has rows of weight {total:g} for {largest} columns", "columns"
        raise ValueError(
            f"{what}, {few} how they depend on each other. Leave {some} out{apart}{fewer}."
        )

    def _of_group(self, columns: Integers, call: Callable[[], Computed]) -> Computed:
        """Return what a call returns; its errors name the columns of a group of rows."""
        names = first_few(dict.fromkeys(self._user_names[j] for j in columns))
        return explained(
            call,
            lambda error: f"In the rows in which [{names}] was not set by interventions: {error}",
        )

    @property
    def _most_columns(self) -> int:
        """How many columns the largest family has."""
        return sum(sorted(self.nodes.widths)[-self.constraints.max_parents - 1 :])

    @property
    def n_effective(self) -> float:
        """The smallest weight of the rows of a group in which any two columns are both observed."""
        return float(self._effective.min())

    @cached_property
    def _effective(self) -> Floats:
        """The same for each group of rows that counts for a column."""
        rows = self.rows
        of_groups = [rows.of_group(g) for g in range(len(rows.groups))]
        return np.array([own.pair_weights(self._needed).min() for own in of_groups])

    @cached_property
    def _needed(self) -> Booleans | None:
        """Which pairs of columns edges may join; None for all, as where interventions set some."""
        if self.scores.sample.is_set is not None:
            return None
        m = len(self._kept)
        joined = bits_of(self.nodes.parents_of_columns(self.constraints.allowed), m)
        return np.asarray(joined | joined.T | np.eye(m, dtype=bool))

    def ignored(self) -> list[str]:
        """Return a remark about rows that say nothing, if there are any."""
        sample, found = self.scores.sample, []
        n_empty = int(np.count_nonzero(~self._says_something))
        if n_empty:
            what = "no value but given ones" if self._is_given.any() else "no value"
            found.append(f"{n_empty} of {len(sample.rows)} rows of X have {what} and are ignored.")
        return found

    def remarks(self) -> list[str]:
        """Return what a user should be warned of."""
        found = self.ignored()
        if self.n_effective < _ROWS_A_COLUMN * self.rows.n_columns:
            seen_least = self.rows.seen_least(self._user_names, self._needed)
            found.append(
                f"{seen_least}, which is fewer than {_ROWS_A_COLUMN} for each of the "
                f"{self.rows.n_columns} columns. The network may be far from that of a complete "
                "table; leave out columns with few values."
            )
        if not self.rows.pair_weights().all():
            found.append(
                f"{self.rows.seen_least(self._user_names)}: networks that differ in how these "
                "depend on each other may have the same score. near_optimal() lists them."
            )
        return found

    def log_likelihood(self, model: LinearGaussianModel) -> float:
        """Return the log-likelihood of the observed values, by regressions alone."""
        rows, weight = self._known.rows, self._known.weight
        is_given = self._is_given[self._counts][:, self._kept]
        of_rows = model.log_density(rows[:, self._kept], is_given if is_given.any() else None)
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

    def saturated(self, is_over: IsOver = bool) -> em.Estimate:
        """Return what EM of the saturated model expects of the holes.

        Raises DegenerateColumnsError if columns are combinations of others where they are observed
        together.
        """
        rows, found = self.rows, em.saturated(self.rows, COARSE, is_over)
        self.require_independent(scatter=found.scatter[0])
        for g, columns in enumerate(rows.groups[1:], start=1):
            own = partial(self.require_independent, not_set=columns[0], scatter=found.scatter[g])
            self._of_group(columns, own)
        return found

    def estimate(
        self, parents: Sequence[int], begin: em.Estimate, tolerance: float, is_over: IsOver = bool
    ) -> em.Estimate:
        """Return the parameters of a network, given the masks of its nodes' parents.

        Raises ValueError if the likelihood is unbounded, naming a column.
        """
        of_columns = self.nodes.parents_of_columns(parents)
        try:
            return em.estimate(self.rows, of_columns, begin, tolerance=tolerance, is_over=is_over)
        except em.UnboundedError as error:
            column = error.column
        self.require_independent(is_unbounded=True)
        others = "others, or nearly so, in the rows in which they are observed together"
        raise DegenerateColumnsError(
            f"Column {self.nodes.column_names[column]!r} is collinear with {others}, and the "
            "likelihood is unbounded there. Leave out one of these columns, give more rows, or set "
            "a smaller max_parents.",
            (),
            [self._user_names[column]],
        )

    def expected(self, statistics: em.Estimate, *, effective: bool = False) -> Problem:
        """Return the problem of complete rows with the expected moments.

        They count as many rows as there are or, if `effective`, as the two columns have that are
        observed together least.
        """
        return self.expectation.problem(statistics, self._effective if effective else None)

    @cached_property
    def expectation(self) -> Expectation:
        """What all such problems have in common."""
        rows, filled = self.rows, self._filled.select(self._kept)
        of_nodes = rows.patterned.group_of[self.nodes.starts[:-1]]
        n_groups = len(rows.groups)
        summary = replace(filled, mean=np.asarray(np.ldexp(rows.mean, -filled.exponent)))
        return Expectation(
            self.scores._with_sample(Sample.of_summary(summary, self.nodes)),
            self.constraints,
            self._known.targets,
            [np.flatnonzero(of_nodes == g).tolist() for g in range(n_groups)],
            rows.n_of_groups,
            [rows.of_group(g).n_rows for g in range(n_groups)],
            np.ldexp(rows.scale, -filled.exponent),
        )


@dataclass(frozen=True)
class Expectation:
    """What the problems of expected complete rows have in common, without the rows."""

    scores: LocalScores  # scores of a summary of all rows; only its units and means matter
    constraints: Constraints
    targets: list[int]  # the masks of the nodes that were set together
    groups: list[list[int]]  # the nodes of each group of rows
    n_samples: Floats  # (n_groups,)
    n_rows: list[int]
    unit: Floats  # (m,): the columns' deviations in units of the summary

    def problem(self, statistics: em.Estimate, n_samples: Floats | None = None) -> Problem:
        """Return the problem with expected moments, by default of as many rows as there are."""
        known, groups = self.scores.sample, []
        for g, total in enumerate(self.n_samples):
            n = total if n_samples is None else n_samples[g]
            factor = np.linalg.cholesky(statistics.scatter[g] * (n / total)).T
            summary = replace(
                known.summary,
                n_rows=self.n_rows[g],
                n_samples=float(n),
                mean_rest=statistics.expected_mean[g] * self.unit,
                factor=np.asarray(factor * self.unit),
            )
            groups.append((self.groups[g], Sample.of_summary(summary, known.nodes)))
        _, sample = groups[0]
        if len(groups) > 1:
            with_nodes = [(nodes, own) for nodes, own in groups if nodes]
            sample = Sample.of_summary(sample.summary, known.nodes, with_nodes, self.targets)
        return Problem(self.scores._with_sample(sample), self.constraints)


def expected_sample(scores: LocalScores) -> Sample:
    """Return the rows with holes of some scores as EM of the saturated model expects them.

    They count as many rows as the two columns have that are observed together least.
    """
    m = len(scores.columns)
    most = m - 1 if scores.max_parents is None else min(scores.max_parents, m - 1)
    problem = IncompleteProblem(scores, read_constraints(scores.columns, max_parents=most))
    problem.require_likelihood()
    with one_blas_thread():
        return problem.expected(problem.saturated(), effective=True).scores.sample
