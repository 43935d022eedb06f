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
    network = GaussianBayesianNetwork(DAG).fit(rows, groups=person)
    own = expected(rows, person)
    holds(network, own)
    plain = GaussianBayesianNetwork(DAG).fit(rows)
    assert_allclose(network.coef_, plain.coef_)
    assert_allclose(network.noise_variance_, plain.noise_variance_)
    assert np.abs(network.to_frame().std_err / plain.to_frame().std_err - 1).min() > 1e-3
    one_edge = network.effect("c", "d")
    assert one_edge.std == pytest.approx(own["c", "d"][0])
    assert one_edge.interval() == pytest.approx(
        [*network.to_frame().query("child == 'd'")[["ci_low", "ci_high"]].iloc[0]]
    )


def test_an_effect_has_the_errors_of_all_families_together():
    rows, person = table()
    network = GaussianBayesianNetwork(DAG).fit(rows, groups=person)

    def effect(weight):
        return GaussianBayesianNetwork(DAG).fit(rows, sample_weight=weight).total_effect("a", "d")

    # The derivative by the weight of each person is the sum of the influences of its rows.
    step, parts = 1e-4, []
    for each in np.unique(person):
        up, down = np.ones(len(rows)), np.ones(len(rows))
        up[person == each] += step
        down[person == each] -= step
        parts.append((effect(up) - effect(down)) / (2 * step))
    g, n = len(parts), len(rows)
    error = np.sqrt(np.square(parts).sum() * g / (g - 1))  # without the factors by families
    assert network.effect("a", "d").std == pytest.approx(error, rel=3 / n)


def test_rows_of_their_own_are_robust_to_unequal_variances():
    rows, _ = table()
    network = GaussianBayesianNetwork(DAG).fit(rows, groups=np.arange(len(rows)))
    holds(network, expected(rows, range(len(rows))))


def test_weights_orders_units_and_labels_of_rows():
    rows, person = table()
    weight = np.random.default_rng(1).integers(0, 3, len(rows)).astype(float)
    own = expected(rows, person, weight)
    network = GaussianBayesianNetwork(DAG)
    holds(network.fit(rows, sample_weight=weight, groups=person), own)
    times = weight.astype(int)
    holds(network.fit(rows.loc[rows.index.repeat(times)], groups=person.repeat(times)), own)
    shuffled = rows.sample(frac=1, random_state=0)
    labels = pd.Series([f"person {each}" for each in person], rows.index)
    plain = expected(rows, person)
    holds(network.fit(shuffled[[*"dbca"]], groups=labels), plain)
    scores = LocalScoreTransformer().fit_transform(rows)
    holds(network.fit(scores, groups=person), plain)
    others = [*nx.complement(DAG).edges]
    learned = GaussianBNLearner(required_edges=DAG, forbidden_edges=others).fit(rows).network_
    learned.fit(rows, groups=person)
    assert errors_of(learned)["c", "d"] == pytest.approx(plain["c", "d"][0])
    units = rows * [1e-6, 1, 1e5, 1] + [0, 1e3, 0, 0]
    scaled = errors_of(network.fit(units, groups=person))
    assert scaled["a", "c"] == pytest.approx(plain["a", "c"][0] * 1e11, rel=1e-6)


def test_rows_in_which_a_node_was_set_do_not_count():
    rows, person = table()
    set_in = [["d"] if i % 3 == 0 else [] for i in range(len(rows))]
    network = GaussianBayesianNetwork(DAG).fit(rows, interventions=set_in, groups=person)
    was_set = np.array([bool(each) for each in set_in])
    own = expected(rows, person, 1.0 - was_set)
    assert errors_of(network)["c", "d"] == pytest.approx(own["c", "d"][0])
    assert errors_of(network)["b", "c"] == pytest.approx(expected(rows, person)["b", "c"][0])


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


def test_groups_are_forgotten_with_the_next_fit():
    rows, person = table()
    plain = errors_of(GaussianBayesianNetwork(DAG).fit(rows))
    network = GaussianBayesianNetwork(DAG).fit(rows, groups=person)
    assert errors_of(network) != plain
    assert errors_of(network.fit(rows)) == plain


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows, person: (rows, person[1:]), "groups"),
        (
            lambda rows, person: (rows, 0 * person),
            "groups must have two groups or more.* count for b",
        ),
        (
            lambda rows, person: (rows.where(rows > rows.min()), person),
            "groups change standard err",
        ),
    ],
)
def test_groups_that_do_not_suit(change, message):
    rows, groups = change(*table())
    raises(message, GaussianBayesianNetwork(DAG).fit, rows, groups=groups)


def test_groups_need_rows():
    rows, person = table()
    scores = from_covariance(rows.cov(), n_samples=len(rows))
    fit = GaussianBayesianNetwork(DAG).fit
    raises("groups need rows in memory", fit, scores, groups=person, kind=TypeError)
    raises("groups must have a value for each row", fit, rows, groups="person", kind=TypeError)
