"""Time `LocalScoreTransformer.partial_fit` on ten million rows, and compare with one table.

    python tests/benchmarks/chunks.py [rows] [columns] [rows of a chunk]

Each chunk is drawn from a random network when it is needed, with its number as the seed, so the
whole table is never in memory. Then, for comparison, all chunks are drawn again into one table,
which is fitted as a whole.
"""

import resource
import sys
import time

import numpy as np

from skbn import GaussianBNLearner, LocalScoreTransformer


def weights(m):
    """Draw the weights of a network in which each column depends on up to three before it."""
    rng = np.random.default_rng(0)
    coef = np.zeros((m, m))
    for child in range(1, m):
        parents = rng.choice(child, size=min(child, 3), replace=False)
        coef[parents, child] = rng.normal(size=len(parents))
    return coef


def chunk(number, n, coef):
    rng = np.random.default_rng(number)
    rows = rng.normal(size=(n, len(coef)))
    for child in range(1, len(coef)):
        rows[:, child] += rows[:, :child] @ coef[:child, child]
    return rows + 100.0


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def main(n_rows, m, n_a_chunk):
    coef = weights(m)
    n_chunks = n_rows // n_a_chunk
    GaussianBNLearner().fit(chunk(0, 1000, coef))  # compiles the kernels
    before = peak()
    transformer, times = LocalScoreTransformer(), []
    for number in range(n_chunks):
        rows = chunk(number, n_a_chunk, coef)
        start = time.perf_counter()
        transformer.partial_fit(rows)
        times.append(time.perf_counter() - start)
    start = time.perf_counter()
    learner = GaussianBNLearner().fit(transformer.local_scores_)
    score = learner.network_score_
    print(f"{n_chunks} chunks of {n_a_chunk:,} rows, {m} columns")
    print(f"  a chunk {np.median(times):.3f} s (median; {sum(times):.1f} s in all)")
    print(f"  the search {time.perf_counter() - start:.2f} s")
    print(f"  peak memory {peak():.2f} GB, of which {before:.2f} GB before the first chunk")

    table = np.vstack([chunk(number, n_a_chunk, coef) for number in range(n_chunks)])
    start = time.perf_counter()
    whole = GaussianBNLearner().fit(table)
    print(
        f"the whole table of {table.nbytes / 1e9:.1f} GB: fit {time.perf_counter() - start:.1f} s"
    )
    print(f"  peak memory {peak():.2f} GB")
    same = set(whole.dag_.edges) == set(learner.dag_.edges)
    print(f"  the same {whole.dag_.number_of_edges()} edges: {same}")
    print(
        f"  score {score:.6f} against {whole.network_score_:.6f}, relative difference "
        f"{abs(score / whole.network_score_ - 1):.1e}"
    )
    difference = np.abs(whole.network_.coef_ - learner.network_.coef_).max()
    print(f"  largest difference of a weight {difference:.1e}")


if __name__ == "__main__":
    defaults = [10**7, 20, 10**5]
    given = [int(argument) for argument in sys.argv[1:]]
    main(*(given + defaults[len(given) :]))
