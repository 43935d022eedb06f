"""
What you know beforehand
========================

The best network of the diabetes data makes age and sex depend on blood pressure, and the
body mass index on what becomes of the patient a year later. Nothing in the table forbids
it. Tiers and forbidden edges do, and the score says what this knowledge costs.
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
# The fit warns of two columns.

for doubt in doubts:
    print(fill(f"{doubt.category.__name__}: {doubt.message}", 90), end="\n\n")

# %%
# Sex takes two values, and no linear function plus Gaussian noise does: an edge into it is
# a poor description. As the parent of others it does no harm, and what is known below leaves
# it no parents.
#
# For s2, the picture shows many values a little above what the parents predict and a few far
# below. That may be outliers, or the effect of a parent that is not linear. Here it is the latter:
# the residuals fall with the square of s5. The table has s2 as LDL cholesterol, s1 as total
# cholesterol, s3 as HDL and s5 as the logarithm of triglycerides.

ResidualsDisplay.from_estimator(free, diabetes, columns="s2")
residuals = free.network_.residuals(diabetes)["s2"]
bend = (diabetes["s5"] - diabetes["s5"].mean()) ** 2
print(f"correlation of the residuals with the square of s5: {residuals.corr(bend):.2f}")
in_units = load_diabetes(as_frame=True, scaled=False).data
computed = in_units["s1"] - in_units["s3"] - np.exp(in_units["s5"]) / 5
print(f"correlation with s2: {np.corrcoef(computed, in_units['s2'])[0, 1]:.7f}")

# %%
# So s2 was not measured, but computed from the others by the formula of Friedewald, Levy &
# Fredrickson (1972). The edges into it approximate that formula. Both doubts are known now, and
# no reason to warn again.

warnings.filterwarnings("ignore", category=exceptions.DataWarning)

# %%
# The directions of the edges are no arbitrary choice among equivalent networks: the CPDAG has
# no undirected edge, so that no network of its class has any of them the other way round. The
# class as a whole may be wrong: another sample might well have had another one.

edges = free.network_.cpdag().edges(data="undirected")
print(f"{sum(undirected for _, _, undirected in edges)} of {len(edges)} edges are undirected")

# %%
# Age and sex come first. Then what was measured at the start: the body mass index, the
# blood pressure and six blood serum measurements, s1 to s6. Last comes ``target``, the
# disease's progression one year after. No edge leads back a tier.

tiers = [
    ["age", "sex"],
    ["bmi", "bp", "s1", "s2", "s3", "s4", "s5", "s6"],
    ["target"],
]
ordered = GaussianBNLearner(tiers=tiers).fit(diabetes)

# %%
# Two further things are known: neither age nor sex is a cause of the other, and s4 is
# computed from s1 and s3, the total cholesterol divided by HDL. Both directions of a pair
# are forbidden to keep it apart.

forbidden = [("age", "sex"), ("sex", "age"), ("s4", "s1"), ("s4", "s3")]
known = GaussianBNLearner(tiers=tiers, forbidden_edges=forbidden).fit(diabetes)

# %%
# Each is the best network under its constraints, so that more of them can only lower the
# score. That s4 comes after s1 and s3 costs nothing, as the best network has it so already.

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
# The networks before and after, and what the progression depends on in each. Nodes stand
# at the same places in both, by the order of the first network, so that edges of the second
# may point upwards.

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
# To take home: the best network of a table can have directions that are impossible as
# causes, even where its class leaves none open. What is known rules them out, here at a
# price of 10.5 nats.
