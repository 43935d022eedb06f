"""Graphs as texts, as bnlearn writes them: a bracket for each node and its parents."""

import re
from itertools import chain
from typing import Any

import networkx as nx

from skbn._core.graphs import Dag, own_texts
from skbn._core.text import must_be
from skbn._interchange.models import check_network
from skbn._networks.json_format import check_edges
from skbn._networks.network import GaussianBayesianNetwork

_SEPARATORS = re.compile(r"[\[\]|:\n]")
_NODE = re.compile(r"\[([^\[\]|:]+)(?:\|([^\[\]|:]+(?::[^\[\]|:]+)*))?\]")
_MODELSTRING = re.compile(f"(?:{_NODE.pattern})+")


def to_modelstring(network: Any) -> str:
    """Return a network's graph as bnlearn's `modelstring` writes it, for `model2network` there.

    Parameters
    ----------
    network : GaussianBayesianNetwork
        Its parameters are not needed.

    Returns
    -------
    text : str
        A bracket for each node, parents before their children.

    Raises
    ------
    TypeError, ValueError
        If it is not a network; if two nodes have the same text, or a name has a bracket, ``|`` or
        ``:``.

    Examples
    --------
    >>> import networkx as nx
    >>> from skbn import GaussianBayesianNetwork
    >>> from skbn.io import to_modelstring
    >>> to_modelstring(GaussianBayesianNetwork(nx.DiGraph([("a", "c"), ("b", "c")])))
    '[a][b][c|a:b]'
    """
    check_network(network)
    dag = network.dag
    own_texts(dag, str)
    number = {node: v for v, node in enumerate(dag)}
    parts = []
    generations = nx.topological_generations(dag)
    for node in chain.from_iterable(sorted(each, key=number.__getitem__) for each in generations):
        if _SEPARATORS.search(str(node)) or not str(node):
            raise ValueError(
                f"A model string separates names by brackets, | and :, so that {node!r} cannot be "
                "written. Rename it with networkx.relabel_nodes."
            )
        parents = ":".join(str(p) for p in sorted(dag.predecessors(node), key=number.__getitem__))
        parts.append(f"[{node}|{parents}]" if parents else f"[{node}]")
    return "".join(parts)


def from_modelstring(text: str) -> GaussianBayesianNetwork:
    """Read a graph from what `to_modelstring`, or `modelstring` of bnlearn, returns.

    Parameters
    ----------
    text : str
        Such as ``"[a][b|a]"``. The nodes keep its order.

    Returns
    -------
    network : GaussianBayesianNetwork
        Without parameters: call `fit`.

    Raises
    ------
    TypeError, ValueError
        If it is not a string; if it is not a model string, a node or an edge comes twice, a parent
        is not a node, or the edges have a cycle.

    Examples
    --------
    >>> from skbn.io import from_modelstring
    >>> list(from_modelstring("[a][b][c|a:b]").dag.edges)
    [('a', 'c'), ('b', 'c')]
    """
    if not isinstance(text, str):
        raise TypeError(f"text must be a string; got {type(text).__name__}.")
    line = "".join(text.split("\n")).strip()
    if not _MODELSTRING.fullmatch(line):
        raise ValueError(must_be("text", "a model string such as '[a][b|a][c|a:b]'", text))
    families = _NODE.findall(line)
    nodes = [node for node, _ in families]
    edges = [
        (parent, node) for node, parents in families for parent in parents.split(":") if parent
    ]
    check_edges(nodes, edges, "The model string")
    dag: nx.DiGraph = nx.DiGraph()
    dag.add_nodes_from(nodes)
    dag.add_edges_from(edges)
    return GaussianBayesianNetwork._of(Dag.from_networkx(dag, "the model string"))
