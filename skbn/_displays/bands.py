"""Tiers of nodes, as users give them, as bands of a picture."""

from __future__ import annotations

from collections.abc import Collection, Container, Hashable, Mapping
from typing import Any, NamedTuple, Self

import networkx as nx

from skbn._core.columns import column_number
from skbn._core.text import readable_value

__all__ = ["Bands", "bands_of"]


class Bands(NamedTuple):
    """The bands of a picture, numbered from 0.

    Parameters
    ----------
    band_of : dict of node to int
    titles : dict of int to str
    """

    band_of: dict[Hashable, int]
    titles: dict[int, str]

    def of(self, nodes: Container[Hashable]) -> Self:
        """Return the bands of some nodes, without those that are empty then."""
        band_of = {node: band for node, band in self.band_of.items() if node in nodes}
        used = sorted({*band_of.values()})
        return self._replace(
            band_of={node: used.index(band) for node, band in band_of.items()},
            titles={i: self.titles[band] for i, band in enumerate(used)},
        )


def bands_of(dag: nx.DiGraph, tiers: Any) -> Bands:
    """Return the bands of tiers: a list of lists of nodes, or a dict of title to list.

    Nodes are given by name or number, and `...` stands for all that are not named.

    Raises
    ------
    TypeError
        If `tiers` is something else.
    ValueError
        If a node is unknown, in no tier or in two, or an edge leads to an earlier tier.

    Examples
    --------
    >>> dag = nx.DiGraph([("a", "b"), ("a", "c")])
    >>> bands_of(dag, {"before": ["a"], "after": ...})
    Bands(band_of={'a': 0, 'b': 1, 'c': 1}, titles={0: 'before', 1: 'after'})
    """
    if isinstance(tiers, str) or not isinstance(tiers, Collection):
        raise TypeError(
            "tiers must be a list of lists of nodes, or a dict of title to list; got "
            f"{readable_value(tiers)}."
        )
    if isinstance(tiers, Mapping):
        titles, groups = [str(title) for title in tiers], list(tiers.values())
    else:
        titles, groups = [f"tier {i + 1}" for i in range(len(tiers))], list(tiers)
    nodes = list(dag)
    named = _numbers_of_named(nodes, groups)
    rest = next((number for number, group in enumerate(groups) if group is ...), None)
    missing = [node for node in nodes if node not in named]
    if missing and rest is None:
        raise ValueError(
            f"tiers: the nodes {readable_value(missing)} are in no tier; add each to one, or add "
            "the tier `...`, which stands for all nodes that are not named."
        )
    numbers = {node: named.get(node, rest or 0) for node in nodes}
    for a, b in dag.edges:
        if numbers[a] > numbers[b]:
            raise ValueError(
                f"tiers: the edge {a!r} -> {b!r} leads from {titles[numbers[a]]!r} back to "
                f"{titles[numbers[b]]!r}. Give the tiers in the order of the edges."
            )
    used = sorted({*numbers.values()})  # a tier may be empty
    return Bands(
        {node: used.index(numbers[node]) for node in nodes},
        {band: titles[number] for band, number in enumerate(used)},
    )


def _numbers_of_named(nodes: list[Any], groups: list[Any]) -> dict[Hashable, int]:
    """Return the number of the group of each node that is named in one."""
    named: dict[Hashable, int] = {}
    for number, group in enumerate(groups):
        if group is ...:
            continue
        if isinstance(group, str) or not isinstance(group, Collection):
            raise TypeError(f"tiers must be lists of nodes; one is {readable_value(group)}.")
        for each in group:
            node = each if each in nodes else nodes[column_number(nodes, each)]
            if node in named:
                raise ValueError(f"tiers: the node {readable_value(node)} is given twice.")
            named[node] = number
    return named
