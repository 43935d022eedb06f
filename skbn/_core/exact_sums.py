"""Sums whose rounding is known: rounded to one side, or kept in two float64 parts.

A number in two parts is their unevaluated sum, which has about twice the digits of float64.
`two_sum` (Knuth) and `two_product` (Dekker) have no error at all, as long as nothing overflows and
no product is below 1e-280. They take numbers or arrays, in kernels and out of them.
"""

import math
from collections.abc import Iterable
from typing import Any

from numba.extending import register_jitable

# Dekker's constant: it splits the 53 digits of a float64 into two halves, whose products are exact.
_SPLITTER = 2.0**27 + 1.0


def upper_sum(terms: Iterable[float]) -> float:
    """Return the least float64 that is not below the sum of some numbers.

    >>> upper_sum([1.0, 1e-30]) > 1.0
    True
    >>> upper_sum([1.0, 1e-30, -1e-30])
    1.0
    """
    terms = list(terms)
    total = math.fsum(terms)
    # fsum rounds once, so that the sign of what it left out is right as well.
    if math.isfinite(total) and math.fsum([*terms, -total]) > 0:
        total = math.nextafter(total, math.inf)
    return total


def lower_sum(terms: Iterable[float]) -> float:
    """Return the largest float64 that is not above the sum of some numbers."""
    return -upper_sum(-term for term in terms)


@register_jitable
def two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """Return ``a + b`` as float64, and what it lacks."""
    total = a + b
    of_b = total - a
    return total, (a - (total - of_b)) + (b - of_b)


@register_jitable
def is_less(high_a: float, low_a: float, high_b: float, low_b: float) -> bool:
    """Return whether a number is less than another, both as `two_sum` leaves them."""
    return high_a < high_b or (high_a == high_b and low_a < low_b)


@register_jitable
def two_product(a: Any, b: Any) -> tuple[Any, Any]:
    """Return ``a * b`` as float64, and what it lacks."""
    product = a * b
    high_a = _SPLITTER * a
    high_a = high_a - (high_a - a)
    high_b = _SPLITTER * b
    high_b = high_b - (high_b - b)
    low_a, low_b = a - high_a, b - high_b
    lacking = ((high_a * high_b - product) + high_a * low_b + low_a * high_b) + low_a * low_b
    return product, lacking
