"""The kernels of sums over all networks, each counted once; `network_sums` says what the sums are.

All recurrences go over pairs of a set U of columns and a set S of others, 3**m pairs. The columns
are *inner*, the first `n_inner`, or *outer*. A task has the sets U with the same outer columns,
`fixed`: the outer parts of S are the same for all of them. A task goes from one set of *higher*
columns to the next, those of the outer part of S that are not among its lowest few; the sets of
these few are numbered k. Numbers that belong to ``U | S`` lie in a *row* for each inner part of
``U | S``, by k: a task copies the array that it reads into rows, or adds the rows that it wrote to
an array. The product of weights over S is one over the outer part of S, by k, times one over the
inner part, a row's factor. Rows are processed four at a time, so that what they share is read once.

No two terms of the sums have the same scale, so each is brought into the range of float64: its
exponent is the sum of those of its factors, less that of a sum over orders. This sum bounds the one
over networks from above, and is at most factorial(m) times as large. Exponents are shifted left by
the bits of a mantissa, as they are in extended floats.
"""

from typing import NamedTuple

import numpy as np
from llvmlite import ir
from numba import float64, int64, types
from numba.extending import intrinsic, register_jitable

from skbn._core.arrays import F1, I1
from skbn._core.compile import inner_kernel, kernel, pasted_kernel, tuple_type
from skbn._core.extended_floats import WIDE, is_zero, wide_as_double, wide_from_double
from skbn._core.resources import allocate_all
from skbn._core.subsets import bit_length, insert_zero_bit, popcount, remove_bit
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
from skbn._posterior.order_sums import SUM_TABLES

# A term is 0 if all but one of its factors have an exponent below minus this: the factor that is
# left is below 2**1000, and 2**(1000 - 2200) is below every float64.
_BEYOND = 2200
# Terms below 2**(123 - 1023) are taken for 0. Their products with other terms stay above 2**-1022,
# below which processors are ten times as slow.
_NEGLIGIBLE = 123
# A row has the sets of at most this many columns, so that many rows fit in a cache.
ROW_BITS = 8


class InnerParts(NamedTuple):
    """Memory for what belongs to each inner part of S, and so to each row."""

    factors: F1  # the mantissas of the products of weights
    exponents: I1  # their exponents, without bias and not shifted
    starts: I1  # where the rows start
    least: I1  # what a number of the row must exceed, by its shifted exponent, to be more than 0
    sums: F1  # the sum of the terms of each row


class OuterParts(NamedTuple):
    """Memory for what belongs to each outer part of S, and so to a place in each row."""

    mantissas: F1
    exponents: I1  # the mantissas and the shifted exponents of the products of weights
    sums: F1  # the sums of terms over all rows


class Memory(NamedTuple):
    """The memory in which a task works."""

    rows: I1  # A row for each set of inner columns
    inner: InnerParts
    outer: OuterParts


_floats, _integers = float64[::1], int64[::1]
_INNER = tuple_type(InnerParts)
_OUTER = tuple_type(OuterParts)
MEMORY = tuple_type(Memory)


def new_memory(n_inner: int, n_free: int) -> Memory:
    """Return memory for tasks with `n_inner` inner columns, and `n_free` outer ones outside U."""
    n_rows, n_sets = max(4, 1 << n_inner), max(4, 1 << min(n_free, ROW_BITS))
    # The arrays begin with lines of the cache: those of numpy begin anywhere, and then every other
    # vector lies in two lines.
    of_rows = row_length(n_free) << n_inner
    sizes = [n_rows, n_rows, n_sets, n_sets, n_rows, n_rows, n_rows, n_sets, of_rows]
    factors, inner_sums, mantissas, outer_sums, *rest = allocate_all(sizes)
    exponents, starts, least, of_sets, rows = (each.view(np.int64) for each in rest)
    inner = InnerParts(factors, exponents, starts, least, inner_sums)
    outer = OuterParts(mantissas, of_sets, outer_sums)
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


@pasted_kernel
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


@pasted_kernel
def add_rows(rows, inner, S, outer, wide):
    """Add four rows times their factors to sums by outer part of S, and set those by inner part."""
    factors, starts, least, dots = inner.factors, inner.starts, inner.least, inner.sums
    mantissas, exponents, sums = outer.mantissas, outer.exponents, outer.sums
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


@pasted_kernel
def push_rows(pushed, first, n_rows, memory, wide):
    """Add the products over the outer parts of S, times a factor, to each row.

    The rows that are added to begin at `first`; those of the memory have their scales.
    """
    for S in range(0, n_rows, 4):
        _push_four_rows(pushed, first, S, memory, wide)


@pasted_kernel
def _push_four_rows(pushed, first, S, memory, wide):
    rows, inner, outer = memory.rows, memory.inner, memory.outer
    factors, starts, least = inner.factors, inner.starts, inner.least
    mantissas, exponents = outer.mantissas, outer.exponents
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


class TaskRows(NamedTuple):
    """Which sets S the rows of a task have."""

    n_inner: int  # number of inner columns
    higher: int  # the columns that all outer parts of S have
    columns: int  # the columns in which they differ
    length: int  # the distance between rows


@pasted_kernel
def _multiply_outer(alpha, U, layout, outer, wide):
    """Multiply -alpha_x[U] over the higher columns and each set of the columns of a row."""
    mantissas, exponents = outer.mantissas, outer.exponents
    # Smaller products are 0 in every format, and the sum of two of their exponents might overflow.
    least = -(wide.bias << wide.bits)
    for k in range(4):
        mantissas[k], exponents[k] = 0.0, least
    mantissas[0], exponents[0] = 1.0, 0
    size = 1
    higher, columns = layout.higher, layout.columns
    while higher | columns:
        rest = higher if higher else columns
        bit = rest & -rest
        x = popcount(bit - 1)
        weight = alpha.entries[alpha.starts[x] + remove_bit(U, x)]
        mantissa = -wide_as_double(weight, wide, weight >> wide.bits)
        exponent = ((weight >> wide.bits) - wide.bias) << wide.bits
        if higher:
            mantissas[0] *= mantissa
            exponents[0] = max(exponent + exponents[0], least)
            higher ^= bit
        else:
            for k in range(size):
                mantissas[size + k] = mantissa * mantissas[k]
                exponents[size + k] = max(exponent + exponents[k], least)
            columns ^= bit
            size <<= 1


@pasted_kernel
def _multiply_inner(alpha, U, n_inner, inner, wide):
    """Multiply -alpha_x[U] over each set of inner columns that are not in U; return how many sets.

    The factor and the exponent of the empty set are given.
    """
    factors, exponents = inner.factors, inner.exponents
    size = 1
    for x in range(n_inner):
        if not U >> x & 1:
            weight = alpha.entries[alpha.starts[x] + remove_bit(U, x)]
            mantissa = -wide_as_double(weight, wide, weight >> wide.bits)
            exponent = (weight >> wide.bits) - wide.bias
            for k in range(size):
                factors[size + k] = mantissa * factors[k]
                exponents[size + k] = exponent + exponents[k]
            size <<= 1
    return size


@inner_kernel
def _multiply(alpha, U, layout, scale, memory, wide):
    """Set the products over inner and outer parts of S, and return the number of rows.

    The product over the empty set of inner columns is given; terms are relative to the exponent
    `scale`.
    """
    _multiply_outer(alpha, U, layout, memory.outer, wide)
    n_rows = _multiply_inner(alpha, U, layout.n_inner, memory.inner, wide)
    i = U & ((1 << layout.n_inner) - 1)
    place_rows(i, n_rows, layout.length, scale, memory.inner, wide)
    return n_rows


@kernel(
    SUM_TABLES,
    int64[::1],
    int64[::1],
    float64[:, ::1],
    int64,
    int64[::1],
    MEMORY,
    WIDE,
    seconds=1.5,
)
def backward_networks(alpha, R, M, shares, n_inner, tasks, memory, wide):
    """Finish M on the sets with some outer columns, those with more being finished.

    `alpha`: the table of a column has an entry for each set of the others
    `R`, `M`: (2**m,), the backward sums over orders, and over networks
    `shares`: (m, 2**(m - 1)), at [x, C], increased by the terms of M[C] in which x is in S, in
        units of the power of two in R[C]. The bit x is removed from C.
    `tasks`: the sets of outer columns, shifted down by `n_inner`; all of the same size
    `memory`: made by `new_memory` for tasks of this size
    """
    n_inner_sets = 1 << n_inner
    values = np.empty(n_inner_sets)
    rows, inner = memory.rows, memory.inner
    for fixed in tasks:
        base = fixed << n_inner
        free = R.size - n_inner_sets - base
        columns = columns_of_rows(free)
        length = row_length(popcount(free))
        for i in range(n_inner_sets):
            values[i] = 0.0
        higher = free ^ columns
        while True:
            copy_rows(M, n_inner, base | higher, columns, rows, length)
            if higher == 0:
                for i in range(n_inner_sets):
                    rows[i * length] = 0  # the task's own sets, which are to be finished now
            layout = TaskRows(n_inner, higher, columns, length)
            for i in range(n_inner_sets - 1, -1, -1):
                U = base | i
                scale = R[U] >> wide.bits
                if not is_zero(R[U], wide):
                    inner.factors[0], inner.exponents[0] = -1.0, 0
                    n_rows = _multiply(alpha, U, layout, scale, memory, wide)
                    values[i] += _add_terms(U, layout, n_rows, memory, shares, wide)
                if higher == 0:
                    value = 1.0 if R.size == U + 1 else values[i]
                    M[U] = rows[i * length] = wide_from_double(value, scale, wide)
            if higher == 0:
                break
            higher = (higher - 1) & (free ^ columns)


@pasted_kernel
def _add_terms(U, layout, n_rows, memory, shares, wide):
    """Return the sum of the terms of these rows, and add to the shares of the columns outside U."""
    inner, outer = memory.inner, memory.outer
    of_inner, of_outer = inner.sums, outer.sums
    for k in range(of_outer.size):
        of_outer[k] = 0.0
    for S in range(0, n_rows, 4):
        add_rows(memory.rows, inner, S, outer, wide)
    for k in range(of_outer.size):
        of_outer[k] *= outer.mantissas[k]
    fold(of_inner, n_rows)
    fold(of_outer, of_outer.size)
    next_inner, next_outer = 1, 1
    for x in range(shares.shape[0]):
        if U >> x & 1:
            continue
        if x < layout.n_inner:
            shares[x, remove_bit(U, x)] += of_inner[next_inner]
            next_inner <<= 1
        elif layout.columns >> x & 1:
            shares[x, remove_bit(U, x)] += of_outer[next_outer]
            next_outer <<= 1
        elif layout.higher >> x & 1:
            shares[x, remove_bit(U, x)] += of_outer[0]
    return of_inner[0]


@kernel(SUM_TABLES, int64[::1], float64[::1], int64, int64[::1], float64[:, ::1], MEMORY, WIDE)
def forward_networks(alpha, F, Z, n_inner, tasks, pushed, memory, wide):
    """Finish Z on the sets with some outer columns, those with fewer being finished.

    `alpha`, `n_inner`, `tasks`, `memory`, `wide`: as in `backward_networks`
    `F`: (2**m,), the forward sums over orders
    `Z`: (2**m,), the sums over networks of a set of columns, in units of the power of two in F
    `pushed`: (n_tasks, n_pushed), zeros, as many as `n_pushed` says; set to the rows that
        `add_pushed` adds to Z
    """
    n_inner_sets = 1 << n_inner
    inner = memory.inner
    unscaled = np.int64(0)  # for a literal 0 numba would compile a second version of `_multiply`
    for task in range(tasks.size):
        base = tasks[task] << n_inner
        free = F.size - n_inner_sets - base
        columns = columns_of_rows(free)
        length = row_length(popcount(free))
        first = higher = 0
        while True:
            copy_rows(F, n_inner, base | higher, columns, memory.rows, length)
            _invert(memory.rows, wide)
            if higher == 0:
                for i in range(n_inner_sets):
                    pushed[task, i * length] = Z[base + i]
                if base == 0:
                    pushed[task, 0] = 1.0
            layout = TaskRows(n_inner, higher, columns, length)
            for i in range(n_inner_sets):
                U = base | i
                is_possible = not is_zero(F[U], wide)
                if higher == 0:
                    Z[U] = pushed[task, i * length] if is_possible else 0.0
                if is_possible:
                    inner.factors[0] = -Z[U]
                    inner.exponents[0] = (F[U] >> wide.bits) - wide.bias
                    n_rows = _multiply(alpha, U, layout, unscaled, memory, wide)
                    push_rows(pushed, task * pushed.shape[1] + first, n_rows, memory, wide)
            first += memory.rows.size
            higher = (higher - (free ^ columns)) & (free ^ columns)
            if higher == 0:
                break


@pasted_kernel
def _invert(numbers, wide):
    """Negate unbiased exponents; those that stand for zero become -bias."""
    for i in range(numbers.size):
        exponent = wide.bias - (numbers[i] >> wide.bits)
        numbers[i] = (-wide.bias if is_zero(numbers[i], wide) else exponent) << wide.bits


@kernel(float64[:, ::1], float64[::1], int64, int64[::1])
def add_pushed(pushed, Z, n_inner, tasks):
    """Add to Z what `forward_networks` pushed to sets with more outer columns."""
    inner = 1 << n_inner
    for task in range(tasks.size):
        base = tasks[task] << n_inner
        free = Z.size - inner - base
        columns = columns_of_rows(free)
        length = row_length(popcount(free))
        start = 0
        superset = np.int64(0)  # without the base
        while True:
            for k in range(1 << popcount(columns)):
                if superset:
                    for i in range(inner):
                        Z[(base | superset) + i] += pushed[task, start + i * length + k]
                superset = (superset - free) & free
            start += inner * length
            if superset == 0:
                break


@kernel(float64[::1], float64[::1], int64[::1], int64[::1], int64, int64, WIDE, float64[::1])
def non_descendants(shares, Z, F, R, child, total, wide, sums):
    """Turn a row of `shares` into the probabilities of the child's sets of non-descendants.

    `shares`: (2**(m - 1),), as `backward_networks` leaves them
    `total`: the weight of all networks, an extended float
    `sums`: (m,), set to the probabilities that each other column is a descendant, and to their sum
    `Z`, `F`, `R`: (2**m,)
    """
    block = min(shares.size, 1 << 10)
    block_bits = bit_length(block - 1)
    probabilities = np.empty(block)
    exponent = total >> wide.bits
    inverse = 1.0 / wide_as_double(total, wide, exponent)
    for i in range(sums.size):
        sums[i] = 0.0
    for base in range(0, shares.size, block):
        for i in range(block):
            C = insert_zero_bit(base + i, child)
            power = max((F[C] >> wide.bits) + (R[C] >> wide.bits) - wide.bias, 0)
            scale = inverse * wide_as_double(power << wide.bits, wide, exponent)
            probability = max(shares[base + i] * Z[C] * scale, 0.0)
            shares[base + i] = probability
            # In reverse order, bits stand for columns that are descendants.
            probabilities[block - 1 - i] = probability
        fold(probabilities, block)
        for bit in range(block_bits):
            sums[bit] += probabilities[1 << bit]
        for bit in range(block_bits, sums.size - 1):
            if not base >> bit & 1:
                sums[bit] += probabilities[0]
        sums[sums.size - 1] += probabilities[0]


@kernel(float64[::1], int64[::1], int64[::1], WIDE)
def quotients(probabilities, alpha, q, wide):
    """Set ``q[~C]`` to ``probabilities[C] / alpha[C]``, an extended float, maybe in place."""
    size = q.size
    for C in range(size // 2):
        low = _quotient(probabilities[C], alpha[C], wide)
        high = _quotient(probabilities[size - 1 - C], alpha[size - 1 - C], wide)
        q[size - 1 - C] = low
        q[C] = high


@inner_kernel
def _quotient(probability, weight, wide):
    exponent = weight >> wide.bits
    quotient = probability / wide_as_double(weight, wide, exponent)
    return wide_from_double(quotient, 2 * wide.bias - exponent, wide)
