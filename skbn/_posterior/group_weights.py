"""The weights of the families of a group of columns: of all of them, or of those with few parents.

A group's columns and the others that may be their parents have positions: first the group's.
"""

from collections.abc import Callable
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


def weights_of_group(
    plan: GroupPlan,
    constraints: Constraints,
    log_odds: Floats | None,
    scorer: FamilyScorer,
    threads: Threads,
    resources: Resources,
) -> Weights:
    """Return the weights of a group's families.

    Parameters
    ----------
    plan : GroupPlan
    constraints : Constraints
    log_odds : ndarray of shape (m, m), float64, or None
        At [i, j], the logarithm of the prior odds of the edge i -> j; finite.
    scorer : FamilyScorer
    threads : Threads
    resources : Resources
    """
    columns, children, most = plan.columns, plan.group.columns, constraints.max_parents
    if plan.listing is None:
        sets = scorer.functions_by_child(columns, children, most, resources)
        return _dense_weights(plan, constraints, log_odds, sets, threads)
    ascending = sorted(columns)
    place = [ascending.index(column) for column in columns]
    small = scorer.small_sets_by_child(ascending, children, plan.listing.max_parents, resources)
    lists = family_lists(plan, constraints)

    def scores_of(child: int) -> Floats:
        required, candidates, most_candidates = lists[child]
        families, log_det = small[child]
        tables = scorer.of_child(children[child]).tables.copy()
        tables[0, most + 1 :] = -np.inf
        places = ([place[p] for p in each] for each in (required, candidates))
        limits = Limits(place[child], *places)
        scores = families.scores_in_order(limits, most_candidates, SetValues(log_det, tables))
        resources.progress.advance(WORK_OF_LISTED_FAMILY * len(scores))
        return scores

    return _listed_weights(plan, lists, scores_of, log_odds, threads)


def flat_weights(
    plan: GroupPlan,
    constraints: Constraints,
    log_odds: Floats | None,
    constant: Floats,
    threads: Threads,
) -> Weights:
    """Return the weights of a group's families if they have no scores, but their odds.

    `constant` is the criterion's table c, which is -inf for numbers of parents that are ruled out.
    """
    n_sets = len(plan.columns)
    flat = np.where(np.isfinite(constant[:n_sets]), 0.0, -np.inf)
    if plan.listing is None:
        tables = np.zeros((3, n_sets))
        tables[0] = flat
        functions = SetWeights(tables).of_all(np.zeros(1 << n_sets))
        sets = [functions] * n_sets
        return _dense_weights(plan, constraints, log_odds, sets, threads)
    lists = family_lists(plan, constraints)

    def scores_of(child: int) -> Floats:
        required, candidates, most = lists[child]
        sizes = range(min(most, len(candidates)) + 1)
        n_families = [comb(len(candidates), size) for size in sizes]
        return np.repeat([flat[len(required) + size] for size in sizes], n_families)

    return _listed_weights(plan, lists, scores_of, log_odds, threads)


def family_lists(plan: GroupPlan, constraints: Constraints) -> list[FamilyList]:
    """Return which families each of a group's columns has."""
    position = {column: i for i, column in enumerate(plan.columns)}
    lists = []
    for x in plan.group.columns:
        required = members_of(constraints.required[x])
        candidates = members_of(constraints.allowed[x] & ~constraints.required[x])
        lists.append(
            FamilyList(
                [position[p] for p in required],
                [position[p] for p in candidates],
                min(constraints.max_parents - len(required), len(candidates)),
            )
        )
    return lists


def _odds_of(plan: GroupPlan, log_odds: Floats | None) -> Floats | None:
    """Return the log odds of the edges to each of a group's columns from each position."""
    if log_odds is None:
        return None
    return log_odds[np.ix_(plan.columns, plan.group.columns)].T.copy()


def _listed_weights(
    plan: GroupPlan,
    lists: list[FamilyList],
    scores_of: Callable[[int], Floats],
    log_odds: Floats | None,
    threads: Threads,
) -> ListedWeights:
    odds = _odds_of(plan, log_odds)
    return ListedWeights(lists, scores_of, plan.layout, len(plan.columns), threads, odds)


def _dense_weights(
    plan: GroupPlan,
    constraints: Constraints,
    log_odds: Floats | None,
    sets: list[SetFunctions],
    threads: Threads,
) -> FamilyWeights:
    columns, layout = plan.columns, plan.layout
    if layout.n_columns == 1:  # nothing is ordered: others are told from the column by `allowed`
        layout = SearchPlan(max(2, len(columns)), 0)
    if len(columns) == 1:  # vectors need four sets: a second column, which may not be a parent
        sets = [SetFunctions(*(np.tile(each, 2) for each in sets[0]))] * 2
    odds = _odds_of(plan, log_odds)
    if odds is not None:
        odds = np.pad(odds, ((0, 0), (0, max(2, len(columns)) - len(columns))))
    return FamilyWeights(sets, layout, threads, *constraints.of_group(plan.group), odds)
