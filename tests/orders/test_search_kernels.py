"""Climbing among orders, against all insertions by the slow way."""

from itertools import permutations

import numpy as np
import pytest
import reference
from listed_families import LEAST, MISSING, Listed, fresh, random_states

from skbn._orders.insertion_kernels import OrderLimits, choose_families, state_of
from skbn._orders.list_kernels import find_dominated
from skbn._orders.search_kernels import Best, climb_and_perturb, order_greedily

CASES = {
    "few columns": lambda seed: Listed(seed, m=9, n=20),
    "not all have the empty set": lambda seed: Listed(seed, m=9, n=8, has_empty=False),
    "the first columns stay": lambda seed: Listed(seed, m=10, n=20, first=3),
    "large families": lambda seed: Listed(seed, m=9, n=30, most=8),
    "no families": lambda seed: Listed(seed, m=4, n=0),
    "one column moves": lambda seed: Listed(seed, m=5, n=10, first=4),
    "two words": lambda seed: Listed(seed, m=68, n=100),
}


class Search:
    """A search from one order."""

    def __init__(self, listed, state):
        self.listed, self.state = listed, state
        self.totals, self.order = np.full(2, -np.inf), state.order.copy()

    def run(self, least, n, random, i=0, most=10**6):
        lists, limits = self.listed.lists, OrderLimits(self.listed.first, least)
        best = Best(state_of(self.order, lists), self.order, self.totals)
        climb_and_perturb(lists, self.state, best, limits, n, most, random, i)

    def climb_once(self, least, random, i=0, most=10**6):
        self.state.marked[0], self.state.is_marked[:] = self.listed.m, True
        self.state.marked[1:] = np.arange(self.listed.m)
        self.run(least, 0, random, i, most)
        return self.totals[0]

    def climb(self, least, random):
        """Climb until nothing is gained."""
        total, before = self.climb_once(least, random), -np.inf
        while total > before + least:
            before, total = total, self.climb_once(least, random)
            assert self.state.marked[0] == 0
        return total


@pytest.mark.parametrize(
    ("name", "seed"), [(name, i) for name in CASES for i in range(1 if name == "two words" else 4)]
)
def test_after_a_climb_no_insertion_gains(name, seed):
    listed = CASES[name](seed)
    state = listed.start()
    start = listed.score(state.order)
    total = Search(listed, state).climb(LEAST, random_states(seed))
    listed.assert_follows(state)
    assert total == pytest.approx(listed.score(state.order))
    assert total > start or name in {"no families", "one column moves"}
    order = state.order.tolist()
    best = reference.best_insertion(listed.families, order, MISSING, listed.first)
    assert best <= total + 1.001 * LEAST


@pytest.mark.parametrize("seed", range(3))
def test_insertions_that_gain_less_than_the_least_are_not_made(seed):
    """Each move gains more than the least, and in the end none does."""
    n_left = 0
    for least in (0.5, 2.0, 1e6):
        listed = Listed(seed, m=8, n=12)
        state = listed.start()
        order = state.order.tolist()
        total = Search(listed, state).climb(least, random_states(seed))
        best = reference.best_insertion(listed.families, state.order.tolist(), MISSING)
        assert best <= total + least
        n_left += best > total + LEAST
        has_moved = state.order.tolist() != order
        assert (total > listed.score(order) + least) == has_moved
        assert not (has_moved and least == 1e6)
    assert n_left > 0


@pytest.mark.parametrize("name", CASES)
def test_perturbations_keep_the_best_order_and_its_score(name):
    listed, random = CASES[name](7), random_states(0, 2)
    search = Search(listed, listed.start())
    search.climb_once(LEAST, random, 1)
    totals, other, first = search.totals, random[0], search.totals[1]
    for _ in range(12):
        before = totals[1]
        search.run(LEAST, 5, random, 1)
        listed.assert_follows(search.state)
        assert search.state.marked[0] == 0
        assert listed.score(search.state.order) == pytest.approx(totals[0])
        assert listed.score(search.order) == pytest.approx(totals[1])
        assert sorted(search.order) == list(range(listed.m))
        assert totals[1] >= before
    assert random[0] == other
    assert name != "two words" or totals[1] > first


def test_perturbations_find_the_best_order_of_few_columns():
    """Also from a local optimum, in which insertions get stuck."""
    for seed in range(4):
        listed, random = Listed(seed, m=6, n=12), random_states(seed)
        search = Search(listed, listed.start())
        search.climb(LEAST, random)
        search.run(LEAST, 500, random)
        best = reference.best_order(listed.families, list(range(6)), MISSING)
        assert listed.score(search.order) == pytest.approx(best)


@pytest.mark.parametrize("most", [0, 1, 5])
def test_no_more_columns_are_tried_than_that(most):
    listed, random = Listed(3, m=30, n=20), random_states(0)
    search = Search(listed, listed.start())
    total = search.climb_once(LEAST, random, most=most)
    listed.assert_follows(search.state)
    assert total == pytest.approx(listed.score(search.state.order))
    assert search.state.marked[0] >= 30 - most
    before = random.copy()
    search.run(LEAST, 10, random, most=most)
    listed.assert_follows(search.state)
    assert (random == before).all() == (most == 0)


@pytest.mark.parametrize("least", [1e-6, -1.0, np.nan])
def test_climbs_end_whatever_seems_to_gain(least):
    """Also if the families are not the best first, so that losses look like gains."""
    listed, random = Listed(0, m=6, n=8, has_empty=False), random_states(0)
    missing = listed.lists.scores == MISSING
    listed.lists.scores[missing] = 1000.0
    search = Search(listed, listed.start())
    search.climb_once(least, random, most=1000)
    search.run(least, 10, random, most=1000)
    assert sorted(search.state.order.tolist()) == list(range(6))


@pytest.mark.parametrize("is_random", [False, True])
@pytest.mark.parametrize("first", [0, 2])
def test_orders_are_greedy_and_give_all_columns_families(first, is_random):
    n_possible = n_changed = n_better = 0
    for seed in range(60):
        m = 5 + first
        listed = Listed(seed, m=m, n=2, most=2, first=first, has_empty=False)
        rng = np.random.default_rng(seed)
        root = int(rng.integers(first, m))
        listed.add(root, {frozenset(): -50.0})
        listed.families[root].append((frozenset(), -50.0))
        listed.lists = listed.listed.arrays()
        state, random = listed.start(), random_states(seed)
        before = state.order.tolist()
        is_possible = order_greedily(listed.lists, state, first, MISSING, is_random, random, 0)
        order = state.order.tolist()
        choose_families(listed.lists, state)
        listed.assert_follows(state)
        orders = [
            [*range(first), *(first + x for x in later)] for later in permutations(range(m - first))
        ]
        fits = [listed.score(each) > MISSING / 2 for each in orders]
        assert is_possible == any(fits)
        assert is_possible == (listed.score(order) > MISSING / 2)
        n_possible += is_possible
        n_changed += is_possible and order != before
        n_better += is_possible and listed.score(order) > np.mean([*map(listed.score, orders)])
    assert 5 < n_changed <= n_possible < 60
    assert n_better > 0.8 * n_possible


# The best listed family of each column for an order


# Some with more columns in the lists of a child than one word has bits.
CASES_INSERTION = {
    "few columns": lambda: Listed(0, m=7, n=12),
    "not all have the empty set": lambda: Listed(0, m=7, n=6, has_empty=False),
    "large families": lambda: Listed(0, m=9, n=20, most=7),
    "the first columns stay": lambda: Listed(0, m=9, n=12, first=3),
    "no families": lambda: Listed(0, m=4, n=0),
    "two words": lambda: Listed(0, m=70, n=120, most=4),
    "three words": lambda: Listed(0, m=140, n=30, first=2, has_all=True),
}


@pytest.mark.parametrize("name", CASES_INSERTION)
def test_families_are_chosen_for_an_order(name):
    listed = fresh(CASES_INSERTION[name])
    state = state_of(listed.draw_order(), listed.lists)
    order = state.order.copy()
    choose_families(listed.lists, state)
    np.testing.assert_array_equal(state.order, order)
    listed.assert_follows(state)
    total = listed.lists.scores[state.chosen].sum()
    assert total == pytest.approx(listed.score(order))


@pytest.mark.parametrize("n_bits", [3, 6, 100])
def test_dominated_families_hold_an_earlier_one(n_bits):
    rng = np.random.default_rng(n_bits)
    for _ in range(20):
        sets = [
            frozenset(np.flatnonzero(rng.random(n_bits) < rng.choice([0.02, 0.2, 0.5])).tolist())
            for _ in range(rng.integers(0, 40))
        ]
        words = np.zeros((len(sets), -(-n_bits // 64)), dtype=np.uint64)
        for f, members in enumerate(sets):
            for bit in members:
                words[f, bit // 64] |= np.uint64(1) << np.uint64(bit % 64)
        expected = [any(g <= f for g in sets[:i]) for i, f in enumerate(sets)]
        # Those that nothing dominates may have been there before.
        for is_new in (np.ones(len(sets), dtype=bool), rng.random(len(sets)) < 0.5):
            is_new |= expected
            is_dominated = np.zeros(len(sets), dtype=bool)
            find_dominated(words.view(np.int64), is_new, is_dominated)
            assert is_dominated.tolist() == expected
