"""
How probable is each edge?
==========================

The diabetes data of scikit-learn have ten measurements of 442 patients, and how far their
disease had progressed a year later. This example asks which of them the progression depends on
directly, and how sure that is, by the posterior over all networks.
"""

from itertools import combinations

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import StandardScaler

from skbn import EdgeProbabilitiesDisplay, GaussianBNLearner, GaussianBNPosterior

# %%
# The sex has two values only, and s2 (LDL) nearly follows from the other lipids: both are left
# out. BGe, the score of the posterior, needs standardised columns.

readable = {"s1": "cholesterol", "s3": "hdl", "s4": "chol/hdl", "s5": "triglycerides"}
names = {**readable, "s6": "glucose", "bp": "pressure", "target": "progression"}
patients = load_diabetes(as_frame=True, scaled=False).frame.drop(columns=["sex", "s2"])
scaler = StandardScaler().set_output(transform="pandas")
patients = scaler.fit_transform(patients.rename(columns=names))

best = GaussianBNLearner("bge").fit(patients)
posterior = GaussianBNPosterior().fit(patients)
probability = np.exp(posterior.log_probability(best.network_))
print(f"the best network has {best.dag_.number_of_edges()} edges, and a probability")
print(f"of {probability:.4f} among the {posterior.n_features_in_} columns' networks")

# %%
# The best network has a small probability, because many others are nearly as good. Edges do
# better: each is in many of these networks. Rows are parents, columns are children.

EdgeProbabilitiesDisplay.from_estimator(posterior)

# %%
# Which pairs are joined is often nearly sure, but in which direction is not.

edges = pd.DataFrame(posterior.edge_probabilities_, patients.columns, patients.columns)
print("joined   ->    <-")
for a, b in combinations(edges.columns, 2):
    forth, back = edges.loc[a, b], edges.loc[b, a]
    if forth + back > 0.9:
        print(f"{forth + back:6.2f}  {forth:.2f}  {back:.2f}  {a}, {b}")

# %%
# By the table alone it is rather the progression that acts on the body mass index than the
# other way round. But it was measured a year later. What is known goes into the fit: nothing acts
# on the age, and the progression acts on nothing.

known = GaussianBNPosterior(tiers=[["age"], ..., ["progression"]]).fit(patients)
known.plot(edge_label="probability")

# %%
# Now the body mass index is a parent almost surely, as are the blood pressure and the
# triglycerides. Which kind of cholesterol is one as well stays open.

print(known.parent_set_probabilities("progression", k=5))
direct = known.edge_probabilities_[:, -1]
for column, probability in zip(patients.columns[:-1], direct, strict=False):
    print(f"{probability:.2f}  {column}")

# %%
# A direct dependence is not all: the age acts through other columns. `effect` is the posterior
# of the total effect, in standard deviations of the progression. It averages over all networks,
# weighted by their probability. (Whether it is a causal effect depends on what was not measured.)

for cause in ["age", "bmi", "triglycerides", "glucose"]:
    effect = known.effect(cause, "progression")
    low, high = effect.interval(0.95)
    none = f"none with probability {effect.probability_zero:.2f}"
    print(f"{cause:14} {effect.mean:5.2f}, from {low:5.2f} to {high:5.2f}, {none}")

# %%
# Other questions are answered by samples of networks, drawn from the posterior exactly. Is the
# progression independent of the age, given the three parents that are sure? And how many
# parents does it have?


sure = {"pressure", "bmi", "triglycerides"}


def separated(dag):
    return nx.is_d_separator(dag, {"age"}, {"progression"}, sure)


estimate = known.probability(separated, random_state=0)
print(f"independent: {estimate.value:.2f}, with a standard error of {estimate.standard_error:.2f}")
dags = known.sample_dags(1000, random_state=0)
numbers, counts = np.unique([dag.in_degree("progression") for dag in dags], return_counts=True)
print(pd.Series(counts / 1000, pd.Index(numbers, name="parents"), name="share").to_string())

# %%
# How much of this is the prior over networks? "order" favours networks that leave the order of
# the columns open. It is much cheaper to sum, and with more than 22 columns there is no other.

by_order = GaussianBNPosterior(structure_prior="order", tiers=[["age"], ..., ["progression"]]).fit(
    patients
)
figure, ax = plt.subplots(figsize=(5, 5), layout="constrained")
ax.plot([0, 1], [0, 1], color="#8c8c8c", linewidth=1)
ax.plot(known.edge_probabilities_.ravel(), by_order.edge_probabilities_.ravel(), "o")
ax.set(xlabel="probability of an edge, uniform prior", ylabel="order prior", aspect="equal")
difference = abs(known.edge_probabilities_ - by_order.edge_probabilities_).max()
print(f"largest difference: {difference:.2f}")
plt.show()

# %%
# To take home: the table is nearly sure which pairs are joined, and half sure of the directions.
# One fact from outside, what came last, settled the edges that matter here. The prior over
# networks moves the edges that the data leave open, and hardly those that they decide.
