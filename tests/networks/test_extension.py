"""Networks of the class of a partially directed graph, against all ways to direct it."""

from itertools import combinations, product

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skbn import GaussianBayesianNetwork
from skbn.datasets import make_gaussian_network

NONE, THERE, BACK, UNDIRECTED = range(4)


def partially_directed(m, kinds):
    """A graph whose pairs are joined in these ways, undirected edges as edges both ways."""
    graph = nx.empty_graph(m, nx.DiGraph)
    for (a, b), kind in zip(combinations(range(m), 2), kinds, strict=True):
        graph.add_edges_from([(a, b)] if kind in (THERE, UNDIRECTED) else [])
        graph.add_edges_from([(b, a)] if kind in (BACK, UNDIRECTED) else [])
    return graph


def colliders(graph, edges):
    """The pairs of unjoined parents, with their child."""
    return {
        (frozenset((a, b)), c)
        for (a, c), (b, d) in combinations(edges, 2)
        if c == d and not (graph.has_edge(a, b) or graph.has_edge(b, a))
    }


def extensions(graph):
    """All acyclic graphs that direct the undirected edges without a new collider."""
    directed = [(a, b) for a, b in graph.edges if not graph.has_edge(b, a)]
    pairs = [(a, b) for a, b in graph.edges if graph.has_edge(b, a) and a < b]
    for turned in product([False, True], repeat=len(pairs)):
        edges = directed + [p[::-1] if turn else p for p, turn in zip(pairs, turned, strict=True)]
        is_acyclic = nx.is_directed_acyclic_graph(nx.DiGraph(edges))
        if is_acyclic and colliders(graph, edges) == colliders(graph, directed):
            yield {*edges}


def check(graph):
    expected = list(extensions(graph))
    if not expected:
        with pytest.raises(ValueError, match=r"directed cycle|no consistent extension"):
            GaussianBayesianNetwork.from_cpdag(graph)
        return
    found = GaussianBayesianNetwork.from_cpdag(graph)
    assert {*found.dag.edges} in expected
    pattern = found.cpdag()
    for a, b, undirected in pattern.edges(data="undirected"):  # what all extensions share
        assert undirected != all((a, b) in edges for edges in expected)


@pytest.mark.parametrize("m", [1, 2, 3])
def test_all_small_graphs(m):
    for kinds in product(range(4), repeat=m * (m - 1) // 2):
        check(partially_directed(m, kinds))


@given(st.lists(st.integers(0, 3), min_size=10, max_size=10))
def test_graphs_of_five_nodes(kinds):
    check(partially_directed(5, kinds))


@given(st.integers(0, 10**6), st.integers(0, 2**20 - 1))
def test_there_and_back(seed, which):
    """A CPDAG, with knowledge or without, is that of its extension."""
    dag = make_gaussian_network(7, mean_degree=2.5, random_state=seed).dag
    for i, edge in enumerate(dag.edges):
        dag.edges[edge]["fixed"] = bool(which >> i & 1)
    network = GaussianBayesianNetwork(dag)
    for knowledge in (True, False):
        pattern = network.cpdag(knowledge=knowledge)
        found = GaussianBayesianNetwork.from_cpdag(pattern)
        assert found.is_equivalent(network)
        assert nx.utils.graphs_equal(found.cpdag(), pattern)


def test_undirected_graphs_and_the_attribute_fixed():
    chain = GaussianBayesianNetwork.from_cpdag(nx.path_graph(4))
    assert chain.cpdag().number_of_edges() == 3
    assert all(undirected for _, _, undirected in chain.cpdag().edges(data="undirected"))
    pattern = nx.DiGraph([("a", "c", {"fixed": True}), ("b", "c")])
    found = GaussianBayesianNetwork.from_cpdag(pattern)
    assert found.dag.edges["a", "c"] == {"fixed": True}
    assert found.dag.edges["b", "c"] == {}


def test_why_there_is_no_extension():
    def refusal(graph, message, kind=ValueError):
        with pytest.raises(kind, match=message):
            GaussianBayesianNetwork.from_cpdag(graph)

    refusal(nx.cycle_graph("abcd"), r"\['a', 'b', 'c', 'd'\] .* If 'a' came last .* 'b' and 'd'")
    refusal(nx.DiGraph(["ab", "bc", "ca", "cd"]), r"directed cycle \['a', 'b', 'c'\]")
    refusal(nx.DiGraph(["aa"]), "joins 'a' to itself")
    refusal(nx.DiGraph(), "at least one node")
    refusal([("a", "b")], "must be a networkx", TypeError)
    refusal(nx.MultiDiGraph(["ab"]), "got MultiDiGraph", TypeError)
    with pytest.raises(ValueError, match=r"GaussianBayesianNetwork\.from_cpdag"):
        GaussianBayesianNetwork(GaussianBayesianNetwork(nx.DiGraph(["ab"])).cpdag()).markov_blanket(
            "a"
        )
