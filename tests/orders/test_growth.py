"""The lists that growth fills, against the families of each column by the slow way."""

import numpy as np
import pytest
import reference
from regressions_of_tables import Table

from skbn._core.resources import Threads
from skbn._orders.family_lists import FamilyLists
from skbn._orders.growth import FamilyGrowth

LEAST = 1e-6


def never():
    return False


def always():
    return True


def growth_of(table, max_parents):
    return FamilyGrowth(table.regressions, max_parents, LEAST, table.score), FamilyLists(
        table.m, -1e6
    )


def families_in(lists, child):
    """The listed families of a child, without the one that stands in."""
    arrays = lists.arrays()
    start, end = arrays.starts[child : child + 2]
    return {
        frozenset(lists.parents(arrays, child, family)): float(arrays.scores[family])
        for family in range(start, end)
        if arrays.scores[family] > lists.missing
    }


@pytest.mark.parametrize("max_parents", [0, 2, 5])
@pytest.mark.parametrize("settings", [{}, {"is_bge": True, "has_units": True}])
def test_of_few_columns_all_undominated_families_are_listed_at_first(max_parents, settings):
    rng = np.random.default_rng(max_parents)
    table = Table(rng, 6, share_forbidden=0.1, **settings)
    if max_parents:
        table.must[3, 1] = table.may[3, 1] = True
    growth, lists = growth_of(table, max_parents)
    with Threads(1) as threads:
        growth.list_first(lists, np.arange(1, 6), threads, never)
    assert families_in(lists, 0) == {}
    for x in range(1, 6):
        required = sorted(table.required(x))
        free = sorted(table.allowed(x) - {*required})
        scores = reference.all_subset_scores(
            table.products, table.offsets, table.tables, x, required, free, max_parents
        )
        expected = {
            parents | {*required}: score
            for parents, score in reference.undominated(scores, LEAST).items()
        }
        assert families_in(lists, x) == pytest.approx(expected, abs=1e-7)


def test_of_many_columns_the_families_of_those_that_explain_most_are_listed_at_first():
    """Columns 1 to 3 explain column 0; others are in its list by chance."""
    rng = np.random.default_rng(0)
    table = Table(rng, 30)
    table.products[:] = 0.001 * table.products + 0.999 * np.eye(30)
    for y, share in ((1, 0.6), (2, 0.5), (3, 0.4)):
        table.products[0, y] = table.products[y, 0] = share
    growth, lists = growth_of(table, 29)
    with Threads(1) as threads:
        growth.list_first(lists, np.arange(30), threads, never)
    listed = families_in(lists, 0)
    assert max(listed, key=listed.get) == {1, 2, 3}
    for parents, score in listed.items():
        assert score == pytest.approx(table.score(0, parents), abs=1e-7)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_growth_lists_what_an_order_and_its_insertions_lack(n_jobs):
    """Until nothing is missing; then growth in plain Python finds nothing better either."""
    rng = np.random.default_rng(1)
    table = Table(rng, 20, n=200, share_required=0.005, share_forbidden=0.1)
    table.must &= np.tri(20, dtype=bool)  # so that the order is possible
    max_parents = max(3, int(table.must.sum(axis=1).max()))
    growth, lists = growth_of(table, max_parents)
    for x in range(20):
        required = sorted(table.required(x))
        own = np.ones((1, len(required)), dtype=bool)
        lists.add(x, required, own, np.array([table.score(x, required)]))
    order, n_missing = np.arange(20), []
    with Threads(n_jobs) as threads:
        while not n_missing or n_missing[-1]:
            before = lists.n_families
            n_missing.append(growth.grow(lists, lists.arrays(), order, threads, never, {}))
            assert (n_missing[-1] > 0) or lists.n_families == before
            assert len(n_missing) < 30
    assert len(n_missing) > 2
    assert n_missing[0] > 20
    for x in range(20):
        listed = families_in(lists, x)
        families = [sorted(listed.items(), key=lambda pair: pair[1], reverse=True)]
        for parents, score in listed.items():
            assert score == pytest.approx(table.score(x, parents), abs=1e-7)
            assert table.required(x) <= parents <= table.allowed(x)
            assert len(parents) <= max_parents
        growing = reference.Growing(
            lambda parents, x=x: table.score(x, parents), table.required(x), max_parents, LEAST
        )
        _, members = reference.best_family(families, 0, {*range(x)}, -1e6)
        for parents, is_open in growing.grow_about(order.tolist(), x, table.allowed(x), members):
            best, _ = reference.best_family(families, 0, is_open, -1e6)
            assert growing.score(parents) <= best + 2 * LEAST


def test_once_it_is_over_nothing_grows():
    table = Table(np.random.default_rng(1), 20, n=200)
    growth, lists = growth_of(table, 19)
    with Threads(1) as threads:
        growth.list_first(lists, np.arange(20), threads, always)
        assert lists.n_families == 0
        growth.list_first(lists, np.arange(20), threads, never)
        arrays, order, grown_for = lists.arrays(), np.arange(20), {}
        assert growth.grow(lists, arrays, order, threads, always, grown_for) == 0
        assert not grown_for
        assert growth.grow(lists, arrays, order, threads, never, grown_for) > 0
        # Nothing has changed for any child but those with longer lists.
        assert len(grown_for) == 20
        while growth.grow(lists, lists.arrays(), order, threads, never, grown_for):
            pass
        assert growth.grow(lists, lists.arrays(), order, threads, never, {}) == 0
