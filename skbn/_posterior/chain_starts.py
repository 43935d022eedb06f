"""The networks that chains begin with, and which candidates come first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from skbn._chains.candidates import Candidates
from skbn._core.resources import Progress, Resources
from skbn._core.subsets import members_of
from skbn._scores.scorer import FamilyScorer
from skbn._solver.constraints import Constraints
from skbn._solver.engines import SearchSettings
from skbn._solver.problem import Problem
from skbn._solver.solve import solve

# With no more columns than these in a group, the best network is found at once, and chains begin
# there; else order searches find good ones.
_MOST_TO_SEARCH_ALL = 20
# The share of a time limit that order searches may take.
_SHARE_OF_SEARCHES = 0.1


def searched_networks(
    problem: Problem, resources: Resources, n_chains: int, rng: np.random.Generator
) -> list[list[list[int]]]:
    """Return the parents of each column in networks that searches have found, to begin with."""
    n_searched = n_chains - max(1, n_chains // 3)
    largest = max(len(group.columns) for group in problem.constraints.groups)
    is_exact = largest <= _MOST_TO_SEARCH_ALL
    limit = resources.time_limit
    searching = replace(
        resources,
        time_limit=None if limit is None else limit * _SHARE_OF_SEARCHES / n_searched,
        progress=Progress(),
        announce=None,
        deadline=math.inf,
    )
    found = []
    for _ in range(1 if is_exact else n_searched):
        settings = SearchSettings(is_exact=is_exact, seed=int(rng.integers(1 << 31)))
        try:
            (solution,) = solve(problem, searching, settings)
        except ValueError:  # interventions and nodes need max_parents for an order search
            break
        found.append([members_of(mask) for mask in solution.parents])
    return found * n_searched if is_exact else found


def ranked_parents(
    scorer: FamilyScorer, candidates: Candidates, constraints: Constraints
) -> list[list[int]]:
    """Return the possible parents of each column: the required ones, then a forward selection's."""
    m = candidates.m
    ranked = [[*each] for each in candidates.required]
    is_parent = np.zeros((m, m), dtype=np.bool_)
    for x, own in enumerate(ranked):
        is_parent[x, own] = True
    most = min(constraints.max_parents, candidates.n_fewest)
    for _ in range(most):
        growing = [x for x in constraints.modelled if len(ranked[x]) < most]
        for found, terms in scorer.neighbours(is_parent, np.array(growing, dtype=np.int64)):
            scores = terms.sum(axis=0)
            for x, of_child in zip(found.children.tolist(), scores, strict=True):
                free = [z for z in candidates.possible[x] if z not in ranked[x]]
                if free:
                    # NaN stands for families that depend on each other.
                    best = np.argmax(np.nan_to_num(of_child[free], nan=-np.inf))
                    ranked[x].append(free[int(best)])
        for x in growing:
            is_parent[x, ranked[x]] = True
    return [[*dict.fromkeys([*own, *candidates.possible[x]])] for x, own in enumerate(ranked)]


def networks_to_begin_with(
    candidates: Candidates,
    constraints: Constraints,
    found: list[list[list[int]]],
    n_chains: int,
    rng: np.random.Generator,
) -> list[list[list[int]]]:
    """Return the parents in the networks that chains begin with: those found, and random ones."""
    most, modelled = constraints.max_parents, constraints.modelled
    n_random = n_chains - len(found)
    drawn = [random_network(candidates, modelled, most, rng) for _ in range(n_random)]
    # A column with more parents than candidates begins with some of them.
    return [
        [
            [*dict.fromkeys([*required, *own])][: candidates.n_most]
            for required, own in zip(candidates.required, parents, strict=True)
        ]
        for parents in [*found, *drawn]
    ]


def random_network(
    candidates: Candidates, movable: Sequence[int], max_parents: int, rng: np.random.Generator
) -> list[list[int]]:
    """Return the parents of each column in a random network: the required ones and at most one."""
    parents: list[list[int]] = [[] for _ in range(candidates.m)]
    waiting = rng.permutation(movable).tolist()
    placed = [z for z in range(candidates.m) if z not in waiting]
    while waiting:
        # A column whose required parents are placed.
        x = next(x for x in waiting if set(candidates.required[x]) <= set(placed))
        waiting.remove(x)
        parents[x] = [*candidates.required[x]]
        further = [z for z in candidates.possible[x] if z in placed and z not in parents[x]]
        if further and len(parents[x]) < max_parents:
            parents[x].append(int(rng.choice(further)))
        placed.append(x)
    return parents
