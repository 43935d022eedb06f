"""The max zeta transform over some bits of an index.

Over bit b it is ``t[i | 2**b] = max(t[i], t[i | 2**b])``; over all bits every
entry becomes the maximum over the subsets of its index. The bits may be taken
in any order. They are taken three at a time, the lowest five at once, since a
maximum costs less than loading and storing its operands.
"""

from __future__ import annotations

from numba import float64, int64

from skbn._core.compile import inner_kernel, kernel
from skbn._core.vectors import larger, load, store, without_bit_0, without_bit_1

__all__ = ["max_zeta"]

# So many entries stay in the first-level and in the last-level cache from one pass
# over them to the next.
_FIRST_CACHE_BITS = 11
_LAST_CACHE_BITS = 18


@kernel(float64[::1], int64, int64)
def max_zeta(table, first_bit, last_bit):
    """Transform `table` in place over the bits `first_bit`, ..., `last_bit - 1`.

    Parameters
    ----------
    table : contiguous ndarray of float64, its length a multiple of 2**last_bit
    first_bit, last_bit : int
        In kernels ``np.int64(0)``, as for a literal 0 numba would compile all this again.
    """
    for cached_bits in (_FIRST_CACHE_BITS, _LAST_CACHE_BITS, 63):
        next_bit = min(last_bit, max(cached_bits, first_bit))
        for start in range(0, table.size, 1 << next_bit):
            _transform(table, start, start + (1 << next_bit), first_bit, next_bit)
        first_bit = next_bit


@inner_kernel
def _transform(table, start, end, first_bit, last_bit):
    bit = first_bit
    if bit == 0 and last_bit >= 5:
        for i in range(start, end, 32):
            _thirty_two_entries(table, i)
        bit = 5
    while bit < last_bit:
        n_bits = min(3, last_bit - bit) if bit >= 2 else 1
        if bit >= 2:
            _transform_rows(table, start, end, 1 << bit, n_bits)
        else:
            _transform_neighbours(table, start, end, 1 << bit)
        bit += n_bits


@inner_kernel
def _transform_neighbours(table, start, end, step):
    for i in range(start, end):
        if i & step:
            table[i] = larger(table[i], table[i ^ step])


@inner_kernel
def _transform_rows(table, start, end, step, n_bits):
    for first in range(start, end, step << n_bits):
        for i in range(first, first + step, 4):
            if n_bits == 3:
                _eight_rows(table, i, step)
            elif n_bits == 2:
                _four_rows(table, i, step)
            else:
                store(table, i + step, larger(load(table, i), load(table, i + step)))


@inner_kernel
def _four_rows(table, i, step):
    _, x1, x2, x3 = _maxima_of_four(
        load(table, i),
        load(table, i + step),
        load(table, i + 2 * step),
        load(table, i + 3 * step),
    )
    store(table, i + step, x1)
    store(table, i + 2 * step, x2)
    store(table, i + 3 * step, x3)


@inner_kernel
def _eight_rows(table, i, step):
    _, x1, x2, x3, x4, x5, x6, x7 = _maxima_of_eight(
        load(table, i),
        load(table, i + step),
        load(table, i + 2 * step),
        load(table, i + 3 * step),
        load(table, i + 4 * step),
        load(table, i + 5 * step),
        load(table, i + 6 * step),
        load(table, i + 7 * step),
    )
    store(table, i + step, x1)
    store(table, i + 2 * step, x2)
    store(table, i + 3 * step, x3)
    store(table, i + 4 * step, x4)
    store(table, i + 5 * step, x5)
    store(table, i + 6 * step, x6)
    store(table, i + 7 * step, x7)


@inner_kernel
def _thirty_two_entries(table, i):
    """Transform over the lowest five bits: two within vectors, three between them."""
    x0, x1, x2, x3, x4, x5, x6, x7 = _maxima_of_eight(
        _maxima_within(load(table, i)),
        _maxima_within(load(table, i + 4)),
        _maxima_within(load(table, i + 8)),
        _maxima_within(load(table, i + 12)),
        _maxima_within(load(table, i + 16)),
        _maxima_within(load(table, i + 20)),
        _maxima_within(load(table, i + 24)),
        _maxima_within(load(table, i + 28)),
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
def _maxima_within(x):
    x = larger(x, without_bit_0(x, x))
    return larger(x, without_bit_1(x, x))


@inner_kernel
def _maxima_of_four(x0, x1, x2, x3):
    x1 = larger(x0, x1)
    return x0, x1, larger(x0, x2), larger(x1, larger(x2, x3))


@inner_kernel
def _maxima_of_eight(x0, x1, x2, x3, x4, x5, x6, x7):
    x0, x1, x2, x3 = _maxima_of_four(x0, x1, x2, x3)
    x4, x5, x6, x7 = _maxima_of_four(x4, x5, x6, x7)
    return x0, x1, x2, x3, larger(x0, x4), larger(x1, x5), larger(x2, x6), larger(x3, x7)
