"""Networks in the languages of other programs: each is read back by code that is not the writer's.

`test_programs.py` has the programs themselves.
"""

import itertools
import json
import re

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from agreement import raises
from drawn import weighted
from numpy.testing import assert_allclose
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import skbn
from skbn import GaussianBayesianNetwork, GaussianBNLearner, GaussianBNPosterior
from skbn.io import to_bnlearn, to_dagitty, to_gml, to_graphml, to_latex, to_lavaan, to_markdown

# Names that mean something in some language, or are the same after a careless replacement.
ODD = ['a "q" b', "c\\d", "ü-ö", "7", 7.5, "if", "if_", "x 1", "x-1", "x_1", "{x} -> y"]


@pytest.fixture(scope="module")
def learner(wine):
    return GaussianBNLearner().fit(wine.iloc[:, 5:])


@pytest.fixture
def odd_network():
    """A network of small and large numbers; its last node is alone."""
    edges = [(*edge, -2e-9) for edge in itertools.pairwise(ODD[:-1])]
    dag = weighted(ODD, [*edges, (ODD[0], ODD[5], 1e20)], noise_variance=3e5, intercept=1e-7)
    return GaussianBayesianNetwork(dag)


def bare(*edges):
    """A network without parameters."""
    return GaussianBayesianNetwork(nx.DiGraph(edges))


@pytest.fixture(params=["learned", "odd"])
def network(request, learner, odd_network):
    return learner.network_ if request.param == "learned" else odd_network


# lavaan


def covariance_of(text, names):
    """Return the covariance matrix that a model string with fixed parameters implies."""
    at = {name: i for i, name in enumerate(names)}
    weights, noise = np.zeros((2, len(at), len(at)))
    for line in text.splitlines():
        left, operator, right = re.fullmatch(r"(\w+) (~~?) (.*)", line).groups()
        for term in right.split(" + "):
            number, name = term.split("*")
            if operator == "~":
                weights[at[name], at[left]] = float(number)
            else:
                noise[at[name], at[left]] = noise[at[left], at[name]] = float(number)
    total = np.linalg.inv(np.eye(len(at)) - weights)
    return total.T @ noise @ total


def test_a_model_string_with_fixed_parameters_implies_the_covariances(network):
    implied = covariance_of(to_lavaan(network, fixed=True), skbn.io.legal_names(network).values())
    assert_allclose(implied, network.covariance_, rtol=1e-9)


def test_a_model_string_leaves_no_covariance_to_the_program(odd_network):
    legal = " ".join(skbn.io.legal_names(odd_network).values())
    assert legal == "a__q__b c_d x___ x7 x7_5 if__2 if_ x_1_2 x_1_3 x_1 x_x_____y"
    lines = to_lavaan(odd_network).splitlines()
    assert lines[-2:] == ["a__q__b ~~ 0*x_x_____y", "x_1 ~~ 0*x_x_____y"]
    assert "if__2 ~ a__q__b + x7_5" in lines


def test_exogenous_nodes_may_depend_on_each_other():
    dag = nx.DiGraph(["ac", "bc", "dc"])
    dag.add_nodes_from("ab", exogenous=True)
    lines = to_lavaan(GaussianBayesianNetwork(dag)).splitlines()
    assert lines[-3:] == ["a ~~ b", "a ~~ 0*d", "b ~~ 0*d"]


# dagitty


def read_dagitty(text):
    """Return the kind of a graph, the options of its nodes, and the options of its edges."""
    string = r'"((?:[^"\\]|\\.)*)"'
    nodes, edges = {}, {}
    kind, *lines, end = text.splitlines()
    assert end == "}"
    pattern = rf"  {string}(?: (->|--) {string})?(?: \[(.*)\])?"
    for line in lines:
        first, link, second, options = re.fullmatch(pattern, line).groups()
        first, second = (each and each.replace(r"\"", '"') for each in (first, second))
        if link:
            edges[first, second] = link, options
        else:
            nodes[first] = options
    return kind, nodes, edges


def test_dagitty_has_the_graph_and_the_layout(network):
    pos = {node: (i / 8, -i) for i, node in enumerate(network.nodes)}
    kind, nodes, edges = read_dagitty(to_dagitty(network, pos=pos))
    assert kind == "dag {"
    assert list(nodes) == [str(node) for node in network.nodes]
    expected = [f'pos="{i / 8:.3f},{i:.3f}"' for i in range(len(nodes))]
    assert list(nodes.values()) == expected
    assert set(edges) == {(str(a), str(b)) for a, b in network.dag.edges}


def test_dagitty_has_standardised_weights_and_roles(learner):
    network = learner.network_
    text = to_dagitty(network, exposure="hue", outcome=["proline", "flavanoids"])
    _, nodes, edges = read_dagitty(text)
    assert nodes["hue"].startswith("exposure, pos=")
    assert {v for v, options in nodes.items() if "outcome" in options} == {"proline", "flavanoids"}
    table = network.to_frame()
    for a, b, weight in table[["parent", "child", "standardised_weight"]].values.tolist():
        assert edges[a, b] == ("->", f'beta="{weight:.4g}"')
    places = [options.split('pos="')[1] for options in nodes.values()]
    assert len({*places}) == len(places)


@pytest.mark.parametrize("kind", [set, tuple, np.array, pd.Index])
def test_dagitty_takes_nodes_in_any_list(kind):
    assert to_dagitty(bare("ab"), exposure=kind([])) == to_dagitty(bare("ab"))
    assert to_dagitty(bare("ab"), exposure=kind(["a"])) == to_dagitty(bare("ab"), exposure="a")


def test_dagitty_knows_classes(learner):
    network = learner.network_
    kind, _, edges = read_dagitty(to_dagitty(network, cpdag=True))
    assert kind == "pdag {"
    undirected = {e for e, data in network.cpdag().edges.items() if data.get("undirected")}
    assert undirected
    assert {edge for edge, (link, _) in edges.items() if link == "--"} == undirected


def test_dagitty_refuses_other_nodes():
    for settings, message in [
        ({"exposure": "x"}, "exposure must name nodes; 'x' is not one of"),
        ({"outcome": ["b", "x"]}, "outcome must name nodes; 'x' is not one"),
        ({"pos": {"a": (0, 0)}}, "pos has no place for the node 'b'"),
        ({"pos": {"a": (0, 0), "b": (0, 0), "c": (0, 0)}}, "pos must name nodes; 'c' is not one"),
    ]:
        raises(message, to_dagitty, bare("ab"), **settings)


@pytest.mark.parametrize("name", ["", "a\\", "a\nb"])
def test_dagitty_refuses_names_that_it_cannot_read(name):
    raises("Rename it", to_dagitty, bare(("a", name)))


# GraphML and GML


def in_camel_case(name):
    return re.sub("_(.)", lambda letter: letter[1].upper(), name)


@pytest.mark.parametrize("kind", ["graphml", "gml"])
def test_graph_files_have_all_figures(network, kind, tmp_path):
    write, read = (to_gml, nx.read_gml) if kind == "gml" else (to_graphml, nx.read_graphml)
    label = {"destringizer": None} if kind == "gml" else {}
    assert write(network, tmp_path / "file") is None
    assert (tmp_path / "file").read_text(encoding="utf-8") == write(network) + "\n"
    graph = read(tmp_path / "file", **label)
    renamed = in_camel_case if kind == "gml" else str
    assert list(graph) == [str(node) for node in network.nodes]
    table, names = network.to_frame(), {str(node): node for node in network.nodes}
    assert graph.number_of_edges() == len(table)
    for _, row in table.iterrows():
        found = graph.edges[str(row["parent"]), str(row["child"])]
        expected = {renamed(k): v for k, v in row.items() if k not in ("parent", "child")}
        assert found == {k: v for k, v in expected.items() if np.isfinite(v)}
    for name, data in graph.nodes(data=True):
        node = names[name]
        own = network.dag.nodes[node]
        assert data["intercept"] == own["intercept"]
        assert data[renamed("noise_variance")] == own["noise_variance"]
        assert (data["mean"], data["std"]) == pytest.approx([*network[node]])


def test_large_networks_have_no_places():
    path = GaussianBayesianNetwork(nx.path_graph(300, nx.DiGraph))
    assert {*nx.parse_graphml(to_graphml(path)).nodes["7"]} == {"label"}
    assert "graphics" not in to_gml(path)
    assert "pos=" not in to_dagitty(path)
    placed = nx.parse_graphml(to_graphml(path, positions=True)).nodes["7"]
    assert {*placed} == {"label", "x", "y"}
    assert "graphics" in to_gml(bare("ab"))
    assert {*nx.parse_graphml(to_graphml(bare("ab"), positions=False)).nodes["a"]} == {"label"}


def test_graph_files_of_a_posterior_have_probabilities(wine):
    posterior = GaussianBNPosterior().fit(StandardScaler().fit_transform(wine.iloc[:, 8:]))
    graph = nx.parse_graphml(to_graphml(posterior.median_network_))
    of_columns = nx.relabel_nodes(posterior.dag_, str)
    expected = nx.get_edge_attributes(of_columns, "probability")
    assert nx.get_edge_attributes(graph, "probability") == expected


@pytest.fixture(scope="module")
def mixed_network(wine):
    table = wine.iloc[:, :3].assign(kind=np.where(wine["hue"] > 1, "red", "white"))
    return GaussianBNLearner(nodes="auto").fit(table).network_


@pytest.fixture(scope="module")
def given_alcohol(wine):
    return GaussianBNLearner(exogenous=["alcohol"]).fit(wine.iloc[:, :3]).network_


def test_graph_files_of_networks_without_a_joint_distribution(mixed_network, given_alcohol):
    graph = nx.parse_gml(to_gml(mixed_network))
    assert set(graph.edges) == set(mixed_network.dag.edges)
    graphs = nx.parse_graphml(to_graphml(given_alcohol)), given_alcohol.dag
    found, expected = (nx.get_edge_attributes(graph, "weight") for graph in graphs)
    assert found == expected
    assert nx.parse_graphml(to_graphml(bare("ab"))).edges["a", "b"] == {"reversible": True}


# bnlearn


def test_bnlearn_gets_all_parameters(learner):
    network = learner.network_
    call, *rows, end = to_bnlearn(network).splitlines()
    start = r"bnlearn::custom.fit\(bnlearn::model2network\((.*)\), list\("
    graph = json.loads(re.fullmatch(start, call)[1])
    assert set(skbn.io.from_modelstring(graph).dag.edges) == set(network.dag.edges)
    assert end == "))"
    pattern = r'  "(.*?)" = list\(coef = c\((.*)\), sd = (.*)\),?'
    for node, row in zip(network.nodes, rows, strict=True):
        name, terms, sd = re.fullmatch(pattern, row).groups()
        coefficients = dict(re.findall(r'"(.*?)" = ([^,]*)', terms))
        own = network.dag.pred[node]
        expected = {"(Intercept)": network.dag.nodes[node]["intercept"]}
        expected |= {parent: edge["weight"] for parent, edge in own.items()}
        assert name == node
        assert {k: float(v) for k, v in coefficients.items()} == expected
        assert float(sd) ** 2 == pytest.approx(network.dag.nodes[node]["noise_variance"])


# scikit-learn


def test_a_regressor_predicts_as_the_network_does(learner, wine):
    network, table = learner.network_, wine.iloc[:, 5:]
    for target in network.nodes:
        others = table.drop(columns=target)
        regressor = make_pipeline(FunctionTransformer(), skbn.io.to_regressor(network, target))
        expected = np.asarray(network.predict(others, target=target)).ravel()
        assert_allclose(regressor.predict(others), expected, rtol=1e-9)
        used = regressor[-1].feature_names_in_[regressor[-1].coef_ != 0]
        assert set(used) == set(network.markov_blanket(target))
    alone = GaussianBayesianNetwork(weighted("a"))
    raises("target must name nodes; 'b' is not one", skbn.io.to_regressor, alone, "b")
    raises("'a' is the only node", skbn.io.to_regressor, alone, "a")


# What all refuse


@pytest.mark.parametrize("export", [to_bnlearn, to_dagitty, to_gml, to_graphml, to_lavaan])
def test_only_networks_are_written(export, learner):
    message = "such as network_ of a fitted learner; got GaussianBNLearner"
    raises(message, export, learner, kind=TypeError)


def test_nodes_that_have_no_single_distribution(learner, mixed_network, given_alcohol):
    advice = r"Use skbn.io.to_lavaan\(network.columns_\)"
    raises(advice, to_lavaan, mixed_network, kind=TypeError)
    assert "kind_white ~~ kind_white" in to_lavaan(mixed_network.columns_).splitlines()
    held = learner.network_.do({"hue": 1.0})
    raises("the noise variance of 'hue' is 0", to_bnlearn, held)
    raises("'alcohol' is exogenous", to_bnlearn, given_alcohol)


def test_two_nodes_of_the_same_text():
    for export in [
        to_bnlearn,
        to_dagitty,
        skbn.io.to_dot,
        to_gml,
        to_graphml,
        skbn.io.to_modelstring,
    ]:
        dag = weighted([1, "1"], [(1, "1", 2.0)])
        raises("same text", export, GaussianBayesianNetwork(dag))


@pytest.mark.parametrize("name", ["a\x01", "\x00", "\r", "\ud800", "\uffff", "\x1f"])
def test_names_that_are_no_xml(name):
    raises("no way to write the control characters", to_graphml, bare((name, "b")))
    assert name in nx.parse_gml(to_gml(bare((name, "b"))))


@pytest.mark.parametrize("name", ["", " a ", "a\tb", "a\nb", "\x7f\x85", "<&>'\"", "\U0001f600"])
def test_odd_names_that_are_xml(name):
    assert [*nx.parse_graphml(to_graphml(bare((name, "b"))))] == [name, "b"]


def test_tables_are_written_for_papers():
    frame = pd.DataFrame({"a_b": [0.12345, np.nan], "path": [["x", "y"], ["x|y&50%"]]})
    lines = to_markdown(frame).splitlines()
    assert lines == ["| a_b | path |", "| --- | --- |", "| 0.123 | x -> y |", r"|  | x\|y&50% |"]
    latex = to_latex(frame, digits=2).splitlines()
    assert latex[0] == r"\begin{tabular}{ll}"
    assert latex[2:6] == [r"a\_b & path \\", r"\hline", r"0.12 & x -> y \\", r" & x|y\&50\% \\"]
    assert to_markdown({"a": [1]}) == to_markdown(pd.DataFrame({"a": [1]}))
    assert to_markdown(pd.DataFrame({"a": [1]}, index=["u"])).endswith("| u | 1 |")
    message = "table must be a data frame or have to_frame; got list"
    raises(message, to_latex, [[1.0]], kind=TypeError)
    raises("digits must be", to_latex, frame, digits=0)


def test_networks_are_written_by_their_edges(learner):
    network = learner.network_
    assert to_latex(network) == to_latex(network.to_frame())
    assert len(to_markdown(network).splitlines()) == network.dag.number_of_edges() + 2
