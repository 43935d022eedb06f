"""Segments of an order, against all permutations of their columns."""

import pytest
import reference
from kernels import callable_from_python
from listed_families import MISSING, Listed, fresh, random_states

from skbn._orders import segment_kernels
from skbn._orders.insertion_kernels import Limits
from skbn._orders.segment_kernels import segment_of

improve_segment = callable_from_python(segment_kernels.improve_segment)


def improved(listed, state, a, width, random, least=1e-9):
    segment, limits = segment_of(width, listed.lists), Limits(listed.first, least)
    return improve_segment(listed.lists, state, segment, limits, a, random, 0)


CASES = {
    "few columns": lambda: Listed(0, m=8, n=15),
    "not all have the empty set": lambda: Listed(1, m=8, n=5, has_empty=False),
    "the first columns stay": lambda: Listed(2, m=8, n=15, first=2),
    "large families": lambda: Listed(3, m=9, n=30, most=8),
    "two words": lambda: Listed(4, m=70, n=150),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("width", [2, 3, 5])
def test_no_permutation_of_a_segment_scores_higher(name, width):
    listed, random = fresh(CASES[name]), random_states(width)
    gains = []
    for _ in range(2 if listed.m > 20 else 8):
        state = listed.start()
        order = state.order.tolist()
        chosen = state.chosen.copy()
        a = int(listed.rng.integers(listed.first, listed.m - width + 1))
        gain = improved(listed, state, a, width, random)
        listed.assert_follows(state)
        assert state.order[:a].tolist() == order[:a]
        assert state.order[a + width :].tolist() == order[a + width :]
        before, after = listed.score(order), listed.score(state.order)
        assert gain == pytest.approx(after - before, abs=1e-9)
        best = reference.best_segment(listed.families, order, a, width, MISSING)
        assert after == pytest.approx(best, abs=1e-9)
        changed = state.chosen != chosen
        assert state.is_marked[changed].all()
        assert state.is_marked.sum() == state.marked[0]
        # Again there is nothing to gain.
        assert abs(improved(listed, state, a, width, random)) < 1e-9
        gains.append(gain)
    if width > 2 and listed.m < 20:
        assert max(gains) > 0.1


def test_ties_are_broken_at_random():
    """Of columns without families all orders are equally good, and all are drawn."""
    listed, random = Listed(0, m=3, n=0), random_states(1)
    orders = set()
    for _ in range(100):
        state = listed.start()
        state.order[:] = [0, 1, 2]
        state.position[:] = [0, 1, 2]
        improved(listed, state, 0, 3, random)
        orders.add(tuple(state.order.tolist()))
    assert len(orders) == 6
