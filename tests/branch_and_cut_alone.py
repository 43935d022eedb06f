"""To try branch and cut on few columns, which dynamic programming would take."""

import itertools

import numpy as np

from skbn import ParentSetScores
from skbn._branch_and_cut.branch_and_cut import Result
from skbn._branch_and_cut.proof import Proof
from skbn._exact.plan import TooLargeError
from skbn._solver import planner
from skbn._solver.engines import plan_listed_search


def plan_single_columns(shape, group, resources, settings):
    """An engine that takes no columns that depend on each other."""
    if len(group.columns) + len(group.others) == 1:
        return plan_listed_search(shape, group, resources, settings)
    raise TooLargeError(f"{len(group.columns)} columns", "its states", 1 << 60, 0, "are available")


def without_dynamic_programs(monkeypatch):
    monkeypatch.setattr(planner, "ENGINES", (plan_single_columns,))


def result(families, chosen, gap, n_nodes=1, is_finished=False):
    """A result of branch and cut whose bound is below its cost by a gap."""
    cost = float(families.cost[chosen].sum())
    proof = Proof([], None, cost, cost - gap)
    return Result(chosen, cost, cost - gap, proof, n_nodes, is_finished)


def unfinished(families, incumbent, **_):
    """A search that is ended before it does anything."""
    cheapest = np.minimum.reduceat(families.cost, families.start[:-1])
    return result(families, incumbent, float((families.cost[incumbent] - cheapest).sum()))


def random_lists(rng, m, n=12):
    """Listed families of each column, the empty one among them."""
    families = []
    for x in range(m):
        others = [y for y in range(m) if y != x]
        sets = {()}
        for _ in range(n):
            size = int(rng.integers(1, 4))
            sets.add(tuple(sorted(rng.choice(others, size, replace=False).tolist())))
        rows = [[*parents, *[-1] * (3 - len(parents))] for parents in sets]
        families.append((rows, rng.normal(size=len(rows)).tolist()))
    return ParentSetScores([f"x{i}" for i in range(m)], families)


def best_by_subsets(candidates, most, score):
    """The parents that score highest, by trying all sets of them."""
    sets = itertools.chain.from_iterable(
        itertools.combinations(candidates, size) for size in range(most + 1)
    )
    return max(score(parents) for parents in sets)


def own_sets(rows):
    return [frozenset(p for p in row if p >= 0) for row in np.asarray(rows).tolist()]
