"""The kernels of the recursion over sinks: the best networks on the sets of a slab.

`recurrences` says what a slab, its tables and a block are. The steps are the same for sums over all
networks, for which `join` adds and `product` multiplies the weights that here are maxima and sums
of scores; these functions are known at compile time. They also take the format of extended
floats, `wide`, which is None in a search.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import float64, int64

from skbn._core.compile import inner_kernel, kernel, pasted_kernel, tuple_type
from skbn._core.subsets import bit_length, remove_bit
from skbn._core.vectors import float_sum, larger, load, store


class Tables(NamedTuple):
    """The tables of a slab's columns, as kernels take them."""

    # the tables one after the other. A table's index is the mask of a set of inner columns, with
    # the bit of the table's own column removed.
    entries: npt.NDArray[Any]
    starts: npt.NDArray[Any]  # (m + 1,): where each column's table starts in `entries`


_TABLES = tuple_type(Tables, float64[::1], int64[::1])


@kernel(float64[::1], float64[::1], float64[::1], int64, int64, int64, int64)
def extend_by_sink(F, G, B, start, first, length, begins):
    """Join to F the networks of another slab, each with the same outer column as a sink.

    `F`: (2**n_inner,), best scores of a slab's sets
    `G`: (2**n_inner,), those of the sets without the sink
    `B`: the slab: the columns' tables one after the other, transformed over all their bits
    `start`: where the sink's table starts in `B`
    `first`, `length`: the sets to extend
    `begins`: whether F is not set yet on these sets
    """
    if begins:
        for i in range(first, first + length):
            F[i] = G[i] + B[start + i]
        return
    with_sink = B, start + first
    add_column((F, first), (G, first), with_sink, length, larger, float_sum, None)


@kernel(float64[::1], _TABLES, int64, int64, int64[::1])
def extend_blocks(F, B, n_inner, block_bits, blocks):
    """Finish the best networks' scores F on some blocks of a slab.

    `F`: (2**n_inner,), best scores of the slab's sets with an outer column as the last sink. They
        are raised. Blocks with fewer high bits must be finished.
    `B`: tables of float64, transformed over all their bits
    `n_inner`: number of inner columns; the columns after these are the outer ones
    `block_bits`: a block has 2**block_bits sets
    `blocks`: the high bits of each block
    """
    for block in blocks:
        first = block << block_bits
        extend_block(F, B, n_inner, first, 1 << block_bits, larger, float_sum, None)


@pasted_kernel
def extend_block(F, B, n_inner, first, length, join, product, wide):
    """Finish F on one block of a slab, of `length` sets from `first` on.

    Blocks draw only on those with fewer high bits, so that all with equally many may run at once.
    """
    rests, places = np.empty(n_inner, np.int64), np.empty(n_inner, np.int64)
    n_sinks = 0
    for sink in range(n_inner):
        if first >> sink & 1:
            rests[n_sinks] = first ^ 1 << sink
            places[n_sinks] = B.starts[sink] + remove_bit(first, sink)
            n_sinks += 1
    if length < 4:
        for k in range(n_sinks):
            parents = B.entries, places[k]
            add_column((F, first), (F, rests[k]), parents, length, join, product, wide)
    else:
        for i in range(0, length, 4):  # a vector stays in registers while it is joined over sinks
            value = load(F, first + i)
            for k in range(n_sinks):
                with_sink = product(load(F, rests[k] + i), load(B.entries, places[k] + i), wide)
                value = join(value, with_sink, wide)
            store(F, first + i, value)
    _extend_within_block(F, first, B, length, join, product, wide)


@inner_kernel
def add_column(target, source, factors, length, join, product, wide):
    """Join to the target the products of the source and the factors, entry by entry.

    Each of the three is an array and the place where its `length` entries begin. Slices would do,
    but numba takes longer to compile them.
    """
    F, f = target
    G, g = source
    B, b = factors
    if length < 4:
        for i in range(length):
            F[f + i] = join(F[f + i], product(G[g + i], B[b + i], wide), wide)
        return
    for i in range(0, length, 4):
        value = product(load(G, g + i), load(B, b + i), wide)
        store(F, f + i, join(load(F, f + i), value, wide))


@pasted_kernel
def _extend_within_block(F, first, B, length, join, product, wide):
    """Recurse over the low bits: a finished lower half is handed to the upper half.

    After each run of eight sets, exactly one lower half has been finished: the one that ends there.
    So all sets are visited in ascending order, while vectors work on whole halves.
    """
    run = min(8, length)
    for low in range(0, length, run):
        if run == 8:
            _extend_eight(F, first + low, B, join, product, wide)
        else:
            _extend_run(F, first + low, B, run, join, product, wide)
        end = low + run
        half = end & -end
        if half < length:
            sink = bit_length(half) - 1
            rest = first + end - half
            parents = B.entries, B.starts[sink] + remove_bit(rest, sink)
            add_column((F, first + end), (F, rest), parents, half, join, product, wide)


@pasted_kernel
def _extend_run(F, first, B, run, join, product, wide):
    """Recurse over the lowest three bits, set by set: their halves are shorter than a vector."""
    for i in range(1, run):
        value = F[first + i]
        for sink in range(3):
            if i >> sink & 1:
                rest = first + (i ^ 1 << sink)
                parents = B.entries[B.starts[sink] + remove_bit(rest, sink)]
                value = join(value, product(F[rest], parents, wide), wide)
        F[first + i] = value


@pasted_kernel
def _extend_eight(F, first, B, join, product, wide):
    """Recurse over three bits with all eight sets in registers: loads would wait for stores."""
    half = first >> 1
    x0, x1, x2 = B.starts[0] + half, B.starts[1] + half, B.starts[2] + half
    entries = B.entries
    f0 = F[first]
    f1 = join(F[first + 1], product(f0, entries[x0], wide), wide)
    f2 = join(F[first + 2], product(f0, entries[x1], wide), wide)
    f3 = join(F[first + 3], product(f2, entries[x0 + 1], wide), wide)
    f3 = join(f3, product(f1, entries[x1 + 1], wide), wide)
    f4 = join(F[first + 4], product(f0, entries[x2], wide), wide)
    f5 = join(F[first + 5], product(f4, entries[x0 + 2], wide), wide)
    f5 = join(f5, product(f1, entries[x2 + 1], wide), wide)
    f6 = join(F[first + 6], product(f4, entries[x1 + 2], wide), wide)
    f6 = join(f6, product(f2, entries[x2 + 2], wide), wide)
    f7 = join(F[first + 7], product(f6, entries[x0 + 3], wide), wide)
    f7 = join(f7, product(f5, entries[x1 + 3], wide), wide)
    f7 = join(f7, product(f3, entries[x2 + 3], wide), wide)
    F[first + 1] = f1
    F[first + 2] = f2
    F[first + 3] = f3
    F[first + 4] = f4
    F[first + 5] = f5
    F[first + 6] = f6
    F[first + 7] = f7
