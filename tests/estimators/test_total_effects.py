"""Total effects of a fitted posterior, against enumeration and other samples of networks.

Seeds are fixed. A test of random numbers fails with a probability below 1e-6.
"""

import numpy as np
import pandas as pd
import pytest
import reference
from agreement import raises, warned_by
from numpy.testing import assert_allclose, assert_array_equal

from skbn import GaussianBNPosterior

NAMES = list("abcd")
LARGEST_Z = 5.5


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 4)) @ (np.eye(4) + np.triu(rng.normal(size=(4, 4)) / 2, 1))
    return pd.DataFrame(rows / rows.std(axis=0), columns=NAMES)


def chain(n=50):
    rng = np.random.default_rng(1)
    a = rng.normal(size=n)
    b = a + rng.normal(size=n)
    return pd.DataFrame({"a": a, "b": b, "c": b / 2 + rng.normal(size=n)})


def bge_matrix(table):
    """The posterior's matrix of BGe with its defaults, and its degrees of freedom by parents."""
    n, m = table.shape
    rows = table.to_numpy() - table.to_numpy().mean(axis=0)
    return rows.T @ rows + 0.5 * np.eye(m), n + 3 + np.arange(m)


def enumerated(posterior, table, prior="uniform", required=None, allowed=None):
    """The exact means and standard deviations of all effects, and the probabilities of paths.

    `required` and `allowed` are masks of each column's parents.
    """
    log_weights = reference.log_weights_of(posterior.local_scores_)
    found = reference.posterior_by_enumeration(log_weights, prior, required, allowed)
    is_probable = found.probabilities > 0
    mean, std = reference.effects_by_enumeration(
        found.networks[is_probable], found.probabilities[is_probable], *bge_matrix(table)
    )
    return mean, std, found.paths


def assert_agree(effects, mean, std):
    apart = np.abs(effects.mean - mean)
    assert (apart <= LARGEST_Z * effects.standard_error + 1e-12).all()
    assert_allclose(effects.std, std, rtol=0.1, atol=1e-3)


@pytest.mark.parametrize("prior", ["uniform", "order"])
def test_effects_are_those_of_enumeration(table, prior):
    posterior = GaussianBNPosterior(structure_prior=prior).fit(table)
    mean, std, paths = enumerated(posterior, table, prior)
    effects = posterior.effects(n_samples=6000, random_state=0)
    assert_agree(effects, mean, std)
    assert 0 < effects.standard_error.max() < 0.02
    if prior == "uniform":
        assert not effects.path_errors.any()
        assert_allclose(effects.path_probabilities, paths, atol=1e-12)
    else:
        apart = np.abs(effects.path_probabilities - paths)
        assert (apart <= LARGEST_Z * effects.path_errors).all()


@pytest.mark.parametrize("most_in_one_group", [20, 1])
def test_effects_under_knowledge(table, most_in_one_group, monkeypatch):
    """Within tiers and between them, with paths that are summed and paths that are not."""
    monkeypatch.setattr("skbn._posterior.plan._MOST_IN_ONE_GROUP", most_in_one_group)
    posterior = GaussianBNPosterior(tiers=[["c", "a"], ["d", "b"]], forbidden_edges=[("a", "b")])
    effects = posterior.fit(table).effects(n_samples=20_000, random_state=1)
    mean, std, paths = enumerated(posterior, table, allowed=[0b0100, 0b1100, 0b0001, 0b0111])
    assert_agree(effects, mean, std)
    between = np.ix_([0, 2], [1, 3])
    assert effects.path_errors[between].any() == (most_in_one_group == 1)
    is_exact = effects.path_errors == 0
    assert_allclose(effects.path_probabilities[is_exact], paths[is_exact], atol=1e-12)
    backwards = effects["b", "a"]
    assert (backwards.probability_zero, backwards.mean, backwards.standard_error) == (1, 0, 0)


@pytest.mark.parametrize("prior", ["uniform", "order"])
def test_effects_along_a_known_chain(prior):
    """There is one network, and the mean is the product of its two coefficients."""
    table = chain()
    knowledge = {"required_edges": [("a", "b"), ("b", "c")], "forbidden_edges": [("a", "c")]}
    posterior = GaussianBNPosterior(structure_prior=prior, **knowledge).fit(table)
    effect = posterior.effect("a", "c", random_state=0)
    matrix, freedom = bge_matrix(table)
    product = matrix[0, 1] / matrix[0, 0] * matrix[1, 2] / matrix[1, 1]
    assert effect.mean == pytest.approx(product, rel=1e-12)
    assert effect.standard_error < 1e-15
    assert (effect.probability_zero, effect.probability_zero_error) == (0, 0)
    _, second = reference.effect_moments([0, 1, 2], matrix, freedom)
    assert effect.std == pytest.approx(np.sqrt(second[0, 2] - product**2), rel=0.03)


def test_effects_are_those_of_sampled_networks(table):
    """Those that sample_networks draws with the same seed, more than are drawn at a time."""
    posterior = GaussianBNPosterior().fit(table)
    n_samples = 2500
    effects = posterior.effects(n_samples=n_samples, random_state=3)
    networks = posterior.sample_networks(n_samples, random_state=3)
    for i in [0, 999, 1000, 2499]:
        inverse = np.linalg.inv(np.eye(4) - networks[i].coef_)
        of_draw = np.nan_to_num(effects.draws[:, :, i]) + np.eye(4)
        assert_allclose(of_draw, inverse, rtol=1e-9, atol=1e-12)
    one = posterior.effect("b", "d", n_samples=n_samples, random_state=3)
    assert_array_equal(one.values, effects["b", "d"].values)
    assert repr(one) == repr(effects["b", "d"])
    assert one.mean == effects["b", "d"].mean
    assert one.standard_error == effects["b", "d"].standard_error


@pytest.mark.usefixtures("two_blas_threads")
def test_threads_change_no_bit(table):
    table = np.tile(table, (1, 5))[:, :18] + np.random.default_rng(0).normal(size=(40, 18))
    posteriors = (GaussianBNPosterior(structure_prior="order", n_jobs=n) for n in (1, 2))
    one, two = (each.fit(table).effects(n_samples=1500, random_state=0) for each in posteriors)
    assert_array_equal(one.draws, two.draws)
    assert_array_equal(one.mean, two.mean)
    assert_array_equal(one.standard_error, two.standard_error)


@pytest.mark.filterwarnings("ignore::skbn.exceptions.ApproximateEvidenceWarning")
def test_effects_are_in_the_units_of_the_columns():
    """The middle of a chain may have units whose squares are out of range."""
    table, units = chain(), 2.0 ** np.array([3, 450, -3])
    knowledge = {"required_edges": [("a", "b"), ("b", "c")]}
    plain, scaled = (
        GaussianBNPosterior("bic", **knowledge).fit(each).effects(random_state=0)
        for each in (table, table * units)
    )
    ratio = units / units[:, np.newaxis]
    for name in ("mean", "standard_error", "std"):
        found = getattr(scaled, name) / ratio
        np.testing.assert_allclose(found, getattr(plain, name), rtol=1e-9, atol=1e-14)


@pytest.mark.filterwarnings("ignore::skbn.exceptions.ApproximateEvidenceWarning")
def test_moments_that_do_not_exist():
    """With as few rows the coefficients' t distributions have no moments."""
    for n, has_mean in [(4, True), (3, False)]:
        posterior = GaussianBNPosterior("bic", required_edges=[("a", "b")], max_parents=1)
        warned_by(posterior.fit, chain(n)[["a", "b"]])
        effects = posterior.effects(n_samples=50, random_state=0)
        effect = effects["a", "b"]
        for value in (effect.mean, effects.mean[0, 1], effect.standard_error):
            assert np.isfinite(value) == has_mean
        assert effect.std == effects.std[0, 1] == np.inf
        assert effects.mean[1, 0] == effects.std[1, 0] == 0


def test_effects_need_memory(table):
    posterior = GaussianBNPosterior().fit(table)
    raises(r"needs .* of memory.* draw fewer", posterior.effects, n_samples=10**13)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_samples": 1}, ValueError, r"n_samples must be at least 2 for a standard error; got 1"),
        ({"n_samples": 10.5}, TypeError, r"n_samples must be an integer; got 10.5"),
    ],
)
def test_bad_options(table, options, error, message):
    posterior = GaussianBNPosterior().fit(table)
    raises(message, posterior.effect, "a", "b", kind=error, **options)
    raises(message, posterior.effects, kind=error, **options)
