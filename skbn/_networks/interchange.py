"""Networks in other forms: Graphviz's DOT, Mermaid, pgmpy's models.

Networks are graphs with the attributes intercept and noise_variance of nodes and weight
of edges.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Mapping
from importlib import import_module
from typing import Any
from unicodedata import category

import networkx as nx

from skbn._core.graphs import check_dag
from skbn._core.labels import finite_number
from skbn._core.text import readable_value
from skbn._networks.gaussian import LinearGaussianModel

__all__ = ["from_pgmpy", "to_dot", "to_mermaid", "to_pgmpy"]


def to_dot(dag: nx.DiGraph) -> str:
    """Return a graph in Graphviz's DOT language, weights as the edges' labels.

    Edges with the attribute `undirected`, as in a CPDAG, have no heads.

    Raises
    ------
    ValueError
        If two nodes have the same text.
    """
    texts: dict[str, Hashable] = {}
    for node in dag:
        text = _quoted(node)
        if text in texts:
            raise ValueError(
                f"The nodes {texts[text]!r} and {node!r} have the same text. Rename one with "
                "networkx.relabel_nodes."
            )
        texts[text] = node
    lines = [f"  {text};" for text in texts]
    for a, b, data in dag.edges(data=True):
        attributes = ["dir=none"] if data.get("undirected") else []
        if "weight" in data:
            attributes.append(f'label="{data["weight"]:.3g}"')
        suffix = f" [{', '.join(attributes)}]" if attributes else ""
        lines.append(f"  {_quoted(a)} -> {_quoted(b)}{suffix};")
    return "\n".join(["digraph {", *lines, "}"])


def _quoted(node: Hashable) -> str:
    text = str(node)
    for character, escaped in (("\\", r"\\"), ('"', r"\""), ("\n", r"\n")):
        text = text.replace(character, escaped)
    # DOT has no escapes for other control characters and lone surrogates: their codes stand.
    text = "".join(rf"\\u{ord(c):04x}" if category(c) in ("Cc", "Cs") else c for c in text)
    return f'"{text}"'


def to_mermaid(dag: nx.DiGraph) -> str:
    """Return a graph as a Mermaid flowchart, weights as the edges' labels.

    Edges with the attribute `undirected`, as in a CPDAG, have no heads.
    """
    number = {node: i for i, node in enumerate(dag)}
    lines = [f'  n{i}["{_entities(node)}"]' for node, i in number.items()]
    for a, b, data in dag.edges(data=True):
        link = "---" if data.get("undirected") else "-->"
        if "weight" in data:
            link += f'|"{data["weight"]:.3g}"|'
        lines.append(f"  n{number[a]} {link} n{number[b]}")
    return "\n".join(["flowchart TD", *lines])


def _entities(node: Hashable) -> str:
    """Return a name in which all that Mermaid could take for its own stands as a code."""
    name = re.sub(r"[^\w ,./()-]|[.-](?=\s)", lambda c: f"#{ord(c.group())};", str(node))
    return name or " "


def to_pgmpy(dag: nx.DiGraph) -> Any:
    """Return a network as pgmpy's LinearGaussianBayesianNetwork.

    Raises
    ------
    ImportError
        If pgmpy is not installed.
    """
    model = _pgmpy("models").LinearGaussianBayesianNetwork()
    model.add_nodes_from(dag)
    model.add_edges_from(dag.edges)
    conditional = _pgmpy("factors.continuous").LinearGaussianCPD
    for node, data in dag.nodes(data=True):
        parents = list(dag.predecessors(node))
        beta = [data["intercept"], *(dag.edges[parent, node]["weight"] for parent in parents)]
        model.add_cpds(conditional(node, beta, math.sqrt(data["noise_variance"]), parents))
    return model


def from_pgmpy(model: Any) -> LinearGaussianModel:
    """Read a network from pgmpy's LinearGaussianBayesianNetwork.

    Raises
    ------
    ImportError
        If pgmpy is not installed.
    TypeError
        If it is another model.
    ValueError
        Naming the node whose conditional distribution is missing or does not fit.
    """
    if not isinstance(model, _pgmpy("models").LinearGaussianBayesianNetwork):
        raise TypeError(
            f"model must be a pgmpy LinearGaussianBayesianNetwork; got {type(model).__name__}."
        )
    distributions: Mapping[Hashable, Any] = {cpd.variable: cpd for cpd in model.cpds}
    dag = nx.DiGraph()
    dag.add_nodes_from(model)
    for node in model:
        if node not in distributions:
            raise ValueError(f"model has no CPD of node {node!r}; add one, or fit the model.")
        cpd = distributions[node]
        parents, beta = list(cpd.evidence), list(cpd.beta)
        if set(parents) != set(model.predecessors(node)) or len(beta) != len(parents) + 1:
            raise ValueError(
                f"The CPD of node {node!r} must have a coefficient for each of its parents "
                f"{list(model.predecessors(node))} and one before them; it has {beta} for "
                f"{parents}."
            )
        deviation = finite_number(cpd.std, f"std of node {node!r}")
        if deviation < 0:
            raise ValueError(
                f"std of node {node!r} must not be negative; got {readable_value(deviation)}."
            )
        dag.add_node(node, intercept=beta[0], noise_variance=deviation * deviation)
        dag.add_weighted_edges_from((p, node, w) for p, w in zip(parents, beta[1:], strict=True))
    check_dag(dag, "model")
    return LinearGaussianModel.from_dag(dag)


def _pgmpy(module: str) -> Any:
    try:
        return import_module(f"pgmpy.{module}")
    except ImportError as error:
        raise ImportError(f"This needs pgmpy: pip install pgmpy ({error}).") from error
