"""FamilyScorer: the local scores of a sample's families, by the numbers of their columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from skbn._core.arrays import BYTES, Booleans, Floats, Integers
from skbn._core.compile import compile_kernels
from skbn._core.resources import Progress, Resources, one_blas_thread, read_only, require_memory
from skbn._core.subsets import bits_of
from skbn._core.text import readable_value
from skbn._data.nodes import Nodes
from skbn._data.sample import RowSummary, Sample, centred_blocks
from skbn._data.statistics import (
    GroupStatistics,
    Prior,
    Regression,
    SampleStatistics,
    sample_statistics,
)
from skbn._regressions.least_squares import Neighbours, neighbours, triangular_factor
from skbn._regressions.log_determinants import set_functions
from skbn._regressions.set_function import SetFunctions, SetWeights, local_score_terms
from skbn._scores import criteria
from skbn._scores.families import (
    AllFamilies,
    Limits,
    ScoredParentSets,
    ScoredPiece,
    SmallFamilies,
    TableFamilies,
)

# Families that differ from a network's by one parent, with the terms of their scores.
ScoredNeighbours = Iterator[tuple[Neighbours, Floats]]
_FEWER = "make the LocalScores with a smaller max_parents, or leave out columns"


class FamilyScorer:
    """Scores the families of a sample's columns, and keeps what it has computed.

    `nodes`: which columns stand for each node; here, each is a node. Their names are for errors and
        for the labelled parameters of a criterion.

    `criterion`: the criterion for these columns, with its labelled parameters in their order
    `families`: how the families are numbered, and in what order the log-determinants are
    """

    # Whether the scores of several tables are added up.
    is_sum: bool = False
    # Whether each family is a regression of a single column on single columns of the same rows.
    is_plain: ClassVar[bool] = True
    # What depends on the penalty.
    _of_penalty: ClassVar[tuple[str, ...]] = ("_criterion_tables", "tables", "score_offsets")

    def __init__(
        self,
        sample: Sample,
        nodes: Nodes,
        criterion: criteria.Criterion,
        penalty: float,
        max_parents: int | None,
        n_jobs: int | None,
    ) -> None:
        m = len(nodes.names)
        self.families: TableFamilies = (
            AllFamilies(m) if max_parents is None else SmallFamilies(m, max_parents)
        )
        self.criterion = criteria.criterion_for(criterion, nodes.names)
        self.penalty = penalty
        self.sample = sample
        self.given_nodes = nodes
        self._n_jobs = n_jobs
        self._shared = _SharedByPenalties()
        self.targets: list[int] = []

    def with_penalty(self, penalty: float) -> Self:
        """Return the scorer of another penalty; both compute log-determinants only once."""
        other = copy(self)
        other.penalty = penalty
        for name in self._of_penalty:
            vars(other).pop(name, None)
        return other

    # The rows, of which all count for each node here; `GroupedScorer` has some for each

    @property
    def row_groups(self) -> list[tuple[list[int], FamilyScorer]]:
        """The nodes whose families are scored by the same rows, with what scores them.

        A scorer knows all nodes: any of them may be parents.
        """
        return [([*range(self.families.m)], self)]

    def of_child(self, child: int) -> FamilyScorer:
        """Return what scores the families of a child."""
        return self

    def scorers_of(self, child: int) -> list[FamilyScorer]:
        """Return the scorers whose scores of a child's families are added up: one."""
        return [self]

    def read(self) -> list[FamilyScorer]:
        """Compute the statistics of the rows, which a search needs before it is planned.

        Returns the scorers of the groups of rows.

        Raises ValueError if a regression leaves no residual, or the criterion does not suit the
        table.
        """
        _ = self.statistics
        return [self]

    @property
    def group_statistics(self) -> list[GroupStatistics]:
        """What the regressions of the columns depend on."""
        return [GroupStatistics([*range(len(self.nodes.columns))], self.statistics)]

    def correlations(self, nodes: Sequence[int]) -> Floats:
        """Return the correlations of the columns of some nodes, about."""
        factor = self.statistics.factor[:, self.nodes.columns_of(nodes)]
        norms = np.sqrt((factor**2).sum(axis=0))
        factor = factor / np.where(norms > 0, norms, 1.0)
        correlations = factor.T @ factor
        np.fill_diagonal(correlations, 1.0)
        return np.asarray(correlations)

    # The columns, of which each is a node here; `BlockScorer` has nodes of several columns

    @property
    def summary(self) -> RowSummary:
        """The summary of the columns from which the scores follow."""
        return self.sample.summary

    @cached_property
    def nodes(self) -> Nodes:
        """Which columns stand for each node."""
        return self.given_nodes

    @property
    def _most_columns(self) -> int:
        """How many columns the largest family has."""
        return self.families.max_parents + 1

    @property
    def residual_weights(self) -> Floats:
        """By how much a relative error of a residual sum of squares changes a score.

        Shape (n_columns,), by the number of parents.
        """
        return np.abs(self._criterion_tables[2])

    @property
    def largest_weight(self) -> float:
        """The largest weight of a log-determinant in a score."""
        return float(np.abs(self._criterion_tables[1:]).max())

    # The criterion

    @cached_property
    def tables(self) -> Floats:
        """The criterion's tables over the number of parents, shape (3, m), read-only.

        The largest entry of c is moved to `score_offsets`: a constant that all families share
        would cost the search digits, and cannot change its result.
        """
        tables = self._criterion_tables.copy()
        tables[0] -= criteria.largest_constant(tables)
        return read_only(tables)

    @cached_property
    def _criterion_tables(self) -> Floats:
        """The tables as the criterion returns them; a0 and a1 are the same with every penalty."""
        return self._checked_tables(self.families.m, self.families.max_parents)

    def _checked_tables(self, m: int, max_parents: int) -> Floats:
        """Return the criterion's tables of m columns, or raise if it has none of this penalty."""
        n, criterion, name = self.summary.n_samples, self.criterion, type(self.criterion).__name__
        if n == 0:
            raise ValueError("There are no rows to compute scores from; give some.")
        if isinstance(criterion, criteria.InformationCriterion):
            tables = self._penalised_tables(criterion, n, m)
        elif self.penalty == 1:
            tables = criterion.tables(n, m)
        else:
            raise ValueError(
                f"penalty={readable_value(self.penalty)} was asked for, but {name} has no "
                "complexity term that it could multiply. Leave the penalty at its default."
            )
        return criteria.check_tables(tables, name, n, m, max_parents)

    def _penalised_tables(self, criterion: Any, n: float, m: int) -> Floats:
        return criterion.tables(n, m, self.penalty)

    @property
    def column_tables(self) -> Floats:
        """The criterion's tables over the numbers of columns, up to a constant of c."""
        return self.tables

    @property
    def noise_divisors(self) -> Floats:
        """The divisors of residual sums of squares, by the number of parents of a column."""
        n, m = self.statistics.n_samples, len(self.nodes.columns)
        divisors = self.criterion.noise_divisors(n, m)
        return criteria.check_noise_divisors(divisors, type(self.criterion).__name__, n, m)

    def _prior(self) -> Prior | None:
        summary = self.summary
        prior = self.criterion.prior(summary.n_samples, summary.column_means)
        return criteria.check_prior(
            prior, f"{type(self.criterion).__name__}.prior", self.families.m
        )

    @property
    def has_complexity(self) -> bool:
        """Whether the criterion has a complexity term that is not always 0."""
        if not isinstance(self.criterion, criteria.InformationCriterion):
            return False
        complexity = self.criterion.complexity(self.summary.n_samples, self.families.m)
        return bool(np.any(complexity))

    # Units

    @cached_property
    def offsets(self) -> Floats | None:
        """What each node's units add to the log-determinants, shape (m,); None for nothing."""
        if criteria.is_scale_free(self._criterion_tables):
            return None
        return 2 * np.log(self.statistics.scale)

    @cached_property
    def score_offsets(self) -> Floats:
        """What all local scores of each child have in common, shape (m,), in nats, read-only.

        The sum of the constant that `tables` leave out and of what the child's unit adds:
        the log-determinants are those of columns of unit norm, and in its own units a child's
        residual sum of squares is larger by its scale squared. The unit adds nothing if the
        log-determinants are those of the columns in their own units.
        """
        offsets = np.full(self.families.m, criteria.largest_constant(self._criterion_tables))
        if criteria.is_scale_free(self.tables):
            offsets += 2 * self.tables[2, 0] * np.log(self.statistics.scale)
        return read_only(offsets)

    # Regressions

    @property
    def statistics(self) -> SampleStatistics:
        """What the regressions depend on: number of rows, means, triangular factor."""
        if self._shared.statistics is None:
            prior = self._prior()
            with one_blas_thread():
                self._shared.statistics = self._statistics(prior)
        return self._shared.statistics

    def _statistics(self, prior: Prior | None, **of_nodes: Any) -> SampleStatistics:
        return sample_statistics(
            self.summary,
            self.nodes.column_names,
            prior=prior,
            largest_family=self._most_columns,
            sensitivity=2 * self.largest_weight,
            **of_nodes,
        )

    def unit_rows(self) -> Iterator[Floats]:
        """Yield, in pieces, the rows whose triangular factor the statistics have.

        They are centred and the columns of unit norm; those of a prior come last.
        """
        sample, scale = self.sample, self.statistics.scale
        for rows in centred_blocks(sample.rows, sample.weight, sample.summary):
            yield self.kept(rows) * np.ldexp(1 / scale, self.summary.exponent)
        prior = self._prior()
        if prior is not None:
            yield prior.rows / scale

    def kept(self, rows: Floats) -> Floats:
        """Return the columns of the scores' regressions, from all of the sample's."""
        return rows

    @property
    def n_bytes(self) -> int:
        """Memory that the log-determinants take already, or what a search made of them."""
        if self._shared.searched is not None:
            sets, weights = self._shared.searched
            return weights.n_functions * sets.of_family.nbytes
        log_det = self._shared.log_determinants
        return 0 if log_det is None else log_det.nbytes

    @property
    def searched(self) -> tuple[SetFunctions, SetWeights] | None:
        """What the last search of all columns took its scores from, if it is kept.

        These are functions of all sets of columns, and their weights.
        """
        return self._shared.searched

    def prepare(self, progress: Progress) -> None:
        """Compute what listed families need, and advance the progress by ``families.work``."""
        self.log_determinants(progress)

    def log_determinants(self, progress: Progress | None = None) -> Floats:
        """Return what the families need, and advance the progress by ``families.work``."""
        families = self.families
        if self._shared.log_determinants is None:
            self._shared.searched = None  # they take its place
            nodes = list(range(families.m))
            _ = self.statistics  # a table that is refused needs no memory
            self._require_memory()
            compile_kernels(families.kernels)
            resources = Resources(0, n_jobs=self._n_jobs, progress=progress or Progress())
            self._shared.log_determinants = self._values(families, nodes, resources)
        elif progress is not None:
            progress.advance(families.work)
        return self._shared.log_determinants

    def _require_memory(self) -> None:
        families = self.families
        n_bytes = BYTES * families.n_subsets
        require_memory(n_bytes, "The table of all log-determinants", _FEWER)

    def small_sets_by_child(
        self, columns: list[int], children: list[int], max_parents: int, resources: Resources
    ) -> list[tuple[SmallFamilies, Floats]]:
        """Return, for each child, the families of few parents among columns, and what they need.

        Advances the progress by the work of one walk.
        """
        small = self.small_sets(columns, max_parents, resources)
        return [small] * len(children)

    def small_sets(
        self, columns: list[int], max_parents: int, resources: Resources
    ) -> tuple[SmallFamilies, Floats]:
        """Return the families of few parents among columns, and what they need."""
        families = SmallFamilies(len(columns), max_parents)
        compile_kernels(families.kernels)
        return families, self._values(families, columns, resources)

    def _values(self, families: TableFamilies, columns: list[int], resources: Resources) -> Floats:
        """Return what `tables` weigh, for the sets that the families need."""
        factor, offsets = self.factor_of(columns)
        log_det = families.log_determinants(factor, offsets, resources)
        self._check(families, log_det, offsets, columns)
        return log_det

    def _check(
        self, families: TableFamilies, log_det: Floats, offsets: Floats | None, columns: list[int]
    ) -> None:
        """Raise if the columns of a family depend on each other, unless all were checked."""
        statistics = self.statistics
        if statistics.is_checked:
            return
        # If a combination of k columns were too nearly 0, one of them would leave no more than k
        # times the largest rounding on the others.
        threshold = self._most_columns * statistics.independence.rounding.max()
        for places in families.nearly_dependent_sets(log_det, offsets, threshold):
            self.require_independence([columns[place] for place in places])

    def require_independence(self, nodes: Sequence[int]) -> None:
        """Raise if the columns of these nodes are not linearly independent."""
        statistics = self.statistics
        if not statistics.is_checked and len(nodes):
            statistics.check(self.nodes.columns_of(nodes))

    def weights_of(self, columns: Sequence[int], max_parents: int) -> SetWeights:
        """Return how set functions of these nodes follow from log-determinants.

        Families of more than `max_parents` are ruled out.
        """
        tables = self.tables[:, : len(columns)].copy()
        tables[0, max_parents + 1 :] = -np.inf
        return SetWeights(tables)

    def set_functions_of(
        self, columns: list[int], max_parents: int, resources: Resources
    ) -> SetFunctions:
        """Return what local scores are differences of, for all subsets of columns, in this order.

        If these are all columns, in their order, and families of any size are scored, the functions
        are kept, and replace the log-determinants and those of an earlier search.

        Raises ValueError if the columns of a family of up to `max_parents` parents depend on each
        other.
        """
        if not self.statistics.is_checked:
            # Which looks at each family.
            self.small_sets(columns, max_parents, resources.reporting(Progress()))
        weights = self.weights_of(columns, max_parents)
        given = resources.n_jobs, resources.progress
        is_whole = not self.families.are_listed and columns == list(range(self.families.m))
        kept = self._shared.searched
        if is_whole and kept is not None and kept[1] == weights:
            resources.progress.advance(self.families.work)
            return kept[0]
        if not is_whole:
            factor, offsets = self.factor_of(columns)
            return set_functions(factor, weights, *given, offsets)
        kept = self._shared.searched = self._shared.log_determinants = None
        self._require_memory()
        sets = set_functions(self.statistics.factor, weights, *given, self.offsets)
        self._shared.searched = sets, weights
        return sets

    def functions_by_child(
        self, columns: list[int], children: list[int], max_parents: int, resources: Resources
    ) -> list[SetFunctions]:
        """Return what the local scores of each child are differences of.

        `columns`: the children and then their possible parents, in the order of the masks' bits
        `resources`: their progress is advanced by the work of one walk

        Returns `functions`: one for each of `columns`; only those of children are used.
        """
        return [self.set_functions_of(columns, max_parents, resources)] * len(columns)

    def factor_of(self, columns: list[int]) -> tuple[Floats, Floats | None]:
        """Return what the log-determinants of some columns follow from: factor and offsets."""
        if columns == list(range(self.families.m)):
            return self.statistics.factor, self.offsets
        factor = triangular_factor(self.statistics.factor[:, self.nodes.columns_of(columns)])
        return factor, None if self.offsets is None else self.offsets[columns]

    # Single families, by regressions of their own

    def local_score(self, child: int, parents: Sequence[int]) -> float:
        """Return the local score of a family, without the log-determinants of all."""
        constant, parents_term, family_term = self.terms(child, list(parents))
        return constant + parents_term + family_term + float(self.score_offsets[child])

    def terms(self, child: int, parents: list[int]) -> tuple[float, float, float]:
        """Return the three terms of this local score, which leave out the child's offset."""
        of_parents, of_family = self.statistics.log_determinants(child, parents)
        offsets = self.offsets
        if offsets is not None:
            of_parents += offsets[parents].sum()
            of_family += offsets[[*parents, child]].sum()
        terms = local_score_terms(self.tables, len(parents), of_parents, of_family)
        constant, parents_term, family_term = map(float, terms)
        return constant, parents_term, family_term

    def regression(self, child: int, parents: Sequence[int]) -> Regression:
        """Return a child's regression on its parents' columns."""
        nodes = self.nodes
        if nodes.widths[child] > 1:
            raise ValueError(
                f"Node {nodes.names[child]!r} has {nodes.widths[child]} columns, each with a "
                "regression of its own. Fit a network, whose table of edges has all coefficients."
            )
        (column,) = nodes.columns_of([child])
        return self.statistics.regression(column, nodes.columns_of(parents))

    def largest_term(self, child: int, parents: list[int]) -> float:
        """Return the largest magnitude of a term of this local score, apart from its offset."""
        return max(map(abs, self.terms(child, parents)))

    def network_terms(
        self, parents: Sequence[int], children: Sequence[int] | None = None
    ) -> Floats:
        """Return the terms of each column's local score and, last, `score_offsets`.

        `children`: the columns whose terms to compute; by default all. Those of others are
            arbitrary.

        Returns `terms`: (4, m).
        """
        is_parent = bits_of(parents, len(parents))
        n = is_parent.sum(axis=1)
        of_parents, of_family = np.zeros((2, len(n)))
        for families in self.statistics.families_of(is_parent, children):
            at = families.children
            of_parents[at], of_family[at] = families.log_determinants()
        if self.offsets is not None:
            of_parents += is_parent @ self.offsets
            of_family += is_parent @ self.offsets + self.offsets
        terms = local_score_terms(self.tables, n, of_parents, of_family)
        return np.stack([*terms, self.score_offsets])

    def neighbours(self, is_parent: Booleans, children: Integers) -> ScoredNeighbours:
        """Yield the families that differ from a network's by one parent, and their terms.

        `children`: the children whose families to yield

        Yields `neighbours`: for k children, with their units; `terms`: (3, k, m).
        """
        m, offsets = len(is_parent), self.offsets
        for found in neighbours(self.statistics.factor, is_parent, children):
            x, own = found.children, is_parent[found.children]
            change = np.where(own, -1, 1)
            change[np.arange(len(x)), x] = 0
            of_parents, of_family = found.of_parents, found.of_family
            if offsets is not None:  # the columns in their own units
                added = (own @ offsets)[:, np.newaxis] + change * offsets
                of_parents += added
                of_family += added + offsets[x][:, np.newaxis]
            n_parents = np.minimum(own.sum(axis=1, keepdims=True) + change, m - 1)
            with np.errstate(invalid="ignore"):  # dependent columns, which no family may have
                terms = local_score_terms(self.tables, n_parents, of_parents, of_family)
            yield found, np.stack(np.broadcast_arrays(*terms))

    # Many families, by the log-determinants

    def scored(self, child: int, candidates: list[int]) -> Iterator[ScoredPiece]:
        """Yield the scores of the families with parents among the candidates, in pieces."""
        offset = self._offset(child)
        pieces = self.families.scored(child, candidates, *self._values_of(child))
        for scores, parents_at in pieces:
            yield scores + offset, parents_at

    def listed(self, limits: Limits, with_dominated: bool = False) -> ScoredParentSets:
        """Return a child's families.

        `with_dominated`: whether to return families too that do not score higher than all with
            fewer of their parents

        Returns `parents`: (n_families, width), ascending, rows padded with -1; `scores`:
        (n_families,), without the child's offset.
        """
        return self.families.listed(limits, *self._values_of(limits.child), with_dominated)

    def _offset(self, child: int) -> float:
        return float(self.score_offsets[child])

    def _values_of(self, child: int) -> tuple[Floats, Floats]:
        """Return what the scores of a child's families are differences of, and their tables."""
        return self.log_determinants(), self.tables

    def to_array(self) -> Floats:
        """Return the local scores of all families, shape (m, n_parent_sets)."""
        m, size = self.families.m, self.families.n_parent_sets
        missing = 0 if self.n_bytes else self.families.n_subsets
        require_memory(BYTES * ((m + 8) * size + missing), "The array of all local scores", _FEWER)
        array = np.empty((m, size))
        for child in range(m):
            start = 0
            for scores, _ in self.scored(child, [v for v in range(m) if v != child]):
                array[child, start : start + len(scores)] = scores
                start += len(scores)
        return array


@dataclass
class _SharedByPenalties:
    """What scorers that differ only in their penalty compute once."""

    statistics: SampleStatistics | None = None
    log_determinants: Floats | None = None
    searched: tuple[SetFunctions, SetWeights] | None = None

    def __getstate__(self) -> dict[str, Any]:
        # Storing 2**m numbers takes longer than computing them again.
        return {"statistics": self.statistics, "log_determinants": None, "searched": None}
