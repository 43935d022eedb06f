"""The best-sink recursion over the sets of one slab.

``F[W] = max over x in W of F[W - x] + B_x[W - x]``, where B_x[C] is the best
local score of x with parents in C, and F[W] the best network on the columns W.
A block is the sets that share all but their lowest bits. It draws on blocks with
fewer high bits only, so that all blocks with equally many may run at once.
"""

from __future__ import annotations

from numba import float64, int64

from skbn._core.compile import inner_kernel, kernel
from skbn._core.subsets import remove_bit
from skbn._core.vectors import larger

__all__ = ["extend_blocks"]


@kernel(float64[::1], float64[::1], int64[::1], int64, int64, int64, int64[::1])
def extend_blocks(best, slab, starts, n_inner, fixed, block_bits, blocks):
    """Finish `best` on some blocks of a slab, and hand them on to later slabs.

    Parameters
    ----------
    best : ndarray of shape (2**m,), float64
        F; all that the blocks draw on must be finished.
    slab : ndarray, float64
        The children's tables one after the other, transformed over all their bits.
    starts : ndarray of shape (m + 1,), int64
        Where each child's table starts in `slab`.
    n_inner : int
        Inner columns; the columns from there on are the outer ones.
    fixed : int
        Mask of the outer columns that are in the slab's sets.
    block_bits : int
        A block has 2**block_bits sets.
    blocks : ndarray of int64
        The high bits of each block.
    """
    length = 1 << block_bits
    for block in blocks:
        inner = block << block_bits
        first = fixed << n_inner | inner
        for sink in range(block_bits, n_inner):
            if inner >> sink & 1:
                rest = first ^ 1 << sink
                _add_sink(best, first, rest, slab, starts[sink] + remove_bit(inner, sink), length)
        _extend_within(best, first, slab, starts, inner, length)
        for sink in range(n_inner, starts.size - 1):
            if not first >> sink & 1:
                _add_sink(best, first | 1 << sink, first, slab, starts[sink] + inner, length)


@inner_kernel
def _add_sink(best, target, source, slab, start, length):
    """Raise the states from `target` on to those from `source` on plus a sink."""
    raised = best[target : target + length]
    without = best[source : source + length]
    maxima = slab[start : start + length]
    for i in range(length):
        raised[i] = larger(raised[i], without[i] + maxima[i])


@inner_kernel
def _extend_within(best, first, slab, starts, inner, length):
    """Recurse over the low bits: a finished lower half is handed to the upper half.

    After a run of eight states the lower half that ends there is finished, and no other.
    """
    run = min(8, length)
    for low in range(0, length, run):
        _extend_run(best, first + low, slab, starts, inner + low, run)
        end = low + run
        half = end & -end
        if half < length:
            sink = 0
            while half >> sink > 1:
                sink += 1
            source = end - half
            start = starts[sink] + remove_bit(inner + source, sink)
            _add_sink(best, first + end, first + source, slab, start, half)


@inner_kernel
def _extend_run(best, first, slab, starts, inner, run):
    for i in range(1, run):
        score = best[first + i]
        for sink in range(3):
            if i >> sink & 1:
                rest = i ^ 1 << sink
                maximum = slab[starts[sink] + remove_bit(inner + rest, sink)]
                score = larger(score, best[first + rest] + maximum)
        best[first + i] = score
