"""Effects with intervals: against numerical derivatives, counterfactuals and lists of networks."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
import reference
from agreement import raises
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import t

from skbn import BootstrapBNLearner, GaussianBayesianNetwork, GaussianBNLearner, GaussianBNPosterior
from skbn._networks.effect_estimates import EffectParts, of_parts, of_values, read_intervention
from skbn.io import from_modelstring

NAMES = list("abcde")


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    coef = np.triu(rng.normal(size=(5, 5)) * (rng.random((5, 5)) < 0.8), 1)
    return pd.DataFrame(rng.normal(size=(60, 5)) @ np.linalg.inv(np.eye(5) - coef), columns=NAMES)


@pytest.fixture(scope="module")
def network(table):
    return GaussianBNLearner().fit(table).network_


def standard_error(network, table, shift, outcome):
    """Return the delta method's error by numerical derivatives and least squares of each family."""
    held = [i for i, x in enumerate(shift) if x]
    y, variance = NAMES.index(outcome), 0.0

    def effect(coef):
        cut = coef.copy()
        cut[:, held] = 0
        return (shift @ np.linalg.inv(np.eye(5) - cut))[y]

    for child in range(5):
        parents = [NAMES.index(p) for p in network.dag.predecessors(NAMES[child])]
        X = np.column_stack([np.ones(len(table)), table.iloc[:, parents]])
        _, rss = np.linalg.lstsq(X, table.iloc[:, child])[:2]
        cov = np.linalg.inv(X.T @ X)[1:, 1:] * rss[0] / (len(X) - X.shape[1])
        steps = 1e-6 * np.eye(25).reshape(5, 5, 5, 5)[parents, child]
        ends = [(effect(network.coef_ + step), effect(network.coef_ - step)) for step in steps]
        gradient = np.array([(high - low) / 2e-6 for high, low in ends])
        variance += gradient @ cov @ gradient
    return effect(network.coef_), np.sqrt(variance)


@pytest.mark.parametrize("outcome", NAMES)
def test_errors_are_those_of_the_delta_method(network, table, outcome):
    for shift in (np.eye(5)[0], np.eye(5)[1], np.array([1.0, -2.0, 0, 0.5, 0])):
        cause = {NAMES[i]: float(x) for i, x in enumerate(shift) if x}
        if outcome in cause:
            continue
        mean, error = standard_error(network, table, shift, outcome)
        effect = network.effect(cause, outcome)
        assert effect.mean == pytest.approx(mean, abs=1e-10)
        assert effect.std == pytest.approx(error, rel=1e-5, abs=1e-10)
        assert (effect.probability_zero == 1) == (mean == 0)
        if len(cause) == 1:
            assert effect.mean == network.total_effect(next(iter(cause)), outcome)


def test_the_only_path_has_the_interval_of_its_edge(table):
    network = from_modelstring("[a][b|a][c][d][e]").fit(table)
    row = network.to_frame(confidence=0.9).iloc[0]
    effect = network.effect("a", "b")
    assert_allclose(effect.interval(0.9), [row["ci_low"], row["ci_high"]])
    assert effect.quantile(0.5) == pytest.approx(effect.mean)
    is_positive = t.sf(-effect.mean / effect.std, len(table) - 2)
    assert effect.probability_positive == pytest.approx(is_positive)
    frame = effect.to_frame()
    assert frame["std"][0] == effect.std
    assert frame["positive"][0] + frame["negative"][0] == pytest.approx(1)


def test_several_causes_are_those_of_counterfactuals(network, table):
    do = {"a": table["a"] + 1.0, "c": table["c"] - 0.5}
    changed = network.counterfactual(table, do)
    effect = network.effect({"a": 1.0, "c": -0.5}, "e")
    assert_allclose(changed["e"] - table["e"], effect.mean, atol=1e-10)
    between = network.effect({"a": (2.0, 3.0), "c": (1, 0.5)}, "e")
    assert between.mean == pytest.approx(effect.mean)
    assert between.std == pytest.approx(effect.std)


def test_categories_are_contrasts(table):
    table = table.assign(c=pd.qcut(table["c"], 3, labels=["low", "middle", "high"]))
    network = GaussianBNLearner(nodes="auto").fit(table).network_
    columns = network.columns_.nodes
    of_low = -1.0 * np.array([str(name).startswith("c=") for name in columns])
    for cause, change, outcome, weights in (
        ("c", ("low", "high"), "e", np.equal(columns, "e")),
        ("a", (0.0, 1.0), ("c", "low"), of_low),
    ):
        before, after = (weights @ network.do({cause: value}).mean_ for value in change)
        effect = network.effect({cause: change}, outcome)
        assert effect.mean == pytest.approx(after - before, abs=1e-10)
        assert np.isfinite(effect.std)
    raises("is a category", network.effect, "c", "e")
    raises("is a category", network.effect, "a", "c")


def test_lists_of_classes_and_of_networks_agree(table):
    learner = GaussianBNLearner().fit(table[NAMES[:3]])
    classes = learner.near_optimal(within=np.inf)
    networks = learner.near_optimal(within=np.inf, equivalence_classes=False)
    assert len(networks) == 25
    one, other = (each.effect("c", "b") for each in (classes, networks))
    assert one.mean == pytest.approx(other.mean, abs=1e-9)
    assert one.probability_zero == pytest.approx(other.probability_zero, abs=1e-9)
    weights = np.exp(networks.scores - networks.scores[0])
    values = [each.total_effect("c", "b") for each in networks]
    assert other.mean == pytest.approx(weights @ values / weights.sum(), abs=1e-10)
    assert learner.near_optimal(3).effect("a", "b").source == "3 classes listed"


def test_resamples(table):
    bootstrap = BootstrapBNLearner(n_resamples=20, random_state=0).fit(table)
    effect = bootstrap.effect("a", "c")
    means = []
    for network in bootstrap.networks_:
        found = network.class_effects("a", "c")
        means.append(np.average(found["effect"], weights=found["n_members"]))
    assert effect.mean == pytest.approx(np.mean(means))
    low, high = effect.interval(0.9)
    assert effect.cdf(np.nextafter(low, -np.inf)) < 0.05 <= effect.cdf(low)
    assert effect.cdf(high) >= 0.95


def sources(X, nodes=None):
    """Lists, resamples and a posterior of networks, and the effects they ask for."""
    learner = GaussianBNLearner(nodes=nodes).fit(X)
    bootstrap = BootstrapBNLearner(GaussianBNLearner(nodes=nodes), n_resamples=9, random_state=0)
    posterior = GaussianBNPosterior(nodes=nodes).fit(X)
    yield learner.near_optimal(5).effect
    yield bootstrap.fit(X).effect
    yield learner.near_optimal(5, equivalence_classes=False).effect
    yield partial(posterior.effect, n_samples=300, random_state=0)


def test_effects_of_several_units_are_multiples_in_any_order_of_columns(table):
    # a -> c <- b, and columns whose edges no table directs
    chain = (table - table.mean()) / table.std()
    for effect in sources(chain[["c", "d", "e"]]):
        one, unit, back = (effect(cause, "e") for cause in ("c", {"c": 1.0}, {"c": (2.5, 0.0)}))
        assert (unit.mean, unit.std, unit.interval()) == (one.mean, one.std, one.interval())
        assert (back.mean, back.std) == pytest.approx((-2.5 * one.mean, 2.5 * one.std), rel=1e-12)
        assert back.probability_zero == one.probability_zero
    ours, theirs = ([*sources(X)][:3] for X in (chain, chain[NAMES[::-1]]))
    for one in ours:
        found = one({"c": 1.0, "d": -2.0}, "e")
        assert one({"c": 2.0, "d": -4.0}, "e").mean == pytest.approx(2 * found.mean)
    # Of equally good networks, which ones are listed depends on the order.
    for one, other in zip(ours[:2], theirs[:2], strict=True):
        found, expected = (effect({"c": 1.0, "d": -2.0}, "e") for effect in (one, other))
        assert found.mean == pytest.approx(expected.mean, rel=1e-9)
        assert found.probability_zero == pytest.approx(expected.probability_zero)


def test_a_change_of_a_category_is_the_same_in_a_dict(table):
    table = table[["a", "b", "c"]].assign(c=pd.qcut(table["c"], 3, labels=["low", "mid", "high"]))
    network = GaussianBNLearner(nodes="auto").fit(table).network_
    for effect in (network.effect, *sources(table, "auto")):
        one, in_dict = effect(("c", "low", "high"), "a"), effect({"c": ("low", "high")}, "a")
        assert (in_dict.mean, in_dict.std) == (one.mean, one.std)


@given(st.integers(0, 10**6))
def test_effects_of_several_causes_in_a_class_are_those_of_its_members(seed):
    network = GaussianBayesianNetwork(reference.random_graph(np.random.default_rng(seed), 5))
    covariance, effects = network.covariance_, []
    for parents in reference.equivalent_dags(reference.parents_of(network.dag), set()):
        coef = np.zeros((5, 5))
        for child, p in enumerate(map(list, parents)):
            if child not in (1, 3):
                coef[p, child] = np.linalg.solve(covariance[np.ix_(p, p)], covariance[p, child])
        effects.append((np.array([0, 1.0, 0, -2.0, 0]) @ np.linalg.inv(np.eye(5) - coef))[2])
    asked = read_intervention(network._blocks, {1: 1.0, 3: (2.0, 0.0)}, 2)
    found = network._effect_of(asked, of_class=True)
    assert found.weights.sum() == pytest.approx(1)
    assert found.weights @ found.values == pytest.approx(np.mean(effects), abs=1e-9)
    assert found.weights @ found.values**2 == pytest.approx(np.mean(np.square(effects)), abs=1e-9)


def test_posterior_of_several_causes(table):
    standardised = (table - table.mean()) / table.std()
    posterior = GaussianBNPosterior().fit(standardised)
    options = {"n_samples": 600, "random_state": 0}
    together = posterior.effect({"a": 1.0, "b": 0.5}, "c", **options)
    networks = posterior.sample_networks(**options)
    expected = [network.effect({"a": 1.0, "b": 0.5}, "c").mean for network in networks]
    assert_allclose(together.values, expected, rtol=1e-12)
    alone = posterior.effect("a", "c", n_samples=2000, random_state=0)
    both = alone.probability_positive + alone.probability_negative
    assert both == pytest.approx(1 - alone.probability_zero, abs=1e-3)


def test_mixture():
    parts = np.array([[0.0, 1.0, 2.0], [0.0, 0.0, 0.5], [0.25, 0.25, 0.5], [np.inf, np.inf, 10.0]])
    effect = of_parts("x", "y", EffectParts(*parts), "these networks")
    assert (effect.mean, effect.probability_zero) == (1.25, 0.25)
    assert effect.quantile(0.25) == pytest.approx(0.0, abs=1e-3)
    grid = np.linspace(0.01, 0.99, 50)
    at = effect.quantile(grid)
    assert (effect.cdf(at) >= grid - 1e-12).all()
    assert (effect.cdf(np.nextafter(at, -np.inf)) <= grid + 1e-12).all()
    assert effect.probability_negative == pytest.approx(0.5 * t.cdf(-4, 10))
    display = effect.plot(effect, level=0.5)
    assert display.labels == ["do(x) on y"] * 2
    other = of_values("x", "y", np.array([2.0]), np.ones(1), "this graph")
    assert effect.plot(other).labels == ["do(x) on y: this graph", "do(x) on y: these networks"]
    raises(r"others must be effects; .* got 0\.9", effect.plot, 0.9, kind=TypeError)
    raises("from 0 to 1", effect.interval, 90)
    assert effect.interval(1) == (-np.inf, np.inf)
    assert_array_equal(effect.quantile([0, 1]), [-np.inf, np.inf])
    for wrong in ("x", None, [0.5]):
        raises("level must be a finite number", effect.interval, wrong)
    raises("q must be a number or numbers from 0 to 1; got 'x'", effect.quantile, "x")
    assert other.interval(1) == (2.0, 2.0)  # a known effect has no tails


def test_errors_are_unknown_without_rows(network):
    copied = GaussianBayesianNetwork.from_json(network.to_json())
    parent, child = next(iter(network.dag.edges))
    effect = copied.effect(parent, child)
    assert effect.mean == pytest.approx(network.effect(parent, child).mean)
    assert np.isnan(effect.std)
    assert "unknown without least squares" in repr(effect)
    assert "nan" not in repr(effect)


def test_expected_and_imputed_values_give_no_standard_errors(table):
    rng = np.random.default_rng(0)
    holes = table[["c", "d", "e"]].mask(rng.random((60, 3)) < 0.2)
    learner = GaussianBNLearner(missing="em").fit(holes)
    bootstrap = BootstrapBNLearner(learner, n_resamples=5, random_state=0).fit(holes)
    posterior = GaussianBNPosterior("bic", missing="augment", n_imputations=4, random_state=0)
    with pytest.warns(match="what structural EM compared"):
        near = learner.near_optimal(2)
    networks = [learner.network_, near[0], bootstrap.network_, bootstrap.averaged_network(0.1)]
    with pytest.warns(match="approximat"):
        networks.append(posterior.fit(holes).median_network_)
    for network in networks:
        assert network.dag.edges
        assert "std_err" not in network.to_frame(confidence=0.9)
        assert np.isnan(network.effect(*next(iter(network.dag.edges))).std)
    assert bootstrap.effect("c", "d").std > 0
    assert near.effect("c", "d").std > 0


def test_what_is_no_effect_is_refused(network):
    for cause, outcome, message in [
        ("x", "a", "x"),
        ("a", "x", "x"),
        ("a", "a", "both are 'a'"),
        ({"a": 1, "b": 2}, "b", "both are 'b'"),
        ({}, "b", "is empty"),
        (["a"], "b", "cause must be a single node"),
    ]:
        raises(message, network.effect, cause, outcome)


# Effects along paths over sampled networks: against the table of paths of each network


@pytest.fixture(scope="module")
def posterior(small_wine):
    return GaussianBNPosterior().fit((small_wine - small_wine.mean()) / small_wine.std())


def test_paths_are_those_of_each_network(posterior):
    effects = posterior.path_effects("alcohol", "ash", n_samples=200, random_state=0)
    networks = posterior.sample_networks(200, random_state=0)
    tables = [network.path_effects("alcohol", "ash") for network in networks]
    of_networks = [dict(zip(map(tuple, t["path"]), t["effect"], strict=True)) for t in tables]
    for path, values in effects.paths.items():
        assert_allclose(values, [each.get(path, 0) for each in of_networks], atol=1e-14)
    totals = [network.total_effect("alcohol", "ash") for network in networks]
    assert_allclose(effects.total.values, totals, atol=1e-14)
    direct = [network.coef_[0, 3] for network in networks]
    assert_allclose(effects.direct.values, direct, atol=1e-14)
    assert effects.direct.mean + effects.indirect.mean == pytest.approx(effects.total.mean)
    assert effects.mediated_share == pytest.approx(effects.indirect.mean / np.mean(totals))

    frame = effects.to_frame(0.9)
    assert frame["share"].sum() == pytest.approx(1)
    assert frame["path"][0][0] == "alcohol"
    between = effects.mediators().set_index("mediator")["mean"]
    for node in ("proline", "hue"):
        expected = np.mean([x for p, x in effects.paths.items() if node in p[1:-1]], axis=1).sum()
        assert between[node] == pytest.approx(expected)
    held = [n.do({"proline": 0.0}).total_effect("alcohol", "ash") for n in networks]
    assert between["proline"] == pytest.approx(np.mean(totals) - np.mean(held))
    assert len(effects.plot(n=2).labels) == 2


def test_no_path(small_wine):
    posterior = GaussianBNPosterior(tiers=[["ash"], ["alcohol", "hue", "proline"]])
    posterior.fit((small_wine - small_wine.mean()) / small_wine.std())
    effects = posterior.path_effects("alcohol", "ash", n_samples=20, random_state=0)
    assert effects.paths == {}
    assert effects.total.mean == 0
    assert np.isnan(effects.mediated_share)
    assert "0 paths" in repr(effects)
