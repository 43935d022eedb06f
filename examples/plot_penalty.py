"""
Choosing the penalty
====================

The larger the penalty on parameters, the fewer edges a network has. Cross-validation
shows what edges are worth: for each penalty, the best network of nine tenths of the
wines is held against the last tenth.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skbn import GaussianBNLearner, GaussianBNLearnerCV, NetworkDisplay

wine = load_wine(as_frame=True).data
penalties = np.geomspace(0.25, 16, 13)
folds = KFold(10, shuffle=True, random_state=0)

scaler = StandardScaler().set_output(transform="pandas")
pipeline = make_pipeline(
    scaler, GaussianBNLearnerCV(penalties, cv=folds, rule="one-standard-error")
).fit(wine)
learner = pipeline[-1]

# %%
# The best mean is one choice. Its standard error says how far it is to be trusted, and
# the rule of one standard error takes the largest penalty that is no further below:
# a network of fewer edges, which predicts about as well.

results = learner.cv_results_
means, errors = results["mean_test_score"], results["se_test_score"]
best, sparse = means.argmax(), np.flatnonzero(penalties == learner.penalty_)[0]
choices = {"best": (best, "#009E73"), "one standard error": (sparse, "#CC79A7")}

figure, (curve, picture) = plt.subplots(
    1, 2, figsize=(16, 7), width_ratios=[2, 3], layout="constrained"
)
for rule, (i, colour) in choices.items():
    n_edges = f"{results['mean_n_edges'][i]:.1f} edges on average"
    print(f"{rule}: penalty {penalties[i]:.2f}, {means[i]:.3f} nats, {n_edges}")
    curve.axvline(penalties[i], color=colour, linewidth=4, zorder=0, label=f"{rule}: {n_edges}")
curve.errorbar(penalties, means, errors, color="#444444", marker="o", capsize=3)
curve.axhline(means[best] - errors[best], color="#444444", linestyle=":")
curve.set(xscale="log", xlabel="penalty", ylabel="mean log-likelihood of a held-out wine, nats")
curve.set_xticks([0.25, 1, 4, 16], ["0.25", "1", "4", "16"])
curve.legend()

NetworkDisplay.from_estimator(learner, ax=picture)
picture.set_title(f"penalty {learner.penalty_:.3g}: {learner.dag_.number_of_edges()} edges")
figure.savefig("penalty.png", dpi=150)
print("picture written to penalty.png")

# %%
# A grid search finds the best mean too, one search at a time.

search = GridSearchCV(
    make_pipeline(scaler, GaussianBNLearner()), {"gaussianbnlearner__penalty": penalties}, cv=folds
).fit(wine)
print(f"GridSearchCV chooses {search.best_params_['gaussianbnlearner__penalty']:.2f}")
