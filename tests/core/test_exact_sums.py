"""Sums and products without rounding, against fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skbn._core.exact_sums import lower_sum, two_product, two_sum, upper_sum

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
