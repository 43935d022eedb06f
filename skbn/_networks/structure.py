"""StructureMixin: what a network's graph says, whatever its parameters."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import networkx as nx

from skbn._core.graphs import (
    check_dag,
    check_same_nodes,
    dag_of,
    fixed_parent_masks,
    parent_masks,
)
from skbn._core.text import readable_value
from skbn._networks import equivalence

__all__ = ["StructureMixin"]


class StructureMixin:
    """A network's nodes, its equivalence class, and its distance from other networks."""

    dag: nx.DiGraph

    @property
    def nodes(self) -> list[Hashable]:
        """The nodes, in the order of the graph.

        Raises
        ------
        TypeError, ValueError
            If `dag` is not an acyclic graph.
        """
        return list(self._structure())

    def cpdag(self, *, knowledge: bool = True) -> nx.DiGraph:
        """Return the graph of the network's equivalence class, its CPDAG.

        Parameters
        ----------
        knowledge : bool, default=True
            Whether to leave out networks of the class that contradict what is known, by
            reversing an edge with the attribute `fixed`. A learner marks the edges whose
            reverse its tiers, required and forbidden edges rule out. False takes the whole
            class: what the independences say.

        Returns
        -------
        cpdag : networkx.DiGraph
            One edge for each pair that is joined. Its attribute `undirected` is True if some
            network of the class reverses it. Such edges point as in the canonical member of the
            class, so that the graph is acyclic. Equivalent networks with the same nodes in the
            same order, and the same knowledge, have equal graphs.

        Raises
        ------
        TypeError, ValueError
            If `dag` is not an acyclic graph.

        Notes
        -----
        This is the completed partially directed acyclic graph of Chickering (2002), "Learning
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

        If a comes before b, then b comes before c: otherwise c would be another cause of b that
        is independent of a.

        >>> known = GaussianBayesianNetwork(nx.DiGraph([("a", "b", {"fixed": True}), ("b", "c")]))
        >>> list(known.cpdag().edges(data="undirected"))
        [('a', 'b', False), ('b', 'c', False)]
        >>> known.cpdag(knowledge=False).edges["b", "c"]["undirected"]
        True
        """
        dag = self._structure()
        return equivalence.cpdag(dag, fixed_parent_masks(self.dag) if knowledge else None)

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
            If `other` is not an acyclic graph on these nodes.

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
        return equivalence.is_equivalent(dag, _graph_on_same_nodes(other, dag))

    def structural_hamming_distance(
        self, other: StructureMixin | nx.DiGraph, *, cpdag: bool = False
    ) -> int:
        """Return the number of pairs of nodes that another network joins differently.

        An edge that is missing, extra or reversed counts 1.

        Parameters
        ----------
        other : GaussianBayesianNetwork or networkx.DiGraph
            On the same nodes, in any order.
        cpdag : bool, default=False
            Whether to compare the equivalence classes instead, as ``cpdag(knowledge=False)``
            gives them. An edge that is undirected in one and directed in the other counts 1.
            Fixed edges are ignored: equivalent networks are at a distance of 0.

        Returns
        -------
        distance : int

        Raises
        ------
        TypeError, ValueError
            If `other` is not an acyclic graph on these nodes.

        Notes
        -----
        The distance between equivalence classes is that of Tsamardinos, Brown & Aliferis
        (2006), "The max-min hill-climbing Bayesian network structure learning algorithm".

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
        other = _graph_on_same_nodes(other, dag)
        return equivalence.structural_hamming_distance(dag, other, cpdag=cpdag)

    def moral_graph(self) -> nx.Graph:
        """Return the undirected graph that joins each node to its Markov blanket.

        Returns
        -------
        moral_graph : networkx.Graph

        Raises
        ------
        TypeError, ValueError
            If `dag` is not an acyclic graph.

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
            If there is no such node, or `dag` is not an acyclic graph.

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

    def _structure(self) -> nx.DiGraph:
        """Return the graph without attributes, after checking it."""
        check_dag(self.dag)
        return dag_of(list(self.dag), parent_masks(self.dag))


def _graph_on_same_nodes(other: Any, dag: nx.DiGraph) -> nx.DiGraph:
    """Return another network's graph after checking that it has the same nodes."""
    other = other.dag if isinstance(other, StructureMixin) else other
    check_dag(other, "other", expected="a GaussianBayesianNetwork or a networkx.DiGraph")
    check_same_nodes(dag, other)
    return other
