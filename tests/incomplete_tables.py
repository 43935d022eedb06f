"""Tables with missing values."""

import numpy as np


def correlated_rows(m, n, rng, density=0.5):
    """Return rows of a random network of m columns."""
    weights = np.triu(rng.random((m, m)) < density, 1) * rng.normal(size=(m, m))
    order = rng.permutation(m)
    return (rng.normal(size=(n, m)) @ np.linalg.inv(np.eye(m) - weights))[:, order]


def with_holes(rows, share, rng, at_random=True):
    """Return rows with holes at random, or only where the first column is large.

    Each row keeps a value.
    """
    chance = np.full(rows.shape, share)
    if not at_random:
        chance = chance * 2 * (rows[:, :1] > np.median(rows[:, 0]))
        chance[:, 0] = 0.0
    holes = rows.copy()
    holes[rng.random(rows.shape) < chance] = np.nan
    empty = np.isnan(holes).all(axis=1)
    holes[empty, -1] = rows[empty, -1]
    return holes
