"""Equivalence under interventions, against its definition for all networks of four columns."""

import sys
from itertools import combinations, product
from math import factorial
from operator import and_
from random import Random

import networkx as nx
import numpy as np
import pytest
import reference
from agreement import raises
from experiment_tables import TARGETS, experiment
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from skbn import GaussianBayesianNetwork, GaussianBNLearner
from skbn._core.subsets import bits_of, mask_of
from skbn._networks.equivalence import edge_shares, number_of_members
from skbn.datasets import make_gaussian_network


def network_of(parents):
    return GaussianBayesianNetwork(reference.graph_of(parents))


def classes_of(m, targets):
    return reference.classes_of_dags(m, tuple(map(frozenset, targets)))


def edges_of(pattern):
    """The directed edges, and the undirected pairs, of a CPDAG."""
    edges = list(pattern.edges(data="undirected"))
    directed = {(a, b) for a, b, is_undirected in edges if not is_undirected}
    return directed, {frozenset((a, b)) for a, b, is_undirected in edges if is_undirected}


@pytest.mark.parametrize(
    "targets", [*TARGETS[:3], pytest.param(TARGETS[5], marks=pytest.mark.slow)]
)
def test_essential_graphs_of_four_columns(targets):
    assert sum(map(len, classes_of(4, targets))) == 543
    for members in classes_of(4, targets):
        shared, joined = reference.essential_edges(members)
        undirected = joined - {frozenset(edge) for edge in shared}
        for parents in members:
            found = network_of(parents).cpdag(targets=[tuple(target) for target in targets])
            assert edges_of(found) == (shared, undirected)


def distance(one, other):
    """How many pairs of columns two classes join differently, by the edges of their members."""
    edges = []
    for members in (one, other):
        shared, joined = reference.essential_edges(members)
        own = {frozenset(edge): edge for edge in shared}
        edges.append({pair: own.get(pair, "undirected") for pair in joined})
    a, b = edges
    return sum(a.get(pair) != b.get(pair) for pair in a.keys() | b.keys())


@pytest.mark.parametrize("targets", TARGETS)
def test_equivalence_and_distances(targets):
    random, classes = Random(0), classes_of(4, targets)
    large = [members for members in classes if len(members) > 1]
    named = [[*target] for target in targets]
    for _ in range(40):
        same = random.choice(large or classes)
        for a, b in ((random.choice(classes), random.choice(classes)), (same, same)):
            left, right = (network_of(random.choice(each)) for each in (a, b))
            found = left.compare(right, targets=named)
            assert found.is_equivalent == (a is b)
            assert found.cpdag_distance == distance(a, b)
    # Networks that observations alone do not tell apart.
    for members in classes_of(4, [])[::20]:
        ends = members[0], members[-1]
        own, others = (reference.interventional_class(each, targets) for each in ends)
        left, right = map(network_of, ends)
        assert left.compare(right).is_equivalent
        assert left.compare(right, targets=named).is_equivalent == (own == others)


@pytest.mark.parametrize("criterion", ["bic", "aic", "loglik"])
@pytest.mark.parametrize("targets", TARGETS)
def test_members_of_a_class_have_one_score(targets, criterion):
    rows, is_set = experiment(4, targets)
    scores = reference.all_experimental_scores(rows, is_set, criterion)
    for members in classes_of(4, targets):
        of_members = [sum(scores[x, p] for x, p in enumerate(each)) for each in members]
        assert np.ptp(of_members) < 1e-7


def test_targets_name_nodes():
    network = GaussianBayesianNetwork(nx.DiGraph([("a", "b"), ("b", "c")]))
    expected = edges_of(network.cpdag(targets=[("b", "a"), "b"]))
    assert expected == ({("a", "b"), ("b", "c")}, set())
    assert edges_of(network.cpdag(targets=["b", ("a", "b"), "b"])) == expected
    assert edges_of(network.cpdag(targets=[])) == edges_of(network.cpdag())
    assert edges_of(network.cpdag(targets=[["a", "b", "c"]])) == edges_of(network.cpdag())
    raises(r"targets.*'x'", network.cpdag, targets=["x"])
    raises("targets", network.compare, network, targets=[("a", "x")])
    # Observations are an intervention on nothing.
    assert edges_of(network.cpdag(targets=[(), "b", []])) == expected
    for wrong in ("a", 3, iter(["a"])):
        raises("targets must be a list", network.compare, network, kind=TypeError, targets=wrong)


# Numbers of networks in equivalence classes, against an enumeration


@pytest.mark.parametrize("m", [3, 4])
@pytest.mark.parametrize("seed", [None, 0, 1, 2])
def test_members_are_counted(m, seed):
    allowed = [(1 << m) - 1] * m
    if seed is not None:
        forbidden = np.random.default_rng(seed).random((m, m)) < 0.3
        allowed = [mask & ~mask_of(np.flatnonzero(forbidden[x])) for x, mask in enumerate(allowed)]
    for members in reference.classes_of_dags(m):
        every = [list(map(mask_of, dag)) for dag in members]
        members = [each for each in every if [*map(and_, each, allowed)] == each]
        if not members:
            continue
        shares = np.mean([bits_of(masks, m).T for masks in members], axis=0)
        for masks in members[:2]:
            assert number_of_members(masks, allowed) == len(members)
            assert_allclose(edge_shares(masks, allowed), shares, atol=1e-15)


def test_members_of_large_classes_are_counted():
    m = 20
    chain = [0, *(1 << x for x in range(m - 1))]
    assert number_of_members(chain) == m  # one for each source
    complete = [(1 << x) - 1 for x in range(m)]
    assert number_of_members(complete) == factorial(m)


# Networks of the class of a partially directed graph, against all ways to direct it


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
        raises(r"has the cycle|no consistent extension", GaussianBayesianNetwork.from_cpdag, graph)
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
        assert found.compare(network).is_equivalent
        assert nx.utils.graphs_equal(found.cpdag(), pattern)


def test_undirected_graphs_and_the_attribute_fixed():
    chain = GaussianBayesianNetwork.from_cpdag(nx.path_graph(4))
    assert edges_of(chain.cpdag()) == (set(), {frozenset((v, v + 1)) for v in range(3)})
    pattern = nx.DiGraph([("a", "c", {"fixed": True}), ("b", "c")])
    found = GaussianBayesianNetwork.from_cpdag(pattern)
    assert found.dag.edges["a", "c"] == {"fixed": True}
    assert found.dag.edges["b", "c"] == {}


def test_why_there_is_no_extension():
    circle = r"among \['a', 'b', 'c', 'd'\] cannot be directed"
    for graph, message, kind in [
        (nx.cycle_graph("abcd"), circle, ValueError),
        (nx.DiGraph(["ab", "bc", "ca", "cd"]), r"has the cycle \['a', 'b', 'c'\]", ValueError),
        (nx.DiGraph(["aa"]), "joins 'a' to itself", ValueError),
        (nx.DiGraph(), "at least one node", ValueError),
        ([("a", "b")], "must be a networkx", TypeError),
    ]:
        raises(message, GaussianBayesianNetwork.from_cpdag, graph, kind=kind)
    pattern = GaussianBayesianNetwork(nx.DiGraph(["ab"])).cpdag()
    raises(r"GaussianBayesianNetwork\.from_cpdag", GaussianBayesianNetwork, pattern)


# In which edges two networks differ


def random_network(seed, m=5):
    return make_gaussian_network(m, mean_degree=2.5, random_state=seed)


@given(st.integers(0, 10**6), st.integers(0, 10**6))
@example(0, 0)
def test_differences_are_those_of_the_distances(seed, other_seed):
    network, other = random_network(seed), random_network(other_seed)
    found, back = network.compare(other), other.compare(network)
    own, others = {*network.dag.edges}, {*other.dag.edges}
    assert {*found.common} == own & others
    assert {*found.missing} == {e for e in others if not {e, e[::-1]} & own}
    assert {*found.extra} == {e for e in own if not {e, e[::-1]} & others}
    assert {*found.reversed} == {e for e in others if e[::-1] in own}
    assert found.cpdag_distance == back.cpdag_distance
    (directed, undirected), (of_other, free) = (edges_of(each.cpdag()) for each in (network, other))
    differ = {*map(frozenset, directed)} & free | undirected & {*map(frozenset, of_other)}
    assert set(map(frozenset, found.undirected)) == differ
    assert len(found.to_frame()["parent"]) == found.distance


def test_interventions_direct_edges_of_the_classes():
    network = GaussianBayesianNetwork(nx.DiGraph([("a", "b"), ("b", "c")]))
    other = nx.DiGraph([("b", "a"), ("b", "c")])
    assert network.compare(other).cpdag_distance == 0
    found = network.compare(other, targets=["a"])
    assert (found.undirected, found.cpdag_reversed) == ([("b", "c")], [("b", "a")])
    assert (found.cpdag_distance, found.is_equivalent) == (2, False)


def test_text_and_table(monkeypatch):
    network = GaussianBayesianNetwork(nx.DiGraph([("a", "b"), ("b", "c"), ("a", "d")]))
    found = network.compare(nx.DiGraph([("a", "b"), ("c", "b"), ("c", "d")]))
    lines = ["common    a -> b", "missing   c -> d", "extra     a -> d"]
    assert str(found).splitlines()[1:4] == lines
    monkeypatch.setitem(sys.modules, "pandas", None)
    parents, children, kinds = found.to_frame().values()
    assert (parents, children) == (["c", "a", "c"], ["d", "d", "b"])
    assert kinds == ["missing", "extra", "reversed"]
    assert [ax.get_title() for ax in found.plot().axes_] == ["other", "network"]


def test_refusals():
    compare = random_network(0).compare
    raises(r"other must have the network's nodes", compare, nx.DiGraph([(0, 1)]))
    raises("other must be", compare, "a -> b", kind=TypeError)
    raises("such as network_ of a GaussianBNLearner", compare, GaussianBNLearner(), kind=TypeError)


def test_two_fits_of_different_tables_are_said_to_differ_by_chance(wine):
    table = wine.iloc[:, [0, 5, 6, 10, 12]]
    one, other = (GaussianBNLearner().fit(half).network_ for half in (table[:90], table[90:]))
    again = GaussianBNLearner("aic").fit(table[:90]).network_
    assert "differ by chance" in repr(one.compare(other))
    for innocent in (one.compare(again), one.compare(other.dag), again.compare(one)):
        assert innocent.distance > 0
        assert "by chance" not in repr(innocent)
    assert "by chance" not in repr(one.compare(one))
