"""Probabilities, quantiles, draws and densities of distributions, and evidence in intervals."""

from math import inf

import numpy as np
import pandas as pd
import pytest
from agreement import raises
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.stats import multivariate_normal, norm, truncnorm

from skbn import GaussianBayesianNetwork, GaussianBNLearner
from skbn._networks.intervals import WithinBounds


@pytest.fixture(scope="module")
def network(small_wine):
    return GaussianBNLearner().fit(small_wine).network_


def gaussian(seed, m=3):
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(m, m))
    return rng.normal(size=m), factor @ factor.T


def within(nodes, mean, covariance, bounds):
    return WithinBounds.of(nodes, mean, covariance)._replace(bounds=bounds)


def bivariate(mean, covariance, first, second):
    """The probability that two values lie in intervals, by integration over the first."""
    scale = covariance[0, 0] ** 0.5
    slope = covariance[0, 1] / covariance[0, 0]
    left = (covariance[1, 1] - slope * covariance[0, 1]) ** 0.5

    def density(x):
        given = norm(mean[1] + slope * (x - mean[0]), left)
        return norm.pdf(x, mean[0], scale) * (given.cdf(second[1]) - given.cdf(second[0]))

    low, high = np.clip(first, mean[0] - 12 * scale, mean[0] + 12 * scale)
    return quad(density, low, high, epsabs=1e-13)[0]


@pytest.mark.parametrize("seed", range(3))
def test_probabilities_of_two_nodes(seed):
    mean, covariance = gaussian(seed, 2)
    first, second = (-0.5, inf), (0.2, 1.5)
    found, error = within(["a", "b"], mean, covariance, {}).probability({0: first, 1: second})
    together = bivariate(mean, covariance, first, second)
    assert (found, error) == (pytest.approx(together, abs=1e-6), 0.0)
    given = within(["a", "b"], mean, covariance, {0: first})
    alone = norm.sf(first[0], mean[0], covariance[0, 0] ** 0.5)
    assert given.probability({1: second})[0] == pytest.approx(together / alone, abs=1e-6)
    tail = (mean[0] + 12 * covariance[0, 0] ** 0.5, inf)
    further = (mean[0] + 12.1 * covariance[0, 0] ** 0.5, inf)
    ratio = norm.sf(12.1) / norm.sf(12)
    far = within(["a", "b"], mean, covariance, {0: tail})
    assert far.probability({0: further})[0] == pytest.approx(ratio, rel=1e-9)


def test_probabilities_of_many_nodes_have_a_standard_error():
    mean, covariance = gaussian(0, 4)
    low, high = [-1.0, -2.0, -inf, 0.0], [1.0, inf, 0.5, 2.0]
    expected = multivariate_normal(mean, covariance).cdf(high, lower_limit=low)
    own = within(list("abcd"), mean, covariance, {})
    found, error = own.probability(dict(enumerate(zip(low, high, strict=True))))
    assert 0 < error < 0.02 * expected
    assert abs(found - expected) < 4 * error


def test_moments_given_an_interval_are_exact():
    mean, covariance = gaussian(1)
    found, spread, errors = within(list("abc"), mean, covariance, {1: (0.3, 0.9)}).moments()
    scale = covariance[1, 1] ** 0.5
    cut = truncnorm((0.3 - mean[1]) / scale, (0.9 - mean[1]) / scale, mean[1], scale)
    slopes = covariance[1] / covariance[1, 1]
    assert_allclose(found, mean + slopes * (cut.mean() - mean[1]))
    shrunk = (cut.var() - covariance[1, 1]) * np.outer(slopes, slopes)
    assert_allclose(spread, covariance + shrunk, atol=1e-12)
    assert not errors.any()


def test_moments_given_two_intervals_are_within_their_errors():
    mean, covariance = gaussian(2)
    bounds = {0: (-0.5, 1.0), 2: (mean[2], inf)}
    found, spread, errors = within(list("abc"), mean, covariance, bounds).moments()
    grid = np.stack(np.meshgrid(np.linspace(-0.5, 1.0, 601), mean[2] + np.linspace(0, 20, 4001)))
    weights = multivariate_normal(mean[[0, 2]], covariance[np.ix_([0, 2], [0, 2])]).pdf(grid.T).T
    inside = (grid * weights).sum(axis=(1, 2)) / weights.sum()
    slopes = np.linalg.solve(covariance[np.ix_([0, 2], [0, 2])], covariance[[0, 2]])
    expected = mean + (inside - mean[[0, 2]]) @ slopes
    assert (errors > 0).all()
    assert (np.abs(found - expected) < 4 * errors + 1e-3).all()
    assert (np.diag(spread) < np.diag(covariance)).all()


def test_quantiles_are_where_probabilities_reach_them(network):
    for given in ({}, {"alcohol": 13.0}, {"alcohol": (13.5, inf)}):
        found = network.condition(given)
        for q in (0.05, 0.9):
            for node, value in zip(found.nodes, found.quantile(q), strict=True):
                assert found.probability({node: (-inf, value)}) == pytest.approx(q, abs=1e-9)
    assert found.quantile(0.0).tolist() == [13.5, -inf, -inf, -inf]
    part = found[["hue", "proline"]]
    assert_allclose(part.quantile(0.3), found.quantile(0.3)[[2, 1]])
    assert part.probability(alcohol=(14, inf)) == found.probability(alcohol=(14, inf))


def test_scenarios_have_values_of_their_own(network, wine):
    found = network.condition({"alcohol": [13.0, 14.0]})
    alone = [network.condition({"alcohol": each}) for each in (13.0, 14.0)]
    rows = wine[found.nodes][:5]
    for ask in (
        lambda each: each.probability(proline=(1000, inf)),
        lambda each: each.quantile(0.2),
        lambda each: each.logpdf(rows),
    ):
        assert_allclose(ask(found), [*map(ask, alone)])
    assert found.sample(4, random_state=0).shape == (2, 4, 3)
    values, errors = found.probability(proline=(1000, inf), return_std=True)
    assert values.shape == errors.shape == (2,)


@pytest.mark.parametrize("given", [{}, {"hue": (0.9, inf)}, {"hue": (0.9, 1.1), "ash": (2.5, inf)}])
def test_draws_and_densities_follow_the_distribution(network, wine, given):
    found = network.condition(given)
    rows = pd.DataFrame(found.sample(20_000, random_state=0), columns=found.nodes)
    for node, (low, high) in given.items():
        assert rows[node].between(low, high).all()
    errors = 6 * found.standard_deviation / 20_000**0.5
    assert (np.abs(rows.mean() - found.mean) < errors).all()
    scale = np.outer(*[found.standard_deviation] * 2)
    assert_allclose(rows.cov() / scale, found.covariance / scale, atol=0.05)
    inside = np.all([wine[node].between(*ends) for node, ends in given.items()], axis=0)
    share = np.log(network.condition({}).probability(given)) if given else 0.0
    expected = np.where(inside, network.score_samples(wine[found.nodes]) - share, -inf)
    assert_allclose(found.logpdf(wine[found.nodes[::-1]]), expected, rtol=1e-6)
    intervals = [f"{node} from {low:g} to {high:g}" for node, (low, high) in given.items()]
    assert repr(found).splitlines()[0].endswith(", ".join(intervals))


def test_held_and_exogenous_nodes(network, wine):
    held = network.do({"alcohol": 13.0}).condition({})
    assert held.probability(alcohol=(12, 14)) == pytest.approx(1.0)
    assert held.quantile(0.3)[0] == 13.0
    assert_allclose(held.sample(5, random_state=0)[:, 0], 13.0)
    raises("no density", held.logpdf, wine[held.nodes])
    raises("'alcohol' has no noise", network.do({"alcohol": 13.0}).condition, {"alcohol": (12, 14)})
    learner = GaussianBNLearner(exogenous=["ash"]).fit(wine[["alcohol", "hue", "ash"]])
    raises(r"\['ash'\] are exogenous", learner.network_.condition, {"ash": (2, 3)})
    given = learner.network_.condition({"ash": 2.3, "hue": (1.0, inf)})
    assert given.nodes == ["alcohol", "hue"]


def test_categories_must_be_known(wine):
    table = wine[["alcohol", "hue"]].assign(kind=np.where(np.arange(len(wine)) < 90, "u", "v"))
    network = GaussianBNLearner(nodes="auto").fit(table).network_
    mixed = network.condition({"hue": 1.0})
    assert mixed.probability(kind="u") == mixed["kind"]["u"]
    for call in (mixed.probability, mixed[["alcohol"]].probability):
        raises(r"mixture over the levels of \['kind'\]", call, {"alcohol": (13, inf)})
    raises("mixture", network.condition, {"alcohol": (13, inf)})
    known = network.condition({"kind": "u", "alcohol": (13, inf)})
    assert 0 < known.probability(hue=(1, inf)) < 1
    raises(r"has the levels .*; got \('u', 'v'\)", network.condition, {"kind": ("u", "v")})
    assert network.condition({"kind": ["u", "v"]}).mean.shape[0] == 2


def test_what_is_no_interval_is_refused(network):
    for evidence, message in [
        ({"alcohol": (3.0, 4.0, 5.0)}, r"must be \(low, high\).*scenarios are a list"),
        ({"alcohol": (4.0, 3.0)}, r"'alcohol' must be \(low, high\).*got \(4.0, 3.0\)"),
        ({"alcohol": (float("nan"), 1)}, r"must be \(low, high\)"),
        ({"alcohol": ("a", 1)}, r"must be \(low, high\)"),
        ({"nope": (1, 2)}, "'nope' is not one of"),
        ({"alcohol": (14, 15), "hue": [1, 2]}, "ask once for each scenario"),
        ({"alcohol": (1e6, inf)}, "probability is 0 in float64"),
    ]:
        raises(message, network.condition, evidence)


def test_other_questions_that_are_refused(network, wine):
    found = network.condition({"alcohol": (13, inf)})
    message = "is the tuple .* list of values for several scenarios"
    raises(message, network.do, {"alcohol": (1.0, 2.0)})
    raises("event must name nodes; 'nope'", found.probability, nope=(1, 2))
    raises(r"event: the interval of node 'hue' must be \(low, high\)", found.probability, hue=1.0)
    raises("q must be from 0 to 1", found.quantile, 1.5)
    raises("n_samples must be at least 1", found.sample, 0)
    raises("density of some nodes alone is unknown", found[["hue"]].logpdf, wine)
    raises(r"no columns \['ash'\]", found.logpdf, wine[["alcohol", "proline", "hue"]])
    # Also of numbered nodes.
    numbered = GaussianBayesianNetwork(network.dag).fit(network.sample(50, random_state=0))
    found = numbered.condition({numbered.nodes[0]: (14, inf)})
    assert found.probability({numbered.nodes[1]: (-inf, inf)}) == 1.0
