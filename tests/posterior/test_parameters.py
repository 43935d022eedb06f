import numpy as np
import pytest
import reference
from scipy import stats

from skbn import BGe, Criterion, LocalScoreTransformer
from skbn._core.subsets import members_of
from skbn._data.statistics import GroupStatistics
from skbn._posterior.parameter_draws import draw_parameters, family_posteriors

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
        posterior = family_posteriors(
            *statistics_and_criterion(rows, criterion), [child], [list(parents)]
        )
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


def test_flat_prior_by_the_textbook():
    """Under a flat prior, the next value has the prediction interval of ordinary regression."""
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(2, 9))
    rows = np.column_stack([x, y])
    posterior = family_posteriors(*statistics_and_criterion(rows, "bic"), [1], [[0]])
    fit = stats.linregress(x, y)
    scale = np.sqrt(posterior.sum_of_squares[0] / posterior.freedom)
    assert posterior.freedom == 7
    assert posterior.coefficients[0, 0] == pytest.approx(fit.slope)
    assert scale * abs(posterior.root[0, 0, 0]) == pytest.approx(fit.stderr)
    intercept_scale = scale * np.hypot(posterior.root[0, 0, 0] * x.mean(), 1 / 3)
    assert intercept_scale == pytest.approx(fit.intercept_stderr)


@pytest.mark.parametrize("criterion", CRITERIA.values(), ids=CRITERIA)
def test_draws_have_the_moments(criterion):
    """Of a child with two parents: variance, coefficients and the mean given the parents'."""
    rows, n_draws = table(n=20), 10_000
    statistics, criterion = statistics_and_criterion(rows, criterion)
    dag = [0, 0b0001, 0b0011, 0b0110]
    groups, rng = of_all(statistics), np.random.default_rng(3)
    drawn = draw_parameters(groups, criterion, [dag] * n_draws, rng)
    coef = np.array([each.coef for each in drawn])
    mean = np.array([each.mean for each in drawn])
    variance = np.array([each.noise_variance for each in drawn])
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
    rng = np.random.default_rng(4)
    statistics, criterion = statistics_and_criterion(table(), BGe())
    dags = [[0, 1, 3, 7], [0, 0, 0, 0], [14, 12, 8, 0], [0, 1, 3, 7]]
    drawn = draw_parameters(of_all(statistics), criterion, np.array(dags), rng)
    for dag, parameters in zip(dags, drawn, strict=True):
        expected = [[bool(mask >> i & 1) for mask in dag] for i in range(M)]
        assert (parameters.coef != 0).tolist() == expected
        assert (parameters.noise_variance > 0).all()
    assert (drawn[0].coef != drawn[3].coef).sum() == 6


def test_units_that_are_too_far_apart():
    a, b, noise = np.random.default_rng(6).normal(size=(3, 20))
    rows = np.column_stack([a, b + 1e-6 * (a + noise), b]) * [1e152, 1e-151, 1e-151]
    statistics, criterion = statistics_and_criterion(rows, "bic")
    with pytest.raises(ValueError, match=r"coefficient of column 1 for column 0 is out of float64"):
        family_posteriors(statistics, criterion, [0], [[1, 2]])
    rows = np.column_stack([a, a + 1e-4 * noise]) * [1, 1e-151]
    statistics, criterion = statistics_and_criterion(rows, "bic")
    assert family_posteriors(statistics, criterion, [1], [[]]).sum_of_squares > 0
    with pytest.raises(ValueError, match=r"Column 1 has noise of a variance below float64"):
        family_posteriors(statistics, criterion, [1], [[0]])


def test_columns_that_depend_on_each_other():
    """With few parents allowed, three columns of which any two are independent are no error."""
    rows = table(n=20)
    rows[:, 2] = rows[:, 0] + rows[:, 1]
    statistics, criterion = statistics_and_criterion(rows, "bic", max_parents=1)
    assert not statistics.is_checked
    rng = np.random.default_rng(0)
    assert draw_parameters(of_all(statistics), criterion, [[0, 1, 2, 4]], rng)[0].coef.any()
    with pytest.raises(ValueError, match=r"Column 2 is collinear"):
        draw_parameters(of_all(statistics), criterion, [[0, 0, 3, 0]], rng)


def test_too_few_rows_for_these_parents():
    statistics, criterion = statistics_and_criterion(table(n=3), "bic", max_parents=1)
    with pytest.raises(ValueError, match=r"n_samples = 3 rows, and a regression on 2 columns"):
        family_posteriors(statistics, criterion, [0], [[1, 2]])


def test_a_prior_that_is_not_known():
    class WithPrior(Criterion):
        def tables(self, n_samples, m):
            return BGe().tables(n_samples, m)

        def prior(self, n_samples, mean):
            return BGe().prior(n_samples, mean)

    statistics, criterion = statistics_and_criterion(table(), WithPrior())
    with pytest.raises(ValueError, match=r"not known for WithPrior"):
        draw_parameters(of_all(statistics), criterion, [[0] * M], np.random.default_rng(0))
