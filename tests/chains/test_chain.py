"""Networks of whole chains against all 29,281 networks of five columns."""

from collections import Counter

import numpy as np
import pytest
import reference
from states import assert_drawn_from, candidates_of, masks_of, random_scores

from skbn._chains import chain as module
from skbn._chains.chain import CHAIN_KERNELS, Chain
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


@pytest.mark.slow
def test_random_candidates(networks):
    """One fixed candidate and two random ones; networks with three parents outside are left out."""
    scores = random_scores(M, 3, spread=1.0)
    found = Counter(networks_of(chain_after(candidates_of(scores, 1, 2), 30_000, 2)))
    fixed = 1  # the mask of the first of the others
    fits = (np.bitwise_count(networks & ~fixed) <= 2).all(axis=1)
    assert_drawn_from(found, weights_of(networks[fits], scores))


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
