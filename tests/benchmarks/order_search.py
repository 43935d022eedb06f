"""How often the order search finds the best network, which the exact search tells.

    python tests/benchmarks/order_search.py random real
    python tests/benchmarks/order_search.py random --seconds 2 --criteria bic aic bge

"random" is a hundred random tables of 12 to 22 columns, "real" the data sets of scikit-learn. Each
line has the share of searches that found the optimum, the largest number of nats by which others
missed it, and the seconds of the order search: median and longest.
"""

import argparse
import time
import warnings
from itertools import product

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

from skbn import GaussianBNLearner
from skbn.datasets import make_gaussian_network

COLUMNS = range(12, 23)
DEGREES = (2, 3, 4, 6)
ROWS = (100, 500, 2000)
_TIE = 1e-3  # in nats


def random_tables(n):
    """Yield names and rows of n random tables, with from few to many edges."""
    random = np.random.default_rng(0)
    for i in range(n):
        m, degree = COLUMNS[i % len(COLUMNS)], DEGREES[i % len(DEGREES)]
        n_rows = random.choice(ROWS)
        rows, _ = make_gaussian_network(
            m, n_samples=int(n_rows), mean_degree=degree, random_state=i
        )
        yield f"{m} columns, degree {degree}, {n_rows} rows", rows


def real_tables():
    tables = {
        "wine": load_wine().data,
        "diabetes": np.column_stack(load_diabetes(return_X_y=True)),
        "breast cancer, means": load_breast_cancer().data[:, :10],
        "breast cancer, 20 columns": load_breast_cancer().data[:, :20],
        "breast cancer, 22 columns": load_breast_cancer().data[:, 8:],
    }
    return tables.items()


def measure(tables, criterion, seeds, time_limit, verbose):
    missed, seconds = [], []
    for name, rows in tables:
        best = GaussianBNLearner(criterion).fit(rows).network_score_
        for seed in range(seeds):
            start = time.process_time()
            learner = GaussianBNLearner(
                criterion, search="order", time_limit=time_limit, random_state=seed
            ).fit(rows)
            seconds.append(time.process_time() - start)
            missed.append(best - learner.network_score_)
            if verbose or missed[-1] > _TIE:
                print(f"  {name}: {missed[-1]:.3f} nats below, {seconds[-1]:.2f} s", flush=True)
    return np.array(missed), np.array(seconds)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kinds", nargs="+", choices=["random", "real"])
    parser.add_argument("--criteria", nargs="+", default=["bic"])
    parser.add_argument("--tables", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--seconds", type=float, help="time limit of each search")
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rows, _ = make_gaussian_network(6, n_samples=50, random_state=0)
    for search in ("exact", "order"):  # compiles
        GaussianBNLearner(search=search).fit(rows)
    print("| tables | searches | optimum | missed by at most | median s | longest s |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for kind, criterion in product(arguments.kinds, arguments.criteria):
        tables = random_tables(arguments.tables) if kind == "random" else real_tables()
        missed, seconds = measure(
            tables, criterion, arguments.seeds, arguments.seconds, arguments.verbose
        )
        share = (missed <= _TIE).mean()
        print(
            f"| {kind}, {criterion} | {len(missed)} | {share:.1%} | {missed.max():.2f} | "
            f"{np.median(seconds):.2f} | {seconds.max():.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
