"""Compare half-samples with resamples that draw rows with replacement.

    python tests/benchmarks/half_samples.py 10 20 50 100
    python tests/benchmarks/half_samples.py 150 --how half anew --rows 1000 --criterion ebic

A number is a random network of that many columns, with two neighbours each on average and 500 rows;
`--rows` changes that. The first line of each has the edges of the true network, and of the one of
all rows how many there are, and the pairs of columns that it joins wrongly and misses. For each way
to draw rows there is a line with the mean number of edges of a resample, the pairs that the
averaged network joins wrongly and misses, the processor's seconds for each resample, and the root
mean square and the largest difference of the strengths from those of the way before. The ways are

- replacement: as many rows as the table has, drawn with replacement;
- half: half of the rows, without replacement;
- anew: the same half, but with searches that do not begin with the network of all rows;
- again: as anew, with other random numbers in the searches.

Past 20 columns the networks are those of the order search, with at most three parents unless
`--max-parents` says otherwise; 0 sets no limit.
"""

import argparse
import time
import warnings

import numpy as np

from skbn import BootstrapBNLearner, GaussianBNLearner
from skbn.datasets import make_gaussian_network

HALF = {"replace": False, "sample_fraction": 0.5}
HOW = {
    "replacement": {},
    "half": HALF,
    "anew": {**HALF, "from_all_rows": False},
    "again": {**HALF, "from_all_rows": False, "estimator__random_state": 1},
}


def pairs(dag):
    """Return the pairs of columns that an edge joins."""
    return {frozenset(edge) for edge in dag.edges}


def print_cells(*cells):
    print("|", " | ".join(map(str, cells)), "|", flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("columns", nargs="+", type=int)
    parser.add_argument("--how", nargs="+", choices=HOW, default=["replacement", "half"])
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--resamples", type=int, default=50)
    parser.add_argument("--criterion", default="bic")
    parser.add_argument("--max-parents", type=int, default=3)
    parser.add_argument("--seed", type=int, help="of the network; the number of columns by default")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    small = make_gaussian_network(12, n_samples=100, random_state=0)[0]
    for search in ("exact", "order"):  # compiles
        GaussianBNLearner(search=search, random_state=0, max_parents=2).fit(small)
    print_cells(
        *("columns", "rows drawn", "edges", "wrong", "missed"),
        *("s", "strengths: rms", "largest difference"),
    )
    print_cells(*["---"] * 2, *["---:"] * 6)
    for m in arguments.columns:
        seed = m if arguments.seed is None else arguments.seed
        rows, truth = make_gaussian_network(m, n_samples=arguments.rows, random_state=seed)
        learner = GaussianBNLearner(arguments.criterion)
        if m > 20:
            learner.set_params(search="order", max_parents=arguments.max_parents or None)
            learner.set_params(random_state=0)
        true, strength = pairs(truth.dag), None
        for how in ["all", *arguments.how]:
            start, cells = time.process_time(), []
            if how == "all":
                fitted = learner.fit(rows)
                seconds = seconds_of_all = time.process_time() - start
                n_edges = len(fitted.dag_.edges)
                print_cells(m, "true network", len(true), *[""] * 5)
            else:
                fitted = BootstrapBNLearner(
                    learner, n_resamples=arguments.resamples, random_state=0
                ).set_params(**HOW[how])
                fitted.fit(rows)
                seconds = (time.process_time() - start - seconds_of_all) / arguments.resamples
                n_edges = np.mean([len(network.dag.edges) for network in fitted.networks_])
                if strength is not None:
                    apart = (fitted.strength_ - strength)[np.triu_indices(m, 1)]
                    cells = [f"{(apart**2).mean() ** 0.5:.4f}", f"{np.abs(apart).max():.2f}"]
                strength = fitted.strength_
            found = pairs(fitted.dag_)
            counts = f"{n_edges:.0f}", len(found - true), len(true - found)
            print_cells(m, how, *counts, f"{seconds:.2f}", *(cells or ["", ""]))


if __name__ == "__main__":
    main()
