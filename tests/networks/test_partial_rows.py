"""Networks and rows with missing values."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import reference
from agreement import raises
from incomplete_tables import correlated_rows, with_holes

from skbn import GaussianBNLearner


def fitted(seed=0, m=5, n=80, scale=None):
    """A network of random rows, and others with holes, one of them without any value."""
    rng = np.random.default_rng(seed)
    rows = correlated_rows(m, n, rng)
    holes = with_holes(correlated_rows(m, 40, rng), 0.3, rng)
    scale = np.ones(m) if scale is None else scale
    network = GaussianBNLearner().fit(rows * scale).network_
    holes[7] = np.nan
    holes[8] = rows[0]
    return network, holes * scale


def by_hand(network, row):
    """The mean and covariance of what is missing in a row."""
    seen = np.flatnonzero(~np.isnan(row))
    return reference.conditional(network.mean_, network.covariance_, seen, row[seen])


@pytest.mark.parametrize("seed", range(4))
def test_log_densities_are_those_of_what_is_observed(seed):
    network, rows = fitted(seed)
    moments = network.mean_, network.covariance_
    expected = [reference.observed_log_likelihood(row[np.newaxis], *moments) for row in rows]
    np.testing.assert_allclose(network.logpdf(rows), expected, rtol=1e-9)
    np.testing.assert_array_equal(network.score_samples(rows), network.logpdf(rows))
    assert network.score(rows) == pytest.approx(np.mean(expected))
    weight = np.random.default_rng(seed).random(len(rows))
    weighted = network.score(rows, sample_weight=weight)
    assert weighted == pytest.approx(np.average(expected, weights=weight))
    assert network.logpdf(rows)[8] == network.logpdf(rows[8:9])[0]


def test_units_do_not_cost_digits():
    scale = np.array([1e-8, 1e8, 1.0, 1e-3, 1e5])
    network, rows = fitted(1)
    other, scaled = fitted(1, scale=scale)
    constant = (np.log(scale) * ~np.isnan(rows)).sum(axis=1)
    np.testing.assert_allclose(other.logpdf(scaled) + constant, network.logpdf(rows), rtol=1e-7)
    np.testing.assert_allclose(other.impute(scaled) / scale, network.impute(rows), rtol=1e-7)


def test_holes_are_filled_by_conditional_means():
    network, rows = fitted(2)
    filled = network.impute(rows)
    for row, complete in zip(rows, filled, strict=True):
        holes = np.isnan(row)
        np.testing.assert_array_equal(complete[~holes], row[~holes])
        np.testing.assert_allclose(complete[holes], by_hand(network, row)[0], atol=1e-9)


def test_draws_have_the_conditional_distribution():
    network, rows = fitted(3)
    row = rows[np.argmax(np.isnan(rows).sum(axis=1) == 2)]
    hidden = np.isnan(row)
    mean, covariance = by_hand(network, row)
    many = network.sample_missing(np.tile(row, (20_000, 1)), random_state=0)
    assert (many[:, ~hidden] == row[~hidden]).all()
    error = 4 * np.sqrt(np.diag(covariance) / 20_000)
    assert (abs(many[:, hidden].mean(axis=0) - mean) < error).all()
    found = np.cov(many[:, hidden].T)
    scale = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
    assert (abs(found - covariance) < 4 * scale * np.sqrt(2 / 20_000)).all()


def test_predictions_use_what_a_row_has():
    network, rows = fitted(5)
    means = network.predict(rows, target=[2])
    for row, mean in zip(rows, means[:, 0], strict=True):
        evidence = {j: v for j, v in enumerate(row) if j != 2}
        assert mean == pytest.approx(network.condition(evidence)[2].mean)
        known = {j: v for j, v in evidence.items() if not np.isnan(v)}
        assert mean == pytest.approx(network.condition(known)[2].mean)
    assert network.condition({0: None, 1: pd.NA}).nodes == network.nodes
    raises("must be a finite number", network.condition, {0: np.inf})


def test_frames_stay_frames():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(correlated_rows(3, 50, rng), columns=list("abc"), index=range(100, 150))
    network = GaussianBNLearner().fit(frame).network_
    holes = frame.mask(rng.random(frame.shape) < 0.2)
    holes.insert(1, "name", "x")
    filled = network.impute(holes)
    assert list(filled) == ["a", "name", "b", "c"]
    assert filled.index.equals(frame.index)
    assert holes.isna().any(axis=None)
    assert not filled.isna().any(axis=None)
    expected = network.impute(holes[list("abc")].to_numpy())
    np.testing.assert_array_equal(filled[list("abc")], expected)
    np.testing.assert_array_equal(network.impute(holes.convert_dtypes())[list("abc")], expected)
    polar = pl.DataFrame({c: pl.Series(holes[c]).fill_nan(None) for c in "abc"})
    np.testing.assert_array_equal(network.impute(polar), expected)
    assert isinstance(network.impute(polar), pl.DataFrame)
    masked = np.ma.masked_invalid(holes[list("abc")].to_numpy())
    np.testing.assert_array_equal(network.impute(masked), expected)
    assert network.impute(frame).equals(frame)


def test_residuals_refuse_holes():
    network, rows = fitted(6)
    raises("missing values", network.residuals, rows)


# Categories


def mixed(seed=0, n=200):
    rng = np.random.default_rng(seed)
    x = correlated_rows(3, n, rng, density=1.0)
    site = pd.Categorical.from_codes(np.digitize(x[:, 0], [-0.7, 0.7]), ["low", "mid", "high"])
    frame = pd.DataFrame({"x": x[:, 1], "site": site, "y": x[:, 2]})
    return GaussianBNLearner(nodes="auto").fit(frame).network_, frame


def test_a_missing_level_is_missing_in_all_indicators():
    network, frame = mixed()
    holes = frame.copy()
    holes.loc[:20, "site"] = None
    holes.loc[10:30, "x"] = np.nan
    columns = network.columns_
    codes = pd.get_dummies(frame["site"], dtype=float)[["mid", "high"]].to_numpy()
    rows = np.column_stack([frame["x"], codes, frame["y"]])
    rows[:21, 1:3] = np.nan
    rows[10:31, 0] = np.nan
    np.testing.assert_allclose(network.logpdf(holes), columns.logpdf(rows), rtol=1e-9)
    means = network.predict(holes, target="site")
    expected = columns.predict(rows, target=["site=mid", "site=high"])
    np.testing.assert_allclose(means.to_numpy()[:, 1:], expected, rtol=1e-9)


def test_missing_levels_become_the_most_probable():
    network, frame = mixed(1)
    holes = frame.copy()
    holes.loc[:50, "site"] = None
    holes.loc[40:60, "x"] = np.nan
    filled = network.impute(holes)
    best = network.predict(holes, target="site").idxmax(axis=1)
    assert (filled["site"][:51] == best[:51]).all()
    assert (filled["site"][51:] == frame["site"][51:]).all()
    assert filled["site"].dtype == frame["site"].dtype
    assert filled["site"].nunique() > 1
    assert not filled["x"].isna().any()
    polar = network.impute(pl.from_pandas(holes))
    assert polar["site"].to_list() == filled["site"].tolist()
    array = network.impute(holes.to_numpy(dtype=object))
    assert array[:, 1].tolist() == filled["site"].tolist()
    drawn = network.sample_missing(holes[60:].assign(site=frame["site"]), random_state=0)
    assert not drawn["x"].isna().any()


def test_missing_evidence_must_name_nodes_too():
    network, _ = fitted()
    raises("evidence must name nodes; 'no' is not one of", network.condition, {"no": np.nan})
    twice = pd.Series([1.0, 2.0, np.nan], index=[0, 0, 1])
    raises("evidence must name each node once; got 0 twice", network.condition, twice)
