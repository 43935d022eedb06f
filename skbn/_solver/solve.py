"""solve: plan the search for the best network, run it, and certify what it found.

The constraints cut the columns into groups, each of which is a search of its own (see
`Constraints.groups`). For each group the engine of dynamic programming is taken that fits in memory
and takes least time. If none fits, branch and cut takes families that are listed. The order search
takes the place of both where it is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skbn._core.compile import compile_kernels
from skbn._core.exact_sums import upper_sum
from skbn._core.memory import MARGIN
from skbn._core.progress import Listener, Progress, duration
from skbn._core.text import readable_size, rounded_up
from skbn._core.threads import count_threads
from skbn._exact.plan import TooLargeError, space_of_scratch
from skbn._exact.remedies import what_would_fit
from skbn._scores.families import SmallFamilies
from skbn._scores.local_scores import LocalScores
from skbn._scores.parent_set_scores import ParentSetScores
from skbn._solver.branch_engine import branch_and_cut_bytes, plan_branch_and_cut
from skbn._solver.constraints import Constraints, Group
from skbn._solver.dense_engine import plan_dense_search
from skbn._solver.engines import Engine, GroupSearch, Optimum, Scores
from skbn._solver.listed_engine import plan_listed_search
from skbn._solver.order_engine import plan_order_search
from skbn._solver.settings import EXACT, MemoryLimit, SearchSettings
from skbn._solver.solution import Solution, certified

__all__ = ["Plan", "plan_searches", "solve"]

# Of engines that would take equally long, the first is used.
ENGINES: tuple[Engine, ...] = (plan_listed_search, plan_dense_search)
# The largest max_parents that a refusal proposes for branch and cut, where it is not given: with
# more parents, a proof for many columns is out of reach.
_PARENTS_TO_TRY = 3
# About how many local scores of a dense search a thread makes in a second, as measured; and of how
# long a search the time is told, in seconds.
_WORK_A_SECOND, _LONG = 5e8, 60.0
# The way out for tables beyond the exact search.
_NOT_EXACT = (
    ' Or set search="order", as in GaussianBNLearner(search="order"): its network has a very high '
    "score, but is not proven to be the best."
)
# Why a search that fits is not enough.
_NOT_LISTED = " Branch and cut takes more columns, but cannot list further networks."


@dataclass(frozen=True)
class Plan:
    """The searches of all groups of columns.

    Parameters
    ----------
    searches : list of GroupSearch
    """

    searches: list[GroupSearch]

    def __str__(self) -> str:
        largest = max(self.searches, key=lambda search: search.n_bytes)
        n = len(self.searches)
        return f"{n} searches, the largest: {largest}" if n > 1 else str(largest)

    @property
    def kernels(self) -> list[Any]:
        """The kernels that the searches call, for `compile_kernels`."""
        return [kernel for search in self.searches for kernel in search.kernels]

    @property
    def heeds_time_limit(self) -> bool:
        """Whether one of the searches ends by the deadline of its settings."""
        return any(search.heeds_time_limit for search in self.searches)

    @property
    def shared_work(self) -> int:
        """The work of the log-determinants of all small sets, 0 if no search needs them."""
        return max(search.shared_work for search in self.searches)

    def work(self, n_penalties: int = 1) -> int:
        """Return about how long it takes, in units of one local score of a dense search."""
        return self.shared_work + sum(search.work(n_penalties) for search in self.searches)


def solve(
    scores: Scores,
    constraints: Constraints,
    memory: MemoryLimit,
    *,
    penalties: Sequence[float] | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    listeners: tuple[Listener, ...] = (),
    announce: Callable[[str], None] | None = None,
    settings: SearchSettings = EXACT,
) -> list[Solution]:
    """Return the best network within constraints, for each of some penalties.

    Parameters
    ----------
    scores : LocalScores or ParentSetScores
    constraints : Constraints
    memory : MemoryLimit
    penalties : sequence of float, optional
        Those of LocalScores, which share their log-determinants; by default the scores' own.
    n_jobs : int or None
        Number of threads, by joblib's rules. It does not change a bit of the result.
    progress : Progress, optional
        Advanced by the plan's work; by default a new one.
    listeners : tuple of callable
        Called with the progress, if `progress` is not given.
    announce : callable, optional
        Called with the plan in words before the search begins.
    settings : SearchSettings, optional
        By default the search is exact and has no time limit. A limit holds for each penalty.

    Raises
    ------
    ValueError
        If a search does not fit in memory (the message says what would), or if no network that
        satisfies the constraints has a finite score.
    RuntimeError
        If independent regressions do not confirm the result of the search.
    ImportError
        If branch and cut is needed, and highspy is not installed.
    """
    plan = plan_searches(scores, constraints, memory, settings, n_jobs=n_jobs)
    path = [scores]
    if penalties is not None and isinstance(scores, LocalScores):
        path = [scores.with_penalty(penalty) for penalty in penalties]
    if announce is not None:
        time = _expected_time(plan, len(path), n_jobs) if memory.cluster is None else ""
        announce(f"{plan}{time}")
    compile_kernels(plan.kernels)
    if progress is None:
        progress = Progress(plan.work(len(path)), listeners)
    if plan.heeds_time_limit:
        optima = []
        for each in path:
            plan = plan_searches(each, constraints, memory, settings.from_now(), n_jobs=n_jobs)
            optima += _best_networks([each], plan, n_jobs, progress)
    else:
        optima = _best_networks(path, plan, n_jobs, progress)
    tolerance = settings.tolerance
    return [certified(*each, constraints, tolerance) for each in zip(path, optima, strict=True)]


def _expected_time(plan: Plan, n_penalties: int, n_jobs: int | None) -> str:
    """Return about how long a long dynamic program takes on a usual machine, in words."""
    n_threads = count_threads(n_jobs)
    seconds = plan.work(n_penalties) / (_WORK_A_SECOND * n_threads)
    if plan.heeds_time_limit or seconds < _LONG:
        return ""
    of_threads = f"{n_threads} threads" if n_threads > 1 else "one thread"
    return f", perhaps {duration(seconds)} with {of_threads}"


# Plan


def plan_searches(
    scores: Scores,
    constraints: Constraints,
    memory: MemoryLimit,
    settings: SearchSettings = EXACT,
    *,
    n_jobs: int | None = None,
    lists_networks: bool = False,
) -> Plan:
    """Plan the search of each group of columns.

    Parameters
    ----------
    scores : LocalScores or ParentSetScores
    constraints : Constraints
    memory : MemoryLimit
    settings : SearchSettings, optional
    n_jobs : int or None
    lists_networks : bool
        Whether the searches are to list further networks, which only dynamic programming can.

    Raises
    ------
    ValueError
        If a search does not fit in memory: what the largest one needs, and what would make all of
        them fit. An order search is among these remedies unless `lists_networks`.
    ImportError
        If branch and cut is needed, and highspy is not installed.
    """
    searches, refusals = [], []
    n_left = len(scores.columns)
    # Gaps of groups add up, to no more than the tolerance if each share is rounded down.
    tolerance = settings.tolerance
    if len(constraints.groups) > 1:
        tolerance = math.nextafter(tolerance / len(constraints.groups), 0.0)
    for group in constraints.groups:
        share = len(group.columns) / n_left
        settings = settings._replace(tolerance=tolerance, share=share)
        n_left -= len(group.columns)
        given = scores, constraints, group, memory
        try:
            is_trivial = len(group.columns) + len(group.others) == 1
            if lists_networks:
                search = _plan_dynamic_program(*given[:3], memory._replace(in_memory=True))
            elif settings.is_exact or is_trivial:
                search = _plan_exact(*given, settings, n_jobs)
            else:
                search = plan_order_search(*given, settings, n_jobs)
            searches.append(search)
        except TooLargeError as error:
            refusals.append(error)
    if not refusals:
        return Plan(searches)
    largest = max(refusals, key=lambda error: error.needed)
    remedies = ", or ".join(_remedies(scores, constraints, memory, lists_networks, n_jobs))
    way_out = _NOT_EXACT if settings.is_exact else ""
    if lists_networks:
        way_out = _NOT_LISTED if _has_lists(scores) else ""
    raise ValueError(f"{largest}. {remedies[:1].upper()}{remedies[1:]}.{way_out}")


def _has_lists(scores: Scores) -> bool:
    """Whether the families are few enough to be listed."""
    return isinstance(scores, ParentSetScores) or isinstance(scores.scorer.families, SmallFamilies)


def _plan_exact(
    scores: Scores,
    constraints: Constraints,
    group: Group,
    memory: MemoryLimit,
    settings: SearchSettings = EXACT,
    n_jobs: int | None = None,
) -> GroupSearch:
    """Return a group's dynamic program or, if it does not fit, branch and cut.

    Raises
    ------
    TooLargeError
        If neither fits: that which needs less memory.
    """
    try:
        return _plan_dynamic_program(scores, constraints, group, memory)
    except TooLargeError as error:
        refusal = error
    try:
        search = plan_branch_and_cut(scores, constraints, group, memory, settings, n_jobs)
    except TooLargeError as error:
        raise min(refusal, error, key=lambda each: each.needed) from None
    if search is None:
        raise refusal
    return search


def _plan_dynamic_program(
    scores: Scores, constraints: Constraints, group: Group, memory: MemoryLimit
) -> GroupSearch:
    """Return the fastest search of a group; if none fits, raise the smallest TooLargeError."""
    searches, refusals = [], []
    for plan_search in ENGINES:
        try:
            search = plan_search(scores, constraints, group, memory)
        except TooLargeError as error:
            refusals.append(error)
        else:
            if search is not None:
                searches.append(search)
    if not searches:
        raise min(refusals, key=lambda error: error.needed)
    return searches[0] if len(searches) == 1 else min(searches, key=lambda each: each.cost())


def _remedies(
    scores: Scores,
    constraints: Constraints,
    memory: MemoryLimit,
    lists_networks: bool,
    n_jobs: int | None,
) -> list[str]:
    """Say what would make all searches fit in memory; each remedy is enough."""
    if memory.cluster is not None:
        needed = _least_memory(scores, constraints, memory, lists_networks, n_jobs)
        if needed <= int(MARGIN * memory.cluster.n_bytes):
            return [f"raise max_memory to {rounded_up(needed)}"]
        return [f"take workers with {readable_size(needed)} of memory each"]
    n_bytes = available = int(MARGIN * memory.available)
    remedies = []
    if memory.allowed is not None and memory.allowed < memory.available:
        n_bytes = memory.allowed
        needed = _least_memory(scores, constraints, memory, lists_networks, n_jobs)
        if needed <= available:
            remedies.append(f"raise max_memory to {rounded_up(needed)}")
    groups = [(len(group.columns), len(group.others)) for group in constraints.groups]
    if isinstance(scores, ParentSetScores):
        max_parents: int | None = 0  # their families are listed already
    else:
        families = scores.scorer.families
        max_parents = families.max_parents if isinstance(families, SmallFamilies) else None
    fewest = max(mask.bit_count() for mask in constraints.required)

    def branch_and_cut_fits(k: int) -> bool:
        sizes = (branch_and_cut_bytes(constraints, g, k, n_jobs) for g in constraints.groups)
        return not lists_networks and k <= _PARENTS_TO_TRY and max(sizes) <= n_bytes

    may_use_folder = not lists_networks and memory.scratch is None
    if len(groups) == 1 and max_parents is None and may_use_folder:
        space = space_of_scratch(len(constraints.allowed), n_bytes)
        if space:
            size = readable_size(space)
            remedies.append(f"give GaussianBNLearner a folder with {size} of space as scratch")
    remedies += what_would_fit(
        len(constraints.allowed), groups, max_parents, fewest, n_bytes, branch_and_cut_fits
    )
    return remedies or ["free some memory: there is too little for any search"]


def _least_memory(
    scores: Scores,
    constraints: Constraints,
    memory: MemoryLimit,
    lists_networks: bool,
    n_jobs: int | None,
) -> int:
    """Return the fewest bytes with which the search of each group fits."""
    nothing = memory._replace(allowed=0, in_memory=lists_networks)
    if memory.cluster is None:
        nothing = nothing._replace(available=0)
    least = 0
    for group in constraints.groups:
        try:
            if lists_networks:
                _plan_dynamic_program(scores, constraints, group, nothing)
            else:
                _plan_exact(scores, constraints, group, nothing, n_jobs=n_jobs)
        except TooLargeError as error:
            least = max(least, error.needed)
    return least


# Search


def _best_networks(
    path: Sequence[Scores], plan: Plan, n_jobs: int | None, progress: Progress
) -> list[Optimum]:
    """Return the best network of each of some scores, put together from those of the groups."""
    first = path[0]
    if plan.shared_work and isinstance(first, LocalScores):
        first.scorer.log_determinants(progress)
    m = len(first.columns)
    found: list[Optimum | None] = [None] * len(path)
    for search in plan.searches:
        for i, optimum in enumerate(search.optima(path, n_jobs, progress)):
            if optimum.score == -np.inf:
                names = [first.columns[x] for x in search.columns]
                if optimum.is_finished:
                    what, may = f"No acyclic network of the columns {names} has a finite score", ""
                else:
                    what = f"Found no acyclic network of the columns {names} with a finite score"
                    may = "may "
                raise ValueError(
                    f"{what}: the constraints, the criterion or the lack of listed families {may}"
                    "rule all out. Relax these."
                )
            parents = [0] * m
            for x, mask in zip(search.columns, optimum.parents, strict=True):
                parents[x] = mask
            of_all = optimum._replace(parents=parents)
            before = found[i]
            found[i] = of_all if before is None else _joined(before, of_all)
    return [optimum for optimum in found if optimum is not None]


def _joined(one: Optimum, other: Optimum) -> Optimum:
    """Return what two groups of columns make together, each with parents in the masks of all."""
    return Optimum(
        [a | b for a, b in zip(one.parents, other.parents, strict=True)],
        one.score + other.score,
        upper_sum([one.gap, other.gap]),
        upper_sum([one.rounding, other.rounding]),
        one.n_iter + other.n_iter,
        one.n_nodes + other.n_nodes,
        one.is_finished and other.is_finished,
        _sum_of_losses(one.start_losses, other.start_losses),
    )


def _sum_of_losses(
    one: tuple[float, ...] | None, other: tuple[float, ...] | None
) -> tuple[float, ...] | None:
    """Return how much lower the starts of two groups score together: the best, the second, ...

    An exact search counts as one start, and the last start of a group for those that it lacks.
    """
    if one is None or other is None:
        return one or other
    n = max(len(one), len(other))
    padded = ((*each, *[each[-1]] * (n - len(each))) for each in (one, other))
    return tuple(map(sum, zip(*padded, strict=True)))
