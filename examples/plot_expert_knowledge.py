"""
What you know beforehand
========================

The best network of the diabetes data makes age and sex depend on blood pressure, and the
body mass index on how the disease progresses a year later. Nothing in the table forbids
this. Tiers and forbidden edges do, and the score says what this knowledge costs.
"""

import warnings
from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from skbn import GaussianBNLearner, NetworkComparisonDisplay, ResidualsDisplay, exceptions

diabetes = load_diabetes(as_frame=True).frame
with warnings.catch_warnings(record=True) as doubts:
    warnings.simplefilter("always")
    free = GaussianBNLearner().fit(diabetes)
for child in ["age", "sex", "bmi"]:
    print(f"{child} <- {', '.join(free.dag_.predecessors(child))}")

# %%
# The fit warns about two columns.

for doubt in doubts:
    print(fill(f"{doubt.category.__name__}: {doubt.message}", 90), end="\n\n")

# %%
# Sex takes only two values, which no linear function plus Gaussian noise does, so an edge
# into it is a poor description. As a parent it does no harm, and the knowledge that we add
# below leaves it without parents.
#
# For s2, the picture shows many values a little above what the parents predict and a few far
# below. The cause may be outliers, or a parent whose effect is not linear. Here it is the
# latter: the residuals fall with the square of s5. In this table s2 is LDL cholesterol, s1 is
# total cholesterol, s3 is HDL and s5 is the logarithm of triglycerides.

ResidualsDisplay.from_estimator(free, diabetes, columns="s2")
residuals = free.network_.residuals(diabetes)["s2"]
bend = (diabetes["s5"] - diabetes["s5"].mean()) ** 2
print(f"correlation of the residuals with the square of s5: {residuals.corr(bend):.2f}")
in_units = load_diabetes(as_frame=True, scaled=False).data
computed = in_units["s1"] - in_units["s3"] - np.exp(in_units["s5"]) / 5
print(f"correlation with s2: {np.corrcoef(computed, in_units['s2'])[0, 1]:.7f}")

# %%
# So s2 was not measured, but computed from the others by the formula of Friedewald, Levy &
# Fredrickson (1972). The edges into it approximate that formula. We now know the reasons for
# both warnings and can switch them off.

warnings.filterwarnings("ignore", category=exceptions.DataWarning)

# %%
# The directions of the edges are not an arbitrary choice among equivalent networks: the CPDAG
# has no undirected edge, so no equivalent network reverses any of them. But the class as a
# whole may be wrong; another sample might well have led to another class.

edges = free.network_.cpdag().edges(data="undirected")
print(f"{sum(undirected for _, _, undirected in edges)} of {len(edges)} edges are undirected")

# %%
# Age and sex come first. Then come the measurements at the start: the body mass index, the
# blood pressure and six blood serum measurements, s1 to s6. ``target``, the progression of
# the disease one year later, comes last. No edge leads back to an earlier tier.

tiers = [
    ["age", "sex"],
    ["bmi", "bp", "s1", "s2", "s3", "s4", "s5", "s6"],
    ["target"],
]
ordered = GaussianBNLearner(tiers=tiers).fit(diabetes)

# %%
# We know two more things: neither age nor sex is a cause of the other, and s4 is computed
# from s1 and s3, as total cholesterol divided by HDL. To keep two columns apart, forbid both
# directions.

forbidden = [("age", "sex"), ("sex", "age"), ("s4", "s1"), ("s4", "s3")]
known = GaussianBNLearner(tiers=tiers, forbidden_edges=forbidden).fit(diabetes)

# %%
# Each network is the best under its constraints, so more constraints can only lower the
# score. Putting s4 after s1 and s3 costs nothing, because the best network already does so.

without_s4 = GaussianBNLearner(tiers=tiers, forbidden_edges=forbidden[:2]).fit(diabetes)
learners = {
    "nothing": free,
    "tiers": ordered,
    "tiers, age and sex apart": without_s4,
    "tiers, age and sex apart, s4": known,
}
for knowledge, learner in learners.items():
    price = free.network_score_ - learner.network_score_
    n_edges = learner.dag_.number_of_edges()
    print(f"{knowledge:30} BIC {learner.network_score_:.2f}, {price:5.2f} lost, {n_edges} edges")

# %%
# Here are the networks before and after, and what the progression depends on in each. Nodes
# are at the same places in both pictures, arranged for the first network, so edges of the
# second may point upwards.

figure, axes = plt.subplots(1, 2, figsize=(12, 8), layout="constrained")
titles = ["data alone", "with knowledge"]
NetworkComparisonDisplay.from_networks(free, known, titles=titles, axes=axes)
for learner, title in zip([free, known], titles, strict=True):
    print(f"{title}: target <- {', '.join(learner.dag_.predecessors('target'))}")
    print(f"  Markov blanket: {', '.join(learner.network_.markov_blanket('target'))}")
plt.show()

# %%
# With this knowledge, sex has no parents and only explains others.
#
# To take home: the best network of a table can have directions that are impossible for
# causes, even if its class leaves no direction open. Prior knowledge rules them out, here
# at a price of 10.5 nats.
