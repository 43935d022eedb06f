"""The kernels of the recursion over sinks: the best networks on the sets of a slab.

`recurrences` says what a slab, its tables and a block are. The steps are the same for sums over all
networks, for which `join` adds and `product` multiplies the weights that here are maxima and sums
of scores; these functions are known at compile time. They also take the format of extended
floats, `wide`, which is None in a search.
"""

from __future__ import annotations

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


@kernel(float64[::1], float64[::1], float64[::1], int64, int64, int64)
def extend_by_sink(F, G, B, start, first, length):
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
    """
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
    for sink in range(block_bits, n_inner):
        if first >> sink & 1:
            rest = first ^ 1 << sink
            start = starts[sink] + remove_bit(first, sink)
            add_column(F, first, F, rest, B, start, length, join, product, wide)
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
    for i in range(1, run):
        value = F[first + i]
        for sink in range(3):
            if i >> sink & 1:
                rest = first + (i ^ 1 << sink)
                parents = B[starts[sink] + remove_bit(rest, sink)]
                value = join(value, product(F[rest], parents, wide), wide)
        F[first + i] = value
