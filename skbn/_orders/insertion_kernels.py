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
def flip(available, x, bit):
    """Add one bit to the columns that are available to x, or take it away."""
    available[x, bit >> 6] ^= np.int64(1) << (bit & 63)


@kernel(LISTS, STATE)
def choose_families(lists, state):
    """Set positions, available columns and families to those of the order."""
    position, available = state.position, state.available
    for k in range(position.size):
        position[state.order[k]] = k
    for x in range(position.size):
        for word in range(available.shape[1]):
            available[x, word] = 0
        for y in range(position.size):
            bit = np.int64(lists.bits[x, y])
            if bit >= 0 and position[y] < position[x]:
                flip(available, x, bit)
        state.chosen[x] = first_fit(lists, lists.starts[x], available, x)


@pasted_kernel
def walk(lists, state, first, x, step, end, best, is_final):
    """Walk x past others to the front (with step -1) or the end (1), up to position `end`.

    To the front, x can only lose parents, and the columns that it passes can only gain x as a
    parent: by `hope` at most, by the first of their families that x is in. To the end, x can only
    gain parents, up to its best family, and what it passes can only lose x.

    `best`: the gain to surpass
    `is_final`: whether x moves there. Otherwise it stays, and the walk ends where no position gains
        more.

    Returns `best`; `target`: the position that gains this much; where x is, if none gains more.
    """
    order, position, available, scores = state.order, state.position, state.available, lists.scores
    bits, firsts, sets, is_forward = lists.bits[x], lists.firsts[x], lists.sets, step < 0
    family, target, hope, gain = state.chosen[x], position[x], 0.0, 0.0
    top, k, row = scores[lists.starts[x]], target, np.int64(x)
    if not is_final:
        row = position.size
        hope = _begin_look(lists, state, first, x, row)
    while k != end:
        bound = gain + hope if is_forward else gain + top - scores[family]
        if not is_final and bound <= best:
            break
        y = order[k + step]
        if is_final:
            order[k], position[y] = y, k
        k += step
        bit = np.int64(bits[y])
        if bit >= 0:
            flip(available, row, bit)
            f = family if is_forward else np.int64(firsts[y])
            if has(sets, family, bit) if is_forward else f < family:
                found = first_fit(lists, f, available, row)
                gain += scores[found] - scores[family]
                family = found
        lost, gained = _pass(lists, state, x, y, is_forward, is_final)
        hope -= lost
        gain += gained
        if gain > best:
            best, target = gain, k
    if is_final:
        order[k], position[x] = x, k
        _mark(state, x)
        _change_family(lists, state, x, family)
    return best, target


@pasted_kernel
def _begin_look(lists, state, first, x, row):
    """Copy to a row what is available to x; return what the columns before x gain by x at most."""
    bits_in, firsts_in, chosen, hope = lists.bits_in[x], lists.firsts_in[x], state.chosen, 0.0
    for word in range(state.available.shape[1]):
        state.available[row, word] = state.available[x, word]
    for k in range(first, state.position[x]):
        y = state.order[k]
        if bits_in[y] >= 0 and firsts_in[y] < chosen[y]:
            hope += lists.scores[firsts_in[y]] - lists.scores[chosen[y]]
    return hope


@pasted_kernel
def _pass(lists, state, x, y, is_forward, is_final):
    """Let x pass y; return what y hoped to gain, and what it gains. If it is final, y changes.

    Without x the family of y can only be a later one, and with x an earlier one: a better one has
    x as a parent, since all others that fit would have been chosen before.
    """
    bit, old, hoped, gained = np.int64(lists.bits_in[x, y]), state.chosen[y], 0.0, 0.0
    if bit >= 0:
        f = np.int64(lists.firsts_in[x, y]) if is_forward else old
        is_change = f < old if is_forward else has(lists.sets, old, bit)
        if is_change or is_final:
            flip(state.available, y, bit)
        if is_change:
            found, score = first_fit(lists, f, state.available, y), lists.scores[old]
            hoped, gained = lists.scores[f] - score, lists.scores[found] - score
            if is_final:
                _change_family(lists, state, y, found)
            else:
                flip(state.available, y, bit)
    return hoped, gained


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
