"""Averages of networks: how many have each edge, and the network of the edges of most of them.

Networks enter by their equivalence classes, in which some edges have no direction. Such an edge
supports each direction by one half: which member of its class a search returns must not matter.
The functions work on the masks of each column's parents.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skbn._core.arrays import Floats
from skbn._core.subsets import members_of
from skbn._networks.equivalence import compelled_parents, consistent_extension, joined_columns


class EdgeSupport(NamedTuple):
    """The share of some networks that have each edge, as arrays of shape (m, m).

    Parameters
    ----------
    directed : ndarray
        ``directed[i, j]`` is the share with i -> j, where an edge without a direction counts one
        half.
    strength : ndarray
        The share in which an edge joins the two columns, in either direction.
    direction : ndarray
        ``directed / strength``, and 0 where no network joins the two columns.
    """

    directed: Floats
    strength: Floats
    direction: Floats


def edge_support(parents: list[list[int]], fixed: list[list[int]]) -> EdgeSupport:
    """Count the edges of networks of the same columns.

    Parameters
    ----------
    parents, fixed : list of lists of m int
        For each network the masks of each column's parents, and of those parents whose edges are
        fixed: they have this direction in all networks that are considered equivalent.
    """
    n_networks, m = len(parents), len(parents[0])
    halves = np.zeros((m, m), dtype=np.int64)
    for masks, known in zip(parents, fixed, strict=True):
        compelled = compelled_parents(masks, known)
        for child, mask in enumerate(masks):
            for parent in members_of(mask):
                if compelled[child] >> parent & 1:
                    halves[parent, child] += 2
                else:
                    halves[parent, child] += 1
                    halves[child, parent] += 1
    # Quotients of whole numbers, so that equal shares are equal floats.
    joined = halves + halves.T
    direction = np.divide(halves, joined, out=np.zeros((m, m)), where=joined > 0)
    return EdgeSupport(halves / (2 * n_networks), joined / (2 * n_networks), direction)


def inclusion_threshold(strength: Floats) -> float:
    """Return the strength that separates the edges of a network from those that are noise.

    Parameters
    ----------
    strength : ndarray of shape (m, m)
        Symmetric; only pairs of different columns count.

    Notes
    -----
    If each strength were 0 or 1, their distribution function would be a constant t on [0, 1).
    Scutari & Nagarajan (2013), "Identifying significant edges in graphical models of molecular
    networks", take the t for which the area between this constant and the distribution function F
    of the strengths is smallest, and the edges that are stronger than the smallest x with
    F(x) >= t. The median of F(x) over x from 0 to 1 has the smallest area. F is not decreasing, so
    this is its value at x = 1/2, and the threshold is the largest strength below that: the edges
    above it are in at least half of the networks. If some strengths are exactly 1/2, the
    values of F on either side of it do equally well, and the lower is taken.
    """
    strengths = strength[np.triu_indices(len(strength), 1)]
    return float(strengths[strengths < 0.5].max(initial=0.0))


def averaged_parents(support: EdgeSupport, threshold: float) -> list[int]:
    """Return the masks of each column's parents in the network of the edges with much support.

    Parameters
    ----------
    support : EdgeSupport
    threshold : float
        Columns are joined if their strength is above it, or is 1.

    Notes
    -----
    Each edge has the direction with more support. Edges are added by decreasing strength, then by
    decreasing support of their direction, then in column order. The edge that would close a cycle,
    which is the weakest of that cycle, is left out. Edges whose directions have equal support come
    last. They are directed so that no unjoined columns become parents of the same column by them,
    as far as that is possible, and otherwise from the earlier column to the later unless that
    closes a cycle.
    """
    directed, strength = support.directed, support.strength
    m = len(directed)
    is_joined = (strength > threshold) | (strength == 1)
    parents, ancestors = [0] * m, [0] * m

    def add(parent: int, child: int) -> None:
        parents[child] |= 1 << parent
        before = ancestors[parent] | 1 << parent
        for x in range(m):
            if x == child or ancestors[x] >> child & 1:
                ancestors[x] |= before

    edges = np.argwhere(is_joined & (directed > directed.T))
    order = np.lexsort([-directed[tuple(edges.T)], -strength[tuple(edges.T)]])
    for parent, child in edges[order].tolist():
        if not ancestors[parent] >> child & 1:
            add(parent, child)
    ties = np.argwhere(np.triu(is_joined & (directed == directed.T), 1)).tolist()
    with_ties = [*parents]
    for a, b in ties:
        with_ties[b] |= 1 << a
    extension = consistent_extension(joined_columns(with_ties), parents)
    if extension is not None:
        return extension
    for a, b in ties:
        add(*((b, a) if ancestors[a] >> b & 1 else (a, b)))
    return parents
