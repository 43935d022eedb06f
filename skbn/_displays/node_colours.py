"""Colours of nodes: one for all, one for each, by group or by number."""

import math
from collections.abc import Container, Hashable, Mapping
from numbers import Real
from types import MappingProxyType
from typing import Any, NamedTuple, Self

import networkx as nx
import numpy as np

from skbn._core.columns import by_label, is_labelled, is_missing
from skbn._core.text import readable_name, readable_value
from skbn._displays.labels import printable
from skbn._displays.plot_options import chosen_parts

# "light" of Paul Tol's notes on colour schemes, SRON/EPS/TN/09-002 (2021): made to fill labelled
# cells, told apart by colour-blind readers, and dark text can be read on each.
# Blue and orange come last: on edges they mean signs.
_GROUP_COLOURS = (
    "#44BB99",
    "#EEDD88",
    "#FFAABB",
    "#BBCC33",
    "#99DDFF",
    "#DDDDDD",
    "#AAAA00",
    "#77AADD",
    "#EE8866",
)
_COLOUR_MAP = "cividis"  # its order is the same for colour-blind readers and in print
_N_SHOWN = 4  # numbers in a legend, from the least to the greatest


class NodeColours(NamedTuple):
    """Colours of nodes and what they mean.

    Parameters
    ----------
    faces : dict of node to colour
        The nodes that have a colour of their own.
    name : str
        The legend's title.
    meanings : dict of str to colour
        The legend's entries; empty if the colours speak for themselves.
    has_groups : bool
        Whether each entry stands for a group of nodes.
    """

    faces: Mapping[Hashable, Any] = MappingProxyType({})
    name: str = ""
    meanings: Mapping[str, Any] = MappingProxyType({})
    has_groups: bool = False

    def of(self, nodes: Container[Hashable]) -> Self:
        """Return the colours of some nodes, without groups that would be empty."""
        faces = {node: face for node, face in self.faces.items() if node in nodes}
        gone = {*self.faces.values()} - {*faces.values()} if self.has_groups else set()
        meanings = {text: face for text, face in self.meanings.items() if face not in gone}
        return self._replace(faces=faces, meanings=meanings)


def node_colours(dag: nx.DiGraph, node_color: Any) -> NodeColours:
    """Return the colours of nodes.

    Parameters
    ----------
    dag : networkx.DiGraph
    node_color : None, colour, dict or Series
        Maps nodes to colours, numbers or groups. Texts are colours if all of them are.

    Raises
    ------
    TypeError
        If it is something else.
    ValueError
        If there is no such node, or there are more groups than colours.
    """
    from matplotlib.colors import is_color_like

    if node_color is None:
        return NodeColours()
    if not is_labelled(node_color):
        if isinstance(node_color, str | tuple) and is_color_like(node_color):
            return NodeColours(dict.fromkeys(dag, node_color))
        raise TypeError(
            "node_color must be a colour of matplotlib, or a dict or Series of node to colour, "
            f"group or number; got {readable_value(node_color)}."
        )
    name = printable(str(getattr(node_color, "name", None) or ""))
    values = by_label(node_color, "node_color", "node")
    chosen_parts(dag, [*values], "node_color", "nodes")
    values = {node: value for node, value in values.items() if not is_missing(value)}
    if not values:
        return NodeColours()
    is_bool = any(isinstance(value, bool | np.bool_) for value in values.values())
    if not is_bool and all(isinstance(value, Real) for value in values.values()):
        return _by_number({node: float(value) for node, value in values.items()}, name)
    if all(_is_colour(value) for value in values.values()):
        return NodeColours(values)
    return _by_group(values, name)


def _is_colour(value: Any) -> bool:
    """Whether a value is a colour; "b" and "1" are too short to be meant as one."""
    from matplotlib.colors import is_color_like

    if isinstance(value, str):
        has_letters = len(value) > 1 and any(c.isalpha() or c == "#" for c in value)
        return has_letters and is_color_like(value)
    return isinstance(value, tuple) and is_color_like(value)


def _by_group(values: Mapping[Hashable, Any], name: str) -> NodeColours:
    groups = list(dict.fromkeys(values.values()))
    if len(groups) > len(_GROUP_COLOURS):
        raise ValueError(
            f"node_color has {len(groups)} groups, and only {len(_GROUP_COLOURS)} colours can be "
            "told apart. Join some of them, or give a colour for each node."
        )
    colour = dict(zip(groups, _GROUP_COLOURS, strict=False))
    return NodeColours(
        {node: colour[group] for node, group in values.items()},
        name,
        {printable(readable_name(group)): colour[group] for group in groups},
        has_groups=True,
    )


def _by_number(values: Mapping[Hashable, float], name: str) -> NodeColours:
    from matplotlib import colormaps
    from matplotlib.colors import Normalize, to_hex

    low, high = min(values.values()), max(values.values())
    if not math.isfinite(high - low):
        raise ValueError("node_color: the numbers must be finite, and less than 1e308 apart.")
    scale = Normalize(low, high) if high > low else Normalize(low - 1, low + 1)
    colour = colormaps[_COLOUR_MAP]
    shown = np.linspace(low, high, _N_SHOWN).tolist() if high > low else [low]
    return NodeColours(
        {node: to_hex(colour(scale(value))) for node, value in values.items()},
        name,
        {f"{value:.3g}": to_hex(colour(scale(value))) for value in shown},
    )
