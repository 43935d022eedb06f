"""How long proofs without a limit on parents take: random tables, and tables of a file.

For each table: columns, rows, the penalty of a parent in nats, whether the network is proven, the
gap, the most parents of a column, seconds, and by how much the network beats the best one of at
most `--max-parents` parents, if that is given.

    python tests/benchmarks/free_proof.py 40-2-500 --criterion ebic --seeds 0 1 2 3 4 --limit 300
    python tests/benchmarks/free_proof.py 11hfinder.csv --edge 6

    python tests/benchmarks/free_proof.py lagged-80-1000

A table is a number of columns, a mean degree and a number of rows; or "lagged", a number of series
and of times, whose values one step before are exogenous columns; or a file of comma-separated
numbers without a header, such as those of https://github.com/AtomXT/MICP-NID. `--edge 6` is their
penalty: 6 times the logarithm of the number of columns for each edge.
"""

import argparse
import math
import time
import warnings

import numpy as np
import pandas as pd

from skbn import GaussianBNLearner, lagged
from skbn.datasets import make_gaussian_network


def tables(name, seeds):
    if name.endswith(".csv"):
        yield name, np.loadtxt(name, delimiter=","), []
        return
    m, degree, n = name.split("-")
    for seed in seeds:
        if m == "lagged":
            series = lagged(simulated_series(int(degree), int(n), np.random.default_rng(seed)), 1)
            yield f"{name}/{seed}", series.table, series.exogenous
            continue
        settings = {"mean_degree": float(degree), "n_samples": int(n), "random_state": seed}
        yield f"{name}/{seed}", make_gaussian_network(int(m), **settings)[0], []


def simulated_series(m, n_times, rng):
    """Return series, each with 1.5 causes on average at the same time and one step before."""
    before = np.where(rng.random((m, m)) < 1.5 / m, rng.uniform(0.2, 0.4, (m, m)), 0)
    np.fill_diagonal(before, 0.4)
    before /= max(1, 1.05 * np.abs(np.linalg.eigvals(before)).max())
    same = np.where(rng.random((m, m)) < 1.5 / m, rng.uniform(0.3, 0.7, (m, m)), 0)
    total = np.linalg.inv(np.eye(m) - np.triu(same, 1).T)
    before /= max(1, np.abs(np.linalg.eigvals(total @ before.T)).max() / 0.85)
    x = np.zeros((n_times, m))
    for t in range(1, n_times):
        x[t] = total @ (before.T @ x[t - 1] + rng.normal(size=m))
    return pd.DataFrame(x).add_prefix("s")


parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
parser.add_argument("tables", nargs="+")
parser.add_argument("--criterion", default="ebic")
parser.add_argument("--edge", type=float, help="nats of an edge, over the logarithm of the columns")
parser.add_argument("--seeds", type=int, nargs="+", default=[0])
parser.add_argument("--limit", type=float, default=300.0)
parser.add_argument("--jobs", type=int, default=2)
parser.add_argument("--max-parents", type=int)
given = parser.parse_args()

warnings.simplefilter("ignore")
print("table              columns  rows  proven       gap  parents  seconds  gain")
for of_kind in given.tables:
    for name, X, outside in tables(of_kind, given.seeds):
        n, m = X.shape
        settings = {"criterion": given.criterion, "time_limit": given.limit, "random_state": 0}
        if given.edge is not None:
            settings |= {"criterion": "bic", "penalty": 2 * given.edge * math.log(m) / math.log(n)}
        settings |= {"n_jobs": given.jobs, "exogenous": outside}
        if m <= 36:
            settings |= {"max_memory": "600MB"}  # from 27 on, too little for the dynamic program
        start = time.perf_counter()
        learner = GaussianBNLearner(**settings).fit(X)
        seconds = time.perf_counter() - start
        gain = ""
        if given.max_parents:
            limited = GaussianBNLearner(**settings, max_parents=given.max_parents).fit(X)
            gain = f"{learner.network_score_ - limited.network_score_:.1f}"
        most = max(degree for _, degree in learner.dag_.in_degree())
        print(
            f"{name[-18:]:18} {m:7} {n:5}  {'yes' if learner.is_optimal_ else 'no':>6} "
            f"{learner.optimality_gap_:9.3g} {most:8} {seconds:8.1f}  {gain}",
            flush=True,
        )
