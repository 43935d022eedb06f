"""Sets of columns as bit masks: bit v of a mask stands for column v."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
from numba import types
from numba.extending import intrinsic

from skbn._core.compile import inner_kernel

__all__ = [
    "bit_length",
    "bits_of",
    "insert_zero_bit",
    "mask_of",
    "members_of",
    "popcount",
    "remove_bit",
    "submasks_by_size",
    "subsets_of",
]


def mask_of(members: Iterable[int]) -> int:
    """Return the mask of a set of column indices.

    Examples
    --------
    >>> mask_of([0, 3])
    9
    """
    mask = 0
    for member in members:
        mask |= 1 << int(member)
    return mask


def members_of(mask: int) -> list[int]:
    """Return the column indices of a mask, ascending.

    Examples
    --------
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


def bits_of(masks: Sequence[int], m: int) -> npt.NDArray[np.bool_]:
    """Return the bits of masks of m columns, a row each.

    Examples
    --------
    >>> bits_of([5], 4).tolist()
    [[True, False, True, False]]
    """
    width = (m + 7) // 8
    data = b"".join(mask.to_bytes(width, "little") for mask in masks)
    bits = np.unpackbits(np.frombuffer(data, dtype=np.uint8), bitorder="little")
    return bits.reshape(-1, 8 * width)[:, :m].astype(bool)


def subsets_of(mask: int) -> list[int]:
    """Return all subsets of a mask, the largest number first.

    Examples
    --------
    >>> subsets_of(9)
    [9, 8, 1, 0]
    """
    subsets = [mask]
    while subsets[-1]:
        subsets.append((subsets[-1] - 1) & mask)
    return subsets


def submasks_by_size(n_bits: int) -> list[npt.NDArray[np.int64]]:
    """Return all masks of `n_bits` bits, grouped by their number of members.

    Examples
    --------
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


@inner_kernel
def popcount(mask):
    """Return the number of members of a mask."""
    return _count_ones(mask)


@intrinsic
def _count_ones(typing_context, mask):
    """Count by the processor's own instruction, where it has one."""

    def codegen(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return types.int64(types.int64), codegen


@inner_kernel
def insert_zero_bit(index, bit):
    """Turn an index over the masks without `bit` into such a mask.

    The inverse of `remove_bit`: the higher bits move up by one.
    """
    return ((index >> bit) << (bit + 1)) | (index & ((1 << bit) - 1))


@inner_kernel
def remove_bit(mask, bit):
    """Return the number of a mask among those that lack `bit`: the higher bits move down."""
    return ((mask >> (bit + 1)) << bit) | (mask & ((1 << bit) - 1))
