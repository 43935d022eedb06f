"""median_network: the network of the edges that are more probable than not."""

from __future__ import annotations

import networkx as nx
import numpy as np
import numpy.typing as npt

from skbn._core.subsets import mask_of
from skbn._core.threads import one_blas_thread
from skbn._networks.gaussian import estimate_model
from skbn._networks.network import GaussianBayesianNetwork
from skbn._scores.local_scores import LocalScores

__all__ = ["median_network"]


def median_network(
    scores: LocalScores, edges: npt.NDArray[np.float64], max_parents: int
) -> GaussianBayesianNetwork:
    """Return the network of the edges of probability above 1/2, with fitted parameters.

    The most probable come first; what would close a cycle, or exceed `max_parents`, is left out.
    The edges of its graph have the attribute `probability`.
    """
    dag: nx.DiGraph = nx.DiGraph()
    dag.add_nodes_from(range(len(edges)))
    probable = np.argwhere(edges > 0.5)
    for i, j in probable[np.argsort(-edges[tuple(probable.T)], kind="stable")].tolist():
        if dag.in_degree(j) < max_parents and not nx.has_path(dag, j, i):
            dag.add_edge(i, j)
    parents = [mask_of(dag.predecessors(x)) for x in range(len(edges))]
    scorer = scores.scorer
    with one_blas_thread():
        model = estimate_model(
            scorer.statistics, parents, scores.columns, divisors=scorer.noise_divisors
        )
    network = GaussianBayesianNetwork._from_model(model)
    columns = scores.columns
    for i, j in dag.edges:
        network.dag.edges[columns[i], columns[j]]["probability"] = float(edges[i, j])
    return network
