"""Graphs of causal-learn: its GeneralGraph, in which edges have an endpoint at each node."""

from collections.abc import Hashable, Sequence
from typing import Any

import networkx as nx

from skbn._core.graphs import own_texts
from skbn._core.text import must_be, readable_value
from skbn._interchange.models import check_network, optional_module

_MODULE = "causallearn.graph"


def to_causal_learn(network: Any, *, cpdag: bool = False) -> Any:
    """Return the graph of a network for causal-learn.

    Parameters
    ----------
    network : GaussianBayesianNetwork
        Its nodes are named by their text: 0 becomes "0".
    cpdag : bool, default=False
        Whether to return the graph of its equivalence class, with undirected edges.

    Returns
    -------
    graph : causallearn.graph.GeneralGraph.GeneralGraph

    Raises
    ------
    ImportError, TypeError, ValueError
        If causal-learn is not installed; if it is not a network; if two nodes have the same text.

    Examples
    --------
    >>> from causallearn.graph.SHD import SHD  # doctest: +SKIP
    >>> found = to_causal_learn(learner.network_, cpdag=True)  # doctest: +SKIP
    >>> SHD(truth, found).get_shd()  # doctest: +SKIP
    """
    check_network(network)
    dag = network.cpdag() if cpdag else network.dag
    names = own_texts(network.nodes, str).values()
    of, endpoints = (optional_module(f"{_MODULE}.{name}") for name in ("GraphNode", "Endpoint"))
    edge = optional_module(f"{_MODULE}.Edge").Edge
    known = dict(zip(network.nodes, map(of.GraphNode, names), strict=True))
    graph = optional_module(f"{_MODULE}.GeneralGraph").GeneralGraph([*known.values()])
    tail, arrow = endpoints.Endpoint.TAIL, endpoints.Endpoint.ARROW
    for a, b, is_open in dag.edges(data="undirected"):
        graph.add_edge(edge(known[a], known[b], tail, tail if is_open else arrow))
    return graph


def from_causal_learn(graph: Any, names: Sequence[Hashable] | None = None) -> nx.DiGraph:
    """Read a graph of causal-learn, such as what its PC, GES or BOSS finds.

    Parameters
    ----------
    graph : causallearn.graph.GeneralGraph.GeneralGraph
        Or a `CausalGraph`, which PC returns, by its `G`. Without circles and double-headed arrows.
    names : sequence of nodes, optional
        What to call the nodes, in the graph's order, where causal-learn numbered the columns from
        X1 on; by default their own names.

    Returns
    -------
    graph : networkx.DiGraph
        Edges without a direction have the attribute `undirected`, as in
        `GaussianBayesianNetwork.cpdag`. `GaussianBayesianNetwork.from_cpdag` makes a network of it.

    Raises
    ------
    TypeError, ValueError
        If it is no such graph; if an edge has a circle, or an arrow at both ends; if there are not
        as many different names as nodes.

    Examples
    --------
    >>> from causallearn.search.ScoreBased.GES import ges  # doctest: +SKIP
    >>> found = from_causal_learn(ges(X)["G"], names=table.columns)  # doctest: +SKIP
    >>> other = GaussianBayesianNetwork.from_cpdag(found)  # doctest: +SKIP
    >>> network.compare(other).distance  # doctest: +SKIP
    """
    graph = getattr(graph, "G", graph)
    if not hasattr(graph, "get_graph_edges"):
        raise TypeError(must_be("graph", "a GeneralGraph of causal-learn", type(graph)))
    own = [node.get_name() for node in graph.get_nodes()]
    names = own if names is None else [*names]
    if len({*names}) != len(own) or len(names) != len(own):
        raise ValueError(
            f"names must have a different one for each of the {len(own)} nodes; got "
            f"{readable_value(names)}."
        )
    known, found = dict(zip(own, names, strict=True)), nx.DiGraph()
    found.add_nodes_from(names)
    for edge in graph.get_graph_edges():
        a, b = (known[node.get_name()] for node in (edge.get_node1(), edge.get_node2()))
        ends = edge.get_endpoint1().name, edge.get_endpoint2().name
        if {*ends} - {"TAIL", "ARROW"} or ends == ("ARROW", "ARROW"):
            raise ValueError(
                f"The edge {edge} allows for a hidden common cause, which a Bayesian network does "
                "not have. Leave it out, or take an algorithm that returns a DAG or its class, "
                "such as GES or BOSS."
            )
        parent, child = (b, a) if ends[0] == "ARROW" else (a, b)
        found.add_edge(parent, child, **({"undirected": True} if ends[0] == ends[1] else {}))
    return found
