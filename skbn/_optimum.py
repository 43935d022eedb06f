"""The best network of some scored families, within constraints.

The constraints cut the columns into groups, each of which is an exact search of its own
(see `Constraints.groups`). Where families have at most so many parents, or are listed, a
search is given those that none with fewer of these parents beats; else all of them, by
the log-determinants of their columns.
"""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

import numpy as np

from skbn._constraints import Constraints, Group
from skbn._parallel import Threads
from skbn._progress import Progress
from skbn._regressions._log_determinants import log_determinants, log_determinants_work
from skbn._regressions._qr import triangular_factor
from skbn._scores._families import AllFamilies, Listed, SmallFamilies
from skbn._scores._local_scores import LocalScores
from skbn._scores._parent_set_scores import ParentSetScores
from skbn._search._dense_families import DenseFamilies
from skbn._search._exact import exact_search
from skbn._search._listed_families import ListedFamilies
from skbn._search._plan import SearchPlan, plan_search
from skbn._small_subsets import SmallSubsets
from skbn._subsets import mask_of, members_of

__all__ = ["GroupSearch", "Optimum", "best_network", "plan_groups", "work_of"]

# A search through all families has at least so many columns, or all there are: with fewer
# in a block its parts, the subsets of the others, would take longer to begin than to do.
_FEWEST_COLUMNS = 6
# To score a family of k columns and to compare it with its subsets takes about so many
# times k**2 as long as a local score of a search through all families.
_WORK_OF_LISTING = 6


class Optimum(NamedTuple):
    """The masks of each column's parents in the best network, and its score in nats."""

    parents: list[int]
    score: float


class GroupSearch(NamedTuple):
    """The search of one group of columns.

    Parameters
    ----------
    columns : list of int
        Those of the group, and then `n_roots` others, which have no parents here.
    others : list of int
        Columns that may be parents and are not in the search.
    n_roots : int
    is_listed : bool
        Whether the families are listed.
    plan : SearchPlan
    """

    columns: list[int]
    others: list[int]
    n_roots: int
    is_listed: bool
    plan: SearchPlan

    @property
    def group(self) -> list[int]:
        """The columns that are not roots."""
        return self.columns[: len(self.columns) - self.n_roots]


def plan_groups(
    scores: LocalScores | ParentSetScores, constraints: Constraints, n_bytes: int, limit: str
) -> list[GroupSearch]:
    """Plan the search of each group.

    Parameters
    ----------
    scores : LocalScores or ParentSetScores
    constraints : Constraints
    n_bytes : int
        How much memory a search may take.
    limit : str
        What to say of this number in the error.

    Raises
    ------
    ValueError
        If a search does not fit the memory.
    """
    return [_plan_group(scores, constraints, group, n_bytes, limit) for group in constraints.groups]


def _plan_group(
    scores: LocalScores | ParentSetScores,
    constraints: Constraints,
    group: Group,
    n_bytes: int,
    limit: str,
) -> GroupSearch:
    columns, others = group
    if len(columns) + len(others) == 1 or isinstance(scores, ParentSetScores):
        plan = plan_search(len(columns), n_bytes, limit, n_log_determinants=0)
        return GroupSearch(columns, others, 0, True, plan)
    if isinstance(scores.scorer.families, AllFamilies):
        return _plan_all(group, n_bytes, limit)
    n_log_det = scores.scorer.families.n_subsets
    plan = plan_search(len(columns), n_bytes, limit, n_log_determinants=n_log_det)
    listed = GroupSearch(columns, others, 0, True, plan)
    if scores.scorer.statistics.is_checked:  # any regression is possible
        n_families = sum(
            len(SmallSubsets(constraints.allowed[x].bit_count(), constraints.max_parents))
            for x in columns
        )
        work = _WORK_OF_LISTING * (constraints.max_parents + 1) ** 2 * n_families
        with suppress(ValueError):  # it does not fit
            search = _plan_all(group, n_bytes, limit)
            if _group_work(search) < work + plan.work:
                return search
    return listed


def _plan_all(group: Group, n_bytes: int, limit: str) -> GroupSearch:
    """Plan a search through all families of a group's columns."""
    columns, others = group
    n_roots = max(0, min(len(others), _FEWEST_COLUMNS - len(columns)))
    columns, others = columns + others[:n_roots], others[n_roots:]
    plan = plan_search(len(columns), n_bytes, limit, n_others=len(others))
    return GroupSearch(columns, others, n_roots, False, plan)


def work_of(scores: LocalScores | ParentSetScores, searches: list[GroupSearch]) -> int:
    """Return about how long the searches take, in units of one local score of a search."""
    work = sum(_group_work(search) for search in searches)
    if isinstance(scores, LocalScores) and _lists_small_families(scores, searches):
        work += scores.scorer.families.work
    return work


def _lists_small_families(scores: LocalScores, searches: list[GroupSearch]) -> bool:
    """Whether a search needs the log-determinants of small families."""
    return isinstance(scores.scorer.families, SmallFamilies) and any(
        search.is_listed and len(search.columns) + len(search.others) > 1 for search in searches
    )


def _group_work(search: GroupSearch) -> int:
    if search.is_listed:
        return search.plan.work
    return search.plan.work + log_determinants_work(len(search.columns) + len(search.others))


def best_network(
    scores: LocalScores | ParentSetScores,
    constraints: Constraints,
    searches: list[GroupSearch],
    n_jobs: int | None,
    progress: Progress,
) -> Optimum:
    """Return the best network.

    Parameters
    ----------
    scores : LocalScores or ParentSetScores
    constraints : Constraints
    searches : list of GroupSearch
        Those that were planned for them.
    n_jobs : int or None
        Number of threads, by joblib's rules. It does not change a bit of the result.
    progress : Progress
        Advanced by what `work_of` says.

    Raises
    ------
    ValueError
        If no network of the listed families satisfies the constraints.
    """
    if isinstance(scores, LocalScores) and _lists_small_families(scores, searches):
        scores.scorer.log_determinants(progress)
    parents = [0] * len(constraints.allowed)
    total = 0.0
    for search in searches:
        if search.is_listed or isinstance(scores, ParentSetScores):
            optimum = _best_of_listed(scores, constraints, search, n_jobs, progress)
        else:
            optimum = _best_of_all(scores, constraints, search, n_jobs, progress)
        for x, mask in zip(search.group, optimum.parents, strict=False):
            parents[x] = mask
        total += optimum.score
    return Optimum(parents, total)


def _best_of_all(
    scores: LocalScores,
    constraints: Constraints,
    search: GroupSearch,
    n_jobs: int | None,
    progress: Progress,
) -> Optimum:
    """Search all families of the group's columns with each other and the others."""
    columns = search.columns + search.others
    whole = columns == list(range(len(constraints.allowed)))
    if whole and isinstance(scores.scorer.families, AllFamilies):
        log_det = scores.scorer.log_determinants(progress)
    else:
        factor = triangular_factor(scores.scorer.statistics.factor[:, columns])
        offsets = scores.scorer.log_determinant_offsets
        if offsets is not None:
            offsets = offsets[columns]
        log_det = log_determinants(factor, n_jobs, progress, offsets)
    tables = scores.scorer.tables[:, : len(columns)].copy()
    tables[0, constraints.max_parents + 1 :] = -np.inf
    position = {column: i for i, column in enumerate(columns)}

    def positions(mask: int) -> int:
        return mask_of(position[x] for x in members_of(mask))

    no_parents = [0] * search.n_roots
    families = DenseFamilies(
        log_det,
        tables,
        search.plan,
        [*(positions(constraints.allowed[x]) for x in search.group), *no_parents],
        [*(positions(constraints.required[x]) for x in search.group), *no_parents],
    )
    found = exact_search(families, search.plan, n_jobs, progress)
    score = found.score + float(scores.scorer.score_offsets[search.group].sum())
    for i in range(len(search.group), len(search.columns)):
        score -= float(tables[0, 0] + tables[2, 0] * log_det[1 << i])
    return Optimum([mask_of(columns[i] for i in members_of(mask)) for mask in found.parents], score)


def _best_of_listed(
    scores: LocalScores | ParentSetScores,
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
        search.group, [p for p, _ in listed], [s for _, s in listed], search.plan
    )
    found = exact_search(families, search.plan, n_jobs, progress)
    if found.score == -np.inf:
        names = [scores.columns[x] for x in search.group]
        raise ValueError(
            f"No acyclic network of the listed families satisfies the constraints: the columns "
            f"{names} have none. List more parent sets or relax the constraints."
        )
    return Optimum(*found)


def _listed(scores: LocalScores | ParentSetScores, constraints: Constraints, child: int) -> Listed:
    """Return the families of a child that may be part of the best network."""
    required = members_of(constraints.required[child])
    candidates = members_of(constraints.allowed[child] & ~constraints.required[child])
    if isinstance(scores, ParentSetScores):
        return scores.listed(child, required, candidates, constraints.max_parents)
    if not required and not candidates:
        return np.empty((1, 0), dtype=np.int16), np.array([scores.local_score(child)])
    parents, local = scores.scorer.undominated(child, required, candidates)
    fits = (parents >= 0).sum(axis=1) <= constraints.max_parents
    return parents[fits], local[fits]
