"""What batches of chains say together."""

import numpy as np
import pytest

from skbn._chains.chain import Batch
from skbn._chains.convergence import (
    agreement_of,
    batches_of_states,
    errors_of_batches,
)


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
