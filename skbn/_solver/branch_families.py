"""The families that branch and cut chooses from: the best first, without dominated ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from skbn._branch_and_cut.proof import FamilyCosts
from skbn._core.arrays import Floats, Integers, ShortIntegers
from skbn._core.exact_sums import two_sum
from skbn._core.resources import Resources
from skbn._core.text import readable_value
from skbn._orders.list_kernels import find_dominated
from skbn._solver.constraints import Group
from skbn._solver.problem import Problem

# Longer lists are taken with their dominated families: to find these takes quadratic time.
_LONGEST_TO_COMPARE = 20_000
_WORD = 64
# In nats: families that cost more are left out if that is more than the whole network costs.
_MUCH = 1e6
# Beyond such costs the linear program cannot tell apart what differs by a few nats.
_LARGEST_COST = 1e15


class BranchFamilies(NamedTuple):
    """The families that branch and cut chooses from, and what they are in the user's table.

    Parameters
    ----------
    families : FamilyCosts
        The group's columns by position, the local scores negated as costs. Parents of other groups
        are left out: they are in no cycle.
    parents : ndarray of shape (n_families, width), int16
        All parents, by their numbers in the table.
    columns : list of int
        The group's columns.
    """

    families: FamilyCosts
    parents: ShortIntegers
    columns: list[int]

    def relative_to(self, network: Integers) -> FamilyCosts:
        """Return the families with costs by which they are worse than those of a network.

        What all of a child's scores share is gone then, and a network nearly as good as this one
        costs nearly nothing, so that sums keep their digits.
        """
        families = self.families
        cost, rest = two_sum(families.cost, -families.cost[network][families.child])
        return families._replace(cost=cost, rest=rest)

    def without_costly(
        self, network: Integers, names: Sequence[str | int]
    ) -> tuple[BranchFamilies, Integers]:
        """Return the families without those that cost much, and more than all of the network.

        No better network has them, and next to large numbers small ones lose their digits.

        Raises
        ------
        ValueError
            If the largest cost that is left has too few digits for any proof.
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

    Parameters
    ----------
    problem : Problem
    group : Group
    resources : Resources
    require_memory : callable
        Raises a ValueError if so many families of such a width do not fit in memory: more are
        undominated than was expected.
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
