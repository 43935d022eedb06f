"""The kernels of sums over all networks, each counted once; `network_sums` says what the sums are.

All recurrences go over pairs of a set U of columns and a set S of others, 3**m pairs. The columns
are *inner*, the first `n_inner`, or *outer*. A task has the sets U with the same outer columns,
`fixed`: the outer parts of S are the same for all of them, and are numbered k. Numbers that belong
to ``U | S`` lie in a *row* for each inner part of ``U | S``, by k: a task copies the array that it
reads into rows, or adds the rows that it wrote to an array. The product of weights over S is one
over the outer part of S, by k, times one over the inner part, a row's factor.
"""

from __future__ import annotations

import math

import numpy as np
from numba import float64, int64

from skbn._core.compile import inner_kernel, kernel
from skbn._core.subsets import bit_length, insert_zero_bit, popcount, remove_bit
from skbn._core.wide import wide_as_double
from skbn._posterior.network_rows import (
    add_rows,
    copy_rows,
    fold,
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
def _multiply_inner(alpha, starts, n_inner, U, bits, bias, factors, exponents):
    """Multiply -alpha_x[U] over each set of inner columns that are not in U; return how many sets.

    The factor and the exponent of the empty set are given. These exponents are not shifted.
    """
    size = 1
    for x in range(n_inner):
        if not U >> x & 1:
            weight = alpha[starts[x] + remove_bit(U, x)]
            mantissa = -wide_as_double(weight, bits, weight >> bits)
            exponent = (weight >> bits) - bias
            for k in range(size):
                factors[size + k] = mantissa * factors[k]
                exponents[size + k] = exponent + exponents[k]
            size <<= 1
    return size


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
    inner_exponents = np.empty(n_inner_sets, np.int64)
    row_starts = np.empty(factors.size, np.int64)
    leasts = np.empty(factors.size, np.int64)
    dots = np.empty(factors.size)
    for fixed in tasks:
        n_free = m - n_inner - popcount(fixed)
        n_outer_sets = max(4, 1 << n_free)
        length = row_length(n_free)
        # Vectors have entries beyond short rows, and this task's own sets are to be finished.
        rows = np.zeros(n_inner_sets * length, np.int64)
        copy_rows(M, m, n_inner, fixed, rows, length)
        rows[::length] = 0
        outer = np.empty(n_outer_sets)
        outer_exponents = np.empty(n_outer_sets, np.int64)
        sums = np.empty(n_outer_sets)
        for i in range(n_inner_sets - 1, -1, -1):
            U = fixed << n_inner | i
            scale = R[U] >> bits
            sums[:] = 0.0
            if R.size == U + 1:
                dots[0] = 1.0
            elif scale < least_exponent:
                dots[:] = 0.0
            else:
                _multiply_outer(alpha, starts, m, n_inner, U, bits, bias, outer, outer_exponents)
                factors[0], inner_exponents[0] = -1.0, 0
                n_rows = _multiply_inner(
                    alpha, starts, n_inner, U, bits, bias, factors, inner_exponents
                )
                place_rows(
                    i,
                    n_rows,
                    length,
                    scale,
                    bias,
                    bits,
                    factors,
                    inner_exponents,
                    row_starts,
                    leasts,
                )
                for S in range(0, n_rows, 4):
                    add_rows(
                        rows,
                        row_starts,
                        leasts,
                        factors,
                        S,
                        outer,
                        outer_exponents,
                        sums,
                        dots,
                        bits,
                    )
                for k in range(n_outer_sets):
                    sums[k] *= outer[k]
                fold(dots, n_rows)
                fold(sums, n_outer_sets)
            M[U] = rows[i * length] = _wide(dots[0], scale, bits)
            _set_shares(shares, U, n_inner, dots, sums)


@inner_kernel
def _set_shares(shares, U, n_inner, of_inner, of_outer):
    """Set the shares of the columns outside U to those that `fold` left."""
    inner, outer = 1, 1
    for x in range(shares.shape[0]):
        if U >> x & 1:
            continue
        if x < n_inner:
            shares[x, remove_bit(U, x)] = of_inner[inner]
            inner <<= 1
        else:
            shares[x, remove_bit(U, x)] = of_outer[outer]
            outer <<= 1


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
    pushed : ndarray of shape (tasks.size, pushed_size), float64
        Set to the rows that `add_pushed` adds to Z.
    least_exponent : int
        Sets whose F has a lower exponent are impossible.
    """
    m = starts.size - 1
    n_inner_sets = 1 << n_inner
    factors = np.empty(max(4, n_inner_sets))
    inner_exponents = np.empty(n_inner_sets, np.int64)
    row_starts = np.empty(factors.size, np.int64)
    leasts = np.empty(factors.size, np.int64)
    for task in range(tasks.size):
        fixed = tasks[task]
        n_free = m - n_inner - popcount(fixed)
        n_outer_sets = max(4, 1 << n_free)
        length = row_length(n_free)
        scales = np.zeros(n_inner_sets * length, np.int64)
        copy_rows(F, m, n_inner, fixed, scales, length)
        for i in range(scales.size):
            exponent = scales[i] >> bits
            scales[i] = (bias - exponent if exponent >= least_exponent else -bias) << bits
        outer = np.empty(n_outer_sets)
        outer_exponents = np.empty(n_outer_sets, np.int64)
        rows = pushed[task]
        rows[:] = 0.0
        rows[::length] = Z[fixed << n_inner : (fixed + 1) << n_inner]
        if fixed == 0:
            rows[0] = 1.0
        for i in range(n_inner_sets):
            U = fixed << n_inner | i
            scale = F[U] >> bits
            Z[U] = rows[i * length]
            if scale < least_exponent:
                Z[U] = 0.0
                continue
            _multiply_outer(alpha, starts, m, n_inner, U, bits, bias, outer, outer_exponents)
            factors[0], inner_exponents[0] = -Z[U], scale - bias
            n_rows = _multiply_inner(
                alpha, starts, n_inner, U, bits, bias, factors, inner_exponents
            )
            place_rows(
                i, n_rows, length, 0, bias, bits, factors, inner_exponents, row_starts, leasts
            )
            for S in range(0, n_rows, 4):
                push_rows(
                    rows, row_starts, leasts, factors, S, outer, outer_exponents, scales, bits
                )


@kernel(float64[:, ::1], float64[::1], int64, int64[::1])
def add_pushed(pushed, Z, n_inner, tasks):
    """Add to Z what `forward_networks` pushed to sets with more outer columns."""
    m = bit_length(Z.size - 1)
    inner = 1 << n_inner
    for task in range(tasks.size):
        fixed = tasks[task] << n_inner
        n_free = m - n_inner - popcount(fixed)
        length = row_length(n_free)
        rows = pushed[task]
        superset = fixed
        for k in range(1, 1 << n_free):
            superset = (superset + inner) | fixed
            for i in range(inner):
                Z[superset + i] += rows[i * length + k]


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
        fold(probabilities, block)
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
    return row_length(m - n_inner - popcount(fixed)) << n_inner
