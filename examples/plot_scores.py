"""
Which score for few rows
========================

BIC, EBIC, AIC and BGe weigh the fit of a network against its complexity in different
ways. This example samples from known random networks, to see how much of them each
score finds. The search is exact, so all errors come from the score and the sample.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from skbn import GaussianBNLearner
from skbn.datasets import make_gaussian_network

criteria = {"aic": "#E69F00", "bic": "#0072B2", "ebic": "#009E73", "bge": "#CC79A7"}
sizes = [25, 50, 100, 250, 500, 1000]
n_networks, n_nodes = 30, 8


# %%
# A random network has 8 nodes, with two neighbours each on average. Its edges have weights
# from 0.3 to 1 in size, and all noise has variance 1.


def random_network(rng):
    return make_gaussian_network(
        n_nodes, weight_range=(0.3, 1), noise_range=(1, 1), random_state=rng
    )


# %%
# Each sample is searched with all four scores. The columns are standardised, because
# BGe's prior requires it; the other scores find the same network either way. The
# structural Hamming distance is that of the equivalence classes, since no score tells
# their members apart. An edge is missing if only the true network joins its two nodes,
# and extra if only the network found joins them.


def joined(network):
    return {frozenset(edge) for edge in network.dag.edges}


rng = np.random.default_rng(0)
shape = (n_networks, len(sizes))
distance, missing, extra = ({name: np.zeros(shape) for name in criteria} for _ in range(3))
n_edges = []
for i in range(n_networks):
    truth = random_network(rng)
    n_edges.append(len(truth.dag.edges))
    for j, size in enumerate(sizes):
        rows = truth.sample(size, random_state=rng)
        rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
        for name in criteria:
            found = GaussianBNLearner(name).fit(rows).network_
            distance[name][i, j] = found.compare(truth).cpdag_distance
            missing[name][i, j] = len(joined(truth) - joined(found))
            extra[name][i, j] = len(joined(found) - joined(truth))

print(f"{np.mean(n_edges):.1f} edges on average; means of {n_networks} networks:")
for title, counts in {"all differences": distance, "missing": missing, "extra": extra}.items():
    table = {name: counts[name].mean(axis=0) for name in criteria}
    print(title, pd.DataFrame(table, index=sizes).round(2).to_string(), sep="\n")

# %%
# Bars are standard errors of the means. The curves are shifted slightly so that the bars
# do not overlap.

figure, axes = plt.subplots(1, 3, figsize=(13, 4.5), layout="constrained", sharex=True)
titles = ["all differences of the CPDAGs", "missing edges", "extra edges"]
for ax, counts, title in zip(axes, [distance, missing, extra], titles, strict=True):
    for shift, (name, colour) in zip([0.95, 0.98, 1.02, 1.05], criteria.items(), strict=True):
        mean = counts[name].mean(axis=0)
        error = counts[name].std(axis=0, ddof=1) / np.sqrt(n_networks)
        x = np.array(sizes) * shift
        ax.errorbar(x, mean, error, color=colour, marker="o", capsize=3, label=name)
    ax.set(title=title, xscale="log", xlabel="number of rows", ylim=(0, None))
    ax.set_xticks(sizes, sizes)
    ax.minorticks_off()
axes[0].set_ylabel("edges, mean over the networks")
axes[0].legend()
plt.show()

# %%
# To take home: for these networks AIC adds extra edges however many rows there are. Among
# the other three, up to 100 rows, EBIC adds the fewest edges and misses the most, BIC adds
# the most and misses the fewest, and BGe lies between the two.
