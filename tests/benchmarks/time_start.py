"""Time imports, compilation and the fit of a small table.

    python tests/benchmarks/time_start.py [--repeats 7]

An import is timed as a whole process, and the least of several runs is printed. The first fits are
those of two new processes: one with an empty cache for numba, and one with the cache that the first
left. So are the first posteriors and the first samples from them.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time

FIRST_FIT = """
import time
import numpy as np
from skbn import GaussianBNLearner

rows = np.random.default_rng(0).normal(size=(100, 8))
times = []
for _ in range(50):
    start = time.perf_counter()
    GaussianBNLearner().fit(rows)
    times.append(time.perf_counter() - start)
print(times[0], np.median(times[1:]))
"""
FIRST_POSTERIOR = """
import time
import numpy as np
from skbn import GaussianBNPosterior

rows = np.random.default_rng(0).normal(size=(100, 8))
start = time.perf_counter()
posterior = GaussianBNPosterior(structure_prior={prior!r}).fit(rows)
fitted = time.perf_counter()
posterior.sample_dags()
print(fitted - start, time.perf_counter() - fitted)
"""
IMPORTS = ["import sklearn, numba", "import skbn", "from skbn import GaussianBNLearner"]


def run(program: str, **environment: str) -> tuple[float, str]:
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return time.perf_counter() - start, done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7, help="runs of each import")
    repeats = parser.parse_args().repeats
    nothing = min(run("pass")[0] for _ in range(repeats))
    times = {program: [] for program in IMPORTS}
    for _ in range(repeats):
        for program in IMPORTS:
            times[program].append(run(program)[0] - nothing)
    base = min(times[IMPORTS[0]])
    for program in IMPORTS:
        print(f"{program:36} {min(times[program]):7.3f} s {min(times[program]) / base:6.2f}")
    with tempfile.TemporaryDirectory() as folder:
        for label in ("first fit, nothing compiled", "first fit of a new process"):
            first, warm = map(float, run(FIRST_FIT, NUMBA_CACHE_DIR=folder)[1].split())
            print(f"{label:36} {first:7.3f} s")
    print(f"{'fit of 8 columns, median':36} {warm:7.4f} s")
    for prior in ("order", "uniform"):
        with tempfile.TemporaryDirectory() as folder:
            for label in ("nothing compiled", "new process"):
                program = FIRST_POSTERIOR.format(prior=prior)
                fit, samples = map(float, run(program, NUMBA_CACHE_DIR=folder)[1].split())
                label = f"first {prior} posterior, {label}"
                print(f"{label:42} {fit:7.3f} s, samples {samples:.3f} s")


if __name__ == "__main__":
    main()
