"""
How sure is each edge?
======================

The diabetes data of scikit-learn have measurements of 442 patients, and how far their disease
had progressed a year later. Which measurements does the progression depend on directly? The
best network gives an answer, but does not say how sure it is. Three calls do:
`GaussianBNPosterior`, `near_optimal` and `BootstrapBNLearner`.
"""

# sphinx_gallery_thumbnail_number = 2

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import StandardScaler

from skbn import BootstrapBNLearner, GaussianBNLearner, GaussianBNPosterior

# %%
# The sex has only two values, and s2 (LDL) nearly follows from the other lipids; both are left
# out. BGe, the score of the posterior, depends on the units, so we standardise the columns.

readable = {"s1": "cholesterol", "s3": "hdl", "s4": "chol/hdl", "s5": "triglycerides"}
names = {**readable, "s6": "glucose", "bp": "pressure", "target": "progression"}
patients = load_diabetes(as_frame=True, scaled=False).frame.drop(columns=["sex", "s2"])
scaler = StandardScaler().set_output(transform="pandas")
patients = scaler.fit_transform(patients.rename(columns=names))

# %%
# Posterior probabilities
# -----------------------
#
# The posterior sums over all networks, without Markov chains. The picture shows the pairs that are
# joined with a probability above ½, with an arrowhead where one way has more than 75 % of it. Firm
# pairs are solid and opaque; doubtful ones are dashed and pale.

unordered = GaussianBNPosterior().fit(patients)
unordered.plot()

# %%
# How sure is it that two columns are joined, and that the edge is directed as in the best network
# of these pairs?

edges = pd.DataFrame(unordered.edge_probabilities_, patients.columns, patients.columns)
joined = edges + edges.T
for parent, child in unordered.dag_.edges:
    print(f"{joined.loc[parent, child]:.2f}  {edges.loc[parent, child]:.2f}  {parent} -> {child}")

# %%
# Most of these pairs are joined almost surely. What the table leaves open is the direction. It
# even prefers an edge from the progression to the body mass index, though the progression was
# measured a year later. So let us say what we know: nothing here acts on the age, and the
# progression acts on nothing.

tiers = [["age"], ..., ["progression"]]
posterior = GaussianBNPosterior(tiers=tiers).fit(patients)
posterior.plot()

# %%
# Now three parents of the progression are firm: the body mass index, the pressure and the
# triglycerides. Whether a kind of cholesterol is a fourth, and which, stays open:

print(posterior.parent_set_probabilities("progression", k=5))

# %%
# A column can also act through others. `effect` is the posterior of the total effect, in standard
# deviations of the progression, averaged over sampled networks. It is a causal effect only if
# nothing that was not measured acts on both.

for cause in ["age", "bmi", "triglycerides", "glucose"]:
    effect = posterior.effect(cause, "progression", random_state=0)
    low, high = effect.interval(0.95)
    none = f"none with probability {effect.probability_zero:.2f}"
    print(f"{cause:14} {effect.mean:5.2f}, from {low:5.2f} to {high:5.2f}, {none}")

# %%
# Near-optimal networks
# ---------------------
#
# Which other networks score nearly as high as the best? By default, `near_optimal` lists all
# equivalence classes within 3 nats of the best, which make the data at least 1/20 as probable.

learner = GaussianBNLearner("bge", tiers=tiers).fit(patients)
near = learner.near_optimal()
print(near.to_frame().head().round(2).to_string())
print(f"{len(near)} classes; all of them: {near.is_complete}")

# %%
# All 221 agree on the three firm parents. The second differs from the best in the kind of
# cholesterol that is the fourth:

for network in near[:2]:
    print(sorted(network.dag.predecessors("progression")))
best, second = near.cpdags[0], near.cpdags[1]
print("only in the best:", sorted(set(best.edges) - set(second.edges)))
print("only in the second:", sorted(set(second.edges) - set(best.edges)))

# %%
# Bootstrap support
# -----------------
#
# Had there been other patients, would the search find the same edges? The bootstrap searches
# again in 200 tables whose rows are drawn from ours. The support of an edge is the share of these
# searches that find it.

bootstrap = BootstrapBNLearner(learner, random_state=0).fit(patients)
bootstrap.plot()

# %%
# The picture shows the averaged network: its pairs are joined in at least half of the resamples.
# The edges into the progression are among the firmest here too. Triglycerides and cholesterol are
# joined in all resamples, but the edge points the other way in almost half of them.
#
# How far apart are the two answers? Each point is an edge.

support, probability = bootstrap.edge_support_, posterior.edge_probabilities_
figure, ax = plt.subplots(figsize=(5, 5), layout="constrained")
ax.plot([0, 1], [0, 1], color="#8c8c8c", linewidth=1)
ax.plot(probability.ravel(), support.ravel(), "o")
ax.set(xlabel="posterior probability", ylabel="bootstrap support", aspect="equal")
print(f"largest difference: {abs(support - probability).max():.2f}")

# %%
# Are the directions right?
# -------------------------
#
# Take the best network as the truth, sample patients from it, and search again. How many of the
# directed edges of the CPDAG are wrong? The figures are means over 30 samples.

truth = GaussianBNLearner("bge").fit(patients).network_.set_output(transform="pandas")
pairs = {frozenset(edge) for edge in truth.dag.edges}
errors = {}
for n_rows in [100, 442, 2000]:
    found = []
    for seed in range(30):
        rows = truth.sample(n_rows, random_state=seed)
        cpdag = GaussianBNLearner("bge").fit(rows).network_.cpdag()
        found += [(a, b) for a, b, undirected in cpdag.edges(data="undirected") if not undirected]
    errors[f"{n_rows} rows"] = {
        "directed edges": len(found) / 30,
        "reversed": np.mean([truth.dag.has_edge(b, a) for a, b in found]),
        "not joined": np.mean([frozenset(edge) not in pairs for edge in found]),
    }
print(pd.DataFrame(errors).T.round(3).to_string())
plt.show()

# %%
# To take home: the table is nearly sure which columns are joined, and much less sure of the
# directions. Knowledge from outside settled the edges that matter here. The firmest edges are firm
# by all three answers. About doubtful edges the answers differ, because the questions do.
