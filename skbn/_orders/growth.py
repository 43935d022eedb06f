"""FamilyGrowth: where the lists of an order search get their families from, if scores are local."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from skbn._core.addresses import address_of
from skbn._core.arrays import Booleans, Floats, Integers
from skbn._core.resources import Threads
from skbn._orders.family_lists import FamilyLists
from skbn._orders.growth_kernels import GrownSets, Growth, grow_for_insertions, grow_parents
from skbn._orders.insertion_kernels import State, choose_families, state_of
from skbn._orders.list_kernels import ListArrays
from skbn._orders.placement import PlacementSearch
from skbn._orders.refit_kernels import family_scratch, refit_parents, select_forward
from skbn._orders.regression_kernels import LEAST_PIVOT, Regressions, Subsets, score_subsets

GROWTH_KERNELS = (
    *(refit_parents, grow_parents, choose_families, grow_for_insertions),
    *(score_subsets, select_forward),
)

# The logarithm of how many families are scored at first, from 2**20 to 2**21 in all: those of the
# columns that explain most of each child. Up to 17 columns, these are all families.
_FIRST_FAMILIES = 20
# Each child keeps this many of them, the best, and all of at most two parents (beside the required
# ones), which fit many orders.
_MOST_FIRST = 1500
_FEW_PARENTS = 2
# When families have been grown, all 2**8 families of the columns that most of them have are scored.
_LATER_CANDIDATES = 8
# All subsets of a family that was found without lists are listed, if it has at most this many
# parents.
_MOST_SUBSETS = 12
# If columns leave next to nothing of a child, all families of this many of them are scored by
# regressions of their own, which takes a millisecond for 2**4.
_MOST_DEPENDENT = 4
# The most families of a child that are grown for one order; others wait for the next time.
_MOST_GROWN = 1000


GrownFor = tuple[bytes, bytes]


class Grown(NamedTuple):
    """Families of a child: which of some columns are the parents, and the scores."""

    child: int
    columns: list[int]
    sets: Booleans
    scores: Floats


class FamilyGrowth:
    """Grows the families of all columns, and lists them.

    `local_score`: returns the score of a child and its parents by a regression of its own; raises
        ValueError if they are linearly dependent. It is for columns that the products cannot tell
        apart.

    `has_placement`: whether a search can begin without lists
    """

    has_placement = True

    def __init__(
        self,
        regressions: Regressions,
        max_parents: int,
        least: float,
        local_score: Callable[[int, list[int]], float],
    ) -> None:
        self.regressions = regressions
        self._local_score = local_score
        self._max_parents = max_parents
        self._least = least
        self._movable = np.flatnonzero(regressions.may_be_parent.any(axis=1))

    def placement(self, first: int) -> PlacementSearch:
        """Return a search from a new start that needs no lists; the first columns stay."""
        return PlacementSearch(self.regressions, first, self._max_parents, self._least)

    def list_family(
        self, lists: FamilyLists, x: int, parents: list[int], *, has_subsets: bool
    ) -> None:
        """List a family and its subsets; or it alone, and the one of the required parents."""
        required = np.flatnonzero(self.regressions.must_be_parent[x])
        free = np.setdiff1d(parents, required).astype(np.int64)
        if has_subsets and len(free) <= _MOST_SUBSETS:
            lists.add(*self._undominated(x, required, free))
            return
        for fixed in (required, np.concatenate([required, free])):
            lists.add(*self._undominated(x, fixed, free[:0]))

    def list_first(
        self, lists: FamilyLists, children: Integers, threads: Threads, is_over: Callable[[], bool]
    ) -> None:
        """Give each child the families of the columns that explain most of it.

        Once it is over, no further columns get families.
        """
        self._extend(lists, partial(self._first, is_over), children, threads)

    def grow(
        self,
        lists: FamilyLists,
        arrays: ListArrays,
        order: Integers,
        threads: Threads,
        is_over: Callable[[], bool],
        grown_for: dict[int, GrownFor],
    ) -> int:
        """Grow families for an order and its insertions; return how many were missing.

        See `grow_for_insertions`. Once it is over, no further columns get families. A child is left
        out if neither its family nor the columns of its list that precede it have changed since it
        was grown for what `grown_for` says of it, which is updated.
        """
        state = state_of(order, arrays)
        choose_families(arrays, state)
        now = {x: _grown_for(arrays, state, x) for x in self._movable.tolist()}
        changed = [x for x in now if grown_for.get(x) != now[x]]
        grown = partial(self._grown, is_over, arrays, state)
        n = self._extend(lists, grown, np.array(changed, dtype=np.int64), threads)
        if not is_over():
            grown_for.update(now)
        return n

    def _extend(
        self,
        lists: FamilyLists,
        families_of: Callable[[Integers], list[Grown]],
        children: Integers,
        threads: Threads,
    ) -> int:
        parts = [(part,) for part in threads.split(children)]
        n = 0
        for part in threads.map(families_of, parts):
            for families in part:
                lists.add(*families)
                n += len(families.scores)
        return n

    def _first(self, is_over: Callable[[], bool], children: Integers) -> list[Grown]:
        family, selected = family_scratch(self._m, self._m), np.empty(self._m, dtype=np.int64)
        listed = []
        n_candidates = _FIRST_FAMILIES - self._m.bit_length() + 1
        for x in children:
            if is_over():
                break
            n_required = int(self.regressions.must_be_parent[x].sum())
            n = min(n_required + n_candidates, self._m)
            n = select_forward(self.regressions, family, x, n, selected)
            if family.left[x] < LEAST_PIVOT:
                listed.append(
                    self._nearly_dependent(x, selected[:n_required], selected[n_required:n])
                )
            families = self._undominated(x, selected[:n_required], selected[n_required:n])
            rank = np.argsort(np.argsort(-families.scores))
            is_small = families.sets.sum(axis=1) <= n_required + _FEW_PARENTS
            kept = (rank < _MOST_FIRST) | is_small
            listed.append(families._replace(sets=families.sets[kept], scores=families.scores[kept]))
        return listed

    def _grown(
        self, is_over: Callable[[], bool], arrays: ListArrays, state: State, children: Integers
    ) -> list[Grown]:
        width = max(1, min(self._max_parents, self._m))
        found = GrownSets(
            np.empty((_MOST_GROWN, width), dtype=np.int16),
            np.empty(_MOST_GROWN),
            np.empty((1, arrays.sets.shape[1]), dtype=np.int64),
        )
        growth = self._growth()
        grown = []
        for x in children:
            if is_over():
                break
            n = grow_for_insertions(arrays, state, growth, found, x)
            if n == 0:
                continue
            is_parent = np.zeros((n, self._m + 1), dtype=bool)
            is_parent[np.arange(n)[:, np.newaxis], found.parents[:n]] = True  # -1 is the last
            n_families = is_parent[:, :-1].sum(axis=0)
            columns, scores = np.flatnonzero(n_families), found.scores[:n].copy()
            grown.append(Grown(x, columns.tolist(), is_parent[:, columns], scores))
            required = np.flatnonzero(self.regressions.must_be_parent[x])
            n_families[required] = 0
            most = np.argsort(-n_families, kind="stable")[:_LATER_CANDIDATES]
            grown.append(self._undominated(x, required, most[n_families[most] > 0]))
        return grown

    def _undominated(self, x: int, fixed: Integers, free: Integers) -> Grown:
        """Return the families of fixed parents and free ones that no smaller one of them beats."""
        k = len(free)
        columns = np.concatenate([free, [x], fixed])
        products = self.regressions.products[np.ix_(columns, columns)]
        stack = np.empty((k + 1, k + 1, k + 1))
        subsets = Subsets(np.empty(1 << k), np.empty(1 << k), products, np.empty(k + 1), stack)
        score_subsets(self.regressions, columns, k, self._max_parents, self._least, subsets)
        scores = subsets.scores
        kept = np.flatnonzero(scores > -np.inf)
        sets = np.ones((len(kept), k + len(fixed)), dtype=bool)
        sets[:, :k] = kept[:, np.newaxis] >> np.arange(k) & 1
        return Grown(int(x), [*free.tolist(), *fixed.tolist()], sets, scores[kept])

    def _nearly_dependent(self, x: int, fixed: Integers, free: Integers) -> Grown:
        """Return families of columns that leave next to nothing of the child."""
        free = free[:_MOST_DEPENDENT]
        columns = [*free.tolist(), *fixed.tolist()]
        sets = np.ones((1 << len(free), len(columns)), dtype=bool)
        sets[:, : len(free)] = np.arange(1 << len(free))[:, np.newaxis] >> np.arange(len(free)) & 1
        sets = sets[sets.sum(axis=1) <= self._max_parents]
        scores = [self._local_score(int(x), [*np.array(columns)[row]]) for row in sets]
        return Grown(int(x), columns, sets, np.array(scores))

    @property
    def _m(self) -> int:
        return len(self.regressions.products)

    def _growth(self) -> Growth:
        m = self._m
        return Growth(
            self.regressions,
            family_scratch(m, m),
            np.empty(m, dtype=np.int64),
            np.empty(m, dtype=np.int64),
            self._max_parents,
            self._least,
            address_of(grow_parents),
        )


def _grown_for(arrays: ListArrays, state: State, x: int) -> GrownFor:
    """Return what decides, mostly, to which families a child grows: what precedes it; its family.

    It ignores columns outside its list, and the order of those that follow it.
    """
    listed = arrays.columns[x]
    is_before = state.position[listed[listed >= 0]] < state.position[x]
    return is_before.tobytes(), arrays.sets[state.chosen[x]].tobytes()
