"""Many graphs with weights, from a posterior, a list of networks or a bootstrap."""

import os
from collections.abc import Iterable
from typing import Any

import networkx as nx
import numpy as np
from sklearn.utils.validation import check_is_fitted

from skbn._core.graphs import dag_of
from skbn._core.text import must_be
from skbn._estimators.bootstrap import BootstrapBNLearner
from skbn._estimators.near_optimal_networks import NearOptimalNetworks
from skbn._estimators.posterior import GaussianBNPosterior
from skbn._networks.json_format import check_json_nodes, to_json
from skbn._posterior.network_posterior import NetworkPosterior


def to_weighted_graphs(
    source: Any, *, n_samples: int = 1000, random_state: Any = None
) -> list[nx.DiGraph]:
    """Return different graphs with weights that sum to 1, for programs that average over graphs.

    Parameters
    ----------
    source : GaussianBNPosterior, NearOptimalNetworks or BootstrapBNLearner
        Fitted.
    n_samples : int, default=1000
        How many networks are drawn from a posterior.
    random_state : int, RandomState, Generator or None, default=None

    Returns
    -------
    graphs : list of networkx.DiGraph
        The heaviest first, without parameters. Their attributes are

        - `weight`: of a posterior, the share of the draws, an estimate of the graph's probability;
          of near-optimal networks, the share of the exponentials of their scores, as if there were
          no others; of a bootstrap, the share of the resamples, which is no probability;
        - `of`: what that is a share of, in words;
        - `log_probability`, if the posterior's sums know it: that of the graph, in nats.

        Those of a bootstrap, and of a list of classes, are of equivalence classes: edges without a
        direction have the attribute `undirected`, as in `GaussianBayesianNetwork.cpdag`.

    Raises
    ------
    sklearn.exceptions.NotFittedError, TypeError, ValueError
        If it is not fitted, or something else; as `sample_dags` and `edge_frequencies`.

    Examples
    --------
    >>> import skbn
    >>> from sklearn.datasets import load_wine
    >>> wine = load_wine(as_frame=True).data[["alcohol", "proline", "hue", "ash"]]
    >>> near = skbn.GaussianBNLearner("bge").fit(wine).near_optimal(2, equivalence_classes=False)
    >>> for graph in skbn.io.to_weighted_graphs(near):
    ...     print(round(graph.graph["weight"], 2), *graph.edges)
    0.7 ('alcohol', 'ash') ('proline', 'alcohol') ('hue', 'alcohol')
    0.3 ('alcohol', 'ash') ('proline', 'alcohol') ('hue', 'alcohol') ('hue', 'ash')
    """
    if isinstance(source, GaussianBNPosterior):
        found = _distinct(source.sample_dags(n_samples, random_state))
        of = f"{n_samples:,} networks drawn from the posterior"
        if isinstance(source.posterior_, NetworkPosterior):
            for graph, _ in found:
                graph.graph["log_probability"] = source.log_probability(graph)
    elif isinstance(source, NearOptimalNetworks):
        log_weights = source._log_weights()
        shares = np.exp(log_weights - log_weights.max()).tolist()
        graphs: Any = source.cpdags
        if not source.equivalence_classes:
            graphs = [dag_of(source._problem.names, parents) for parents in source._parents]
        found = list(zip(graphs, shares, strict=True))
        of = f"{len(found)} listed, by their scores"
    elif isinstance(source, BootstrapBNLearner):
        check_is_fitted(source)
        found = _distinct(network.cpdag() for network in source.networks_)
        of = f"{source.n_resamples_} resamples"
    else:
        kinds = "a fitted GaussianBNPosterior or BootstrapBNLearner, or NearOptimalNetworks"
        raise TypeError(must_be("source", kinds, type(source)))
    total = sum(share for _, share in found)
    for graph, share in found:
        graph.graph |= {"weight": share / total, "of": of}
    return [graph for graph, _ in sorted(found, key=lambda each: -each[1])]


def to_weighted_json(
    source: Any, path: str | os.PathLike[str] | None = None, **draws: Any
) -> str | None:
    """Write the graphs of `to_weighted_graphs` as JSON.

    Parameters
    ----------
    source : GaussianBNPosterior, NearOptimalNetworks or BootstrapBNLearner
        Fitted.
    path : str or path, optional
        The file.
    **draws
        `n_samples` and `random_state` of `to_weighted_graphs`.

    Returns
    -------
    text : str, or None with a path
        A list of graphs in networkx's node-link form, whose key "graph" has the weight:
        ``networkx.node_link_graph(each, edges="edges")`` reads one.

    Raises
    ------
    TypeError, ValueError, OSError
        As `to_weighted_graphs`; if a node is neither a string nor an integer, or the file cannot be
        written.

    Examples
    --------
    >>> import json
    >>> import skbn
    >>> posterior = skbn.GaussianBNPosterior().fit([[0, 0], [1, 2], [2, 5], [3, 5]])
    >>> graphs = json.loads(skbn.io.to_weighted_json(posterior, random_state=0))
    >>> [each["graph"]["weight"] for each in graphs]
    [0.504, 0.491, 0.005]
    """
    graphs = to_weighted_graphs(source, **draws)
    check_json_nodes(graphs[0])
    return to_json([nx.node_link_data(graph, edges="edges") for graph in graphs], path)


def _distinct(graphs: Iterable[nx.DiGraph]) -> list[tuple[nx.DiGraph, float]]:
    """Return different graphs without attributes of nodes, and how often each is there."""
    found: dict[Any, list[Any]] = {}
    for graph in graphs:
        key = frozenset((a, b, bool(is_open)) for a, b, is_open in graph.edges(data="undirected"))
        found.setdefault(key, [graph, 0.0])[1] += 1
    return [(graph, n) for graph, n in found.values()]
