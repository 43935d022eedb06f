"""Families among the few candidates that order searches and chains have for each column."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from skbn._core.arrays import Booleans, Floats, Integers
from skbn._core.resources import IsOver, Resources
from skbn._core.subsets import mask_of, members_of, n_small_subsets
from skbn._orders.family_lists import FamilyLists
from skbn._orders.growth import FamilyGrowth, Grown
from skbn._orders.insertion_kernels import State
from skbn._orders.list_kernels import ListArrays
from skbn._orders.regression_kernels import LEAST_PIVOT, Regressions
from skbn._regressions.least_squares import without_zeros
from skbn._regressions.log_determinants import FEWEST_NODES, SubsetWalk, sums_over_subsets
from skbn._regressions.set_function import ruled_out
from skbn._scores.families import Limits, ScoredParentSets
from skbn._scores.scorer import FamilyScorer
from skbn._solver.certificate import gains_of_neighbours
from skbn._solver.constraints import Constraints


class CandidateScores:
    """Scores sets of parents, with the prior odds of their edges."""

    def __init__(
        self, scorer: FamilyScorer, constraints: Constraints, log_odds: Floats | None
    ) -> None:
        self._scorer = scorer
        self._constraints = constraints
        self._log_odds = log_odds
        self._is_allowed, self._is_required = constraints.bits
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

        Returns (m, m), at [x, z], in nats, what z adds to the score of x as another parent, or what
        it adds if it is one no longer; -inf for what constraints rule out.
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
        limits = Limits(k, [], range(k))
        _, known = families.scores_in_order(limits, values, scorer.tables)
        sets = np.arange(1 << k)
        n_parents = np.bitwise_count(sets)
        scores = np.full(len(sets), -np.inf)
        small = sets[n_parents <= most]
        scores[small[np.lexsort((small, n_parents[small]))]] = known
        return scores


def ranked_parents(
    scorer: FamilyScorer, constraints: Constraints, children: Sequence[int], most: int
) -> dict[int, list[int]]:
    """Return the possible parents of some columns, ranked.

    The required ones come first, then a forward selection up to `most` in all, and then the rest.
    """
    select = _selection(scorer)
    ranked = {}
    for x in children:
        required, allowed = constraints.required[x], members_of(constraints.allowed[x])
        free = [z for z in allowed if not required >> z & 1]
        chosen = select(x, members_of(required), free, most)
        ranked[x] = [*dict.fromkeys([*chosen, *allowed])]
    return ranked


def _selection(
    scorer: FamilyScorer,
) -> Callable[[int, Sequence[int], Sequence[int], int], list[int]]:
    """Return a function that selects parents by the columns' products in a child's rows."""

    @cache
    def products_of(of_rows: FamilyScorer) -> Floats:
        factor = without_zeros(of_rows.statistics.factor)
        return np.asarray(factor.T @ factor)

    def selected(x: int, required: Sequence[int], free: Sequence[int], most: int) -> list[int]:
        """Return required parents and, up to `most` in all, those that explain most of the rest."""
        parts = [_Explained(each, products_of(each), x) for each in scorer.scorers_of(x)]
        chosen, left = [*required], np.array(free, dtype=np.int64)
        for part in parts:
            part.add(chosen)
        while len(left) and len(chosen) < most:
            gains = np.sum([part.gains() for part in parts], axis=0)
            best = int(left[np.argmax(gains[left])])
            chosen.append(best)
            left = left[left != best]
            for part in parts:
                part.add([best])
        return chosen

    return selected


class _Explained:
    """How much of a child further parents explain in some rows, by the products of columns."""

    def __init__(self, scorer: FamilyScorer, products: Floats, child: int) -> None:
        self._n, self._nodes, self._products = scorer.statistics.n_samples, scorer.nodes, products
        self._child = scorer.nodes.columns_of([child])
        self._left, self._shared = np.ones(len(products)), products[self._child]
        self._rows = np.empty((0, len(products)))  # as `Family.factor`

    def gains(self) -> Floats:
        """Return about how many nats each node adds to the log-likelihood as another parent."""
        left = np.where(self._left < LEAST_PIVOT, np.inf, self._left)
        shares = self._shared**2 / left / left[self._child, np.newaxis]
        gains = -np.log1p(-np.minimum(shares, 1 - LEAST_PIVOT)).sum(axis=0) * self._n / 2
        return np.asarray(np.add.reduceat(gains, self._nodes.starts[:-1]))

    def add(self, parents: list[int]) -> None:
        """Add nodes to the parents."""
        for y in self._nodes.columns_of(parents):
            if self._left[y] >= LEAST_PIVOT:
                row = self._products[y] - self._rows[:, y] @ self._rows
                row /= np.sqrt(self._left[y])
                self._left -= row**2
                self._shared = self._shared - row[self._child, np.newaxis] * row
                self._rows = np.vstack([self._rows, row])


# In nats, and as a share: a column without a family that fits costs this much more than all
# families together can differ by, so that no order that has one beats an order that has none.
_WORSE, _MUCH_WORSE = 100.0, 10.0
# What the parents leave of a column is at least 1e-12 of it, the logarithm of which is -27.6.
_LARGEST_LOG = 28.0
# In nats: moves that gain less are not made, and what rounding adds to that, in units of the
# largest term.
_LEAST_GAIN = 1e-6
_ROUNDING = 1e-10
# A child gets the families of as many columns as this many sets of them and the child allow; and at
# first of more, if all children together have no more sets than the second number.
ORDER_SETS = 1 << 12, 1 << 21
# With more columns, choosing candidates again for each order takes minutes.
_MOST_TO_GROW = 1000


class OrderFamilies(NamedTuple):
    """The families that an order search of a group begins with."""

    lists: FamilyLists
    growth: FamilyGrowth | None  # finds further families; None if all are listed
    least_gain: float  # moves that gain less are not made, in nats
    shared: float  # what the listed scores lack, beside the scores' offsets


def grown_families(
    scorer: FamilyScorer, constraints: Constraints, order: list[int], n_others: int
) -> OrderFamilies:
    """Return families that grow while they are searched, by regressions of a table.

    `order`: the others, which have no parents here, and then the columns of the search
    """
    m = len(constraints.allowed)
    factor = without_zeros(scorer.statistics.factor)[:, order]
    offsets = np.zeros(m) if scorer.offsets is None else scorer.offsets
    is_own = np.arange(len(order)) >= n_others
    allowed, required = (
        np.ascontiguousarray(bits[np.ix_(order, order)] & is_own[:, np.newaxis])
        for bits in constraints.bits
    )
    tables = scorer.tables.copy()
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

    `found`: the parents and scores of each column of the search
    `m`: number of columns of the table
    `order`: the others, and then the columns of the search
    """
    number = {x: i for i, x in enumerate(order)}
    numbers = np.array([number.get(x, -1) for x in range(m)] + [-1])
    highest = [float(local.max()) for _, local in found]
    # The kernels take the family of missing ones for the worst of each list.
    spreads = [-float((local - top).min()) for (_, local), top in zip(found, highest, strict=True)]
    lists = _lists(order, n_others, -_WORSE - _MUCH_WORSE * sum(spreads))
    for x, families, top in zip(order[n_others:], found, highest, strict=True):
        lists.add(*_as_sets(number[x], families, numbers, top))
    return OrderFamilies(lists, None, _LEAST_GAIN + _ROUNDING * max(spreads), sum(highest))


def _as_sets(x: int, families: ScoredParentSets, numbers: Integers, top: float) -> Grown:
    """Return a child's families in the numbers of a search; their scores lack `top`."""
    parents, local = families
    columns = np.unique(parents[parents >= 0])
    is_parent = np.zeros((len(local), len(numbers)), dtype=bool)
    is_parent[np.arange(len(local))[:, np.newaxis], parents] = True
    # Families that tie come with the fewest parents first, and then in column order.
    in_order = np.lexsort((*parents.T[::-1], (parents >= 0).sum(axis=1)))
    sets = is_parent[:, columns][in_order]
    return Grown(x, numbers[columns].tolist(), sets, local[in_order] - top)


class CandidateGrowth(FamilyGrowth):
    """Lists, for each child, the families of the columns that explain most of it.

    They are chosen among all columns at first, and later among those that precede the child.

    `order`: the others, which have no parents here, and then the columns of the search
    """

    has_placement = False

    def __init__(
        self, scorer: FamilyScorer, constraints: Constraints, order: list[int], n_others: int
    ) -> None:
        m = len(constraints.allowed)
        self._scorer, self._select = scorer, _selection(scorer)
        self._most = constraints.max_parents
        self._order, self._movable = np.array(order), np.arange(n_others, len(order))
        self._numbers = np.full(m + 1, -1)
        self._numbers[self._order] = np.arange(len(order))
        self._allowed, self._required = constraints.bits
        self._tops: dict[int, float] = {}
        self._known: dict[int, set[frozenset[int]]] = {}

    def families(self, is_over: IsOver) -> OrderFamilies:
        """Return the families that a search begins with, after a time only the smallest ones."""
        every, (n_sets, in_all) = np.ones(len(self._allowed), dtype=bool), ORDER_SETS
        n = self._n_candidates(max(n_sets, in_all // len(self._order)))
        found = []
        for x in self._order[self._movable].tolist():
            families = self._families(x, every, 0 if is_over() else n)
            assert families is not None
            self._tops[x] = float(families[1].max())
            found.append(families)
        given = self._order.tolist(), int(self._movable[0])
        growth = self if len(self._order) <= _MOST_TO_GROW else None
        return given_families(found, len(every), *given)._replace(growth=growth)

    def _n_candidates(self, n_sets: int) -> int:
        """Return the largest number of columns for which this many sets are enough."""
        n = 0
        while n < len(self._order) and n_small_subsets(n + 2, self._most + 1) <= n_sets:
            n += 1
        return n

    def _families(self, x: int, is_open: Booleans, n: int) -> ScoredParentSets | None:
        """Return families of n open columns; None if these are known or required ones lack."""
        required = np.flatnonzero(self._required[x]).tolist()
        if not is_open[required].all():
            return None
        free = np.flatnonzero(self._allowed[x] & ~self._required[x] & is_open)
        columns = self._select(x, required, free.tolist(), n)
        known = self._known.setdefault(x, set())
        if frozenset(columns) in known:
            return None
        known.add(frozenset(columns))
        if not columns:
            return np.empty((1, 0), dtype=np.int16), np.array([sum(self._scorer.terms(x, []))])
        k, n_required, scorer = len(columns), len(required), self._scorer.of_child(x)
        rest = [x], min(self._most, k), Resources(available=0, n_jobs=1)
        ((families, values),) = scorer.small_sets_by_child([*columns, x], *rest)
        limits = Limits(k, range(n_required), range(n_required, k))
        parents, scores = families.listed(limits, values, scorer.tables, with_dominated=False)
        return np.where(parents < 0, -1, np.array(columns)[parents]).astype(np.int16), scores

    def _grown(
        self, is_over: Callable[[], bool], arrays: ListArrays, state: State, children: Integers
    ) -> list[Grown]:
        position = np.append(state.position, len(self._order))[self._numbers[:-1]]
        grown, n = [], self._n_candidates(ORDER_SETS[0])
        for i, x in zip(children.tolist(), self._order[children].tolist(), strict=True):
            if is_over():
                break
            families = self._families(x, position < position[x], n)
            if families is not None:
                grown.append(_as_sets(i, families, self._numbers, self._tops[x]))
        return grown


def _lists(order: list[int], n_others: int, missing: float) -> FamilyLists:
    """Return lists in which only the others have a family, without parents."""
    lists = FamilyLists(len(order), missing)
    for x in range(n_others):
        lists.add(x, [], np.zeros((1, 0), dtype=bool), np.zeros(1))
    return lists
