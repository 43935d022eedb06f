"""How far sampled posteriors are from exact ones, or from each other where sums do not fit.

    python tests/benchmarks/sampling.py 18-4-500 cancer-20 --seconds 5
    python tests/benchmarks/sampling.py 100-2-1000 cancer-30 --seconds 30 --jobs 2

``18-4-500`` is a table of 500 rows of a random network of 18 columns with 4 parents on average,
``cancer-20`` the first 20 columns of scikit-learn's breast-cancer data. All columns are
standardised. Without names, all cases of `CASES` are run.

The first table has the cases that exact sums fit: the largest and the mean absolute error of the
edges in single chains, and of the paths and edges in all chains together; and the standard
deviation of error / standard error over the edges whose standard error is above 0.001, which is 1
if standard errors are true. The second has the others, for which two fits with different seeds are
compared: the largest and the root mean square difference of these and of two chains of the first,
the share of edges that differ by more than 3 standard errors, and whether the fits warned that
their chains disagree. *cpu s* is the processor time of a fit, with all of its chains, and *states*
are those of a chain.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from itertools import combinations

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning

from skbn import GaussianBNPosterior

CASES = (
    "13-3-500",
    "18-4-500",
    "22-3-500",
    "cancer-20",
    "40-2-500",
    "60-4-1000",
    "100-2-1000",
    "100-4-1000",
    "cancer-30",
)
MOST_EXACT = 22  # columns for which the exact posterior takes less than some minutes
LEAST_ERROR = 1e-3
COMMON = ("case", "columns", "rows", "edges", "s a chain", "cpu s", "states")
AGAINST_EXACT = (
    "chain: max",
    "chain: mean",
    "edges: max",
    "edges: mean",
    "paths: max",
    "paths: mean",
    "error / standard error",
)
AGAINST_EACH_OTHER = (
    "fits: max",
    "fits: rms",
    "chains: max",
    "chains: rms",
    "beyond 3 errors",
    "warned",
)


def random_table(m, mean_parents, n_rows, seed=0):
    """Return rows of a random network, whose columns are standardised."""
    rng = np.random.default_rng([m, round(10 * mean_parents), n_rows, seed])
    order = rng.permutation(m)
    chance = 2 * mean_parents / (m - 1)
    rows = rng.standard_normal((n_rows, m))
    for at in range(1, m):
        parents = order[:at][rng.random(at) < chance]
        weights = rng.uniform(0.3, 1, len(parents)) * rng.choice([-1, 1], len(parents))
        rows[:, order[at]] += rows[:, parents] @ weights
    return standardised(rows)


def standardised(rows):
    return (rows - rows.mean(axis=0)) / rows.std(axis=0)


def table_of(name, seed=0):
    """Return the rows that a case's name stands for."""
    if name.startswith("cancer-"):
        return standardised(load_breast_cancer().data[:, : int(name.removeprefix("cancer-"))])
    m, mean_parents, n_rows = name.split("-")
    return random_table(int(m), float(mean_parents), int(n_rows), seed)


def fit(rows, seconds, chains, jobs, seed, **options):
    """Return a sampled posterior, its processor seconds, and whether its chains disagree."""
    posterior = GaussianBNPosterior(
        method="sampling",
        n_chains=chains,
        time_limit=seconds * math.ceil(chains / jobs),
        random_state=seed,
        n_jobs=jobs,
        **options,
    )
    start = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        posterior.fit(rows)
    cpu = time.process_time() - start
    warned = any(issubclass(each.category, ConvergenceWarning) for each in caught)
    return posterior, cpu, warned


def exact_posterior(rows, **options):
    """Return the exact posterior of a table under the uniform prior."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return GaussianBNPosterior(structure_prior="uniform", **options).fit(rows)


def compile_kernels():
    """Compile all kernels, or load them, so that no fit is timed with them."""
    rows = random_table(30, 1, 100)
    fit(rows, 0.5, 2, 1, 0)
    fit(rows[:, :8], 0.5, 2, 1, 0)


def ratios_of(differences, errors):
    """Return differences in standard errors, of the edges whose standard error is not tiny."""
    counts = errors > LEAST_ERROR
    return differences[counts] / errors[counts]


def largest_and_mean(differences):
    return [f"{np.abs(differences).max():.4f}", f"{off_diagonal(np.abs(differences)).mean():.5f}"]


def largest_and_rms(differences):
    rms = np.sqrt(off_diagonal(differences**2).mean())
    return [f"{np.abs(differences).max():.4f}", f"{rms:.5f}"]


def off_diagonal(matrices):
    return matrices[..., ~np.eye(matrices.shape[-1], dtype=bool)]


def common_cells(name, rows, seconds, posterior, cpu):
    n_states = posterior.n_samples_ / len(posterior.chain_edge_probabilities_)
    edges = posterior.edge_probabilities_.sum()
    n, m = rows.shape
    return [name, m, f"{n:,}", f"{edges:.1f}", f"{seconds:g}", f"{cpu:.1f}", f"{n_states:,.0f}"]


def against_exact(name, rows, arguments):
    """Return the cells of a case whose exact posterior is known."""
    exact = exact_posterior(rows)
    settings = arguments.seconds, arguments.chains, arguments.jobs, arguments.seed
    posterior, cpu, _ = fit(rows, *settings)
    error = posterior.edge_probabilities_ - exact.edge_probabilities_
    ratios = ratios_of(error, posterior.edge_standard_errors_)
    return [
        *common_cells(name, rows, arguments.seconds, posterior, cpu),
        *largest_and_mean(posterior.chain_edge_probabilities_ - exact.edge_probabilities_),
        *largest_and_mean(error),
        *largest_and_mean(posterior.path_probabilities_ - exact.path_probabilities_),
        f"{ratios.std():.2f}" if len(ratios) else "-",
    ]


def against_each_other(name, rows, arguments):
    """Return the cells of a case of which there are only samples."""
    settings = arguments.seconds, arguments.chains, arguments.jobs
    first, cpu, first_warned = fit(rows, *settings, arguments.seed)
    second, _, second_warned = fit(rows, *settings, arguments.seed + 1)
    of_fits = first.edge_probabilities_ - second.edge_probabilities_
    errors = np.hypot(first.edge_standard_errors_, second.edge_standard_errors_)
    pairs = combinations(first.chain_edge_probabilities_, 2)
    of_chains = np.array([a - b for a, b in pairs])
    ratios = ratios_of(of_fits, errors)
    return [
        *common_cells(name, rows, arguments.seconds, first, cpu),
        *largest_and_rms(of_fits),
        *largest_and_rms(of_chains),
        f"{(np.abs(ratios) > 3).mean():.1%}" if len(ratios) else "-",
        "yes" if first_warned or second_warned else "no",
    ]


def print_cells(cells):
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cases", nargs="*", help=f"{', '.join(CASES)} by default")
    parser.add_argument("--seconds", type=float, default=5, help="of each chain; 5 by default")
    parser.add_argument("--chains", type=int, default=4)
    parser.add_argument("--jobs", type=int, default=1, help="chains that run side by side")
    parser.add_argument("--seed", type=int, default=0, help="of random tables and of chains")
    arguments = parser.parse_args()
    compile_kernels()
    tables = {name: table_of(name, arguments.seed) for name in arguments.cases or CASES}
    small = {name: rows for name, rows in tables.items() if rows.shape[1] <= MOST_EXACT}
    large = {name: rows for name, rows in tables.items() if name not in small}
    for cases, headings, cells_of in (
        (small, AGAINST_EXACT, against_exact),
        (large, AGAINST_EACH_OTHER, against_each_other),
    ):
        if cases:
            print_cells([*COMMON, *headings])
            print(f"| --- |{' ---: |' * (len(COMMON) + len(headings) - 1)}")
        for name, rows in cases.items():
            print_cells(cells_of(name, rows, arguments))


if __name__ == "__main__":
    main()
