"""Learn networks of simulated tables with numbers and categories, in four ways.

Run ``python tests/benchmarks/mixed_tables.py``. The true networks have 8 nodes, half of them
categories of two to four levels with a logistic model each; numbers are linear in their parents,
with an effect for each level. For each way it prints the mean F1 of the skeleton and of the
arrowheads of the CPDAG, and the structural Hamming distance of CPDAGs, to the true network:

- categories as nodes, the exact optimum of the degenerate Gaussian BIC (``nodes="auto"``),
- the categories' codes as numbers, exact,
- without the categories, exact,
- pgmpy's hill climbing by a conditional Gaussian BIC, on the first ``--pgmpy`` tables.

With ``--nonlinear``, all nodes are numbers, whose effects are quadratic, sines and tanh (or linear,
for comparison), and the ways are

- linear: each column as it is,
- cubic: Legendre polynomials of degree 3 of each column as a node,
- normal scores: the same of the ranks' normal scores, with penalty 2.
"""

from __future__ import annotations

import argparse
import warnings
from statistics import mean

import networkx as nx
import numpy as np
import pandas as pd
from numpy.polynomial.legendre import legvander
from sklearn.preprocessing import QuantileTransformer

from skbn import GaussianBayesianNetwork, GaussianBNLearner

M = 8
NAMES = [f"v{i}" for i in range(M)]


def random_dag(rng, degree):
    """Return the matrix of edges of a random order, with this mean number of neighbours."""
    order = rng.permutation(M)
    edges = np.triu(rng.random((M, M)) < degree / (M - 1), 1)
    return edges[np.ix_(np.argsort(order), np.argsort(order))], order


def mixed(n, rng):
    while True:
        edges, order = random_dag(rng, 3)
        is_category = rng.random(M) < 0.5
        if 1 < is_category.sum() < M - 1 and edges.sum() >= M // 2:
            break
    columns = [None] * M
    for x in order:
        parents = np.flatnonzero(edges[:, x])
        if is_category[x]:
            k = int(rng.integers(2, 5))
            logits = np.tile(rng.normal(0, 0.3, k), (n, 1))
            for p in parents:
                if is_category[p]:
                    logits += rng.normal(0, 1.2, (columns[p].max() + 1, k))[columns[p]]
                else:
                    slopes = rng.uniform(0.6, 1.5, k) * rng.choice([-1, 1])
                    slopes[1:] *= -1 if k == 2 else rng.choice([-1, 1], k - 1)
                    logits += columns[p][:, np.newaxis] * slopes
            drawn = (logits + rng.gumbel(size=(n, k))).argmax(axis=1)
            columns[x] = np.unique(drawn, return_inverse=True)[1]
        else:
            y = rng.normal(size=n)
            for p in parents:
                if is_category[p]:
                    y += rng.normal(0, 0.9, columns[p].max() + 1)[columns[p]]
                else:
                    y += rng.uniform(0.4, 1) * rng.choice([-1, 1]) * columns[p]
            columns[x] = (y - y.mean()) / y.std()
    table = pd.DataFrame(dict(zip(NAMES, columns, strict=True)))
    for i in np.flatnonzero(is_category):
        table[NAMES[i]] = pd.Categorical(table[NAMES[i]])
    return edges, table


def nonlinear(n, rng, is_linear):
    while True:
        edges, order = random_dag(rng, 2.5)
        if edges.sum() >= M // 2:
            break
    X = np.zeros((n, M))
    for x in order:
        y = rng.normal(0, rng.uniform(0.6, 1), n)
        for p in np.flatnonzero(edges[:, x]):
            z, sign = X[:, p], rng.choice([-1, 1])
            kind = "linear" if is_linear else rng.choice(["quadratic", "sine", "tanh"])
            if kind == "linear":
                y += sign * rng.uniform(0.5, 1) * z
            elif kind == "quadratic":
                y += sign * 0.7 * ((z - rng.uniform(-0.5, 0.5)) ** 2 - 1)
            elif kind == "sine":
                y += sign * 1.2 * np.sin(rng.uniform(1.5, 2.5) * z + rng.uniform(0, 1))
            else:
                y += sign * 1.2 * np.tanh(2 * z)
        X[:, x] = (y - y.mean()) / y.std()
    return edges, pd.DataFrame(X, columns=NAMES)


def learned(table, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return GaussianBNLearner(**settings).fit(table).dag_


def by_codes(table):
    return learned(table.apply(lambda column: column.astype(float)))


def without_categories(table):
    dag = nx.DiGraph()
    dag.add_nodes_from(NAMES)
    dag.add_edges_from(learned(table.select_dtypes("number")).edges)
    return dag


def by_pgmpy(table):
    from pgmpy.estimators import HillClimbSearch

    found = HillClimbSearch(table).estimate(scoring_method="bic-cg", show_progress=False)
    dag = nx.DiGraph()
    dag.add_nodes_from(NAMES)
    dag.add_edges_from(found.edges)
    return dag


def polynomials(columns):
    """Return a table of Legendre polynomials of each column, and the nodes that they are."""
    parts, nodes = {}, {}
    for name, z in columns.items():
        unit = 2 * (z - z.min()) / np.ptp(z) - 1
        nodes[name] = [f"{name}_{d}" for d in (1, 2, 3)]
        parts |= dict(zip(nodes[name], legvander(unit, 3)[:, 1:].T, strict=True))
    return pd.DataFrame(parts), nodes


def by_cubic(table):
    expanded, nodes = polynomials({name: table[name].to_numpy() for name in NAMES})
    return learned(expanded, nodes=nodes)


def by_normal_scores(table):
    n_quantiles = min(1000, len(table))
    scores = QuantileTransformer(output_distribution="normal", n_quantiles=n_quantiles)
    normal = np.clip(scores.fit_transform(table), -3, 3)
    expanded, nodes = polynomials(dict(zip(NAMES, normal.T, strict=True)))
    return learned(expanded, nodes=nodes, penalty=2.0)


def f1(right, found, true):
    return 1.0 if found + true == 0 else 2 * right / (found + true)


def compared(edges, dag):
    """Return F1 of the skeleton and of the CPDAG's arrowheads, and the distance of CPDAGs."""
    true = nx.DiGraph()
    true.add_nodes_from(NAMES)
    true.add_edges_from((NAMES[i], NAMES[j]) for i, j in np.argwhere(edges))
    truth, found = GaussianBayesianNetwork(true), GaussianBayesianNetwork(dag)
    sides = []
    for network in (truth, found):
        pattern = network.cpdag(knowledge=False)
        arrows = {(a, b) for a, b, is_open in pattern.edges(data="undirected") if not is_open}
        sides.append(({frozenset(edge) for edge in pattern.edges}, arrows))
    scores = [f1(len(a & b), len(b), len(a)) for a, b in zip(*sides, strict=True)]
    return (*scores, truth.compare(found).cpdag_distance)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tables", type=int, default=60)
    parser.add_argument("--rows", type=int, nargs="+", default=[500, 2000])
    parser.add_argument("--pgmpy", type=int, default=5)
    parser.add_argument("--nonlinear", action="store_true")
    settings = parser.parse_args()
    mixed_ways = {
        "categories as nodes": lambda table: learned(table, nodes="auto"),
        "codes as numbers": by_codes,
        "without the categories": without_categories,
        "pgmpy": by_pgmpy,
    }
    curved_ways = {"linear": learned, "cubic": by_cubic, "normal scores": by_normal_scores}
    cases = [("mixed", mixed, mixed_ways)]
    if settings.nonlinear:
        cases = [
            ("nonlinear", lambda n, rng: nonlinear(n, rng, False), curved_ways),
            ("linear", lambda n, rng: nonlinear(n, rng, True), curved_ways),
        ]
    for truth, simulate, ways in cases:
        for n in settings.rows:
            print(f"{truth}, {n} rows: skeleton F1, arrowhead F1, distance of CPDAGs, tables")
            for name, learn in ways.items():
                n_tables = min(settings.tables, settings.pgmpy if name == "pgmpy" else 1 << 30)
                results = []
                for seed in range(n_tables):
                    edges, table = simulate(n, np.random.default_rng(seed))
                    results.append(compared(edges, learn(table)))
                if results:
                    means = [mean(each) for each in zip(*results, strict=True)]
                    print(f"  {name:24}", *(f"{v:7.3f}" for v in means), n_tables, flush=True)


if __name__ == "__main__":
    main()
