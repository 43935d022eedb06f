"""The max zeta transform over some bits of an index.

Over bit b it is ``t[i | 2**b] = max(t[i], t[i | 2**b])``; over all bits every
entry becomes the maximum over the subsets of its index. The bits may be taken
in any order, and one that is taken twice does no harm. So they are taken three
at a time, since a maximum costs less than loading and storing its operands.
"""

from __future__ import annotations

from skbn._compile import kernel
from skbn._search._larger import larger

__all__ = ["max_zeta"]

# Eight rows of at least this length are worth handing over as slices.
_LONG_ROW = 64


@kernel
def max_zeta(table, first_bit, last_bit):
    """Transform `table` in place over the bits `first_bit`, ..., `last_bit - 1`.

    Parameters
    ----------
    table : contiguous ndarray of float64, its length a multiple of 2**last_bit
    first_bit, last_bit : int
    """
    if last_bit - first_bit < 3:
        for bit in range(first_bit, last_bit):
            _one_bit(table, 1 << bit)
        return
    bit = first_bit
    while bit < last_bit:
        bit = min(bit, last_bit - 3)
        if 1 << bit >= _LONG_ROW:
            _three_high_bits(table, 1 << bit)
        elif bit == 0:
            _three_low_bits(table, 1)  # a constant stride, which the compiler uses
        else:
            _three_low_bits(table, 1 << bit)
        bit += 3


@kernel
def _one_bit(table, step):
    for start in range(0, table.size, 2 * step):
        low = table[start : start + step]
        high = table[start + step : start + 2 * step]
        for i in range(step):
            high[i] = larger(low[i], high[i])


@kernel
def _three_high_bits(table, step):
    for start in range(0, table.size, 8 * step):
        rows = table[start : start + 8 * step].reshape(8, step)
        _eight_rows(rows[0], rows[1], rows[2], rows[3], rows[4], rows[5], rows[6], rows[7])


@kernel
def _eight_rows(r0, r1, r2, r3, r4, r5, r6, r7):
    for i in range(r0.size):
        r1[i], r2[i], r3[i], r4[i], r5[i], r6[i], r7[i] = _maxima_of_eight(
            r0[i], r1[i], r2[i], r3[i], r4[i], r5[i], r6[i], r7[i]
        )


@kernel
def _three_low_bits(table, step):
    rows = table.reshape(-1, 8, step)
    for j in range(rows.shape[0]):
        for i in range(step):
            x1, x2, x3, x4, x5, x6, x7 = _maxima_of_eight(
                rows[j, 0, i],
                rows[j, 1, i],
                rows[j, 2, i],
                rows[j, 3, i],
                rows[j, 4, i],
                rows[j, 5, i],
                rows[j, 6, i],
                rows[j, 7, i],
            )
            rows[j, 1, i] = x1
            rows[j, 2, i] = x2
            rows[j, 3, i] = x3
            rows[j, 4, i] = x4
            rows[j, 5, i] = x5
            rows[j, 6, i] = x6
            rows[j, 7, i] = x7


@kernel
def _maxima_of_eight(x0, x1, x2, x3, x4, x5, x6, x7):
    x1 = larger(x0, x1)
    x3 = larger(x2, x3)
    x5 = larger(x4, x5)
    x7 = larger(x6, x7)
    x2 = larger(x0, x2)
    x3 = larger(x1, x3)
    x6 = larger(x4, x6)
    x7 = larger(x5, x7)
    return x1, x2, x3, larger(x0, x4), larger(x1, x5), larger(x2, x6), larger(x3, x7)
