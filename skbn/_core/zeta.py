"""The zeta transform over some bits of an index: what holds for a set is joined over its subsets.

Over bit b it is ``t[i | 2**b] = join(t[i], t[i | 2**b])``; over all bits every entry becomes
the join of the entries of all subsets of its index: their maximum, or their sum. The bits may be
taken in any order. Three are taken at a time, and the lowest five at once, because loading and
storing numbers takes longer than joining them.

The join is an argument that is known when a kernel is compiled, and costs nothing when it runs.
"""

from __future__ import annotations

import numpy as np
from numba import float64, int64
from numba.extending import register_jitable

from skbn._core.compile import inner_kernel, kernel
from skbn._core.vectors import larger, load, store, without_bit_0, without_bit_1

__all__ = ["join_larger", "max_within_vector", "max_zeta", "zeta_transform"]

# Tables of 16 KiB and 2 MiB stay in the first-level and last-level cache between passes: all passes
# over one such piece are made before the next piece is loaded.
_FIRST_CACHE_BITS = 11
_LAST_CACHE_BITS = 18


@kernel(float64[::1], int64, int64, seconds=1.0)
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


# These are not kernels: numba does not cache a kernel that takes other kernels as arguments.
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
        size = 1 << next_bit
        for start in range(0, table.size, size):
            bit = first_bit
            if bit == 0 and next_bit >= 5:
                for i in range(start, start + size, 32):
                    _transform_over_five_bits(table, i, join, join_within_vector, wide)
                bit = 5
            while bit < next_bit:
                if bit >= 2 and bit + 3 <= next_bit:
                    _transform_over_three_bits(table, start, start + size, 1 << bit, join, wide)
                    bit += 3
                else:
                    _transform_over_one_bit(table, start, start + size, 1 << bit, join, wide)
                    bit += 1
        first_bit = next_bit


@inner_kernel
def _transform_over_one_bit(table, start, end, step, join, wide):
    """Transform over the bit of `step`, entry by entry where it is one of a vector's two bits."""
    for first in range(start, end, 2 * step):
        if step < 4:
            for i in range(first, first + step):
                table[i + step] = join(table[i], table[i + step], wide)
        else:
            for i in range(first, first + step, 4):
                store(table, i + step, join(load(table, i), load(table, i + step), wide))


@inner_kernel
def _transform_over_three_bits(table, start, end, step, join, wide):
    """Transform over the bit of `step`, at least 4, and the next two: eight rows of vectors."""
    for first in range(start, end, 8 * step):
        for i in range(first, first + step, 4):
            low, high = _load_four(table, i, step), _load_four(table, i + 4 * step, step)
            low, high = _join_eight(low, high, join, wide)
            _store_four(table, i, step, low)
            _store_four(table, i + 4 * step, step, high)


@inner_kernel
def _transform_over_five_bits(table, i, join, join_within_vector, wide):
    """Transform 32 entries over the lowest five bits: two within vectors, three between them."""
    step = np.int64(4)  # for a literal 4 numba would compile a second version of these functions
    low, high = _load_four(table, i, step), _load_four(table, i + 16, step)
    low = _join_within_four(low, join_within_vector, wide)
    high = _join_within_four(high, join_within_vector, wide)
    low, high = _join_eight(low, high, join, wide)
    _store_four(table, i, step, low)
    _store_four(table, i + 16, step, high)


@inner_kernel
def _load_four(table, i, step):
    """Return the vectors at i, i + step, ..., as a tuple of four."""
    x0, x1 = load(table, i), load(table, i + step)
    return x0, x1, load(table, i + 2 * step), load(table, i + 3 * step)


@inner_kernel
def _store_four(table, i, step, x):
    store(table, i, x[0])
    store(table, i + step, x[1])
    store(table, i + 2 * step, x[2])
    store(table, i + 3 * step, x[3])


@inner_kernel
def _join_within_four(x, join_within_vector, wide):
    """Transform each of four vectors over the two bits within it."""
    x0, x1 = join_within_vector(x[0], wide), join_within_vector(x[1], wide)
    return x0, x1, join_within_vector(x[2], wide), join_within_vector(x[3], wide)


@inner_kernel
def _join_four(x, join, wide):
    """Transform four neighbours over their two bits."""
    x1 = join(x[0], x[1], wide)
    return x[0], x1, join(x[0], x[2], wide), join(x1, join(x[2], x[3], wide), wide)


@inner_kernel
def _join_eight(low, high, join, wide):
    """Transform eight neighbours over their three bits; each half is a tuple of four."""
    low, high = _join_four(low, join, wide), _join_four(high, join, wide)
    return low, (
        join(low[0], high[0], wide),
        join(low[1], high[1], wide),
        join(low[2], high[2], wide),
        join(low[3], high[3], wide),
    )
