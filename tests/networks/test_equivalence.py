import pickle
from copy import deepcopy
from itertools import combinations

import hypothesis
import hypothesis.strategies as st
import networkx as nx
import numpy as np
import pandas as pd
import pytest
import reference
from agreement import raises
from drawn import graph_of
from random_constraints import is_allowed, random_constraints
from sklearn.base import clone

import skbn
from skbn import GaussianBayesianNetwork, GaussianBNLearner, GaussianBNLearnerCV, ParentSetScores
from skbn._core.subsets import mask_of, members_of
from skbn._networks.equivalence import canonical_member, compelled_parents, cpdag
from skbn.datasets import make_gaussian_network


def as_masks(parents):
    return [mask_of(ps) for ps in parents]


@pytest.mark.parametrize("m", [2, 3, 4, pytest.param(5, marks=pytest.mark.slow)])
def test_classes_by_enumeration(m):
    """A class has one canonical member, and compelled are the edges all members share."""
    classes = reference.classes_of_dags(m)
    assert len(classes) == {2: 2, 3: 11, 4: 185, 5: 8782}[m]  # OEIS A007984
    for members in classes:
        canonical = {tuple(canonical_member(as_masks(dag))) for dag in members}
        assert len(canonical) == 1
        chosen = tuple(tuple(members_of(mask)) for mask in canonical.pop())
        assert chosen in members
        shared = [mask_of(set.intersection(*(set(d[x]) for d in members))) for x in range(m)]
        for dag in members:
            assert compelled_parents(as_masks(dag)) == shared


# Graphs


@st.composite
def dags(draw, m):
    order = draw(st.permutations(range(m)))
    parents = [()] * m
    for i, child in enumerate(order):
        parents[child] = tuple(p for p in order[:i] if draw(st.booleans()))
    return reference.graph_of(parents)


def check_pattern(pattern, members):
    """Its edges have the directions that they have among the members of a class."""
    found = {edge for parents in members for edge in reference.graph_of(parents).edges}
    assert pattern.number_of_edges() == len({*map(frozenset, found)})
    for a, b, is_undirected in pattern.edges(data="undirected"):
        assert (a, b) in found
        assert is_undirected is ((b, a) in found)
    assert reference.parents_of(pattern) in members


def undirected(network):
    """The undirected edges of a network's CPDAG."""
    return [(a, b) for a, b, mark in network.cpdag().edges(data="undirected") if mark]


@hypothesis.given(st.integers(1, 6).flatmap(lambda m: st.tuples(dags(m), dags(m))))
def test_equivalence_is_that_of_the_classes(pair):
    one, other = pair
    own, others = (reference.equivalence_class(reference.parents_of(each)) for each in pair)
    same = own == others
    assert nx.utils.graphs_equal(cpdag(one), cpdag(other)) is same
    assert GaussianBayesianNetwork(one).compare(other).is_equivalent is same


@hypothesis.given(dags(6))
def test_the_order_of_the_nodes_only_turns_undirected_edges(dag):
    turned = graph_of(reversed(range(6)), dag.edges)
    assert GaussianBayesianNetwork(dag).compare(turned).is_equivalent
    one, other = cpdag(dag), cpdag(turned)
    for a, b, is_undirected in one.edges(data="undirected"):
        edge = (a, b) if other.has_edge(a, b) else (b, a)
        assert other.edges[edge]["undirected"] is is_undirected
        assert edge == (a, b) or is_undirected


@hypothesis.given(st.integers(2, 6).flatmap(lambda m: st.tuples(dags(m), dags(m), dags(m))))
def test_distance_counts_pairs(triple):
    one, other, third = (GaussianBayesianNetwork(dag) for dag in triple)
    a, b = (nx.to_numpy_array(network.dag, dtype=int) for network in (one, other))
    pairs = list(combinations(range(len(a)), 2))
    expected = sum((a[i, j], a[j, i]) != (b[i, j], b[j, i]) for i, j in pairs)
    assert one.compare(other).distance == expected
    for kind in ("distance", "cpdag_distance"):
        distance = getattr(one.compare(other), kind)
        assert distance == getattr(other.compare(one.dag), kind)
        assert distance <= getattr(one.compare(third), kind) + getattr(third.compare(other), kind)


def test_other_networks_must_have_the_same_nodes():
    for other, error, message in [
        (nx.DiGraph([("a", "c")]), ValueError, r"nodes: missing \['b'\]; unexpected \['c'\]"),
        (nx.DiGraph([("a", "b"), ("b", "c")]), ValueError, r"nodes: unexpected \['c'\]"),
        (nx.DiGraph([("a", "b"), ("b", "a")]), ValueError, "other must be acyclic"),
        (nx.Graph([("a", "b")]), TypeError, "other must be .* or a networkx.DiGraph; got Graph"),
        (nx.DiGraph(), ValueError, "other must have at least one node"),
    ]:
        network = GaussianBayesianNetwork(nx.DiGraph([("a", "b")]))
        raises(message, network.compare, other, kind=error)


def test_cpdags_are_not_taken_for_networks():
    """Their undirected edges point one way only for lack of another form."""
    network = GaussianBayesianNetwork(nx.DiGraph([("a", "b"), ("b", "c")]))
    pattern = network.cpdag()
    message = r"{} must have directed edges only; \('a', 'b'\) is undirected.* network itself"
    raises(message.format("other"), network.compare, pattern)
    raises(message.format("dag"), GaussianBayesianNetwork, pattern)
    collider = GaussianBayesianNetwork(nx.DiGraph([("a", "b"), ("c", "b")]))
    assert collider.compare(collider.cpdag()).is_equivalent  # all of whose edges are directed


# What knowledge rules out


def check_known_cpdag(network, members):
    """Held against the members of the class that satisfy the knowledge."""
    parents = reference.parents_of(network.dag)
    assert parents in members
    check_pattern(network.cpdag(), members)
    check_pattern(network.cpdag(knowledge=False), reference.equivalent_dags(parents))
    assert nx.utils.graphs_equal(network.cpdag(knowledge=False), cpdag(reference.graph_of(parents)))


def marked(parents, fixed):
    dag = reference.graph_of(parents)
    nx.set_edge_attributes(dag, dict.fromkeys(fixed, True), "fixed")
    return dag


@pytest.mark.parametrize("m", [2, 3, 4])
def test_known_directions_by_enumeration(m):
    rng = np.random.default_rng(m)
    for members in reference.classes_of_dags(m):
        parents = members[rng.integers(len(members))]
        edges = list(reference.graph_of(parents).edges)
        for share in (0.15, 0.5):
            fixed = [edge for edge in edges if rng.random() < share]
            known = [o for o in members if {*fixed} <= {*reference.graph_of(o).edges}]
            networks = [GaussianBayesianNetwork(marked(other, fixed)) for other in known]
            check_known_cpdag(networks[0], known)
            for network in networks[1:]:
                assert nx.utils.graphs_equal(network.cpdag(), networks[0].cpdag())


def test_the_rule_that_knowledge_alone_needs():
    """Meek (1995), rule 4: b -> a would ask for a -> c, as c and b are not joined: a cycle."""
    dag = nx.DiGraph(["ab", "ac", "ad", "cd", "db"])
    assert len(undirected(GaussianBayesianNetwork(dag))) == 5
    dag.edges["c", "d"]["fixed"] = True
    assert undirected(GaussianBayesianNetwork(dag)) == [("a", "c"), ("a", "d")]


@pytest.mark.parametrize("m", [4, 5])
def test_what_a_learner_knows_by_enumeration(m):
    """Its class is that of the networks that satisfy the knowledge, with however many parents."""
    rng = np.random.default_rng(m)
    n_informative = 0
    for _ in range(30 if m == 4 else 20):
        settings = random_constraints(rng, m)
        rows, _ = make_gaussian_network(m, mean_degree=3, n_samples=50, random_state=rng)
        network = GaussianBNLearner(**settings, penalty=rng.choice([0.1, 1.0])).fit(rows).network_
        members, known = reference.equivalent_dags(reference.parents_of(network.dag)), []
        settings["max_parents"] = m
        for other in members:
            if all(is_allowed(x, parents, settings) for x, parents in enumerate(other)):
                known.append(other)
        check_known_cpdag(network, known)
        n_informative += 1 < len(known) < len(members)
    assert n_informative > 2


TABLE = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 3)).cumsum(axis=1), columns=[*"abc"])
TIERS = {"tiers": [["a"], ["b", "c"]]}


@pytest.fixture
def learner():
    return GaussianBNLearner(**TIERS).fit(TABLE)


@pytest.fixture
def network(learner):
    return learner.network_


def test_cross_validated_and_listed_networks_know_their_tiers_too(learner):
    by_cv = GaussianBNLearnerCV([1, 2], **TIERS, cv=2).fit(TABLE)
    families = [([[-1, -1]], [-1.0]), ([[-1, -1], [0, -1]], [-9.0, -1.0]), ([[1, -1]], [-1.0])]
    listed = GaussianBNLearner(**TIERS).fit(ParentSetScores([*"abc"], families))
    for other in (by_cv, listed):
        found, expected = (each.network_.dag.edges(data="fixed") for each in (other, learner))
        assert [*found] == [*expected]
        assert nx.utils.graphs_equal(other.network_.cpdag(), learner.network_.cpdag())
        assert not undirected(other.network_)


def test_knowledge_goes_where_the_network_goes(learner, network, tmp_path):
    expected = network.cpdag()
    network.to_json(tmp_path / "network.json")
    for other in (
        GaussianBayesianNetwork.from_json(network.to_json()),
        GaussianBayesianNetwork.from_json(tmp_path / "network.json"),
        GaussianBayesianNetwork(learner.dag_),
        GaussianBayesianNetwork(learner.predict()),
        GaussianBayesianNetwork(network.dag),
        GaussianBayesianNetwork(learner.dag_).fit(TABLE),
        clone(network),
        deepcopy(network),
        pickle.loads(pickle.dumps(network)),
        pickle.loads(pickle.dumps(learner)).network_,
        network.do({"a": 1.0}),  # which has no parents
    ):
        assert nx.utils.graphs_equal(other.cpdag(), expected)
        assert nx.utils.graphs_equal(other.cpdag(knowledge=False), network.cpdag(knowledge=False))
    renamed = GaussianBayesianNetwork(nx.relabel_nodes(learner.dag_, {"a": "z"}))
    assert not undirected(renamed)
    # An edge that do cuts off is known no more; nor is one that is removed and added again.
    assert undirected(network.do({"b": 1.0})) == [*network.do({"b": 1.0}).dag.edges] == [("b", "c")]
    dag = learner.dag_.copy()
    dag.remove_edge("a", "b")
    dag.add_edge("a", "b", weight=1.0)
    assert len(undirected(GaussianBayesianNetwork(dag))) == dag.number_of_edges()


def test_a_mark_is_true_or_false(network):
    message = r"fixed of the edge 'a' -> 'b' must be True or False"
    for mark in ("no", np.nan, pd.NA, 1, None):
        raises(message, GaussianBayesianNetwork, nx.DiGraph([("a", "b", {"fixed": mark})]))
    text, read = network.to_json(), GaussianBayesianNetwork.from_json
    assert text.count('"fixed": true') == 1
    free = read(text.replace('"fixed": true', '"fixed": false'))
    assert len(undirected(free)) == free.dag.number_of_edges()
    for wrong in ("1", "null", '"yes"'):
        raises(message, read, text.replace('"fixed": true', f'"fixed": {wrong}'))


def test_equivalence_and_distances_of_classes_ask_for_independences_alone(network):
    found = network.compare(nx.DiGraph([("c", "b"), ("b", "a")]))
    assert (found.is_equivalent, found.cpdag_distance, found.distance) == (True, 0, 2)
    # Pictures and texts show what cpdag returns.
    assert "dir=none" not in skbn.io.to_dot(network, cpdag=True)
    assert "---" not in skbn.io.to_mermaid(network, cpdag=True)
