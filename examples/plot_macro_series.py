"""
What moves the economy?
=======================

Fifty years of quarterly figures of the United States, from statsmodels (``pip install
statsmodels``). Which of them respond to each other, within a quarter or later? `lagged` puts the
values of earlier quarters beside those of each, and the learner takes them as exogenous: they may
be causes, and are not modelled.
"""

# sphinx_gallery_thumbnail_number = 1

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from statsmodels.datasets import macrodata

from skbn import BootstrapBNLearner, GaussianBNLearner, GaussianBNPosterior, lagged

# %%
# Stationary columns
# ------------------
#
# Levels that grow depend on everything else that grows. So we take growth rates, in percent a
# year, and changes of what is a rate already. Standardised columns make weights comparable.

data = macrodata.load_pandas().data
quarters = pd.PeriodIndex.from_fields(
    year=data["year"].astype(int), quarter=data["quarter"].astype(int)
)
economy = pd.DataFrame(
    {
        "inflation": data["infl"].diff(),
        "interest": data["tbilrate"].diff(),
        "unemployment": data["unemp"].diff(),
        "consumption": 400 * np.log(data["realcons"]).diff(),
        "investment": 400 * np.log(data["realinv"]).diff(),
    }
).set_index(quarters)
economy = economy.dropna()
economy = (economy - economy.mean()) / economy.std()

axes = economy.plot(subplots=True, figsize=(8, 6), legend=False, color="#0072b2", linewidth=1)
for ax, name in zip(axes, economy, strict=True):
    ax.set_title(name, fontsize="medium", loc="left")
plt.tight_layout()

# %%
# How many quarters?
# ------------------
#
# Scores of different numbers of lags can be compared if they are of the same quarters: exogenous
# columns have no score.

for n_lags in range(1, 5):
    some = lagged(economy.iloc[4 - n_lags :], n_lags)
    learner = GaussianBNLearner(exogenous=some.exogenous).fit(some.table)
    print(f"{n_lags}: {learner.network_score_:.1f}")

# %%
# The second lag gains most. We take two, although further ones gain a little more.
#
# The network
# -----------
#
# Time goes from left to right; each column has a row. Edges that begin in the bands of the past
# are effects of earlier quarters.

series = lagged(economy, n_lags=2)
print(series)
learner = GaussianBNLearner(exogenous=series.exogenous).fit(series.table)
series.plot(learner, edge_label="weight")

# %%
# How sure is it?
# ---------------
#
# The posterior sums over all networks. It takes the quarters as independent, given the two before.

posterior = GaussianBNPosterior(exogenous=series.exogenous).fit(series.table)
series.plot(posterior, edge_label="probability", only=posterior.dag_.edges)

# %%
# The bootstrap takes blocks of six quarters, so that what neighbours have in common stays
# together: the cube root of 200 is nearly 6.

bootstrap = BootstrapBNLearner(learner, block_length=6, random_state=0).fit(series.table)
support = pd.DataFrame(bootstrap.edge_support_, series.table.columns, series.table.columns)
probability = pd.DataFrame(posterior.edge_probabilities_, support.index, support.columns)
pairs = [
    (cause, effect)
    for effect in series.columns
    for cause in series.table
    if probability.loc[cause, effect] > 0.5
]
for cause, effect in pairs:
    both = probability.loc[cause, effect], support.loc[cause, effect]
    print(f"{both[0]:.2f}  {both[1]:.2f}  {cause} -> {effect}")

# %%
# Effects over two years
# ----------------------
#
# A shock goes on through the quarters that follow. The responses follow from the weights, and so
# from directions that the table leaves open: half of the probability has unemployment act on the
# interest rate within a quarter.

edges = learner.network_.to_frame().pivot(index="child", columns="parent", values="weight")
weights = edges.reindex(index=series.columns, columns=series.table.columns).fillna(0.0)
within, *past = np.split(weights.to_numpy(), series.n_lags + 1, axis=1)
whole = np.linalg.inv(np.eye(len(within)) - within)
responses = [whole]
for h in range(1, 9):
    before = [lag @ responses[h - k] for k, lag in enumerate(past, start=1) if k <= h]
    responses.append(whole @ sum(before))
shock = series.columns.index("unemployment")
figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
ax.plot(np.array(responses)[:, :, shock], label=series.columns)
ax.axhline(0, color="#8c8c8c", linewidth=1)
ax.set(xlabel="quarters after a shock to unemployment", ylabel="response, in standard deviations")
ax.legend()

# %%
# What is left?
# -------------
#
# If the lags are enough, nothing of a column's past is left in its residuals.

residuals = series.table[series.columns] - series.table @ weights.T
for name, values in residuals.items():
    print(f"{name:14} correlation with the quarter before: {values.autocorr(1):5.2f}")
plt.show()
