"""How the sums over networks lay out their memory, and which prior is affordable."""

from __future__ import annotations

from dataclasses import dataclass

from skbn._core.text import readable_size, readable_sizes
from skbn._exact.plan import SearchPlan
from skbn._solver.constraints import Constraints, Group

__all__ = ["UNIFORM_LIMIT", "GroupPlan", "PosteriorPlan", "plan_posterior"]

_BYTES = 8  # of a wide number
# The structure prior "auto" is uniform up to this many steps, 3**n for a group of n columns. Those
# of 22 columns take a minute on one core.
UNIFORM_LIMIT = 3**22
# Up to this many columns the uniform prior takes seconds with all columns in one group, and paths
# between any two columns are known then.
_MOST_IN_ONE_GROUP = 20
# From this many columns on there are two outer columns, and one more for each two columns. Each
# nearly halves the tables, and takes an eighth more time.
_FIRST_TO_SPLIT = 25
_MOST_OUTER_COLUMNS = 8
# How many numbers a task of the uniform prior's sums hands over at most; see `network_sums`.
_HANDED_OVER = 1 << 22


@dataclass(frozen=True)
class GroupPlan:
    """The sums over the networks of one group of columns.

    Parameters
    ----------
    group : Group
    prior : {"uniform", "order"}
    layout : SearchPlan
        How the tables are laid out, which the sums share with the search.
    n_threads : int
    """

    group: Group
    prior: str
    layout: SearchPlan
    n_threads: int

    @property
    def n_bytes(self) -> int:
        """Memory of all tables."""
        n, size = len(self.group.columns), 1 << len(self.group.columns)
        n_log_det = size << len(self.group.others)
        if self.prior == "uniform":
            # F, R, M and Z, what threads hand over, and for each column two tables of size / 2.
            handed_over = 2 * self.n_threads * min(_HANDED_OVER, 32 * size)
            numbers = n_log_det + (4 + n) * size + handed_over
        else:
            # F and R; first the slab, and then gamma of one column for each thread.
            of_gamma = self.n_threads * size // 2
            numbers = n_log_det + 2 * size + max(self.layout.slab_size, of_gamma)
        return _BYTES * numbers

    @property
    def n_bytes_kept(self) -> int:
        """Memory of the tables that methods of the posterior use later."""
        n, size = len(self.group.columns), 1 << len(self.group.columns)
        of_sums = size + n * size // 2 if self.prior == "uniform" else 2 * size
        return _BYTES * ((size << len(self.group.others)) + of_sums)

    def __str__(self) -> str:
        parts = f" in {1 << self.layout.n_outer} parts" if self.layout.n_outer else ""
        return f"{self.layout.described_columns}{parts}: {readable_size(self.n_bytes)} of memory"


@dataclass(frozen=True)
class PosteriorPlan:
    """The sums of all groups, and the prior over networks, "uniform" or "order"."""

    prior: str
    groups: list[GroupPlan]

    @property
    def n_bytes(self) -> int:
        """Memory of all tables, when most are there."""
        kept = most = 0
        for plan in self.groups:
            most = max(most, kept + plan.n_bytes)
            kept += plan.n_bytes_kept
        return most

    def __str__(self) -> str:
        largest = max(self.groups, key=lambda plan: plan.n_bytes)
        n = len(self.groups)
        sums = f"{n} groups, the largest: {largest}" if n > 1 else str(largest)
        return f"{self.prior} prior, {sums}"


def plan_posterior(
    constraints: Constraints, prior: str, n_bytes: int, limit: str, n_threads: int
) -> PosteriorPlan:
    """Choose the prior, if it is "auto", and plan the sums of each group of columns.

    Parameters
    ----------
    constraints : Constraints
    prior : {"uniform", "order", "auto"}
    n_bytes : int
        How much memory may be taken.
    limit : str
        What errors say after this number, such as "are available".
    n_threads : int

    Raises
    ------
    ValueError
        If the tables do not fit in memory: what they need, and what would fit.
    """
    groups = constraints.groups
    m = len(constraints.allowed)
    whole = [Group(list(range(m)), [])]
    n_steps = sum(3 ** len(group.columns) for group in groups)
    if prior == "order" or (prior == "auto" and n_steps > UNIFORM_LIMIT):
        plans = [_order_plan(group, n_bytes, n_threads) for group in groups]
        chosen = "order"
    else:
        chosen = "uniform"
        plans = [
            GroupPlan(group, chosen, _layout_of(group, 0), n_threads)
            for group in (whole if m <= _MOST_IN_ONE_GROUP else groups)
        ]
        if prior == "auto" and PosteriorPlan(chosen, plans).n_bytes > n_bytes:
            return plan_posterior(constraints, "order", n_bytes, limit, n_threads)
    found = PosteriorPlan(chosen, plans)
    if found.n_bytes > n_bytes:
        largest = max(plans, key=lambda plan: plan.n_bytes)
        columns = largest.layout.described_columns
        among = f", of {len(plans)} groups," if len(plans) > 1 else ""
        needed, given = readable_sizes(found.n_bytes, n_bytes)
        raise ValueError(
            f"The posterior of {columns}{among} with the {chosen} prior needs {needed} of memory, "
            f"and {given} {limit}. {_what_would_fit(chosen, n_bytes)}"
        )
    return found


def _layout_of(group: Group, n_outer: int) -> SearchPlan:
    return SearchPlan(len(group.columns), n_outer, n_others=len(group.others))


def _order_plan(group: Group, n_bytes: int, n_threads: int) -> GroupPlan:
    """Return the plan with the fewest outer columns that fits, or else the leanest."""
    n = len(group.columns)
    fewest = 2 + (n - _FIRST_TO_SPLIT) // 2 if n >= _FIRST_TO_SPLIT else 0
    most = max(fewest, min(_MOST_OUTER_COLUMNS, n - 2))
    for n_outer in range(fewest, most + 1):
        plan = GroupPlan(group, "order", _layout_of(group, n_outer), n_threads)
        if plan.n_bytes <= n_bytes:
            break
    return plan


def _what_would_fit(prior: str, n_bytes: int) -> str:
    """Say how many columns fit in memory, with this prior and with the order prior."""

    def fits(n: int, prior: str) -> bool:
        group = Group(list(range(n)), [])
        if prior == "order":
            return _order_plan(group, n_bytes, 1).n_bytes <= n_bytes
        return GroupPlan(group, prior, _layout_of(group, 0), 1).n_bytes <= n_bytes

    def most(prior: str) -> int:
        return max((n for n in range(2, 40) if fits(n, prior)), default=0)

    remedy = "Give tiers, or leave out columns"
    if most(prior) >= 2:
        remedy += f" until {most(prior)} or fewer may be in any order"
    if prior == "uniform" and most("order") > most("uniform"):
        remedy += f"; structure_prior='order' fits up to {most('order')} columns"
    return f"{remedy}."
