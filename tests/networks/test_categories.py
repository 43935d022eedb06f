"""What networks say of categories, against discriminants and sums over all levels."""

from itertools import combinations, permutations

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
import reference
from agreement import raises
from drawn import graph_of
from numpy.testing import assert_allclose, assert_array_equal

from skbn import GaussianBayesianNetwork, GaussianBNImputer, GaussianBNLearner, GaussianBNPosterior
from skbn._networks import categories

pytestmark = pytest.mark.filterwarnings("ignore::skbn.exceptions.DataWarning")


def table(n=150, seed=0):
    """Two categories that depend on each other, and two numbers."""
    rng = np.random.default_rng(seed)
    g = rng.choice(3, p=[0.5, 0.3, 0.2], size=n)
    h = rng.random(n) < np.array([0.2, 0.5, 0.7])[g]
    y = 3 * g + 2 * h + rng.normal(size=n)
    z = np.array([0, 3, 0])[g] + 0.5 * y - h + rng.normal(size=n)
    return pd.DataFrame({"y": y, "g": np.array([*"abc"])[g], "z": z, "h": np.where(h, "yes", "no")})


def network_of(X, order, **fit):
    """The complete network whose edges follow an order."""
    dag = graph_of(sorted(order), combinations(order, 2))
    return GaussianBayesianNetwork(dag).fit(X, **fit)


def shares_of(values):
    return values.value_counts(normalize=True).sort_index()


def discriminant(X, numbers, weight=None):
    rows, weight = X[numbers].to_numpy(), np.ones(len(X)) if weight is None else weight
    return reference.linear_discriminant(rows, X["g"].to_numpy(), weight, rows)


@pytest.mark.parametrize("order", [*permutations("ygz")])
def test_one_category_and_all_edges_are_a_linear_discriminant(order):
    X = table()
    weight = np.random.default_rng(1).integers(1, 4, len(X)).astype(float)
    expected = discriminant(X, ["y", "z"], weight)
    network = network_of(X, order, sample_weight=weight)
    assert_allclose(network.predict(X, "g"), expected, rtol=0, atol=1e-12)
    given = {"y": X["y"], "z": X["z"]}
    assert_allclose(probabilities(network.condition(given)["g"]), expected, rtol=0, atol=1e-12)
    scaled = X[["z", "y", "g"]].assign(y=1e5 + 100 * X["y"], z=-X["z"] / 7)
    found = network_of(scaled, order, sample_weight=weight).predict(scaled, "g")
    assert_allclose(found, expected, rtol=0, atol=1e-9)
    shares = np.average(pd.get_dummies(X["g"]), axis=0, weights=weight)
    assert_allclose(probabilities(network["g"]), shares)


def test_the_middle_of_three_groups_is_found():
    rng = np.random.default_rng(0)
    g = np.repeat([*"abc"], 50)
    X = pd.DataFrame({"g": g, "y": np.repeat([0.0, 5.0, 10.0], 50) + rng.normal(size=150)})
    holes = X.assign(g=X["g"].where(rng.random(150) < 0.5))
    learner = GaussianBNLearner(nodes="auto").fit(X)
    imputer = GaussianBNImputer(GaussianBNLearner(nodes="auto", missing="em"))
    drawn = learner.network_.sample_missing(holes, random_state=0)
    for filled in (learner.impute(holes), imputer.fit_transform(holes), drawn):
        assert (np.asarray(filled)[:, 0] == g).mean() > 0.97
    polar = learner.network_.impute(pl.from_pandas(holes))
    assert polar["g"].to_list() == learner.impute(holes)["g"].tolist()


@pytest.mark.parametrize("order", ["yghz", "hzyg", "gyhz", "zyhg"])
def test_two_categories_and_all_edges_are_the_location_model(order):
    X = table()
    rows = X[["y", "z"]].to_numpy()
    cells = reference.location_model(rows, [X["g"].to_numpy(), X["h"].to_numpy()], rows)
    network = network_of(X, order)
    both = network.predict(X, ["g", "h"])
    for node in "gh":
        for level in X[node].unique():
            expected = sum(p for cell, p in cells.items() if cell["gh".index(node)] == level)
            assert_allclose(both[f"{node}={level}"], expected, atol=1e-10)
    given_h = network.predict(X, "g")
    for i, h in enumerate(X["h"][:20]):
        own = np.array([cells[level, h][i] for level in "abc"])
        assert_allclose(given_h.iloc[i], own / own.sum(), atol=1e-10)


def sparse(n=200, seed=1):
    """A network of three categories and three numbers that lacks edges, and its table."""
    rng = np.random.default_rng(seed)
    X = table(n, seed).assign(k=rng.choice([*"uvw"], size=n), x=rng.normal(size=n))
    X["z"] += 2 * (X["k"] == "v")
    dag = nx.DiGraph([("g", "y"), ("h", "y"), ("y", "z"), ("k", "z"), ("x", "k"), ("g", "h")])
    return GaussianBayesianNetwork(dag).fit(X), X


def probabilities(levels):
    """Return the probabilities of a category's levels, the last axis."""
    return np.stack([*levels.values()], axis=-1)


def columns_of(network, X):
    """The values of the network's columns in rows with holes."""
    found = []
    for column in network.columns_.nodes:
        node, _, level = column.partition("=")
        values = (X[node] == level).where(X[node].notna()) if level else X[node]
        found.append(values.astype(float))
    return np.column_stack(found)


def moments(network, row):
    """The means and covariance of the network's columns given what a row has of them."""
    columns = network.columns_
    blocks = [[columns.nodes.index(c) for c in network.nodes_[node]] for node in "ghk"]
    return reference.mixture_over_levels(columns.mean_, columns.covariance_, blocks, row)


def test_holes_of_any_kind_are_mixtures_over_all_levels():
    network, X = sparse()
    holes = X[:40].mask(np.random.default_rng(0).random((40, X.shape[1])) < 0.5)
    holes.loc[:1, [*"hyzkx"]] = np.nan
    names = network.columns_.nodes
    filled = network.impute(holes)
    for i, row in enumerate(columns_of(network, holes)):
        mean, covariance = moments(network, row)
        found = network.condition(holes.iloc[i].to_dict())
        at = [names.index(c) for c in found.nodes if c in names]
        if at:
            joint = found[[names[k] for k in at]]
            assert_allclose(joint.mean, mean[at], atol=1e-9)
            assert_allclose(joint.covariance, covariance[np.ix_(at, at)], atol=1e-8)
        for node in {*network.nodes} & {*holes.columns[holes.iloc[i].isna()]}:
            at = [names.index(c) for c in network.nodes_[node]]
            if node in "ghk":
                expected = [1 - mean[at].sum(), *mean[at]]
                assert_allclose(probabilities(found[node]), expected, atol=1e-9)
                assert filled[node].iloc[i] == [*found[node]][np.argmax(expected)]
            else:
                assert_allclose(filled[node].iloc[i], mean[at], rtol=1e-8)


@pytest.mark.parametrize("seed", range(8))
def test_equivalent_networks_answer_alike(seed):
    rng = np.random.default_rng(seed)
    X = table().assign(x=rng.normal(size=150))
    pairs = combinations(rng.permutation(X.columns), 2)
    dag = graph_of(X.columns, [edge for edge in pairs if rng.random() < 0.6])
    network = GaussianBayesianNetwork(dag).fit(X)
    other = GaussianBayesianNetwork.from_cpdag(network.cpdag()).fit(X[X.columns[::-1]])
    for given in (["y", "z", "x"], ["y", "x"]):
        expected = network.predict(X, ["g", "h"], given=given)
        found = other.predict(X, ["g", "h"], given=given)
        assert_allclose(found[expected.columns], expected, atol=1e-6)


def test_predictions_have_standard_deviations():
    network, X = sparse()
    names, given = network.columns_.nodes, ["y", "x"]
    rows = X[:9].mask(np.random.default_rng(1).random((9, X.shape[1])) < 0.3)
    target = ["k", "z", "g"]
    mean, deviation = network.predict(rows, target, given=given, return_std=True)
    assert_array_equal(mean, network.predict(rows, target, given=given))
    assert list(mean.columns) == list(deviation.columns)
    for i, row in enumerate(columns_of(network, rows.assign(g=None, h=None, k=None, z=np.nan))):
        own, covariance = moments(network, row)
        for column in [c for c in mean.columns if c in names]:
            at = names.index(column)
            assert mean[column].iloc[i] == pytest.approx(own[at], abs=1e-9)
            assert deviation[column].iloc[i] == pytest.approx(covariance[at, at] ** 0.5, abs=1e-7)
    some = rows[given].to_numpy(dtype=object)
    one, deviation = network.predict(some, "z", given, return_std=True)
    assert one.shape == deviation.shape == (9,)
    numbers = GaussianBNLearner().fit(X[["y", "z", "x"]]).network_
    _, deviation = numbers.predict(X[["y", "x"]], "z", return_std=True)
    assert_allclose(deviation, numbers.condition({"y": 0.0, "x": 0.0})["z"].standard_deviation)


def test_draws_have_the_levels_by_their_probabilities():
    network, X = sparse()
    evidence = {"y": 5.0, "k": "v"}
    holes = pd.concat([X[:1].assign(g=None, h=None, z=np.nan, x=np.nan, **evidence)] * 4000)
    drawn = network.sample_missing(holes, random_state=0)
    found = network.condition(evidence)
    for node in "gh":
        for level, probability in found[node].items():
            error = np.sqrt(probability * (1 - probability) / 4000)
            assert abs((drawn[node] == level).mean() - probability) < 5 * error + 1e-3
    for node in "zx":
        mean, deviation = found[node]
        assert abs(drawn[node].mean() - mean) < 5 * deviation / np.sqrt(4000)
        assert drawn[node].std() == pytest.approx(deviation, rel=0.06)


def test_more_combinations_than_are_listed_are_drawn(monkeypatch):
    network, X = sparse()
    exact = network.predict(X[:20], ["g", "h", "k"], given=["y", "z"])
    monkeypatch.setattr(categories, "_MOST_COMBINATIONS", 17)
    with pytest.warns(UserWarning, match="shares of 500 Gibbs steps"):
        drawn = network.predict(X[:20], ["g", "h", "k"], given=["y", "z"])
    assert abs(drawn - exact).max(axis=None) < 0.1


def test_what_comes_before_a_category_may_be_set():
    X = table()
    network = network_of(X, "yghz")
    rows = [0.0, 3.0, 6.0]
    alone = GaussianBayesianNetwork(nx.DiGraph([("y", "g"), ("g", "h")])).fit(X)
    for of in (network, alone):
        seen, held = of.condition({"y": rows}), of.do({"y": rows})
        assert_allclose(probabilities(held["g"]), probabilities(seen["g"]))
        assert_allclose(probabilities(held["h"]), probabilities(seen["h"]), atol=0.02)
        for k, y in enumerate(rows):
            one = of.do({"y": y})
            assert_allclose(probabilities(one["g"]), probabilities(held["g"])[k])
            read = GaussianBayesianNetwork.from_json(one.to_json())
            assert_array_equal(probabilities(read["g"]), probabilities(one["g"]))
            assert_allclose(probabilities(one["h"]), probabilities(held["h"])[k])
    shares = pd.crosstab(X["g"], X["h"], normalize="index")
    for level in "abc":
        held = alone.do({"g": level})
        assert_allclose(probabilities(held["h"]), shares.loc[level])
        assert held["g"] == {each: float(each == level) for each in "abc"}
    later = network_of(X, "ghyz").do({"y": 3.0})
    for node in "gh":
        assert_allclose(probabilities(later[node]), shares_of(X[node]))


def test_exogenous_numbers_that_depend_on_each_other():
    X = table()
    dag = graph_of("yz", ["yg", "zg"], exogenous=True)
    network = GaussianBayesianNetwork(dag).fit(X)
    assert_allclose(network.predict(X, "g"), discriminant(X, ["y", "z"]), atol=1e-10)
    network = GaussianBayesianNetwork(graph_of("h", ["hg"], exogenous=True)).fit(X)
    shares = pd.crosstab(X["h"], X["g"], normalize="index")
    assert_allclose(probabilities(network.condition({"h": ["no", "yes"]})["g"]), shares)


def test_without_evidence_a_level_has_its_share():
    network, X = sparse()
    for node in "ghk":
        assert_allclose(probabilities(network[node]), shares_of(X[node]), atol=0.02)
    assert network["g"] == network.condition({})["g"]
    assert_allclose(network[["y", "g"]].mean[0], network.columns_["y"].mean)


def test_levels_that_exclude_each_other_are_weighed_by_the_numbers():
    X = table()
    X["h"] = np.where(X["g"] == "a", "yes", X["h"])
    network = network_of(X, "ghyz")
    found = network.condition({"h": "no", "y": 0.0, "z": 0.0})["g"]
    assert found["a"] < 1e-6
    extreme = network.condition({"y": 1e200, "z": 1.0})["g"]
    assert max(extreme, key=extreme.get) == "c"
    assert sum(extreme.values()) == pytest.approx(1)


def test_probabilities_are_displayed():
    network, _ = sparse()
    found = network.condition({"y": 1.0})
    assert repr(found["g"]).startswith("{'a': 0.")
    of_scenarios = network.condition({"y": [1.0, 2.0]})["g"]
    assert_allclose(sum(of_scenarios.values()), [1, 1])
    rows = {line.split()[0]: line.split()[1:] for line in repr(found).splitlines()[2:]}
    assert len(rows["g=a"]) == 1
    assert len(rows["z"]) == 2
    assert {"g=a", *found.nodes} <= {*found.to_frame()["node"]}
    assert isinstance(found["g"], dict)
    raises("'q' is not one of", found.probability, {"g": "q"})


def test_augmented_tables_have_levels():
    X = table(60)
    holes = X.mask(np.random.default_rng(0).random(X.shape) < 0.1)
    settings = {"missing": "augment", "n_imputations": 3, "random_state": 0}
    for complete in GaussianBNPosterior(nodes="auto", **settings).fit(holes).imputed_tables_:
        assert {*complete[:, 1]} == {*"abc"}


def test_a_level_is_an_anomaly_if_those_as_improbable_are():
    X = table()
    network = GaussianBayesianNetwork(nx.DiGraph(["gh", "yg", "gz"])).fit(X)
    holes = X.copy()
    holes.loc[0, "y"], holes.loc[1, "h"] = np.nan, None
    found = network.anomalies(holes)
    of_g = discriminant(X, ["y"])
    shares = pd.crosstab(X["g"], X["h"], normalize="index")
    assert list(found.p_values.columns) == network.nodes
    for i in range(2, 40):
        own = of_g[i]["abc".index(X["g"][i])]
        expected = of_g[i][of_g[i] <= own + 1e-9].sum()
        assert found.unadjusted_p_values["g"][i] == pytest.approx(expected)
        own = shares.loc[X["g"][i]]
        own_sum = own[own <= own[X["h"][i]] + 1e-9].sum()
        assert found.unadjusted_p_values["h"][i] == pytest.approx(own_sum)
        assert found.expected["g"][i] == "abc"[of_g[i].argmax()]
        assert found.values["g"][i] == X["g"][i]
    assert np.isnan(found.p_values["g"][0])
    assert np.isnan(found.p_values["h"][1])
    assert pd.isna(found.values["h"][1])
    assert found.values["y"].dtype == float
    wrong = X.assign(y=X["y"].where(X.index != 3, 60 - 1e3))
    wrong["g"] = X["g"].where(X.index != 3, "c")
    listed = network.anomalies(wrong).to_frame()
    assert ("g", 3) in {*zip(listed["column"], listed["row"], strict=True)}
    assert listed["row_p_value"].min() < 1e-6
    posterior = GaussianBNPosterior(nodes="auto").fit(X)
    of_networks = posterior.anomalies(wrong, n_samples=10, random_state=0)
    assert list(of_networks.p_values.columns) == [*X.columns]
