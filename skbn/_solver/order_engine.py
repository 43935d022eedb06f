"""The order search as an engine: a very good network of many columns, without a proof."""

from __future__ import annotations

import math
import time
from graphlib import TopologicalSorter
from typing import Any

import numpy as np

from skbn._core.resources import IsOver, Resources, count_threads, one_blas_thread
from skbn._core.subsets import mask_of, members_of
from skbn._core.text import readable_value
from skbn._exact.plan import TooLargeError
from skbn._orders.growth import GROWTH_KERNELS
from skbn._orders.order_search import ORDER_KERNELS, FoundOrder, OrderSearch
from skbn._regressions.set_function import SCORE_ACCURACY
from skbn._solver.constraints import Group
from skbn._solver.engines import GroupSearch, SearchSettings, in_table
from skbn._solver.problem import Found, Problem, Shape

# Arrays of m x m: products, bits, first families, and the scratch of each thread.
_BYTES_A_PAIR = 40
_BYTES_A_PAIR_AND_THREAD = 16
# The families that the lists of a column hold in the end: with 1000 columns they held 400.
_BYTES_A_COLUMN = 2000 * 32
# The share of the time that the families of the columns may take before the search.
_SHARE_TO_LIST = 0.5
# Few columns are settled in this time, also if there is none left to search on.
_SECONDS_TO_SETTLE = 0.5
# Columns' numbers are kept as int16.
_MOST_COLUMNS = np.iinfo(np.int16).max


def settling(is_over: IsOver) -> IsOver:
    """Return whether a search is over, and the time to settle few columns as well."""
    until = time.monotonic() + _SECONDS_TO_SETTLE
    return lambda: is_over() and time.monotonic() > until


class NoNetworkError(ValueError):
    """No acyclic network of listed families is within the constraints."""


def plan_order_search(
    shape: Shape, group: Group, resources: Resources, settings: SearchSettings
) -> OrderGroupSearch:
    """Plan the order search of a group of columns.

    Raises TooLargeError if it does not fit in memory; ValueError if its columns are too many to be
    numbered.
    """
    m = len(group.columns) + len(group.others)
    if m > _MOST_COLUMNS:
        raise ValueError(
            f"The order search takes at most {_MOST_COLUMNS:,} columns at a time; got {m:,}. Leave "
            "out columns."
        )
    n_bytes = order_search_bytes(m, resources.n_jobs)
    available, limit = resources.beside(0)
    if n_bytes > available:
        raise TooLargeError(f"{m} columns", "", n_bytes, available, limit, "order search")
    return OrderGroupSearch(group, settings, n_bytes)


def order_search_bytes(m: int, n_jobs: int | None) -> int:
    """Return about how much memory an order search over m columns takes."""
    n_threads = count_threads(n_jobs)
    return m * m * (_BYTES_A_PAIR + _BYTES_A_PAIR_AND_THREAD * n_threads) + m * _BYTES_A_COLUMN


class OrderGroupSearch(GroupSearch):
    """The planned order search of one group of columns.

    `is_interrupted`: whether Ctrl-C ended the last search
    """

    heeds_time_limit = True
    is_interrupted = False

    def __init__(self, group: Group, settings: SearchSettings, n_bytes: int) -> None:
        self.columns = group.columns
        self.kernels: tuple[Any, ...] = (*ORDER_KERNELS, *GROWTH_KERNELS)
        self.n_bytes = n_bytes
        self._settings = settings
        # The others have no parents here, and precede the group's columns.
        self._order = [*group.others, *group.columns]
        self._n_others = len(group.others)

    def __str__(self) -> str:
        return f"order search over {len(self.columns)} columns, not proven to find the best network"

    def cost(self) -> int:
        return len(self._order) ** 2

    @one_blas_thread()  # more would change bits
    def optimum(self, problem: Problem, resources: Resources) -> Found:
        progress, told = resources.progress, 0.0

        def report(best: float, n_iter: int, share: float) -> None:
            nonlocal told
            progress.tell(f"best score so far: {best + offset:,.2f} nats; {n_iter:,} perturbations")
            progress.advance(max(0.0, min(share, 1.0) - told) * self.cost())
            told = max(told, share)

        now = time.monotonic()
        end = now + _SHARE_TO_LIST * (resources.deadline - now)

        def is_over() -> bool:
            progress.tell("listing families of each column")
            return time.monotonic() >= end

        families = problem.order_families(self._order, self._n_others, is_over)
        offset = families.shared + float(problem.score_offsets[self.columns].sum())
        search = OrderSearch(
            families.lists,
            families.growth,
            self._n_others,
            families.least_gain,
            self._settings.seed,
            resources.n_jobs,
            resources.deadline,
            resources.keeps_best_on_interrupt,
            report,
            None if self._settings.start is None else self._order_of([*self._settings.start]),
        )
        found = search.run()
        if found.is_missing:
            names = [problem.names[x] for x in self.columns]
            raise NoNetworkError(
                f"There is no acyclic network of the columns {readable_value(names)} with listed "
                "families that satisfy the constraints. Relax the constraints, or list more parent "
                "sets."
            )
        progress.advance(max(0.0, 1.0 - told) * self.cost())
        m = len(problem.names)
        try:
            masks, score, is_settled = self._settled(problem, search, self._masks(found, m))
        except KeyboardInterrupt:
            if not resources.keeps_best_on_interrupt:
                raise
            search.interrupt()
            of_orders = self._masks(search.found, m)
            masks, score, is_settled = self._settled(problem, search, of_orders)
        self.is_interrupted = search.is_interrupted
        _, *others = sorted((each + families.shared for each in found.start_scores), reverse=True)
        return Found(
            [masks[x] for x in self.columns],
            score,
            gap=math.inf,
            n_iter=found.n_iter,
            why_ended="An order search has no proof.",
            is_settled=is_settled,
            # By how much each start scores lower than the network that the best one led to.
            start_losses=(0.0, *(max(0.0, score - each) for each in others)),
        )

    def _settled(
        self, problem: Problem, search: OrderSearch, masks: list[int]
    ) -> tuple[list[int], float, bool]:
        """Return a network that no single change and no insertion betters, and its score.

        The search and its growth move columns within an order; this also makes the changes of
        `climbed`, for which several columns may have to move at once. The last is whether there
        was time for all of these, which are certified then.
        """
        is_late = settling(search.is_over)
        score = -math.inf if search.is_over() else problem.score_of(self.columns, masks)
        while True:  # the score rises in each round but the last
            better = problem.climbed(self.columns, masks, is_late)
            better_score = problem.score_of(self.columns, better)
            if not better_score > score + SCORE_ACCURACY or search.is_over():
                return better, better_score, not is_late()
            masks, score = better, better_score
            again = self._masks(search.run_from(self._order_of(masks)), len(masks))
            score_again = problem.score_of(self.columns, again)
            if score_again > score:
                masks, score = again, score_again

    def climbed(self, problem: Problem, parents: list[int], is_over: IsOver) -> list[int]:
        """Return a network that no change of a single edge or listed family betters.

        `parents`: the masks of the parents of the group's columns
        `is_over`: whether to end with the best network so far
        """
        masks = in_table(self.columns, parents, len(problem.names))
        masks = problem.climbed(self.columns, masks, is_over)
        return [masks[x] for x in self.columns]

    def _order_of(self, masks: list[int]) -> list[int]:
        """Return an order of a network, in the search's numbers."""
        number = {x: i for i, x in enumerate(self._order)}
        graph = {number[x]: [number[p] for p in members_of(masks[x])] for x in self.columns}
        order = TopologicalSorter(graph).static_order()
        return [*range(self._n_others), *(i for i in order if i >= self._n_others)]

    def _masks(self, found: FoundOrder, m: int) -> list[int]:
        """Return the mask of the parents of all columns of the table; of others none."""
        masks = [mask_of(self._order[p] for p in parents) for parents in found.parents]
        return in_table(self._order, masks, m)
