"""Kernels that look up families in lists, in which each column has its families best first."""

from typing import NamedTuple

import numpy as np
from numba import boolean, int64

from skbn._core.arrays import F1, I1, I2, J2, S2, ZERO
from skbn._core.compile import inner_kernel, kernel, pasted_kernel, tuple_type

# Families in a block, which is skipped as a whole if it has common parents that are not available.
BLOCK = 16
_BLOCK, _ONE = np.uint64(BLOCK), np.uint64(1)


class ListArrays(NamedTuple):
    """The listed families of all columns."""

    # (m + 1,): the families of child x are ``starts[x]``, ..., ``starts[x + 1] - 1``, best first,
    # and a multiple of `BLOCK`. The last ones have no parents
    starts: I1
    sets: I2  # (n, n_words): the bits of each family's parents, 64 to a word
    common: I2  # (n // BLOCK, n_words): the bits that all families of a block have in common
    scores: F1  # (n,)
    # (m, 64 * n_words): ``columns[x, b]`` is the column of bit b in the families of x, -1 if there
    # is none
    columns: S2
    # (m, m): ``bits[x, y]`` is the bit of column y in the families of x, -1 if it is in none
    bits: S2
    # (m, m): the same, transposed: ``bits_in[x, y]`` is the bit of x in the families of y
    bits_in: S2
    # (m, m): ``firsts[x, y]`` is the first family of x that y is in; ``firsts_in`` is its transpose
    firsts: J2
    firsts_in: J2  # (m, m)


LISTS = tuple_type(ListArrays)


@inner_kernel
def has(sets, row, bit):
    """Return whether a row of bits has this one."""
    return sets[row, bit >> 6] >> (bit & 63) & 1 != 0


@inner_kernel
def first_fit(lists, f, available, x):
    """Return the first family from f on whose parents are all available to x."""
    sets, common = lists.sets, lists.common
    missing = ~available[x, 0]
    n_words = sets.shape[1]
    # Numba lets an index count from the end, and tests its sign for that, unless it is unsigned.
    i = np.uint64(f)
    while True:
        if common[i // _BLOCK, 0] & missing:
            i = (i // _BLOCK + _ONE) * _BLOCK
            continue
        if sets[i, 0] & missing == 0:
            # The first word rules out nearly all families, so that the others are rarely read.
            lacking = ZERO
            for word in range(1, n_words):
                lacking |= sets[i, word] & ~available[x, word]
            if lacking == 0:
                return np.int64(i)
        i += _ONE


@kernel(int64[:, ::1], boolean[::1], boolean[::1])
def find_dominated(sets, is_new, is_dominated):
    """Find the families that hold all parents of an earlier, and so of a better, family.

    Two families that are not new are taken not to dominate each other.
    """
    n = sets.shape[0]
    for f in range(n):
        for g in range(n if is_new[f] else 0):
            lower, upper = g if g < f else f, f if g < f else g
            if (g < f or (g > f and not is_new[g])) and _is_within(sets, lower, upper):
                is_dominated[upper] = True
                if g < f:
                    break


@pasted_kernel
def _is_within(sets, g, f):
    """Return whether a family holds all parents of another one, g."""
    is_within = sets[g, 0] & ~sets[f, 0] == 0
    for word in range(1, sets.shape[1] if is_within else 1):
        is_within &= sets[g, word] & ~sets[f, word] == 0
    return is_within
