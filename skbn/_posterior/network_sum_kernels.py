"""The kernels of sums over all networks, each counted once; `network_sums` says what the sums are.

All recurrences go over pairs of a set U of columns and a set S of others, 3**m pairs. The columns
are *inner*, the first `n_inner`, or *outer*. A task has the sets U with the same outer columns,
`fixed`: each has the same outer parts of S, numbered k. Numbers that belong to ``U | S`` lie in a
*row* for each inner part of ``U | S``, by k: a task copies the array that it reads into rows, or
adds the rows that it wrote to an array. The innermost loops are over a row, and for one U, the
product of weights over S is one over the outer part of S, by k, times one over the inner part,
which is the same for a row.

No two terms have the same scale, so that each is made in the range of float64: its exponent is the
sum of those of its factors, less that of a sum over orders, which bounds the sum over networks from
above, and is at most factorial(m) times as large. Exponents of factors are kept as those of wide
numbers are, shifted left by `bits`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import float64, int64, types
from numba.core import cgutils
from numba.extending import intrinsic

from skbn._core.compile import inner_kernel, kernel
from skbn._core.subsets import bit_length, insert_zero_bit, popcount, remove_bit
from skbn._core.vectors import FOUR, INTEGERS, VECTOR, load, plus, store, times
from skbn._core.wide import wide_as_double

__all__ = ["add_pushed", "backward_networks", "forward_networks", "non_descendants", "quotients"]

# Terms with exponents beyond this are beyond float64, or nothing, whatever their other factors are:
# the product of all but one of a term's factors is below 2**1000.
_BEYOND = 2200
# Terms below 2**(123 - 1023) are nothing. Less than 2**-1022 would slow processors down.
_NEGLIGIBLE = 123


def _spread(builder: Any, value: Any) -> Any:
    """Return an int64 in all lanes."""
    empty = ir.Constant(INTEGERS, ir.Undefined)
    first = builder.insert_element(empty, value, ir.Constant(ir.IntType(32), 0))
    mask = ir.Constant(ir.VectorType(ir.IntType(32), 4), [0] * 4)
    return builder.shuffle_vector(first, empty, mask)


@intrinsic
def _power_product(typing_context, a, b, least, bits):
    """Return float64 of the wide numbers ``a + b - least``, 0 where this is negligible.

    a and b are four int64 each; mantissas, if any, are those of one of them. The bias of the result
    is that of float64. ``a + b`` must not overflow, ``a + b - least`` may where it is negative.
    """

    def codegen(context, builder, signature, arguments):
        a, b = (builder.bitcast(four, INTEGERS) for four in arguments[:2])
        least, bits = (_spread(builder, value) for value in arguments[2:])
        total = builder.add(a, b)
        surplus = builder.sub(ir.Constant(INTEGERS, [52] * 4), bits)
        shifted = builder.shl(builder.sub(total, least), surplus)
        negligible = builder.shl(ir.Constant(INTEGERS, [_NEGLIGIBLE] * 4), bits)
        is_something = builder.icmp_signed(">", total, builder.add(least, negligible))
        result = builder.select(is_something, shifted, ir.Constant(INTEGERS, [0] * 4))
        return builder.bitcast(result, VECTOR)

    return FOUR(FOUR, FOUR, types.int64, types.int64), codegen


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


@inner_kernel
def _row_length(n_free):
    """Return the distance between rows of ``2**n_free`` numbers.

    Rows are whole vectors. The distance of long ones is no power of two, since caches hold few
    numbers at such distances.
    """
    length = 1 << n_free
    return length + 8 if length >= 64 else max(4, length)


@inner_kernel
def _copy_rows(array, m, n_inner, fixed, rows, row_length):
    """Copy the entries of sets that contain the outer columns `fixed` to rows."""
    inner = 1 << n_inner
    last = (1 << m) - inner
    superset = fixed << n_inner
    starts = np.empty(8, np.int64)
    k = 0
    while True:
        n = 0
        while n < 8 and superset <= last:
            starts[n] = superset
            superset = (superset + inner) | fixed << n_inner
            n += 1
        if n == 8:
            for i in range(inner):
                for j in range(8):
                    rows[i * row_length + k + j] = array[starts[j] + i]
        else:
            for i in range(inner):
                for j in range(n):
                    rows[i * row_length + k + j] = array[starts[j] + i]
        k += n
        if superset > last:
            return


@inner_kernel
def _multiply_outer(alpha, starts, m, n_inner, U, bits, bias, mantissas, exponents):
    """Multiply -alpha_x[U] over each set of outer columns that are not in U."""
    mantissas[:4] = 0.0
    exponents[:4] = -(bias << bits)
    mantissas[0], exponents[0] = 1.0, 0
    size = 1
    for x in range(n_inner, m):
        if not U >> x & 1:
            weight = alpha[starts[x] + remove_bit(U, x)]
            mantissa = -wide_as_double(weight, bits, weight >> bits)
            exponent = ((weight >> bits) - bias) << bits
            for k in range(size):
                mantissas[size + k] = mantissa * mantissas[k]
                # Less than this would be nothing too, and might overflow.
                exponents[size + k] = max(exponent + exponents[k], -(bias << bits))
            size <<= 1


@inner_kernel
def _multiply_inner(alpha, starts, n_inner, U, bits, bias, mantissas, exponents, columns):
    """Multiply -alpha_x[U] over each set of inner columns that are not in U; return their number.

    The mantissa and the exponent of the empty set are given. These exponents are not shifted.
    """
    n = 0
    for x in range(n_inner):
        if not U >> x & 1:
            weight = alpha[starts[x] + remove_bit(U, x)]
            mantissa = -wide_as_double(weight, bits, weight >> bits)
            exponent = (weight >> bits) - bias
            size = 1 << n
            for k in range(size):
                mantissas[size + k] = mantissa * mantissas[k]
                exponents[size + k] = exponent + exponents[k]
            columns[n] = x
            n += 1
    return n


@inner_kernel
def _fold(values, size):
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


@kernel(
    int64[::1],
    int64[::1],
    int64[::1],
    int64[::1],
    float64[:, ::1],
    int64,
    int64[::1],
    int64,
    int64,
    int64,
)
def backward_networks(alpha, starts, R, M, shares, n_inner, tasks, least_exponent, bits, bias):
    """Finish M on the sets with some outer columns, those with more being finished.

    Parameters
    ----------
    alpha, starts : ndarray of int64
        The table of column x begins at ``starts[x]``; its index is a set without the bit x.
    R, M : ndarray of shape (2**m,), int64
        The backward sums over orders, and over networks.
    shares : ndarray of shape (m, 2**(m - 1)), float64
        At [x, C], set to the terms of M[C] in which x is in S, in units of the power of two in
        R[C]. The bit x is removed from C.
    n_inner : int
    tasks : ndarray of int64
        The sets of outer columns, shifted down by `n_inner`.
    least_exponent : int
        Sets whose R has a lower exponent are impossible.
    bits, bias : int
    """
    m = shares.shape[0]
    n_inner_sets = 1 << n_inner
    factors = np.empty(max(4, n_inner_sets))
    exponents = np.empty(n_inner_sets, np.int64)
    row_starts = np.empty(factors.size, np.int64)
    leasts = np.empty(factors.size, np.int64)
    dots = np.empty(factors.size)
    columns = np.empty(n_inner, np.int64)
    for fixed in tasks:
        n_free = m - n_inner - popcount(fixed)
        length = max(4, 1 << n_free)
        row_length = _row_length(n_free)
        rows = np.empty(n_inner_sets * row_length, np.int64)
        if n_free < 2:
            rows[:] = 0  # vectors have entries beyond the row
        _copy_rows(M, m, n_inner, fixed, rows, row_length)
        for i in range(n_inner_sets):
            rows[i * row_length] = 0  # those of this task are to be finished
        outer = np.empty(length)
        outer_exponents = np.empty(length, np.int64)
        sums = np.empty(length)
        for i in range(n_inner_sets - 1, -1, -1):
            U = fixed << n_inner | i
            scale = R[U] >> bits
            if U == (1 << m) - 1 or scale < least_exponent:
                for x in range(m):
                    if not U >> x & 1:
                        shares[x, remove_bit(U, x)] = 0.0
                M[U] = R[U] if U == (1 << m) - 1 else 0
                rows[i * row_length] = M[U]
                continue
            _multiply_outer(alpha, starts, m, n_inner, U, bits, bias, outer, outer_exponents)
            factors[0], exponents[0] = -1.0, 0
            n = _multiply_inner(alpha, starts, n_inner, U, bits, bias, factors, exponents, columns)
            sums[:] = 0.0
            W = i
            for S in range(1 << n):
                row_starts[S] = W * row_length
                leasts[S] = min(scale - exponents[S] - 1023, bias + _BEYOND) << bits
                W = (W + 1) | i
            for S in range(1 << n, 4):
                factors[S] = 0.0
                row_starts[S], leasts[S] = row_starts[0], leasts[0]
            for S in range(0, 1 << n, 4):
                _add_rows(
                    rows, row_starts, leasts, factors, S, outer, outer_exponents, sums, dots, bits
                )
            for k in range(length):
                sums[k] *= outer[k]
            _fold(dots, 1 << n)
            _fold(sums, length)
            M[U] = _wide(dots[0], scale, bits)
            rows[i * row_length] = M[U]
            for j in range(n):
                x = columns[j]
                shares[x, remove_bit(U, x)] = dots[1 << j]
            j = 0
            for x in range(n_inner, m):
                if not U >> x & 1:
                    shares[x, remove_bit(U, x)] = sums[1 << j]
                    j += 1


@inner_kernel
def _add_rows(rows, starts, leasts, factors, S, outer, exponents, sums, dots, bits):
    """Add four rows times their factors to `sums`, and set `dots` to their sums times `outer`."""
    start_0, start_1, start_2, start_3 = starts[S], starts[S + 1], starts[S + 2], starts[S + 3]
    least_0, least_1, least_2, least_3 = leasts[S], leasts[S + 1], leasts[S + 2], leasts[S + 3]
    factor_0, factor_1 = _four_times(factors[S]), _four_times(factors[S + 1])
    factor_2, factor_3 = _four_times(factors[S + 2]), _four_times(factors[S + 3])
    zero = _four_times(0.0)
    dot_0, dot_1, dot_2, dot_3 = zero, zero, zero, zero
    for k in range(0, outer.size, 4):
        by = load(outer, k)
        exponent = load(exponents, k)
        total = load(sums, k)
        term = _power_product(load(rows, start_0 + k), exponent, least_0, bits)
        total = _multiply_add(factor_0, term, total)
        dot_0 = _multiply_add(term, by, dot_0)
        term = _power_product(load(rows, start_1 + k), exponent, least_1, bits)
        total = _multiply_add(factor_1, term, total)
        dot_1 = _multiply_add(term, by, dot_1)
        term = _power_product(load(rows, start_2 + k), exponent, least_2, bits)
        total = _multiply_add(factor_2, term, total)
        dot_2 = _multiply_add(term, by, dot_2)
        term = _power_product(load(rows, start_3 + k), exponent, least_3, bits)
        total = _multiply_add(factor_3, term, total)
        dot_3 = _multiply_add(term, by, dot_3)
        store(sums, k, total)
    dots[S] = factors[S] * _sum_of_entries(dot_0)
    dots[S + 1] = factors[S + 1] * _sum_of_entries(dot_1)
    dots[S + 2] = factors[S + 2] * _sum_of_entries(dot_2)
    dots[S + 3] = factors[S + 3] * _sum_of_entries(dot_3)


@inner_kernel
def _wide(value, exponent, bits):
    """Return ``value * 2**exponent`` as a wide number, the exponent being biased; 0 if negative."""
    if value <= 0.0:
        return np.int64(0)
    mantissa, own = math.frexp(value)
    fraction = np.int64(np.rint((2.0 * mantissa - 1.0) * (np.int64(1) << bits)))
    return max(((exponent + own - 1) << bits) + fraction, 0)


@kernel(
    int64[::1],
    int64[::1],
    int64[::1],
    float64[::1],
    int64,
    int64[::1],
    float64[:, ::1],
    int64,
    int64,
    int64,
)
def forward_networks(alpha, starts, F, Z, n_inner, tasks, pushed, least_exponent, bits, bias):
    """Finish Z on the sets with some outer columns, those with fewer being finished.

    Parameters
    ----------
    alpha, starts, n_inner, tasks, bits, bias
        As in `backward_networks`.
    F : ndarray of shape (2**m,), int64
        The forward sums over orders.
    Z : ndarray of shape (2**m,), float64
        The sums over networks of a set of columns, in units of the power of two in F.
    pushed : ndarray of shape (tasks.size, n), float64
        Set to the rows that `add_pushed` adds to Z.
    least_exponent : int
        Sets whose F has a lower exponent are impossible.
    """
    m = starts.size - 1
    n_inner_sets = 1 << n_inner
    factors = np.empty(max(4, n_inner_sets))
    exponents = np.empty(n_inner_sets, np.int64)
    row_starts = np.empty(factors.size, np.int64)
    leasts = np.empty(factors.size, np.int64)
    columns = np.empty(n_inner, np.int64)
    for task in range(tasks.size):
        fixed = tasks[task]
        n_free = m - n_inner - popcount(fixed)
        length = max(4, 1 << n_free)
        row_length = _row_length(n_free)
        scales = np.zeros(n_inner_sets * row_length, np.int64)
        _copy_rows(F, m, n_inner, fixed, scales, row_length)
        for i in range(scales.size):
            exponent = scales[i] >> bits
            scales[i] = (bias - exponent if exponent >= least_exponent else -bias) << bits
        outer = np.empty(length)
        outer_exponents = np.empty(length, np.int64)
        rows = pushed[task]
        rows[:] = 0.0
        for i in range(n_inner_sets):
            rows[i * row_length] = Z[fixed << n_inner | i]
        for i in range(n_inner_sets):
            U = fixed << n_inner | i
            scale = F[U] >> bits
            if scale < least_exponent:
                Z[U] = 0.0
                continue
            if U == 0:
                rows[0] = 1.0
            Z[U] = rows[i * row_length]
            _multiply_outer(alpha, starts, m, n_inner, U, bits, bias, outer, outer_exponents)
            factors[0], exponents[0] = -Z[U], scale - bias
            n = _multiply_inner(alpha, starts, n_inner, U, bits, bias, factors, exponents, columns)
            W = i
            for S in range(1 << n):
                row_starts[S] = W * row_length
                leasts[S] = min(-exponents[S] - 1023, bias + _BEYOND) << bits
                W = (W + 1) | i
            if n < 2:
                for S in range(1 << n):
                    _push_row(
                        rows, row_starts, leasts, factors, S, outer, outer_exponents, scales, bits
                    )
            for S in range(0, (1 << n) - 3, 4):
                _push_rows(
                    rows, row_starts, leasts, factors, S, outer, outer_exponents, scales, bits
                )


@inner_kernel
def _push_row(rows, starts, leasts, factors, S, outer, exponents, scales, bits):
    """Add `outer` times a factor to a row."""
    start, least = starts[S], leasts[S]
    factor = _four_times(factors[S])
    for k in range(0, outer.size, 4):
        scale = _power_product(load(scales, start + k), load(exponents, k), least, bits)
        term = times(factor, load(outer, k))
        store(rows, start + k, _multiply_add(term, scale, load(rows, start + k)))


@inner_kernel
def _push_rows(rows, starts, leasts, factors, S, outer, exponents, scales, bits):
    """Add `outer` times a factor to each of four rows."""
    start_0, start_1, start_2, start_3 = starts[S], starts[S + 1], starts[S + 2], starts[S + 3]
    least_0, least_1, least_2, least_3 = leasts[S], leasts[S + 1], leasts[S + 2], leasts[S + 3]
    factor_0, factor_1 = _four_times(factors[S]), _four_times(factors[S + 1])
    factor_2, factor_3 = _four_times(factors[S + 2]), _four_times(factors[S + 3])
    for k in range(0, outer.size, 4):
        by = load(outer, k)
        exponent = load(exponents, k)
        scale = _power_product(load(scales, start_0 + k), exponent, least_0, bits)
        row = load(rows, start_0 + k)
        store(rows, start_0 + k, _multiply_add(times(factor_0, by), scale, row))
        scale = _power_product(load(scales, start_1 + k), exponent, least_1, bits)
        row = load(rows, start_1 + k)
        store(rows, start_1 + k, _multiply_add(times(factor_1, by), scale, row))
        scale = _power_product(load(scales, start_2 + k), exponent, least_2, bits)
        row = load(rows, start_2 + k)
        store(rows, start_2 + k, _multiply_add(times(factor_2, by), scale, row))
        scale = _power_product(load(scales, start_3 + k), exponent, least_3, bits)
        row = load(rows, start_3 + k)
        store(rows, start_3 + k, _multiply_add(times(factor_3, by), scale, row))


@kernel(float64[:, ::1], float64[::1], int64, int64[::1])
def add_pushed(pushed, Z, n_inner, tasks):
    """Add to Z what `forward_networks` pushed to sets with more outer columns."""
    m = bit_length(Z.size - 1)
    inner = 1 << n_inner
    for task in range(tasks.size):
        fixed = tasks[task] << n_inner
        n_free = m - n_inner - popcount(fixed)
        row_length = _row_length(n_free)
        rows = pushed[task]
        superset = fixed
        for k in range(1, 1 << n_free):
            superset = (superset + inner) | fixed
            for i in range(inner):
                Z[superset + i] += rows[i * row_length + k]


@kernel(
    float64[::1], float64[::1], int64[::1], int64[::1], int64, int64, int64, int64, float64[::1]
)
def non_descendants(shares, Z, F, R, child, total, bits, bias, sums):
    """Turn a row of `shares` into the probabilities of the child's sets of non-descendants.

    Parameters
    ----------
    shares : ndarray of shape (2**(m - 1),), float64
        As `backward_networks` leaves them.
    Z, F, R : ndarray of shape (2**m,)
    child : int
    total : int
        The weight of all networks, a wide number.
    bits, bias : int
    sums : ndarray of shape (m,), float64
        Set to the probabilities that each other column is a descendant, and to their sum.
    """
    block = min(shares.size, 1 << 10)
    block_bits = bit_length(block - 1)
    probabilities = np.empty(block)
    exponent = total >> bits
    inverse = 1.0 / wide_as_double(total, bits, exponent)
    sums[:] = 0.0
    for base in range(0, shares.size, block):
        for i in range(block):
            C = insert_zero_bit(base + i, child)
            power = (F[C] >> bits) + (R[C] >> bits) - bias - exponent
            scale = math.ldexp(inverse, power) if power > -1000 else 0.0
            probability = max(shares[base + i] * Z[C] * scale, 0.0)
            shares[base + i] = probability
            # In reverse, bits stand for columns that are descendants.
            probabilities[block - 1 - i] = probability
        _fold(probabilities, block)
        for bit in range(block_bits):
            sums[bit] += probabilities[1 << bit]
        for bit in range(block_bits, sums.size - 1):
            if not base >> bit & 1:
                sums[bit] += probabilities[0]
        sums[sums.size - 1] += probabilities[0]


@kernel(float64[::1], int64[::1], int64[::1], int64, int64)
def quotients(probabilities, alpha, q, bits, bias):
    """Set ``q[~C]`` to the wide number ``probabilities[C] / alpha[C]``; they may share memory."""
    size = q.size
    for C in range(size // 2):
        low = _quotient(probabilities[C], alpha[C], bits, bias)
        high = _quotient(probabilities[size - 1 - C], alpha[size - 1 - C], bits, bias)
        q[size - 1 - C] = low
        q[C] = high


@inner_kernel
def _quotient(probability, weight, bits, bias):
    exponent = weight >> bits
    return _wide(probability / wide_as_double(weight, bits, exponent), 2 * bias - exponent, bits)


@kernel(int64, int64, int64)
def pushed_size(m, n_inner, fixed):
    """Return how many numbers a task of `forward_networks` pushes."""
    return _row_length(m - n_inner - popcount(fixed)) << n_inner
