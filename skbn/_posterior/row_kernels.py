"""The kernels of rows of numbers, the innermost loops of sums over networks.

`network_sum_kernels` says what rows are. They are processed four at a time, so that what they share
is read once.

No two terms of the sums have the same scale, so each is brought into the range of float64: its
exponent is the sum of those of its factors, less that of a sum over orders. This sum bounds the one
over networks from above, and is at most factorial(m) times as large. Exponents are shifted left by
the bits of a mantissa, as they are in extended floats.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from llvmlite import ir
from numba import float64, int64, types
from numba.extending import intrinsic, register_jitable

from skbn._core.arrays import Floats, Integers
from skbn._core.compile import inner_kernel, tuple_type
from skbn._core.extended_floats import WIDE
from skbn._core.resources import allocate
from skbn._core.vectors import (
    FOUR,
    INTEGERS,
    VECTOR,
    filled,
    load,
    multiply_add,
    plus,
    spread,
    store,
    sum_of_entries,
    times,
)

# A term is 0 if all but one of its factors have an exponent below minus this: the factor that is
# left is below 2**1000, and 2**(1000 - 2200) is below every float64.
_BEYOND = 2200
# Terms below 2**(123 - 1023) are taken for 0. Their products with other terms stay above 2**-1022,
# below which processors are ten times as slow.
_NEGLIGIBLE = 123
# A row has the sets of at most this many columns, so that many rows fit in a cache.
ROW_BITS = 8


class InnerParts(NamedTuple):
    """Memory for what belongs to each inner part of S, and so to each row.

    Parameters
    ----------
    factors : ndarray, float64
        The mantissas of the products of weights.
    exponents : ndarray, int64
        Their exponents, without bias and not shifted.
    starts : ndarray, int64
        Where the rows start.
    least : ndarray, int64
        What a number of the row must exceed, by its shifted exponent, to be more than 0.
    sums : ndarray, float64
        The sum of the terms of each row.
    """

    factors: Floats
    exponents: Integers
    starts: Integers
    least: Integers
    sums: Floats


class OuterParts(NamedTuple):
    """Memory for what belongs to each outer part of S, and so to a place in each row.

    Parameters
    ----------
    mantissas : ndarray, float64
    exponents : ndarray, int64
        Of the products of weights; shifted.
    sums : ndarray, float64
        The sums of terms over all rows.
    """

    mantissas: Floats
    exponents: Integers
    sums: Floats


class Memory(NamedTuple):
    """The memory in which a task works.

    Parameters
    ----------
    rows : ndarray, int64
        A row for each set of inner columns.
    inner : InnerParts
    outer : OuterParts
    """

    rows: Integers
    inner: InnerParts
    outer: OuterParts


_floats, _integers = float64[::1], int64[::1]
_INNER = tuple_type(InnerParts, _floats, _integers, _integers, _integers, _floats)
_OUTER = tuple_type(OuterParts, _floats, _integers, _floats)
MEMORY = tuple_type(Memory, _integers, _INNER, _OUTER)


def new_memory(n_inner: int, n_free: int) -> Memory:
    """Return memory for tasks with `n_inner` inner columns, and `n_free` outer ones outside U."""
    n_rows, n_sets = max(4, 1 << n_inner), max(4, 1 << min(n_free, ROW_BITS))
    # The arrays begin with lines of the cache: those of numpy begin anywhere, and then every other
    # vector lies in two lines.
    factors, inner_sums, mantissas, outer_sums = map(allocate, (n_rows, n_rows, n_sets, n_sets))
    exponents, starts, least = (allocate(n_rows).view(np.int64) for _ in range(3))
    inner = InnerParts(factors, exponents, starts, least, inner_sums)
    outer = OuterParts(mantissas, allocate(n_sets).view(np.int64), outer_sums)
    rows = allocate(row_length(n_free) << n_inner).view(np.int64)
    rows.fill(0)  # vectors read entries beyond the end of short rows, which must be zero
    return Memory(rows, inner, outer)


def n_pushed(n_inner: int, n_free: int) -> int:
    """Return how many numbers a task of `forward_networks` pushes."""
    return row_length(n_free) << max(n_free - ROW_BITS, 0) << n_inner


@intrinsic
def _power_product(typing_context, a, b, least, wide):
    """Return float64 of the extended floats ``a + b - least``, 0 where this is negligible.

    a and b are four int64 each; mantissas, if any, are those of one of them. The bias of the result
    is that of float64. ``a + b`` must not overflow, ``a + b - least`` may where it is negative.
    """

    def codegen(context, builder, signature, arguments):
        a, b = (builder.bitcast(four, INTEGERS) for four in arguments[:2])
        least = spread(builder, arguments[2])
        bits = spread(builder, builder.extract_value(arguments[3], 0))
        total = builder.add(a, b)
        surplus = builder.sub(ir.Constant(INTEGERS, [52] * 4), bits)
        shifted = builder.shl(builder.sub(total, least), surplus)
        negligible = builder.shl(ir.Constant(INTEGERS, [_NEGLIGIBLE] * 4), bits)
        is_something = builder.icmp_signed(">", total, builder.add(least, negligible))
        result = builder.select(is_something, shifted, ir.Constant(INTEGERS, [0] * 4))
        return builder.bitcast(result, VECTOR)

    return FOUR(FOUR, FOUR, types.int64, WIDE), codegen


@register_jitable
def row_length(n_free: int) -> int:
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
def place_rows(i, n_rows, length, scale, inner, wide):
    """Set where the rows of the supersets of the inner columns i start, and their `least`.

    `scale` is the exponent that terms are relative to. Rows with factor 0 make up the first four.
    """
    superset = i
    for S in range(n_rows):
        inner.starts[S] = superset * length
        # More than _BEYOND might overflow, and would make all terms of a row 0 just as well.
        least = min(scale - inner.exponents[S] - 1023, wide.bias + _BEYOND)
        inner.least[S] = least << wide.bits
        superset = (superset + 1) | i
    for S in range(n_rows, 4):
        inner.factors[S], inner.starts[S] = 0.0, inner.starts[0]
        inner.least[S] = inner.least[0]


@inner_kernel
def add_rows(rows, inner, S, outer, wide):
    """Add four rows times their factors to sums by outer part of S, and set those by inner part."""
    factors, _, starts, least, dots = inner
    mantissas, exponents, sums = outer
    # In registers, four rows share what is loaded of `outer`.
    start_0, start_1, start_2, start_3 = starts[S], starts[S + 1], starts[S + 2], starts[S + 3]
    least_0, least_1, least_2, least_3 = least[S], least[S + 1], least[S + 2], least[S + 3]
    factor_0, factor_1 = filled(factors[S]), filled(factors[S + 1])
    factor_2, factor_3 = filled(factors[S + 2]), filled(factors[S + 3])
    zero = filled(0.0)
    dot_0, dot_1, dot_2, dot_3 = zero, zero, zero, zero
    for k in range(0, mantissas.size, 4):
        by = load(mantissas, k)
        exponent = load(exponents, k)
        total = load(sums, k)
        term = _power_product(load(rows, start_0 + k), exponent, least_0, wide)
        total = multiply_add(factor_0, term, total)
        dot_0 = multiply_add(term, by, dot_0)
        term = _power_product(load(rows, start_1 + k), exponent, least_1, wide)
        total = multiply_add(factor_1, term, total)
        dot_1 = multiply_add(term, by, dot_1)
        term = _power_product(load(rows, start_2 + k), exponent, least_2, wide)
        total = multiply_add(factor_2, term, total)
        dot_2 = multiply_add(term, by, dot_2)
        term = _power_product(load(rows, start_3 + k), exponent, least_3, wide)
        total = multiply_add(factor_3, term, total)
        dot_3 = multiply_add(term, by, dot_3)
        store(sums, k, total)
    dots[S] = factors[S] * sum_of_entries(dot_0)
    dots[S + 1] = factors[S + 1] * sum_of_entries(dot_1)
    dots[S + 2] = factors[S + 2] * sum_of_entries(dot_2)
    dots[S + 3] = factors[S + 3] * sum_of_entries(dot_3)


@inner_kernel
def push_rows(pushed, first, n_rows, memory, wide):
    """Add the products over the outer parts of S, times a factor, to each row.

    The rows that are added to begin at `first`; those of the memory have their scales.
    """
    for S in range(0, n_rows, 4):
        _push_four_rows(pushed, first, S, memory, wide)


@inner_kernel
def _push_four_rows(pushed, first, S, memory, wide):
    rows, inner, outer = memory
    factors, _, starts, least, _ = inner
    mantissas, exponents, _ = outer
    # In registers, four rows share what is loaded of `outer`.
    start_0, start_1, start_2, start_3 = starts[S], starts[S + 1], starts[S + 2], starts[S + 3]
    least_0, least_1, least_2, least_3 = least[S], least[S + 1], least[S + 2], least[S + 3]
    factor_0, factor_1 = filled(factors[S]), filled(factors[S + 1])
    factor_2, factor_3 = filled(factors[S + 2]), filled(factors[S + 3])
    for k in range(0, mantissas.size, 4):
        by = load(mantissas, k)
        exponent = load(exponents, k)
        scale = _power_product(load(rows, start_0 + k), exponent, least_0, wide)
        target = first + start_0 + k
        store(pushed, target, multiply_add(times(factor_0, by), scale, load(pushed, target)))
        scale = _power_product(load(rows, start_1 + k), exponent, least_1, wide)
        target = first + start_1 + k
        store(pushed, target, multiply_add(times(factor_1, by), scale, load(pushed, target)))
        scale = _power_product(load(rows, start_2 + k), exponent, least_2, wide)
        target = first + start_2 + k
        store(pushed, target, multiply_add(times(factor_2, by), scale, load(pushed, target)))
        scale = _power_product(load(rows, start_3 + k), exponent, least_3, wide)
        target = first + start_3 + k
        store(pushed, target, multiply_add(times(factor_3, by), scale, load(pushed, target)))


@inner_kernel
def fold(values, size):
    """Set ``values[2**j]`` to the sum of the entries with bit j, and ``values[0]`` to that of all.

    There are `size` entries, a power of two.
    """
    while size > 4:
        size >>= 1
        total = filled(0.0)
        for k in range(0, size, 4):
            with_bit = load(values, size + k)
            total = plus(total, with_bit)
            store(values, k, plus(load(values, k), with_bit))
        values[size] = sum_of_entries(total)
    while size > 1:
        size >>= 1
        total = 0.0
        for k in range(size):
            total += values[size + k]
            values[k] += values[size + k]
        values[size] = total
