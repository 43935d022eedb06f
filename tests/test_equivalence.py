from collections import defaultdict
from itertools import combinations

import hypothesis
import hypothesis.strategies as st
import networkx as nx
import numpy as np
import pytest
import reference

from skbn import GaussianBayesianNetwork
from skbn._networks._equivalence import canonical_member, compelled_parents
from skbn._networks._structure import cpdag, is_equivalent, structural_hamming_distance
from skbn._subsets import mask_of, members_of


def as_masks(parents):
    return [mask_of(ps) for ps in parents]


@pytest.mark.parametrize("m", [2, 3, 4, pytest.param(5, marks=pytest.mark.slow)])
def test_classes_by_enumeration(m):
    """A class has one canonical member, and compelled are the edges all members share."""
    classes = {}
    for dag in reference.all_dags(m):
        classes.setdefault(reference.equivalence_class(dag), []).append(dag)
    assert len(classes) == {2: 2, 3: 11, 4: 185, 5: 8782}[m]  # OEIS A007984
    for members in classes.values():
        canonical = {tuple(canonical_member(as_masks(dag))) for dag in members}
        assert len(canonical) == 1
        chosen = tuple(tuple(members_of(mask)) for mask in canonical.pop())
        assert chosen in members
        shared = [mask_of(set.intersection(*(set(d[x]) for d in members))) for x in range(m)]
        for dag in members:
            assert compelled_parents(as_masks(dag)) == shared


def test_reversible_edges_follow_the_column_order():
    assert canonical_member([0b110, 0b000, 0b010]) == [0, 0b001, 0b011]


def test_many_columns():
    rng = np.random.default_rng(0)
    m = 20
    parents = [mask_of(v for v in range(x) if rng.random() < 0.2) for x in range(m)]
    chosen = tuple(tuple(members_of(mask)) for mask in canonical_member(parents))
    own = tuple(tuple(members_of(mask)) for mask in parents)
    assert reference.is_acyclic(chosen)
    assert reference.equivalence_class(chosen) == reference.equivalence_class(own)


# Graphs


def as_graph(parents):
    dag = nx.DiGraph()
    dag.add_nodes_from(range(len(parents)))
    dag.add_edges_from((p, x) for x, ps in enumerate(parents) for p in ps)
    return dag


def as_parents(dag):
    return tuple(tuple(sorted(dag.predecessors(x))) for x in range(len(dag)))


@st.composite
def dags(draw, m):
    order = draw(st.permutations(range(m)))
    parents = [()] * m
    for i, child in enumerate(order):
        parents[child] = tuple(p for p in order[:i] if draw(st.booleans()))
    return as_graph(parents)


def directions_by_enumeration(members):
    """Each joined pair's edges among the members of a class: one, or both directions."""
    found = defaultdict(set)
    for parents in members:
        for x, ps in enumerate(parents):
            for p in ps:
                found[frozenset((p, x))].add((p, x))
    return found


def check_cpdag(parents, members):
    dag, directions = as_graph(parents), directions_by_enumeration(members)
    pattern = cpdag(dag)
    assert list(pattern) == list(dag)
    assert pattern.number_of_edges() == len(directions)
    for a, b, is_undirected in pattern.edges(data="undirected"):
        assert (a, b) in directions[frozenset((a, b))]
        assert is_undirected is (len(directions[frozenset((a, b))]) == 2)
    assert as_parents(pattern) in members


def classes_of_networks(m):
    """The equivalence classes of all networks of m columns."""
    found = defaultdict(list)
    for parents in reference.all_dags(m):
        found[reference.equivalence_class(parents)].append(parents)
    return found


@pytest.mark.parametrize("m", [1, 2, 3, 4])
def test_cpdags_by_enumeration(m):
    patterns = []
    for members in classes_of_networks(m).values():
        for parents in members:
            check_cpdag(parents, members)
        own = [cpdag(as_graph(parents)) for parents in members]
        assert all(nx.utils.graphs_equal(own[0], other) for other in own)
        patterns.append(frozenset(map(str, own[0].edges(data="undirected"))))
    assert len(set(patterns)) == len(patterns)


@pytest.mark.slow
def test_cpdags_of_five_columns():
    classes = classes_of_networks(5).values()
    every = [(parents, members) for members in classes for parents in members]
    chosen = np.random.default_rng(0).choice(len(every), size=300, replace=False)
    for i in chosen:
        check_cpdag(*every[i])


@hypothesis.given(st.integers(1, 6).flatmap(lambda m: st.tuples(dags(m), dags(m))))
def test_equivalence_is_that_of_the_classes(pair):
    one, other = pair
    same = reference.equivalence_class(as_parents(one)) == reference.equivalence_class(
        as_parents(other)
    )
    assert is_equivalent(one, other) is same
    assert nx.utils.graphs_equal(cpdag(one), cpdag(other)) is same
    assert (structural_hamming_distance(one, other, cpdag=True) == 0) is same


@hypothesis.given(dags(6), st.data())
def test_reversing_a_covered_edge_stays_in_the_class(dag, data):
    """Chickering (1995): such reversals, and no others, lead from member to member."""
    hypothesis.assume(dag.edges)
    a, b = data.draw(st.sampled_from(sorted(dag.edges)))
    other = dag.copy()
    other.remove_edge(a, b)
    other.add_edge(b, a)
    is_covered = set(dag.predecessors(b)) == {a, *dag.predecessors(a)}
    hypothesis.assume(nx.is_directed_acyclic_graph(other))
    assert is_equivalent(dag, other) is is_covered
    assert structural_hamming_distance(dag, other) == 1


@hypothesis.given(dags(6))
def test_the_order_of_the_nodes_only_turns_undirected_edges(dag):
    turned = nx.DiGraph()
    turned.add_nodes_from(reversed(range(6)))
    turned.add_edges_from(dag.edges)
    assert GaussianBayesianNetwork(dag).is_equivalent(turned)
    one, other = cpdag(dag), cpdag(turned)
    for a, b, is_undirected in one.edges(data="undirected"):
        edge = (a, b) if other.has_edge(a, b) else (b, a)
        assert other.edges[edge]["undirected"] is is_undirected
        assert edge == (a, b) or is_undirected


def test_distance_by_hand():
    """a -> b <- c -> d against b -> a, c -> b, a -> d: reversed, missing, extra."""
    one = nx.DiGraph([("a", "b"), ("c", "b"), ("c", "d")])
    other = nx.DiGraph([("b", "a"), ("c", "b"), ("a", "d")])
    assert structural_hamming_distance(one, other) == 3
    # a -> b <- c - d against the undirected chain c - b - a - d: of the pairs ab, bc, cd
    # and ad all differ.
    assert structural_hamming_distance(one, other, cpdag=True) == 4


@hypothesis.given(st.integers(2, 6).flatmap(lambda m: st.tuples(dags(m), dags(m), dags(m))))
def test_distance_counts_pairs(triple):
    one, other, third = (GaussianBayesianNetwork(dag) for dag in triple)
    a, b = (nx.to_numpy_array(network.dag, dtype=int) for network in (one, other))
    pairs = list(combinations(range(len(a)), 2))
    expected = sum((a[i, j], a[j, i]) != (b[i, j], b[j, i]) for i, j in pairs)
    assert one.structural_hamming_distance(other) == expected
    for is_cpdag in (False, True):
        distance = one.structural_hamming_distance(other, cpdag=is_cpdag)
        assert distance == other.structural_hamming_distance(one.dag, cpdag=is_cpdag)
        detour = one.structural_hamming_distance(third, cpdag=is_cpdag)
        detour += third.structural_hamming_distance(other, cpdag=is_cpdag)
        assert distance <= detour


@pytest.mark.parametrize(
    ("other", "error", "message"),
    [
        (nx.DiGraph([("a", "c")]), ValueError, r"it lacks \['b'\] and \['c'\] are none"),
        (nx.DiGraph([("a", "b"), ("b", "c")]), ValueError, r"nodes; \['c'\] are none"),
        (nx.DiGraph([("a", "b"), ("b", "a")]), ValueError, "other must be acyclic"),
        (
            nx.Graph([("a", "b")]),
            TypeError,
            "other must be .* or a networkx.DiGraph; got Graph",
        ),
        (None, TypeError, "got NoneType"),
        (GaussianBayesianNetwork(None), TypeError, "other must be .* got NoneType"),
        (GaussianBayesianNetwork(nx.DiGraph()), ValueError, "other must have at least one node"),
    ],
)
def test_other_networks_must_have_the_same_nodes(other, error, message):
    network = GaussianBayesianNetwork(nx.DiGraph([("a", "b")]))
    for use in (network.is_equivalent, network.structural_hamming_distance):
        with pytest.raises(error, match=message):
            use(other)


def test_cpdags_are_not_taken_for_networks():
    """Their undirected edges point one way only for lack of another form."""
    network = GaussianBayesianNetwork(nx.DiGraph([("a", "b"), ("b", "c")]))
    pattern = network.cpdag()
    message = r"{} must have directed edges alone; \('a', 'b'\) is undirected.* network itself"
    for use in (network.is_equivalent, network.structural_hamming_distance):
        with pytest.raises(ValueError, match=message.format("other")):
            use(pattern)
    with pytest.raises(ValueError, match=message.format("dag")):
        GaussianBayesianNetwork(pattern).fit(np.eye(3))
    collider = GaussianBayesianNetwork(nx.DiGraph([("a", "b"), ("c", "b")]))
    assert collider.is_equivalent(collider.cpdag())  # all of whose edges are directed
