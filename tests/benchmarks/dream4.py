"""The genes of DREAM4: areas under precision-recall curves of sampled edge probabilities.

    python tests/benchmarks/dream4.py FOLDER --seconds 60 --odds 0.01 --forests 1000
    python tests/benchmarks/dream4.py --made-up 12 --seconds 1

FOLDER has, at any depth, the files of the challenge "In Silico Size 100 Multifactorial" of DREAM4
(Marbach et al. 2010; Synapse syn3049712, after signing in): the expression of 100 genes in 100
samples, ``insilico_size100_1_multifactorial.tsv`` to 5, and the true networks,
``DREAM4_GoldStandard_InSilico_Size100_multifactorial_1.tsv`` to 5, or the lists of edges in the
package cdt, ``goldstandard_insilico100_multifactorial_1.csv`` to 5. The script has no data of its
own: ``--made-up N`` writes files of this form, of N genes in a random network, and reads them.

A line for each network has the average precision, the area under the curve in steps, among all
ordered pairs: of the edge probabilities of `GaussianBNPosterior` from standardised columns, BGe,
``--odds`` of each edge (edges of 100 genes have odds of about 0.02) and ``--max-parents``; of the
absolute correlations; and, with ``--forests N``, of the importances in N random trees, which is
GENIE3 (Huynh-Thu et al. 2010). The last number is that of precision by chance.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestRegressor
from sklearn.metrics import average_precision_score
from sklearn.preprocessing import StandardScaler

from skbn import GaussianBNPosterior
from skbn.datasets import make_gaussian_network

N_NETWORKS = 5


def file_of(folder, number, is_gold):
    """Return the one file of a network's expression, or of its true edges."""
    pattern = rf"100_(multifactorial_)?{number}(_multifactorial|_goldstandard)?\.[ct]sv"
    found = [
        path
        for path in sorted(folder.rglob("*"))
        if re.search(pattern, path.name) and ("goldstandard" in path.name.lower()) == is_gold
    ]
    found = [path for path in found if "multifactorial" in path.name] or found
    if len(found) != 1:
        what = "true edges" if is_gold else "expression"
        sys.exit(f"{folder} has {len(found)} files with the {what} of network {number}, not one.")
    return found[0]


def read(folder, number):
    """Return a table of expression, and a matrix of whether there is an edge."""
    genes = pd.read_csv(file_of(folder, number, False), sep="\t")
    path = file_of(folder, number, True)
    if path.suffix == ".csv":
        edges = pd.read_csv(path).assign(there=1)
    else:
        edges = pd.read_csv(path, sep="\t", header=None)
    edges.columns = ["parent", "child", "there"]
    unknown = sorted({*edges.parent, *edges.child} - {*genes})
    if unknown:
        sys.exit(f"{path.name} has genes without expression: {unknown[:5]}.")
    there = edges[edges.there == 1]
    matrix = pd.DataFrame(0, genes.columns, genes.columns)
    for parent, child in zip(there.parent, there.child, strict=True):
        matrix.loc[parent, child] = 1
    return genes, matrix.to_numpy()


def write_made_up(folder, m):
    """Write files of the challenge's form, of random networks."""
    names = [f"G{i + 1}" for i in range(m)]
    for number in range(1, N_NETWORKS + 1):
        rows, truth = make_gaussian_network(m, mean_degree=2, n_samples=100, random_state=number)
        genes = pd.DataFrame(rows, columns=names)
        genes.to_csv(
            folder / f"insilico_size100_{number}_multifactorial.tsv", sep="\t", index=False
        )
        edges = [
            (names[i], names[j], int(truth.dag.has_edge(i, j)))
            for i in range(m)
            for j in range(m)
            if i != j
        ]
        gold = folder / f"DREAM4_GoldStandard_InSilico_Size100_multifactorial_{number}.tsv"
        pd.DataFrame(edges).to_csv(gold, sep="\t", index=False, header=False)


def posterior(rows, arguments):
    """Return the edge probabilities of chains."""
    sampler = GaussianBNPosterior(
        method="sampling",
        edge_prior=arguments.odds,
        max_parents=arguments.max_parents,
        time_limit=arguments.seconds,
        random_state=arguments.seed,
        n_jobs=arguments.jobs,
    )
    return sampler.fit(rows).edge_probabilities_


def by_forests(rows, n_trees, seed):
    """Return the importance of each gene for each other."""
    m = rows.shape[1]
    importances = np.zeros((m, m))
    for child in range(m):
        others = np.delete(np.arange(m), child)
        forest = RandomForestRegressor(n_trees, max_features="sqrt", random_state=seed, n_jobs=1)
        importances[others, child] = forest.fit(
            rows[:, others], rows[:, child]
        ).feature_importances_
    return importances


def precision(there, scores):
    off_diagonal = ~np.eye(len(there), dtype=bool)
    return average_precision_score(there[off_diagonal], scores[off_diagonal])


def print_network(folder, number, arguments):
    genes, there = read(folder, number)
    rows = StandardScaler().fit_transform(genes)
    start = time.process_time()
    found = [precision(there, posterior(rows, arguments))]
    seconds = time.process_time() - start
    found.append(precision(there, np.abs(np.corrcoef(rows.T))))
    if arguments.forests:
        found.append(precision(there, by_forests(rows, arguments.forests, arguments.seed)))
    found.append(there.sum() / (len(there) * (len(there) - 1)))
    cells = " | ".join(f"{each:.3f}" for each in found)
    print(f"| {number} | {there.sum()} | {seconds:.0f} | {cells} |", flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--made-up", type=int, metavar="N", help="genes of made-up files")
    parser.add_argument("--seconds", type=float, default=60, help="of the chains of a network")
    parser.add_argument("--odds", type=float, help="of an edge; by default, 1")
    parser.add_argument("--max-parents", type=int, default=5)
    parser.add_argument("--forests", type=int, default=0, metavar="N", help="trees a gene")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    if (arguments.folder is None) == (arguments.made_up is None):
        parser.error("give a folder or --made-up")
    warnings.simplefilter("ignore")
    forests = " forests |" if arguments.forests else ""
    print(f"| network | edges | cpu s | posterior | correlation |{forests} chance |")
    print("| ---: |" + " ---: |" * (6 if forests else 5))
    with tempfile.TemporaryDirectory() as made_up:
        folder = arguments.folder or Path(made_up)
        if arguments.made_up:
            write_made_up(folder, arguments.made_up)
        for number in range(1, N_NETWORKS + 1):
            print_network(folder, number, arguments)


if __name__ == "__main__":
    main()
