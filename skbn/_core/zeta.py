"""The zeta transform over some bits of an index: what holds for a set is joined over its subsets.

Over bit b it is ``t[i | 2**b] = join(t[i], t[i | 2**b])``; over all bits every entry becomes
the join of the entries of all subsets of its index: their maximum, or their sum. The bits may be
taken in any order. They are taken three at a time, the lowest five at once, since a maximum costs
less than loading and storing its operands.

The join is an argument that is known when a kernel is compiled, and costs nothing when it runs.
"""

from __future__ import annotations

from numba import float64, int64
from numba.extending import register_jitable

from skbn._core.compile import inner_kernel, kernel
from skbn._core.vectors import larger, load, store, without_bit_0, without_bit_1

__all__ = ["join_larger", "max_within_vector", "max_zeta", "zeta_transform"]

# Entries that stay in the first-level and in the last-level cache from one pass over them to the
# next: 16 KiB and 2 MiB.
_FIRST_CACHE_BITS = 11
_LAST_CACHE_BITS = 18


@kernel(float64[::1], int64, int64, seconds=1.5)
def max_zeta(table, first_bit, last_bit):
    """Turn the entries of `table` into maxima over subsets, in place.

    Parameters
    ----------
    table : contiguous ndarray of float64, its length a multiple of 2**last_bit
    first_bit, last_bit : int
        The bits are `first_bit`, ..., `last_bit - 1`. Kernels pass ``np.int64(0)``, since for a
        literal 0 numba would compile all this again.
    """
    zeta_transform(table, first_bit, last_bit, join_larger, max_within_vector, None)


# As kernels of their own, given to another one as arguments, these would keep numba from caching.
@register_jitable
def join_larger(a, b, wide):
    """Return the larger of two float64, or of two vectors' entries; see `zeta_transform`."""
    return larger(a, b)


@register_jitable
def max_within_vector(x, wide):
    """Return the maxima over subsets of two bits, of which the four entries are the subsets."""
    x = larger(x, without_bit_0(x, x))
    return larger(x, without_bit_1(x, x))


@inner_kernel
def zeta_transform(table, first_bit, last_bit, join, join_within_vector, wide):
    """Transform `table` in place over the bits `first_bit`, ..., `last_bit - 1`.

    Parameters
    ----------
    table : contiguous ndarray of float64 or int64, its length a multiple of 2**last_bit
    first_bit, last_bit : int
    join : function of two entries, or of two vectors, and `wide`
        Associative and commutative.
    join_within_vector : function of a vector and `wide`
        Transforms the four entries of one vector over their two bits. A maximum may join an entry
        with itself, which takes fewer instructions; a sum may not.
    wide : WideFormat or None
        The format of extended floats, for joins that need it.
    """
    for cached_bits in (_FIRST_CACHE_BITS, _LAST_CACHE_BITS, 63):
        next_bit = min(last_bit, max(cached_bits, first_bit))
        for start in range(0, table.size, 1 << next_bit):
            end = start + (1 << next_bit)
            _transform(table, start, end, first_bit, next_bit, join, join_within_vector, wide)
        first_bit = next_bit


@inner_kernel
def _transform(table, start, end, first_bit, last_bit, join, join_within_vector, wide):
    bit = first_bit
    if bit == 0 and last_bit >= 5:
        for i in range(start, end, 32):
            _thirty_two_entries(table, i, join, join_within_vector, wide)
        bit = 5
    while bit < last_bit:
        n_bits = min(3, last_bit - bit) if bit >= 2 else 1
        if bit >= 2:
            _transform_rows(table, start, end, 1 << bit, n_bits, join, wide)
        else:
            _transform_neighbours(table, start, end, 1 << bit, join, wide)
        bit += n_bits


@inner_kernel
def _transform_neighbours(table, start, end, step, join, wide):
    """Transform over bit 0 or 1, entry by entry, where there are too few bits for vectors."""
    for i in range(start, end):
        if i & step:
            table[i] = join(table[i], table[i ^ step], wide)


@inner_kernel
def _transform_rows(table, start, end, step, n_bits, join, wide):
    """Transform over up to three bits, the lowest of which is that of `step`."""
    for first in range(start, end, step << n_bits):
        for i in range(first, first + step, 4):
            if n_bits == 3:
                _eight_rows(table, i, step, join, wide)
            elif n_bits == 2:
                _four_rows(table, i, step, join, wide)
            else:
                store(table, i + step, join(load(table, i), load(table, i + step), wide))


@inner_kernel
def _four_rows(table, i, step, join, wide):
    _, x1, x2, x3 = _join_four(
        load(table, i),
        load(table, i + step),
        load(table, i + 2 * step),
        load(table, i + 3 * step),
        join,
        wide,
    )
    store(table, i + step, x1)
    store(table, i + 2 * step, x2)
    store(table, i + 3 * step, x3)


@inner_kernel
def _eight_rows(table, i, step, join, wide):
    _, x1, x2, x3, x4, x5, x6, x7 = _join_eight(
        load(table, i),
        load(table, i + step),
        load(table, i + 2 * step),
        load(table, i + 3 * step),
        load(table, i + 4 * step),
        load(table, i + 5 * step),
        load(table, i + 6 * step),
        load(table, i + 7 * step),
        join,
        wide,
    )
    store(table, i + step, x1)
    store(table, i + 2 * step, x2)
    store(table, i + 3 * step, x3)
    store(table, i + 4 * step, x4)
    store(table, i + 5 * step, x5)
    store(table, i + 6 * step, x6)
    store(table, i + 7 * step, x7)


@inner_kernel
def _thirty_two_entries(table, i, join, join_within_vector, wide):
    """Transform over the lowest five bits: two within vectors, three between them."""
    x0, x1, x2, x3, x4, x5, x6, x7 = _join_eight(
        join_within_vector(load(table, i), wide),
        join_within_vector(load(table, i + 4), wide),
        join_within_vector(load(table, i + 8), wide),
        join_within_vector(load(table, i + 12), wide),
        join_within_vector(load(table, i + 16), wide),
        join_within_vector(load(table, i + 20), wide),
        join_within_vector(load(table, i + 24), wide),
        join_within_vector(load(table, i + 28), wide),
        join,
        wide,
    )
    store(table, i, x0)
    store(table, i + 4, x1)
    store(table, i + 8, x2)
    store(table, i + 12, x3)
    store(table, i + 16, x4)
    store(table, i + 20, x5)
    store(table, i + 24, x6)
    store(table, i + 28, x7)


@inner_kernel
def _join_four(x0, x1, x2, x3, join, wide):
    x1 = join(x0, x1, wide)
    return x0, x1, join(x0, x2, wide), join(x1, join(x2, x3, wide), wide)


@inner_kernel
def _join_eight(x0, x1, x2, x3, x4, x5, x6, x7, join, wide):
    x0, x1, x2, x3 = _join_four(x0, x1, x2, x3, join, wide)
    x4, x5, x6, x7 = _join_four(x4, x5, x6, x7, join, wide)
    x4, x5 = join(x0, x4, wide), join(x1, x5, wide)
    return x0, x1, x2, x3, x4, x5, join(x2, x6, wide), join(x3, x7, wide)
