"""Log residual sums of squares of all families: exactly, and by three routes in float64."""

from fractions import Fraction
from itertools import combinations

import numpy as np

from skbn._regressions.log_determinants import log_determinants


def families_of(m):
    """Return all pairs of a child and a tuple of parents, of which there is at least one."""
    return [
        (x, parents)
        for x in range(m)
        for size in range(1, m)
        for parents in combinations([v for v in range(m) if v != x], size)
    ]


def exact(rows, families):
    """Return those of the very numbers in the table, by rational arithmetic."""
    n = len(rows)
    columns = [[Fraction(value) for value in column] for column in rows.T]
    centred = [[value - sum(column) / n for value in column] for column in columns]
    gram = [[sum(a * b for a, b in zip(u, v, strict=True)) for v in centred] for u in centred]

    def rss(x, parents):
        block = [[gram[a][b] for b in (*parents, x)] for a in (*parents, x)]
        for k in range(len(parents)):  # elimination: the Schur complement remains
            for i in range(k + 1, len(block)):
                factor = block[i][k] / block[k][k]
                block[i] = [a - factor * b for a, b in zip(block[i], block[k], strict=True)]
        return block[-1][-1]

    return np.array([np.log(float(rss(*family))) for family in families])


def by_covariance(centred, families):
    """By the Cholesky factor of each family's block of the covariance; NaN if it has none."""
    n = len(centred)
    covariance = np.cov(centred.T)
    logs = []
    for x, parents in families:
        columns = [*parents, x]
        try:
            factor = np.linalg.cholesky(covariance[np.ix_(columns, columns)])
            logs.append(2 * np.log(factor[-1, -1]) + np.log(n - 1))
        except np.linalg.LinAlgError:
            logs.append(np.nan)
    return np.array(logs)


def by_lstsq(centred, families):
    """By NumPy's least squares for each family."""
    logs = []
    for x, parents in families:
        design = centred[:, list(parents)]
        solution = np.linalg.lstsq(design, centred[:, x], rcond=None)[0]
        logs.append(np.log(np.sum((centred[:, x] - design @ solution) ** 2)))
    return np.array(logs)


def by_swaps(centred, families):
    """By the library's walk, as differences of log-determinants."""
    norms = np.linalg.norm(centred, axis=0)
    log_det = log_determinants(np.linalg.qr(centred / norms, mode="r"))
    masks = [(sum(1 << p for p in parents), 1 << x) for x, parents in families]
    units = [2 * np.log(norms[x]) for x, _ in families]
    return np.array([log_det[parents | x] - log_det[parents] for parents, x in masks]) + units
