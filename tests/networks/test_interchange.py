"""Networks written in other formats and read from them, with the mistakes that users make."""

import json
import sys
from itertools import combinations

import hypothesis
import hypothesis.strategies as st
import networkx as nx
import numpy as np
import pytest
from agreement import raises
from drawn import graph_of, weighted
from numpy.testing import assert_allclose, assert_array_equal

import skbn
from skbn import GaussianBayesianNetwork, GaussianBNLearner
from skbn.io import from_modelstring, to_dot, to_mermaid, to_modelstring

FLOATS = st.floats(-1e9, 1e9)
POSITIVE = st.floats(0, 1e9)
NAMES = st.lists(st.one_of(st.text(max_size=5), st.integers()), unique=True, min_size=1, max_size=5)


@st.composite
def networks(draw, names=NAMES):
    dag = nx.DiGraph()
    for node in draw(names):
        dag.add_node(node, intercept=draw(FLOATS), noise_variance=draw(POSITIVE))
    for edge in combinations(draw(st.permutations([*dag])), 2):
        if draw(st.booleans()):
            dag.add_edge(*edge, weight=draw(FLOATS))
    return GaussianBayesianNetwork(dag)


def pair(a="a", b="b"):
    dag = weighted([a, b], [(a, b, 1e-300)], noise_variance=2.0, intercept=-0.0)
    dag.add_node(a, intercept=0.1, noise_variance=1 / 3)
    return GaussianBayesianNetwork(dag)


# JSON


@hypothesis.given(networks())
def test_json_keeps_every_bit_and_the_order(network):
    again = GaussianBayesianNetwork.from_json(network.to_json())
    assert nx.utils.graphs_equal(again.dag, network.dag)
    assert again.nodes == network.nodes
    assert [type(node) for node in again.nodes] == [type(node) for node in network.nodes]
    for name in ("coef_", "intercept_", "noise_variance_", "mean_"):
        assert getattr(again, name).tobytes() == getattr(network, name).tobytes()


def test_json_keeps_the_density_of_a_fit(wine):
    for exogenous in (None, ["alcohol"]):
        X = wine.iloc[:, :6] + 1e4
        network = GaussianBNLearner(exogenous=exogenous).fit(X).network_
        again = GaussianBayesianNetwork.from_json(network.to_json())
        assert_array_equal(again.score_samples(X), network.score_samples(X))
        assert again.to_json() == network.to_json()
        changed = again.dag
        changed.nodes["ash"]["intercept"] += 1.0
        assert_array_equal(again.score_samples(X), network.score_samples(X))
        other = GaussianBayesianNetwork(changed)
        assert not np.array_equal(other.score_samples(X), network.score_samples(X))


def test_json_is_networkx_node_link_format():
    expected = pair().dag
    del expected.edges["a", "b"]["standardised_weight"]
    data = json.loads(pair().to_json())
    assert nx.utils.graphs_equal(nx.node_link_graph(data, edges="edges"), expected)


def test_names_of_nodes_in_json():
    again = GaussianBayesianNetwork.from_json(pair(np.int64(3), np.int32(5)).to_json())
    assert again.nodes == [3, 5]
    assert again.dag.edges[3, 5]["weight"] == 1e-300
    for node in (("a", 1), 1.5, True):
        raises(r"strings or integers; got .*relabel_nodes", pair(node).to_json)


def document(**changes):
    """A valid document, except for the changes."""
    return json.dumps(json.loads(pair().to_json()) | changes)


NODE = {"id": "a", "intercept": 0, "noise_variance": 1}
OTHER = {"id": "b", "intercept": 0, "noise_variance": 1}
EDGE = {"source": "a", "target": "b", "weight": 1}


def test_bad_json_is_explained():
    for text, message in [
        ("", "not JSON"),
        ("__import__('os')", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "object with a list of objects 'nodes'"),
        ("null", "object with a list of objects 'nodes'"),
        ("{}", "object with a list of objects 'nodes'"),
        (document(nodes={}), "list of objects 'nodes'"),
        (document(edges=None), "list of objects 'edges'"),
        (document(directed=False), '"directed": true'),
        (document(multigraph=True), '"multigraph": false'),
        (document(nodes=[], edges=[]), "at least one node"),
        (document(nodes=["a"], edges=[]), "list of objects 'nodes'"),
        (document(nodes=[NODE | {"id": None}], edges=[]), "a node whose 'id' is not .*: None"),
        (document(nodes=[NODE | {"id": True}], edges=[]), "a node whose 'id' is not .*: True"),
        (document(nodes=[NODE | {"id": ["a"]}], edges=[]), r"a node whose 'id' is not .*: \['a'"),
        (document(nodes=[NODE, NODE], edges=[]), "node 'a' twice"),
        (document(nodes=[NODE | {"mean": 2.0}], edges=[]), "mean of node 'a' is 2.0"),
        (document(nodes=[NODE | {"mean": "1"}], edges=[]), "mean of node 'a' must be"),
        (document(nodes=[NODE | {"intercept": "0"}], edges=[]), "intercept of node 'a' .* '0'"),
        (document(edges=[EDGE | {"weight": {}}]), "weight of edge 'a' -> 'b' .* {}"),
        (document(graph=None), "an object as 'graph'"),
        (document(edges=[{"source": "a", "weight": 1}]), "but no node None"),
        (document(edges=[EDGE | {"target": "z"}]), r"edge \('a', 'z'\), but no node 'z'"),
        (document(edges=[EDGE, EDGE]), r"edge \('a', 'b'\) twice"),
        (document(edges=[EDGE | {"target": "a"}]), "acyclic; .* cycle"),
        (document(links=[EDGE]), "both 'edges' and 'links'"),
        (document(nodes=[NODE | {"intercept": False}], edges=[]), "intercept of node 'a' .* False"),
        (document().replace("0.1", "1e200").replace("1e-300", "1e200"), "variance of node 'b' is"),
        (document().replace("1e-300", "1e999"), "weight of edge 'a' -> 'b' .* inf"),
        (document().replace("1e-300", "9" * 5000), "not JSON"),
        (document(edges=[EDGE | {"fixed": 1}]), "fixed of the edge 'a' -> 'b' must be True"),
        (document()[:-1] + ', "nodes": []}', "key 'nodes' twice"),
        (document().replace('"id"', '"intercept": 0, "id"'), "key 'intercept' twice"),
        ("network.json", "not JSON .* To read a file, give a pathlib"),
    ]:
        raises(message, GaussianBayesianNetwork.from_json, text)


def test_json_in_a_file(tmp_path):
    path = tmp_path / "network.json"
    assert pair().to_json(path) is None
    assert path.read_text(encoding="utf-8") == pair().to_json() + "\n"
    assert GaussianBayesianNetwork.from_json(path).to_json() == pair().to_json()
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())  # as editors on Windows save it
    assert GaussianBayesianNetwork.from_json(path).nodes == pair().nodes
    for data, message in [
        (b"{\n\xff}", "network.json is not JSON in UTF-8: .* byte 0xff"),
        (b"{\n,", r"network.json is not JSON .*: line 2 column 1"),
        (b"{}", "network.json must hold an object with a list of objects 'nodes'"),
    ]:
        path.write_bytes(data)
        raises(message, GaussianBayesianNetwork.from_json, path)


def test_json_of_other_programs_may_have_more_attributes():
    node = NODE | {"colour": "red"}
    text = document(nodes=[node, OTHER], edges=[EDGE | {"note": "x"}], graph={"name": "wine"})
    dag = GaussianBayesianNetwork.from_json(text).dag
    assert dag.nodes["a"] == {"intercept": 0.0, "noise_variance": 1.0}
    assert dag.edges["a", "b"].keys() == {"weight", "standardised_weight"}
    assert dag.graph == {}


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3)),
    lambda values: st.one_of(
        st.lists(values, max_size=3), st.dictionaries(st.text(max_size=3), values, max_size=3)
    ),
    max_leaves=5,
)


@hypothesis.given(st.data())
def test_any_other_value_in_a_document_is_a_value_error_at_most(data):
    """Whatever stands in the place of a part, nothing but ValueError comes out."""
    content = json.loads(pair().to_json())
    nodes, edges = content["nodes"], content["edges"]
    parts = [(content, content), (nodes[0], NODE), (edges[0], EDGE), (nodes, [1]), (edges, [0])]
    place, key = data.draw(st.sampled_from([(part, key) for part, keys in parts for key in keys]))
    place[key] = data.draw(json_values)
    try:
        covariance = GaussianBayesianNetwork.from_json(json.dumps(content)).covariance_
    except ValueError:
        return
    assert np.isfinite(covariance).all()


# DOT


def test_dot_is_quoted_and_escaped():
    assert to_dot(pair('say "hi"\\', "two\nlines -> {}")).splitlines() == [
        "digraph {",
        r'  "say \"hi\"\\";',
        r'  "two\nlines -> {}";',
        r'  "say \"hi\"\\" -> "two\nlines -> {}" [label="1e-300"];',
        "}",
    ]
    codes = to_dot(pair("bell\a\r", "\ud800\u0085\u00e9")).splitlines()[1:3]
    assert codes == [r'  "bell\\u0007\\u000d";', '  "\\\\ud800\\\\u0085\u00e9";']
    for names in (("\a", r"\u0007"), (1, "1")):
        raises("have the same text", to_dot, pair(*names))


def test_dot_of_graphs_without_parameters():
    network = GaussianBayesianNetwork(nx.DiGraph([("a", "c"), ("b", "c"), ("b", "d")]))
    edges = ['  "a" -> "c";', '  "b" -> "c";', '  "b" -> "d";']
    assert to_dot(network).splitlines()[5:] == [*edges, "}"]
    edges[2] = '  "b" -> "d" [dir=none];'
    assert to_dot(network, cpdag=True).splitlines()[5:] == [*edges, "}"]


# pgmpy


@pytest.fixture(scope="module")
def pgmpy():
    pytest.importorskip("pgmpy")
    from pgmpy.factors.continuous import LinearGaussianCPD
    from pgmpy.models import LinearGaussianBayesianNetwork

    return LinearGaussianBayesianNetwork, LinearGaussianCPD


@pytest.fixture
def network():
    rng = np.random.default_rng(0)
    dag = weighted("dbca", [(*edge, rng.normal()) for edge in ["ab", "ac", "bd", "cd"]])
    for node in dag:
        dag.add_node(node, intercept=rng.normal(), noise_variance=rng.uniform(0.5, 2))
    return GaussianBayesianNetwork(dag)


def test_pgmpy_has_the_same_distribution(pgmpy, network):
    model = skbn.io.to_pgmpy(network)
    assert isinstance(model, pgmpy[0])
    assert model.check_model()
    mean, covariance = model.to_joint_gaussian()  # rounded to 8 decimals
    order = [network.nodes.index(node) for node in nx.topological_sort(model)]
    assert_allclose(network.mean_[order], mean, atol=1e-8)
    assert_allclose(network.covariance_[np.ix_(order, order)], covariance, atol=1e-8)


def test_pgmpy_and_back(pgmpy, network):
    again = skbn.io.from_pgmpy(skbn.io.to_pgmpy(network))
    assert again.nodes == network.nodes
    assert_array_equal(again.coef_, network.coef_)
    assert_array_equal(again.intercept_, network.intercept_)
    assert_allclose(again.noise_variance_, network.noise_variance_, rtol=1e-15)


def test_pgmpy_parents_in_another_order(pgmpy):
    model, conditional = pgmpy[0]([("a", "c"), ("b", "c")]), pgmpy[1]
    model.add_cpds(conditional("c", [1, 2, 3], 2, ["b", "a"]))
    model.add_cpds(conditional("a", [0], 1), conditional("b", [0], 1))
    dag = skbn.io.from_pgmpy(model).dag
    assert dag.edges["b", "c"]["weight"] == 2.0
    assert dag.edges["a", "c"]["weight"] == 3.0
    assert dag.nodes["c"] == {"intercept": 1.0, "noise_variance": 4.0}


def test_bad_pgmpy_models_are_explained(pgmpy, network):
    model, conditional = skbn.io.to_pgmpy(network), pgmpy[1]
    read = skbn.io.from_pgmpy
    raises("LinearGaussianBayesianNetwork; got DiGraph", read, network.dag, kind=TypeError)
    model.get_cpds("b").evidence = []
    raises(r"node 'b' must have .* parents \['a'\]", read, model)
    model.get_cpds("b").evidence = ["a"]
    model.get_cpds("b").beta = np.ones(1)
    raises(r"node 'b' must have .* it has \[.*\] for \['a'\]", read, model)
    model.remove_cpds("b")
    raises("no CPD of node 'b'", read, model)
    for std, message in ((-1.0, "not be negative; got -1"), (None, "be a finite .* got None")):
        model.cpds = [cpd for cpd in model.cpds if cpd.variable != "b"]
        model.add_cpds(conditional("b", [0, 1], std, ["a"]))
        raises(f"std of node 'b' must {message}", read, model)
    raises("model must have at least one node", read, pgmpy[0]())
    model = skbn.io.to_pgmpy(network)
    model.get_cpds("b").beta = [np.nan, 1.0]
    raises(r"intercept of node 'b' must be a finite .* got nan", read, model)
    model.get_cpds("b").beta = [0.0, np.inf]
    raises(r"weight of edge 'a' -> 'b' must be a finite .* got inf", read, model)
    model = skbn.io.to_pgmpy(network)
    nx.DiGraph.add_edge(model, "d", "a")  # which pgmpy's own methods refuse
    model.get_cpds("a").evidence, model.get_cpds("a").beta = ["d"], [0.0, 1.0]
    raises("model must be acyclic", read, model)


def test_without_pgmpy_the_error_says_what_to_install(monkeypatch, network):
    monkeypatch.setitem(sys.modules, "pgmpy.models", None)
    for use in (lambda: skbn.io.to_pgmpy(network), lambda: skbn.io.from_pgmpy(None)):
        raises("pip install pgmpy", use, kind=ImportError)


def test_mermaid_has_nodes_and_labelled_edges():
    lines = ["flowchart TD", '  n0["a"]', '  n1["b"]', '  n0 -->|"1e-300"| n1']
    assert to_mermaid(pair()).splitlines() == lines
    assert to_mermaid(pair(), cpdag=True).splitlines()[3:] == ["  n0 --- n1"]
    bare = GaussianBayesianNetwork(nx.DiGraph([("a", "b")]))
    assert to_mermaid(bare).splitlines()[3:] == ["  n0 --> n1"]
    for name, text in [  # names are nothing but text
        ('x"] --> y; <b>', "x#34;#93; --#62; y#59; #60;b#62;"),
        ("end\n#\0\ud800", "end#10;#35;#0;#55296;"),
        ("1. alcohol - x", "1#46; alcohol #45; x"),
        ("", " "),
    ]:
        assert to_mermaid(pair("a", name)).splitlines()[2] == f'  n1["{text}"]'


# bnlearn


@hypothesis.given(
    networks(st.lists(st.text("ab.é _-", min_size=1, max_size=4), unique=True, min_size=1))
)
def test_model_strings_keep_the_graph(network):
    other = from_modelstring(to_modelstring(network))
    assert set(other.nodes) == set(network.nodes)
    assert set(other.dag.edges) == set(network.dag.edges)


def test_model_strings_are_those_of_bnlearn():
    """Of the network behind its data set `learning.test`."""
    text, edges = "[A][C][F][B|A][D|A:C][E|B:F]", [*map(tuple, ["AB", "AD", "CD", "BE", "FE"])]
    assert {*from_modelstring(text).dag.edges} == {*edges}
    dag = graph_of("ABCDEF", edges)  # as in the data
    assert to_modelstring(GaussianBayesianNetwork(dag)) == text


def test_bad_model_strings_are_explained():
    for text, message in [
        ("", "must be a model string"),
        ("[a", "must be a model string"),
        ("[a][b|]", "must be a model string"),
        ("a|b", "must be a model string"),
        ("[a][a]", "node 'a' twice"),
        ("[b|a]", r"edge \('a', 'b'\), but no node 'a'"),
        ("[a][b|a:a]", r"edge \('a', 'b'\) twice"),
        ("[a|b][b|a]", "acyclic"),
    ]:
        raises(message, from_modelstring, text)


def test_what_model_strings_cannot_be_of():
    raises("a string; got bytes", from_modelstring, b"[a]", kind=TypeError)
    for node in ("a:b", "a|b", "[a]", ""):
        raises("cannot be written", to_modelstring, GaussianBayesianNetwork(graph_of([node])))
