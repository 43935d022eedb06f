"""Regressions for the kernels of growth, from plain products of a table's columns."""

import numpy as np
import reference

from skbn import BGe
from skbn._orders.regression_kernels import Regressions, family_scratch


def products_of(rows):
    centred = rows - rows.mean(axis=0)
    scale = np.linalg.norm(centred, axis=0)
    return (centred / scale).T @ (centred / scale), 2 * np.log(scale)


def correlated_rows(rng, n, m):
    """Rows in which each column depends on a few of the earlier ones."""
    rows = rng.normal(size=(n, m))
    for x in range(1, m):
        parents = rng.choice(x, size=min(x, rng.integers(0, 4)), replace=False)
        rows[:, x] += rows[:, parents] @ rng.normal(size=len(parents))
    order = rng.permutation(m)
    return rows[:, order]


def bic_tables(n, m, penalty=1.0):
    """c, a0 and a1 of the log-likelihood less half a logarithm of n for each parent."""
    n_parents = np.arange(m)
    return np.array([-penalty * n_parents * np.log(n) / 2, np.full(m, n / 2), np.full(m, -n / 2)])


class Table:
    """A table, and what the kernels and the reference need to know of it.

    Parameters
    ----------
    is_bge : bool
        Whether the weights of the two log-determinants differ, as in BGe.
    has_units : bool
        Whether the log-determinants are of the columns in units of their own.
    share_required, share_forbidden : float
        Of all pairs of columns.
    """

    def __init__(
        self,
        rng,
        m,
        n=60,
        *,
        is_bge=False,
        has_units=False,
        share_required=0.0,
        share_forbidden=0.0,
    ):
        self.m, rows = m, correlated_rows(rng, n, m)
        self.products, offsets = products_of(rows * rng.uniform(0.1, 10, size=m))
        self.offsets = offsets if has_units else np.zeros(m)
        self.tables = BGe().tables(n, m) if is_bge else bic_tables(n, m)
        is_off_diagonal = ~np.eye(m, dtype=bool)
        self.must = is_off_diagonal & (rng.random((m, m)) < share_required)
        self.may = is_off_diagonal & (self.must | (rng.random((m, m)) >= share_forbidden))

    @property
    def regressions(self):
        tables = np.ascontiguousarray(self.tables)
        return Regressions(self.products, self.offsets, tables, self.may, self.must)

    def required(self, x):
        return {*np.flatnonzero(self.must[x]).tolist()}

    def allowed(self, x):
        return {*np.flatnonzero(self.may[x]).tolist()}

    def score(self, x, parents):
        parameters = self.products, self.offsets, self.tables
        return reference.family_score(*parameters, x, parents)

    def family(self):
        """Scratch."""
        return family_scratch(self.m, self.m)
