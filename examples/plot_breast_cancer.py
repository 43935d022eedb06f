"""
All 30 columns of the breast-cancer data
========================================

The table has ten properties of cell nuclei, each as a mean, a standard error and a worst
value: 30 columns. Finding their best network takes minutes and 22 GB, so the network is
kept in a file. This example reads the file, checks its score against the table, and
looks at the network.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer

from skbn import (
    EdgeHeatMapDisplay,
    GaussianBayesianNetwork,
    GaussianBNLearner,
    LocalScoreTransformer,
    NetworkDisplay,
)

table = load_breast_cancer(as_frame=True).data

# %%
# The search over all 30 columns is ``GaussianBNLearner(verbose=True).fit(table)``. With
# 24 GB of memory, ``python tests/benchmarks/breast_cancer.py`` runs it. The ten means alone
# take a moment:

of_means = GaussianBNLearner().fit(table.iloc[:, :10])
print(f"10 columns: BIC {of_means.network_score_:.4f}, {of_means.dag_.number_of_edges()} edges")

# %%
# ``to_json`` wrote the network of all 30 columns to a file, and ``from_json`` reads it. To
# run this page's script or notebook on its own, put the file into the same folder:
# :download:`breast_cancer.json <breast_cancer.json>`.

file = Path("breast_cancer.json")
if not file.exists():  # in the repository it is beside the script
    file = Path(sys.argv[0]).with_name(file.name)
network = GaussianBayesianNetwork.from_json(file)
dag = network.dag
print(f"30 columns: {dag.number_of_edges()} edges")

# %%
# The score of a network is the sum of its families' local scores, and each local score
# takes one regression. So the file can be checked without a search: the sum is the
# 17565.4626 nats that the search reported, and the parameters are those that ``fit``
# estimates.

scores = LocalScoreTransformer().fit_transform(table)
local_scores = [scores.local_score(child, dag.predecessors(child)) for child in dag]
print(f"BIC {sum(local_scores):.4f} nats, of {scores.n_families:,} families")
assert np.isclose(sum(local_scores), scores.network_score(dag))
assert np.allclose(network.coef_, GaussianBayesianNetwork(dag).fit(table).coef_, rtol=1e-6)

# %%
# Edges join 184 of the 435 pairs of columns, too many for a readable drawing. A heat map
# shows all weights. They are standardised: the weights for columns that are scaled to a
# standard deviation of 1. Each row is a parent and each column a child.

figure, ax = plt.subplots(figsize=(10, 9.3), layout="constrained")
display = EdgeHeatMapDisplay.from_estimator(network, ax=ax)
matrix = pd.DataFrame(display.values, index=display.nodes, columns=display.nodes)
weights = pd.Series({edge: matrix.loc[edge] for edge in dag.edges})
print(weights.sort_values(key=abs, ascending=False).head(6).round(2).to_string())

# %%
# Columns that are nearly the same pull a child in opposite directions: the mean radius and
# the mean perimeter have large and opposite weights for the mean concavity.

correlation = table["mean radius"].corr(table["mean perimeter"])
print(f"correlation of mean radius and mean perimeter: {correlation:.4f}")

# %%
# The hubs are the columns with the most edges.

degrees = pd.DataFrame({"parents": dict(dag.in_degree), "children": dict(dag.out_degree)})
degrees["edges"] = degrees["parents"] + degrees["children"]
print(degrees.sort_values("edges", ascending=False).head(6))

# %%
# The Markov blanket of a column consists of its parents, its children and their other
# parents. Given these, no other column tells more about it. A blanket could have up to 29
# columns; these are the three smallest and the three largest:

sizes = pd.Series({column: len(network.markov_blanket(column)) for column in dag})
print(sizes.sort_values().iloc[[0, 1, 2, -3, -2, -1]].to_string())

# %%
# This is the smallest blanket together with its column, with all edges among them and the
# standardised weights. Other columns on which these depend are left out.

column = sizes.idxmin()
part = nx.DiGraph(dag.subgraph([column, *network.markov_blanket(column)]).edges)
labels = {edge: f"{weights[edge]:.2f}" for edge in part.edges}
NetworkDisplay.from_graph(part, highlight=column, edge_label=labels)
plt.show()

# %%
# To take home: a network that took minutes to find fits in 20 KB, and can be checked against
# the table and queried in a moment.
