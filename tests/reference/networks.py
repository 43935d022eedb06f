"""Networks one by one: all of them, their classes and their effects."""

from collections import defaultdict
from functools import cache
from itertools import chain, combinations, product

import networkx as nx
import numpy as np


def subsets(items):
    """All subsets, the fewest items first, then in the order of the items."""
    items = list(items)
    return list(chain.from_iterable(combinations(items, size) for size in range(len(items) + 1)))


def families(m):
    """All pairs of a child and a tuple of parents."""
    return [(x, p) for x in range(m) for p in subsets(v for v in range(m) if v != x)]


@cache
def all_dags(m):
    """All acyclic networks, each as a tuple with the parents of each column."""
    choices = [subsets(v for v in range(m) if v != x) for x in range(m)]
    return [parents for parents in product(*choices) if is_acyclic(parents)]


def is_acyclic(parents):
    """Whether columns can be taken away one after the other, each without parents then."""
    rest = set(range(len(parents)))
    while rest:
        roots = [x for x in rest if rest.isdisjoint(parents[x])]
        if not roots:
            return False
        rest.difference_update(roots)
    return True


def ordered_partitions(items):
    """All ways to put items into layers that come one after the other, none of them empty."""
    items = tuple(items)
    if not items:
        return [()]
    return [
        (first, *rest)
        for first in subsets(items)[1:]
        for rest in ordered_partitions(v for v in items if v not in first)
    ]


def equivalence_class(parents):
    """What equivalent networks share: which columns are joined, and the colliders."""
    joined = {frozenset((p, x)) for x, ps in enumerate(parents) for p in ps}
    colliders = {
        (a, x, b)
        for x, ps in enumerate(parents)
        for a, b in combinations(sorted(ps), 2)
        if frozenset((a, b)) not in joined
    }
    return frozenset(joined), frozenset(colliders)


@cache
def classes_of_dags(m, targets=()):
    """The members of each equivalence class of networks, under interventions if there are any."""
    classes = defaultdict(list)
    for parents in all_dags(m):
        classes[interventional_class(parents, targets)].append(parents)
    return list(classes.values())


def equivalent_dags(parents, fixed=()):
    """The members of a network's class, by turning its edges every way, all but the fixed ones."""
    edges = [(p, x) for x, ps in enumerate(parents) for p in ps]
    own, members = equivalence_class(parents), []
    for turned in product(*([edge] if edge in fixed else [edge, edge[::-1]] for edge in edges)):
        other = tuple(tuple(sorted(p for p, c in turned if c == x)) for x in range(len(parents)))
        if is_acyclic(other) and equivalence_class(other) == own:
            members.append(other)
    return members


def interventional_class(parents, targets):
    """What equivalent networks share under interventions, each on a set of targets.

    Their skeleton and v-structures, and for each intervention those of the network without the
    edges into its targets (Hauser & Buhlmann 2012, theorem 10).
    """
    cut = (tuple(() if x in target else ps for x, ps in enumerate(parents)) for target in targets)
    return equivalence_class(parents), *map(equivalence_class, cut)


def essential_edges(members):
    """The edges that all members of a class share, and the pairs joined in both directions."""
    edges = [{(p, x) for x, ps in enumerate(parents) for p in ps} for parents in members]
    return set.intersection(*edges), {frozenset(e) for e in set.union(*edges)}


def total_effects(coef):
    """The sums over all directed paths of the products of their coefficients; NaN without one.

    `coef[i, j]` is the coefficient of the edge i -> j, and 0 stands for no edge.
    """
    m = len(coef)

    def paths(x, y):
        """The product of each path's coefficients."""
        if x == y:
            return [1.0]
        return [coef[x, z] * rest for z in range(m) if coef[x, z] for rest in paths(z, y)]

    effects = np.full((m, m), np.nan)
    for x in range(m):
        for y in range(m):
            if x != y and paths(x, y):
                effects[x, y] = sum(paths(x, y))
    return effects


def covariance_of_network(covariance, parents):
    """The covariance of a network fitted to a covariance, by regressions."""
    m = len(parents)
    coef, noise = np.zeros((m, m)), np.empty(m)
    for x, of_child in enumerate(parents):
        p = list(of_child)
        coef[p, x] = np.linalg.solve(covariance[np.ix_(p, p)], covariance[p, x])
        noise[x] = covariance[x, x] - coef[p, x] @ covariance[p, x]
    whole = np.linalg.inv(np.eye(m) - coef)
    return whole.T @ np.diag(noise) @ whole


# Graphs of networkx, whose nodes are 0, 1, ...


def graph_of(parents):
    """A network as a graph."""
    graph = nx.empty_graph(len(parents), nx.DiGraph)
    graph.add_edges_from((p, x) for x, ps in enumerate(parents) for p in ps)
    return graph


def parents_of(graph):
    """The parents of each node, in ascending order."""
    return tuple(tuple(sorted(graph.predecessors(x))) for x in range(len(graph)))


def random_graph(rng, m, share=0.5):
    """A graph with parameters, some of all pairs being joined, whose nodes are in no order."""
    order = rng.permutation(m).tolist()
    graph = nx.DiGraph()
    for x in range(m):
        graph.add_node(x, intercept=rng.normal(), noise_variance=rng.uniform(0.2, 3))
    for a, b in combinations(order, 2):
        if rng.random() < share:
            graph.add_edge(a, b, weight=rng.normal())
    return graph
