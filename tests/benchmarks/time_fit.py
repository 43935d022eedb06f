"""Time `GaussianBNLearner.fit` and its stages on random sparse networks with 500 rows.

Run ``python tests/benchmarks/time_fit.py 20 22 24``. Each size has its own process, in which
fits with one thread and with two take turns; kernels are compiled before. `floor` is the time
that the search's maxima and sums would take at the rate of ``np.maximum(a, b, out=a)`` on 4,096
numbers on one core, measured between the fits. `growth` is the time of one thread divided by
the time for one column less, if that was timed too. `first` is the first fit, which touches
memory that the process did not have before; the medians leave it out if there are other fits.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from functools import partial
from statistics import median

import numpy as np

WALK = "log-determinants"
STAGES = {
    "fill": WALK,
    "fill_scores": "fill",
    "_transform_tables": "transform",
    "extend_blocks": "recursion",
    "sets_that_reach": "walk back",
}
NAMES = list(STAGES.values())


def rate_of_maxima() -> float:
    """Return how many maxima NumPy takes per second on one core, within its cache."""
    a, b = np.random.default_rng(0).normal(size=(2, 4096))
    times = []
    for _ in range(50):
        start = time.perf_counter()
        for _ in range(200):
            np.maximum(a, b, out=a)
        times.append(time.perf_counter() - start)
    return 200 * 4096 / min(times)


def floor_seconds(m: int) -> float:
    """Return how long the search's maxima and sums take at that rate."""
    return (m * (m - 1) * 2 ** (m - 2) + m * 2 ** (m - 1)) / rate_of_maxima()


def clock_stages() -> dict[str, float]:
    """Start adding up the time of each stage, in the dictionary that is returned."""
    from skbn._core.resources import Threads

    seconds: dict[str, float] = {}
    clocked = Threads.map

    def map_and_clock(self, function, arguments):
        start = time.perf_counter()
        yield from list(clocked(self, function, arguments))
        while isinstance(function, partial):
            function = function.func
        stage = STAGES.get(function.__name__, "rest")
        seconds[stage] = seconds.get(stage, 0.0) + time.perf_counter() - start

    Threads.map = map_and_clock
    return seconds


def run(m: int, repeats: int) -> dict[str, object]:
    from skbn import GaussianBNLearner
    from skbn.datasets import make_gaussian_network

    rng = np.random.default_rng(m)
    GaussianBNLearner().fit(make_gaussian_network(8, n_samples=100, random_state=rng)[0])
    rows = make_gaussian_network(m, n_samples=500, random_state=rng)[0]
    stages = clock_stages()
    times: dict[int, list[float]] = {1: [], 2: []}
    shares: dict[int, list[dict[str, float]]] = {1: [], 2: []}
    floors = []
    for _ in range(repeats):
        floors.append(floor_seconds(m))
        for n_jobs in (1, 2):
            stages.clear()
            start = time.perf_counter()
            GaussianBNLearner(n_jobs=n_jobs).fit(rows)
            seconds = time.perf_counter() - start
            times[n_jobs].append(seconds)
            shares[n_jobs].append({s: stages.get(s, 0.0) for s in NAMES})
    gigabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return {"times": times, "stages": shares, "floor": median(floors), "gigabytes": gigabytes}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("columns", type=int, nargs="+")
    parser.add_argument("--repeats", type=int, default=6)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(run(arguments.columns[0], arguments.repeats)))
        return
    results = {}
    print(
        "| columns | first s | 1 thread s | over floor | growth | 2 threads s | over 1 thread "
        "| peak GB |\n| ---: " + "| ---: " * 7 + "|"
    )
    for m in arguments.columns:
        command = [sys.executable, __file__, str(m), "--one", "--repeats", str(arguments.repeats)]
        done = subprocess.run(command, check=True, capture_output=True)
        results[m] = result = json.loads(done.stdout)
        one, two = (warm(result["times"][n_jobs]) for n_jobs in "12")
        result["one"] = one
        growth = f"{one / results[m - 1]['one']:.2f}" if m - 1 in results else ""
        print(
            f"| {m} | {result['times']['1'][0]:.3f} | {one:.3f} | {one / result['floor']:.2f} | "
            f"{growth} | {two:.3f} | {two / one:.2f} | {result['gigabytes']:.2f} |",
            flush=True,
        )
    print("\n| columns | threads | " + " | ".join(NAMES) + " | rest |")
    print("| ---: " * (len(NAMES) + 3) + "|")
    for m, result in results.items():
        for n_jobs in "12":
            total = warm(result["times"][n_jobs])
            stages = [warm([run[s] for run in result["stages"][n_jobs]]) for s in NAMES]
            cells = " | ".join(f"{s:.3f}" for s in [*stages, total - sum(stages)])
            print(f"| {m} | {n_jobs} | {cells} |")


def warm(values: list[float]) -> float:
    return median(values[1:] or values)


if __name__ == "__main__":
    main()
