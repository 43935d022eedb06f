"""Branch and cut as an engine: a proof for columns that are too many for dynamic programming.

It takes families that are listed: those of a file, or those of few parents. The order search finds
a network to begin with, of which the proof often shows that it is the best already.
"""

from __future__ import annotations

import math
import time
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from skbn._branch_and_cut.checker_kernels import CHECKER_KERNELS
from skbn._branch_and_cut.proof import FamilyCosts
from skbn._core.arrays import Integers
from skbn._core.exact_sums import lower_sum, upper_sum
from skbn._core.resources import Progress, Resources, count_threads
from skbn._core.subsets import SmallSubsets, mask_of, members_of
from skbn._core.text import readable_size
from skbn._exact.plan import TooLargeError
from skbn._orders.list_kernels import find_dominated
from skbn._regressions.set_function import SCORE_ACCURACY, score_tolerance
from skbn._solver.branch_families import BranchFamilies, list_families
from skbn._solver.constraints import Group
from skbn._solver.engines import GroupSearch, Optimum, SearchSettings
from skbn._solver.order_engine import (
    NoNetworkError,
    OrderGroupSearch,
    order_search_bytes,
    plan_order_search,
)
from skbn._solver.problem import Problem, Shape

if TYPE_CHECKING:  # it imports highspy, which is optional
    from skbn._branch_and_cut.branch_and_cut import Result

# The LP solver, its matrices, and cuts.
BYTES_OF_SOLVER = 1 << 25
# A family's costs, scores and values, and masks of the tree's nodes, beside 6 for each parent.
_BYTES_A_FAMILY = 64
# While the families of a child are listed, each has two scores and a mark.
_BYTES_WHILE_LISTING = 17
# The share of the families of few parents that is expected to be undominated. With 40 to 60 columns
# and up to four parents it was from 0.07 to 0.25 by the BIC from 1000 rows. It grows with the rows
# and as the penalty shrinks: when the families are listed, their memory is looked at again.
_SHARE_UNDOMINATED = 0.25
# The share of the time that the order search may take.
SHARE_OF_ORDERS = 0.5
# Nobody knows how long branch and cut takes. The progress has at most this share when it begins.
SHARE_OF_PROGRESS = 0.1


def plan_branch_and_cut(
    shape: Shape, group: Group, resources: Resources, settings: SearchSettings
) -> GroupSearch | None:
    """Plan branch and cut of a group of columns; None if the scores are of all sets of parents.

    Raises
    ------
    TooLargeError
        If its families are not expected to fit in memory.
    ImportError
        If they are, and highspy is not installed.
    """
    families = shape.families
    if not families.are_listed:
        return None
    n_bytes = branch_and_cut_bytes(shape, group, resources.n_jobs)
    available, limit = resources.beside(shape.n_bytes)
    if n_bytes > available:
        n = len(group.columns)
        columns = f"{n} columns" if n > 1 else "1 column"
        tables = f"the {_n_families(shape, group):,} families of branch and cut"
        raise TooLargeError(columns, tables, n_bytes, available, limit)
    require_highspy(len(group.columns))
    of_orders = settings._replace(share=settings.share * SHARE_OF_ORDERS)
    orders = plan_order_search(shape, group, resources, of_orders)
    search = _BranchAndCut(group, settings, orders, n_bytes, available)
    search.kernels += families.kernels
    search.shared_work = families.work
    return search


def _n_families(shape: Shape, group: Group) -> int:
    """Return how many families the columns of a group have, dominated ones included."""
    return shape.families.count([shape.constraints.possible[x].bit_count() for x in group.columns])


def branch_and_cut_bytes(shape: Shape, group: Group, n_jobs: int | None) -> int:
    """Return about how much memory branch and cut takes."""
    families, n_families = shape.families, _n_families(shape, group)
    width = min(families.max_parents, shape.constraints.max_parents)
    n_columns = len(group.columns) + len(group.others)
    n_bytes = BYTES_OF_SOLVER + order_search_bytes(n_columns, n_jobs)
    if families.are_given:
        return n_bytes + _bytes_of_families(n_families, width)
    m = len(shape.constraints.allowed)
    of_child = _BYTES_WHILE_LISTING * SmallSubsets(m - 1, families.max_parents).n_sets
    return (
        n_bytes
        + _bytes_of_families(int(_SHARE_UNDOMINATED * n_families), families.max_parents)
        + 8 * SmallSubsets(m, families.max_parents + 1).n_sets
        + of_child * min(count_threads(n_jobs), len(group.columns))
    )


def _bytes_of_families(n_families: int, width: int) -> int:
    return n_families * (_BYTES_A_FAMILY + 6 * width)


def require_highspy(n_columns: int) -> None:
    """Raise an ImportError that says how to install highspy, which is optional."""
    if find_spec("highspy") is None:
        raise ImportError(
            f"The exact search over {n_columns} columns is by branch and cut, which requires "
            "highspy. You can install it with `pip install highspy`. Or set "
            'search="order": its network is not proven to be the best.'
        )


def branch_and_cut(families: FamilyCosts, network: Integers, **settings: Any) -> Result:
    """Import and call the search of this name."""
    from skbn._branch_and_cut.branch_and_cut import branch_and_cut as search

    return search(families, network, **settings)


class Notes(Progress):
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
        self._settings, self._orders = settings, orders
        self._group = group
        self._available = available

    def __str__(self) -> str:
        size = readable_size(self.n_bytes)
        return f"branch and cut over {len(self.columns)} columns: about {size} of memory"

    def cost(self) -> int:
        return int((self._orders.cost() + self.shared_work) / SHARE_OF_PROGRESS)

    def optimum(self, problem: Problem, resources: Resources) -> Optimum:
        settings = self._settings
        deadline = resources.end_of_share(settings.share)
        notes, scope = Notes(resources.progress), problem.scope

        def tell(cost: float, bound: float, n_nodes: int) -> None:
            gap = max(0.0, cost - bound)
            score = f"{known - cost:,.2f} nats, at most {gap:.3g} below the best {scope}"
            notes.tell(f"{score}; {n_nodes:,} nodes")

        try:
            by_orders = self._orders.optimum(problem, resources.reporting(notes))
        except NoNetworkError:
            by_orders = None
        listed = list_families(problem, self._group, resources, self._require_memory)
        network = listed.any_network()
        if network is None:
            return Optimum([], -np.inf, 0.0)
        if by_orders is not None:
            network = listed.network_of(by_orders.parents)
        listed, network = listed.without_costly(network, problem.names)
        offsets = problem.score_offsets - problem.listed_offsets
        known = math.fsum(-listed.families.cost[network]) + float(offsets[self.columns].sum())
        found = branch_and_cut(
            listed.relative_to(network),
            network,
            tolerance=settings.tolerance,
            deadline=time.monotonic() if self._orders.is_interrupted else deadline,
            seed=settings.seed,
            n_jobs=resources.n_jobs,
            ends_on_interrupt=resources.keeps_best_on_interrupt,
            tell=tell,
        )
        resources.progress.advance(self.cost())
        return self._climbed(problem, found, listed)

    def _climbed(self, problem: Problem, found: Result, listed: BranchFamilies) -> Optimum:
        """Return the network found; one that is not proven to be the best is climbed from."""
        parents = [
            mask_of(p for p in row if p >= 0) for row in listed.parents[found.chosen].tolist()
        ]
        gap = max(0.0, upper_sum([found.cost, -found.bound]))
        rest = self._orders, gap, self._settings.tolerance
        optimum = climbed_from(problem, self.columns, parents, *rest)
        return optimum._replace(n_nodes=found.n_nodes, is_finished=found.is_finished)

    def _require_memory(self, n_families: int, width: int) -> None:
        if BYTES_OF_SOLVER + _bytes_of_families(n_families, width) > self._available:
            raise ValueError(
                f"Branch and cut over {len(self.columns)} columns runs short of memory while it "
                f"lists their families: {n_families:,} so far. Set max_parents to less, or raise "
                "the penalty."
            )


def climbed_from(
    problem: Problem,
    columns: list[int],
    parents: list[int],
    orders: OrderGroupSearch,
    gap: float,
    tolerance: float,
) -> Optimum:
    """Return a network with its gap; if that is more than the tolerance, it is climbed from."""
    terms = [
        problem.largest_term(x, members_of(mask)) for x, mask in zip(columns, parents, strict=True)
    ]
    uncertainty = float((score_tolerance(terms) - SCORE_ACCURACY).sum())
    problem.require_certainty(columns, parents, uncertainty)
    own = problem.local_scores(columns, parents)
    if gap > tolerance:
        climbed = orders.climbed(problem, parents)
        better = problem.local_scores(columns, climbed)
        gain = lower_sum([*better, *(-own)])
        if gain > 0:
            parents, own, gap = climbed, better, max(0.0, upper_sum([gap, -gain]))
    return Optimum(parents, math.fsum([*own, *(-problem.listed_offsets[columns])]), gap)
