"""
What did each batch change?
===========================

Five machines make the same part. Four of them differ from the first in one or two mechanisms, and
nobody knows which. The exact search finds the network and the changed mechanisms together.
"""

# sphinx_gallery_thumbnail_number = 1

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from skbn import GaussianBNLearner, GaussianBNPosterior

rng = np.random.default_rng(1)
MACHINES = ["first", "worn tool", "hot hall", "new sensor", "as the first"]


def make_parts(machine, n=80):
    """Return n parts: speed heats, heat and the tool decide about the gap, and so on."""
    speed = rng.normal(size=n)
    heat = 0.8 * speed + rng.normal(size=n) + 1.5 * (machine == "hot hall")
    wear = rng.normal(size=n) * (3 if machine == "worn tool" else 1)
    gap = 0.7 * heat + 0.6 * wear + rng.normal(size=n)
    reading = (-0.9 if machine == "new sensor" else 0.9) * gap + 0.5 * rng.normal(size=n)
    return pd.DataFrame(
        {"speed": speed, "heat": heat, "wear": wear, "gap": gap, "reading": reading}
    )


parts = pd.concat([make_parts(machine) for machine in MACHINES], ignore_index=True)
machine = np.repeat(MACHINES, 80)

# %%
# A *soft* target has a regression of its own on the same parents. The loss is by how many nats the
# score falls if the node is no target of the machine.

learner = GaussianBNLearner(targets="soft").fit(parts, environments=machine)
print(learner.targets_)

figure, axes = plt.subplots(1, 3, figsize=(11, 4))
for ax, name in zip(axes, MACHINES[1:4], strict=True):
    learner.targets_.plot(name, ax=ax)
    ax.set_title(name)

# %%
# The network of a machine has its own regressions.

print(learner.targets_.network("new sensor"))

# %%
# A posterior sums over all networks and all targets.

standardised = (parts - parts.mean()) / parts.std()
posterior = GaussianBNPosterior(targets="soft", target_prior=0.25)
posterior.fit(standardised, environments=machine)
shares = posterior.target_probabilities_

figure, ax = plt.subplots(figsize=(6, 3.5))
image = ax.imshow(shares, cmap="Blues", vmin=0, vmax=1)
ax.set_xticks(range(5), parts.columns)
ax.set_yticks(range(4), MACHINES[1:])
for (row, column), share in np.ndenumerate(shares):
    ax.text(column, row, f"{share:.2f}", ha="center", color="white" if share > 0.5 else "black")
ax.set_title("Probability that a machine changed a mechanism")
figure.tight_layout()
