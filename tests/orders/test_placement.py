"""Orders with families refitted on the fly, against scores by the slow way."""

import numpy as np
import pytest
import reference
from listed_families import Table, random_states

from skbn._orders.placement import PlacementSearch

LEAST = 1e-6
NONE = np.zeros(0, dtype=np.int64)

KINDS = {
    "bic": {},
    "units": {"has_units": True},
    "bge, units": {"is_bge": True, "has_units": True},
    "few rows": {"n": 8},
    "forbidden": {"share_forbidden": 0.3},
    "required": {"share_required": 0.05},
}


def never():
    return False


def table_of(kind, seed, m=12):
    table = Table(np.random.default_rng(seed), m, **KINDS[kind])
    table.must &= np.tri(m, dtype=bool)  # so that there is an order
    return table


def assert_follows(table, search, first, max_parents):
    """Compare all that the search holds with what its order and families say."""
    placement = search._placement
    order = placement.order.tolist()
    assert sorted(order) == list(range(table.m))
    assert order[:first] == list(range(first))
    for k, x in enumerate(order):
        assert placement.position[x] == k
        parents = placement.parents[x, : placement.n_parents[x]].tolist()
        assert {*parents} <= {*order[:k]} & table.allowed(x)
        assert table.required(x) <= {*parents}
        assert len({*parents}) == len(parents) <= max_parents
        score = table.score(x, parents)
        assert placement.scores[x] == pytest.approx(score, abs=1e-7)
        for y in range(table.m):
            gain = 0.0
            if y in parents:
                gain = np.inf
            elif y in table.allowed(x) and len(parents) < max_parents:
                is_apart = reference.left_of(table.products, y, parents) > 1e-10
                if is_apart and reference.left_of(table.products, x, [*parents, y]) > 1e-10:
                    gain = max(0.0, table.score(x, [*parents, y]) - score)
            assert placement.gains[y, x] == pytest.approx(gain, rel=1e-5, abs=1e-5)
            # What precedes a column and gains is its parent.
            assert not (placement.position[y] < k and 1e-5 < gain < np.inf)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("first", "max_parents"), [(0, 11), (3, 2)])
def test_families_and_gains_follow_from_the_order(kind, first, max_parents):
    table = table_of(kind, first)
    table.may[:first], table.must[:first] = False, False
    max_parents = max(max_parents, int(table.must.sum(axis=1).max()))
    if kind == "few rows":  # more parents would leave nothing but rounding
        max_parents = min(max_parents, 4)
    random = random_states(0)
    search = PlacementSearch(table.regressions, first, max_parents, LEAST)
    search.begin(NONE, never)
    assert_follows(table, search, first, max_parents)
    scores = [search.best.score]
    search.climb(random, 0, never)
    assert_follows(table, search, first, max_parents)
    scores.append(search.best.score)
    for _ in range(3):
        search.perturb(random, 0)
        assert_follows(table, search, first, max_parents)
        scores.append(search.best.score)
    assert scores == sorted(scores)
    placed, position = search.best, np.argsort(search.best.order)
    families = [[]] * first + [*placed.parents[first:]]
    assert placed.score == pytest.approx(sum(map(table.score, range(table.m), families)))
    for x, parents in enumerate(placed.parents):
        assert all(position[p] < position[x] for p in parents)


def test_columns_come_in_the_order_given_as_far_as_constraints_let_them():
    table = table_of("required", 2)
    order = np.random.default_rng(0).permutation(table.m)
    search = PlacementSearch(table.regressions, 0, 11, LEAST)
    search.begin(order, never)
    assert_follows(table, search, 0, 11)
    table.must[:] = False
    search = PlacementSearch(table.regressions, 0, 11, LEAST)
    search.begin(order, never)
    assert search.best.order.tolist() == order.tolist()


def test_perturbations_lead_different_starts_to_the_same_network():
    table = Table(np.random.default_rng(5), 30, 2000)
    totals = []
    for seed in range(3):
        search, random = PlacementSearch(table.regressions, 0, 29, LEAST), random_states(seed)
        search.begin(np.array([seed * 10]), never)
        assert search._placement.order[0] == seed * 10
        search.climb(random, 0, never)
        for _ in range(5):
            search.perturb(random, 0)
        totals.append(search.best.score)
    low, middle, high = sorted(totals)
    assert high - middle < 1e-6
    assert high - low < 10


def test_what_is_over_ends():
    table = Table(np.random.default_rng(1), 20, n=200)
    search = PlacementSearch(table.regressions, 0, 19, LEAST)
    search.begin(NONE, lambda: True)
    assert search.best.score == -np.inf
    search = PlacementSearch(table.regressions, 0, 19, LEAST)
    search.begin(NONE, never)
    before = search.best.score
    search.climb(random_states(0), 0, lambda: True)
    assert search.best.score == before > -np.inf
