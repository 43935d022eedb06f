"""Markov equivalence: which edges of a network could as well be reversed.

Networks are equivalent if they state the same independences. A score-equivalent criterion then
gives them the same score. The functions on graphs, `cpdag` and `extended`, are at
the top. The functions below work on the masks of each column's parents. Knowledge of directions is
a list of masks as well. It marks the parents whose edges are fixed, because the knowledge rules out
their reverse.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from heapq import heapify, heappop, heappush
from itertools import combinations
from typing import Any, Self

import networkx as nx
import numpy as np

from skbn._core.arrays import Floats, Random
from skbn._core.columns import named_nodes
from skbn._core.graphs import check_dag, dag_of, parent_masks
from skbn._core.subsets import mask_of, members_of
from skbn._core.text import internal_error, must_be, readable_name, readable_value
from skbn._displays.appearance import Edge
from skbn._displays.network_display import NetworkComparisonDisplay
from skbn._displays.notebook import frame_of


def cpdag(dag: nx.DiGraph, fixed: list[int] | None = None) -> nx.DiGraph:
    """Return the completed partially directed graph of an acyclic graph.

    It is the canonical member of the equivalence class, with the attribute `undirected` on its
    edges. With `fixed`, the masks of each node's parents whose edges are fixed, only the members
    that have these edges count.
    """
    nodes, parents = list(dag), parent_masks(dag)
    member, compelled = canonical_member(parents, fixed), compelled_parents(parents, fixed)
    pattern = dag_of(nodes, member)
    for child, mask in enumerate(member):
        for parent in members_of(mask):
            is_undirected = not compelled[child] >> parent & 1
            pattern.edges[nodes[parent], nodes[child]]["undirected"] = is_undirected
    return pattern


def directed_by(targets: Any, dag: nx.DiGraph) -> list[int]:
    """Return the masks of each node's parents whose edges interventions direct.

    `targets`: what was set together in each intervention, nodes or collections of nodes, in a
        collection or as the values of a mapping; or None
    """
    if isinstance(targets, Mapping):
        targets = [*targets.values()]
    if isinstance(targets, str) or not isinstance(targets, Collection | None):
        raise TypeError(
            "targets must be a list that has a node, or a tuple of nodes, for each intervention; "
            f"got {readable_value(targets)}."
        )
    nodes = list(dag)
    given = [] if targets is None else [each for each in targets if each not in ((), [])]
    masks = [
        mask_of(nodes.index(node) for node in named_nodes(each, nodes, "targets")[0])
        for each in given
    ]
    apart = told_apart(masks, len(nodes))
    return [mask & each for mask, each in zip(parent_masks(dag), apart, strict=True)]


def extended(graph: nx.Graph) -> nx.DiGraph:
    """Return a network that directs the undirected edges of a partially directed graph.

    It has the graph's directed edges, and no pair of unjoined parents that these do not make. The
    directed edges that its equivalence class does not share get the attribute `fixed`.

    `graph`: an edge is undirected if its attribute `undirected` is True, or its reverse is an edge
        too
    """
    if not isinstance(graph, nx.Graph) or graph.is_multigraph():
        raise TypeError(must_be("cpdag", "a networkx.DiGraph or a networkx.Graph", type(graph)))
    if not graph:
        raise ValueError("cpdag must have at least one node.")
    nodes = list(graph)
    number = {node: v for v, node in enumerate(nodes)}
    joined, directed, fixed = [0] * len(nodes), [0] * len(nodes), [0] * len(nodes)
    for a, b, data in graph.edges(data=True):
        i, j = number[a], number[b]
        if i == j:
            raise ValueError(f"cpdag joins {a!r} to itself. Leave this edge out.")
        joined[i] |= 1 << j
        joined[j] |= 1 << i
        if graph.is_directed() and not data.get("undirected") and not graph.has_edge(b, a):
            directed[j] |= 1 << i
            fixed[j] |= bool(data.get("fixed")) << i
    member, remaining = _eliminated(joined, directed)
    if remaining:
        check_dag(dag_of(nodes, directed), "cpdag")
        raise ValueError(
            "cpdag has no consistent extension: the edges among "
            f"{[nodes[v] for v in members_of(remaining)]} cannot be directed without a cycle or a "
            "new pair of unjoined parents. Join such a pair, or direct more edges."
        )
    own = compelled_parents(member)
    known = [d & (f | ~c) for d, f, c in zip(directed, fixed, own, strict=True)]
    return dag_of(nodes, member, known)


def compelled_parents(parents: list[int], fixed: list[int] | None = None) -> list[int]:
    """Return the mask of each column's parents whose edges no equivalent network reverses.

    `parents`: the masks of the parents in an acyclic network
    `fixed`: the masks of those parents whose edges are fixed. Only networks with these edges count.

    Edges that meet in a child are compelled if their other ends are not joined, and so are fixed
    edges, and those that follow by the four rules of Meek (1995), "Causal inference and causal
    explanation with background knowledge".
    """
    joined = joined_columns(parents)
    compelled = [
        sum(1 << p for p in members_of(mask) if mask & ~joined[p] & ~(1 << p))
        if mask & (mask - 1)
        else 0
        for mask in parents
    ]
    if fixed is not None:
        compelled = [own | known for own, known in zip(compelled, fixed, strict=True)]
    changed = True
    while changed:
        changed = False
        for child, mask in enumerate(parents):
            if not mask & ~compelled[child]:
                continue
            for parent in members_of(mask & ~compelled[child]):
                if _is_forced(parent, child, compelled, joined):
                    compelled[child] |= 1 << parent
                    changed = True
    return compelled


def _is_forced(parent: int, child: int, compelled: list[int], joined: list[int]) -> bool:
    # Rule 1: reversed, it would make a new pair of unjoined parents in `parent`.
    if compelled[parent] & ~joined[child] & ~(1 << child):
        return True
    # Rule 2: reversed, it would close a cycle.
    between = compelled[child]
    if any(compelled[c] >> parent & 1 for c in members_of(between)):
        return True
    # Rule 3: reversed, it would make two unjoined parents of the child meet in `parent` as well,
    # or close a cycle.
    spouses = members_of(between & joined[parent] & ~compelled[parent])
    if any(not joined[a] >> b & 1 for a, b in combinations(spouses, 2)):
        return True
    # Rule 4, needed only with knowledge, for a -> b -> child with a joined to `parent` but not to
    # the child: if reversed, `parent` -> a would close a cycle, and a -> `parent` would make a new
    # pair of unjoined parents.
    return any(
        compelled[b] & joined[parent] & ~joined[child] & ~(1 << child)
        for b in members_of(between & joined[parent])
    )


def told_apart(targets: Iterable[int], m: int) -> list[int]:
    """Return, for each of m columns, the mask of the columns that interventions tell apart from it.

    An intervention, given by the mask of its targets, tells its targets apart from all other
    columns. An edge between columns that are told apart is directed in the interventional essential
    graph (Hauser & Bühlmann 2012, "Characterization and greedy learning of interventional Markov
    equivalence classes of directed acyclic graphs").

    >>> told_apart([0b001], 3)
    [6, 1, 1]
    """
    every, apart = (1 << m) - 1, [0] * m
    for target in targets:
        for x in range(m):
            apart[x] |= every & ~target if target >> x & 1 else target
    return apart


def canonical_member(parents: list[int], fixed: list[int] | None = None) -> list[int]:
    """Return the member of a network's equivalence class that the column order picks.

    It is built from its last column back: among the columns that can be a sink of the rest, the
    last in column order is taken. It depends only on the class and the knowledge.

    `parents`: the masks of the parents in an acyclic network
    `fixed`: the masks of those parents whose edges the member must have too
    """
    member = consistent_extension(joined_columns(parents), compelled_parents(parents, fixed))
    if member is None:
        raise internal_error(f"the network of the parents {parents} has no consistent extension")
    return member


def consistent_extension(joined: list[int], directed: list[int]) -> list[int] | None:
    """Return the parents in an acyclic network that directs the other edges of a pattern, or None.

    It has no pair of unjoined parents that the directed edges do not have. It is found by Dor &
    Tarsi (1992), "A simple algorithm to construct a consistent extension of a partially oriented
    graph".

    `joined`: the masks of the columns that each column is joined to
    `directed`: the masks of each column's parents by directed edges
    """
    member, remaining = _eliminated(joined, directed)
    return None if remaining else member


def _eliminated(joined: list[int], directed: list[int]) -> tuple[list[int], int]:
    """Return the parents in a consistent extension, and the mask of the columns without any.

    Sinks are taken away until none is left. The columns that remain have no consistent extension.
    """
    member, children = [0] * len(joined), _children(directed)
    mask = (1 << len(joined)) - 1

    def is_sink(x: int) -> bool:
        """Whether all edges may point to x without a new pair of unjoined parents."""
        if children[x] & mask:
            return False
        around = joined[x] & mask
        return all(not around & ~joined[y] & ~(1 << y) for y in members_of(around & ~directed[x]))

    # A sink stays one while others are taken away, and only its neighbours may become sinks then.
    sinks = [-x for x in range(len(joined)) if is_sink(x)]
    is_listed = {*sinks}
    heapify(sinks)
    while sinks:
        sink = -heappop(sinks)
        mask ^= 1 << sink
        member[sink] = joined[sink] & mask
        around = members_of(member[sink]) if member[sink] else []
        for x in around:
            if -x not in is_listed and is_sink(x):
                is_listed.add(-x)
                heappush(sinks, -x)
    return member, mask


def joined_columns(parents: list[int]) -> list[int]:
    """Return the masks of the columns to which an edge joins each column."""
    return [mask | own for mask, own in zip(parents, _children(parents), strict=True)]


def _children(parents: list[int]) -> list[int]:
    """Return the masks of each column's children."""
    children = [0] * len(parents)
    for child, mask in enumerate(parents):
        for parent in members_of(mask) if mask else ():
            children[parent] |= 1 << child
    return children


# How many networks a class has, and how many of them have an edge, or some parents

# Sets of parents that a column may have are counted one by one.
_MOST_PARENT_SETS = 1 << 13


def number_of_members(parents: list[int], allowed: list[int] | None = None) -> int:
    """Return how many networks are equivalent to one and have only allowed edges.

    `parents`: the masks of the parents in a network that has only allowed edges
    `allowed`: the masks of the columns that may be parents of each; by default all others
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


def random_member(parents: list[int], allowed: list[int] | None, rng: Random) -> list[int]:
    """Return the parents' masks in a member of a class; each member is equally probable.

    Other parameters as for `number_of_members`.
    """
    members = _Members(parents, allowed)
    drawn = [*members.compelled]
    left = [*members.components]
    while left:
        component = left.pop()
        columns = members_of(component)
        counts = [members.count_from(v, component) for v in columns]
        shares = np.array([n / sum(counts) for n in counts])
        source = columns[int(rng.choice(len(columns), p=shares))]
        directed, smaller = members.directed_from(source, component)
        for child, mask in directed.items():
            drawn[child] |= mask
        left += smaller
    return drawn


def members_by_parents(
    parents: list[int], columns: Sequence[int], allowed: list[int] | None = None
) -> list[tuple[list[int], int]]:
    """Return a member for each choice of parents that members of a class give some columns.

    Other parameters as for `number_of_members`. With each member comes the number of members that
    give these columns the same parents. Its other edges need not be allowed. A column's parents are
    those that all members have, and any clique of its neighbours by undirected edges. Once all
    edges of one column have a direction, those that do not follow make components that are directed
    independently again (Hauser & Bühlmann 2012, "Characterization and greedy learning of
    interventional Markov equivalence classes of directed acyclic graphs").
    """
    joined, found = joined_columns(parents), [_Members(parents, allowed)]
    for column in columns:
        found = [each for members in found for each in _directed_at(column, members, joined)]
        _require_few(found)
    return [(members.member, members.count_all()) for members in found]


def _directed_at(column: int, members: _Members, joined: list[int]) -> Iterator[_Members]:
    """Yield the parts of some members that give a column the same parents."""
    around = members.undirected[column]
    for clique in _cliques(around, joined):
        directed = [*members.compelled]
        directed[column] |= clique
        for child in members_of(around & ~clique):
            directed[child] |= 1 << column
        member = consistent_extension(joined, directed)
        if member is None:
            continue
        with_clique = _Members(member, members.allowed, directed)
        follows = zip(with_clique.compelled, with_clique.allowed, strict=True)
        if not any(mask & ~may for mask, may in follows) and with_clique.count_all():
            yield with_clique


def _cliques(columns: int, joined: list[int]) -> list[int]:
    """Return the masks of all sets of columns that are joined to each other, the empty set first.

    Raises ValueError if there are too many.
    """
    cliques = [0]
    for v in members_of(columns):
        cliques += [clique | 1 << v for clique in cliques if not clique & ~joined[v]]
        _require_few(cliques)
    return cliques


def _require_few(found: Sequence[Any]) -> None:
    """Raise if there are too many sets of parents."""
    if len(found) > _MOST_PARENT_SETS:
        raise ValueError(
            f"The causes may have more than {_MOST_PARENT_SETS:,} sets of parents in this "
            "equivalence class. Narrow it down by what is known: give its edges the attribute "
            "fixed, or learn with tiers, required or forbidden edges."
        )


class _Members:
    """The members of a class, by the undirected graph of the edges that they do not share.

    `parents`, `allowed`: as in `number_of_members`
    `fixed`: the masks of those parents whose edges the members must have too. They must be all
        edges of a column, or none.

    `member`: the masks of the parents in one of them
    `compelled`: the masks of the parents that all members have
    `undirected`: the masks of the columns to which the other edges lead
    `components`: the masks of the chain components that have edges
    """

    def __init__(
        self, parents: list[int], allowed: list[int] | None, fixed: list[int] | None = None
    ) -> None:
        every = (1 << len(parents)) - 1
        self.member = parents
        self.allowed = [every] * len(parents) if allowed is None else allowed
        self.compelled = compelled_parents(parents, fixed)
        of_each = zip(joined_columns(parents), joined_columns(self.compelled), strict=True)
        self.undirected = {x: mask & ~known for x, (mask, known) in enumerate(of_each)}
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
                self._counts[component] = sum(self.count_from(v, component) for v in columns)
        return self._counts[component]

    def count_from(self, source: int, component: int) -> int:
        """Return in how many ways a component can be directed with a certain source."""
        directed, smaller = self.directed_from(source, component)
        if any(mask & ~self.allowed[v] for v, mask in directed.items()):
            return 0
        return math.prod(map(self.count, smaller))

    def directed_from(self, source: int, component: int) -> tuple[dict[int, int], list[int]]:
        """Return the parents that a source gives to columns, and the components that it leaves.

        The columns at the same distance from the source make a layer. Edges point to the layer
        that is farther off. What the compelled edges within a layer leave are smaller components.
        """
        directed: dict[int, int] = {}
        components: list[int] = []
        before, left = 1 << source, component ^ 1 << source
        while left:
            layer = 0
            for v in members_of(before):
                layer |= self.undirected[v]
            layer &= left
            own = self._directed_into(layer, before)
            undirected = {v: self.undirected[v] & layer & ~own[v] for v in own}
            for v, mask in own.items():
                for parent in members_of(mask & layer):
                    undirected[parent] &= ~(1 << v)
            components += _components(layer, undirected)
            directed |= own
            before, left = layer, left & ~layer
        return directed, components

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


_BY_CHANCE = (
    "The best networks of two tables differ by chance, too, even of two halves of one table.\n"
    "To ask whether groups differ, compare evidences: see 'Two groups' in the guide, 'How sure'."
)
_KINDS = ("missing", "extra", "reversed")


class NetworkComparison:
    """The edges in which two networks differ, as `GaussianBayesianNetwork.compare` returns them.

    It is displayed as text, and `plot` draws both networks side by side.

    Parameters
    ----------
    network, other : networkx.DiGraph
        Acyclic, on the same nodes in any order. Parameters do not matter.
    targets : list of nodes or of tuples of nodes, optional
        What was set together in each intervention, which directs edges of the CPDAGs.
    is_of_two_tables : bool, default=False
        Whether both were fitted, to different tables. The text then warns that they also differ by
        chance.

    Attributes
    ----------
    common, missing, extra, reversed : list of (parent, child)
        The edges of both; those of the other between nodes that the network does not join; those of
        the network between nodes that the other does not join; and those that the network has the
        other way round, in the direction of the other.
    distance : int
        The structural Hamming distance: how many edges are missing, extra or reversed.
    undirected : list of pairs
        The pairs that both networks join and that only one of their CPDAGs leaves undirected. The
        CPDAGs are those without knowledge, which equivalent networks share.
    cpdag_reversed : list of (parent, child)
        The edges that the CPDAGs direct in opposite ways, in the direction of the other's.
    cpdag_distance : int
        The distance of the CPDAGs: missing, extra, undirected in only one of them, or reversed
        there.
    is_equivalent : bool
        Whether the CPDAGs are the same, so that both networks state the same independences.

    Examples
    --------
    >>> import networkx as nx
    >>> from skbn import GaussianBayesianNetwork
    >>> network = GaussianBayesianNetwork(nx.DiGraph([("a", "b"), ("b", "c"), ("a", "d")]))
    >>> comparison = network.compare(nx.DiGraph([("a", "b"), ("c", "b"), ("c", "d")]))
    >>> comparison
    3 of 4 pairs are joined differently
    common    a -> b
    missing   c -> d
    extra     a -> d
    reversed  c -> b
    4 of 4 pairs are joined differently by the CPDAGs
    undirected in one  a - b, c - b
    >>> comparison.reversed
    [('c', 'b')]
    """

    def __init__(
        self,
        network: nx.DiGraph,
        other: nx.DiGraph,
        targets: Any = None,
        is_of_two_tables: bool = False,
    ) -> None:
        self.is_of_two_tables = is_of_two_tables
        # The other network is taken for the truth.
        self._display = NetworkComparisonDisplay(other, network)
        self.common, self.missing = self._display.common, self._display.missing
        self.extra, self.reversed = self._display.extra, self._display.reversed
        self.distance = len(self.missing) + len(self.extra) + len(self.reversed)
        # CPDAGs join the same nodes as the networks.
        classes = NetworkComparisonDisplay(
            *(cpdag(dag, directed_by(targets, dag)) for dag in (other, network))
        )
        self.undirected: list[Edge] = []
        self.cpdag_reversed: list[Edge] = []
        both = [*classes.expected.edges(data="undirected")]
        both += classes.found.edges(data="undirected")
        undirected = {frozenset(edge) for *edge, mark in both if mark}
        for edge in classes.reversed:
            is_open = frozenset(edge) in undirected
            (self.undirected if is_open else self.cpdag_reversed).append(edge)
        self.cpdag_distance = len(self.missing) + len(self.extra) + len(classes.reversed)
        self.is_equivalent = self.cpdag_distance == 0

    def to_frame(self) -> Any:
        """Return a table with a row for each edge that differs.

        Returns
        -------
        table : pandas.DataFrame
            With the columns `parent`, `child` and `difference`: "missing", "extra" or "reversed".
            Without pandas, a dict of these columns that is displayed as a table.
        """
        rows = [(*edge, kind) for kind in _KINDS for edge in getattr(self, kind)]
        names = ("parent", "child", "difference")
        return frame_of({name: [row[i] for row in rows] for i, name in enumerate(names)})

    def plot(self, **options: Any) -> NetworkComparisonDisplay:
        """Draw both networks side by side, the other first.

        Parameters
        ----------
        **options
            As `NetworkComparisonDisplay.plot` takes them. The titles are "other" and "network" by
            default.

        Returns
        -------
        display : NetworkComparisonDisplay
        """
        return self._display.plot(**{"titles": ("other", "network")} | options)

    def __repr__(self) -> str:
        n_pairs = self.distance + len(self.common)
        lines = [f"{self.distance} of {n_pairs} pairs are joined differently"]
        for kind in ("common", *_KINDS):
            if edges := getattr(self, kind):
                lines.append(f"{kind:<8}  {', '.join(map(_text, edges))}")
        lines.append(
            f"{self.cpdag_distance} of {n_pairs} pairs are joined differently by the CPDAGs"
        )
        if self.undirected:
            lines.append(f"undirected in one  {', '.join(_text(e, '-') for e in self.undirected)}")
        if self.cpdag_reversed:
            lines.append(f"reversed  {', '.join(map(_text, self.cpdag_reversed))}")
        if self.is_of_two_tables and self.distance:
            lines.append(_BY_CHANCE)
        return "\n".join(lines)


def _text(edge: Edge, joint: str = "->") -> str:
    return f" {joint} ".join(map(readable_name, edge))
