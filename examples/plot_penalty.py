"""
Choosing the penalty
====================

The larger the penalty on parameters, the fewer edges a network has. Cross-validation
shows which edges pay off: for each penalty it learns the best network from nine tenths
of the wines, and scores it on the last tenth.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV, KFold

from skbn import GaussianBNLearner, GaussianBNLearnerCV, NetworkComparisonDisplay

wine = load_wine(as_frame=True).data
penalties = np.geomspace(0.25, 16, 7)
folds = KFold(10, shuffle=True, random_state=0)  # the wines are sorted by cultivar

learner = GaussianBNLearnerCV(penalties, cv=folds, rule="one-standard-error").fit(wine)

# %%
# The best mean is one choice. Its standard error says how far to trust it. The rule of one
# standard error takes the largest penalty whose mean is at most one standard error below
# the best. Its network has fewer edges and predicts about as well.

results = learner.cv_results_
best = results["mean_test_score"].argmax()
chosen = np.flatnonzero(penalties == learner.penalty_)[0]
for rule, i in {"best mean": best, "one standard error": chosen}.items():
    score = f"{results['mean_test_score'][i]:.3f} ± {results['se_test_score'][i]:.3f} nats"
    n_edges = f"{results['mean_n_edges'][i]:.1f} edges on average"
    print(f"{rule:>18}: penalty {penalties[i]:5.2f}, {score}, {n_edges}")

figure, ax = plt.subplots()
ax.errorbar(penalties, results["mean_test_score"], results["se_test_score"], marker="o", capsize=3)
ax.axvline(learner.penalty_, color="gold", linewidth=4, zorder=0)
ax.set(xscale="log", xlabel="penalty", ylabel="mean log-likelihood of a held-out row, nats")

# %%
# What does the larger penalty leave out? Here are the networks of all wines with either
# penalty, as CPDAGs, in which edges that can be reversed without loss have no arrowhead.

dense = GaussianBNLearner(penalty=penalties[best]).fit(wine)
NetworkComparisonDisplay.from_networks(
    dense.network_.cpdag(),
    learner.network_.cpdag(),
    titles=[
        f"penalty {penalties[best]:.2f}: {dense.dag_.number_of_edges()} edges",
        f"penalty {learner.penalty_:.2f}: {learner.dag_.number_of_edges()} edges",
    ],
)

# %%
# A grid search finds the best mean too, one search at a time.

search = GridSearchCV(GaussianBNLearner(), {"penalty": penalties}, cv=folds).fit(wine)
print(f"GridSearchCV chooses {search.best_params_['penalty']:.2f}")
plt.show()

# %%
# To take home: with smaller penalties than the best, twice as many edges predict no better.
# With larger ones, some edges can be left out before the prediction is worse by a standard
# error.
