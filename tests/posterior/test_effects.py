"""TotalEffects, as made of numbers, and the effects in them."""

import pickle

import numpy as np
import pytest
import reference
from agreement import raises
from scipy import stats
from sklearn import config_context

from skbn import BGe, Criterion, LocalScoreTransformer, TotalEffects
from skbn._core.compile import compile_kernels
from skbn._core.subsets import members_of
from skbn._data.nodes import Nodes
from skbn._data.statistics import GroupStatistics
from skbn._networks.effects import all_changes
from skbn._posterior.effect_kernels import sum_paths
from skbn._posterior.parameter_draws import SampledNetworks, draw_parameters, family_posteriors

VALUES = np.array([1.5, -0.5, 2.0, 0.5])


def effects_of(path, values, given_path=np.nan, error=0.0, freedom=np.inf):
    """The effects of two columns, of which the first has these values among five networks."""
    draws = np.full((2, 2, 5), np.nan)
    draws[0, 1, : len(values)] = values
    of_first = np.array([[0.0, 1.0], [0.0, 0.0]])
    arrays = path * of_first, 0.4 * error * of_first, np.where(of_first, given_path, np.nan)
    nodes = Nodes.of_single_columns(["a", "b"])
    both = all_changes(nodes)
    return TotalEffects(nodes, both, both, draws, *arrays, error * of_first, freedom)


MIXED = effects_of(0.8, VALUES, 0.9, 0.01)["a", "b"]
ALWAYS = effects_of(1.0, VALUES, 0.9, 0.01)["a", "b"]
NEVER, UNSEEN = effects_of(0.0, [])["a", "b"], effects_of(0.001, [])["a", "b"]


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
    expected = np.stack([reference.total_effects(each) for each in coef], axis=-1)
    np.testing.assert_allclose(effects, expected, rtol=1e-12, atol=1e-14)
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
        large = effects_of(0.8, VALUES * unit, 0.9 * unit, 0.01 * unit)["a", "b"]
        assert large.std == pytest.approx(MIXED.std * unit)
    assert effects_of(0.8, VALUES, 0.9, 0.01, freedom=2)["a", "b"].std == np.inf


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
    assert lines[4].split() == ["standard", "error", "of", "the", "mean", "0.01"]
    assert len(lines) == 7
    assert "<caption" in MIXED._repr_html_()
    assert repr(pickle.loads(pickle.dumps(MIXED))) == repr(MIXED)


# All pairs


@pytest.fixture
def effects():
    return effects_of(0.8, VALUES, 0.9, 0.01)


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
    raises(message, lambda: effects[pair], kind=error)


def test_level_of_the_table(effects):
    raises(r"level must be from 0 to 1; got 2", effects.to_frame, level=2)


# Parameters


M = 4
CRITERIA = {
    "bge": BGe(2.5, 7.5, [0.3, -0.2, 900.0, 1e-3]),
    "bge, default prior": BGe(),
    "bic": "bic",
}


def table(n=12, m=M, seed=0):
    rng = np.random.default_rng(seed)
    mixing = np.eye(m) + np.triu(rng.normal(size=(m, m)), 1)
    units, means = np.array([1.0, 10.0, 1e3, 1e-3]), np.array([0.0, 5.0, 1e3, 0.0])
    return rng.normal(size=(n, m)) @ mixing * units[:m] + means[:m]


def of_all(statistics):
    """The statistics of columns that all have the same rows."""
    return [GroupStatistics([*range(len(statistics.mean))], statistics)]


def statistics_and_criterion(rows, criterion, **settings):
    scorer = LocalScoreTransformer(criterion, **settings).fit_transform(rows).scorer
    return scorer.statistics, scorer.criterion


def family_of(rows, criterion, child, parents, **settings):
    """The posterior of the parameters of one family."""
    given = statistics_and_criterion(rows, criterion, **settings)
    return family_posteriors(*given, [child], [list(parents)])


def drawn_of(statistics, criterion, dags, seed=0):
    """Parameters of each network, one draw each."""
    networks = SampledNetworks(of_all(statistics), criterion, np.array(dags))
    return draw_parameters(networks, np.random.default_rng(seed))


def plain_posterior(rows, criterion):
    """The matrix R, the means, the rows behind these, and the degrees of freedom without parents.

    By the formulas of Geiger & Heckerman (2002) for the normal-Wishart distribution.
    """
    n, m = rows.shape
    mean = rows.mean(axis=0)
    scatter = (rows - mean).T @ (rows - mean)
    if criterion == "bic":
        return scatter, mean, n, n - 1
    alpha_mu = criterion.alpha_mu
    alpha_w = m + 2 if criterion.alpha_w is None else criterion.alpha_w
    nu = mean if criterion.nu is None else np.array(criterion.nu)
    t = alpha_mu * (alpha_w - m - 1) / (alpha_mu + 1)
    shift = np.outer(mean - nu, mean - nu)
    matrix = t * np.eye(m) + scatter + alpha_mu * n / (alpha_mu + n) * shift
    posterior_mean = (alpha_mu * nu + n * mean) / (alpha_mu + n)
    return matrix, posterior_mean, n + alpha_mu, n + alpha_w - m + 1


def predictive(posterior, child_row, deviations):
    """The t distribution of a child's next value, given how far its parents are from their means.

    The noise, the mean and the coefficients add to the variance.
    """
    root = posterior.root[0].T @ deviations
    spread = 1 + 1 / posterior.n_behind_mean + root @ root
    scale = np.sqrt(posterior.sum_of_squares[0] / posterior.freedom * spread)
    location = posterior.mean[0] + posterior.coefficients[0] @ deviations
    return stats.t(posterior.freedom, location, scale).logpdf(child_row)


@pytest.mark.parametrize("criterion", CRITERIA.values(), ids=CRITERIA)
def test_families_by_plain_formulas(criterion):
    rows = table()
    matrix, mean, n_behind_mean, freedom = plain_posterior(rows, criterion)
    sign = -1 if criterion == "bic" else 1  # a prior grows with the family, rows do not
    for child, parents in reference.families(M):
        posterior = family_of(rows, criterion, child, parents)
        inverse = np.linalg.inv(matrix[np.ix_(parents, parents)])
        coefficients = inverse @ matrix[list(parents), child]
        left = matrix[child, child] - coefficients @ matrix[list(parents), child]
        covariance = posterior.root[0] @ posterior.root[0].T
        assert posterior.freedom == freedom + sign * len(parents)
        assert posterior.n_behind_mean == n_behind_mean
        np.testing.assert_allclose(posterior.mean, mean[child], rtol=1e-12)
        np.testing.assert_allclose(posterior.coefficients[0], coefficients, rtol=1e-7)
        np.testing.assert_allclose(posterior.sum_of_squares, left, rtol=1e-7)
        np.testing.assert_allclose(covariance, inverse, rtol=1e-7)


@pytest.mark.parametrize(("child", "parents"), [(0, []), (1, [0]), (3, [2, 0]), (2, [0, 1, 3])])
def test_bge_score_of_one_more_row_is_its_predictive_density(child, parents):
    """What BGe's local score gains by a row is the log density of the child given the parents.

    This determines all degrees of freedom.
    """
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(6, M)) @ (np.eye(M) + 0.5)
    prior = {"alpha_mu": 2.5, "alpha_w": 7.5, "nu": [0.3, -0.2, 0.1, 0.4]}
    statistics, criterion = statistics_and_criterion(rows[:-1], BGe(**prior))
    posterior = family_posteriors(statistics, criterion, [child], [parents])
    deviations = (rows[-1] - statistics.mean)[parents]
    gain = reference.bge_local_score(rows, child, parents, **prior)
    gain -= reference.bge_local_score(rows[:-1], child, parents, **prior)
    assert predictive(posterior, rows[-1, child], deviations) == pytest.approx(gain, abs=1e-11)


@pytest.mark.parametrize("criterion", CRITERIA.values(), ids=CRITERIA)
def test_draws_have_the_moments(criterion):
    """Of a child with two parents: variance, coefficients and the mean given the parents'."""
    rows, n_draws = table(n=20), 10_000
    statistics, criterion = statistics_and_criterion(rows, criterion)
    dag = [0, 0b0001, 0b0011, 0b0110]
    drawn = drawn_of(statistics, criterion, [dag] * n_draws, seed=3)
    names = ("coef", "mean", "noise_variance")
    coef, mean, variance = (np.array([getattr(each, name) for each in drawn]) for name in names)
    for child, mask in enumerate(dag):
        parents = members_of(mask)
        p = family_posteriors(statistics, criterion, [child], [parents])
        chi_squared = p.sum_of_squares / variance[:, child]
        assert stats.kstest(chi_squared, stats.chi2(p.freedom).cdf).pvalue > 1e-3
        noise = np.sqrt(variance[:, child])
        # Standard normal numbers by which each draw is off, one for each coefficient.
        off = (coef[:, parents, child] - p.coefficients) / noise[:, np.newaxis]
        normal = [np.linalg.solve(p.root[0], off.T)] if parents else []
        deviations = (mean - statistics.mean)[:, parents]
        given = (deviations * coef[:, parents, child]).sum(axis=1)
        last = (mean[:, child] - p.mean - given) / noise * np.sqrt(p.n_behind_mean)
        normal = np.vstack([*normal, last])
        for numbers in normal:
            assert stats.kstest(numbers, stats.norm.cdf).pvalue > 1e-3
        correlation = np.corrcoef(np.vstack([normal, chi_squared]))
        assert np.abs(correlation - np.eye(len(correlation))).max() < 5 / np.sqrt(n_draws)


def test_each_network_has_its_own_parents():
    dags = [[0, 1, 3, 7], [0, 0, 0, 0], [14, 12, 8, 0], [0, 1, 3, 7]]
    drawn = drawn_of(*statistics_and_criterion(table(), BGe()), dags)
    for dag, parameters in zip(dags, drawn, strict=True):
        expected = [[bool(mask >> i & 1) for mask in dag] for i in range(M)]
        assert (parameters.coef != 0).tolist() == expected
        assert (parameters.noise_variance > 0).all()
    assert (drawn[0].coef != drawn[3].coef).sum() == 6


def test_units_that_are_too_far_apart():
    a, b, noise = np.random.default_rng(6).normal(size=(3, 20))
    rows = np.column_stack([a, b + 1e-6 * (a + noise), b]) * [1e152, 1e-151, 1e-151]
    message = r"coefficient of column 1 for column 0 is out of float64"
    raises(message, family_of, rows, "bic", 0, [1, 2])
    rows = np.column_stack([a, a + 1e-4 * noise]) * [1, 1e-151]
    assert family_of(rows, "bic", 1, []).sum_of_squares > 0
    message = r"Column 1 has noise of a variance below float64"
    raises(message, family_of, rows, "bic", 1, [0])


def test_columns_that_depend_on_each_other():
    """With few parents allowed, three columns of which any two are independent are no error."""
    rows = table(n=20)
    rows[:, 2] = rows[:, 0] + rows[:, 1]
    statistics, criterion = statistics_and_criterion(rows, "bic", max_parents=1)
    assert not statistics.is_checked
    assert drawn_of(statistics, criterion, [[0, 1, 2, 4]])[0].coef.any()
    raises(r"Column 2 is collinear", drawn_of, statistics, criterion, [[0, 0, 3, 0]])


def test_too_few_rows_for_these_parents():
    message = r"n_samples = 3 rows, and a regression on 2 columns"
    raises(message, family_of, table(n=3), "bic", 0, [1, 2], max_parents=1)


def test_a_prior_that_is_not_known():
    class WithPrior(Criterion):
        def tables(self, n_samples, m):
            return BGe().tables(n_samples, m)

        def prior(self, n_samples, mean):
            return BGe().prior(n_samples, mean)

    given = statistics_and_criterion(table(), WithPrior())
    raises(r"not known for WithPrior", drawn_of, *given, [[0] * M])
