"""Compare the graphs of equivalence classes with those of causal-learn and of pgmpy.

Run with ``pip install -e .[compare]`` and ``python tests/benchmarks/agree_on_cpdags.py``.

The networks are random, with 5 to 12 nodes, sparse and dense. A disagreement is a pair of
nodes that two libraries join differently: not at all, by a directed edge, or by an undirected
one.
"""

from __future__ import annotations

import sys

import numpy as np
from causallearn.graph.Dag import Dag
from causallearn.graph.GraphNode import GraphNode
from causallearn.utils.DAG2CPDAG import dag2cpdag
from pgmpy.base import DAG

from skbn import GaussianBayesianNetwork
from skbn.datasets import make_gaussian_network

N_NETWORKS = 100


def random_dag(rng):
    m, density = int(rng.integers(5, 13)), rng.uniform(0.1, 0.7)
    return make_gaussian_network(m, mean_degree=density * (m - 1), random_state=rng).dag


def adjacency(m, directed, undirected):
    """Entry (i, j) is 1 for i -> j, and both (i, j) and (j, i) are 1 for i - j."""
    matrix = np.zeros((m, m), dtype=int)
    for i, j in directed:
        matrix[i, j] = 1
    for i, j in undirected:
        matrix[i, j] = matrix[j, i] = 1
    return matrix


def by_skbn(dag):
    edges = list(GaussianBayesianNetwork(dag).cpdag().edges(data="undirected"))
    return adjacency(
        len(dag),
        [(a, b) for a, b, is_undirected in edges if not is_undirected],
        [(a, b) for a, b, is_undirected in edges if is_undirected],
    )


def by_causal_learn(dag):
    nodes = [GraphNode(str(v)) for v in dag]
    graph = Dag(nodes)
    for a, b in dag.edges:
        graph.add_directed_edge(nodes[a], nodes[b])
    marks = dag2cpdag(graph).graph  # -1 at (i, j): a tail at i; 1: an arrowhead at i
    return ((marks == -1) & ((marks.T == 1) | (marks.T == -1))).astype(int)


def by_pgmpy(dag):
    model = DAG(dag.edges)
    model.add_nodes_from(dag)
    pattern = model.to_pdag()
    return adjacency(len(dag), pattern.directed_edges, pattern.undirected_edges)


def main() -> int:
    rng = np.random.default_rng(0)
    others = {"causal-learn": by_causal_learn, "pgmpy": by_pgmpy}
    pairs, networks = dict.fromkeys(others, 0), dict.fromkeys(others, 0)
    n_edges = n_undirected = 0
    for _ in range(N_NETWORKS):
        dag = random_dag(rng)
        own = by_skbn(dag)
        n_edges += dag.number_of_edges()
        n_undirected += int((own & own.T).sum()) // 2
        for name, other in others.items():
            differs = own != other(dag)
            pairs[name] += int(np.triu(differs | differs.T).sum())
            networks[name] += bool(differs.any())
    print(f"{N_NETWORKS} networks, {n_edges} edges, of which {n_undirected} are undirected")
    for name in others:
        print(f"{name:<13} {pairs[name]} pairs in {networks[name]} networks disagree")
    return sum(networks.values())


if __name__ == "__main__":
    sys.exit(main())
