"""How often compare_groups calls a coefficient different although all rows are of one network."""

import argparse

import numpy as np

from skbn import GaussianBNLearner, compare_groups


def null_table(rng):
    """Return rows of a random network of 4 to 7 columns, and random groups of them."""
    m, n = int(rng.integers(4, 8)), int(rng.integers(60, 400))
    coef = np.triu(rng.normal(size=(m, m)) * 0.6 * (rng.random((m, m)) < 0.4), 1)
    rows = rng.normal(size=(n, m)) @ np.linalg.inv(np.eye(m) - coef)
    return rows, rng.random(n) < rng.uniform(0.25, 0.5)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=400)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    for name, estimator in (("evidence", None), ("BIC", GaussianBNLearner())):
        rng = np.random.default_rng(options.seed)
        n_edges = n_called = n_tables = n_one = 0
        for _ in range(options.tables):
            comparison = compare_groups(*null_table(rng), estimator)
            differs = comparison.to_frame()["differs"]
            n_edges, n_called = n_edges + len(differs), n_called + int(sum(differs))
            n_tables += any(differs)
            n_one += max(comparison.answers, key=comparison.answers.get) == "one network"
        print(
            f"{name}: {n_tables} of {options.tables} tables have an edge that is called different, "
            f"{n_called} of {n_edges} edges; {n_one} tables are of one network"
        )


if __name__ == "__main__":
    main()
