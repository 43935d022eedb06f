"""Compare half-samples with resamples that draw rows with replacement.

    python tests/benchmarks/half_samples.py 10 20 50 100

A number is a random sparse network of that many columns, with 500 rows; `--rows` changes that.
Each line has the edges of the network of all rows, and of the true one; then, for rows drawn with
replacement and for half-samples: the mean number of edges of a resample, the pairs of columns that
the averaged network joins wrongly and misses, and the processor's seconds for each resample. Past
20 columns the networks are those of the order search, with at most three parents.
"""

import argparse
import time
import warnings

import numpy as np

from skbn import BootstrapBNLearner, GaussianBNLearner
from skbn.datasets import make_gaussian_network

HOW = {"replacement": {}, "half": {"replace": False, "sample_fraction": 0.5}}


def pairs(dag):
    """Return the pairs of columns that an edge joins."""
    return {frozenset(edge) for edge in dag.edges}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("columns", nargs="+", type=int)
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--resamples", type=int, default=50)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    print(
        "| columns | true, found | with replacement | wrong, missed | s "
        "| half | wrong, missed | s |"
    )
    print("| ---: " * 8 + "|")
    for m in arguments.columns:
        rows, truth = make_gaussian_network(m, n_samples=arguments.rows, random_state=m)
        learner = GaussianBNLearner()
        if m > 20:
            learner = GaussianBNLearner(search="order", max_parents=3, random_state=0)
        true = pairs(getattr(truth, "dag", truth))
        cells = [m]
        for settings in HOW.values():
            start = time.process_time()
            bootstrap = BootstrapBNLearner(
                learner, n_resamples=arguments.resamples, random_state=0, **settings
            ).fit(rows)
            seconds = (time.process_time() - start) / arguments.resamples
            if len(cells) == 1:
                cells.append(f"{len(true)}, {len(bootstrap.estimator_.dag_.edges)}")
            edges = np.mean([len(network.dag.edges) for network in bootstrap.networks_])
            found = pairs(bootstrap.network_.dag)
            cells += [f"{edges:.0f}", f"{len(found - true)}, {len(true - found)}", f"{seconds:.2f}"]
        print("|", " | ".join(map(str, cells)), "|", flush=True)


if __name__ == "__main__":
    main()
