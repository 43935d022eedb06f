"""Searches of columns with a random factor, by families in memory and by walked ones."""

from typing import NamedTuple

import numpy as np

from skbn._core.resources import Progress, Threads
from skbn._core.subsets import mask_of
from skbn._exact.dense_families import DenseFamilies
from skbn._exact.plan import SearchPlan
from skbn._exact.recurrences import best_network, best_scores, exact_search, open_store
from skbn._exact.walked_families import WalkedFamilies
from skbn._regressions.log_determinants import set_functions
from skbn._regressions.set_function import SetWeights


class Case(NamedTuple):
    """The children of a search are the first m columns; others may be their parents."""

    m: int
    factor: np.ndarray
    tables: np.ndarray
    offsets: np.ndarray | None = None
    allowed: list | None = None
    required: list | None = None

    @property
    def n_others(self):
        return len(self.factor) - self.m

    def in_memory(self, n_outer=1):
        """The plan and the families of a search with all log-determinants in memory."""
        plan = SearchPlan(self.m, n_outer, self.n_others)
        sets = set_functions(self.factor, SetWeights(self.tables), offsets=self.offsets)
        return plan, DenseFamilies([sets] * self.m, plan, self.allowed, self.required)

    def walked(self, n_outer, n_varying, scratch=None):
        """The same of a search that makes them again."""
        plan = SearchPlan(
            self.m, n_outer, self.n_others, n_varying=n_varying, scratch=scratch and str(scratch)
        )
        rest = SetWeights(self.tables), plan, self.allowed, self.required
        return plan, WalkedFamilies(self.factor, self.offsets, *rest)


def table_of_bic(m, n=200, penalty=1.0):
    """The criterion's tables of the BIC of n rows."""
    costs = -penalty * np.log(n) / 2 * (np.arange(m) + 2)
    return np.array([costs, np.full(m, n / 2), np.full(m, -n / 2)])


def random_case(m, n_others=0, has_offsets=False, is_constrained=False, seed=0):
    """A case of few and weak dependences, so that the best network has a few parents for each."""
    rng = np.random.default_rng(seed)
    n = m + n_others
    factor = np.triu(0.2 * rng.normal(size=(n, n)), 1) + np.diag(rng.uniform(0.5, 2, n))
    offsets = rng.normal(size=n) if has_offsets else None
    tables = table_of_bic(n)
    if has_offsets:
        tables += rng.normal(size=tables.shape)
    if not is_constrained:
        return Case(m, factor, tables, offsets)
    order = rng.permutation(m).tolist()
    allowed, required = [], []
    for x in range(m):
        before = [*order[: order.index(x)], *range(m, n)]
        must = [p for p in before if rng.random() < 0.1]
        may = [p for p in range(n) if p != x and rng.random() < 0.6]
        allowed.append(mask_of({*must, *may}))
        required.append(mask_of(must))
    return Case(m, factor, tables, offsets, allowed, required)


def search_of(plan, families, n_jobs=1):
    """F of all sets, each column's best local score, and the network, all by one search."""
    with Threads(n_jobs, plan.n_columns + plan.n_others) as threads, open_store(plan) as store:
        local = best_scores(families, plan, store, threads, Progress())
        slabs = [store.slab(fixed).copy() for fixed in range(1 << plan.n_outer)]
        network = best_network(families, plan, store.values, local, threads, Progress())
    return np.concatenate(slabs), local, network


def network_of(plan, families, n_jobs=1):
    return exact_search(families, plan, n_jobs)
