"""The planner: which search fits in memory, and what can be done if none does.

For each group of columns the engine of dynamic programming is taken that fits in memory and takes
least time. If none fits, branch and cut takes families that are listed. The order search takes the
place of both where it is asked for.
"""

import math
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from skbn._core.resources import Resources, duration
from skbn._core.text import readable_size
from skbn._exact.plan import TooLargeError, space_of_scratch
from skbn._scores.families import SmallFamilies
from skbn._solver.branch_engine import (
    branch_and_cut_bytes,
    lists_take_too_long,
    plan_branch_and_cut,
)
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

# The local scores of a dense search that a thread makes in a second, roughly, as measured; and the
# seconds from which on a search is long, and up to which the search of a few columns is short.
_WORK_A_SECOND, LONG, _SHORT = 5e8, 60.0, 0.3
# If two engines would take equally long, the first is used.
ENGINES: tuple[Engine, ...] = (plan_listed_search, plan_dense_search)
# The max_parents that a refusal proposes for branch and cut: with more than three, a proof for many
# columns is out of reach.
_FEW_PARENTS = 2
_LOWER_LIMIT = (
    f"set max_parents to a small number, such as {_FEW_PARENTS} (of the LocalScoreTransformer, if "
    "there is one)"
)
RAISE_MEMORY = "raise max_memory above the memory needed"
SMALL_TIERS = "set tiers of few columns and a small max_parents"
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
    """The searches of all groups of columns."""

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

    Raises ValueError if a search does not fit in memory: what the largest one needs, and what can
    be done; ImportError if branch and cut is needed, and highspy is not installed.
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
        if shape.n_walks > 1 and settings.is_exact:
            for search in searches:
                _require_time(search, shape.n_walks, resources)
        return Plan(searches)
    largest = max(refusals, key=lambda error: error.needed)
    remedies = ", or ".join(_remedies(shape, resources, settings, largest.needed))
    way_out = ""
    if settings.lists_networks:
        way_out = _NOT_LISTED if shape.families.are_listed and not can_price(shape) else ""
    elif settings.is_exact:
        has_limit = resources.time_limit is not None and not shape.families.are_listed
        by_regressions = shape.tables is not None and not can_price(shape)
        way_out = (_NOT_PRICED if has_limit and by_regressions else "") + _NOT_EXACT
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
    for plan in _proofs(shape, group, resources, settings):
        try:
            other = plan(shape, group, resources, settings)
        except TooLargeError as error:
            refusal = min(refusal, error, key=lambda each: each.needed)
        else:
            if other is not None:
                return other
    raise refusal


def _proofs(
    shape: Shape, group: Group, resources: Resources, settings: SearchSettings
) -> list[Engine]:
    """Return what may prove a network of many columns, the first choice first."""
    if settings.lists_networks:
        return [plan_pricing]
    proofs: list[Engine] = [plan_branch_and_cut, plan_pricing]
    is_late = can_price(shape) and lists_take_too_long(shape, group, resources)
    return proofs[::-1] if is_late else proofs


def _require_time(search: GroupSearch, n_walks: int, resources: Resources) -> None:
    """Raise if the walks that unknown targets take are expected to last too long."""
    limit = math.inf if resources.time_limit is None else resources.time_limit
    seconds = expected_seconds(search.cost(), resources)
    if seconds > limit and not search.heeds_time_limit:
        raise ValueError(
            f"The scores of all environments take {n_walks} walks through all sets of columns, "
            f"perhaps {duration(seconds)}, and time_limit allows {limit:g} s. Merge environments, "
            'each of which doubles the walks, raise time_limit, or set search="order", which is '
            "not proven."
        )


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


def _remedies(
    shape: Shape, resources: Resources, settings: SearchSettings, needed: int
) -> list[str]:
    """Say what makes the searches fit, or does without them, of which the largest needs memory."""
    if resources.cluster is not None:
        can_raise = resources.allowed is not None and needed <= resources.cluster.n_bytes
        return [RAISE_MEMORY if can_raise else "take workers with more memory"]
    n_bytes, _ = resources.beside(0)
    constraints, families, n_jobs = shape.constraints, shape.families, resources.n_jobs
    m, groups = len(constraints.allowed), constraints.groups
    remedies = [RAISE_MEMORY] if n_bytes < needed <= resources.available else []
    if not settings.is_exact:
        return [*remedies, "leave out columns"]
    needed = max(pricing_bytes(shape, group, n_jobs) for group in groups)
    if resources.time_limit is None and can_price(shape) and needed <= n_bytes:
        remedies.append(_PRICED_LIST if settings.lists_networks else _PRICING)
    if not settings.lists_networks:
        may_use_folder = resources.scratch is None and not families.are_listed and len(groups) == 1
        may_use_folder &= shape.n_row_groups == 1  # others stay in memory
        space = space_of_scratch(m, n_bytes) if may_use_folder else None
        if space:
            size = readable_size(space)
            remedies.append(f"give GaussianBNLearner a folder with {size} of space as scratch")
        few = shape._replace(families=SmallFamilies(m, _FEW_PARENTS))
        most_required = max(mask.bit_count() for mask in constraints.required)
        may_lower = constraints.max_parents > _FEW_PARENTS >= most_required
        needed = max(branch_and_cut_bytes(few, group, n_jobs) for group in groups)
        if may_lower and not families.are_given and needed <= n_bytes:
            remedies.append(_LOWER_LIMIT)
    return [*remedies, SMALL_TIERS, "leave out columns"]
