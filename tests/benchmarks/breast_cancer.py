"""Find the best network of scikit-learn's breast-cancer data.

Run ``python tests/benchmarks/breast_cancer.py`` on a machine with 24 GB of memory, or
``python tests/benchmarks/breast_cancer.py 20`` for the first 20 columns. It prints the
search's plan and progress, the time, the peak memory, the score and the edges.
"""

from __future__ import annotations

import argparse
import resource
import time

from sklearn.datasets import load_breast_cancer

from skbn import GaussianBNLearner


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("columns", type=int, nargs="?", default=30)
    parser.add_argument("--jobs", type=int, default=-1)
    arguments = parser.parse_args()
    table = load_breast_cancer(as_frame=True).data.iloc[:, : arguments.columns]
    start = time.perf_counter()
    learner = GaussianBNLearner(n_jobs=arguments.jobs, verbose=True).fit(table)
    seconds = time.perf_counter() - start
    gigabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{seconds:.1f} s, compilation included; peak memory {gigabytes:.2f} GB")
    print(f"BIC {learner.network_score_:.4f} nats, {learner.dag_.number_of_edges()} edges:")
    for child in learner.dag_:
        parents = ", ".join(learner.dag_.predecessors(child)) or "(none)"
        print(f"  {child} <- {parents}")


if __name__ == "__main__":
    main()
