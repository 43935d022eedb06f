"""The vector operations against NumPy, compiled together in two kernels."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernels import callable_from_python
from numba import njit

from skbn._core import vectors


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
    operation = callable_from_python(getattr(vectors, name))
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


@given(st.floats(min_value=1e-300, max_value=1e300))
def test_logarithm_of_any_number(value):
    np.testing.assert_allclose(logarithms([value])[0], np.log(value), rtol=3e-16, atol=0)
