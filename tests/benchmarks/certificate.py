"""Time the verification of the network found, and the whole fit.

    python tests/benchmarks/certificate.py [most columns]

It fits random sparse networks with one thread, and prints the least processor time of several fits.
"""

from __future__ import annotations

import sys
import time

from skbn import GaussianBNLearner
from skbn._solver import problem
from skbn.datasets import make_gaussian_network

TABLES = [(1000, 8), (1000, 13), (1000, 18), (1000, 20), (1000, 22), (1000, 24), (100_000, 18)]


def main(most_columns: int = 24) -> None:
    """Print a row for each size of table."""
    certify, certificate = problem.certify_network, []

    def timed(*arguments):
        start = time.thread_time()
        losses = certify(*arguments)
        certificate.append(time.thread_time() - start)
        return losses

    problem.certify_network = timed
    print("| rows | columns | fit ms | certificate ms | share |\n" + "| ---: " * 5 + "|")
    for n, m in [(n, m) for n, m in TABLES if m <= most_columns]:
        rows = make_gaussian_network(m, n_samples=n, random_state=m)[0]
        certificate.clear()
        fits = []
        for _ in range(4 if m > 22 else 20):
            start = time.thread_time()
            GaussianBNLearner().fit(rows)
            fits.append(time.thread_time() - start)
        fit, own = min(fits), min(certificate)
        print(f"| {n:,} | {m} | {1e3 * fit:.1f} | {1e3 * own:.2f} | {100 * own / fit:.1f} % |")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
