"""Branch and cut as an engine: a proof for columns that are too many for dynamic programming.

It takes families that are listed: those of a file, or those of few parents. The order search finds
a network to begin with, of which the proof often shows that it is the best already.
"""

from __future__ import annotations

import time
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from skbn._branch_and_cut.checker_kernels import CHECKER_KERNELS
from skbn._branch_and_cut.families import Families
from skbn._core.resources import Progress, Threads, count_threads
from skbn._core.subsets import SmallSubsets, mask_of, members_of
from skbn._core.text import readable_size
from skbn._exact.plan import TooLargeError
from skbn._orders.order_kernels import find_dominated
from skbn._regressions.local_score import SCORE_ACCURACY, score_tolerance
from skbn._scores.families import SmallFamilies
from skbn._scores.local_scores import LocalScores
from skbn._scores.parent_set_scores import ParentSetScores
from skbn._solver.constraints import Constraints, Group
from skbn._solver.engines import GroupSearch, Optimum, Scores, families_within, require_certainty
from skbn._solver.order_engine import (
    NoNetworkError,
    OrderGroupSearch,
    order_search_bytes,
    plan_order_search,
)
from skbn._solver.settings import TOLERANCE, MemoryLimit, SearchSettings

if TYPE_CHECKING:  # it imports highspy, which is optional
    from skbn._branch_and_cut.branch_and_cut import Result

__all__ = ["branch_and_cut_bytes", "plan_branch_and_cut"]

# The LP solver, its matrices, and cuts.
_BYTES_OF_SOLVER = 1 << 25
# Of each family, beside 6 for each parent: costs, scores and values, and masks of the tree's nodes.
_BYTES_A_FAMILY = 64
# Of each family of a child while these are listed: two scores and a mark.
_BYTES_WHILE_LISTING = 17
# The share of the families of few parents that is expected to be undominated. Of 40 to 60 columns
# with up to four parents it was from 0.07 to 0.25 by the BIC from 1000 rows. It grows with the rows
# and as the penalty shrinks: when the families are listed, their memory is looked at again.
_SHARE_UNDOMINATED = 0.25
# The share of the time that the order search may take.
_SHARE_OF_ORDERS = 0.5
# Longer lists are taken with their dominated families: to find these takes quadratic time.
_LONGEST_TO_COMPARE = 20_000
_WORD = 64
# In nats: the default tolerance, and the rounding of sums.
_CALLED_NONE = 2 * TOLERANCE
_ROUNDING = 1e-10  # of the cost
# Nobody knows how long branch and cut takes. The progress has at most this share when it begins.
_SHARE_OF_PROGRESS = 0.1
# Listed families of other programs are expected to have up to so many parents.
_EXPECTED_PARENTS = 8

Floats = npt.NDArray[np.float64]
ShortIntegers = npt.NDArray[np.int16]


def plan_branch_and_cut(
    scores: Scores,
    constraints: Constraints,
    group: Group,
    memory: MemoryLimit,
    settings: SearchSettings,
    n_jobs: int | None = None,
) -> GroupSearch | None:
    """Plan branch and cut of a group of columns; None if the scores are of all sets of parents.

    Raises
    ------
    TooLargeError
        If its families are not expected to fit in memory.
    ImportError
        If they are, and highspy is not installed.
    """
    in_memory = 0
    if isinstance(scores, ParentSetScores):
        width = min(_EXPECTED_PARENTS, constraints.max_parents)
        n_families = scores.n_families
        n_bytes = _bytes_of_search(group, n_families, width, n_jobs)
    else:
        families = scores.scorer.families
        if not isinstance(families, SmallFamilies):
            return None
        in_memory = scores.scorer.n_bytes
        n_families = _n_families(constraints, group, families.max_parents)
        n_bytes = branch_and_cut_bytes(constraints, group, families.max_parents, n_jobs)
    available, limit = memory.beside(in_memory)
    if n_bytes > available:
        n = len(group.columns)
        columns = f"{n} columns" if n > 1 else "1 column"
        tables = f"the {n_families:,} families of branch and cut"
        raise TooLargeError(columns, tables, n_bytes, available, limit)
    _require_highspy(len(group.columns))
    orders = plan_order_search(
        scores,
        constraints,
        group,
        memory,
        settings._replace(share=settings.share * _SHARE_OF_ORDERS),
        n_jobs,
    )
    search = _BranchAndCut(constraints, group, settings, orders, n_bytes, available)
    if isinstance(scores, LocalScores):
        search.kernels += scores.scorer.families.kernels
        search.shared_work = scores.scorer.families.work
    return search


def branch_and_cut_bytes(
    constraints: Constraints, group: Group, max_parents: int, n_jobs: int | None = None
) -> int:
    """Return about how much memory branch and cut takes with families of so few parents."""
    m = len(constraints.allowed)
    n_listed = int(_SHARE_UNDOMINATED * _n_families(constraints, group, max_parents))
    of_child = _BYTES_WHILE_LISTING * SmallSubsets(m - 1, max_parents).n_sets
    return (
        8 * SmallSubsets(m, max_parents + 1).n_sets
        + of_child * min(count_threads(n_jobs), len(group.columns))
        + _bytes_of_search(group, n_listed, max_parents, n_jobs)
    )


def _n_families(constraints: Constraints, group: Group, max_parents: int) -> int:
    """Return how many families the columns of a group have, dominated ones included."""
    n_candidates = [constraints.possible[x].bit_count() for x in group.columns]
    return sum(SmallSubsets(n, max_parents).n_sets for n in n_candidates)


def _bytes_of_search(group: Group, n_families: int, width: int, n_jobs: int | None) -> int:
    of_orders = order_search_bytes(len(group.columns) + len(group.others), n_jobs)
    return _BYTES_OF_SOLVER + of_orders + _bytes_of_families(n_families, width)


def _bytes_of_families(n_families: int, width: int) -> int:
    return n_families * (_BYTES_A_FAMILY + 6 * width)


def _require_highspy(n_columns: int) -> None:
    """Raise an ImportError that says how to install highspy, which is optional."""
    if find_spec("highspy") is None:
        raise ImportError(
            f"The exact search over {n_columns} columns is by branch and cut, which requires "
            "highspy. You can install it with `pip install skbn[large]`. Or set "
            'search="order": its network is not proven to be the best.'
        )


def branch_and_cut(families: Families, network: npt.NDArray[np.int64], **settings: Any) -> Result:
    """Import and call the search of this name."""
    from skbn._branch_and_cut.branch_and_cut import branch_and_cut as search

    return search(families, network, **settings)


class _Listed(NamedTuple):
    """The families that branch and cut chooses from, and what they are in the user's table.

    Parameters
    ----------
    families : Families
        The group's columns by position. Parents of other groups are left out: they are in no cycle.
    parents : list of ndarray of shape (n_families of the column, width), int16
        All parents, by their numbers in the table.
    scores : list of ndarray of shape (n_families of the column,), float64
    """

    families: Families
    parents: list[ShortIntegers]
    scores: list[Floats]


class _Notes(Progress):
    """Passes notes on, but no work: nobody knows how much is left."""

    def __init__(self, progress: Progress) -> None:
        super().__init__()
        self._progress = progress

    def advance(self, work: float) -> None:
        """Raise if another thread failed."""
        self._progress.advance(0.0)

    def tell(self, note: str) -> None:
        """Tell the listeners, and raise if another thread failed."""
        self._progress.tell(note)
        self._progress.advance(0.0)


class _BranchAndCut(GroupSearch):
    heeds_time_limit = True

    def __init__(
        self,
        constraints: Constraints,
        group: Group,
        settings: SearchSettings,
        orders: OrderGroupSearch,
        n_bytes: int,
        available: int,
    ) -> None:
        from skbn._branch_and_cut.branch_and_cut import BRANCH_AND_CUT_KERNELS

        self.columns = group.columns
        self.kernels = (*orders.kernels, find_dominated, *BRANCH_AND_CUT_KERNELS, *CHECKER_KERNELS)
        self.n_bytes = n_bytes
        self._constraints, self._settings, self._orders = constraints, settings, orders
        self._has_others = bool(group.others)
        self._available = available

    def __str__(self) -> str:
        size = readable_size(self.n_bytes)
        return f"branch and cut over {len(self.columns)} columns: about {size} of memory"

    def cost(self) -> int:
        return int((self._orders.cost() + self.shared_work) / _SHARE_OF_PROGRESS)

    def optimum(self, scores: Scores, n_jobs: int | None, progress: Progress) -> Optimum:
        settings = self._settings
        deadline = settings.own_deadline()
        notes = _Notes(progress)

        def tell(cost: float, bound: float, n_nodes: int) -> None:
            gap = max(0.0, cost - bound)
            score = f"{best - cost:,.2f} nats, at most {gap:.3g} below the best"
            notes.tell(f"{score}; {n_nodes:,} nodes")

        try:
            (by_orders,) = self._orders.optima([scores], n_jobs, notes)
        except NoNetworkError:
            by_orders = None
        listed = self._list(scores, n_jobs)
        network = _any_network(listed.families)
        if network is None:
            return Optimum([], -np.inf)
        if by_orders is not None:
            network = self._families_of(by_orders.parents, listed.families)
        # What all columns would score with the best parents that each of them may have.
        best = sum(float(local[0]) for local in listed.scores) + self._offset(scores)
        found = branch_and_cut(
            listed.families,
            network,
            tolerance=settings.tolerance,
            deadline=time.monotonic() if self._orders.is_interrupted else deadline,
            seed=settings.seed,
            n_jobs=n_jobs,
            ends_on_interrupt=settings.keeps_best_on_interrupt,
            tell=tell,
        )
        progress.advance(self.cost())
        return self._climbed(scores, found, listed)

    def _climbed(self, scores: Scores, found: Result, listed: _Listed) -> Optimum:
        """Return the network found; one that is not proven to be the best is climbed from."""
        at = found.chosen - listed.families.start[:-1]
        parents = [
            mask_of(p for p in rows[i].tolist() if p >= 0)
            for rows, i in zip(listed.parents, at, strict=True)
        ]
        score = sum(float(local[i]) for local, i in zip(listed.scores, at, strict=True))
        require_certainty(self._uncertainty(scores, parents))
        gap = max(0.0, found.cost - found.bound)
        if found.is_finished and gap <= _CALLED_NONE + _ROUNDING * found.cost:
            return Optimum(parents, score, n_nodes=found.n_nodes)
        climbed, better = self._orders.climbed(scores, parents)
        if better > score:
            parents, score, gap = climbed, better, max(0.0, gap - (better - score))
        is_optimal = found.is_finished or gap <= self._settings.tolerance
        return Optimum(parents, score, is_optimal, gap=gap, n_nodes=found.n_nodes)

    def _offset(self, scores: Scores) -> float:
        own = scores.scorer if isinstance(scores, LocalScores) else scores
        return float(own.score_offsets[self.columns].sum())

    def _uncertainty(self, scores: Scores, parents: list[int]) -> float:
        """Return how far rounding may put the score of a network off, in nats."""
        own = scores.scorer if isinstance(scores, LocalScores) else scores
        terms = [
            own.largest_term(x, members_of(mask))
            for x, mask in zip(self.columns, parents, strict=True)
        ]
        return float((score_tolerance(terms) - SCORE_ACCURACY).sum())

    # The families

    def _list(self, scores: Scores, n_jobs: int | None) -> _Listed:
        """Return the families of all columns of the group.

        Raises
        ------
        ValueError
            If they do not fit in memory: more are undominated than was expected.
        """
        start, children, parents, local, own = [0], [], [], [], []
        with Threads(n_jobs) as threads:
            found = threads.map(self._list_child, [(scores, x) for x in self.columns])
            for child, each in enumerate(found):
                parents.append(each[0])
                local.append(each[1])
                own.append(each[2])
                start.append(start[-1] + len(each[1]))
                children.append(np.full(len(each[1]), child, dtype=np.int16))
                self._require_memory(start[-1], each[0].shape[1])
        width = max(each.shape[1] for each in own)
        padded = [_padded(each, width) for each in own]
        families = Families(
            np.array(start, dtype=np.int64),
            np.concatenate([each[0] - each for each in local]),
            np.ascontiguousarray(np.concatenate(padded)),
            np.concatenate(children),
        )
        return _Listed(families, parents, local)

    def _list_child(
        self, scores: Scores, child: int
    ) -> tuple[ShortIntegers, Floats, ShortIntegers]:
        """Return a child's parents and scores, best first, and the parents within the group."""
        m = len(self._constraints.allowed)
        parents, local = families_within(scores, self._constraints, child, False)
        best_first = np.lexsort(((parents >= 0).sum(axis=1), -local))
        best_first = best_first[local[best_first] > -np.inf]
        parents, local = parents[best_first], local[best_first]
        position = np.full(m + 1, -1, dtype=np.int16)  # the last for the padding
        position[self.columns] = np.arange(len(self.columns))
        own = position[parents]
        if self._has_others or isinstance(scores, ParentSetScores):
            own = _padded_last(own)
            kept = _undominated(own, len(self.columns))
            parents, local, own = parents[kept], local[kept], own[kept]
        width = max(1, int((own >= 0).sum(axis=1).max(initial=0)))
        return parents, local, _padded(own[:, :width], width)

    def _require_memory(self, n_families: int, width: int) -> None:
        if _BYTES_OF_SOLVER + _bytes_of_families(n_families, width) > self._available:
            raise ValueError(
                f"Branch and cut over {len(self.columns)} columns runs short of memory while it "
                f"lists their families: {n_families:,} so far. Set max_parents to less, or raise "
                "the penalty."
            )

    def _families_of(self, parents: list[int], families: Families) -> npt.NDArray[np.int64]:
        """Return the best listed families with parents among those of a network's columns."""
        chosen = families.start[:-1].copy()
        is_own = np.zeros(len(self._constraints.allowed), dtype=bool)
        for x, mask in enumerate(parents):
            is_own[:] = False
            is_own[members_of(mask)] = True
            is_in = np.append(is_own[self.columns], True)
            rows = families.parents[families.start[x] : families.start[x + 1]]
            fits = is_in[rows].all(axis=1)
            chosen[x] += int(np.argmax(fits))
            assert fits.any()
        return chosen


def _any_network(families: Families) -> npt.NDArray[np.int64] | None:
    """Return the families of some network; None if each choice of families has a cycle.

    Columns are placed one after the other, whichever has a family with all parents placed before:
    if no column has one, those left only have families with parents among themselves.
    """
    m = families.start.size - 1
    chosen = np.full(m, -1, dtype=np.int64)
    is_placed = np.zeros(m + 1, dtype=bool)
    is_placed[m] = True  # stands for parents that a family lacks
    while not is_placed.all():
        fits = np.flatnonzero(is_placed[families.parents].all(axis=1))
        columns, first = np.unique(families.child[fits], return_index=True)
        is_new = ~is_placed[columns]
        if not is_new.any():
            return None
        chosen[columns[is_new]] = fits[first[is_new]]
        is_placed[columns] = True
    return chosen


def _padded(rows: ShortIntegers, width: int) -> ShortIntegers:
    """Return rows of at least so many numbers, with -1 at their end."""
    more = max(0, width - rows.shape[1])
    return np.pad(rows, ((0, 0), (0, more)), constant_values=-1)


def _padded_last(rows: ShortIntegers) -> ShortIntegers:
    """Return ascending rows with their -1 at the end."""
    last = np.iinfo(np.int16).max
    rows = np.sort(np.where(rows < 0, last, rows), axis=1)
    return np.where(rows == last, np.int16(-1), rows).astype(np.int16)


def _undominated(rows: ShortIntegers, m: int) -> npt.NDArray[np.int64]:
    """Return which sets of parents, best first, are no supersets of earlier ones.

    Of long lists, only sets that are there already are left out.
    """
    sets = np.zeros((len(rows), -(-m // _WORD)), dtype=np.uint64)
    for column in rows.T:
        has = np.flatnonzero(column >= 0)
        word, bit = np.divmod(column[has].astype(np.int64), _WORD)
        sets[has, word] |= np.uint64(1) << bit.astype(np.uint64)
    _, firsts = np.unique(sets, axis=0, return_index=True)
    kept = np.sort(firsts)
    if len(kept) <= _LONGEST_TO_COMPARE:
        is_dominated = np.zeros(len(kept), dtype=bool)
        find_dominated(sets[kept].view(np.int64), np.ones(len(kept), dtype=bool), is_dominated)
        kept = kept[~is_dominated]
    return kept
