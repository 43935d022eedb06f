"""Sets of columns: as bit masks, few out of many by number, and transforms over all of them.

In a mask, bit v stands for column v. `SmallSubsets` numbers the sets of few out of many columns,
which are too many for an array over all masks: smaller ones come first. The sets of s columns
c_1 < ... < c_s are numbered among themselves by the sum of the binomials C(c_i, i), from 0 on
without gaps: the order in which the largest columns are compared first (Knuth, The Art of Computer
Programming, 7.2.1.3).

The zeta transform joins what holds for a set over all of its subsets. Over bit b it is
``t[i | 2**b] = join(t[i], t[i | 2**b])``; over all bits every entry becomes the join of the entries
of all subsets of its index: their maximum, or their sum. The bits may be taken in any order. Three
are taken at a time, and the lowest five at once, because loading and storing numbers takes longer
than joining them. The join is an argument that is known when a kernel is compiled, and costs
nothing when it runs.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import float64, int64, types
from numba.extending import intrinsic, register_jitable

from skbn._core.arrays import Booleans, Integers, ShortIntegers
from skbn._core.compile import compile_kernels, inner_kernel, kernel, pasted_kernel
from skbn._core.vectors import larger, load, store, without_bit_0, without_bit_1


def mask_of(members: Iterable[int]) -> int:
    """Return the mask of a set of column indices.

    >>> mask_of([0, 3])
    9
    """
    mask = 0
    for member in members:
        mask |= 1 << int(member)
    return mask


def bits_of_rows(rows: ShortIntegers, m: int) -> npt.NDArray[np.uint64]:
    """Return sets, whose rows end with -1 if they are smaller, with a bit for each of m columns."""
    sets = np.zeros((len(rows), -(-m // 64)), dtype=np.uint64)
    for column in rows.T:
        has = np.flatnonzero(column >= 0)
        word, bit = np.divmod(column[has].astype(np.int64), 64)
        sets[has, word] |= np.uint64(1) << bit.astype(np.uint64)
    return sets


def members_of(mask: int) -> list[int]:
    """Return the column indices of a mask, ascending.

    >>> members_of(9)
    [0, 3]
    """
    mask = int(mask)
    members = []
    while mask:
        lowest = mask & -mask
        members.append(lowest.bit_length() - 1)
        mask ^= lowest
    return members


def renumbered(masks: Iterable[int], numbers: Sequence[int] | Mapping[int, int]) -> list[int]:
    """Return masks of the same columns by other numbers.

    >>> renumbered([9, 2], [1, 2, 3, 0])
    [3, 4]
    """
    found = []
    for left in masks:
        mask = 0
        while left:
            lowest = left & -left
            mask |= 1 << numbers[lowest.bit_length() - 1]
            left ^= lowest
        found.append(mask)
    return found


def bits_of(masks: Sequence[int], m: int) -> Booleans:
    """Return the bits of masks of m columns as booleans, one row for each mask.

    >>> bits_of([5], 4).tolist()
    [[True, False, True, False]]
    """
    width = (m + 7) // 8
    data = b"".join(mask.to_bytes(width, "little") for mask in masks)
    bits = np.unpackbits(np.frombuffer(data, dtype=np.uint8), bitorder="little")
    return np.ascontiguousarray(bits.reshape(-1, 8 * width)[:, :m]).view(bool)


def parents_of_masks(masks: npt.NDArray[Any]) -> Booleans:
    """Return at [i, x, z] whether z is in the mask of x, for masks of m columns by network.

    `masks`: (n, m)

    Returns `is_parent`: (n, m, m).
    """
    n, m = masks.shape
    return bits_of(masks.ravel().tolist(), m).reshape(n, m, m)


def subsets_of(mask: int) -> list[int]:
    """Return all subsets of a mask, the largest number first.

    >>> subsets_of(9)
    [9, 8, 1, 0]
    """
    subsets = [mask]
    while subsets[-1]:
        subsets.append((subsets[-1] - 1) & mask)
    return subsets


def submasks_by_size(n_bits: int) -> list[Integers]:
    """Return all masks of `n_bits` bits, grouped by their number of members.

    >>> [group.tolist() for group in submasks_by_size(2)]
    [[0], [1, 2], [3]]
    """
    masks = np.arange(1 << n_bits, dtype=np.int64)
    sizes = np.bitwise_count(masks)
    return [masks[sizes == size] for size in range(n_bits + 1)]


@inner_kernel
def bit_length(mask):
    """Return the number of bits up to the highest one that is set."""
    length = 0
    while mask >> length:
        length += 1
    return length


@intrinsic
def popcount(typing_context, mask):
    """Return the number of members of a mask, by the processor's own instruction if it has one."""

    def codegen(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return types.int64(types.int64), codegen


@inner_kernel
def insert_zero_bit(index, bit):
    """Return the mask without `bit` that has this index: the inverse of `remove_bit`."""
    return ((index >> bit) << (bit + 1)) | (index & ((1 << bit) - 1))


@inner_kernel
def remove_bit(mask, bit):
    """Return the index of a mask among the masks without `bit`: the higher bits move down."""
    return ((mask >> (bit + 1)) << bit) | (mask & ((1 << bit) - 1))


@inner_kernel
def least_over_subsets(costs, end):
    """Lower the cost of each mask below a power of two to the least of its subsets, in place."""
    # Unsigned indices are not tested for being negative, so that the innermost loop vectorises.
    size = np.uint64(1)
    while size < end:
        start = np.uint64(0)
        while start < end:
            for s in range(start, start + size):
                costs[s + size] = min(costs[s + size], costs[s])
            start += size + size
        size += size


def n_small_subsets(n: int, most: int) -> int:
    """Return how many sets of at most `most` out of n columns there are."""
    return sum(comb(n, size) for size in range(most + 1))


class SmallSubsets:
    """The sets of at most `most` out of n columns, numbered.

    >>> pairs = SmallSubsets(4, 2)
    >>> pairs.n_sets, pairs.index([0, 3]), pairs.members(8)
    (11, 8, [0, 3])
    """

    def __init__(self, n: int, most: int) -> None:
        self.n = n
        self.most = min(most, n)

    @property
    def n_sets(self) -> int:
        """How many sets there are."""
        return n_small_subsets(self.n, self.most)

    @cached_property
    def binomials(self) -> Integers:
        """``binomials[c, i]`` is C(c, i), shape (n + 1, most + 1)."""
        table = [[comb(c, i) for i in range(self.most + 1)] for c in range(self.n + 1)]
        return np.array(table, dtype=np.int64)

    @cached_property
    def starts(self) -> Integers:
        """The number of the first set of each size, and how many there are in all."""
        return np.cumsum([0, *self.binomials[self.n]])

    def index(self, members: Sequence[int]) -> int:
        """Return the number of a set."""
        number = sum(comb(c, i) for i, c in enumerate(sorted(members), start=1))
        return int(self.starts[len(members)]) + number

    def members(self, index: int) -> list[int]:
        """Return the columns of a set, ascending."""
        size = int(np.searchsorted(self.starts, index, side="right")) - 1
        rest = index - self.starts[size]
        members = []
        for i in range(size, 0, -1):
            column = int(np.searchsorted(self.binomials[:, i], rest, side="right")) - 1
            rest -= self.binomials[column, i]
            members.append(column)
        return members[::-1]


@inner_kernel
def binomial(n, size):
    """Return the number of sets of this size among n columns."""
    number = 1
    for i in range(size):
        number = number * (n - i) // (i + 1)
    return number


@inner_kernel
def rank(members, size, binomials):
    """Return the number of a set among those of its size; its members ascend."""
    number = 0
    for i in range(size):
        number += binomials[members[i], i + 1]
    return number


@kernel(int64[::1], int64)
def advance(members, size):
    """Turn a set of this size into the next one, in place."""
    i = 0
    while i + 1 < size and members[i] + 1 == members[i + 1]:
        members[i] = i
        i += 1
    members[i] += 1


# Tables of 16 KiB and 2 MiB stay in the first-level and last-level cache between passes: all passes
# over one such piece are made before the next piece is loaded.
_FIRST_CACHE_BITS = 11
_LAST_CACHE_BITS = 18
# NumPy is as fast with few bits, and need not be compiled.
_FEW_BITS = 9


@kernel(float64[::1], int64, int64, seconds=1.0)
def max_zeta(table, first_bit, last_bit):
    """Turn the entries of `table` into maxima over subsets, in place.

    `first_bit`, `last_bit`: the bits are `first_bit`, ..., `last_bit - 1`. Kernels pass
        ``np.int64(0)``, since for a literal 0 numba would compile all this again.
    """
    zeta_transform(table, first_bit, last_bit, larger, max_within_vector, None)


def max_over_subsets(table: npt.NDArray[np.float64], n_bits: int) -> None:
    """Turn a table's entries, or those of its rows, into maxima over subsets of all their bits."""
    if n_bits > _FEW_BITS:
        compile_kernels([max_zeta])
        max_zeta(table, 0, n_bits)
        return
    for bit in range(n_bits):
        halves = table.reshape(-1, 2, 1 << bit)
        np.maximum(halves[:, 1], halves[:, 0], out=halves[:, 1])


# This is no kernel: numba does not cache a kernel that takes other kernels as arguments.
@register_jitable
def max_within_vector(x, wide):
    """Return the maxima over subsets of two bits, of which the four entries are the subsets."""
    x = larger(x, without_bit_0(x, x), wide)
    return larger(x, without_bit_1(x, x), wide)


@inner_kernel
def zeta_transform(table, first_bit, last_bit, join, join_within_vector, wide):
    """Transform `table` in place over the bits `first_bit`, ..., `last_bit - 1`.

    `join`: associative and commutative
    `join_within_vector`: transforms the four entries of one vector over their two bits. A maximum
        may join an entry with itself, which takes fewer instructions; a sum may not.
    `wide`: the format of extended floats, for joins that need it
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


@pasted_kernel
def _transform_over_one_bit(table, start, end, step, join, wide):
    """Transform over the bit of `step`, entry by entry where it is one of a vector's two bits."""
    for first in range(start, end, 2 * step):
        if step < 4:
            for i in range(first, first + step):
                table[i + step] = join(table[i], table[i + step], wide)
        else:
            for i in range(first, first + step, 4):
                store(table, i + step, join(load(table, i), load(table, i + step), wide))


@pasted_kernel
def _transform_over_three_bits(table, start, end, step, join, wide):
    """Transform over the bit of `step`, at least 4, and the next two: eight rows of vectors."""
    for first in range(start, end, 8 * step):
        for i in range(first, first + step, 4):
            low, high = _load_four(table, i, step), _load_four(table, i + 4 * step, step)
            low, high = _join_eight(low, high, join, wide)
            _store_four(table, i, step, low)
            _store_four(table, i + 4 * step, step, high)


@pasted_kernel
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
