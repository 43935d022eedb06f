"""How many networks an equivalence class has, and how many of them have an edge, or some parents.

The edges that the members of a class do not all share make undirected *chain components*. Each
component is directed independently of the others, and each way to do so has one source, the column
in the component that has no parents there. With a source chosen, some more edges are compelled,
and the rest are smaller components (He, Jia & Yu 2015, "Counting and exploring sizes of Markov
equivalence classes of directed acyclic graphs").
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from copy import copy
from typing import Self

import numpy as np

from skbn._core.arrays import Floats
from skbn._core.subsets import members_of
from skbn._networks.equivalence import compelled_parents, consistent_extension, joined_columns

# Sets of parents that a column may have are counted one by one.
_MOST_PARENT_SETS = 1 << 13


def number_of_members(parents: list[int], allowed: list[int] | None = None) -> int:
    """Return how many networks are equivalent to one and have only allowed edges.

    Parameters
    ----------
    parents : list of m int
        The masks of the parents in a network that has only allowed edges.
    allowed : list of m int, optional
        The masks of the columns that may be parents of each; by default all others.
    """
    return _Members(parents, allowed).count_all()


def edge_shares(parents: list[int], allowed: list[int] | None = None) -> Floats:
    """Return the share of a class's members that have each edge, shape (m, m).

    Parameters as for `number_of_members`. ``[i, j]`` is for the edge i -> j.
    """
    members = _Members(parents, allowed)
    m = len(parents)
    shares = np.zeros((m, m))
    for child, mask in enumerate(members.compelled):
        shares[members_of(mask), child] = 1
    for component in members.components:
        n = members.count(component)
        for u in members_of(component):
            for v in members_of(members.undirected[u] & component):
                if u < v:
                    shares[u, v] = members.without_edge(v, u).count(component) / n
                    shares[v, u] = 1 - shares[u, v]
    return shares


def parent_set_counts(
    parents: list[int], column: int, allowed: list[int] | None = None
) -> dict[int, int]:
    """Return how many members of a class give a column each set of parents that any gives it.

    Other parameters as for `number_of_members`. Sets of parents are masks.

    Raises
    ------
    ValueError
        If a column may have more than 8192 sets of parents.

    Notes
    -----
    The column's parents are those that all members have, and any clique of its neighbours by
    undirected edges. Once all edges of one column have a direction, those that do not follow make
    components that are directed independently again (Hauser & Bühlmann 2012, "Characterization and
    greedy learning of interventional Markov equivalence classes of directed acyclic graphs").
    """
    members = _Members(parents, allowed)
    around, joined = members.undirected[column], joined_columns(parents)
    counts = {}
    for clique in _cliques(around, joined):
        directed = [*members.compelled]
        directed[column] |= clique
        for child in members_of(around & ~clique):
            directed[child] |= 1 << column
        member = consistent_extension(joined, directed)
        if member is None:
            continue
        with_clique = _Members(member, allowed, directed)
        follows = zip(with_clique.compelled, with_clique.allowed, strict=True)
        if any(mask & ~may for mask, may in follows):
            continue
        if n := with_clique.count_all():
            counts[directed[column]] = n
    return counts


def _cliques(columns: int, joined: list[int]) -> list[int]:
    """Return the masks of all sets of columns that are joined to each other, the empty set first.

    Raises
    ------
    ValueError
        If there are too many.
    """
    cliques = [0]
    for v in members_of(columns):
        cliques += [clique | 1 << v for clique in cliques if not clique & ~joined[v]]
        if len(cliques) > _MOST_PARENT_SETS:
            raise ValueError(
                f"A column may have more than {_MOST_PARENT_SETS:,} sets of parents in this "
                "equivalence class. Narrow it down by what is known: give its edges the attribute "
                "fixed, or learn with tiers, required or forbidden edges."
            )
    return cliques


class _Members:
    """The members of a class, by the undirected graph of the edges that they do not share.

    Parameters
    ----------
    parents, allowed
        As in `number_of_members`.
    fixed : list of m int, optional
        The masks of those parents whose edges the members must have too. They must be all edges of
        a column, or none.

    Attributes
    ----------
    compelled : list of m int
        The masks of the parents that all members have.
    undirected : dict of int to int
        The masks of the columns to which the other edges lead.
    components : list of int
        The masks of the chain components that have edges.
    """

    def __init__(
        self, parents: list[int], allowed: list[int] | None, fixed: list[int] | None = None
    ) -> None:
        every = (1 << len(parents)) - 1
        self.allowed = [every] * len(parents) if allowed is None else allowed
        self.compelled = compelled_parents(parents, fixed)
        self.undirected = dict(enumerate(joined_columns(parents)))
        for child, mask in enumerate(self.compelled):
            self.undirected[child] &= ~mask
            for parent in members_of(mask):
                self.undirected[parent] &= ~(1 << child)
        self.components = _components(every, self.undirected)
        self._counts: dict[int, int] = {}

    def without_edge(self, parent: int, child: int) -> Self:
        """Return the members that do not have an edge."""
        other = copy(self)
        other.allowed = [*self.allowed]
        other.allowed[child] &= ~(1 << parent)
        other._counts = {}
        return other

    def count_all(self) -> int:
        """Return how many members there are."""
        return math.prod(map(self.count, self.components))

    def count(self, component: int) -> int:
        """Return in how many ways a component can be directed."""
        if component not in self._counts:
            columns = members_of(component)
            if all(component & ~(self.undirected[v] & self.allowed[v]) == 1 << v for v in columns):
                self._counts[component] = math.factorial(len(columns))  # in any order
            else:
                self._counts[component] = sum(self._count_from(v, component) for v in columns)
        return self._counts[component]

    def _count_from(self, source: int, component: int) -> int:
        """Return in how many ways a component can be directed with a certain source.

        The columns at the same distance from the source make a layer. Edges point to the layer
        that is farther off. What the compelled edges within a layer leave are smaller components.
        """
        n = 1
        before, left = 1 << source, component ^ 1 << source
        while left and n:
            layer = 0
            for v in members_of(before):
                layer |= self.undirected[v]
            layer &= left
            directed = self._directed_into(layer, before)
            if any(mask & ~self.allowed[v] for v, mask in directed.items()):
                return 0
            undirected = {v: self.undirected[v] & layer & ~directed[v] for v in directed}
            for v, mask in directed.items():
                for parent in members_of(mask & layer):
                    undirected[parent] &= ~(1 << v)
            for smaller in _components(layer, undirected):
                n *= self.count(smaller)
            before, left = layer, left & ~layer
        return n

    def _directed_into(self, layer: int, before: int) -> dict[int, int]:
        """Return the masks of the parents that a layer's columns must have."""
        directed = {v: self.undirected[v] & before for v in members_of(layer)}
        changed = True
        while changed:
            changed = False
            for v in directed:
                for w in members_of(self.undirected[v] & layer):
                    # A parent of v that is not joined to w compels v -> w.
                    if not directed[w] >> v & 1 and directed[v] & ~self.undirected[w] & ~(1 << w):
                        directed[w] |= 1 << v
                        changed = True
        return directed


def _components(columns: int, undirected: Mapping[int, int]) -> list[int]:
    """Return the masks of the connected components on some columns that have edges."""
    found = []
    while columns:
        component, edge = 0, columns & -columns
        while edge:
            component |= edge
            around = 0
            for v in members_of(edge):
                around |= undirected[v]
            edge = around & columns & ~component
        columns &= ~component
        if component & (component - 1):
            found.append(component)
    return found
