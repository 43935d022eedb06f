"""
Seeing and doing
================

Sicker patients get more of a drug, and the drug helps. Patients who happen to get a high
dose recover poorly; but if you give a high dose to a patient, the patient recovers better.
``condition`` predicts recovery when a high dose is seen, and ``do`` predicts it when a high
dose is given. The answer of ``do`` is right only if the edges point from causes to effects.
"""

from itertools import combinations, permutations

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

from skbn import GaussianBayesianNetwork, GaussianBNLearner

# %%
# We make up the truth: severity raises the dose and lowers the recovery, and the dose raises
# the recovery. Each column has the mean zero.

dag = nx.DiGraph()
dag.add_nodes_from(["dose", "recovery", "severity"], intercept=0.0, noise_variance=0.25)
dag.nodes["severity"]["noise_variance"] = 1.0
dag.add_edge("severity", "dose", weight=1.0)
dag.add_edge("severity", "recovery", weight=-2.0)
dag.add_edge("dose", "recovery", weight=1.0)
truth = GaussianBayesianNetwork(dag)


def recovery_where_seen(network):
    return network.condition({"dose": 1.0})["recovery"]


def recovery_where_given(network):
    return network.do({"dose": 1.0})["recovery"]


print("the truth, mean and standard deviation of the recovery")
print("a dose of 1 is seen:  {:.2f} ± {:.2f}".format(*recovery_where_seen(truth)))
print("a dose of 1 is given: {:.2f} ± {:.2f}".format(*recovery_where_given(truth)))

# %%
# From 2,000 patients the learner finds that all three columns depend on each other. The
# CPDAG leaves every edge undirected, because the data do not determine any direction.

patients = truth.set_output(transform="pandas").sample(2000, random_state=0)
learner = GaussianBNLearner().fit(patients)
print("learned:", ", ".join(f"{a} -> {b}" for a, b in learner.dag_.edges))
for a, b, undirected in learner.network_.cpdag().edges(data="undirected"):
    print(f"{a} - {b}, undirected: {undirected}")

# %%
# The six orders of the columns give six networks. They fit equally well and agree on what is
# seen, but they disagree on what the dose does.

for order in permutations(patients.columns):
    network = GaussianBayesianNetwork(nx.DiGraph(combinations(order, 2))).fit(patients)
    seen, given = recovery_where_seen(network).mean, recovery_where_given(network).mean
    fit = f"log-likelihood {network.score(patients):.4f}"
    print(f"{' -> '.join(order):32} {fit}, seen {seen:5.2f}, given {given:5.2f}")

# %%
# Prior knowledge decides: severity came before the dose, and the dose before the recovery.

tiers = [["severity"], ["dose"], ["recovery"]]
in_order = GaussianBNLearner(tiers=tiers).fit(patients)
print("in order:", ", ".join(f"{a} -> {b}" for a, b in in_order.dag_.edges))
print(f"BIC {learner.network_score_:.4f} nats, in order {in_order.network_score_:.4f} nats")

# %%
# These are the densities of the recovery at a dose of 1. Without the tiers, ``do`` gives the
# same answer as seeing the dose.

x = np.linspace(-6, 8, 400)
figure, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
for (mean, deviation), style, label in [
    (
        recovery_where_given(truth),
        {"color": "#000000", "linewidth": 5, "alpha": 0.3},
        "given, truth",
    ),
    (recovery_where_given(in_order.network_), {"color": "#0072B2"}, "given, learned with tiers"),
    (recovery_where_given(learner.network_), {"color": "#D55E00"}, "given, learned without"),
    (
        recovery_where_seen(learner.network_),
        {"color": "#000000", "linestyle": ":"},
        "seen, learned",
    ),
]:
    density = np.exp(-(((x - mean) / deviation) ** 2) / 2) / (deviation * np.sqrt(2 * np.pi))
    ax.plot(x, density, label=label, **style)
ax.set(xlabel="recovery at a dose of 1", ylabel="density", ylim=(0, None))
ax.legend()
plt.show()

# %%
# To take home: the six networks agree on everything that is seen. Only the one whose edges
# lead from causes to effects says what the dose does, and the data do not say which one that
# is.
