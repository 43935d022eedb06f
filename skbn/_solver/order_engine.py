"""The order search as an engine: a very good network of many columns, without a proof."""

from __future__ import annotations

import math
from graphlib import TopologicalSorter
from typing import Any

import numpy as np
import numpy.typing as npt

from skbn._core.memory import MARGIN
from skbn._core.progress import Progress
from skbn._core.subsets import bits_of, mask_of, members_of
from skbn._core.text import readable_sizes, readable_value, rounded_up
from skbn._core.threads import count_threads, one_blas_thread
from skbn._orders.family_lists import FamilyLists
from skbn._orders.growth import GROWTH_KERNELS, FamilyGrowth
from skbn._orders.order_search import ORDER_KERNELS, FoundOrder, OrderSearch
from skbn._orders.regression_kernels import Regressions
from skbn._regressions.local_score import SCORE_ACCURACY
from skbn._scores.local_scores import LocalScores
from skbn._scores.parent_set_scores import ParentSetScores
from skbn._solver.constraints import Constraints, Group
from skbn._solver.edge_changes import descendants_of, polished
from skbn._solver.engines import GroupSearch, Optimum, Scores, families_within
from skbn._solver.settings import MemoryLimit, SearchSettings

__all__ = ["NoNetworkError", "order_search_bytes", "plan_order_search"]

# Arrays of m x m: products, bits, first families, and the scratch of each thread.
_BYTES_A_PAIR = 40
_BYTES_A_PAIR_AND_THREAD = 16
# Of the families that the lists of a column hold in the end; with 1000 columns they held 400.
_BYTES_A_COLUMN = 2000 * 32
# Their numbers are kept as int16.
_MOST_COLUMNS = np.iinfo(np.int16).max
# In nats, and as a share: having no family that fits costs so much more than all families together
# can differ by. No order that has one is left for an order that has none.
_WORSE, _MUCH_WORSE = 100.0, 10.0
# What the parents leave of a column is at least 1e-12 of it, the logarithm of which is -27.6.
_LARGEST_LOG = 28.0
# In nats: moves that gain less are not made, and what rounding adds to that, in units of the
# largest term.
_LEAST_GAIN = 1e-6
_ROUNDING = 1e-10


class NoNetworkError(ValueError):
    """No acyclic network of listed families is within the constraints."""


def plan_order_search(
    scores: Scores,
    constraints: Constraints,
    group: Group,
    memory: MemoryLimit,
    settings: SearchSettings,
    n_jobs: int | None = None,
) -> OrderGroupSearch:
    """Plan the order search of a group of columns.

    Raises
    ------
    ValueError
        If it does not fit in memory.
    """
    m = len(group.columns) + len(group.others)
    if m > _MOST_COLUMNS:
        raise ValueError(
            f"The order search takes at most {_MOST_COLUMNS:,} columns at a time; got {m:,}. Leave "
            "out columns."
        )
    available, limit = memory.beside(0)
    n_bytes = order_search_bytes(m, n_jobs)
    if n_bytes > available:
        needed, given = readable_sizes(n_bytes, available)
        most = max(n for n in range(1, m) if n == 1 or order_search_bytes(n, n_jobs) <= available)
        is_capped = memory.allowed is not None and n_bytes <= MARGIN * memory.available
        more = f"Raise max_memory to {rounded_up(n_bytes)}, or leave" if is_capped else "Leave"
        raise ValueError(
            f"The order search over {m} columns needs {needed} of memory, and {given} {limit}. "
            f"{more} out columns until {most} or fewer are left."
        )
    return OrderGroupSearch(constraints, group, settings, n_bytes)


def order_search_bytes(m: int, n_jobs: int | None) -> int:
    """Return about how much memory an order search over m columns takes."""
    n_threads = count_threads(n_jobs)
    return m * m * (_BYTES_A_PAIR + _BYTES_A_PAIR_AND_THREAD * n_threads) + m * _BYTES_A_COLUMN


class OrderGroupSearch(GroupSearch):
    """The planned order search of one group of columns.

    Attributes
    ----------
    is_interrupted : bool
        Whether Ctrl-C ended the last search.
    """

    heeds_time_limit = True
    is_interrupted = False

    def __init__(
        self, constraints: Constraints, group: Group, settings: SearchSettings, n_bytes: int
    ) -> None:
        self.columns = group.columns
        self.kernels: tuple[Any, ...] = (*ORDER_KERNELS, *GROWTH_KERNELS)
        self.n_bytes = n_bytes
        self._constraints, self._settings = constraints, settings
        # The others have no parents here, and precede the group's columns.
        self._order = [*group.others, *group.columns]
        self._n_others = len(group.others)

    def __str__(self) -> str:
        return f"order search over {len(self.columns)} columns, not proven to find the best network"

    def cost(self) -> int:
        return len(self._order) ** 2

    def optimum(self, scores: Scores, n_jobs: int | None, progress: Progress) -> Optimum:
        told = 0.0

        def report(best: float, n_iter: int, share: float) -> None:
            nonlocal told
            progress.tell(f"best score so far: {best + offset:,.2f} nats; {n_iter:,} perturbations")
            progress.advance(max(0.0, min(share, 1.0) - told) * self.cost())
            told = max(told, share)

        deadline = self._settings.own_deadline()
        lists, growth, least, highest = (
            self._grown_lists(scores) if isinstance(scores, LocalScores) else self._given(scores)
        )
        offset = highest + float(_offsets(scores)[self.columns].sum())
        search = OrderSearch(
            lists,
            growth,
            self._n_others,
            least,
            self._settings.seed,
            n_jobs,
            deadline,
            self._settings.keeps_best_on_interrupt,
            report,
        )
        found = search.run()
        if found.is_missing:
            names = [scores.columns[x] for x in self.columns]
            raise NoNetworkError(
                f"There is no acyclic network of the columns {readable_value(names)} with listed "
                "families that satisfy the constraints. Relax the constraints, or list more parent "
                "sets."
            )
        progress.advance(max(0.0, 1.0 - told) * self.cost())
        try:
            masks, score = self._settled(scores, search, self._masks(found))
        except KeyboardInterrupt:
            if not self._settings.keeps_best_on_interrupt:
                raise
            search.interrupt()
            masks, score = self._settled(scores, search, self._masks(search.found()))
        self.is_interrupted = search.is_interrupted
        return Optimum(
            [masks[x] for x in self.columns],
            score,
            gap=math.inf,
            n_iter=found.n_iter,
            is_finished=False,
            start_losses=_losses([each + highest for each in found.start_scores], score),
        )

    def _settled(
        self, scores: Scores, search: OrderSearch, masks: list[int]
    ) -> tuple[list[int], float]:
        """Return a network that no single change and no insertion betters, and its score.

        The search and its growth move columns within an order; this also makes the changes of
        `_climbed`, for which several columns may have to move at once. These are certified, so
        that they are made even if there is no time left to search on.
        """
        score = self._score(scores, masks)
        while True:  # the score rises in each round but the last
            better = self._climbed(scores, masks)
            better_score = self._score(scores, better)
            if not better_score > score + SCORE_ACCURACY or search.is_over():
                return better, better_score
            masks, score = better, better_score
            again = self._masks(search.run_from(self._order_of(masks)))
            score_again = self._score(scores, again)
            if score_again > score:
                masks, score = again, score_again

    def _climbed(self, scores: Scores, masks: list[int]) -> list[int]:
        """Return a network that no change of a single edge or listed family betters.

        Edges are changed by regressions of their own.
        """
        if not isinstance(scores, LocalScores):
            return self._with_best_families(scores, masks)
        with one_blas_thread():
            return polished(scores.scorer, self._own_constraints(), masks)

    def _own_constraints(self) -> Constraints:
        """Return the constraints that leave the columns of other groups as they are."""
        is_own, constraints = mask_of(self.columns), self._constraints
        if is_own.bit_count() == len(constraints.allowed):
            return constraints
        allowed, required = [
            [mask if is_own >> x & 1 else 0 for x, mask in enumerate(each)]
            for each in (constraints.allowed, constraints.required)
        ]
        return constraints._replace(allowed=allowed, required=required)

    def climbed(self, scores: Scores, parents: list[int]) -> tuple[list[int], float]:
        """Return a network that no change of a single edge or listed family betters.

        Parameters
        ----------
        scores : LocalScores or ParentSetScores
        parents : list of int
            The masks of the parents of the group's columns.

        Returns
        -------
        parents : list of int
        score : float
            Of the group's families, without their offsets.
        """
        masks = [0] * len(self._constraints.allowed)
        for x, mask in zip(self.columns, parents, strict=True):
            masks[x] = mask
        masks = self._climbed(scores, masks)
        return [masks[x] for x in self.columns], self._score(scores, masks)

    def _with_best_families(self, scores: ParentSetScores, masks: list[int]) -> list[int]:
        """Return a network in which no column has a better family that makes no cycle.

        Each step raises the score of one column and leaves the others, so that they come to an end.
        """
        constraints, masks = self._constraints, [*masks]
        after, last = descendants_of(masks), self.columns[-1]
        while True:
            for x in self.columns:
                required = members_of(constraints.required[x])
                may_be = members_of(constraints.allowed[x] & ~constraints.required[x] & ~after[x])
                parents, local = scores.listed(x, required, may_be, constraints.max_parents)
                best = int(np.argmax(local))
                if local[best] > scores.local_score(x, members_of(masks[x])) + SCORE_ACCURACY:
                    masks[x] = mask_of(p for p in parents[best].tolist() if p >= 0)
                    after, last = descendants_of(masks), x
                elif x == last:
                    return masks

    def _score(self, scores: Scores, masks: list[int]) -> float:
        """Return the score of the group's families, without their offsets."""
        *terms, _ = scores.network_terms([members_of(mask) for mask in masks])
        return float(sum(terms)[self.columns].sum())

    def _order_of(self, masks: list[int]) -> list[int]:
        """Return an order of a network, in the search's numbers."""
        number = {x: i for i, x in enumerate(self._order)}
        graph = {number[x]: [number[p] for p in members_of(masks[x])] for x in self.columns}
        order = TopologicalSorter(graph).static_order()
        return [*range(self._n_others), *(i for i in order if i >= self._n_others)]

    def _masks(self, found: FoundOrder) -> list[int]:
        """Return the mask of the parents of all columns of the table; of others none."""
        masks = [0] * len(self._constraints.allowed)
        for x, parents in zip(self._order, found.parents, strict=True):
            masks[x] = mask_of(self._order[p] for p in parents)
        return masks

    # The families

    def _grown_lists(self, scores: LocalScores) -> tuple[FamilyLists, FamilyGrowth, float, float]:
        scorer, order, m = scores.scorer, self._order, len(self._constraints.allowed)
        factor = scorer.statistics.factor[:, order]
        offsets = np.zeros(m) if scorer.offsets is None else scorer.offsets
        is_own = np.arange(len(order)) >= self._n_others
        allowed, required = (
            np.ascontiguousarray(bits_of(masks, m)[np.ix_(order, order)] & is_own[:, np.newaxis])
            for masks in (self._constraints.allowed, self._constraints.required)
        )
        tables = scorer.tables.copy()
        with one_blas_thread():  # more would change bits
            products = np.ascontiguousarray(factor.T @ factor)
        regressions = Regressions(products, offsets[order], tables, allowed, required)
        largest = float(np.abs(tables[np.isfinite(tables)]).max())
        least = _LEAST_GAIN + _ROUNDING * largest

        def local_score(x: int, parents: list[int]) -> float:
            return sum(scorer.terms(order[x], [order[p] for p in parents]))

        growth = FamilyGrowth(regressions, self._constraints.max_parents, least, local_score)
        lists = self._empty_lists(-_WORSE - _MUCH_WORSE * m * _LARGEST_LOG * largest)
        for x in self.columns:
            # From the products of nearly collinear columns, growth cannot score this family.
            parents = members_of(self._constraints.required[x])
            if parents:
                columns = [order.index(y) for y in parents]
                score = np.array([local_score(order.index(x), columns)])
                lists.add(order.index(x), columns, np.ones((1, len(parents)), dtype=bool), score)
        return lists, growth, least, 0.0

    def _given(self, scores: ParentSetScores) -> tuple[FamilyLists, None, float, float]:
        """Return the families within the constraints, without the best score of each column.

        The last number is the sum of these scores.
        """
        constraints, number = self._constraints, {x: i for i, x in enumerate(self._order)}
        numbers = np.array([number.get(x, -1) for x in range(len(constraints.allowed))] + [-1])
        listed = [families_within(scores, constraints, x, False) for x in self.columns]
        highest = [float(local.max()) for _, local in listed]
        # The kernels take the family of missing ones for the worst of each list.
        spreads = [
            -float((local - top).min()) for (_, local), top in zip(listed, highest, strict=True)
        ]
        lists = self._empty_lists(-_WORSE - _MUCH_WORSE * sum(spreads))
        for x, (parents, local), top in zip(self.columns, listed, highest, strict=True):
            columns = np.unique(parents[parents >= 0])
            is_parent = np.zeros((len(local), len(numbers)), dtype=bool)
            is_parent[np.arange(len(local))[:, np.newaxis], parents] = True
            # Families that tie come with the fewest parents first, and then in column order.
            in_order = np.lexsort((*parents.T[::-1], (parents >= 0).sum(axis=1)))
            sets = is_parent[:, columns][in_order]
            lists.add(number[x], numbers[columns].tolist(), sets, local[in_order] - top)
        return lists, None, _LEAST_GAIN + _ROUNDING * max(spreads), sum(highest)

    def _empty_lists(self, missing: float) -> FamilyLists:
        lists = FamilyLists(len(self._order), missing)
        for x in range(self._n_others):
            lists.add(x, [], np.zeros((1, 0), dtype=bool), np.zeros(1))
        return lists


def _losses(start_scores: list[float], score: float) -> tuple[float, ...]:
    """Return by how much each start scores lower than the network that the best one led to."""
    _, *others = sorted(start_scores, reverse=True)
    return 0.0, *(max(0.0, score - each) for each in others)


def _offsets(scores: Scores) -> npt.NDArray[np.float64]:
    return (scores.scorer if isinstance(scores, LocalScores) else scores).score_offsets
