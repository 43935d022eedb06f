"""The search among orders: against all orders, and all insertions with parents grown anew."""

import math
import time

import numpy as np
import pytest
import reference
from listed_families import MISSING, Listed
from regressions_of_tables import Table

from skbn._orders.family_lists import FamilyLists
from skbn._orders.growth import FamilyGrowth
from skbn._orders.order_search import OrderSearch

LEAST = 1e-6


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
    scores = [dict(families) for families in listed.families]
    assert found.score == pytest.approx(
        sum(scores[x][frozenset(parents)] for x, parents in enumerate(found.parents))
    )


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
        growing = reference.Growing(
            lambda parents, x=x: table.score(x, parents), table.required(x), max_parents, LEAST
        )
        score += growing.score(parents)
        grown = {frozenset(parents)}
        for other, _ in growing.grow_about(order, x, table.allowed(x), {*parents}):
            grown.add(other)
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
