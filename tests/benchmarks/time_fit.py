"""Time `GaussianBNLearner.fit` on random sparse networks, each size in a process of its own.

Run ``python tests/benchmarks/time_fit.py 16 20 24``, or with ``--breast-cancer`` on the
first columns of scikit-learn's breast-cancer data, of which there are 30. Kernels are
compiled before the clock starts. `floor` is the time that the search's maxima and
sums would take at the rate of ``np.maximum(a, b, out=a)`` on 4,096 numbers, on one
core.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer

sys.path.insert(0, str(Path(__file__).parents[1]))
import reference


def rate_of_maxima() -> float:
    a, b = np.random.default_rng(0).normal(size=(2, 4096))
    times = []
    for _ in range(50):
        start = time.perf_counter()
        for _ in range(200):
            np.maximum(a, b, out=a)
        times.append(time.perf_counter() - start)
    return 200 * 4096 / min(times)


def run(m: int, n_jobs: int, repeats: int, breast_cancer: bool) -> None:
    from skbn import GaussianBNLearner

    rng = np.random.default_rng(m)
    GaussianBNLearner().fit(reference.random_network_rows(rng, 8, 100))
    rows = (
        load_breast_cancer().data[:, :m]
        if breast_cancer
        else reference.random_network_rows(rng, m, 500)
    )
    learner = GaussianBNLearner(n_jobs=n_jobs)
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        learner.fit(rows)
        times.append(time.perf_counter() - start)
    operations = m * (m - 1) * 2 ** (m - 2) + m * 2 ** (m - 1)
    floor = operations / rate_of_maxima()
    gigabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(
        f"{m:7} {n_jobs:6} {times[0]:9.3f} {min(times):9.3f} {np.median(times):9.3f} "
        f"{floor:9.3f} {np.median(times) / floor:7.2f} {gigabytes:9.2f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("columns", type=int, nargs="+")
    parser.add_argument("--jobs", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--breast-cancer", action="store_true")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        run(arguments.columns[0], arguments.jobs[0], arguments.repeats, arguments.breast_cancer)
        return
    print("columns n_jobs   first s    best s  median s   floor s   ratio   peak GB", flush=True)
    for m in arguments.columns:
        for n_jobs in arguments.jobs:
            command = [sys.executable, __file__, str(m), "--one", "--jobs", str(n_jobs)]
            command += ["--repeats", str(arguments.repeats)]
            command += ["--breast-cancer"] if arguments.breast_cancer else []
            subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
