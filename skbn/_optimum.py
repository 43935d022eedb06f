"""The best network of some scored families, within constraints.

The constraints cut the columns into groups, each of which is an exact search of its own
(see `Constraints.groups`). Where families have at most so many parents, or are listed, a
search is given those that none with fewer of these parents beats; else all of them, by
the log-determinants of their columns.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skbn._constraints import Constraints, Group
from skbn._parallel import Threads
from skbn._progress import Progress
from skbn._regressions._log_determinants import log_determinants, log_determinants_work
from skbn._regressions._qr import triangular_factor
from skbn._scores._families import AllFamilies, Listed
from skbn._scores._local_scores import LocalScores
from skbn._scores._parent_set_scores import ParentSetScores
from skbn._search._dense_families import DenseFamilies
from skbn._search._exact import exact_search
from skbn._search._listed_families import ListedFamilies
from skbn._search._plan import SearchPlan, plan_search
from skbn._subsets import mask_of, members_of

__all__ = ["GroupSearch", "Optimum", "best_network", "plan_groups", "work_of"]

# A search through all families has at least so many columns, or all there are: with fewer
# in a block its parts, the subsets of the others, would take longer to begin than to do.
_FEWEST_COLUMNS = 6


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
    return [_plan_group(scores, group, n_bytes, limit) for group in constraints.groups]


def _plan_group(
    scores: LocalScores | ParentSetScores, group: Group, n_bytes: int, limit: str
) -> GroupSearch:
    columns, others = group
    if isinstance(scores, LocalScores) and isinstance(scores.families, AllFamilies):
        n_roots = max(0, min(len(others), _FEWEST_COLUMNS - len(columns)))
        columns, others = columns + others[:n_roots], others[n_roots:]
        if len(columns) > 1:
            plan = plan_search(len(columns), n_bytes, limit, n_others=len(others))
            return GroupSearch(columns, others, n_roots, False, plan)
    n_scores = scores.families.n_subsets if isinstance(scores, LocalScores) else 0
    plan = plan_search(len(columns), n_bytes, limit, n_log_determinants=n_scores)
    return GroupSearch(columns, others, 0, True, plan)


def work_of(scores: LocalScores | ParentSetScores, searches: list[GroupSearch]) -> int:
    """Return about how long the searches take, in units of one local score of a search."""
    work = sum(_group_work(search) for search in searches)
    if isinstance(scores, LocalScores) and not isinstance(scores.families, AllFamilies):
        work += scores.families.work
    return work


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
    if isinstance(scores, LocalScores) and not isinstance(scores.families, AllFamilies):
        scores.compute_log_determinants(progress)
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
    if columns == list(range(len(constraints.allowed))):
        log_det = scores.compute_log_determinants(progress)
    else:
        factor = triangular_factor(scores.statistics.factor[:, columns])
        offsets = scores.log_determinant_offsets
        if offsets is not None:
            offsets = offsets[columns]
        log_det = log_determinants(factor, n_jobs, progress, offsets)
    tables = scores.score_tables[:, : len(columns)]
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
    score = found.score + float(scores.score_offsets[search.group].sum())
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
    parents, local = scores.undominated(child, required, candidates)
    fits = (parents >= 0).sum(axis=1) <= constraints.max_parents
    return parents[fits], local[fits]
