"""How the sums over networks lay out their memory, and which prior is affordable.

A group of columns is summed over all families, or over a list of those with few parents if that
takes less time. A list needs no table of all sets of the columns and the others that may be their
parents, so that there may be many others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from skbn._core.arrays import BYTES, Names
from skbn._core.resources import Resources
from skbn._core.subsets import members_of, n_small_subsets
from skbn._core.text import first_few, readable_count, readable_size, readable_sizes
from skbn._exact.plan import SearchPlan
from skbn._regressions.log_determinants import log_determinants_work
from skbn._regressions.small_walk import WORK_OF_SMALL_SET
from skbn._solver.constraints import Constraints, Group
from skbn._solver.planner import RAISE_MEMORY, SMALL_TIERS
from skbn._solver.problem import Shape

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
# A task of the uniform prior's sums over several sets of outer columns hands over at most this many
# numbers, 32 MB; see `network_sums`.
NUMBERS_HANDED_OVER = 1 << 22
# In units of one local score of a search, for each time that the families are gone through.
WORK_OF_LISTED_FAMILY = 40
# Numbers for each family of a child while it is weighed: scores, masks and products.
_NUMBERS_A_FAMILY = 4
# If a column may have more parents, its families are not listed, whatever the memory.
_MOST_PARENTS_LISTED = 40


class Listing(NamedTuple):
    """The families of a group, if they are listed."""

    max_parents: int
    n_families: int  # the number of families of all columns of the group
    largest: int  # the most families of one column
    n_log_determinants: int
    work: int  # about how long it takes to score them, in units of one local score of a search


@dataclass(frozen=True)
class GroupPlan:
    """The sums over the networks of one group of columns."""

    group: Group
    prior: str
    # how the tables are laid out, which the sums share with the search. Listed families have a
    # layout without others.
    layout: SearchPlan
    n_threads: int
    # None if the weights of all families follow from tables of all sets
    listing: Listing | None = None
    # how many such tables there are, or of log-determinants of listed families: more than one if
    # columns have rows of their own
    n_tables: int = 1
    n_walks: int = 1  # as `Shape` has it

    @property
    def columns(self) -> list[int]:
        """The group's columns, then the others that may be their parents."""
        return self.group.columns + self.group.others

    @property
    def n_bytes(self) -> int:
        """Memory of all tables."""
        n, size = len(self.group.columns), 1 << len(self.group.columns)
        if self.prior == "uniform":
            # F, R, M and Z, what threads hand over, and for each column two tables of size / 2.
            numbers = (4 + n) * size + 2 * self.n_threads * min(NUMBERS_HANDED_OVER, 32 * size)
        else:
            # F and R; first the slab, and then gamma of one column for each thread.
            of_gamma = self.n_threads * size // 2
            numbers = 2 * size + max(self.layout.slab_size, of_gamma)
        if self.listing is not None:
            of_child = _NUMBERS_A_FAMILY * min(n, self.n_threads) * self.listing.largest
            numbers = max(numbers, self.n_tables * self.listing.n_log_determinants) + of_child
        return BYTES * (self._n_kept_weights + numbers)

    @property
    def n_bytes_kept(self) -> int:
        """Memory of the tables that methods of the posterior use later."""
        n, size = len(self.group.columns), 1 << len(self.group.columns)
        of_sums = size + n * size // 2 if self.prior == "uniform" else 2 * size
        return BYTES * (self._n_kept_weights + of_sums)

    @property
    def _n_kept_weights(self) -> int:
        """How many numbers say what the families weigh: log-determinants, or weights."""
        if self.listing is not None:
            return self.listing.n_families
        return self.n_tables << len(self.columns)

    @property
    def described_columns(self) -> str:
        """The columns in words."""
        columns, others = self.group
        return SearchPlan(len(columns), 0, n_others=len(others)).described_columns

    def __str__(self) -> str:
        parts = f" in {1 << self.layout.n_outer} parts" if self.layout.n_outer else ""
        n_listed = readable_count(self.listing.n_families) if self.listing else ""
        listed = f", {n_listed} families listed" if n_listed else ""
        return f"{self.described_columns}{parts}{listed}: {readable_size(self.n_bytes)} of memory"


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
    shape: Shape, prior: str, resources: Resources, names: Names, instead: Sequence[str] = ()
) -> PosteriorPlan:
    """Choose the prior, if it is "auto", and plan the sums of each group of columns.

    `names`: what errors call the columns
    `instead`: what the caller can do without these sums
    """
    n_bytes, limit = resources.beside(shape.n_bytes)
    n_threads = resources.n_threads
    found = _plan(shape, prior, n_bytes, n_threads)
    if found.n_bytes <= n_bytes:
        return found
    largest = max(found.groups, key=lambda plan: plan.n_bytes)
    among = ""
    if len(found.groups) > 1:
        members = first_few([names[x] for x in largest.group.columns])
        among = f", the largest of {len(found.groups)} groups, [{members}],"
    needed, given = readable_sizes(found.n_bytes, n_bytes)
    remedies = [*instead]
    if n_bytes < found.n_bytes <= resources.available:
        remedies.append(RAISE_MEMORY)
    if found.prior == "uniform" and _plan(shape, "order", n_bytes, n_threads).n_bytes <= n_bytes:
        remedies.append("set structure_prior to 'order'")
    remedies += [SMALL_TIERS, "leave out columns"]
    advice = ", or ".join(remedies)
    raise ValueError(
        f"The posterior of {largest.described_columns}{among} with the {found.prior} prior needs "
        f"{needed} of memory, and {given} {limit}. {advice[0].upper()}{advice[1:]}."
    )


def sums_fit(shape: Shape, prior: str, resources: Resources) -> bool:
    """Whether the sums fit in memory, and those of the uniform prior take no more than minutes."""
    n_bytes, _ = resources.beside(shape.n_bytes)
    found = _plan(shape, prior, n_bytes, resources.n_threads)
    n_steps = sum(3 ** len(group.columns) for group in shape.constraints.groups)
    is_quick = found.prior == "order" or n_steps <= UNIFORM_LIMIT
    return found.n_bytes <= n_bytes and is_quick


def _plan(shape: Shape, prior: str, n_bytes: int, n_threads: int) -> PosteriorPlan:
    """Return the plan, which may need more memory than there is."""
    constraints = shape.constraints
    groups, modelled = constraints.groups, constraints.modelled
    n_steps = sum(3 ** len(group.columns) for group in groups)
    if prior != "order" and (prior == "uniform" or n_steps <= UNIFORM_LIMIT):

        def uniform(groups: list[Group]) -> PosteriorPlan:
            given = shape, "uniform", 0, n_bytes, n_threads
            return PosteriorPlan("uniform", [_group_plan(each, *given) for each in groups])

        whole = None
        if len(modelled) <= _MOST_IN_ONE_GROUP:
            others = 0
            for x in modelled:
                others |= constraints.allowed[x] & constraints.exogenous
            whole = uniform([Group(modelled, members_of(others))])
        if whole is not None and whole.n_bytes <= n_bytes:
            return whole
        found = uniform(groups)
        if prior == "uniform" or found.n_bytes <= n_bytes:
            return found
    plans = [_order_plan(group, shape, n_bytes, n_threads) for group in groups]
    return PosteriorPlan("order", plans)


def _group_plan(
    group: Group, shape: Shape, prior: str, n_outer: int, n_bytes: int, n_threads: int
) -> GroupPlan:
    """Return the plan that takes less time, with all families or with listed ones.

    It is the other one if only that fits in memory.
    """
    n, n_others = len(group.columns), len(group.others)
    dense = SearchPlan(n, n_outer, n_others=n_others)
    n_tables = shape.n_functions * shape.n_row_groups
    plans = [GroupPlan(group, prior, dense, n_threads, n_tables=n_tables, n_walks=shape.n_walks)]
    listing = _listing(group, shape.constraints)
    if listing is not None:
        listed = GroupPlan(group, prior, SearchPlan(n, n_outer), n_threads, listing, n_tables)
        # The families are gone through twice more, for alpha and for the edges.
        work = listing.work + 2 * WORK_OF_LISTED_FAMILY * listing.n_families
        plans.insert(0 if work < _dense_work(dense) else 1, listed)
    return next((plan for plan in plans if plan.n_bytes <= n_bytes), plans[0])


def _dense_work(layout: SearchPlan) -> int:
    """Return about how long it takes to score all families and to find their alpha."""
    n_sets = layout.n_columns + layout.n_others
    return log_determinants_work(n_sets) + layout.n_columns * (6 << n_sets)


def _listing(group: Group, constraints: Constraints) -> Listing | None:
    """Return which families a group has; None if a child may have almost any parents."""
    columns = group.columns
    n_positions = len(columns) + len(group.others)
    most = max(min(constraints.max_parents, constraints.allowed[x].bit_count()) for x in columns)
    if most > _MOST_PARENTS_LISTED:
        return None
    n_families = [
        n_small_subsets(
            (constraints.allowed[x] & ~constraints.required[x]).bit_count(),
            constraints.max_parents - constraints.required[x].bit_count(),
        )
        for x in columns
    ]
    n_sets = n_small_subsets(n_positions, most + 1)
    work = WORK_OF_SMALL_SET * n_sets + WORK_OF_LISTED_FAMILY * sum(n_families)
    return Listing(most, sum(n_families), max(n_families), n_sets, work)


def _order_plan(group: Group, shape: Shape, n_bytes: int, n_threads: int) -> GroupPlan:
    """Return the plan with the fewest outer columns that fits, or else the leanest."""
    n = len(group.columns)
    fewest = 2 + (n - _FIRST_TO_SPLIT) // 2 if n >= _FIRST_TO_SPLIT else 0
    most = max(fewest, min(_MOST_OUTER_COLUMNS, n - 2))
    for n_outer in range(fewest, most + 1):
        plan = _group_plan(group, shape, "order", n_outer, n_bytes, n_threads)
        if plan.n_bytes <= n_bytes:
            break
    return plan
