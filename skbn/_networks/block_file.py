"""The file of a network of blocks: what stands for each node, and the columns' network.

What is said of a column stands beside it, so that no change of one part goes unnoticed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from skbn._core.subsets import members_of
from skbn._core.text import readable_value
from skbn._data.nodes import NodeColumn, Nodes
from skbn._networks.gaussian import LinearGaussianModel
from skbn._networks.interchange import is_json_node

__all__ = ["blocks_in", "check_columns", "contents_of", "masks_of_nodes"]


_PARTS = ("names", "columns", "widths", "levels", "labels")


def contents_of(blocks: Nodes, network: dict[str, Any]) -> dict[str, Any]:
    """Return the objects of JSON for nodes and for the network of their columns.

    Raises
    ------
    ValueError
        If JSON does not keep a level.
    """
    levels = {name: [_plain(name, each) for each in own] for name, own in blocks.levels.items()}
    node_of = blocks.by_column(np.arange(len(blocks.names))).tolist()
    columns = []
    for (name, source, level), v in zip(blocks.columns, node_of, strict=True):
        of_level = None if level is None else _plain(name, level)
        columns.append([name, source, of_level, blocks.names[v], blocks.labels[source]])
    of_levels = [[name, own, own[0]] for name, own in levels.items()]
    values = blocks.names, columns, blocks.widths, of_levels, blocks.labels
    return {"blocks": dict(zip(_PARTS, values, strict=True)), "network": network}


def _plain(owner: Any, level: Any) -> Any:
    """Return a level as JSON keeps it."""
    if isinstance(level, np.bool_ | np.integer | np.floating):
        level = level.item()
    if not _is_level(level):
        raise ValueError(
            f"JSON keeps levels that are strings, finite numbers or bools; {owner!r} has "
            f"{readable_value(level)}. Fit with strings in their place, or pickle the network."
        )
    return level


def _is_level(value: Any) -> bool:
    return isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))


def blocks_in(contents: Any, name: str) -> tuple[Nodes, Any]:
    """Return the nodes in a file's contents, and what it has for the network of their columns.

    Raises
    ------
    ValueError
        Naming the part that is missing or wrong.
    """
    parts: Any = contents.get("blocks") if isinstance(contents, dict) else None
    if not isinstance(parts, dict) or not isinstance(contents.get("network"), dict):
        raise ValueError(
            f"{name} must hold an object with the objects 'blocks' and 'network', as to_json of a "
            "GaussianBlockNetwork writes it."
        )

    def require(is_right: bool, part: str, what: str) -> None:
        if not is_right:
            raise ValueError(
                f"{name} is wrong: {part!r} in 'blocks' must {what}; got "
                f"{readable_value(parts.get(part))}."
            )

    given: list[Any] = [parts.get(part) for part in _PARTS]
    names, columns, widths, levels, labels = given
    for part, listed in (("names", names), ("labels", labels)):
        require(_are_names(listed), part, "list different strings or integers")
    m = len(names)
    require(
        isinstance(columns, list) and all(_is_column(each, len(labels)) for each in columns),
        "columns",
        f"list columns as [name, source, level, node, label], with sources below {len(labels)}",
    )
    columns = [[*each, None, None][:5] for each in columns]
    require(_are_names([each[0] for each in columns]), "columns", "name each column once")
    is_whole = isinstance(widths, list) and all(type(each) is int and each > 0 for each in widths)
    require(
        is_whole and len(widths) == m and sum(widths) == len(columns),
        "widths",
        f"have a number of columns for each of the {m} nodes, {len(columns)} together",
    )
    require(
        isinstance(levels, list) and all(map(_has_levels, levels)),
        "levels",
        "list the categories as [node, levels, first level], with two levels or more, each once",
    )
    categories = [each[0] for each in levels]
    require(
        _are_names(categories or names) and all(_is_in(each, names) for each in categories),
        "levels",
        f"be of the nodes {readable_value(names)}, each once",
    )
    known = {node: own for node, own, *_ in levels}
    blocks = Nodes(names, [NodeColumn(*each[:3]) for each in columns], widths, known, labels)
    used: set[int] = set()
    for v, node in enumerate(names):
        own = [columns[i] for i in blocks.columns_of([v])]
        sources = {column[1] for column in own}
        is_right = not sources & used and _are_of_node(own, node, blocks)
        require(is_right, "columns", f"be those of the nodes; they are not for {node!r}")
        used |= sources
    return blocks, contents["network"]


def _are_of_node(columns: list[list[Any]], node: Any, blocks: Nodes) -> bool:
    """Whether columns are the indicators of a category, or distinct columns of numbers."""
    rest = iter(map(_typed, blocks.levels.get(node, [])[1:]))
    sources = {source for _, source, *_ in columns}
    for name, source, level, of_node, label in columns:
        expected = blocks.labels[source]
        if node in blocks.levels:
            # In the order of the levels, some of which may have no column.
            is_right = _typed(level) in rest and name == f"{node}={level}" and len(sources) == 1
        else:
            is_right = level is None and _typed(name) == _typed(expected)
        has_ends = of_node is None and label is None  # as older versions wrote it
        if not (is_right and (has_ends or (of_node, label) == (node, expected))):
            return False
    return node in blocks.levels or len(sources) == len(columns)


def check_columns(blocks: Nodes, model: LinearGaussianModel, name: str) -> None:
    """Raise a ValueError unless the edges of columns are those that edges of nodes stand for."""
    if list(model.nodes) != blocks.column_names:
        raise ValueError(
            f"{name} is wrong: the nodes of 'network' are {readable_value(model.nodes)}, and the "
            f"columns in 'blocks' {readable_value(blocks.column_names)}. They must be the same."
        )
    # The file of a node that `do` has set has no edges between its columns.
    is_held = model.noise_variance == 0
    within = blocks.parents_of_columns([0] * len(blocks.names))
    for masks in (model.parents, model.fixed):
        expected = blocks.parents_of_columns(masks_of_nodes(blocks, masks), within=False)
        for v, (mask, of_nodes, own) in enumerate(zip(masks, expected, within, strict=True)):
            is_complete = masks is model.fixed or mask & own == own or (is_held[v] and not mask)
            if mask & ~own != of_nodes or not is_complete:
                raise ValueError(
                    f"{name} is wrong: the edges to column {model.nodes[v]!r} in 'network', or "
                    "which of them are fixed, are not those from all columns of its node's "
                    "parents, and from those before it in its own node."
                )
    is_outside = np.isin(np.arange(len(model.nodes)), [*model.exogenous])
    starts = blocks.starts[:-1]
    if not np.array_equal(blocks.by_column(is_outside[starts]), is_outside):
        raise ValueError(
            f"{name} is wrong: the nodes of 'network' that are exogenous must be all columns of "
            "some nodes."
        )


def masks_of_nodes(blocks: Nodes, masks: Sequence[int]) -> list[int]:
    """Return the masks of the nodes' parents, from those of the parents of all columns."""
    node_of = blocks.by_column(np.arange(len(blocks.names)))
    # The first column of a node has none of its own as parents.
    first = [masks[start] for start in blocks.starts[:-1]]
    return [sum(1 << v for v in {*node_of[members_of(mask)].tolist()}) for mask in first]


def _typed(value: Any) -> tuple[type, Any]:
    """Return a value that differs from equal ones of other types: 1 and True, say."""
    return type(value), value


def _is_in(value: Any, listed: list[Any]) -> bool:
    return is_json_node(value) and _typed(value) in map(_typed, listed)


def _are_names(listed: Any) -> bool:
    is_list = isinstance(listed, list) and bool(listed) and all(map(is_json_node, listed))
    return is_list and len({*listed}) == len(listed)


def _is_column(entry: Any, n_labels: int) -> bool:
    if not isinstance(entry, list) or len(entry) not in (3, 5) or not is_json_node(entry[0]):
        return False
    _, source, level, *_ = entry
    is_source = type(source) is int and 0 <= source < n_labels
    return is_source and (level is None or _is_level(level))


def _has_levels(entry: Any) -> bool:
    # Older versions wrote no first level.
    is_entry = isinstance(entry, list) and len(entry) in (2, 3) and isinstance(entry[1], list)
    if not is_entry or not all(map(_is_level, entry[1])):
        return False
    _, levels, *first = entry
    return 1 < len({*levels}) == len(levels) and first in ([], levels[:1])
