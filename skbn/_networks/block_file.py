"""The file of a network of blocks: what stands for each node, and the columns' network.

What is said of a column stands beside it, so that no change of one part goes unnoticed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np

from skbn._core.subsets import members_of
from skbn._core.text import readable_value
from skbn._data.nodes import NodeColumn, Nodes
from skbn._networks.gaussian import LinearGaussianModel
from skbn._networks.interchange import is_json_node

_PARTS = ("names", "columns", "widths", "levels", "labels")
_OLDER = {"columns": 3, "levels": 2}  # entries of each: older versions said nothing twice


def contents_of(blocks: Nodes, network: dict[str, Any]) -> dict[str, Any]:
    """Return the objects of JSON for nodes and for the network of their columns.

    Raises
    ------
    ValueError
        If JSON does not keep a level.
    """
    levels = [(name, [_plain(name, v) for v in own]) for name, own in blocks.levels.items()]
    node_of = blocks.by_column(np.array(blocks.names, dtype=object))
    columns = [
        [name, source, None if level is None else _plain(name, level), node, blocks.labels[source]]
        for (name, source, level), node in zip(blocks.columns, node_of, strict=True)
    ]
    values = (
        blocks.names,
        columns,
        blocks.widths,
        [[name, own, own[0]] for name, own in levels],
        blocks.labels,
    )
    return {"blocks": dict(zip(_PARTS, values, strict=True)), "network": network}


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


def blocks_in(contents: Any, name: str) -> tuple[Nodes, Any]:
    """Return the nodes in a file's contents, and what it has for the network of their columns.

    The columns are made again of the other parts, and must be those of the file.

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
    for part in _PARTS:
        if not isinstance(parts.get(part), list):
            raise ValueError(
                f"{name} is wrong: {part!r} in 'blocks' must be a list, as to_json writes it; got "
                f"{readable_value(parts.get(part))}."
            )
    try:
        blocks = _made_again(*(parts[part] for part in _PARTS))
        expected = contents_of(blocks, {})["blocks"]
    except ValueError as error:
        raise ValueError(f"{name} is wrong: in 'blocks', {error}.") from None
    except (LookupError, OverflowError, TypeError):
        raise ValueError(
            f"{name} is wrong: 'columns' or 'levels' in 'blocks' are not as to_json writes them."
        ) from None
    for part, right in expected.items():
        found = json.dumps(parts[part])  # as text, in which 1, 1.0 and true differ
        older = [each[: _OLDER[part]] for each in right] if part in _OLDER else right
        if found not in (json.dumps(right), json.dumps(older)):
            raise ValueError(
                f"{name} is wrong: {part!r} in 'blocks' is {readable_value(parts[part])}, and "
                f"by the other parts it must be {readable_value(right)}."
            )
    return blocks, contents["network"]


def _made_again(names: Any, columns: Any, widths: Any, levels: Any, labels: Any) -> Nodes:
    """Return the nodes with the columns that they must have, in the file's order."""
    for what, listed in (("names", names), ("labels", labels)):
        if not all(map(is_json_node, listed)) or len({*listed}) < len(listed):
            raise ValueError(f"{what!r} must be different strings or integers")
    if len(widths) != len(names) or not all(isinstance(w, int) and w > 0 for w in widths):
        raise ValueError("'widths' must be the numbers of the nodes' columns")
    known = {each[0]: each[1] for each in levels}
    if len(known) < len(levels) or not {*known} <= {*names}:
        raise ValueError("'levels' must have nodes, each once")
    rest, made, counts = iter(columns), list[NodeColumn](), list[int]()
    for node, width in zip(names, widths, strict=True):
        own = [each[1:3] for each in islice(rest, min(width, len(columns)))]
        if node in known:
            kept, all_levels = [level for _, level in own], known[node]
            made += [NodeColumn(f"{node}={v}", own[0][0], v) for v in all_levels if v in kept]
            if not len(own) < len({*all_levels}) == len(all_levels):
                raise ValueError(f"'levels' of {node!r} must differ, and be more than its columns")
        else:
            made += [NodeColumn(labels[source], source) for source, _ in own]
        counts.append(len(own))
    if not len({column.name for column in made}) == len(made) == len(columns):
        raise ValueError("'columns' must be those of the nodes, each once")
    return Nodes(names, made, counts, known, labels)


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
        expected = blocks.parents_of_columns(masks_of_nodes(blocks, masks), within=False)
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


def masks_of_nodes(blocks: Nodes, masks: Sequence[int]) -> list[int]:
    """Return the masks of the nodes' parents, from those of the parents of all columns."""
    node_of = blocks.by_column(np.arange(len(blocks.names)))
    # The first column of a node has none of its own as parents.
    first = [masks[start] for start in blocks.starts[:-1]]
    return [sum(1 << v for v in {*node_of[members_of(mask)].tolist()}) for mask in first]
