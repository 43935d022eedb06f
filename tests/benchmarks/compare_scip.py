"""The families that branch_and_cut.py searches, handed to SCIP with the cuts of clusters.

    pip install -e .[test] highspy pyscipopt
    python tests/benchmarks/compare_scip.py 40-2-500 --max-parents 3 --limit 600

This is the model of GOBNILP, which uses SCIP too: a binary variable for each family, one family for
each column, and the constraint that each cluster of columns has one without parents in it. Clusters
that the linear program's solution violates are those around cycles and those grown column by
column. If there is none at the root, an integer program finds the most violated one. GOBNILP itself
has further cuts, propagators and heuristics, which this script lacks; SCIP has its own cuts and
heuristics, and it is given the network of the order search. Arguments and output are those of
branch_and_cut.py.
"""

from __future__ import annotations

import json
import math
import time

import branch_and_cut as ours  # first, as it sets the number of threads
import numpy as np
from compare import peak_megabytes
from compare_order_searches import random_table
from pyscipopt import SCIP_RESULT, Conshdlr, Model, quicksum
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array

from skbn._branch_and_cut.separation import Point, clusters_of_cycles

HEADINGS = {
    key: text for key, text in ours.HEADINGS.items() if key not in ("gain", "replay", "n_cuts")
} | {"n_cuts": "clusters"}
LEAST_VIOLATION = 0.02
# Of clusters that are grown: arcs to begin with, by how much they may be satisfied on the way, and
# how many are added together.
MOST_STARTS, MOST_SLACK, MOST_GROWN = 100, 0.5, 40
WALL_CLOCK = 2


def grown_clusters(point):
    """Return clusters that a point violates, each grown from an arc by the best further column."""
    m, n = len(point.arcs), len(point.weight)
    has_parent = np.zeros((n, m + 1))
    has_parent[np.arange(n)[:, np.newaxis], point.parents] = 1.0
    has_parent = has_parent[:, :m]
    starts = np.argwhere(point.arcs > LEAST_VIOLATION)
    heaviest = np.argsort(-point.arcs[tuple(starts.T)], kind="stable")
    best = {}
    for start in starts[heaviest[:MOST_STARTS]]:
        is_in = np.zeros(m, dtype=bool)
        is_in[start] = True
        while True:
            is_hit = has_parent @ is_in > 0
            of_column = np.bincount(point.child, point.weight * is_hit, minlength=m)
            violation = 1 - is_in.sum() + of_column[is_in].sum()
            if violation > LEAST_VIOLATION:
                best[is_in.tobytes()] = violation, np.flatnonzero(is_in)
            if violation < -MOST_SLACK or is_in.all():
                break
            gain = (point.weight * (is_in[point.child] & ~is_hit)) @ has_parent + of_column
            is_in[np.argmax(np.where(is_in, -np.inf, gain))] = True
    ordered = sorted(best.values(), key=lambda each: -each[0])
    return [columns for _, columns in ordered[:MOST_GROWN]]


def most_violated_cluster(point):
    """Return the columns of the cluster that a point violates most, or None if there is none.

    A cluster's violation is 1, less the number of its columns, plus the weights of their families
    with parents in it. The variables are whether columns and whether families belong to it.
    """
    m, n = len(point.arcs), len(point.weight)
    f = np.arange(n)
    of_family, k = np.nonzero(point.parents >= 0)
    # A family counts only if its child and one of its parents are in the cluster.
    rows = np.concatenate([f, f, n + f, n + of_family, np.full(m, 2 * n)])
    columns = np.concatenate([m + f, point.child, m + f, point.parents[of_family, k], np.arange(m)])
    signs = np.repeat([1.0, -1.0, 1.0, -1.0, -1.0], [n, n, n, len(of_family), m])
    matrix = coo_array((signs, (rows, columns)), shape=(2 * n + 1, m + n)).tocsr()
    upper = np.append(np.zeros(2 * n), -2.0)  # and it has two columns at least
    found = milp(
        np.concatenate([np.ones(m), -point.weight]),
        integrality=np.ones(m + n),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(matrix, -np.inf, upper),
    )
    if found.x is None or found.fun > 1 - LEAST_VIOLATION:
        return None
    return np.flatnonzero(found.x[:m] > 0.5)


class Acyclic(Conshdlr):
    """SCIP's constraint that the families chosen make no directed cycle."""

    def __init__(self, families, variables):
        self.families, self.variables = families, variables
        self.m = families.start.size - 1
        self.n_cuts = 0

    def point(self, solution):
        weights = np.array([self.model.getSolVal(solution, v) for v in self.variables])
        on = np.flatnonzero(weights > 1e-6)
        families = self.families
        return Point.of(families.child[on], families.parents[on], weights[on], self.m)

    def clusters(self, solution):
        point = self.point(solution)
        found = [cut.columns for cut in clusters_of_cycles(point)]
        if not (point.fractions > 1e-6).any():
            return found
        known = {columns.tobytes() for columns in found}
        grown = (columns.astype(np.int16) for columns in grown_clusters(point))
        found += [columns for columns in grown if columns.tobytes() not in known]
        if not found and self.model.getDepth() == 0:
            best = most_violated_cluster(point)
            found = [] if best is None else [best]
        return found

    def add(self, columns):
        is_in = np.zeros(self.m + 1, dtype=bool)  # the last for parents that a family lacks
        is_in[columns] = True
        has_none = ~is_in[self.families.parents].any(axis=1)
        row = self.model.createEmptyRowUnspec(f"cluster {self.n_cuts}", lhs=1.0, rhs=None)
        self.model.cacheRowExtensions(row)
        for f in np.flatnonzero(is_in[self.families.child] & has_none):
            self.model.addVarToRow(row, self.variables[f], 1.0)
        self.model.flushRowExtensions(row)
        self.model.addCut(row, forcecut=True)
        self.n_cuts += 1

    def separated(self, otherwise):
        found = self.clusters(None)
        for columns in found:
            self.add(columns)
        return {"result": SCIP_RESULT.SEPARATED if found else otherwise}

    def conssepalp(self, constraints, n_useful):
        return self.separated(SCIP_RESULT.DIDNOTFIND)

    def consenfolp(self, constraints, n_useful, is_infeasible):
        return self.separated(SCIP_RESULT.FEASIBLE)

    def consenfops(self, constraints, n_useful, is_infeasible, is_infeasible_objective):
        is_cyclic = bool(clusters_of_cycles(self.point(None)))
        return {"result": SCIP_RESULT.INFEASIBLE if is_cyclic else SCIP_RESULT.FEASIBLE}

    def conscheck(self, constraints, solution, *_, **__):
        is_cyclic = bool(clusters_of_cycles(self.point(solution)))
        return {"result": SCIP_RESULT.INFEASIBLE if is_cyclic else SCIP_RESULT.FEASIBLE}

    def conslock(self, constraint, lock_type, n_positive, n_negative):
        for variable in self.variables:  # rounding either way may close a cycle
            self.model.addVarLocks(variable, n_positive + n_negative, n_positive + n_negative)


def model_of(families, network, limit):
    model = Model()
    model.hideOutput()
    model.setParam("limits/time", limit)
    model.setParam("timing/clocktype", WALL_CLOCK)
    model.setParam("parallel/maxnthreads", 1)
    variables = [model.addVar(vtype="B", obj=float(cost)) for cost in families.cost]
    for start, end in zip(families.start, families.start[1:], strict=False):
        model.addCons(quicksum(variables[start:end]) == 1)
    handler = Acyclic(families, variables)
    model.includeConshdlr(
        handler,
        "acyclic",
        "no directed cycle",
        sepapriority=100,
        enfopriority=-10,
        chckpriority=-10,
        sepafreq=1,
        needscons=False,
    )
    solution = model.createSol()
    for f in network:
        model.setSolVal(solution, variables[f], 1.0)
    assert model.addSol(solution)
    return model, handler


def measure(name, max_parents, limit):
    """Search one table, and return what that took."""
    families, network = ours.listed_families(random_table(name)[0], max_parents)
    model, handler = model_of(families, network, limit)
    cpu, wall = time.process_time(), time.monotonic()
    model.optimize()
    cpu, wall = time.process_time() - cpu, time.monotonic() - wall
    best = min(model.getPrimalbound(), float(families.cost[network].sum()))
    root = model.getDualboundRoot()
    return {
        "n_families": families.cost.size,
        "root_gap": best - root if math.isfinite(root) else math.inf,
        "n_nodes": model.getNTotalNodes(),
        "cpu": cpu,
        "wall": wall,
        "gap": max(0.0, best - model.getDualbound()),
        "megabytes": peak_megabytes(),
        "n_cuts": handler.n_cuts,
    }


def main():
    arguments = ours.read_arguments("Time SCIP with the cuts of clusters.")
    if arguments.one:
        (name,) = arguments.tables
        print(json.dumps(measure(name, arguments.max_parents, arguments.limit)))
    else:
        ours.print_table(__file__, arguments, HEADINGS)


if __name__ == "__main__":
    main()
