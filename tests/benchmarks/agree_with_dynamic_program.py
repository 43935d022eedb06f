"""Search random tables by branch and cut and by the dynamic program, and compare the scores.

    python tests/benchmarks/agree_with_dynamic_program.py 200

Tables have 10 to 25 columns, 200 to 1,000 rows and a mean degree of 1 to 2; families have up to 2,
3 or 4 parents, and are scored by the BIC or the EBIC. Half of the searches know something: tiers,
required or forbidden edges. It prints each table whose scores differ by more than 1e-6 nats, or
whose proof is not finished within the limit, and how many there are.

    python tests/benchmarks/agree_with_dynamic_program.py 300 --all-parent-sets

takes tables of 6 to 16 columns and settings of all kinds (`tests/random_learners.py`), and prices
all parent sets; `--hostile` does so for tables of 5 to 11 columns that are nearly collinear, differ
in scale, or have few rows (`tests/hostile_tables.py`), and counts those that are refused.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skbn import GaussianBNLearner
from skbn._solver import planner
from skbn.datasets import make_gaussian_network
from skbn.exceptions import DataWarning, MaxParentsWarning

sys.path.insert(0, str(Path(__file__).parents[1]))
from branch_and_cut_alone import plan_single_columns
from hostile_tables import hostile_table
from random_learners import random_learner


def draw(rng):
    """Return a table, and the parameters of a learner."""
    m, max_parents = int(rng.integers(10, 26)), int(rng.integers(2, 5))
    rows, network = make_gaussian_network(
        m,
        mean_degree=rng.uniform(1, 2),
        n_samples=int(rng.integers(200, 1001)),
        random_state=rng,
    )
    known = {}
    kind = rng.choice(["nothing", "nothing", "nothing", "tiers", "edges", "edges"])
    if kind == "tiers":
        cut = int(rng.integers(1, m))
        order = rng.permutation(m).tolist()
        known["tiers"] = [order[:cut], order[cut:]]
    elif kind == "edges":
        edges = list(network.dag.edges)
        kept = [edges[i] for i in rng.permutation(len(edges))[:2]]
        pairs = rng.integers(0, m, (6, 2)).tolist()
        known["required_edges"] = kept
        known["forbidden_edges"] = [(a, b) for a, b in pairs if a != b and (a, b) not in kept]
    options = {"criterion": str(rng.choice(["bic", "ebic"])), "max_parents": max_parents, **known}
    return rows, options, {}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("n_tables", type=int, nargs="?", default=200)
    parser.add_argument("--limit", type=float, default=120.0, help="seconds for each proof")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--all-parent-sets", action="store_true")
    parser.add_argument("--hostile", action="store_true")
    arguments = parser.parse_args()
    draw_one = draw
    if arguments.all_parent_sets or arguments.hostile:
        planner.plan_branch_and_cut = lambda *_: None
        draw_one = random_learner
    if arguments.hostile:
        draw_one = lambda rng: (*hostile_table(rng), {})  # noqa: E731
    for category in (ConvergenceWarning, DataWarning, MaxParentsWarning):
        warnings.simplefilter("ignore", category)
    dynamic_programs = planner.ENGINES
    n_different = n_unfinished = n_trees = n_refused = 0
    slowest, start = 0.0, time.monotonic()
    for i in range(arguments.n_tables):
        rows, options, given = draw_one(np.random.default_rng([arguments.seed, i]))
        best = GaussianBNLearner(**options).fit(rows, **given)
        begin = time.monotonic()
        planner.ENGINES = (plan_single_columns,)
        try:
            learner = GaussianBNLearner(**options, time_limit=arguments.limit)
            found = learner.fit(rows, **given)
        except ValueError as error:
            n_refused += 1
            print(i, rows.shape, options, error, flush=True)
            continue
        finally:
            planner.ENGINES = dynamic_programs
        slowest = max(slowest, time.monotonic() - begin)
        n_trees += found.n_nodes_ > 1
        difference = best.network_score_ - found.network_score_
        is_bounded = found.score_bound_ >= best.network_score_ - 1e-6
        if not found.is_optimal_:
            n_unfinished += 1
        if (found.is_optimal_ and abs(difference) > 1e-6) or not is_bounded:
            n_different += 1
        if abs(difference) > 1e-6 or not found.is_optimal_ or not is_bounded:
            print(i, rows.shape, options, difference, found.optimality_gap_, flush=True)
    print(
        f"{arguments.n_tables} tables in {time.monotonic() - start:.0f} s: {n_different} differ or "
        f"have a bound below the optimum, {n_unfinished} not proven within the limit, "
        f"{n_refused} refused; {n_trees} branched; the slowest took {slowest:.1f} s."
    )


if __name__ == "__main__":
    main()
