"""NetworkComparison: in which edges two networks differ."""

from __future__ import annotations

from typing import Any

import networkx as nx

from skbn._core.text import readable_name
from skbn._displays.appearance import Edge
from skbn._displays.frames import frame_of
from skbn._displays.network_display import NetworkComparisonDisplay
from skbn._networks.equivalence import cpdag, directed_by

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
    common : list of (parent, child)
        The edges of both.
    missing : list of (parent, child)
        Edges of the other between nodes that the network does not join.
    extra : list of (parent, child)
        Edges of the network between nodes that the other does not join.
    reversed : list of (parent, child)
        Edges that the network has the other way round, in the direction of the other.
    distance : int
        The structural Hamming distance: how many edges are missing, extra or reversed.
    undirected : list of pairs
        The pairs that both networks join and that only one of their CPDAGs leaves undirected. The
        CPDAGs are those without knowledge, which equivalent networks share.
    cpdag_reversed : list of (parent, child)
        The edges that the CPDAGs direct in opposite ways, in the direction of the other's.
    cpdag_distance : int
        The distance of the CPDAGs: how many edges are missing, extra, undirected in only one of
        them, or reversed there.

    See Also
    --------
    GaussianBayesianNetwork.structural_hamming_distance : The distances alone.
    NetworkComparisonDisplay : The picture.

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
        # The other is what the network should be.
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
        both = classes.expected, classes.found
        for edge in classes.reversed:
            is_open = any(_is_undirected(graph, edge) for graph in both)
            (self.undirected if is_open else self.cpdag_reversed).append(edge)
        self.cpdag_distance = len(self.missing) + len(self.extra) + len(classes.reversed)

    def to_frame(self) -> Any:
        """Return a table with a row for each edge that differs.

        Returns
        -------
        table : pandas.DataFrame
            With the columns `parent`, `child` and `difference`, which is "missing", "extra" or
            "reversed". Without pandas, a dict of these columns that is displayed as a table.
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

        Raises
        ------
        ImportError
            If matplotlib is not installed.
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


def _is_undirected(graph: nx.DiGraph, edge: Edge) -> bool:
    """Whether a CPDAG leaves the edge between two nodes undirected."""
    a, b = edge
    return bool(graph.edges[(a, b) if graph.has_edge(a, b) else (b, a)]["undirected"])


def _text(edge: Edge, joint: str = "->") -> str:
    return f" {joint} ".join(map(readable_name, edge))
