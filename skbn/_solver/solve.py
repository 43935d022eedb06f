"""The best network of some scored families, within constraints.

The constraints cut the columns into groups, each of which is an exact search of its own
(see `Constraints.groups`). A search goes through all families of its columns, by their
log-determinants; or, where few parents are allowed and the columns are many, through a
list of the families that no subset of their parents dominates; or through those that a file
lists.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from skbn._core.accuracy import SCORE_ACCURACY
from skbn._core.memory import MARGIN
from skbn._core.progress import Progress
from skbn._core.subsets import SmallSubsets, mask_of, members_of
from skbn._core.text import rounded_up
from skbn._core.threads import Threads
from skbn._exact.dense_families import DENSE_KERNELS, DenseFamilies
from skbn._exact.listed_families import ListedFamilies
from skbn._exact.plan import (
    SearchPlan,
    TooLargeError,
    numbers_of_small_families,
    plan_all_families,
    plan_search,
    what_would_fit,
)
from skbn._exact.recurrences import SLAB_KERNELS, SearchResult, exact_search
from skbn._regressions.log_determinants import (
    log_determinants,
    log_determinants_work,
    walk_seeds,
)
from skbn._regressions.qr import triangular_factor
from skbn._scores.families import AllFamilies, Listed, SmallFamilies
from skbn._scores.local_scores import LocalScores
from skbn._scores.parent_set_scores import ParentSetScores
from skbn._scores.scorer import FamilyScorer
from skbn._solver.constraints import Constraints, Group

__all__ = [
    "GroupSearch",
    "MemoryLimit",
    "Optimum",
    "best_networks",
    "kernels_of",
    "plan_groups",
    "work_of",
]

# Scoring a family of k columns and comparing it with its subsets takes about this many times k**2
# as long as one local score of a search through all families.
_WORK_OF_LISTING = 6

Scores = LocalScores | ParentSetScores


class Optimum(NamedTuple):
    """The masks of each column's parents in the best network, and its score in nats.

    The score is that of the search: `score_offsets` are left out.
    """

    parents: list[int]
    score: float


class GroupSearch(NamedTuple):
    """The search of one group of columns.

    Parameters
    ----------
    columns : list of int
        Those of the group, and then the plan's roots: others, which have no parents here.
    others : list of int
        Columns that may be parents and are not in the search.
    is_listed : bool
        Whether the families are listed.
    plan : SearchPlan
    """

    columns: list[int]
    others: list[int]
    is_listed: bool
    plan: SearchPlan

    @property
    def group(self) -> list[int]:
        """The columns that are not roots."""
        return self.columns[: len(self.columns) - self.plan.n_roots]


class MemoryLimit(NamedTuple):
    """How many bytes a search may take.

    Parameters
    ----------
    available : int
        Beside what is taken already.
    allowed : int or None
        By the user, for all tables of a search.
    """

    available: int
    allowed: int | None

    def share(self, n: int) -> Self:
        """Return the limit of each of n searches at a time."""
        allowed = None if self.allowed is None else self.allowed // n
        return type(self)(self.available // n, allowed)

    def beside(self, n_bytes: int) -> tuple[int, str]:
        """Return the bytes for a search whose tables have `n_bytes` in memory already, and why."""
        if self.allowed is not None and self.allowed < self.available + n_bytes:
            return self.allowed, "are allowed by max_memory"
        return self.available + n_bytes, "are available"


def plan_groups(scores: Scores, constraints: Constraints, memory: MemoryLimit) -> list[GroupSearch]:
    """Plan the search of each group.

    Parameters
    ----------
    scores : LocalScores or ParentSetScores
    constraints : Constraints
    memory : MemoryLimit

    Raises
    ------
    ValueError
        If a search does not fit in memory: what the largest one needs, and what would make
        all of them fit.
    """
    searches, refusals = [], []
    for group in constraints.groups:
        try:
            searches.append(_plan_group(scores, constraints, group, memory))
        except TooLargeError as error:
            refusals.append(error)
    if not refusals:
        return searches
    largest = max(refusals, key=lambda error: error.plan.n_bytes)
    remedies = ", or ".join(_remedies(scores, constraints, memory))
    raise ValueError(f"{largest}. {remedies[:1].upper()}{remedies[1:]}.")


def _remedies(scores: Scores, constraints: Constraints, memory: MemoryLimit) -> list[str]:
    """Say what would make all searches fit in memory; each remedy is enough."""
    n_bytes = available = int(MARGIN * memory.available)
    remedies = []
    if memory.allowed is not None and memory.allowed < memory.available:
        n_bytes = memory.allowed
        needed = _least_memory(scores, constraints)
        if needed <= available:
            remedies.append(f"raise max_memory to {rounded_up(needed)}")
    groups = [(len(group.columns), len(group.others)) for group in constraints.groups]
    if isinstance(scores, ParentSetScores):
        max_parents: int | None = 0  # their families are listed already
    else:
        families = scores.scorer.families
        max_parents = families.max_parents if isinstance(families, SmallFamilies) else None
    fewest = max(mask.bit_count() for mask in constraints.required)
    remedies += what_would_fit(len(constraints.allowed), groups, max_parents, fewest, n_bytes)
    return remedies or ["free some memory: there is too little for any search"]


def _least_memory(scores: Scores, constraints: Constraints) -> int:
    """Return the fewest bytes with which the search of each group fits."""
    least = 0
    for group in constraints.groups:
        try:
            _plan_group(scores, constraints, group, MemoryLimit(0, 0))
        except TooLargeError as error:
            least = max(least, error.plan.n_bytes)
    return least


def _plan_group(
    scores: Scores,
    constraints: Constraints,
    group: Group,
    memory: MemoryLimit,
) -> GroupSearch:
    columns, others = group
    if len(columns) + len(others) == 1 or isinstance(scores, ParentSetScores):
        return _plan_listed(group, 0, memory.beside(0))
    scorer = scores.scorer
    if isinstance(scorer.families, AllFamilies):
        # A group of some columns needs log-determinants of its own.
        is_whole = len(columns) == len(constraints.allowed)
        return _plan_all(group, memory.beside(scorer.n_bytes if is_whole else 0))
    n_numbers = numbers_of_small_families(scorer.families.m, scorer.families.max_parents)
    plan_listed = partial(_plan_listed, group, n_numbers, memory.beside(scorer.n_bytes))
    if not scorer.statistics.is_checked:  # some regressions may be impossible
        return plan_listed()
    try:
        search = _plan_all(group, memory.beside(0))
    except TooLargeError as error:
        try:
            return plan_listed()
        except TooLargeError as other:
            raise min(error, other, key=lambda each: each.plan.n_bytes) from None
    n_families = sum(
        SmallSubsets(constraints.allowed[x].bit_count(), constraints.max_parents).n_sets
        for x in columns
    )
    work = _WORK_OF_LISTING * (constraints.max_parents + 1) ** 2 * n_families
    if work <= _determinants_work(search) + search.plan.work:
        with suppress(TooLargeError):
            return plan_listed()
    return search


def _plan_listed(group: Group, n_log_determinants: int, memory: tuple[int, str]) -> GroupSearch:
    columns, others = group
    plan = plan_search(len(columns), *memory, n_log_determinants=n_log_determinants)
    return GroupSearch(columns, others, True, plan)


def _plan_all(group: Group, memory: tuple[int, str]) -> GroupSearch:
    """Plan a search through all families of a group's columns."""
    columns, others = group
    plan = plan_all_families(len(columns), len(others), *memory)
    n_roots = plan.n_roots
    return GroupSearch(columns + others[:n_roots], others[n_roots:], False, plan)


def work_of(path: Sequence[Scores], searches: list[GroupSearch]) -> int:
    """Return about how long the searches take, in units of one local score of a search."""
    work = sum(_determinants_work(search) + len(path) * search.plan.work for search in searches)
    first = path[0]
    if isinstance(first, LocalScores) and _needs_small_families(first, searches):
        work += first.scorer.families.work
    return work


def kernels_of(scores: Scores, searches: list[GroupSearch]) -> list[Any]:
    """Return the kernels that the searches call, for `compile_kernels`."""
    kernels = [*SLAB_KERNELS]
    if not all(search.is_listed for search in searches):
        kernels += [walk_seeds, *DENSE_KERNELS]
    if isinstance(scores, LocalScores) and _needs_small_families(scores, searches):
        kernels += scores.scorer.families.kernels
    return kernels


def _needs_small_families(scores: LocalScores, searches: list[GroupSearch]) -> bool:
    """Whether a search lists families by the log-determinants of small sets."""
    return isinstance(scores.scorer.families, SmallFamilies) and any(
        search.is_listed and len(search.columns) + len(search.others) > 1 for search in searches
    )


def _determinants_work(search: GroupSearch) -> int:
    """Return the work of the log-determinants that a search makes for itself."""
    if search.is_listed:
        return 0
    return log_determinants_work(len(search.columns) + len(search.others))


def best_networks(
    path: Sequence[Scores],
    constraints: Constraints,
    searches: list[GroupSearch],
    n_jobs: int | None,
    progress: Progress,
) -> list[Optimum]:
    """Return the best network of each of some scores.

    Parameters
    ----------
    path : sequence of LocalScores, or of one ParentSetScores
        Those of one table with several penalties, which share their log-determinants.
    constraints : Constraints
    searches : list of GroupSearch
        Those that were planned for one of them.
    n_jobs : int or None
        Number of threads, by joblib's rules. It does not change a bit of the result.
    progress : Progress
        Advanced by what `work_of` says.

    Raises
    ------
    ValueError
        If all networks that satisfy the constraints have a score of -inf, or families
        that are not listed.
    """
    first = path[0]
    if isinstance(first, LocalScores) and _needs_small_families(first, searches):
        first.scorer.log_determinants(progress)
    parents = [[0] * len(constraints.allowed) for _ in path]
    totals = [0.0] * len(path)
    for search in searches:
        for i, optimum in enumerate(_optima(path, constraints, search, n_jobs, progress)):
            if optimum.score == -np.inf:
                names = [first.columns[x] for x in search.group]
                raise ValueError(
                    f"No acyclic network of the columns {names} has a finite score: the "
                    "constraints, the criterion or the lack of listed families rule all out. "
                    "Relax these."
                )
            for x, mask in zip(search.group, optimum.parents, strict=True):
                parents[i][x] = mask
            totals[i] += optimum.score
    return [Optimum(*each) for each in zip(parents, totals, strict=True)]


def _optima(
    path: Sequence[Scores],
    constraints: Constraints,
    search: GroupSearch,
    n_jobs: int | None,
    progress: Progress,
) -> Iterator[Optimum]:
    """Yield the best parents of a group's columns, for each scores of a path."""
    log_det = None
    for scores in path:
        if isinstance(scores, ParentSetScores) or search.is_listed:
            yield _best_of_listed(scores, constraints, search, n_jobs, progress)
            continue
        if log_det is None:
            columns = search.columns + search.others
            log_det = _log_determinants_of(scores.scorer, columns, n_jobs, progress)
        yield _best_of_all(scores.scorer, log_det, constraints, search, n_jobs, progress)


def _best_of_all(
    scorer: FamilyScorer,
    log_det: npt.NDArray[np.float64],
    constraints: Constraints,
    search: GroupSearch,
    n_jobs: int | None,
    progress: Progress,
) -> Optimum:
    """Search all families of the group's columns with each other and the others."""
    columns = search.columns + search.others
    position = {column: i for i, column in enumerate(columns)}

    def positions(masks: list[int]) -> list[int]:
        of_group = (mask_of(position[x] for x in members_of(masks[x])) for x in search.group)
        return [*of_group, *[0] * search.plan.n_roots]

    tables = scorer.tables[:, : len(columns)].copy()
    tables[0, constraints.max_parents + 1 :] = -np.inf
    families = DenseFamilies(
        log_det,
        tables,
        search.plan,
        positions(constraints.allowed),
        positions(constraints.required),
        columns,
    )
    found = exact_search(families, search.plan, n_jobs, progress)
    if not found.parents:  # no network has a finite score
        return Optimum([], found.score)
    _require_certainty(found)
    masks = found.parents[: len(search.group)]
    score = found.score
    for i in range(len(search.group), len(search.columns)):  # the roots are no part of it
        score -= float(tables[0, 0] + tables[2, 0] * log_det[1 << i])
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


def _best_of_listed(
    scores: Scores,
    constraints: Constraints,
    search: GroupSearch,
    n_jobs: int | None,
    progress: Progress,
) -> Optimum:
    """Search the families of the group's columns that the constraints leave."""
    arguments = [(scores, constraints, x) for x in search.group]
    with Threads(n_jobs, len(scores.columns)) as threads:
        listed = list(threads.map(_listed, arguments))
    families = ListedFamilies(
        search.group,
        [parents for parents, _ in listed],
        [local for _, local in listed],
        search.plan,
        (scores.scorer if isinstance(scores, LocalScores) else scores).largest_term,
    )
    found = exact_search(families, search.plan, n_jobs, progress)
    _require_certainty(found)
    return Optimum(found.parents, found.score)


def _require_certainty(found: SearchResult) -> None:
    """Raise if rounding may have hidden a better network than the one found."""
    if found.uncertainty > SCORE_ACCURACY:
        raise ValueError(
            "The terms of the best network's score are so large that it is known to "
            f"{found.uncertainty:.2g} nats only, and not to {SCORE_ACCURACY}, which may hide a "
            "better network. If they are costs that all networks must pay, lower the penalty or "
            "the costs, and rule families out by forbidden_edges or max_parents instead. If they "
            "are likelihoods, give fewer rows, smaller sample weights or a smaller alpha_w."
        )


def _listed(scores: Scores, constraints: Constraints, child: int) -> Listed:
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
