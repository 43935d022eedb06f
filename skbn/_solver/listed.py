"""The listed engine: a search through families that are listed one by one.

They come from a file, or are those that no family with fewer of the same parents beats, where few
parents are allowed and the columns are many.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from skbn._core.progress import Progress
from skbn._core.small_subsets import SmallSubsets
from skbn._core.subsets import members_of
from skbn._core.threads import Threads
from skbn._exact.listed_families import ListedFamilies
from skbn._exact.plan import SearchPlan, numbers_of_small_families, plan_search
from skbn._exact.search import exact_search
from skbn._scores.families import AllFamilies, Listed
from skbn._scores.local_scores import LocalScores
from skbn._scores.parent_set_scores import ParentSetScores
from skbn._solver.constraints import Constraints, Group
from skbn._solver.engine import GroupSearch, MemoryLimit, Optimum, Scores, require_certainty

__all__ = ["plan_listed_search"]

# Scoring a family of k columns and comparing it with its subsets takes about this many times k**2
# as long as one local score of a dense search: measured at 30 to 100 columns.
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
    n_numbers = in_memory = shared_work = 0
    is_single = len(columns) + len(others) == 1
    if isinstance(scores, LocalScores) and not is_single:
        families = scores.scorer.families
        if isinstance(families, AllFamilies):
            return None
        n_numbers = numbers_of_small_families(families.m, families.max_parents)
        in_memory, shared_work = scores.scorer.n_bytes, families.work
    plan = plan_search(len(columns), *memory.beside(in_memory), n_log_determinants=n_numbers)
    return _ListedSearch(constraints, group, plan, shared_work)


class _ListedSearch(GroupSearch):
    def __init__(
        self, constraints: Constraints, group: Group, plan: SearchPlan, shared_work: int
    ) -> None:
        self.columns = group.columns
        self._constraints = constraints
        self._plan = plan
        self.n_bytes = plan.n_bytes
        self.shared_work = shared_work

    def __str__(self) -> str:
        return str(self._plan)

    def cost(self) -> int:
        most = self._constraints.max_parents
        n_candidates = [self._constraints.allowed[x].bit_count() for x in self.columns]
        n_families = sum(SmallSubsets(n, most).n_sets for n in n_candidates)
        return _WORK_OF_LISTING * (most + 1) ** 2 * n_families

    def work(self, n_penalties: int) -> int:
        return n_penalties * self._plan.work

    def optima(
        self, path: Sequence[Scores], n_jobs: int | None, progress: Progress
    ) -> Iterator[Optimum]:
        for scores in path:
            arguments = [(scores, self._constraints, x) for x in self.columns]
            with Threads(n_jobs, len(scores.columns)) as threads:
                listed = list(threads.map(_families_within, arguments))
            families = ListedFamilies(
                self.columns,
                [parents for parents, _ in listed],
                [local for _, local in listed],
                self._plan,
                (scores.scorer if isinstance(scores, LocalScores) else scores).largest_term,
            )
            found = exact_search(families, self._plan, n_jobs, progress)
            require_certainty(found)
            yield Optimum(found.parents, found.score)


def _families_within(scores: Scores, constraints: Constraints, child: int) -> Listed:
    """Return the families of a child that may be part of the best network.

    Their scores lack the child's offset.
    """
    required = members_of(constraints.required[child])
    candidates = members_of(constraints.allowed[child] & ~constraints.required[child])
    if isinstance(scores, ParentSetScores):
        listed = scores.listed(child, required, candidates, constraints.max_parents)
        if len(listed[1]) == 0:
            names = [scores.columns[p] for p in required]
            must = f" that has the required parents {names} and" if required else " that"
            raise ValueError(
                f"Column {scores.columns[child]!r} has no listed family{must} satisfies the "
                "constraints. List more parent sets, or relax these."
            )
        return listed[0], listed[1] - scores.score_offsets[child]
    if not required and not candidates:
        terms = scores.scorer.terms(child, [])
        return np.empty((1, 0), dtype=np.int16), np.array([sum(terms)])
    parents, local = scores.scorer.undominated(child, required, candidates)
    fits = (parents >= 0).sum(axis=1) <= constraints.max_parents
    return parents[fits], local[fits]
