"""SummedProblem: one structure for several tables, each with parameters of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from skbn._core.exact_sums import upper_sum
from skbn._core.graphs import dag_of
from skbn._core.subsets import members_of
from skbn._data.sample import Sample
from skbn._networks.equivalence import canonical_member
from skbn._networks.network import GaussianBayesianNetwork
from skbn._scores.sum_scorer import SumScorer
from skbn._scores.summed_scores import SummedScores
from skbn._solver.certificate import (
    EdgeChanges,
    certify_determinants,
    certify_neighbours,
    certify_rows,
    certify_score,
)
from skbn._solver.constraints import Constraints
from skbn._solver.problem import Shape, Solution, TableProblem


class SummedProblem(TableProblem):
    """The scores of several tables, added up, and constraints.

    Parameters
    ----------
    scores : SummedScores
    constraints : Constraints
    parts : sequence of TableProblem
        The problem of each table.
    """

    scores: SummedScores  # type: ignore[assignment]
    scorer: SumScorer  # type: ignore[assignment]

    def __init__(
        self, scores: SummedScores, constraints: Constraints, parts: Sequence[Any]
    ) -> None:
        self.scores = scores
        self.constraints = constraints
        self.parts: list[TableProblem] = list(parts)
        self.scorer = SumScorer([each.scorer for each in parts])
        self.families = self.scorer.families
        self.targets = self.scorer.targets

    def read(self) -> Shape:
        shape = super().read()
        # Each table's functions are in memory while they are added up.
        return shape._replace(n_row_groups=shape.n_row_groups + 1)

    def with_penalties(self, penalties: Sequence[float]) -> Sequence[Self]:
        paths = [each.with_penalties(penalties) for each in self.parts]
        return [
            type(self)(self.scores.with_penalty(penalty), self.constraints, parts)
            for penalty, parts in zip(penalties, map(list, zip(*paths, strict=True)), strict=True)
        ]

    def of_sample(self, sample: Sample, n_jobs: int | None = None) -> Self:
        raise TypeError("SummedScores are of several tables. Resample the rows of each table.")

    def without_rows(self) -> Self:
        parts = [each.without_rows() for each in self.parts]
        scores = self.scores._of([each.scores for each in parts])
        return type(self)(scores, self.constraints, parts)

    def certified(self, parents: list[int], searched: float, gap: float) -> Solution:
        if self.any_member:
            parents = canonical_member(parents)
        score = certify_score(self.network_terms(parents), searched)
        for each in self.parts:
            groups, coef = each.scorer.row_groups, each.model(parents).coef
            certify_determinants(groups, EdgeChanges(each.scorer, self.constraints, parents))
            certify_rows(each.scores, groups, self.constraints, parents, coef)
        changes = EdgeChanges(self.scorer, self.constraints, parents)
        return Solution(
            self.names,
            parents,
            self.irreversible(parents),
            score,
            upper_sum([score, gap]) if gap else score,
            certify_neighbours(self.scores, changes),
            criterion=self.scores.criterion,
            exogenous=self._exogenous,
        )

    @property
    def _exogenous(self) -> tuple[str | int, ...]:
        return tuple(self.names[x] for x in members_of(self.constraints.exogenous))

    def network(self, parents: list[int]) -> GaussianBayesianNetwork:
        dag = dag_of(self.names, parents, self.irreversible(parents))
        dag.add_nodes_from(self._exogenous, exogenous=True)
        return GaussianBayesianNetwork(dag)
