"""Learn networks of simulated experiments, in three ways, and time what interventions cost.

Run ``python tests/benchmarks/experiments.py``. Random networks of 10 columns with three neighbours
each on average have 600 rows: a sixth without intervention, and a sixth each in which one of five
columns was set, to a mean of 2 or -2 with a standard deviation of 1. For each way it prints the
mean F1 of the skeleton and of the arrowheads, and the structural Hamming distance, to the true
network's interventional essential graph:

- with the interventions,
- as if there had been none,
- by the rows without intervention alone.

Then it prints the seconds of a fit of 18 columns and 3,000 rows in five groups, with interventions
and without, and of 12 columns with 12 exogenous ones; the least of three.
"""

from __future__ import annotations

import argparse
import time
import warnings
from statistics import mean

import numpy as np

from skbn import GaussianBNLearner
from skbn.datasets import make_gaussian_network

WAYS = ("with the interventions", "as if there had been none", "rows without intervention alone")


def experiment(m, n, n_targets, rng):
    """Return a true network, rows of it, and which column was set in each of them."""
    network = make_gaussian_network(
        m, mean_degree=3, weight_range=(0.4, 1), noise_range=(1, 1), random_state=rng
    )
    condition = rng.integers(n_targets + 1, size=n)
    rows = np.empty((n, m))
    sides = rng.choice([-2, 2], size=n)
    for target in range(n_targets + 1):
        at = np.flatnonzero(condition == target)
        if target == n_targets:
            rows[at] = network.sample(len(at), rng)
            continue
        dag = network.dag
        dag.remove_edges_from([*dag.in_edges(target)])
        dag.nodes[target].update(intercept=0.0, noise_variance=1.0)
        rows[at] = type(network)(dag).sample(len(at), rng)
        # A shift of the column itself goes to its descendants as in the network.
        effects = np.linalg.inv(np.eye(m) - type(network)(dag).coef_)[target]
        rows[at] += sides[at, np.newaxis] * effects
    return network, rows, [None if t == n_targets else int(t) for t in condition]


def agreement(true, found):
    """Return the F1 of skeleton and arrowheads, and the distance, of two essential graphs."""

    def edges(graph):
        joined = {frozenset((a, b)) for a, b in graph.edges}
        arrows = {(a, b) for a, b, undirected in graph.edges(data="undirected") if not undirected}
        return joined, arrows

    def f1(a, b):
        return 2 * len(a & b) / (len(a) + len(b)) if a or b else 1.0

    (joined, arrows), (other_joined, other_arrows) = edges(true), edges(found)
    return f1(joined, other_joined), f1(arrows, other_arrows)


def compare(n_tables):
    found = {way: [] for way in WAYS}
    for seed in range(n_tables):
        rng = np.random.default_rng(seed)
        network, rows, interventions = experiment(10, 600, 5, rng)
        targets = [0, 1, 2, 3, 4]
        is_free = [each is None for each in interventions]
        learners = [
            GaussianBNLearner().fit(rows, interventions=interventions),
            GaussianBNLearner().fit(rows),
            GaussianBNLearner().fit(rows[is_free]),
        ]
        true = network.cpdag(targets=targets)
        for way, learner in zip(WAYS, learners, strict=True):
            known = targets if way == WAYS[0] else None
            of_learner = learner.network_.cpdag(targets=known)
            distance = sum(
                _edge_of(true, a, b) != _edge_of(of_learner, a, b)
                for a in range(10)
                for b in range(a)
            )
            found[way].append((*agreement(true, of_learner), distance))
    print(f"{n_tables} tables           skeleton  arrows  distance")
    for way, each in found.items():
        skeleton, arrows, distance = map(mean, zip(*each, strict=True))
        print(f"{way:32} {skeleton:.3f}  {arrows:.3f}  {distance:.1f}")


def _edge_of(graph, a, b):
    """Return how a pair is joined: not at all, in a direction, or undirected."""
    for edge in ((a, b), (b, a)):
        if graph.has_edge(*edge):
            return None if graph.edges[edge]["undirected"] else edge
    return "not joined"


def least_seconds(learner, *args, **params):
    seconds = []
    for _ in range(4):  # the first compiles
        start = time.process_time()
        learner.fit(*args, **params)
        seconds.append(time.process_time() - start)
    return min(seconds[1:])


def time_fits(m):
    rng = np.random.default_rng(0)
    _, rows, interventions = experiment(m, 3000, 4, rng)
    learner = GaussianBNLearner(n_jobs=1)
    with_sets = least_seconds(learner, rows, interventions=interventions)
    without = least_seconds(learner, rows)
    print(
        f"{m} columns, 5 groups of rows: {with_sets:.3f} s, without interventions {without:.3f} s"
    )
    half = 2 * m // 3
    rows, _ = make_gaussian_network(2 * half, n_samples=1000, random_state=0)
    conditional = GaussianBNLearner(exogenous=list(range(half)), n_jobs=1)
    print(f"{half} columns, {half} exogenous: {least_seconds(conditional, rows):.2f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=100)
    parser.add_argument("--columns", type=int, default=18, help="of the fits that are timed")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    compare(options.tables)
    time_fits(options.columns)


if __name__ == "__main__":
    main()
