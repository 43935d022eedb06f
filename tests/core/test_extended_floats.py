"""Extended floats against exact fractions and mpmath, alone and in vectors."""

import math
from fractions import Fraction

import mpmath
import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skbn._core import extended_floats
from skbn._core.exact_sums import lower_sum, two_product, two_sum, upper_sum
from skbn._core.extended_floats import WideFormat, wide_as_double, wide_exp, wide_product, wide_sum
from skbn._core.vectors import load, store

FORMATS = [WideFormat(50, 2048), WideFormat(47, 20_000), WideFormat(36, 40_000_000)]


@numba.njit
def sums(a, b, result, form):
    for i in range(0, a.size, 4):
        store(result, i, wide_sum(load(a, i), load(b, i), form))
    return np.array([wide_sum(a[i], b[i], form) for i in range(a.size)])


@numba.njit
def products(a, b, result, form):
    for i in range(0, a.size, 4):
        store(result, i, wide_product(load(a, i), load(b, i), form))
    return np.array([wide_product(a[i], b[i], form) for i in range(a.size)])


@numba.njit
def exponentials(x, result, form):
    for i in range(0, x.size, 4):
        store(result, i, wide_exp(load(x, i), form))
    return np.array([wide_exp(x[i], form) for i in range(x.size)])


@numba.njit
def doubles(a, result, form, exponent):
    for i in range(0, a.size, 4):
        store(result, i, wide_as_double(load(a, i), form, exponent))
    return np.array([wide_as_double(a[i], form, exponent) for i in range(a.size)])


def applied(operation, *numbers, dtype=np.int64):
    """What an operation gives for vectors, which must be what it gives for single numbers."""
    *operands, form = numbers
    result = np.empty(operands[0].size, dtype=dtype)
    alone = operation(*operands, result, form)
    np.testing.assert_array_equal(alone, result)
    return result


def exact(number, form):
    """Return the value of an extended float."""
    exponent, mantissa = divmod(int(number), 1 << form.bits)
    return Fraction(2) ** (exponent - form.bias) * (1 + Fraction(mantissa, 1 << form.bits))


def random_numbers(rng, form, n, exponents):
    """Return extended floats with exponents between two bounds, some of them powers of two."""
    exponent = rng.integers(*exponents, size=n) + form.bias
    mantissa = rng.integers(0, 1 << form.bits, size=n)
    mantissa[::5], mantissa[1::5] = 0, (1 << form.bits) - 1
    return exponent << form.bits | mantissa


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("spread", [1, 3, 40, 90])
def test_sums_are_rounded_to_the_nearest(form, spread):
    rng = np.random.default_rng(spread)
    a, b = (random_numbers(rng, form, 400, (-spread, spread)) for _ in range(2))
    result = applied(sums, a, b, form)
    for x, y, total in zip(a, b, result, strict=True):
        true = exact(x, form) + exact(y, form)
        # Half a step of the mantissa for the shift, and half for the sum past a power of two.
        assert abs(exact(total, form) / true - 1) <= Fraction(1, 1 << form.bits)


@pytest.mark.parametrize("form", FORMATS)
def test_products_are_rounded_to_the_nearest(form):
    rng = np.random.default_rng(form.bits)
    a, b = (random_numbers(rng, form, 400, (-900, 900)) for _ in range(2))
    result = applied(products, a, b, form)
    for x, y, product in zip(a, b, result, strict=True):
        error = abs(exact(product, form) / (exact(x, form) * exact(y, form)) - 1)
        assert error <= Fraction(1, 1 << form.bits + 1) + Fraction(1, 1 << 52)


@pytest.mark.parametrize("form", FORMATS)
def test_exponentials_agree_with_mpmath(form):
    largest = 0.6 * form.bias
    rng = np.random.default_rng(form.bits)
    x = np.concatenate([rng.uniform(-largest, largest, 396), [0.0, 1.0, -1.0, 1e-20]])
    result = applied(exponentials, x, form)
    with mpmath.workdps(60):
        for value, number in zip(x, result, strict=True):
            exponent, mantissa = divmod(int(number), 1 << form.bits)
            found = mpmath.ldexp(1 + mpmath.ldexp(mantissa, -form.bits), exponent - form.bias)
            error = abs(found / mpmath.exp(mpmath.mpf(float(value))) - 1)
            assert error <= 2.0 ** -(form.bits + 1) + 2.0**-51


@pytest.mark.parametrize("form", FORMATS)
def test_what_is_too_small_becomes_nothing(form):
    x = np.array([-np.inf, -1e300, -2.0 * form.bias, -0.7 * form.bias])
    result = applied(exponentials, x, form)
    assert all(extended_floats.is_zero(number, form) for number in result[:3])
    small, one = np.full(4, 3 << form.bits), np.full(4, form.one)
    assert (applied(products, small, small, form) == 0).all()
    assert (applied(sums, one, np.zeros_like(one), form) == form.one).all()


@pytest.mark.parametrize("form", FORMATS)
def test_doubles_are_in_units_of_a_power_of_two(form):
    rng = np.random.default_rng(form.bits)
    a = random_numbers(rng, form, 400, (-1000, 1000))
    result = np.empty(a.size)
    alone = doubles(a, result, form, form.bias + 5)
    np.testing.assert_array_equal(alone, result)
    assert [Fraction(x) for x in result] == [exact(number, form) / 32 for number in a]
    tiny = np.array([0, 1, form.bias - 2000 << form.bits, form.one])
    doubles(tiny, result[:4], form, form.bias)
    np.testing.assert_allclose(result[:4], [0, 0, 0, 1], atol=1e-300)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("number", [1.0, 0.75, 1e-5, 3e5])
def test_python_numbers_there_and_back(form, number):
    stored = form.from_float(number)
    assert exact(stored, form) == pytest.approx(number, rel=2.0**-form.bits)
    assert form.log(stored) == pytest.approx(np.log(number), rel=1e-10, abs=1e-10)
    exponent, mantissa = form.split(stored)
    assert mantissa * 2.0 ** (exponent - form.bias) == pytest.approx(number, rel=1e-10)


@pytest.mark.parametrize(
    ("log_range", "bits"), [(0.0, 50), (700.0, 50), (1e4, 47), (1e5, 44), (4e7, 36)]
)
def test_a_larger_range_leaves_fewer_digits(log_range, bits):
    form = WideFormat.for_range(log_range)
    assert form.bits == bits
    # The smallest number of the range has an exponent well above that of nothing.
    assert form.bias - log_range / np.log(2) >= 2048
    assert (2 * form.bias) << form.bits < 1 << 63


def test_a_range_that_leaves_too_few_digits_has_no_format():
    assert WideFormat.for_range(1e8) is None
    assert extended_floats._FEWEST_BITS == 36


# Sums and products without rounding, against fractions


NUMBERS = st.floats(-1e100, 1e100, allow_subnormal=False).filter(lambda x: not 0 < abs(x) < 1e-100)


@given(st.lists(NUMBERS, max_size=8))
def test_sums_are_rounded_to_one_side(terms):
    exact, up, down = sum(map(Fraction, terms)), upper_sum(terms), lower_sum(terms)
    assert Fraction(math.nextafter(up, -math.inf)) < exact <= Fraction(up)
    assert Fraction(down) <= exact < Fraction(math.nextafter(down, math.inf))


@pytest.mark.parametrize("number", [math.inf, -math.inf])
def test_sums_may_be_infinite(number):
    assert upper_sum([1.0, number]) == lower_sum([1.0, number]) == number


@given(NUMBERS, NUMBERS)
def test_nothing_is_lost(a, b):
    assert sum(map(Fraction, two_sum(a, b))) == Fraction(a) + Fraction(b)
    assert sum(map(Fraction, two_product(a, b))) == Fraction(a) * Fraction(b)


def test_arrays():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 100)) * 10.0 ** rng.integers(-9, 9, size=(2, 100))
    for operation, exactly in ((two_sum, Fraction.__add__), (two_product, Fraction.__mul__)):
        for high, low, x, y in zip(*operation(a, b), a, b, strict=True):
            assert Fraction(high) + Fraction(low) == exactly(Fraction(x), Fraction(y))
            assert high == high + low
