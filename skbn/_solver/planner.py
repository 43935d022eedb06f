"""The planner: which search fits in memory, and what would make one fit that does not.

For each group of columns the engine of dynamic programming is taken that fits in memory and takes
least time. If none fits, branch and cut takes families that are listed. The order search takes the
place of both where it is asked for. A refusal names remedies, each of which is a changed problem
for which this planner has found a plan.
"""

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from skbn._core.resources import MARGIN, Resources, largest_that_fits
from skbn._core.text import readable_size, rounded_up
from skbn._exact.plan import TooLargeError, space_of_scratch
from skbn._solver.branch_engine import branch_and_cut_bytes, plan_branch_and_cut
from skbn._solver.constraints import Group
from skbn._solver.engines import (
    EXACT,
    Engine,
    GroupSearch,
    SearchSettings,
    plan_dense_search,
    plan_listed_search,
)
from skbn._solver.order_engine import plan_order_search
from skbn._solver.pricing_engine import can_price, plan_pricing, pricing_bytes
from skbn._solver.problem import Shape

# Added to advice on max_parents: it must be lowered where the local scores are made.
_IN_TRANSFORMER = " (of the LocalScoreTransformer, if there is one)"
# Larger tiers are not tried together with fewer parents: their dynamic programs take hours.
_LARGEST_TIER = 25


def smaller_problems(
    shape: Shape,
    fits: Callable[[Shape], bool],
    fits_otherwise: Callable[[Shape], bool] = lambda _: False,
    *,
    tiers_always: bool = False,
) -> list[str]:
    """Say which smaller problems would fit in memory.

    Parameters
    ----------
    shape : Shape
        The problem that does not fit.
    fits : callable
        Whether the planner finds a plan for a problem.
    fits_otherwise : callable
        Whether another planner does with fewer parents, if the first one does not.
    tiers_always : bool
        Whether to propose tiers even if fewer parents are enough.

    Returns
    -------
    remedies : list of str
        Each is enough by itself. Empty if there is too little memory for any problem.
    """
    m, fewest = len(shape.constraints.allowed), shape.fewest_parents
    most = min(shape.constraints.max_parents, m - 1) - 1
    if shape.families.are_given:
        most = 0  # they take as much memory with fewer parents

    few = largest_that_fits(partial(_fits_with, shape, fits), fewest, most)
    tiers = []
    if few is None or tiers_always:
        tiers = _tiers(shape, fits, fewest, most, alone=few is not None)
    few = few or largest_that_fits(partial(_fits_with, shape, fits_otherwise), fewest, most)
    remedies = [] if few is None else [f"set max_parents to {few} or less{_IN_TRANSFORMER}"]
    remedies += tiers
    left = largest_that_fits(lambda n: fits(shape.of_columns(n)), 2, m - 1)
    if left is not None:
        remedies.append(f"leave out columns until {left} or fewer are left")
    return remedies


def _tiers(
    shape: Shape, fits: Callable[[Shape], bool], fewest: int, most: int, *, alone: bool
) -> list[str]:
    """Say how large tiers may be; with fewer parents too if they do not fit alone."""
    m, n_groups = len(shape.constraints.allowed), len(shape.constraints.groups)
    what = "set" if n_groups == 1 else "divide the columns of that group into"
    size = largest_that_fits(lambda n: fits(shape.in_tiers(n)), 1, m - 1)
    if size is not None:
        return [f"{what} tiers of {size} or fewer columns each"]
    if alone:
        return []
    for size in range(min(_LARGEST_TIER, m - 1), 0, -1):
        in_tiers = shape.in_tiers(size)
        few = largest_that_fits(partial(_fits_with, in_tiers, fits), fewest, most)
        if few is not None:
            return [
                f"{what} tiers of {size} or fewer columns each, and max_parents to {few} or less"
                f"{_IN_TRANSFORMER}"
            ]
    return []


def _fits_with(shape: Shape, fits: Callable[[Shape], bool], max_parents: int) -> bool:
    return fits(shape.with_max_parents(max_parents))


# The local scores of a dense search that a thread makes in a second, roughly, as measured; and the
# seconds from which on a search is long, and up to which the search of a few columns is short.
_WORK_A_SECOND, LONG, _SHORT = 5e8, 60.0, 0.3
# If two engines would take equally long, the first is used.
ENGINES: tuple[Engine, ...] = (plan_listed_search, plan_dense_search)
# The largest max_parents that a refusal proposes for branch and cut: with more parents, a proof for
# many columns is out of reach.
_PARENTS_TO_TRY = 3
# The way out for tables beyond the exact search.
_NOT_EXACT = (
    ' Or set search="order", as in GaussianBNLearner(search="order"): its network has a very high '
    "score, but is not proven to be the best."
)
_PRICING = (
    "set time_limit, to 600 seconds for example: branch and cut over all parent sets then proves "
    "the best network, or gives the best one found and by how much another may score higher"
)
_PRICED_LIST = "set time_limit, to 600 seconds for example: branch and cut then lists them"
# Why a time limit is not enough.
_NOT_PRICED = " A time_limit alone is enough for the BIC, AIC, EBIC or likelihood."
# Why a search that fits is not enough.
_NOT_LISTED = (
    " Branch and cut takes more columns, but proves only that no network scores higher: it cannot "
    "list those that score nearly as high."
)


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
        """Whether one of the searches ends by the deadline of its resources."""
        return any(search.heeds_time_limit for search in self.searches)

    @property
    def shared_work(self) -> int:
        """The work of the log-determinants of all small sets, 0 if no search needs them."""
        return max(search.shared_work for search in self.searches)

    def work(self, n_penalties: int = 1) -> int:
        """Return about how long it takes, in units of one local score of a dense search."""
        return self.shared_work + n_penalties * sum(search.work() for search in self.searches)


def plan_searches(shape: Shape, resources: Resources, settings: SearchSettings = EXACT) -> Plan:
    """Plan the search of each group of columns.

    Parameters
    ----------
    shape : Shape
    resources : Resources
    settings : SearchSettings, optional

    Raises
    ------
    ValueError
        If a search does not fit in memory: what the largest one needs, and what would make all of
        them fit. An order search is among these remedies unless networks are to be listed.
    ImportError
        If branch and cut is needed, and highspy is not installed.
    """
    searches, refusals = [], []
    groups = shape.constraints.groups
    # Gaps of groups add up, to no more than the tolerance if each share is rounded down.
    tolerance = settings.tolerance
    if len(groups) > 1:
        tolerance = math.nextafter(tolerance / len(groups), 0.0)
    own = settings._replace(tolerance=tolerance)
    for group in groups:
        try:
            searches.append(_plan_group(shape, group, resources, own))
        except TooLargeError as error:
            refusals.append(error)
    if not refusals:
        return Plan(searches)
    largest = max(refusals, key=lambda error: error.needed)
    remedies = ", or ".join(_remedies(shape, resources, settings))
    way_out = ""
    if settings.lists_networks:
        way_out = _NOT_LISTED if shape.families.are_listed and not can_price(shape) else ""
    elif settings.is_exact:
        has_limit = resources.time_limit is not None and not shape.families.are_listed
        way_out = (_NOT_PRICED if has_limit and not can_price(shape) else "") + _NOT_EXACT
    raise ValueError(f"{largest}. {remedies[:1].upper()}{remedies[1:]}.{way_out}")


def _plan_group(
    shape: Shape, group: Group, resources: Resources, settings: SearchSettings
) -> GroupSearch:
    """Return the search of a group; raise the TooLargeError of the leanest if none fits."""
    is_trivial = len(group.columns) + len(group.others) == 1
    if not settings.is_exact and not is_trivial:
        return plan_order_search(shape, group, resources, settings)
    lists_networks = settings.lists_networks
    if lists_networks:
        resources = replace(resources, scratch=None, cluster=None)
    try:
        search = _plan_dynamic_program(shape, group, resources, settings)
    except TooLargeError as error:
        refusal = error
    else:
        if _takes_too_long(search, group, resources):
            with suppress(TooLargeError, ImportError):
                return plan_pricing(shape, group, resources, settings) or search
        return search
    for plan in (plan_pricing,) if lists_networks else (plan_branch_and_cut, plan_pricing):
        try:
            other = plan(shape, group, resources, settings)
        except TooLargeError as error:
            refusal = min(refusal, error, key=lambda each: each.needed)
        else:
            if other is not None:
                return other
    raise refusal


def _takes_too_long(search: GroupSearch, group: Group, resources: Resources) -> bool:
    """Whether pricing is to take the place of a dynamic program.

    That is where the program is expected to take minutes, and longer than it may, or where it goes
    through the subsets of many columns for the sake of a few.
    """
    if group.is_small:
        return expected_seconds(search.cost() + search.shared_work, resources) > _SHORT
    if resources.time_limit is None or resources.cluster or resources.scratch:
        return False
    return expected_seconds(search.work(), resources) > max(LONG, resources.time_limit)


def expected_seconds(work: int, resources: Resources) -> float:
    """Return about how long a dynamic program takes on a usual machine."""
    return work / (_WORK_A_SECOND * resources.n_threads)


def _plan_dynamic_program(
    shape: Shape, group: Group, resources: Resources, settings: SearchSettings
) -> GroupSearch:
    """Return the fastest dynamic program of a group; raise the smallest TooLargeError if none."""
    searches, refusals = [], []
    for plan_search in ENGINES:
        try:
            search = plan_search(shape, group, resources, settings)
        except TooLargeError as error:
            refusals.append(error)
        else:
            if search is not None and (search.can_list or not settings.lists_networks):
                searches.append(search)
    if not searches:
        raise min(refusals, key=lambda error: error.needed)
    return searches[0] if len(searches) == 1 else min(searches, key=lambda each: each.cost())


# Remedies


def _remedies(shape: Shape, resources: Resources, settings: SearchSettings) -> list[str]:
    """Say what would make all searches fit in memory; each remedy is enough."""
    if resources.cluster is not None:
        needed = _least_memory(shape, resources, settings)
        larger = f"take workers with {readable_size(needed)} of memory each"
        fits_now = needed <= int(MARGIN * resources.cluster.n_bytes)
        return [f"raise max_memory to {rounded_up(needed)}" if fits_now else larger]
    n_bytes = available = int(MARGIN * resources.available)
    remedies = []
    if resources.allowed is not None and resources.allowed < resources.available:
        n_bytes = resources.allowed
        needed = _least_memory(shape, resources, settings)
        if needed <= available:
            remedies.append(f"raise max_memory to {rounded_up(needed)}")
    given = replace(resources, available=n_bytes, allowed=None, scratch=None, cluster=None)
    may_use_folder = not settings.lists_networks and resources.scratch is None
    is_dense = len(shape.constraints.groups) == 1 and not shape.families.are_listed
    if settings.is_exact and is_dense and may_use_folder:
        space = space_of_scratch(len(shape.constraints.allowed), n_bytes)
        if space:
            size = readable_size(space)
            remedies.append(f"give GaussianBNLearner a folder with {size} of space as scratch")

    def fits(other: Shape) -> bool:
        """Whether dynamic programs, or the order search if that is asked for, fit."""
        plans = _plan_dynamic_program if settings.is_exact else plan_order_search
        with suppress(TooLargeError):
            for group in other.constraints.groups:
                plans(other, group, given, settings)
            return True
        return False

    def fits_branch_and_cut(other: Shape) -> bool:
        may_try = settings.is_exact and not settings.lists_networks
        if not may_try or other.constraints.max_parents > _PARENTS_TO_TRY:
            return False
        groups = other.constraints.groups
        return max(branch_and_cut_bytes(other, group, given.n_jobs) for group in groups) <= n_bytes

    remedies += _pricing(shape, settings, given)
    remedies += smaller_problems(shape, fits, fits_branch_and_cut)
    return remedies or ["free some memory: there is too little for any search"]


def _pricing(shape: Shape, settings: SearchSettings, given: Resources) -> list[str]:
    """Say that branch and cut over all parent sets needs a time limit, if that is all."""
    if given.time_limit is not None or not (settings.is_exact and can_price(shape)):
        return []
    groups = shape.constraints.groups
    needed = max(pricing_bytes(shape, group, given.n_jobs) for group in groups)
    remedy = _PRICED_LIST if settings.lists_networks else _PRICING
    return [remedy] if needed <= given.available else []


def _least_memory(shape: Shape, resources: Resources, settings: SearchSettings) -> int:
    """Return the fewest bytes with which the search of each group fits."""
    nothing = replace(resources, allowed=0)
    if resources.cluster is None:
        nothing = replace(nothing, available=0)
    least = 0
    for group in shape.constraints.groups:
        try:
            _plan_group(shape, group, nothing, settings)
        except TooLargeError as error:
            least = max(least, error.needed)
    return least
