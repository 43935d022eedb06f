"""Random candidates leave the posterior alone."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from states import candidates_of, others, random_scores


@pytest.mark.parametrize(("n_fixed", "n_random"), [(1, 2), (2, 3), (0, 4), (3, 1)])
def test_the_sum_over_random_candidates_is_the_weight(n_fixed, n_random):
    """For each parent set with few parents outside the fixed candidates, up to one constant."""
    m = 7
    scores = random_scores(m, 0, spread=1.0)
    candidates = candidates_of(scores, n_fixed, n_random)
    fixed, outside = others(m)[2][:n_fixed], others(m)[2][n_fixed:]
    sums = {}
    for drawn in combinations(outside, n_random):
        chosen = [*fixed, *drawn]
        for mask, score in enumerate(candidates.scores(2, n_fixed, chosen)):
            parents = frozenset(z for p, z in enumerate(chosen) if mask >> p & 1)
            sums[parents] = sums.get(parents, 0.0) + np.exp(score)
    masks = {
        frozenset(z for p, z in enumerate(others(m)[2]) if mask >> p & 1): mask
        for mask in range(1 << (m - 1))
    }
    factors = {
        parents: total / np.exp(scores[2, masks[parents]]) for parents, total in sums.items()
    }
    assert set(factors) == {parents for parents in masks if len(parents & set(outside)) <= n_random}
    np.testing.assert_allclose(list(factors.values()), factors[frozenset()], rtol=1e-12)


def test_all_possible_parents_are_candidates_if_they_are_few():
    scores = random_scores(5, 1)
    candidates = candidates_of(scores, 2, 2)
    assert candidates.are_all
    n_fixed = candidates.n_fixed(0, 0)
    chosen, outside = candidates.chosen(0, n_fixed, [3, 1, 2, 4], [], np.random.default_rng(0))
    assert (chosen, outside) == ([3, 1, 2, 4], [])
    order = [z - 1 for z in chosen]
    masks = [sum(1 << order[p] for p in range(4) if mask >> p & 1) for mask in range(16)]
    np.testing.assert_array_equal(candidates.scores(0, n_fixed, chosen), scores[0, masks])


@given(st.data())
def test_parents_are_among_the_candidates(data):
    m, n_fixed, n_random = 12, 4, 3
    candidates = candidates_of(np.zeros((m, 1)), n_fixed, n_random)
    ranked = data.draw(st.permutations(others(m)[0]))
    parents = data.draw(st.lists(st.sampled_from(others(m)[0]), unique=True, max_size=7))
    chosen, outside = candidates.chosen(0, n_fixed, ranked, parents, np.random.default_rng(0))
    assert len(set(chosen)) == n_fixed + n_random
    assert set(parents) <= set(chosen)
    assert set(outside) == set(others(m)[0]) - set(chosen[:n_fixed])
    first = ranked[:n_fixed]
    if len(set(parents) - set(first)) <= n_random:
        assert chosen[:n_fixed] == first


def test_columns_with_many_parents_have_many_candidates():
    candidates = replace(candidates_of(np.zeros((30, 1)), 4, 3), n_most=12)
    assert candidates.n_fixed(0, 2) == 4
    assert candidates.n_fixed(0, 7) == 7
    assert candidates.n_fixed(0, 20) == 9
