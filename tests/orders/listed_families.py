"""Random lists of families, as sets for the reference and as arrays for the kernels."""

import pickle
from functools import cache

import numpy as np
import reference

from skbn import BGe
from skbn._orders.family_lists import FamilyLists
from skbn._orders.insertion_kernels import choose_families, state_of
from skbn._orders.refit_kernels import family_scratch
from skbn._orders.regression_kernels import Regressions

MISSING, LEAST = -1000.0, 1e-6


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


# Regressions for the kernels of growth, from plain products of a table's columns


def products_of(rows):
    centred = rows - rows.mean(axis=0)
    scale = np.linalg.norm(centred, axis=0)
    return (centred / scale).T @ (centred / scale), 2 * np.log(scale)


def correlated_rows(rng, n, m):
    """Rows in which each column depends on a few of the earlier ones."""
    rows = rng.normal(size=(n, m))
    for x in range(1, m):
        parents = rng.choice(x, size=min(x, rng.integers(0, 4)), replace=False)
        rows[:, x] += rows[:, parents] @ rng.normal(size=len(parents))
    order = rng.permutation(m)
    return rows[:, order]


def bic_tables(n, m, penalty=1.0):
    """c, a0 and a1 of the log-likelihood less half a logarithm of n for each parent."""
    n_parents = np.arange(m)
    return np.array([-penalty * n_parents * np.log(n) / 2, np.full(m, n / 2), np.full(m, -n / 2)])


class Table:
    """A table, and what the kernels and the reference need to know of it.

    Parameters
    ----------
    is_bge : bool
        Whether the weights of the two log-determinants differ, as in BGe.
    has_units : bool
        Whether the log-determinants are of the columns in units of their own.
    share_required, share_forbidden : float
        Of all pairs of columns.
    """

    def __init__(
        self,
        rng,
        m,
        n=60,
        *,
        is_bge=False,
        has_units=False,
        share_required=0.0,
        share_forbidden=0.0,
    ):
        self.m, rows = m, correlated_rows(rng, n, m)
        self.products, offsets = products_of(rows * rng.uniform(0.1, 10, size=m))
        self.offsets = offsets if has_units else np.zeros(m)
        self.tables = BGe().tables(n, m) if is_bge else bic_tables(n, m)
        is_off_diagonal = ~np.eye(m, dtype=bool)
        self.must = is_off_diagonal & (rng.random((m, m)) < share_required)
        self.may = is_off_diagonal & (self.must | (rng.random((m, m)) >= share_forbidden))

    @property
    def regressions(self):
        tables = np.ascontiguousarray(self.tables)
        return Regressions(self.products, self.offsets, tables, self.may, self.must)

    def required(self, x):
        return {*np.flatnonzero(self.must[x]).tolist()}

    def allowed(self, x):
        return {*np.flatnonzero(self.may[x]).tolist()}

    def score(self, x, parents):
        parameters = self.products, self.offsets, self.tables
        return reference.family_score(*parameters, x, parents)

    def subset_scores(self, x, fixed, free, max_parents):
        """The scores of a child with fixed parents and some free ones."""
        parameters = self.products, self.offsets, self.tables
        return reference.all_subset_scores(*parameters, x, fixed, free, max_parents)

    def family(self):
        """Scratch."""
        return family_scratch(self.m, self.m)


def growing_of(table, x, max_parents):
    """Growth of the parents of a column of a table, in plain Python."""
    required = table.required(x)
    return reference.Growing(lambda own: table.score(x, own), required, max_parents, LEAST)
