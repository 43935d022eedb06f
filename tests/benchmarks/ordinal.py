"""Edges found where columns were cut into a few levels: Pearson against polychoric correlations.

Random networks of 8 columns and 10 edges. Each column is cut into 3, 5 or 7 levels, at
equal steps or so that most answers are at one end. Printed is the mean number of pairs that are
wrongly joined or not joined, with its standard error.
"""

import argparse
from itertools import combinations

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import ndtr, ndtri

from skbn import GaussianBNLearner, from_covariance

M, N_EDGES = 8, 10
NODES, WEIGHTS = np.polynomial.legendre.leggauss(20)


def drawn(rng, n):
    """Return rows of a random network, standardised, and the pairs that it joins."""
    pairs = list(combinations(range(M), 2))
    edges = [pairs[i] for i in rng.choice(len(pairs), N_EDGES, replace=False)]
    rows = rng.normal(size=(n, M))
    for v in range(M):
        for a, b in edges:
            if b == v:
                rows[:, v] += rng.choice([-1, 1]) * rng.uniform(0.4, 0.9) * rows[:, a]
        rows[:, v] /= rows[:, v].std()
    return rows, {frozenset(edge) for edge in edges}


def cut(rows, n_levels, is_skewed):
    """Return the rows as levels from 0."""
    steps = (np.arange(n_levels - 1) - (n_levels - 2) / 2) * 3.6 / n_levels + is_skewed
    levels = np.stack([np.searchsorted(steps, column) for column in rows.T], axis=1)
    return np.stack([np.unique(column, return_inverse=True)[1] for column in levels.T], axis=1)


def polychoric(levels):
    """Return the polychoric correlations, in two steps, pair by pair."""
    shares = [np.cumsum(np.bincount(column))[:-1] / len(levels) for column in levels.T]
    correlations = np.eye(M)
    for i, j in combinations(range(M), 2):
        counts = np.zeros((len(shares[i]) + 1, len(shares[j]) + 1))
        np.add.at(counts, (levels[:, i], levels[:, j]), 1)
        a, b = ndtri(shares[i])[:, None, None], ndtri(shares[j])[None, :, None]

        def loss(rho, a=a, b=b, counts=counts):
            r = rho * (NODES + 1) / 2  # the distribution function is an integral over correlations
            density = np.exp(-(a * a - 2 * r * a * b + b * b) / (2 * (1 - r * r)))
            below = (density / np.sqrt(1 - r * r)) @ WEIGHTS * rho / (4 * np.pi)
            full = np.zeros((counts.shape[0] + 1, counts.shape[1] + 1))
            full[1:-1, 1:-1] = ndtr(a[..., 0]) * ndtr(b[..., 0]) + below
            full[-1, 1:-1], full[1:-1, -1], full[-1, -1] = ndtr(b[0, :, 0]), ndtr(a[:, 0, 0]), 1
            cells = np.diff(np.diff(full, axis=0), axis=1)
            return -float((counts * np.log(cells.clip(1e-12))).sum())

        rho = minimize_scalar(loss, bounds=(-0.99, 0.99), method="bounded").x
        correlations[i, j] = correlations[j, i] = rho
    return correlations


def errors(correlations, n, true_pairs):
    """Return how many pairs are joined in one of both networks only."""
    dag = GaussianBNLearner().fit(from_covariance(correlations, n)).dag_
    return len(true_pairs ^ {frozenset(edge) for edge in dag.edges})


def main():
    """Print a table of errors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("n_networks", type=int, nargs="?", default=100)
    parser.add_argument("--rows", type=int, default=500)
    args = parser.parse_args()
    n_networks, n = args.n_networks, args.rows
    print(f"{'levels':>9} {'steps':>7} {'Pearson':>13} {'polychoric':>13}")
    kinds = [(0, False), *((k, skewed) for skewed in (False, True) for k in (3, 5, 7))]
    for n_levels, is_skewed in kinds:
        found = []
        for seed in range(n_networks):
            rows, pairs = drawn(np.random.default_rng(seed), n)
            if not n_levels:
                found.append([errors(np.corrcoef(rows.T), n, pairs)] * 2)
                continue
            levels = cut(rows, n_levels, is_skewed)
            both = np.corrcoef(levels.T), polychoric(levels)
            found.append([errors(each, n, pairs) for each in both])
        mean = np.mean(found, axis=0)
        error = np.std(found, axis=0) / np.sqrt(n_networks)
        shown = [f"{m:5.2f} +- {e:4.2f}" for m, e in zip(mean, error, strict=True)]
        kind = ("skewed" if is_skewed else "equal") if n_levels else "none"
        print(f"{n_levels or 'uncut':>9} {kind:>7} {shown[0]:>13} {shown[1]:>13}", flush=True)


if __name__ == "__main__":
    main()
