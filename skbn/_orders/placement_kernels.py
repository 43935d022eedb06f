"""Kernels of orders with families refitted on the fly: how a family changes with the order.

A column that moves may change its own family, and those of the columns that it passes: they are
refitted from what they are, and only if they lose a parent by it, or would gain one.
"""

from typing import NamedTuple

import numpy as np
from numba import boolean, float64, int64
from numba.types import Tuple

from skbn._core.addresses import by_address
from skbn._core.arrays import B1, B2, F1, G2, I1, I2, NONE, S1, YES, ZERO
from skbn._core.compile import inlined_kernel, kernel, pasted_kernel, tuple_type
from skbn._orders.refit_kernels import least_explained, refit
from skbn._orders.regression_kernels import FAMILY, Family, Regressions, score_with


class Fitting(NamedTuple):
    """How families are refitted, and scratch."""

    regressions: Regressions
    family: Family  # scratch: of the column that moves, and of one that it passes
    other: Family
    related: S1  # (m,): scratch: columns that a perturbation moves
    is_required: B1  # (m,): whether each column must be a parent of another one
    first: int  # the columns before this position stay there. They have families without parents
    max_parents: int  # at most the `width` of a family
    least: float  # smaller differences of scores are rounding
    fit: int  # the address of `fit_parents`


class Placement(NamedTuple):
    """An order of the columns, and their families in it."""

    # (m,): the column at each position, and the position of each column; m before it is placed
    order: I1
    position: I1  # (m,)
    parents: I2  # (m, width)
    n_parents: I1  # (m,)
    scores: F1  # (m,): the score of each family, and the highest one that was seen of the column
    tops: F1  # (m,)
    left: F1  # (m,): what the family of each column leaves of its square
    # (m, m): ``gains[y, x]`` is what the family of x gains by y, wherever y is: 0 if nothing, and
    # infinity if y is a parent
    gains: G2
    # (m, m): ``has_gain[x, y]`` is whether ``gains[y, x]`` is not 0. Few are, in sparse networks
    has_gain: B2
    is_marked: B1  # (m,): whether another position of each column must be tried
    marked: I1  # (m + 1,): the number of marked columns, and then these


class Kept(NamedTuple):
    """An order with its families, to go back to."""

    order: I1  # as in `Placement`. Only the families of the changed columns are kept
    parents: I2
    n_parents: I1
    is_changed: B1  # (m,)
    changed: I1  # (m + 1,): the number of changed columns, and then these


FITTING = tuple_type(Fitting)
PLACEMENT = tuple_type(Placement)
KEPT = tuple_type(Kept)


@inlined_kernel
def _mark(placement, x):
    if not placement.is_marked[x]:
        placement.is_marked[x] = True
        placement.marked[0] += 1
        placement.marked[placement.marked[0]] = x


@kernel(
    *(FITTING, PLACEMENT, KEPT, FAMILY, int64, int64, int64, int64, float64, boolean),
    is_called=False,
)
def fit_parents(fitting, placement, kept, family, n, x, y, limit, least, is_final):
    """Refit x without its parent y, or with y as another parent; or as it is if y is -1.

    `family`: what it is refitted in
    `n`: -1 to begin with its parents; or else the number of members of `family` to begin with
    `limit`: its parents are columns before this position. With n, none are added.
    `least`: what a refit must gain; infinite to change no more than y
    `is_final`: whether x gets this family

    Returns the number n of parents, which are ``family.members[:n]``, and the score.
    """
    added = NONE
    if n < 0:
        n = _load(fitting, placement, family, x, y, limit)
        added = y if y >= 0 and family.is_open[y] else added
    n, score = refit(
        *(family.refit, fitting.regressions, family),
        *(n, x, added, YES, fitting.max_parents, least),
    )
    if is_final:
        _commit(placement, kept, family, n, x, score)
        _set_gains(fitting, placement, family, n, x, score)
    return n, score


fit = by_address(fit_parents, Tuple((int64, float64)))


@pasted_kernel
def _load(fitting, placement, family, x, y, limit):
    """List the parents of x but y, and open the columns that it may have; return the number.

    These are columns before a position. Of them, y is open unless it is a parent.
    """
    position, parents, is_open = placement.position, placement.parents[x], family.is_open
    may_be_parent = fitting.regressions.may_be_parent[x]
    for z in range(is_open.size):
        is_open[z] = (position[z] < limit) & may_be_parent[z]
    if y >= 0:
        is_open[y] = True
    n = ZERO
    for t in range(placement.n_parents[x]):
        if parents[t] == y:
            is_open[y] = False
        else:
            family.members[n] = parents[t]
            n += 1
    return n


@pasted_kernel
def _set_gains(fitting, placement, family, n, x, score):
    """Set what the family of x, with n parents and this score, gains by each column."""
    regressions, gains, has_gain = fitting.regressions, placement.gains, placement.has_gain[x]
    left, shared, enough = family.left, family.shared, score + fitting.least
    may_be_parent = regressions.may_be_parent[x]
    least = least_explained(
        regressions.tables, n, fitting.max_parents, left[x], regressions.offsets[x], enough
    )
    for y in range(left.size):
        gain = 0.0
        if shared[y] * shared[y] > least * left[y] and may_be_parent[y]:
            gain = score_with(regressions, family, n, x, y) - enough
        if gain > 0.0 or has_gain[y]:
            gains[y, x], has_gain[y] = gain if gain > 0.0 else 0.0, gain > 0.0
    for t in range(n):
        gains[family.members[t], x], has_gain[family.members[t]] = np.inf, True


@pasted_kernel
def _commit(placement, kept, family, n, x, score):
    """Give x this family; mark it, and its parents in both."""
    parents, n_before = placement.parents[x], placement.n_parents[x]
    if not kept.is_changed[x]:
        kept.is_changed[x] = True
        kept.changed[0] += 1
        kept.changed[kept.changed[0]] = x
        kept.n_parents[x] = n_before
        for t in range(n_before):
            kept.parents[x, t] = parents[t]
    for t in range(n_before):
        _mark(placement, parents[t])
    for t in range(n):
        parents[t] = family.members[t]
        _mark(placement, parents[t])
    _mark(placement, x)
    placement.n_parents[x], placement.scores[x] = n, score
    placement.tops[x] = score if score > placement.tops[x] else placement.tops[x]
    placement.left[x] = family.left[x]
