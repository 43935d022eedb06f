"""median_network: the network of the edges that are more probable than not."""

from __future__ import annotations

import networkx as nx
import numpy as np
import numpy.typing as npt

from skbn._core.subsets import mask_of
from skbn._networks.network import GaussianBayesianNetwork
from skbn._solver.problem import Problem

__all__ = ["median_network"]


def median_network(problem: Problem, edges: npt.NDArray[np.float64]) -> GaussianBayesianNetwork:
    """Return the network of the edges of probability above 1/2, with fitted parameters.

    The most probable come first; what would close a cycle, or exceed the problem's `max_parents`,
    is left out. The edges of its graph have the attribute `probability`.
    """
    most, names = problem.constraints.max_parents, problem.names
    dag: nx.DiGraph = nx.DiGraph()
    dag.add_nodes_from(range(len(edges)))
    probable = np.argwhere(edges > 0.5)
    for i, j in probable[np.argsort(-edges[tuple(probable.T)], kind="stable")].tolist():
        if dag.in_degree(j) < most and not nx.has_path(dag, j, i):
            dag.add_edge(i, j)
    network = problem.network([mask_of(dag.predecessors(x)) for x in range(len(edges))])
    for i, j in dag.edges:
        network.dag.edges[names[i], names[j]]["probability"] = float(edges[i, j])
    return network
