"""Whether sampled probabilities are calibrated, and their standard errors true.

    python tests/benchmarks/sampling_calibration.py --tables 50 --figure reliability.png
    python tests/benchmarks/sampling_calibration.py --tables 0 --long 100000

Each table has 100 to 300 rows of a network that is drawn from the prior of its own posterior: with
a probability proportional to odds to the power of its edges, among the networks in which no column
has more than some parents, by a Markov chain that toggles single edges, and with parameters from
the prior of BGe (see `tests/calibration.py`). Of the edges to which the posterior gives some
probability, that share should then be there. By bins of the probability, the script prints how many
edges of all tables there are, their mean probability, the share that is there, the standard error
of that share, and how many standard errors the share is off. The standard error is by the spread
among tables, as edges of one table depend on each other, and at least that of independent edges.

With ``--long N``, fits of ``--samples`` states a chain with different seeds are held against one of
N states a chain, all of one table: for the edges whose standard error is above 0.002, the mean and
the standard deviation of difference / standard error, 0 and 1 if the standard errors are true, and
the shares beyond 2 and 3, which would be 4.6 % and 0.3 % of normal numbers.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning

sys.path.insert(0, str(Path(__file__).parents[1]))
from calibration import draw_network

from skbn import BGe, GaussianBNPosterior

BOUNDS = np.array([0, 0.05, *np.arange(0.1, 0.95, 0.1), 0.95, 1])
N_BINS = len(BOUNDS) - 1
N_ROWS = (100, 300)
N_SWEEPS = 100
# With these odds times the number of columns, networks have some 1.25 edges for each column.
ODDS_BY_COLUMNS = 2.0
LEAST_ERROR = 2e-3


def draw_parents(m, odds, max_parents, rng):
    """Return the sets of parents in a network that has a probability by the odds of its edges."""
    parents = [set() for _ in range(m)]
    for _ in range(N_SWEEPS):
        proposed = rng.integers(m, size=(m * (m - 1), 2))
        chances = rng.random(len(proposed))
        for (p, x), chance in zip(proposed.tolist(), chances.tolist(), strict=True):
            own = parents[x]
            if p in own:
                if chance * odds < 1:
                    own.remove(p)
            elif (
                p != x
                and chance < odds
                and len(own) < max_parents
                and not is_ancestor(x, p, parents)
            ):
                own.add(p)
    return parents


def is_ancestor(x, of, parents):
    """Whether there is a directed path from x to another column."""
    seen, to_see = {of}, [of]
    while to_see:
        new = parents[to_see.pop()] - seen
        if x in new:
            return True
        seen |= new
        to_see += new
    return False


def draw_table(arguments, odds, rng):
    """Return the edges of a network from the prior, as a matrix, and rows drawn from it."""
    m = arguments.columns
    parents = draw_parents(m, odds, arguments.max_parents, rng)
    rows = draw_network(parents, rng).sample(rng.integers(*N_ROWS, endpoint=True), rng)
    is_there = np.array([[i in own for own in parents] for i in range(m)])
    return is_there, rows


def fit(rows, arguments, odds, seed, n_samples):
    """Return a sampled posterior, and whether its chains disagree."""
    posterior = GaussianBNPosterior(
        BGe(nu=np.zeros(arguments.columns)),
        method="sampling",
        edge_prior=odds,
        max_parents=arguments.max_parents,
        n_samples=n_samples,
        random_state=seed,
        n_jobs=arguments.jobs,
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        posterior.fit(rows)
    return posterior, any(issubclass(each.category, ConvergenceWarning) for each in caught)


def bins_of(is_there, probabilities):
    """Return sums over the probabilities in each bin, shape (4, N_BINS).

    They are of 1, of the probabilities, of whether edges are there, and of what the variances of
    this would be.
    """
    off_diagonal = ~np.eye(len(is_there), dtype=bool)
    p, there = probabilities[off_diagonal], is_there[off_diagonal]
    place = np.searchsorted(BOUNDS[1:-1], p, side="right")
    summed = np.ones_like(p), p, there, p * (1 - p)
    return np.array([np.bincount(place, each, N_BINS) for each in summed])


def print_reliability(arguments, odds, rng):
    """Print how many edges of each probability are there, and return what a diagram shows."""
    bins, n_edges, n_warned = [], 0, 0
    for i in range(arguments.tables):
        is_there, rows = draw_table(arguments, odds, rng)
        posterior, warned = fit(rows, arguments, odds, i, arguments.samples)
        bins.append(bins_of(is_there, posterior.edge_probabilities_))
        n_edges, n_warned = n_edges + is_there.sum(), n_warned + warned
    print(
        f"{arguments.tables} tables of {arguments.columns} columns with odds {odds:.3f}: "
        f"{n_edges / arguments.tables:.1f} edges a table, of which "
        f"{np.sum(bins, axis=(0, 2))[1] / arguments.tables:.1f} were expected; "
        f"the chains of {n_warned} disagree"
    )
    number, total, there, variance = np.sum(bins, axis=0)
    excess = np.array(bins)[:, 2] - np.array(bins)[:, 1]
    if len(bins) > 1:  # where edges that are rarely there never are, tables have too little spread
        variance = np.maximum(variance, len(bins) * excess.var(axis=0, ddof=1))
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.sqrt(variance) / number
        probability, share = total / number, there / number
        off = (share - probability) / error
    print("| bin | edges | probability | share there | standard error | off by |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for k in np.flatnonzero(number):
        print(
            f"| {BOUNDS[k]:.2f} to {BOUNDS[k + 1]:.2f} | {number[k]:,.0f} | {probability[k]:.4f} "
            f"| {share[k]:.4f} | {error[k]:.4f} | {off[k]:.1f} |"
        )
    return probability[number > 0], share[number > 0], error[number > 0]


def print_standard_errors(arguments, odds, rng):
    """Print how far short fits are from a long one, in standard errors."""
    _, rows = draw_table(arguments, odds, rng)
    long, warned = fit(rows, arguments, odds, arguments.fits, arguments.long)
    print(
        f"\nlong fit: {long.n_samples_:,} states, edges differ by chain up to "
        f"{np.ptp(long.chain_edge_probabilities_, axis=0).max():.4f}, "
        f"{'its chains disagree' if warned else 'no warning'}"
    )
    ratios, n_warned = [], 0
    for seed in range(arguments.fits):
        short, warned = fit(rows, arguments, odds, seed, arguments.samples)
        n_warned += warned
        counts = short.edge_standard_errors_ > LEAST_ERROR
        error = np.hypot(short.edge_standard_errors_, long.edge_standard_errors_)
        ratios.append(
            (short.edge_probabilities_ - long.edge_probabilities_)[counts] / error[counts]
        )
    z = np.concatenate(ratios)
    print(
        f"{arguments.fits} short fits of {short.n_samples_:,} states, of which {n_warned} warned: "
        f"{len(z):,} differences"
    )
    print("| mean z | standard deviation | beyond 2 | beyond 3 |")
    print("| ---: | ---: | ---: | ---: |")
    if len(z):
        beyond = [f"{(np.abs(z) > at).mean():.2%}" for at in (2, 3)]
        print(f"| {z.mean():.3f} | {z.std():.3f} | {beyond[0]} | {beyond[1]} |")


def draw_figure(path, probability, share, error):
    """Draw the share of edges that are there against their probability."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(4, 4), layout="constrained")
    ax.plot([0, 1], [0, 1], color="0.6", linewidth=1)
    ax.errorbar(probability, share, yerr=2 * error, fmt="o", markersize=4, capsize=2)
    ax.set(xlabel="probability of an edge", ylabel="share that is there", aspect="equal")
    figure.savefig(path)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", type=int, default=50)
    parser.add_argument("--columns", type=int, default=40)
    parser.add_argument("--max-parents", type=int, default=3)
    parser.add_argument(
        "--odds",
        type=float,
        help=f"prior odds of an edge; {ODDS_BY_COLUMNS:g} / columns by default",
    )
    parser.add_argument("--samples", type=int, default=2000, help="states of each chain")
    parser.add_argument("--long", type=int, help="states of each chain of the long fit")
    parser.add_argument("--fits", type=int, default=20, help="short fits beside the long one")
    parser.add_argument("--jobs", type=int, default=1, help="chains that run side by side")
    parser.add_argument("--seed", type=int, default=0, help="of networks and rows")
    parser.add_argument("--figure", metavar="PATH", help="draw a reliability diagram")
    arguments = parser.parse_args()
    odds = arguments.odds or ODDS_BY_COLUMNS / arguments.columns
    rng = np.random.default_rng(arguments.seed)
    if arguments.tables:
        points = print_reliability(arguments, odds, rng)
        if arguments.figure:
            draw_figure(arguments.figure, *points)
    if arguments.long:
        print_standard_errors(arguments, odds, rng)


if __name__ == "__main__":
    main()
