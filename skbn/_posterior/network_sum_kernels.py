"""The kernels of sums over all networks, each counted once; `network_sums` says what the sums are.

All recurrences go over pairs of a set U of columns and a set S of others, 3**m pairs. The columns
are *inner*, the first `n_inner`, or *outer*. A task has the sets U with the same outer columns,
`fixed`: the outer parts of S are the same for all of them. A task goes from one set of *higher*
columns to the next, those of the outer part of S that are not among its lowest few; the sets of
these few are numbered k. Numbers that belong to ``U | S`` lie in a *row* for each inner part of
``U | S``, by k: a task copies the array that it reads into rows, or adds the rows that it wrote to
an array. The product of weights over S is one over the outer part of S, by k, times one over the
inner part, a row's factor.
"""

from __future__ import annotations

import numpy as np
from numba import float64, int64

from skbn._core.compile import inner_kernel, kernel
from skbn._core.extended_floats import WIDE, is_zero, wide_as_double
from skbn._core.subsets import bit_length, insert_zero_bit, popcount, remove_bit
from skbn._posterior.network_rows import (
    ROW_BITS,
    add_rows,
    columns_of_rows,
    copy_rows,
    fold,
    integer_of_float,
    place_rows,
    push_rows,
    row_length,
)

__all__ = [
    "add_pushed",
    "backward_networks",
    "forward_networks",
    "non_descendants",
    "pushed_size",
    "quotients",
]


@inner_kernel
def _multiply_outer(alpha, starts, U, higher, columns, wide, mantissas, exponents):
    """Multiply -alpha_x[U] over `higher` and each set of the columns of a row."""
    # Less than this would be nothing too, and might overflow.
    least = -(wide.bias << wide.bits)
    mantissas[:4] = 0.0
    exponents[:4] = least
    mantissas[0], exponents[0] = 1.0, 0
    size = 1
    while higher | columns:
        rest = higher if higher else columns
        bit = rest & -rest
        x = popcount(bit - 1)
        weight = alpha[starts[x] + remove_bit(U, x)]
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


@inner_kernel
def _multiply_inner(alpha, starts, U, n_inner, wide, factors, exponents):
    """Multiply -alpha_x[U] over each set of inner columns that are not in U; return how many sets.

    The factor and the exponent of the empty set are given. These exponents are not shifted.
    """
    size = 1
    for x in range(n_inner):
        if not U >> x & 1:
            weight = alpha[starts[x] + remove_bit(U, x)]
            mantissa = -wide_as_double(weight, wide, weight >> wide.bits)
            exponent = (weight >> wide.bits) - wide.bias
            for k in range(size):
                factors[size + k] = mantissa * factors[k]
                exponents[size + k] = exponent + exponents[k]
            size <<= 1
    return size


@inner_kernel
def _multiply(alpha, starts, U, layout, scale, wide, inner, outer):
    """Set `inner` and `outer` to the products over inner and outer parts of S.

    The product over the empty set of inner columns is given. The number of rows is returned; terms
    are relative to the exponent `scale`.
    """
    n_inner, higher, columns, length = layout
    factors, exponents, row_starts, leasts, _ = inner
    _multiply_outer(alpha, starts, U, higher, columns, wide, outer[0], outer[1])
    n_rows = _multiply_inner(alpha, starts, U, n_inner, wide, factors, exponents)
    i = U & ((1 << n_inner) - 1)
    place_rows(i, n_rows, length, scale, wide, factors, exponents, row_starts, leasts)
    return n_rows


@inner_kernel
def _inner_memory(n_sets):
    """Return arrays by inner part of S: factors, exponents, starts of rows, limits, and sums."""
    size = max(4, n_sets)
    exponents, row_starts = np.empty(size, np.int64), np.empty(size, np.int64)
    leasts = np.empty(size, np.int64)
    return np.empty(size), exponents, row_starts, leasts, np.empty(size)


@inner_kernel
def _outer_memory(columns):
    """Return arrays by outer part of S, less higher columns: mantissas, exponents, and sums."""
    size = max(4, 1 << popcount(columns))
    return np.empty(size), np.empty(size, np.int64), np.empty(size)


@kernel(
    int64[::1],
    int64[::1],
    int64[::1],
    int64[::1],
    float64[:, ::1],
    int64,
    int64[::1],
    WIDE,
    seconds=3.2,
)
def backward_networks(alpha, starts, R, M, shares, n_inner, tasks, wide):
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
    wide : WideFormat
    wide : WideFormat
    """
    n_inner_sets = 1 << n_inner
    inner = _inner_memory(n_inner_sets)
    values = np.empty(n_inner_sets)
    for fixed in tasks:
        base = fixed << n_inner
        free = R.size - n_inner_sets - base
        columns = columns_of_rows(free)
        length = row_length(popcount(free))
        rows = np.zeros(n_inner_sets * length, np.int64)  # vectors have entries beyond short rows
        outer = _outer_memory(columns)
        values[:] = 0.0
        _clear_shares(shares, base, n_inner_sets)
        higher = free ^ columns
        while True:
            copy_rows(M, n_inner, base | higher, columns, rows, length)
            if higher == 0:
                rows[::length] = 0  # the task's own sets, which are to be finished now
            layout = n_inner, higher, columns, length
            for i in range(n_inner_sets - 1, -1, -1):
                U = base | i
                scale = R[U] >> wide.bits
                if not is_zero(R[U], wide):
                    inner[0][0], inner[1][0] = -1.0, 0
                    n_rows = _multiply(alpha, starts, U, layout, scale, wide, inner, outer)
                    values[i] += _add_terms(rows, n_rows, inner, outer, shares, U, layout, wide)
                if higher == 0:
                    value = 1.0 if R.size == U + 1 else values[i]
                    M[U] = rows[i * length] = _wide(value, scale, wide)
            if higher == 0:
                break
            higher = (higher - 1) & (free ^ columns)


@inner_kernel
def _clear_shares(shares, base, n_inner_sets):
    """Set the shares of a task's sets to zero."""
    for x in range(shares.shape[0]):
        if not base >> x & 1:
            first = remove_bit(base, x)
            size = n_inner_sets // 2 if 1 << x < n_inner_sets else n_inner_sets
            shares[x, first : first + size] = 0.0


@inner_kernel
def _add_terms(rows, n_rows, inner, outer, shares, U, layout, wide):
    """Return the sum of the terms of these rows, and add to the shares of the columns outside U."""
    n_inner, higher, columns, _ = layout
    of_inner, of_outer = inner[4], outer[2]
    of_outer[:] = 0.0
    for S in range(0, n_rows, 4):
        add_rows(rows, inner, S, outer, wide)
    for k in range(of_outer.size):
        of_outer[k] *= outer[0][k]
    fold(of_inner, n_rows)
    fold(of_outer, of_outer.size)
    next_inner, next_outer = 1, 1
    for x in range(shares.shape[0]):
        if U >> x & 1:
            continue
        if x < n_inner:
            shares[x, remove_bit(U, x)] += of_inner[next_inner]
            next_inner <<= 1
        elif columns >> x & 1:
            shares[x, remove_bit(U, x)] += of_outer[next_outer]
            next_outer <<= 1
        elif higher >> x & 1:
            shares[x, remove_bit(U, x)] += of_outer[0]
    return of_inner[0]


@inner_kernel
def _wide(value, exponent, wide):
    """Return ``value * 2**exponent`` (biased) as an extended float; 0 if it is negative."""
    if value <= 0.0:
        return np.int64(0)
    surplus = 52 - wide.bits
    integer = integer_of_float(value)
    # To the nearest, and if there are two, to the even one: errors must not add up.
    below_half = (np.int64(1) << (surplus - 1)) - 1
    rounded = (integer + below_half + (integer >> surplus & 1)) >> surplus
    return max(rounded + ((exponent - 1023) << wide.bits), 0)


@kernel(
    int64[::1],
    int64[::1],
    int64[::1],
    float64[::1],
    int64,
    int64[::1],
    float64[:, ::1],
    WIDE,
    seconds=1.4,
)
def forward_networks(alpha, starts, F, Z, n_inner, tasks, pushed, wide):
    """Finish Z on the sets with some outer columns, those with fewer being finished.

    Parameters
    ----------
    alpha, starts, n_inner, tasks, wide
        As in `backward_networks`.
    F : ndarray of shape (2**m,), int64
        The forward sums over orders.
    Z : ndarray of shape (2**m,), float64
        The sums over networks of a set of columns, in units of the power of two in F.
    pushed : ndarray of shape (tasks.size, pushed_size), float64
        Set to the rows that `add_pushed` adds to Z.
    """
    n_inner_sets = 1 << n_inner
    inner = _inner_memory(n_inner_sets)
    for task in range(tasks.size):
        base = tasks[task] << n_inner
        free = F.size - n_inner_sets - base
        columns = columns_of_rows(free)
        length = row_length(popcount(free))
        scales = np.zeros(n_inner_sets * length, np.int64)
        outer = _outer_memory(columns)
        pushed[task] = 0.0
        start = 0
        higher = np.int64(0)
        while True:
            copy_rows(F, n_inner, base | higher, columns, scales, length)
            _invert(scales, wide)
            rows = pushed[task, start : start + scales.size]
            if higher == 0:
                rows[::length] = Z[base : base + n_inner_sets]
                if base == 0:
                    rows[0] = 1.0
            layout = n_inner, higher, columns, length
            for i in range(n_inner_sets):
                U = base | i
                is_possible = not is_zero(F[U], wide)
                scale = F[U] >> wide.bits
                if higher == 0:
                    Z[U] = rows[i * length] if is_possible else 0.0
                if is_possible:
                    inner[0][0], inner[1][0] = -Z[U], scale - wide.bias
                    n_rows = _multiply(alpha, starts, U, layout, 0, wide, inner, outer)
                    for S in range(0, n_rows, 4):
                        push_rows(rows, inner, S, outer, scales, wide)
            start += scales.size
            higher = (higher - (free ^ columns)) & (free ^ columns)
            if higher == 0:
                break


@inner_kernel
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


@kernel(int64, int64, int64)
def pushed_size(m, n_inner, fixed):
    """Return how many numbers a task of `forward_networks` pushes."""
    n_free = m - n_inner - popcount(fixed)
    length = row_length(n_free)
    return (length << n_free >> min(n_free, ROW_BITS)) << n_inner


@kernel(float64[::1], float64[::1], int64[::1], int64[::1], int64, int64, WIDE, float64[::1])
def non_descendants(shares, Z, F, R, child, total, wide, sums):
    """Turn a row of `shares` into the probabilities of the child's sets of non-descendants.

    Parameters
    ----------
    shares : ndarray of shape (2**(m - 1),), float64
        As `backward_networks` leaves them.
    Z, F, R : ndarray of shape (2**m,)
    child : int
    total : int
        The weight of all networks, an extended float.
    wide : WideFormat
    sums : ndarray of shape (m,), float64
        Set to the probabilities that each other column is a descendant, and to their sum.
    """
    block = min(shares.size, 1 << 10)
    block_bits = bit_length(block - 1)
    probabilities = np.empty(block)
    exponent = total >> wide.bits
    inverse = 1.0 / wide_as_double(total, wide, exponent)
    sums[:] = 0.0
    for base in range(0, shares.size, block):
        for i in range(block):
            C = insert_zero_bit(base + i, child)
            power = max((F[C] >> wide.bits) + (R[C] >> wide.bits) - wide.bias, 0)
            scale = inverse * wide_as_double(power << wide.bits, wide, exponent)
            probability = max(shares[base + i] * Z[C] * scale, 0.0)
            shares[base + i] = probability
            # In reverse, bits stand for columns that are descendants.
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
    return _wide(
        probability / wide_as_double(weight, wide, exponent), 2 * wide.bias - exponent, wide
    )
