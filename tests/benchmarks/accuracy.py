"""Measure the digits of all families' residual sums of squares on hard tables.

Run ``python tests/benchmarks/accuracy.py``. The tables are of numbers that float64 holds, and
what is right is computed of these very numbers in rational arithmetic. For each table it prints
the condition number of the centred columns of unit norm, and the largest absolute error of
log RSS among all families

- by skbn's walk, from the factor of the rows,
- by the paper's one long walk without seeds, from the same factor,
- by a Householder QR decomposition of each family's own columns,
- by NumPy's ``lstsq`` for each family,
- by Cholesky factors of the covariance ("-" where some family has none).
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
import reference
from hard_tables import hard_tables

from skbn import givens_column_swap, greedy_swaps
from skbn._regressions._log_determinants import log_determinants
from skbn._scores._row_summary import summarise


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
    """Return a solver that knows the columns by their number, as rows of shape (1, k)."""

    def solve(parents, child):
        columns = [*parents[0].astype(int), int(child[0])]
        try:
            factor = np.linalg.cholesky(covariance[np.ix_(columns, columns)])
        except np.linalg.LinAlgError:
            return np.nan
        return 2 * np.log(factor[-1, -1])

    return solve


def measure(rows):
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
        from_log_determinants(one_long_walk(factor), units, m),
        by_family(scaled, householder) + units[[x for _, x in families(m)]],
        by_family(scaled, lstsq) + units[[x for _, x in families(m)]],
        by_family(numbers, cholesky(scaled.T @ scaled)) + units[[x for _, x in families(m)]],
    ]
    return np.linalg.cond(scaled), [np.abs(log - exact).max() for log in logs]


def main() -> None:
    """Print a row for each table."""
    routes = ["walk", "long walk", "Householder", "lstsq", "covariance"]
    print(f"{'':28}{'condition':>11}" + "".join(f"{route:>13}" for route in routes))
    for name, rows in hard_tables().items():
        with np.errstate(divide="ignore", invalid="ignore"):
            condition, errors = measure(rows)
        texts = ["-" if np.isnan(error) else f"{error:.1e}" for error in errors]
        print(f"{name:28}{condition:11.1e}" + "".join(f"{text:>13}" for text in texts), flush=True)


if __name__ == "__main__":
    main()
