"""Networks of whole chains against all 29,281 networks of five columns."""

from collections import Counter

import numpy as np
import pytest
import reference
from states import assert_drawn_from, candidates_of, masks_of, random_scores

from skbn._chains import chain as module
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
    for _ in range(6000):
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


def test_what_no_state_has_has_an_error_unless_constraints_say_so():
    states = np.random.default_rng(0).uniform(size=(4, 20_000))
    found = agreement_of(chains_of(states, 20))
    known = found.with_errors_of_constants(np.zeros((2, 2), dtype=bool))
    np.testing.assert_array_equal(known.edge_errors, found.edge_errors)
    told = found.with_errors_of_constants(~np.eye(2, dtype=bool))
    assert told.edge_errors[1, 0] == pytest.approx(1 / found.sample_sizes[0, 1])
    assert told.edge_errors[0, 0] == 0.0
    assert told.edge_errors[0, 1] == found.edge_errors[0, 1]
    constant = agreement_of(chains_of(np.ones((2, 100)), 10))
    told = constant.with_errors_of_constants(~np.eye(2, dtype=bool))
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
