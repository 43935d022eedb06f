"""How often later values are in intervals of forecasts, by what the networks come from.

Each table has three columns that act on themselves and each other at lag 1, and two of them within
a step. Intervals of 95 % are compared with the 8 steps that follow.
"""

import argparse
import warnings

import numpy as np
import pandas as pd

from skbn import BootstrapBNLearner, GaussianBNLearner, GaussianBNPosterior, lagged

STEPS = 8


def series(n, rng):
    x = np.zeros((n + 50, 3))
    for t in range(1, len(x)):
        a, b, c = rng.normal(size=3)
        a += 0.6 * x[t - 1, 0]
        b += 0.4 * x[t - 1, 1] + 0.5 * a
        c += 0.5 * x[t - 1, 2] + 0.4 * x[t - 1, 1]
        x[t] = a, b, c
    return pd.DataFrame(x[50:], columns=[*"abc"])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=300)
    parser.add_argument("--rows", type=int, nargs="+", default=[20, 40, 100])
    parser.add_argument("--samples", type=int, default=200, help="networks drawn, and resamples")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"shares in 95 % intervals, {arguments.tables} tables")
    steps = " ".join(f"step {step}" for step in range(1, STEPS + 1))
    print(f"{'rows':>4} {'networks':<12} {'all':>6} {steps}")
    for n in arguments.rows:
        inside = {}
        for seed in range(arguments.tables):
            whole = series(n + 1 + STEPS, np.random.default_rng([n, seed]))
            past, future = lagged(whole[: n + 1]), whole[n + 1 :].to_numpy()
            learner = GaussianBNLearner(exogenous=past.exogenous).fit(past.table)
            bootstrap = BootstrapBNLearner(learner, n_resamples=arguments.samples, random_state=0)
            sources = {
                "learner": learner,
                "posterior": GaussianBNPosterior(exogenous=past.exogenous).fit(past.table),
                "bootstrap": bootstrap.fit(past.table),
                "near-optimal": learner.near_optimal(within=5),
            }
            for name, source in sources.items():
                forecast = past.forecast(
                    source, STEPS, 0.95, n_samples=arguments.samples, random_state=0
                )
                low, high = (end.to_numpy() for end in forecast.interval())
                inside.setdefault(name, []).append((low <= future) & (future <= high))
        for name, each in inside.items():
            shares = "  ".join(f"{share:.3f}" for share in np.mean(each, axis=(0, 2)))
            print(f"{n:4} {name:<12} {np.mean(each):6.3f}  {shares}", flush=True)


if __name__ == "__main__":
    main()
