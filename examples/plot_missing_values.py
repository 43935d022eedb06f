"""
A table with holes
==================

The chemical measurements of 178 Italian wines, a fifth of which get lost. What does the network of
the remaining values know of the lost ones?
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

from skbn import GaussianBNLearner, NetworkComparisonDisplay

wine = load_wine(as_frame=True).data
holes = wine.mask(np.random.default_rng(0).random(wine.shape) < 0.2)
complete = holes.notna().all(axis=1)
print(f"{complete.sum()} of {len(wine)} rows are complete")

# %%
# Dropping rows would leave too few. With ``missing="em"`` all values count. No search can prove the
# network best then, but the candidates that it was chosen from are there to see.

learner = GaussianBNLearner(missing="em").fit(holes)
print(learner.candidates_.head(3).round(2).to_string())

# %%
# Conditional means fill the holes. In units of the columns' standard deviations, they are nearer to
# the lost values than the columns' means are.

lost = holes.isna().to_numpy()
for name, filled in {"network": learner.impute(holes), "means": holes.fillna(holes.mean())}.items():
    errors = ((filled - wine) / wine.std()).to_numpy()[lost]
    print(f"{name:8} root mean square error {np.sqrt(np.mean(errors**2)):.2f}")

# %%
# Here is the network beside that of the whole table, which is proven.

whole = GaussianBNLearner().fit(wine)
NetworkComparisonDisplay.from_networks(whole, learner, titles=("whole table", "with holes"))
plt.show()
