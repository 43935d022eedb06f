"""Wide numbers: nonnegative numbers of any magnitude in 64 bits, alone or four in a vector.

The terms of a posterior differ by factors of up to 2**(10**7), beyond float64, and adding their
logarithms takes 15 times as long as adding wide numbers. A wide number is an int64,

    ``exponent << bits | mantissa``, for ``2**(exponent - bias) * (1 + mantissa / 2**bits)``.

`WideFormat` has the number of bits and the bias, which depend on the range that a computation
needs. Wide numbers of one format are ordered as their integers are. The integer 0 stands for zero;
as it also stands for ``2**-bias``, the bias must be so large that this is nothing.

The functions here round to the nearest, but for halves. Their operands are int64, or vectors of
four whose entries are wide numbers; `bits` and `bias` are int64.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, register_jitable

from skbn._core.vectors import FOUR, INTEGERS, VECTOR, raised_by_bit_0, raised_by_bit_1

__all__ = [
    "WideFormat",
    "sum_within_vector",
    "wide_as_double",
    "wide_exp",
    "wide_product",
    "wide_sum",
]

_INTEGER = ir.IntType(64)
# log(2) in two parts, the first of 33 bits, so that its products with exponents are exact.
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
# Added to a number of moderate size, it leaves the nearest integer in the last bits.
_ROUNDER = 1.5 * 2.0**52
# Beyond this, exp is nothing in any format; its exponent still fits 52 bits.
_LEAST_LOG = -1e9
# The series of exp on [-log(2)/2, log(2)/2] to this power has an error below 1e-17.
_EXP_DEGREE = 13
_MOST_BITS = 50
_FEWEST_BITS = 36
# Room in the exponent above the largest product and below the smallest one that matters: networks
# of 32 columns number 2**620, and a double has 53 bits.
_MARGIN = 2048


class WideFormat(NamedTuple):
    """How wide numbers of one computation are stored.

    Parameters
    ----------
    bits : int
        Number of bits of the mantissa.
    bias : int
    """

    bits: int
    bias: int

    @classmethod
    def for_range(cls, log_range: float) -> Self | None:
        """Return the most precise format for numbers down to ``exp(-log_range)``, in nats.

        Numbers may be as large as the number of networks of 32 columns. None is returned if the
        mantissa would have fewer than 36 bits.
        """
        bias = math.ceil(log_range / math.log(2)) + _MARGIN
        bits = min(_MOST_BITS, 63 - (2 * bias).bit_length())
        return None if bits < _FEWEST_BITS else cls(bits, bias)

    @property
    def one(self) -> int:
        """The wide number 1."""
        return self.bias << self.bits

    def log(self, wide: int) -> float:
        """Return the logarithm of a wide number, in nats."""
        exponent, mantissa = divmod(int(wide), 1 << self.bits)
        return (exponent - self.bias) * math.log(2) + math.log1p(mantissa / 2**self.bits)


class _Lanes:
    """What is common to instructions on one wide number and on a vector of four."""

    def __init__(self, builder: Any, kind: Any) -> None:
        self._builder = builder
        self._is_vector = kind == FOUR
        self._integers = INTEGERS if self._is_vector else _INTEGER
        self._doubles = VECTOR if self._is_vector else ir.DoubleType()
        self._suffix = "v4" if self._is_vector else ""

    def integers(self, value: Any) -> Any:
        return self._builder.bitcast(value, self._integers)

    def doubles(self, value: Any) -> Any:
        return self._builder.bitcast(value, self._doubles)

    def result(self, value: Any) -> Any:
        """Return integers as vectors of float64 are passed on; a single one as it is."""
        return self.doubles(value) if self._is_vector else value

    def integer(self, value: int) -> Any:
        return ir.Constant(self._integers, [value] * 4 if self._is_vector else value)

    def double(self, value: float) -> Any:
        return ir.Constant(self._doubles, [value] * 4 if self._is_vector else value)

    def spread(self, value: Any) -> Any:
        """Return an int64 in all lanes."""
        if not self._is_vector:
            return value
        empty = ir.Constant(INTEGERS, ir.Undefined)
        first = self._builder.insert_element(empty, value, ir.Constant(ir.IntType(32), 0))
        mask = ir.Constant(ir.VectorType(ir.IntType(32), 4), [0] * 4)
        return self._builder.shuffle_vector(first, empty, mask)

    def larger(self, a: Any, b: Any) -> Any:
        return self._call(f"llvm.smax.{self._suffix}i64", a, b)

    def smaller(self, a: Any, b: Any) -> Any:
        return self._call(f"llvm.smin.{self._suffix}i64", a, b)

    def multiply_add(self, a: Any, b: Any, c: Any) -> Any:
        return self._call(f"llvm.fma.{self._suffix}f64", a, b, c)

    def _call(self, name: str, *arguments: Any) -> Any:
        kind = arguments[0].type
        function = ir.FunctionType(kind, [kind] * len(arguments))
        called = cgutils.get_or_insert_function(self._builder.module, function, name)
        return self._builder.call(called, arguments)


def _lane(kind: Any) -> Any:
    return FOUR if kind == FOUR else types.int64


@intrinsic
def wide_sum(typing_context, a, b, bits):
    """Return ``a + b``."""

    def codegen(context, builder, signature, arguments):
        lanes = _Lanes(builder, signature.args[0])
        a, b, bits = *map(lanes.integers, arguments[:2]), lanes.spread(arguments[2])
        one = lanes.integer(1)
        unit = builder.shl(one, bits)
        mask = builder.sub(unit, one)
        large, small = lanes.larger(a, b), lanes.smaller(a, b)
        shift = builder.sub(builder.lshr(large, bits), builder.lshr(small, bits))
        mantissa = builder.or_(builder.and_(small, mask), unit)
        # One bit more than is kept, and half of the last kept bit added, rounds to nearest. LLVM
        # does not define shifts by 64 or more.
        shifted = builder.lshr(builder.shl(mantissa, one), shift)
        is_near = builder.icmp_unsigned("<", shift, lanes.integer(64))
        shifted = builder.select(is_near, shifted, lanes.integer(0))
        total = builder.add(large, builder.lshr(builder.add(shifted, one), one))
        # From the next power of two on, a step of the mantissa counts twice as much.
        end = builder.add(builder.or_(large, mask), one)
        excess = lanes.larger(builder.sub(total, end), lanes.integer(0))
        return lanes.result(builder.sub(total, builder.lshr(excess, one)))

    lane = _lane(a)
    return lane(lane, lane, types.int64), codegen


@intrinsic
def wide_product(typing_context, a, b, bits, bias):
    """Return ``a * b``, by the product of the mantissas as float64."""

    def codegen(context, builder, signature, arguments):
        lanes = _Lanes(builder, signature.args[0])
        a, b = map(lanes.integers, arguments[:2])
        bits, bias = map(lanes.spread, arguments[2:])
        one = lanes.integer(1)
        mask = builder.sub(builder.shl(one, bits), one)
        scale = lanes.integer(1023)
        surplus = builder.sub(lanes.integer(52), bits)

        def mantissa(x):
            x = builder.shl(builder.and_(x, mask), surplus)
            return lanes.doubles(builder.or_(x, builder.shl(scale, lanes.integer(52))))

        product = lanes.integers(builder.fmul(mantissa(a), mantissa(b)))
        half = builder.lshr(builder.shl(one, surplus), one)
        rounded = builder.lshr(builder.add(product, half), surplus)
        high = builder.xor(mask, lanes.integer(-1))
        exponents = builder.add(builder.and_(a, high), builder.and_(b, high))
        exponents = builder.sub(exponents, builder.shl(builder.add(scale, bias), bits))
        return lanes.result(lanes.larger(builder.add(exponents, rounded), lanes.integer(0)))

    lane = _lane(a)
    return lane(lane, lane, types.int64, types.int64), codegen


@intrinsic
def wide_exp(typing_context, x, bits, bias):
    """Return the exponential of float64, which may be -inf but not NaN.

    x is ``k * log(2) + r`` with an integer k (Cody and Waite); exp(r) is its Taylor polynomial.
    """

    def codegen(context, builder, signature, arguments):
        lanes = _Lanes(builder, signature.args[0])
        x = arguments[0]
        bits, bias = map(lanes.spread, arguments[1:])
        least, rounder = lanes.double(_LEAST_LOG), lanes.double(_ROUNDER)
        x = builder.select(builder.fcmp_ordered("<", x, least), least, x)
        in_bits = lanes.multiply_add(x, lanes.double(1 / math.log(2)), rounder)
        exponent = builder.sub(lanes.integers(in_bits), lanes.integers(rounder))
        k = builder.fsub(in_bits, rounder)
        r = lanes.multiply_add(k, lanes.double(-_LN2_HIGH), x)
        r = lanes.multiply_add(k, lanes.double(-_LN2_LOW), r)
        exp_r = lanes.double(1 / math.factorial(_EXP_DEGREE))
        for power in range(_EXP_DEGREE - 1, -1, -1):
            exp_r = lanes.multiply_add(exp_r, r, lanes.double(1 / math.factorial(power)))
        surplus = builder.sub(lanes.integer(52), bits)
        half = builder.lshr(builder.shl(lanes.integer(1), surplus), lanes.integer(1))
        rounded = builder.lshr(builder.add(lanes.integers(exp_r), half), surplus)
        # A negative exponent would wrap around when it is shifted.
        exponent = lanes.larger(builder.add(exponent, bias), lanes.integer(0))
        exponent = builder.shl(builder.sub(exponent, lanes.integer(1023)), bits)
        return lanes.result(lanes.larger(builder.add(exponent, rounded), lanes.integer(0)))

    lane = _lane(x)
    return lane(FOUR if x == FOUR else types.float64, types.int64, types.int64), codegen


@intrinsic
def wide_as_double(typing_context, wide, bits, exponent):
    """Return float64, in units of the power of two of this (biased) exponent.

    The numbers must be below 2**1024 units. Those below 2**-1022 units become less than this.
    """

    def codegen(context, builder, signature, arguments):
        lanes = _Lanes(builder, signature.args[0])
        wide = lanes.integers(arguments[0])
        bits, exponent = map(lanes.spread, arguments[1:])
        own = builder.add(builder.sub(builder.lshr(wide, bits), exponent), lanes.integer(1023))
        own = builder.shl(lanes.larger(own, lanes.integer(0)), lanes.integer(52))
        one = lanes.integer(1)
        mantissa = builder.and_(wide, builder.sub(builder.shl(one, bits), one))
        mantissa = builder.shl(mantissa, builder.sub(lanes.integer(52), bits))
        return lanes.doubles(builder.or_(own, mantissa))

    double = FOUR if wide == FOUR else types.float64
    return double(_lane(wide), types.int64, types.int64), codegen


@register_jitable
def sum_within_vector(x, bits):
    """Return the sums over subsets of two bits, of which the four entries are the subsets."""
    x = wide_sum(x, raised_by_bit_0(x), bits)
    return wide_sum(x, raised_by_bit_1(x), bits)
