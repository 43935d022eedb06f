"""Compare the edges that learners find where noise is not Gaussian.

Run ``python tests/benchmarks/non_gaussian.py``. Tables have 10 columns with three neighbours each
on average, weights from 0.3 to 1 in size, and noise of the same shape in all columns, with standard
deviations from 0.5 to 1.5.

For each number of rows and shape of the noise it prints the mean F1 score of directed edges, with
Gaussian noise that of edges without directions, of NonGaussianBNLearner, GaussianBNLearner and, if
the package lingam is installed, DirectLiNGAM, and the mean seconds of the first and the last.
``--columns 18`` prints how long a fit of so many columns and 1,000 rows takes, and its memory.
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings

import numpy as np

from skbn import GaussianBNLearner, NonGaussianBNLearner

NOISES = {
    "uniform": lambda rng, n: rng.uniform(-1, 1, n) * np.sqrt(3),
    "laplace": lambda rng, n: rng.laplace(size=n) / np.sqrt(2),
    "exponential": lambda rng, n: rng.exponential(size=n) - 1,
    "t5": lambda rng, n: rng.standard_t(5, n) / np.sqrt(5 / 3),
    "normal": lambda rng, n: rng.normal(size=n),
}


def draw(m, n, noise, rng, degree=3):
    """Return rows, and the weights of the network they come from."""
    order, weights, rows = rng.permutation(m), np.zeros((m, m)), np.zeros((n, m))
    for i in range(m):
        for j in range(i):
            if rng.random() < degree / (m - 1):
                weights[order[j], order[i]] = rng.choice([-1, 1]) * rng.uniform(0.3, 1)
    for x in order:
        rows[:, x] = rows @ weights[:, x] + NOISES[noise](rng, n) * rng.uniform(0.5, 1.5)
    return rows, weights != 0


def f1(found, true):
    """Return the F1 score of edges."""
    return 2 * (found & true).sum() / max(1, found.sum() + true.sum())


def by_learner(learner):
    """Return a function that finds edges."""

    def find(rows):
        found = np.zeros((rows.shape[1],) * 2, dtype=bool)
        for edge in learner.fit(rows).dag_.edges:
            found[edge] = True
        return found

    return find


def by_direct_lingam(rows):
    """Return the edges that DirectLiNGAM finds."""
    import lingam

    return lingam.DirectLiNGAM().fit(rows).adjacency_matrix_.T != 0


def methods():
    """Return the methods by name, without those that are not installed."""
    found = {
        "non-Gaussian": by_learner(NonGaussianBNLearner()),
        "Gaussian": by_learner(GaussianBNLearner()),
    }
    try:
        import lingam  # noqa: F401
    except ImportError:
        return found
    return {**found, "DirectLiNGAM": by_direct_lingam}


def compare(n_tables, n_rows, first_seed):
    """Print a line for each number of rows and shape of the noise."""
    finds, means = methods(), []
    print("rows noise", *finds)
    for n in n_rows:
        for noise in NOISES:
            scores, seconds = np.zeros((2, n_tables, len(finds)))
            for i in range(n_tables):
                rows, true = draw(10, n, noise, np.random.default_rng(first_seed + i))
                for k, find in enumerate(finds.values()):
                    begin = time.perf_counter()
                    found = find(rows)
                    seconds[i, k] = time.perf_counter() - begin
                    is_open = noise == "normal"
                    scores[i, k] = f1(
                        np.triu(found | found.T) if is_open else found,
                        np.triu(true | true.T) if is_open else true,
                    )
            if noise != "normal":
                means.append(scores.mean(axis=0))
            times = seconds.mean(axis=0)
            print(n, noise, scores.mean(axis=0).round(3), times.round(2), "s", flush=True)
    print("mean without normal", np.mean(means, axis=0).round(4))


def time_fit(m):
    """Print how long a fit takes, and the largest memory of the process."""
    rows, _ = draw(m, 1000, "t5", np.random.default_rng(0))
    learner = NonGaussianBNLearner(n_jobs=2, time_limit=3600.0)
    learner.fit(rows[:, :6])
    begin = time.perf_counter()
    learner.fit(rows)
    seconds = time.perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{m} columns: {seconds:.1f} s, {peak:.2f} GB")


def main():
    """Compare, or time a fit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=20)
    parser.add_argument("--rows", type=int, nargs="+", default=[200, 500, 2000])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--columns", type=int, nargs="+", default=[])
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    for m in given.columns:
        time_fit(m)
    if not given.columns:
        compare(given.tables, given.rows, given.seed)


if __name__ == "__main__":
    main()
