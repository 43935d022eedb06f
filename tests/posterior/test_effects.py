"""EffectPosterior and TotalEffects, as made of numbers."""

import pickle

import numpy as np
import pytest
import reference
from agreement import raises
from sklearn import config_context

from skbn import EffectPosterior, TotalEffects
from skbn._core.compile import compile_kernels
from skbn._data.nodes import Nodes
from skbn._networks.effects import all_changes
from skbn._posterior.effect_kernels import sum_paths

VALUES = np.array([1.5, -0.5, 2.0, 0.5])
MIXED = EffectPosterior("a", "b", 0.2, VALUES, 0.9, 0.01, 0.004)
ALWAYS = EffectPosterior("a", "b", 0.0, VALUES, 0.9, 0.01)
NEVER = EffectPosterior("a", "b", 1.0, np.empty(0), np.nan, 0.0)
UNSEEN = EffectPosterior("a", "b", 0.999, np.empty(0), np.nan, 0.0)


def random_networks(n, m, rng):
    """Parents and coefficients of networks, each with an order of its own."""
    coef = np.triu(rng.normal(size=(n, m, m)), 1) * (rng.random((n, m, m)) < 0.5)
    for i in range(n):
        order = rng.permutation(m)
        coef[i] = coef[i][np.ix_(order, order)]
    return (coef != 0).transpose(0, 2, 1).copy(), coef


def draws_of(is_parent, coef, causes=None):
    compile_kernels([sum_paths])
    n, m, _ = is_parent.shape
    causes = np.arange(m) if causes is None else np.array(causes)
    effects = np.empty((len(causes), m, n))
    sum_paths(is_parent, coef, causes, effects)
    return effects


@pytest.mark.parametrize("m", [1, 2, 3, 6])
def test_effects_are_sums_over_paths(m):
    rng = np.random.default_rng(m)
    parents, coef = random_networks(30, m, rng)
    effects = draws_of(parents, coef)
    for i in range(30):
        np.testing.assert_allclose(
            effects[:, :, i], reference.total_effects(coef[i]), rtol=1e-12, atol=1e-14
        )
    some = draws_of(parents, coef, [m - 1])
    np.testing.assert_array_equal(some, effects[[m - 1]])


def test_effects_of_many_columns():
    """A chain of 100 columns, more than a mask of 64 bits holds, against its order."""
    m = 100
    coef = np.zeros((1, m, m))
    for x in range(m - 1):
        coef[0, x + 1, x] = 2.0
    effects = draws_of((coef != 0).transpose(0, 2, 1).copy(), coef)
    assert effects[m - 1, 0, 0] == 2.0 ** (m - 1)
    assert effects[1, 0, 0] == 2
    assert np.isnan(effects[0]).all()


def test_effects_out_of_range_are_infinite():
    coef = np.zeros((1, 4, 4))
    coef[0, 0, 1], coef[0, 1, 2], coef[0, 1, 3], coef[0, 2, 3] = 1e200, 1e200, 1e200, -1e200
    effects = draws_of((coef != 0).transpose(0, 2, 1).copy(), coef)[:, :, 0]
    assert effects[0, 1] == 1e200
    assert effects[0, 2] == effects[0, 3] == np.inf


def test_moments():
    assert MIXED.mean == pytest.approx(0.8 * 0.9)
    within = np.mean((VALUES - 0.9) ** 2)
    assert MIXED.std == pytest.approx(np.sqrt(0.8 * within + 0.8 * 0.2 * 0.9**2))
    assert ALWAYS.std == pytest.approx(np.sqrt(within))
    assert (NEVER.mean, NEVER.std, UNSEEN.mean, UNSEEN.std) == (0, 0, 0, 0)
    for unit in (1e-250, 1e250):
        large = EffectPosterior("a", "b", 0.2, VALUES * unit, 0.9 * unit, 0.01 * unit)
        assert large.std == pytest.approx(MIXED.std * unit)
    assert EffectPosterior("a", "b", 0.2, VALUES, 0.9, 0.01, freedom=2).std == np.inf


def test_distribution_function_and_quantiles():
    ascending = [-0.5, 0.0, 0.5, 1.5, 2.0]
    np.testing.assert_allclose(MIXED.cdf(ascending), [0.2, 0.4, 0.6, 0.8, 1.0])
    assert MIXED.cdf(-0.1) == pytest.approx(0.2)
    assert np.isnan([MIXED.cdf(np.nan), *MIXED.cdf([0, np.nan])]).tolist() == [True, False, True]
    assert MIXED.quantile([0.0, 0.2, 0.4, 0.41, 0.8, 0.81, 1.0]).tolist() == [
        *(-0.5, -0.5, 0.0, 0.5, 1.5, 2.0, 2.0)
    ]
    assert ALWAYS.quantile([0, 0.25, 0.5, 0.75, 1]).tolist() == [-0.5, -0.5, 0.5, 1.5, 2]
    assert MIXED.interval(0.9) == (-0.5, 2.0)
    for effect in (NEVER, UNSEEN):
        assert effect.quantile([0, 0.5, 1]).tolist() == [0, 0, 0]
        assert effect.cdf([-1e-300, 0]).tolist() == [0, 1]
    raises(r"q must be from 0 to 1; got 1.5", MIXED.quantile, [0.5, 1.5])
    raises(r"level must be from 0 to 1; got -1", MIXED.interval, -1)


def test_how_an_effect_is_shown():
    lines = repr(MIXED).splitlines()
    assert lines[0] == "Effect of do(a) on b"
    assert lines[3].split() == ["standard", "error", "of", "the", "mean", "0.01"]
    assert len(lines) == 6
    assert "<caption" in MIXED._repr_html_()
    assert repr(pickle.loads(pickle.dumps(MIXED))) == repr(MIXED)


# All pairs


@pytest.fixture
def effects():
    draws = np.full((2, 2, 5), np.nan)
    draws[0, 1, :4] = VALUES
    path, given = np.array([[0, 0.8], [0, 0]]), np.array([[np.nan, 0.9], [np.nan, np.nan]])
    errors = np.array([[0, 0.01], [0, 0]])
    nodes = Nodes.of_single_columns(["a", "b"])
    both = all_changes(nodes)
    return TotalEffects(nodes, both, both, draws, path, errors * 0.4, given, errors, np.inf)


def test_pairs_are_those_of_the_arrays(effects):
    assert repr(effects["a", "b"]) == repr(effects[0, 1]) == repr(MIXED)
    assert effects.mean.tolist() == [[0, MIXED.mean], [0, 0]]
    np.testing.assert_allclose(effects.std, [[0, MIXED.std], [0, 0]])
    q = [[0.1, 0.5], [0.7, 0.9]]
    assert effects.quantile(q).shape == (2, 2, 2, 2)
    assert effects.quantile(q)[..., 0, 1].tolist() == MIXED.quantile(q).tolist()
    assert effects.quantile(0.5).tolist() == [[0, MIXED.quantile(0.5)], [0, 0]]
    assert effects["b", "a"].probability_zero == 1


def test_table_of_effects(effects):
    frame = effects.to_frame(level=0.9)
    assert list(frame["cause"]) == ["a", "b"]
    assert list(frame["mean"]) == [MIXED.mean, 0]
    assert (frame["low"][0], frame["high"][0]) == MIXED.interval(0.9)
    lines = repr(effects).splitlines()
    assert lines[0] == "2 total effects from 5 networks"
    assert lines[2].split() == ["a", "b", "0.8", "0.72", "0.01"]
    assert "<caption" in effects._repr_html_()
    with config_context(display="text"):
        assert effects._repr_html_() is None


@pytest.mark.parametrize(
    ("pair", "error", "message"),
    [
        ("ab", TypeError, r"Give a cause and an outcome.*got 'ab'"),
        (("a", "a"), ValueError, "must differ; both are 'a'"),
        (("a", "c"), ValueError, "'c'"),
    ],
)
def test_pairs_that_do_not_exist(effects, pair, error, message):
    with pytest.raises(error, match=message):
        effects[pair]


def test_level_of_the_table(effects):
    raises(r"level must be from 0 to 1; got 2", effects.to_frame, level=2)
