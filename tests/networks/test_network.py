"""A network as a distribution: against closed forms of the joint normal, with plain inverses."""

import pickle
import sys
from copy import copy
from decimal import Decimal
from fractions import Fraction
from itertools import permutations

import hypothesis
import hypothesis.strategies as st
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
import reference
from agreement import raises
from drawn import graph_of, weighted
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.validation import check_is_fitted

from skbn import GaussianBayesianNetwork, GaussianBNLearner, LocalScoreTransformer
from skbn._networks.gaussian import LinearGaussianModel


@st.composite
def networks(draw, smallest=1):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    graph = reference.random_graph(rng, draw(st.integers(smallest, 7)), draw(st.floats(0, 1)))
    return GaussianBayesianNetwork(graph)


def closed_form(network):
    """Joint mean and covariance by a plain inverse, from the graph's attributes alone."""
    dag = network.dag
    effects = np.linalg.inv(np.eye(len(dag)) - nx.to_numpy_array(dag))
    intercept = np.array([dag.nodes[node]["intercept"] for node in dag])
    noise = np.diag([dag.nodes[node]["noise_variance"] for node in dag])
    return intercept @ effects, effects.T @ noise @ effects


def uniform(edges, weight=1.0, **parameters):
    """A network with the same parameters everywhere."""
    dag = weighted(nx.DiGraph(edges), [(*edge, weight) for edge in edges], **parameters)
    return GaussianBayesianNetwork(dag)


def chain():
    """a -> b -> c, each the one before plus noise of variance 1."""
    return uniform([("a", "b"), ("b", "c")])


@pytest.fixture
def wine_dag():
    return nx.DiGraph([("proline", "ash"), ("alcohol", "proline"), ("hue", "proline")])


@pytest.fixture
def wine_network(wine, wine_dag):
    return GaussianBayesianNetwork(wine_dag).fit(wine)


# Parameters


def of_parameters(dag):
    """Return a graph without the standardised weights, which follow from the parameters."""
    for *_, data in dag.edges(data=True):
        data.pop("standardised_weight", None)
    return dag


@hypothesis.given(networks(), st.integers(0, 2**32 - 1))
def test_a_graphs_parameters_make_the_joint_normal(network, seed):
    dag, (mean, covariance) = network.dag, closed_form(network)
    assert_array_equal(network.coef_, nx.to_numpy_array(dag))
    for name in ("intercept", "noise_variance"):
        expected = [dag.nodes[node][name] for node in dag]
        assert_array_equal(getattr(network, f"{name}_"), expected)
    assert nx.utils.graphs_equal(*map(of_parameters, (network.dag, dag)))
    assert network.nodes == list(network.dag) == list(dag)
    assert_allclose(network.mean_, mean, rtol=1e-9, atol=1e-9)
    assert_allclose(network.covariance_, covariance, rtol=1e-9, atol=1e-9)
    rows = np.random.default_rng(seed).normal(size=(20, len(mean))) * 3
    expected = np.atleast_1d(multivariate_normal(mean, covariance).logpdf(rows))
    assert_allclose(network.score_samples(rows), expected, rtol=1e-7, atol=1e-7)
    assert network.score(rows) == pytest.approx(expected.mean())


def test_hard_units_overflow_nothing():
    units = np.array([1e-150, 1e150, 1e-150, 1.0])
    dag = weighted([], [(0, 1, 1e300), (1, 2, 1e-300), (2, 3, 1e150)])
    for v, unit in enumerate(units):
        dag.add_node(v, intercept=unit, noise_variance=unit**2)
    network = GaussianBayesianNetwork(dag)
    steps = np.minimum.outer(range(1, 5), range(1, 5))  # a random walk's covariance
    assert_allclose(network.mean_ / units, [1, 2, 3, 4])
    assert_allclose(network.covariance_ / units / units[:, np.newaxis], steps)
    assert_allclose(network.condition({1: 5e150}).mean / units[[0, 2, 3]], [2.5, 6, 7])


def test_conditional_distributions_of_hard_units():
    """Whose factor's entries have squares out of float64's range, but not the results."""
    steep = uniform([(0, 1)], weight=1e160)
    assert steep.condition({0: 1.0})[1] == (1e160, 1.0)
    assert steep.condition({1: 1e160})[0] == (pytest.approx(1.0), pytest.approx(0, abs=1e-150))
    assert steep.predict([[1e160]], given=1) == pytest.approx(1.0)
    tiny = uniform([(0, 1)], noise_variance=1e-322)
    assert tiny.condition({0: 1.0}).mean == pytest.approx([1.0])
    assert tiny.condition({1: 1.0}).mean == pytest.approx([0.5])
    dag = uniform([(0, 1)], weight=0.0).dag
    dag.nodes[0]["noise_variance"] = 1e-40  # and beside it a node of variance 1
    dag.add_node(2, intercept=0.0, noise_variance=1.0)
    dag.add_edge(0, 2, weight=1e20)
    apart = GaussianBayesianNetwork(dag)
    assert apart.condition({1: 1.0, 0: 1e-20}).mean == pytest.approx([1.0])


def test_what_is_out_of_range_is_refused():
    path = [(0, 1), (1, 2), (2, 3)]
    moderate = uniform(path, 1e60)
    assert np.isfinite(moderate.sample()).all()
    steep = uniform([("a", "b")], weight=10.0)
    far = uniform([("a", "b")], intercept=-1e308, weight=0.0)
    vast = weighted("abcd", [("a", "b", 1e200), ("a", "c", 1e200), ("d", "a", 1.0)])
    for node, ask in [
        (2, lambda: uniform(path, 1e200, intercept=1.0).mean_),
        (2, uniform(path, 1e200).sample),
        (3, lambda: moderate.covariance_),
        ("'b'", lambda: steep.condition({"a": 1e308})),
        ("'b'", lambda: steep.predict([[1.0], [1e308]], given="a")),
        ("'b'", lambda: far.condition({"a": 1e308})),  # whose difference from the mean overflows
        ("'b'", lambda: GaussianBayesianNetwork(vast).condition({"d": 1.0})),  # the variance
    ]:
        raises(f"node {node} is out of float64's range", ask)
    dag = chain().dag
    dag.nodes["a"]["intercept"] = -1e308
    rows = [[1e300, 0, 0], [0, 1e308, -1e308], [1.7e308, 0, 0]]
    assert (GaussianBayesianNetwork(dag).score_samples(rows) == -np.inf).all()


def test_bad_attributes_are_named():
    for change, message in [
        (lambda dag: dag.nodes["b"].pop("intercept"), "node 'b' has no attribute intercept"),
        (lambda dag: dag.nodes["a"].pop("noise_variance"), "node 'a' has no .* noise_variance"),
        (lambda dag: dag.edges["b", "c"].pop("weight"), "edge 'b' -> 'c' has no .* weight"),
        (lambda dag: dag.add_node("a", intercept=np.nan), "intercept of node 'a' .* got nan"),
        (lambda dag: dag.add_node("a", intercept="1"), "intercept of node 'a' .* got '1'"),
        (lambda dag: dag.add_node("a", intercept=10**400), "intercept of node 'a'"),
        (lambda dag: dag.add_node("b", noise_variance=np.inf), "noise_variance of .* got inf"),
        (lambda dag: dag.add_node("b", noise_variance=-1), "'b' must not be negative; got -1"),
        (lambda dag: dag.add_edge("a", "b", weight=None), "weight of edge 'a' -> 'b' .* got None"),
    ]:
        dag = chain().dag
        change(dag)
        raises(message, GaussianBayesianNetwork, dag)


def test_bad_graphs_are_named():
    network = chain()
    for dag, error, message in [
        (None, TypeError, "dag must be a networkx.DiGraph; got NoneType"),
        (nx.Graph([(0, 1)]), TypeError, "got Graph"),
        (nx.MultiDiGraph([(0, 1)]), TypeError, "got MultiDiGraph"),
        (nx.DiGraph(), ValueError, "at least one node"),
        (nx.DiGraph([(0, 1), (1, 2), (2, 1)]), ValueError, r"acyclic; it has the cycle \[1, 2\]"),
    ]:
        raises(message, GaussianBayesianNetwork, dag, kind=error)
        raises(message, network.set_params, dag=dag, kind=error)
    assert network.nodes == ["a", "b", "c"]


@pytest.mark.parametrize("order", list(permutations(range(3))))
@pytest.mark.parametrize("exogenous", [[], [2]])
def test_numbers_from_0_name_the_columns_of_arrays(order, exogenous):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 3))
    rows[:, 0] += 2 * rows[:, 2] + 1
    holes = np.where(rng.random(rows.shape) < 0.2, np.nan, rows)
    holes[:, exogenous] = rows[:, exogenous]
    is_set = np.zeros(rows.shape, dtype=bool)
    is_set[:9, 0], is_set[9:15, 1] = True, True
    weight = rng.random(40)
    graphs = [graph_of(nodes, [(2, 0), (0, 1)]) for nodes in (range(3), order)]
    for graph in graphs:
        graph.add_nodes_from(exogenous, exogenous=True)
    named = GaussianBayesianNetwork(nx.relabel_nodes(graphs[0], dict(enumerate("xyz"))))
    numbered = GaussianBayesianNetwork(graphs[1])

    def answers(network, of, name):
        x, z = name(0), name(2)
        yield network.fit(of(holes)).coef_
        yield network.fit(of(rows), interventions=is_set).coef_
        yield network.fit(of(rows), sample_weight=weight).coef_
        yield network.fit(of(rows), interventions=[x, (z, x), *[None] * 38]).intercept_
        yield network.fit(of(rows)).fit_indices().chi2
        if not exogenous:
            yield from (network.mean_, network.covariance_, network.sample(3, random_state=0))
        for ask in (network.score, network.score_samples, network.residuals):
            yield ask(of(rows))
        yield from (network.impute(of(holes)), network.predict(of(rows), x))
        yield from (network.predict(of(rows), x, given=z), network.counterfactual(of(rows), {z: 1}))
        yield network.to_frame(scores=of(rows)).drop(columns=["parent", "child"])
        others = GaussianBayesianNetwork(network.dag), pickle.loads(pickle.dumps(network))
        for same in (*others, GaussianBayesianNetwork.from_json(network.to_json())):
            yield same.score(of(rows))

    def numbers(answer):
        is_table = isinstance(answer, pd.DataFrame)  # whose columns are in the table's order
        return np.asarray(answer[sorted(answer)] if is_table else answer, float)

    expected = [*answers(named, lambda X: pd.DataFrame(X, columns=[*"xyz"]), "xyz".__getitem__)]
    for of in (lambda X: X, pd.DataFrame, lambda X: pd.DataFrame(X)[[*order]]):
        for ours, theirs in zip(answers(numbered, of, int), expected, strict=True):
            assert_allclose(numbers(ours), numbers(theirs), rtol=1e-8)
    assert numbered.nodes == list(numbered.dag) == [0, 1, 2]


# Estimates


def test_fit_is_least_squares_on_the_parents(wine, wine_dag, wine_network):
    network = wine_network
    nodes, residuals = network.nodes, network.residuals(wine)
    rows = wine[nodes].to_numpy()
    for child, node in enumerate(nodes):
        parents = [nodes.index(parent) for parent in wine_dag.predecessors(node)]
        intercept, coefficients, rss = reference.regression(rows, child, parents)
        assert network.intercept_[child] == pytest.approx(intercept, rel=1e-9)
        assert_allclose(network.coef_[parents, child], coefficients, rtol=1e-9)
        assert np.count_nonzero(network.coef_[:, child]) == len(parents)
        assert network.noise_variance_[child] == pytest.approx(rss / len(rows), rel=1e-9)
        left = rows[:, child] - intercept - rows[:, parents] @ coefficients
        assert_allclose(residuals[node], left, atol=1e-9 * rows[:, child].std())
    assert_allclose(network.mean_, rows.mean(axis=0), rtol=1e-12)
    assert_allclose((residuals**2).mean(), network.noise_variance_)
    for name in ("coef_", "intercept_", "noise_variance_", "mean_", "covariance_"):
        before = getattr(network, name).copy()
        getattr(network, name)[...] = 0  # of a copy
        assert_array_equal(getattr(network, name), before)


def test_fit_replaces_what_the_graph_carries_and_leaves_the_graph(wine):
    dag = chain().dag
    rows = wine.to_numpy()[:, :3]
    network = GaussianBayesianNetwork(dag).fit(rows)
    bare = GaussianBayesianNetwork(nx.DiGraph(dag.edges)).fit(rows)
    assert_array_equal(network.coef_, bare.coef_)
    assert nx.utils.graphs_equal(dag, chain().dag)
    assert network.dag.edges["a", "b"]["weight"] == network.coef_[0, 1] != 1.0


def test_an_edge_of_weight_0_remains_an_edge():
    coef, zeros = np.zeros((2, 2)), np.zeros(2)
    model = LinearGaussianModel(["a", "b"], [0, 1], coef, zeros, zeros, np.ones(2), [0, 0])
    assert list(GaussianBayesianNetwork._from_model(model).dag.edges) == [("a", "b")]


def test_tables_that_do_not_determine_the_parameters_are_refused():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(5, 9))  # fewer rows than columns suffice for few parents
    network = GaussianBayesianNetwork(nx.path_graph(9, create_using=nx.DiGraph)).fit(rows)
    expected = [reference.regression(rows, v, [v - 1])[1][0] for v in range(1, 9)]
    assert_allclose(np.diag(network.coef_, 1), expected)
    raises("2 rows, and node 1 with its parents makes 2", network.fit, rows[:2])
    rows = rng.normal(size=(100, 3)) * 1e-150
    rows[:, 1] = rows[:, 0] + 1e-6 * rows[:, 1]
    raises("Column 'b' has noise of a variance below float64's", chain().fit, rows)
    rows[:, 1] = 2 * rows[:, 0]
    raises("'b' is collinear", chain().fit, rows)
    raises("'b' has zero variance", chain().fit, rows * [1, 0, 1])


def test_means_far_from_0_lose_no_digits(wine, wine_dag):
    """Binary fractions, of which a shift by a power of two rounds neither values nor means."""
    rows = np.round(wine[list(wine_dag)] * 64).to_numpy()[:128] / 32
    far = rows + 2.0**40
    near, shifted = (GaussianBayesianNetwork(wine_dag).fit(some) for some in (rows, far))
    assert_allclose(shifted.score_samples(far), near.score_samples(rows), rtol=1e-11)
    assert_allclose(shifted.covariance_, near.covariance_, rtol=1e-10)
    prediction = shifted.predict(far, target="proline") - 2.0**40
    assert_allclose(prediction, near.predict(rows, target="proline"), atol=1e-3)
    for node, value in (("hue", 3), ("proline", 2000)):
        held = shifted.do({node: 2.0**40 + value}).mean_ - 2.0**40
        assert_allclose(held, near.do({node: value}).mean_, atol=1e-3)


# Tables


def test_columns_with_names_are_matched_to_the_nodes(wine, wine_dag, wine_network):
    rows = wine[[*wine_dag]].to_numpy()
    expected = wine_network.score_samples(rows)
    assert_array_equal(GaussianBayesianNetwork(wine_dag).fit(rows).coef_, wine_network.coef_)
    scores, unnamed = (LocalScoreTransformer().fit_transform(X) for X in (wine, rows))
    shuffled = wine[wine.columns[::-1]].assign(vintage="unknown")
    for table in (shuffled, pl.from_pandas(shuffled), scores, unnamed, rows.tolist()):
        assert_array_equal(wine_network.score_samples(table), expected)
    prediction = wine_network.predict(rows, target="ash")
    assert_array_equal(wine_network.predict(scores, target="ash"), prediction)


def test_positions_that_are_other_nodes_names_are_refused():
    """The table of a sample has the nodes in their order; another may have them by number."""
    rows = np.random.default_rng(0).normal(size=(20, 3))
    network = GaussianBayesianNetwork(nx.DiGraph([(1, 2), (2, 3)])).fit(rows)
    message = r"labelled \[0, 1, 2\], .* stand for the nodes \[.*X\.to_numpy\(\)"
    for use in (network.fit, network.score_samples, network.score, network.predict):
        raises(message, use, pd.DataFrame(rows), **{"target": 2} if use == network.predict else {})
    scores = LocalScoreTransformer().fit_transform(rows)  # which have no more names than an array
    for table in (scores, pd.DataFrame(rows, columns=[1, 2, 3])):
        assert_array_equal(network.score_samples(table), network.score_samples(rows))


def test_bad_tables_are_named():
    for X, error, message in [
        (pd.DataFrame({"a": [1.0], "d": [1.0]}), ValueError, r"X has no columns \['b', 'c'\]"),
        (pd.DataFrame(np.zeros((2, 2))), ValueError, r"shape \(n, 3\), .*must be strings"),
        (pd.DataFrame(np.zeros((2, 4)), columns=list("abca")), ValueError, r"\['a'\] are given"),
        (pd.DataFrame({"a": [1.0], "b": ["x"], "c": [1.0]}), ValueError, "'b' holds 'x' in row 0"),
        (np.zeros((2, 2)), ValueError, r"shape \(n, 3\), .*\['a', 'b', 'c'\]; .* with 2 columns"),
        ([np.zeros((2, 3)), np.zeros((2, 2))], ValueError, "different lengths"),
        ([[1, 2, "x"]], ValueError, "'c' holds 'x'"),
        ([[1, np.inf, 2]], ValueError, r"infinite values in 1 .*\('b'\).* row 0"),
        (np.zeros((0, 3)), ValueError, "0 sample"),
        ([pd.Series([1.0, 2, 3], index=list("cba"))] * 2, TypeError, r"Series.*DataFrame\(X\)"),
        ([*pd.DataFrame({"c": [1], "b": [2]}).itertuples()], TypeError, r"of Pandas, .*Frame\(X\)"),
    ]:
        for use in (chain().score_samples, chain().fit, chain().score):
            raises(message, use, X, kind=error)


# Samples


def test_samples_have_the_moments_of_the_joint_normal():
    rng = np.random.default_rng(1)
    network, n = GaussianBayesianNetwork(reference.random_graph(rng, 6)), 100_000
    rows = network.sample(n, random_state=0)
    mean, covariance = closed_form(network)
    variance = np.diag(covariance)
    assert rows.shape == (n, 6)
    assert (np.abs(rows.mean(axis=0) - mean) < 4 * np.sqrt(variance / n)).all()
    error = np.sqrt((covariance**2 + np.outer(variance, variance)) / n)
    assert (np.abs(np.cov(rows, rowvar=False) - covariance) < 4 * error).all()


def test_samples_come_in_the_container_that_is_asked_for(monkeypatch):
    network = chain()
    rows = network.sample(4, random_state=0)
    assert type(rows) is np.ndarray
    with config_context(transform_output="pandas"):
        frame = network.sample(4, random_state=0)
        assert type(network.set_output(transform="default").sample()) is np.ndarray
    pd.testing.assert_frame_equal(frame, pd.DataFrame(rows, columns=list("abc")))
    network.set_output(transform="polars").set_output()  # None leaves the setting
    frame = network.sample(4, random_state=0)
    assert frame.equals(pl.DataFrame(rows, schema=list("abc"), orient="row"))
    for kept in (clone(network), copy(network), pickle.loads(pickle.dumps(network))):
        assert isinstance(kept.sample(), pl.DataFrame)
    held = network.do({"b": 2.0}).sample(4, random_state=0)
    assert held["b"].to_list() == [2.0] * 4
    assert network.fit(frame).score(frame) == pytest.approx(chain().fit(rows).score(rows))
    raises(r"'polars'\} or None. Got 'arrow'", network.set_output, transform="arrow")
    for n_samples in (0, -1, 1.5, "2"):
        raises("n_samples", network.sample, n_samples, kind=(TypeError, ValueError))
    nameless = uniform([(0, 1)]).set_output(transform="pandas")
    assert type(nameless.sample()) is np.ndarray
    monkeypatch.setitem(sys.modules, "polars", None)
    raises("pip install polars", chain().set_output(transform="polars").sample, kind=ImportError)


# Conditional distributions


@hypothesis.given(networks(smallest=2), st.data())
def test_conditional_distribution_is_the_schur_complement(network, data):
    m = len(network.nodes)
    given = data.draw(st.lists(st.integers(0, m - 1), unique=True, min_size=1, max_size=m - 1))
    values = np.array(data.draw(st.lists(st.floats(-5, 5), min_size=m, max_size=m)))[: len(given)]
    evidence = {network.nodes[v]: float(x) for v, x in zip(given, values, strict=True)}
    seen = network.condition(evidence)
    mean, covariance = reference.conditional(*closed_form(network), given, values)
    assert seen.nodes == [node for node in network.nodes if node not in evidence]
    assert_allclose(seen.mean, mean, rtol=1e-6, atol=1e-6)
    assert_allclose(seen.covariance, covariance, rtol=1e-6, atol=1e-6)


def test_without_evidence_the_joint_distribution_remains_and_with_all_nothing():
    network = chain()
    joint, nothing = network.condition({}), network.condition(dict.fromkeys("abc", 1))
    assert (joint.nodes, nothing.nodes) == (["a", "b", "c"], [])
    assert_array_equal(joint.mean, network.mean_)
    assert_allclose(joint.covariance, network.covariance_)
    assert_allclose(joint.standard_deviation**2, np.diag(network.covariance_))
    assert (nothing.mean.shape, nothing.covariance.shape) == ((0,), (0, 0))


def test_conditioning_on_columns_that_nearly_agree_keeps_digits():
    """Two measurements of one quantity: their covariance cannot be inverted in float64."""
    noise = 2.0**-60
    dag = uniform([("x", "first"), ("x", "second")], noise_variance=noise).dag
    dag.nodes["x"]["noise_variance"] = 1
    network = GaussianBayesianNetwork(dag)
    covariance = network.covariance_[1:, 1:]
    assert np.linalg.matrix_rank(covariance) == 1
    distribution = network.condition({"first": 1.0, "second": 1.0 + 2.0**-20})
    assert distribution.mean[0] == pytest.approx(1.0 + 2.0**-21, abs=1e-12)
    assert distribution.covariance[0, 0] == pytest.approx(noise / 2, rel=1e-5)
    for node in ("first", "second"):
        dag.nodes[node]["noise_variance"] = 2.0**-80
    mean = GaussianBayesianNetwork(dag).condition({"first": 1.0, "second": 1.0}).mean
    assert mean == pytest.approx([1.0], abs=1e-3)


def test_bad_evidence_is_named():
    for evidence, error, message in [
        ({"z": 1.0}, ValueError, r"evidence must name nodes; 'z' is not one of \['a', 'b', 'c'\]"),
        ({"a": np.inf}, ValueError, "value of node 'a' in evidence .* got inf"),
        ({"a": -np.inf}, ValueError, "got -inf"),
        ({"a": "1"}, ValueError, "got '1'"),
        ({"a": [1.0, np.nan]}, ValueError, "node 'a' in evidence, entry 1, .* got nan"),
        ({"a": [[1.0]]}, ValueError, r"got \[1.0\]"),
        ({"a": [1.0, 2.0], "b": [0.0]}, ValueError, r"lengths of \{'a': 2, 'b': 1\}.* single"),
        ({"a": []}, ValueError, "not be empty"),
        ({"a": {1.0}}, ValueError, "must be a finite number"),
        ({"a": np.array("1")}, ValueError, "must be a finite number"),
        ([("a", 1.0)], TypeError, "evidence must be a dict or a pandas.Series"),
        (pd.DataFrame({"a": [1.0]}), TypeError, r"got DataFrame\. .* rows: evidence\.iloc\[0\]\.$"),
        ({"a": np.float64(np.inf)}, ValueError, r"got inf\.$"),
        ({"a": np.ones((2, 500))}, ValueError, r"got ndarray of shape \(500,\)\.$"),
        (pd.Series({"a": np.inf}), ValueError, "value of node 'a' in evidence .* got inf"),
        (pd.Series([1, 2], list("aa")), ValueError, "each node once; got 'a' twice"),
        ({"z": np.nan}, ValueError, "evidence must name nodes; 'z' is not one of"),
        (pd.Series([1, 2, np.nan], list("aab")), ValueError, "each node once; got 'a' twice"),
    ]:
        raises(message, chain().condition, evidence, kind=error)
        raises(message.replace("evidence", "interventions"), chain().do, evidence, kind=error)


@pytest.mark.parametrize("hole", [None, np.nan, pd.NA, Decimal("sNaN"), np.ma.masked])
def test_evidence_may_be_missing_but_interventions_have_values(hole):
    assert chain().condition({"a": hole})["b"] == chain().condition({})["b"]
    raises("value of node 'a' in interventions must be a finite", chain().do, {"a": hole})


def test_nodes_that_others_fix_up_to_rounding_cannot_be_given():
    """Three mixtures of two nodes, of which a QR decomposition leaves a little of the third."""
    weights = [0.1, 0.3, 0.7, 0.7, 0.9, 0.3]
    dag = weighted("cdeab", zip("aaabbb", "cdecde", weights, strict=True), noise_variance=0.0)
    dag.add_nodes_from("ab", noise_variance=1.0)
    network = GaussianBayesianNetwork(dag)
    assert_allclose(network.condition({"c": 0.8, "d": 1.2}).mean, [1, 1, 1])
    raises("Node 'e' cannot be given", network.condition, {"c": 0.8, "d": 1.2, "e": 1.0})
    raises("Node 'a' cannot be given", chain().do({"a": 2.0}).condition, {"a": 2.0})


def test_evidence_in_other_forms():
    network, plain = chain(), {"a": 1.0, "c": 2.0}
    numbers = {"a": Decimal(1), "c": Fraction(2)}, {"a": np.array(1), "c": np.float32(2)}
    for evidence in (pd.Series({"c": 2, "a": 1}), *numbers):
        assert network.condition(evidence).mean == network.condition(plain).mean
        assert_array_equal(network.do(evidence).mean_, network.do(plain).mean_)


# Predictions


@hypothesis.given(networks(smallest=3), st.integers(0, 2**32 - 1))
@hypothesis.settings(max_examples=40)
def test_predictions_are_conditional_means_row_by_row(network, seed):
    a, b, *others = network.nodes
    rows = np.random.default_rng(seed).normal(size=(4, len(others)))
    predicted = network.predict(rows, target=[b, a], given=others)
    for row, values in zip(rows, predicted, strict=True):
        mean = network.condition(dict(zip(others, row, strict=True))).mean
        assert_allclose(values, mean[::-1], rtol=1e-9, atol=1e-9)


def test_residuals_of_other_rows_come_in_the_kind_of_the_table():
    dag = chain().dag
    dag.nodes["a"]["intercept"] = dag.nodes["b"]["intercept"] = 1.0
    network = GaussianBayesianNetwork(dag)  # a = 1 + noise, b = a + 1 + noise, c = b + noise
    rows = np.array([[1.0, 2.0, 4.0], [0.0, 3.0, -1.0]])
    frame = pd.DataFrame(rows, index=["r", "s"], columns=list("abc"))
    expected = pd.DataFrame([[0.0, 0.0, 2.0], [-1.0, 2.0, -4.0]], frame.index, frame.columns)
    for table in (rows, pl.DataFrame(rows, list("abc"))):
        assert_allclose(network.residuals(table), expected)
    found = network.residuals(frame[["c", "b", "a"]].assign(other="x"))
    pd.testing.assert_frame_equal(found, expected)
    raises(r"X has no columns \['c'\]", network.residuals, frame[["a", "b"]])
    rows[1, 1], rows[1, 2] = 1.5e308, -1.5e308
    raises("residual of node 'c' in row 1 is out of float64's", network.residuals, rows)


def test_defaults_of_given_and_target():
    network = chain()
    rows = np.array([[1.0, 2.0, 4.0], [0.0, 3.0, -1.0]])
    frame = pd.DataFrame(rows, columns=list("abc"), index=["r", "s"])
    middle = (rows[:, 0] + rows[:, 2]) / 2  # of a random walk, given both neighbours
    assert_allclose(network.predict(rows, target="b"), middle)
    assert_allclose(network.predict(rows, target=["b"]), middle[:, np.newaxis])
    assert_allclose(network.predict(rows[:, ::2], given=["a", "c"])[:, 0], middle)
    assert_allclose(network.predict(rows[:, :1], given="a"), rows[:, [0, 0]])
    assert_allclose(network.predict(pl.DataFrame(rows, list("abc")), "b"), middle)
    expected = pd.Series(middle, index=["r", "s"], name="b")
    pd.testing.assert_series_equal(network.predict(frame, "b"), expected)
    found = network.predict(frame[["c", "a"]].assign(other="x"))
    pd.testing.assert_frame_equal(found, expected.to_frame())
    found = network.predict(frame, target=["c", "b"], given="a")
    pd.testing.assert_frame_equal(found, frame[["a", "a"]].set_axis(["c", "b"], axis=1))
    hidden = np.array([[1.0, None, 4.0], [0.0, "?", -1.0]], dtype=object)
    for table in (hidden, frame.assign(b=np.nan)):
        assert_allclose(network.predict(table, target="b"), middle)


def test_bad_predictions_are_named():
    for X, target, given, message in [
        (np.zeros((2, 3)), None, None, "name a target"),
        (np.zeros((2, 2)), "a", None, r"shape \(n, 3\).* name those that X has in given"),
        (np.zeros((2, 4)), "c", ["a", "b"], r"shape \(n, 2\), .*\['a', 'b'\]; .* 4 columns"),
        (np.zeros((2, 1)), "bc", "a", "target must name nodes; 'bc' is not one"),
        (np.zeros((2, 1)), "c", "z", "given must name nodes; 'z' is not one"),
        (np.zeros((2, 1)), "c", [["a"]], r"given must name nodes; \['a'\] is not one"),
        (np.zeros((2, 2)), "c", ["a", "a"], "given must name nodes, each once"),
        (np.zeros((2, 2)), [], ["a", "b"], r"target must name nodes, each once; got \[\]"),
        (np.zeros((2, 2)), ["b"], ["a", "b"], r"\['b'\] are both in given and in target"),
        (np.zeros((2, 3)), list("abc"), None, "No node is left to predict from"),
        (pd.DataFrame({"z": [1.0]}), None, None, r"No node is left .* columns of X \['z'\]"),
        (pd.DataFrame({"a": [1.0]}), "c", ["b"], r"X has no columns \['b'\]"),
        (pd.DataFrame({"a": [np.inf]}), "c", None, "infinite values .*'a', row 0"),
    ]:
        raises(message, chain().predict, X, target=target, given=given)


def test_names_of_several_letters_and_tuples_are_single_nodes():
    names = {"a": ("a", 1), "b": ("b", 2), "c": "ab"}
    network = GaussianBayesianNetwork(nx.relabel_nodes(chain().dag, names))
    frame = pd.DataFrame({"ab": [4.0]})
    predicted = network.predict(frame)
    assert list(predicted.columns) == [("a", 1), ("b", 2)]
    assert not isinstance(predicted.columns, pd.MultiIndex)
    assert network.predict(frame, target=("b", 2)).shape == (1,)
    assert network.predict(frame, target=(("b", 2),)).shape == (1, 1)
    assert network.predict([[1.0]], given=("a", 1), target="ab").shape == (1,)
    assert network.predict([[1.0]], given="ab").shape == (1, 2)


# Interventions


@hypothesis.given(networks(smallest=2), st.data())
def test_interventions_are_the_truncated_factorisation(network, data):
    """The mutilated joint: no parents and no noise where a node is held."""
    m, dag = len(network.nodes), network.dag
    held = data.draw(st.lists(st.integers(0, m - 1), unique=True, max_size=m))
    values = {network.nodes[v]: data.draw(st.floats(-5, 5)) for v in held}
    after = network.do(values)
    coef, noise = nx.to_numpy_array(dag), network.noise_variance_
    intercept = np.array([values.get(node, dag.nodes[node]["intercept"]) for node in dag])
    coef[:, held] = 0
    noise[held] = 0
    effects = np.linalg.inv(np.eye(m) - coef)
    assert_allclose(after.mean_, intercept @ effects, rtol=1e-9, atol=1e-9)
    expected = effects.T @ np.diag(noise) @ effects
    assert_allclose(after.covariance_, expected, rtol=1e-9, atol=1e-9)
    kept = {(a, b) for a, b in dag.edges if b not in values}
    assert set(after.dag.edges) == kept
    assert nx.utils.graphs_equal(network.dag, dag)
    again = GaussianBayesianNetwork(after.dag)
    assert nx.utils.graphs_equal(*map(of_parameters, (again.dag, after.dag)))
    assert_allclose(again.mean_, after.mean_, rtol=1e-9, atol=1e-9)


def test_networks_after_an_intervention_can_be_used():
    after = chain().do({"b": 3.0})
    rows = after.sample(5, random_state=0)
    assert (rows[:, 1] == 3.0).all()
    assert np.ptp(rows[:, 0]) > 0
    seen = after.condition({"c": 5.0})
    assert seen.nodes == ["a", "b"]
    assert_allclose(seen.mean, [0.0, 3.0])
    assert_allclose(seen.covariance, [[1, 0], [0, 0]])
    assert_allclose(after.do({"b": 4.0, "a": 1.0}).mean_, [1, 4, 4])
    assert_allclose(clone(after).mean_, after.mean_)
    raises("Node 'b' has no noise", after.score_samples, rows)
    rows = np.random.default_rng(0).normal(size=(20, 3))
    assert np.isfinite(after.fit(rows).score_samples(rows)).all()
    far = uniform([("a", "b")], intercept=1e20)
    for node in "ab":
        assert far.do({node: 0.3})[node].mean == 0.3  # to the last bit


def test_held_nodes_are_no_predictors_by_default():
    after = chain().do({"a": 5.0})
    frame = pd.DataFrame([[5.0, 2.0, 4.0]], columns=list("abc"))
    expected = after.condition({"c": 4.0}).mean[1]
    assert after.predict(frame, target="b").iloc[0] == pytest.approx(expected)
    assert after.predict(frame.to_numpy(), target="b") == pytest.approx(expected)
    predicted = after.predict(frame[["a", "c"]])
    assert list(predicted.columns) == ["a", "b"]
    assert_allclose(predicted, [[5.0, expected]])
    dag = after.do({"b": 1.0}).dag
    dag.nodes["c"]["noise_variance"] = 0.0  # and so has no variance either
    after = GaussianBayesianNetwork(dag)
    raises(r"nodes with a variance are \[\]", after.predict, frame, target="b")


# scikit-learn's conventions


@pytest.mark.parametrize(
    "change",
    [
        lambda dag: dag.add_edge("hue", "ash"),
        lambda dag: dag.remove_edge("proline", "ash"),
        lambda dag: dag.add_node("magnesium"),
        lambda dag: dag.edges["proline", "ash"].update(weight=0.5, fixed=True),
        lambda dag: dag.clear(),
    ],
)
def test_changes_of_a_graph_do_not_reach_networks(wine, wine_dag, change):
    expected = GaussianBayesianNetwork(wine_dag.copy()).fit(wine)
    learned = GaussianBNLearner(required_edges=[*wine_dag.edges]).fit(wine[[*wine_dag]])
    kept = learned.network_.to_json()
    network = GaussianBayesianNetwork(wine_dag).fit(wine)
    for dag in (wine_dag, network.dag, learned.network_.dag, learned.dag_, learned.predict()):
        change(dag)
    assert network.to_json() == expected.to_json()
    assert learned.network_.to_json() == kept
    assert nx.utils.graphs_equal(learned.dag_, learned.network_.dag)
    assert nx.utils.graphs_equal(learned.dag_, learned.network_.dag_)
    bare = chain().set_params(dag=nx.DiGraph(["ab"]))
    raises("Call fit", lambda: bare.dag_, kind=NotFittedError)


def test_a_changed_graph_makes_another_network(wine, wine_network):
    network, dag, coef = wine_network, wine_network.dag, wine_network.coef_
    i, j = map(network.nodes.index, ("proline", "ash"))
    dag.edges["proline", "ash"]["weight"] = coef[i, j] = 0.5
    other = GaussianBayesianNetwork(dag)
    assert_array_equal(other.coef_, coef)
    dag.remove_edge("proline", "ash")
    assert GaussianBayesianNetwork(dag).coef_[i, j] == 0
    assert other.fit(wine).to_json() == network.to_json()
    assert not network.set_params(blocks=None).__sklearn_is_fitted__()
    assert network.set_params(dag=chain().dag) is network
    assert_array_equal(network.covariance_, chain().covariance_)
    raises("Invalid parameter 'graph'", network.set_params, graph=dag)
    raises("dag", setattr, network, "dag", dag, kind=AttributeError)


def test_clones_have_what_the_network_was_made_of(wine, wine_dag, wine_network):
    copied = clone(wine_network.set_output(transform="pandas"))
    assert not copied.__sklearn_is_fitted__()
    assert isinstance(copied.fit(wine).sample(), pd.DataFrame)
    given = chain()
    other = clone(given).fit(np.random.default_rng(0).normal(size=(20, 3)))
    assert_array_equal(clone(other).coef_, given.coef_)
    search = GridSearchCV(given, {"dag": [nx.create_empty_copy(wine_dag), wine_dag]}, cv=3)
    expected = cross_val_score(GaussianBayesianNetwork(wine_dag), wine, cv=3).mean()
    assert search.fit(wine).cv_results_["mean_test_score"][1] == expected


def test_networks_without_parameters_say_so(wine_dag):
    for edge in wine_dag.edges.values():
        edge["weight"] = 1.0  # which alone is no parameter
    network = GaussianBayesianNetwork(wine_dag)
    row = [[0] * 4]
    for ask in (
        lambda: network.score_samples(row),
        lambda: network.residuals(row),
        network.sample,
        lambda: network.condition({}),
        lambda: network["ash"],
        lambda: network.do({}),
        lambda: network.predict(row, "ash"),
        lambda: network.covariance_,
        network.to_json,
    ):
        raises("Call fit, or give the nodes of dag", ask, kind=NotFittedError)
    raises("not fitted", check_is_fitted, network, kind=NotFittedError)
    assert "nodes" in dir(network)
    assert "mean_" not in dir(network)
    check_is_fitted(chain())


# Neighbourhoods


@hypothesis.given(networks(), st.data())
def test_markov_blankets_separate(network, data):
    """The blanket is the smallest set that makes the node independent of all others."""
    dag, node = network.dag, data.draw(st.sampled_from(network.nodes))
    blanket = network.markov_blanket(node)
    others = set(dag) - {node, *blanket}
    assert not others or nx.is_d_separator(dag, {node}, others, set(blanket))
    for member in blanket:
        assert not nx.is_d_separator(dag, {node}, {member}, set(blanket) - {member})
    assert blanket == [other for other in network.nodes if other in blanket]


def test_columns_labelled_by_nodes_or_positions_and_no_others_are_read():
    rows = np.random.default_rng(0).normal(size=(20, 3))
    network = GaussianBayesianNetwork(nx.DiGraph([(5, 3), (3, 8)])).fit(rows)
    by_label = pd.DataFrame(rows, columns=[5, 3, 8])
    assert network.score(by_label) == network.score(pd.DataFrame(rows)) == network.score(rows)
    assert network.score(by_label[[8, 5, 3]]) == network.score(rows)
    for X, asked in ((rows, {"target": 3}), (rows[:, [2]], {"given": 8})):
        expected = network.predict(X, **asked)
        assert_array_equal(network.predict(pd.DataFrame(X), **asked), expected)
    for method in (network.score, network.fit, network.score_samples):
        raises(r"\[.*\], which are not strings", method, by_label.set_axis([7, 8, 9], axis=1))
