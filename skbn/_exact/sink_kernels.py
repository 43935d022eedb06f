"""The kernels of the recursion over sinks: the best networks on the sets of a slab.

`recurrences` says what a slab, its tables and a block are. The steps are the same for sums over all
networks, for which `join` adds and `product` multiplies the weights that here are maxima and sums
of scores; these functions are known at compile time. They also take the format of extended
floats, `wide`, which is None in a search.
"""

from __future__ import annotations

import math

import numpy as np
from numba import float64, int64
from numba.extending import register_jitable

from skbn._core.compile import inner_kernel, kernel
from skbn._core.subsets import bit_length, remove_bit
from skbn._core.vectors import load, plus, store
from skbn._core.zeta import join_larger

__all__ = ["add_column", "extend_block", "extend_blocks", "extend_by_sink"]


@register_jitable
def _sum_of_scores(a, b, wide):
    return plus(a, b)


@kernel(float64[::1], float64[::1], float64[::1], int64, int64, int64, int64)
def extend_by_sink(F, G, B, start, first, length, begins):
    """Join to F the networks of another slab, each with the same outer column as a sink.

    Parameters
    ----------
    F : ndarray of shape (2**n_inner,), float64
        Best scores of a slab's sets.
    G : ndarray of shape (2**n_inner,), float64
        Those of the sets without the sink.
    B : ndarray, float64
        The slab: the children's tables one after the other, transformed over all their bits.
    start : int
        Where the sink's table starts in `B`.
    first, length : int
        The sets to extend.
    begins : int
        Whether these are the first networks of F, which is not set yet.
    """
    if begins and length >= 4:
        for i in range(first, first + length, 4):
            store(F, i, plus(load(G, i), load(B, start + i)))
        return
    if begins:
        for i in range(first, first + length):
            F[i] = -math.inf
    add_column(F, first, G, first, B, start + first, length, join_larger, _sum_of_scores, None)


@kernel(float64[::1], float64[::1], int64[::1], int64, int64, int64[::1])
def extend_blocks(F, B, starts, n_inner, block_bits, blocks):
    """Finish the best networks' scores F on some blocks of a slab.

    Parameters
    ----------
    F : ndarray of shape (2**n_inner,), float64
        Best scores of the slab's sets with an outer column as the last sink. They are raised.
        Blocks with fewer high bits must be finished.
    B : ndarray, float64
        The slab: the children's tables one after the other, transformed over all their bits.
    starts : ndarray of shape (m + 1,), int64
        Where each child's table starts in `B`.
    n_inner : int
        Number of inner columns; the columns after these are the outer ones.
    block_bits : int
        A block has 2**block_bits sets.
    blocks : ndarray of int64
        The high bits of each block.
    """
    for block in blocks:
        extend_block(F, B, starts, n_inner, block_bits, block, join_larger, _sum_of_scores, None)


@inner_kernel
def extend_block(F, B, starts, n_inner, block_bits, block, join, product, wide):
    """Finish F on one block of a slab.

    Blocks draw only on those with fewer high bits, so that all with equally many may run at once.
    """
    length = 1 << block_bits
    first = block << block_bits
    n_sinks = 0
    rests, places = np.empty(n_inner, np.int64), np.empty(n_inner, np.int64)
    for sink in range(block_bits, n_inner):
        if first >> sink & 1:
            rests[n_sinks] = first ^ 1 << sink
            places[n_sinks] = starts[sink] + remove_bit(first, sink)
            n_sinks += 1
    if length < 4:
        for k in range(n_sinks):
            add_column(F, first, F, rests[k], B, places[k], length, join, product, wide)
    else:
        for i in range(0, length, 4):  # a vector stays in registers while it is joined over sinks
            value = load(F, first + i)
            for k in range(n_sinks):
                with_sink = product(load(F, rests[k] + i), load(B, places[k] + i), wide)
                value = join(value, with_sink, wide)
            store(F, first + i, value)
    _extend_within_block(F, first, B, starts, length, join, product, wide)


@inner_kernel
def add_column(F, target, G, source, B, start, length, join, product, wide):
    """Join to F from `target` on the products of G from `source` on and B from `start` on."""
    if length < 4:
        for i in range(length):
            value = product(G[source + i], B[start + i], wide)
            F[target + i] = join(F[target + i], value, wide)
        return
    for i in range(0, length, 4):
        value = product(load(G, source + i), load(B, start + i), wide)
        store(F, target + i, join(load(F, target + i), value, wide))


@inner_kernel
def _extend_within_block(F, first, B, starts, length, join, product, wide):
    """Recurse over the low bits: a finished lower half is handed to the upper half.

    After each run of eight sets, exactly one lower half has been finished: the one that ends there.
    """
    run = min(8, length)
    for low in range(0, length, run):
        _extend_run(F, first + low, B, starts, run, join, product, wide)
        end = low + run
        half = end & -end
        if half < length:
            sink = bit_length(half) - 1
            source = first + end - half
            start = starts[sink] + remove_bit(source, sink)
            add_column(F, first + end, F, source, B, start, half, join, product, wide)


@inner_kernel
def _extend_run(F, first, B, starts, run, join, product, wide):
    """Recurse over the lowest three bits, set by set."""
    if run == 8:
        _extend_eight(F, first, B, starts, join, product, wide)
        return
    for i in range(1, run):
        value = F[first + i]
        for sink in range(3):
            if i >> sink & 1:
                rest = first + (i ^ 1 << sink)
                parents = B[starts[sink] + remove_bit(rest, sink)]
                value = join(value, product(F[rest], parents, wide), wide)
        F[first + i] = value


@inner_kernel
def _extend_eight(F, first, B, starts, join, product, wide):
    """Recurse over three bits with all eight sets in registers: stores would delay the loads."""
    half = first >> 1
    p0, p1, p2 = starts[0] + half, starts[1] + half, starts[2] + half
    f0 = F[first]
    f1 = join(F[first + 1], product(f0, B[p0], wide), wide)
    f2 = join(F[first + 2], product(f0, B[p1], wide), wide)
    f3 = join(F[first + 3], product(f2, B[p0 + 1], wide), wide)
    f3 = join(f3, product(f1, B[p1 + 1], wide), wide)
    f4 = join(F[first + 4], product(f0, B[p2], wide), wide)
    f5 = join(F[first + 5], product(f4, B[p0 + 2], wide), wide)
    f5 = join(f5, product(f1, B[p2 + 1], wide), wide)
    f6 = join(F[first + 6], product(f4, B[p1 + 2], wide), wide)
    f6 = join(f6, product(f2, B[p2 + 2], wide), wide)
    f7 = join(F[first + 7], product(f6, B[p0 + 3], wide), wide)
    f7 = join(f7, product(f5, B[p1 + 3], wide), wide)
    f7 = join(f7, product(f3, B[p2 + 3], wide), wide)
    F[first + 1] = f1
    F[first + 2] = f2
    F[first + 3] = f3
    F[first + 4] = f4
    F[first + 5] = f5
    F[first + 6] = f6
    F[first + 7] = f7
