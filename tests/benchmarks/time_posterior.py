"""Time posteriors beside the search for the best network, in the same run.

    python tests/benchmarks/time_posterior.py order 20 22 24 26
    python tests/benchmarks/time_posterior.py uniform 13 18 20 22

Each line is a random sparse network with 1,000 rows: the seconds of GaussianBNLearner.fit with
BGe, of GaussianBNPosterior.fit and of 1,000 samples, and the highest memory of the process so far.
"""

import argparse
import resource
import time

from skbn import GaussianBNLearner, GaussianBNPosterior
from skbn.datasets import make_gaussian_network


def seconds(function, argument, repeats):
    """Return the least processor time and the least wall time of a function."""
    times = []
    for _ in range(repeats):
        start = time.process_time(), time.perf_counter()
        function(argument)
        times.append((time.process_time() - start[0], time.perf_counter() - start[1]))
    return tuple(map(min, zip(*times, strict=True)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("prior", choices=["order", "uniform"])
    parser.add_argument("columns", type=int, nargs="+")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    small = make_gaussian_network(6, n_samples=50, random_state=0)[0]
    GaussianBNLearner("bge").fit(small)
    GaussianBNPosterior(structure_prior=arguments.prior).fit(small).sample_dags()
    print("| columns | learner s | posterior s | ratio | cpu s | 1,000 samples s | peak GB |")
    print("| ---: " * 7 + "|")
    for m in arguments.columns:
        rows = make_gaussian_network(m, n_samples=1000, random_state=m)[0]
        learner = GaussianBNLearner("bge", n_jobs=arguments.jobs)
        posterior = GaussianBNPosterior(structure_prior=arguments.prior, n_jobs=arguments.jobs)
        repeats = arguments.repeats if m < 24 else 1
        _, of_learner = seconds(learner.fit, rows, repeats)
        cpu, of_posterior = seconds(posterior.fit, rows, repeats)
        samples = ""
        if m <= 20:
            samples = f"{seconds(posterior.sample_dags, 1000, repeats)[1]:.3f}"
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        print(
            f"| {m} | {of_learner:.3f} | {of_posterior:.3f} | {of_posterior / of_learner:.1f} "
            f"| {cpu:.3f} | {samples} | {peak:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
