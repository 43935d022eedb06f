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

from typing import NamedTuple

import numpy as np
from numba import float64, int64

from skbn._core.compile import inner_kernel, kernel
from skbn._core.extended_floats import WIDE, is_zero, wide_as_double, wide_from_double
from skbn._core.subsets import bit_length, insert_zero_bit, popcount, remove_bit
from skbn._posterior.row_kernels import (
    MEMORY,
    add_rows,
    columns_of_rows,
    copy_rows,
    fold,
    place_rows,
    push_rows,
    row_length,
)
from skbn._posterior.sum_kernels import SUM_TABLES


class Layout(NamedTuple):
    """Which sets S the rows of a task have.

    Parameters
    ----------
    n_inner : int
        Number of inner columns.
    higher : int
        The columns that all outer parts of S have.
    columns : int
        The columns in which they differ.
    length : int
        The distance between rows.
    """

    n_inner: int
    higher: int
    columns: int
    length: int


@inner_kernel
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


@inner_kernel
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
    seconds=1.6,
)
def backward_networks(alpha, R, M, shares, n_inner, tasks, memory, wide):
    """Finish M on the sets with some outer columns, those with more being finished.

    Parameters
    ----------
    alpha : Tables
        The table of a column has an entry for each set of the others.
    R, M : ndarray of shape (2**m,), int64
        The backward sums over orders, and over networks.
    shares : ndarray of shape (m, 2**(m - 1)), float64
        At [x, C], increased by the terms of M[C] in which x is in S, in units of the power of two
        in R[C]. The bit x is removed from C.
    n_inner : int
    tasks : ndarray of int64
        The sets of outer columns, shifted down by `n_inner`; all of the same size.
    memory : Memory
        Made by `new_memory` for tasks of this size.
    wide : WideFormat
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
            layout = Layout(n_inner, higher, columns, length)
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


@inner_kernel
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


@kernel(
    SUM_TABLES,
    int64[::1],
    float64[::1],
    int64,
    int64[::1],
    float64[:, ::1],
    MEMORY,
    WIDE,
)
def forward_networks(alpha, F, Z, n_inner, tasks, pushed, memory, wide):
    """Finish Z on the sets with some outer columns, those with fewer being finished.

    Parameters
    ----------
    alpha, n_inner, tasks, memory, wide
        As in `backward_networks`.
    F : ndarray of shape (2**m,), int64
        The forward sums over orders.
    Z : ndarray of shape (2**m,), float64
        The sums over networks of a set of columns, in units of the power of two in F.
    pushed : ndarray of shape (n_tasks, n_pushed), float64
        Of zeros, as many as `n_pushed` says. Set to the rows that `add_pushed` adds to Z.
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
            layout = Layout(n_inner, higher, columns, length)
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
