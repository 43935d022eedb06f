"""The weights of the families of a group of columns: of all of them, or of those with few parents.

A group's columns and the others that may be their parents have positions: first the group's.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import comb

import numpy as np

from skbn._core.arrays import Floats
from skbn._core.resources import Resources, Threads
from skbn._core.subsets import members_of
from skbn._exact.plan import SearchPlan
from skbn._posterior.family_weights import FamilyWeights
from skbn._posterior.listed_weights import FamilyList, ListedWeights, Weights
from skbn._posterior.plan import WORK_OF_LISTED_FAMILY, GroupPlan
from skbn._regressions.set_function import SetFunctions, SetWeights
from skbn._scores.families import Limits, SetValues
from skbn._scores.scorer import FamilyScorer
from skbn._solver.constraints import Constraints


@dataclass(frozen=True)
class GroupFamilies:
    """The families of a group, whose weights are wanted.

    Parameters
    ----------
    plan : GroupPlan
    constraints : Constraints
    log_odds : ndarray of shape (m, m), float64, or None
        At [i, j], the logarithm of the prior odds of the edge i -> j; finite.
    threads : Threads
    """

    plan: GroupPlan
    constraints: Constraints
    log_odds: Floats | None
    threads: Threads

    def weights(self, scorer: FamilyScorer, resources: Resources) -> Weights:
        """Return the weights of the families, by their scores and odds."""
        columns, children = self.plan.columns, self.plan.group.columns
        listing, most = self.plan.listing, self.constraints.max_parents
        if listing is None:
            return self._dense(scorer.functions_by_child(columns, children, most, resources))
        ascending = sorted(columns)
        place = [ascending.index(column) for column in columns]
        small = scorer.small_sets_by_child(ascending, children, listing.max_parents, resources)

        def scores_of(child: int, listed: FamilyList) -> Floats:
            families, log_det = small[child]
            tables = scorer.of_child(children[child]).tables.copy()
            tables[0, most + 1 :] = -np.inf
            places = ([place[p] for p in each] for each in (listed.required, listed.candidates))
            limits = Limits(place[child], *places)
            scores = families.scores_in_order(limits, listed.most, SetValues(log_det, tables))
            resources.progress.advance(WORK_OF_LISTED_FAMILY * len(scores))
            return scores

        return self._listed(scores_of)

    def flat_weights(self, constant: Floats) -> Weights:
        """Return the weights of the families if they have no scores, but their odds.

        `constant` is the criterion's table c, which is -inf for numbers of parents that are ruled
        out.
        """
        n_sets = len(self.plan.columns)
        flat = np.where(np.isfinite(constant[:n_sets]), 0.0, -np.inf)
        if self.plan.listing is None:
            tables = np.zeros((3, n_sets))
            tables[0] = flat
            return self._dense([SetWeights(tables).of_all(np.zeros(1 << n_sets))] * n_sets)

        def scores_of(child: int, listed: FamilyList) -> Floats:
            _, candidates, most = listed
            sizes = range(min(most, len(candidates)) + 1)
            n_families = [comb(len(candidates), size) for size in sizes]
            return np.repeat([flat[len(listed.required) + size] for size in sizes], n_families)

        return self._listed(scores_of)

    def lists(self) -> list[FamilyList]:
        """Return which families each of the group's columns has."""
        constraints = self.constraints
        position = {column: i for i, column in enumerate(self.plan.columns)}
        lists = []
        for x in self.plan.group.columns:
            must = constraints.required[x]
            required, candidates = (
                [position[p] for p in members_of(mask)]
                for mask in (must, constraints.allowed[x] & ~must)
            )
            most = min(constraints.max_parents - len(required), len(candidates))
            lists.append(FamilyList(required, candidates, most))
        return lists

    def _odds(self) -> Floats | None:
        """Return the log odds of the edges to each of the group's columns from each position."""
        if self.log_odds is None:
            return None
        return self.log_odds[np.ix_(self.plan.columns, self.plan.group.columns)].T.copy()

    def _listed(self, scores_of: Callable[[int, FamilyList], Floats]) -> ListedWeights:
        where = self.plan.layout, len(self.plan.columns), self.threads
        return ListedWeights(self.lists(), scores_of, *where, self._odds())

    def _dense(self, sets: list[SetFunctions]) -> FamilyWeights:
        columns, layout, odds = self.plan.columns, self.plan.layout, self._odds()
        if layout.n_columns == 1:  # nothing is ordered: `allowed` tells others from the column
            layout = SearchPlan(max(2, len(columns)), 0)
        if len(columns) == 1:  # vectors need four sets: a second column, which may not be a parent
            sets = [SetFunctions(*(np.tile(each, 2) for each in sets[0]))] * 2
        if odds is not None:
            odds = np.pad(odds, ((0, 0), (0, max(2, len(columns)) - len(columns))))
        limits = self.constraints.of_group(self.plan.group)
        return FamilyWeights(sets, layout, self.threads, *limits, odds)
