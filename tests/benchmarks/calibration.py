"""Measure how often edges of some posterior probability are there.

Run ``python tests/benchmarks/calibration.py``. It draws 500 data sets from the prior that BGe means
(see `tests/calibration.py`), and computes the probability of each of the 20 edges

- with the uniform prior over networks, from which the networks are drawn,
- with the order prior,
- as its support: the share of the best networks of resampled rows that have it, where an edge that
  the equivalence class leaves undirected counts half in each direction.

For each it prints, by bins of the probability, how many edges fall into the bin, their mean
probability and the share that is there; and the distance from calibration, which is chi-squared
with 8 degrees of freedom for true probabilities. ``--write FILE`` stores the bins for the figure
of the theory page.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from pathlib import Path

import numpy as np
from scipy.stats import chi2

sys.path.insert(0, str(Path(__file__).parents[1]))
import calibration

from skbn import GaussianBNLearner, GaussianBNPosterior
from skbn.exceptions import DataWarning


def edge_probabilities(rows, structure_prior):
    """Return the posterior probabilities of all edges."""
    posterior = GaussianBNPosterior(calibration.CRITERION, structure_prior=structure_prior)
    return posterior.fit(rows).edge_probabilities_


def support(rows, rng, n_refits):
    """Return the share of the best networks of resampled rows that have each edge."""
    m = rows.shape[1]
    counts = np.zeros((m, m))
    learner = GaussianBNLearner(calibration.CRITERION)
    for _ in range(n_refits):
        found = learner.fit(rows[rng.integers(len(rows), size=len(rows))]).network_.cpdag()
        for a, b, undirected in found.edges(data="undirected"):
            counts[a, b] += 0.5 if undirected else 1.0
            counts[b, a] += 0.5 if undirected else 0.0
    return counts / n_refits


def main():
    """Print a table for each of the three."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=calibration.N_SETS, help="data sets")
    parser.add_argument("--refits", type=int, default=50, help="resampled tables for each data set")
    parser.add_argument("--write", metavar="FILE", help="store the bins as JSON")
    arguments = parser.parse_args()
    rng = np.random.default_rng(1)
    bins = {"uniform": [], "order": [], "bootstrap": []}
    warnings.simplefilter("ignore", DataWarning)
    for network, rows in calibration.data_sets(n_sets=arguments.tables):
        is_there, _ = calibration.edges_and_paths(network)
        for name, found in bins.items():
            if name == "bootstrap":
                probabilities = support(rows, rng, arguments.refits)
            else:
                probabilities = edge_probabilities(rows, name)
            found.append(calibration.bins_of(is_there, probabilities))
    stored = {}
    for name, found in bins.items():
        distance = calibration.distance_from_calibration(np.array(found))
        chance = chi2.sf(distance, calibration.N_BINS)
        print(f"{name}: distance {distance:.1f}, exceeded with probability {chance:.2g}")
        print("edges  probability  share there  standard error")
        number, total, there = sums = np.sum(found, axis=0)
        error = np.std(np.array(found)[:, 2] - np.array(found)[:, 1], axis=0, ddof=1)
        error *= np.sqrt(len(found)) / number
        for row in zip(number, total / number, there / number, error, strict=True):
            print("{:5.0f}  {:11.3f}  {:11.3f}  {:14.3f}".format(*row))
        stored[name] = np.vstack([sums, error]).round(6).tolist()
    if arguments.write:
        lines = ",\n".join(f'"{name}": {json.dumps(each)}' for name, each in stored.items())
        Path(arguments.write).write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
