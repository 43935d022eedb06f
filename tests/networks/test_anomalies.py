"""Anomalies: p-values of clean rows are uniform, and a planted fault is found."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from agreement import raises
from scipy.stats import kstest, norm

from skbn import GaussianBayesianNetwork, GaussianBNLearner
from skbn.datasets import make_gaussian_network


@pytest.fixture(scope="module")
def drawn():
    return make_gaussian_network(6, mean_degree=2.5, random_state=0)


def test_known_parameters(drawn):
    X = drawn.sample(2000, random_state=1)
    found = drawn.anomalies(X)
    assert kstest(found.unadjusted_p_values.ravel(), "uniform").pvalue > 0.01
    np.testing.assert_allclose(found.log_density, drawn.logpdf(X))
    np.testing.assert_allclose(
        found.residuals, drawn.residuals(X) / np.sqrt(drawn.noise_variance_), atol=1e-12
    )
    others = drawn.condition(dict(zip(range(5), X[0], strict=False)))
    z = (X[0, 5] - others.mean[0]) / others.standard_deviation[0]
    np.testing.assert_allclose(found.given_others[0, 5], z)
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
        np.testing.assert_allclose(found.residuals[row], alone.residuals[0], rtol=1e-9)
        np.testing.assert_allclose(
            found.unadjusted_p_values[row], alone.unadjusted_p_values[0], rtol=1e-8
        )


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
    assert [*listed] == [
        *("row", "column", "value", "expected", "residual", "given_others"),
        *("p_value", "row_p_value"),
    ]
    assert listed["p_value"].is_monotonic_increasing
    assert found.row_p_values.idxmin() == 41
    assert found.p_values.index.equals(new.index)


def test_missing_and_exogenous_values():
    X = np.random.default_rng(0).normal(size=(50, 3))
    X[:, 2] += X[:, 1] + X[:, 0]
    table = pd.DataFrame(X, columns=[*"abc"])
    dag = nx.DiGraph([("a", "c"), ("b", "c")])
    dag.nodes["a"]["exogenous"] = True
    network = GaussianBayesianNetwork(dag).fit(table)
    new = table[:3].copy()
    new.loc[0, "b"] = np.nan
    found = network.anomalies(new)
    assert found.p_values.isna().to_numpy().tolist() == [
        [True, True, True],
        [True, False, False],
        [True, False, False],
    ]
    assert found.row_p_values.isna().tolist() == [True, False, False]
    assert np.isfinite(found.given_others["a"][1])


def test_categories_have_no_p_values():
    rng = np.random.default_rng(0)
    s = rng.choice([*"uv"], 80)
    table = pd.DataFrame({"s": pd.Categorical(s), "x": rng.normal(size=80) + 3 * (s == "v")})
    network = GaussianBNLearner(nodes="auto").fit(table).network_
    found = network.anomalies(table)
    assert found.p_values.notna().sum().tolist() == [0, 80]


def test_refused(drawn):
    with pytest.raises(ValueError, match="in_fit=True takes a network that knows the rows"):
        drawn.anomalies(drawn.sample(3), in_fit=True)
    raises("has no noise", drawn.do({0: 1}).anomalies, drawn.sample(3))
    raises("level must be above 0", drawn.anomalies(drawn.sample(3)).to_frame, level=0)
