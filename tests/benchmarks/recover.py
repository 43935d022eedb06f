"""Count the random networks whose class the search does not find, and compare with a bound.

Run ``python tests/benchmarks/recover.py``. Networks have 8 to 12 columns and are drawn by
`skbn.datasets.make_gaussian_network`: two neighbours a column on average, weights from 0.5 to 1.5
in size, and noise with a standard deviation from 0.5 to 1.5. A network is called "faithful" if all
partial correlations of columns at most two edges apart are either 0 or at least 0.03 in size. The
sample covariance of n rows is drawn directly, without drawing rows.

For each number of rows and penalty it prints the number of networks whose class BIC does not find,
the bound on its expectation (which holds for faithful networks), and how many of these networks
lack an edge or have one too many.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
import reference
import sparse_networks as sparse

from skbn import GaussianBNLearner
from skbn.datasets import make_gaussian_network


def count(n_networks, n, penalty, is_faithful):
    """Return how many networks were drawn, not found, lack or have extra edges; the bound."""
    rng = np.random.default_rng(0)
    n_drawn, wrong, missing, extra, bound = 0, 0, 0, 0, 0.0
    for i in range(n_networks):
        m = 8 + i % 5
        if is_faithful:
            network, drawn = sparse.draw_faithful(rng, m)
        else:
            network, drawn = make_gaussian_network(m, random_state=rng), 1
        n_drawn += drawn
        parents = sparse.parents_of(network)
        bound += min(1.0, sparse.chance_of_false_edges(parents, n, penalty))
        rows, weights = sparse.sample_moments(rng, network, n)
        learner = GaussianBNLearner(penalty=penalty).fit(rows, sample_weight=weights)
        found = sparse.parents_of(learner.network_)
        true_class, found_class = map(reference.equivalence_class, (parents, found))
        wrong += true_class != found_class
        missing += bool(true_class[0] - found_class[0])
        extra += bool(found_class[0] - true_class[0])
    return n_drawn, wrong, missing, extra, bound


def main():
    """Print a line for each kind of network, number of rows and penalty."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", type=int, default=500)
    n_networks = parser.parse_args().networks
    print(f"{n_networks} networks each")
    for is_faithful in (True, False):
        kind = "faithful" if is_faithful else "any"
        for n in (1_000, 10_000, 100_000, 1_000_000):
            for penalty in (1.0, 2.0):
                n_drawn, wrong, missing, extra, bound = count(n_networks, n, penalty, is_faithful)
                print(
                    f"{kind:8}  n {n:8}  penalty {penalty}  wrong {wrong:4}  bound {bound:6.1f}"
                    f"  lack edges {missing:4}  too many {extra:4}  of {n_drawn} drawn",
                    flush=True,
                )


if __name__ == "__main__":
    main()
