"""Time skbn and other libraries, and score the networks that they find.

Run with ``pip install -e .[compare]`` and ``python tests/benchmarks/compare.py 8 10 12``. The
arguments are the numbers of columns of random sparse networks with 500 rows. Each run has
its own process; the methods take turns in several rounds. The table has the median, least and
largest time of the search alone, without imports and compilation, the peak memory of the
process, and how many nats the BIC of the network is below the optimum. Libraries that are
not installed are left out, and a method that takes longer than the limit is not tried on more
columns.

`floor` is the time that the dynamic program's maxima and sums would take at the rate of
``np.maximum(a, b, out=a)`` on 4,096 numbers, measured in each round. `brute force` computes
only the scores, with NumPy: the log-determinant of every subset's covariance.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import platform
import resource
import statistics
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from time_fit import floor_seconds

ROWS = 500


def table(m):
    """Draw rows of a random sparse network, without skbn, whose memory would count for others."""
    rng = np.random.default_rng(m)
    rows = np.zeros((ROWS, m))
    for j in range(m):
        rows[:, j] = rng.normal(size=ROWS)
        for i in range(j):
            if rng.random() < 3 / m:
                rows[:, j] += rng.choice([-1, 1]) * rng.uniform(0.3, 1.2) * rows[:, i]
    return rows[:, rng.permutation(m)]


def skbn(n_jobs):
    from skbn import GaussianBNLearner

    GaussianBNLearner(n_jobs=n_jobs).fit(table(8))  # compiles the kernels
    return lambda rows: GaussianBNLearner(n_jobs=n_jobs).fit(rows).dag_.edges


def causal_learn(search_method):
    from causallearn.search.ScoreBased.ExactSearch import bic_exact_search

    def search(rows):
        scaled = (rows - rows.mean(axis=0)) / rows.std(axis=0)
        adjacency, _ = bic_exact_search(scaled, search_method=search_method)
        return np.argwhere(adjacency)

    return search


def pgmpy(search):
    import pandas as pd
    from pgmpy import causal_discovery

    def run(rows):
        options = {"show_progress": False} if search == "HillClimbSearch" else {}
        method = getattr(causal_discovery, search)
        names = [f"x{j}" for j in range(rows.shape[1])]
        found = method(scoring_method="bic-g", return_type="dag", **options)
        edges = found.fit(pd.DataFrame(rows, columns=names)).causal_graph_.edges()
        return [(int(a[1:]), int(b[1:])) for a, b in edges]

    return run


def brute_force(rows):
    covariance = np.cov(rows.T)
    m = len(covariance)
    log_det = np.zeros(1 << m)
    for subset in range(1, 1 << m):
        columns = [v for v in range(m) if subset >> v & 1]
        log_det[subset] = np.linalg.slogdet(covariance[np.ix_(columns, columns)])[1]


METHODS = {
    "skbn": (None, lambda: skbn(1)),
    "skbn, n_jobs=2": (None, lambda: skbn(2)),
    "floor": (None, None),
    "brute force, the scores alone": (None, lambda: brute_force),
    "causal-learn, exact, dp": ("causallearn", lambda: causal_learn("dp")),
    "causal-learn, exact, A*": ("causallearn", lambda: causal_learn("astar")),
    "pgmpy, hill climbing": ("pgmpy", lambda: pgmpy("HillClimbSearch")),
    "pgmpy, GES": ("pgmpy", lambda: pgmpy("GES")),
}


def run_one(method, m):
    """Run a method once, and print the result as JSON."""
    warnings.simplefilter("ignore")
    if method == "floor":
        print(json.dumps({"seconds": floor_seconds(m)}))
        return
    search = METHODS[method][1]()
    rows = table(m)
    start = time.perf_counter()
    edges = search(rows)
    seconds = time.perf_counter() - start
    megabytes = peak_megabytes()
    found = None if edges is None else [(int(a), int(b)) for a, b in edges]
    print(json.dumps({"seconds": seconds, "megabytes": megabytes, "edges": found}))


def peak_megabytes():
    status = Path("/proc/self/status")
    if status.exists():  # on Linux ru_maxrss includes the process that started this one
        peak = next(
            line for line in status.read_text(encoding="utf-8").splitlines() if "VmHWM" in line
        )
        return int(peak.split()[1]) / 1000
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def network_score(m, edges):
    import networkx as nx

    from skbn import LocalScoreTransformer

    dag = nx.DiGraph()
    dag.add_nodes_from(range(m))
    dag.add_edges_from(map(tuple, edges))
    return LocalScoreTransformer().fit_transform(table(m)).network_score(dag)


def rounds(m, methods, n_rounds, limit):
    """Return each method's results of all rounds; None if it exceeds the limit."""
    results = {method: [] for method in methods}
    for _ in range(n_rounds):
        for method in methods:
            if results[method] is None:
                continue
            command = [sys.executable, __file__, str(m), "--one", method]
            try:
                done = subprocess.run(command, capture_output=True, timeout=limit, check=True)
            except subprocess.TimeoutExpired:
                results[method] = None
            else:
                results[method].append(json.loads(done.stdout.splitlines()[-1]))
    return results


def print_rows(m, results, limit):
    optimum = network_score(m, results["skbn"][0]["edges"])
    for method, runs in results.items():
        if runs is None:
            print(f"| {m} | {method} | more than {limit} | | | |", flush=True)
            continue
        seconds = [run["seconds"] for run in runs]
        spread = f"{min(seconds):.3g} to {max(seconds):.3g}"
        memory = f"{max(run['megabytes'] for run in runs):.0f}" if "megabytes" in runs[0] else ""
        gap = ""
        if runs[0].get("edges") is not None:
            gap = f"{max(0.0, optimum - network_score(m, runs[0]['edges'])):.3f}"
        print(
            f"| {m} | {method} | {statistics.median(seconds):.3g} | {spread} | {memory} | {gap} |",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("columns", type=int, nargs="+")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=int, default=60, help="seconds")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        run_one(arguments.one, arguments.columns[0])
        return
    methods = [
        name
        for name, (package, _) in METHODS.items()
        if package is None or importlib.util.find_spec(package)
    ]
    print(
        f"Python {platform.python_version()}, {platform.machine()}, {time.strftime('%Y-%m-%d')}\n"
    )
    print("| columns | method | seconds | least to largest | peak MB | nats below the optimum |")
    print("| ---: | --- | ---: | ---: | ---: | ---: |")
    for m in sorted(arguments.columns):
        results = rounds(m, methods, arguments.rounds, arguments.limit)
        print_rows(m, results, arguments.limit)
        methods = [method for method in methods if results[method] is not None]


if __name__ == "__main__":
    main()
