"""Compare the order search with other searches that prove nothing, on the same tables.

    pip install -e .[compare] flopsearch
    python tests/benchmarks/compare_order_searches.py 50-4-1000 100-4-1000-2 --limit 600

``50-4-1000`` is a table of 1,000 rows of a random network of 50 columns with a mean degree of 4;
``100-4-1000-2`` is drawn with the seed 2 in place of 0. ``wine``, ``diabetes``, ``cancer`` and
``digits`` are scikit-learn's tables.

Each program has its own process with one thread. The output has the nats by which the BIC of the
network found is below the best BIC on that table, the processor seconds of the search without
imports and compilation, the peak memory of the process, and the number of edges. `truth` is the
network that the rows were drawn from. Programs that are not installed are skipped with a line; so
are networks that are not found within the limit.

All programs are given the BIC, up to terms that are the same for all networks; by default, some
have higher penalties. Least squares score the networks again here. A CPDAG is scored by one of its
members.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
import numpy as np  # BLAS reads the number of threads when it is loaded
from compare import peak_megabytes

sys.path.insert(0, str(Path(__file__).parents[1]))
import reference

SKBN = "skbn, order"
DIRECTED, UNDIRECTED = 1, 2
REAL = {"wine": "load_wine", "diabetes": "load_diabetes", "cancer": "load_breast_cancer"}


def random_table(name):
    """Return the rows, and which edges the network has that they were drawn from."""
    from skbn.datasets import make_gaussian_network

    m, degree, n, seed = (*map(int, name.split("-")), 0)[:4]
    rng = np.random.default_rng([m, 10 * degree, n, seed])
    network = make_gaussian_network(m, mean_degree=degree, random_state=rng)
    rows = rng.standard_normal((n, m)) @ np.linalg.cholesky(network.covariance_).T
    return rows, np.where(network.coef_ != 0, DIRECTED, 0)


def real_table(name):
    from sklearn import datasets

    if name == "digits":
        rows = datasets.load_digits().data
        return rows[:, rows.std(axis=0) > 1]  # others are 0 in nearly all pictures
    return getattr(datasets, REAL[name])().data


def edge_matrix(m, edges):
    matrix = np.zeros((m, m), dtype=int)
    for a, b in edges:
        matrix[a, b] = DIRECTED
    return matrix


def skbn(time_limit):
    from skbn import GaussianBNLearner

    options = {"search": "order", "random_state": 0, "n_jobs": 1}
    rows, _ = random_table("40-4-200")
    GaussianBNLearner(time_limit=1, **options).fit(rows)  # compiles the kernels, or loads them
    learner = GaussianBNLearner(time_limit=time_limit, **options)
    return lambda rows: edge_matrix(rows.shape[1], learner.fit(rows).dag_.edges)


def causal_learn(module, function, **options):
    # The BIC has the penalty 0.5, the default of GES; that of BOSS and GRaSP is four times as high.
    options |= {"parameters": {"lambda_value": 0.5}}
    function = getattr(importlib.import_module(f"causallearn.search.{module}"), function)

    def search(rows):
        found = function(rows, "local_score_BIC_from_cov", **options)
        graph = found["G"] if isinstance(found, dict) else found
        is_tail = graph.graph == -1  # at the first of two columns; an arrow is 1
        return np.where(is_tail & is_tail.T, UNDIRECTED, np.where(is_tail, DIRECTED, 0))

    return search


def flopsearch(restarts):
    from flopsearch import flop

    # The BIC has the penalty 1; flopsearch recommends 2. Its random numbers cannot be seeded, and
    # with a timeout in place of restarts, version 0.3.0 does not return.
    return lambda rows: flop(rows, 1.0, restarts=restarts).astype(int)


def pgmpy(search):
    import pandas as pd
    from pgmpy import causal_discovery

    options = {"show_progress": False} if search == "HillClimbSearch" else {}
    method = getattr(causal_discovery, search)(scoring_method="bic-g", return_type="dag", **options)

    def run(rows):
        m = rows.shape[1]
        found = method.fit(pd.DataFrame(rows, columns=[f"x{j}" for j in range(m)])).causal_graph_
        return edge_matrix(m, [(int(a[1:]), int(b[1:])) for a, b in found.edges()])

    return run


PROGRAMS = {  # the package needed, and how to get the search
    SKBN: (None, lambda limit: skbn(limit)),
    "flopsearch": ("flopsearch", lambda _: flopsearch(0)),
    "flopsearch, 20 restarts": ("flopsearch", lambda _: flopsearch(20)),
    "flopsearch, 100 restarts": ("flopsearch", lambda _: flopsearch(100)),
    "BOSS": ("causallearn", lambda _: causal_learn("PermutationBased.BOSS", "boss", verbose=False)),
    "GRaSP": (
        "causallearn",
        lambda _: causal_learn("PermutationBased.GRaSP", "grasp", verbose=False),
    ),
    "GES": ("causallearn", lambda _: causal_learn("ScoreBased.GES", "ges")),
    "pgmpy, hill climbing": ("pgmpy", lambda _: pgmpy("HillClimbSearch")),
    "pgmpy, GES": ("pgmpy", lambda _: pgmpy("GES")),
}


def run_one(program, time_limit, folder):
    """Run a program on the rows in the folder, save its network there, and print what it took."""
    warnings.simplefilter("ignore")
    search = PROGRAMS[program][1](time_limit)
    rows = np.load(folder / "rows.npy")
    rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    random.seed(0)  # BOSS and GRaSP draw from the global generator
    start = time.process_time()
    found = search(rows)
    seconds = time.process_time() - start
    np.save(folder / "found.npy", found)
    print(json.dumps({"seconds": seconds, "megabytes": peak_megabytes()}))


def bic_of_a_member(rows, pattern):
    """Return the BIC of a network with these edges; None if no network has just these colliders."""
    from skbn._core.subsets import members_of
    from skbn._networks.equivalence import consistent_extension

    def masks(edges):
        return [sum(1 << int(x) for x in np.flatnonzero(column)) for column in edges.T]

    parents = consistent_extension(masks(pattern | pattern.T), masks(pattern == DIRECTED))
    if parents is None:
        return None
    families = [rows[:, [x, *members_of(mask)]] for x, mask in enumerate(parents)]
    return sum(reference.local_score(family, 0, range(1, family.shape[1])) for family in families)


def result_of(program, rows, limit, time_limit):
    """Return what a program took and found, or why it found nothing."""
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder, "rows.npy"), rows)
        command = [sys.executable, __file__, "--one", program, "--folder", folder]
        if time_limit is not None:
            command += ["--time-limit", str(time_limit)]
        try:
            done = subprocess.run(command, capture_output=True, timeout=limit, check=True)
        except subprocess.TimeoutExpired:
            return f"did not finish in {limit:g} s"
        except subprocess.CalledProcessError as error:
            return f"failed: {error.stderr.decode().strip().splitlines()[-1]}"
        result = json.loads(done.stdout.splitlines()[-1])
        pattern = np.load(Path(folder, "found.npy"))
    return {**result, "bic": bic_of_a_member(rows, pattern), "edges": n_edges(pattern)}


def n_edges(pattern):
    return np.count_nonzero(np.triu(pattern | pattern.T))


def print_table(name, results):
    scores = [r["bic"] for r in results.values() if isinstance(r, dict)]
    best = max((score for score in scores if score is not None), default=None)
    for program, result in results.items():
        if isinstance(result, str):
            print(f"| {name} | {program} | {result} | | | |", flush=True)
            continue
        below = "no member" if result["bic"] is None else f"{best - result['bic']:.2f}"
        took = " | ".join(
            f"{result[key]:.{digits}f}" if key in result else ""
            for key, digits in (("seconds", 2), ("megabytes", 0))
        )
        print(f"| {name} | {program} | {below} | {took} | {result['edges']} |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tables", nargs="*", help="columns-degree-rows[-seed], wine, cancer, ...")
    parser.add_argument("--programs", nargs="+", choices=PROGRAMS, default=list(PROGRAMS))
    parser.add_argument("--limit", type=float, default=600, help="seconds for each program")
    parser.add_argument("--time-limit", type=float, help="time_limit of the order search")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        run_one(arguments.one, arguments.time_limit, arguments.folder)
        return
    print(f"Python {platform.python_version()}, {platform.machine()}, {time.strftime('%Y-%m-%d')}")
    programs = []
    for program in arguments.programs:
        package = PROGRAMS[program][0]
        if package is None or importlib.util.find_spec(package):
            programs.append(program)
        else:
            print(f"{program} is skipped: {package} is not installed")
    if SKBN in programs:
        # Kernels that are not in the cache yet may take longer to compile than the limit.
        result_of(SKBN, random_table("40-4-500")[0], None, 1)
    print("\n| table | program | nats below the best | seconds | peak MB | edges |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    for name in arguments.tables:
        is_real = name == "digits" or name in REAL
        rows, truth = (real_table(name), None) if is_real else random_table(name)
        results = {
            program: result_of(program, rows, arguments.limit, arguments.time_limit)
            for program in programs
        }
        if truth is not None:
            results["truth"] = {"bic": bic_of_a_member(rows, truth), "edges": n_edges(truth)}
        print_table(name, results)


if __name__ == "__main__":
    main()
