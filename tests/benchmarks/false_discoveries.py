"""Whether the edges of ``predict(fdr=...)`` are false as often as it says.

    python tests/benchmarks/false_discoveries.py --tables 200

Networks of 8 columns and tables of 100 to 300 rows are drawn

- from the prior of the posterior: networks uniformly, parameters as BGe takes them;
- from elsewhere: sparse networks of `make_gaussian_network`, with two neighbours a column, whose
  standardised columns get the default posterior.

For each nominal rate, by edges and by pairs joined in either direction, it prints the mean number
that ``predict`` returns, the mean share that it expects to be false, the mean share that is, its
standard error, and how many graphs of edges have a cycle. An empty graph has a share of 0.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

import networkx as nx
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from calibration import draw_network
from sampling_calibration import draw_parents

from skbn import BGe, BootstrapBNLearner, GaussianBNPosterior
from skbn.datasets import make_gaussian_network
from skbn.exceptions import DataWarning

N_COLUMNS = 8
N_ROWS = (100, 300)
NOMINAL = (0.05, 0.1, 0.2)


def drawn(source, rng):
    """Return a network, rows drawn from it, and the criterion for these."""
    n = int(rng.integers(*N_ROWS, endpoint=True))
    if source == "prior":
        network = draw_network(draw_parents(N_COLUMNS, 1.0, N_COLUMNS - 1, rng), rng)
        return network, network.sample(n, rng), BGe(nu=np.zeros(N_COLUMNS))
    seed = int(rng.integers(2**31))
    network = make_gaussian_network(N_COLUMNS, mean_degree=2, random_state=seed)
    rows = network.sample(n, rng)
    return network, (rows - rows.mean(axis=0)) / rows.std(axis=0), BGe()


def shares(found, truth):
    """Return the number of edges, the shares of false ones by `found` and truly, and any cycle."""
    true = truth if found.is_directed() else truth.to_undirected()
    n_false = sum(not true.has_edge(a, b) for a, b in found.edges)
    n = found.number_of_edges()
    expected = found.graph.get("expected_fdr", found.graph.get("expected_by_support"))
    return n, expected, n_false / max(n, 1), not found.graph.get("is_acyclic", True)


def main():
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=200, help="of each source")
    parser.add_argument("--resamples", type=int, default=50, help="of each bootstrap; 0 for none")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", DataWarning)
    print("networks   fitted     of     nominal  number  expected  false  error  cyclic")
    for source in ("prior", "elsewhere"):
        rng, results = np.random.default_rng(0), {}
        for _ in range(arguments.tables):
            network, rows, criterion = drawn(source, rng)
            fitted = {"posterior": GaussianBNPosterior(criterion).fit(rows)}
            if arguments.resamples:
                bootstrap = BootstrapBNLearner(n_resamples=arguments.resamples, random_state=0)
                fitted["bootstrap"] = bootstrap.fit(rows)
            truth = nx.DiGraph(network.dag)
            for name, each in fitted.items():
                for directed in (True, False):
                    for fdr in NOMINAL:
                        graph = each.predict(fdr=fdr, directed=directed)
                        key = name, "edges" if directed else "pairs", fdr
                        results.setdefault(key, []).append(shares(graph, truth))
        for (name, what, fdr), found in results.items():
            number, expected, false, cyclic = np.mean(found, axis=0)
            error = np.std([each[2] for each in found], ddof=1) / np.sqrt(len(found))
            print(
                f"{source:9}  {name:9}  {what:5}  {fdr:7}  {number:6.1f}  {expected:8.3f}  "
                f"{false:5.3f}  {error:5.3f}  {round(cyclic * len(found)):6}"
            )


if __name__ == "__main__":
    main()
