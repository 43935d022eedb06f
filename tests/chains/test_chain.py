"""Networks of whole chains against all 29,281 networks of five columns."""

import math
from collections import Counter
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import reference
from agreement import assert_drawn_from
from hypothesis import given
from hypothesis import strategies as st
from states import candidates_of, masks_of, others, random_scores, state_of, values_of

from skbn._chains import chain as module
from skbn._chains.candidate_kernels import redraw_candidates, weigh_candidates
from skbn._chains.chain import CHAIN_KERNELS, Batch, Chain
from skbn._chains.convergence import agreement_of, batches_of_states, errors_of_batches
from skbn._core.compile import compile_kernels
from skbn._posterior.sampled_posterior import random_network

M = 5


@pytest.fixture(scope="module")
def networks():
    """The parents of each column as masks over all others, shape (29281, 5)."""
    return np.array([masks_of(parents) for parents in reference.all_dags(M)])


def chain_after(candidates, n, seed, max_parents=4):
    """A chain whose batch has n states."""
    compile_kernels(CHAIN_KERNELS)
    rng = np.random.default_rng(seed)
    start = random_network(candidates, range(M), max_parents, rng)
    ranked = candidates.possible
    chain = Chain(candidates, range(M), start, ranked, np.random.SeedSequence(seed))
    for _ in range(50):
        chain.step()
    chain.forget()
    for _ in range(n):
        chain.step()
    return chain


def networks_of(chain, m=M):
    """The parents of each column as masks over all others, as tuples."""
    packed = np.array(chain.batch.networks)
    is_parent = np.unpackbits(packed, axis=1, count=m * m).reshape(-1, m, m)
    rows = [np.delete(is_parent[:, x], x, axis=1) @ (1 << np.arange(m - 1)) for x in range(m)]
    return [*map(tuple, np.stack(rows, axis=1).tolist())]


def weights_of(networks, scores):
    logs = scores[np.arange(M), networks].sum(axis=1)
    weights = np.exp(logs - logs.max())
    return dict(zip(map(tuple, networks.tolist()), weights.tolist(), strict=True))


SETTINGS = [
    *(([1.0], 40, 0.0), ([0.0, 1.0], 20, 0.0), ([0.0, 0.0, 1.0], 20, 0.0)),
    *(([0.3, 0.8, 1.0], 20, 0.0), ([0.3, 0.8, 1.0], 20, 0.4)),
]


@pytest.mark.slow
@pytest.mark.parametrize(("widths", "n_moves", "ruled_out"), SETTINGS)
def test_each_kind_of_move(monkeypatch, networks, widths, n_moves, ruled_out):
    monkeypatch.setattr(module, "_SHARES_OF_WIDTH", np.array(widths))
    monkeypatch.setattr(module, "_FEWEST_MOVES", n_moves)
    scores = random_scores(M, 0, spread=1.0, ruled_out=ruled_out)
    found = Counter(networks_of(chain_after(candidates_of(scores, 4, 0), 30_000, 1)))
    assert_drawn_from(found, weights_of(networks, scores))


def test_weights_do_not_depend_on_the_candidates():
    """Chains with other fixed candidates have the same unit, so that they can be compared."""
    scores = random_scores(M, 4)
    chain = chain_after(candidates_of(scores, 1, 2), 40, 3)
    expected = [scores[np.arange(M), network].sum() for network in networks_of(chain)]
    np.testing.assert_allclose(chain.batch.log_weights, expected)


def test_few_networks_of_four_columns():
    """The same in a second, with a column that needs a parent and one that has none."""
    m = 4
    scores = np.full((m, 8), -np.inf)
    scores[0, 0] = 0.0
    scores[1, 1:] = np.log(np.arange(1, 8))
    scores[2] = np.linspace(-1, 1, 8)
    scores[3, [0, 2, 6]] = 0.0, 1.0, 0.5
    weights = {}
    for key in map(masks_of, reference.all_dags(m)):
        weights[key] = float(np.exp(sum(scores[x, mask] for x, mask in enumerate(key))))
    compile_kernels(CHAIN_KERNELS)
    candidates = candidates_of(scores, 3, 0)
    start = [[], [0], [], []]
    chain = Chain(candidates, range(m), start, candidates.possible, np.random.SeedSequence(0))
    for _ in range(3000):
        chain.step()
    assert_drawn_from(Counter(networks_of(chain, m)), weights)


# What batches of chains say together


def chains_of(states, n_batches):
    """Batches of chains, from the states of one edge each, shape (n_chains, n)."""
    chains = []
    for of_chain in states:
        batches = []
        for part in np.array_split(of_chain, n_batches):
            batch = Batch.empty(2)
            batch.edges[0, 1], batch.squares[0, 1] = part.sum(), (part**2).sum()
            batch.paths[0, 1] = (part > 0.5).sum()
            batch.n = len(part)
            batch.log_weights = [0.0, *part]
            batch.networks = [np.zeros(1, np.uint8)] * len(part)
            batches.append(batch)
        chains.append(batches)
    return chains


def test_independent_states():
    states = np.random.default_rng(0).uniform(size=(4, 20_000))
    found = agreement_of(chains_of(states, 20))
    assert found.edges[0, 1] == pytest.approx(states.mean(), rel=1e-12)
    assert found.paths[0, 1] == pytest.approx((states > 0.5).mean(), rel=1e-12)
    np.testing.assert_allclose(found.of_chains[:, 0, 1], states.mean(axis=1))
    assert found.edge_errors[0, 1] == pytest.approx(states.std() / np.sqrt(80_000), rel=0.5)
    assert found.sample_sizes[0, 1] > 20_000
    assert found.r_hat[0, 1] == pytest.approx(1.0, abs=1e-3)
    assert found.share_far_apart == 0.0
    assert found.weights_apart < 4
    assert found.n == 80_000
    # The other pairs are never joined.
    assert found.edges[1, 0] == found.edge_errors[1, 0] == 0.0
    assert found.r_hat[1, 0] == 1.0
    assert np.isnan(found.sample_sizes[1, 0])


def test_what_hardly_any_state_has_has_an_error_unless_constraints_say_so():
    states = np.random.default_rng(0).uniform(size=(4, 20_000))
    found = agreement_of(chains_of(states, 20))
    known = found.with_least_errors(np.zeros((2, 2), dtype=bool))
    np.testing.assert_array_equal(known.edge_errors, found.edge_errors)
    told = found.with_least_errors(~np.eye(2, dtype=bool))
    assert told.edge_errors[1, 0] == pytest.approx(1 / found.sample_sizes[0, 1])
    assert told.edge_errors[0, 0] == 0.0
    assert told.edge_errors[0, 1] == found.edge_errors[0, 1]
    rare = agreement_of(chains_of(1e-5 * states, 20))
    told = rare.with_least_errors(~np.eye(2, dtype=bool))
    assert told.edge_errors[0, 1] == pytest.approx(1 / rare.sample_sizes[0, 1])
    constant = agreement_of(chains_of(np.ones((2, 100)), 10))
    told = constant.with_least_errors(~np.eye(2, dtype=bool))
    assert told.edge_errors[0, 1] == told.edge_errors[1, 0] == 1 / 200


def test_chains_that_found_different_parts():
    rng = np.random.default_rng(1)
    states = np.clip(rng.normal([[0.2], [0.2], [0.2], [0.9]], 0.02, size=(4, 2000)), 0, 1)
    found = agreement_of(chains_of(states, 20))
    assert found.differences[0, 1] == pytest.approx(0.7, abs=0.01)
    assert found.edge_errors[0, 1] == pytest.approx(0.35 / 2, abs=0.01)  # that between chains
    assert found.r_hat[0, 1] > 10
    assert found.sample_sizes[0, 1] < 1
    assert found.share_far_apart == 0.5  # three of six pairs
    assert found.weights_apart > 4


def test_a_chain_that_remembers():
    """Of an autoregressive chain with correlation r, by the factor (1 + r) / (1 - r)."""
    rng = np.random.default_rng(2)
    r, n = 0.9, 40_000
    noise = rng.normal(size=(4, n))
    states = np.zeros((4, n))
    for i in range(1, n):
        states[:, i] = r * states[:, i - 1] + noise[:, i]
    found = agreement_of(chains_of(states, 20))
    expected = states.std() * np.sqrt((1 + r) / (1 - r) / (4 * n))
    assert found.edge_errors[0, 1] == pytest.approx(expected, rel=0.4)
    assert found.sample_sizes[0, 1] == pytest.approx(4 * n * (1 - r) / (1 + r), rel=0.8)


def test_errors_of_means_of_a_feature():
    values = np.random.default_rng(3).normal(size=(4, 1000))
    batch = batches_of_states(values.size, 4)
    assert np.bincount(batch).tolist() == [100] * 40
    means = np.bincount(batch, values.ravel()) / 100
    assert errors_of_batches(means.reshape(4, 10)) == pytest.approx(1 / np.sqrt(4000), rel=0.7)
    assert batches_of_states(4, 2).tolist() == [0, 0, 1, 1]
    apart = np.repeat([0.0, 1.0], 10).reshape(2, 10)
    assert errors_of_batches(apart) == pytest.approx(np.std([0, 1], ddof=1) / np.sqrt(2))


def test_errors_of_edges_that_are_off_together():
    """Four chains are close in some of the edges by chance, though they are apart in most."""
    rng = np.random.default_rng(4)
    squares = []
    for _ in range(200):
        slow = 0.1 * rng.normal(size=(4, 1, 40))
        means = 0.1 * rng.normal(size=(4, 20, 40)) + slow
        squares.append(np.mean((means.mean(axis=(0, 1)) / errors_of_batches(means)) ** 2))
    assert 0.8 < np.sqrt(np.mean(squares)) < 1.2  # and 1.5 by each edge for itself


def test_errors_of_batches_that_are_too_short():
    """Batches of a chain that remembers more than one of them are joined."""
    rng = np.random.default_rng(5)
    ratios = []
    for _ in range(50):
        noise = rng.normal(size=(4, 20, 30))
        means = np.zeros((4, 20, 30))
        for i in range(20):
            means[:, i] = (0.6 * means[:, i - 1] if i else 0.0) + noise[:, i]
        errors = errors_of_batches(means)
        ratios.append((means.mean(axis=(0, 1)) ** 2).mean() / (errors**2).mean())
    assert 0.6 < np.sqrt(np.mean(ratios)) < 1.2


# Fixed candidates, and random ones


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
    pairs = {frozenset((y, z)): weight_of[y] * weight_of[z] for y, z in combinations(further, 2)}
    assert_drawn_from(counts, pairs)


def state_with_random(m, x, n_fixed, n_random):
    """A state whose columns have few candidates; which columns are outside x's, and weights."""
    n = n_fixed + n_random
    of_sets = {"scores": np.zeros((m, 1 << n)), "sums": np.zeros((m, 1 << n))}
    few = {"candidates": np.zeros((m, n), np.int64), "n_candidates": np.full(m, n)}
    state = state_of(random_scores(m, 5), [range(m)])._replace(**few, **of_sets)
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
                weights = [0.0, 0.0]
                for i, own in enumerate((rest, tuple(sorted((*rest, z))))):
                    if reference.is_acyclic((*parents[:x], own, *parents[x + 1 :])):
                        weights[i] = values[x, own]
                assert chances[x, z] == pytest.approx(weights[1] / sum(weights), abs=1e-12)
