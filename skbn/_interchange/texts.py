"""Graphs as texts: Graphviz's DOT and Mermaid."""

import re
from collections.abc import Hashable
from typing import Any
from unicodedata import category

import networkx as nx

from skbn._core.graphs import own_texts
from skbn._interchange.models import check_network, has_single_columns


def to_dot(network: Any, *, cpdag: bool = False) -> str:
    """Return a network in Graphviz's DOT language, the weights as the edges' labels.

    Parameters
    ----------
    network : GaussianBayesianNetwork
        Its parameters are not needed.
    cpdag : bool, default=False
        Whether to return the graph of the equivalence class instead, as
        `GaussianBayesianNetwork.cpdag` has it. It has no weights, and undirected edges have no
        heads.

    Returns
    -------
    text : str
        Edges between nodes of several columns have no labels.

    Raises
    ------
    TypeError, ValueError
        If it is not a network, or two nodes have the same text.

    Examples
    --------
    >>> import networkx as nx
    >>> from skbn import GaussianBayesianNetwork
    >>> from skbn.io import to_dot
    >>> dag = nx.DiGraph()
    >>> dag.add_nodes_from("ab", intercept=0, noise_variance=1)
    >>> dag.add_edge("a", "b", weight=2 / 3)
    >>> print(to_dot(GaussianBayesianNetwork(dag)))
    digraph {
      "a";
      "b";
      "a" -> "b" [label="0.667"];
    }
    """
    dag = _shown(network, cpdag)
    lines = [f"  {text};" for text in own_texts(dag, _quoted).values()]
    for a, b, data in dag.edges(data=True):
        attributes = ["dir=none"] if data.get("undirected") else []
        if "weight" in data:
            attributes.append(f'label="{data["weight"]:.3g}"')
        suffix = f" [{', '.join(attributes)}]" if attributes else ""
        lines.append(f"  {_quoted(a)} -> {_quoted(b)}{suffix};")
    return "\n".join(["digraph {", *lines, "}"])


def _shown(network: Any, cpdag: bool) -> nx.DiGraph:
    """Return the graph of a network, or of its class; its weights are those of single columns."""
    check_network(network)
    graph: nx.DiGraph = network.cpdag() if cpdag else network._structure()
    return network.dag if not cpdag and has_single_columns(network) else graph


def _quoted(node: Hashable) -> str:
    text = str(node)
    for character, escaped in (("\\", r"\\"), ('"', r"\""), ("\n", r"\n")):
        text = text.replace(character, escaped)
    # DOT has no escapes for other control characters and lone surrogates: their codes are written.
    text = "".join(rf"\\u{ord(c):04x}" if category(c) in ("Cc", "Cs") else c for c in text)
    return f'"{text}"'


def to_mermaid(network: Any, *, cpdag: bool = False) -> str:
    """Return a network as a Mermaid flowchart, the weights as the edges' labels.

    Many viewers of Markdown show it as a picture, in a block of code whose language is ``mermaid``.

    Parameters
    ----------
    network, cpdag : as for `to_dot`

    Returns
    -------
    text : str
        Edges between nodes of several columns have no labels.

    Examples
    --------
    >>> import networkx as nx
    >>> from skbn import GaussianBayesianNetwork
    >>> from skbn.io import to_mermaid
    >>> print(to_mermaid(GaussianBayesianNetwork(nx.DiGraph([("a", "b")]))))
    flowchart TD
      n0["a"]
      n1["b"]
      n0 --> n1
    """
    dag = _shown(network, cpdag)
    number = {node: i for i, node in enumerate(dag)}
    lines = [f'  n{i}["{_entities(node)}"]' for node, i in number.items()]
    for a, b, data in dag.edges(data=True):
        link = "---" if data.get("undirected") else "-->"
        if "weight" in data:
            link += f'|"{data["weight"]:.3g}"|'
        lines.append(f"  n{number[a]} {link} n{number[b]}")
    return "\n".join(["flowchart TD", *lines])


def _entities(node: Hashable) -> str:
    """Return a name in which all characters that mean something in Mermaid are codes."""
    name = re.sub(r"[^\w ,./()-]|[.-](?=\s)", lambda c: f"#{ord(c.group())};", str(node))
    return name or " "
