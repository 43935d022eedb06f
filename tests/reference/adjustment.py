"""Adjustment sets by definition: regressions on them have the effect, whatever the weights."""

from itertools import combinations

import networkx as nx
import numpy as np

from reference.networks import all_dags, graph_of, subsets


def acyclic_graphs(m):
    """Return the adjacency matrices of all acyclic graphs of m nodes."""
    return np.array([nx.to_numpy_array(graph_of(parents), dtype=bool) for parents in all_dags(m)])


def candidate_sets(m, ends=(0, 1)):
    """Return the sets of nodes other than causes and effects."""
    return subsets(v for v in range(m) if v not in ends)


def valid_sets(graphs, causes=(0,), effects=(1,), seed=0):
    """Return which sets give the effects of some nodes on others, and the estimates' variances.

    They have the shapes (n_graphs, n_sets) and (n_graphs, n_sets, n_pairs). The variances are those
    of n times the estimates, for weights that are drawn at random.
    """
    rng = np.random.default_rng(seed)
    k, m, _ = graphs.shape
    causes, effects = list(causes), list(effects)
    sets = candidate_sets(m, [*causes, *effects])
    is_valid = np.full((k, len(sets)), True)
    variance = np.empty((k, len(sets), len(causes) * len(effects)))
    for _ in range(2):  # that weights fit by chance is improbable, but not twice
        weights = rng.uniform(0.5, 1.5, (k, m, m)) * rng.choice([-1, 1], (k, m, m)) * graphs
        paths = np.linalg.inv(np.eye(m) - weights)
        factor = rng.uniform(0.5, 1.5, (k, m))[:, :, np.newaxis] * paths
        covariance = factor.transpose(0, 2, 1) @ factor
        weights[:, :, causes] = 0  # all causes are set
        total = np.linalg.inv(np.eye(m) - weights)[:, causes][:, :, effects]
        n = len(causes)
        for s, chosen in enumerate(sets):
            given = [*causes, *chosen]
            of_given = covariance[:, given][:, :, given]
            with_effects = covariance[:, given][:, :, effects]
            slopes = np.linalg.solve(of_given, with_effects)
            is_valid[:, s] &= (np.abs(slopes[:, :n] - total) < 1e-9).all(axis=(1, 2))
            left = covariance[:, effects, effects] - (slopes * with_effects).sum(axis=1)
            of_causes = np.diagonal(np.linalg.inv(of_given), axis1=1, axis2=2)[:, :n]
            variance[:, s] = (of_causes[:, :, np.newaxis] * left[:, np.newaxis]).reshape(k, -1)
    return is_valid, variance


def instruments(graph, x, y):
    """Return the sets with which each node is an instrument for the effect of x on y.

    By definition: the set has neither x, nor what y or a node on a directed path from x to y may
    act on; without the first edges of these paths it d-separates the node from y; and it does not
    d-separate the node from x. With each set comes whether it has ancestors of the node and of y.
    """
    dag = nx.DiGraph(graph)
    after = {v: {v, *nx.descendants(dag, v)} for v in dag}
    free = nx.DiGraph(dag)
    free.remove_edges_from([*dag.in_edges(x)])
    first = [(x, v) for v in dag.successors(x) if y in {v, *nx.descendants(free, v)}]
    back_door = nx.DiGraph(dag)
    back_door.remove_edges_from(first)
    on_paths = [v for v in after if v != x and x in nx.ancestors(free, v) and y in after[v]]
    barred = {x}.union(after[y], *(after[v] for v in on_paths))
    found = {}
    for z in {*dag} - {x, y}:
        before = nx.ancestors(back_door, z) | nx.ancestors(back_door, y)
        others = [v for v in dag if v not in barred | {z}]
        for k in range(len(others) + 1):
            for chosen in map(set, combinations(others, k)):
                if nx.is_d_separator(back_door, {z}, {y}, chosen) and not nx.is_d_separator(
                    dag, {z}, {x}, chosen
                ):
                    found.setdefault(z, []).append((chosen, chosen <= before))
    return found


def instrumental_ratio(graph, x, y, z, given, rng):
    """Return cov(z, y) / cov(z, x) given some nodes, and the effect, for weights at random."""
    m = len(graph)
    weights = rng.uniform(0.5, 1.5, (m, m)) * rng.choice([-1, 1], (m, m)) * graph
    paths = np.linalg.inv(np.eye(m) - weights)
    factor = rng.uniform(0.5, 1.5, m)[:, np.newaxis] * paths
    covariance = factor.T @ factor
    given = [*given]
    slopes = np.linalg.solve(covariance[np.ix_(given, given)], covariance[given])
    left = covariance - covariance[:, given] @ slopes
    return left[z, y] / left[z, x], paths[x, y]
