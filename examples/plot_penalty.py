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

from skbn import GaussianBNLearner, GaussianBNLearnerCV, NetworkComparisonDisplay, PenaltyDisplay

wine = load_wine(as_frame=True).data
penalties = np.geomspace(0.25, 16, 7)
folds = KFold(10, shuffle=True, random_state=0)  # the wines are sorted by cultivar

learner = GaussianBNLearnerCV(penalties, cv=folds, rule="one-standard-error").fit(wine)

# %%
# The best mean is one choice. Its standard error says how far it is to be trusted, and
# the rule of one standard error takes the largest penalty that is no further below:
# a network of fewer edges, which predicts about as well.

results = learner.cv_results_
best = results["mean_test_score"].argmax()
chosen = np.flatnonzero(penalties == learner.penalty_)[0]
for rule, i in {"best mean": best, "one standard error": chosen}.items():
    score = f"{results['mean_test_score'][i]:.3f} ± {results['se_test_score'][i]:.3f} nats"
    n_edges = f"{results['mean_n_edges'][i]:.1f} edges on average"
    print(f"{rule:>18}: penalty {penalties[i]:5.2f}, {score}, {n_edges}")

PenaltyDisplay.from_estimator(learner)

# %%
# The networks of all wines with either penalty, as CPDAGs, in which edges that can be
# reversed without loss have no arrowhead: what does the larger penalty leave out?

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
# To take home: to the left of the best penalty twice the edges predict no better, and to
# its right some can be left out before the prediction is worse by a standard error.
