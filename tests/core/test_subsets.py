from itertools import combinations

import mpmath
import numpy as np
import pytest
from numba import njit

from skbn._core import vectors
from skbn._core.subsets import SmallSubsets, max_zeta


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


# The zeta transform with maxima against plain Python


@pytest.mark.parametrize("n_bits", range(1, 12))
def test_transform_over_any_bits(n_bits):
    rng = np.random.default_rng(n_bits)
    for first in range(n_bits):
        for last in range(first, n_bits + 1):
            table = rng.integers(-1000, 1000, size=1 << n_bits).astype(float)
            expected = table.copy()
            for bit in range(first, last):
                pairs = expected.reshape(-1, 2, 1 << bit)
                pairs[:, 1] = np.maximum(pairs[:, 0], pairs[:, 1])
            max_zeta(table, first, last)
            np.testing.assert_array_equal(table, expected)


def test_maxima_may_be_minus_infinity():
    table = np.full(64, -np.inf)
    table[5] = 1.0
    max_zeta(table, 0, 6)
    np.testing.assert_array_equal(table, [1.0 if i & 5 == 5 else -np.inf for i in range(64)])


# The vector operations against NumPy, compiled together in two kernels


@njit
def apply_binary(a, b, results):
    for i in range(0, a.size, 4):
        x, y = vectors.load(a, i), vectors.load(b, i)
        vectors.store(results[0], i, vectors.plus(x, y))
        vectors.store(results[1], i, vectors.minus(x, y))
        vectors.store(results[2], i, vectors.times(x, y))
        vectors.store(results[3], i, vectors.over(x, y))
        vectors.store(results[4], i, vectors.larger(x, y, None))
        vectors.store(results[5], i, vectors.even_entries(x, y))
        vectors.store(results[6], i, vectors.odd_entries(x, y))
        vectors.store(results[7], i, vectors.first_halves(x, y))
        vectors.store(results[8], i, vectors.second_halves(x, y))
        vectors.store(results[9], i, vectors.without_bit_0(x, y))
        vectors.store(results[10], i, vectors.without_bit_1(x, y))


@njit
def apply_unary(a, results):
    for i in range(0, a.size, 4):
        x = vectors.load(a, i)
        vectors.store(results[0], i, vectors.negative(x))
        vectors.store(results[1], i, vectors.square_root(x))
        vectors.store(results[2], i, vectors.logarithm(x))


def entries(places, a, b):
    """The entries of each vector of one array at these places, then those of the other."""
    return np.hstack([each.reshape(-1, 4)[:, places] for each in (a, b)]).ravel()


BINARY = {
    "plus": np.add,
    "minus": np.subtract,
    "times": np.multiply,
    "over": np.divide,
    "larger": np.maximum,
    "even_entries": lambda a, b: entries([0, 2], a, b),
    "odd_entries": lambda a, b: entries([1, 3], a, b),
    "first_halves": lambda a, b: entries([0, 1], a, b),
    "second_halves": lambda a, b: entries([2, 3], a, b),
    "without_bit_0": lambda a, b: a[np.arange(a.size) & ~1],
    "without_bit_1": lambda a, b: a[np.arange(a.size) & ~2],
}
UNARY = {"negative": np.negative, "square_root": np.sqrt}


def binary(a, b):
    results = np.empty((len(BINARY), a.size))
    apply_binary(a, b, results)
    return dict(zip(BINARY, results, strict=True))


def unary(a):
    results = np.empty((3, a.size))
    apply_unary(a, results)
    return dict(zip([*UNARY, "logarithm"], results, strict=True))


@pytest.mark.parametrize("name", BINARY)
def test_operation_on_two_vectors(name):
    a, b = np.random.default_rng(0).normal(size=(2, 16))
    np.testing.assert_array_equal(binary(a, b)[name], BINARY[name](a, b))


@pytest.mark.parametrize("name", ["plus", "minus", "times", "over", "larger"])
def test_operation_on_two_numbers(name):
    inner = getattr(vectors, name)
    operation = njit(lambda *numbers: inner(*numbers))
    wide = (None,) if name == "larger" else ()
    assert operation(1.5, -2.25, *wide) == BINARY[name](1.5, -2.25)


@pytest.mark.parametrize("name", UNARY)
def test_operation_on_a_vector(name):
    a = np.random.default_rng(0).exponential(size=16)
    np.testing.assert_array_equal(unary(a)[name], UNARY[name](a))


def test_the_larger_of_infinities():
    a = np.array([-np.inf, -np.inf, 1.0, np.inf])
    b = np.array([-np.inf, 2.0, -np.inf, 3.0])
    np.testing.assert_array_equal(binary(a, b)["larger"], [-np.inf, 2.0, 1.0, np.inf])


def logarithms(values):
    padded = np.ones(-len(values) % 4 + len(values))
    padded[: len(values)] = values
    return unary(padded)["logarithm"][: len(values)]


def test_logarithms_are_right_to_the_last_digit_but_one():
    rng = np.random.default_rng(0)
    values = np.concatenate(
        [
            10 ** rng.uniform(-300, 300, 4_000),
            1 + rng.uniform(-0.3, 0.5, 4_000),
            1 + rng.normal(size=4_000) * 1e-9,
            np.sqrt(0.5) * (1 + np.arange(-8, 8) * np.finfo(float).eps),
            [np.finfo(float).tiny, np.finfo(float).max, 1.0, 0.5, 2.0],
        ]
    )
    with mpmath.workprec(120):
        off = [mpmath.log(x) - y for x, y in zip(values, logarithms(values).tolist(), strict=True)]
    errors = np.abs(np.array(off, dtype=float)) / np.spacing(np.abs(np.log(values)))
    assert errors.max() < 1
    assert logarithms([1.0]) == 0
