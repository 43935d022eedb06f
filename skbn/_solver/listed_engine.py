"""The dynamic program over listed families: those of a file, or those that no subset beats."""

from __future__ import annotations

from skbn._core.exact_sums import upper_sum
from skbn._core.progress import Progress
from skbn._core.subsets import SmallSubsets, members_of
from skbn._core.threads import Threads
from skbn._exact.listed_families import ListedFamilies
from skbn._exact.near_optimal import (
    NEAR_OPTIMAL_KERNELS,
    NearOptimalStream,
    near_optimal_networks,
)
from skbn._exact.plan import SearchPlan, numbers_of_small_families, plan_search
from skbn._exact.recurrences import SLAB_KERNELS, exact_search
from skbn._scores.families import AllFamilies
from skbn._scores.local_scores import LocalScores
from skbn._solver.constraints import Constraints, Group
from skbn._solver.engines import (
    GroupSearch,
    Optimum,
    Scores,
    families_within,
    largest_listed,
    require_certainty,
)
from skbn._solver.settings import TOLERANCE, MemoryLimit

__all__ = ["plan_listed_search"]

# Scoring a family of k columns and comparing it with its subsets takes about this many times k**2
# as long as one local score of a dense search.
_WORK_OF_LISTING = 6


def plan_listed_search(
    scores: Scores, constraints: Constraints, group: Group, memory: MemoryLimit
) -> GroupSearch | None:
    """Plan a search through listed families; None if the scores are of all sets of parents.

    Raises
    ------
    TooLargeError
        If it does not fit in memory.
    """
    columns, others = group
    n_numbers = in_memory = 0
    is_single = len(columns) + len(others) == 1
    if isinstance(scores, LocalScores) and not is_single:
        families = scores.scorer.families
        if isinstance(families, AllFamilies):
            return None
        n_numbers = numbers_of_small_families(families.m, families.max_parents)
        in_memory = scores.scorer.n_bytes
    plan = plan_search(
        len(columns),
        *memory.beside(in_memory),
        n_log_determinants=n_numbers,
        scratch=memory.scratch,
        in_memory=memory.in_memory,
    )
    search = _ListedSearch(constraints, group, plan)
    if isinstance(scores, LocalScores) and not is_single:
        families = scores.scorer.families
        search.kernels += families.kernels
        search.shared_work = families.work
    return search


class _ListedSearch(GroupSearch):
    listing_kernels = NEAR_OPTIMAL_KERNELS

    def __init__(self, constraints: Constraints, group: Group, plan: SearchPlan) -> None:
        self.kernels = SLAB_KERNELS
        self.columns = group.columns
        self._constraints = constraints
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

    def optimum(self, scores: Scores, n_jobs: int | None, progress: Progress) -> Optimum:
        families = self._families(scores, n_jobs)
        if isinstance(scores, LocalScores):
            found = exact_search(families, self._plan, n_jobs, progress)
            require_certainty(found.uncertainty)
            return Optimum(found.parents, found.score, rounding=found.rounding)
        # Listed scores are exact numbers: networks tie only where sums of them are rounded.
        found = exact_search(families, self._plan, n_jobs, progress, TOLERANCE / 4)
        if not found.parents:
            return Optimum([], found.score)
        require_certainty(found.uncertainty, largest_listed(scores, self.columns, found.parents))
        own = [
            -scores.local_score(x, members_of(mask))
            for x, mask in zip(self.columns, found.parents, strict=True)
        ]
        above = [found.score, found.rounding, *scores.score_offsets[self.columns].tolist()]
        return Optimum(found.parents, found.score, max(0.0, upper_sum([*above, *own])))

    def near_optimal(
        self, scores: Scores, equivalence_classes: bool, n_jobs: int | None, progress: Progress
    ) -> NearOptimalStream:
        families = self._families(scores, n_jobs, with_dominated=True)
        return near_optimal_networks(families, self._plan, equivalence_classes, n_jobs, progress)

    def _families(
        self, scores: Scores, n_jobs: int | None, with_dominated: bool = False
    ) -> ListedFamilies:
        arguments = [(scores, self._constraints, x, with_dominated) for x in self.columns]
        with Threads(n_jobs, len(scores.columns)) as threads:
            listed = list(threads.map(families_within, arguments))
        return ListedFamilies(
            self.columns,
            [parents for parents, _ in listed],
            [local for _, local in listed],
            self._plan,
            (scores.scorer if isinstance(scores, LocalScores) else scores).largest_term,
        )
