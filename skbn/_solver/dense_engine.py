"""The dynamic program over all families of a group, scored from their log-determinants."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from skbn._core.resources import Resources
from skbn._core.subsets import mask_of, members_of
from skbn._exact.cluster import search_on_cluster
from skbn._exact.dense_families import (
    DENSE_KERNELS,
    LISTING_KERNELS,
    DenseFamilies,
    ScoredFamilies,
)
from skbn._exact.k_best import NearOptimalStream, near_optimal_networks
from skbn._exact.plan import (
    FEWEST_COLUMNS_OF_WORKERS,
    SearchPlan,
    plan_all_families,
    plan_on_workers,
)
from skbn._exact.recurrences import SLAB_KERNELS, exact_search
from skbn._exact.walked_families import WALKING_KERNELS, WalkedFamilies
from skbn._regressions.log_determinants import log_determinants_work, walk_seeds
from skbn._scores.scorer import FamilyScorer
from skbn._solver.constraints import Constraints, Group
from skbn._solver.engines import GroupSearch, Optimum, SearchSettings
from skbn._solver.problem import Problem, Shape

__all__ = ["plan_dense_search"]


def plan_dense_search(
    shape: Shape, group: Group, resources: Resources, settings: SearchSettings
) -> GroupSearch | None:
    """Plan a search through all families of a group's columns; None if there is no such search.

    Raises
    ------
    TooLargeError
        If it does not fit in memory.
    """
    columns, others = group
    if shape.families.are_given or len(columns) + len(others) == 1:
        return None
    has_lists = shape.families.are_listed
    if has_lists and not shape.is_independent:
        return None  # all columns together may be dependent
    # A group of only some columns needs log-determinants of its own.
    is_whole = len(columns) == len(shape.constraints.allowed)
    in_memory = shape.n_bytes if is_whole and not has_lists else 0
    cluster, sizes = resources.cluster, (len(columns), len(others))
    if cluster is not None and len(columns) >= FEWEST_COLUMNS_OF_WORKERS:
        n_bytes, limit = resources.of_each(cluster)
        here = resources.available
        plan = plan_on_workers(*sizes, cluster.n_workers, n_bytes, limit, here)
        return _DenseSearch(shape.constraints, group, plan)
    # Branch and cut is faster than a search that makes log-determinants again.
    stays = settings.lists_networks or (has_lists and resources.scratch is None)
    n_bytes, limit = resources.beside(in_memory)
    plan = plan_all_families(*sizes, n_bytes, limit, resources.scratch, stays)
    if plan.n_varying is not None:  # it makes again those that are in memory already
        plan = plan_all_families(*sizes, n_bytes - in_memory, limit, resources.scratch, stays)
    return _DenseSearch(shape.constraints, group, plan)


class _DenseSearch(GroupSearch):
    listing_kernels = LISTING_KERNELS

    def __init__(self, constraints: Constraints, group: Group, plan: SearchPlan) -> None:
        self.columns = group.columns
        # Those of the search are the group's, and then the plan's roots, which have no parents.
        self._sets_of = group.columns + group.others
        families = DENSE_KERNELS if plan.n_varying is None else WALKING_KERNELS
        self.kernels = (walk_seeds, *families, *SLAB_KERNELS)
        self._constraints = constraints
        self._plan = plan
        self.n_bytes = plan.n_bytes

    def __str__(self) -> str:
        return str(self._plan)

    def cost(self) -> int:
        return self.work(1)

    def work(self, n_penalties: int) -> int:
        of_walk = log_determinants_work(len(self._sets_of)) if self._is_walked_once else 0
        return of_walk + n_penalties * self._plan.work

    @property
    def _is_walked_once(self) -> bool:
        """Whether all log-determinants are in memory, and serve all penalties."""
        return self._plan.n_varying is None

    def optimum(self, problem: Problem, resources: Resources) -> Optimum:
        return next(self.optima([problem], resources))

    def optima(self, path: Sequence[Problem], resources: Resources) -> Iterator[Optimum]:
        log_det = None
        if self._is_walked_once:
            log_det = path[0].regressions.log_determinants_of(
                self._sets_of, resources.n_jobs, resources.progress
            )
        for problem in path:
            yield self._optimum(problem, self._families(problem.regressions, log_det), resources)

    def _optimum(self, problem: Problem, families: ScoredFamilies, resources: Resources) -> Optimum:
        columns, plan = self._sets_of, self._plan
        n_jobs, progress = resources.n_jobs, resources.progress
        if plan.n_workers and resources.cluster is not None:
            found = search_on_cluster(families, plan, resources.cluster, n_jobs, progress)
        else:
            found = exact_search(families, plan, n_jobs, progress)
        if not found.parents:  # no network has a finite score
            return Optimum([], found.score)
        score, tables = found.score, self._tables(problem.regressions)
        for i in range(len(self.columns), plan.n_columns):  # the roots' scores are not the group's
            of_root = float(families.log_determinants(np.array([1 << i]))[0])
            score -= float(tables[0, 0] + tables[2, 0] * of_root)
        masks = found.parents[: len(self.columns)]
        parents = [mask_of(columns[i] for i in members_of(mask)) for mask in masks]
        problem.require_certainty(self.columns, parents, found.uncertainty)
        return Optimum(parents, score, rounding=found.rounding)

    def near_optimal(
        self, problem: Problem, equivalence_classes: bool, resources: Resources
    ) -> NearOptimalStream:
        n_jobs, progress = resources.n_jobs, resources.progress
        log_det = problem.regressions.log_determinants_of(self._sets_of, n_jobs, progress)
        families = self._families(problem.regressions, log_det)
        assert isinstance(families, DenseFamilies)
        return near_optimal_networks(families, self._plan, equivalence_classes, n_jobs, progress)

    def _families(
        self, scorer: FamilyScorer, log_det: npt.NDArray[np.float64] | None
    ) -> ScoredFamilies:
        columns, constraints = self._sets_of, self._constraints
        position = {column: i for i, column in enumerate(columns)}

        def positions(masks: list[int]) -> list[int]:
            of_group = (mask_of(position[x] for x in members_of(masks[x])) for x in self.columns)
            return [*of_group, *[0] * self._plan.n_roots]

        rest = (
            self._tables(scorer),
            self._plan,
            positions(constraints.allowed),
            positions(constraints.required),
            columns,
        )
        if log_det is None:
            factor, offsets = scorer.factor_of(columns)
            return WalkedFamilies(factor, offsets, *rest)
        return DenseFamilies(log_det, *rest)

    def _tables(self, scorer: FamilyScorer) -> npt.NDArray[np.float64]:
        """Return the criterion's tables, with families of too many parents ruled out."""
        tables = scorer.tables[:, : len(self._sets_of)].copy()
        tables[0, self._constraints.max_parents + 1 :] = -np.inf
        return tables
