"""The best-sink recursion over the sets of one slab.

``F[W] = max over x in W of F[W - x] + B_x[W - x]``, where B_x[C] is the best
local score of x with parents in C, and F[W] the best network on the columns W.
A block is the sets that share all but their lowest bits. It draws on blocks with
fewer high bits only, so that all blocks with equally many may run at once.
"""

from __future__ import annotations

from skbn._compile import kernel
from skbn._search._larger import larger
from skbn._search._zeta import max_zeta
from skbn._subsets import remove_bit

__all__ = ["extend_blocks"]


@kernel
def extend_blocks(best, slab, starts, m, n_inner, fixed, low_bits, blocks):
    """Finish `best` on some blocks of a slab, and hand them on to later slabs.

    Parameters
    ----------
    best : ndarray of shape (2**m,), float64
        F; all that the blocks draw on must be finished.
    slab : ndarray, float64
        The children's tables one after the other, as `fill_family_maxima` leaves
        them; each block of them is transformed where it is used, once.
    starts : ndarray of shape (m,), int64
        Where each child's table starts in `slab`.
    m, n_inner : int
        The number of columns, and of the inner ones.
    fixed : int
        Mask of the outer columns that are in the slab's sets.
    low_bits : int
        A block has 2**low_bits sets.
    blocks : ndarray of int64
        The high bits of each block.
    """
    length = 1 << low_bits
    for block in blocks:
        first = fixed << n_inner | block << low_bits
        target = best[first : first + length]
        for sink in range(low_bits, n_inner):
            if block >> (sink - low_bits) & 1:
                rest = block ^ 1 << (sink - low_bits)
                start = starts[sink] + remove_bit(rest << low_bits, sink)
                maxima = slab[start : start + length]
                max_zeta(maxima, 0, low_bits)
                source = first ^ 1 << sink
                _add_sink(target, best[source : source + length], maxima)
        for sink in range(low_bits):
            start = starts[sink] + (block << (low_bits - 1))
            max_zeta(slab[start : start + length // 2], 0, low_bits - 1)
        _extend_within(target, slab, starts, block << low_bits, low_bits)
        for sink in range(n_inner, m):
            if not fixed >> (sink - n_inner) & 1:
                start = starts[sink] + (block << low_bits)
                maxima = slab[start : start + length]
                max_zeta(maxima, 0, low_bits)
                end = first | 1 << sink
                _add_sink(best[end : end + length], target, maxima)


@kernel
def _add_sink(target, source, maxima):
    for i in range(target.size):
        target[i] = larger(target[i], source[i] + maxima[i])


@kernel
def _extend_within(target, slab, starts, offset, low_bits):
    """Recurse over the low bits: a finished lower half is handed to the upper half.

    After set j the lower half that ends there is finished, and no other.
    """
    for j in range(target.size - 1):
        sink = 0
        while (j + 1) >> sink & 1 == 0:
            sink += 1
        half = 1 << sink
        low = j + 1 - half
        start = starts[sink] + remove_bit(offset + low, sink)
        _add_sink(
            target[low + half : low + 2 * half],
            target[low : low + half],
            slab[start : start + half],
        )
