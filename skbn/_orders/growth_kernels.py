"""Kernels that grow and shrink a column's parents, over all columns that may precede it."""

from typing import NamedTuple

import numpy as np
from numba import float64, int64
from numba.types import Tuple

from skbn._core.addresses import by_address
from skbn._core.arrays import F1, I1, I2, NONE, S2, ZERO
from skbn._core.compile import inner_kernel, kernel, pasted_kernel, tuple_type
from skbn._orders.insertion_kernels import STATE, flip
from skbn._orders.list_kernels import LISTS, first_fit, has
from skbn._orders.refit_kernels import gains_by, least_explained, refit
from skbn._orders.regression_kernels import LEAST_PIVOT, Family, Regressions


class Growth(NamedTuple):
    """How families grow, and scratch."""

    regressions: Regressions
    family: Family  # scratch
    members: I1  # (m,): scratch: the parents that the order as it is leads to
    changes: I1  # (m,): scratch: the columns that are moved past the child one at a time
    max_parents: int
    least: float  # smaller differences of scores are rounding
    grow: int  # the address of `grow_parents`


class GrownSets(NamedTuple):
    """The families found that score higher than all listed ones of the same columns."""

    parents: S2  # (most, width): padded with -1. When it is full, no more are kept
    scores: F1  # (most,)
    available: I2  # (1, n_words): scratch: the bits of the open columns


GROWTH = tuple_type(Growth)
FOUND = tuple_type(GrownSets)


@kernel(
    *(LISTS, GROWTH, FOUND, int64, int64[::1], int64, int64, float64, int64),
    is_called=False,
)
def grow_parents(lists, growth, found, x, members, n, y, least, n_found):
    """Grow the parents of x, beginning with those of some members that are open.

    `n`: how many members these are; ``-1 - n`` to go on from the n parents that there are
    `least`: infinite to begin only

    Returns the number of parents, their score, and how many families are kept.
    """
    family, is_new = growth.family, n >= 0
    n = _keep_open(family, members, n) if is_new else -1 - n
    n, score = refit(
        *(family.refit, growth.regressions, family),
        *(n, x, y, is_new, growth.max_parents, least),
    )
    if least < np.inf:
        n_found = _report(lists, family, found, x, n, score, least, n_found)
    return n, score, n_found


_grow = by_address(grow_parents, Tuple((int64, float64, int64)))


@kernel(LISTS, STATE, GROWTH, FOUND, int64, seconds=0.6)
def grow_for_insertions(lists, state, growth, found, x):
    """Grow the parents of x for the order, and for each insertion that changes what it may have.

    Starting from its family, parents are added and deleted, of all columns that precede x, until
    that raises the score no more: in the order as it is; with one later column in front of x; with
    one parent behind x; and with x further behind or further in front. The state is only read.

    Returns `n_found`: 0 also if rounding would decide the scores of all families with the required
    parents.
    """
    members, changes = growth.members, growth.changes
    regressions, family = growth.regressions, growth.family
    may_be_parent, must_be_parent = regressions.may_be_parent[x], regressions.must_be_parent[x]
    left, is_open, least = family.left, family.is_open, growth.least
    m, where, n_found = state.order.size, state.position[x], ZERO
    n = _list_chosen(lists, state.position, state.chosen[x], growth, x)
    n, score, _ = _grow(growth.grow, lists, growth, found, x, members, n, NONE, np.inf, n_found)
    if not _has_required(family, must_be_parent, x):
        return 0
    n_members, score, n_found = _grow(
        growth.grow, lists, growth, found, x, members, -1 - n, NONE, least, n_found
    )

    # With one later column in front of x, or one parent behind it.
    for t in range(n_members):
        members[t] = family.members[t]
    n, score, _ = _grow(
        growth.grow, lists, growth, found, x, members, n_members, NONE, np.inf, n_found
    )
    n_changes = _list_changes(state.order, where, growth, x, n, n_members, score)
    for i in range(n_changes):
        y = changes[i]
        is_open[y] = not is_open[y]
        added = y if is_open[y] else NONE
        _, _, n_found = _grow(
            growth.grow, lists, growth, found, x, members, n_members, added, least, n_found
        )
        is_open[y] = not is_open[y]

    # With x behind one more column at a time. In the end all columns are open.
    n, score, _ = _grow(
        growth.grow, lists, growth, found, x, members, n_members, NONE, np.inf, n_found
    )
    to_explain = _to_explain(growth, x, n, score)
    for k in range(where + 1, m):
        y = state.order[k]
        is_open[y] = may_be_parent[y]
        if is_open[y] and gains_by(regressions, family, n, x, y, to_explain, score + least):
            n, score, n_found = _grow(
                growth.grow, lists, growth, found, x, members, -1 - n, NONE, least, n_found
            )
            to_explain = _to_explain(growth, x, n, score)

    # With x in front of one more of its parents at a time.
    n, _, _ = _grow(growth.grow, lists, growth, found, x, members, n_members, NONE, np.inf, n_found)
    for k in range(m - 1, -1, -1):
        y = state.order[k]
        is_open[y] = False
        if must_be_parent[y]:
            break
        if k < where and left[y] == np.inf:
            n, _, n_found = _grow(
                growth.grow, lists, growth, found, x, family.members, n, NONE, least, n_found
            )
    return n_found


@pasted_kernel
def _list_chosen(lists, position, chosen, growth, x):
    """Open the columns before x, and list its chosen parents; return how many these are."""
    may_be_parent, n = growth.regressions.may_be_parent[x], ZERO
    for y in range(may_be_parent.size):
        growth.family.is_open[y] = position[y] < position[x] and may_be_parent[y]
        bit = np.int64(lists.bits[x, y])
        if bit >= 0 and has(lists.sets, chosen, bit):
            growth.members[n] = y
            n += 1
    return n


@pasted_kernel
def _has_required(family, must_be_parent, x):
    """Return whether x has its required parents, and rounding does not decide its score."""
    has_required = family.left[x] >= LEAST_PIVOT
    for y in range(must_be_parent.size):
        if must_be_parent[y]:
            has_required &= family.is_open[y] and family.left[y] == np.inf
    return has_required


@pasted_kernel
def _list_changes(order, where, growth, x, n, n_members, score):
    """List the columns to move past x, which has n parents of this score; return how many.

    Later columns that gain by themselves come first, and then the parents that need not precede x.
    """
    changes, regressions, n_changes = growth.changes, growth.regressions, ZERO
    enough, to_explain = score + growth.least, _to_explain(growth, x, n, score)
    for k in range(where + 1, order.size):
        y = order[k]
        may_be_parent = regressions.may_be_parent[x, y]
        if may_be_parent and gains_by(regressions, growth.family, n, x, y, to_explain, enough):
            changes[n_changes] = y
            n_changes += 1
    for t in range(n_members):
        y = growth.members[t]
        if not regressions.must_be_parent[x, y]:
            changes[n_changes] = y
            n_changes += 1
    return n_changes


@pasted_kernel
def _keep_open(family, members, n_members):
    """Set the family's members to those of some that are open; return their number."""
    n = ZERO
    for t in range(n_members):
        if family.is_open[members[t]]:
            family.members[n] = members[t]
            n += 1
    return n


@inner_kernel
def _to_explain(growth, x, n, score):
    """Return what one more parent must explain to raise this score of n parents."""
    regressions, enough = growth.regressions, score + growth.least
    left, offset = growth.family.left[x], regressions.offsets[x]
    return least_explained(regressions.tables, n, growth.max_parents, left, offset, enough)


@pasted_kernel
def _report(lists, family, found, x, n, score, least, n_found):
    """Keep a family of n parents unless one as good is known; return how many are kept."""
    available, columns = found.available, lists.columns[x]
    for word in range(available.shape[1]):
        available[0, word] = 0
    for bit in range(columns.size):
        y = columns[bit]
        if y >= 0 and family.is_open[y]:
            flip(available, ZERO, np.int64(bit))
    listed = lists.scores[first_fit(lists, lists.starts[x], available, ZERO)]
    is_new = score > listed + least and n_found < found.scores.size
    for f in range(n_found):
        is_new &= found.scores[f] != score
    if is_new:
        for t in range(found.parents.shape[1]):
            found.parents[n_found, t] = family.members[t] if t < n else -1
        found.scores[n_found] = score
        n_found += 1
    return n_found
