"""Four neighbouring float64 as one value, and the larger of two of them.

The compiler would not find these by itself: it knows neither that the rows of a
table do not overlap nor that entries within a vector may be compared. So kernels
say it. LLVM turns vectors of four into what the processor has.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

__all__ = [
    "even_entries",
    "first_halves",
    "larger",
    "load",
    "odd_entries",
    "plus",
    "second_halves",
    "store",
    "times",
    "without_bit_0",
    "without_bit_1",
]

_VECTOR = ir.VectorType(ir.DoubleType(), 4)


class _Four(types.Type):
    def __init__(self) -> None:
        super().__init__(name="four float64")


_FOUR = _Four()


@register_model(_Four)
class _FourModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, _VECTOR)


@intrinsic
def load(typing_context, array, i):
    """Return the entries i, ..., i + 3 of a contiguous array."""

    def codegen(context, builder, signature, arguments):
        return builder.load(_pointer(context, builder, signature, arguments), align=8)

    return _FOUR(array, types.intp), codegen


@intrinsic
def store(typing_context, array, i, four):
    """Set the entries i, ..., i + 3 of a contiguous array."""

    def codegen(context, builder, signature, arguments):
        pointer = _pointer(context, builder, signature, arguments)
        builder.store(arguments[2], pointer, align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, _FOUR), codegen


@intrinsic
def plus(typing_context, a, b):
    """Return the sums of two vectors' entries."""

    def codegen(context, builder, signature, arguments):
        return builder.fadd(*arguments)

    return _FOUR(_FOUR, _FOUR), codegen


@intrinsic
def times(typing_context, a, b):
    """Return the products of two vectors' entries."""

    def codegen(context, builder, signature, arguments):
        return builder.fmul(*arguments)

    return _FOUR(_FOUR, _FOUR), codegen


@intrinsic
def larger(typing_context, a, b):
    """Return the larger of two float64, or of each two entries of two vectors; none is NaN.

    Written as ``b if b > a else a``, LLVM turns ``t[i] = larger(t[i], s[i])`` into
    masked stores, which take twice the time of the whole loop. Scores are never
    NaN (the flag `nnan`), but may be infinite.
    """
    kind = _FOUR if a == _FOUR else types.float64

    def codegen(context, builder, signature, arguments):
        lane = arguments[0].type
        name = "llvm.maxnum.v4f64" if lane == _VECTOR else "llvm.maxnum.f64"
        function = ir.FunctionType(lane, [lane, lane])
        maxnum = cgutils.get_or_insert_function(builder.module, function, name)
        return builder.call(maxnum, arguments, fastmath=("nnan",))

    return kind(kind, kind), codegen


def _choice(entries: list[int], docstring: str) -> Any:
    def choose(typing_context, a, b):
        def codegen(context, builder, signature, arguments):
            mask = ir.Constant(ir.VectorType(ir.IntType(32), 4), entries)
            return builder.shuffle_vector(*arguments, mask)

        return _FOUR(_FOUR, _FOUR), codegen

    choose.__doc__ = docstring
    return intrinsic(choose)


even_entries = _choice([0, 2, 4, 6], "Return the entries of even number of eight neighbours.")
odd_entries = _choice([1, 3, 5, 7], "Return the entries of odd number of eight neighbours.")
first_halves = _choice([0, 1, 4, 5], "Return the first two of each four of eight neighbours.")
second_halves = _choice([2, 3, 6, 7], "Return the last two of each four of eight neighbours.")
without_bit_0 = _choice([0, 0, 2, 2], "Return, of the first vector, entry i & ~1 in place of i.")
without_bit_1 = _choice([0, 1, 0, 1], "Return, of the first vector, entry i & ~2 in place of i.")


def _pointer(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    return builder.bitcast(builder.gep(array.data, [arguments[1]]), _VECTOR.as_pointer())
