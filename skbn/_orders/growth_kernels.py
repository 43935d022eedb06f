"""Kernels that grow and shrink a column's parents, over all columns that may precede it."""

from typing import NamedTuple

import numpy as np
from numba import int64

from skbn._core.arrays import F1, I1, I2, S2
from skbn._core.compile import inner_kernel, kernel, pasted_kernel, tuple_type
from skbn._orders.insertion_kernels import STATE, set_available
from skbn._orders.list_kernels import LISTS, first_fit, has
from skbn._orders.refit_kernels import gains_by, least_explained, refit
from skbn._orders.regression_kernels import (
    LEAST_PIVOT,
    Family,
    Regressions,
    own_score,
    rebuild,
)


class Growth(NamedTuple):
    """How families grow, and scratch."""

    regressions: Regressions
    family: Family  # scratch
    members: I1  # (m,): scratch: the parents that the order as it is leads to
    changes: I1  # (m,): scratch: the columns that are moved past the child one at a time
    max_parents: int
    least: float  # smaller differences of scores are rounding


class GrownSets(NamedTuple):
    """The families found that score higher than all listed ones of the same columns."""

    parents: S2  # (most, width): padded with -1. When it is full, no more are kept
    scores: F1  # (most,)
    available: I2  # (1, n_words): scratch: the bits of the open columns


GROWTH = tuple_type(Growth)
FOUND = tuple_type(GrownSets)


@kernel(LISTS, STATE, GROWTH, FOUND, int64, seconds=1.2)
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
    may_be_parent, must_be_parent = regressions.may_be_parent, regressions.must_be_parent
    left, is_open = family.left, family.is_open
    m, where, no = state.order.size, state.position[x], np.int64(-1)
    n = _begin(lists, state.position, state.chosen[x], growth, x)
    if n < 0:
        return 0
    limits = growth.max_parents, growth.least
    n_members, score = refit(regressions, family, n, x, no, *limits)
    n_found = _report(lists, growth, found, x, n_members, score, np.int64(0))

    # With one later column in front of x, or one parent behind it.
    n_changes = _list_changes(state.order, where, growth, x, n_members)
    for i in range(n_changes):
        y = changes[i]
        is_open[y] = not is_open[y]
        n = rebuild(regressions, family, _keep_open(growth, members, n_members), x)
        added = y if is_open[y] else no
        n, score = refit(regressions, family, n, x, added, *limits)
        n_found = _report(lists, growth, found, x, n, score, n_found)
        is_open[y] = not is_open[y]

    # With x behind one more column at a time. In the end all columns are open.
    n = rebuild(regressions, family, _keep_open(growth, members, n_members), x)
    enough, to_explain = _to_gain(growth, x, n)
    for k in range(where + 1, m):
        y = state.order[k]
        is_open[y] = may_be_parent[x, y]
        if is_open[y] and gains_by(regressions, family, n, x, y, to_explain, enough):
            n, score = refit(regressions, family, n, x, no, *limits)
            n_found = _report(lists, growth, found, x, n, score, n_found)
            enough, to_explain = _to_gain(growth, x, n)

    # With x in front of one more of its parents at a time.
    n = rebuild(regressions, family, _keep_open(growth, members, n_members), x)
    for k in range(m - 1, -1, -1):
        y = state.order[k]
        is_open[y] = False
        if must_be_parent[x, y]:
            break
        if k < where and left[y] == np.inf:
            n = rebuild(regressions, family, _keep_open(growth, family.members, n), x)
            n, score = refit(regressions, family, n, x, no, *limits)
            n_found = _report(lists, growth, found, x, n, score, n_found)
    return n_found


@pasted_kernel
def _begin(lists, position, chosen, growth, x):
    """Open the columns before x, and begin with its chosen family; return its number of parents.

    -1 if required parents do not precede x, or if rounding would decide its score with them.
    """
    must_be_parent, may_be_parent = (
        growth.regressions.must_be_parent,
        growth.regressions.may_be_parent,
    )
    is_open, members = growth.family.is_open, growth.family.members
    n = np.int64(0)
    for y in range(is_open.size):
        is_open[y] = position[y] < position[x] and may_be_parent[x, y]
        if must_be_parent[x, y] and not is_open[y]:
            return -1
        bit = np.int64(lists.bits[x, y])
        if bit >= 0 and has(lists.sets, chosen, bit):
            members[n] = y
            n += 1
    n = rebuild(growth.regressions, growth.family, n, x)
    if growth.family.left[x] < LEAST_PIVOT:
        return -1
    for y in range(is_open.size):
        if must_be_parent[x, y] and growth.family.left[y] < np.inf:
            return -1
    return n


@pasted_kernel
def _list_changes(order, where, growth, x, n_members):
    """Keep the parents that growth led to, and list the columns to move past x; return how many.

    Later columns that gain by themselves come first, and then the parents that need not precede x.
    """
    members, changes = growth.members, growth.changes
    regressions, family = growth.regressions, growth.family
    for t in range(n_members):
        members[t] = family.members[t]
    n = rebuild(regressions, family, _keep_open(growth, members, n_members), x)
    enough, to_explain = _to_gain(growth, x, n)
    n_changes = np.int64(0)
    for k in range(where + 1, order.size):
        y = order[k]
        may_be_parent = regressions.may_be_parent[x, y]
        if may_be_parent and gains_by(regressions, family, n, x, y, to_explain, enough):
            changes[n_changes] = y
            n_changes += 1
    for t in range(n_members):
        if not regressions.must_be_parent[x, members[t]]:
            changes[n_changes] = members[t]
            n_changes += 1
    return n_changes


@inner_kernel
def _keep_open(growth, members, n_members):
    """Set the family's members to those of some that are open; return their number."""
    n = np.int64(0)
    for t in range(n_members):
        if growth.family.is_open[members[t]]:
            growth.family.members[n] = members[t]
            n += 1
    return n


@inner_kernel
def _to_gain(growth, x, n):
    """Return the score that one more parent must surpass, and what it must explain for that."""
    regressions, most = growth.regressions, growth.max_parents
    enough = own_score(regressions, growth.family, n, x) + growth.least
    left, offset = growth.family.left[x], regressions.offsets[x]
    return enough, least_explained(regressions.tables, n, most, left, offset, enough)


@inner_kernel
def _report(lists, growth, found, x, n, score, n_found):
    """Keep a family of n parents unless one as good is known; return how many are kept."""
    is_open, available = growth.family.is_open, found.available
    for word in range(available.shape[1]):
        available[0, word] = 0
    for bit in range(lists.columns.shape[1]):
        if lists.columns[x, bit] >= 0 and is_open[lists.columns[x, bit]]:
            set_available(available, np.int64(0), np.int64(bit), True)
    listed = lists.scores[first_fit(lists, lists.starts[x], available, np.int64(0))]
    is_new = score > listed + growth.least and n_found < found.scores.size
    for f in range(n_found):
        is_new &= found.scores[f] != score
    if is_new:
        for t in range(found.parents.shape[1]):
            found.parents[n_found, t] = growth.family.members[t] if t < n else -1
        found.scores[n_found] = score
        n_found += 1
    return n_found
