"""Families among the few candidates that order searches and chains have for each column."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from skbn._core.arrays import Booleans, Floats
from skbn._core.resources import Resources, one_blas_thread
from skbn._core.subsets import bits_of, mask_of, members_of
from skbn._orders.family_lists import FamilyLists
from skbn._orders.growth import FamilyGrowth
from skbn._orders.regression_kernels import Regressions
from skbn._regressions.least_squares import without_zeros
from skbn._regressions.log_determinants import FEWEST_NODES, SubsetWalk, sums_over_subsets
from skbn._regressions.set_function import ruled_out
from skbn._scores.families import Limits, ScoredParentSets, SetValues, drop_dominated
from skbn._scores.scorer import FamilyScorer
from skbn._solver.certificate import gains_of_neighbours
from skbn._solver.constraints import Constraints


class CandidateScores:
    """Scores sets of parents, with the prior odds of their edges.

    Parameters
    ----------
    scorer : FamilyScorer
    constraints : Constraints
    log_odds : ndarray of shape (m, m), float64, or None
        At [i, j], the logarithm of the prior odds of the edge i -> j.
    """

    def __init__(
        self, scorer: FamilyScorer, constraints: Constraints, log_odds: Floats | None
    ) -> None:
        self._scorer = scorer
        self._constraints = constraints
        self._log_odds = log_odds
        m = len(constraints.allowed)
        self._is_allowed, self._is_required = bits_of(
            [*constraints.allowed, *constraints.required], m
        ).reshape(2, m, m)
        self._walks: dict[tuple[FamilyScorer, tuple[int, ...]], tuple[SubsetWalk, bool]] = {}

    def __call__(self, child: int, candidates: list[int]) -> Floats:
        """Return the scores of the child with each subset of the candidates as its parents.

        Shape (2**k,), in nats, without the child's offset; -inf for what constraints rule out.
        Required parents must be among the candidates.
        """
        sets = np.arange(1 << len(candidates))
        if self._constraints.exogenous >> child & 1:
            return np.where(sets == 0, 0.0, -np.inf)
        scores = np.zeros(len(sets))
        for scorer in self._scorer.scorers_of(child):
            if not candidates:
                scores += sum(scorer.terms(child, []))
            elif scorer.statistics.is_checked and len(candidates) + 1 >= FEWEST_NODES:
                scores += self._scores_of_all(scorer, child, candidates)
            else:
                scores += self._scores_of_small(scorer, child, candidates)
        if not candidates:
            return scores
        if self._log_odds is not None:
            scores += sums_over_subsets(self._log_odds[candidates, child])
        allowed, required = (
            mask_of(i for i, z in enumerate(candidates) if mask >> z & 1)
            for mask in (self._constraints.allowed[child], self._constraints.required[child])
        )
        is_out = np.bitwise_count(sets) > self._constraints.max_parents
        is_out |= sets & ~allowed != 0
        is_out |= sets & required != required
        scores[is_out] = -np.inf
        return scores

    def of_one(self, child: int, parents: list[int]) -> float:
        """Return the score of one family, as a call has it."""
        if not self._constraints.allows(child, mask_of(parents)):
            return -np.inf
        if self._constraints.exogenous >> child & 1:
            return 0.0
        scorers = self._scorer.scorers_of(child)
        odds = 0.0 if self._log_odds is None else float(self._log_odds[parents, child].sum())
        return sum(sum(scorer.terms(child, parents)) for scorer in scorers) + odds

    def gains(self, is_parent: Booleans) -> Floats:
        """Return how much each family of a network gains by one more parent, or one less.

        Parameters
        ----------
        is_parent : ndarray of shape (m, m), bool
            Row x has the parents of x.

        Returns
        -------
        ndarray of shape (m, m), float64
            At [x, z], in nats, what z adds to the score of x as another parent, or what it adds if
            it is one no longer; -inf for what constraints rule out.
        """
        constraints = self._constraints
        gains = np.full(is_parent.shape, -np.inf)
        for found, terms in self._scorer.neighbours(is_parent, np.array(constraints.modelled)):
            gains[found.children] = gains_of_neighbours(found.children, terms)
        if self._log_odds is not None:
            gains += np.where(is_parent, -1, 1) * self._log_odds.T
        has_room = is_parent.sum(axis=1, keepdims=True) < constraints.max_parents
        may_change = np.where(is_parent, ~self._is_required, self._is_allowed & has_room)
        return np.where(may_change & ~np.isnan(gains), gains, -np.inf)

    def _scores_of_all(self, scorer: FamilyScorer, child: int, candidates: list[int]) -> Floats:
        """Return the scores as differences of set functions, by a walk through all sets."""
        nodes = [*candidates, child]
        offsets = None if scorer.offsets is None else scorer.offsets[nodes]
        columns = scorer.statistics.factor[:, scorer.nodes.columns_of(nodes)]
        key = scorer, tuple(scorer.nodes.widths[v] for v in nodes)
        if key not in self._walks:
            factor, _ = scorer.factor_of(nodes)
            weights = scorer.weights_of(nodes, self._constraints.max_parents)
            walk = SubsetWalk(factor, offsets, weights, weights.widths, by_width=True)
            self._walks[key] = walk, weights.has_ruled_out
        walk, has_ruled_out = self._walks[key]
        walk = walk.of_others(columns, offsets)  # also the first time: all have the same rounding
        found = walk.allocate(1 << len(nodes))
        walk.fill(np.arange(walk.n_seeds), found)
        n = 1 << len(candidates)
        scores = found.of_family[n:] - found.of_parents[:n]
        return ruled_out(scores) if has_ruled_out else scores

    def _scores_of_small(self, scorer: FamilyScorer, child: int, candidates: list[int]) -> Floats:
        """Return the scores of small sets, whose regressions are looked at one by one.

        Only these are known to be independent if there are few rows.
        """
        k = len(candidates)
        most = min(self._constraints.max_parents, k)
        nodes = [*candidates, child]
        resources = Resources(available=0, n_jobs=1)
        ((families, values),) = scorer.small_sets_by_child(nodes, [child], most, resources)
        limits, of_sets = Limits(k, [], range(k)), SetValues(values, scorer.tables)
        known = families.scores_in_order(limits, most, of_sets)
        sets = np.arange(1 << k)
        n_parents = np.bitwise_count(sets)
        scores = np.full(len(sets), -np.inf)
        small = sets[n_parents <= most]
        scores[small[np.lexsort((small, n_parents[small]))]] = known
        return scores

    def families(self, child: int, candidates: list[int]) -> ScoredParentSets:
        """Return the child's families among the candidates that none with fewer parents beats.

        The scores are those of a call; a family is left out if they rule it out.
        """
        scores = self(child, candidates)
        keep = scores > -np.inf
        drop_dominated(keep, scores, len(candidates))
        kept = np.flatnonzero(keep)
        is_parent = kept[:, np.newaxis] >> np.arange(len(candidates)) & 1
        return np.where(is_parent, candidates, -1).astype(np.int16), scores[kept]


def ranked_parents(
    scorer: FamilyScorer, constraints: Constraints, children: Sequence[int], most: int
) -> dict[int, list[int]]:
    """Return the possible parents of some columns, ranked.

    The required ones come first, then a forward selection up to `most` in all, and then the rest.
    """
    m = len(constraints.allowed)
    required, allowed = (
        [members_of(mask) for mask in masks]
        for masks in (constraints.required, constraints.allowed)
    )
    ranked = {x: [*required[x]] for x in children}
    is_parent = np.zeros((m, m), dtype=np.bool_)
    for x, own in ranked.items():
        is_parent[x, own] = True
    most = min(constraints.max_parents, most)
    for _ in range(most):
        growing = [x for x in children if len(ranked[x]) < most]
        for found, terms in scorer.neighbours(is_parent, np.array(growing, dtype=np.int64)):
            scores = terms.sum(axis=0)
            for x, of_child in zip(found.children.tolist(), scores, strict=True):
                free = [z for z in allowed[x] if z not in ranked[x]]
                if free:
                    # NaN stands for families that depend on each other.
                    best = np.argmax(np.nan_to_num(of_child[free], nan=-np.inf))
                    ranked[x].append(free[int(best)])
        for x in growing:
            is_parent[x, ranked[x]] = True
    return {x: [*dict.fromkeys([*own, *allowed[x]])] for x, own in ranked.items()}


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
