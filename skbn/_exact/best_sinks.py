"""The sink recursion over the sets of one slab (see `recurrences` for what a slab is).

``F[W] = join over x in W of product(F[W - x], B_x[W - x])``. With the join `larger` and the
product `plus`, F[W] is the score of the best network on the columns W, whose last column, the
sink, is x. With sums of products it is a sum over all orders of the columns.

A block is the sets that share all but their lowest bits. It draws only on blocks with fewer high
bits, so that all blocks with equally many may run at once.
"""

from __future__ import annotations

from numba import float64, int64

from skbn._core.compile import inner_kernel, kernel
from skbn._core.subsets import remove_bit
from skbn._core.vectors import larger, plus

__all__ = ["extend_block", "extend_blocks"]


@kernel(float64[::1], float64[::1], int64[::1], int64, int64, int64, int64[::1])
def extend_blocks(F, B, starts, n_inner, fixed, block_bits, blocks):
    """Finish the best networks' scores F on some blocks of a slab, and hand them on.

    Parameters
    ----------
    F : ndarray of shape (2**m,), float64
        All that the blocks draw on must be finished. In them, and in later slabs, F is raised.
    B : ndarray, float64
        The slab: the children's tables one after the other, transformed over all their bits.
    starts : ndarray of shape (m + 1,), int64
        Where each child's table starts in `B`.
    n_inner : int
        Number of inner columns; the columns after these are the outer ones.
    fixed : int
        Mask of the outer columns that are in the slab's sets.
    block_bits : int
        A block has 2**block_bits sets.
    blocks : ndarray of int64
        The high bits of each block.
    """
    for block in blocks:
        extend_block(F, B, starts, n_inner, fixed, block_bits, block, larger, plus)


@inner_kernel
def extend_block(F, B, starts, n_inner, fixed, block_bits, block, join, product):
    """Finish F on one block, and join it to the sets that have an outer column more.

    The `join` and the `product` are functions of two float64, known at compile time. At first
    F[0] is the product's neutral element, and all other entries are the join's.
    """
    length = 1 << block_bits
    inner = block << block_bits
    first = fixed << n_inner | inner
    for sink in range(block_bits, n_inner):
        if inner >> sink & 1:
            rest = first ^ 1 << sink
            start = starts[sink] + remove_bit(inner, sink)
            _add_sink(F, first, rest, B, start, length, join, product)
    _extend_within_block(F, first, B, starts, inner, length, join, product)
    for sink in range(n_inner, starts.size - 1):
        if not first >> sink & 1:
            _add_sink(F, first | 1 << sink, first, B, starts[sink] + inner, length, join, product)


@inner_kernel
def _add_sink(F, target, source, B, start, length, join, product):
    """Join to the sets from `target` on the networks of those from `source` on plus a sink."""
    with_sink = F[target : target + length]
    without_sink = F[source : source + length]
    parents = B[start : start + length]
    for i in range(length):
        with_sink[i] = join(with_sink[i], product(without_sink[i], parents[i]))


@inner_kernel
def _extend_within_block(F, first, B, starts, inner, length, join, product):
    """Recurse over the low bits: a finished lower half is handed to the upper half.

    After each run of eight sets, exactly one lower half has been finished: the one that ends there.
    """
    run = min(8, length)
    for low in range(0, length, run):
        _extend_run(F, first + low, B, starts, inner + low, run, join, product)
        end = low + run
        half = end & -end
        if half < length:
            sink = 0
            while half >> sink > 1:
                sink += 1
            source = end - half
            start = starts[sink] + remove_bit(inner + source, sink)
            _add_sink(F, first + end, first + source, B, start, half, join, product)


@inner_kernel
def _extend_run(F, first, B, starts, inner, run, join, product):
    """Recurse over the lowest three bits, set by set."""
    for i in range(1, run):
        value = F[first + i]
        for sink in range(3):
            if i >> sink & 1:
                rest = i ^ 1 << sink
                parents = B[starts[sink] + remove_bit(inner + rest, sink)]
                value = join(value, product(F[first + rest], parents))
        F[first + i] = value
