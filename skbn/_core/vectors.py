"""Vectors of four neighbouring float64, and the operations that kernels do with them.

The compiler would not vectorise these loops by itself: it does not know that the rows of a table
do not overlap, nor that entries within a vector may be compared. LLVM maps vectors of four to the
registers that the processor has.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

VECTOR = ir.VectorType(ir.DoubleType(), 4)
INTEGERS = ir.VectorType(ir.IntType(64), 4)
# log(2) in two parts, the first with trailing zeros, and the coefficients of
# log((1 + s) / (1 - s)) / s - 2 in powers of s**2, optimised for the interval. They and the
# algorithm of `logarithm` come from fdlibm's e_log.c, whose notice is:
#
# Copyright (C) 1993 by Sun Microsystems, Inc. All rights reserved.
#
# Developed at SunSoft, a Sun Microsystems, Inc. business.
# Permission to use, copy, modify, and distribute this
# software is freely granted, provided that this notice
# is preserved.
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_LOG_SERIES = (
    6.666666666666735130e-01,
    3.999999999940941908e-01,
    2.857142874366239149e-01,
    2.222219843214978396e-01,
    1.818357216161805012e-01,
    1.531383769920937332e-01,
    1.479819860511658591e-01,
)


class _Four(types.Type):
    def __init__(self) -> None:
        super().__init__(name="four float64")


FOUR = _Four()


@register_model(_Four)
class _FourModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, VECTOR)


def spread(builder: Any, value: Any) -> Any:
    """Return an LLVM vector with the same number in all four entries."""
    empty = ir.Constant(ir.VectorType(value.type, 4), ir.Undefined)
    first = builder.insert_element(empty, value, ir.Constant(ir.IntType(32), 0))
    mask = ir.Constant(ir.VectorType(ir.IntType(32), 4), [0] * 4)
    return builder.shuffle_vector(first, empty, mask)


def call_llvm(builder: Any, name: str, *arguments: Any, **options: Any) -> Any:
    """Call one of LLVM's own functions, whose arguments and result are of one type."""
    kind = arguments[0].type
    function = ir.FunctionType(kind, [kind] * len(arguments))
    called = cgutils.get_or_insert_function(builder.module, function, name)
    return builder.call(called, arguments, **options)


@intrinsic
def filled(typing_context, a):
    """Return a vector with the same number in all entries: a float64, or the bits of an int64."""

    def codegen(context, builder, signature, arguments):
        return builder.bitcast(spread(builder, arguments[0]), VECTOR)

    return FOUR(types.float64 if isinstance(a, types.Float) else types.int64), codegen


@intrinsic
def load(typing_context, array, i):
    """Return the entries i, ..., i + 3 of a contiguous array with any number of dimensions."""

    def codegen(context, builder, signature, arguments):
        return builder.load(_pointer(context, builder, signature, arguments), align=8)

    return FOUR(array, types.intp), codegen


@intrinsic
def store(typing_context, array, i, four):
    """Set the entries i, ..., i + 3 of a contiguous array with any number of dimensions."""

    def codegen(context, builder, signature, arguments):
        pointer = _pointer(context, builder, signature, arguments)
        builder.store(arguments[2], pointer, align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, FOUR), codegen


def _entrywise(name: str, docstring: str) -> Any:
    """Make one LLVM instruction a function of two float64, or of two vectors."""

    def operation(typing_context, a, b):
        kind = FOUR if a == FOUR else types.float64

        def codegen(context, builder, signature, arguments):
            return getattr(builder, name)(*arguments)

        return kind(kind, kind), codegen

    operation.__doc__ = docstring
    return intrinsic(operation)


plus = _entrywise("fadd", "Return a sum, or vectors' sums entry by entry.")
minus = _entrywise("fsub", "Return a difference, or vectors' differences entry by entry.")
times = _entrywise("fmul", "Return a product, or vectors' products entry by entry.")
over = _entrywise("fdiv", "Return a quotient, or vectors' quotients entry by entry.")


@intrinsic
def float_sum(typing_context, a, b, wide):
    """Return ``plus(a, b)``, where a sum of extended floats would take its format `wide`."""
    kind = FOUR if a == FOUR else types.float64

    def codegen(context, builder, signature, arguments):
        return builder.fadd(*arguments[:2])

    return kind(kind, kind, wide), codegen


@intrinsic
def negative(typing_context, a):
    """Return a vector's entries with their signs changed."""

    def codegen(context, builder, signature, arguments):
        return builder.fneg(*arguments)

    return FOUR(FOUR), codegen


@intrinsic
def multiply_add(typing_context, a, b, c):
    """Return ``a * b + c`` of vectors, rounded once."""

    def codegen(context, builder, signature, arguments):
        return call_llvm(builder, "llvm.fma.v4f64", *arguments)

    return FOUR(FOUR, FOUR, FOUR), codegen


@intrinsic
def sum_of_entries(typing_context, a):
    """Return the sum of a vector's entries: of the first two, plus that of the last two."""

    def codegen(context, builder, signature, arguments):
        entries = [
            builder.extract_element(arguments[0], ir.Constant(ir.IntType(32), i)) for i in range(4)
        ]
        return builder.fadd(
            builder.fadd(entries[0], entries[1]), builder.fadd(entries[2], entries[3])
        )

    return types.float64(FOUR), codegen


@intrinsic
def square_root(typing_context, a):
    """Return the square roots of a vector's entries."""

    def codegen(context, builder, signature, arguments):
        return call_llvm(builder, "llvm.sqrt.v4f64", *arguments)

    return FOUR(FOUR), codegen


@intrinsic
def logarithm(typing_context, a):
    """Return the natural logarithms of a vector's entries, which are positive normal numbers.

    This is the algorithm of fdlibm's e_log.c, whose error is below 1 ulp: x is 2**k times a z near
    1, and log(z) is an odd polynomial in (z - 1) / (z + 1). A loop over `math.log` would call a
    function for each entry, which takes longer than the rotation before it.
    """

    def codegen(context, builder, signature, arguments):
        def number(value):
            return ir.Constant(VECTOR, [value] * 4)

        def integer(value):
            return ir.Constant(INTEGERS, [value] * 4)

        def polynomial(x, *coefficients):
            result = number(coefficients[-1])
            for coefficient in coefficients[-2::-1]:
                result = builder.fadd(builder.fmul(result, x), number(coefficient))
            return result

        bits = builder.bitcast(arguments[0], INTEGERS)
        # The exponent of z is chosen such that sqrt(1/2) <= z < sqrt(2), up to rounding.
        above = builder.sub(bits, integer(0x3FE6A09E667F3BCD - (1023 << 52)))
        biased = builder.lshr(above, integer(52))
        exponent = builder.shl(builder.sub(biased, integer(1023)), integer(52))
        z = builder.bitcast(builder.sub(bits, exponent), VECTOR)
        # An integer below 2**52 in the last bits of 2**52 is their sum.
        k = builder.bitcast(builder.or_(biased, integer(0x433 << 52)), VECTOR)
        k = builder.fsub(k, number(2.0**52 + 1023))

        f = builder.fsub(z, number(1.0))
        s = builder.fdiv(f, builder.fadd(number(2.0), f))
        s_squared = builder.fmul(s, s)
        half_square = builder.fmul(number(0.5), builder.fmul(f, f))
        series = builder.fmul(s_squared, polynomial(s_squared, *_LOG_SERIES))
        small = builder.fmul(s, builder.fadd(half_square, series))
        small = builder.fadd(small, builder.fmul(k, number(_LN2_LOW)))
        log_z = builder.fsub(f, builder.fsub(half_square, small))
        return builder.fadd(builder.fmul(k, number(_LN2_HIGH)), log_z)

    return FOUR(FOUR), codegen


@intrinsic
def larger(typing_context, a, b, wide):
    """Return the larger of two float64, or of the entries of two vectors; none may be NaN.

    `wide` is not used: sums of extended floats, in the same place, take their format. Scores may be
    infinite but are never NaN, which the flag `nnan` says. If this were written as ``b if b > a
    else a``, LLVM would turn ``t[i] = larger(t[i], s[i])`` into masked stores, which double the
    time of the whole loop.
    """
    kind = FOUR if a == FOUR else types.float64

    def codegen(context, builder, signature, arguments):
        name = "llvm.maxnum.v4f64" if kind == FOUR else "llvm.maxnum.f64"
        return call_llvm(builder, name, *arguments[:2], fastmath=("nnan",))

    return kind(kind, kind, wide), codegen


def _choice(entries: list[int], docstring: str) -> Any:
    def choose(typing_context, a, b):
        def codegen(context, builder, signature, arguments):
            mask = ir.Constant(ir.VectorType(ir.IntType(32), 4), entries)
            return builder.shuffle_vector(*arguments, mask)

        return FOUR(FOUR, FOUR), codegen

    choose.__doc__ = docstring
    return intrinsic(choose)


even_entries = _choice([0, 2, 4, 6], "Return entries 0, 2, 4 and 6 of two vectors side by side.")
odd_entries = _choice([1, 3, 5, 7], "Return entries 1, 3, 5 and 7 of two vectors side by side.")
first_halves = _choice([0, 1, 4, 5], "Return the first two entries of each of two vectors.")
second_halves = _choice([2, 3, 6, 7], "Return the last two entries of each of two vectors.")
without_bit_0 = _choice([0, 0, 2, 2], "Return entry i & ~1 of the first as entry i.")
without_bit_1 = _choice([0, 1, 0, 1], "Return entry i & ~2 of the first as entry i.")
reversed_entries = _choice([3, 2, 1, 0], "Return the entries of the first in reverse order.")
raised_by_bit_0 = _choice(
    [4, 0, 6, 2], "Return entry i & ~1 of the first as entry i where i has bit 0, else the second."
)
raised_by_bit_1 = _choice(
    [4, 5, 0, 1], "Return entry i & ~2 of the first as entry i where i has bit 1, else the second."
)


def _pointer(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    return builder.bitcast(builder.gep(array.data, [arguments[1]]), VECTOR.as_pointer())
