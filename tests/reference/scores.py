"""Scores of families, from the rows."""

from itertools import product

import mpmath
import numpy as np

from reference.networks import families, subsets
from reference.regressions import regression


def local_score(rows, child, parents, criterion="bic", penalty=1.0):
    n = len(rows)
    rss = regression(rows, child, parents)[2]
    weight = {"bic": np.log(n) / 2, "aic": 1.0, "loglik": 0.0}[criterion]
    return -n / 2 * (np.log(2 * np.pi * rss / n) + 1) - penalty * (len(parents) + 2) * weight


def all_local_scores(rows, criterion="bic", penalty=1.0):
    """The score of each family, as a dict."""
    return {(x, p): local_score(rows, x, p, criterion, penalty) for x, p in families(rows.shape[1])}


def experimental_score(rows, is_set, child, parents, criterion="bic", penalty=1.0):
    """The score of a family, by the rows in which its child was not set."""
    return local_score(rows[~is_set[:, child]], child, parents, criterion, penalty)


def all_experimental_scores(rows, is_set, criterion="bic", penalty=1.0):
    """The score of each family, as a dict."""
    return {
        (x, p): experimental_score(rows, is_set, x, p, criterion, penalty)
        for x, p in families(rows.shape[1])
    }


def bge_local_score(rows, child, parents, alpha_mu=1.0, alpha_w=None, nu=None):
    """Log marginal likelihood of the family less that of the parents, to 40 digits.

    That of l columns under the complete network on them is, with N rows and n columns,
    (a_mu / (N + a_mu))^(l/2) G_l((N + a_w - n + l) / 2) / (pi^(l N / 2) G_l((a_w - n + l) / 2))
    |T|^((a_w - n + l) / 2) / |R|^((N + a_w - n + l) / 2), where G_l is the multivariate gamma
    function: equations (4) and (18) of Geiger & Heckerman (2002), with the T and R of the
    columns themselves, as Kuipers, Moffa & Heckerman (2014) correct it.
    """
    with mpmath.workdps(40):
        together = _bge_marginal(rows, [*parents, child], alpha_mu, alpha_w, nu)
        return float(together - _bge_marginal(rows, list(parents), alpha_mu, alpha_w, nu))


def all_bge_local_scores(rows, **settings):
    """The BGe score of each family, as a dict; rows may count `repeats` times."""
    prior = {"alpha_mu": 1.0, "alpha_w": None, "nu": None} | settings
    columns = range(rows.shape[1])
    with mpmath.workdps(40):
        marginal = {s: _bge_marginal(rows, list(s), **prior) for s in subsets(columns)}
        return {
            (x, p): float(marginal[tuple(sorted((*p, x)))] - marginal[p])
            for x, p in families(len(columns))
        }


def _bge_marginal(rows, columns, alpha_mu, alpha_w, nu, repeats=1):
    n_rows, m = rows.shape
    size = len(columns)
    if size == 0:
        return mpmath.mpf(0)
    alpha_mu = mpmath.mpf(alpha_mu)
    alpha_w = mpmath.mpf(m + 2 if alpha_w is None else alpha_w)
    t = alpha_mu * (alpha_w - m - 1) / (alpha_mu + 1)
    table = mpmath.matrix(rows[:, columns].tolist())
    mean = [mpmath.fsum(table[:, j]) / n_rows for j in range(size)]
    n = n_rows * mpmath.mpf(repeats)
    prior_mean = mean if nu is None else [mpmath.mpf(nu[c]) for c in columns]
    posterior = mpmath.matrix(size, size)
    for i, j in product(range(size), repeat=2):
        scatter = repeats * mpmath.fsum(
            (table[k, i] - mean[i]) * (table[k, j] - mean[j]) for k in range(n_rows)
        )
        shift = (mean[i] - prior_mean[i]) * (mean[j] - prior_mean[j])
        weight = alpha_mu * n / (alpha_mu + n)
        posterior[i, j] = (i == j) * t + scatter + weight * shift
    freedom = alpha_w - m + size

    def log_gamma(a):  # of dimension `size`, less the power of pi that cancels
        return mpmath.fsum(mpmath.loggamma(a - mpmath.mpf(i) / 2) for i in range(size))

    return (
        size * mpmath.log(alpha_mu / (n + alpha_mu)) / 2
        + log_gamma((n + freedom) / 2)
        - log_gamma(freedom / 2)
        - size * n * mpmath.log(mpmath.pi) / 2
        + freedom * size * mpmath.log(t) / 2
        - (n + freedom) * mpmath.log(mpmath.det(posterior)) / 2
    )


def block_score(blocks, child, parents, criterion="bic", penalty=1.0):
    """The score of a block of columns given others: one of its columns after the other.

    For "bge" the blocks of several columns are whitened.
    """
    if criterion == "bge":
        blocks = [
            b
            if b.shape[1] == 1
            else b @ np.linalg.inv(np.linalg.cholesky(np.cov(b.T, bias=True))).T
            for b in blocks
        ]
    rows = np.hstack(blocks)
    start = np.cumsum([0, *(b.shape[1] for b in blocks)])
    before = [c for p in parents for c in range(start[p], start[p + 1])]
    score = 0.0
    for column in range(start[child], start[child + 1]):
        if criterion == "bge":
            score += bge_local_score(rows, column, before)
        else:
            score += local_score(rows, column, before, criterion, penalty)
        before.append(column)
    return score
