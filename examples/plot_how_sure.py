"""
How stable is each edge?
========================

The best network of a table is provably best for this table, but another sample of wines
would hardly have the same one. Refits to resampled rows show which edges recur, and samples
from a known network show how many of the directions are right.
"""

from collections import Counter

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_wine
from sklearn.utils import resample

from skbn import GaussianBNLearner

wine = load_wine(as_frame=True).data
learner = GaussianBNLearner().fit(wine)

# %%
# The bootstrap draws as many rows as the table has, with replacement, and searches again. We
# count which pairs each CPDAG joins, and which edges have a direction.


def edges_of_class(table):
    network = GaussianBNLearner().fit(table).network_
    return network.cpdag().edges(data="undirected")


def count_edges(table, n_refits=100):
    joined, directed = Counter(), Counter()
    for seed in range(n_refits):
        for a, b, undirected in edges_of_class(resample(table, random_state=seed)):
            joined[frozenset([a, b])] += 1
            directed[a, b] += not undirected
    return joined, directed


joined, directed = count_edges(wine)
print(f"{joined.total() / 100:.1f} edges on average")
print(f"{learner.dag_.number_of_edges()} edges of the best network of the table")

# %%
# For each edge of the best network, this table says in how many of the 100 refits the pair is
# joined, how often the edge has the same direction, and how often the opposite direction. (In
# the rest of the refits that join the pair, the CPDAG leaves it undirected.)

print("joined  this way  other way")
for a, b in sorted(learner.dag_.edges, key=lambda edge: -joined[frozenset(edge)]):
    count = joined[frozenset([a, b])]
    print(f"{count:6}  {directed[a, b]:8}  {directed[b, a]:9}  {a} -> {b}")

# %%
# Alcohol and colour intensity are joined every time, but the edge points one way about as
# often as the other. The edge is stable; its direction is not.
#
# The picture draws an edge with a share of 33 % like any other: its width shows its weight,
# not how sure it is. So write the shares beside the edges.

labels = {(a, b): f"{joined[frozenset([a, b])]}%" for a, b in learner.dag_.edges}
learner.plot(edge_label=labels)

# %%
# Most refits join these pairs, although the best network does not:

best = {frozenset(edge) for edge in learner.dag_.edges}
for pair, count in joined.most_common():
    if pair not in best and count > 50:
        print(f"{' - '.join(sorted(pair))}: {count}")

# %%
# Columns that are nearly the same share the count. Here the table has one column a second
# time, with a little noise added. Neither copy may look sure, although one of them is needed.

rng = np.random.default_rng(0)
noise = rng.normal(0, 0.1 * wine["flavanoids"].std(), len(wine))
twins = ["flavanoids", "flavanoids_again"]
of_twins, _ = count_edges(wine.assign(flavanoids_again=wine["flavanoids"] + noise))
for column in ["hue", "nonflavanoid_phenols"]:
    alone = joined[frozenset([column, "flavanoids"])]
    each = [of_twins[frozenset([column, twin])] for twin in twins]
    print(f"{column} - flavanoids: {alone} alone; {each[0]} and {each[1]} with the copy")

# %%
# How often is a directed edge right? Take the network found as the truth, sample wines from
# it, search, and compare the directed edges of the CPDAG with the truth. The figures are
# means over 30 samples.

truth = learner.network_.set_output(transform="pandas")
errors = {}
for n_rows in [178, 1000, 5000]:
    found = []
    for seed in range(30):
        rows = truth.sample(n_rows, random_state=seed)
        found += [(a, b) for a, b, undirected in edges_of_class(rows) if not undirected]
    errors[n_rows] = {
        "directed edges": len(found) / 30,
        "reversed": np.mean([truth.dag_.has_edge(b, a) for a, b in found]),
        "not joined": np.mean([frozenset(edge) not in best for edge in found]),
    }
print(pd.DataFrame(errors).T.round(3).to_string())
plt.show()

# %%
# These shares say how often the search finds an edge in tables like this one. They are not
# probabilities that the edge is there; `GaussianBNPosterior` computes those, as in
# :ref:`another example <sphx_glr_auto_examples_plot_edge_probabilities.py>`. Resampled tables
# have repeated rows, and their networks have more edges. skbn gives no standard errors of
# weights either, because those of a regression ignore that the same rows were used to choose the
# parents.
#
# To take home: an edge is surer than its direction. With as many rows as the wine table has,
# three of ten directed edges were wrong, although the true network was Gaussian and no column
# was missing from the table.
