"""The four networks of the Bayesian Network Repository, learned from rows that are drawn from them.

For each network, criterion and number of rows: seconds, the gap in nats, and how many pairs of
neighbours are right, false and missing, whatever the direction of their edges. It prints a table
for the documentation.

    nice python tests/benchmarks/published_networks.py --limit 60
    python tests/benchmarks/published_networks.py --names magic-niab --rows 200 --limit 10
"""

import argparse
import time
import warnings

from skbn import GaussianBNLearner
from skbn.datasets import load_network


def neighbours(network):
    number = {node: i for i, node in enumerate(network.nodes)}
    return {frozenset((number[a], number[b])) for a, b in network.dag.edges}


NAMES = ["magic-niab", "ecoli70", "magic-irri", "arth150"]
parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
parser.add_argument("--names", nargs="+", default=NAMES)
parser.add_argument("--criteria", nargs="+", default=["ebic"])
parser.add_argument("--rows", type=int, nargs="+", default=[200, 1000, 10000])
parser.add_argument("--limit", type=float, default=60.0)
parser.add_argument("--jobs", type=int, default=2)
given = parser.parse_args()

warnings.simplefilter("ignore")
print("| network | columns | edges | criterion | rows | seconds | gap | right | false | missing |")
print("| --- | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
for name in given.names:
    truth = load_network(name)
    expected = neighbours(truth)
    for criterion in given.criteria:
        for n in given.rows:
            X = truth.sample(n, random_state=0)
            start = time.perf_counter()
            learner = GaussianBNLearner(criterion, time_limit=given.limit, n_jobs=given.jobs).fit(X)
            seconds, found = time.perf_counter() - start, neighbours(learner.network_)
            gap = "proven" if learner.is_optimal_ else f"{learner.optimality_gap_:.3g}"
            counts = len(found & expected), len(found - expected), len(expected - found)
            of_table = name, len(truth.nodes), len(expected), criterion.upper(), f"{n:,}"
            cells = *of_table, f"{seconds:.1f}", gap, *counts
            print("|", " | ".join(map(str, cells)), "|", flush=True)
