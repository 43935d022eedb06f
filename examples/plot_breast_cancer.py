"""
All 30 columns of the breast-cancer data
========================================

Ten properties of cell nuclei, each as a mean, a standard error and a worst value, are 30
columns. Their best network takes minutes and 22 GB, so that it is kept in a file. This
example reads the file, checks its score against the table, and looks at the network.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer

from skbn import GaussianBayesianNetwork, GaussianBNLearner, LocalScoreTransformer, NetworkDisplay

table = load_breast_cancer(as_frame=True).data

# %%
# ``python tests/benchmarks/breast_cancer.py`` runs the search anew, given 24 GB of memory.
# It is nothing but ``GaussianBNLearner().fit(table)``; the file is the ``to_json()`` of
# the network. The ten means alone take a moment:

of_means = GaussianBNLearner().fit(table.iloc[:, :10])
print(f"10 columns: BIC {of_means.network_score_:.4f}, {of_means.dag_.number_of_edges()} edges")

file = Path(__file__).with_name("breast_cancer.json")
network = GaussianBayesianNetwork.from_json(file.read_text())
dag = network.dag_
print(f"30 columns: {dag.number_of_edges()} edges")

# %%
# The score of a network is the sum of its families' local scores, and a local score needs
# one regression, not all 16 billion of them. So the file can be checked here: the score is
# the 17565.4626 nats that the search ends with, and the parameters are those of the table.

scores = LocalScoreTransformer().fit_transform(table)
local_scores = {child: scores.local_score(child, dag.predecessors(child)) for child in dag}
print(f"{scores.n_families:,} families; BIC {sum(local_scores.values()):.4f} nats")
fitted = GaussianBayesianNetwork(dag).fit(table)
assert np.allclose(network.coef_, fitted.coef_, rtol=1e-6)

# %%
# The picture is crowded: the columns depend on each other in many ways, as area and
# perimeter follow from the radius.

figure, ax = plt.subplots(figsize=(18, 18), layout="constrained")
NetworkDisplay.from_estimator(network, ax=ax)

# %%
# Weights are in the columns' units. Multiplied by the standard deviation of the parent and
# divided by the child's, they can be compared.

deviations = pd.Series(np.sqrt(np.diag(network.covariance_)), index=network.nodes)
edges = pd.DataFrame(dag.edges(data="weight"), columns=["parent", "child", "weight"])
edges["standardised"] = (
    edges["weight"] * deviations[edges["parent"]].to_numpy() / deviations[edges["child"]].to_numpy()
)
largest_first = edges["standardised"].abs().sort_values(ascending=False).index
print(edges.loc[largest_first].head(10).to_string(index=False))

# %%
# The hubs are the columns with the most edges, in and out.

degrees = pd.DataFrame(
    {"parents": dict(dag.in_degree), "children": dict(dag.out_degree)}, index=list(dag)
)
degrees["edges"] = degrees.sum(axis=1)
print(degrees.sort_values("edges", ascending=False).head(6))

# %%
# The Markov blanket of a column are its parents, its children and their other parents:
# given these, no other column says any more of it.

for column in ["mean texture", "texture error"]:
    blanket = network.markov_blanket(column)
    print(f"{column}: {len(blanket)} of 29 columns: {', '.join(blanket)}")
