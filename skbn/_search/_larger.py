"""The larger of two scores, as one machine instruction."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

__all__ = ["larger"]


@intrinsic
def larger(typing_context, a, b):
    """Return the larger of two float64, neither of which is NaN.

    Written as ``b if b > a else a``, LLVM turns ``t[i] = larger(t[i], s[i])`` into
    masked stores, which take twice the time of the whole loop. Scores are never
    NaN (the flag `nnan`), but may be infinite.
    """

    def codegen(context, builder, signature, arguments):
        double = ir.DoubleType()
        maxnum = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(double, [double, double]), "llvm.maxnum.f64"
        )
        return builder.call(maxnum, arguments, fastmath=("nnan",))

    return types.float64(types.float64, types.float64), codegen
