"""Time local scores and searches of many columns with few parents.

Run ``python tests/benchmarks/many_columns.py``. Each case has its own process; kernels are
compiled before. The tables are drawn from random networks, with 1,000 rows. Each column has
two parents among all columns before it, and tiers are runs of columns.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time

import numpy as np

CASES = [  # columns, max_parents, columns in a tier (0: local scores only)
    (60, 4, 0),
    (100, 3, 0),
    (60, 4, 15),
    (100, 3, 20),
    (30, None, 15),
]


def random_rows(m: int, n: int = 1000) -> np.ndarray:
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(n, m))
    for j in range(2, m):
        for i in rng.choice(j, 2, replace=False):
            rows[:, j] += rng.uniform(0.3, 1.0) * rows[:, i]
    return rows


def run_case(m: int, max_parents: int | None, tier: int, n_jobs: int) -> dict[str, object]:
    """Return the time, the memory before, the peak memory, and a line about the result."""
    from skbn import GaussianBNLearner, LocalScoreTransformer

    few = random_rows(8, n=6)  # with fewer rows than columns, families are listed
    GaussianBNLearner(max_parents=2).fit(few)
    GaussianBNLearner(tiers=[[0, 1], [2, 3]]).fit(random_rows(4))
    rows = random_rows(m)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    if tier:
        tiers = [range(i, i + tier) for i in range(0, m, tier)]
        learner = GaussianBNLearner(tiers=tiers, max_parents=max_parents, n_jobs=n_jobs).fit(rows)
        found = f"BIC {learner.network_score_:.4f}, {learner.dag_.number_of_edges()} edges"
    else:
        transformer = LocalScoreTransformer(max_parents=max_parents, n_jobs=n_jobs)
        scores = transformer.fit_transform(rows)
        found = f"{scores.n_families:,} families, {scores.log_determinants.nbytes / 1e6:.0f} MB"
    seconds = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"seconds": seconds, "before": before / 1e6, "peak": after / 1e6, "found": found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", type=json.loads, help=argparse.SUPPRESS)
    parser.add_argument("--cases", type=int, default=len(CASES), help="only the first so many")
    arguments = parser.parse_args()
    if arguments.case:
        print(json.dumps(run_case(*arguments.case)))
        return
    print("| columns | max_parents | tiers | threads | seconds | GB before | peak GB | found |")
    print("| ---: | ---: | :--- | ---: | ---: | ---: | ---: | :--- |")
    for m, max_parents, tier in CASES[: arguments.cases]:
        for n_jobs in (1, 2):
            argument = json.dumps([m, max_parents, tier, n_jobs])
            command = [sys.executable, __file__, "--case", argument]
            output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            result = json.loads(output)
            tiers = f"{m // tier} of {tier}" if tier else "-"
            print(
                f"| {m} | {max_parents} | {tiers} | {n_jobs} | {result['seconds']:.2f} "
                f"| {result['before']:.2f} | {result['peak']:.2f} | {result['found']} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
