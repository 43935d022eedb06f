"""Sampled posteriors beside those of other programs, given the same scores.

    pip install sumu
    python tests/benchmarks/sampling_by_others.py --columns 18 --parents 4 --seconds 15

The table is of a random network. Every program has its scores by BGe, the uniform prior over
networks and the same time for its chains, of which a part is burn-in. Each line has the largest and
the mean absolute error of the edges against exact sums, the processor seconds with all that comes
before and after the chains, and how many networks or states the edges are from.

- sumu (PyPI; it needs a compiler) is Gadget, partition MCMC. It is given the scores of all families
  with all other columns as candidate parents of each. It is run with one chain, and with
  ``--tempered`` chains that swap their states. When version 0.1.2 splits a part of a partition, it
  draws columns with replacement, and so does not draw from the posterior, however long it runs; the
  last line has it with that move corrected. After the time it draws the networks, for which it
  takes time and memory of order 3**columns, with 18 columns a minute and a half.
- Gibby has no package. ``--gibby PATH`` is an executable that is called with three arguments, a JKL
  file of all families with up to ``--max-parents`` parents, the seconds and the seed. It prints a
  network on each line: for each column, in the order of the file, its parents separated by commas;
  semicolons separate the columns. Where a program has another way to be called, write a script that
  calls it. ``--jkl FILE`` keeps the scores.

What cannot be run is said, and left out.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import tempfile
import time
from itertools import combinations
from pathlib import Path

import numpy as np
from sampling import compile_kernels, exact_posterior, fit, largest_and_mean, random_table

from skbn import LocalScoreTransformer, ParentSetScores

try:
    import sumu
except ImportError:
    sumu = None

THINNING = 10


def write_jkl(path, rows, max_parents):
    """Write the scores of all sets of up to some parents.

    `LocalScores.to_jkl` would leave families out that no best network needs.
    """
    scores = LocalScoreTransformer("bge", max_parents=max_parents).fit_transform(rows)
    m = rows.shape[1]
    families = []
    for x, of_column in enumerate(scores.to_array()):
        others = [v for v in range(m) if v != x]
        # In the order of `to_array`.
        sets = [
            [*parents]
            for size in range(max_parents + 1)
            for parents in sorted(combinations(others, size), key=lambda each: each[::-1])
        ]
        assert scores.family_index(x, sets[-2]) == (x, len(sets) - 2)
        padded = [parents + [-1] * (max_parents - len(parents)) for parents in sets]
        families.append((np.array(padded), of_column))
    ParentSetScores([str(x) for x in range(m)], families).to_jkl(path)


def by_sumu(scores, n_chains, seconds, seed):
    """Return edge probabilities, and the number of networks that they are from.

    Parameters
    ----------
    scores : ndarray of shape (m, 2 ** (m - 1))
        In the order of `LocalScores.to_array`, which is sumu's where all are candidates.
    """
    m = len(scores)
    np.random.seed(seed)  # noqa: NPY002 (sumu draws from the global generator)
    gadget = sumu.Gadget(
        data=sumu.Data(np.zeros((1, m)), discrete=False),
        K=m - 1,
        d=m - 1,
        mc3_chains=n_chains,
        tolerance=2.0**-32,
    )
    # These are the steps of Gadget.sample, with other scores and until some time is over.
    gadget.C = {x: tuple(v for v in range(m) if v != x) for x in range(m)}
    gadget.C_array = np.array([*gadget.C.values()], dtype=np.int32)
    gadget.score_array = scores
    gadget._precompute_candidate_restricted_scoring()
    gadget.c_c_score = None
    gadget._init_mcmc()
    start, i = time.monotonic(), 0
    gadget.Rs = []
    while (elapsed := time.monotonic() - start) < seconds:
        partition = gadget.mcmc.sample()[0]
        i += 1
        if elapsed > seconds / 3 and i % THINNING == 0:
            gadget.Rs.append(partition)
    networks, _ = gadget._sample_dags()
    edges = np.zeros((m, m))
    for network in networks:
        for x, *parents in network:
            edges[list(*parents), x] += 1
    return edges / len(networks), len(networks)


def split_or_merge(*, R, validate=False):  # sumu names it R
    """Return a partition with one part split or two merged, as sumu's move of this kind."""
    if validate:
        return True
    parts, n_merges = list(R), len(R) - 1
    chosen = np.random.randint(n_neighbours(parts))  # noqa: NPY002
    if chosen < n_merges:
        parts[chosen : chosen + 2] = [parts[chosen] | parts[chosen + 1]]
    else:
        chosen -= n_merges
        at = 0
        while chosen >= n_splits(parts[at]):
            chosen -= n_splits(parts[at])
            at += 1
        first = {v for k, v in enumerate(sorted(parts[at])) if chosen + 1 >> k & 1}
        parts[at : at + 1] = [first, parts[at] - first]
    return parts, 1 / n_neighbours(R), 1 / n_neighbours(parts), set().union(*parts)


def n_splits(part):
    return 2 ** len(part) - 2


def n_neighbours(parts):
    return len(parts) - 1 + sum(map(n_splits, parts))


def by_gibby(path, jkl, m, seconds, seed):
    """Return edge probabilities, and the number of networks that they are from."""
    command = [path, jkl, f"{seconds:g}", str(seed)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")
    networks = [line.split(";") for line in lines if line.strip()]
    edges = np.zeros((m, m))
    for network in networks:
        for x, parents in enumerate(network):
            edges[[int(v) for v in parents.split(",") if v.strip()], x] += 1
    return edges / len(networks), len(networks)


def processor_seconds():
    """Return those of this process and of programs that it has called."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def print_line(name, start, edges, exact, n):
    seconds = processor_seconds() - start
    largest, mean = largest_and_mean(edges - exact)
    print(f"| {name} | {largest} | {mean} | {seconds:.1f} | {n:,} |", flush=True)


def print_headings(title):
    print(f"\n{title}\n")
    print("| program | largest error | mean error | cpu s | networks |")
    print("| --- | ---: | ---: | ---: | ---: |")


def print_ours(rows, exact, seconds, seed, max_parents):
    start = processor_seconds()
    posterior, _, _ = fit(rows, seconds / 4, 4, 1, seed, max_parents=max_parents)
    print_line("skbn, 4 chains", start, posterior.edge_probabilities_, exact, posterior.n_samples_)


def compare_with_sumu(rows, arguments):
    """Print the errors of both, of all families."""
    seconds, seed = arguments.seconds, arguments.seed
    exact = exact_posterior(rows).edge_probabilities_
    print_headings(f"All families, {exact.sum():.1f} edges expected")
    print_ours(rows, exact, seconds, seed, None)
    if sumu is None:
        return
    scores = LocalScoreTransformer("bge").fit_transform(rows).to_array()
    tempered = f"sumu, {arguments.tempered} tempered chains"
    moves = sumu.mcmc
    own_move = moves.R_basic_move
    split_or_merge.__name__ = own_move.__name__  # sumu counts moves by name
    for name, n_chains, move in (
        ("sumu, 1 chain", 1, own_move),
        (tempered, arguments.tempered, own_move),
        (f"{tempered}, splits corrected", arguments.tempered, split_or_merge),
    ):
        moves.R_basic_move = move
        start = processor_seconds()
        found, n = by_sumu(scores, n_chains, seconds, seed)
        print_line(name, start, found, exact, n)


def compare_with_gibby(rows, arguments):
    """Print the errors of both, of the families that are listed in the file of scores."""
    seconds, seed, most = arguments.seconds, arguments.seed, arguments.max_parents
    exact = exact_posterior(rows, max_parents=most).edge_probabilities_
    print_headings(f"Families of up to {most} parents, {exact.sum():.1f} edges expected")
    print_ours(rows, exact, seconds, seed, most)
    with tempfile.TemporaryDirectory() as folder:
        jkl = arguments.jkl or str(Path(folder, "scores.jkl"))
        write_jkl(jkl, rows, most)
        if arguments.gibby is not None:
            start = processor_seconds()
            found, n = by_gibby(arguments.gibby, jkl, rows.shape[1], seconds, seed)
            print_line("Gibby", start, found, exact, n)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--columns", type=int, default=18)
    parser.add_argument("--parents", type=float, default=4, help="on average, of the network")
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--max-parents", type=int, default=3, help="of the families in the file")
    parser.add_argument("--seconds", type=float, default=15, help="of each program, all chains")
    parser.add_argument("--tempered", type=int, default=8, help="chains of sumu that swap states")
    parser.add_argument("--gibby", metavar="PATH")
    parser.add_argument("--jkl", metavar="FILE", help="where to keep the scores")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rows = random_table(arguments.columns, arguments.parents, arguments.rows, arguments.seed)
    compile_kernels()
    print(f"{arguments.columns} columns, {arguments.rows:,} rows")
    if sumu is None:
        print("sumu was not run: it cannot be imported (pip install sumu)")
    if arguments.gibby is None:
        print("Gibby was not run: its executable was not given by --gibby")
    compare_with_sumu(rows, arguments)
    compare_with_gibby(rows, arguments)


if __name__ == "__main__":
    main()
