"""What gap proofs of listed families leave after fixed work: five sparse tables of 50 columns.

    python tests/benchmarks/listed_proofs.py --seconds 300

Each table has 1,000 rows of a random network with two neighbours per column; families have up to
three parents. Work is processor time of one thread, without the order search and the listing of the
families. A line for each table has the gap in nats, and the rounds of cuts and nodes until then.
"""

import argparse
import os
import time

os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
import numpy as np  # BLAS reads the number of threads when it is loaded
from branch_and_cut import TOLERANCE, listed_families

from skbn._branch_and_cut.branch_and_cut import BRANCH_AND_CUT_KERNELS, branch_and_cut
from skbn._branch_and_cut.checker_kernels import CHECKER_KERNELS
from skbn._core.compile import compile_kernels


def table(seed, m, n=1000):
    """Return rows of a random network, in which a column has two neighbours on average."""
    rng = np.random.default_rng(seed)
    order, weights = rng.permutation(m), np.zeros((m, m))
    for a in range(m):
        for b in range(a + 1, m):
            if rng.random() < 2 / (m - 1):
                weight = rng.choice([-1.0, 1.0]) * rng.uniform(0.5, 1.5)
                weights[order[a], order[b]] = weight
    noise, rows = rng.standard_normal((n, m)), np.zeros((n, m))
    for x in order:
        rows[:, x] = rows @ weights[:, x] + noise[:, x]
    return rows


def gap_after(rows, max_parents, seconds):
    """Return the gap after some processor seconds, the rounds and the nodes."""
    families, network = listed_families(rows, max_parents)
    end, n_rounds = time.process_time() + seconds, 0

    def tell(cost, bound, n_nodes):
        nonlocal n_rounds
        n_rounds += 1
        if time.process_time() > end:
            raise KeyboardInterrupt

    settings = {"tolerance": TOLERANCE, "n_jobs": 1, "tell": tell, "ends_on_interrupt": True}
    found = branch_and_cut(families, network, **settings)
    return found.cost - found.bound, n_rounds, found.n_nodes


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--max-parents", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=60.0, help="of the processor")
    arguments = parser.parse_args()
    compile_kernels((*BRANCH_AND_CUT_KERNELS, *CHECKER_KERNELS))
    print("| seed | gap, nats | rounds | nodes |\n| ---: | ---: | ---: | ---: |")
    for seed in arguments.seeds:
        rows = table(seed, arguments.columns)
        gap, n_rounds, n_nodes = gap_after(rows, arguments.max_parents, arguments.seconds)
        print(f"| {seed} | {gap:.2f} | {n_rounds} | {n_nodes} |", flush=True)


if __name__ == "__main__":
    main()
