"""Kernels that move one column within an order, where each column has its best listed family.

A kernel sees the families through `ListArrays`, and an order through `State`.
"""

from typing import NamedTuple

import numpy as np

from skbn._core.arrays import B1, I1, I2, Integers
from skbn._core.compile import inner_kernel, kernel, pasted_kernel, tuple_type, zeros
from skbn._core.subsets import popcount
from skbn._orders.list_kernels import LISTS, ListArrays, first_fit, has


class State(NamedTuple):
    """An order of the columns, and what follows from it."""

    order: I1  # (m,): the column at each position, and the position of each column
    position: I1  # (m,)
    # (m + 1, n_words): the bits of the columns that precede each column. The last row is scratch
    available: I2
    chosen: I1  # (m,): the first family of each column whose parents all precede it
    is_marked: B1  # (m,): whether an insertion of each column must be tried again
    marked: I1  # (m + 1,): the number of marked columns, and then these


class OrderLimits(NamedTuple):
    """What changes of an order must respect."""

    first: int  # the columns before this position stay there. They have families without parents.
    least: float  # smaller gains are rounding


STATE = tuple_type(State)
LIMITS = tuple_type(OrderLimits)


def state_of(order: Integers, lists: ListArrays) -> State:
    """Return the state of an order; `choose_families` sets all but the order."""
    m, n_words = len(order), lists.sets.shape[1]
    state: State = zeros(State, m, m, (m + 1, n_words), m, m, m + 1)
    state.order[:] = order
    return state


@inner_kernel
def set_available(available, x, bit, is_available):
    """Set one bit of the columns that are available to x."""
    chosen = np.int64(1) << (bit & 63)
    if is_available:
        available[x, bit >> 6] |= chosen
    else:
        available[x, bit >> 6] &= ~chosen


@kernel(LISTS, STATE)
def choose_families(lists, state):
    """Set positions, available columns and families to those of the order; return the score."""
    m = state.order.size
    for i in range(m):
        state.position[state.order[i]] = i
    for x in range(m):
        for word in range(state.available.shape[1]):
            state.available[x, word] = 0
    for y in range(m):
        for x in range(m):
            bit = np.int64(lists.bits_in[y, x])
            if bit >= 0 and state.position[y] < state.position[x]:
                set_available(state.available, x, bit, True)
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


@inner_kernel
def _chosen_with(lists, f, old, available, x, bit):
    """Return the family that x chooses if one more column, this bit, precedes it.

    `old` is its family without that column. A better one has the column as a parent, since all
    others that fit would have been chosen before; f is the first family that has it.
    """
    if f >= old:
        return old
    set_available(available, x, bit, True)
    family = first_fit(lists, f, available, x)
    set_available(available, x, bit, False)
    return family


@pasted_kernel
def best_forward(lists, state, first, x, best):
    """Return the largest gain of moving x towards the front, if above `best`, and where to.

    There x can only lose parents, and the columns that it passes can only gain x as a parent: by
    `hope` at most, by the first of their families that x is in.
    """
    scratch = state.position.size
    where = state.position[x]
    hope = 0.0
    for k in range(first, where):
        y = state.order[k]
        if lists.bits_in[x, y] >= 0 and lists.firsts_in[x, y] < state.chosen[y]:
            hope += lists.scores[lists.firsts_in[x, y]] - lists.scores[state.chosen[y]]
    for word in range(state.available.shape[1]):
        state.available[scratch, word] = state.available[x, word]
    family = state.chosen[x]
    gain = 0.0
    for k in range(where - 1, first - 1, -1):
        if gain + hope <= best:
            break
        y = state.order[k]
        bit = np.int64(lists.bits[x, y])
        if bit >= 0:
            set_available(state.available, scratch, bit, False)
            if has(lists.sets, family, bit):
                found = first_fit(lists, family, state.available, scratch)
                gain += lists.scores[found] - lists.scores[family]
                family = found
        bit = np.int64(lists.bits_in[x, y])
        old = state.chosen[y]
        if bit >= 0 and lists.firsts_in[x, y] < old:
            with_x = np.int64(lists.firsts_in[x, y])
            hope -= lists.scores[with_x] - lists.scores[old]
            found = _chosen_with(lists, with_x, old, state.available, y, bit)
            gain += lists.scores[found] - lists.scores[old]
        if gain > best:
            best = gain
            where = k
    return best, where


@pasted_kernel
def best_backward(lists, state, x, best, where):
    """Return where moving x towards the end gains most, if that is above `best`, or else `where`.

    There x can only gain parents, up to its best family, and what it passes can only lose x.
    """
    scratch = state.position.size
    for word in range(state.available.shape[1]):
        state.available[scratch, word] = state.available[x, word]
    family = state.chosen[x]
    gain = 0.0
    for k in range(state.position[x] + 1, state.order.size):
        if gain + lists.scores[lists.starts[x]] - lists.scores[family] <= best:
            break
        y = state.order[k]
        bit = np.int64(lists.bits[x, y])
        if bit >= 0:
            with_y = np.int64(lists.firsts[x, y])
            found = _chosen_with(lists, with_y, family, state.available, scratch, bit)
            set_available(state.available, scratch, bit, True)
            gain += lists.scores[found] - lists.scores[family]
            family = found
        bit = np.int64(lists.bits_in[x, y])
        old = state.chosen[y]
        if bit >= 0 and has(lists.sets, old, bit):
            set_available(state.available, y, bit, False)
            found = first_fit(lists, old, state.available, y)
            set_available(state.available, y, bit, True)
            gain += lists.scores[found] - lists.scores[old]
        if gain > best:
            best = gain
            where = k
    return where


@inner_kernel
def _mark(state, x):
    """Mark a column."""
    if not state.is_marked[x]:
        state.is_marked[x] = True
        state.marked[0] += 1
        state.marked[state.marked[0]] = x


@inner_kernel
def _change_family(lists, state, x, family):
    """Give x another family; mark it, and its parents in both."""
    old = state.chosen[x]
    if family == old:
        return
    state.chosen[x] = family
    _mark(state, x)
    for word in range(lists.sets.shape[1]):
        left = lists.sets[old, word] | lists.sets[family, word]
        while left:
            low = left & -left
            _mark(state, np.int64(lists.columns[x, 64 * word + popcount(low - 1)]))
            left ^= low


@pasted_kernel
def move(lists, state, x, target):
    """Move x to a position; mark it, and where families change."""
    is_back = target > state.position[x]
    step = 1 if is_back else -1
    k = state.position[x]
    while k != target:
        y = state.order[k + step]
        state.order[k] = y
        state.position[y] = k
        k += step
        bit = np.int64(lists.bits[x, y])
        if bit >= 0:
            set_available(state.available, x, bit, is_back)
        bit = np.int64(lists.bits_in[x, y])
        if bit >= 0:
            # Without x the family of y can only be a later one, and with x an earlier one.
            f = state.chosen[y]
            if not is_back:
                f = min(f, np.int64(lists.firsts_in[x, y]))
            set_available(state.available, y, bit, not is_back)
            _change_family(lists, state, y, first_fit(lists, f, state.available, y))
    state.order[target] = x
    state.position[x] = target
    _mark(state, x)
    family = first_fit(lists, lists.starts[x], state.available, x)
    _change_family(lists, state, x, family)
