"""Random windows of few columns, and points in them."""

from typing import NamedTuple

import numpy as np
import reference
from scipy.optimize import linprog


class RandomWindow(NamedTuple):
    w: int
    starts: np.ndarray
    masks: np.ndarray
    networks: np.ndarray  # of listed families, one row each


def random_window(rng, w, most):
    """For each column the empty set and up to `most` others."""
    listed = []
    for x in range(w):
        sets = {0} | {
            int(s) & ~(1 << x) for s in rng.integers(0, 1 << w, rng.integers(1, most + 1))
        }
        listed.append(sorted(sets))
    starts = np.cumsum([0, *map(len, listed)])
    masks = np.array([s for sets in listed for s in sets])
    number = [{s: int(starts[x]) + i for i, s in enumerate(sets)} for x, sets in enumerate(listed)]
    networks = [
        [number[x][s] for x, s in enumerate(network)]
        for network in reference.acyclic_masks(w)
        if all(s in number[x] for x, s in enumerate(network))
    ]
    return RandomWindow(w, starts, masks, np.array(networks))


def random_weights(rng, window):
    """A point that mostly gives columns parents, so that cycles have weight."""
    weights = rng.exponential(size=window.masks.size) * np.where(window.masks == 0, 0.1, 1.0)
    weights[rng.random(weights.size) < 0.3] = 0.0
    for x in range(window.w):
        own = weights[window.starts[x] : window.starts[x + 1]]
        own[0] += own.sum() == 0
        own /= own.sum()
    return weights


def mixture(rng, window):
    """A point that no cut can be violated by."""
    n = len(window.networks)
    chosen = window.networks[rng.integers(0, n, size=rng.integers(1, 6))]
    shares = rng.dirichlet(np.ones(len(chosen)))
    weights = np.zeros(window.masks.size)
    np.add.at(weights, chosen, shares[:, np.newaxis])
    return weights


def largest_violation(window, weights):
    """Over coefficients from 0 to 1: by how much the point violates a cut, with all networks."""
    n = weights.size
    rows = np.zeros((len(window.networks), n + 1))
    for row, network in zip(rows, window.networks, strict=True):
        row[network] = -1.0
    rows[:, n] = 1.0
    bounds = [(0.0, 1.0)] * n + [(None, None)]
    result = linprog([*weights, -1.0], A_ub=rows, b_ub=np.zeros(len(rows)), bounds=bounds)
    assert result.status == 0
    return -result.fun
