"""Fixed candidates, and random ones."""

import math
from collections import Counter
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from states import assert_drawn_from, candidates_of, others, random_scores, state_of, values_of

from skbn._chains.candidate_kernels import redraw_candidates, weigh_candidates


@pytest.mark.parametrize(("n_fixed", "n_random"), [(1, 2), (2, 3), (0, 4), (3, 1)])
def test_random_candidates_of_all_kinds_of_parents(n_fixed, n_random):
    """Sets are as probable as said, against weights of sets that are summed one by one."""
    m, x = 7, 2
    state, outside, weights = state_with_random(m, x, n_fixed, n_random)
    logs = np.empty(1 << n_random)
    totals = Counter()
    for drawn in combinations(outside.tolist(), n_random):
        set_candidates(state, x, [*others(m)[x][:n_fixed], *drawn])
        weigh_candidates(state, x, n_fixed, outside, weights, logs)
        weight_of = dict(zip(outside.tolist(), weights, strict=True))
        for mask, log in enumerate(logs):
            parents = {z for p, z in enumerate(drawn) if mask >> p & 1}
            free = set(outside.tolist()) - parents
            all_sets = combinations(sorted(free), n_random - len(parents))
            total = sum(math.prod(weight_of[z] for z in each) for each in all_sets)
            own = math.prod(weight_of[z] for z in drawn if z not in parents)
            assert log == pytest.approx(math.log(own / total), abs=1e-12)
            totals[frozenset(parents)] += math.exp(log)
    # So the sum over all random candidates leaves the weight of a parent set as it is.
    np.testing.assert_allclose(list(totals.values()), 1.0)


def test_random_candidates_are_drawn_as_probable_as_they_are_said_to_be():
    m, x, n_fixed, n_random = 8, 7, 2, 3
    state, outside, weights = state_with_random(m, x, n_fixed, n_random)
    state.layers[4:] = state.n_layers[0] = 2
    state.scores[x] = state.sums[x] = -np.inf
    parent = 1 << n_fixed  # the first of the random candidates, which has to stay
    state.scores[x, parent] = 0.0
    state.sums[x, [mask for mask in range(1 << n_fixed + n_random) if mask & parent]] = 0.0
    start = state.candidates[x].tolist()
    counts = Counter()
    for _ in range(4000):
        set_candidates(state, x, start)
        redraw_candidates(state, x, n_fixed, outside, weights)
        own = state.candidates[x].tolist()
        assert own[: n_fixed + 1] == start[: n_fixed + 1]
        assert sorted(np.flatnonzero(state.places[x] >= 0).tolist()) == sorted(own)
        assert all(state.places[x, z] == p for p, z in enumerate(own))
        counts[frozenset(own[n_fixed + 1 :])] += 1
    weight_of = dict(zip(outside.tolist(), weights, strict=True))
    further = [z for z in outside.tolist() if z != start[n_fixed]]
    pairs = {
        frozenset(pair): weight_of[pair[0]] * weight_of[pair[1]]
        for pair in combinations(further, 2)
    }
    assert_drawn_from(counts, pairs)


def state_with_random(m, x, n_fixed, n_random):
    """A state whose columns have few candidates; which columns are outside x's, and weights."""
    n = n_fixed + n_random
    state = state_of(random_scores(m, 5), [range(m)])._replace(
        candidates=np.zeros((m, n), np.int64),
        n_candidates=np.full(m, n),
        scores=np.zeros((m, 1 << n)),
        sums=np.zeros((m, 1 << n)),
    )
    for z in range(m):
        set_candidates(state, z, others(m)[z][:n])
    outside = np.array(others(m)[x][n_fixed:])
    return state, outside, np.random.default_rng(m).uniform(0.01, 1, len(outside))


def set_candidates(state, x, candidates):
    state.candidates[x] = candidates
    state.places[x] = -1
    state.places[x, candidates] = np.arange(len(candidates))


def test_all_possible_parents_are_candidates_if_they_are_few():
    scores = random_scores(5, 1)
    candidates = candidates_of(scores, 2, 2)
    assert candidates.are_all
    sizes = candidates.sizes(0, 0, np.zeros(4))
    assert sizes == (4, 0)
    chosen, outside = candidates.chosen(0, *sizes, [3, 1, 2, 4], [], np.random.default_rng(0))
    assert (chosen, outside) == ([3, 1, 2, 4], [])


@given(st.data())
def test_parents_are_among_the_candidates(data):
    m, n_fixed, n_random = 12, 4, 3
    candidates = candidates_of(np.zeros((m, 1)), n_fixed, n_random)
    ranked = data.draw(st.permutations(others(m)[0]))
    parents = data.draw(st.lists(st.sampled_from(others(m)[0]), unique=True, max_size=7))
    sizes = n_fixed, n_random
    chosen, outside = candidates.chosen(0, *sizes, ranked, parents, np.random.default_rng(0))
    assert len(set(chosen)) == n_fixed + n_random
    assert set(parents) <= set(chosen)
    assert set(outside) == set(others(m)[0]) - set(chosen[:n_fixed])
    first = ranked[:n_fixed]
    if len(set(parents) - set(first)) <= n_random:
        assert chosen[:n_fixed] == first


def test_columns_with_many_parents_have_many_candidates():
    candidates = replace(candidates_of(np.zeros((30, 1)), 4, 3), n_most=12)
    none = np.zeros(29)
    assert candidates.sizes(0, 2, none) == (4, 3)
    assert candidates.sizes(0, 7, none) == (7, 3)
    assert candidates.sizes(0, 20, none) == (9, 3)


def test_columns_with_many_parents_outside_have_many_random_candidates():
    candidates = replace(candidates_of(np.zeros((30, 1)), 4, 3), n_most=12)
    for n_outside, n_random in ((0.0, 3), (0.5, 3), (0.9, 4), (1.4, 5), (9.0, 8)):
        chances = np.array([1.0] * 6 + [n_outside / 23] * 23)
        assert candidates.sizes(0, 6, chances) == (min(6, 12 - n_random), n_random)


@pytest.mark.parametrize("seed", range(3))
def test_chances_of_edges_given_all_others(seed):
    m = 4
    scores = random_scores(m, seed)
    values = values_of(scores)
    networks = reference.all_dags(m)
    rng = np.random.default_rng(seed)
    for parents in rng.choice(np.array(networks, dtype=object), 20):
        is_parent = np.zeros((m, m), np.bool_)
        for x, own in enumerate(parents):
            is_parent[x, list(own)] = True
        reaches = np.linalg.matrix_power(np.eye(m) + is_parent, m) > 0
        np.fill_diagonal(reaches, False)
        chances = candidates_of(scores, 3, 0).chances(is_parent, reaches)
        for x in range(m):
            for z in others(m)[x]:
                rest = tuple(v for v in parents[x] if v != z)
                of_edge = [rest, tuple(sorted((*rest, z)))]
                weights = [
                    values[x, own]
                    if reference.is_acyclic((*parents[:x], own, *parents[x + 1 :]))
                    else 0.0
                    for own in of_edge
                ]
                assert chances[x, z] == pytest.approx(weights[1] / sum(weights), abs=1e-12)
