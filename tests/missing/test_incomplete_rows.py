"""Rows by their patterns of holes."""

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from incomplete_tables import correlated_rows, with_holes

from skbn._missing.incomplete_rows import incomplete_rows


def log_likelihood(rows, mean, covariance):
    """The observed log-likelihood of IncompleteRows, in their units."""
    values, weight, observed, starts = rows.patterned
    values = values.copy()
    for pattern, start, end in zip(observed, starts, starts[1:], strict=False):
        values[start:end, ~pattern] = np.nan
    return reference.observed_log_likelihood(values, mean, covariance, weight)


@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(2, 60), st.booleans())
def test_the_likelihood_is_that_of_the_rows(seed, m, n, weighted):
    rng = np.random.default_rng(seed)
    table = with_holes(correlated_rows(m, n, rng), 0.2, rng)
    table[:2] = rng.normal(size=(2, m))
    table *= 10.0 ** rng.integers(-3, 4, m)
    weight = rng.integers(0, 4, n).astype(float) if weighted else None
    if weighted:
        weight[:2] = 1.0
    rows = incomplete_rows(table, weight)
    mean, factor = rng.normal(size=m), rng.normal(size=(m, m)) + 2 * np.eye(m)
    covariance = factor.T @ factor
    scaled = covariance * np.outer(rows.scale, rows.scale)
    expected = reference.observed_log_likelihood(
        table, rows.mean + mean * rows.scale, scaled, weight
    )
    found = log_likelihood(rows, mean, covariance) - rows.log_units()
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-7)


def test_rows_with_the_same_holes_are_replaced_by_few():
    rng = np.random.default_rng(0)
    table = correlated_rows(4, 1000, rng)
    table[:300, 1] = np.nan
    table[100:200, 3] = np.nan
    rows = incomplete_rows(table)
    assert len(rows.patterned.observed) == 3
    assert len(rows.patterned.values) == (4 + 1) + (3 + 1) + (2 + 1)
    assert rows.n_rows == 1000
    assert rows.n_samples == 1000


@pytest.mark.parametrize("n", range(7, 30))
def test_rows_are_counted_without_rounding(n):
    table = correlated_rows(5, n + 40, np.random.default_rng(n))
    table[n:, 1] = np.nan
    rows = incomplete_rows(table)
    assert rows.pair_weights().min() == n
    assert rows.n_samples == n + 40


def test_rows_that_say_nothing_are_left_out():
    table = np.array([[1.0, 2], [np.nan, np.nan], [3, np.nan], [5, 7], [9, 9]])
    rows = incomplete_rows(table, np.array([1.0, 1, 1, 2, 0]))
    assert rows.n_rows == 3
    assert rows.n_samples == 4
    np.testing.assert_allclose(rows.mean, [(1 + 3 + 10) / 4, 16 / 3])


def test_pairs_are_counted_by_weight():
    rng = np.random.default_rng(1)
    table = with_holes(correlated_rows(5, 80, rng), 0.4, rng)
    weight = rng.random(80)
    seen = ~np.isnan(table)
    expected = [[weight[seen[:, i] & seen[:, j]].sum() for j in range(5)] for i in range(5)]
    np.testing.assert_allclose(incomplete_rows(table, weight).pair_weights(), expected)
