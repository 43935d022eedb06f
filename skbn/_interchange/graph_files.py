"""GraphML and GML, with all that is known of nodes and edges."""

from __future__ import annotations

import os
from typing import Any

import networkx as nx
import numpy as np

from skbn._core.files import replaced_file
from skbn._interchange.dagitty import picture_positions
from skbn._interchange.exported import check_network, has_single_columns


def to_graphml(network: Any, path: str | os.PathLike[str] | None = None) -> str | None:
    """Return a network as GraphML, or write it to a file for Cytoscape, Gephi, yEd or igraph.

    Parameters
    ----------
    network : GaussianBayesianNetwork
    path : str or path, optional
        The file. An existing file is replaced once everything is written.

    Returns
    -------
    text : str, or None with a path
        Edges have the columns of `GaussianBayesianNetwork.to_frame` as attributes, such as
        `weight`, `score_loss`, `reversible`, `probability` and `p_value`, but for those that are
        not finite. Nodes have `label`, `x` and `y`, where y grows upwards; and, if the network has
        parameters of single columns, none of them exogenous, `intercept`, `noise_variance`, `mean`
        and `std`.

    Raises
    ------
    TypeError, ValueError
        If it is not a network, or its graph has a cycle; if two nodes have the same text.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import networkx as nx
    >>> from skbn import GaussianBayesianNetwork
    >>> from skbn.io import to_graphml
    >>> text = to_graphml(GaussianBayesianNetwork(nx.DiGraph([("ash", "hue")])))
    >>> nx.parse_graphml(text).edges["ash", "hue"]
    {'reversible': True}
    """
    graph = _described(network)
    return _written("\n".join(nx.generate_graphml(graph)), path)


def to_gml(network: Any, path: str | os.PathLike[str] | None = None) -> str | None:
    """Return a network as GML, or write it to a file for Cytoscape, Gephi, yEd or igraph.

    Parameters
    ----------
    network : GaussianBayesianNetwork
    path : str or path, optional
        As for `to_graphml`.

    Returns
    -------
    text : str, or None with a path
        With the same attributes, but that places are `graphics`, where y grows downwards as in
        yEd and Cytoscape, bools are 0 and 1, and names have no underscores, which GML does not
        allow: `std_err` is `stdErr`.

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
    graph = _described(network)
    for _, data in graph.nodes(data=True):
        data["graphics"] = {"x": data.pop("x"), "y": -data.pop("y")}
        _rename(data)
    for _, _, data in graph.edges(data=True):
        _rename(data)
    return _written("\n".join(nx.generate_gml(graph)), path)


def _described(network: Any) -> nx.DiGraph:
    """Return a new graph with texts as nodes, and with numbers, texts and bools as attributes."""
    check_network(network)
    names = {node: str(node) for node in network.nodes}
    if len({*names.values()}) < len(names):
        raise ValueError(
            "Two nodes have the same text. Rename one of them with networkx.relabel_nodes."
        )
    graph = nx.DiGraph()
    places = picture_positions(network.dag, 1.0)
    for node, name in names.items():
        graph.add_node(name, label=name, x=places[node][0], y=places[node][1])
    table = network.to_frame()
    columns = {name: np.asarray(table[name]).tolist() for name in table}
    ends = zip(columns.pop("parent"), columns.pop("child"), strict=True)
    for i, (a, b) in enumerate(ends):
        graph.add_edge(names[a], names[b], **_known({k: own[i] for k, own in columns.items()}))
    if "weight" in columns and has_single_columns(network) and not network.exogenous:
        deviations = np.sqrt(np.diag(network.covariance_)).tolist()
        parameters = network.dag_.nodes(data=True)
        rows = zip(parameters, network.mean_.tolist(), deviations, strict=True)
        for (node, own), mean, deviation in rows:
            known = {k: own.get(k) for k in ("intercept", "noise_variance")}
            graph.nodes[names[node]].update(_known({**known, "mean": mean, "std": deviation}))
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


def _written(text: str, path: str | os.PathLike[str] | None) -> str | None:
    if path is None:
        return text
    with replaced_file(path) as file:
        file.write(text + "\n")
    return None
