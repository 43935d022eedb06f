"""Compare networks of many columns with the true ones, for BIC and EBIC.

Run ``python tests/benchmarks/many_columns_truth.py``. The networks are drawn by
`skbn.datasets.make_gaussian_network`, and ``search="order"`` looks for them. For each criterion it
prints how many pairs of columns are joined in both networks, only in the one found (false) and only
in the true one (missing); in how many pairs the CPDAGs differ; by how many nats the score of the
network found is above that of the true one; and the seconds of processor time.

``pairs`` is how many pairs that are not joined should gain more than an edge costs, if they were
independent: their number times the chance that a chi-squared variable exceeds twice the cost.

``--case COLUMNS DEGREE ROWS``, once for each table, replaces the cases.
"""

from __future__ import annotations

import argparse
import time
import warnings

from scipy.stats import chi2

from skbn import BIC, EBIC, GaussianBNLearner, LocalScoreTransformer
from skbn.datasets import make_gaussian_network
from skbn.exceptions import DataWarning

# Columns, mean degree and rows of each table.
CASES = [(30, 2, 500), (100, 2, 500), (300, 2, 500), (300, 3, 500), (300, 3, 1000)]
CRITERIA = {"BIC": BIC(), "EBIC, 0.5": EBIC(gamma=0.5), "EBIC, 1": EBIC(gamma=1.0)}


def main() -> None:
    """Print a line for each table and criterion."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", nargs=3, type=int, action="append", metavar="N")
    parser.add_argument("--n-jobs", type=int, default=1)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", DataWarning)
    print(
        "| columns | degree | rows | criterion | true edges | found | both | false | missing "
        "| pairs | CPDAG distance | above truth, nats | seconds |"
    )
    print("| ---: " * 3 + "| --- " + "| ---: " * 9 + "|", flush=True)
    for m, degree, n in arguments.case or CASES:
        rows, truth = make_gaussian_network(m, mean_degree=degree, n_samples=n, random_state=0)
        for name, criterion in CRITERIA.items():
            start = time.process_time()
            learner = GaussianBNLearner(
                criterion, search="order", random_state=0, n_jobs=arguments.n_jobs
            ).fit(rows)
            seconds = time.process_time() - start
            scores = LocalScoreTransformer(criterion).fit_transform(rows)
            above = learner.network_score_ - scores.network_score(truth.dag)
            true, found = (
                {frozenset(edge) for edge in dag.edges} for dag in (truth.dag, learner.dag_)
            )
            without, with_one = criterion.complexity(n, m)[:2]
            pairs = (m * (m - 1) / 2 - len(true)) * chi2.sf(2 * (with_one - without), 1)
            distance = learner.network_.compare(truth).cpdag_distance
            counts = len(true), len(found), len(true & found), len(found - true), len(true - found)
            print(
                f"| {m} | {degree} | {n} | {name} | {' | '.join(map(str, counts))} "
                f"| {pairs:.1f} | {distance} | {above:.1f} | {seconds:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
