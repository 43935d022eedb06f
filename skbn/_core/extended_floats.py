"""Extended floats: nonnegative numbers with a wide exponent in 64 bits, alone or four in a vector.

The terms of a posterior differ by factors of up to 2**(10**7), beyond float64, and adding their
logarithms takes 15 times as long as adding extended floats. An extended float is an int64,

    ``exponent << bits | mantissa``, for ``2**(exponent - bias) * (1 + mantissa / 2**bits)``.

A `WideFormat` holds the number of bits and the bias, which depend on the range that a computation
needs. Extended floats of one format are ordered as their integers are. The integer 0 stands for
zero; it would also be ``2**-bias``, which the bias makes negligible.

The functions here round to the nearest, except for ties. Their operands are int64, or vectors of
four extended floats. Kernels take the format as one argument, `wide`, of the numba type `WIDE`.
"""

import math
from typing import Any, NamedTuple, Self

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, register_jitable

from skbn._core.compile import tuple_type
from skbn._core.vectors import (
    FOUR,
    INTEGERS,
    VECTOR,
    call_llvm,
    filled,
    raised_by_bit_0,
    raised_by_bit_1,
    spread,
)

_INTEGER = ir.IntType(64)
# log(2) in two parts, the first of 33 bits, so that its products with exponents are exact.
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
# The sum of this and a number below 2**51 has the nearest integer in its last bits.
_ROUNDER = 1.5 * 2.0**52
# exp of less than this is 0 with the bias of every child, and the exponent fits in 52 bits.
_LEAST_LOG = -1e15
# The Taylor series of exp on [-log(2)/2, log(2)/2], cut at this power, has an error below 1e-17.
_EXP_DEGREE = 13
# Products are made of float64 mantissas of 52 bits: two bits are left for rounding.
_MOST_BITS = 50
# With fewer bits, 11 digits, sums over networks would not be worth showing.
_FEWEST_BITS = 36
# Spare exponents above the largest product and below the smallest one that matters: there are
# 2**620 networks of 32 columns, and a double has 53 bits.
_MARGIN = 2048
# Separates two kinds of exponents: those of all numbers in the range are larger, and those of sums
# of numbers that were rounded to zero are smaller.
_LEAST_EXPONENT = _MARGIN // 2


class WideFormat(NamedTuple):
    """How the extended floats of one computation are stored."""

    bits: int  # number of bits of the mantissa
    bias: int  # subtracted from the stored exponent

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
        """The extended float 1."""
        return self.bias << self.bits

    def split(self, number: int) -> tuple[int, float]:
        """Return the exponent of an extended float, and its mantissa: from 1 to below 2."""
        exponent, mantissa = divmod(int(number), 1 << self.bits)
        return exponent, 1.0 + mantissa / 2**self.bits

    def from_float(self, number: float) -> int:
        """Return the extended float nearest to a nonnegative number."""
        if number == 0:
            return 0
        mantissa, exponent = math.frexp(number)
        return (exponent - 1 + self.bias << self.bits) + round((2 * mantissa - 1) * 2**self.bits)

    def log(self, number: int) -> float:
        """Return the logarithm of an extended float, in nats."""
        exponent, mantissa = self.split(number)
        return (exponent - self.bias) * math.log(2) + math.log(mantissa)


WIDE = tuple_type(WideFormat)


class _Lanes:
    """LLVM instructions that are the same for one extended float and for a vector of four."""

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
        return spread(self._builder, value) if self._is_vector else value

    def bits_of(self, wide: Any) -> Any:
        """Return the number of bits of a `WideFormat` in all lanes."""
        return self.spread(self._builder.extract_value(wide, 0))

    def bias_of(self, wide: Any) -> Any:
        """Return the bias of a `WideFormat` in all lanes."""
        return self.spread(self._builder.extract_value(wide, 1))

    def larger(self, a: Any, b: Any) -> Any:
        return call_llvm(self._builder, f"llvm.smax.{self._suffix}i64", a, b)

    def smaller(self, a: Any, b: Any) -> Any:
        return call_llvm(self._builder, f"llvm.smin.{self._suffix}i64", a, b)

    def multiply_add(self, a: Any, b: Any, c: Any) -> Any:
        return call_llvm(self._builder, f"llvm.fma.{self._suffix}f64", a, b, c)


def _lane(kind: Any) -> Any:
    return FOUR if kind == FOUR else types.int64


@intrinsic
def wide_sum(typing_context, a, b, wide):
    """Return ``a + b``."""

    def codegen(context, builder, signature, arguments):
        lanes = _Lanes(builder, signature.args[0])
        a, b = map(lanes.integers, arguments[:2])
        bits = lanes.bits_of(arguments[2])
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
    return lane(lane, lane, WIDE), codegen


@intrinsic
def wide_product(typing_context, a, b, wide):
    """Return ``a * b``, by the product of the mantissas as float64."""

    def codegen(context, builder, signature, arguments):
        lanes = _Lanes(builder, signature.args[0])
        a, b = map(lanes.integers, arguments[:2])
        bits, bias = lanes.bits_of(arguments[2]), lanes.bias_of(arguments[2])
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
    return lane(lane, lane, WIDE), codegen


@intrinsic
def wide_exp(typing_context, x, wide):
    """Return the exponential of float64, which may be -inf but not NaN.

    x is ``k * log(2) + r`` with an integer k (Cody and Waite); exp(r) is its Taylor polynomial.
    """

    def codegen(context, builder, signature, arguments):
        lanes = _Lanes(builder, signature.args[0])
        x = arguments[0]
        bits, bias = lanes.bits_of(arguments[1]), lanes.bias_of(arguments[1])
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
    return lane(FOUR if x == FOUR else types.float64, WIDE), codegen


@intrinsic
def wide_as_double(typing_context, number, wide, exponent):
    """Return float64, in units of the power of two of this (biased) exponent.

    The numbers must be below 2**1024 units. Those below 2**-1022 units become less than this.
    """

    def codegen(context, builder, signature, arguments):
        lanes = _Lanes(builder, signature.args[0])
        number = lanes.integers(arguments[0])
        bits, exponent = lanes.bits_of(arguments[1]), lanes.spread(arguments[2])
        own = builder.add(builder.sub(builder.lshr(number, bits), exponent), lanes.integer(1023))
        own = builder.shl(lanes.larger(own, lanes.integer(0)), lanes.integer(52))
        one = lanes.integer(1)
        mantissa = builder.and_(number, builder.sub(builder.shl(one, bits), one))
        mantissa = builder.shl(mantissa, builder.sub(lanes.integer(52), bits))
        return lanes.doubles(builder.or_(own, mantissa))

    double = FOUR if number == FOUR else types.float64
    return double(_lane(number), WIDE, types.int64), codegen


@intrinsic
def _same_bits(typing_context, value):
    """Return the int64 with the same bits as a float64."""

    def codegen(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], _INTEGER)

    return types.int64(types.float64), codegen


@register_jitable
def wide_from_double(value, exponent, wide):
    """Return ``value * 2**(exponent - bias)``; 0 if it is negative."""
    if value <= 0.0:
        return types.int64(0)
    surplus = 52 - wide.bits
    # To the nearest, and of two to the even one: errors must not add up.
    bits = _same_bits(value)
    below_half = (types.int64(1) << (surplus - 1)) - 1
    rounded = (bits + below_half + (bits >> surplus & 1)) >> surplus
    return max(rounded + ((exponent - 1023) << wide.bits), 0)


@register_jitable
def is_zero(number: int, wide: WideFormat) -> bool:
    """Return whether an extended float is 0, or a sum or product with numbers that stand for 0."""
    return number >> wide.bits < _LEAST_EXPONENT


@register_jitable
def sum_within_vector(x, wide):
    """Return the sums over subsets of two bits, of which the four entries are the subsets."""
    x = wide_sum(x, raised_by_bit_0(x, filled(0.0)), wide)
    return wide_sum(x, raised_by_bit_1(x, filled(0.0)), wide)
