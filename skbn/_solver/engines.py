"""Search engines: each plans the search of a group of columns, and runs it.

An engine is a function `plan(scores, constraints, group, memory)` that returns a `GroupSearch`, or
None if it cannot search these scores. There are two, dense and listed. To add one, write its file
and name it in `ENGINES` of `solve.py`. Branch and cut, of `branch_engine`, takes their place if
neither fits in memory, and the order search of `order_engine` if it is asked for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from skbn._core.compile import compile_kernels
from skbn._core.resources import Progress, Threads
from skbn._core.subsets import SmallSubsets, mask_of, members_of
from skbn._exact.cluster import Cluster, search_on_cluster
from skbn._exact.dense_families import (
    DENSE_KERNELS,
    LISTING_KERNELS,
    DenseFamilies,
    ScoredFamilies,
)
from skbn._exact.listed_families import ListedFamilies
from skbn._exact.near_optimal import (
    NEAR_OPTIMAL_KERNELS,
    NearOptimalStream,
    near_optimal_networks,
)
from skbn._exact.plan import SearchPlan, numbers_of_small_families, plan_all_families, plan_search
from skbn._exact.recurrences import SLAB_KERNELS, exact_search
from skbn._exact.walked_families import WALKING_KERNELS, WalkedFamilies
from skbn._regressions.local_score import SCORE_ACCURACY
from skbn._regressions.log_determinants import log_determinants_work, walk_seeds
from skbn._scores.families import AllFamilies, ScoredParentSets
from skbn._scores.local_scores import LocalScores
from skbn._scores.parent_set_scores import ParentSetScores
from skbn._scores.scorer import FamilyScorer
from skbn._solver.constraints import Constraints, Group
from skbn._solver.settings import MemoryLimit

__all__ = [
    "Engine",
    "GroupSearch",
    "Optimum",
    "Scores",
    "families_within",
    "plan_dense_search",
    "plan_listed_search",
    "require_certainty",
]

# Scoring a family of k columns and comparing it with its subsets takes about this many times k**2
# as long as one local score of a dense search.
_WORK_OF_LISTING = 6

Scores = LocalScores | ParentSetScores


class Optimum(NamedTuple):
    """The best network that a search found for the columns of a group.

    Parameters
    ----------
    parents : list of int
        The mask of each column's parents. Empty without any network of a finite score.
    score : float
        In nats, as the search adds it up, without the scores' `score_offsets`; -inf without any
        network of a finite score.
    is_optimal : bool
        Whether it is proven that no network within the constraints has a higher score, or for
        branch and cut one that is higher by more than the tolerance.
    n_iter : int
        How many perturbed orders an order search started from again; 0 for an exact search.
    gap : float
        No network within the constraints scores higher by more than this; in nats.
    n_nodes : int
        How many nodes the tree of branch and cut has; 0 for other searches.
    """

    parents: list[int]
    score: float
    is_optimal: bool = True
    n_iter: int = 0
    gap: float = 0.0
    n_nodes: int = 0


class GroupSearch(ABC):
    """The planned search of one group of columns.

    Attributes
    ----------
    columns : list of int
        The columns whose parents it finds.
    n_bytes : int
        Memory of its tables.
    kernels : tuple of kernel
        Those that it calls, to be compiled first.
    shared_work : int
        The work of the log-determinants of all small sets if it needs them; groups share these.
        Like all work here, in units of one local score of a dense search.
    heeds_time_limit : bool
        Whether it ends by the deadline of its settings.
    """

    columns: list[int]
    n_bytes: int
    kernels: tuple[Any, ...]
    shared_work: int = 0
    heeds_time_limit: bool = False

    @abstractmethod
    def __str__(self) -> str:
        """Return the number of columns and the memory, as `verbose` prints them."""

    @abstractmethod
    def cost(self) -> int:
        """Return about how long it takes for one penalty, by which engines are chosen."""

    @abstractmethod
    def work(self, n_penalties: int) -> int:
        """Return the work that the search reports to its progress, without `shared_work`."""

    @abstractmethod
    def optima(
        self, path: Sequence[Scores], n_jobs: int | None, progress: Progress
    ) -> Iterator[Optimum]:
        """Yield the best parents of the columns for each of the scores.

        Parameters
        ----------
        path : sequence of LocalScores, or of one ParentSetScores
            Those of one table with several penalties, which share their log-determinants.
        n_jobs : int or None
            Number of threads, by joblib's rules. It does not change a bit of the result.
        progress : Progress
            Advanced by `work` in all.
        """

    def near_optimal(
        self, scores: Scores, equivalence_classes: bool, n_jobs: int | None, progress: Progress
    ) -> NearOptimalStream:
        """Return the networks of the columns in order of their score, after a search for the best.

        An engine need not define it.

        Parameters
        ----------
        scores : LocalScores or ParentSetScores
            The networks' scores lack their `score_offsets`.
        equivalence_classes : bool
            Whether to return only the best network of each equivalence class.
        n_jobs : int or None
        progress : Progress
            Advanced by `work`.
        """
        names = [scores.columns[x] for x in self.columns]
        raise ValueError(
            f"The search of the columns {names} finds the best network, and cannot list others."
        )


Engine = Callable[[Scores, Constraints, Group, MemoryLimit], GroupSearch | None]


def require_certainty(uncertainty: float) -> None:
    """Raise if rounding may have hidden a better network than the one found.

    Parameters
    ----------
    uncertainty : float
        How far rounding may put the score of a network off, in nats.

    Raises
    ------
    ValueError
        Saying by how much the score may be off, and what would make it smaller.
    """
    if uncertainty > SCORE_ACCURACY:
        raise ValueError(
            "The terms of the best network's score are so large that it is known only to "
            f"{uncertainty:.2g} nats, and not to {SCORE_ACCURACY}, which may hide a better "
            "network. If they are costs that all networks must pay, lower the penalty or the "
            "costs, and rule families out by forbidden_edges or max_parents instead. If they are "
            "likelihoods, give fewer rows, smaller sample weights or a smaller alpha_w."
        )


# Dense: all families of a group, by their log-determinants


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
    has_lists = not isinstance(scorer.families, AllFamilies)
    if isinstance(scorer.families, AllFamilies):
        # A group of only some columns needs log-determinants of its own.
        if len(columns) == len(constraints.allowed):
            in_memory = scorer.n_bytes
    elif not scorer.statistics.is_checked:
        return None  # all columns together may be dependent
    # Branch and cut is faster than a search that makes log-determinants again.
    stays = memory.in_memory or (has_lists and memory.scratch is None)
    cluster = memory.cluster
    if cluster is not None:
        in_memory = 0
    limits = *memory.beside(in_memory), memory.scratch, stays
    n_workers = 0 if cluster is None else cluster.n_workers
    plan = plan_all_families(len(columns), len(others), *limits, n_workers)
    return _DenseSearch(constraints, group, plan, cluster)


class _DenseSearch(GroupSearch):
    def __init__(
        self, constraints: Constraints, group: Group, plan: SearchPlan, cluster: Cluster | None
    ) -> None:
        self.columns = group.columns
        self._cluster = cluster
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

    def optima(
        self, path: Sequence[Scores], n_jobs: int | None, progress: Progress
    ) -> Iterator[Optimum]:
        scorers = [scores.scorer for scores in path if isinstance(scores, LocalScores)]
        log_det = None
        if self._is_walked_once:
            log_det = scorers[0].log_determinants_of(self._sets_of, n_jobs, progress)
        for scorer in scorers:
            yield self._optimum(scorer, self._families(scorer, log_det), n_jobs, progress)

    def _optimum(
        self,
        scorer: FamilyScorer,
        families: ScoredFamilies,
        n_jobs: int | None,
        progress: Progress,
    ) -> Optimum:
        columns, plan = self._sets_of, self._plan
        if plan.n_workers and self._cluster is not None:
            found = search_on_cluster(families, plan, self._cluster, n_jobs, progress)
        else:
            found = exact_search(families, plan, n_jobs, progress)
        if not found.parents:  # no network has a finite score
            return Optimum([], found.score)
        require_certainty(found.uncertainty)
        score, tables = found.score, self._tables(scorer)
        for i in range(len(self.columns), plan.n_columns):  # the roots' scores are not the group's
            of_root = float(families.log_determinants(np.array([1 << i]))[0])
            score -= float(tables[0, 0] + tables[2, 0] * of_root)
        masks = found.parents[: len(self.columns)]
        return Optimum([mask_of(columns[i] for i in members_of(mask)) for mask in masks], score)

    def near_optimal(
        self, scores: Scores, equivalence_classes: bool, n_jobs: int | None, progress: Progress
    ) -> NearOptimalStream:
        assert isinstance(scores, LocalScores)
        compile_kernels((*LISTING_KERNELS, *NEAR_OPTIMAL_KERNELS))
        log_det = scores.scorer.log_determinants_of(self._sets_of, n_jobs, progress)
        families = self._families(scores.scorer, log_det)
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


# Listed: families that a file lists, or that no family with fewer of the same parents beats


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

    def optima(
        self, path: Sequence[Scores], n_jobs: int | None, progress: Progress
    ) -> Iterator[Optimum]:
        for scores in path:
            families = self._families(scores, n_jobs)
            found = exact_search(families, self._plan, n_jobs, progress)
            require_certainty(found.uncertainty)
            yield Optimum(found.parents, found.score)

    def near_optimal(
        self, scores: Scores, equivalence_classes: bool, n_jobs: int | None, progress: Progress
    ) -> NearOptimalStream:
        compile_kernels(NEAR_OPTIMAL_KERNELS)
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


def families_within(
    scores: Scores, constraints: Constraints, child: int, with_dominated: bool
) -> ScoredParentSets:
    """Return the families of a child that may be part of the best network, or of any.

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
    parents, local = scores.scorer.listed(child, required, candidates, with_dominated)
    fits = (parents >= 0).sum(axis=1) <= constraints.max_parents
    return parents[fits], local[fits]
