"""Moves within an order, against the best listed family of each column for the order as it is."""

import numpy as np
import pytest
from kernels import callable_from_python
from listed_families import Listed, fresh

from skbn._orders import insertion_kernels
from skbn._orders.insertion_kernels import choose_families, state_of
from skbn._orders.list_kernels import find_dominated

move = callable_from_python(insertion_kernels.move)

# Some with more columns in the lists of a child than one word has bits.
CASES = {
    "few columns": lambda: Listed(0, m=7, n=12),
    "not all have the empty set": lambda: Listed(0, m=7, n=6, has_empty=False),
    "large families": lambda: Listed(0, m=9, n=20, most=7),
    "the first columns stay": lambda: Listed(0, m=9, n=12, first=3),
    "no families": lambda: Listed(0, m=4, n=0),
    "two words": lambda: Listed(0, m=70, n=120, most=4),
    "three words": lambda: Listed(0, m=140, n=30, first=2, has_all=True),
}


@pytest.mark.parametrize("name", CASES)
def test_lists_have_as_many_words_as_they_need(name):
    listed = fresh(CASES[name])
    n_words = {"two words": 2, "three words": 3}.get(name, 1)
    assert listed.lists.sets.shape[1] == n_words
    if n_words > 1:
        # And families are chosen for parents in the later words.
        later = listed.lists.sets[:, 1:].any(axis=1)
        assert later.sum() > 500


@pytest.mark.parametrize("name", CASES)
def test_families_are_chosen_for_an_order(name):
    listed = fresh(CASES[name])
    state = state_of(listed.draw_order(), listed.lists)
    order = state.order.copy()
    total = choose_families(listed.lists, state)
    np.testing.assert_array_equal(state.order, order)
    listed.assert_follows(state)
    assert total == pytest.approx(listed.score(order))


@pytest.mark.parametrize("name", CASES)
def test_moves_keep_the_state_of_the_order(name):
    listed = fresh(CASES[name])
    state = listed.start()
    for _ in range(60 if listed.m < 50 else 8):
        order = state.order.tolist()
        chosen = state.chosen.copy()
        x, target = listed.rng.integers(listed.first, listed.m, size=2).tolist()
        state.is_marked[:] = False
        state.marked[0] = 0
        move(listed.lists, state, x, target)
        order.remove(x)
        order.insert(target, x)
        assert state.order.tolist() == order
        listed.assert_follows(state)
        marked = state.marked[1 : 1 + state.marked[0]].tolist()
        assert sorted(marked) == np.flatnonzero(state.is_marked).tolist()
        changed = np.flatnonzero(state.chosen != chosen).tolist()
        parents = set()
        for y in changed:
            for family in (chosen[y], state.chosen[y]):
                parents.update(listed.listed.parents(listed.lists, y, family))
        assert {*marked} == {x, *changed} | parents


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
