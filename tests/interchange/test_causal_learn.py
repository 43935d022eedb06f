"""Graphs of causal-learn: by the program if it is installed, else by a stand-in for its classes."""

import sys
from enum import Enum
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType, SimpleNamespace

import networkx as nx
import numpy as np
import pytest
from agreement import raises
from numpy.testing import assert_array_equal

from skbn import GaussianBayesianNetwork, GaussianBNLearner
from skbn.datasets import make_gaussian_network
from skbn.io import from_causal_learn, to_causal_learn


class Endpoint(Enum):
    TAIL, ARROW, CIRCLE = -1, 1, 2


class GraphNode:
    def __init__(self, name):
        self.get_name = lambda: name


class Edge:
    def __init__(self, node1, node2, end1, end2):
        if end1 == Endpoint.ARROW and end2 != Endpoint.ARROW:  # edges point to the right
            node1, node2, end1, end2 = node2, node1, end2, end1
        self.get_node1, self.get_node2 = lambda: node1, lambda: node2
        self.get_endpoint1, self.get_endpoint2 = lambda: end1, lambda: end2


class GeneralGraph:
    def __init__(self, nodes):
        self.nodes, self.graph = nodes, np.zeros((len(nodes), len(nodes)), dtype=int)

    def get_nodes(self):
        return self.nodes

    def add_edge(self, edge):
        i, j = (self.nodes.index(each) for each in (edge.get_node1(), edge.get_node2()))
        self.graph[j, i], self.graph[i, j] = edge.get_endpoint2().value, edge.get_endpoint1().value

    def get_graph_edges(self):
        for i, j in np.argwhere(np.triu(self.graph)).tolist():
            ends = Endpoint(self.graph[i, j]), Endpoint(self.graph[j, i])
            yield Edge(self.nodes[i], self.nodes[j], *ends)


@pytest.fixture(autouse=True)
def module(monkeypatch):
    """Return the classes of causal-learn, or those above in their place."""
    classes = [Endpoint, GraphNode, Edge, GeneralGraph]
    if find_spec("causallearn"):
        names = [each.__name__ for each in classes]
        found = [getattr(import_module(f"causallearn.graph.{name}"), name) for name in names]
        return SimpleNamespace(**dict(zip(names, found, strict=True)))
    for name in ("causallearn", "causallearn.graph"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    for each in classes:
        own = ModuleType(f"causallearn.graph.{each.__name__}")
        setattr(own, each.__name__, each)
        monkeypatch.setitem(sys.modules, own.__name__, own)
    return SimpleNamespace(**{each.__name__: each for each in classes})


@pytest.mark.parametrize("cpdag", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_there_and_back(seed, cpdag):
    network = make_gaussian_network(7, mean_degree=2.5, random_state=seed)
    graph = to_causal_learn(network, cpdag=cpdag)
    expected = network.cpdag() if cpdag else network.dag
    matrix = nx.to_numpy_array(expected, weight=None)
    is_open = nx.to_numpy_array(expected, weight="undirected", nonedge=0) == 1
    is_open &= cpdag
    own = np.where(is_open | is_open.T, -1, matrix.T - matrix)  # 1 at the head, -1 at the tail
    assert_array_equal(graph.graph, own)
    back = from_causal_learn(graph, names=network.nodes)
    assert [*back] == network.nodes
    assert GaussianBayesianNetwork.from_cpdag(back).compare(network).is_equivalent
    assert sum(is_open is True for *_, is_open in back.edges(data="undirected")) == is_open.sum()
    if not cpdag:
        assert {*back.edges} == {*network.dag.edges}
    assert [*from_causal_learn(graph)] == [str(node) for node in network.nodes]


def test_a_learned_network(wine):
    network = GaussianBNLearner().fit(wine.iloc[:, :5]).network_
    for cpdag in (False, True):
        graph = SimpleNamespace(G=to_causal_learn(network, cpdag=cpdag))  # as PC returns it
        found = GaussianBayesianNetwork.from_cpdag(from_causal_learn(graph))
        assert network.compare(found).distance == 0


def joined(module, *ends):
    """Return a graph of two nodes whose edge has these ends."""
    first, second = module.GraphNode("a"), module.GraphNode("b")
    graph = module.GeneralGraph([first, second])
    graph.add_edge(module.Edge(first, second, *ends))
    return graph


def test_arrows_to_the_left(module):
    graph = joined(module, module.Endpoint.ARROW, module.Endpoint.TAIL)
    assert [*from_causal_learn(graph).edges] == [("b", "a")]


def test_refused(module):
    network = GaussianBayesianNetwork(nx.DiGraph([("a", "b")]))
    graph = to_causal_learn(network)
    raises("names must have a different one for each of the 2", from_causal_learn, graph, ["x"])
    raises("names must have a different one", from_causal_learn, graph, ["x", "x"])
    raises("graph must be a GeneralGraph of causal-learn", from_causal_learn, network.dag,
           kind=TypeError)  # fmt: skip
    raises("network must be a GaussianBayesianNetwork", to_causal_learn, network.dag,
           kind=TypeError)  # fmt: skip
    same = GaussianBayesianNetwork(nx.DiGraph([(1, "1")]))
    raises("have the same text", to_causal_learn, same)
    arrow, circle = module.Endpoint.ARROW, module.Endpoint.CIRCLE
    for end in (arrow, circle):
        graph = joined(module, end, arrow)
        raises("allows for a hidden common cause", from_causal_learn, graph)
