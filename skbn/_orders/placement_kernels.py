"""Kernels that move columns within an order, with families refitted on the fly.

A column that moves may change its own family, and those of the columns that it passes: they are
refitted from what they are, and only if they lose a parent by it, or would gain one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import boolean, float32, float64, int16, int64, uint64

from skbn._core.arrays import Booleans, Floats, Integers
from skbn._core.compile import inlined_kernel, inner_kernel, kernel, pasted_kernel, tuple_type
from skbn._core.random_numbers import random_below, uniform
from skbn._orders.refit_kernels import least_explained, refit
from skbn._orders.regression_kernels import (
    FAMILY,
    LEAST_PIVOT,
    REGRESSIONS,
    Family,
    Regressions,
    add_parent,
    own_score,
    rebuild,
    remove_parent,
    score_with,
)

# The most insertions of a perturbation.
_MOST_INSERTIONS = 6
# The share of perturbations that move columns which are related.
_SHARE_OF_RELATED = 0.5
# The share of insertions that end near the column that was drawn first; others end anywhere.
_SHARE_OF_NEAR = 0.7
# Positions that count as near each other.
_REACH = 40
# A loss is accepted with the probability that an exponential variable with this mean, in nats,
# exceeds it.
_MEAN_LOSS = 0.5


class Fitting(NamedTuple):
    """How families are refitted, and scratch.

    Parameters
    ----------
    regressions : Regressions
    family, other : Family
        Scratch: of the column that moves, and of one that it passes.
    is_open, is_open_to_other : ndarray of shape (m,), bool
        Scratch: which columns may be their parents.
    kept : ndarray of shape (width,), int64
        Scratch: the parents of the column that moves at the best position found.
    related : ndarray of shape (m,), int64
        Scratch: columns that a perturbation moves.
    first : int
        The columns before this position stay there. They have families without parents.
    max_parents : int
        At most the `width` of a family.
    least : float
        Smaller differences of scores are rounding.
    """

    regressions: Regressions
    family: Family
    other: Family
    is_open: Booleans
    is_open_to_other: Booleans
    kept: Integers
    related: Integers
    first: int
    max_parents: int
    least: float


class Placement(NamedTuple):
    """An order of the columns, and their families in it.

    Parameters
    ----------
    order, position : ndarray of shape (m,), int64
        The column at each position, and the position of each column.
    parents : ndarray of shape (m, width), int16
    n_parents : ndarray of shape (m,), int64
    scores, tops : ndarray of shape (m,), float64
        The score of each family, and the highest one that was seen of the column.
    left : ndarray of shape (m,), float64
        What the family last given to each column leaves of its square.
    gains : ndarray of shape (m, m), float32
        ``gains[y, x]`` is what the family of x gains by y, wherever y is: 0 if nothing, and
        infinity if y is a parent.
    is_marked : ndarray of shape (m,), bool
        Whether another position of each column must be tried.
    marked : ndarray of shape (m + 1,), int64
        The number of marked columns, and then these.
    """

    order: Integers
    position: Integers
    parents: npt.NDArray[np.int16]
    n_parents: Integers
    scores: Floats
    tops: Floats
    left: Floats
    gains: npt.NDArray[np.float32]
    is_marked: Booleans
    marked: Integers


class Kept(NamedTuple):
    """An order with its families, to go back to.

    Parameters
    ----------
    order, parents, n_parents, scores
        As in `Placement`. Only the families of the changed columns are kept.
    is_changed : ndarray of shape (m,), bool
    changed : ndarray of shape (m + 1,), int64
        The number of changed columns, and then these.
    """

    order: Integers
    parents: npt.NDArray[np.int16]
    n_parents: Integers
    scores: Floats
    is_changed: Booleans
    changed: Integers


class BestPlacement(NamedTuple):
    """The best order found.

    Parameters
    ----------
    order, parents, n_parents
        As in `Placement`.
    totals : ndarray of shape (2,), float64
        The scores of the order at which the search is now, and of the best one.
    """

    order: Integers
    parents: npt.NDArray[np.int16]
    n_parents: Integers
    totals: Floats


class Greedy(NamedTuple):
    """Steps to a greedy order.

    Parameters
    ----------
    n_waiting : ndarray of shape (m,), int64
        How many required parents of each column are not placed.
    given : ndarray of int64
        The first columns of those that move, as far as their required parents precede them.
    done, n : int
        How many of the 3 m steps are made, and how many are to follow.
    """

    n_waiting: Integers
    given: Integers
    done: int
    n: int


FITTING = tuple_type(
    Fitting,
    *(REGRESSIONS, FAMILY, FAMILY, boolean[::1], boolean[::1]),
    *(int64[::1], int64[::1], int64, int64, float64),
)
PLACEMENT = tuple_type(
    Placement,
    *(int64[::1], int64[::1], int16[:, ::1], int64[::1]),
    *(float64[::1], float64[::1], float64[::1]),
    *(float32[:, ::1], boolean[::1], int64[::1]),
)
KEPT = tuple_type(
    Kept, int64[::1], int16[:, ::1], int64[::1], float64[::1], boolean[::1], int64[::1]
)
GREEDY = tuple_type(Greedy, int64[::1], int64[::1], int64, int64)
BEST_PLACEMENT = tuple_type(BestPlacement, int64[::1], int16[:, ::1], int64[::1], float64[::1])


@inlined_kernel
def _mark(placement, x):
    if not placement.is_marked[x]:
        placement.is_marked[x] = True
        placement.marked[0] += 1
        placement.marked[placement.marked[0]] = x


@inner_kernel
def _open_before(is_open, position, may_be_parent, limit):
    """Open the columns before a position that may be parents."""
    for y in range(is_open.size):
        is_open[y] = (position[y] < limit) & may_be_parent[y]


@inner_kernel
def _load(regressions, placement, family, x):
    """Begin with the family that x has; return its number of parents."""
    n = placement.n_parents[x]
    for t in range(n):
        family.members[t] = placement.parents[x, t]
    return rebuild(regressions, family, n, x)


@inner_kernel
def _set_gains(fitting, placement, family, n, x, score):
    """Set what the family of x, with n parents and this score, gains by each column."""
    regressions, gains = fitting.regressions, placement.gains
    left, shared, enough = family.left, family.shared, score + fitting.least
    may_be_parent = regressions.may_be_parent[x]
    least = np.inf
    if n < fitting.max_parents:
        least = least_explained(regressions, family, n, x, enough)
    for y in range(left.size):
        gain = 0.0
        if shared[y] * shared[y] > least * left[y] and may_be_parent[y]:
            gain = max(0.0, score_with(regressions, family, n, x, y) - enough)
        gains[y, x] = gain
    for t in range(n):
        gains[family.members[t], x] = np.inf


@inner_kernel
def _commit(fitting, placement, kept, family, n, x, score):
    """Give x this family; mark it, and its parents in both."""
    parents = placement.parents
    if not kept.is_changed[x]:
        kept.is_changed[x] = True
        kept.changed[0] += 1
        kept.changed[kept.changed[0]] = x
        kept.n_parents[x], kept.scores[x] = placement.n_parents[x], placement.scores[x]
        for t in range(placement.n_parents[x]):
            kept.parents[x, t] = parents[x, t]
    for t in range(placement.n_parents[x]):
        _mark(placement, np.int64(parents[x, t]))
    for t in range(n):
        parents[x, t] = family.members[t]
        _mark(placement, family.members[t])
    _mark(placement, x)
    placement.n_parents[x], placement.scores[x] = n, score
    placement.tops[x] = max(placement.tops[x], score)
    placement.left[x] = family.left[x]
    _set_gains(fitting, placement, family, n, x, score)


@inner_kernel
def _refit_other(fitting, placement, z, x):
    """Refit z without its parent x, or with x as another parent; return n and the score."""
    regressions, other, is_open = fitting.regressions, fitting.other, fitting.is_open_to_other
    has_x = placement.gains[x, z] < np.inf
    _open_before(is_open, placement.position, regressions.may_be_parent[z], placement.position[z])
    is_open[x] = has_x
    n = np.int64(0)
    for t in range(placement.n_parents[z]):
        if placement.parents[z, t] != x:
            other.members[n] = placement.parents[z, t]
            n += 1
    n = rebuild(regressions, other, n, z)
    if has_x and other.left[x] >= LEAST_PIVOT:
        add_parent(regressions, other, n, z, x)
        n += 1
    return refit(regressions, other, n, z, is_open, fitting.max_parents, fitting.least)


@pasted_kernel
def _keep_members(fitting, n):
    for t in range(n):
        fitting.kept[t] = fitting.family.members[t]


@pasted_kernel
def _best_forward(fitting, placement, x):
    """Return the largest gain of moving x towards the front, where to, and its parents' number.

    There x loses parents, and what it passes gains x: by about `hope` at most. The parents are
    kept. Their number is -1 if nothing gains.
    """
    regressions, family, is_open = fitting.regressions, fitting.family, fitting.is_open
    limits = fitting.max_parents, fitting.least
    order, scores, gains = placement.order, placement.scores, placement.gains[x]
    where = placement.position[x]
    best, target, n_kept = fitting.least, where, np.int64(-1)
    hope = 0.0
    for k in range(fitting.first, where):
        if gains[order[k]] < np.inf:
            hope += gains[order[k]]
    _open_before(is_open, placement.position, regressions.may_be_parent[x], where)
    n = _load(regressions, placement, family, x)
    gain, now = 0.0, scores[x]
    for k in range(where - 1, fitting.first - 1, -1):
        z = order[k]
        if gain + hope <= best or regressions.must_be_parent[x, z]:
            break
        is_open[z] = False
        if family.left[z] == np.inf:
            n = remove_parent(regressions, family, n, x, z)
            n, score = refit(regressions, family, n, x, is_open, *limits)
            gain += score - now
            now = score
        if 0.0 < gains[z] < np.inf:
            hope -= gains[z]
            _, score = _refit_other(fitting, placement, z, x)
            gain += score - scores[z]
        if gain > best:
            best, target, n_kept = gain, k, n
            _keep_members(fitting, n)
    return best, target, n_kept


@pasted_kernel
def _best_backward(fitting, placement, x, best):
    """Return the same of moving x towards the end, where it gains more than `best`.

    There x gains parents, and its children lose it.
    """
    regressions, family, is_open = fitting.regressions, fitting.family, fitting.is_open
    limits = fitting.max_parents, fitting.least
    order, scores, gains = placement.order, placement.scores, placement.gains[x]
    where = placement.position[x]
    target, n_kept = where, np.int64(-1)
    _open_before(is_open, placement.position, regressions.may_be_parent[x], where)
    n = _load(regressions, placement, family, x)
    gain, now = 0.0, scores[x]
    for k in range(where + 1, order.size):
        z = order[k]
        if gain + placement.tops[x] - now <= best or regressions.must_be_parent[z, x]:
            break
        is_open[z] = regressions.may_be_parent[x, z]
        if is_open[z] and _gains_by(fitting, n, x, z, now):
            add_parent(regressions, family, n, x, z)
            n, score = refit(regressions, family, n + 1, x, is_open, *limits)
            placement.tops[x] = max(placement.tops[x], score)
            gain += score - now
            now = score
        if gains[z] == np.inf:
            _, score = _refit_other(fitting, placement, z, x)
            gain += score - scores[z]
        if gain > best:
            best, target, n_kept = gain, k, n
            _keep_members(fitting, n)
    return target, n_kept


@pasted_kernel
def _gains_by(fitting, n, x, z, score):
    """Return whether the family that is being moved gains by one more parent, z."""
    if n >= fitting.max_parents:
        return False
    with_z = score_with(fitting.regressions, fitting.family, n, x, z)
    return with_z > score + fitting.least


@pasted_kernel
def _move(fitting, placement, kept, x, target, n_kept):
    """Move x to a position, with the kept parents, or refitted if `n_kept` is negative."""
    order, position, family = placement.order, placement.position, fitting.family
    where = position[x]
    step = 1 if target > where else -1
    k = where
    while k != target:
        order[k] = order[k + step]
        position[order[k]] = k
        k += step
    order[target], position[x] = x, target
    k = where
    while k != target:
        z = order[k]
        gain = placement.gains[x, z]
        if (gain == np.inf) if step > 0 else (0.0 < gain < np.inf):
            n, score = _refit_other(fitting, placement, z, x)
            _commit(fitting, placement, kept, fitting.other, n, z, score)
        k += step
    regressions = fitting.regressions
    if n_kept >= 0:
        for t in range(n_kept):
            family.members[t] = fitting.kept[t]
        n = rebuild(regressions, family, n_kept, x)
        score = own_score(regressions, family, n, x)
    else:
        _open_before(fitting.is_open, position, regressions.may_be_parent[x], target)
        n = _load(regressions, placement, family, x)
        for t in range(n - 1, -1, -1):
            if position[family.members[t]] > target:
                n = remove_parent(regressions, family, n, x, family.members[t])
        limits = fitting.max_parents, fitting.least
        n, score = refit(regressions, family, n, x, fitting.is_open, *limits)
    _commit(fitting, placement, kept, family, n, x, score)


@inner_kernel
def _next_marked(placement, random, i):
    """Unmark a column that is drawn."""
    j = 1 + random_below(random, i, placement.marked[0])
    x = placement.marked[j]
    placement.marked[j] = placement.marked[placement.marked[0]]
    placement.marked[0] -= 1
    placement.is_marked[x] = False
    return x


@pasted_kernel
def _best_position(fitting, placement, x):
    """Return where x gains most, which may be where it is, and its number of parents there."""
    target, n_kept = placement.position[x], np.int64(-1)
    if target >= fitting.first:
        best, target, n_kept = _best_forward(fitting, placement, x)
        later, n_later = _best_backward(fitting, placement, x, best)
        if n_later >= 0:
            target, n_kept = later, n_later
    return target, n_kept


@pasted_kernel
def _position_near(fitting, placement, x, target):
    """Return the position nearest to `target` to which required parents and children let x."""
    must_be_parent, order = fitting.regressions.must_be_parent, placement.order
    k = placement.position[x]
    while k < target and not must_be_parent[order[k + 1], x]:
        k += 1
    while k > target and not must_be_parent[x, order[k - 1]]:
        k -= 1
    return k


@inner_kernel
def _draw_surroundings(fitting, placement, random, i):
    """Draw which columns a perturbation moves, and where to.

    Either columns are moved that are related to one that is drawn, to beside each other or
    anywhere, or columns at positions near it, or columns anywhere.

    Returns
    -------
    centre : int
        The column that is drawn.
    n_related : int
        How many columns are listed as related to it; -1 if others are moved.
    low, high : int
        From where to before where others are moved.
    """
    gains, first = placement.gains, fitting.first
    m = placement.order.size
    centre = placement.order[first + random_below(random, i, m - first)]
    n_related, low, high = np.int64(-1), first, m
    if uniform(random, i) < _SHARE_OF_RELATED:
        n_related = np.int64(0)
        for z in range(m):
            if gains[centre, z] > 0.0 or gains[z, centre] > 0.0:
                fitting.related[n_related] = z
                n_related += 1
    elif uniform(random, i) < _SHARE_OF_NEAR and m - first > _REACH:
        low = min(max(first, placement.position[centre] - _REACH // 2), m - _REACH)
        high = low + _REACH
    return centre, n_related, low, high


@inner_kernel
def _draw_insertion(fitting, placement, surroundings, random, i):
    """Return a column and another position for it."""
    centre, n_related, low, high = surroundings
    related, position = fitting.related, placement.position
    x = placement.order[low + random_below(random, i, high - low)]
    target = low + random_below(random, i, high - low)
    if n_related > 0:
        j = random_below(random, i, n_related + 1)
        x = centre if j == n_related else related[j]
        if uniform(random, i) < _SHARE_OF_NEAR:
            target = position[related[random_below(random, i, n_related)]]
    if position[x] < fitting.first:
        return x, position[x]
    return x, _position_near(fitting, placement, x, max(fitting.first, target))


@pasted_kernel
def _climb(fitting, placement, kept, is_perturbed, most, random, i):
    """Move marked columns, one at a time, to where each gains most; return how many more of `most`.

    Before that, a few columns are inserted elsewhere if it is to be perturbed. Rounding may make a
    loss look like a gain, and moves mark columns again: `most` ends that.
    """
    n_insertions = np.int64(0)
    surroundings = n_insertions, n_insertions, n_insertions, n_insertions
    if is_perturbed:
        surroundings = _draw_surroundings(fitting, placement, random, i)
        n_insertions += 1 + random_below(random, i, _MOST_INSERTIONS)
    # Both kinds of moves share one call, since what it calls takes seconds to compile.
    while n_insertions > 0 or (placement.marked[0] > 0 and most > 0):
        n_kept = np.int64(-1)
        if n_insertions > 0:
            n_insertions -= 1
            x, target = _draw_insertion(fitting, placement, surroundings, random, i)
        else:
            most -= 1
            x = _next_marked(placement, random, i)
            target, n_kept = _best_position(fitting, placement, x)
        if target != placement.position[x]:
            _move(fitting, placement, kept, x, target, n_kept)
    return most


@pasted_kernel
def _go_back(fitting, placement, kept):
    """Go back to the order and the families that were kept, with nothing marked."""
    for k in range(placement.order.size):
        placement.order[k] = kept.order[k]
        placement.position[kept.order[k]] = k
        placement.is_marked[k] = False
    placement.marked[0] = 0
    for j in range(1, kept.changed[0] + 1):
        x = kept.changed[j]
        placement.n_parents[x], placement.scores[x] = kept.n_parents[x], kept.scores[x]
        for t in range(kept.n_parents[x]):
            placement.parents[x, t] = kept.parents[x, t]
        n = _load(fitting.regressions, placement, fitting.family, x)
        _set_gains(fitting, placement, fitting.family, n, x, kept.scores[x])


@inner_kernel
def _keep_order(placement, kept):
    """Begin to keep what changes from here on."""
    for j in range(1, kept.changed[0] + 1):
        kept.is_changed[kept.changed[j]] = False
    kept.changed[0] = 0
    for k in range(placement.order.size):
        kept.order[k] = placement.order[k]


@inner_kernel
def _keep_best(placement, best, total):
    best.totals[1] = total
    for x in range(placement.order.size):
        best.order[x], best.n_parents[x] = placement.order[x], placement.n_parents[x]
        for t in range(placement.n_parents[x]):
            best.parents[x, t] = placement.parents[x, t]


@inner_kernel
def _total(placement):
    total = 0.0
    for x in range(placement.order.size):
        total += placement.scores[x]
    return total


@pasted_kernel
def _place_greedily(fitting, placement, kept, greedy):
    """Make further ones of the 3 m steps that lead to a greedy order, and to families in it.

    The families begin with the required parents. Then columns are placed one after another: next
    is the one of which its family among the placed columns leaves least. A column that is placed
    becomes a parent of those to come that gain by it. In the end the highest score of each column
    is sought, with all others in front of it.
    """
    n_waiting, given, done, n = greedy
    regressions, family, is_open = fitting.regressions, fitting.family, fitting.is_open
    limits = fitting.max_parents, fitting.least
    order, position = placement.order, placement.position
    m = order.size
    for step in range(done, done + n):
        k = step % m
        x = order[k] if step >= 2 * m else np.int64(k)
        if m <= step < 2 * m:
            if k >= fitting.first:
                x = np.int64(-1)
                if k - fitting.first < given.size:
                    x = given[k - fitting.first]
                if x < 0 or n_waiting[x] > 0 or position[x] < m:
                    x = _next_column(placement, n_waiting)
            order[k], position[x] = x, k
        limit = m if step >= 2 * m else position[x]
        _open_before(is_open, position, regressions.may_be_parent[x], limit)
        n_parents = _load(regressions, placement, family, x)
        score = own_score(regressions, family, n_parents, x)
        if step >= m:
            n_parents, score = refit(regressions, family, n_parents, x, is_open, *limits)
        if step >= 2 * m:
            placement.tops[x] = max(placement.tops[x], score)
            continue
        _commit(fitting, placement, kept, family, n_parents, x, score)
        if step < m:
            continue
        _grow_by(fitting, placement, kept, n_waiting, x)


@pasted_kernel
def _grow_by(fitting, placement, kept, n_waiting, x):
    """Make a column that has been placed a parent of those to come that gain by it."""
    for y in range(n_waiting.size):
        n_waiting[y] -= fitting.regressions.must_be_parent[y, x]
        is_to_come = placement.position[y] == n_waiting.size
        if is_to_come and 0.0 < placement.gains[x, y] < np.inf:
            n_parents, score = _refit_other(fitting, placement, y, x)
            _commit(fitting, placement, kept, fitting.other, n_parents, y, score)


@inner_kernel
def _next_column(placement, n_waiting):
    """Return the column of which its family leaves least, of those that can be placed next."""
    chosen, least = np.int64(-1), np.inf
    for x in range(placement.order.size):
        is_next = placement.position[x] == placement.order.size and n_waiting[x] == 0
        if is_next and (chosen < 0 or placement.left[x] < least):
            chosen, least = np.int64(x), placement.left[x]
    return chosen


@kernel(
    FITTING, PLACEMENT, KEPT, BEST_PLACEMENT, GREEDY, int64, int64, uint64[::1], int64, seconds=9
)
def place_and_perturb(fitting, placement, kept, best, greedy, n, most, random, i):
    """Place columns and climb; then perturb n times, climb again, and keep what is not much worse.

    Parameters
    ----------
    best : BestPlacement
        It is updated.
    greedy : Greedy
        What is to be done before that. Until the columns are placed, there is nothing else.
    most : int
        The largest number of columns to try to move. If it ends the first climb, columns are
        still marked.
    random, i
        Generator i of `random` is used.
    """
    _place_greedily(fitting, placement, kept, greedy)
    if greedy.done + greedy.n < 3 * placement.order.size:
        return
    for t in range(n + 1):
        if t > 0:
            if most == 0:
                break
            _keep_order(placement, kept)
        most = _climb(fitting, placement, kept, t > 0, most, random, i)
        total = _total(placement)
        loss = 0.0 if t == 0 else _MEAN_LOSS * math.log(1.0 - uniform(random, i))
        if t == 0 or total >= best.totals[0] + loss:
            best.totals[0] = total
            if total > best.totals[1] + fitting.least:
                _keep_best(placement, best, total)
        else:
            _go_back(fitting, placement, kept)
