"""Find unknown targets of environments: how many are found, how probable they are, and how long.

Run ``python tests/benchmarks/targets.py``. It prints three tables.

- *Found*: random networks of 10 columns with two neighbours each on average, and a reference and
  five environments with 20, 40, 100 or 500 rows each. Each environment changed two nodes: if soft,
  all their coefficients are drawn again, and the intercept and the noise's standard deviation; if
  hard, they have no parents. By the kind and the rows: of 10 targets, how many are found, missed
  and false, by the BIC and by posterior probabilities above 1/2 with prior odds of 1/4, and the
  distance to the true network's class.
- *Calibration*: tables of 5 columns and four environments of 10 to 30 rows, whose network, targets
  and parameters are drawn from the prior of the posterior, with odds of 1/2 of a target. By bins of
  the probability: how many targets, their mean probability, the share that are targets, and by how
  many standard errors the share is off; these are by the spread among tables.
- *Seconds* of a fit, the least of three.

With ``--sachs FOLDER`` it prints the targets of the nine conditions of Sachs et al. (2005) instead.
Their files are those of benchpress, ``resources/data/mydatasets/2005_sachs/[1-9]_*.csv``.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
import reference
from calibration import draw_network

from skbn import BGe, GaussianBayesianNetwork, GaussianBNLearner, GaussianBNPosterior
from skbn.datasets import make_gaussian_network

KINDS = ("soft", "hard")
N_ENVIRONMENTS, N_TARGETS, ODDS = 6, 2, 0.25
BOUNDS = np.linspace(0, 1, 11)
SIZES = ((10, 6), (20, 6), (22, 6), (11, 9))


def changed(network, targets, kind, draw):
    """Return a network in which some nodes have other mechanisms, as `draw` makes them."""
    dag = network.dag
    for x in targets:
        if kind == "hard":
            dag.remove_edges_from([*dag.in_edges(x)])
        draw(dag, x)
    return GaussianBayesianNetwork(dag)


def experiment(m, n, kind, n_environments, rng):
    """Return a true network, rows, the environment of each, and the targets of each."""
    network = make_gaussian_network(m, mean_degree=2, weight_range=(0.4, 1), random_state=rng)

    def draw(dag, x):
        for edge in dag.in_edges(x):
            dag.edges[edge]["weight"] = rng.choice([-1, 1]) * rng.uniform(0.4, 1)
        sd = rng.uniform(0.5, 2) * np.sqrt(dag.nodes[x]["noise_variance"])
        dag.nodes[x].update(intercept=rng.normal(), noise_variance=sd**2)

    targets = {
        e: {*rng.choice(m, N_TARGETS, replace=False).tolist()} for e in range(1, n_environments)
    }
    parts = [network.sample(n, rng)]
    parts += [changed(network, own, kind, draw).sample(n, rng) for own in targets.values()]
    return network, np.vstack(parts), np.repeat(np.arange(n_environments), n), targets


def found_targets(n_tables, rows, rng):
    """Print how many targets are found, by kinds and rows."""
    print("\nkind  rows   BIC: found  missed  false  distance   posterior: found  missed  false")
    for kind in KINDS:
        for n in rows:
            counts = np.zeros((n_tables, 7))
            for counted in counts:
                network, X, labels, truth = experiment(10, n, kind, N_ENVIRONMENTS, rng)
                learner = GaussianBNLearner(targets=kind).fit(X, environments=labels)
                posterior = GaussianBNPosterior(targets=kind, target_prior=ODDS)
                posterior.fit((X - X.mean(axis=0)) / X.std(axis=0), environments=labels)
                probable = posterior.target_probabilities_ > 0.5
                by_posterior = {e: {*np.flatnonzero(probable[e - 1]).tolist()} for e in truth}
                of_learner = {e: {*own} for e, own in learner.targets_.items()}
                targets = [tuple(own) for own in truth.values()]
                distance = learner.network_.compare(network, targets=targets).cpdag_distance
                counted[:] = [
                    *compared(truth, of_learner),
                    distance,
                    *compared(truth, by_posterior),
                ]
            found, missed, false, distance, *others = counts.mean(axis=0)
            print(
                f"{kind}  {n:4}   {found:10.1f}  {missed:6.1f}  {false:5.1f}  {distance:8.1f}   "
                f"{others[0]:16.1f}  {others[1]:6.1f}  {others[2]:5.1f}",
                flush=True,
            )


def compared(truth, found):
    """Return how many targets are found, missed and false."""
    pairs = [(own, found[e]) for e, own in truth.items()]
    return np.sum([[len(a & b), len(a - b), len(b - a)] for a, b in pairs], axis=0)


def calibration(n_tables, kinds, rng):
    """Print how often targets of some probability are there."""
    m, n_environments, odds = 5, 4, 0.5
    graphs = reference.all_dags(m)
    for kind in kinds:
        bins = np.zeros((n_tables, 3, len(BOUNDS) - 1))
        for own_bins in bins:
            parents = graphs[rng.integers(len(graphs))]
            is_target = rng.random((n_environments - 1, m)) < odds / (1 + odds)
            network, parts = draw_network(parents, rng), []

            def draw(dag, x, kind=kind, parents=parents):
                of_x = [own if v == x and kind == "soft" else () for v, own in enumerate(parents)]
                drawn = draw_network(of_x, rng).dag
                dag.nodes[x].update(drawn.nodes[x])
                for edge in drawn.in_edges(x):
                    dag.edges[edge].update(drawn.edges[edge])

            for own in [np.zeros(m, dtype=bool), *is_target]:
                there = changed(network, np.flatnonzero(own).tolist(), kind, draw)
                parts.append(there.sample(rng.integers(10, 31), rng))
            labels = np.repeat(np.arange(n_environments), [len(part) for part in parts])
            posterior = GaussianBNPosterior(BGe(nu=np.zeros(m)), targets=kind, target_prior=odds)
            posterior.fit(np.vstack(parts), environments=labels)
            p = posterior.target_probabilities_.ravel()
            place = np.searchsorted(BOUNDS[1:-1], p, side="right")
            own_bins[:] = [
                np.bincount(place, each, len(BOUNDS) - 1)
                for each in (np.ones_like(p), p, is_target.ravel())
            ]
        print(f"\n{kind}  probability   targets   mean  share  standard errors off")
        number, total, there = bins.sum(axis=0)
        error = np.sqrt(n_tables) * (bins[:, 2] - bins[:, 1]).std(axis=0, ddof=1)
        for i, (low, high) in enumerate(pairwise(BOUNDS)):
            off = (there[i] - total[i]) / error[i]
            print(
                f"      {low:.1f} to {high:.1f}    {number[i]:7.0f}  {total[i] / number[i]:.3f}  "
                f"{there[i] / number[i]:.3f}  {off:19.1f}",
                flush=True,
            )


def seconds(sizes, rng):
    """Print how long fits take."""
    print("\ncolumns  environments    soft    hard")
    for m, n_environments in sizes:
        times = []
        for kind in KINDS:
            _, X, labels, _ = experiment(m, 300, kind, n_environments, rng)
            learner, taken = GaussianBNLearner(targets=kind), []
            for _ in range(4):  # the first may compile
                start = time.perf_counter()
                learner.fit(X, environments=labels)
                taken.append(time.perf_counter() - start)
            times.append(min(taken[1:]))
        print(f"{m:7}  {n_environments:12}  {times[0]:6.3f}  {times[1]:6.3f}", flush=True)


def sachs(folder):
    """Print the targets of the conditions of Sachs et al. (2005), with their losses."""
    paths = sorted(Path(folder).glob("[1-9]_*.csv"))
    tables = [np.log(np.loadtxt(path, delimiter=",", skiprows=1)) for path in paths]
    names = paths[0].read_text(encoding="utf-8").splitlines()[0].replace('"', "").split(",")
    labels = np.repeat([path.stem for path in paths], [len(table) for table in tables])
    learner, start = GaussianBNLearner(targets="hard"), time.perf_counter()
    learner.fit(np.vstack(tables), environments=labels)
    print(f"{time.perf_counter() - start:.2f} s, {learner.dag_.number_of_edges()} edges")
    for environment, rows in learner.targets_.to_frame().groupby("environment", sort=False):
        of_each = zip(rows["node"], rows["score_loss"], strict=True)
        print(environment, ", ".join(f"{names[x]} {loss:.0f}" for x, loss in of_each))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tables", type=int, default=50, help="how many of each kind and size")
    parser.add_argument("--rows", type=int, nargs="*", default=[20, 40, 100, 500])
    parser.add_argument("--calibration", type=int, default=200, help="how many tables")
    parser.add_argument("--kinds", nargs="*", default=KINDS, help="of the calibration")
    parser.add_argument("--seed", type=int, default=1, help="of the calibration")
    parser.add_argument("--sizes", type=int, default=len(SIZES), help="how many to time")
    parser.add_argument("--sachs", help="a folder with the nine files: print their targets only")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.sachs is not None:
        sachs(arguments.sachs)
        return
    if arguments.tables:
        found_targets(arguments.tables, arguments.rows, np.random.default_rng(0))
    calibration(arguments.calibration, arguments.kinds, np.random.default_rng(arguments.seed))
    seconds(SIZES[: arguments.sizes], np.random.default_rng(2))


if __name__ == "__main__":
    main()
