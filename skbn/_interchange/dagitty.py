"""The language of dagitty, for its web page and its R package."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from typing import Any

import networkx as nx

from skbn._core.text import readable_value
from skbn._displays.layout.layered import LayeredGraph
from skbn._interchange.exported import check_network

# Points of a layout for a unit of dagitty's, whose pictures are a few units wide.
_POINTS = 60.0
_BOX = (80.0, 24.0)


def to_dagitty(
    network: Any,
    *,
    cpdag: bool = False,
    exposure: Any = None,
    outcome: Any = None,
    pos: Mapping[Hashable, tuple[float, float]] | None = None,
) -> str:
    """Return a network in the language of dagitty, with a layout.

    Paste it into dagitty.net, or give it to ``dagitty::dagitty`` in R.

    Parameters
    ----------
    network : GaussianBayesianNetwork
        Its weights, standardised if it has parameters, become dagitty's `beta`.
    cpdag : bool, default=False
        Whether to return the graph of the equivalence class instead, a ``pdag``.
    exposure, outcome : node or list of nodes, optional
        What dagitty is to find adjustment sets for.
    pos : mapping of node to (x, y), optional
        Where to draw each node; y grows upwards, as in a picture of matplotlib. By default in
        layers, as `plot` does.

    Returns
    -------
    text : str

    Raises
    ------
    TypeError, ValueError
        If it is not a network, or its graph has a cycle; if two nodes have the same text, or one
        cannot be written; if `exposure`, `outcome` or `pos` have other nodes, or `pos` lacks some.

    Examples
    --------
    >>> import networkx as nx
    >>> from skbn import GaussianBayesianNetwork
    >>> from skbn.io import to_dagitty
    >>> network = GaussianBayesianNetwork(nx.DiGraph([("wine age", "hue")]))
    >>> print(to_dagitty(network, outcome="hue", pos={"wine age": (0, 1), "hue": (0, 0)}))
    dag {
      "wine age" [pos="0.000,-1.000"]
      "hue" [outcome, pos="0.000,0.000"]
      "wine age" -> "hue"
    }
    """
    check_network(network)
    nodes = network.nodes  # raises if the graph is wrong
    quoted = {node: _quoted(node) for node in nodes}
    if len({*quoted.values()}) < len(nodes):
        raise ValueError(
            "Two nodes have the same text. Rename one of them with networkx.relabel_nodes."
        )
    roles = {"exposure": _listed(exposure, nodes), "outcome": _listed(outcome, nodes)}
    for name, own in roles.items():
        _check_known(own, nodes, name)
    if pos is None:
        pos = picture_positions(network.dag, _POINTS)
    _check_known(pos, nodes, "pos")
    _check_known(nodes, list(pos), "network", "pos")
    lines = []
    for node in nodes:
        x, y = pos[node]
        options = [name for name, own in roles.items() if node in own]
        options.append(f'pos="{x:.3f},{0.0 - y:.3f}"')  # dagitty's y grows downwards
        lines.append(f"{quoted[node]} [{', '.join(options)}]")
    graph = network.cpdag() if cpdag else network.dag
    weights = {} if cpdag else _standardised(network)
    for a, b, data in graph.edges(data=True):
        link = "--" if data.get("undirected") else "->"
        beta = f' [beta="{weights[a, b]:.4g}"]' if (a, b) in weights else ""
        lines.append(f"{quoted[a]} {link} {quoted[b]}{beta}")
    return "\n".join(["pdag {" if cpdag else "dag {", *(f"  {line}" for line in lines), "}"])


def picture_positions(dag: nx.DiGraph, scale: float) -> dict[Hashable, tuple[float, float]]:
    """Return where pictures draw the nodes, in units of so many points; y grows upwards."""
    layout = LayeredGraph(dag, dict.fromkeys(dag, _BOX)).layout()
    return {node: (x / scale, y / scale) for node, (x, y) in layout.positions.items()}


def _standardised(network: Any) -> dict[tuple[Hashable, Hashable], float]:
    table = network.to_frame(confidence=None)
    if "standardised_weight" not in table:
        return {}
    columns = (list(table[name]) for name in ("parent", "child", "standardised_weight"))
    return {(a, b): weight for a, b, weight in zip(*columns, strict=True) if weight == weight}


def _quoted(node: Hashable) -> str:
    text = str(node)
    # dagitty's strings have an escape for quotes only.
    if not text or text.endswith("\\") or re.search(r"[\x00-\x1f\x7f]", text):
        raise ValueError(
            f"dagitty has no way to write the node {readable_value(node)}: names must not be "
            "empty, end with a backslash, or have control characters. Rename it with "
            "networkx.relabel_nodes."
        )
    return '"' + text.replace('"', r"\"") + '"'


def _listed(nodes: Any, known: list[Hashable]) -> list[Hashable]:
    if nodes is None:
        return []
    # A tuple may be a node.
    is_one = isinstance(nodes, str) or not isinstance(nodes, list | tuple | set) or nodes in known
    return [nodes] if is_one else list(nodes)


def _check_known(nodes: Any, known: list[Hashable], name: str, where: str = "the network") -> None:
    for node in nodes:
        if node not in known:
            raise ValueError(
                f"{name} has the node {readable_value(node)}, and {where} does not. Name nodes of "
                f"the network: {readable_value(known)}."
            )
