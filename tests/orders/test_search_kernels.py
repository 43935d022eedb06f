"""Climbing among orders, against all insertions and segments by the slow way."""

from itertools import permutations

import numpy as np
import pytest
import reference
from listed_families import MISSING, Listed, random_states

from skbn._orders.insertion_kernels import Limits, choose_families, state_of
from skbn._orders.order_search import climb
from skbn._orders.search_kernels import Best, arrange, perturb_and_climb
from skbn._orders.segment_kernels import segment_of

LEAST = 1e-6

# Columns, how many stay, and the width of a segment.
CASES = {
    "few columns": (lambda seed: Listed(seed, m=9, n=20), 3),
    "without segments": (lambda seed: Listed(seed, m=9, n=20), 1),
    "not all have the empty set": (lambda seed: Listed(seed, m=9, n=8, has_empty=False), 4),
    "the first columns stay": (lambda seed: Listed(seed, m=10, n=20, first=3), 5),
    "large families": (lambda seed: Listed(seed, m=9, n=30, most=8), 1),
    "no families": (lambda seed: Listed(seed, m=4, n=0), 1),
    "one column moves": (lambda seed: Listed(seed, m=5, n=10, first=4), 1),
    "two words": (lambda seed: Listed(seed, m=68, n=100), 8),
}


def climb_once(listed, state, width, least, random, i=0, most=10**6):
    segment, limits = segment_of(width, listed.lists), Limits(listed.first, least)
    return climb(listed.lists, state, segment, limits, most, random, i)


class Perturbed:
    """A search from one order, which goes on by perturbations."""

    def __init__(self, listed, state, total):
        self.listed, self.state = listed, state
        self.totals, self.order = np.full(2, total), state.order.copy()

    def perturb(self, width, least, n, random, i=0, most=10**6):
        lists = self.listed.lists
        best = Best(state_of(self.order, lists), self.order, self.totals)
        segment, limits = segment_of(width, lists), Limits(self.listed.first, least)
        arguments = (lists, self.state, best, segment, limits, n, most, random, i)
        return perturb_and_climb(*arguments)


def climbed(listed, state, width, least, random):
    """Climb as the search does: without segments first, and until nothing is gained."""
    total = climb_once(listed, state, 1, least, random)
    while True:
        before, total = total, climb_once(listed, state, width, least, random)
        assert state.marked[0] == 0
        if not total > before + least:
            return total


@pytest.mark.parametrize(
    ("name", "seed"), [(name, i) for name in CASES for i in range(1 if name == "two words" else 4)]
)
def test_after_a_climb_no_insertion_gains(name, seed):
    make, width = CASES[name]
    listed = make(seed)
    state = listed.start()
    start = listed.score(state.order)
    total = climbed(listed, state, width, LEAST, random_states(seed))
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
        total = climbed(listed, state, 1, least, random_states(seed))
        best = reference.best_insertion(listed.families, state.order.tolist(), MISSING)
        assert best <= total + least
        n_left += best > total + LEAST
        has_moved = state.order.tolist() != order
        assert (total > listed.score(order) + least) == has_moved
        assert not (has_moved and least == 1e6)
    assert n_left > 0


@pytest.mark.parametrize("name", CASES)
def test_perturbations_keep_the_best_order_and_its_score(name):
    make, width = CASES[name]
    listed, random = make(7), random_states(0, 2)
    state = listed.start()
    search = Perturbed(listed, state, climb_once(listed, state, width, LEAST, random, 1))
    best_order, totals = search.order, search.totals
    other = random[0]
    n_better = 0
    for _ in range(12):
        before = totals[1]
        last = search.perturb(width, LEAST, 5, random, 1)
        listed.assert_follows(state)
        assert listed.score(state.order) == pytest.approx(totals[0])
        assert listed.score(best_order) == pytest.approx(totals[1])
        assert sorted(best_order) == list(range(listed.m))
        assert 0 <= last <= 5
        assert (totals[1] > before) == (last > 0)
        n_better += last > 0
    assert random[0] == other
    if name == "two words":
        assert n_better > 0


def test_perturbations_find_the_best_order_of_few_columns():
    """Also from a local optimum, in which insertions get stuck."""
    for seed in range(4):
        listed, random = Listed(seed, m=6, n=12), random_states(seed)
        state = listed.start()
        search = Perturbed(listed, state, climbed(listed, state, 1, LEAST, random))
        search.perturb(1, LEAST, 500, random)
        best = reference.best_segment(listed.families, list(range(6)), 0, 6, MISSING)
        assert listed.score(search.order) == pytest.approx(best)


@pytest.mark.parametrize("most", [0, 1, 5])
def test_no_more_columns_are_tried_than_that(most):
    listed, random = Listed(3, m=30, n=20), random_states(0)
    state = listed.start()
    total = climb_once(listed, state, 1, LEAST, random, most=most)
    listed.assert_follows(state)
    assert total == pytest.approx(listed.score(state.order))
    assert state.marked[0] >= 30 - most
    before = random.copy()
    Perturbed(listed, state, total).perturb(1, LEAST, 10, random, most=most)
    listed.assert_follows(state)
    assert (random == before).all() == (most == 0)


@pytest.mark.parametrize("least", [1e-6, -1.0, np.nan])
def test_climbs_end_whatever_seems_to_gain(least):
    """Also if the families are not the best first, so that losses look like gains."""
    listed, random = Listed(0, m=6, n=8, has_empty=False), random_states(0)
    missing = listed.lists.scores == MISSING
    listed.lists.scores[missing] = 1000.0
    state = listed.start()
    total = climb_once(listed, state, 4, least, random, most=1000)
    Perturbed(listed, state, total).perturb(4, least, 10, random, most=1000)
    assert sorted(state.order.tolist()) == list(range(6))


@pytest.mark.parametrize("first", [0, 2])
def test_orders_are_arranged_so_that_all_columns_have_families(first):
    n_possible = n_changed = 0
    for seed in range(60):
        m = 5 + first
        listed = Listed(seed, m=m, n=2, most=2, first=first, has_empty=False)
        rng = np.random.default_rng(seed)
        root = int(rng.integers(first, m))
        listed.add(root, {frozenset(): -50.0})
        listed.families[root].append((frozenset(), -50.0))
        listed.lists = listed.listed.arrays()
        state = listed.start()
        before = state.order.tolist()
        is_possible = arrange(listed.lists, state, first, MISSING)
        order = state.order.tolist()
        choose_families(listed.lists, state)
        listed.assert_follows(state)
        orders = [
            [*range(first), *(first + x for x in later)] for later in permutations(range(m - first))
        ]
        fits = [listed.score(each) > MISSING / 2 for each in orders]
        assert is_possible == any(fits)
        assert is_possible == (listed.score(order) > MISSING / 2)
        if listed.score(before) > MISSING / 2:
            assert order == before
        n_possible += is_possible
        n_changed += is_possible and order != before
    assert 5 < n_changed < n_possible < 60
