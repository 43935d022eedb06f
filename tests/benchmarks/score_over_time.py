"""How good the networks of the order search are after some time, and FLOP's after some restarts.

    pip install -e . flopsearch
    python tests/benchmarks/score_over_time.py 50-8-1000 200-4-1000-1 --restarts 0 3 10 30

``50-8-1000`` is a table of 1,000 rows of a random network of 50 columns with a mean degree of 8;
``200-4-1000-1`` is drawn with the seed 1 in place of 0. The penalty is twice that of the BIC, which
FLOP's authors recommend; with ``--ebic`` it is that of the EBIC, and FLOP is left out.

Each line has a moment in processor seconds of one thread, without compilation, and by how many nats
the best score known then is above that of the network that the rows were drawn from. The last line
of each program also has the numbers of true and false edges. FLOP tells nothing on the way: its
lines are separate searches.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import time
import warnings

os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"), "1")
import numpy as np
from compare import peak_megabytes
from compare_order_searches import DIRECTED, random_table

from skbn import BIC, EBIC, GaussianBNLearner
from skbn._core.subsets import members_of
from skbn._networks.equivalence import consistent_extension
from skbn._orders.order_search import OrderSearch

# Lines of one search are this far apart.
RATIO = 1.5


def score(rows, edges, cost):
    """Return the log-likelihood less the cost of each edge, up to a constant."""
    n, m = rows.shape
    products = rows.T @ rows / n
    total = -cost * edges.sum()
    for x in range(m):
        own = np.flatnonzero(edges[:, x])
        left = products[x, x]
        if len(own):
            left -= products[x, own] @ np.linalg.solve(products[np.ix_(own, own)], products[own, x])
        total -= n / 2 * np.log(left)
    return total


def counts(edges, truth):
    found, true = edges | edges.T, truth | truth.T
    return f"{(found & true).sum() // 2} true, {(found & ~true).sum() // 2} false"


def skbn_over_time(rows, options):
    """Return moments with scores, and the edges found."""
    moments, begin = [], OrderSearch.__init__

    def noting(search, *given):
        *before, report = given[:9]

        def note(best, n_iter, share):
            moments.append((time.process_time() - start, best))
            report(best, n_iter, share)

        begin(search, *before, note, *given[9:])

    start, OrderSearch.__init__ = time.process_time(), noting
    try:
        learner = GaussianBNLearner(search="order", n_jobs=1, random_state=0, **options).fit(rows)
    finally:
        OrderSearch.__init__ = begin
    moments.append((time.process_time() - start, moments[-1][1] if moments else 0.0))
    edges = np.zeros((rows.shape[1],) * 2, dtype=bool)
    edges[tuple(np.array(learner.dag_.edges, dtype=int).reshape(-1, 2).T)] = True
    return moments, edges


def flop_edges(rows, restarts):
    from flopsearch import flop

    pattern = flop(rows, 2.0, restarts=restarts).astype(int)

    def masks(edges):
        return [sum(1 << int(x) for x in np.flatnonzero(column)) for column in edges.T]

    parents = consistent_extension(masks(pattern | pattern.T), masks(pattern == DIRECTED))
    edges = np.zeros(pattern.shape, dtype=bool)
    for x, mask in enumerate(parents):
        edges[[*members_of(mask)], x] = True
    return edges


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="+")
    parser.add_argument("--restarts", nargs="*", type=int, default=[0, 3, 10, 30])
    parser.add_argument("--ebic", action="store_true")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    skbn_over_time(random_table("40-4-200")[0], {"time_limit": 0.5})  # compiles
    has_flop = importlib.util.find_spec("flopsearch") is not None and not arguments.ebic
    print("| table | program | seconds | nats above the truth | edges | peak MB |")
    print("| --- | --- | ---: | ---: | --- | ---: |")
    for name in arguments.tables:
        rows, truth = random_table(name)
        rows, truth = (rows - rows.mean(axis=0)) / rows.std(axis=0), truth != 0
        n, m = rows.shape
        criterion, penalty = (EBIC(), 1.0) if arguments.ebic else (BIC(), 2.0)
        costs = penalty * criterion.complexity(n, m)
        true = score(rows, truth, costs[1] - costs[0])
        options = {"criterion": criterion, "penalty": penalty}
        options["max_parents"] = 100 if n <= m else None
        moments, edges = skbn_over_time(rows, options)
        end = score(rows, edges, costs[1] - costs[0]) - true
        after, top = 0.0, max(best for _, best in moments)
        for seconds, best in moments[:-1]:
            if seconds > RATIO * after:
                after = seconds
                print(f"| {name} | skbn | {seconds:.2f} | {best - top + end:.2f} | | |")
        told = f"{counts(edges, truth)} | {peak_megabytes():.0f} |"
        print(f"| {name} | skbn | {moments[-1][0]:.2f} | {end:.2f} | {told}", flush=True)
        for restarts in arguments.restarts if has_flop else []:
            start = time.process_time()
            edges = flop_edges(rows, restarts)
            seconds = time.process_time() - start
            above = score(rows, edges, costs[1] - costs[0]) - true
            told = f"{counts(edges, truth)} | |"
            print(f"| {name} | FLOP, {restarts} | {seconds:.2f} | {above:.2f} | {told}", flush=True)


if __name__ == "__main__":
    main()
