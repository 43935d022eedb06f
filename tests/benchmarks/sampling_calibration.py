"""Whether sampled probabilities are calibrated: of edges of probability p a share p is there.

Tables are drawn from the model that the posterior means: a network from the prior, with these odds
for each edge and no column of more than three parents, by a Markov chain that adds and removes
single edges; parameters and rows as in ``tests/calibration.py``.
"""

import argparse
import sys
import warnings
from pathlib import Path

import networkx as nx
import numpy as np
from sklearn.exceptions import ConvergenceWarning

sys.path.insert(0, str(Path(__file__).parents[1]))

from calibration import draw_network

from skbn import BGe, GaussianBNPosterior

BOUNDS = (0, 0.02, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 0.98, 1)
MAX_PARENTS = 3
SWEEPS = 60


def network_from_prior(m, odds, rng):
    """The parents of each column."""
    dag = nx.DiGraph()
    dag.add_nodes_from(range(m))
    for _ in range(SWEEPS * m * m):
        a, b = rng.choice(m, 2, replace=False).tolist()
        if dag.has_edge(a, b):
            if rng.random() < 1 / odds:
                dag.remove_edge(a, b)
        elif rng.random() < odds and dag.in_degree(b) < MAX_PARENTS and not nx.has_path(dag, b, a):
            dag.add_edge(a, b)
    return [tuple(dag.predecessors(x)) for x in range(m)]


def fitted(rows, odds, seed, options):
    m = rows.shape[1]
    posterior = GaussianBNPosterior(
        BGe(nu=np.zeros(m)),
        method="sampling",
        edge_prior=odds,
        max_parents=MAX_PARENTS,
        n_samples=options.samples,
        n_jobs=options.jobs,
        random_state=seed,
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        posterior.fit(rows)
    return posterior, any(issubclass(each.category, ConvergenceWarning) for each in caught)


def main(options):
    m, odds = options.columns, options.odds / options.columns
    off = ~np.eye(m, dtype=bool)
    counts = np.zeros((options.tables, len(BOUNDS) - 1, 3))
    n_warned = n_edges = 0
    for i in range(options.tables):
        rng = np.random.default_rng(i)
        parents = network_from_prior(m, odds, rng)
        n_edges += sum(map(len, parents))
        network = draw_network(parents, rng)
        rows = network.sample(int(rng.integers(100, 301)), random_state=i)
        rows = np.asarray(rows)
        posterior, warned = fitted(rows, odds, i, options)
        n_warned += warned
        is_edge = np.zeros((m, m))
        for x, own in enumerate(parents):
            is_edge[list(own), x] = 1
        probability = posterior.edge_probabilities_[off]
        place = np.clip(np.digitize(probability, BOUNDS) - 1, 0, len(BOUNDS) - 2)
        for values, column in ((np.ones(len(place)), 0), (probability, 1), (is_edge[off], 2)):
            counts[i, :, column] = np.bincount(place, values, minlength=len(BOUNDS) - 1)
    print(
        f"{options.tables} tables of {m} columns and {n_edges / options.tables:.1f} edges; chains "
        f"disagreed in {n_warned}"
    )
    print("probability   edges    mean   share there   standard error")
    for b in range(len(BOUNDS) - 1):
        n, of_probability, there = counts[:, b].sum(axis=0)
        if n:
            apart = counts[:, b, 2] - counts[:, b, 1]
            error = np.sqrt((apart**2).sum()) / n
            print(
                f"{BOUNDS[b]:4g} to {BOUNDS[b + 1]:4g} {n:7.0f} {of_probability / n:8.4f} "
                f"{there / n:11.4f} {error:14.4f}"
            )
    if options.long:
        rng = np.random.default_rng(0)
        network = draw_network(network_from_prior(m, odds, rng), rng)
        rows = np.asarray(network.sample(200, random_state=0))
        many = argparse.Namespace(**{**vars(options), "samples": options.long})
        reference, _ = fitted(rows, odds, 1000, many)
        scores = []
        for seed in range(options.seeds):
            short, _ = fitted(rows, odds, seed, options)
            error = np.hypot(short.edge_standard_errors_, reference.edge_standard_errors_)
            apart = short.edge_probabilities_ - reference.edge_probabilities_
            scores.append((apart / np.maximum(error, 1e-12))[short.edge_standard_errors_ > 2e-3])
        z = np.concatenate(scores)
        print(
            f"{options.seeds} fits against one of {options.long:,} states a chain: differences in "
            f"standard errors have mean {z.mean():.2f}, standard deviation {z.std():.2f}; "
            f"{(np.abs(z) > 2).mean():.1%} are beyond 2 and {(np.abs(z) > 3).mean():.1%} beyond 3"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=50)
    parser.add_argument("--columns", type=int, default=40)
    parser.add_argument("--odds", type=float, default=2.0, help="of an edge, times the columns")
    parser.add_argument("--samples", type=int, default=500, help="states of each chain")
    parser.add_argument("--long", type=int, default=0, help="states of a chain to compare with")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=1)
    main(parser.parse_args())
