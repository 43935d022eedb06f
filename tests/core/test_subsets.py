from itertools import combinations
from math import comb

import numpy as np
import pytest
from kernels import callable_from_python
from numba import njit
from numba.extending import register_jitable

from skbn._core.subsets import (
    SmallSubsets,
    advance,
    binomial,
    bit_length,
    insert_zero_bit,
    mask_of,
    max_zeta,
    members_of,
    popcount,
    rank,
    remove_bit,
    submasks_by_size,
    zeta_transform,
)
from skbn._core.vectors import plus, raised_by_bit_0, raised_by_bit_1


def test_masks_and_members_are_inverse():
    assert [mask_of(members_of(mask)) for mask in range(64)] == list(range(64))


@pytest.mark.parametrize("bit", range(6))
def test_masks_without_a_bit_are_numbered_without_gaps(bit):
    remove, insert = callable_from_python(remove_bit), callable_from_python(insert_zero_bit)
    masks = [mask for mask in range(64) if not mask >> bit & 1]
    assert [remove(mask, bit) for mask in masks] == list(range(32))
    assert [insert(index, bit) for index in range(32)] == masks


def test_bit_length():
    length = callable_from_python(bit_length)
    assert [length(mask) for mask in range(256)] == [mask.bit_length() for mask in range(256)]


def test_popcount():
    count = callable_from_python(popcount)
    assert [count(mask) for mask in range(256)] == [bin(mask).count("1") for mask in range(256)]


def test_submasks_by_size_are_a_partition():
    groups = submasks_by_size(5)
    assert sorted(mask for group in groups for mask in group) == list(range(32))
    assert all(bin(mask).count("1") == size for size, group in enumerate(groups) for mask in group)


@pytest.mark.parametrize(("n", "most"), [(1, 0), (4, 2), (6, 6), (7, 3), (3, 5)])
def test_sets_are_numbered_by_size_and_then_from_the_last_column(n, most):
    subsets = SmallSubsets(n, most)
    expected = [
        list(members)
        for size in range(min(n, most) + 1)
        for members in sorted(combinations(range(n), size), key=lambda members: members[::-1])
    ]
    assert subsets.n_sets == len(expected)
    assert [subsets.members(i) for i in range(subsets.n_sets)] == expected
    assert [subsets.index(members) for members in expected] == list(range(len(expected)))
    assert subsets.index(expected[-1][::-1]) == len(expected) - 1


@pytest.mark.parametrize("size", [1, 2, 4])
def test_kernels_count_the_same_way(size):
    subsets = SmallSubsets(7, 4)
    members = np.arange(size)
    number = callable_from_python(rank)
    for i in range(subsets.starts[size], subsets.starts[size + 1]):
        assert members.tolist() == subsets.members(i)
        assert number(members, size, subsets.binomials) == i - subsets.starts[size]
        advance(members, size)


def test_binomials():
    number = callable_from_python(binomial)
    for n in range(12):
        assert [number(n, size) for size in range(n + 1)] == [
            comb(n, size) for size in range(n + 1)
        ]


# The zeta transform with maxima, and with sums of float64, against plain Python


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


def test_maxima_may_be_minus_infinity():
    table = np.full(64, -np.inf)
    table[5] = 1.0
    max_zeta(table, 0, 6)
    np.testing.assert_array_equal(table, [1.0 if i & 5 == 5 else -np.inf for i in range(64)])
