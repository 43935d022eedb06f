"""How long branch and cut takes to prove the best network of listed families, and how far it gets.

    pip install -e .[test] highspy
    python tests/benchmarks/branch_and_cut.py 40-2-500 60-2-1000 --max-parents 3 --limit 600

``40-2-500`` are tables of 500 rows of random networks of 40 columns with a mean degree of 2, as in
compare_order_searches.py, one for each of the seeds 0 to 4 (``--seeds``). FamilyCosts have up to
``--max-parents`` parents and are scored by the BIC.

Each table has its own process with one thread. Times lack imports, compilation, the listing of the
families and the order search, whose network branch and cut begins with. A line has

- the number of families that are not dominated by one with fewer of the same parents;
- the gap when the tree begins, in nats: the cost of the best network less the bound of the root;
- nodes, cuts that the proof uses, processor seconds and seconds by the clock;
- the gap at the end, 0 if the network is proven to be the best up to 1e-6 nats;
- by how many nats the network is better than that of the order search;
- the seconds that a replay of the proof takes, or why it was refused;
- the peak memory of the process before the replay, in MB.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time

os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
import numpy as np  # BLAS reads the number of threads when it is loaded
from compare import peak_megabytes
from compare_order_searches import random_table

from skbn import GaussianBNLearner, LocalScoreTransformer
from skbn._branch_and_cut.proof import FamilyCosts
from skbn._scores.families import Limits

TOLERANCE = 1e-6
HEADINGS = {
    "n_families": "families",
    "root_gap": "root gap",
    "n_nodes": "nodes",
    "n_cuts": "cuts",
    "cpu": "CPU s",
    "wall": "s",
    "gap": "gap at the end",
    "gain": "gain",
    "replay": "replay s",
    "megabytes": "peak MB",
}


def listed_families(rows, max_parents):
    """Return the families that no other dominates, and those of the order search's network."""
    scores = LocalScoreTransformer(max_parents=max_parents).fit_transform(rows)
    options = {"search": "order", "random_state": 0, "n_jobs": 1}
    learner = GaussianBNLearner(max_parents=max_parents, **options).fit(scores)
    m = rows.shape[1]
    start, parents, cost, network = [0], [], [], []
    for x in range(m):
        others = [y for y in range(m) if y != x]
        sets, local = scores.scorer.listed(Limits(x, [], others))
        best_first = np.lexsort(((sets >= 0).sum(axis=1), -local))
        sets, local = sets[best_first], local[best_first]
        own = np.full(sets.shape[1], -1)
        found = sorted(learner.dag_.predecessors(x))
        own[: len(found)] = found
        network.append(start[-1] + int(np.flatnonzero((sets == own).all(axis=1))[0]))
        start.append(start[-1] + len(local))
        parents.append(sets)
        cost.append(local[0] - local)
    child = np.repeat(np.arange(m, dtype=np.int16), np.diff(start))
    families = FamilyCosts(
        np.array(start, dtype=np.int64),
        np.concatenate(cost),
        np.ascontiguousarray(np.concatenate(parents), dtype=np.int16),
        child,
        np.zeros(start[-1]),
    )
    return families, np.array(network, dtype=np.int64)


def measure(name, max_parents, limit):
    """Search one table, replay the proof, and return what that took."""
    from skbn._branch_and_cut.branch_and_cut import BRANCH_AND_CUT_KERNELS, branch_and_cut
    from skbn._branch_and_cut.checker_kernels import CHECKER_KERNELS
    from skbn._branch_and_cut.proof_checker import ProofError, certified_bound
    from skbn._core.compile import compile_kernels

    compile_kernels((*BRANCH_AND_CUT_KERNELS, *CHECKER_KERNELS))
    families, network = listed_families(random_table(name)[0], max_parents)
    cost_of_orders = float(families.cost[network].sum())
    of_root = [-np.inf]

    def tell(_, bound, n_nodes):
        if n_nodes == 1:
            of_root[0] = bound

    cpu, wall = time.process_time(), time.monotonic()
    found = branch_and_cut(
        families,
        network,
        tolerance=TOLERANCE,
        deadline=wall + limit,
        n_jobs=1,
        tell=tell,
    )
    cpu, wall = time.process_time() - cpu, time.monotonic() - wall
    gap = 0.0 if found.is_finished else found.cost - found.proof.bound
    megabytes = peak_megabytes()
    start = time.process_time()
    try:
        certified_bound(families, found.proof)
        replay = time.process_time() - start
    except ProofError as error:
        replay = str(error)
    return {
        "n_families": families.cost.size,
        "root_gap": gap if found.n_nodes == 1 else found.cost - of_root[0],
        "n_nodes": found.n_nodes,
        "n_cuts": len(found.proof.cuts),
        "cpu": cpu,
        "wall": wall,
        "gap": gap,
        "gain": cost_of_orders - found.cost,
        "replay": replay,
        "megabytes": megabytes,
    }


def run_alone(script, name, max_parents, limit, *more):
    """Return what a script measures of a table in a process of its own, or why it failed."""
    command = [sys.executable, script, name, "--one", "--limit", str(limit), *more]
    done = subprocess.run(
        [*command, "--max-parents", str(max_parents)], capture_output=True, text=True
    )
    if done.returncode:
        return f"failed: {done.stderr.strip().splitlines()[-1]}"
    return json.loads(done.stdout.splitlines()[-1])


def as_text(value):
    if isinstance(value, float):
        return f"{value:.2f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def read_arguments(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("tables", nargs="+", help="columns-degree-rows")
    parser.add_argument("--max-parents", type=int, default=3)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--limit", type=float, default=600, help="seconds for each table")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def print_table(script, arguments, headings):
    """Print a line for each table and seed, as soon as it is measured."""
    print(f"Python {platform.python_version()}, {platform.machine()}, {time.strftime('%Y-%m-%d')}")
    # Kernels that are not in the cache yet: their compilation takes memory.
    run_alone(script, "12-2-200", 2, 1.0)
    print(f"\n| table | max_parents | seed | {' | '.join(headings.values())} |")
    print(f"| --- | ---: | ---: {'| ---: ' * len(headings)}|")
    for table in arguments.tables:
        for seed in arguments.seeds:
            name = f"{table}-{seed}" if seed else table
            found = run_alone(script, name, arguments.max_parents, arguments.limit)
            if isinstance(found, str):
                cells = [found] + [""] * (len(headings) - 1)
            else:
                cells = [as_text(found[key]) for key in headings]
            line = [table, str(arguments.max_parents), str(seed), *cells]
            print(f"| {' | '.join(line)} |", flush=True)


def main():
    arguments = read_arguments("Time branch and cut.")
    if arguments.one:
        (name,) = arguments.tables
        print(json.dumps(measure(name, arguments.max_parents, arguments.limit)))
    else:
        print_table(__file__, arguments, HEADINGS)


if __name__ == "__main__":
    main()
