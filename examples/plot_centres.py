"""
One network of centres that do not share rows
=============================================

Four hospitals may not hand out rows of patients. Each sends its number of rows, means and
covariance matrix. Added up, these give the network that all rows together would give.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from skbn import GaussianBNLearner, GaussianBNPosterior, from_covariance

rng = np.random.default_rng(0)


def patients(n, level):
    """Return the rows of a hospital, whose patients and devices have a level of their own."""
    age = 60 + rng.normal(0, 8, n)
    weight = 75 + rng.normal(0, 12, n) + 5 * level
    pressure = 70 + 0.6 * age + 0.4 * weight + rng.normal(0, 9, n)
    sugar = 60 + 0.5 * weight + rng.normal(0, 12, n) + 20 * level
    kidney = 150 - 0.5 * age - 0.3 * sugar + rng.normal(0, 9, n)
    return pd.DataFrame(
        {"age": age, "weight": weight, "pressure": pressure, "sugar": sugar, "kidney": kidney}
    )


hospitals = [patients(n, level) for n, level in [(120, 0), (80, 1), (200, -1), (60, 2)]]
sent = [(rows.cov(), len(rows), rows.mean()) for rows in hospitals]

# %%
# Pooled
# ------
# The sum has the same score and network as the rows, which nobody has together.

together = sum(from_covariance(*each) for each in sent)
pooled = GaussianBNLearner().fit(together)
of_rows = GaussianBNLearner().fit(pd.concat(hospitals))
print(f"difference of the scores: {abs(pooled.network_score_ - of_rows.network_score_):.0e} nats")

# %%
# Less the means of each hospital
# -------------------------------
# Levels differ between hospitals, and that alone makes weight and sugar look more alike than they
# are within one. Without means, only what varies within hospitals counts.

within = GaussianBNLearner().fit(sum(from_covariance(cov, n) for cov, n, _ in sent))
for name, learner in [("pooled", pooled), ("within", within)]:
    weight = learner.network_.total_effect("weight", "sugar")
    print(f"{name}: sugar rises by {weight:.2f} for each unit of weight; 0.5 is true")

figure, axes = plt.subplots(1, 2, figsize=(10, 4.5))
for ax, (name, learner) in zip(axes, [("pooled", pooled), ("within", within)], strict=True):
    learner.plot(ax=ax)
    ax.set_title(name)

# %%
# The posterior takes the sum, too.

posterior = GaussianBNPosterior().fit(sum(from_covariance(cov, n) for cov, n, _ in sent))
print(posterior.predict(fdr=0.1, directed=False))
