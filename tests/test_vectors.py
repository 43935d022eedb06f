"""The vector operations, each in a kernel, against NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skbn import _vectors as vectors
from skbn._compile import kernel


@kernel
def apply(operation, a, b, result):
    for i in range(0, result.size, 4):
        vectors.store(result, i, operation(vectors.load(a, i), vectors.load(b, i)))


@kernel
def apply_to_one(operation, a, result):
    for i in range(0, result.size, 4):
        vectors.store(result, i, operation(vectors.load(a, i)))


BINARY = {
    "plus": (kernel(lambda a, b: vectors.plus(a, b)), np.add),
    "minus": (kernel(lambda a, b: vectors.minus(a, b)), np.subtract),
    "times": (kernel(lambda a, b: vectors.times(a, b)), np.multiply),
    "over": (kernel(lambda a, b: vectors.over(a, b)), np.divide),
    "larger": (kernel(lambda a, b: vectors.larger(a, b)), np.maximum),
    "even_entries": (
        kernel(lambda a, b: vectors.even_entries(a, b)),
        lambda a, b: np.hstack([a.reshape(-1, 4)[:, ::2], b.reshape(-1, 4)[:, ::2]]).ravel(),
    ),
    "odd_entries": (
        kernel(lambda a, b: vectors.odd_entries(a, b)),
        lambda a, b: np.hstack([a.reshape(-1, 4)[:, 1::2], b.reshape(-1, 4)[:, 1::2]]).ravel(),
    ),
    "first_halves": (
        kernel(lambda a, b: vectors.first_halves(a, b)),
        lambda a, b: np.hstack([a.reshape(-1, 4)[:, :2], b.reshape(-1, 4)[:, :2]]).ravel(),
    ),
    "second_halves": (
        kernel(lambda a, b: vectors.second_halves(a, b)),
        lambda a, b: np.hstack([a.reshape(-1, 4)[:, 2:], b.reshape(-1, 4)[:, 2:]]).ravel(),
    ),
    "without_bit_0": (
        kernel(lambda a, b: vectors.without_bit_0(a, b)),
        lambda a, b: a[np.arange(a.size) & ~1],
    ),
    "without_bit_1": (
        kernel(lambda a, b: vectors.without_bit_1(a, b)),
        lambda a, b: a[np.arange(a.size) & ~2],
    ),
}
UNARY = {
    "negative": (kernel(lambda a: vectors.negative(a)), np.negative),
    "square_root": (kernel(lambda a: vectors.square_root(a)), np.sqrt),
}
log_of_each = kernel(lambda a: vectors.logarithm(a))


@pytest.mark.parametrize("name", BINARY)
def test_operation_on_two_vectors(name):
    operation, expected = BINARY[name]
    a, b = np.random.default_rng(0).normal(size=(2, 16))
    result = np.empty(16)
    apply(operation, a, b, result)
    np.testing.assert_array_equal(result, expected(a, b))


@pytest.mark.parametrize("name", UNARY)
def test_operation_on_a_vector(name):
    operation, expected = UNARY[name]
    a = np.random.default_rng(0).exponential(size=16)
    result = np.empty(16)
    apply_to_one(operation, a, result)
    np.testing.assert_array_equal(result, expected(a))


def test_the_larger_of_infinities():
    a = np.array([-np.inf, -np.inf, 1.0, np.inf])
    b = np.array([-np.inf, 2.0, -np.inf, 3.0])
    result = np.empty(4)
    apply(BINARY["larger"][0], a, b, result)
    np.testing.assert_array_equal(result, [-np.inf, 2.0, 1.0, np.inf])


def logarithms(values):
    padded = np.ones(-len(values) % 4 + len(values))
    padded[: len(values)] = values
    result = np.empty_like(padded)
    apply_to_one(log_of_each, padded, result)
    return result[: len(values)]


def test_logarithms_are_right_to_the_last_digit_but_one():
    rng = np.random.default_rng(0)
    values = np.concatenate(
        [
            10 ** rng.uniform(-300, 300, 20_000),
            1 + rng.uniform(-0.3, 0.5, 20_000),
            1 + rng.normal(size=20_000) * 1e-9,
            np.sqrt(0.5) * (1 + np.arange(-8, 8) * np.finfo(float).eps),
            [np.finfo(float).tiny, np.finfo(float).max, 1.0, 0.5, 2.0],
        ]
    )
    exact = np.log(values.astype(np.longdouble))
    errors = np.abs(logarithms(values) - exact) / np.spacing(np.abs(exact.astype(float)))
    assert errors.max() < 1
    assert logarithms([1.0]) == 0


@given(st.floats(min_value=1e-300, max_value=1e300))
def test_logarithm_of_any_number(value):
    np.testing.assert_allclose(logarithms([value])[0], np.log(value), rtol=3e-16, atol=0)
