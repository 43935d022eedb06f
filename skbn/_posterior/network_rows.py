"""Rows of numbers that belong to sets of columns, and the innermost loops of sums over networks.

`network_sum_kernels` says what rows are. Four of them are gone over at a time, so that what they
share is read once.

No two terms of the sums have the same scale, so that each is made in the range of float64: its
exponent is the sum of those of its factors, less that of a sum over orders. This sum bounds the one
over networks from above, and is at most factorial(m) times as large. Exponents are shifted left by
`bits`, as those of extended floats are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from skbn._core.compile import inner_kernel
from skbn._core.extended_floats import WIDE
from skbn._core.vectors import FOUR, INTEGERS, VECTOR, load, plus, store, times

__all__ = [
    "ROW_BITS",
    "add_rows",
    "columns_of_rows",
    "copy_rows",
    "fold",
    "integer_of_float",
    "place_rows",
    "push_rows",
    "row_length",
]

# If all but one of a term's factors have an exponent below minus this, the term is nothing,
# whatever the other is: the terms' other factors are below 2**1000.
_BEYOND = 2200
# Terms below 2**(123 - 1023) are nothing. Less than 2**-1022 would slow processors down.
_NEGLIGIBLE = 123
# A row has the sets of at most this many columns, so that many rows fit a cache.
ROW_BITS = 8


def _spread(builder: Any, value: Any) -> Any:
    """Return an int64 in all lanes."""
    empty = ir.Constant(INTEGERS, ir.Undefined)
    first = builder.insert_element(empty, value, ir.Constant(ir.IntType(32), 0))
    mask = ir.Constant(ir.VectorType(ir.IntType(32), 4), [0] * 4)
    return builder.shuffle_vector(first, empty, mask)


@intrinsic
def _power_product(typing_context, a, b, least, wide):
    """Return float64 of the extended floats ``a + b - least``, 0 where this is negligible.

    a and b are four int64 each; mantissas, if any, are those of one of them. The bias of the result
    is that of float64. ``a + b`` must not overflow, ``a + b - least`` may where it is negative.
    """

    def codegen(context, builder, signature, arguments):
        a, b = (builder.bitcast(four, INTEGERS) for four in arguments[:2])
        least = _spread(builder, arguments[2])
        bits = _spread(builder, builder.extract_value(arguments[3], 0))
        total = builder.add(a, b)
        surplus = builder.sub(ir.Constant(INTEGERS, [52] * 4), bits)
        shifted = builder.shl(builder.sub(total, least), surplus)
        negligible = builder.shl(ir.Constant(INTEGERS, [_NEGLIGIBLE] * 4), bits)
        is_something = builder.icmp_signed(">", total, builder.add(least, negligible))
        result = builder.select(is_something, shifted, ir.Constant(INTEGERS, [0] * 4))
        return builder.bitcast(result, VECTOR)

    return FOUR(FOUR, FOUR, types.int64, WIDE), codegen


@intrinsic
def _multiply_add(typing_context, a, b, c):
    """Return ``a * b + c`` of vectors, rounded once."""

    def codegen(context, builder, signature, arguments):
        function = ir.FunctionType(VECTOR, [VECTOR] * 3)
        fma = cgutils.get_or_insert_function(builder.module, function, "llvm.fma.v4f64")
        return builder.call(fma, arguments)

    return FOUR(FOUR, FOUR, FOUR), codegen


@intrinsic
def _four_times(typing_context, a):
    """Return a vector with the same float64 in all entries."""

    def codegen(context, builder, signature, arguments):
        empty = ir.Constant(VECTOR, ir.Undefined)
        first = builder.insert_element(empty, arguments[0], ir.Constant(ir.IntType(32), 0))
        mask = ir.Constant(ir.VectorType(ir.IntType(32), 4), [0] * 4)
        return builder.shuffle_vector(first, empty, mask)

    return FOUR(types.float64), codegen


@intrinsic
def _sum_of_entries(typing_context, a):
    """Return the sum of a vector's entries."""

    def codegen(context, builder, signature, arguments):
        entries = [
            builder.extract_element(arguments[0], ir.Constant(ir.IntType(32), i)) for i in range(4)
        ]
        return builder.fadd(
            builder.fadd(entries[0], entries[1]), builder.fadd(entries[2], entries[3])
        )

    return types.float64(FOUR), codegen


@intrinsic
def integer_of_float(typing_context, value):
    """Return the int64 with the same bits as a float64."""

    def codegen(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), codegen


@inner_kernel
def row_length(n_free):
    """Return the distance between rows, if this many outer columns may be in S.

    Rows are whole vectors. The distance of long ones is no power of two, since caches hold few
    numbers at such distances.
    """
    length = 1 << min(n_free, ROW_BITS)
    return length + 8 if length >= 64 else max(4, length)


@inner_kernel
def columns_of_rows(free):
    """Return the columns whose sets a row has, the lowest of those that may be in S."""
    columns, rest = np.int64(0), free
    for _ in range(ROW_BITS):
        columns |= rest & -rest
        rest &= rest - 1
    return columns


@inner_kernel
def copy_rows(array, n_inner, base, columns, rows, length):
    """Copy to rows the entries of the sets that have the columns `base`, and others of `columns`.

    Both are outer columns; there are rows for all sets of inner columns.
    """
    inner = 1 << n_inner
    starts = np.empty(8, np.int64)
    subset = np.int64(0)
    k = 0
    while True:
        n = 0
        while n < 8:
            starts[n] = base | subset
            n += 1
            subset = (subset - columns) & columns
            if subset == 0:
                break
        if n == 8:  # whole lines of a cache are written at once
            for i in range(inner):
                for j in range(8):
                    rows[i * length + k + j] = array[starts[j] + i]
        else:
            for i in range(inner):
                for j in range(n):
                    rows[i * length + k + j] = array[starts[j] + i]
        k += n
        if subset == 0:
            return


@inner_kernel
def place_rows(i, n_rows, length, scale, wide, factors, exponents, starts, leasts):
    """Say where the rows of the supersets of the inner columns i start, and what is too little.

    The exponents of the rows' factors are not shifted; `scale` is the exponent that terms are
    relative to. Rows with factor 0 make up the first four.
    """
    W = i
    for S in range(n_rows):
        starts[S] = W * length
        # Larger numbers might overflow, and leave nothing of a row either.
        leasts[S] = min(scale - exponents[S] - 1023, wide.bias + _BEYOND) << wide.bits
        W = (W + 1) | i
    for S in range(n_rows, 4):
        factors[S], starts[S], leasts[S] = 0.0, starts[0], leasts[0]


@inner_kernel
def add_rows(rows, inner, S, outer, wide):
    """Add four rows times their factors to sums by outer part of S, and set those by inner part.

    `inner` and `outer` are factors, exponents and sums; see `_inner_memory` and `_outer_memory`.
    """
    factors, _, starts, leasts, dots = inner
    mantissas, exponents, sums = outer
    start_0, start_1, start_2, start_3 = starts[S], starts[S + 1], starts[S + 2], starts[S + 3]
    least_0, least_1, least_2, least_3 = leasts[S], leasts[S + 1], leasts[S + 2], leasts[S + 3]
    factor_0, factor_1 = _four_times(factors[S]), _four_times(factors[S + 1])
    factor_2, factor_3 = _four_times(factors[S + 2]), _four_times(factors[S + 3])
    zero = _four_times(0.0)
    dot_0, dot_1, dot_2, dot_3 = zero, zero, zero, zero
    for k in range(0, mantissas.size, 4):
        by = load(mantissas, k)
        exponent = load(exponents, k)
        total = load(sums, k)
        term = _power_product(load(rows, start_0 + k), exponent, least_0, wide)
        total = _multiply_add(factor_0, term, total)
        dot_0 = _multiply_add(term, by, dot_0)
        term = _power_product(load(rows, start_1 + k), exponent, least_1, wide)
        total = _multiply_add(factor_1, term, total)
        dot_1 = _multiply_add(term, by, dot_1)
        term = _power_product(load(rows, start_2 + k), exponent, least_2, wide)
        total = _multiply_add(factor_2, term, total)
        dot_2 = _multiply_add(term, by, dot_2)
        term = _power_product(load(rows, start_3 + k), exponent, least_3, wide)
        total = _multiply_add(factor_3, term, total)
        dot_3 = _multiply_add(term, by, dot_3)
        store(sums, k, total)
    dots[S] = factors[S] * _sum_of_entries(dot_0)
    dots[S + 1] = factors[S + 1] * _sum_of_entries(dot_1)
    dots[S + 2] = factors[S + 2] * _sum_of_entries(dot_2)
    dots[S + 3] = factors[S + 3] * _sum_of_entries(dot_3)


@inner_kernel
def push_rows(rows, inner, S, outer, scales, wide):
    """Add the products over the outer parts of S, times a factor, to each of four rows."""
    factors, _, starts, leasts, _ = inner
    mantissas, exponents, _ = outer
    start_0, start_1, start_2, start_3 = starts[S], starts[S + 1], starts[S + 2], starts[S + 3]
    least_0, least_1, least_2, least_3 = leasts[S], leasts[S + 1], leasts[S + 2], leasts[S + 3]
    factor_0, factor_1 = _four_times(factors[S]), _four_times(factors[S + 1])
    factor_2, factor_3 = _four_times(factors[S + 2]), _four_times(factors[S + 3])
    for k in range(0, mantissas.size, 4):
        by = load(mantissas, k)
        exponent = load(exponents, k)
        scale = _power_product(load(scales, start_0 + k), exponent, least_0, wide)
        row = load(rows, start_0 + k)
        store(rows, start_0 + k, _multiply_add(times(factor_0, by), scale, row))
        scale = _power_product(load(scales, start_1 + k), exponent, least_1, wide)
        row = load(rows, start_1 + k)
        store(rows, start_1 + k, _multiply_add(times(factor_1, by), scale, row))
        scale = _power_product(load(scales, start_2 + k), exponent, least_2, wide)
        row = load(rows, start_2 + k)
        store(rows, start_2 + k, _multiply_add(times(factor_2, by), scale, row))
        scale = _power_product(load(scales, start_3 + k), exponent, least_3, wide)
        row = load(rows, start_3 + k)
        store(rows, start_3 + k, _multiply_add(times(factor_3, by), scale, row))


@inner_kernel
def fold(values, size):
    """Set ``values[2**j]`` to the sum of the entries with bit j, and ``values[0]`` to that of all.

    There are `size` entries, a power of two.
    """
    while size > 4:
        size >>= 1
        total = _four_times(0.0)
        for k in range(0, size, 4):
            with_bit = load(values, size + k)
            total = plus(total, with_bit)
            store(values, k, plus(load(values, k), with_bit))
        values[size] = _sum_of_entries(total)
    while size > 1:
        size >>= 1
        total = 0.0
        for k in range(size):
            total += values[size + k]
            values[k] += values[size + k]
        values[size] = total
