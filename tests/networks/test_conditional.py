"""Networks with exogenous nodes, against conditional distributions of all nodes together."""

import sys

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import reference
from agreement import raises
from drawn import weighted
from experiment_tables import experiment
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal, norm

import skbn
from skbn import GaussianBayesianNetwork, GaussianBNLearner, GaussianDistribution

NAMES = list("abcde")
OUTSIDE = ["b", "d"]


def fitted(seed=0, outside=OUTSIDE):
    """A network with exogenous nodes, one that has distributions of these too, and new rows."""
    draws = ((60, seed), (8, seed + 100))
    table, new = (pd.DataFrame(experiment(5, [], n=n, seed=s)[0], columns=NAMES) for n, s in draws)
    network = GaussianBNLearner("aic", exogenous=outside).fit(table).network_
    dag = network.dag
    dag.add_nodes_from(dag, exogenous=False)
    return network, GaussianBayesianNetwork(dag), new


def conditional(joint, row, wanted, given):
    """The mean and covariance of some nodes given others, by the joint distribution."""
    both = [NAMES.index(node) for node in (*wanted, *given)]
    mean, covariance = joint.mean_[both], joint.covariance_[np.ix_(both, both)]
    places = list(range(len(wanted), len(both)))
    return reference.conditional(mean, covariance, places, row[given].to_numpy())


def density(joint, row, outside=OUTSIDE):
    """The log density of what is seen of a row, given the exogenous values."""
    seen = [node for node in NAMES if node not in outside and not np.isnan(row[node])]
    if not seen:
        return 0.0
    mean, covariance = conditional(joint, row, seen, outside)
    return multivariate_normal(mean, covariance).logpdf(row[seen])


@pytest.mark.parametrize("outside", [["b"], ["b", "d"], ["a", "c", "d", "e"]])
def test_densities_are_conditional(outside):
    network, joint, rows = fitted(outside=outside)
    assert network.exogenous == outside
    expected = [density(joint, row, outside) for _, row in rows.iterrows()]
    assert_allclose(network.score_samples(rows), expected, rtol=1e-8, atol=1e-9)
    assert network.score(rows) == pytest.approx(np.mean(expected))
    weight = np.random.default_rng(0).random(len(rows))
    weighted = network.score(rows, sample_weight=weight)
    assert weighted == pytest.approx(np.average(expected, weights=weight))


@pytest.mark.parametrize("seed", range(2))
def test_densities_of_rows_with_holes(seed):
    network, joint, rows = fitted(seed)
    holes = np.random.default_rng(seed).random(rows.shape) < 0.4
    holes[:, [NAMES.index(node) for node in OUTSIDE]] = False
    holes[3] = [node not in OUTSIDE for node in NAMES]
    rows = rows.mask(holes)
    expected = [density(joint, row) for _, row in rows.iterrows()]
    assert_allclose(network.score_samples(rows), expected, rtol=1e-8, atol=1e-9)
    counts = rows.drop(columns=[*OUTSIDE]).notna().any(axis=1).to_numpy()
    assert not counts[3]
    assert network.score(rows) == pytest.approx(np.mean(expected, where=counts))
    rows.loc[5, "d"] = np.nan
    raises(r"Node 'd' is exogenous and has no value in row 5", network.score_samples, rows)


def test_the_spread_of_exogenous_values_does_not_matter():
    network, joint, rows = fitted()
    dag = network.dag
    for node in OUTSIDE:
        dag.nodes[node]["intercept"] += 10.0
        dag.nodes[node]["noise_variance"] *= 7.0
    expected = [density(joint, row) for _, row in rows.iterrows()]
    changed = GaussianBayesianNetwork(dag)
    assert_allclose(changed.score_samples(rows), expected, rtol=1e-8)
    far = rows.assign(b=1e6)
    assert np.isfinite(changed.score_samples(far)).all()


def test_conditional_distributions_and_predictions():
    network, joint, rows = fitted()
    row = rows.iloc[0]
    found = network.condition({"b": row["b"], "d": row["d"], "e": row["e"]})
    mean, covariance = conditional(joint, row, ["a", "c"], ["b", "d", "e"])
    assert_allclose(found.mean, mean)
    assert_allclose(found.covariance, covariance, atol=1e-12)
    for given in (["b", "d"], ["b", "d", "e"], ["a", "b", "d", "e"]):
        expected = [conditional(joint, row, ["c"], given)[0][0] for _, row in rows.iterrows()]
        assert_allclose(network.predict(rows[given], "c"), expected)
    for target in ("b", ["a", "b"]):
        raises(r"Node 'b' is exogenous.*cannot predict it", network.predict, rows, target)
    assert [*network.predict(rows[OUTSIDE]).columns] == ["a", "c", "e"]


def test_filled_rows():
    network, joint, rows = fitted()
    holes = rows.copy()
    holes.loc[2, ["a", "c"]] = np.nan
    filled = network.impute(holes)
    mean, covariance = conditional(joint, rows.loc[2], ["a", "c"], ["b", "d", "e"])
    assert_allclose(filled.loc[2, ["a", "c"]].astype(float), mean)
    assert_array_equal(filled.drop(2), rows.drop(2))
    many = pd.concat([holes.loc[[2]]] * 4000, ignore_index=True)
    drawn = network.sample_missing(many, random_state=0)[["a", "c"]]
    error = np.sqrt(np.diag(covariance) / len(many))
    assert (np.abs(drawn.mean() - mean) < 5 * error).all()
    assert_allclose(drawn.cov(), covariance, rtol=0.1, atol=0.02)


def test_samples_and_interventions():
    network, joint, rows = fitted()
    values = rows.loc[[0], OUTSIDE]
    many = pd.concat([values] * 5000, ignore_index=True)
    drawn = network.set_output(transform="pandas").sample(exogenous=many, random_state=0)
    assert_array_equal(drawn[OUTSIDE], many)
    others = [node for node in NAMES if node not in OUTSIDE]
    mean, covariance = conditional(joint, rows.loc[0], others, OUTSIDE)
    assert (np.abs(drawn[others].mean() - mean) < 5 * np.sqrt(np.diag(covariance) / 5000)).all()
    assert_allclose(drawn[others].cov(), covariance, rtol=0.1, atol=0.1)

    held = network.do(values.iloc[0].to_dict())
    assert held.exogenous == []
    assert_allclose(held[others].mean, mean)
    assert_allclose(held[others].covariance, covariance, atol=1e-12)
    partly, both = (each.do({"b": 1.0, "c": 2.0}) for each in (network, joint))
    assert partly.exogenous == ["d"]
    found, at = (each.condition({"d": 0.5}) for each in (partly, both))
    assert_allclose(found.mean, at.mean)
    assert_allclose(found.covariance, at.covariance, atol=1e-12)


def test_one_row_is_drawn_for_each():
    network, _, rows = fitted()
    again = network.sample(exogenous=rows[OUTSIDE].to_numpy(), random_state=0)
    assert_array_equal(again, network.sample(exogenous=rows, random_state=0))
    for n_samples, table, message in [
        (3, rows, "n_samples=3 was given"),
        (1, rows[["b"]], "'d'"),
        (1, rows.assign(b=np.nan), "table of exogenous values .* missing values"),
    ]:
        raises(message, network.sample, n_samples, exogenous=table)
    message = r"exogenous must be a table .* Pass pandas\.DataFrame"
    raises(message, network.sample, exogenous={"b": [1.0], "d": [2.0]}, kind=TypeError)
    raises("no exogenous nodes", network.do({"b": 0, "d": 0}).sample, exogenous=rows)


def test_values_of_exogenous_nodes_are_asked_for():
    network, _, rows = fitted()
    unknown = rows.assign(b=np.nan, d=np.nan)
    for ask in (
        lambda: network.mean_,
        lambda: network.covariance_,
        lambda: network.sample(3),
        lambda: network.condition({"a": 1}),
        lambda: network.predict(rows[["a"]], "c"),
        lambda: network.do({"a": 1}).sample(),
        lambda: network["a"],
        lambda: skbn.io.to_pgmpy(network),
        lambda: network[["a", "c"]],
        lambda: network.impute(unknown),
        lambda: network.sample_missing(unknown),
    ):
        raises(r"The nodes \['b', 'd'\] are exogenous.*Give their values", ask)


def test_graphs_that_say_which_nodes_are_exogenous():
    dag = nx.DiGraph(["ab", "bc"])
    dag.nodes["b"]["exogenous"] = True
    raises(r"'b' is exogenous.*edge 'a' -> 'b'", GaussianBayesianNetwork, dag)
    dag.nodes["a"]["exogenous"] = True
    network = GaussianBayesianNetwork(dag)
    assert network.exogenous == ["a", "b"]
    # No member of the class gives them parents.
    assert [*network.cpdag().edges(data="undirected")] == [("a", "b", False), ("b", "c", False)]
    assert network.cpdag(knowledge=False).edges["a", "b"]["undirected"]
    table = pd.DataFrame(
        np.random.default_rng(0).normal(size=(30, 3)).cumsum(axis=1), columns=[*"abc"]
    )
    fitted = network.fit(table)
    residuals = table["c"] - fitted.intercept_[2] - fitted.coef_[1, 2] * table["b"]
    expected = norm(0, np.sqrt(fitted.noise_variance_[2])).logpdf(residuals)
    assert_allclose(fitted.score_samples(table), expected)
    dag.nodes["a"]["exogenous"] = "yes"
    message = "exogenous of the node 'a' must be True or False"
    raises(message, GaussianBayesianNetwork, dag)


# Interventions in new rows


@pytest.mark.parametrize("outside", [None, ["b"]])
def test_the_likelihood_counts_what_was_not_set(outside):
    rows, is_set = experiment(5, [{0}, {2, 3}, {1, 4}], n=20)
    table = pd.DataFrame(rows, columns=NAMES)
    learner = GaussianBNLearner(exogenous=outside).fit(table, interventions=is_set)
    network = learner.network_
    noise = rows - rows @ network.coef_ - network.intercept_
    own = norm(0, np.sqrt(network.noise_variance_)).logpdf(noise)
    counts = ~is_set & ~np.isin(NAMES, outside or [])
    total = np.where(counts, own, 0.0).sum(axis=1)
    frame = pd.DataFrame(is_set, columns=NAMES)
    assert learner.score(table, interventions=frame) == pytest.approx(total.mean())
    weight = np.random.default_rng(0).random(len(rows))
    weighted = learner.score(table, sample_weight=weight, interventions=is_set)
    assert weighted == pytest.approx(np.average(total, weights=weight))
    none_set = learner.score(table, interventions=[None] * len(rows))
    assert none_set == pytest.approx(learner.score(table))
    raises("missing", learner.score, table.assign(c=np.nan), interventions=is_set)


def test_a_category_that_is_set_is_no_draw():
    rng = np.random.default_rng(0)
    site = rng.choice(["north", "south"], size=200)
    y = rng.normal(size=200) + 2 * (site == "south")
    table = pd.DataFrame({"site": site, "y": y, "z": y + rng.normal(size=200)})
    network = GaussianBNLearner(nodes="auto", exogenous=["site"]).fit(table).network_
    rows = network.do({"site": "south"}).sample(2000, random_state=0)
    assert_array_equal(rows[:, 0], 1.0)
    expected = network.condition({"site": "south"})["y"].mean
    assert rows[:, 1].mean() == pytest.approx(expected, abs=0.1)


@pytest.mark.parametrize("outside", [[], OUTSIDE])
def test_grids_of_scenarios_are_single_scenarios_side_by_side(outside):
    network = fitted(outside=outside)[0]
    given = {"d": [1.0, -2.0, 0.5], "b": 3, "a": pd.Series([0, 1, 2])}
    seen, held = network.condition(given), network.do(given)
    assert seen.mean.shape == (3, 2)
    assert held.nodes == NAMES
    for k in range(3):
        one = {"d": given["d"][k], "b": 3, "a": k}
        for found, expected in ((seen, network.condition(one)), (held, network.do(one)[NAMES])):
            assert_allclose(found.mean[k], expected.mean, rtol=1e-12, atol=1e-12)
            assert_allclose(found.covariance, expected.covariance, rtol=1e-9, atol=1e-12)
    assert_array_equal(held["d"].mean, given["d"])
    assert held[["e", "d"]].mean.tolist() == held.mean[:, [4, 3]].tolist()
    frame = held.to_frame()
    assert frame["scenario"].tolist() == [0] * 5 + [1] * 5 + [2] * 5
    assert frame["mean"].tolist() == held.mean.ravel().tolist()
    assert "5 nodes in 3 scenarios" in repr(held)
    if outside:
        raises(r"nodes \['b'\] are exogenous", network.do, {"d": [1, 2]})


# The nodes of a distribution by name, and the same of a network


FIRST = ["a", "b", "c"]


def network(names):
    """x -> y -> z with weights 2 and -1 and noise of variance 1, 4, 9."""
    x, y, z = names
    dag = weighted(names, [(x, y, 2.0), (y, z, -1.0)])
    dag.add_node(x, intercept=1.0)
    dag.add_node(y, noise_variance=4.0)
    dag.add_node(z, intercept=3.0, noise_variance=9.0)
    return GaussianBayesianNetwork(dag)


# Integers in another order than their positions, and tuples: a list names several nodes.
@pytest.mark.parametrize("names", [FIRST, [2, 0, 1], [("a", 1), ("a", 2), "a"]])
def test_nodes_are_found_by_their_names(names):
    x, y, z = names
    joint = network(names)
    # By hand: means 1, 2, 1; variances 1, 4 + 4 and 8 + 9.
    for node, mean, variance in zip(names, [1, 2, 1], [1, 8, 17], strict=True):
        marginal = joint[node]
        assert marginal == pytest.approx((mean, variance**0.5))
        assert (marginal.mean, marginal.standard_deviation) == tuple(marginal)
    some = joint[[z, x]]
    assert some.nodes == [z, x]
    assert_allclose(some.mean, [1, 1])
    assert_allclose(some.covariance, [[17, -2], [-2, 1]])
    # Given y = 4: x has mean 1 + 2 / 8 * 2 and variance 1 - 4 / 8.
    seen = joint.condition({y: 4.0})
    assert seen[x] == pytest.approx((1.5, 0.5**0.5))
    assert seen[[z, x]][z] == seen[z] == pytest.approx((-1, 3))
    # Set to 4, it says nothing of x, and does not vary.
    held = joint.do({y: 4.0})
    assert held[x] == pytest.approx((1, 1))
    assert held[y] == (4, 0)
    assert held[z] == pytest.approx((-1, 3))


def test_a_table_without_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    table = network(FIRST).do({"b": 4.0})[["b"]].to_frame()
    assert table == {"node": ["b"], "mean": [4.0], "standard_deviation": [0.0]}


@pytest.mark.parametrize("distribution", [network(FIRST), network(FIRST).condition({})])
def test_unknown_nodes_are_named(distribution):
    for index, message in [
        ("alcohol", r"'alcohol' is not one of \['a', 'b', 'c'\]"),
        (0, r"0 is not one of \['a', 'b', 'c'\]"),
        (["a", "d"], r"'d' is not one of"),
        (["a", "a"], "each once"),
        ([], "must name nodes"),
    ]:
        raises(message, distribution.__getitem__, index)


@pytest.mark.parametrize("names", [FIRST, [0, 1, 2]])
def test_distributions_are_no_sequences(names):
    """Unpacking would otherwise give the marginals of nodes that are called 0, 1, 2."""
    for distribution in (network(names), network(names).condition({})):
        raises("iter", iter, distribution, kind=TypeError)


def test_a_distribution_of_ones_own():
    own = GaussianDistribution([5, 7], np.array([1.0, 2.0]), np.array([[4.0, 1.0], [1.0, 9.0]]))
    assert own[7] == (2.0, 3.0)
    assert_array_equal(own.standard_deviation, [2.0, 3.0])
