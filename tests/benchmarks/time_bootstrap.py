"""Time the bootstrap: in all, per resample, and beside a fit of the learner within.

    python tests/benchmarks/time_bootstrap.py wine 13 16 18 20
    python tests/benchmarks/time_bootstrap.py wine 20 --backend loky

A number is a random sparse network of that many columns, with 500 rows. Each line has the least
wall time of the bootstrap, the milliseconds of wall and of processor time for each resample, and
those of `GaussianBNLearner.fit` to the same rows.
"""

import argparse
import time
import warnings

from joblib import parallel_config
from sklearn.datasets import load_wine

from skbn import BootstrapBNLearner, GaussianBNLearner
from skbn.datasets import make_gaussian_network
from skbn.exceptions import DataWarning


def seconds(function, argument, repeats):
    """Return the least wall time of a function, and the processor time of that call."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter(), time.process_time()
        function(argument)
        times.append((time.perf_counter() - start[0], time.process_time() - start[1]))
    return min(times)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tables", nargs="+", help="wine, or a number of columns")
    parser.add_argument("--resamples", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--backend", default="threading")
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", DataWarning)
    bootstrap = BootstrapBNLearner(n_resamples=arguments.resamples, random_state=0)
    print("| table | bootstrap s | ms a resample | cpu ms a resample | ms a fit |")
    print("| ---: " * 5 + "|")
    with parallel_config(arguments.backend, n_jobs=arguments.jobs):
        small = make_gaussian_network(6, n_samples=50, random_state=0)[0]
        BootstrapBNLearner(n_resamples=4, random_state=0).fit(small)  # compiles, starts processes
        for name in arguments.tables:
            is_wine = name == "wine"
            rows = (
                load_wine().data
                if is_wine
                else make_gaussian_network(int(name), n_samples=500, random_state=int(name))[0]
            )
            wall, cpu = seconds(bootstrap.fit, rows, arguments.repeats)
            fit, _ = seconds(GaussianBNLearner(n_jobs=1).fit, rows, 5 * arguments.repeats)
            per_resample = 1e3 / arguments.resamples
            print(
                f"| {name} | {wall:.2f} | {per_resample * wall:.1f} | {per_resample * cpu:.1f} "
                f"| {1e3 * fit:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
