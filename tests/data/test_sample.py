"""Summaries of rows: exact scatter, weights as repeats, chunks as a whole."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from skbn._data.sample import _ROWS_A_BLOCK, summarise


def exact_scatter(rows, weight):
    """Sums of products of deviations from the weighted mean, in rational arithmetic."""
    rows = [[Fraction(float(value)) for value in row] for row in rows]
    weight = [Fraction(float(value)) for value in weight]
    m = len(rows[0])
    mean = [
        sum(w * row[j] for w, row in zip(weight, rows, strict=True)) / sum(weight) for j in range(m)
    ]
    return [
        [
            sum(
                w * (row[i] - mean[i]) * (row[j] - mean[j])
                for w, row in zip(weight, rows, strict=True)
            )
            for j in range(m)
        ]
        for i in range(m)
    ], mean


def assert_is_summary_of(summary, rows, weight, accuracy=1e-12):
    scatter, mean = exact_scatter(rows, weight)
    spread = np.sqrt([float(scatter[j][j]) for j in range(rows.shape[1])])
    spread[spread == 0] = 1
    factor = np.ldexp(summary.factor, summary.exponent) / spread
    expected = np.array(
        [[float(v) / spread[i] / spread[j] for j, v in enumerate(r)] for i, r in enumerate(scatter)]
    )
    assert_allclose(factor.T @ factor, expected, rtol=0, atol=accuracy)
    largest = np.abs(rows).max(axis=0)
    error = [
        float(abs(Fraction(float(a)) - b)) for a, b in zip(summary.column_means, mean, strict=True)
    ]
    assert (np.array(error) <= 4e-16 * largest).all()
    assert summary.n_samples == pytest.approx(np.sum(weight), rel=1e-15)
    assert_array_equal(summary.minimum, rows.min(axis=0))
    assert_array_equal(summary.maximum, rows.max(axis=0))


def table(seed, n, m=4):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, m)) @ rng.normal(size=(m, m))
    return rows * 10.0 ** rng.integers(-3, 4, size=m) + 10.0 ** rng.integers(-3, 6, size=m)


@given(
    st.integers(0, 1000),
    st.lists(st.integers(1, 9), min_size=1, max_size=6),
    st.sampled_from([None, "repeats", "reals"]),
)
def test_chunks_make_the_whole(seed, sizes, kind):
    n = sum(sizes)
    rows, rng = table(seed, n), np.random.default_rng(seed)
    weight = {None: None, "repeats": rng.integers(1, 5, n), "reals": rng.exponential(size=n)}[kind]
    weight = None if weight is None else weight.astype(float)
    merged = None
    for chunk in np.split(np.arange(n), np.cumsum(sizes)[:-1]):
        each = summarise(rows[chunk], None if weight is None else weight[chunk])
        merged = each if merged is None else merged.merge(each)
    ones = np.ones(n) if weight is None else weight
    # Deviations from a mean that is a million times larger have ten digits left.
    assert_is_summary_of(merged, rows, ones, accuracy=1e-8)
    assert_is_summary_of(summarise(rows, weight), rows, ones, accuracy=1e-8)
    assert merged.n_rows == n


def test_weights_of_many_blocks_stay_with_their_rows():
    n = 2 * _ROWS_A_BLOCK + 17
    rows, weight = table(1, n), np.random.default_rng(1).integers(0, 4, n)
    weight[_ROWS_A_BLOCK : 2 * _ROWS_A_BLOCK] = 0  # a block that does not count
    weighted = summarise(rows, weight.astype(float))
    repeated = summarise(rows.repeat(weight, axis=0))
    assert_allclose(weighted.column_means, repeated.column_means, rtol=1e-14)
    assert_allclose(weighted.column_means, np.average(rows, axis=0, weights=weight), rtol=1e-12)
    assert_array_equal(weighted.exponent, repeated.exponent)
    scatter, expected = (s.factor.T @ s.factor for s in (weighted, repeated))
    scale = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    assert_allclose(scatter / scale, expected / scale, atol=1e-9)
    assert (weighted.n_rows, weighted.n_samples) == ((weight > 0).sum(), weight.sum())


def test_weights_count_repeats_and_zeros_drop_rows():
    rows = table(3, 12)
    weight = np.array([0, 1, 2, 3, 0, 1, 1, 4, 0, 1, 2, 0.0])
    weighted = summarise(rows, weight)
    repeated = summarise(rows.repeat(weight.astype(int), axis=0))
    assert weighted.n_samples == repeated.n_samples == 15
    assert isinstance(weighted.n_samples, int)
    assert (weighted.n_rows, repeated.n_rows) == (8, 15)
    assert_is_summary_of(weighted, rows[weight > 0], weight[weight > 0], accuracy=1e-9)
    assert_is_summary_of(repeated, rows[weight > 0], weight[weight > 0], accuracy=1e-9)


def test_large_means_leave_the_digits_of_small_spreads():
    """Deviations are exact if the mean is near; merging must not lose them."""
    rng = np.random.default_rng(0)
    rows = 2.0**30 + rng.integers(-64, 64, size=(60, 3)) * 2.0**-20
    chunks = [summarise(part) for part in np.split(rows, 6)]
    merged = chunks[0]
    for each in chunks[1:]:
        merged = merged.merge(each)
    scatter, _ = exact_scatter(rows, np.ones(60))
    expected = np.array([[float(v) for v in row] for row in scatter])
    for summary in (merged, summarise(rows)):
        factor = np.ldexp(summary.factor, summary.exponent)
        assert_allclose(factor.T @ factor, expected, rtol=1e-12, atol=1e-21)


@pytest.mark.parametrize("scale", [1e-308, 1e-300, 1e-160, 1e150, 1e301])
def test_extreme_units_and_a_column_that_begins_with_zeros(scale):
    rows = table(5, 20) * scale
    rows[:10, 2] = 0
    merged = summarise(rows[:10]).merge(summarise(rows[10:]))
    assert_allclose(merged.column_means, rows.mean(axis=0), rtol=1e-12)
    factor, whole = merged.factor, summarise(rows)
    assert_array_equal(merged.exponent, whole.exponent)
    assert_allclose(factor.T @ factor, whole.factor.T @ whole.factor, rtol=1e-9, atol=1e-20)
    assert (np.abs(factor).max(axis=0) > 1e-12).all()


def test_fewer_rows_than_columns():
    rows = table(1, 2)
    summary = summarise(rows[:1]).merge(summarise(rows[1:]))
    assert_is_summary_of(summary, rows, np.ones(2), accuracy=1e-8)
