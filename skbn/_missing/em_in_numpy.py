"""EM of the saturated model of rows in which nothing was set, by numpy: nothing is compiled."""

import math

import numpy as np

from skbn._core.arrays import Floats
from skbn._core.resources import one_blas_thread
from skbn._missing.em import PRIOR_ROWS, start
from skbn._missing.incomplete_rows import IncompleteRows

# With more patterns the kernel is faster, even if it must be compiled.
MOST_PATTERNS = 100


@one_blas_thread()
def saturated_by_pattern(rows: IncompleteRows, tolerance: float) -> tuple[Floats, Floats]:
    """Return the mean and the covariance that `em.saturated` finds, up to rounding.

    An E-step decomposes the covariance for each pattern of holes, observed columns first: the
    factor has the regressions of the hidden columns on them, and their conditional covariance.
    """
    values, weight, observed, starts, *_ = rows.patterned
    m, n = rows.n_columns, rows.n_samples
    columns, n_observed = np.argsort(~observed, axis=1, kind="stable"), observed.sum(axis=1)
    begin, before = start(rows), -math.inf
    (mean,), (scatter,) = begin.expected_mean, begin.scatter
    while True:
        covariance = (scatter + PRIOR_ROWS * np.eye(m)) / (n + PRIOR_ROWS)
        whole = np.linalg.cholesky(covariance)
        log_density = 2 * np.log(np.diag(whole)).sum() + (np.linalg.inv(whole) ** 2).sum()
        total = -0.5 * PRIOR_ROWS * log_density
        factors = np.linalg.cholesky(covariance[columns[:, :, np.newaxis], columns[:, np.newaxis]])
        deviations, scatter = values - mean, np.zeros((m, m))
        for g, factor in enumerate(factors):
            k, at, own = n_observed[g], columns[g], slice(starts[g], starts[g + 1])
            seen, hidden = at[:k], at[k:]
            noise = np.linalg.solve(factor[:k, :k], deviations[own, seen].T)
            deviations[own, hidden] = noise.T @ factor[k:, :k].T
            of_pattern, conditional = weight[own].sum(), factor[k:, k:]
            scatter[np.ix_(hidden, hidden)] += of_pattern * (conditional @ conditional.T)
            log_det = k * math.log(2 * math.pi) + 2 * np.log(np.diag(factor)[:k]).sum()
            total -= 0.5 * (of_pattern * log_det + (noise**2).sum(axis=0) @ weight[own])
        if not total - before > tolerance:
            return mean, covariance
        before = total
        shift = weight @ deviations
        scatter += (deviations.T * weight) @ deviations - np.outer(shift, shift) / n
        mean = mean + shift / n
