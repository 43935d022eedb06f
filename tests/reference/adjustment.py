"""Adjustment sets by definition: regressions on them have the effect, whatever the weights."""

from itertools import combinations, product

import networkx as nx
import numpy as np


def acyclic_graphs(m):
    """Return the adjacency matrices of all acyclic graphs of m nodes."""
    pairs = [*combinations(range(m), 2)]
    graphs = []
    for code in product(range(3), repeat=len(pairs)):
        graph = np.zeros((m, m), dtype=bool)
        for (a, b), direction in zip(pairs, code, strict=True):
            graph[a, b], graph[b, a] = direction == 1, direction == 2
        if nx.is_directed_acyclic_graph(nx.DiGraph(graph)):
            graphs.append(graph)
    return np.array(graphs)


def candidate_sets(m):
    """Return the sets of nodes other than 0 and 1."""
    return [each for k in range(m - 1) for each in combinations(range(2, m), k)]


def valid_sets(graphs, seed=0):
    """Return which sets give the effect of node 0 on node 1, and the variance of the estimate.

    Both have shape (n_graphs, n_sets). The variance is that of n times the estimate, for weights
    that are drawn at random.
    """
    rng = np.random.default_rng(seed)
    k, m, _ = graphs.shape
    sets = candidate_sets(m)
    is_valid, variance = np.full((k, len(sets)), True), np.empty((k, len(sets)))
    for _ in range(2):  # that weights fit by chance is improbable, but not twice
        weights = rng.uniform(0.5, 1.5, (k, m, m)) * rng.choice([-1, 1], (k, m, m)) * graphs
        paths = np.linalg.inv(np.eye(m) - weights)
        factor = rng.uniform(0.5, 1.5, (k, m))[:, :, np.newaxis] * paths
        covariance = factor.transpose(0, 2, 1) @ factor
        for s, chosen in enumerate(sets):
            given = [0, *chosen]
            of_given = covariance[:, given][:, :, given]
            with_effect = covariance[:, given][:, :, [1]]
            slopes = np.linalg.solve(of_given, with_effect)[:, :, 0]
            is_valid[:, s] &= np.abs(slopes[:, 0] - paths[:, 0, 1]) < 1e-9
            left = covariance[:, 1, 1] - (slopes * with_effect[:, :, 0]).sum(axis=1)
            variance[:, s] = left * np.linalg.inv(of_given)[:, 0, 0]
    return is_valid, variance
