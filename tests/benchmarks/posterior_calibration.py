"""Edge probabilities of several programs against the exact posterior of the same prior.

    pip install dibs-lib sumu pgmpy causal-learn
    python tests/benchmarks/posterior_calibration.py --columns 8 12 --rows 50 200 1000 --tables 20
    python tests/benchmarks/posterior_calibration.py --programs DiBS --columns 8 --tables 2

Each table is drawn from the prior: a network with a probability proportional to ``p / (1 - p)`` to
the power of its edges, where p is the prior probability of DiBS for one edge per column, with
parameters from BGe's prior with mean 0 (see `tests/calibration.py`). So the exact posterior is
calibrated. A table depends only on its columns, its rows and its number, and programs run at
different times meet the same ones. It prints for each program

- the largest error of an edge's probability against the exact posterior (mean over tables) and the
  mean error;
- the expected calibration error against the true network: over ten bins of the probability, the
  distance of the mean probability from the share of edges that are there, weighted by size; and the
  Brier score, the mean squared distance of probabilities from 0 or 1, beside that of the exact
  posterior of the same tables;
- the share of ordered pairs with a probability below .001 or above .999;
- the processor seconds of a table, compilation included where a program compiles for each table.

The programs:

- exact, sampled: `GaussianBNPosterior` with this prior, the sampler with its defaults.
- sumu: Gadget, given the scores and the prior; one chain for ``--seconds``. As released, and with
  its split move corrected (see `sampling_by_others.py`).
- DiBS: `MarginalDiBS` of dibs-lib with its defaults, this prior, ``--particles`` and ``--steps``.
  Its samples count alike, or (mixture) by their posterior probabilities.
- bootstrap: `BootstrapBNLearner` with its defaults and ``--resamples``, a support. It takes no
  prior of networks.
- pgmpy, GES: support too, of pgmpy's hill climbing with its Gaussian BIC, and of causal-learn's GES
  with its BIC, on half as many resamples at most, 20. An undirected edge counts half each way.

What cannot be imported is said, and left out. ``--write FILE`` adds a line of JSON for each result.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import sys
import time
import warnings
from importlib import import_module
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from calibration import draw_network
from sampling_calibration import draw_parents

from skbn import (
    BGe,
    BootstrapBNLearner,
    GaussianBNLearner,
    GaussianBNPosterior,
    LocalScoreTransformer,
)

N_BINS = 10
CERTAIN = 1e-3
MOST_REFITS = 20
MEASURES = {
    "largest error": ".3f",
    "mean error": ".4f",
    "calibration error": ".4f",
    "Brier": ".4f",
    "of the exact": ".4f",
    "certain": ".2f",
    "cpu s": ".1f",
}


def draw_table(m, n_rows, number):
    """Return the odds of an edge, the true edges as a matrix, and rows of the network."""
    rng = np.random.default_rng([m, n_rows, number])
    p = 2 / (m - 1)
    odds = p / (1 - p)
    parents = draw_parents(m, odds, m - 1, rng)
    is_there = np.array([[i in own for own in parents] for i in range(m)])
    return odds, is_there, draw_network(parents, rng).sample(n_rows, rng)


def posterior(rows, odds, **options):
    criterion = BGe(nu=np.zeros(rows.shape[1]))
    found = GaussianBNPosterior(criterion, edge_prior=odds, **options).fit(rows)
    return found.edge_probabilities_


def exact(rows, odds, _=None):
    return posterior(rows, odds, structure_prior="uniform")


def sampled(rows, odds, arguments):
    return posterior(rows, odds, method="sampling", random_state=arguments.seed)


def by_sumu(rows, odds, arguments, corrected=False):
    others = import_module("sampling_by_others")
    m = rows.shape[1]
    transformer = LocalScoreTransformer(BGe(nu=np.zeros(m)))
    n_parents = np.bitwise_count(np.arange(2 ** (m - 1), dtype=np.uint32))
    scores = transformer.fit_transform(rows).to_array() + n_parents * np.log(odds)
    moves = others.sumu.mcmc
    own_move = moves.R_basic_move
    if corrected:
        others.split_or_merge.__name__ = own_move.__name__  # sumu counts moves by name
        moves.R_basic_move = others.split_or_merge
    try:
        return others.by_sumu(scores, 1, arguments.seconds, arguments.seed)[0]
    finally:
        moves.R_basic_move = own_move


def by_dibs(rows, odds, arguments):
    """Return the probabilities with all particles alike, and by their posterior probabilities."""
    import jax
    from dibs.inference import MarginalDiBS
    from dibs.models import BGe as DiBSBGe
    from dibs.models import ErdosReniDAGDistribution

    m = rows.shape[1]
    prior = ErdosReniDAGDistribution(m, n_edges_per_node=1)
    assert np.isclose(prior.p / (1 - prior.p), odds)
    sampler = MarginalDiBS(
        x=jax.numpy.asarray(rows), graph_model=prior, likelihood_model=DiBSBGe(n_vars=m)
    )
    key = jax.random.PRNGKey(arguments.seed)
    graphs = sampler.sample(key=key, n_particles=arguments.particles, steps=arguments.steps)
    alike, weighted = sampler.get_empirical(graphs), sampler.get_mixture(graphs)
    return tuple(np.einsum("i,ijk", np.exp(d.logp), np.array(d.g)) for d in (alike, weighted))


def by_bootstrap(rows, _, arguments):
    bootstrap = BootstrapBNLearner(
        GaussianBNLearner(), n_resamples=arguments.resamples, random_state=arguments.seed
    )
    return bootstrap.fit(rows).edge_support_


def by_refits(rows, arguments, refit):
    """Return the mean of the edge matrices of resampled rows."""
    rng = np.random.default_rng(arguments.seed)
    n_refits = min(MOST_REFITS, arguments.resamples // 2)
    return np.mean([refit(rng.choice(rows, len(rows))) for _ in range(n_refits)], axis=0)


def by_pgmpy(rows, _, arguments):
    import pandas as pd
    from pgmpy.causal_discovery import HillClimbSearch

    names = [f"x{i}" for i in range(rows.shape[1])]

    def refit(resample):
        search = HillClimbSearch(scoring_method="bic-g", show_progress=False, return_type="pdag")
        found = search.fit(pd.DataFrame(resample, columns=names)).causal_graph_
        edges = pd.DataFrame(0.0, names, names)
        for a, b in found.directed_edges:
            edges.loc[a, b] = 1
        for a, b in found.undirected_edges:
            edges.loc[a, b] = edges.loc[b, a] = 0.5
        return edges.to_numpy()

    return by_refits(rows, arguments, refit)


def by_ges(rows, _, arguments):
    from causallearn.search.ScoreBased.GES import ges

    def refit(resample):
        ends = ges(resample)["G"].graph  # ends[i, j]: -1 a tail at i of an edge with j, 1 a head
        return (ends == -1) * (ends.T == 1) + 0.5 * (ends == -1) * (ends.T == -1)

    return by_refits(rows, arguments, refit)


PROGRAMS = {
    "exact": (exact, None, ("exact",)),
    "sampled": (sampled, None, ("sampled",)),
    "sumu": (by_sumu, "sumu", ("sumu",)),
    "sumu-corrected": (
        lambda *given: by_sumu(*given, corrected=True),
        "sumu",
        ("sumu, splits corrected",),
    ),
    "DiBS": (by_dibs, "dibs", ("DiBS", "DiBS, mixture")),
    "bootstrap": (by_bootstrap, None, ("bootstrap",)),
    "pgmpy": (by_pgmpy, "pgmpy", ("bootstrap of pgmpy",)),
    "GES": (by_ges, "causallearn", ("bootstrap of causal-learn's GES",)),
}


class Result:
    """What a program's probabilities of some tables say, table after table."""

    def __init__(self):
        self.bins = np.zeros((3, N_BINS))
        self.of_table = []

    def add(self, found, true, is_there, seconds):
        """Count the probabilities of a table, beside the exact ones and the true edges."""
        off_diagonal = ~np.eye(len(is_there), dtype=bool)
        p, there = found[off_diagonal], is_there[off_diagonal]
        place = np.minimum((p * N_BINS).astype(int), N_BINS - 1)
        self.bins += [np.bincount(place, each, N_BINS) for each in (np.ones_like(p), p, there)]
        error = np.abs(p - true[off_diagonal])
        briers = [np.mean((each[off_diagonal] - there) ** 2) for each in (found, true)]
        certain = np.mean((p < CERTAIN) | (p > 1 - CERTAIN))
        self.of_table.append([error.max(), error.mean(), *briers, certain, seconds])

    def measures(self):
        """Return the measures by their names."""
        number, total, there = self.bins
        means = np.mean(self.of_table, axis=0).tolist()
        off = float(np.abs(total - there).sum() / number.sum())
        return dict(zip(MEASURES, [*means[:2], off, *means[2:]], strict=True))


def measure(name, m, n_rows, arguments):
    """Print a line for each way to read the program's answers."""
    program, _, labels = PROGRAMS[name]
    results = [Result() for _ in labels]
    for number in range(arguments.tables):
        odds, is_there, rows = draw_table(m, n_rows, number)
        true = exact(rows, odds)
        start = time.process_time()
        with contextlib.redirect_stdout(io.StringIO()):
            found = program(rows, odds, arguments)
        seconds = time.process_time() - start
        for result, each in zip(results, np.reshape(found, (-1, m, m)), strict=True):
            result.add(each, true, is_there, seconds)
    for label, result in zip(labels, results, strict=True):
        measures = result.measures()
        cells = " | ".join(format(measures[name], digits) for name, digits in MEASURES.items())
        print(f"| {m} | {n_rows:,} | {label} | {arguments.tables} | {cells} |", flush=True)
        if arguments.write:
            stored = {"program": label, "columns": m, "rows": n_rows, "tables": arguments.tables}
            with Path(arguments.write).open("a", encoding="utf-8") as file:
                print(json.dumps(stored | measures), file=file)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--programs", nargs="+", choices=PROGRAMS, default=[*PROGRAMS])
    parser.add_argument("--columns", type=int, nargs="+", default=[8, 12, 16])
    parser.add_argument("--rows", type=int, nargs="+", default=[50, 200, 1000])
    parser.add_argument("--tables", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=5, help="of a chain of sumu")
    parser.add_argument("--particles", type=int, default=20, help="of DiBS")
    parser.add_argument("--steps", type=int, default=1000, help="of DiBS")
    parser.add_argument("--resamples", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", metavar="FILE", help="add lines of JSON")
    arguments = parser.parse_args()
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    warnings.simplefilter("ignore")
    names = []
    for name in arguments.programs:
        module = PROGRAMS[name][1]
        try:
            import_module(module or "skbn")
            names.append(name)
        except ImportError:
            print(f"{name} was not run: {module} cannot be imported")
    print(f"\n| columns | rows | program | tables | {' | '.join(MEASURES)} |")
    print("| ---: | ---: | --- |" + " ---: |" * (1 + len(MEASURES)))
    for m in arguments.columns:
        for n_rows in arguments.rows:
            for name in names:
                measure(name, m, n_rows, arguments)


if __name__ == "__main__":
    main()
