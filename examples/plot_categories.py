"""
Numbers and a category
======================

Twelve chemical measurements of 178 Italian wines and the cultivar of their grapes. The cultivar is
a category, and one node of the network, as each of the numbers is.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine

from skbn import GaussianBNLearner

wine = load_wine(as_frame=True)
table = wine.data.drop(columns="proanthocyanins")
table["cultivar"] = wine.target.map({0: "Barolo", 1: "Grignolino", 2: "Barbera"})

# %%
# Nothing in the bottle decides which grapes were pressed, so the cultivar comes first.

learner = GaussianBNLearner(nodes="auto", tiers=[["cultivar"], ...]).fit(table)
print("cultivar ->", ", ".join(learner.dag_.successors("cultivar")))

# %%
# Between the cultivar and a measurement there are two coefficients, for the two levels other than
# the first, in standard deviations of the measurement. The edge has one number for its strength.

edges = learner.network_.to_frame()
is_of_cultivar = edges["parent"].str.startswith("cultivar=")
of_cultivar = edges[is_of_cultivar].sort_values("score_loss", ascending=False, kind="stable")
columns = ["parent", "child", "standardised_weight", "partial_r2", "score_loss"]
print(of_cultivar[columns].round(2).to_string(index=False))

# %%
# What is expected of a wine of each cultivar:

for cultivar in learner.network_.blocks.levels["cultivar"]:
    given = learner.network_.condition({"cultivar": cultivar})
    print(f"{cultivar:10} {given['flavanoids'].mean:.1f} flavanoids, {given['hue'].mean:.2f} hue")

# %%
# The cultivar decides about most measurements directly, and the rest follow from these.

learner.plot(highlight="cultivar")
plt.show()
