"""Networks whose nodes have several columns each."""

import copy
import datetime
import json
import pickle
import re
from decimal import Decimal

import dask.dataframe as dd
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from agreement import raises
from drawn import graph_of
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from statsmodels.multivariate import multivariate_ols
from statsmodels.regression import linear_model

import skbn
from skbn import GaussianBayesianNetwork, GaussianBNLearner, LocalScoreTransformer
from skbn._networks.descriptions import OF_COEFFICIENTS
from skbn.io import to_dagitty, to_graphml


def table(n=120, seed=0):
    rng = np.random.default_rng(seed)
    site = rng.choice(["north", "south", "west"], size=n)
    age = rng.normal(50, 10, size=n)
    dose = age / 10 + 2 * (site == "west") + rng.normal(size=n)
    smokes = rng.random(n) < 0.3
    x, y = rng.normal(size=n), dose + 2 * smokes + rng.normal(size=n)
    X = pd.DataFrame({"site": site, "age": age, "x": x, "dose": dose, "smokes": smokes, "y": y})
    return X.assign(x2=x**2 + y)


NODES = {"spline": ["x", "x2"]}


@pytest.fixture(scope="module")
def learner():
    return GaussianBNLearner(nodes=NODES).fit(table())


@pytest.fixture(scope="module")
def network(learner):
    return learner.network_


def by_nodes(network):
    """The table of edges, its rows by the nodes instead of the columns."""
    node_of = {name: node for node, own in network.nodes_.items() for name in own}
    frame, ends = network.to_frame(), ["parent", "child"]
    return frame.assign(**{end: frame[end].map(node_of) for end in ends}).set_index(ends)


def encoded(X):
    """The columns of the network, as numbers."""
    indicators = {f"site={level}": X["site"] == level for level in ("south", "west")}
    names = [*indicators, "age", "x", "x2", "dose", "smokes=True", "y"]
    return X.assign(**indicators, **{"smokes=True": X["smokes"]})[names].astype(float)


def test_structure_is_about_nodes(learner, network):
    assert network.nodes == ["site", "age", "spline", "dose", "smokes", "y"]
    assert {("site", "dose"), ("age", "dose")} <= {*learner.dag_.edges}
    assert network.markov_blanket("age") == ["site", "dose"]
    assert network.nodes_["site"] == ["site=south", "site=west"]
    assert set(network.cpdag()) == set(network.nodes)
    assert "site" in skbn.io.to_mermaid(network)
    assert "site=west = " in str(network)


def test_the_columns_network_has_the_density(learner, network):
    X, columns = table(20, seed=1), network.columns_
    density = multivariate_normal(columns.mean_, columns.covariance_).logpdf(encoded(X))
    assert_allclose(learner.score(X), density.mean(), rtol=1e-9)
    for found in (network.score_samples(X), learner.score_samples(X)):
        assert_allclose(found, density, rtol=1e-9)
    assert_allclose(network.residuals(X), columns.residuals(encoded(X)))
    again = GaussianBayesianNetwork(learner.dag_, network.blocks).fit(table())
    assert_allclose(again.coef_, network.coef_)


def test_evidence_and_interventions_are_given_by_level(network):
    given = {"site": "west", "spline": [0.5, 3.0], "age": 40}
    of_columns = {"site=south": 0, "site=west": 1, "x": 0.5, "x2": 3.0, "age": 40}
    found, expected = network.condition(given), network.columns_.condition(of_columns)
    assert found.nodes == expected.nodes
    assert_allclose(found["dose"], expected["dose"], rtol=0.05)
    known = network.condition(given | {"smokes": True})
    expected = network.columns_.condition(of_columns | {"smokes=True": 1})
    assert_allclose(known.mean, expected.mean)
    assert_allclose(known.covariance, expected.covariance)
    held = network.do({"site": "north"})
    assert isinstance(held, GaussianBayesianNetwork)
    assert held["site"] == {"north": 1, "south": 0, "west": 0}
    expected = network.columns_.do({"site=south": 0, "site=west": 0})["y"].mean
    assert_allclose(held["y"].mean, expected)
    assert network[["site", "age"]].nodes == ["site=south", "site=west", "age"]
    by_name = network.condition({"spline": pd.Series({"x2": 2.0, "x": 1.0})})
    assert_allclose(by_name.mean, network.condition({"spline": [1.0, 2.0]}).mean)
    for distribution in (network, network.condition({"age": 40.0}), network.do({"age": 40.0})):
        assert [*distribution["site"]] == ["north", "south", "west"]
        assert distribution[["y", "spline"]].nodes == ["y", "x", "x2"]
        assert distribution["smokes"][True] == distribution["smokes=True"].mean
    known = network.condition({"site": "west"})
    raises(r"'site' is not one of \['age', 'spline', 'dose'", known.__getitem__, "site")
    raises("each once", network.__getitem__, ["site", "site=west"])


def test_grids_take_levels_and_rows_of_columns(network):
    for given in [
        {"site": ["north", "west"], "age": 30},
        {"site": np.array(["west", "south"]), "spline": [[1, 2], [3, 4]]},
        {"spline": {"x2": [2.0, 4.0], "x": [1.0, 3.0]}, "smokes": True},
        {"spline": pd.DataFrame({"x2": [2.0, 4.0], "x": [1.0, 3.0]}), "age": range(2)},
        {"age": pd.Series([30, 40], [7, 8]), "smokes": pd.Categorical([True, False])},
    ]:
        rows = {"spline": [[1.0, 2.0], [3.0, 4.0]]}
        for method in (network.condition, network.do):
            found = method(given)
            for k in range(2):
                one = given.copy()
                for node, value in given.items():
                    if np.ndim(value) or node in rows:
                        one[node] = list(rows.get(node, value))[k]
                expected = method(one)[
                    found.nodes if method == network.condition else network.nodes
                ]
                assert_allclose(found.mean[k], expected.mean, rtol=1e-12, atol=1e-12)
                own = found.covariance if found.covariance.ndim == 2 else found.covariance[k]
                assert_allclose(own, expected.covariance, rtol=1e-9, atol=1e-12)


def test_blocks_of_numbers_take_tables_of_dask():
    X = table()[["age", "x", "dose", "x2"]]
    network = GaussianBNLearner(nodes=NODES).fit(X).network_
    blocks = dd.from_pandas(X, npartitions=3)
    assert_allclose(network.score(blocks), network.score(X))
    assert_allclose(clone(network).fit(blocks).columns_.coef_, network.columns_.coef_)


def test_predictions_after_an_intervention_leave_its_nodes_out(network):
    X = table(5, seed=2)
    for held, free in (("age", 40.0), ("site", "west"), ("spline", [1.0, 2.0])):
        after, others = network.do({held: free}), [n for n in network.nodes if n not in (held, "y")]
        assert_allclose(after.predict(X, "y"), after.predict(X, "y", given=others))
    raises("No node is left to predict from", network.do({"age": 40.0}).predict, X[["age"]], "y")


def test_predictions_of_a_category_have_a_column_for_each_level(network):
    X = table(5, seed=2)
    found = network.predict(X, "site")
    assert list(found.columns) == ["north", "south", "west"]
    assert_allclose(found.sum(axis=1), 1)
    assert (found >= 0).all(axis=None)
    both = network.predict(X.drop(columns="site"), ["site", "y"])
    assert list(both.columns) == ["site=north", "site=south", "site=west", "y"]
    single = network.predict(X, "y", given=["dose", "smokes"])
    columns = network.columns_.predict(encoded(X), "y", given=["dose", "smokes=True"])
    assert_allclose(single, columns)


def test_edges_between_blocks_have_a_row_for_each_coefficient(network):
    X = table()
    frame = network.to_frame()
    edge = frame[frame["parent"].isin(network.nodes_["site"]) & (frame["child"] == "dose")]
    assert list(edge["parent"]) == ["site=south", "site=west"]
    S = network.columns_[["dose", "age"]].covariance
    without = S[0, 0] - S[0, 1] ** 2 / S[1, 1]
    predictors = encoded(X).assign(one=1.0)[["one", "age", "site=south", "site=west"]]
    coefficients, (left,), *_ = np.linalg.lstsq(predictors, X["dose"], rcond=None)
    assert_allclose(edge["partial_r2"], 1 - left / len(X) / without)
    assert_allclose(edge["weight"], coefficients[2:])
    deviation = np.sqrt(S[0, 0])  # a level's weight is not per deviation of its indicator
    assert_allclose(edge["standardised_weight"], coefficients[2:] / deviation)
    assert edge["score_loss"].nunique() == 1
    assert (edge["score_loss"] > 0).all()
    of_age = frame[(frame["parent"] == "age") & (frame["child"] == "dose")].iloc[0]
    assert_allclose(of_age["weight"], coefficients[1])
    assert_allclose(of_age["standardised_weight"], coefficients[1] * np.sqrt(S[1, 1]) / deviation)
    assert_allclose(network.to_frame(X)["score_loss"], frame["score_loss"], rtol=1e-6)
    assert not frame.map(lambda cell: isinstance(cell, dict)).any(axis=None)
    of_numbers = GaussianBNLearner().fit(X[["age", "dose"]]).network_.to_frame()
    assert list(frame)[: len(of_numbers.columns)] == list(of_numbers)
    total = network.columns_[["dose"]].covariance[0, 0]
    assert network.r2_["dose"] == pytest.approx(1 - left / len(X) / total)
    bare = GaussianBayesianNetwork(network.dag, network.blocks)
    assert {*bare.to_frame()[["parent", "child"]].itertuples(index=False)} == {*network.dag.edges}


def test_edges_between_blocks_have_standard_errors_and_a_test(network):
    """As multivariate regressions of statsmodels have them: each coefficient, and Wilks' lambda."""
    columns = encoded(table())
    frame = network.to_frame().set_index(["parent", "child"])
    n_rows = 0
    for a, b in network.dag.edges:
        from_, own = network.nodes_[a], network.nodes_[b]
        others = [c for p in network.dag.predecessors(b) for c in network.nodes_[p]]
        Z = columns[others].assign(const=1.0)
        tested = np.zeros((len(from_), len(others) + 1))
        for row, parent in zip(tested, from_, strict=True):
            row[others.index(parent)] = 1
        if len(own) == 1:
            expected = float(linear_model.OLS(columns[own[0]], Z).fit().f_test(tested).pvalue)
        else:
            fitted = multivariate_ols._MultivariateOLS(columns[own].to_numpy(), Z.to_numpy()).fit()
            statistics = fitted.mv_test([("h", tested)]).results["h"]["stat"]
            expected = statistics.loc["Wilks' lambda", "Pr > F"]
        for child in own:
            fitted = linear_model.OLS(columns[child], Z).fit()
            for parent in from_:
                row = frame.loc[parent, child]
                found = row[["weight", "std_err", "t", "ci_low", "ci_high"]].astype(float)
                low, high = fitted.conf_int().loc[parent]
                of_column = [each[parent] for each in (fitted.params, fitted.bse, fitted.tvalues)]
                assert_allclose(found, [*of_column, low, high], rtol=1e-6)
                assert row["p_value"] == pytest.approx(fitted.pvalues[parent], rel=1e-6)
                assert row["edge_p_value"] == pytest.approx(expected, rel=1e-6)
                n_rows += 1
    assert n_rows == len(frame) > network.dag.number_of_edges()


def test_displays_of_weights_and_residuals_show_columns(learner, network):
    X, display = table(), skbn.EdgeHeatMapDisplay.from_estimator(learner)
    drawn = pd.DataFrame(display.values, display.nodes, display.nodes).stack().dropna()
    frame = network.to_frame().set_index(["parent", "child"])["standardised_weight"]
    assert drawn.to_dict() == frame.to_dict()
    shown = skbn.ResidualsDisplay.from_estimator(learner, X)
    assert shown.columns == ["age", "x", "x2", "dose", "y"]
    residuals, columns = network.residuals(X)["y"], network.columns_
    variance = columns.noise_variance_[columns.nodes.index("y")]
    assert_allclose(shown.residuals[:, 4], residuals / np.sqrt(variance))
    assert_allclose(shown.fitted[:, 4] + residuals, X["y"])
    raises("'site' is a category", skbn.ResidualsDisplay, network, X, columns=["y", "site"])


def test_graph_files_have_what_is_of_edges(network):
    graph = nx.parse_graphml(to_graphml(network))
    assert {*graph.edges} == {*network.dag.edges}
    several, single = graph.edges["site", "dose"], graph.edges["age", "dose"]
    assert {*single} - {*several} == {*OF_COEFFICIENTS}
    betas = re.findall(r'"(\w+)" -> "(\w+)" \[beta', to_dagitty(network))
    widths = {node: len(own) for node, own in network.nodes_.items()}
    assert {*betas} == {(a, b) for a, b in network.dag.edges if widths[a] == widths[b] == 1}


def test_pictures_show_categories_and_signs_where_there_are_any(learner):
    display = learner.plot()
    names = [display.names_[node].get_text() for node in ("site", "smokes", "dose")]
    assert names == ["site (3 levels)", "smokes=True\n(2 levels)", "dose"]
    weights = nx.get_edge_attributes(learner.dag_, "standardised_weight")
    by_edge = by_nodes(learner.network_)["weight"].to_dict()
    assert weights["age", "dose"] > 0
    assert any("smokes" in edge for edge in weights)  # the one indicator has a sign
    assert all(not {*edge} & {"site", "spline"} for edge in weights)
    for edge, weight in nx.get_edge_attributes(learner.dag_, "weight").items():
        assert weight == by_edge[edge]
    legend = {text.get_text() for text in display.ax_.texts}
    assert "several weights (of levels or columns)" in legend
    assert "two levels: the sign is that of the level in the box" in legend
    assert "standardised_weight" not in learner.dag_.edges["site", "dose"]
    assert "data:image/svg" in learner._repr_html_()


def test_edges_are_labelled_where_there_is_one_number(learner):
    dag, frame = learner.dag_, by_nodes(learner.network_)
    is_single = frame.groupby(level=[0, 1]).size() == 1
    for label in ("weight", "partial_r2"):
        known = frame[label][~frame.index.duplicated()].to_dict()
        if label == "weight":
            known = {edge: value for edge, value in known.items() if is_single[edge]}
        assert nx.get_edge_attributes(dag, label) == pytest.approx(known)
        shown = learner.plot(edge_label=label).labels_
        expected = {edge: f"{value:.3g}" for edge, value in known.items()}
        assert {edge: text.get_text() for edge, text in shown.items()} == expected
    assert 0 < is_single.sum() < len(is_single)
    site = GaussianBNLearner(nodes="auto", max_parents=1).fit(table()[["site", "dose"]])
    raises(r"They have \['coefficients', 'partial_r2'\]", site.plot, edge_label="weight")


def test_json_and_pickles_keep_blocks_to_the_bit(network, tmp_path):
    network.to_json(tmp_path / "network.json")
    read = GaussianBayesianNetwork.from_json(tmp_path / "network.json")
    for other in (read, pickle.loads(pickle.dumps(network))):
        assert_array_equal(other.coef_, network.coef_)
        assert nx.utils.graphs_equal(other.dag, network.dag)
        assert other.blocks == network.blocks
        assert_array_equal(other.score_samples(table(9)), network.score_samples(table(9)))
    raises("a list of objects 'nodes'", GaussianBayesianNetwork.from_json, "{}")
    raises(r"of JSON, or a pathlib\.Path", GaussianBayesianNetwork.from_json, b"{}", kind=TypeError)
    for held in (network.do({"site": "west"}), network.do({"spline": [1, 2]})):
        read = GaussianBayesianNetwork.from_json(held.to_json())
        assert_array_equal(read["y"].mean, held["y"].mean)
    older = json.loads(network.to_json())
    del older["sha256"]
    older["blocks"]["columns"] = [[*each, "more"] for each in older["blocks"]["columns"]]
    assert GaussianBayesianNetwork.from_json(json.dumps(older)).blocks == network.blocks


def changes(part, where=()):
    """Single changes of a part of a file: where, and to what; None leaves it out."""
    items = part.items() if isinstance(part, dict) else enumerate(part)
    for key, value in items:
        wrong = [None, True, -1, 1.5, 10**400, float("nan"), "zz", [], {}]
        if isinstance(value, list):
            wrong += [value[:-1], [*value, *value[-1:]], value[::-1]]
        if isinstance(value, str):
            wrong.append(value + "x")
        for other in wrong:
            if type(other) is not type(value) or other != value:
                yield (*where, key), other
        if isinstance(value, dict | list):
            yield from changes(value, (*where, key))


def test_files_with_a_damaged_part_are_refused(network):
    X = table(9)
    good, density = json.loads(network.to_json()), network.score_samples(X)
    n_refused = 0
    for where, value in changes(good["blocks"]):
        damaged = copy.deepcopy(good)
        part = damaged["blocks"]
        for key in where[:-1]:
            part = part[key]
        part[where[-1]] = value
        try:
            read = GaussianBayesianNetwork.from_json(json.dumps(damaged))
        except ValueError:
            n_refused += 1
        else:
            assert_array_equal(read.score_samples(X), density)
    assert n_refused > 500


def test_the_damaged_part_is_named(network):
    for change, message in [
        (lambda d: d["blocks"].update(widths=[1] * 6), "'blocks' was changed"),
        (lambda d: (d.pop("sha256"), d["blocks"].pop("widths")), "'blocks' is not as to_json"),
        (lambda d: d["network"]["nodes"].reverse(), "must be the same"),
        (lambda d: d["network"]["nodes"][0].update(id="zz"), "no node 'site=south'"),
        (lambda d: d["network"]["nodes"][0].update(exogenous=True), "edges to column 'dose'"),
        (lambda d: d["network"]["nodes"][2].update(intercept=1e3), "mean of node 'age' is"),
        (lambda d: d["network"]["nodes"][2].pop("mean"), "mean of node 'age' must be a finite"),
        (lambda d: d["network"]["edges"].pop(0), "mean of node 'site=west'"),
        (lambda d: d.pop("network"), "objects 'blocks' and 'network'"),
    ]:
        contents = json.loads(network.to_json())
        change(contents)
        raises(message, GaussianBayesianNetwork.from_json, json.dumps(contents))


@pytest.mark.parametrize(
    "levels",
    [
        [("a", 1), ("b", 2)],
        [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)],
        [pd.Timestamp("2020-01-01"), pd.Timestamp("2020-01-02")],
        [pd.Interval(0, 1), pd.Interval(1, 2)],
        [Decimal("1.5"), Decimal("2.5")],
        [b"a", b"b"],
        [0.5, np.inf],
        *([1, 2], [0.5, 1.5], [False, True], ["", "\u00e9"]),  # which it keeps
    ],
)
def test_levels_that_json_does_not_keep_are_named(levels):
    rng = np.random.default_rng(0)
    g = pd.Categorical.from_codes(rng.integers(0, 2, 40), pd.Index(levels, tupleize_cols=False))
    X = pd.DataFrame({"g": g, "y": rng.normal(size=40)})
    network = GaussianBNLearner(nodes="auto").fit(X).network_
    if levels[1] not in (2, 1.5, True, "\u00e9"):
        raises(r"JSON keeps levels .* 'g' has", network.to_json)
        return
    read = GaussianBayesianNetwork.from_json(network.to_json())
    assert read.blocks == network.blocks
    assert_array_equal(read.score_samples(X), network.score_samples(X))


def test_graphs_in_another_order_and_fixed_edges(network):
    blocks, X = network.blocks, table()
    dag = graph_of(["y", "spline", "dose", "smokes", "age", "site"], [("age", "y")])
    dag.add_edge("site", "y", fixed=True)
    network = GaussianBayesianNetwork(dag, blocks).fit(X)
    assert network.cpdag()["site"]["y"]["undirected"] is False
    read = GaussianBayesianNetwork.from_json(network.to_json())
    assert read.dag.edges["site", "y"]["fixed"]
    assert "fixed" not in read.dag.edges["age", "y"]
    held = network.do({"site": "west"})
    assert held.dag.has_edge("age", "y")
    assert np.isfinite(held.to_frame()["partial_r2"]).all()
    raises("They must be the same", GaussianBayesianNetwork, nx.DiGraph([("a", "b")]), blocks)
    bare = GaussianBayesianNetwork(dag, blocks)
    raises("Network has no parameters", bare.score_samples, X, kind=NotFittedError)


def test_bad_values_are_named(network):
    for values, error, message in [
        (None, TypeError, "must be a dict or a pandas.Series of nodes and values; got NoneType"),
        ([], TypeError, "must be a dict or a pandas.Series"),
        (pd.DataFrame({"age": [1.0]}), TypeError, r"Give one of its rows: \w+\.iloc\[0\]"),
        ({"site": ["west", "east"]}, ValueError, "node 'site' has the levels .* got 'east'"),
        ({"site": ["west", None]}, ValueError, "got None"),
        ({"site": ["west", ["west"]]}, ValueError, r"got \['west'\]"),
        ({"site": ["west", pd.NA]}, ValueError, "got <NA>"),
        ({"site": [], "age": []}, ValueError, "not be empty"),
        ({"site": ["west"], "age": [1, 2]}, ValueError, "'age': 2"),
        ({"age": [1, np.nan]}, ValueError, "'age' in \\w+, entry 1, must be .* got nan"),
        ({"spline": [[1, 2], [3]]}, ValueError, "node 'spline' has 2 columns; got .* list of such"),
        ({"spline": {"x": 1}}, ValueError, "node 'spline' has 2 columns; got {'x': 1}"),
        ({"spline": 1}, ValueError, "node 'spline' has 2 columns; got 1"),
        ({("site", "age"): 1}, ValueError, r"\('site', 'age'\) is not one of"),
    ]:
        for method in (network.condition, network.do):
            raises(message, method, values, kind=error)


def test_samples_have_the_columns_and_give_the_network_back(network):
    rows = network.sample(4000, random_state=0)
    assert_allclose(rows, network.columns_.sample(4000, random_state=0))
    frame = pd.DataFrame(rows, columns=network.columns_.nodes)
    again = GaussianBayesianNetwork(network.dag, network.blocks).fit(frame)
    assert_allclose(again.columns_.covariance_, np.cov(rows.T, ddof=0), rtol=0.1, atol=0.2)
    assert again.score(frame) >= network.score(frame)
    X = table(50).astype({"site": object})
    X.loc[::3, "site"] = None
    drawn = network.sample_missing(X, random_state=0)
    assert {*drawn["site"]} <= {"north", "south", "west"}
    assert drawn["site"][1::3].equals(X["site"][1::3])


def test_what_makes_no_sense_is_refused(learner, network):
    scores = LocalScoreTransformer(nodes=NODES).fit_transform(table())
    raises("'site' has the level 'east'", learner.score, table(5).assign(site="east"))
    raises('nodes="auto"', GaussianBNLearner().fit, table())
    raises("Set it where they are made", GaussianBNLearner(nodes="auto").fit, scores)
    raises(r"to_pgmpy\(network\.columns_\)", skbn.io.to_pgmpy, network, kind=TypeError)


def test_estimators_agree_on_nodes(learner, network):
    X = table()
    scores = LocalScoreTransformer(nodes=NODES).fit_transform(X)
    assert scores.columns == network.nodes
    assert_allclose(scores.network_score(learner.dag_), learner.network_score_)
    of_scores = GaussianBNLearner().fit(scores)
    assert of_scores.dag_.edges == learner.dag_.edges
    assert_allclose(of_scores.score(X), learner.score(X))
    chosen = skbn.GaussianBNLearnerCV(nodes=NODES, penalties=[1.0], cv=3).fit(X)
    assert chosen.dag_.edges == learner.dag_.edges
    averaged = skbn.BootstrapBNLearner(GaussianBNLearner(nodes=NODES), n_resamples=3)
    assert averaged.fit(X).edge_support_.shape == (6, 6)
    assert averaged.network_.nodes == network.nodes
    assert learner.near_optimal(2).scores[0] == pytest.approx(learner.network_score_)
    parts = LocalScoreTransformer(nodes="auto").partial_fit(X[:60]).partial_fit(X[60:])
    whole = LocalScoreTransformer(nodes="auto").fit(X).local_scores_
    assert_allclose(parts.local_scores_.to_array(), whole.to_array(), rtol=1e-9)


def test_a_posterior_is_about_nodes():
    X = table().assign(age=lambda t: (t["age"] - 50) / 10)
    posterior = skbn.GaussianBNPosterior(nodes=NODES, edge_prior=0.2).fit(X)
    assert posterior.edge_probabilities_.shape == (6, 6)
    assert posterior.median_network_.nodes == ["site", "age", "spline", "dose", "smokes", "y"]
    (drawn,) = posterior.sample_networks(1, random_state=0)
    assert np.isfinite(drawn.score_samples(X)).all()
    draws = posterior.sample_networks(40, random_state=0)
    effect = posterior.effect(("site", "south", "west"), "y", n_samples=40, random_state=0)
    ends = [net.do({"site": ["south", "west"]})["y"].mean for net in draws]
    found = [b - a for a, b in ends if abs(b - a) > 1e-12]
    assert_allclose(effect.values[1:], found)  # the first is 0, of no path
    assert repr(effect).startswith("Effect of do(site: south to west) on y")
    effects = posterior.effects(n_samples=40, random_state=0)
    frame = effects.to_frame()
    assert {"site: north to west", "x2"} <= {*frame["cause"]}
    assert {"site=west", "x2"} <= {*frame["outcome"]}
    west = effects[("site", "north", "west"), "y"]
    means = [net.total_effect(("site", "north", "west"), "y") for net in draws]
    assert_allclose(west.values[1:], [mean for mean in means if mean], rtol=1e-9)
    message = r"Ask posterior.effect\(\('site', 'south', 'west'\)"
    raises(message, effects.__getitem__, (("site", "south", "west"), "y"))
    new, draws = X.head(4), posterior.sample_networks(200, random_state=1)
    logs = np.array([network.score_samples(new).sum() for network in draws])
    expected = logs.max() + np.log(np.exp(logs - logs.max()).mean())
    assert 4 * posterior.score(new) == pytest.approx(expected, abs=0.3)


def test_a_sample_of_numbered_nodes_has_the_columns_of_the_table():
    rows = np.random.default_rng(0).normal([0, 100, 200], size=(500, 3))
    network = GaussianBNLearner(nodes=[1, 0, 0]).fit(rows).network_
    assert_allclose(network.sample(50, 0).mean(axis=0), [0, 100, 200], atol=1)
    assert_allclose(network.columns_.score_samples(rows), network.score_samples(rows))
