"""bnlearn: its model strings, and code for fitted networks."""

import json
import math
import re
from itertools import chain
from typing import Any

import networkx as nx

from skbn._core.graphs import Dag
from skbn._core.text import must_be
from skbn._interchange.models import check_network, noisy_dag
from skbn._interchange.texts import own_texts
from skbn._networks.json_format import check_edges
from skbn._networks.network import GaussianBayesianNetwork


def to_bnlearn(network: Any) -> str:
    """Return R code whose value is the network as a fitted one of bnlearn.

    Write it to a file and call ``fitted <- source("network.R")$value``.

    Parameters
    ----------
    network : GaussianBayesianNetwork
        With parameters.

    Returns
    -------
    code : str
        A call of bnlearn's `custom.fit`, with the model string and the coefficients.

    Raises
    ------
    TypeError
        If it is not a network, or one with nodes of several columns.
    ValueError
        If a node's name has a bracket, ``|`` or ``:``; if a node is exogenous, or has no noise.

    See Also
    --------
    to_modelstring : The graph alone.

    Examples
    --------
    >>> import networkx as nx
    >>> from skbn import GaussianBayesianNetwork
    >>> from skbn.io import to_bnlearn
    >>> dag = nx.DiGraph()
    >>> dag.add_nodes_from("ab", intercept=0.5, noise_variance=4.0)
    >>> dag.add_edge("a", "b", weight=2.0)
    >>> print(to_bnlearn(GaussianBayesianNetwork(dag)))
    bnlearn::custom.fit(bnlearn::model2network("[a][b|a]"), list(
      "a" = list(coef = c("(Intercept)" = 0.5), sd = 2.0),
      "b" = list(coef = c("(Intercept)" = 0.5, "a" = 2.0), sd = 2.0)
    ))
    """
    dag = noisy_dag(network, "to_bnlearn")
    text = to_modelstring(network)  # raises for names that bnlearn cannot have
    rows = []
    for node, data in dag.nodes(data=True):
        weights = [(p, edge["weight"]) for p, edge in dag.pred[node].items()]
        terms = [f'"(Intercept)" = {data["intercept"]!r}']
        terms += [f"{_quoted(parent)} = {weight!r}" for parent, weight in weights]
        deviation = math.sqrt(data["noise_variance"])
        rows.append(f"  {_quoted(node)} = list(coef = c({', '.join(terms)}), sd = {deviation!r})")
    call = f"bnlearn::custom.fit(bnlearn::model2network({_quoted(text)}), list("
    return "\n".join([call, ",\n".join(rows), "))"])


def _quoted(text: Any) -> str:
    # R's escapes in strings are among JSON's, but for the slash, which json does not escape.
    return json.dumps(str(text), ensure_ascii=False)


def to_modelstring(network: Any) -> str:
    """Return a graph as bnlearn's `modelstring` writes it, for `model2network` there.

    Parameters
    ----------
    network : GaussianBayesianNetwork

    Returns
    -------
    text : str
        A bracket for each node, parents before their children. It has no parameters.

    Raises
    ------
    TypeError
        If it is not a network.
    ValueError
        If two nodes have the same text, or a name has a bracket, ``|`` or ``:``.

    See Also
    --------
    to_bnlearn : With all parameters.

    Examples
    --------
    >>> import networkx as nx
    >>> from skbn import GaussianBayesianNetwork
    >>> from skbn.io import to_modelstring
    >>> to_modelstring(GaussianBayesianNetwork(nx.DiGraph([("a", "c"), ("b", "c")])))
    '[a][b][c|a:b]'
    """
    check_network(network)
    dag = network._structure()
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
    """Read a graph from what `modelstring` of bnlearn returns.

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
    TypeError
        If it is not a string.
    ValueError
        If it is not a model string, a node or an edge comes twice, a parent is not a node, or the
        edges have a cycle.

    See Also
    --------
    to_modelstring : What writes it.

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


_SEPARATORS = re.compile(r"[\[\]|:\n]")
_NODE = re.compile(r"\[([^\[\]|:]+)(?:\|([^\[\]|:]+(?::[^\[\]|:]+)*))?\]")
_MODELSTRING = re.compile(f"(?:{_NODE.pattern})+")
