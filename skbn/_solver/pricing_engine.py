"""Branch and cut over all parent sets as an engine: a proof without a limit on parents.

The order search finds a network. Column generation bounds what any other costs, and lists the
families that a better one may have; branch and cut ends on the list. Both are checked again by code
of their own.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from skbn._branch_and_cut.checker_kernels import CHECKER_KERNELS
from skbn._branch_and_cut.pricing_checker import ROUNDING, smallest_eigenvalue
from skbn._branch_and_cut.pricing_checker_kernels import PRICING_CHECKER_KERNELS
from skbn._branch_and_cut.pricing_kernels import PRICING_KERNELS, ChildCosts
from skbn._core.arrays import Floats
from skbn._core.exact_sums import lower_sum, upper_sum
from skbn._core.resources import Resources, Threads, count_threads, one_blas_thread
from skbn._core.subsets import mask_of, members_of
from skbn._core.text import readable_size
from skbn._exact.plan import TooLargeError
from skbn._solver.branch_engine import (
    BYTES_OF_SOLVER,
    SHARE_OF_ORDERS,
    SHARE_OF_PROGRESS,
    Notes,
    climbed_from,
    require_highspy,
)
from skbn._solver.constraints import Group
from skbn._solver.engines import GroupSearch, Optimum, SearchSettings
from skbn._solver.order_engine import OrderGroupSearch, order_search_bytes, plan_order_search
from skbn._solver.problem import Problem, Shape

if TYPE_CHECKING:  # they import highspy, which is optional
    from skbn._branch_and_cut.column_generation import Generated
    from skbn._branch_and_cut.pricing import Child

# The lists of families, the cuts and the program.
_BYTES_OF_LISTS = 1 << 28
# The most nats that rounding may put the costs of a network off.
_MOST_ROUNDING = 1e-3
# The share of the time that is left for the check of a bound that is not closed: it takes about as
# long as the last search through all parent sets.
_SHARE_OF_CHECK = 0.15


class _Proven(NamedTuple):
    """A network, and what its check shows.

    Parameters
    ----------
    network : sequence of tuple of int
        Positions of each column's parents.
    cost, bound : float
        What it costs, and what any network costs at least.
    n_nodes : int
    is_finished : bool
    """

    network: Sequence[tuple[int, ...]]
    cost: float
    bound: float
    n_nodes: int
    is_finished: bool


def can_price(shape: Shape) -> bool:
    """Whether all parent sets of a problem can be priced.

    Each score must be a multiple of the logarithm of the residual sum of squares, the same multiple
    for all, less what the number of parents costs.
    """
    if shape.tables is None or not shape.is_independent:
        return False
    _, of_parents, of_family = shape.tables[:, : shape.families.max_parents + 1]
    is_same = (of_parents == of_parents[0]).all() and (of_family == -of_parents[0]).all()
    return bool(is_same and of_parents[0] > 0)


def plan_pricing(
    shape: Shape, group: Group, resources: Resources, settings: SearchSettings
) -> GroupSearch | None:
    """Plan branch and cut over all parent sets of a group's columns.

    None if the scores do not follow from regressions of single columns, or without a time limit:
    nobody knows how long it takes.

    Raises
    ------
    TooLargeError
        If it does not fit in memory.
    ImportError
        If highspy is not installed.
    """
    if not can_price(shape) or resources.time_limit is None:
        return None
    n_bytes = pricing_bytes(shape, group, resources.n_jobs)
    available, limit = resources.beside(shape.n_bytes)
    if n_bytes > available:
        columns = f"{len(group.columns)} columns"
        raise TooLargeError(columns, "the parent sets", n_bytes, available, limit)
    require_highspy(len(group.columns))
    of_orders = settings._replace(share=settings.share * SHARE_OF_ORDERS)
    orders = plan_order_search(shape, group, resources, of_orders)
    return PricingSearch(group, settings, orders, n_bytes)


def pricing_bytes(shape: Shape, group: Group, n_jobs: int | None) -> int:
    """Return about how much memory branch and cut over all parent sets takes."""
    m = len(group.columns) + len(group.others)
    k = max(shape.constraints.possible[x].bit_count() for x in group.columns)
    of_thread = 8 * (k + 1) ** 3
    return (
        BYTES_OF_SOLVER
        + _BYTES_OF_LISTS
        + order_search_bytes(m, n_jobs)
        + of_thread * count_threads(n_jobs)
    )


class PricingSearch(GroupSearch):
    """The planned branch and cut over all parent sets of one group of columns."""

    heeds_time_limit = True

    def __init__(
        self, group: Group, settings: SearchSettings, orders: OrderGroupSearch, n_bytes: int
    ) -> None:
        from skbn._branch_and_cut.branch_and_cut import BRANCH_AND_CUT_KERNELS

        self.columns = group.columns
        self.kernels = (
            *orders.kernels,
            *BRANCH_AND_CUT_KERNELS,
            *CHECKER_KERNELS,
            *PRICING_KERNELS,
            *PRICING_CHECKER_KERNELS,
        )
        self.n_bytes = n_bytes
        self._group, self._settings, self._orders = group, settings, orders

    def __str__(self) -> str:
        size = readable_size(self.n_bytes)
        return (
            f"branch and cut over all parent sets of {len(self.columns)} columns: about {size} of "
            "memory"
        )

    def cost(self) -> int:
        return int(self._orders.cost() / SHARE_OF_PROGRESS)

    def optimum(self, problem: Problem, resources: Resources) -> Optimum:
        deadline = resources.end_of_share(self._settings.share)
        notes = Notes(resources.progress)
        start = self._orders.optimum(problem, resources.reporting(notes))
        score = float(problem.local_scores(self.columns, start.parents).sum())
        score += float(problem.score_offsets[self.columns].sum())

        def tell(cost: float, bound: float, note: str) -> None:
            gap = max(0.0, cost - bound)
            notes.tell(f"{score - cost:,.2f} nats, at most {gap:.3g} below the best; {note}")

        if self._orders.is_interrupted:
            deadline = time.monotonic()
        with one_blas_thread():
            found = self._proven(problem, start.parents, deadline, resources, tell)
        resources.progress.advance(self.cost())
        return climbed_from(
            problem,
            self.columns,
            [mask_of(self._number(p) for p in parents) for parents in found.network],
            self._orders,
            max(0.0, upper_sum([found.cost, -found.bound])),
            self._settings.tolerance,
        )._replace(n_nodes=found.n_nodes, is_finished=found.is_finished)

    def _number(self, position: int) -> int:
        """Return the number in the table of a column of the search."""
        own = self._group.columns
        return own[position] if position < len(own) else self._group.others[position - len(own)]

    def _proven(
        self,
        problem: Problem,
        start: Sequence[int],
        deadline: float,
        resources: Resources,
        tell: Callable[[float, float, str], None],
    ) -> _Proven:
        """Return the best network found, with a bound that was checked."""
        from skbn._branch_and_cut.branch_and_cut import branch_and_cut
        from skbn._branch_and_cut.column_generation import ColumnGeneration

        columns = [*self._group.columns, *self._group.others]
        position = {column: i for i, column in enumerate(columns)}
        network = [tuple(sorted(position[p] for p in members_of(mask))) for mask in start]
        products, rounding = _products(problem, columns)
        children = [
            _child(problem, x, products, position, network[i])
            for i, x in enumerate(self._group.columns)
        ]
        tolerance = self._settings.tolerance
        interrupts: type[BaseException] | tuple[()] = ()
        if resources.keeps_best_on_interrupt:
            interrupts = KeyboardInterrupt
        now = time.monotonic()
        of_search = now + (1 - _SHARE_OF_CHECK) * (deadline - now)
        with resources.threads() as threads:
            rest = tolerance, of_search, self._settings.seed, threads, tell
            generated = ColumnGeneration(children, network, *rest).run(interrupts)
            bound, bound_of_others = _checked(children, generated, rounding, threads)
        if generated.lists is None:
            is_finished = generated.cost - bound <= tolerance
            return _Proven(generated.network, generated.cost, bound, 0, is_finished)
        lists = generated.lists
        found = branch_and_cut(
            lists.families,
            lists.chosen(generated.network),
            tolerance=tolerance,
            deadline=deadline,
            seed=self._settings.seed,
            n_jobs=resources.n_jobs,
            tell=lambda cost, bound, n_nodes: tell(
                cost, min(bound, bound_of_others), f"{n_nodes:,} nodes"
            ),
            ends_on_interrupt=resources.keeps_best_on_interrupt,
            cuts=generated.bound.cuts,
        )
        best = [lists.parents[f] for f in found.chosen]
        lower = max(
            bound, min(lower_sum([found.bound, -2 * len(children) * rounding]), bound_of_others)
        )
        return _Proven(best, found.cost, lower, found.n_nodes, found.is_finished)


def _products(problem: Problem, columns: list[int]) -> tuple[Floats, float]:
    """Return the products of columns, scaled to norm 1, and by how much rounding puts a cost off.

    Errors of norm d change a residual sum of squares by the share d / s at most, where s is the
    smallest eigenvalue of the products. Those of the products come first, then those of a solution.

    Raises
    ------
    ValueError
        If the columns are so nearly collinear that rounding would hide a bound.
    """
    scorer, m = problem.scorer, len(columns)
    factor = scorer.statistics.factor[:, columns].astype(np.longdouble)
    factor /= np.sqrt((factor**2).sum(axis=0))
    products = (factor.T @ factor).astype(np.float64)
    of_products = 2.0**-52 + (m + 4) * float(np.finfo(np.longdouble).eps)
    eigenvalue = smallest_eigenvalue(products)
    weight = float(scorer.tables[1, 0])
    if eigenvalue is not None:
        rounding = ROUNDING + weight * m * (of_products + 2.0**-50) / eigenvalue
        if m * rounding <= _MOST_ROUNDING:
            return products, rounding
    along = np.linalg.eigh(products)[1][:, 0]
    name = problem.names[columns[int(np.argmax(np.abs(along)))]]
    raise ValueError(
        f"Column {name!r} is so nearly a combination of others that rounding would hide a bound "
        "over all parent sets. Leave it out, or set max_parents, to 3 for example, or "
        'search="order".'
    )


def _child(
    problem: Problem,
    x: int,
    products: Floats,
    position: dict[int, int],
    parents: tuple[int, ...],
) -> Child:
    """Return a column with its regressions; costs are relative to those of some parents."""
    from skbn._branch_and_cut.pricing import Child

    scorer = problem.scorer
    required, candidates = problem.limits_of(x)
    of_family = [*required, *candidates, x]
    at = [position[p] for p in of_family]
    products = np.ascontiguousarray(products[np.ix_(at, at)])
    weight = float(scorer.tables[1, 0])
    k = len(of_family) - 1
    most = min(k, problem.constraints.max_parents, scorer.families.max_parents)
    costs = np.full(k + 2, np.inf)
    costs[: most + 1] = -scorer.tables[0, : most + 1]
    least_costs = np.minimum.accumulate(costs[::-1])[::-1].copy()
    numbers = np.array(at[:-1], dtype=np.int64)
    of_child = ChildCosts(products, weight, costs, least_costs, len(required))
    child = Child(of_child, numbers, 0.0)
    return child._replace(offset=child.cost_of(parents))


def _checked(
    children: Sequence[Child], generated: Generated, rounding: float, threads: Threads
) -> tuple[float, float]:
    """Return what networks cost at least, and those with families that are not listed."""
    from skbn._branch_and_cut.column_generation import MARGIN
    from skbn._branch_and_cut.pricing_checker import certified_bound_of_others

    bound, lists = generated.bound, generated.lists
    if not math.isfinite(bound.bound):
        return -math.inf, -math.inf
    if lists is None:
        # Rounding must not decide about the families of the least reduced cost.
        thresholds = bound.least - MARGIN
        listed: list[dict[tuple[int, ...], float]] = [{} for _ in children]
    else:
        thresholds = bound.least + (max(generated.cost - bound.bound, 0.0) + MARGIN / 2)
        start, cost = lists.families.start, lists.families.cost.tolist()
        listed = [
            dict(zip(lists.parents[a:b], cost[a:b], strict=True))
            for a, b in itertools.pairwise(start.tolist())
        ]
    rest = bound.cuts, bound.multipliers, thresholds, listed, rounding, threads
    return certified_bound_of_others(children, *rest)
