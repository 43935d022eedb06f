"""Branch and cut as an engine: a proof for columns that are too many for dynamic programming.

It takes families that are listed: those of a file, or those of few parents. The order search finds
a network to begin with, of which the proof often shows that it is the best already.
"""

from __future__ import annotations

import math
import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from skbn._branch_and_cut.checker_kernels import CHECKER_KERNELS
from skbn._branch_and_cut.proof import FamilyCosts
from skbn._core.arrays import S2, Floats, Integers, Names, ShortIntegers
from skbn._core.exact_sums import lower_sum, two_sum, upper_sum
from skbn._core.resources import (
    ENDED_BY_USER,
    IsOver,
    Progress,
    Resources,
    count_threads,
    duration,
)
from skbn._core.subsets import bits_of_rows, mask_of, members_of, n_small_subsets
from skbn._core.text import readable_size, readable_value
from skbn._exact.plan import TooLargeError
from skbn._orders.list_kernels import find_dominated
from skbn._regressions.set_function import SCORE_ACCURACY, score_tolerance
from skbn._solver.constraints import Group
from skbn._solver.engines import GroupSearch, SearchSettings
from skbn._solver.order_engine import (
    NoNetworkError,
    order_search_bytes,
    plan_order_search,
    settling,
)
from skbn._solver.problem import Found, Problem, Shape

# Longer lists are taken with their dominated families: to find these takes quadratic time.
_LONGEST_TO_COMPARE = 20_000
# In nats: families that cost more are left out if that is more than the whole network costs.
_MUCH = 1e6
# Beyond such costs the linear program cannot tell apart what differs by a few nats.
_LARGEST_COST = 1e15


class BranchFamilies(NamedTuple):
    """The families that branch and cut chooses from, and what they are in the user's table."""

    # the group's columns by position, the local scores negated as costs. Parents of other groups
    # are left out: they are in no cycle
    families: FamilyCosts
    parents: S2  # (n_families, width): all parents, by their numbers in the table
    columns: list[int]  # the group's columns

    def relative_to(self, network: Integers) -> FamilyCosts:
        """Return the families, with the cost by which each is worse than the child's in a network.

        What all of a child's scores share is gone then, and a network nearly as good as this one
        costs nearly nothing, so that sums keep their digits.
        """
        families = self.families
        cost, rest = two_sum(families.cost, -families.cost[network][families.child])
        return families._replace(cost=cost, rest=rest)

    def without_costly(self, network: Integers, names: Names) -> tuple[BranchFamilies, Integers]:
        """Return the families without those that cost much, and more than the whole network.

        No better network has them, and next to large numbers small ones lose their digits.
        """
        families = self.families
        below = families.cost - families.cost[families.start[:-1]][families.child]
        # Twice as much is beyond all rounding.
        keep = below <= max(_MUCH, 2.0 * float(below[network].sum()))
        worst = int(np.argmax(np.where(keep, below, -1.0)))
        if below[worst] > _LARGEST_COST:
            name = names[self.columns[families.child[worst]]]
            parents = [names[p] for p in self.parents[worst] if p >= 0]
            raise ValueError(
                f"Column {name!r} has a local score of {-families.cost[worst]:.6g} with the "
                f"parents {readable_value(parents)}, {below[worst]:.3g} nats below its best one, "
                "and a network may need it. Branch and cut proves nothing next to numbers beyond "
                "1e15: leave out of the lists what no network should have, or rule it out by "
                "forbidden_edges."
            )
        place = np.concatenate([[0], np.cumsum(keep)])
        start, cost, own, child, rest = families
        kept = FamilyCosts(place[start], cost[keep], own[keep], child[keep], rest[keep])
        return BranchFamilies(kept, self.parents[keep], self.columns), place[network]

    def network_of(self, parents: Sequence[int]) -> Integers:
        """Return the best families with parents among those of a network's columns."""
        families = self.families
        chosen = families.start[:-1].copy()
        is_own = np.zeros(len(self.columns) + 1, dtype=bool)
        is_own[-1] = True  # stands for parents that a family lacks
        for x, mask in enumerate(parents):
            is_own[:-1] = [mask >> column & 1 for column in self.columns]
            rows = families.parents[families.start[x] : families.start[x + 1]]
            fits = is_own[rows].all(axis=1)
            chosen[x] += int(np.argmax(fits))
            assert fits.any()
        return chosen

    def any_network(self) -> Integers | None:
        """Return the families of some network; None if each choice of families has a cycle.

        Columns are placed one after the other, whichever has a family with all parents placed
        before: if no column has one, those left only have families with parents among themselves.
        """
        families = self.families
        m = len(self.columns)
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


def list_families(
    problem: Problem, group: Group, resources: Resources, require_memory: Callable[[int, int], None]
) -> BranchFamilies:
    """Return the families of all columns of a group.

    `require_memory`: raises a ValueError if this number of families, of this width, does not fit in
        memory, because more are undominated than expected
    """
    start, children, parents, cost, own = [0], [], [], [], []
    with resources.threads() as threads:
        found = threads.map(_list_child, [(problem, group, x) for x in group.columns])
        for child, each in enumerate(found):
            parents.append(each[0])
            cost.append(-each[1])
            own.append(each[2])
            start.append(start[-1] + len(each[1]))
            children.append(np.full(len(each[1]), child, dtype=np.int16))
            require_memory(start[-1], each[0].shape[1])
    families = FamilyCosts(
        np.array(start, dtype=np.int64),
        np.concatenate(cost),
        _stacked(own),
        np.concatenate(children),
        np.zeros(start[-1]),
    )
    return BranchFamilies(families, _stacked(parents), group.columns)


def _list_child(
    problem: Problem, group: Group, child: int
) -> tuple[ShortIntegers, Floats, ShortIntegers]:
    """Return a child's parents and scores, best first, and the parents within the group."""
    parents, local = problem.listed(child)
    best_first = np.lexsort(((parents >= 0).sum(axis=1), -local))
    best_first = best_first[local[best_first] > -np.inf]
    parents, local = parents[best_first], local[best_first]
    position = np.full(len(problem.names) + 1, -1, dtype=np.int16)  # the last for the padding
    position[group.columns] = np.arange(len(group.columns))
    own = position[parents]
    if group.others or problem.families.are_given:
        own = _padded_last(own)
        kept = undominated(own, len(group.columns))
        parents, local, own = parents[kept], local[kept], own[kept]
    width = max(1, int((own >= 0).sum(axis=1).max(initial=0)))
    return parents, local, _padded(own[:, :width], width)


def _padded(rows: ShortIntegers, width: int) -> ShortIntegers:
    """Return rows of at least `width` numbers, with -1 at their end."""
    more = max(0, width - rows.shape[1])
    return np.pad(rows, ((0, 0), (0, more)), constant_values=-1)


def _stacked(lists: list[ShortIntegers]) -> ShortIntegers:
    """Return the rows of all lists, of the same width."""
    width = max(rows.shape[1] for rows in lists)
    return np.ascontiguousarray(np.concatenate([_padded(rows, width) for rows in lists]))


def _padded_last(rows: ShortIntegers) -> ShortIntegers:
    """Return ascending rows with their -1 at the end."""
    last = np.iinfo(np.int16).max
    rows = np.sort(np.where(rows < 0, last, rows), axis=1)
    return np.where(rows == last, np.int16(-1), rows).astype(np.int16)


def undominated(rows: ShortIntegers, m: int) -> Integers:
    """Return which sets of parents, best first, are no supersets of earlier ones.

    From long lists, only repeated sets are left out.
    """
    sets = bits_of_rows(rows, m)
    _, firsts = np.unique(sets, axis=0, return_index=True)
    kept = np.sort(firsts)
    if len(kept) <= _LONGEST_TO_COMPARE:
        is_dominated = np.zeros(len(kept), dtype=bool)
        find_dominated(sets[kept].view(np.int64), np.ones(len(kept), dtype=bool), is_dominated)
        kept = kept[~is_dominated]
    return kept


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
# The seconds that a set's log-determinant takes, and a family of few parents while they are listed;
# and the share of a time limit that all families may take, so that a proof has some of it.
_SECONDS_OF_SET, _SECONDS_OF_FAMILY, _SHARE_TO_LIST = 1.7e-7, 6.5e-8, 0.5
# Nobody knows how long branch and cut takes. The progress has at most this share when it begins.
_SHARE_OF_PROGRESS = 0.1


def plan_branch_and_cut(
    shape: Shape, group: Group, resources: Resources, settings: SearchSettings
) -> GroupSearch | None:
    """Plan branch and cut of a group of columns; None if the scores are of all sets of parents.

    Raises TooLargeError if its families are not expected to fit in memory; ImportError if they are,
    and highspy is not installed.
    """
    families = shape.families
    if not families.are_listed:
        return None
    tables = f"the {_n_families(shape, group):,} families of branch and cut"
    n_bytes = branch_and_cut_bytes(shape, group, resources.n_jobs)
    search = _BranchAndCut(shape, group, resources, settings, n_bytes, tables)
    if lists_take_too_long(shape, group, resources):
        search.seconds_of_lists = seconds_of_lists(shape, group, resources)
        return search

    from skbn._branch_and_cut.branch_and_cut import BRANCH_AND_CUT_KERNELS

    search.kernels += find_dominated, *BRANCH_AND_CUT_KERNELS, *CHECKER_KERNELS, *families.kernels
    search.shared_work = families.work
    return search


def seconds_of_lists(shape: Shape, group: Group, resources: Resources) -> float:
    """Return about how long it takes to list a group's families; 0 if they are given."""
    families = shape.families
    if families.are_given:
        return 0.0
    m = len(shape.constraints.allowed)
    n_sets = shape.n_row_groups * n_small_subsets(m, families.max_parents + 1)
    seconds = _SECONDS_OF_SET * n_sets + _SECONDS_OF_FAMILY * _n_families(shape, group)
    return seconds / resources.n_threads


def lists_take_too_long(shape: Shape, group: Group, resources: Resources) -> bool:
    """Whether a time limit leaves no time for a proof once a group's families are listed."""
    limit = math.inf if resources.time_limit is None else resources.time_limit
    return seconds_of_lists(shape, group, resources) > _SHARE_TO_LIST * limit


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
    of_child = _BYTES_WHILE_LISTING * n_small_subsets(m - 1, families.max_parents)
    return (
        n_bytes
        + _bytes_of_families(int(_SHARE_UNDOMINATED * n_families), families.max_parents)
        + 8 * n_small_subsets(m, families.max_parents + 1)
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


def branch_and_cut(families: FamilyCosts, network: Integers, **settings: Any) -> Any:
    """Import and call the search of this name."""
    from skbn._branch_and_cut.branch_and_cut import branch_and_cut as search

    return search(families, network, **settings)


def what_to_expect(problem: Problem) -> str:
    """Say what makes a proof long: how much columns explain of each other, if that is known."""
    share = problem.explained()
    if share is None:
        return ""
    return (
        f"all other columns explain a median of {100 * share:.0f} % of a column's variance: the "
        "more, the longer a proof takes"
    )


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


class ProofSearch(GroupSearch):
    """The planned search of a group of columns for a network and a proof, after an order search.

    `n_bytes`: the memory that it is expected to take
    `tables`: what takes the memory

    Raises TooLargeError if there is less memory; ImportError if there is enough, and highspy is not
    installed.
    """

    heeds_time_limit = True
    _over = "branch and cut over"

    def __init__(
        self,
        shape: Shape,
        group: Group,
        resources: Resources,
        settings: SearchSettings,
        n_bytes: int,
        tables: str,
    ) -> None:
        n = len(group.columns)
        self._available, limit = resources.beside(shape.n_bytes)
        if n_bytes > self._available:
            columns = f"{n} columns" if n > 1 else "1 column"
            raise TooLargeError(columns, tables, n_bytes, self._available, limit)
        require_highspy(n)
        self._orders = plan_order_search(shape, group, resources, settings)
        self._group, self._settings = group, settings
        self.columns, self.n_bytes, self.kernels = group.columns, n_bytes, self._orders.kernels

    def __str__(self) -> str:
        size = readable_size(self.n_bytes)
        return f"{self._over} {len(self.columns)} columns: about {size} of memory"

    def cost(self) -> int:
        return int((self._orders.cost() + self.shared_work) / _SHARE_OF_PROGRESS)

    def begin(self, problem: Problem, resources: Resources) -> None:
        if resources.announce is not None and (expected := what_to_expect(problem)):
            resources.announce(expected)
        # The order search may take all the time: no other network of that time is better.
        resources = resources.reporting(Notes(resources.progress))
        try:
            self._by_orders: Found | None = self._orders.optimum(problem, resources)
        except NoNetworkError:
            self._by_orders = None

    def _unproven(self, why_ended: str, resources: Resources) -> Found:
        """Return the network of the order search, about which nothing is proven."""
        assert self._by_orders is not None
        resources.progress.advance(self.cost())
        return self._by_orders._replace(n_iter=0, start_losses=None, why_ended=why_ended)

    def optimum(self, problem: Problem, resources: Resources) -> Found:
        proven = self._proven(problem, resources.reporting(Notes(resources.progress)))
        if proven is None:
            return Found([], -np.inf, 0.0)
        parents, found = proven
        resources.progress.advance(self.cost())
        gap = max(0.0, upper_sum([found.cost, -found.bound]))
        is_late = settling(lambda: resources.is_over)
        optimum = self._climbed(problem, parents, gap, is_late)
        why_ended = "" if found.is_finished else found.why_ended
        if why_ended and self._orders.is_interrupted:
            why_ended = ENDED_BY_USER
        return optimum._replace(n_nodes=found.n_nodes, why_ended=why_ended)

    @abstractmethod
    def _proven(self, problem: Problem, resources: Resources) -> tuple[list[int], Any] | None:
        """Return the parents in the best network that was found, and what the search says of it.

        None if there is no acyclic network.
        """

    def _given(self, problem: Problem, resources: Resources, score: float) -> dict[str, Any]:
        """Return what a search takes that begins with a network of this score."""
        progress, scope = resources.progress, problem.scope

        def tell(cost: float, bound: float, note: int | str) -> None:
            proven = f"at most {max(0.0, cost - bound):.3g} below the best {scope}"
            note = f"{note:,} nodes" if isinstance(note, int) else note
            progress.tell(f"{score - cost:,.2f} nats, {proven}; {note}")

        return {
            "deadline": time.monotonic() if self._orders.is_interrupted else resources.deadline,
            "seed": self._settings.seed,
            "n_jobs": resources.n_jobs,
            "tell": tell,
        }

    def _climbed(self, problem: Problem, parents: list[int], gap: float, is_late: IsOver) -> Found:
        """Return a network with its gap; if that is more than the tolerance, it is climbed from."""
        columns = self.columns
        masks = zip(columns, parents, strict=True)
        terms = [problem.largest_term(x, members_of(mask)) for x, mask in masks]
        uncertainty = float((score_tolerance(terms) - SCORE_ACCURACY).sum())
        problem.require_certainty(columns, parents, uncertainty)
        own = problem.local_scores(columns, parents)
        is_proven = gap <= self._settings.tolerance
        if not is_proven:
            climbed = self._orders.climbed(problem, parents, is_late)
            better = problem.local_scores(columns, climbed)
            gain = lower_sum([*better, *(-own)])
            if gain > 0:
                parents, own, gap = climbed, better, max(0.0, upper_sum([gap, -gain]))
        score = math.fsum([*own, *(-problem.listed_offsets[columns])])
        return Found(parents, score, gap, is_settled=is_proven or not is_late())


class _BranchAndCut(ProofSearch):
    seconds_of_lists = 0.0  # if these are too many for the time limit

    def optimum(self, problem: Problem, resources: Resources) -> Found:
        if self.seconds_of_lists and self._by_orders is not None:
            listing = f"Listing the families of {len(self.columns):,} columns takes"
            return self._unproven(f"{listing} about {duration(self.seconds_of_lists)}.", resources)
        return super().optimum(problem, resources)

    def _proven(self, problem: Problem, resources: Resources) -> tuple[list[int], Any] | None:
        listed = list_families(problem, self._group, resources, self._require_memory)
        network = listed.any_network()
        if network is None:
            return None
        if self._by_orders is not None:
            network = listed.network_of(self._by_orders.parents)
        listed, network = listed.without_costly(network, problem.names)
        offsets = problem.score_offsets - problem.listed_offsets
        known = math.fsum(-listed.families.cost[network]) + float(offsets[self.columns].sum())
        found = branch_and_cut(
            listed.relative_to(network),
            network,
            tolerance=self._settings.tolerance,
            ends_on_interrupt=resources.keeps_best_on_interrupt,
            correlations=problem.correlations(self.columns),
            **self._given(problem, resources, known),
        )
        rows = listed.parents[found.chosen].tolist()
        return [mask_of(p for p in row if p >= 0) for row in rows], found

    def _require_memory(self, n_families: int, width: int) -> None:
        if BYTES_OF_SOLVER + _bytes_of_families(n_families, width) > self._available:
            raise ValueError(
                f"Branch and cut over {len(self.columns)} columns runs short of memory while it "
                f"lists their families: {n_families:,} so far. Set max_parents to less, or raise "
                "the penalty."
            )
