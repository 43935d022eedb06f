"""States of chains from tables of weights, and what they should be drawn from."""

import math

import numpy as np

from skbn._chains.candidates import Candidates
from skbn._chains.chain import CHAIN_KERNELS
from skbn._chains.family_kernels import sum_subsets
from skbn._chains.partition_kernels import Partition
from skbn._core.compile import compile_kernels


def random_scores(m, seed, spread=3.0, ruled_out=0.0):
    """A score of each set of the other columns, by their masks in ascending order."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(scale=spread, size=(m, 1 << (m - 1)))
    scores[:, 1:][rng.random((m, (1 << (m - 1)) - 1)) < ruled_out] = -np.inf
    return scores


def others(m):
    return [[z for z in range(m) if z != x] for x in range(m)]


def bits_of(m):
    """The bit of each other column in the masks of each column's parents."""
    return [{z: 1 << p for p, z in enumerate(own)} for own in others(m)]


def masks_of(parents):
    """The parents of each column as masks over all others."""
    bits = bits_of(len(parents))
    return tuple(sum(bits[x][z] for z in own) for x, own in enumerate(parents))


def values_of(scores):
    """The weights of parent sets, as references take them."""
    m = len(scores)
    return {
        (x, tuple(z for p, z in enumerate(own) if mask >> p & 1)): math.exp(scores[x, mask])
        for x, own in enumerate(others(m))
        for mask in range(1 << (m - 1))
    }


def state_of(scores, layers, seed=0):
    """The state of a chain in which all other columns are candidates."""
    compile_kernels(CHAIN_KERNELS)
    m = len(scores)
    candidates = np.array(others(m))
    places = np.full((m, m), -1)
    for x, own in enumerate(candidates):
        places[x, own] = np.arange(m - 1)
    sums = np.empty_like(scores)
    for x in range(m):
        sum_subsets(scores[x].copy(), sums[x])
    number = np.empty(m, np.int64)
    for i, layer in enumerate(layers, start=1):
        number[list(layer)] = i
    random = np.random.default_rng(seed).integers(0, 1 << 64, size=1, dtype=np.uint64)
    layers = number, np.array([len(layers)]), random
    return Partition(candidates, np.full(m, m - 1), places, scores.copy(), sums, *layers)


def layers_of(state):
    """The layers of a state, as the reference has them."""
    assert state.n_layers[0] == state.layers.max()
    return tuple(
        tuple(np.flatnonzero(state.layers == i).tolist()) for i in range(1, state.n_layers[0] + 1)
    )


def network_in(is_parent):
    """The parents of each column, as the reference has them."""
    return tuple(tuple(np.flatnonzero(row).tolist()) for row in is_parent)


def candidates_of(scores, n_fixed, n_random):
    """Candidates of which some are random, from the scores of all sets of the other columns."""
    m = len(scores)
    bits = bits_of(m)

    def scores_of(x, chosen):
        masks = [
            sum(bits[x][z] for p, z in enumerate(chosen) if mask >> p & 1)
            for mask in range(1 << len(chosen))
        ]
        return scores[x, masks]

    def gains_of(is_parent):
        gains = np.full((m, m), -np.inf)
        for x, own in enumerate(is_parent):
            mask = sum(bits[x][z] for z in np.flatnonzero(own).tolist())
            for z, bit in bits[x].items():
                gains[x, z] = scores[x, mask ^ bit] - scores[x, mask]
        return gains

    n_most = n_fixed + n_random
    return Candidates(others(m), [[]] * m, scores_of, gains_of, n_fixed, n_most, n_random)
