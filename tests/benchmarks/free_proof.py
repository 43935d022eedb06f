"""How long proofs without a limit on parents take: random tables, and tables of a file.

For each table: columns, rows, the penalty of a parent in nats, whether the network is proven, the
gap, the most parents of a column, seconds, and by how much the network beats the best one of at
most `--max-parents` parents, if that is given.

    python tests/benchmarks/free_proof.py 40-2-500 --criterion ebic --seeds 0 1 2 3 4 --limit 300
    python tests/benchmarks/free_proof.py 11hfinder.csv --edge 6

A table is a number of columns, a mean degree and a number of rows, or a file of comma-separated
numbers without a header, such as those of https://github.com/AtomXT/MICP-NID. `--edge 6` is their
penalty: 6 times the logarithm of the number of columns for each edge.
"""

import argparse
import math
import time
import warnings

import numpy as np

from skbn import GaussianBNLearner
from skbn.datasets import make_gaussian_network


def tables(name, seeds):
    if name.endswith(".csv"):
        yield name, np.loadtxt(name, delimiter=",")
        return
    m, degree, n = name.split("-")
    for seed in seeds:
        settings = {"mean_degree": float(degree), "n_samples": int(n), "random_state": seed}
        yield f"{name}/{seed}", make_gaussian_network(int(m), **settings)[0]


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
    for name, X in tables(of_kind, given.seeds):
        n, m = X.shape
        settings = {"criterion": given.criterion, "time_limit": given.limit, "random_state": 0}
        if given.edge is not None:
            settings |= {"criterion": "bic", "penalty": 2 * given.edge * math.log(m) / math.log(n)}
        settings |= {"n_jobs": given.jobs}
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
