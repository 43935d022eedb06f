"""Kernels that move columns within an order, where each column has its best listed parent set.

A kernel sees the families through `Lists`, and an order through `State`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import boolean, float64, int16, int32, int64, types

from skbn._core.compile import inner_kernel, kernel
from skbn._core.random_numbers import random_below
from skbn._core.subsets import popcount

__all__ = [
    "BLOCK",
    "LISTS",
    "STATE",
    "Lists",
    "State",
    "change_family",
    "choose_families",
    "find_dominated",
    "first_fit",
    "has",
    "improve_by_insertions",
    "mark",
    "move",
    "total_score",
]

# Of neighbouring families in a list: their common parents are kept, to skip all of them at once.
BLOCK = 16
_BLOCK, _ONE = np.uint64(BLOCK), np.uint64(1)

Integers = npt.NDArray[np.int64]


class Lists(NamedTuple):
    """The listed families of all columns.

    Parameters
    ----------
    starts : ndarray of shape (m + 1,), int64
        The families of child x are ``starts[x]``, ..., ``starts[x + 1] - 1``, best first, and a
        multiple of `BLOCK`. The last ones have no parents.
    sets : ndarray of shape (n, n_words), int64
        The bits of each family's parents, 64 to a word.
    common : ndarray of shape (n // BLOCK, n_words), int64
        The bits that all families of a block have in common. If one of these parents is not
        available, the whole block is skipped.
    scores : ndarray of shape (n,), float64
    columns : ndarray of shape (m, 64 * n_words), int16
        ``columns[x, b]`` is the column of bit b in the families of x, -1 if there is none.
    bits : ndarray of shape (m, m), int16
        ``bits[x, y]`` is the bit of column y in the families of x, -1 if it is in none.
    bits_in : ndarray of shape (m, m), int16
        The same, transposed: ``bits_in[x, y]`` is the bit of x in the families of y.
    firsts, firsts_in : ndarray of shape (m, m), int32
        ``firsts[x, y]`` is the first family of x that y is in; ``firsts_in`` is its transpose.
    """

    starts: Integers
    sets: Integers
    common: Integers
    scores: npt.NDArray[np.float64]
    columns: npt.NDArray[np.int16]
    bits: npt.NDArray[np.int16]
    bits_in: npt.NDArray[np.int16]
    firsts: npt.NDArray[np.int32]
    firsts_in: npt.NDArray[np.int32]


class State(NamedTuple):
    """An order of the columns, and what follows from it.

    Parameters
    ----------
    order, position : ndarray of shape (m,), int64
        The column at each position, and the position of each column.
    available : ndarray of shape (m, n_words), int64
        The bits of the columns that precede each column.
    chosen : ndarray of shape (m,), int64
        The first family of each column whose parents all precede it.
    is_marked : ndarray of shape (m,), bool
        Whether an insertion of each column must be tried again.
    marked : ndarray of shape (m + 1,), int64
        The number of marked columns, and then these.
    """

    order: Integers
    position: Integers
    available: Integers
    chosen: Integers
    is_marked: npt.NDArray[np.bool_]
    marked: Integers


LISTS = types.NamedTuple(
    (
        int64[::1],
        int64[:, ::1],
        int64[:, ::1],
        float64[::1],
        int16[:, ::1],
        int16[:, ::1],
        int16[:, ::1],
        int32[:, ::1],
        int32[:, ::1],
    ),
    Lists,
)
STATE = types.NamedTuple(
    (int64[::1], int64[::1], int64[:, ::1], int64[::1], boolean[::1], int64[::1]), State
)


# Families


@inner_kernel
def has(sets, row, bit):
    """Return whether a row of bits has this one."""
    return sets[row, bit >> 6] >> (bit & 63) & 1 != 0


@inner_kernel
def _set_bit(sets, row, bit):
    sets[row, bit >> 6] |= np.int64(1) << (bit & 63)


@inner_kernel
def _clear_bit(sets, row, bit):
    sets[row, bit >> 6] &= ~(np.int64(1) << (bit & 63))


@inner_kernel
def _other_words_fit(sets, f, available, x):
    fits = True
    for word in range(1, sets.shape[1]):
        fits &= sets[f, word] & ~available[x, word] == 0
    return fits


@inner_kernel
def first_fit(lists, f, available, x):
    """Return the first family from f on whose parents are all available."""
    sets, common = lists.sets, lists.common
    missing = ~available[x, 0]
    single = sets.shape[1] == 1
    i = np.uint64(f)  # unsigned, so that no index is compared with 0
    while True:
        if common[i // _BLOCK, 0] & missing:
            i = (i // _BLOCK + _ONE) * _BLOCK
        elif sets[i, 0] & missing == 0 and (single or _other_words_fit(sets, i, available, x)):
            return np.int64(i)
        else:
            i += _ONE


@inner_kernel
def _first_fit_with(lists, f, end, available, x, bit):
    """Return the first family from f to `end` that has the bit, and otherwise what is available."""
    if f >= end:
        return end
    sets, common = lists.sets, lists.common
    _set_bit(available, x, bit)
    missing = ~available[x, 0]
    word = np.uint64(bit >> 6)
    chosen = np.int64(1) << (bit & 63)
    single = sets.shape[1] == 1
    i = np.uint64(f)
    last = np.uint64(end)
    while i < last:
        if common[i // _BLOCK, 0] & missing:
            i = (i // _BLOCK + _ONE) * _BLOCK
        elif (
            sets[i, 0] & missing == 0
            and sets[i, word] & chosen
            and (single or _other_words_fit(sets, i, available, x))
        ):
            break
        else:
            i += _ONE
    _clear_bit(available, x, bit)
    return np.int64(min(i, last))


@kernel(int64[:, ::1], boolean[::1], boolean[::1])
def find_dominated(sets, is_new, is_dominated):
    """Find the families that hold all parents of an earlier, and so of a better, family.

    Of two that are not new, neither dominates the other.
    """
    n = sets.shape[0]
    for f in range(n):
        if is_new[f]:
            for g in range(f):
                if not is_dominated[g] and _is_within(sets, g, f):
                    is_dominated[f] = True
                    break
            for g in range(f + 1, n):
                if not is_dominated[f] and not is_new[g] and _is_within(sets, f, g):
                    is_dominated[g] = True


@inner_kernel
def _is_within(sets, g, f):
    if sets[g, 0] & ~sets[f, 0]:
        return False
    is_within = True
    for word in range(1, sets.shape[1]):
        is_within &= sets[g, word] & ~sets[f, word] == 0
    return is_within


@kernel(LISTS, STATE)
def choose_families(lists, state):
    """Set positions, available columns and families to those of the order; return the score."""
    m = state.order.size
    for i in range(m):
        state.position[state.order[i]] = i
    state.available[:] = 0
    for y in range(m):
        for x in range(m):
            bit = lists.bits_in[y, x]
            if bit >= 0 and state.position[y] < state.position[x]:
                _set_bit(state.available, x, bit)
    for x in range(m):
        state.chosen[x] = first_fit(lists, lists.starts[x], state.available, x)
    return total_score(lists, state)


@inner_kernel
def total_score(lists, state):
    """Return the sum of the scores of the chosen families."""
    total = 0.0
    for x in range(state.chosen.size):
        total += lists.scores[state.chosen[x]]
    return total


# Moves


@inner_kernel
def _best_forward(lists, state, first, x, best, trial):
    """Return the largest gain of moving x towards the front, if above `best`, and where to.

    There x can only lose parents, and the columns that it passes can only gain x as a parent: by
    `hope` at most, by the first of their families that x is in.
    """
    where = state.position[x]
    hope = 0.0
    for k in range(first, where):
        y = state.order[k]
        if lists.bits_in[x, y] >= 0 and lists.firsts_in[x, y] < state.chosen[y]:
            hope += lists.scores[lists.firsts_in[x, y]] - lists.scores[state.chosen[y]]
    trial[0] = state.available[x]
    family = state.chosen[x]
    gain = 0.0
    for k in range(where - 1, first - 1, -1):
        if gain + hope <= best:
            break
        y = state.order[k]
        bit = lists.bits[x, y]
        if bit >= 0:
            _clear_bit(trial, 0, bit)
            if has(lists.sets, family, bit):
                found = first_fit(lists, family, trial, 0)
                gain += lists.scores[found] - lists.scores[family]
                family = found
        bit = lists.bits_in[x, y]
        old = state.chosen[y]
        if bit >= 0 and lists.firsts_in[x, y] < old:
            hope -= lists.scores[lists.firsts_in[x, y]] - lists.scores[old]
            found = _first_fit_with(lists, lists.firsts_in[x, y], old, state.available, y, bit)
            gain += lists.scores[found] - lists.scores[old]
        if gain > best:
            best = gain
            where = k
    return best, where


@inner_kernel
def _best_backward(lists, state, x, best, trial):
    """Return the largest gain of moving x towards the end, if above `best`, and where to.

    There x can only gain parents, up to its best family, and what it passes can only lose x.
    """
    where = state.position[x]
    trial[0] = state.available[x]
    family = state.chosen[x]
    gain = 0.0
    for k in range(where + 1, state.order.size):
        if gain + lists.scores[lists.starts[x]] - lists.scores[family] <= best:
            break
        y = state.order[k]
        bit = lists.bits[x, y]
        if bit >= 0:
            found = _first_fit_with(lists, lists.firsts[x, y], family, trial, 0, bit)
            _set_bit(trial, 0, bit)
            gain += lists.scores[found] - lists.scores[family]
            family = found
        bit = lists.bits_in[x, y]
        old = state.chosen[y]
        if bit >= 0 and has(lists.sets, old, bit):
            _clear_bit(state.available, y, bit)
            found = first_fit(lists, old, state.available, y)
            _set_bit(state.available, y, bit)
            gain += lists.scores[found] - lists.scores[old]
        if gain > best:
            best = gain
            where = k
    return best, where


@inner_kernel
def mark(state, x):
    """Mark a column."""
    if not state.is_marked[x]:
        state.is_marked[x] = True
        state.marked[0] += 1
        state.marked[state.marked[0]] = x


@inner_kernel
def change_family(lists, state, x, family):
    """Give x another family; mark it, and its parents in both."""
    old = state.chosen[x]
    if family == old:
        return
    state.chosen[x] = family
    mark(state, x)
    for word in range(lists.sets.shape[1]):
        left = lists.sets[old, word] | lists.sets[family, word]
        while left:
            low = left & -left
            mark(state, lists.columns[x, 64 * word + popcount(low - 1)])
            left ^= low


@inner_kernel
def move(lists, state, x, target):
    """Move x to a position; mark it, and where families change."""
    back = target > state.position[x]
    step = 1 if back else -1
    k = state.position[x]
    while k != target:
        y = state.order[k + step]
        state.order[k] = y
        state.position[y] = k
        k += step
        bit = lists.bits[x, y]
        if bit >= 0:
            if back:
                _set_bit(state.available, x, bit)
            else:
                _clear_bit(state.available, x, bit)
        bit = lists.bits_in[x, y]
        if bit >= 0:
            old = state.chosen[y]
            if back:
                _clear_bit(state.available, y, bit)
                found = first_fit(lists, old, state.available, y)
            else:
                found = _first_fit_with(lists, lists.firsts_in[x, y], old, state.available, y, bit)
                _set_bit(state.available, y, bit)
            change_family(lists, state, y, found)
    state.order[target] = x
    state.position[x] = target
    mark(state, x)
    family = first_fit(lists, lists.starts[x], state.available, x)
    change_family(lists, state, x, family)


@inner_kernel
def improve_by_insertions(lists, state, first, least, trial, most, random, i):
    """Move marked columns, one at a time, while one gains more than `least`; unmark them.

    Rounding may make a loss look like a gain, and moves mark columns again: `most` ends that.

    Parameters
    ----------
    first : int
        The columns before this position stay.
    trial : ndarray of shape (1, n_words), int64
        Scratch.
    most : int
        The largest number of columns to try.
    random, i
        Generator i of `random` draws which marked column is next.

    Returns
    -------
    n_left : int
        How many more could have been tried; with 0, columns may still be marked.
    """
    while state.marked[0] > 0 and most > 0:
        most -= 1
        j = 1 + random_below(random, i, state.marked[0])
        x = state.marked[j]
        state.marked[j] = state.marked[state.marked[0]]
        state.marked[0] -= 1
        state.is_marked[x] = False
        if state.position[x] >= first:
            gain, target = _best_forward(lists, state, first, x, least, trial)
            more, later = _best_backward(lists, state, x, gain, trial)
            if more > gain:
                move(lists, state, x, later)
            elif gain > least:
                move(lists, state, x, target)
    return most
