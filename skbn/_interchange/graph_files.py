"""Graphs as other programs draw them: GraphML, GML and the language of dagitty."""

import os
import re
from collections import Counter
from collections.abc import Hashable, Mapping
from typing import Any

import networkx as nx
import numpy as np

from skbn._core.columns import any_nodes, reject_unknown
from skbn._core.graphs import own_texts
from skbn._core.text import readable_value
from skbn._displays.layout.layered import LayeredGraph
from skbn._interchange.models import check_network, has_single_columns
from skbn._networks.descriptions import OF_COEFFICIENTS
from skbn._networks.json_format import written

_NOT_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


# The layout of larger networks takes longer than all else, and Cytoscape and Gephi have their own.
_MOST_PLACED = 299


def to_graphml(
    network: Any, path: str | os.PathLike[str] | None = None, *, positions: bool | None = None
) -> str | None:
    """Return a network as GraphML, or write it to a file for Cytoscape, Gephi, yEd or igraph.

    Parameters
    ----------
    network : GaussianBayesianNetwork
    path : str or path, optional
        The file. An existing file is replaced once everything is written.
    positions : bool or None, default=None
        Whether nodes have places, as `plot` would draw them; by default up to 299 nodes have.

    Returns
    -------
    text : str, or None with a path
        Edges have the columns of `GaussianBayesianNetwork.to_frame` as attributes, such as
        `weight`, `score_loss`, `reversible`, `probability` and `p_value`, but for those that are
        not finite, or of which an edge has several. Nodes have `label`; `x` and `y`, where y grows
        upwards, if `positions`; and, if the network has parameters of single columns, none of them
        exogenous, `intercept`, `noise_variance`, `mean` and `std`.

    Raises
    ------
    TypeError, ValueError, OSError
        If it is not a network; if two nodes have the same text, or one has a character that XML
        does not allow; if the file cannot be written.

    Examples
    --------
    >>> import networkx as nx
    >>> from skbn import GaussianBayesianNetwork
    >>> from skbn.io import to_graphml
    >>> text = to_graphml(GaussianBayesianNetwork(nx.DiGraph([("ash", "hue")])))
    >>> nx.parse_graphml(text).edges["ash", "hue"]
    {'reversible': True}
    """
    graph = _described(network, positions)
    for name in graph:
        if _NOT_XML.search(name):
            raise ValueError(
                f"XML has no way to write the control characters and lone surrogates in the node "
                f"{readable_value(name)}. Rename it with networkx.relabel_nodes, or use to_gml."
            )
    return written("\n".join(nx.generate_graphml(graph)), path)


def to_gml(
    network: Any, path: str | os.PathLike[str] | None = None, *, positions: bool | None = None
) -> str | None:
    """Return a network as GML, or write it to a file for Cytoscape, Gephi, yEd or igraph.

    Parameters
    ----------
    network, path, positions : as for `to_graphml`

    Returns
    -------
    text : str, or None with a path
        With the attributes of `to_graphml`, but that places are `graphics`, where y grows downwards
        as in yEd and Cytoscape, bools are 0 and 1, and names have no underscores, which GML does
        not allow: `std_err` is `stdErr`.

    Raises
    ------
    TypeError, ValueError, OSError
        As `to_graphml`.

    Examples
    --------
    >>> import networkx as nx
    >>> from skbn import GaussianBayesianNetwork
    >>> from skbn.io import to_gml
    >>> text = to_gml(GaussianBayesianNetwork(nx.DiGraph([("ash", "hue")])))
    >>> nx.parse_gml(text).edges["ash", "hue"]
    {'reversible': 1}
    """
    graph = _described(network, positions)
    for _, data in graph.nodes(data=True):
        if "x" in data:
            data["graphics"] = {"x": data.pop("x"), "y": -data.pop("y")}
        _rename(data)
    for _, _, data in graph.edges(data=True):
        _rename(data)
    return written("\n".join(nx.generate_gml(graph)), path)


def _described(network: Any, positions: bool | None) -> nx.DiGraph:
    """Return a new graph with texts as nodes, and with numbers, texts and bools as attributes."""
    check_network(network)
    names = own_texts(network.nodes, str)
    graph = nx.DiGraph()
    is_placed = len(names) <= _MOST_PLACED if positions is None else positions
    places = picture_positions(network._structure(), 1.0) if is_placed else {}
    for node, name in names.items():
        graph.add_node(name, label=name, **dict(zip("xy", places.get(node, ()), strict=False)))
    table, edges = network._edge_columns()
    columns = {k: np.asarray(table[k]).tolist() for k in table if k not in ("parent", "child")}
    times = Counter(edges)
    for i, (a, b) in enumerate(edges):
        of_edge = [k for k in columns if times[a, b] == 1 or k not in OF_COEFFICIENTS]
        graph.add_edge(names[a], names[b], **_known({k: columns[k][i] for k in of_edge}))
    if "weight" in columns and has_single_columns(network) and not network.exogenous:
        deviations = np.sqrt(np.diag(network.covariance_)).tolist()
        values = network.intercept_, network.noise_variance_, network.mean_
        rows = zip(*(each.tolist() for each in values), deviations, strict=True)
        for name, row in zip(names.values(), rows, strict=True):
            known = dict(zip(("intercept", "noise_variance", "mean", "std"), row, strict=True))
            graph.nodes[name].update(_known(known))
    return graph


def _known(data: dict[str, Any]) -> dict[str, Any]:
    """Leave out what is not a bool, a text or a finite number."""
    return {
        name: value
        for name, value in data.items()
        if isinstance(value, bool | str) or (isinstance(value, int | float) and np.isfinite(value))
    }


def _rename(data: dict[str, Any]) -> None:
    for name in list(data):
        first, *others = name.split("_")
        data["".join([first, *map(str.capitalize, others)])] = data.pop(name)


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
        layers, as `plot` does; from 300 nodes on dagitty places them.

    Returns
    -------
    text : str

    Raises
    ------
    TypeError, ValueError
        If it is not a network; if two nodes have the same text, or one cannot be written; if
        `exposure`, `outcome` or `pos` have other nodes, or `pos` lacks some.

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
    quoted = own_texts(nodes, _quoted)
    given = ("exposure", exposure), ("outcome", outcome)
    roles = {name: any_nodes(each, nodes, name) for name, each in given}
    if pos is None and len(nodes) <= _MOST_PLACED:
        pos = picture_positions(network._structure(), _POINTS)
    if pos is not None:
        reject_unknown(pos, nodes, "pos")
        if missing := [node for node in nodes if node not in pos]:
            raise ValueError(f"pos has no place for the node {readable_value(missing[0])}; add it.")
    lines = []
    for node in nodes:
        options = [name for name, own in roles.items() if node in own]
        if pos is not None:
            x, y = pos[node]
            options.append(f'pos="{x:.3f},{0.0 - y:.3f}"')  # dagitty's y grows downwards
        lines.append(quoted[node] + f" [{', '.join(options)}]" * bool(options))
    graph = network.cpdag() if cpdag else network._structure()
    weights = {} if cpdag else _standardised(network)
    for a, b, data in graph.edges(data=True):
        link = "--" if data.get("undirected") else "->"
        beta = f' [beta="{weights[a, b]:.4g}"]' if (a, b) in weights else ""
        lines.append(f"{quoted[a]} {link} {quoted[b]}{beta}")
    return "\n".join(["pdag {" if cpdag else "dag {", *(f"  {line}" for line in lines), "}"])


def picture_positions(dag: nx.DiGraph, scale: float) -> dict[Hashable, tuple[float, float]]:
    """Return where pictures draw the nodes, in units of `scale` points; y grows upwards."""
    layout = LayeredGraph(dag, dict.fromkeys(dag, _BOX)).layout()
    return {node: (x / scale, y / scale) for node, (x, y) in layout.positions.items()}


def _standardised(network: Any) -> dict[tuple[Hashable, Hashable], float]:
    table, edges = network._edge_columns(confidence=None)
    times, weights = Counter(edges), table.get("standardised_weight", [])
    of_edges = zip(edges, weights, strict=False)
    return {edge: w for edge, w in of_edges if times[edge] == 1 and w == w}


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
