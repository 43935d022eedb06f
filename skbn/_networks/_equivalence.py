"""Markov equivalence: which edges of a network could as well be reversed.

Networks are equivalent if they state the same independences, and then a
score-equivalent criterion gives them the same score. Where not said otherwise,
networks are lists of the masks of each column's parents.
"""

from __future__ import annotations

from typing import Any

import networkx as nx

from skbn._networks._dags import dag_of, parent_masks
from skbn._subsets import members_of

__all__ = [
    "canonical_member",
    "compelled_parents",
    "cpdag",
    "is_equivalent",
    "structural_hamming_distance",
]


def cpdag(dag: nx.DiGraph) -> nx.DiGraph:
    """Return the completed partially directed graph of an acyclic graph.

    Parameters
    ----------
    dag : networkx.DiGraph

    Returns
    -------
    pattern : networkx.DiGraph
        The canonical member of the graph's equivalence class. Its edges have the
        attribute `undirected`: whether an equivalent graph has the edge reversed.
        Equivalent graphs with the nodes in the same order have equal ones.

    Examples
    --------
    >>> import networkx as nx
    >>> dag = nx.DiGraph([("a", "c"), ("b", "c"), ("b", "d")])
    >>> list(cpdag(dag).edges(data="undirected"))
    [('a', 'c', False), ('b', 'c', False), ('b', 'd', True)]
    """
    nodes = list(dag)
    parents = parent_masks(dag)
    member, compelled = canonical_member(parents), compelled_parents(parents)
    pattern = dag_of(nodes, member)
    for child, mask in enumerate(member):
        for parent in members_of(mask):
            is_undirected = not compelled[child] >> parent & 1
            pattern.edges[nodes[parent], nodes[child]]["undirected"] = is_undirected
    return pattern


def is_equivalent(dag: nx.DiGraph, other: nx.DiGraph) -> bool:
    """Whether two acyclic graphs on the same nodes state the same independences.

    Examples
    --------
    >>> import networkx as nx
    >>> is_equivalent(nx.DiGraph([("a", "b")]), nx.DiGraph([("b", "a")]))
    True
    """
    return canonical_member(parent_masks(dag)) == canonical_member(parent_masks(other, list(dag)))


def structural_hamming_distance(dag: nx.DiGraph, other: nx.DiGraph, *, cpdag: bool = False) -> int:
    """Return how many pairs of nodes two acyclic graphs on the same nodes join differently.

    Parameters
    ----------
    dag, other : networkx.DiGraph
    cpdag : bool, default=False
        Whether to compare the equivalence classes' graphs, where an edge may be
        undirected as well.

    Notes
    -----
    Tsamardinos, Brown & Aliferis (2006), "The max-min hill-climbing Bayesian network
    structure learning algorithm", which compares equivalence classes.

    Examples
    --------
    >>> import networkx as nx
    >>> a, b = nx.DiGraph([("a", "b"), ("b", "c")]), nx.DiGraph([("b", "a"), ("b", "c")])
    >>> structural_hamming_distance(a, b), structural_hamming_distance(a, b, cpdag=True)
    (1, 0)
    """
    own, others = _marks(dag, cpdag), _marks(other, cpdag)
    return sum(own.get(pair) != others.get(pair) for pair in own.keys() | others.keys())


def _marks(dag: nx.DiGraph, of_class: bool) -> dict[frozenset[Any], Any]:
    """Return each joined pair's edge, or the pair itself where it is undirected."""
    pattern = cpdag(dag) if of_class else dag
    return {
        frozenset((a, b)): frozenset((a, b)) if of_class and is_undirected else (a, b)
        for a, b, is_undirected in pattern.edges(data="undirected")
    }


def compelled_parents(parents: list[int]) -> list[int]:
    """Return the mask of each column's parents whose edges no equivalent network reverses.

    Parameters
    ----------
    parents : list of int
        The masks of the parents in an acyclic network.

    Notes
    -----
    The edges that meet in a child without being joined at their other ends are
    compelled, and so are those that follow by the rules of Meek (1995), "Causal
    inference and causal explanation with background knowledge".
    """
    m = len(parents)
    joined = _neighbours(parents)
    compelled = [
        sum(1 << p for p in members_of(mask) if mask & ~joined[p] & ~(1 << p)) for mask in parents
    ]
    changed = True
    while changed:
        changed = False
        for child in range(m):
            for parent in members_of(parents[child] & ~compelled[child]):
                if _is_forced(parent, child, compelled, joined):
                    compelled[child] |= 1 << parent
                    changed = True
    return compelled


def _is_forced(parent: int, child: int, compelled: list[int], joined: list[int]) -> bool:
    # Rule 1: else a new pair of unjoined parents would meet in `parent`.
    if compelled[parent] & ~joined[child] & ~(1 << child):
        return True
    # Rule 2: else a cycle.
    between = compelled[child]
    if any(compelled[c] >> parent & 1 for c in members_of(between)):
        return True
    # Rule 3: else, of two unjoined parents of the child, one would have to meet the
    # other in `parent`, or the edges would close a cycle.
    undirected = joined[parent] & ~compelled[parent]
    spouses = [c for c in members_of(between & undirected) if not compelled[c] >> parent & 1]
    return any(not joined[a] >> b & 1 for a in spouses for b in spouses if a != b)


def canonical_member(parents: list[int]) -> list[int]:
    """Return the member of a network's equivalence class that the column order picks.

    Built from its last column back: of the columns that can be a sink of what
    remains, the last in column order is taken. It depends on the class alone.

    Parameters
    ----------
    parents : list of int
        The masks of the parents in an acyclic network.

    Notes
    -----
    The algorithm of Dor & Tarsi (1992), "A simple algorithm to construct a
    consistent extension of a partially oriented graph".
    """
    joined = _neighbours(parents)
    compelled = compelled_parents(parents)
    member = [0] * len(parents)
    remaining = (1 << len(parents)) - 1
    while remaining:
        sink = next(
            x
            for x in reversed(members_of(remaining))
            if _can_be_sink(x, joined[x] & remaining, compelled, joined)
        )
        remaining ^= 1 << sink
        member[sink] = joined[sink] & remaining
    return member


def _can_be_sink(x: int, around: int, compelled: list[int], joined: list[int]) -> bool:
    """Whether all edges around x may point to it without a new pair of unjoined parents."""
    if any(compelled[y] >> x & 1 for y in members_of(around)):
        return False
    reversible = around & ~compelled[x]
    return all(not around & ~joined[y] & ~(1 << y) for y in members_of(reversible))


def _neighbours(parents: list[int]) -> list[int]:
    joined = list(parents)
    for child, mask in enumerate(parents):
        for parent in members_of(mask):
            joined[parent] |= 1 << child
    return joined
