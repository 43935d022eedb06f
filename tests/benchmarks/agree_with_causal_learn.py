"""Compare the optimum with that of causal-learn's exact search.

Run with ``pip install -e .[test,compare]`` and
``python tests/benchmarks/agree_with_causal_learn.py``.

causal-learn minimises the sum over the columns of ``n log(RSS / n) + l log(n)``. Our BIC is
-1/2 times this sum plus terms that are the same for all networks, so both have the same best
networks. The networks of causal-learn are scored here by least squares.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
from causallearn.search.ScoreBased.ExactSearch import bic_exact_search
from sklearn.datasets import load_diabetes, load_wine

from skbn import GaussianBNLearner
from skbn.datasets import make_gaussian_network

sys.path.insert(0, str(Path(__file__).parents[1]))
import reference

N_RANDOM = 20


def tables():
    yield "wine", load_wine().data
    diabetes = load_diabetes()
    yield "diabetes + target", np.column_stack([diabetes.data, diabetes.target])
    rng = np.random.default_rng(0)
    for i in range(N_RANDOM):
        m = int(rng.integers(8, 13))
        yield (
            f"random {i}, {m} columns",
            make_gaussian_network(m, n_samples=300, random_state=rng)[0],
        )


def causal_learn_score(rows, adjacency):
    """Return our BIC of a network that causal-learn found, and the parents of each column."""
    n, m = rows.shape
    parents = [np.flatnonzero(adjacency[:, x]) for x in range(m)]
    rss = [reference.regression(rows, x, ps)[2] for x, ps in enumerate(parents)]
    minimised = sum(
        n * np.log(r / n) + len(ps) * np.log(n) for r, ps in zip(rss, parents, strict=True)
    )
    constant = -m * (n / 2 * (np.log(2 * np.pi) + 1) + np.log(n))
    return -minimised / 2 + constant, parents


def main() -> int:
    failures = 0
    print(f"{'table':<22} {'skbn':>14} {'causal-learn':>14} {'difference':>11} class  seconds")
    for name, rows in tables():
        start = time.perf_counter()
        # causal-learn's regressions have no intercept, and least squares in them drops small
        # singular values: so the columns are centred and scaled.
        scaled = (rows - rows.mean(axis=0)) / rows.std(axis=0)
        adjacency, _ = bic_exact_search(scaled, search_method="dp")
        seconds = time.perf_counter() - start
        theirs, parents = causal_learn_score(rows, adjacency)
        learner = GaussianBNLearner().fit(rows)
        difference = learner.network_score_ - theirs
        own = [tuple(sorted(learner.dag_.predecessors(x))) for x in range(rows.shape[1])]
        same = reference.equivalence_class(own) == reference.equivalence_class(
            [tuple(int(p) for p in ps) for ps in parents]
        )
        agrees = abs(difference) < 1e-6
        failures += not agrees
        print(
            f"{name:<22} {learner.network_score_:14.6f} {theirs:14.6f} {difference:11.1e} "
            f"{'same' if same else 'OTHER':<6} {seconds:7.1f}{'' if agrees else '  DISAGREES'}",
            flush=True,
        )
    print(f"{failures} disagreements")
    return failures


if __name__ == "__main__":
    sys.exit(main())
