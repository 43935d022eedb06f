"""
Where a greedy search stops
===========================

Hill climbing changes one edge at a time, always the one that raises the score most, and
stops when no change raises it. On the wine data it stops short of the best network. The
exact search shows how far short, and how often other starts reach the optimum.
"""

from functools import cache
from itertools import permutations

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
from sklearn.datasets import load_wine

from skbn import (
    GaussianBayesianNetwork,
    GaussianBNLearner,
    LocalScoreTransformer,
    NetworkComparisonDisplay,
)
from skbn.datasets import make_gaussian_network

wine = load_wine(as_frame=True).data
scores = LocalScoreTransformer().fit_transform(wine)
learner = GaussianBNLearner().fit(scores)
optimum = learner.network_score_

# %%
# This is hill climbing in plain Python. A network is a dictionary of each child's parents.
# Its score is the sum of its families' local scores, so adding or removing an edge changes
# one term, and reversing an edge changes two. If gains are equal up to rounding, the order
# of the columns decides.


@cache
def local_score(child, parents):
    return scores.local_score(child, sorted(parents))


def one_edge_changes(network):
    for a, b in permutations(network, 2):
        if a in network[b]:
            yield {b: network[b] - {a}}  # remove a -> b
            yield {b: network[b] - {a}, a: network[a] | {b}}  # reverse a -> b
        elif b not in network[a]:
            yield {b: network[b] | {a}}  # add a -> b


def gain(network, change):
    return sum(local_score(v, new) - local_score(v, network[v]) for v, new in change.items())


def is_acyclic(network):
    placed = set()
    while ready := [v for v in network if v not in placed and network[v] <= placed]:
        placed.update(ready)
    return len(placed) == len(network)


def climb(network):
    """Return the network where the climb ends, and the scores on the way."""
    path = [sum(local_score(child, parents) for child, parents in network.items())]
    while True:
        changes = [(gain(network, change), change) for change in one_edge_changes(network)]
        for best_gain, change in sorted(changes, key=lambda pair: -round(pair[0], 6)):
            if best_gain < 1e-6:
                return network, path
            if is_acyclic(network | change):
                break
        network = network | change
        path.append(path[-1] + best_gain)


# %%
# Start from the network without edges:

empty = {column: frozenset() for column in wine.columns}
climbed, path = climb(empty)
dag = nx.from_dict_of_lists(climbed, nx.DiGraph).reverse()
assert np.isclose(path[-1], scores.network_score(dag))
print(f"hill climbing: BIC {path[-1]:.4f} nats after {len(path) - 1} changes")
print(f"exact search:  BIC {optimum:.4f} nats, {optimum - path[-1]:.4f} more")

NetworkComparisonDisplay.from_networks(
    learner.network_.cpdag(),
    GaussianBayesianNetwork(dag).cpdag(),
    titles=["the optimum", "where hill climbing stops"],
)
distance = learner.network_.compare(dag).cpdag_distance
print(f"{distance} pairs of columns differ between the two CPDAGs")

# %%
# Now start from the graphs of 100 random networks, in which a column has four neighbours on
# average.

below = []
for seed in range(100):
    dag = make_gaussian_network(len(wine.columns), mean_degree=4, random_state=seed).dag
    start = {
        column: frozenset(wine.columns[list(dag.predecessors(i))])
        for i, column in enumerate(wine.columns)
    }
    below.append(optimum - climb(start)[1][-1])
below = np.sort(below)
print(f"{(below < 1e-6).sum()} of 100 random starts reach the optimum")
print(f"{(below < optimum - path[-1] - 1e-6).sum()} of them end higher than the empty start")
print(f"in the median they end {np.median(below):.2f} nats below the optimum")

# %%
# The curve of the climb flattens as if it had reached the top, but the optimum is 9 nats
# higher.

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.5), layout="constrained")
left.plot(path, color="#D55E00", marker="o", label="hill climbing from no edges")
left.axhline(optimum, color="#0072B2", linestyle="--", label="optimum")
left.set(xlabel="changes of one edge", ylabel="BIC, nats", ylim=(optimum - 120, optimum + 10))
left.legend()
right.step(below, np.arange(1, 101), where="post", color="#D55E00", label="100 random starts")
right.axvline(optimum - path[-1], color="#777777", linestyle=":", label="start without edges")
right.set(xlabel="nats below the optimum", ylabel="climbs that end no further below")
right.set(ylim=(0, 102))
right.legend(loc="lower right")
plt.show()

# %%
# To take home: none of these climbs, from no edges or from 100 other networks, reaches the
# best network of 13 columns, and nothing in a climb shows that it fell short. Only the exact
# search does.
