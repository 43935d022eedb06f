"""Equivalence under interventions, against its definition for all networks of four columns."""

import networkx as nx
import numpy as np
import pytest
import reference
from experiment_tables import TARGETS, experiment

from skbn import GaussianBayesianNetwork


def network_of(parents):
    return GaussianBayesianNetwork(reference.graph_of(parents))


def classes_of(m, targets):
    return reference.classes_of_dags(m, tuple(map(frozenset, targets)))


def edges_of(pattern):
    """The directed edges, and the undirected pairs, of a CPDAG."""
    edges = list(pattern.edges(data="undirected"))
    directed = {(a, b) for a, b, is_undirected in edges if not is_undirected}
    return directed, {frozenset((a, b)) for a, b, is_undirected in edges if is_undirected}


def check_cpdags(m, targets):
    for members in classes_of(m, targets):
        shared, joined = reference.essential_edges(members)
        undirected = joined - {frozenset(edge) for edge in shared}
        for parents in members:
            found = network_of(parents).cpdag(targets=[tuple(target) for target in targets])
            assert edges_of(found) == (shared, undirected)


@pytest.mark.parametrize(
    "targets", [*TARGETS[:3], pytest.param(TARGETS[5], marks=pytest.mark.slow)]
)
def test_essential_graphs_of_four_columns(targets):
    assert sum(map(len, classes_of(4, targets))) == 543
    check_cpdags(4, targets)


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
    rng = np.random.default_rng(0)
    classes = classes_of(4, targets)
    large = [members for members in classes if len(members) > 1]
    named = [[*target] for target in targets]
    for _ in range(40):
        one, other = classes[rng.integers(len(classes))], classes[rng.integers(len(classes))]
        same = large[rng.integers(len(large))] if large else one
        for a, b in ((one, other), (same, same)):
            left, right = (network_of(each[rng.integers(len(each))]) for each in (a, b))
            assert left.is_equivalent(right, targets=named) == (a is b)
            found = left.structural_hamming_distance(right, cpdag=True, targets=named)
            assert found == distance(a, b)
    # Networks that observations alone do not tell apart.
    for members in classes_of(4, [])[::20]:
        left, right = members[0], members[-1]
        is_same = reference.interventional_class(left, targets) == reference.interventional_class(
            right, targets
        )
        nets = network_of(left), network_of(right)
        assert nets[0].is_equivalent(nets[1])
        assert nets[0].is_equivalent(nets[1], targets=named) == is_same


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
    with pytest.raises(ValueError, match=r"targets.*'x'"):
        network.cpdag(targets=["x"])
    with pytest.raises(ValueError, match="targets"):
        network.is_equivalent(network, targets=[("a", "x")])
    # Observations are an intervention on nothing.
    assert edges_of(network.cpdag(targets=[(), "b", []])) == expected
    for wrong in ("a", 3, iter(["a"])):
        with pytest.raises(TypeError, match="targets must be a list"):
            network.structural_hamming_distance(network, cpdag=True, targets=wrong)
    with pytest.raises(ValueError, match="Set cpdag=True"):
        network.structural_hamming_distance(network, targets=["a"])
