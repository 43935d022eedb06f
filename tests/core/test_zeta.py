"""The zeta transform with maxima, and with sums of float64, against plain Python."""

import numpy as np
import pytest
import reference
from numba import njit
from numba.extending import register_jitable

from skbn._core.subsets import max_zeta, zeta_transform
from skbn._core.vectors import plus, raised_by_bit_0, raised_by_bit_1


@njit(error_model="numpy")
def sum_zeta(table, first_bit, last_bit):
    """Turn entries into sums over subsets, which are exact if they are small integers."""
    zeta_transform(table, first_bit, last_bit, _sum, _sum_within_vector, None)


@register_jitable
def _sum(a, b, wide):
    return plus(a, b)


@register_jitable
def _sum_within_vector(x, wide):
    x = plus(x, raised_by_bit_0(x))
    return plus(x, raised_by_bit_1(x))


@pytest.mark.parametrize("n_bits", range(1, 12))
@pytest.mark.parametrize(("transform", "join"), [(max_zeta, np.maximum), (sum_zeta, np.add)])
def test_transform_over_any_bits(n_bits, transform, join):
    rng = np.random.default_rng(n_bits)
    for first in range(n_bits):
        for last in range(first, n_bits + 1):
            table = rng.integers(-1000, 1000, size=1 << n_bits).astype(float)
            expected = table.copy()
            for bit in range(first, last):
                pairs = expected.reshape(-1, 2, 1 << bit)
                pairs[:, 1] = join(pairs[:, 0], pairs[:, 1])
            transform(table, first, last)
            np.testing.assert_array_equal(table, expected)


@pytest.mark.parametrize("n_bits", range(10))
@pytest.mark.parametrize(("transform", "join"), [(max_zeta, max), (sum_zeta, sum)])
def test_entries_are_joined_over_subsets(n_bits, transform, join):
    values = np.random.default_rng(n_bits).integers(-1000, 1000, size=1 << n_bits).tolist()
    table = np.array(values, dtype=float)
    transform(table, 0, n_bits)
    assert table.tolist() == reference.joined_over_subsets(values, join)


def test_maxima_may_be_minus_infinity():
    table = np.full(64, -np.inf)
    table[5] = 1.0
    max_zeta(table, 0, 6)
    np.testing.assert_array_equal(table, [1.0 if i & 5 == 5 else -np.inf for i in range(64)])
