"""Indices of fit, against formulas on covariances, published numbers and another program's."""

from itertools import combinations

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import reference
from agreement import raises
from drawn import graph_of
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import betaln
from scipy.stats import chi2, kstest, ncx2, norm, t
from sklearn.base import clone
from sklearn.datasets import load_wine

from skbn import BGe, GaussianBayesianNetwork, GaussianBNLearner, LocalScoreTransformer
from skbn._networks.fit_indices import _log_of_tiny, comparative_indices, rmsea
from skbn.datasets import make_gaussian_network

pytestmark = pytest.mark.filterwarnings("ignore::skbn.exceptions.DataWarning")

EDGES = [(0, 2), (1, 2), (2, 3), (0, 4)]


def network_of(edges, m=5, exogenous=()):
    dag = graph_of(range(m), edges)
    dag.add_nodes_from(exogenous, exogenous=True)
    return GaussianBayesianNetwork(dag)


def table(n=50, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 5)) @ rng.normal(size=(5, 5))
    return rows * [1, 1e3, 1e-3, 1, 1] + [0, 1e4, 5, 0, 0]


def discrepancy(sample, model):
    """How far a covariance is from a model's, by maximum likelihood."""
    _, of_model = np.linalg.slogdet(model)
    _, of_sample = np.linalg.slogdet(sample)
    return of_model - of_sample + np.trace(sample @ np.linalg.inv(model)) - len(sample)


@pytest.mark.parametrize(
    ("exogenous", "parents", "of_baseline", "counts"),
    [
        ([], [[], [], [0, 1], [2], [0]], [[]] * 5, (6, 10, 14)),
        # Which may depend on each other in all models.
        ([0, 1], [[], [0], [0, 1], [2], [0]], [[], [0], [], [], []], (5, 9, 10)),
    ],
)
@given(seed=st.integers(0, 10**6))
def test_indices_by_covariances(exogenous, parents, of_baseline, counts, seed):
    rows = table(seed=seed)
    network = network_of(EDGES, exogenous=exogenous).fit(rows)
    found, sample = network.fit_indices(rows), np.corrcoef(rows.T)
    model, baseline = (reference.covariance_of_network(sample, p) for p in (parents, of_baseline))
    assert found.chi2 == pytest.approx(50 * discrepancy(sample, model), rel=1e-6)
    assert found.baseline_chi2 == pytest.approx(50 * discrepancy(sample, baseline), rel=1e-6)
    assert (found.df, found.baseline_df, found.n_parameters) == counts
    assert found.p_value == pytest.approx(chi2.sf(found.chi2, found.df), rel=1e-6)
    residuals = (sample - model)[np.triu_indices(5)]
    assert found.srmr == pytest.approx(np.sqrt(np.mean(residuals**2)), rel=1e-6)
    assert found.log_likelihood == pytest.approx(50 * network.score(rows))
    pairs = {*zip(found.d_separations["a"], found.d_separations["b"], strict=True)}
    assert pairs == {(0, 1), (0, 3), (1, 3), (1, 4), (2, 4), (3, 4)} - {tuple(exogenous)}
    own = network.fit_indices().to_frame()
    assert_allclose(own["value"], found.to_frame()["value"], rtol=1e-9)


def test_published_numbers():
    """Those of lavaan for the three factors of Holzinger & Swineford (1939), on its web site."""
    assert_allclose(comparative_indices(85.306, 24, 918.852, 36), (0.931, 0.896), atol=5e-4)
    assert_allclose(rmsea(85.306, 24, 301), (0.092, 0.071, 0.114), atol=5e-4)
    assert_allclose(comparative_indices(14.21, 10, 258.43, 20), (0.9823428, 0.9646857), atol=5e-8)
    assert rmsea(14.21, 10, 300)[0] == pytest.approx(0.03746109, abs=5e-9)


def test_numbers_of_semopy():
    """Those of semopy 2.3.11, with all covariances between errors set to 0."""
    wine = load_wine(as_frame=True).data.iloc[:, :6]
    parents = {
        "alcohol": ["ash", "alcalinity_of_ash"],
        "malic_acid": ["ash", "total_phenols"],
        "ash": ["alcalinity_of_ash", "magnesium"],
        "total_phenols": ["ash", "alcalinity_of_ash"],
    }
    found = GaussianBayesianNetwork(nx.DiGraph(parents).reverse()).fit_indices(wine)
    assert (found.df, found.baseline_df) == (7, 15)
    numbers = found.chi2, found.p_value, found.baseline_chi2, found.cfi, found.tli
    expected = 20.282598, 0.004991, 203.743992, 0.929626, 0.849199
    assert_allclose(numbers, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("statistic", [1.1e9, 5e9, 1e12, 1e300])
@pytest.mark.parametrize("df", [1, 500])
def test_the_interval_of_a_large_chi_squared_closes(statistic, df):
    error, low, high = rmsea(statistic, df, statistic / 1.5)
    assert low <= error <= high
    # The normal distribution of a large noncentral chi-squared.
    for end, z in ((low, 1.6448536), (high, -1.6448536)):
        excess = end**2 * df * statistic / 1.5
        assert_allclose(df + excess + z * np.sqrt(2 * df + 4 * excess), statistic, rtol=1e-9)
    assert_allclose([low, high], error, rtol=1e-4)


# The logarithms of incomplete beta functions to 60 digits, by mpmath.
def test_logarithms_of_p_values_that_underflow():
    for df, statistic, expected in [
        (3, 1e120, -828.1397628582519),
        (10, 1e35, -795.7938998010338),
        (700, 80, -814.3193508055705),
        (1e5, 38, -720.693707959073),
        (1e9, 40, -803.9146540341259),
    ]:
        total = np.hypot(statistic, np.sqrt(df))
        found = _log_of_tiny(df / 2, np.sqrt(df) / total, statistic / total)
        assert_allclose(found, expected, rtol=1e-10)


def test_fishers_c_is_finite_where_p_values_underflow():
    rng = np.random.default_rng(0)
    a = rng.normal(size=400)
    rows = np.column_stack([a, a + 1e-3 * rng.normal(size=400), rng.normal(size=400)])
    found = network_of([], 3).fit_indices(rows)
    r, p_values = (found.d_separations[name] for name in ("partial_correlation", "p_value"))
    left = rows.shape[0] - 2
    leading = (
        left / 2 * np.log1p(-(r[0] ** 2)) - np.log(r[0]) - np.log(left / 2) - betaln(left / 2, 0.5)
    )
    assert p_values[0] == found.fisher_p_value == 0
    assert found.fisher_c == pytest.approx(-2 * (leading + np.log(p_values[1:]).sum()), rel=1e-7)


@pytest.mark.parametrize("statistic", [3.0, 14.21, 40.0, 1e3, 1e6])
def test_the_ends_of_the_interval_leave_a_twentieth_on_either_side(statistic):
    df, n = 10, 300
    _, low, high = rmsea(statistic, df, n)
    for end, share in ((low, 0.95), (high, 0.05)):
        if chi2.cdf(statistic, df) > share:
            assert ncx2.cdf(statistic, df, end**2 * n * df) == pytest.approx(share, rel=1e-6)
        else:
            assert end == 0


def test_fishers_c_by_regressions():
    rows, p_values, network = table(), [], network_of(EDGES)
    found = network.fit_indices(rows)
    for a, b, given_, correlation, p_value in found.d_separations.itertuples(index=False):
        assert nx.is_d_separator(network.dag, {a}, {b}, set(given_))
        predictors = [*given_, a]
        coefficient = reference.regression(rows, b, predictors)[1][-1]
        statistic = coefficient / reference.standard_errors(rows, b, predictors)[-1]
        left = len(rows) - len(predictors) - 1
        assert p_value == pytest.approx(2 * t.sf(abs(statistic), left), rel=1e-7)
        assert correlation == pytest.approx(statistic / np.sqrt(statistic**2 + left), rel=1e-7)
        p_values.append(p_value)
    assert len(p_values) == 6
    assert found.fisher_c == pytest.approx(-2 * np.log(p_values).sum())
    assert found.fisher_df == 12
    assert found.fisher_p_value == pytest.approx(chi2.sf(found.fisher_c, 12))


def test_a_weight_counts_a_row_as_often():
    rows, weight, network = table(), np.arange(50) % 3, network_of(EDGES)
    found = network.fit_indices(rows, sample_weight=weight).to_frame()
    expected = network.fit_indices(np.repeat(rows, weight, axis=0)).to_frame()
    assert_allclose(found["value"], expected["value"], rtol=1e-7)


def test_a_learner_knows_its_rows():
    scores = LocalScoreTransformer().fit_transform(table())
    learner = GaussianBNLearner().fit(scores)
    found, expected = (learner.network_.fit_indices(*X).to_frame() for X in ((), (table(),)))
    assert_allclose(found["value"], expected["value"], rtol=1e-7)
    values = dict(zip(found["measure"], found["value"], strict=True))
    assert values["bic"] == pytest.approx(-2 * learner.network_score_)
    assert learner.network_.fit_indices(scores).chi2 == pytest.approx(values["chi2"])


def test_the_saturated_model_fits_and_has_nothing_to_test():
    found = network_of(combinations(range(5), 2)).fit_indices(table())
    assert (found.df, found.rmsea, found.rmsea_high, found.cfi, found.tli) == (0, 0, 0, 1, 1)
    assert (found.chi2, found.srmr) == pytest.approx((0, 0), abs=1e-9)
    assert np.isnan([found.p_value, found.fisher_p_value]).all()


def test_blocks_are_fitted_by_their_columns():
    X = pd.DataFrame(table(80), columns=list("abcde"))
    X["site"] = np.resize(["north", "south", "west"], 80)
    X["a"] += X["site"] == "west"
    network = GaussianBNLearner(nodes="auto", max_parents=1).fit(X).network_
    encoded = X.assign(**{f"site={s}": 1.0 * (X["site"] == s) for s in ("south", "west")})
    expected = GaussianBayesianNetwork(network.columns_.dag).fit_indices(encoded)
    for found in (network.fit_indices(), network.fit_indices(X)):
        assert_allclose(found.to_frame()["value"], expected.to_frame()["value"], rtol=1e-6)


def test_refusals():
    network, bare, dependent = network_of(EDGES), network_of([]), table()
    dependent[:, 4] = dependent[:, 3] + dependent[:, 1]
    for of, message in [
        (network, "does not know the rows"),
        (GaussianBNLearner(BGe()).fit(table()).network_, "does not know the rows"),
        (clone(bare).fit(table(4)), r"5 columns; there are 4\. Give more rows"),
        (clone(bare).fit(dependent), "collinear"),
    ]:
        raises(message, of.fit_indices)
    fitted = network.fit(table())
    raises("sample_weight was given without", fitted.fit_indices, sample_weight=np.ones(50))


def test_rows_with_interventions_are_groups():
    is_set = np.zeros((50, 5), dtype=bool)
    is_set[:10, 0] = True
    learner = GaussianBNLearner().fit(table(), interventions=is_set)
    raises("Give the table", learner.network_.fit_indices)
    scores = LocalScoreTransformer().fit_transform(table()).with_interventions(is_set)
    found = learner.network_.fit_indices(scores)
    assert found.chi2 == learner.network_.fit_indices(table(), interventions=is_set).chi2
    assert learner.network_.fit_indices(table()[10:]).n_samples == 40
    assert "fit " not in learner.summary()


def test_it_is_displayed_as_a_table():
    found = network_of(EDGES).fit_indices(table())
    assert repr(found).splitlines()[0].split() == ["measure", "value"]
    assert f"{found.cfi:.6g}" in repr(found)
    assert "<table" in found._repr_html_()


# Anomalies: p-values of clean rows are uniform, and a planted fault is found


@pytest.fixture(scope="module")
def drawn():
    return make_gaussian_network(6, mean_degree=2.5, random_state=0)


def test_known_parameters(drawn):
    X = drawn.sample(2000, random_state=1)
    found = drawn.anomalies(X)
    assert kstest(found.unadjusted_p_values.ravel(), "uniform").pvalue > 0.01
    assert_allclose(found.log_density, drawn.score_samples(X))
    residuals = drawn.residuals(X) / np.sqrt(drawn.noise_variance_)
    assert_allclose(found.residuals, residuals, atol=1e-12)
    others = drawn.condition(dict(zip(range(5), X[0], strict=False)))
    z = (X[0, 5] - others.mean[0]) / others.standard_deviation[0]
    assert_allclose(found.given_others[0, 5], z)
    assert kstest(found.given_others[:, 3], "norm").pvalue > 0.01


def test_adjusted_p_values(drawn):
    n_found = n_rows = 0
    for seed in range(400):
        found = drawn.anomalies(drawn.sample(20, random_state=seed))
        n_found += (found.p_values <= 0.05).any()
        n_rows += (found.row_p_values <= 0.05).any()
    assert 8 <= n_found <= 34  # 20 on average
    assert 8 <= n_rows <= 34


def test_few_rows(drawn):
    """One new row for each fit to 15 rows: normal quantiles would find too many."""
    p_values, rows, naive = [], [], []
    for seed in range(200):
        X = drawn.sample(16, random_state=seed)
        network = GaussianBayesianNetwork(drawn.dag).fit(X[:15])
        found = network.anomalies(X[15:])
        p_values.append(found.unadjusted_p_values[0])
        rows.append(found.row_p_values[0])
        z = network.residuals(X[15:])[0] / np.sqrt(network.noise_variance_)
        naive.append(2 * norm.sf(np.abs(z)))
    assert kstest(np.ravel(p_values), "uniform").pvalue > 0.01
    assert kstest(rows, "uniform").pvalue > 0.01
    assert kstest(np.ravel(naive), "uniform").pvalue < 0.001


def test_rows_of_the_fit(drawn):
    X = drawn.sample(25, random_state=3)
    network = GaussianBayesianNetwork(drawn.dag).fit(X)
    found = network.anomalies(X, in_fit=True)
    for row in (0, 7, 24):
        rest = GaussianBayesianNetwork(drawn.dag).fit(np.delete(X, row, axis=0))
        alone = rest.anomalies(X[[row]])
        assert_allclose(found.residuals[row], alone.residuals[0], rtol=1e-9)
        assert_allclose(found.unadjusted_p_values[row], alone.unadjusted_p_values[0], rtol=1e-8)


def test_a_fault_is_found_and_explained(wine):
    table = wine[["alcohol", "proline", "hue", "color_intensity"]]
    network = GaussianBNLearner().fit(table[:-1:2]).network_
    new = table[1::2].copy()
    clean = network.anomalies(new).to_frame()
    new.loc[41, "alcohol"] *= 1.5  # a column with children
    found = network.anomalies(new)
    listed = found.to_frame()
    mine = listed[listed["row"] == 41]
    assert "alcohol" in [*mine["column"]]
    assert len(mine) > 1
    assert found.given_others.loc[41].abs().idxmax() == "alcohol"
    assert len(listed) == len(clean) + len(mine)
    columns = "row column value expected residual given_others p_value row_p_value"
    assert [*listed] == columns.split()
    assert listed["p_value"].is_monotonic_increasing
    assert found.row_p_values.idxmin() == 41
    assert found.p_values.index.equals(new.index)


def test_missing_and_exogenous_values():
    X = np.random.default_rng(0).normal(size=(50, 3))
    X[:, 2] += X[:, 1] + X[:, 0]
    network = network_of([(0, 2), (1, 2)], 3, exogenous=[0]).fit(X)
    X[0, 1] = np.nan
    found = network.anomalies(X[:3])
    assert np.argwhere(~np.isnan(found.p_values)).tolist() == [[1, 1], [1, 2], [2, 1], [2, 2]]
    assert np.isnan(found.row_p_values).tolist() == [True, False, False]
    assert np.isfinite(found.given_others[1, 0])
