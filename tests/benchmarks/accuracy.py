"""Measure the digits of all families' residual sums of squares on hard tables.

Run ``python tests/benchmarks/accuracy.py``. float64 represents the numbers of the tables
exactly, and the true values are computed from these numbers in rational arithmetic. For each
table it prints the condition number of the centred columns of unit norm, and the largest
absolute error of log RSS among all families

- by skbn's walk, from the factor of the rows,
- by the paper's one long walk without seeds, from the same factor,
- by a Householder QR decomposition of each family's own columns,
- by NumPy's ``lstsq`` for each family,
- by Cholesky factors of the covariance ("-" where some family has none).

``--random N`` draws N random tables with a condition number from 2e6 to 1e7 and leaves out the
long walk. For each method it prints in how many tables the largest error is above 1e-9, and the
largest error of all, also in units of eps times the condition number.
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
import reference
from hard_tables import hard_tables

from skbn._data.sample import summarise
from skbn._regressions.log_determinants import log_determinants
from skbn.paper import givens_column_swap, greedy_swaps


def families(m):
    """Return all families as the mask of the parents and the child."""
    return [(mask, x) for mask in range(1 << m) for x in range(m) if not mask >> x & 1]


def from_log_determinants(log_det, units, m):
    """Return log RSS of all families."""
    return np.array([log_det[mask | 1 << x] - log_det[mask] + units[x] for mask, x in families(m)])


def one_long_walk(factor):
    """Return the log-determinants of all sets, by the paper's path without seeds."""
    m = len(factor)
    order, log_det = list(range(m)), np.zeros(1 << m)

    def settle(prefixes):
        sums = np.concatenate([[0.0], np.cumsum(2 * np.log(np.abs(np.diag(factor))))])
        for i in prefixes:
            log_det[sum(1 << v for v in order[:i])] = sums[i]

    settle(range(m + 1))
    for i in greedy_swaps(m):
        factor = givens_column_swap(factor, i)
        order[i], order[i + 1] = order[i + 1], order[i]
        settle([i + 1])
    return log_det


def by_family(rows, solve):
    """Return log RSS of all families of centred rows, each by itself."""
    m = rows.shape[1]
    logs = []
    for mask, x in families(m):
        parents = [v for v in range(m) if mask >> v & 1]
        logs.append(solve(rows[:, parents], rows[:, x]))
    return np.array(logs)


def householder(parents, child):
    """Return log RSS by a QR decomposition of the parents and the child."""
    factor = np.linalg.qr(np.column_stack([parents, child]), mode="r")
    return 2 * np.log(abs(factor[-1, -1]))


def lstsq(parents, child):
    """Return log RSS by NumPy's least squares."""
    if not parents.shape[1]:
        return np.log(child @ child)
    residual = child - parents @ np.linalg.lstsq(parents, child, rcond=None)[0]
    return np.log(residual @ residual)


def cholesky(covariance):
    """Return a solver that gets the numbers of the columns, as rows of shape (1, k)."""

    def solve(parents, child):
        columns = [*parents[0].astype(int), int(child[0])]
        try:
            factor = np.linalg.cholesky(covariance[np.ix_(columns, columns)])
        except np.linalg.LinAlgError:
            return np.nan
        return 2 * np.log(factor[-1, -1])

    return solve


def measure(rows, is_long=True):
    """Return the condition number and the largest errors, as the columns of the table."""
    m = rows.shape[1]
    exact_of = reference.exact_log_rss(rows)
    exact = np.array([exact_of[family] for family in families(m)])
    summary = summarise(np.asarray(rows, dtype=float))
    norm = np.linalg.norm(summary.factor, axis=0)
    factor, units = summary.factor / norm, 2 * (np.log(norm) + summary.exponent * math.log(2))
    centred = np.ldexp(rows, -summary.exponent) - summary.mean - summary.mean_rest
    scaled = centred / norm
    numbers = np.arange(m, dtype=float)[None]
    logs = [
        from_log_determinants(log_determinants(factor), units, m),
        *([from_log_determinants(one_long_walk(factor), units, m)] if is_long else []),
        by_family(scaled, householder) + units[[x for _, x in families(m)]],
        by_family(scaled, lstsq) + units[[x for _, x in families(m)]],
        by_family(numbers, cholesky(scaled.T @ scaled)) + units[[x for _, x in families(m)]],
    ]
    return np.linalg.cond(scaled), [np.abs(log - exact).max() for log in logs]


def random_tables(seed=0):
    """Yield tables with a condition number from 2e6 to 1e7, of four kinds."""
    rng = np.random.default_rng(seed)
    while True:
        m, n = int(rng.integers(4, 9)), int(rng.choice([12, 40, 150]))
        kind, rows = rng.integers(4), rng.normal(size=(n, m))
        if kind == 0:  # one or several pairs of nearly equal columns
            half = int(rng.integers(1, m // 2 + 1))
            apart = 10 ** rng.uniform(-7.2, -6)
            rows[:, half : 2 * half] = rows[:, :half] + apart * rows[:, half : 2 * half]
        elif kind == 1:
            weights = rng.normal(size=m - 1)
            rows[:, -1] = rows[:, :-1] @ weights + 10 ** rng.uniform(-7, -6) * rows[:, -1]
        elif kind == 2:
            left, _, right = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
            rows = left * np.logspace(0, -rng.uniform(6.5, 7.2), m) @ right
        else:
            at, centres = rng.uniform(size=(n, 1)), np.linspace(0, 1, m)
            rows = np.exp(-(((at - centres) / rng.uniform(0.3, 0.8)) ** 2))
        rows = rows[:, rng.permutation(m)] + rng.choice([0, 1, 1000])
        centred = rows - rows.mean(axis=0)
        if 2e6 <= np.linalg.cond(centred / np.linalg.norm(centred, axis=0)) <= 1e7:
            yield rows


def print_random(n_tables):
    """Print how often each method's error is above 1e-9, and its largest error."""
    eps = np.finfo(float).eps
    errors, shares = [], []
    for rows, _ in zip(random_tables(), range(n_tables), strict=False):
        with np.errstate(divide="ignore", invalid="ignore"):
            condition, largest = measure(rows, is_long=False)
        errors.append(largest)
        shares.append(np.array(largest) / (eps * condition))
    for i, route in enumerate(["walk", "Householder", "lstsq", "covariance"]):
        each, share = np.array(errors)[:, i], np.array(shares)[:, i]
        over, median = (~(each <= 1e-9)).sum(), np.nanmedian(share)
        print(
            f"{route:12} above 1e-9 in {over} of {n_tables} tables; largest {np.nanmax(each):.1e}, "
            f"{np.nanmax(share):.2g} eps * condition (median {median:.2g})"
        )


def main() -> None:
    """Print a row for each table, or a summary of random tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--random", type=int, metavar="N")
    arguments = parser.parse_args()
    if arguments.random:
        print_random(arguments.random)
        return
    routes = ["walk", "long walk", "Householder", "lstsq", "covariance"]
    print(f"{'':28}{'condition':>11}" + "".join(f"{route:>13}" for route in routes))
    for name, rows in hard_tables().items():
        with np.errstate(divide="ignore", invalid="ignore"):
            condition, errors = measure(rows)
        texts = ["-" if np.isnan(error) else f"{error:.1e}" for error in errors]
        print(f"{name:28}{condition:11.1e}" + "".join(f"{text:>13}" for text in texts), flush=True)


if __name__ == "__main__":
    main()
