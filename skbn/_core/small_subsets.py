"""Sets of few out of many columns, numbered: smaller sets first, then by their last columns.

The sets of s columns c_1 < ... < c_s are numbered by the sum of the binomials
C(c_i, i), from 0 on without gaps: the order in which the largest columns are
compared first (Knuth, The Art of Computer Programming, 7.2.1.3).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import comb

import numpy as np
import numpy.typing as npt

from skbn._core.compile import inner_kernel

__all__ = ["SmallSubsets", "advance", "rank"]


class SmallSubsets:
    """The sets of at most `most` out of n columns.

    Parameters
    ----------
    n : int
    most : int

    Examples
    --------
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
        return sum(comb(self.n, size) for size in range(self.most + 1))

    @cached_property
    def binomials(self) -> npt.NDArray[np.int64]:
        """``binomials[c, i]`` is C(c, i), shape (n + 1, most + 1)."""
        table = [[comb(c, i) for i in range(self.most + 1)] for c in range(self.n + 1)]
        return np.array(table, dtype=np.int64)

    @cached_property
    def starts(self) -> npt.NDArray[np.int64]:
        """The number of the first set of each size, and how many there are in all."""
        return np.cumsum([0, *self.binomials[self.n]])

    def index(self, members: Sequence[int]) -> int:
        """Return the number of a set."""
        within = sum(comb(c, i) for i, c in enumerate(sorted(members), start=1))
        return int(self.starts[len(members)]) + within

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
def rank(members, size, binomials):
    """Return the number of a set among those of its size; its members ascend."""
    number = 0
    for i in range(size):
        number += binomials[members[i], i + 1]
    return number


@inner_kernel
def advance(members, size):
    """Turn a set of this size into the next one, in place."""
    i = 0
    while i + 1 < size and members[i] + 1 == members[i + 1]:
        members[i] = i
        i += 1
    members[i] += 1
