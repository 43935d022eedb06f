"""Learn networks of tables with missing values, in several ways.

Run ``python tests/benchmarks/missing_values.py``. Holes are made at random (MCAR), or where a
column that is always observed is large (MAR). For each way it prints the means of

- the structural Hamming distance of CPDAGs: to the true network or, for real tables (``--real``),
  to that of the whole table,
- the observed-data BIC less that of ``GaussianBNLearner(missing="em")``: of each network with
  parameters by EM,
- the mean log-likelihood of held-out rows, per row and in nats,
- the root mean square error of the filled values, in standard deviations,
- seconds, without those of that EM.

Ways that fail for a table, as filled columns may be determined by others, are left out there: the
last number is that of the tables. The ways are

- the whole table, before the holes were made,
- the rows without holes, if there are more than twice as many as columns,
- means, and scikit-learn's IterativeImputer, in the holes,
- one search of the rows that EM of the saturated model expects (``LocalScoreTransformer``),
- structural EM that begins with independent columns, as it is usually done,
- ``GaussianBNLearner(missing="em")``.

With ``--four``, it counts how often the best of all 185 classes of four columns is found.

With ``--posterior``, it compares the standard errors of ``GaussianBNPosterior(missing="augment")``
with the standard deviation of the edge probabilities over 20 seeds, as roots of mean squares.
"""

from __future__ import annotations

import argparse
import time
import warnings
from itertools import product

import networkx as nx
import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, SimpleImputer

from skbn import (
    BIC,
    GaussianBayesianNetwork,
    GaussianBNLearner,
    GaussianBNPosterior,
    LocalScoreTransformer,
)
from skbn._core.graphs import parent_masks
from skbn._core.resources import Resources
from skbn._data.sample import Sample
from skbn._missing.em import estimate, saturated, start
from skbn._missing.incomplete_rows import incomplete_rows
from skbn._scores.local_scores import LocalScores
from skbn._solver.constraints import read_constraints
from skbn._solver.solve import problem_of, solve

TOLERANCE = 1e-4


def random_table(m, n, rng, degree=3):
    """Return a random network's graph and rows of it."""
    order = rng.permutation(m)
    graph: nx.DiGraph = nx.DiGraph()
    graph.add_nodes_from(range(m))
    graph.add_edges_from(
        (order[i], order[j]) for j in range(m) for i in range(j) if rng.random() < degree / (m - 1)
    )
    rows = np.zeros((n, m))
    for x in order:
        rows[:, x] = rng.normal(size=n) * rng.uniform(0.7, 1.3)
        for p in graph.predecessors(x):
            rows[:, x] += rows[:, p] * rng.choice([-1, 1]) * rng.uniform(0.3, 1)
    return graph, rows


def with_holes(rows, share, how, rng):
    """Return rows with holes; each row keeps a value."""
    n, m = rows.shape
    chance = np.full((n, m), share)
    if how == "MAR":
        n_kept = max(1, m // 3)
        kept = rng.permutation(m)[:n_kept]
        for j in set(range(m)) - set(kept.tolist()):
            cause = rows[:, rng.choice(kept)]
            drive = 2 * (cause - cause.mean()) / cause.std()
            chance[:, j] = logistic(drive, min(0.9, share * m / (m - n_kept)))
        chance[:, kept] = 0.0
    holes = rng.random((n, m)) < chance
    holes[holes.all(axis=1), 0] = False
    return np.where(holes, np.nan, rows)


def logistic(drive, mean):
    """Return chances that grow with the drive and have this mean."""
    low, high = -20.0, 20.0
    for _ in range(60):
        shift = (low + high) / 2
        low, high = (
            (shift, high) if (1 / (1 + np.exp(-drive - shift))).mean() < mean else (low, shift)
        )
    return 1 / (1 + np.exp(-drive - low))


def observed_bic(rows, graph):
    """Return the observed-data BIC of a graph, with parameters by EM."""
    known = incomplete_rows(rows)
    masks = parent_masks(graph, range(rows.shape[1]))
    found = estimate(known, masks, saturated(known, TOLERANCE), tolerance=TOLERANCE)
    cost = np.log(len(rows)) / 2 * (graph.number_of_edges() + 2 * rows.shape[1])
    return found.log_likelihood - known.log_units() - cost


def usual_structural_em(rows):
    """Return the network of structural EM that begins with independent columns."""
    scores = LocalScores._from_sample(Sample(rows, may_miss=True), BIC(), n_jobs=1)
    m = rows.shape[1]
    problem = problem_of(scores, read_constraints(scores.columns, max_parents=m - 1))
    found, best = start(problem.rows), -np.inf
    network = GaussianBayesianNetwork(nx.empty_graph(m, nx.DiGraph))
    while True:
        expected = problem.expected(found)
        (solution,) = solve(expected, Resources.of_machine(None, n_jobs=1))
        found = problem.estimate(solution.parents, found, TOLERANCE)
        cost = np.log(len(rows)) / 2 * sum(mask.bit_count() for mask in solution.parents)
        if found.log_likelihood - cost < best + TOLERANCE:
            return network
        best = found.log_likelihood - cost
        network = GaussianBayesianNetwork(expected.network(solution.parents).dag)


def learned(rows):
    return GaussianBNLearner(n_jobs=1).fit(rows).network_


def ways(rows, holes):
    """Yield the name of each way, what learns a network, and what fills the holes."""
    m = rows.shape[1]
    complete = holes[~np.isnan(holes).any(axis=1)]
    yield "whole table", lambda: learned(rows), None
    if len(complete) > 2 * m:
        yield "complete rows", lambda: learned(complete), None
    for name, imputer in (
        ("means", SimpleImputer()),
        ("IterativeImputer", IterativeImputer(random_state=0)),
    ):
        yield name, lambda imputer=imputer: learned(imputer.fit_transform(holes)), imputer

    def one_search():
        scores = LocalScoreTransformer(missing="em", n_jobs=1).fit_transform(holes)
        return learned(scores)

    yield "one search", one_search, None
    yield "usual structural EM", lambda: usual_structural_em(holes), None
    yield (
        "missing='em'",
        lambda: GaussianBNLearner(missing="em", n_jobs=1).fit(holes).network_,
        None,
    )


def compared(rows, test, truth, holes):
    """Return the figures of each way."""
    missing = np.isnan(holes)
    found = {}
    for name, learn, imputer in ways(rows, holes):
        begin = time.perf_counter()
        try:
            network = learn()
            seconds = time.perf_counter() - begin
            score = observed_bic(holes, network.dag)
        except ValueError:  # filled columns that others determine; an unbounded likelihood
            continue
        distance = network.compare(truth).cpdag_distance
        filled = network.impute(holes) if imputer is None else imputer.transform(holes)
        error = np.sqrt(((filled - rows)[missing] ** 2).mean())
        found[name] = network, distance, score, network.score(test), error, seconds
    if "missing='em'" not in found:
        return {}
    best = found["missing='em'"][2]
    return {name: (v[1], v[2] - best, *v[3:]) for name, v in found.items()}


def report(title, results):
    print(f"{title}: distance, observed BIC, held-out, error, seconds, tables")
    for name in dict.fromkeys(name for each in results for name in each):
        of_way = np.array([each[name] for each in results if name in each])
        figures = " ".join(f"{value:9.3f}" for value in of_way.mean(axis=0))
        print(f"  {name:20} {figures} {len(of_way):4}", flush=True)


def random_tables(settings):
    for m, how, share in product(settings.columns, settings.how, settings.shares):
        results = []
        for seed in range(settings.tables):
            rng = np.random.default_rng(9000 + seed)
            graph, rows = random_table(m, settings.rows + 1000, rng)
            rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
            table, test = rows[: settings.rows], rows[settings.rows :]
            results.append(compared(table, test, graph, with_holes(table, share, how, rng)))
        report(f"{m} columns, {settings.rows} rows, {how} {share:.0%}", results)


def real_tables(settings):
    tables = {
        "wine": load_wine().data,
        "diabetes": load_diabetes().data,
        "breast cancer, 15 columns": load_breast_cancer().data[:, :15],
    }
    for (name, rows), how, share in product(tables.items(), settings.how, settings.shares):
        results = []
        for seed in range(settings.tables):
            rng = np.random.default_rng(seed)
            order = rng.permutation(len(rows))
            cut = int(0.7 * len(rows))
            scaled = (rows - rows.mean(axis=0)) / rows.std(axis=0)
            table, test = scaled[order[:cut]], scaled[order[cut:]]
            truth = learned(table).dag
            results.append(compared(table, test, truth, with_holes(table, share, how, rng)))
        report(f"{name}, {how} {share:.0%}", results)


def four_columns(settings):
    """Count how often the best of all classes of four columns is found."""
    pairs = [(a, b) for b in range(4) for a in range(b)]
    classes = {}
    for joins in product((None, 1, -1), repeat=6):
        graph = nx.DiGraph([pair[::way] for pair, way in zip(pairs, joins, strict=True) if way])
        graph.add_nodes_from(range(4))
        if nx.is_directed_acyclic_graph(graph):
            edges = GaussianBayesianNetwork(graph).cpdag().edges(data="undirected")
            key = frozenset(frozenset((a, b)) if both else (a, b) for a, b, both in edges)
            classes.setdefault(key, graph)
    gaps = {"one search": [], "usual structural EM": [], "missing='em'": []}
    for seed in range(settings.tables):
        rng = np.random.default_rng(100 + seed)
        _, rows = random_table(4, 100, rng, 2)
        holes = with_holes(rows, 0.3, ("MCAR", "MAR")[seed % 2], rng)
        best = max(observed_bic(holes, graph) for graph in classes.values())
        for name, learn, _ in ways(rows, holes):
            if name in gaps:
                gaps[name].append(best - observed_bic(holes, learn().dag))
    print(
        f"best of {len(classes)} classes found, mean and largest gap, of {settings.tables} tables"
    )
    for name, of_way in gaps.items():
        n_found = sum(gap < 0.01 for gap in of_way)
        print(f"  {name:20} {n_found:3} {np.mean(of_way):7.3f} {np.max(of_way):7.3f}")


def posterior_errors(settings):
    """Compare the standard errors of a posterior with what other seeds give."""
    for m, how, share in product(settings.columns, settings.how, settings.shares):
        ratios = []
        for seed in range(settings.tables):
            rng = np.random.default_rng(9000 + seed)
            _, rows = random_table(m, settings.rows, rng)
            rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
            holes = with_holes(rows, share, how, rng)
            fits = [
                GaussianBNPosterior(missing="augment", random_state=k, n_jobs=1).fit(holes)
                for k in range(20)
            ]
            stated = np.array([each.edge_standard_errors_ for each in fits])
            found = np.std([each.edge_probabilities_ for each in fits], axis=0, ddof=1)
            ratios.append(np.sqrt((stated**2).mean() / (found**2).mean()))
        print(
            f"{m} columns, {settings.rows} rows, {how} {share:.0%}: standard errors are "
            f"{np.mean(ratios):.2f} of the standard deviation over seeds, from {min(ratios):.2f} "
            f"to {max(ratios):.2f} in {len(ratios)} tables",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tables", type=int, default=10)
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--columns", type=int, nargs="+", default=[10, 15])
    parser.add_argument("--how", nargs="+", default=["MCAR", "MAR"])
    parser.add_argument("--shares", type=float, nargs="+", default=[0.05, 0.2, 0.4])
    parser.add_argument("--real", action="store_true")
    parser.add_argument("--four", action="store_true")
    parser.add_argument("--posterior", action="store_true")
    settings = parser.parse_args()
    learned(np.random.default_rng(0).normal(size=(20, 3)))  # compiles kernels
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if settings.four:
            four_columns(settings)
        elif settings.posterior:
            posterior_errors(settings)
        elif settings.real:
            real_tables(settings)
        else:
            random_tables(settings)


if __name__ == "__main__":
    main()
