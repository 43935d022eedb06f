"""The kernels of sums over networks: those of the search, with extended floats, and what sums add.

With the weight ``beta_x(P)`` of a column x with the parents P, the tables of a slab hold
``alpha_x[C] = sum over P ⊆ C of beta_x(P)`` where those of the search hold B; `order_sums` says
what the sums are. Arrays of int64 are extended floats, of the format `wide`.
"""

from __future__ import annotations

import numpy as np
from numba import float64, int64

from skbn._core.compile import inner_kernel, kernel, tuple_type
from skbn._core.extended_floats import WIDE, sum_within_vector, wide_product, wide_sum
from skbn._core.subsets import bit_length, insert_zero_bit, remove_bit, zeta_transform
from skbn._core.vectors import (
    even_entries,
    first_halves,
    load,
    odd_entries,
    reversed_entries,
    second_halves,
    store,
)
from skbn._exact.sink_kernels import Tables, add_column, extend_block

SUM_TABLES = tuple_type(Tables, int64[::1], int64[::1])


@kernel(int64[::1], int64, int64, WIDE, seconds=1)
def sum_zeta(table, first_bit, last_bit, wide):
    """Turn extended floats into sums over subsets, over some bits of their index, in place."""
    zeta_transform(table, first_bit, last_bit, wide_sum, sum_within_vector, wide)


_slab = (int64[::1], int64, SUM_TABLES, int64, int64, int64[::1], WIDE)


@kernel(*_slab, seconds=1)
def extend_sums(F, fixed, alpha, n_inner, block_bits, blocks, wide):
    """Finish the forward sums F on some blocks of a slab, and hand them on.

    At first F[0] is one, and all other entries are zero. Slabs with fewer outer columns, and blocks
    with fewer high bits, must be finished.

    Parameters
    ----------
    F : ndarray of shape (2**m,), int64
    fixed : int
        The outer columns of the slab's sets.
    alpha : Tables
        The slab's tables.
    n_inner, block_bits, blocks
        As in `extend_blocks`.
    wide : WideFormat
    """
    n_sets = np.int64(1) << n_inner
    of_slab = F[fixed * n_sets : (fixed + 1) * n_sets]
    length = np.int64(1) << block_bits
    for block in blocks:
        inner = block << block_bits
        extend_block(of_slab, alpha, n_inner, inner, length, wide_sum, wide_product, wide)
        first = fixed << n_inner | inner
        for sink in range(n_inner, alpha.starts.size - 1):
            if not first >> sink & 1:
                _add_products(F, first | 1 << sink, first, alpha, sink, inner, length, wide)


@kernel(*_slab)
def retreat_sums(R, fixed, alpha, n_inner, block_bits, blocks, wide):
    """Finish the backward sums R on some blocks of a slab: R[W] = sum of R[W + x] alpha_x[W].

    Slabs with more outer columns, and blocks with more high bits, must be finished. The parameters
    are those of `extend_sums`.
    """
    for block in blocks:
        inner = block << block_bits
        first = fixed << n_inner | inner
        length = np.int64(1) << block_bits
        for x in range(alpha.starts.size - 1):
            if (1 << x >= length or x >= n_inner) and not first >> x & 1:
                index = remove_bit(inner, x) if x < n_inner else inner
                _add_products(R, first, first | 1 << x, alpha, x, index, length, wide)
        _retreat_within_block(R, first, alpha, inner, length, wide)


@inner_kernel
def _add_products(sums, target, source, alpha, x, index, length, wide):
    """Add to the sums of `length` sets those of others times alpha_x from an index on."""
    factors = alpha.entries, alpha.starts[x] + index
    add_column((sums, target), (sums, source), factors, length, wide_sum, wide_product, wide)


@inner_kernel
def _retreat_within_block(R, first, alpha, inner, length, wide):
    """Recurse over the low bits, from the last set to the first; see `extend_block`."""
    run = min(8, length)
    for low in range(length - run, -1, -run):
        _retreat_run(R, first + low, alpha, inner + low, run, wide)
        half = low & -low
        if 0 < half < length:
            # The upper half that begins here is finished; hand it to the lower half.
            x = bit_length(half) - 1
            lower = low - half
            index = remove_bit(inner + lower, x)
            _add_products(R, first + lower, first + low, alpha, x, index, half, wide)


@inner_kernel
def _retreat_run(R, first, alpha, inner, run, wide):
    """Recurse over the lowest three bits, set by set: their halves are shorter than a vector."""
    for i in range(run - 1, -1, -1):
        value = R[first + i]
        for x in range(3):
            if 1 << x < run and not i >> x & 1:
                weight = alpha.entries[alpha.starts[x] + remove_bit(inner + i, x)]
                value = wide_sum(value, wide_product(R[first + (i | 1 << x)], weight, wide), wide)
        R[first + i] = value


@kernel(int64[::1], int64[::1], int64, int64[::1], WIDE)
def order_products(F, R, child, q, wide):
    """Set ``q[~C] = F[C] * R[C + child]`` for the sets C of other columns, the child's bit removed.

    In this reverse order, sums over supersets are sums over subsets.
    """
    size = q.size
    if size < 4:
        for i in range(size):
            C = insert_zero_bit(i, child)
            q[size - 1 - i] = wide_product(F[C], R[C | 1 << child], wide)
        return
    for i in range(0, size, 4):
        if child == 0:
            without = even_entries(load(F, 2 * i), load(F, 2 * i + 4))
            with_child = odd_entries(load(R, 2 * i), load(R, 2 * i + 4))
        elif child == 1:
            without = first_halves(load(F, 2 * i), load(F, 2 * i + 4))
            with_child = second_halves(load(R, 2 * i), load(R, 2 * i + 4))
        else:
            C = insert_zero_bit(i, child)
            without = load(F, C)
            with_child = load(R, C | 1 << child)
        product = wide_product(without, with_child, wide)
        store(q, size - 4 - i, reversed_entries(product))


@kernel(int64[::1], float64[::1])
def count_orders(parents, n_orders):
    """Set ``n_orders[W]`` to the number of orders of the columns W in which parents come first.

    `parents` has the masks of each column's parents. A set that lacks a parent has no orders.
    """
    n_orders[0] = 1.0
    for W in range(1, n_orders.size):
        total = 0.0
        for x in range(parents.size):
            if W >> x & 1 and parents[x] & ~W == 0:
                total += n_orders[W ^ 1 << x]
        n_orders[W] = total
