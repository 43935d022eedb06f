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


def uniform(edges, weight=1.0, noise_variance=1.0, intercept=0.0):
    """A network with the same parameters everywhere."""
    dag = nx.DiGraph(edges)
    nx.set_node_attributes(dag, intercept, "intercept")
    nx.set_node_attributes(dag, noise_variance, "noise_variance")
    nx.set_edge_attributes(dag, weight, "weight")
    return GaussianBayesianNetwork(dag)


def chain():
    """a -> b -> c, each the one before plus noise of variance 1."""
    return uniform([("a", "b"), ("b", "c")])


@pytest.fixture
def wine_dag():
    return nx.DiGraph([("proline", "ash"), ("alcohol", "proline"), ("hue", "proline")])


# Parameters


@hypothesis.given(networks())
def test_joint_distribution_is_the_closed_form(network):
    mean, covariance = closed_form(network)
    np.testing.assert_allclose(network.mean_, mean, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(network.covariance_, covariance, rtol=1e-9, atol=1e-9)


def of_parameters(dag):
    """Return a graph without the standardised weights, which follow from the parameters."""
    for *_, data in dag.edges(data=True):
        data.pop("standardised_weight", None)
    return dag


@hypothesis.given(networks())
def test_parameters_are_those_of_the_graph(network):
    dag = network.dag
    np.testing.assert_array_equal(network.coef_, nx.to_numpy_array(dag))
    for name in ("intercept", "noise_variance"):
        expected = [dag.nodes[node][name] for node in dag]
        np.testing.assert_array_equal(getattr(network, f"{name}_"), expected)
    assert nx.utils.graphs_equal(*map(of_parameters, (network.dag, dag)))
    assert network.nodes == list(network.dag) == list(dag)


def test_parameters_are_copies(wine, wine_dag):
    network = GaussianBayesianNetwork(wine_dag).fit(wine)
    for name in ("coef_", "intercept_", "noise_variance_", "mean_", "covariance_"):
        before = getattr(network, name).copy()
        getattr(network, name)[...] = 0
        np.testing.assert_array_equal(getattr(network, name), before)


def test_hard_units_overflow_nothing():
    dag = nx.DiGraph()
    for v, unit in enumerate([1e-150, 1e150, 1e-150, 1.0]):
        dag.add_node(v, intercept=unit, noise_variance=unit**2)
    dag.add_weighted_edges_from([(0, 1, 1e300), (1, 2, 1e-300), (2, 3, 1e150)])
    network = GaussianBayesianNetwork(dag)
    units = np.array([1e-150, 1e150, 1e-150, 1.0])
    steps = np.minimum.outer(range(1, 5), range(1, 5))  # a random walk's covariance
    np.testing.assert_allclose(network.mean_ / units, [1, 2, 3, 4])
    np.testing.assert_allclose(network.covariance_ / units / units[:, np.newaxis], steps)
    distribution = network.condition({1: 5e150})
    np.testing.assert_allclose(distribution.mean / units[[0, 2, 3]], [2.5, 6, 7])


def test_out_of_range_distributions_are_refused():
    path = [(0, 1), (1, 2), (2, 3)]
    moderate = uniform(path, 1e60)
    assert np.isfinite(moderate.sample()).all()
    for node, ask in [
        (2, lambda: uniform(path, 1e200, intercept=1.0).mean_),
        (2, uniform(path, 1e200).sample),
        (3, lambda: moderate.covariance_),
    ]:
        raises(f"node {node} is out of float64's range", ask)


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


def test_out_of_range_conditions_are_refused():
    steep = uniform([("a", "b")], weight=10.0)
    far = uniform([("a", "b")], intercept=-1e308, weight=0.0)
    dag = uniform([("a", "b"), ("a", "c"), ("d", "a")], weight=1e200).dag
    dag.edges["d", "a"]["weight"] = 1.0
    vast = GaussianBayesianNetwork(dag)
    for ask in (
        lambda: steep.condition({"a": 1e308}),
        lambda: steep.predict([[1.0], [1e308]], given="a"),
        lambda: far.condition({"a": 1e308}),  # whose difference from the mean overflows
        lambda: vast.condition({"d": 1.0}),  # the variance
    ):
        raises("node 'b' is out of float64's range", ask)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda dag: dag.nodes["b"].pop("intercept"), "node 'b' has no attribute intercept"),
        (lambda dag: dag.nodes["a"].pop("noise_variance"), "node 'a' has no .* noise_variance"),
        (lambda dag: dag.edges["b", "c"].pop("weight"), "edge 'b' -> 'c' has no .* weight"),
        (lambda dag: dag.add_node("a", intercept=np.nan), "intercept of node 'a' .* got nan"),
        (lambda dag: dag.add_node("a", intercept="1"), "intercept of node 'a' .* got '1'"),
        (lambda dag: dag.add_node("a", intercept=10**400), "intercept of node 'a'"),
        (lambda dag: dag.add_node("b", noise_variance=np.inf), "noise_variance of .* got inf"),
        (lambda dag: dag.add_node("b", noise_variance=-1), "'b' must not be negative; got -1"),
        (lambda dag: dag.add_edge("a", "b", weight=None), "weight of edge 'a' -> 'b' .* got None"),
    ],
)
def test_bad_attributes_are_named(change, message):
    dag = chain().dag
    change(dag)
    raises(message, GaussianBayesianNetwork, dag)


@pytest.mark.parametrize(
    ("dag", "error", "message"),
    [
        (None, TypeError, "dag must be a networkx.DiGraph; got NoneType"),
        (nx.Graph([(0, 1)]), TypeError, "got Graph"),
        (nx.MultiDiGraph([(0, 1)]), TypeError, "got MultiDiGraph"),
        (nx.DiGraph(), ValueError, "at least one node"),
        (nx.DiGraph([(0, 1), (1, 2), (2, 1)]), ValueError, r"acyclic; it has the cycle \[1, 2\]"),
    ],
)
def test_bad_graphs_are_named(dag, error, message):
    network = chain()
    for use in (GaussianBayesianNetwork, lambda dag: network.set_params(dag=dag)):
        raises(message, use, dag, kind=error)
    assert network.nodes == ["a", "b", "c"]


def in_order(graph, nodes):
    ordered = nx.DiGraph()
    ordered.add_nodes_from((node, graph.nodes[node]) for node in nodes)
    ordered.add_edges_from(graph.edges(data=True))
    return ordered


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
    graph = nx.DiGraph([(2, 0), (0, 1)])
    graph.add_nodes_from(exogenous, exogenous=True)
    names = [*"xyz"]
    named = GaussianBayesianNetwork(
        nx.relabel_nodes(in_order(graph, range(3)), dict(enumerate("xyz")))
    )
    numbered = GaussianBayesianNetwork(in_order(graph, order))

    def answers(network, of, name):
        x, z = name(0), name(2)
        yield network.fit(of(holes)).coef_
        yield network.fit(of(rows), interventions=is_set).coef_
        yield network.fit(of(rows), sample_weight=weight).coef_
        yield network.fit(of(rows), interventions=[x, (z, x), *[None] * 38]).intercept_
        yield network.fit(of(rows)).fit_indices().chi2
        if not exogenous:
            yield from (network.mean_, network.covariance_, network.sample(3, random_state=0))
        yield from (
            network.score(of(rows)),
            network.score_samples(of(rows)),
            network.residuals(of(rows)),
        )
        yield from (network.impute(of(holes)), network.predict(of(rows), x))
        yield from (network.predict(of(rows), x, given=z), network.counterfactual(of(rows), {z: 1}))
        yield network.to_frame(scores=of(rows)).drop(columns=["parent", "child"])
        others = GaussianBayesianNetwork(network.dag), pickle.loads(pickle.dumps(network))
        for same in (*others, GaussianBayesianNetwork.from_json(network.to_json())):
            yield same.score(of(rows))

    expected = [*answers(named, lambda X: pd.DataFrame(X, columns=names), names.__getitem__)]
    for of in (lambda X: X, pd.DataFrame, lambda X: pd.DataFrame(X)[[*order]]):
        for ours, theirs in zip(answers(numbered, of, int), expected, strict=True):
            if isinstance(ours, pd.DataFrame):  # in the order of the table
                ours = ours[sorted(ours)]
            theirs = theirs[sorted(theirs)] if isinstance(theirs, pd.DataFrame) else theirs
            np.testing.assert_allclose(
                np.asarray(ours, float), np.asarray(theirs, float), rtol=1e-8
            )
    assert numbered.nodes == [0, 1, 2]
    assert list(numbered.dag) == [0, 1, 2]


# Estimates


def test_fit_is_least_squares_on_the_parents(wine, wine_dag):
    network = GaussianBayesianNetwork(wine_dag).fit(wine)
    nodes, residuals = network.nodes, network.residuals(wine)
    rows = wine[nodes].to_numpy()
    for child, node in enumerate(nodes):
        parents = [nodes.index(parent) for parent in wine_dag.predecessors(node)]
        intercept, coefficients, rss = reference.regression(rows, child, parents)
        assert network.intercept_[child] == pytest.approx(intercept, rel=1e-9)
        np.testing.assert_allclose(network.coef_[parents, child], coefficients, rtol=1e-9)
        assert np.count_nonzero(network.coef_[:, child]) == len(parents)
        assert network.noise_variance_[child] == pytest.approx(rss / len(rows), rel=1e-9)
        left = rows[:, child] - intercept - rows[:, parents] @ coefficients
        np.testing.assert_allclose(residuals[node], left, atol=1e-9 * rows[:, child].std())
    np.testing.assert_allclose(network.mean_, rows.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose((residuals**2).mean(), network.noise_variance_)


def test_fit_replaces_what_the_graph_carries_and_leaves_the_graph(wine):
    dag = chain().dag
    rows = wine.to_numpy()[:, :3]
    network = GaussianBayesianNetwork(dag).fit(rows)
    bare = GaussianBayesianNetwork(nx.DiGraph(dag.edges)).fit(rows)
    np.testing.assert_array_equal(network.coef_, bare.coef_)
    assert nx.utils.graphs_equal(dag, chain().dag)
    assert network.dag.edges["a", "b"]["weight"] == network.coef_[0, 1] != 1.0


def test_fewer_rows_than_columns_suffice_for_few_parents():
    rows = np.random.default_rng(0).normal(size=(5, 9))
    dag = nx.path_graph(9, create_using=nx.DiGraph)
    network = GaussianBayesianNetwork(dag).fit(rows)
    for v in range(1, 9):
        expected = reference.regression(rows, v, [v - 1])
        assert network.coef_[v - 1, v] == pytest.approx(expected[1][0])
    raises("2 rows, and node 1 with its parents makes 2", network.fit, rows[:2])


def test_an_edge_of_weight_0_remains_an_edge():
    coef, zeros = np.zeros((2, 2)), np.zeros(2)
    model = LinearGaussianModel(["a", "b"], [0, 1], coef, zeros, zeros, np.ones(2), [0, 0])
    network = GaussianBayesianNetwork._from_model(model)
    assert list(network.dag.edges) == [("a", "b")]


def test_variances_below_the_range_are_refused():
    rows = np.random.default_rng(0).normal(size=(100, 2)) @ [[1e-150, 1e-150], [0, 1e-156]]
    with pytest.raises(ValueError, match="Column 'b' has noise of a variance below float64's"):
        GaussianBayesianNetwork(nx.DiGraph([("a", "b")])).fit(rows)


# Density


@hypothesis.given(networks(), st.integers(0, 2**32 - 1))
def test_density_is_that_of_the_joint_normal(network, seed):
    mean, covariance = closed_form(network)
    rows = np.random.default_rng(seed).normal(size=(20, len(mean))) * 3
    expected = np.atleast_1d(multivariate_normal(mean, covariance).logpdf(rows))
    np.testing.assert_allclose(network.score_samples(rows), expected, rtol=1e-7, atol=1e-7)
    assert network.score(rows) == pytest.approx(expected.mean())


def test_means_far_from_0_lose_no_digits(wine, wine_dag):
    """Binary fractions, of which a shift by a power of two rounds neither values nor means."""
    rows = np.round(wine[list(wine_dag)] * 64).to_numpy()[:128] / 32
    far = rows + 2.0**40
    near, shifted = (GaussianBayesianNetwork(wine_dag).fit(some) for some in (rows, far))
    np.testing.assert_allclose(shifted.score_samples(far), near.score_samples(rows), rtol=1e-11)
    np.testing.assert_allclose(shifted.covariance_, near.covariance_, rtol=1e-10)
    prediction = shifted.predict(far, target="proline") - 2.0**40
    np.testing.assert_allclose(prediction, near.predict(rows, target="proline"), atol=1e-3)
    held = shifted.do({"hue": 2.0**40 + 3}).mean_ - 2.0**40
    np.testing.assert_allclose(held, near.do({"hue": 3}).mean_, atol=1e-3)
    held = shifted.do({"proline": 2.0**40 + 2000}).mean_ - 2.0**40
    np.testing.assert_allclose(held, near.do({"proline": 2000}).mean_, atol=1e-3)


def test_rows_out_of_all_proportion_have_density_0():
    dag = chain().dag
    dag.nodes["a"]["intercept"] = -1e308
    rows = [[1e300, 0, 0], [0, 1e308, -1e308], [1.7e308, 0, 0]]
    assert (GaussianBayesianNetwork(dag).score_samples(rows) == -np.inf).all()


# Tables


def test_columns_with_names_are_matched_to_the_nodes(wine, wine_dag):
    nodes = list(wine_dag)
    by_position = GaussianBayesianNetwork(wine_dag).fit(wine[nodes].to_numpy())
    expected = by_position.score_samples(wine[nodes].to_numpy())
    shuffled = wine[wine.columns[::-1]].assign(vintage="unknown")
    for table in (shuffled, pl.DataFrame(shuffled.to_dict("list"))):
        network = GaussianBayesianNetwork(wine_dag).fit(table)
        np.testing.assert_array_equal(network.coef_, by_position.coef_)
        np.testing.assert_array_equal(network.score_samples(table), expected)
    scores = LocalScoreTransformer().fit_transform(wine)
    np.testing.assert_array_equal(by_position.score_samples(scores), expected)
    prediction = by_position.predict(wine[nodes].to_numpy(), target="ash")
    np.testing.assert_array_equal(by_position.predict(scores, target="ash"), prediction)
    unnamed = LocalScoreTransformer().fit_transform(wine[nodes].to_numpy())
    np.testing.assert_array_equal(by_position.score_samples(unnamed), expected)
    np.testing.assert_array_equal(
        by_position.score_samples(wine[nodes].to_numpy().tolist()), expected
    )


def test_positions_that_are_other_nodes_names_are_refused():
    """The table of a sample has the nodes in their order; another may have them by number."""
    nodes = [1, 2, 3]
    rows = np.random.default_rng(0).normal(size=(20, 3))
    dag = nx.DiGraph([(nodes[0], nodes[1]), (nodes[1], nodes[2])])
    network, frame = GaussianBayesianNetwork(dag).fit(rows), pd.DataFrame(rows)
    message = r"labelled \[0, 1, 2\], .* stand for the nodes \[.*X\.to_numpy\(\)"
    for use in (network.fit, network.score_samples, network.score, network.predict):
        raises(message, use, frame, **{"target": 2} if use == network.predict else {})
    np.testing.assert_array_equal(
        network.score_samples(frame.to_numpy()), network.score_samples(rows)
    )
    scores = LocalScoreTransformer().fit_transform(rows)  # which have no more names than an array
    np.testing.assert_array_equal(network.score_samples(scores), network.score_samples(rows))
    by_name = frame.set_axis(nodes, axis=1)
    np.testing.assert_array_equal(network.score_samples(by_name), network.score_samples(rows))


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (pd.DataFrame({"a": [1.0], "d": [1.0]}), ValueError, r"X has no columns \['b', 'c'\]"),
        (pd.DataFrame(np.zeros((2, 2))), ValueError, r"shape \(n, 3\), .*must be strings"),
        (pd.DataFrame(np.zeros((2, 4)), columns=list("abca")), ValueError, r"\['a'\] are given"),
        (pd.DataFrame({"a": [1.0], "b": ["x"], "c": [1.0]}), ValueError, "'b' holds 'x' in row 0"),
        (np.zeros((2, 2)), ValueError, r"shape \(n, 3\), .*\['a', 'b', 'c'\]; .* with 2 columns"),
        ([[1, 2, 3], [1]], ValueError, "different lengths"),
        ([np.zeros((2, 3)), np.zeros((2, 2))], ValueError, "different lengths"),
        ([[1, 2, "x"]], ValueError, "'c' holds 'x'"),
        ([[1, np.inf, 2]], ValueError, r"infinite values in 1 .*\('b'\).* row 0"),
        (np.zeros((0, 3)), ValueError, "0 sample"),
        (np.zeros((2, 3), complex), ValueError, "Complex"),
        ([pd.Series([1.0, 2, 3], index=list("cba"))] * 2, TypeError, r"Series.*DataFrame\(X\)"),
        (
            list(pd.DataFrame(np.zeros((2, 3)), columns=list("cba")).itertuples(index=False)),
            TypeError,
            r"list of Pandas, .* pandas\.DataFrame\(X\)",
        ),
    ],
)
def test_bad_tables_are_named(X, error, message):
    for use in (chain().score_samples, chain().fit, chain().score):
        raises(message, use, X, kind=error)


def test_dependent_columns_are_named():
    rows = np.random.default_rng(0).normal(size=(50, 3))
    rows[:, 1] = 2 * rows[:, 0]
    raises("'b' is collinear", chain().fit, rows)
    raises("'b' has zero variance", chain().fit, rows * [1, 0, 1])


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


def test_samples_come_in_the_container_that_is_asked_for():
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


def test_samples_of_nodes_without_names_are_arrays():
    network = uniform([(0, 1)]).set_output(transform="pandas")
    assert type(network.sample()) is np.ndarray


def test_samples_in_a_container_that_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    raises("pip install polars", chain().set_output(transform="polars").sample, kind=ImportError)


@pytest.mark.parametrize("n_samples", [0, -1, 1.5, "2"])
def test_bad_numbers_of_samples_are_named(n_samples):
    raises("n_samples", chain().sample, n_samples, kind=(TypeError, ValueError))


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
    np.testing.assert_allclose(seen.mean, mean, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(seen.covariance, covariance, rtol=1e-6, atol=1e-6)


def test_without_evidence_the_joint_distribution_remains_and_with_all_nothing():
    network = chain()
    joint = network.condition({})
    assert joint.nodes == ["a", "b", "c"]
    np.testing.assert_array_equal(joint.mean, network.mean_)
    np.testing.assert_allclose(joint.covariance, network.covariance_)
    deviation = np.sqrt(np.diag(network.covariance_))
    np.testing.assert_allclose(joint.standard_deviation, deviation)
    nothing = network.condition(dict.fromkeys("abc", 1))
    assert nothing.nodes == []
    assert nothing.mean.shape == (0,)
    assert nothing.covariance.shape == (0, 0)


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


@pytest.mark.parametrize(
    ("evidence", "error", "message"),
    [
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
    ],
)
def test_bad_evidence_is_named(evidence, error, message):
    raises(message, chain().condition, evidence, kind=error)
    raises(message.replace("evidence", "interventions"), chain().do, evidence, kind=error)


@pytest.mark.parametrize("hole", [None, np.nan, pd.NA, Decimal("sNaN"), np.ma.masked])
def test_evidence_may_be_missing_but_interventions_have_values(hole):
    assert chain().condition({"a": hole})["b"] == chain().condition({})["b"]
    raises("value of node 'a' in interventions must be a finite", chain().do, {"a": hole})


def test_nodes_that_others_fix_up_to_rounding_cannot_be_given():
    """Three mixtures of two nodes, of which a QR decomposition leaves a little of the third."""
    dag = nx.DiGraph()
    dag.add_nodes_from("cde", intercept=0.0, noise_variance=0.0)
    dag.add_nodes_from("ab", intercept=0.0, noise_variance=1.0)
    dag.add_weighted_edges_from(zip("aaa", "cde", [0.1, 0.3, 0.7], strict=True))
    dag.add_weighted_edges_from(zip("bbb", "cde", [0.7, 0.9, 0.3], strict=True))
    network = GaussianBayesianNetwork(dag)
    np.testing.assert_allclose(network.condition({"c": 0.8, "d": 1.2}).mean, [1, 1, 1])
    raises("Node 'e' cannot be given", network.condition, {"c": 0.8, "d": 1.2, "e": 1.0})
    raises("Node 'a' cannot be given", chain().do({"a": 2.0}).condition, {"a": 2.0})


@pytest.mark.parametrize(
    "evidence",
    [
        pd.Series({"c": 2, "a": 1}),
        {"a": Decimal(1), "c": Fraction(2)},
        {"a": np.array(1), "c": np.float32(2)},
    ],
)
def test_evidence_in_other_forms(evidence):
    network, plain = chain(), {"a": 1.0, "c": 2.0}
    assert network.condition(evidence).mean == network.condition(plain).mean
    np.testing.assert_array_equal(network.do(evidence).mean_, network.do(plain).mean_)


# Predictions


@hypothesis.given(networks(smallest=3), st.integers(0, 2**32 - 1))
@hypothesis.settings(max_examples=40)
def test_predictions_are_conditional_means_row_by_row(network, seed):
    a, b, *others = network.nodes
    rows = np.random.default_rng(seed).normal(size=(4, len(others)))
    predicted = network.predict(rows, target=[b, a], given=others)
    for row, values in zip(rows, predicted, strict=True):
        mean = network.condition(dict(zip(others, row, strict=True))).mean
        np.testing.assert_allclose(values, mean[::-1], rtol=1e-9, atol=1e-9)


def test_residuals_of_other_rows_come_in_the_kind_of_the_table():
    dag = chain().dag
    dag.nodes["a"]["intercept"] = dag.nodes["b"]["intercept"] = 1.0
    network = GaussianBayesianNetwork(dag)  # a = 1 + noise, b = a + 1 + noise, c = b + noise
    rows = np.array([[1.0, 2.0, 4.0], [0.0, 3.0, -1.0]])
    expected = np.array([[0.0, 0.0, 2.0], [-1.0, 2.0, -4.0]])
    np.testing.assert_allclose(network.residuals(rows), expected)
    np.testing.assert_allclose(network.residuals(pl.DataFrame(rows, list("abc"))), expected)
    frame = pd.DataFrame(rows, index=["r", "s"], columns=list("abc"))
    pd.testing.assert_frame_equal(
        network.residuals(frame[["c", "b", "a"]].assign(other="x")),
        pd.DataFrame(expected, index=["r", "s"], columns=list("abc")),
    )
    raises(r"X has no columns \['c'\]", network.residuals, frame[["a", "b"]])
    rows[1, 1], rows[1, 2] = 1.5e308, -1.5e308
    raises("residual of node 'c' in row 1 is out of float64's", network.residuals, rows)
    with pytest.raises(NotFittedError):
        GaussianBayesianNetwork(nx.DiGraph([("a", "b")])).residuals(rows[:, :2])


def test_defaults_of_given_and_target():
    network = chain()
    rows = np.array([[1.0, 2.0, 4.0], [0.0, 3.0, -1.0]])
    frame = pd.DataFrame(rows, columns=list("abc"), index=["r", "s"])
    middle = (rows[:, 0] + rows[:, 2]) / 2  # of a random walk, given both neighbours
    np.testing.assert_allclose(network.predict(rows, target="b"), middle)
    np.testing.assert_allclose(network.predict(rows, target=["b"]), middle[:, np.newaxis])
    np.testing.assert_allclose(network.predict(rows[:, ::2], given=["a", "c"])[:, 0], middle)
    np.testing.assert_allclose(network.predict(rows[:, :1], given="a"), rows[:, [0, 0]])
    np.testing.assert_allclose(network.predict(pl.DataFrame(rows, list("abc")), "b"), middle)
    expected = pd.Series(middle, index=["r", "s"], name="b")
    pd.testing.assert_series_equal(network.predict(frame, "b"), expected)
    pd.testing.assert_frame_equal(
        network.predict(frame[["c", "a"]].assign(other="x")), expected.to_frame()
    )
    pd.testing.assert_frame_equal(
        network.predict(frame, target=["c", "b"], given="a"),
        pd.DataFrame({"c": rows[:, 0], "b": rows[:, 0]}, index=["r", "s"]),
    )
    hidden = np.array([[1.0, None, 4.0], [0.0, "?", -1.0]], dtype=object)
    np.testing.assert_allclose(network.predict(hidden, target="b"), middle)
    np.testing.assert_allclose(network.predict(frame.assign(b=np.nan), target="b"), middle)


@pytest.mark.parametrize(
    ("X", "target", "given", "message"),
    [
        (np.zeros((2, 3)), None, None, "name a target"),
        (np.zeros((2, 2)), "a", None, r"shape \(n, 3\).* name those that X has in given"),
        (np.zeros((2, 4)), "c", ["a", "b"], r"shape \(n, 2\), .*\['a', 'b'\]; .* 4 columns"),
        (np.zeros((2, 1)), "z", "a", "target must name nodes; 'z' is not one"),
        (np.zeros((2, 1)), "c", "z", "given must name nodes; 'z' is not one"),
        (np.zeros((2, 1)), "c", [["a"]], r"given must name nodes; \['a'\] is not one"),
        (np.zeros((2, 2)), "c", ["a", "a"], "given must name nodes, each once"),
        (np.zeros((2, 2)), [], ["a", "b"], r"target must name nodes, each once; got \[\]"),
        (np.zeros((2, 2)), ["b"], ["a", "b"], r"\['b'\] are both in given and in target"),
        (np.zeros((2, 3)), list("abc"), None, "No node is left to predict from"),
        (pd.DataFrame({"z": [1.0]}), None, None, r"No node is left .* columns of X \['z'\]"),
        (pd.DataFrame({"a": [1.0]}), "c", ["b"], r"X has no columns \['b'\]"),
        (pd.DataFrame({"a": [np.inf]}), "c", None, "infinite values .*'a', row 0"),
    ],
)
def test_bad_predictions_are_named(X, target, given, message):
    raises(message, chain().predict, X, target=target, given=given)


def test_names_of_several_letters_are_single_nodes():
    dag = nx.relabel_nodes(chain().dag, {"c": "ab"})
    network, row = GaussianBayesianNetwork(dag), [[1.0]]
    assert network.predict(row, given="a", target="ab").shape == (1,)
    assert network.predict(row, given="ab").shape == (1, 2)
    raises("target must name nodes; 'bc' is not one", chain().predict, row, given="a", target="bc")


def test_tuples_can_be_nodes():
    dag = nx.relabel_nodes(chain().dag, {"a": ("a", 1), "b": ("b", 2)})
    network = GaussianBayesianNetwork(dag)
    frame = pd.DataFrame({"c": [4.0]})
    predicted = network.predict(frame)
    assert list(predicted.columns) == [("a", 1), ("b", 2)]
    assert not isinstance(predicted.columns, pd.MultiIndex)
    assert network.predict(frame, target=("b", 2)).shape == (1,)
    assert network.predict(frame, target=(("b", 2),)).shape == (1, 1)


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
    np.testing.assert_allclose(after.mean_, intercept @ effects, rtol=1e-9, atol=1e-9)
    expected = effects.T @ np.diag(noise) @ effects
    np.testing.assert_allclose(after.covariance_, expected, rtol=1e-9, atol=1e-9)
    kept = {(a, b) for a, b in dag.edges if b not in values}
    assert set(after.dag.edges) == kept
    assert nx.utils.graphs_equal(network.dag, dag)
    again = GaussianBayesianNetwork(after.dag)
    assert nx.utils.graphs_equal(*map(of_parameters, (again.dag, after.dag)))
    np.testing.assert_allclose(again.mean_, after.mean_, rtol=1e-9, atol=1e-9)


def test_held_nodes_have_their_values_to_the_last_bit():
    network = uniform([("a", "b")], intercept=1e20)
    assert network.do({"a": 0.3}).mean_[0] == 0.3
    assert network.do({"b": 0.3}).mean_[1] == 0.3


def test_networks_after_an_intervention_can_be_used():
    after = chain().do({"b": 3.0})
    rows = after.sample(5, random_state=0)
    assert (rows[:, 1] == 3.0).all()
    assert np.ptp(rows[:, 0]) > 0
    seen = after.condition({"c": 5.0})
    assert seen.nodes == ["a", "b"]
    np.testing.assert_allclose(seen.mean, [0.0, 3.0])
    np.testing.assert_allclose(seen.covariance, [[1, 0], [0, 0]])
    np.testing.assert_allclose(after.do({"b": 4.0, "a": 1.0}).mean_, [1, 4, 4])
    np.testing.assert_allclose(clone(after).mean_, after.mean_)
    raises("Node 'b' has no noise", after.score_samples, rows)
    rows = np.random.default_rng(0).normal(size=(20, 3))
    assert np.isfinite(after.fit(rows).score_samples(rows)).all()


def test_held_nodes_are_no_predictors_by_default():
    after = chain().do({"a": 5.0})
    frame = pd.DataFrame([[5.0, 2.0, 4.0]], columns=list("abc"))
    expected = after.condition({"c": 4.0}).mean[1]
    assert after.predict(frame, target="b").iloc[0] == pytest.approx(expected)
    assert after.predict(frame.to_numpy(), target="b") == pytest.approx(expected)
    predicted = after.predict(frame[["a", "c"]])
    assert list(predicted.columns) == ["a", "b"]
    np.testing.assert_allclose(predicted, [[5.0, expected]])
    dag = after.do({"b": 1.0}).dag
    dag.nodes["c"]["noise_variance"] = 0.0  # and so has no variance either
    after = GaussianBayesianNetwork(dag)
    raises(r"nodes with a variance are \[\]", after.predict, frame, target="b")


# scikit-learn's conventions


def test_weights_alone_are_no_parameters():
    rows = np.random.default_rng(0).normal(size=(20, 2))
    dag = nx.from_numpy_array(np.array([[0, 1.0], [0, 0]]), create_using=nx.DiGraph)
    network = GaussianBayesianNetwork(dag)
    for use in (lambda: network.mean_, lambda: check_is_fitted(network)):
        with pytest.raises(NotFittedError):
            use()
    expected = GaussianBayesianNetwork(nx.DiGraph([(0, 1)])).fit(rows).coef_
    np.testing.assert_array_equal(network.fit(rows).coef_, expected)


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
    with pytest.raises(NotFittedError):
        chain().set_params(dag=nx.DiGraph(["ab"])).dag_  # noqa: B018


def test_a_changed_graph_makes_another_network(wine, wine_dag):
    network = GaussianBayesianNetwork(wine_dag).fit(wine)
    dag, coef = network.dag, network.coef_
    i, j = map(network.nodes.index, ("proline", "ash"))
    dag.edges["proline", "ash"]["weight"] = coef[i, j] = 0.5
    other = GaussianBayesianNetwork(dag)
    np.testing.assert_array_equal(other.coef_, coef)
    dag.remove_edge("proline", "ash")
    assert GaussianBayesianNetwork(dag).coef_[i, j] == 0
    assert other.fit(wine).to_json() == network.to_json()
    assert not network.set_params(blocks=None).__sklearn_is_fitted__()
    assert network.set_params(dag=chain().dag) is network
    np.testing.assert_array_equal(network.covariance_, chain().covariance_)
    raises("Invalid parameter 'graph'", lambda: network.set_params(graph=dag))
    with pytest.raises(AttributeError):
        network.dag = dag


def test_clones_have_what_the_network_was_made_of(wine, wine_dag):
    fitted = GaussianBayesianNetwork(wine_dag).fit(wine).set_output(transform="pandas")
    assert isinstance(fitted.sample(), pd.DataFrame)
    copied = clone(fitted)
    assert not copied.__sklearn_is_fitted__()
    assert isinstance(copied.fit(wine).sample(), pd.DataFrame)
    given = chain()
    other = clone(given).fit(np.random.default_rng(0).normal(size=(20, 3)))
    np.testing.assert_array_equal(clone(other).coef_, given.coef_)
    search = GridSearchCV(given, {"dag": [nx.create_empty_copy(wine_dag), wine_dag]}, cv=3)
    expected = cross_val_score(GaussianBayesianNetwork(wine_dag), wine, cv=3).mean()
    assert search.fit(wine).cv_results_["mean_test_score"][1] == expected


def test_networks_without_parameters_say_so(wine_dag):
    network = GaussianBayesianNetwork(wine_dag)
    uses = [
        lambda: network.score_samples([[0] * 4]),
        lambda: network.sample(),
        lambda: network.condition({}),
        lambda: network["ash"],
        lambda: network.do({}),
        lambda: network.predict([[0] * 4], "ash"),
        lambda: network.covariance_,
        lambda: network.to_json(),
    ]
    for use in uses:
        raises("Call fit, or give the nodes of dag", use, kind=NotFittedError)
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
    """Taken by position, they would be columns of other nodes than they say."""
    rows = np.random.default_rng(0).normal(size=(20, 3))
    network = GaussianBayesianNetwork(nx.DiGraph([(5, 3), (3, 8)])).fit(rows)
    by_label = pd.DataFrame(rows, columns=[5, 3, 8])
    assert network.score(by_label) == network.score(pd.DataFrame(rows)) == network.score(rows)
    assert network.score(by_label[[8, 5, 3]]) == network.score(rows)
    by_position = pd.DataFrame(rows)
    for asked in ({"target": 3}, {"given": 8}):
        X = by_position if "target" in asked else by_position.iloc[:, [2]].set_axis([0], axis=1)
        expected = network.predict(X.to_numpy(), **asked)
        np.testing.assert_array_equal(network.predict(X, **asked), expected)
    for method in (network.score, network.fit, network.score_samples):
        raises(r"\[.*\], which are not strings", method, by_label.set_axis([7, 8, 9], axis=1))
