"""
Directions from noise
=====================

Four columns follow from each other linearly, with skewed noise. Gaussian scores leave the direction
of some edges open; the shape of the noise tells them all.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from skbn import GaussianBNLearner, NonGaussianBNLearner

rng = np.random.default_rng(0)
noise = rng.exponential(size=(300, 4)) - 1
rain = noise[:, 0]
river = 0.8 * rain + noise[:, 1]
lake = 0.6 * river + noise[:, 2]
flood = 0.7 * river + 0.5 * lake + noise[:, 3]
table = pd.DataFrame({"flood": flood, "rain": rain, "river": river, "lake": lake})

# %%
# The table has an edge for each line of the program above. Reversing any of them, with all other
# edges free to change, loses more than 50 nats.

learner = NonGaussianBNLearner().fit(table)
print(learner.network_.to_frame()[["parent", "child", "weight", "reversal_loss"]].round(2))

# %%
# A Gaussian learner finds the class of networks that say the same of means and covariances. Lines
# without an arrowhead may point either way.

gaussian = GaussianBNLearner().fit(table)
figure, axes = plt.subplots(1, 2, figsize=(9, 4))
for ax, each, title in zip(axes, (gaussian, learner), ("Gaussian", "non-Gaussian"), strict=True):
    each.plot(ax=ax, cpdag=True)
    ax.set_title(title)

# %%
# The picture behind it: what is left of an effect is independent of its cause, but what is left
# of a cause is not independent of its effect.

figure, axes = plt.subplots(1, 2, figsize=(9, 4))
for ax, cause, effect in ((axes[0], rain, river), (axes[1], river, rain)):
    slope = (cause @ effect) / (cause @ cause)
    ax.scatter(cause, effect - slope * cause, s=5)
axes[0].set(title="river given rain", xlabel="rain", ylabel="residual")
axes[1].set(title="rain given river", xlabel="river", ylabel="residual")
figure.tight_layout()
