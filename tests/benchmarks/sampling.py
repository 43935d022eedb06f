"""Sampled posteriors: how far from exact ones, how far from each other, and how long they take.

``python tests/benchmarks/sampling.py 18-4-500 --seconds 1`` fits a random network of 18 columns, of
4 neighbours on average, with 500 rows, by chains of a second each; ``cancer-20`` takes the first
columns of the breast-cancer data.
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from skbn import GaussianBNPosterior
from skbn.datasets import make_gaussian_network

MOST_COLUMNS_TO_SUM = 22


def rows_of(case):
    if case.startswith("cancer"):
        rows = load_breast_cancer().data[:, : int(case.split("-")[1])]
    else:
        m, degree, n = (int(part) for part in case.split("-"))
        rows, _ = make_gaussian_network(m, mean_degree=degree, n_samples=n, random_state=0)
    return StandardScaler().fit_transform(rows)


def fit(rows, seed, options):
    posterior = GaussianBNPosterior(
        method="sampling",
        n_chains=options.chains,
        time_limit=options.seconds * options.chains / options.jobs,
        n_jobs=options.jobs,
        random_state=seed,
    )
    start = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        posterior.fit(rows)
    posterior.seconds = time.process_time() - start
    posterior.warned = any(issubclass(each.category, ConvergenceWarning) for each in caught)
    return posterior


def describe(case, options):
    rows = rows_of(case)
    m = rows.shape[1]
    off = ~np.eye(m, dtype=bool)
    fits = [fit(rows, seed, options) for seed in (options.seed, options.seed + 1)]
    first = fits[0]
    print(
        f"{case}: {first.edge_probabilities_.sum():.1f} edges expected, {options.chains} chains of "
        f"{options.seconds:g} s and {first.n_samples_ // options.chains:,} states, "
        f"{first.seconds:.1f} processor seconds in all; "
        f"warned: {', '.join('yes' if each.warned else 'no' for each in fits)}"
    )
    of_chains = np.concatenate([each.chain_edge_probabilities_ for each in fits])
    apart = first.edge_probabilities_ - fits[1].edge_probabilities_
    spread = of_chains.max(axis=0) - of_chains.min(axis=0)
    print(
        f"  two fits differ by up to {np.abs(apart).max():.3f}, rms {rms(apart[off]):.4f}, and by "
        f"more than 0.05 in {(np.abs(apart) > 0.05).sum()} edges; all chains by up to "
        f"{spread.max():.3f}, and by more than 0.1 in {(spread > 0.1).sum()}; "
        f"largest R-hat {max(each.r_hat_.max() for each in fits):.2f}"
    )
    if m > MOST_COLUMNS_TO_SUM:
        return
    exact = GaussianBNPosterior(structure_prior="uniform", n_jobs=2).fit(rows)
    error = np.abs(of_chains - exact.edge_probabilities_)
    joint = [each.edge_probabilities_ - exact.edge_probabilities_ for each in fits]
    paths = [np.abs(each.path_probabilities_ - exact.path_probabilities_).max() for each in fits]
    z = np.concatenate(
        [
            each[own.edge_standard_errors_ > 1e-3]
            / own.edge_standard_errors_[own.edge_standard_errors_ > 1e-3]
            for each, own in zip(joint, fits, strict=True)
        ]
    )
    print(
        f"  errors of edges: single chains {np.median(error.max(axis=(1, 2))):.3f} (median of the "
        f"largest), mean {error[:, off].mean():.5f}; fits "
        f"{', '.join(f'{np.abs(each).max():.3f}' for each in joint)}; of paths "
        f"{', '.join(f'{each:.3f}' for each in paths)}; in standard errors {z.std():.2f} on average"
    )


def rms(values):
    return np.sqrt((values**2).mean())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="+")
    parser.add_argument("--seconds", type=float, default=10.0, help="of each chain")
    parser.add_argument("--chains", type=int, default=4)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for case in options.cases:
        describe(case, options)
