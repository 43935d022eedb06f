"""The search among orders: against all orders, and all insertions with parents grown anew."""

import math
import time

import numpy as np
import pytest
import reference
from listed_families import LEAST, MISSING, Listed, Table, growing_of

from skbn._orders.family_lists import FamilyLists
from skbn._orders.growth import FamilyGrowth
from skbn._orders.insertion_kernels import choose_families, state_of
from skbn._orders.list_kernels import BLOCK
from skbn._orders.order_search import OrderSearch


def ignore(*_):
    pass


def search_among(listed, seed=0, report=ignore, deadline=math.inf):
    return OrderSearch(listed.listed, None, listed.first, LEAST, seed, 1, deadline, False, report)


def growing_search(table, max_parents, n_jobs=1, deadline=math.inf, report=ignore):
    growth = FamilyGrowth(table.regressions, max_parents, LEAST, table.score)
    lists = FamilyLists(table.m, -1e6)
    return OrderSearch(lists, growth, 0, LEAST, 0, n_jobs, deadline, False, report)


@pytest.mark.parametrize("first", [0, 2])
@pytest.mark.parametrize("seed", range(3))
def test_of_few_columns_the_best_order_is_found(first, seed):
    listed = Listed(seed, m=6 + first, n=15, first=first)
    found = search_among(listed).run()
    order = list(range(6 + first))
    best = reference.best_order(listed.families, order, MISSING, first)
    assert found.score == pytest.approx(best)
    assert not found.is_missing
    chosen = zip(listed.families, map(frozenset, found.parents), strict=True)
    assert found.score == pytest.approx(sum(dict(each)[parents] for each, parents in chosen))


def test_lists_that_no_order_fits_are_missing():
    listed = Listed(0, m=5, n=2, has_empty=False)
    assert all(parents for families in listed.families for parents, _ in families)
    found = search_among(listed).run()
    assert found.is_missing
    assert found.score < MISSING / 2
    assert found.n_iter == 0


def test_the_search_tells_of_its_progress_until_the_time_is_over():
    listed, told = Listed(0, m=12, n=15), []
    found = search_among(listed, report=lambda *note: told.append(note)).run()
    best, n_iter, share = zip(*told, strict=True)
    assert list(best) == sorted(best)
    assert list(n_iter) == sorted({*n_iter})
    assert found.n_iter == n_iter[-1]
    assert share[-1] >= 1
    assert found.score == pytest.approx(best[-1])
    # With no time left there are no perturbations.
    told.clear()
    early = search_among(listed, report=lambda *note: told.append(note), deadline=time.monotonic())
    assert early.run().n_iter == 0
    assert told == []


def test_going_on_from_a_better_order_finds_it():
    listed = Listed(1, m=6, n=15)
    search = search_among(listed)
    found = search.run()
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(6).tolist()
        again = search.run_from(order)
        assert listed.score(order) <= again.score <= found.score + LEAST


def assert_no_insertion_betters(table, search, found, max_parents):
    """With the parents of all columns grown in plain Python, about the order that was found."""
    order = search._best.best_order.tolist()
    families, score = [], 0.0
    for x, parents in enumerate(found.parents):
        growing = growing_of(table, x, max_parents)
        score += growing.score(parents)
        grown = {frozenset(parents)}
        others = growing.grow_about(order, x, table.allowed(x), {*parents})
        grown |= {other for other, _ in others}
        pairs = [(each, growing.score(each)) for each in grown]
        families.append(sorted(pairs, key=lambda pair: pair[1], reverse=True))
    assert found.score == pytest.approx(score)
    missing = -1e6
    assert reference.score_of_order(families, order, missing) <= score + 1e-4
    assert reference.best_insertion(families, order, missing) <= score + 1e-4


@pytest.mark.parametrize(
    ("m", "settings", "max_parents"),
    [
        (12, {"is_bge": True, "has_units": True}, 11),
        (18, {"share_forbidden": 0.2}, 3),
        pytest.param(100, {}, 10, marks=pytest.mark.slow),
    ],
)
def test_no_insertion_with_parents_grown_anew_betters_the_order(m, settings, max_parents):
    table = Table(np.random.default_rng(m), m, 300, **settings)
    search = growing_search(table, max_parents)
    found = search.run()
    assert_no_insertion_betters(table, search, found, max_parents)
    if m == 18:
        other = growing_search(table, max_parents, n_jobs=2).run()
        assert other == found


# Lists of families, against dicts of sets of parents


M = 100


def random_families(rng, child, n, columns):
    """Columns in any order, and distinct sets of a few of them with scores."""
    columns = rng.permutation([y for y in columns if y != child]).tolist()
    sets = rng.random((n, len(columns))) < rng.choice([0.02, 0.1, 0.5], size=(n, 1))
    sets = np.unique(sets, axis=0)
    return columns, sets, rng.normal(size=len(sets))


def as_dict(columns, sets, scores):
    return {
        frozenset(y for y, is_parent in zip(columns, row, strict=True) if is_parent): score
        for row, score in zip(sets, scores, strict=True)
    }


def families_in(listed, arrays, child):
    """The families of a child, with the first of those that stand in."""
    start, end = arrays.starts[child : child + 2]
    n = np.flatnonzero(arrays.scores[start:end] == listed.missing)[0]
    assert (end - start) % BLOCK == 0
    assert end - start - n <= BLOCK
    assert not arrays.sets[start + n : end].any()
    return [
        (listed.parents(arrays, child, family), float(arrays.scores[family]))
        for family in range(start, start + n + 1)
    ]


@pytest.mark.parametrize("n_columns", [1, 3, 64, 65, 100])
def test_families_come_back_best_first_without_the_dominated(n_columns):
    rng = np.random.default_rng(n_columns)
    listed, added = FamilyLists(M, -5.0), {x: {} for x in range(M)}
    for _ in range(6):
        child = int(rng.integers(4))
        # Each time also of columns that are new to the list.
        some = rng.choice(n_columns, size=rng.integers(1, n_columns + 1), replace=False)
        drawn = random_families(rng, child, int(rng.integers(0, 40)), some.tolist())
        for parents, score in as_dict(*drawn).items():
            added[child][parents] = max(score, added[child].get(parents, score))
        listed.add(child, *drawn)
    arrays = listed.arrays()
    for child in range(M):
        *found, last = families_in(listed, arrays, child)
        assert last == ([], -5.0)
        expected = reference.undominated(added[child])
        best_first = sorted(expected.items(), key=lambda pair: -pair[1])
        assert found == [(sorted(parents), score) for parents, score in best_first]
    assert listed.n_families == (arrays.scores > listed.missing).sum()
    assert_indices_agree(listed, arrays)


def assert_indices_agree(listed, arrays):
    """Compare what the arrays say of bits and first families with the families."""
    for child in range(M):
        columns = arrays.columns[child]
        for y in range(M):
            bit = arrays.bits[child, y]
            assert arrays.bits_in[y, child] == bit
            assert arrays.firsts_in[y, child] == arrays.firsts[child, y]
            assert (bit < 0) == (y not in columns)
            if bit >= 0:
                assert columns[bit] == y
                families = families_in(listed, arrays, child)
                having = [i for i, (parents, _) in enumerate(families) if y in parents]
                if having:
                    assert arrays.firsts[child, y] == arrays.starts[child] + having[0]


def test_of_equal_sets_the_best_and_of_equal_scores_the_first_stays():
    listed = FamilyLists(3, -9.0)
    listed.add(0, [1, 2], np.array([[1, 0], [0, 1], [1, 1]], dtype=bool), np.array([2.0, 1.0, 2.0]))
    listed.add(0, [2, 1], np.array([[0, 1], [1, 0]], dtype=bool), np.array([2.0, 3.0]))
    arrays = listed.arrays()
    assert families_in(listed, arrays, 0) == [([2], 3.0), ([1], 2.0), ([], -9.0)]
    assert listed.n_families == 2


def test_arrays_do_not_change_when_families_are_added():
    listed = FamilyLists(3, -9.0)
    listed.add(0, [1], np.array([[True]]), np.array([2.0]))
    before = listed.arrays()
    copies = [array.copy() for array in before]
    listed.add(0, [2], np.array([[True], [False]]), np.array([3.0, 2.5]))
    for array, copy in zip(before, copies, strict=True):
        np.testing.assert_array_equal(array, copy)
    assert families_in(listed, listed.arrays(), 0) == [([2], 3.0), ([], 2.5), ([], -9.0)]


def test_the_last_family_stands_in_where_none_fits():
    listed = FamilyLists(3, -9.0)
    for child in range(3):
        listed.add(child, [(child + 1) % 3], np.array([[True]]), np.array([1.0]))
    arrays = listed.arrays()
    state = state_of(np.array([2, 1, 0]), arrays)
    choose_families(arrays, state)
    assert (arrays.scores[state.chosen] == -9.0).tolist() == [False, False, True]
