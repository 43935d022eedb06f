"""
Sensors that stick or drift
===========================

``anomalies`` names values that do not follow the network. It sees no small drift, and no
likely value that sticks. Daily means of residuals show drifts, and differences of 0 show
what sticks.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from skbn import GaussianBNLearner

# %%
# The first 800 hours of this plant are known to be good. Later the flow sticks for half a day,
# and the heat drifts, to twice its noise.

rng = np.random.default_rng(0)
load = rng.normal(70, 10, 1200)
flow = 0.4 * load + rng.normal(0, 2, 1200)
heat = 0.8 * load + 1.5 * flow + rng.normal(0, 3, 1200)
hours = pd.date_range("2026-01-01", periods=1200, freq="h")
plant = pd.DataFrame({"load": load, "flow": flow, "heat": heat}, index=hours)
good, watched = plant[:800], plant[800:].copy()
watched.iloc[100:112, 1] = watched.iloc[100, 1]
watched.iloc[200:, 2] += np.linspace(0, 6, 200)

# %%
# The network of the good hours says what is expected. Where nothing changed, the mean
# residual of a day is standard normal.

network = GaussianBNLearner().fit(good).network_
residuals = network.residuals(watched) / network.residuals(good).std()
days = residuals.resample("D").mean() * np.sqrt(24)
print(days[days.abs() > 4].dropna(how="all").round(1))

is_stuck = watched.diff().eq(0).rolling(6).sum() == 6
print(is_stuck.idxmax()[is_stuck.any()].to_string())

# %%
# A drift shows in the residuals of the sensor's children, too: look at parents first. If rows
# depend on earlier rows, take the residuals of a table of ``lagged``.

figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
for name, color in {"load": "#999999", "flow": "#0072B2", "heat": "#D55E00"}.items():
    ax.plot(days.index, days[name], label=name, color=color)
ax.axhline(4, color="black", linestyle=":")
ax.set(ylabel="mean residual of a day, standardised")
ax.tick_params(axis="x", rotation=30)
ax.legend()
plt.show()
