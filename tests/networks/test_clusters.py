"""Standard errors by clusters: against the sandwich written out, and in other units and orders."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from agreement import raises
from numpy.testing import assert_allclose

from skbn import GaussianBayesianNetwork, GaussianBNLearner, LocalScoreTransformer, from_covariance

DAG = nx.DiGraph([("a", "b"), ("a", "c"), ("b", "c"), ("c", "d")])
NAMES = [*"abcd"]


def table(n_persons=25, seed=0):
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(n_persons), rng.integers(2, 6, n_persons))
    rows = rng.normal(size=(len(person), 4)) + rng.normal(size=(n_persons, 4))[person] + 5
    rows = rows @ (np.eye(4) + np.triu(rng.normal(size=(4, 4)), 1))
    order = rng.permutation(len(rows))
    return pd.DataFrame(rows[order], columns=NAMES), person[order]


def fit(rows, **settings):
    return GaussianBayesianNetwork(DAG).fit(rows, **settings)


def sandwich(rows, outcome, groups, weight):
    """Return the covariance of the coefficients, the intercept first, and the freedom."""
    design = np.column_stack([np.ones(len(rows)), rows])
    bread = np.linalg.inv((design.T * weight) @ design)
    residuals = outcome - design @ (bread @ (design.T * weight) @ outcome)
    labels = sorted({*groups})
    meat = np.zeros_like(bread)
    for label in labels:
        of_group = [g == label for g in groups]
        score = (weight[of_group] * residuals[of_group]) @ design[of_group]
        meat += np.outer(score, score)
    g, n, k = len(labels), weight.sum(), design.shape[1]
    return bread @ meat @ bread * g / (g - 1) * (n - 1) / (n - k), g - 1


def expected(rows, groups, weight=None):
    weight = np.ones(len(rows)) if weight is None else weight
    errors = {}
    for child in NAMES:
        parents = [*DAG.predecessors(child)]
        if parents:
            known = weight > 0
            given = rows[parents].to_numpy()[known], rows[child].to_numpy()[known]
            covariance, freedom = sandwich(*given, np.asarray(groups)[known], weight[known])
            for parent, variance in zip(parents, np.diag(covariance)[1:], strict=True):
                errors[parent, child] = np.sqrt(variance), freedom
    return errors


def errors_of(network):
    found = network.to_frame()
    return dict(zip(zip(found.parent, found.child, strict=True), found.std_err, strict=True))


def holds(network, own):
    assert_allclose([*errors_of(network).values()], [own[edge][0] for edge in errors_of(network)])


def test_errors_are_those_of_the_sandwich():
    rows, person = table()
    network, plain = fit(rows, groups=person), fit(rows)
    own = expected(rows, person)
    holds(network, own)
    holds(fit(rows, groups=np.arange(len(rows))), expected(rows, range(len(rows))))
    assert_allclose(network.coef_, plain.coef_)
    assert_allclose(network.noise_variance_, plain.noise_variance_)
    assert np.abs(network.to_frame().std_err / plain.to_frame().std_err - 1).min() > 1e-3
    one_edge = network.effect("c", "d")
    assert one_edge.std == pytest.approx(own["c", "d"][0])
    row = network.to_frame().query("child == 'd'")
    assert one_edge.interval() == pytest.approx((row.ci_low.item(), row.ci_high.item()))
    assert errors_of(network) != errors_of(plain) == errors_of(network.fit(rows))


def test_an_effect_has_the_errors_of_all_families_together():
    rows, person = table()

    def effect(weight):
        return fit(rows, sample_weight=weight).total_effect("a", "d")

    # The derivative by the weight of each person is the sum of the influences of its rows.
    steps = [1e-4 * (person == each) for each in np.unique(person)]
    parts = np.array([(effect(1 + step) - effect(1 - step)) / 2e-4 for step in steps])
    g, n = len(parts), len(rows)
    error = np.sqrt((parts**2).sum() * g / (g - 1))  # without the factors by families
    found = fit(rows, groups=person).effect("a", "d")
    assert found.std == pytest.approx(error, rel=3 / n)


def test_weights_orders_units_and_labels_of_rows():
    rows, person = table()
    weight = np.random.default_rng(1).integers(0, 3, len(rows)).astype(float)
    own, plain = expected(rows, person, weight), expected(rows, person)
    holds(fit(rows, sample_weight=weight, groups=person), own)
    times = weight.astype(int)
    holds(fit(rows.loc[rows.index.repeat(times)], groups=person.repeat(times)), own)
    shuffled = rows.sample(frac=1, random_state=0)
    labels = pd.Series([f"person {each}" for each in person], rows.index)
    holds(fit(shuffled[[*"dbca"]], groups=labels), plain)
    holds(fit(LocalScoreTransformer().fit_transform(rows), groups=person), plain)
    others = [*nx.complement(DAG).edges]
    learned = GaussianBNLearner(required_edges=DAG, forbidden_edges=others).fit(rows).network_
    learned.fit(rows, groups=person)
    assert errors_of(learned)["c", "d"] == pytest.approx(plain["c", "d"][0])
    units = rows * [1e-6, 1, 1e5, 1] + [0, 1e3, 0, 0]
    scaled = errors_of(fit(units, groups=person))
    assert scaled["a", "c"] == pytest.approx(plain["a", "c"][0] * 1e11, rel=1e-6)


def test_rows_in_which_a_node_was_set_do_not_count():
    rows, person = table()
    was_set = np.arange(len(rows)) % 3 == 0
    set_in = [["d"] if each else [] for each in was_set]
    errors = errors_of(fit(rows, interventions=set_in, groups=person))
    own, every = expected(rows, person, 1.0 - was_set), expected(rows, person)
    found = errors["c", "d"], errors["b", "c"]
    assert found == pytest.approx((own["c", "d"][0], every["b", "c"][0]))


def test_categories_have_errors_of_each_level():
    rows, person = table()
    group = np.random.default_rng(0).choice([*"uvw"], len(rows))
    rows = pd.DataFrame({"g": pd.Categorical(group), "y": rows["a"] + (group == "u")})
    dag = nx.DiGraph([("g", "y")])
    found = GaussianBayesianNetwork(dag).fit(rows, groups=person)
    levels = np.stack([group == "v", group == "w"], axis=1).astype(float)
    covariance, _ = sandwich(levels, rows["y"].to_numpy(), person, np.ones(len(rows)))
    assert_allclose(found.to_frame().std_err, np.sqrt(np.diag(covariance)[1:]))
    assert "edge_p_value" not in found.to_frame()
    change = found.effect({"g": ("v", "w")}, "y")
    variance = covariance[1, 1] + covariance[2, 2] - 2 * covariance[1, 2]
    assert change.std == pytest.approx(np.sqrt(variance))
    back = GaussianBayesianNetwork(nx.DiGraph([("y", "g")])).fit(rows, groups=person)
    given = rows[["y"]].to_numpy(), levels[:, 1], person, np.ones(len(rows))
    assert back.to_frame().std_err.iloc[1] == pytest.approx(np.sqrt(sandwich(*given)[0][1, 1]))


def test_groups_that_do_not_suit():
    rows, person = table()
    holes, scores = rows.where(rows > rows.min()), from_covariance(rows.cov(), len(rows))
    for X, groups, message, kind in [
        (rows, person[1:], "groups", ValueError),
        (rows, 0 * person, "groups must have two groups or more.* count for b", ValueError),
        (holes, person, "groups change standard err", ValueError),
        (scores, person, "groups need rows in memory", TypeError),
        (rows, "person", "groups must have a value for each row", TypeError),
    ]:
        raises(message, fit, X, groups=groups, kind=kind)
