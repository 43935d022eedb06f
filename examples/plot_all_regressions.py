"""
All regressions of a table
==========================

Which measurements predict the progression of diabetes? Ten possible parents have 1,024
subsets, and each is a regression. ``LocalScoreTransformer`` solves them all, and all
regressions of the other columns too. NumPy's least squares, one subset at a time,
confirms the results.
"""

from itertools import combinations
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes

from skbn import LocalScoreTransformer

diabetes = load_diabetes(as_frame=True).frame
n, others = len(diabetes), list(diabetes.columns.drop("target"))

# %%
# These are the best sets of parents of ``target`` by BIC. ``difference`` is how much worse
# a set is than the first, in nats.

scores = LocalScoreTransformer().fit_transform(diabetes)
print(f"{scores.n_families:,} regressions, of {len(diabetes.columns)} children")
scores.top_parents("target", 5)

# %%
# This data frame has all 1,024 sets. The BIC is the log-likelihood minus log(n)/2 for each
# parameter (a coefficient for each parent, the intercept and the variance), and the
# log-likelihood is a function of the residual sum of squares.

top = pd.DataFrame(scores.top_parents("target", 2 ** len(others)))
top["size"] = top["parents"].map(len)
log_likelihood = top["score"] + (top["size"] + 2) * np.log(n) / 2
top["rss"] = n / (2 * np.pi) * np.exp(-2 * log_likelihood / n - 1)

# %%
# Now the same with ``np.linalg.lstsq``, subset by subset.

columns = {name: diabetes[name].to_numpy() for name in diabetes}
target = columns["target"]


def residual_sum_of_squares(parents):
    design = np.column_stack([np.ones(n), *(columns[name] for name in parents)])
    coefficients = np.linalg.lstsq(design, target)[0]
    return ((target - design @ coefficients) ** 2).sum()


expected = np.array([residual_sum_of_squares(parents) for parents in top["parents"]])
difference = np.abs(top["rss"] / expected - 1).max()
print(f"largest relative difference of {len(top):,} residual sums of squares: {difference:.1e}")

# %%
# The times vary from machine to machine and from run to run. (skbn compiles its kernels
# when they are first used. That happened above, so it is not counted here.)

start = perf_counter()
LocalScoreTransformer().fit_transform(diabetes).to_array()
seconds = perf_counter() - start
print(f"skbn: {scores.n_families:,} regressions in {seconds:.4f} s")

start = perf_counter()
for size in range(len(others) + 1):
    for parents in combinations(others, size):
        residual_sum_of_squares(parents)
seconds = perf_counter() - start
print(f"lstsq: {len(top):,} regressions in {seconds:.4f} s")

# %%
# Each dot is a subset. With more parents the residual sum of squares can only fall, but
# from some size on it falls by less than the penalty. So there is a best size, and a best
# subset.

best = top.loc[top.groupby("size")["score"].idxmax()]
print(best[["size", "score", "parents"]].to_string(index=False))

figure, ax = plt.subplots(figsize=(8, 5), layout="constrained")
ax.scatter(top["size"], top["score"], s=12, color="#999999", alpha=0.5, label="a subset")
ax.plot(best["size"], best["score"], marker="o", color="#0072B2", label="best of its size")
ax.plot(
    *top.loc[0, ["size", "score"]], marker="*", markersize=18, color="#D55E00", label="best of all"
)
ax.set(xlabel="number of parents", ylabel="local score of target (BIC), nats")
ax.legend(loc="lower right")
plt.show()

# %%
# To take home: once all subsets are scored, sorting finds the best one, and each score is
# that of the regression which least squares finds.
