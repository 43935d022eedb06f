"""Time lists of near-optimal networks, beside a fit of the learner.

    python tests/benchmarks/time_near_optimal.py wine cancer 16 20
    python tests/benchmarks/time_near_optimal.py wine --networks 10000

"cancer" is the first 20 columns of the breast-cancer data, and a number a random sparse network of
that many columns, with 500 rows. Each line has the least
seconds of a list of the best equivalence classes, or of the best networks, which begins with a
search of its own, and how far the last one is below the best.
"""

import argparse
import time
import warnings

from sklearn.datasets import load_breast_cancer, load_wine

from skbn import GaussianBNLearner
from skbn.datasets import make_gaussian_network
from skbn.exceptions import DataWarning

TABLES = {"wine": load_wine().data, "cancer": load_breast_cancer().data[:, :20]}


def least_seconds(function, repeats):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = function()
        times.append(time.perf_counter() - start)
    return min(times), result


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tables", nargs="+", help="wine, cancer, or a number of columns")
    parser.add_argument("--classes", type=int, default=1000)
    parser.add_argument("--networks", type=int, help="this many networks in place of classes")
    parser.add_argument("--criterion", default="bge")
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", DataWarning)
    n = arguments.networks or arguments.classes
    small = make_gaussian_network(6, n_samples=50, random_state=0)[0]
    GaussianBNLearner(arguments.criterion).fit(small).near_optimal(2)  # compiles
    print("| table | listed | list s | fit s | last below the best, nats |")
    print("| ---: " * 5 + "|")
    for name in arguments.tables:
        if name in TABLES:
            rows = TABLES[name]
        else:
            rows = make_gaussian_network(int(name), n_samples=500, random_state=int(name))[0]
        learner = GaussianBNLearner(arguments.criterion)
        fit, _ = least_seconds(lambda learner=learner, rows=rows: learner.fit(rows), 3)
        seconds, near = least_seconds(
            lambda learner=learner: learner.near_optimal(
                n, equivalence_classes=arguments.networks is None
            ),
            arguments.repeats,
        )
        below = near.scores[0] - near.scores[-1]
        print(f"| {name} | {len(near):,} | {seconds:.2f} | {fit:.3f} | {below:.2f} |", flush=True)


if __name__ == "__main__":
    main()
