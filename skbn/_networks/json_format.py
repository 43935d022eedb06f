"""Networks as JSON, in networkx's node-link format.

Networks are graphs with the attributes intercept and noise_variance of nodes and weight of edges.
"""

import json
import math
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from hashlib import sha256
from numbers import Integral
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

from skbn._core.arrays import Floats, finite_number
from skbn._core.files import replaced_file
from skbn._core.graphs import check_dag, propagate
from skbn._core.text import readable_value
from skbn._data.nodes import NodeColumn, Nodes
from skbn._networks.gaussian import LinearGaussianModel

# JSON

_ROUNDING = 8 * float(np.finfo(np.float64).eps)


def to_data(model: LinearGaussianModel) -> dict[str, Any]:
    """Return a network as the objects of JSON.

    The nodes' means are kept beside the intercepts if they follow from these up to rounding only.
    """
    dag = model.to_networkx()
    check_json_nodes(dag)
    for _, _, edge in dag.edges(data=True):  # it follows from the parameters
        edge.pop("standardised_weight", None)
    implied = propagate(model.intercept, model.coef, model.parents)
    if not np.array_equal(implied, model.mean) and _wrong_mean(model, model.mean) is None:
        means = dict(zip(model.nodes, model.mean.tolist(), strict=True))
        nx.set_node_attributes(dag, means, "mean")
    data: dict[str, Any] = nx.node_link_data(dag, edges="edges")
    return data


def to_json(data: Any, path: str | os.PathLike[str] | None) -> str | None:
    """Return objects as JSON, or write them to a file.

    Raises OSError if the file cannot be written.
    """
    # json does not know numpy's integers.
    return written(json.dumps(data, default=int, allow_nan=False), path)


def written(text: str, path: str | os.PathLike[str] | None) -> str | None:
    """Return a text, or write it to a file if there is a path."""
    if path is None:
        return text
    with replaced_file(path) as file:
        file.write(text + "\n")
    return None


def from_json(text_or_path: str | os.PathLike[str]) -> tuple[Any, str]:
    """Read the text that `to_json` returns, or the file it writes, and return what errors call it.

    Raises TypeError if it is neither a string nor a path; ValueError if it is not JSON, or an
    object has a key twice; OSError if the file cannot be read.
    """
    if not isinstance(text_or_path, str | os.PathLike):
        raise TypeError(
            "text_or_path must be a string of JSON, or a pathlib.Path of a file; got "
            f"{type(text_or_path).__name__}."
        )
    name = "text" if isinstance(text_or_path, str) else str(text_or_path)
    repeated: list[str] = []

    def as_dict(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        repeated.extend(key for key, n in Counter(key for key, _ in pairs).items() if n > 1)
        return dict(pairs)

    try:
        text = text_or_path
        if not isinstance(text, str):
            text = Path(text).read_text(encoding="utf-8-sig")
        data = json.loads(text, object_pairs_hook=as_dict)
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"{name} is not JSON in UTF-8: {error}. To read a file, give a pathlib.Path."
        ) from None
    if repeated:
        raise ValueError(f"{name} has an object with the key {repeated[0]!r} twice. Remove one.")
    return data, name


def from_data(data: Any, name: str) -> LinearGaussianModel:
    """Read a network's parameters, with the nodes' means if they are there."""
    _check_node_link_data(data, name)
    graph = nx.node_link_graph(data, edges="edges")
    check_dag(graph, f"the graph in {name}")
    try:
        model = LinearGaussianModel.from_networkx(graph)
        given = dict(graph.nodes(data="mean"))
        if not any(value is not None for value in given.values()):
            return model
        known = [finite_number(given[node], f"mean of node {node!r}") for node in model.nodes]
        if (wrong := _wrong_mean(model, np.array(known))) is not None:
            raise ValueError(
                f"mean of node {model.nodes[wrong]!r} is {known[wrong]!r}, and the intercept and "
                "the weights give another. Correct it, or leave the means of all nodes out."
            )
    except ValueError as error:
        raise ValueError(f"{name} is wrong: {error}") from None
    return replace(model, mean=np.array(known))


def _wrong_mean(model: LinearGaussianModel, mean: Floats) -> int | None:
    """Return a node whose mean is not what its parents' means give up to rounding, if any."""
    own, size = np.abs(model.coef), np.abs(mean)
    sums = np.abs(model.intercept) + size @ own + size
    rounding = _ROUNDING * (2 + np.count_nonzero(own, axis=0)) * sums
    is_right = np.abs(model.intercept + mean @ model.coef - mean) <= rounding
    return None if is_right.all() else int(np.argmin(is_right))


def _check_node_link_data(data: Any, name: str) -> None:
    """Raise for mistakes that networkx overlooks or does not explain."""
    for key in ("nodes", "edges"):
        items = data.get(key) if isinstance(data, dict) else None
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            raise ValueError(
                f"{name} must hold an object with a list of objects {key!r}, as to_json writes it."
            )
    if "links" in data:
        raise ValueError(f"{name} has both 'edges' and 'links'. Keep one, as 'edges'.")
    if data.get("directed") is not True or data.get("multigraph") is not False:
        raise ValueError(f'{name} must hold a graph with "directed": true and "multigraph": false.')
    if not isinstance(data.get("graph", {}), dict):
        raise ValueError(f"{name} must hold an object as 'graph', or leave it out.")
    nodes = [node.get("id") for node in data["nodes"]]
    if wrong := [node for node in nodes if not is_json_node(node)]:
        raise ValueError(
            f"{name} has a node whose 'id' is not a string or an integer: "
            f"{readable_value(wrong[0])}."
        )
    edges = [(edge.get("source"), edge.get("target")) for edge in data["edges"]]
    check_edges(nodes, edges, name)


def check_edges(nodes: list[Any], edges: list[tuple[Any, Any]], name: str) -> None:
    """Raise unless the ends of edges are nodes, and there are no two of one."""
    for edge in edges:
        if unknown := [end for end in edge if not is_json_node(end) or end not in nodes]:
            raise ValueError(
                f"{name} has the edge {readable_value(edge)}, but no node "
                f"{readable_value(unknown[0])}."
            )
    for kind, items in (("node", nodes), ("edge", edges)):
        if repeated := [item for item, count in Counter(items).items() if count > 1]:
            raise ValueError(f"{name} has the {kind} {readable_value(repeated[0])} twice.")


def check_json_nodes(nodes: Iterable[Any]) -> None:
    """Raise a ValueError if a node cannot be one in JSON."""
    for node in nodes:
        if not is_json_node(node):
            raise ValueError(
                f"JSON keeps nodes that are strings or integers; got {readable_value(node)}. "
                "Rename it with networkx.relabel_nodes."
            )


def is_json_node(node: Any) -> bool:
    """Whether this may be the name of a node in JSON."""
    return isinstance(node, str | Integral) and not isinstance(node, bool)


# JSON of nodes of several columns: what stands for each node, with a digest by which changes are
# noticed, and the network of the columns.

_PARTS = ("names", "columns", "widths", "levels", "labels")


def to_block_data(blocks: Nodes, network: dict[str, Any]) -> dict[str, Any]:
    """Return the objects of JSON for nodes and for the network of their columns.

    Raises ValueError if a category has levels that JSON does not keep.
    """
    levels = [[name, [_plain(name, v) for v in own]] for name, own in blocks.levels.items()]
    node_of = blocks.by_column(np.array(blocks.names, dtype=object))
    columns = [
        [name, source, None if level is None else _plain(node, level)]
        for (name, source, level), node in zip(blocks.columns, node_of, strict=True)
    ]
    values = blocks.names, columns, blocks.widths, levels, blocks.labels
    parts: dict[str, Any] = dict(zip(_PARTS, values, strict=True))
    return {"blocks": parts, "sha256": _digest(parts), "network": network}


def _digest(parts: dict[str, Any]) -> str:
    text = json.dumps(parts, default=int, sort_keys=True)
    return sha256(text.encode()).hexdigest()


def _plain(owner: Any, level: Any) -> Any:
    """Return a level as JSON keeps it."""
    if isinstance(level, np.bool_ | np.integer | np.floating):
        level = level.item()
    if not isinstance(level, str | int | float) or level in (math.inf, -math.inf) or level != level:
        raise ValueError(
            f"JSON keeps levels that are strings, finite numbers or bools; {owner!r} has "
            f"{readable_value(level)}. Fit with strings in their place, or pickle the network."
        )
    return level


def from_block_data(contents: Any, name: str) -> tuple[Nodes, Any]:
    """Return the nodes in a file's contents, and what it has for the network of their columns.

    `contents`: what json reads of the file. Files of older versions have no digest.
    `name`: what errors call it
    """
    parts: Any = contents.get("blocks") if isinstance(contents, dict) else None
    if not isinstance(parts, dict) or not isinstance(contents.get("network"), dict):
        raise ValueError(
            f"{name} must hold an object with the objects 'blocks' and 'network', as to_json "
            "writes it if nodes have several columns."
        )
    if contents.get("sha256", digest := _digest(parts)) != digest:
        raise ValueError(
            f"{name} is wrong: 'blocks' was changed since to_json wrote it. Write the file again, "
            "by to_json of the network."
        )
    try:
        names, columns, widths, levels, labels = (parts[part] for part in _PARTS)
        known = {each[0]: each[1] for each in levels}
        blocks = Nodes(names, [NodeColumn(*each[:3]) for each in columns], widths, known, labels)
    except (LookupError, TypeError):
        raise ValueError(f"{name} is wrong: 'blocks' is not as to_json writes it.") from None
    return blocks, contents["network"]


def check_columns(blocks: Nodes, model: LinearGaussianModel, name: str) -> None:
    """Raise a ValueError unless the edges of columns are those that edges of nodes stand for."""
    is_wrong = f"{name} is wrong: "
    if list(model.nodes) != blocks.column_names:
        raise ValueError(
            f"{is_wrong}the nodes of 'network' are {readable_value(model.nodes)}, and the "
            f"columns in 'blocks' {readable_value(blocks.column_names)}. They must be the same."
        )
    # The file of a node that `do` has set has no edges between its columns.
    is_held = model.noise_variance == 0
    within = blocks.parents_of_columns([0] * len(blocks.names))
    for masks in (model.parents, model.fixed):
        expected = blocks.parents_of_columns(blocks.parents_of_nodes(masks), within=False)
        for v, (mask, of_nodes, own) in enumerate(zip(masks, expected, within, strict=True)):
            is_complete = masks is model.fixed or mask & own == own or (is_held[v] and not mask)
            if mask & ~own != of_nodes or not is_complete:
                raise ValueError(
                    f"{is_wrong}the edges to column {model.nodes[v]!r} in 'network', or which of "
                    "them are fixed, are not those from all columns of its node's parents, and "
                    "from those before it in its own node."
                )
    is_outside = np.isin(np.arange(len(model.nodes)), [*model.exogenous])
    if not np.array_equal(blocks.by_column(is_outside[blocks.starts[:-1]]), is_outside):
        raise ValueError(
            f"{is_wrong}the nodes of 'network' that are exogenous must be all columns of some "
            "nodes."
        )
