"""How long the exact search takes beyond memory: in windows, and with the best scores in a folder.

    python tests/benchmarks/beyond_memory.py breast-cancer-32 --max-memory 14e9 --scratch /tmp
    python tests/benchmarks/beyond_memory.py random-31 --scratch /tmp
    python tests/benchmarks/beyond_memory.py random-24 --max-memory 1.2e8 --scratch /tmp --compare

``random-31`` is a table of 1,000 rows of a random network of 31 columns with a mean degree of 2.
``breast-cancer-32`` are 569 rows of scikit-learn's data: 30 measurements, the target, and a column
made of two of these and noise; ``breast-cancer-31`` lacks the last one. ``--compare`` searches in
memory too, and compares the networks.

It prints the plan and the progress, then the time, the peak memory of the process (pages of the
file in the system's cache are not counted), the score and the gain over the order search, whose
network it begins with. `fit` certifies the network, or raises.
"""

from __future__ import annotations

import argparse
import platform
import time

import numpy as np
from compare import peak_megabytes
from sklearn.datasets import load_breast_cancer

from skbn import GaussianBNLearner
from skbn.datasets import make_gaussian_network


def table(name):
    kind, m = name.rsplit("-", 1)
    m = int(m)
    if kind == "random":
        return make_gaussian_network(m, mean_degree=2, n_samples=1000, random_state=0)[0]
    data = load_breast_cancer()
    rows = np.column_stack([data.data, data.target])
    made = rows[:, 0] / rows[:, 0].std() + rows[:, 1] / rows[:, 1].std()
    noise = np.random.default_rng(0).normal(size=len(rows))
    return np.column_stack([rows, made + noise])[:, :m]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", help="random-31, breast-cancer-32, ...")
    parser.add_argument("--max-memory", type=float)
    parser.add_argument("--scratch")
    parser.add_argument("--n-jobs", type=int, default=-1)
    parser.add_argument("--compare", action="store_true")
    arguments = parser.parse_args()
    print(f"Python {platform.python_version()}, {platform.machine()}, {time.strftime('%Y-%m-%d')}")
    rows = table(arguments.table)
    begin = time.perf_counter()
    by_orders = GaussianBNLearner(search="order", random_state=0).fit(rows)
    print(f"order search: {by_orders.network_score_:.4f} in {time.perf_counter() - begin:.1f} s")
    limits = {"max_memory": arguments.max_memory, "scratch": arguments.scratch}
    GaussianBNLearner().fit(rows[:, :15])  # compiles
    learner, seconds = timed(rows, arguments.n_jobs, **limits)
    print(f"{seconds:.1f} s, {peak_megabytes():.0f} MB at most, {learner.network_score_:.6f} nats")
    print(f"{learner.network_score_ - by_orders.network_score_:.6f} more than the order search's")
    print(f"{learner.dag_.number_of_edges()} edges: {list(learner.dag_.edges)}")
    if arguments.compare:
        in_memory, seconds = timed(rows, arguments.n_jobs)
        same = list(in_memory.dag_.edges) == list(learner.dag_.edges)
        print(f"{seconds:.1f} s in memory; the same network: {same}")


def timed(rows, n_jobs, **limits):
    begin = time.perf_counter()
    learner = GaussianBNLearner(n_jobs=n_jobs, verbose=True, **limits).fit(rows)
    return learner, time.perf_counter() - begin


if __name__ == "__main__":
    main()
