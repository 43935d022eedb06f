"""Graphs as texts, as bnlearn writes them: a bracket for each node and its parents."""

import re
from itertools import chain

import networkx as nx

from skbn._core.graphs import Dag, own_texts
from skbn._core.text import must_be
from skbn._networks.json_format import check_edges

_SEPARATORS = re.compile(r"[\[\]|:\n]")
_NODE = re.compile(r"\[([^\[\]|:]+)(?:\|([^\[\]|:]+(?::[^\[\]|:]+)*))?\]")
_MODELSTRING = re.compile(f"(?:{_NODE.pattern})+")


def text_of(dag: nx.DiGraph) -> str:
    """Return the model string, in which parents come before their children."""
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


def dag_in(text: str) -> Dag:
    """Return the graph of a model string; raise if it is none."""
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
    return Dag.from_networkx(dag, "the model string")
