"""
What an experiment adds
=======================

A table of observations tells the direction of some edges only. Rows in which an experimenter *set*
a column tell more: what the column acts on changes with it, and what acts on the column does not.
Here the truth is known: a signalling chain of six proteins, of which three are set in experiments.
"""

# sphinx_gallery_thumbnail_number = 3

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pandas as pd

from skbn import GaussianBayesianNetwork, GaussianBNLearner, NetworkDisplay

EFFECTS = {
    ("pkc", "pka"): 0.8,
    ("pkc", "raf"): 0.6,
    ("pka", "raf"): -0.7,
    ("raf", "mek"): 0.9,
    ("mek", "erk"): 0.8,
    ("pka", "erk"): 0.5,
    ("erk", "akt"): 0.9,
}
PROTEINS = ["akt", "erk", "mek", "pka", "pkc", "raf"]


def measure(n, setting, rng):
    """Return n cells in which the proteins of a dict are held near a level."""
    cells = pd.DataFrame(rng.normal(size=(n, 6)), columns=PROTEINS)
    for protein in ["pkc", "pka", "raf", "mek", "erk", "akt"]:
        if protein in setting:
            cells[protein] = setting[protein] + 0.5 * cells[protein]
            continue
        for (cause, effect), weight in EFFECTS.items():
            if effect == protein:
                cells[protein] += weight * cells[cause]
    return cells


rng = np.random.default_rng(0)
conditions = {
    "nothing": {},
    "mek inhibited": {"mek": -2.0},
    "pka activated": {"pka": 2.0},
    "erk inhibited": {"erk": -2.0},
}
tables = [measure(200, setting, rng) for setting in conditions.values()]
cells = pd.concat(tables, ignore_index=True)
condition = np.repeat([*conditions], 200)
what_was_set = [tuple(conditions[each]) or None for each in condition]

# %%
# Observations alone
# ------------------
#
# The rows in which nothing was set are too few to find all seven edges, and do not tell the
# direction of the one without an arrowhead.

observed = GaussianBNLearner().fit(cells[condition == "nothing"])
NetworkDisplay.from_estimator(observed, cpdag=True)

# %%
# Experiments taken for observations
# ----------------------------------
#
# All rows together find the edges, and turn some of them round: an inhibited protein does not
# follow its causes, which looks as if it had none.

pooled = GaussianBNLearner().fit(cells)
NetworkDisplay.from_estimator(pooled, cpdag=True)

# %%
# With what was set
# -----------------
#
# ``interventions`` says what was set in each row. A protein's regression then uses the rows in
# which it was free, and an edge of which just one end was set somewhere has its direction.

learner = GaussianBNLearner().fit(cells, interventions=what_was_set)
NetworkDisplay.from_estimator(learner, cpdag=True)

# %%
# The distances to the truth, of classes under these experiments:

truth = GaussianBayesianNetwork(nx.DiGraph(EFFECTS.keys()))
for name, found in (("observed", observed), ("pooled", pooled), ("experiments", learner)):
    comparison = found.network_.compare(truth, targets=learner.targets_)
    print(f"{name:12} {comparison.cpdag_distance}")

# %%
# If you do not know what was set
# -------------------------------
#
# A drug may act on several proteins. Then the condition itself is a cause that is not modelled: a
# category, from which edges may lead to all columns. Its children are what the drugs act on.

with_condition = cells.assign(condition=pd.Categorical(condition, categories=[*conditions]))
unknown = GaussianBNLearner(nodes="auto", exogenous=["condition"]).fit(with_condition)
print("acted on:", sorted(unknown.dag_.successors("condition")))
unknown.plot()
plt.show()
