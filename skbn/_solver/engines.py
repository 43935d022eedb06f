"""Search engines: each plans the search of a group of columns, and runs it.

An engine is a function `plan(shape, group, resources, settings)` that returns a `GroupSearch`, or
None if it cannot search problems of this shape. The dynamic programs, over all families of a group
and over listed ones, are here. To add an engine, write its file and name it in `ENGINES` of
`planner.py`. Branch and cut, of `branch_engine`, takes their place if neither fits in memory, and
the order search of `order_engine` if it is asked for.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, ClassVar, NamedTuple

from skbn._core.resources import Resources
from skbn._core.subsets import max_zeta, n_small_subsets, renumbered
from skbn._exact.cluster import search_on_cluster
from skbn._exact.dense_families import DENSE_KERNELS, DenseFamilies
from skbn._exact.k_best import KBestNetworks, NearOptimalNetwork
from skbn._exact.listed_families import ListedFamilies
from skbn._exact.plan import FEWEST_COLUMNS_OF_WORKERS, SearchPlan, plan_on_workers, plan_search
from skbn._exact.recurrences import ArrayStore, best_scores, exact_search, slab_kernels
from skbn._exact.walked_families import WALKING_KERNELS, WalkedFamilies
from skbn._regressions.log_determinants import log_determinants_work, walk_seeds
from skbn._solver.constraints import Group
from skbn._solver.problem import TOLERANCE, Found, Problem, Shape


class SearchSettings(NamedTuple):
    """How to search."""

    # whether to prove the network, by dynamic programming or branch and cut; else the order search
    # finds it
    is_exact: bool = True
    seed: int = 0  # seeds all random choices
    # in nats: branch and cut ends once no network scores higher by more than this
    tolerance: float = TOLERANCE
    # whether the searches are to list further networks, which only dynamic programs in memory can
    lists_networks: bool = False
    # how many equivalence classes a search of a table with missing values scores by EM
    n_candidates: int = 30
    # the masks of the parents in a network from which the order search starts, and from no other
    start: tuple[int, ...] | None = None


EXACT = SearchSettings()


def in_table(columns: Iterable[int], masks: Iterable[int], m: int) -> list[int]:
    """Return the masks of all m columns' parents, which are 0 except for these columns."""
    parents = [0] * m
    for x, mask in zip(columns, masks, strict=True):
        parents[x] = mask
    return parents


class Wanted(NamedTuple):
    """Which networks `near_optimal` lists."""

    # the largest number of networks, and of one more that shows whether there are others; None for
    # any number
    n: int | None
    within: float | None  # how far below the best a score may be, in nats; None for any score
    equivalence_classes: bool  # whether to list only the best network of each equivalence class


class GroupSearch(ABC):
    """The planned search of one group of columns."""

    columns: list[int]  # the columns whose parents it finds
    n_bytes: int  # memory of its tables
    kernels: tuple[Any, ...]  # those that it calls, to be compiled first
    # whether `near_optimal` is defined: other engines are not asked to list networks
    can_list: ClassVar[bool] = False
    # the work of the log-determinants of all small sets if it needs them; groups share these. Like
    # all work here, in units of one local score of a dense search.
    shared_work: int = 0
    heeds_time_limit: bool = False  # whether it ends by the deadline of its resources

    @abstractmethod
    def __str__(self) -> str:
        """Return the number of columns and the memory, as `verbose` prints them."""

    @abstractmethod
    def cost(self) -> int:
        """Return about how long it takes for one penalty, by which engines are chosen."""

    def work(self) -> int:
        """Return the work that a search reports to its progress, without `shared_work`."""
        return self.cost()

    def begin(self, problem: Problem, resources: Resources) -> None:  # noqa: B027
        """Find a network to begin with, if the search needs one: all groups do so first."""

    @abstractmethod
    def optimum(self, problem: Problem, resources: Resources) -> Found:
        """Return the best parents of the columns, after `begin`.

        The progress of the resources is advanced by `work`.
        """

    def near_optimal(
        self, problem: Problem, wanted: Wanted, resources: Resources
    ) -> Iterator[NearOptimalNetwork]:
        """Return the networks of the columns in order of their score, after a search for the best.

        An engine need not define it.

        `problem`: the networks' scores lack its `score_offsets`
        `wanted`: the networks may end after these
        `resources`: with a progress, which is advanced by `work`
        """
        names = [problem.names[x] for x in self.columns]
        raise ValueError(
            f"The search of the columns {names} finds the best network, and cannot list others."
        )


Engine = Callable[[Shape, Group, Resources, SearchSettings], GroupSearch | None]


# Scoring a family of k columns and comparing it with its subsets takes about this many times k**2
# as long as one local score of a dense search.
_WORK_OF_LISTING = 6


class _DynamicProgram(GroupSearch):
    """A planned search through the families of a group's columns, over all sets of these."""

    can_list = True

    def __init__(self, group: Group, plan: SearchPlan, kernels: tuple[Any, ...]) -> None:
        self.columns, self._group = group.columns, group
        self.kernels = () if plan.is_small else (*kernels, *slab_kernels(plan))
        self._plan, self.n_bytes = plan, plan.n_bytes

    def __str__(self) -> str:
        return str(self._plan)

    def near_optimal(
        self, problem: Problem, wanted: Wanted, resources: Resources
    ) -> Iterator[NearOptimalNetwork]:
        families, plan = self._families(problem, resources, lists_networks=True), self._plan
        store = ArrayStore(plan)
        with resources.threads(plan.n_columns + plan.n_others) as threads:
            best_scores(families, plan, store, threads, resources.progress)
        rest = plan.n_roots, wanted.equivalence_classes, problem.told_apart
        return KBestNetworks(store.scores, families, *rest).networks()

    @abstractmethod
    def _families(
        self, problem: Problem, resources: Resources, lists_networks: bool = False
    ) -> Any:
        """Return the families to go through."""


# All families


def plan_dense_search(
    shape: Shape, group: Group, resources: Resources, settings: SearchSettings
) -> GroupSearch | None:
    """Plan a search through all families of a group's columns; None if there is no such search.

    Raises TooLargeError if it does not fit in memory.
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
    cluster = resources.cluster
    is_shared = shape.n_row_groups == 1  # columns with rows of their own stay in memory
    if is_shared and cluster is not None and len(columns) >= FEWEST_COLUMNS_OF_WORKERS:
        n_bytes, limit = resources.of_each(cluster)
        here = resources.available
        n_workers, n_functions = cluster.n_workers, shape.n_functions
        sizes = len(columns), len(others), n_workers
        plan = plan_on_workers(*sizes, n_bytes, limit, here, n_functions)
        return _DenseSearch(group, plan, shape.n_walks)
    # Branch and cut is faster than a search that makes log-determinants again.
    stays = settings.lists_networks or (has_lists and resources.scratch is None) or not is_shared
    n_bytes, limit = resources.beside(in_memory)
    plan_with = partial(
        plan_search,
        len(columns),
        limit=limit,
        n_others=len(others),
        scratch=resources.scratch,
        in_memory=stays,
        n_functions=shape.n_functions * shape.n_row_groups,
    )
    plan = plan_with(n_bytes=n_bytes)
    if plan.n_varying is not None:  # it recomputes what is in memory already
        plan = plan_with(n_bytes=n_bytes - in_memory)
    return _DenseSearch(group, plan, shape.n_walks)


class _DenseSearch(_DynamicProgram):
    def __init__(self, group: Group, plan: SearchPlan, n_walks: int) -> None:
        self._n_walks = n_walks
        families = DENSE_KERNELS if plan.n_varying is None else WALKING_KERNELS
        super().__init__(group, plan, families)
        self.kernels += (walk_seeds,)
        # The group's columns, then the others. The search itself is over the first of these, as
        # many as the plan has; others among them are its roots.
        self._sets_of = group.columns + group.others

    def cost(self) -> int:
        is_in_memory = self._plan.n_varying is None
        of_walk = log_determinants_work(len(self._sets_of)) if is_in_memory else 0
        return self._n_walks * of_walk + self._plan.work

    def optimum(self, problem: Problem, resources: Resources) -> Found:
        families = self._families(problem, resources)
        columns, plan = self._sets_of, self._plan
        n_jobs, progress = resources.n_jobs, resources.progress
        if plan.n_workers and resources.cluster is not None:
            found = search_on_cluster(families, plan, resources.cluster, n_jobs, progress)
        else:
            found = exact_search(families, plan, n_jobs, progress)
        if not found.parents:  # no network has a finite score
            return Found([], found.score, 0.0)
        score = found.score
        for i in range(len(self.columns), plan.n_columns):  # the roots' scores are not the group's
            score -= families.local_score(i, 0)
        parents = renumbered(found.parents[: len(self.columns)], columns)
        problem.require_certainty(self.columns, parents, found.uncertainty)
        return Found(parents, score, 0.0, found.rounding)

    def _families(
        self, problem: Problem, resources: Resources, lists_networks: bool = False
    ) -> DenseFamilies | WalkedFamilies:
        columns, scorer = self._sets_of, problem.scorer
        most, of_roots = problem.constraints.max_parents, [0] * self._plan.n_roots
        allowed, required = problem.constraints.of_group(self._group)
        rest = self._plan, allowed + of_roots, required + of_roots, columns
        if self._plan.n_varying is not None:
            factor, offsets = scorer.factor_of(columns)
            return WalkedFamilies(factor, offsets, scorer.weights_of(columns, most), *rest)
        sets = scorer.functions_by_child(columns, self.columns, most, resources)
        return DenseFamilies(sets, *rest)


# Listed families


def plan_listed_search(
    shape: Shape, group: Group, resources: Resources, settings: SearchSettings
) -> GroupSearch | None:
    """Plan a search through listed families; None if all sets of parents have scores.

    Raises TooLargeError if it does not fit in memory.
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
        n_log_determinants=0 if is_single else families.numbers_while_listed,
        scratch=resources.scratch,
        in_memory=settings.lists_networks,
    )
    search = _ListedSearch(shape, group, plan)
    if not is_single:
        search.kernels += families.kernels
        search.shared_work = families.work
    return search


class _ListedSearch(_DynamicProgram):
    def __init__(self, shape: Shape, group: Group, plan: SearchPlan) -> None:
        super().__init__(group, plan, (max_zeta,))
        self._constraints = shape.constraints

    def cost(self) -> int:
        most = self._constraints.max_parents
        n_candidates = [self._constraints.allowed[x].bit_count() for x in self.columns]
        n_families = sum(n_small_subsets(n, most) for n in n_candidates)
        return _WORK_OF_LISTING * (most + 1) ** 2 * n_families

    def work(self) -> int:
        return self._plan.work

    def optimum(self, problem: Problem, resources: Resources) -> Found:
        families = self._families(problem, resources)
        progress = resources.progress
        found = exact_search(families, self._plan, resources.n_jobs, progress, problem.tie)
        if not found.parents:
            return Found([], found.score, 0.0)
        problem.require_certainty(self.columns, found.parents, found.uncertainty)
        gap, rounding = problem.gap_of_rounding(
            self.columns, found.parents, found.score, found.rounding
        )
        return Found(found.parents, found.score, gap, rounding)

    def _families(
        self, problem: Problem, resources: Resources, lists_networks: bool = False
    ) -> ListedFamilies:
        list_child = partial(problem.families_of, with_dominated=lists_networks)
        with resources.threads(len(problem.names)) as threads:
            listed = threads.map(list_child, [(x,) for x in self.columns])
            parents, local = map(list, zip(*listed, strict=True))
        return ListedFamilies(self.columns, parents, local, self._plan, problem.largest_term)
