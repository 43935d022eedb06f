"""The lists that growth fills, against the families of each column by the slow way."""

import numpy as np
import pytest
import reference
from listed_families import LEAST, Table, bic_tables, growing_of, products_of

from skbn._core.addresses import address_of
from skbn._core.resources import Threads
from skbn._orders.family_lists import FamilyLists
from skbn._orders.growth import FamilyGrowth
from skbn._orders.growth_kernels import GrownSets, Growth, grow_for_insertions, grow_parents
from skbn._orders.insertion_kernels import choose_families, state_of
from skbn._orders.refit_kernels import select_forward
from skbn._orders.regression_kernels import Regressions, Subsets, score_subsets

KINDS = {
    "bic": {},
    "units": {"has_units": True},
    "bge": {"is_bge": True},
    "bge, units": {"is_bge": True, "has_units": True},
    "few rows": {"n": 6},
}


def never():
    return False


def always():
    return True


def growth_of(table, max_parents):
    growth = FamilyGrowth(table.regressions, max_parents, LEAST, table.score)
    return growth, FamilyLists(table.m, -1e6)


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
        scores = reference.undominated(table.subset_scores(x, required, free, max_parents), LEAST)
        expected = {parents | {*required}: score for parents, score in scores.items()}
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


@pytest.mark.parametrize(("n_jobs", "kind"), [(1, "bge, units"), (2, "bic")])
def test_growth_lists_what_an_order_and_its_insertions_lack(n_jobs, kind):
    """Until nothing is missing; then growth in plain Python finds nothing better either."""
    rng = np.random.default_rng(1)
    shares = {"share_required": 0.005, "share_forbidden": 0.1}
    table = Table(rng, 20, n=200, **shares, **KINDS[kind])
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
        growing = growing_of(table, x, max_parents)
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


# Families that grow, against log-determinants by numpy and growth in plain Python

ROUNDING = 1e-10


# All subsets


def scored_subsets(regressions, x, fixed, free, max_parents, least=LEAST):
    """Return the scores, as a dict, of the families that the kernel leaves."""
    k = len(free)
    columns = np.array([*free, x, *fixed], dtype=np.int64)
    products, stack = regressions.products[np.ix_(columns, columns)], np.full((k + 1,) * 3, np.nan)
    subsets = Subsets(np.empty(1 << k), np.empty(1 << k), products, np.empty(k + 1), stack)
    score_subsets(regressions, columns, k, max_parents, least, subsets)
    families = {}
    for mask, score in enumerate(subsets.scores.tolist()):
        if score > -np.inf:
            families[frozenset(y for bit, y in enumerate(free) if mask >> bit & 1)] = score
    assert not np.isnan(subsets.scores).any()
    return families


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_fixed", [0, 1, 3])
def test_subsets_score_as_their_determinants_say(kind, n_fixed):
    rng = np.random.default_rng(n_fixed)
    table = Table(rng, 9, **KINDS[kind])
    for n_free, max_parents in ((5, 8), (5, 3), (1, 8), (0, 8), (4, n_fixed)):
        columns = rng.permutation(9).tolist()
        x, fixed, free = columns[0], columns[1 : 1 + n_fixed], columns[4 : 4 + n_free]
        expected = reference.undominated(table.subset_scores(x, fixed, free, max_parents), LEAST)
        found = scored_subsets(table.regressions, x, fixed, free, max_parents)
        assert found == pytest.approx(expected, abs=1e-7)
        assert frozenset() in found


def test_a_limit_below_the_fixed_parents_leaves_no_family():
    table = Table(np.random.default_rng(0), 6)
    assert scored_subsets(table.regressions, 0, [1, 2], [3, 4], 1) == {}


def test_differences_below_the_least_are_ties():
    table = Table(np.random.default_rng(1), 7)
    family = 0, [], [1, 2, 3, 4, 5, 6], 6
    every, fewer = (scored_subsets(table.regressions, *family, least) for least in (0.0, 5.0))
    scores = table.subset_scores(*family)
    assert fewer == pytest.approx(reference.undominated(scores, 5.0))
    assert len(fewer) < len(every)


def nearly_dependent(residual, n=50):
    """Column 3 is the sum of columns 0 and 1, but for a share of itself."""
    rows = np.random.default_rng(0).normal(size=(n, 6))
    rows[:, 3] = rows[:, 0] + rows[:, 1] + residual * rows[:, 3]
    products, _ = products_of(rows)
    may = ~np.eye(6, dtype=bool)
    return Regressions(products, np.zeros(6), bic_tables(n, 6), may, np.zeros((6, 6), dtype=bool))


def test_nearly_dependent_columns_are_no_parents_together():
    """Nor is one of them a child of the others."""
    for residual in (0.0, 1e-7):
        regressions = nearly_dependent(residual)
        for fixed, free in (([], [0, 1, 3, 4]), ([0], [4, 3, 1]), ([1, 0], [3, 4])):
            found = scored_subsets(regressions, 2, fixed, free, 5)
            assert found
            assert not any({0, 1, 3} <= parents | {*fixed} for parents in found)
        found = scored_subsets(regressions, 3, [], [0, 1, 2, 4], 5)
        assert found
        assert not any({0, 1} <= parents for parents in found)
        assert scored_subsets(regressions, 2, [0, 1, 3], [4, 5], 5) == {}
        assert scored_subsets(regressions, 3, [0, 1], [4, 5], 5) == {}
    # With more of its own the column is a parent like others.
    found = scored_subsets(nearly_dependent(1e-4), 3, [], [0, 1, 2, 4], 5)
    assert max(found, key=found.get) == {0, 1}


# Forward selection


def selected_by(table, x, n):
    selected = np.full(table.m, -1, dtype=np.int64)
    n_selected = select_forward(table.regressions, table.family(), x, n, selected)
    return selected[:n_selected].tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_columns_are_selected_that_leave_least_of_the_child(kind):
    rng = np.random.default_rng(2)
    table = Table(rng, 9, share_required=0.1, share_forbidden=0.2, **KINDS[kind])
    n_selected = 0
    for x in range(9):
        required, allowed = table.required(x), table.allowed(x)
        n = len(required) + 4
        selected = selected_by(table, x, n)
        assert selected[: len(required)] == sorted(required)
        assert len({*selected}) == len(selected)
        assert {*selected} <= allowed
        for k in range(len(required), n):
            before = selected[:k]
            left = {
                y: reference.left_of(table.products, x, [*before, y])
                for y in allowed - {*before}
                if reference.left_of(table.products, y, before) > ROUNDING
            }
            # Rounding decides what explains most of nothing, and which of two that tie.
            if reference.left_of(table.products, x, before) < ROUNDING or not left:
                break
            assert len(selected) > k
            assert left[selected[k]] <= min(left.values()) + ROUNDING
        n_selected += len(selected) - len(required)
    assert n_selected > 20


def test_nothing_is_selected_that_explains_nothing():
    table = Table(np.random.default_rng(0), 5)
    table.products = np.eye(5)
    assert selected_by(table, 0, 4) == []
    table.products[0, 3] = table.products[3, 0] = 0.5
    assert selected_by(table, 0, 4) == [3]


# Growth


def drawn_lists(table, rng, n):
    """Lists with a few families of each column, scored by the reference."""
    listed = FamilyLists(table.m, -1e6)
    for x in range(table.m):
        required = table.required(x)
        free = rng.permutation(sorted(table.allowed(x) - required)).tolist()
        drawn = {frozenset(required)}
        for _ in range(n):
            drawn.add(frozenset(required | {*free[: rng.integers(0, 3)]}))
            rng.shuffle(free)
        columns = sorted(set().union(*drawn))
        sets = np.array([[y in parents for y in columns] for parents in drawn], dtype=bool)
        scores = np.array([table.score(x, parents) for parents in drawn])
        listed.add(x, columns, sets.reshape(len(drawn), len(columns)), scores)
    return listed


def grown(table, lists, order, x, max_parents, most=500):
    state = state_of(np.array(order), lists)
    choose_families(lists, state)
    found = np.full((most, max(max_parents, 1)), -7, dtype=np.int16)
    scores = np.empty(most)
    growth = Growth(
        *(table.regressions, table.family()),
        *(np.empty(table.m, dtype=np.int64) for _ in range(2)),
        *(max_parents, LEAST, address_of(grow_parents)),
    )
    available = np.empty((1, lists.sets.shape[1]), dtype=np.int64)
    n = grow_for_insertions(lists, state, growth, GrownSets(found, scores, available), x)
    families = []
    for row, score in zip(found[:n].tolist(), scores[:n].tolist(), strict=True):
        parents = [y for y in row if y >= 0]
        assert row == parents + [-1] * (len(row) - len(parents))
        assert len({*parents}) == len(parents)
        families.append((frozenset(parents), score))
    return families


def test_no_more_families_are_found_than_there_is_room_for():
    rng = np.random.default_rng(1)
    table = Table(rng, 10)
    lists = drawn_lists(table, rng, 0).arrays()
    order = list(range(10))
    every = grown(table, lists, order, 5, 9)
    assert len(every) > 2
    assert grown(table, lists, order, 5, 9, most=2) == every[:2]


def test_a_column_in_front_of_its_required_parent_does_not_grow():
    table = Table(np.random.default_rng(3), 6)
    lists = drawn_lists(table, np.random.default_rng(3), 0).arrays()
    order = [0, 1, 2, 3, 4, 5]
    assert any(grown(table, lists, order, x, 5) for x in range(3))
    table.must[:3, 5] = True
    for x in range(3):
        assert grown(table, lists, order, x, 5) == []


@pytest.mark.parametrize("residual", [0.0, 1e-7])
def test_growth_leaves_out_what_rounding_would_decide(residual):
    regressions = nearly_dependent(residual)
    table = Table(np.random.default_rng(0), 6)
    table.products, table.tables = regressions.products, regressions.tables
    listed = FamilyLists(6, -1e6)
    for x in range(6):
        score = table.score(x, [])
        listed.add(x, [], np.zeros((1, 0), dtype=bool), np.array([score]))
    rng, n_found = np.random.default_rng(1), 0
    for _ in range(10):
        order = rng.permutation(6).tolist()
        for x in range(6):
            for parents, score in grown(table, listed.arrays(), order, x, 5):
                assert not {0, 1, 3} <= parents | {x}
                assert score == pytest.approx(table.score(x, parents), abs=1e-4)
                n_found += 1
    assert n_found > 0
    # Even if they are required.
    table.must[3, [0, 1]] = True
    listed.add(3, [0, 1], np.ones((1, 2), dtype=bool), np.array([1000.0]))
    assert grown(table, listed.arrays(), [0, 1, 2, 4, 5, 3], 3, 5) == []
    assert grown(table, listed.arrays(), [0, 1, 3, 2, 4, 5], 3, 5) == []
