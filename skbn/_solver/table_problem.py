"""TableProblem: the scores of a table's families, which follow from regressions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np

from skbn._core.arrays import Floats
from skbn._core.exact_sums import upper_sum
from skbn._core.progress import Progress
from skbn._core.subsets import mask_of, members_of
from skbn._core.threads import one_blas_thread
from skbn._data.sample import Sample
from skbn._networks.block_network import network_of_model
from skbn._networks.conditional import conditional_model
from skbn._networks.equivalence import canonical_member
from skbn._networks.gaussian import LinearGaussianModel, estimate_model
from skbn._networks.network import GaussianBayesianNetwork
from skbn._scores.criterion_checks import is_score_equivalent
from skbn._scores.families import ScoredParentSets
from skbn._scores.local_scores import LocalScores
from skbn._scores.scorer import FamilyScorer
from skbn._solver.certificate import certify_network, certify_score
from skbn._solver.constraints import Constraints
from skbn._solver.edge_changes import polished
from skbn._solver.order_families import OrderFamilies, grown_families
from skbn._solver.problem import Problem, Shape
from skbn._solver.solution import Solution

__all__ = ["TableProblem"]


class TableProblem(Problem):
    """The scores of a table, and constraints.

    Parameters
    ----------
    scores : LocalScores
    constraints : Constraints

    Attributes
    ----------
    why_listed : str or None
        What keeps the families of an order search from growing, as an error says it. They grow by
        regressions of single columns, on the same rows.
    """

    scores: LocalScores
    why_listed: ClassVar[str | None] = None

    def __init__(self, scores: LocalScores, constraints: Constraints) -> None:
        self.scores = scores
        self.constraints = constraints
        self.families = scores.scorer.families

    @property
    def shape(self) -> Shape:
        return self.shape_of(self.regressions)

    def shape_of(self, scorer: FamilyScorer) -> Shape:
        """Return how large the problem is if a scorer scores all columns."""
        is_independent = not self.families.are_listed or scorer.statistics.is_checked
        m, most = self.families.m, self.families.max_parents
        n_functions = scorer.weights_of(range(m), most).n_functions
        return Shape(self.families, self.constraints, scorer.n_bytes, is_independent, n_functions)

    @property
    def regressions(self) -> FamilyScorer:
        return self.scores.scorer

    @property
    def score_offsets(self) -> Floats:
        return self._of_modelled(self.regressions.score_offsets)

    @property
    def listed_offsets(self) -> Floats:
        return np.zeros(self.families.m)

    @property
    def may_be_likelihoods(self) -> bool:
        return self.regressions.criterion.marginal_likelihood != "none"

    @property
    def is_score_equivalent(self) -> bool:
        return is_score_equivalent(self.regressions.tables)

    def with_penalties(self, penalties: Sequence[float]) -> Sequence[Self]:
        scores = [self.scores.with_penalty(penalty) for penalty in penalties]
        return [type(self)(each, self.constraints) for each in scores]

    def of_sample(self, sample: Sample, n_jobs: int | None = None) -> Self:
        return type(self)(self.scores.of_sample(sample, n_jobs), self.constraints)

    def without_rows(self) -> Self:
        return self.of_sample(self.scores.sample.without_rows())

    def prepare(self, progress: Progress) -> None:
        self.regressions.prepare(progress)

    # Families

    def listed(self, child: int, *, with_dominated: bool = False) -> ScoredParentSets:
        required, candidates = self.limits_of(child)
        if not required and not candidates:
            terms = self.regressions.terms(child, [])
            return np.empty((1, 0), dtype=np.int16), np.array([sum(terms)])
        parents, local = self.regressions.listed(child, required, candidates, with_dominated)
        fits = (parents >= 0).sum(axis=1) <= self.constraints.max_parents
        return parents[fits], local[fits]

    def local_scores(self, columns: Sequence[int], parents: Sequence[int]) -> Floats:
        terms = self.regressions.terms
        return np.array(
            [sum(terms(x, members_of(mask))) for x, mask in zip(columns, parents, strict=True)]
        )

    def largest_term(self, child: int, parents: list[int]) -> float:
        return self.regressions.largest_term(child, parents)

    def order_families(self, order: list[int], n_others: int) -> OrderFamilies:
        """Return families that grow by regressions, or all of them, where these cannot grow.

        Raises
        ------
        ValueError
            If families that cannot grow may be of any size, which are too many to list.
        """
        if self.why_listed is None:
            return grown_families(self.regressions, self.constraints, order, n_others)
        if not self.families.are_listed:
            raise ValueError(
                f'search="order" {self.why_listed} chooses among listed families. Set '
                "max_parents, to 3 for example."
            )
        return super().order_families(order, n_others)

    # Networks

    def network_terms(self, parents: Sequence[int]) -> Floats:
        return self._of_modelled(self.regressions.network_terms(parents))

    def gap_of_rounding(
        self, columns: Sequence[int], parents: Sequence[int], score: float, rounding: float
    ) -> tuple[float, float]:
        return 0.0, rounding

    def climbed(self, columns: Sequence[int], parents: list[int]) -> list[int]:
        constraints, own = self.constraints, mask_of(columns)
        if own.bit_count() < len(self.names):  # other columns are left as they are
            allowed, required = [
                [mask if own >> x & 1 else 0 for x, mask in enumerate(each)]
                for each in (constraints.allowed, constraints.required)
            ]
            constraints = constraints._replace(allowed=allowed, required=required)
        with one_blas_thread():
            any_member = self.any_member and constraints.is_free
            return polished(self.regressions, constraints, parents, any_member)

    def certified(self, parents: list[int], searched: float, gap: float) -> Solution:
        if self.any_member:
            parents = canonical_member(parents)
        score = certify_score(self.network_terms(parents), searched)
        model = self.model(parents)
        losses = certify_network(self.scores, self.constraints, parents, model.coef)
        return Solution(
            self.names,
            parents,
            self.irreversible(parents),
            score,
            upper_sum([score, gap]) if gap else score,
            losses,
            criterion=self.scores.criterion,
            model=model,
            nodes=self.regressions.nodes,
            statistics=self.regressions.group_statistics,
        )

    def network(self, parents: list[int]) -> GaussianBayesianNetwork:
        with one_blas_thread():
            model = self.model(parents)
        network = network_of_model(model, self.regressions.nodes)
        network._keep(model, statistics=self.regressions.group_statistics)
        return network

    def model(self, parents: list[int]) -> LinearGaussianModel:
        """Return the columns' network with parameters, from the masks of the nodes' parents."""
        scorer = self.regressions
        model = estimate_model(
            scorer.statistics,
            scorer.parents_of_columns(parents),
            scorer.column_names,
            fixed=scorer.fixed_of_columns(self.irreversible(parents)),
            divisors=scorer.noise_divisors,
        )
        outside = self.constraints.exogenous
        return conditional_model(model, scorer.columns_of(outside)) if outside else model
