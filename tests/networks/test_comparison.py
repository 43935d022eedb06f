"""In which edges two networks differ."""

import sys

import networkx as nx
import pytest
from agreement import raises
from hypothesis import example, given
from hypothesis import strategies as st

from skbn import GaussianBayesianNetwork, GaussianBNLearner, NetworkComparisonDisplay
from skbn.datasets import make_gaussian_network


def random_network(seed, m=5):
    return make_gaussian_network(m, mean_degree=2.5, random_state=seed)


@given(st.integers(0, 10**6), st.integers(0, 10**6))
@example(0, 0)
def test_differences_are_those_of_the_distances_and_of_the_picture(seed, other_seed):
    network, other = random_network(seed), random_network(other_seed)
    found, back = network.compare(other), other.compare(network)
    own, others = {*network.dag.edges}, {*other.dag.edges}
    assert {*found.common} == own & others
    assert {*found.missing} == {e for e in others if not {e, e[::-1]} & own}
    assert {*found.extra} == {e for e in own if not {e, e[::-1]} & others}
    assert {*found.reversed} == {e for e in others if e[::-1] in own}
    assert found.distance == network.structural_hamming_distance(other)
    assert found.cpdag_distance == network.structural_hamming_distance(other, cpdag=True)
    assert found.cpdag_distance == back.cpdag_distance
    kinds = [
        {frozenset(pair): undirected for *pair, undirected in each.cpdag().edges(data="undirected")}
        for each in (network, other)
    ]
    common = kinds[0].keys() & kinds[1].keys()
    differ = {pair for pair in common if kinds[0][pair] != kinds[1][pair]}
    assert set(map(frozenset, found.undirected)) == differ
    assert len(found.to_frame()["parent"]) == found.distance
    display = NetworkComparisonDisplay(other.dag, network.dag)
    assert {*display.missing} == {*found.missing}
    assert {*display.extra} == {*found.extra}


def test_interventions_direct_edges_of_the_classes():
    network = GaussianBayesianNetwork(nx.DiGraph([("a", "b"), ("b", "c")]))
    other = nx.DiGraph([("b", "a"), ("b", "c")])
    assert network.compare(other).cpdag_distance == 0
    found = network.compare(other, targets=["a"])
    assert (found.undirected, found.cpdag_reversed) == ([("b", "c")], [("b", "a")])
    assert found.cpdag_distance == network.structural_hamming_distance(
        other, cpdag=True, targets=["a"]
    )


def test_text_and_table(monkeypatch):
    network = GaussianBayesianNetwork(nx.DiGraph([("a", "b"), ("b", "c"), ("a", "d")]))
    found = network.compare(nx.DiGraph([("a", "b"), ("c", "b"), ("c", "d")]))
    assert str(found).splitlines()[1:4] == [
        "common    a -> b",
        "missing   c -> d",
        "extra     a -> d",
    ]
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert found.to_frame() == {
        "parent": ["c", "a", "c"],
        "child": ["d", "d", "b"],
        "difference": ["missing", "extra", "reversed"],
    }


def test_it_draws_the_other_first():
    pytest.importorskip("matplotlib").use("agg")
    display = random_network(0).compare(random_network(1)).plot()
    assert [ax.get_title() for ax in display.axes_] == ["other", "network"]


def test_refusals():
    raises(r"other must have the network's nodes", random_network(0).compare, nx.DiGraph([(0, 1)]))
    raises("other must be", random_network(0).compare, "a -> b", kind=TypeError)
    with pytest.raises(TypeError, match="such as network_ of a GaussianBNLearner"):
        random_network(0).compare(GaussianBNLearner())


def test_two_fits_of_different_tables_are_said_to_differ_by_chance(wine):
    table = wine.iloc[:, [0, 5, 6, 10, 12]]
    one, other = (GaussianBNLearner().fit(half).network_ for half in (table[:90], table[90:]))
    again = GaussianBNLearner("aic").fit(table[:90]).network_
    assert "differ by chance" in repr(one.compare(other))
    for innocent in (one.compare(again), one.compare(other.dag), again.compare(one)):
        assert innocent.distance > 0
        assert "by chance" not in repr(innocent)
    assert "by chance" not in repr(one.compare(one))
