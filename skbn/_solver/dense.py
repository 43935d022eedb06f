"""The dense engine: a search through all families of a group, by their log-determinants."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from skbn._core.progress import Progress
from skbn._core.subsets import mask_of, members_of
from skbn._exact.dense_families import DenseFamilies
from skbn._exact.plan import SearchPlan, plan_all_families
from skbn._exact.search import exact_search
from skbn._regressions.log_determinants import log_determinants, log_determinants_work
from skbn._regressions.qr import triangular_factor
from skbn._scores.families import AllFamilies
from skbn._scores.local_scores import LocalScores
from skbn._scores.scorer import FamilyScorer
from skbn._solver.constraints import Constraints, Group
from skbn._solver.engine import GroupSearch, MemoryLimit, Optimum, Scores, require_certainty

__all__ = ["plan_dense_search"]


def plan_dense_search(
    scores: Scores, constraints: Constraints, group: Group, memory: MemoryLimit
) -> GroupSearch | None:
    """Plan a search through all families of a group's columns; None if there is no such search.

    Raises
    ------
    TooLargeError
        If it does not fit in memory.
    """
    columns, others = group
    if not isinstance(scores, LocalScores) or len(columns) + len(others) == 1:
        return None
    scorer = scores.scorer
    in_memory = 0
    if isinstance(scorer.families, AllFamilies):
        # A group of only some columns needs log-determinants of its own.
        if len(columns) == len(constraints.allowed):
            in_memory = scorer.n_bytes
    elif not scorer.statistics.is_checked:
        return None  # all columns together may be dependent
    plan = plan_all_families(len(columns), len(others), *memory.beside(in_memory))
    return _DenseSearch(constraints, group, plan)


class _DenseSearch(GroupSearch):
    def __init__(self, constraints: Constraints, group: Group, plan: SearchPlan) -> None:
        self.columns = group.columns
        # Those of the search are the group's, and then the plan's roots, which have no parents.
        self._sets_of = group.columns + group.others
        self._constraints = constraints
        self._plan = plan
        self.n_bytes = plan.n_bytes

    def __str__(self) -> str:
        return str(self._plan)

    def cost(self) -> int:
        return self.work(1)

    def work(self, n_penalties: int) -> int:
        return log_determinants_work(len(self._sets_of)) + n_penalties * self._plan.work

    def optima(
        self, path: Sequence[Scores], n_jobs: int | None, progress: Progress
    ) -> Iterator[Optimum]:
        scorers = [scores.scorer for scores in path if isinstance(scores, LocalScores)]
        log_det = _log_determinants_of(scorers[0], self._sets_of, n_jobs, progress)
        for scorer in scorers:
            yield self._optimum(scorer, log_det, n_jobs, progress)

    def _optimum(
        self,
        scorer: FamilyScorer,
        log_det: npt.NDArray[np.float64],
        n_jobs: int | None,
        progress: Progress,
    ) -> Optimum:
        columns, plan, constraints = self._sets_of, self._plan, self._constraints
        position = {column: i for i, column in enumerate(columns)}

        def positions(masks: list[int]) -> list[int]:
            of_group = (mask_of(position[x] for x in members_of(masks[x])) for x in self.columns)
            return [*of_group, *[0] * plan.n_roots]

        tables = scorer.tables[:, : len(columns)].copy()
        tables[0, constraints.max_parents + 1 :] = -np.inf
        families = DenseFamilies(
            log_det,
            tables,
            plan,
            positions(constraints.allowed),
            positions(constraints.required),
            columns,
        )
        found = exact_search(families, plan, n_jobs, progress)
        if not found.parents:  # no network has a finite score
            return Optimum([], found.score)
        require_certainty(found)
        score = found.score
        for i in range(len(self.columns), plan.n_columns):  # the roots' scores are not the group's
            score -= float(tables[0, 0] + tables[2, 0] * log_det[1 << i])
        masks = found.parents[: len(self.columns)]
        return Optimum([mask_of(columns[i] for i in members_of(mask)) for mask in masks], score)


def _log_determinants_of(
    scorer: FamilyScorer, columns: list[int], n_jobs: int | None, progress: Progress
) -> npt.NDArray[np.float64]:
    """Return the log-determinants of all subsets of some columns, in this order."""
    if isinstance(scorer.families, AllFamilies) and columns == list(range(scorer.families.m)):
        return scorer.log_determinants(progress)
    factor = triangular_factor(scorer.statistics.factor[:, columns])
    offsets = scorer.determinants.offsets
    return log_determinants(factor, n_jobs, progress, None if offsets is None else offsets[columns])
