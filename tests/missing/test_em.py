"""EM of the parameters of networks, and the rows that it reads, by their patterns of holes."""

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from incomplete_tables import correlated_rows, with_holes

from skbn._missing.em import UnboundedError, estimate, saturated, start
from skbn._missing.em_in_numpy import saturated_by_pattern
from skbn._missing.incomplete_rows import incomplete_rows


def random_parents(m, rng):
    """Parents of the columns in a random order, as tuples and as masks."""
    order = rng.permutation(m)
    tuples = [()] * m
    for place, x in enumerate(order):
        tuples[x] = tuple(int(p) for p in order[:place] if rng.random() < 0.5)
    return tuples, [sum(1 << p for p in each) for each in tuples]


def in_units(rows, found):
    (mean,), (covariance,) = found.mean, found.covariance
    return rows.mean + mean * rows.scale, covariance * np.outer(rows.scale, rows.scale)


def table_with_holes(seed, m=4, n=60, share=0.3):
    rng = np.random.default_rng(seed)
    return with_holes(correlated_rows(m, n, rng), share, rng, at_random=seed % 2 == 0), rng


def assert_steps_of_em(table, parents, masks, weight=None, tolerance=1e-9, accuracy=1e-6):
    """Against EM row by row, with as many steps."""
    rows = incomplete_rows(table, weight)
    found = estimate(rows, masks, start(rows), tolerance=tolerance)
    mean, covariance = rows.mean, np.diag(rows.scale**2)
    for _ in range(found.n_steps - 1):
        mean, covariance = reference.em_step(table, parents, mean, covariance, weight)
    for ours, theirs in zip(in_units(rows, found), (mean, covariance), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-8)
    expected = reference.observed_log_likelihood(table, mean, covariance, weight)
    assert found.log_likelihood - rows.log_units() == pytest.approx(expected, abs=accuracy)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("weighted", [False, True])
def test_steps_are_those_of_em_row_by_row(seed, weighted):
    table, rng = table_with_holes(seed)
    weight = rng.integers(1, 4, len(table)).astype(float) if weighted else None
    assert_steps_of_em(table, *random_parents(4, rng), weight)


@pytest.mark.parametrize("spread", [1.0, 1e-2, 1e-4])
def test_few_holes_in_nearly_collinear_columns_change_no_step(spread):
    rng = np.random.default_rng(5)
    table = correlated_rows(7, 80, rng)
    table = np.column_stack([table, table[:, 0] + spread * rng.normal(size=80)])
    table[5:] = with_holes(table[5:], 0.15, rng)
    parents, masks = zip(*((tuple(range(x)), (1 << x) - 1) for x in range(8)), strict=True)
    assert_steps_of_em(table, parents, masks, tolerance=1e-2, accuracy=1e-5)


def test_short_calls_of_the_kernel_change_no_bit(monkeypatch):
    rows = incomplete_rows(table_with_holes(3, m=5, n=30)[0])
    whole = saturated(rows, 1e-8)
    monkeypatch.setattr("skbn._missing.em._OPERATIONS", 1)
    split = saturated(rows, 1e-8)
    assert (split.n_steps, split.log_likelihood) == (whole.n_steps, whole.log_likelihood)
    np.testing.assert_array_equal(split.scatter, whole.scatter)
    assert saturated(rows, 1e-8, lambda: True).n_steps == 1


def test_rows_without_holes_need_no_iteration():
    table = correlated_rows(4, 50, np.random.default_rng(0))
    rows = incomplete_rows(table)
    parents = [(), (0,), (0, 1), (2,)]
    found = estimate(rows, [0, 1, 3, 4], start(rows), tolerance=1e-9)
    covariance = reference.covariance_of_network(np.cov(table.T, bias=True), parents)
    mean, ours = in_units(rows, found)
    np.testing.assert_allclose(mean, table.mean(axis=0))
    np.testing.assert_allclose(ours, covariance, rtol=1e-9)
    np.testing.assert_allclose(found.scatter[0], 50 * np.corrcoef(table.T), atol=1e-9)


def test_a_prior_bounds_the_saturated_model():
    rng = np.random.default_rng(0)
    table = with_holes(correlated_rows(3, 60, rng), 0.3, rng)
    table = np.column_stack([table, table[:, 0] + table[:, 1]])
    rows = incomplete_rows(table)
    with pytest.raises(UnboundedError) as refusal:
        estimate(rows, [0, 1, 0, 3], start(rows), tolerance=1e-9)
    assert refusal.value.column == 3
    found = saturated(rows, 1e-4)
    assert np.linalg.eigvalsh(found.covariance[0])[0] > 1e-5
    assert np.trace(found.scatter[0]) == pytest.approx(rows.n_samples * 4, rel=0.2)


def test_the_saturated_model_is_that_of_em_row_by_row():
    table, _ = table_with_holes(4, n=20)
    rows = incomplete_rows(table)
    found = saturated(rows, 1e-10)
    scaled = (table - rows.mean) / rows.scale
    mean, covariance = np.zeros(4), np.eye(4)
    complete = [tuple(range(x)) for x in range(4)]
    for _ in range(500):
        prior = 0.1 * np.eye(4), 0.1
        mean, covariance = reference.em_step(scaled, complete, mean, covariance, prior=prior)
    np.testing.assert_allclose(found.mean[0], mean, atol=1e-5)
    np.testing.assert_allclose(found.covariance[0], covariance, atol=1e-5)


@pytest.mark.parametrize(("m", "share"), [(1, 0.2), (2, 0.3), (4, 0.3), (6, 0.5), (8, 0.1)])
@pytest.mark.parametrize("tolerance", [1e-2, 1e-9])
def test_numpy_finds_the_same_saturated_model(m, share, tolerance):
    table, rng = table_with_holes(m, m, share=share)
    rows = incomplete_rows(table, rng.integers(1, 4, len(table)).astype(float))
    mean, covariance = saturated_by_pattern(rows, tolerance)
    found = saturated(rows, tolerance)
    np.testing.assert_allclose(mean, found.mean[0], atol=1e-12)
    np.testing.assert_allclose(covariance, found.covariance[0], atol=1e-12)


# Rows by their patterns of holes


def log_likelihood(rows, mean, covariance):
    """The observed log-likelihood of IncompleteRows, in their units."""
    values, weight, observed, starts, *_ = rows.patterned
    values = values.copy()
    for pattern, first, end in zip(observed, starts, starts[1:], strict=False):
        values[first:end, ~pattern] = np.nan
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
