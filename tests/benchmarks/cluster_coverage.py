"""How often intervals by clusters have the true values.

    python tests/benchmarks/cluster_coverage.py --tables 300

Each table has some persons of 4 to 12 rows. In the network a -> b -> c, a -> c, each equation's
noise is that of the row plus one of the person, of the same variance. For the three coefficients
and the total effect of a on c, the script prints which share of the 95 % intervals have the true
value, with and without ``groups``, and the mean of their widths.
"""

from __future__ import annotations

import argparse

import networkx as nx
import numpy as np

from skbn import GaussianBayesianNetwork

DAG = nx.DiGraph([("a", "b"), ("a", "c"), ("b", "c")])
TRUE = np.array([0.5, 0.3, -0.4])  # a -> b, a -> c, b -> c
TOTAL = TRUE[1] + TRUE[0] * TRUE[2]


def draw(n_persons, rng):
    """Return rows of the columns a, b, c, and the person of each."""
    person = np.repeat(np.arange(n_persons), rng.integers(4, 13, n_persons))
    noise = rng.normal(size=(len(person), 3)) + rng.normal(size=(n_persons, 3))[person]
    a = noise[:, 0]
    b = TRUE[0] * a + noise[:, 1]
    return np.stack([a, b, TRUE[1] * a + TRUE[2] * b + noise[:, 2]], axis=1), person


def intervals(rows, groups):
    """Return the ends of the intervals of the coefficients and of the total effect, (4, 2)."""
    network = GaussianBayesianNetwork(DAG).fit(rows, groups=groups)
    table = network.to_frame()
    ends = np.stack([table["ci_low"], table["ci_high"]], axis=1)
    return np.vstack([ends, network.effect("a", "c").interval()])


def main():
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=300)
    arguments = parser.parse_args()
    truth = np.array([*TRUE, TOTAL])
    print("persons  intervals    a->b   a->c   b->c  effect  mean width")
    for n_persons in (10, 20, 50):
        rng, found = np.random.default_rng(n_persons), {"by persons": [], "by rows": []}
        for _ in range(arguments.tables):
            rows, person = draw(n_persons, rng)
            found["by persons"].append(intervals(rows, person))
            found["by rows"].append(intervals(rows, None))
        for name, each in found.items():
            ends = np.array(each)
            has_truth = (ends[:, :, 0] <= truth) & (truth <= ends[:, :, 1])
            shares = "  ".join(f"{share:5.3f}" for share in has_truth.mean(axis=0))
            width = (ends[:, :, 1] - ends[:, :, 0]).mean()
            print(f"{n_persons:7}  {name:10}  {shares}  {width:10.3f}")


if __name__ == "__main__":
    main()
