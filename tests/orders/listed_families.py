"""Random lists of families, as sets for the reference and as arrays for the kernels."""

import pickle
from functools import cache

import numpy as np
import reference

from skbn._orders.family_lists import FamilyLists
from skbn._orders.insertion_kernels import choose_families, state_of

MISSING = -1000.0


class Listed:
    """Families that are drawn, and an order; the state of the kernels is compared with it.

    Parameters
    ----------
    m : int
    n : int
        Families drawn for each child; the family without parents is one more.
    most : int
        The number of parents of each is drawn up to this one.
    first : int
        The first columns have the family without parents only.
    has_empty : bool
        Whether all children have the family without parents.
    has_all : bool
        Whether all children have the family of all other columns, which has a low score.
    """

    def __init__(self, seed, m, n, most=3, first=0, has_empty=True, has_all=False):
        self.rng = np.random.default_rng(seed)
        self.m, self.first = m, first
        drawn = [self._draw(x, n, most, has_empty, has_all) for x in range(m)]
        self.families = [
            sorted(each.items(), key=lambda pair: pair[1], reverse=True) for each in drawn
        ]
        self.listed = FamilyLists(m, MISSING)
        for x, each in enumerate(drawn):
            self.add(x, each)
        self.lists = self.listed.arrays()

    def _draw(self, x, n, most, has_empty, has_all):
        if x < self.first:
            return {frozenset(): 0.0}
        others = np.delete(np.arange(self.m), x)
        drawn = {frozenset(): self.rng.normal()} if has_empty else {}
        if has_all:
            drawn[frozenset(others.tolist())] = -20.0
        for _ in range(n):
            size = self.rng.integers(1, most + 1)
            parents = self.rng.choice(others, size, replace=False).tolist()
            drawn[frozenset(parents)] = size + 3 * self.rng.normal()
        return drawn

    def add(self, x, families):
        columns = sorted(set().union(*families))
        sets = np.array([[y in parents for y in columns] for parents in families], dtype=bool)
        sets = sets.reshape(len(families), len(columns))
        self.listed.add(x, columns, sets, np.array([*families.values()]))

    def draw_order(self):
        later = self.first + self.rng.permutation(self.m - self.first)
        return np.concatenate([np.arange(self.first), later])

    def start(self):
        """Return the state of a random order, with nothing marked."""
        state = state_of(self.draw_order(), self.lists)
        choose_families(self.lists, state)
        return state

    def score(self, order):
        return reference.score_of_order(self.families, list(order), MISSING)

    def chosen(self, state, x):
        family = state.chosen[x]
        return self.lists.scores[family], frozenset(self.listed.parents(self.lists, x, family))

    def assert_follows(self, state):
        """Compare all that a state holds with what its order says."""
        order = state.order.tolist()
        assert sorted(order) == list(range(self.m))
        assert order[: self.first] == list(range(self.first))
        for i, x in enumerate(order):
            assert state.position[x] == i
            before = {*order[:i]}
            expected = reference.best_family(self.families, x, before, MISSING)
            assert self.chosen(state, x) == expected
            available = {
                int(y)
                for bit, y in enumerate(self.lists.columns[x])
                if int(state.available[x, bit // 64]) >> bit % 64 & 1
            }
            assert available == before & set().union(*(parents for parents, _ in self.families[x]))


def fresh(make, *given):
    """Return families that a function draws once, as they were before any use."""
    return pickle.loads(_pickled(make, *given))


@cache
def _pickled(make, *given):
    return pickle.dumps(make(*given))


def random_states(seed, n=1):
    """The generators of a kernel."""
    return np.random.default_rng(seed).integers(0, 2**64, size=n, dtype=np.uint64)
