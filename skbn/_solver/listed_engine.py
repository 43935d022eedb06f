"""The dynamic program over listed families: those of a file, or those that no subset beats."""

from __future__ import annotations

from functools import partial

from skbn._core.resources import Resources
from skbn._core.subsets import SmallSubsets
from skbn._exact.k_best import NearOptimalStream, near_optimal_networks
from skbn._exact.listed_families import ListedFamilies
from skbn._exact.plan import SearchPlan, plan_search
from skbn._exact.recurrences import SLAB_KERNELS, exact_search
from skbn._solver.constraints import Group
from skbn._solver.engines import GroupSearch, Optimum, SearchSettings
from skbn._solver.problem import Problem, Shape

__all__ = ["plan_listed_search"]

# Scoring a family of k columns and comparing it with its subsets takes about this many times k**2
# as long as one local score of a dense search.
_WORK_OF_LISTING = 6


def plan_listed_search(
    shape: Shape, group: Group, resources: Resources, settings: SearchSettings
) -> GroupSearch | None:
    """Plan a search through listed families; None if all sets of parents have scores.

    Raises
    ------
    TooLargeError
        If it does not fit in memory.
    """
    columns, others = group
    # A single column has one family, whose score is a regression of its own.
    is_single = len(columns) + len(others) == 1
    families = shape.families
    if not families.are_listed and not is_single:
        return None
    plan = plan_search(
        len(columns),
        *resources.beside(0 if is_single else shape.n_bytes),
        n_log_determinants=0 if is_single else families.numbers_while_listed(),
        scratch=resources.scratch,
        in_memory=settings.lists_networks,
    )
    search = _ListedSearch(shape, group, plan)
    if not is_single:
        search.kernels += families.kernels
        search.shared_work = families.work
    return search


class _ListedSearch(GroupSearch):
    def __init__(self, shape: Shape, group: Group, plan: SearchPlan) -> None:
        self.kernels = SLAB_KERNELS
        self.columns = group.columns
        self._constraints = shape.constraints
        self._plan = plan
        self.n_bytes = plan.n_bytes

    def __str__(self) -> str:
        return str(self._plan)

    def cost(self) -> int:
        most = self._constraints.max_parents
        n_candidates = [self._constraints.allowed[x].bit_count() for x in self.columns]
        n_families = sum(SmallSubsets(n, most).n_sets for n in n_candidates)
        return _WORK_OF_LISTING * (most + 1) ** 2 * n_families

    def work(self, n_penalties: int) -> int:
        return n_penalties * self._plan.work

    def optimum(self, problem: Problem, resources: Resources) -> Optimum:
        families = self._families(problem, resources)
        progress = resources.progress
        found = exact_search(families, self._plan, resources.n_jobs, progress, problem.tie)
        if not found.parents:
            return Optimum([], found.score)
        problem.require_certainty(self.columns, found.parents, found.uncertainty)
        gap, rounding = problem.gap_of_rounding(
            self.columns, found.parents, found.score, found.rounding
        )
        return Optimum(found.parents, found.score, gap, rounding)

    def near_optimal(
        self, problem: Problem, equivalence_classes: bool, resources: Resources
    ) -> NearOptimalStream:
        families = self._families(problem, resources, with_dominated=True)
        return near_optimal_networks(
            families, self._plan, equivalence_classes, resources.n_jobs, resources.progress
        )

    def _families(
        self, problem: Problem, resources: Resources, with_dominated: bool = False
    ) -> ListedFamilies:
        list_child = partial(problem.families_of, with_dominated=with_dominated)
        with resources.threads(len(problem.names)) as threads:
            listed = list(threads.map(list_child, [(x,) for x in self.columns]))
        return ListedFamilies(
            self.columns,
            [parents for parents, _ in listed],
            [local for _, local in listed],
            self._plan,
            problem.largest_term,
        )
