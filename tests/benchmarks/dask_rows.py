"""Time a fit to a dask array that is larger than memory, block by block.

    python tests/benchmarks/dask_rows.py [--rows N] [--columns M] [--block N] [--threads N]

The rows are drawn from a random network in the tasks that summarise them, so that only one block
for each thread is in memory. Then a learner is fitted to some of the blocks in memory, and to the
same blocks as a dask array, to compare the two.
"""

import argparse
import resource
import time

import dask
import dask.array as da
import numpy as np
from threadpoolctl import threadpool_limits

from skbn import GaussianBNLearner, LocalScoreTransformer


def random_network(m):
    """Draw what noise is multiplied by: each column depends on up to three before it."""
    rng = np.random.default_rng(0)
    coef = np.zeros((m, m))
    for child in range(1, m):
        parents = rng.choice(child, size=min(child, 3), replace=False)
        coef[parents, child] = rng.normal(size=len(parents))
    return np.linalg.inv(np.eye(m) - coef)


def table(n, m, n_a_block):
    noise = da.random.default_rng(0).normal(size=(n, m), chunks=(n_a_block, m))
    mixing = random_network(m)

    def mixed(block):
        rows = block @ mixing
        rows += 100.0
        return rows

    return noise.map_blocks(mixed, dtype=float)


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def main(n, m, n_a_block, n_threads):
    GaussianBNLearner().fit(table(1000, m, 100))  # compiles the kernels
    X = table(n, m, n_a_block)
    few = X[: min(n, 2 * n_threads * n_a_block)]
    before = peak()
    with dask.config.set(scheduler="threads", num_workers=n_threads):
        start = time.perf_counter()
        transformer = LocalScoreTransformer().fit(X)
        seconds = time.perf_counter() - start
        after = peak()
        start = time.perf_counter()
        with threadpool_limits(1):  # as in fit
            dask.compute(few.map_blocks(lambda block: block[:1], dtype=float))
        drawing = (time.perf_counter() - start) / few.numblocks[0]
        start = time.perf_counter()
        learner = GaussianBNLearner().fit(transformer.local_scores_)
        search = time.perf_counter() - start
        n_blocks = X.numblocks[0]
        print(f"{n:,} rows x {m} columns, {X.nbytes / 1e9:.1f} GB in {n_blocks} blocks")
        print(f"  {n_threads} threads: {seconds:.1f} s, {seconds / n_blocks:.3f} s a block,")
        print(f"  where drawing its rows alone takes {drawing:.3f} s; the search {search:.2f} s")
        print(f"  {learner.dag_.number_of_edges()} edges, score {learner.network_score_:.6f}")
        print(f"  peak memory {after:.2f} GB, of which {before:.2f} GB before the first block")
        by_block = GaussianBNLearner().fit(few)
        in_memory = GaussianBNLearner().fit(few.compute())
    print(f"{len(few):,} rows in memory:")
    print(f"  the same edges: {set(by_block.dag_.edges) == set(in_memory.dag_.edges)}")
    print(
        "  relative difference of the scores "
        f"{abs(by_block.network_score_ / in_memory.network_score_ - 1):.1e}"
    )
    difference = np.abs(by_block.network_.coef_ - in_memory.network_.coef_).max()
    print(f"  largest difference of a weight {difference:.1e}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10**8)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--block", type=int, default=10**6)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    main(given.rows, given.columns, given.block, given.threads)
