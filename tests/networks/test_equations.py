"""What `print` shows of a network."""

import networkx as nx
import numpy as np

from skbn import GaussianBayesianNetwork, GaussianBNLearner


def lines(network):
    return str(network).split("\n")


def test_regressions():
    dag = nx.DiGraph()
    dag.add_node("dose, mg", intercept=-12.3456, noise_variance=0.0)
    dag.add_node("b", intercept=0.0, noise_variance=4.0)
    dag.add_node("c\nd", intercept=-0.0, noise_variance=1e12)
    dag.add_weighted_edges_from([("dose, mg", "b", 1234.0), ("dose, mg", "c\nd", -2.5e-7)])
    dag.add_edge("b", "c\nd", weight=3)
    assert lines(GaussianBayesianNetwork(dag)) == [
        "GaussianBayesianNetwork of 3 nodes and 3 edges (3 reversible)",
        "dose, mg = -12.3, no noise",
        "b = 1230 dose, mg, noise sd 2",
        "'c\\nd' = -2.5e-07 dose, mg + 3 b, noise sd 1e+06",
    ]


def test_learned_network(wine):
    columns = wine[["alcohol", "proline", "hue", "ash"]]
    network = GaussianBNLearner(tiers=[["alcohol"], ...]).fit(columns).network_
    caption, *found = lines(network)
    assert caption == "GaussianBayesianNetwork of 4 nodes and 3 edges (0 reversible)"
    for node, line in zip(network.nodes, found, strict=True):
        assert line.startswith(f"{node} = ")
    weight = network.dag.edges["hue", "proline"]["weight"]
    assert f" + {weight:.0f} hue, noise sd " in found[1]


def test_nodes_that_are_numbers_are_not_taken_for_values():
    rows = np.random.default_rng(0).normal(size=(50, 2)) @ [[2.0, 6.0], [0.0, 1.0]] + [0, 1]
    network = GaussianBayesianNetwork(nx.DiGraph([(0, 1)])).fit(rows)
    (intercept, slope), deviation = (
        np.polynomial.Polynomial.fit(*rows.T, 1).convert().coef,
        np.sqrt(network.noise_variance_[1]),
    )
    assert (
        lines(network)[2] == f"x[1] = {intercept:.3g} + {slope:.3g} x[0], noise sd {deviation:.3g}"
    )


def test_without_parameters_only_the_structure():
    dag = nx.DiGraph([("a", "c"), ("b", "c"), ("c", "d")])
    dag.add_node("e")
    dag.nodes["a"]["intercept"] = 1.0  # which is not all that is needed
    network = GaussianBayesianNetwork(dag)
    assert lines(network) == [
        "GaussianBayesianNetwork of 5 nodes and 3 edges (0 reversible)",
        "c <- a, b",
        "d <- c",
    ]
    dag.remove_edge("a", "c")
    assert lines(network)[0].endswith("5 nodes and 2 edges (2 reversible)")
    dag.edges["b", "c"]["fixed"] = True  # and so c -> d too
    assert lines(network)[0].endswith("(0 reversible)")


def test_large_networks_are_cut():
    names = [f"n{v}" for v in range(30)]
    dag = nx.DiGraph()
    dag.add_nodes_from(names)
    dag.add_edges_from((name, "n3") for name in names if name != "n3")
    dag.add_edges_from((name, "n29") for name in names[4:29])
    network = GaussianBayesianNetwork(dag)
    assert lines(network)[1:] == [
        "n3 <- n0, n1, n2, n4, n5, 24 more parents",
        "n29 <- n4, n5, n6, n7, n8, 20 more parents",
    ]
    found = lines(network.fit(np.random.default_rng(0).normal(size=(100, 30))))
    assert len(found) == 1 + 15
    assert found[1].startswith("n0 = ")
    assert " n5 + 24 more parents, noise sd " in found[4]
    assert found[-1] == "... and 16 more nodes"


def test_repr_stays_short(wine):
    learner = GaussianBNLearner().fit(wine)
    network = learner.network_
    assert repr(network) == "GaussianBayesianNetwork(dag=<DiGraph with 13 nodes and 27 edges>)"
    assert str(learner) == repr(learner) == "GaussianBNLearner()"
