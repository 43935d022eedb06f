"""Knowledge about a network before the search: required and forbidden edges, and tiers."""

from collections.abc import Collection, Sequence
from numbers import Integral
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from skbn._core.arrays import Booleans
from skbn._core.columns import column_number, column_numbers, reject_iterator, tier_numbers
from skbn._core.graphs import reject_undirected
from skbn._core.subsets import bits_of, mask_of, members_of, renumbered
from skbn._core.text import readable_value
from skbn._scores.families import Limits

Edge = tuple[int, int]
# The most columns of a group that is small beside the others.
_MOST_OF_SMALL = 8
# Column names of an edge table whose first column holds the children.
_CHILD_FIRST = (("child", "parent"), ("target", "source"), ("to", "from"))


class Group(NamedTuple):
    """Columns that the constraints leave unordered, and the columns that may precede them."""

    columns: list[int]  # the search finds their order
    others: list[int]  # columns of other groups that may be parents of some of these

    @property
    def is_small(self) -> bool:
        """Whether a few columns have their order to be found, after others: that takes seconds."""
        return bool(self.others) and len(self.columns) <= _MOST_OF_SMALL


class Constraints(NamedTuple):
    """Which parents each column may and must have."""

    # masks of the columns that may, and that must, be among each column's parents. Edges against an
    # order that the required edges imply are not allowed. A column with `max_parents` required
    # parents is allowed no others.
    allowed: list[int]
    required: list[int]
    max_parents: int  # the largest number of parents
    # as `allowed`, but regardless of `max_parents`: what the constraints say on directions
    possible: list[int]
    # the mask of the columns that are not modelled: they have neither parents nor a score
    exogenous: int = 0

    def allows(self, child: int, parents: int) -> bool:
        """Whether a column may have these parents, given by their mask."""
        return (
            parents & ~self.allowed[child] == 0
            and self.required[child] & ~parents == 0
            and parents.bit_count() <= self.max_parents
        )

    def limits_of(self, child: int, outside: int = 0) -> Limits:
        """Return the required parents of a column, and the others that it may have.

        `outside`: the mask of columns that are not among these others
        """
        others = self.allowed[child] & ~(self.required[child] | outside)
        return Limits(child, members_of(self.required[child]), members_of(others))

    @property
    def bits(self) -> Booleans:
        """`allowed` and `required`, (2, m, m), with a row for each child."""
        m = len(self.allowed)
        return bits_of([*self.allowed, *self.required], m).reshape(2, m, m)

    @property
    def modelled(self) -> list[int]:
        """The columns that are modelled."""
        return [x for x in range(len(self.allowed)) if not self.exogenous >> x & 1]

    @property
    def is_free(self) -> bool:
        """Whether all edges are allowed and none is required."""
        m = len(self.allowed)
        return not any(self.required) and all(mask.bit_count() == m - 1 for mask in self.allowed)

    def irreversible(self, parents: list[int]) -> list[int]:
        """Return the masks of each column's parents whose edges must not be reversed."""
        if self.is_free:
            return [0] * len(parents)
        return [
            mask_of([p for p in members_of(mask) if not self.possible[p] >> x & 1])
            for x, mask in enumerate(parents)
        ]

    def of_group(self, group: Group) -> tuple[list[int], list[int]]:
        """Return `allowed` and `required` of a group's columns, over the bits of its own masks.

        The lowest bits stand for the group's columns, the higher ones for the others.
        """
        position = {x: i for i, x in enumerate(group.columns + group.others)}
        masks = [of_all[x] for of_all in (self.allowed, self.required) for x in group.columns]
        own, n = renumbered(masks, position), len(group.columns)
        return own[:n], own[n:]

    @property
    def groups(self) -> list[Group]:
        """The strongly connected components of the graph of allowed edges.

        Edges between two components all point in the same direction, so that no cycle passes
        through both. Each is therefore searched separately, and columns of other components may
        be parents. Exogenous columns are in no group: they are only among these others.
        """
        if self.is_free:
            return [Group(list(range(len(self.allowed))), [])]
        m = len(self.allowed)
        graph = csr_array(bits_of(self.allowed, m))
        _, component_of = connected_components(graph, connection="strong")
        members: dict[int, list[int]] = {}
        for x in self.modelled:
            members.setdefault(int(component_of[x]), []).append(x)
        groups = []
        for columns in members.values():
            others = 0
            for x in columns:
                others |= self.allowed[x]
            groups.append(Group(columns, members_of(others & ~mask_of(columns))))
        return groups


def read_constraints(
    columns: list[str | int],
    *,
    max_parents: int,
    required_edges: Any = None,
    forbidden_edges: Any = None,
    tiers: Any = None,
    exogenous: Any = None,
) -> Constraints:
    """Return the constraints on the columns' parents.

    `required_edges`, `forbidden_edges`: collection of (parent, child), table of two columns,
        networkx.DiGraph or None
    `tiers`: collection, or dict of title, of collections of columns and at most one ``...``, or
        None; exogenous columns need not be in one
    `exogenous`: collection of columns, or None

    Raises ValueError if a column does not exist or is in no tier or in two, if a table does not
    have two columns, if no network satisfies all constraints, naming the edges in question, or if
    all columns are exogenous; TypeError if an argument has another type, such as an iterator.
    """
    m = len(columns)
    required = _edges(columns, required_edges, "required_edges")
    forbidden = _edges(columns, forbidden_edges, "forbidden_edges")
    outside = _exogenous(columns, exogenous)
    tier_of = [0] * m
    if tiers is not None:
        tier_of = tier_numbers(columns, tiers, first=members_of(outside))
    _check_consistency(columns, required, set(forbidden), tier_of, max_parents, outside)
    allowed = [0 if outside >> x & 1 else (1 << m) - 1 ^ 1 << x for x in range(m)]
    for parent, child in forbidden:
        allowed[child] &= ~(1 << parent)
    must = [0] * m
    order: nx.DiGraph = nx.DiGraph(required)
    later = {
        tier: mask_of([x for x, other in enumerate(tier_of) if other > tier])
        for tier in set(tier_of)
    }
    for parent, child in required:
        must[child] |= 1 << parent
    for x in range(m):
        allowed[x] &= ~later[tier_of[x]]
        if x in order:
            allowed[x] &= ~mask_of(nx.descendants(order, x))
    possible = [*allowed]
    for x in range(m):
        if must[x].bit_count() == max_parents:
            allowed[x] = must[x]
    return Constraints(allowed, must, max_parents, possible, outside)


def _edges(columns: list[str | int], edges: Any, name: str) -> list[Edge]:
    """Return edges as pairs of column numbers, for all columns where an end is ``...``."""
    if edges is None:
        return []
    if not hasattr(edges, "columns"):  # a data frame's dag would be a column
        edges = getattr(edges, "dag", edges)  # the graph of a network
    if isinstance(edges, nx.Graph):
        if not edges.is_directed():
            raise TypeError(f"{name} must be directed; give a networkx.DiGraph or a list of pairs.")
        reject_undirected(edges, name)
        for node in edges:
            column_number(columns, node)
        edges = list(edges.edges())
    pairs = []
    number: dict[Any, int] = {column: x for x, column in enumerate(columns)}
    for edge in _listed(edges, name):
        is_ordered = isinstance(edge, Sequence | np.ndarray) and not isinstance(edge, str)
        if not is_ordered or len(ends := [*edge]) != 2:
            has_index = is_ordered and len(ends) == 3 and isinstance(ends[0], Integral)
            remedy = " Leave out the data frame's index, by index=False." if has_index else ""
            raise TypeError(
                f"{name} must hold pairs (parent, child); got {readable_value(edge)}.{remedy}"
            )
        if ... in ends and (name != "forbidden_edges" or ends == [..., ...]):
            raise ValueError(
                f"{name} has the pair {readable_value(edge)}. `...` stands for all other columns, "
                "at one end of a forbidden edge, as in forbidden_edges=[(..., 'a')]; name columns "
                "here."
            )
        parents, children = (
            [number[end] if isinstance(end, str) and end in number else column_number(columns, end)]
            if end is not ...
            else None
            for end in ends
        )
        if parents is not None and parents == children:
            raise ValueError(
                f"{name} has an edge from column {readable_value(ends[0])} to itself; leave it out."
            )
        every = range(len(columns))
        pairs += [(a, b) for a in parents or every for b in children or every if a != b]
    return list(dict.fromkeys(pairs))


def _listed(edges: Any, name: str) -> list[Any]:
    """Return the items of a list, or the rows of a table with two columns."""
    reject_iterator(edges, name, ", or give a data frame's two columns")
    if hasattr(edges, "__array__"):
        table = np.asarray(edges)
        shape = table.shape
        labels = getattr(edges, "column_names", getattr(edges, "columns", table.dtype.names or ()))
        if tuple(str(label).lower() for label in labels) in _CHILD_FIRST:
            raise ValueError(
                f"{name} must have the parents in the first column and the children in the second; "
                f"its columns are {readable_value([*labels])}. Swap them."
            )
        if len(shape) == 1 or shape == (0, 0) or shape[1:] == (2,):
            return table.tolist()  # one dimension: records, or a series of pairs
        is_square = len(shape) == 2 and shape[0] == shape[1]
        remedy = " For an adjacency matrix give numpy.argwhere of it." if is_square else ""
        raise ValueError(
            f"{name} as a table must have two columns, parent and child; its shape is {shape}."
            f"{remedy}"
        )
    if isinstance(edges, str | dict) or not isinstance(edges, Collection):
        raise TypeError(
            f"{name} must be a list of pairs (parent, child), a table of two columns or a "
            f"networkx.DiGraph; got {readable_value(edges)}."
        )
    return [*edges]


def _exogenous(columns: list[str | int], exogenous: Any) -> int:
    """Return the mask of the columns that are not modelled."""
    if exogenous is None:
        return 0
    reject_iterator(exogenous, "exogenous")
    mask = mask_of(set(column_numbers(columns, exogenous, "exogenous")))
    if mask == (1 << len(columns)) - 1:
        raise ValueError(
            "exogenous has all columns, so that none is left to model; leave some out."
        )
    return mask


def _check_consistency(
    columns: list[str | int],
    required: list[Edge],
    forbidden: set[Edge],
    tier_of: list[int],
    max_parents: int,
    exogenous: int,
) -> None:
    for parent, child in required:
        edge = f"The required edge {columns[parent]!r} -> {columns[child]!r}"
        if exogenous >> child & 1:
            raise ValueError(
                f"{edge} points to a column that is exogenous, which has no parents; leave it out "
                "of required_edges or of exogenous."
            )
        if (parent, child) in forbidden:
            raise ValueError(f"{edge} is among the forbidden edges too; leave it out of one.")
        if tier_of[parent] > tier_of[child]:
            raise ValueError(
                f"{edge} points from tier {tier_of[parent]} back to tier {tier_of[child]} (the "
                "first is 0); leave it out or change the tiers."
            )
    order = nx.DiGraph(required)
    if not nx.is_directed_acyclic_graph(order):
        cycle = [columns[parent] for parent, _ in nx.find_cycle(order)]
        arrows = " -> ".join(map(repr, [*cycle, cycle[0]]))
        raise ValueError(f"The required edges have a cycle, {arrows}; leave out one of them.")
    for x in order:
        parents = [columns[p] for p in sorted(order.predecessors(x))]
        if len(parents) > max_parents:
            raise ValueError(
                f"Column {columns[x]!r} has {len(parents)} required parents, {parents}, and "
                f"max_parents={max_parents}; raise it or require fewer."
            )
