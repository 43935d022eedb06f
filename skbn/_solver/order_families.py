"""OrderFamilies: the families that an order search begins with."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from skbn._core.resources import one_blas_thread
from skbn._core.subsets import bits_of, members_of
from skbn._orders.family_lists import FamilyLists
from skbn._orders.growth import FamilyGrowth
from skbn._orders.regression_kernels import Regressions
from skbn._regressions.least_squares import without_zeros
from skbn._scores.families import ScoredParentSets
from skbn._scores.scorer import FamilyScorer
from skbn._solver.constraints import Constraints

# In nats, and as a share: a column without a family that fits costs this much more than all
# families together can differ by, so that no order that has one beats an order that has none.
_WORSE, _MUCH_WORSE = 100.0, 10.0
# What the parents leave of a column is at least 1e-12 of it, the logarithm of which is -27.6.
_LARGEST_LOG = 28.0
# In nats: moves that gain less are not made, and what rounding adds to that, in units of the
# largest term.
_LEAST_GAIN = 1e-6
_ROUNDING = 1e-10


class OrderFamilies(NamedTuple):
    """The families that an order search of a group begins with.

    Parameters
    ----------
    lists : FamilyLists
    growth : FamilyGrowth or None
        Finds further families; None if all are listed.
    least_gain : float
        Moves that gain less are not made, in nats.
    shared : float
        What the listed scores lack, beside the scores' offsets.
    """

    lists: FamilyLists
    growth: FamilyGrowth | None
    least_gain: float
    shared: float


def grown_families(
    scorer: FamilyScorer, constraints: Constraints, order: list[int], n_others: int
) -> OrderFamilies:
    """Return families that grow while they are searched, by regressions of a table.

    Parameters
    ----------
    scorer : FamilyScorer
    constraints : Constraints
    order : list of int
        The others, which have no parents here, and then the columns of the search.
    n_others : int
    """
    m = len(constraints.allowed)
    factor = without_zeros(scorer.statistics.factor)[:, order]
    offsets = np.zeros(m) if scorer.offsets is None else scorer.offsets
    is_own = np.arange(len(order)) >= n_others
    allowed, required = (
        np.ascontiguousarray(bits_of(masks, m)[np.ix_(order, order)] & is_own[:, np.newaxis])
        for masks in (constraints.allowed, constraints.required)
    )
    tables = scorer.tables.copy()
    with one_blas_thread():  # more would change bits
        products = np.ascontiguousarray(factor.T @ factor)
    regressions = Regressions(products, offsets[order], tables, allowed, required)
    largest = float(np.abs(tables[np.isfinite(tables)]).max())
    least_gain = _LEAST_GAIN + _ROUNDING * largest

    def local_score(x: int, parents: list[int]) -> float:
        return sum(scorer.terms(order[x], [order[p] for p in parents]))

    growth = FamilyGrowth(regressions, constraints.max_parents, least_gain, local_score)
    lists = _lists(order, n_others, -_WORSE - _MUCH_WORSE * m * _LARGEST_LOG * largest)
    number = {x: i for i, x in enumerate(order)}
    for x in order[n_others:]:
        # From the products of nearly collinear columns, growth cannot score this family.
        parents = [number[p] for p in members_of(constraints.required[x])]
        if parents:
            score = np.array([local_score(number[x], parents)])
            lists.add(number[x], parents, np.ones((1, len(parents)), dtype=bool), score)
    return OrderFamilies(lists, growth, least_gain, 0.0)


def given_families(
    found: Sequence[ScoredParentSets], m: int, order: list[int], n_others: int
) -> OrderFamilies:
    """Return families that are all listed.

    Parameters
    ----------
    found : sequence of (parents, scores)
        Those of each column of the search.
    m : int
        Number of columns of the table.
    order : list of int
        The others, and then the columns of the search.
    n_others : int
    """
    number = {x: i for i, x in enumerate(order)}
    numbers = np.array([number.get(x, -1) for x in range(m)] + [-1])
    highest = [float(local.max()) for _, local in found]
    # The kernels take the family of missing ones for the worst of each list.
    spreads = [-float((local - top).min()) for (_, local), top in zip(found, highest, strict=True)]
    lists = _lists(order, n_others, -_WORSE - _MUCH_WORSE * sum(spreads))
    for x, (parents, local), top in zip(order[n_others:], found, highest, strict=True):
        columns = np.unique(parents[parents >= 0])
        is_parent = np.zeros((len(local), m + 1), dtype=bool)
        is_parent[np.arange(len(local))[:, np.newaxis], parents] = True
        # Families that tie come with the fewest parents first, and then in column order.
        in_order = np.lexsort((*parents.T[::-1], (parents >= 0).sum(axis=1)))
        sets = is_parent[:, columns][in_order]
        lists.add(number[x], numbers[columns].tolist(), sets, local[in_order] - top)
    return OrderFamilies(lists, None, _LEAST_GAIN + _ROUNDING * max(spreads), sum(highest))


def _lists(order: list[int], n_others: int, missing: float) -> FamilyLists:
    """Return lists in which only the others have a family, without parents."""
    lists = FamilyLists(len(order), missing)
    for x in range(n_others):
        lists.add(x, [], np.zeros((1, 0), dtype=bool), np.zeros(1))
    return lists
