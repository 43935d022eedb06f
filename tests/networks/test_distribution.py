"""The nodes of a distribution by name, and the same of a network."""

import sys

import networkx as nx
import numpy as np
import pytest

from skbn import GaussianBayesianNetwork, GaussianDistribution

NAMES = ["a", "b", "c"]


def network(names):
    """x -> y -> z with weights 2 and -1 and noise of variance 1, 4, 9."""
    dag = nx.DiGraph()
    for name, intercept, variance in zip(names, [1.0, 0.0, 3.0], [1.0, 4.0, 9.0], strict=True):
        dag.add_node(name, intercept=intercept, noise_variance=variance)
    dag.add_edge(names[0], names[1], weight=2.0)
    dag.add_edge(names[1], names[2], weight=-1.0)
    return GaussianBayesianNetwork(dag)


# Integers in another order than their positions, and tuples: a list names several nodes.
@pytest.mark.parametrize("names", [NAMES, [2, 0, 1], [("a", 1), ("a", 2), "a"]])
def test_nodes_are_found_by_their_names(names):
    x, y, z = names
    joint = network(names)
    # By hand: means 1, 2, 1; variances 1, 4 + 4 and 8 + 9.
    for node, mean, variance in zip(names, [1, 2, 1], [1, 8, 17], strict=True):
        marginal = joint[node]
        assert marginal == pytest.approx((mean, variance**0.5))
        assert (marginal.mean, marginal.standard_deviation) == tuple(marginal)
    some = joint[[z, x]]
    assert some.nodes == [z, x]
    np.testing.assert_allclose(some.mean, [1, 1])
    np.testing.assert_allclose(some.covariance, [[17, -2], [-2, 1]])
    # Given y = 4: x has mean 1 + 2 / 8 * 2 and variance 1 - 4 / 8.
    seen = joint.condition({y: 4.0})
    assert seen[x] == pytest.approx((1.5, 0.5**0.5))
    assert seen[[z, x]][z] == seen[z] == pytest.approx((-1, 3))
    # Set to 4, it says nothing of x, and does not vary.
    held = joint.do({y: 4.0})
    assert held[x] == pytest.approx((1, 1))
    assert held[y] == (4, 0)
    assert held[z] == pytest.approx((-1, 3))


def test_a_table_of_the_nodes():
    pd = pytest.importorskip("pandas")
    expected = {"node": ["a", "c"], "mean": [1.5, -1.0], "standard_deviation": [0.5**0.5, 3.0]}
    found = network(NAMES).condition({"b": 4.0}).to_frame()
    pd.testing.assert_frame_equal(found, pd.DataFrame(expected))


def test_a_table_without_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    table = network(NAMES).do({"b": 4.0})[["b"]].to_frame()
    assert table == {"node": ["b"], "mean": [4.0], "standard_deviation": [0.0]}


@pytest.mark.parametrize("distribution", [network(NAMES), network(NAMES).condition({})])
def test_unknown_nodes_are_named(distribution):
    for index, message in [
        ("alcohol", r"'alcohol' is not one of \['a', 'b', 'c'\]"),
        (0, r"0 is not one of \['a', 'b', 'c'\]"),
        (["a", "d"], r"'d' is not one of"),
        (["a", "a"], "each once"),
        ([], "must name nodes"),
    ]:
        with pytest.raises(ValueError, match=message):
            distribution[index]


@pytest.mark.parametrize("names", [NAMES, [0, 1, 2]])
def test_distributions_are_no_sequences(names):
    """Unpacking would otherwise give the marginals of nodes that are called 0, 1, 2."""
    for distribution in (network(names), network(names).condition({})):
        with pytest.raises(TypeError, match="iter"):
            _, _, _ = distribution
        with pytest.raises(TypeError):
            iter(distribution)


def test_a_distribution_of_ones_own():
    own = GaussianDistribution([5, 7], np.array([1.0, 2.0]), np.array([[4.0, 1.0], [1.0, 9.0]]))
    assert own[7] == (2.0, 3.0)
    np.testing.assert_array_equal(own.standard_deviation, [2.0, 3.0])
