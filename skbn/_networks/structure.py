"""What follows from a network's graph alone, whatever its parameters are."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import networkx as nx

from skbn._core.graphs import check_dag, check_same_nodes, dag_of, fixed_masks, parent_masks
from skbn._core.subsets import members_of
from skbn._core.text import readable_value
from skbn._networks.equivalence import canonical_member, compelled_parents

__all__ = ["StructureMixin", "cpdag", "is_equivalent", "structural_hamming_distance"]


def cpdag(dag: nx.DiGraph, fixed: list[int] | None = None) -> nx.DiGraph:
    """Return the completed partially directed graph of an acyclic graph.

    It is the canonical member of the graph's equivalence class, with the attribute
    `undirected` of edges. Only members that have the fixed edges count: the masks of some of
    each node's parents.
    """
    nodes, parents = list(dag), parent_masks(dag)
    member, compelled = canonical_member(parents, fixed), compelled_parents(parents, fixed)
    pattern = dag_of(nodes, member)
    for child, mask in enumerate(member):
        for parent in members_of(mask):
            is_undirected = not compelled[child] >> parent & 1
            pattern.edges[nodes[parent], nodes[child]]["undirected"] = is_undirected
    return pattern


def is_equivalent(dag: nx.DiGraph, other: nx.DiGraph) -> bool:
    """Whether two acyclic graphs on the same nodes state the same independences."""
    return canonical_member(parent_masks(dag)) == canonical_member(parent_masks(other, list(dag)))


def structural_hamming_distance(dag: nx.DiGraph, other: nx.DiGraph, *, cpdag: bool = False) -> int:
    """Return how many pairs of nodes two acyclic graphs, or their CPDAGs, join differently."""
    own, others = _marks(dag, cpdag), _marks(other, cpdag)
    return sum(own.get(pair) != others.get(pair) for pair in own.keys() | others.keys())


def _marks(dag: nx.DiGraph, of_class: bool) -> dict[frozenset[Any], Any]:
    """Return each joined pair's edge, or the pair itself where it is undirected."""
    pattern = cpdag(dag) if of_class else dag
    return {
        frozenset((a, b)): frozenset((a, b)) if is_undirected else (a, b)
        for a, b, is_undirected in pattern.edges(data="undirected")
    }


class StructureMixin:
    """Equivalence, distances and neighbourhoods, for a network that has a `dag`."""

    dag: nx.DiGraph

    def _structure(self) -> nx.DiGraph:
        """Return the graph, checked and without attributes."""
        raise NotImplementedError

    def cpdag(self, *, knowledge: bool = True) -> nx.DiGraph:
        """Return the graph of the network's equivalence class, its CPDAG.

        Parameters
        ----------
        knowledge : bool, default=True
            Whether networks that contradict what is known are left out of the class: those
            that reverse an edge with the attribute `fixed`. A learner marks the edges whose
            reverse its tiers, required and forbidden edges rule out. False takes the whole
            class: what the independences say.

        Returns
        -------
        cpdag : networkx.DiGraph
            One edge for each pair that is joined, with the attribute `undirected`: True
            if some network of the class has it reversed. Such edges point as in the
            canonical member of the class, so that the graph is acyclic. Equivalent
            networks with the same nodes in the same order, and the same knowledge, have
            equal graphs.

        Raises
        ------
        TypeError, ValueError
            If `dag` is no acyclic graph.

        Notes
        -----
        The completed partially directed acyclic graph of Chickering (2002), "Learning
        equivalence classes of Bayesian-network structures". With knowledge it is the
        maximally oriented graph of Meek (1995), "Causal inference and causal explanation with
        background knowledge". `max_parents` is not knowledge about directions: networks of the
        class may have more parents.

        Examples
        --------
        >>> import networkx as nx
        >>> from skbn import GaussianBayesianNetwork
        >>> dag = nx.DiGraph([("b", "a"), ("b", "c")])
        >>> network = GaussianBayesianNetwork(dag)
        >>> list(network.cpdag().edges(data="undirected"))
        [('b', 'a', True), ('b', 'c', True)]

        That a comes before b says that b comes before c, or c would be another cause of b and
        independent of a:

        >>> known = GaussianBayesianNetwork(nx.DiGraph([("a", "b", {"fixed": True}), ("b", "c")]))
        >>> list(known.cpdag().edges(data="undirected"))
        [('a', 'b', False), ('b', 'c', False)]
        >>> known.cpdag(knowledge=False).edges["b", "c"]["undirected"]
        True
        """
        return cpdag(self._structure(), fixed_masks(self.dag) if knowledge else None)

    def is_equivalent(self, other: StructureMixin | nx.DiGraph) -> bool:
        """Whether another network states the same independences, regardless of fixed edges.

        Parameters
        ----------
        other : GaussianBayesianNetwork or networkx.DiGraph
            On the same nodes, in any order.

        Returns
        -------
        is_equivalent : bool

        Raises
        ------
        TypeError, ValueError
            If `other` is no acyclic graph on these nodes.

        Examples
        --------
        >>> import networkx as nx
        >>> from skbn import GaussianBayesianNetwork
        >>> network = GaussianBayesianNetwork(nx.DiGraph([("a", "b"), ("b", "c")]))
        >>> network.is_equivalent(nx.DiGraph([("c", "b"), ("b", "a")]))
        True
        >>> network.is_equivalent(nx.DiGraph([("a", "b"), ("c", "b")]))
        False
        """
        dag = self._structure()
        return is_equivalent(dag, _structure_of(other, dag))

    def structural_hamming_distance(
        self, other: StructureMixin | nx.DiGraph, *, cpdag: bool = False
    ) -> int:
        """Return how many pairs of nodes another network joins differently.

        An edge that is missing, extra or reversed counts 1.

        Parameters
        ----------
        other : GaussianBayesianNetwork or networkx.DiGraph
            On the same nodes, in any order.
        cpdag : bool, default=False
            Whether to compare the equivalence classes instead, as ``cpdag(knowledge=False)``
            gives them: then an edge that is undirected in one and directed in the other counts
            1. What is known besides the independences does not count: equivalent networks are
            at a distance of 0.

        Returns
        -------
        distance : int

        Raises
        ------
        TypeError, ValueError
            If `other` is no acyclic graph on these nodes.

        Notes
        -----
        Tsamardinos, Brown & Aliferis (2006), "The max-min hill-climbing Bayesian network
        structure learning algorithm", who compare equivalence classes.

        Examples
        --------
        >>> import networkx as nx
        >>> from skbn import GaussianBayesianNetwork
        >>> network = GaussianBayesianNetwork(nx.DiGraph([("a", "b"), ("b", "c")]))
        >>> other = nx.DiGraph([("b", "a"), ("b", "c"), ("a", "c")])
        >>> network.structural_hamming_distance(other)
        2
        >>> network.structural_hamming_distance(other, cpdag=True)
        1
        """
        dag = self._structure()
        return structural_hamming_distance(dag, _structure_of(other, dag), cpdag=cpdag)

    def moral_graph(self) -> nx.Graph:
        """Return the undirected graph that joins each node to its Markov blanket.

        Returns
        -------
        moral_graph : networkx.Graph

        Raises
        ------
        TypeError, ValueError
            If `dag` is no acyclic graph.

        Notes
        -----
        Lauritzen & Spiegelhalter (1988), "Local computations with probabilities on
        graphical structures and their application to expert systems".

        Examples
        --------
        >>> import networkx as nx
        >>> from skbn import GaussianBayesianNetwork
        >>> network = GaussianBayesianNetwork(nx.DiGraph([("a", "c"), ("b", "c")]))
        >>> network.moral_graph().has_edge("a", "b")
        True
        """
        return nx.moral_graph(self._structure())

    def markov_blanket(self, node: Hashable) -> list[Hashable]:
        """Return the nodes that separate a node from all others.

        Parameters
        ----------
        node : a node of the network

        Returns
        -------
        markov_blanket : list of nodes
            Its parents, its children and their other parents, in node order.

        Raises
        ------
        TypeError, ValueError
            If there is no such node, or `dag` is no acyclic graph.

        Notes
        -----
        Pearl (1988), "Probabilistic reasoning in intelligent systems", section 3.3.

        Examples
        --------
        >>> import networkx as nx
        >>> from skbn import GaussianBayesianNetwork
        >>> dag = nx.DiGraph([("a", "c"), ("b", "c"), ("c", "d")])
        >>> GaussianBayesianNetwork(dag).markov_blanket("a")
        ['c', 'b']
        """
        moral_graph = self.moral_graph()
        if node not in moral_graph:
            raise ValueError(
                f"There is no node {readable_value(node)}; the nodes are "
                f"{readable_value(list(moral_graph))}."
            )
        return [other for other in moral_graph if other in moral_graph[node]]


def _structure_of(other: Any, dag: nx.DiGraph) -> nx.DiGraph:
    """Return another network's graph, checked to have the nodes of this one."""
    other = other.dag if isinstance(other, StructureMixin) else other
    check_dag(other, "other", expected="a GaussianBayesianNetwork or a networkx.DiGraph")
    check_same_nodes(dag, other)
    return other
