"""The kernels of sums over networks: those of the search, with extended floats, and what sums add.

With the weight ``beta_x(P)`` of a column x with the parents P, the tables of a slab hold
``alpha_x[C] = sum over P ⊆ C of beta_x(P)`` where those of the search hold B; `order_sums` says
what the sums are. Arrays of int64 are extended floats, of the format `wide`.
"""

from __future__ import annotations

import numpy as np
from numba import float64, int64

from skbn._core.compile import inner_kernel, kernel
from skbn._core.extended_floats import WIDE, sum_within_vector, wide_product, wide_sum
from skbn._core.subsets import bit_length, insert_zero_bit, remove_bit
from skbn._core.vectors import (
    even_entries,
    first_halves,
    load,
    odd_entries,
    reversed_entries,
    second_halves,
    store,
)
from skbn._core.zeta import zeta_transform
from skbn._exact.sink_kernels import add_column, extend_block

__all__ = [
    "count_orders",
    "extend_sums",
    "order_products",
    "retreat_sums",
    "sum_zeta",
]


@kernel(int64[::1], int64, int64, WIDE, seconds=1.8)
def sum_zeta(table, first_bit, last_bit, wide):
    """Turn extended floats into sums over subsets, over some bits of their index, in place."""
    zeta_transform(table, first_bit, last_bit, wide_sum, sum_within_vector, wide)


@kernel(int64[::1], int64, int64[::1], int64[::1], int64, int64, int64[::1], WIDE, seconds=1)
def extend_sums(F, fixed, B, starts, n_inner, block_bits, blocks, wide):
    """Finish the forward sums F on some blocks of a slab, and hand them on.

    At first F[0] is one, and all other entries are nothing. Slabs with fewer outer columns, and
    blocks with fewer high bits, must be finished.
    """
    size = np.int64(1) << n_inner
    slab = F[fixed * size : (fixed + 1) * size]
    length = np.int64(1) << block_bits
    for block in blocks:
        extend_block(slab, B, starts, n_inner, block_bits, block, wide_sum, wide_product, wide)
        inner = block << block_bits
        first = fixed << n_inner | inner
        for sink in range(n_inner, starts.size - 1):
            if not first >> sink & 1:
                add_column(
                    F,
                    first | 1 << sink,
                    F,
                    first,
                    B,
                    starts[sink] + inner,
                    length,
                    wide_sum,
                    wide_product,
                    wide,
                )


@kernel(int64[::1], int64, int64[::1], int64[::1], int64, int64, int64[::1], WIDE, seconds=1)
def retreat_sums(R, fixed, B, starts, n_inner, block_bits, blocks, wide):
    """Finish the backward sums R on some blocks of a slab: R[W] = sum of R[W + x] B_x[W].

    Slabs with more outer columns, and blocks with more high bits, must be finished.
    """
    for block in blocks:
        inner = block << block_bits
        _retreat_block(R, B, starts, n_inner, fixed, inner, np.int64(1) << block_bits, wide)


@inner_kernel
def _retreat_block(R, B, starts, n_inner, fixed, inner, length, wide):
    first = fixed << n_inner | inner
    for x in range(starts.size - 1):
        if (1 << x >= length or x >= n_inner) and not first >> x & 1:
            start = starts[x] + (remove_bit(inner, x) if x < n_inner else inner)
            add_column(
                R,
                first,
                R,
                first | 1 << x,
                B,
                start,
                length,
                wide_sum,
                wide_product,
                wide,
            )
    run = min(8, length)
    for low in range(length - run, -1, -run):
        _retreat_run(R, first + low, B, starts, inner + low, run, wide)
        half = low & -low
        if 0 < half < length:
            # The upper half that begins here is finished; hand it to the lower half.
            x = bit_length(half) - 1
            target = low - half
            start = starts[x] + remove_bit(inner + target, x)
            add_column(
                R,
                first + target,
                R,
                first + low,
                B,
                start,
                half,
                wide_sum,
                wide_product,
                wide,
            )


@inner_kernel
def _retreat_run(R, first, B, starts, inner, run, wide):
    """Recurse over the lowest three bits, set by set."""
    for i in range(run - 1, -1, -1):
        value = R[first + i]
        for x in range(3):
            if 1 << x < run and not i >> x & 1:
                weight = B[starts[x] + remove_bit(inner + i, x)]
                product = wide_product(R[first + (i | 1 << x)], weight, wide)
                value = wide_sum(value, product, wide)
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
