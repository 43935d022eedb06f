"""Adjustment sets: by definition for all small graphs, and in dagitty's published examples."""

import networkx as nx
import numpy as np
import pytest
import reference
from agreement import raises
from numpy.testing import assert_allclose
from reference import adjustment
from reference.adjustment import acyclic_graphs, candidate_sets, valid_sets

from skbn import GaussianBayesianNetwork, GaussianBNLearner, lagged
from skbn.datasets import make_gaussian_network


def network(text):
    """Return the network of edges as dagitty writes them: "a -> b; a <- c"."""
    dag = nx.DiGraph()
    for path in text.split(";"):
        words = path.split()
        for a, arrow, b in zip(words[::2], words[1::2], words[2::2], strict=False):
            dag.add_edge(*((a, b) if arrow == "->" else (b, a)))
    return GaussianBayesianNetwork(dag)


def as_sets(sets):
    return {frozenset(each) for each in sets}


THOEMMES = """e0 -> x; e1 -> s1; e2 -> s2; e2 -> y; e3 -> s3; e4 -> y; s1 -> s2; s1 -> z; s2 -> s3;
s2 -> z2; s3 -> y; x -> y; x -> s1; y -> z3"""


@pytest.mark.parametrize(
    ("text", "cause", "effect", "unobserved", "expected"),
    [
        ("x -> y; x <- u -> m <- v -> y", "x", "y", "uv", [""]),  # the M-bias graph
        ("E -> D; A -> E; A -> Z; B -> D; B -> Z; Z -> E; Z -> D", "E", "D", "", ["AZ", "BZ"]),
        ("E -> D; A -> E; A -> Z; B -> D; B -> Z; Z -> E; Z -> D", "E", "D", "B", ["AZ"]),
        ("S -> T; h -> S; i -> h; i -> T; x -> S; x -> z -> T", "S", "T", "",
         ["hx", "hz", "ix", "iz"]),
        ("A -> U; B -> Z; Z -> E; U -> Z", "AE", "B", "", ["UZ"]),
        ("p -> r; p -> y; m -> p; m -> n; y -> n; n -> x", ["p", "x"], "y", "", []),
        ("p -> m; y -> n; m -> n; n -> x", ["p", "x"], "y", "", ["mn"]),
        ("C -> Y -> z; C -> m; X -> W; X -> V -> Y; W -> Y; X -> n -> m -> W", "XW", "YV", "",
         ["C", "mn"]),
        (THOEMMES, "x", "y", ["e0", "e1", "e3", "e4"], [""]),
        ("a -> x -> i -> y -> s", "x", "y", "", [""]),
    ],
)  # fmt: skip
def test_examples_of_dagitty(text, cause, effect, unobserved, expected):
    for option in ("unobserved", "forbidden"):
        found = network(text).adjustment_sets([*cause], [*effect], **{option: [*unobserved]})
        assert as_sets(found) == as_sets(expected)
        assert found.is_complete
        assert bool(found) == bool(expected)


def test_a_partially_directed_example_of_dagitty():
    graph = nx.DiGraph([(*edge, {"fixed": True}) for edge in ("XW", "WY", "FW", "FX", "FZ")])
    graph.add_edge("W", "Z", undirected=True)
    mixed = GaussianBayesianNetwork.from_cpdag(graph)
    assert [*mixed.adjustment_sets("X", "Y", cpdag=True)] == [["F"]]
    undirected = GaussianBayesianNetwork(nx.DiGraph(["ab"]))
    assert [*undirected.adjustment_sets("a", "b")] == [[]]
    found = undirected.adjustment_sets("a", "b", cpdag=True)
    assert not found
    assert "does not tell the direction of a - b" in found.reason


def questions(graphs, rng):
    """Yield networks with the graphs that the answers must hold for, and options."""
    m = graphs.shape[1]
    classes = {}
    for i, graph in enumerate(graphs):
        cpdag = GaussianBayesianNetwork(nx.DiGraph(graph)).cpdag()
        classes.setdefault((*cpdag.edges(data="undirected"),), []).append(i)
        yield GaussianBayesianNetwork(nx.DiGraph(graph)), [i], {}
    for members in classes.values():
        yield GaussianBayesianNetwork(nx.DiGraph(graphs[members[0]])), members, {"cpdag": True}
        i = rng.choice(members)
        known = graphs[i] & (rng.random((m, m)) < 0.3)
        dag = nx.DiGraph(graphs[i])
        for edge in zip(*known.nonzero(), strict=True):
            dag.edges[edge]["fixed"] = True
        agreeing = [j for j in members if not (known & ~graphs[j]).any()]
        yield GaussianBayesianNetwork(dag), agreeing, {"cpdag": True}


def check_all(m, rng, share=1.0, causes=(0,), effects=(1,)):
    """Hold answers about the effects of some nodes in all graphs against regressions."""
    graphs, sets = acyclic_graphs(m), candidate_sets(m, [*causes, *effects])
    is_valid, variance = valid_sets(graphs, causes, effects)
    ends = [*causes], [*effects]
    n_asked = 0
    for asked, members, options in questions(graphs, rng):
        if rng.random() > share:
            continue
        valid = {s for s, own in zip(sets, is_valid[members].all(axis=0), strict=True) if own}
        for s in sets:
            assert asked.is_adjustment_set(*ends, [*s], **options) == (s in valid)
        found = asked.adjustment_sets(*ends, **options)
        minimal = {s for s in valid if not any({*t} < {*s} for t in valid)}
        assert {*map(tuple, found)} == minimal
        assert len(found) == len(minimal)
        free = nx.DiGraph(asked.dag)
        free.remove_edges_from([*asked.dag.in_edges(ends[0])])
        has_effect = all(any(nx.has_path(free, x, y) for x in causes) for y in effects)
        assert (found.optimal is not None) == bool(valid and has_effect)
        assert bool(found.reason) != (found.optimal is not None)
        if found.optimal is not None:
            own = variance[members, sets.index((*found.optimal,))]
            for s in valid:
                assert (own <= variance[members, sets.index(s)] * (1 + 1e-9)).all()
        n_asked += 1
    return n_asked


@pytest.mark.parametrize("ends", [((0,), (1,)), ((0, 2), (1,)), ((0,), (1, 2)), ((0, 3), (2, 1))])
@pytest.mark.parametrize(
    ("m", "share", "fewest"), [(4, 0.2, 100), pytest.param(5, 0.008, 250, marks=pytest.mark.slow)]
)
def test_networks_of_four_and_five_nodes(m, share, fewest, ends):
    assert check_all(m, np.random.default_rng(m), share, *ends) > fewest


@pytest.mark.parametrize("seed", range(5))
def test_a_regression_on_a_set_has_the_total_effect(seed):
    drawn = make_gaussian_network(9, mean_degree=3, random_state=seed)
    covariance, nodes = drawn.covariance_, drawn.nodes
    n_sets = 0
    for effect in (pair for pair in nx.transitive_closure(drawn.dag).edges):
        found = drawn.adjustment_sets(*effect)
        assert found
        for each in [*found, found.optimal]:
            given = [nodes.index(node) for node in (effect[0], *each)]
            of_outcome = covariance[given, nodes.index(effect[1])]
            slopes = np.linalg.solve(covariance[np.ix_(given, given)], of_outcome)
            assert_allclose(slopes[0], drawn.total_effect(*effect), atol=1e-10)
            n_sets += 1
    assert n_sets > 20


@pytest.mark.parametrize("seed", range(20))
def test_open_paths_in_words(seed):
    """The path that a reason names is open whatever else is adjusted for."""
    rng = np.random.default_rng(seed)
    drawn = make_gaussian_network(8, mean_degree=3, random_state=seed)
    hidden = [v for v in drawn.nodes if rng.random() < 0.5]
    for cause in drawn.nodes:
        for effect in drawn.nodes:
            if cause == effect or {cause, effect} & {*hidden}:
                continue
            found = drawn.adjustment_sets(cause, effect, unobserved=hidden)
            if found:
                assert all(drawn.is_adjustment_set(cause, effect, each) for each in found)
                continue
            words = found.reason.partition("the path ")[2].partition(".")[0].split()
            path, arrows = [*map(int, words[::2])], words[1::2]
            assert (path[0], path[-1]) == (cause, effect)
            for a, arrow, b in zip(path, arrows, path[1:], strict=False):
                assert drawn.dag.has_edge(*((a, b) if arrow == "->" else (b, a)))
            for v, into, out_of in zip(path[1:], arrows, arrows[1:], strict=False):
                assert (into, out_of) == ("->", "<-") or v in hidden or v in found.biasing


def test_exogenous_nodes_may_depend_on_each_other():
    rng = np.random.default_rng(0)
    X = np.zeros((400, 3))
    for t in range(1, 400):
        X[t] = 0.5 * X[t - 1] + 0.3 * X[t - 1, [1, 2, 0]] + rng.normal(size=3)
    series = lagged(X)
    knowledge = {"exogenous": series.exogenous, "forbidden_edges": series.contemporaneous}
    found = GaussianBNLearner(**knowledge).fit(series.table).network_
    sets = found.adjustment_sets(4, 0)
    assert [*sets] == [[3]]
    assert sets.optimal == [3]
    assert not found.is_adjustment_set(4, 0, [])
    open_path = found.adjustment_sets(4, 0, unobserved=3).reason
    assert "the path 4 <-> 3 -> 0." in open_path
    _, slopes, _ = reference.regression(series.table, 0, [4, 3])
    assert_allclose(slopes[0], found.total_effect(4, 0))


def test_text():
    chain = network("a -> b -> c; u -> b; u -> c; w -> c")
    assert str(chain.adjustment_sets("b", "c")).splitlines() == [
        "Adjustment sets for the effect of b on c",
        "minimal  {u}",
        "optimal  {u, w}",
    ]
    barred = chain.adjustment_sets("b", "c", forbidden=["w"])
    assert barred.optimal is None
    assert barred.reason == "The optimal set would need w, not allowed."
    back = chain.adjustment_sets("c", "b")
    assert str(back).splitlines()[1:] == [
        "minimal  none",
        "No set of the other nodes closes the path c <- b. There is no directed path, so that the "
        "effect is 0.",
    ]
    assert chain.adjustment_sets("u", "w").reason.endswith("the effect is 0.")
    assert chain.adjustment_sets("a", "c").biasing == ["b"]
    assert chain.adjustment_sets("a", "c", unobserved=None).minimal == [[]]


def test_text_of_several_causes_or_effects():
    found = network("x1 -> c <- y; c -> x2").adjustment_sets(["x1", "x2"], "y")
    assert found.reason.startswith("No set of the other nodes closes the path x1 -> c <- y.")
    found = network("x -> y2 <- y1").adjustment_sets("x", ["y1", "y2"])
    assert (found.minimal, found.optimal) == ([[]], None)
    assert "no directed path to y1, so that the effect on it is 0" in found.reason


def test_many_minimal_sets(monkeypatch):
    monkeypatch.setattr("skbn._networks.adjustment._MOST_SETS", 30)
    dag = nx.DiGraph([("x", "y")])
    for i in range(5):
        dag.add_edges_from([(f"a{i}", "x"), (f"b{i}", "y"), (f"a{i}", f"b{i}")])
    found = GaussianBayesianNetwork(dag).adjustment_sets("x", "y")
    assert len(found) == 30
    assert not found.is_complete
    assert "and more" in str(found)
    assert found.optimal == [f"b{i}" for i in range(5)]


@pytest.mark.parametrize(
    ("method", "arguments", "message"),
    [
        ("adjustment_sets", ("a", "a"), "cause and effect must differ; 'a'"),
        ("adjustment_sets", ("a", "z"), "effect must name nodes; 'z'"),
        ("adjustment_sets", (["a", "a"], "b"), "each once"),
        ("adjustment_sets", ([], "b"), "cause must name nodes"),
        ("instruments", ("a", "a"), "cause and outcome must differ; 'a'"),
        ("instruments", ("a", "z"), "outcome must name nodes; 'z'"),
        ("instruments", (["a", "b"], "c"), "cause must be a single node; got a, b"),
        ("instruments", ("a", ["b", "c"]), "outcome must be a single node; got b, c"),
        ("is_adjustment_set", ("a", "c", ["a"]), "have neither cause nor effect; got 'a'"),
        ("is_adjustment_set", ("a", "c", "q"), "columns must name nodes; 'q'"),
    ],
)
def test_refused(method, arguments, message):
    ask = getattr(network("a -> b -> c"), method)
    raises(message, ask, *arguments)
    if method != "is_adjustment_set":
        raises("unobserved must name nodes; 'q'", ask, "a", "b", unobserved="q")
        for node in "ab":
            message = f"unobserved must have neither .* got '{node}'"
            raises(message, ask, "a", "b", unobserved=[node])


# Instruments


def check_instruments(m, rng, share=1.0):
    """Hold the instruments for the effect of node 0 on node 1 against the definition."""
    graphs, n_asked, n_found = acyclic_graphs(m), 0, 0
    for asked, members, options in questions(graphs, rng):
        if rng.random() > share:
            continue
        valid = [adjustment.instruments(graphs[i], 0, 1) for i in members]
        found = dict(asked.instruments(0, 1, **options))
        for z, given in found.items():
            for i, own in zip(members, valid, strict=True):
                assert {*given} in [each for each, _ in own[z]]
                ratio, effect = adjustment.instrumental_ratio(graphs[i], 0, 1, z, given, rng)
                assert ratio == pytest.approx(effect, abs=1e-9)
        # With one member, these are all that have a set of ancestors; and none only if none is.
        if len(members) == 1:
            assert {*found} == {z for z, own in valid[0].items() if any(last for _, last in own)}
            assert bool(found) == bool(valid[0])
        elif not asked.adjustment_sets(0, 1, **options).reason.startswith("Equivalent"):
            for z in {*range(2, m)} - {*found}:
                sets = [[each for each, last in own.get(z, ()) if last] for own in valid]
                assert not all(sets)
        n_asked += 1
        n_found += len(found)
    return n_asked, n_found


@pytest.mark.parametrize(
    ("m", "share", "fewest"),
    [(4, 0.4, (250, 50)), pytest.param(5, 0.025, (1_000, 250), marks=pytest.mark.slow)],
)
def test_instruments_in_graphs_of_four_and_five_nodes(m, share, fewest):
    found = check_instruments(m, np.random.default_rng(m - 4), share)
    assert found[0] > fewest[0]
    assert found[1] > fewest[1]


def test_instruments_of_published_examples():
    for text, unobserved, expected in [
        ("i -> x -> y; x <- u -> y", "u", {"i": []}),
        ("i -> x -> y; x <- u -> y; y <- z -> i", "u", {"i": ["z"]}),
        ("w -> z -> x -> y; w -> u -> x; u -> y", "u", {"z": ["w"]}),
        ("z -> x -> y; u -> x; u -> y", "u", {"z": []}),
        ("z -> x -> m -> y; u -> x; u -> y; p -> z; p -> m", "u", {"z": ["p"]}),
        ("z -> x -> y; z -> y; u -> x; u -> y", "u", {}),
    ]:
        asked = network(text)
        found = asked.instruments("x", "y", unobserved=unobserved)
        assert dict(found) == expected
        assert [*asked.instruments(["x"], ["y"], unobserved=[unobserved])] == found


def test_instruments_need_a_direction():
    asked = network("z -> x -> y")
    assert asked.instruments("x", "y") == [("z", [])]
    assert asked.instruments("x", "y", cpdag=True) == []
    dag = asked.dag
    dag.edges["x", "y"]["fixed"] = True
    assert GaussianBayesianNetwork(dag).instruments("x", "y", cpdag=True) == [("z", [])]
    collider = network("z -> x -> y; x <- u -> y")  # which all equivalent networks have
    assert collider.instruments("x", "y", unobserved="u", cpdag=True) == [("z", [])]


def test_exogenous_nodes_have_a_hidden_cause():
    dag = network("a -> x -> y; b -> y").dag
    assert [each.node for each in GaussianBayesianNetwork(dag).instruments("x", "y")] == ["a"]
    for node in "ab":
        dag.nodes[node]["exogenous"] = True
    found = GaussianBayesianNetwork(dag)
    assert found.instruments("x", "y") == [("a", ["b"])]
    assert found.instruments("x", "y", unobserved="b") == []
