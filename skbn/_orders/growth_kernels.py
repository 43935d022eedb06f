"""Kernels that grow and shrink a column's parents, over all columns that may precede it.

They work on the products of the columns, which are centred and of unit norm: a pivot of the
Cholesky decomposition is what the parents so far leave of a column. A column of which they leave
less than `LEAST_PIVOT` cannot become a parent, since rounding would decide its gain.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import boolean, float64, int16, int64, types

from skbn._core.compile import inner_kernel, kernel
from skbn._core.subsets import popcount
from skbn._orders.order_kernels import LISTS, STATE, Lists, State, first_fit, has

__all__ = [
    "LEAST_PIVOT",
    "Family",
    "Regressions",
    "grow_for_insertions",
    "score_subsets",
    "select_forward",
]

LEAST_PIVOT = 1e-12

Floats = npt.NDArray[np.float64]


class Regressions(NamedTuple):
    """What the scores of all families follow from.

    Parameters
    ----------
    products : ndarray of shape (m, m), float64
        Of the columns, centred and of unit norm.
    offsets : ndarray of shape (m,), float64
        What the unit of each column adds to log-determinants.
    tables : ndarray of shape (3, m), float64
        The criterion's tables c, a0 and a1 by the number of parents.
    may_be_parent : ndarray of shape (m, m), bool
        Row x has the columns that the constraints allow as parents of x.
    must_be_parent : ndarray of shape (m, m), bool
    """

    products: Floats
    offsets: Floats
    tables: Floats
    may_be_parent: npt.NDArray[np.bool_]
    must_be_parent: npt.NDArray[np.bool_]


class Family(NamedTuple):
    """A child and its parents, with what these leave of all columns. Scratch of m columns.

    Parameters
    ----------
    members : ndarray of shape (m,), int64
        The parents, in the order in which they came.
    factor : ndarray of shape (m, m), float64
        Row t is what column ``members[t]``, freed of the parents before it and of unit norm,
        has in common with each column.
    left : ndarray of shape (m,), float64
        What the parents leave of the square of each column.
    shared : ndarray of shape (m,), float64
        The product of each column and the child, both freed of the parents.
    log_det : ndarray of shape (1,), float64
        The log-determinant of the parents.
    is_parent : ndarray of shape (m,), bool
    inverse : ndarray of shape (m, m), float64
        Scratch.
    """

    members: npt.NDArray[np.int64]
    factor: Floats
    left: Floats
    shared: Floats
    log_det: Floats
    is_parent: npt.NDArray[np.bool_]
    inverse: Floats


REGRESSIONS = types.NamedTuple(
    (float64[:, ::1], float64[::1], float64[:, ::1], boolean[:, ::1], boolean[:, ::1]), Regressions
)
FAMILY = types.NamedTuple(
    (
        int64[::1], float64[:, ::1], float64[::1], float64[::1], float64[::1], boolean[::1],
        float64[:, ::1],
    ),
    Family,
)  # fmt: skip


@inner_kernel
def _start(regressions, family, x):
    """Begin with no parents."""
    for y in range(family.left.size):
        family.left[y] = regressions.products[y, y]
        family.shared[y] = regressions.products[x, y]
        family.is_parent[y] = False
    family.log_det[0] = 0.0


@inner_kernel
def _add(regressions, family, n, x, y):
    """Add y to n parents of x."""
    row = family.factor[n]
    products = regressions.products[y]
    m = row.size
    root = math.sqrt(family.left[y])
    for z in range(m):
        row[z] = products[z]
    for t in range(n):
        earlier = family.factor[t]
        weight = earlier[y]
        for z in range(m):
            row[z] -= weight * earlier[z]
    scale = 1.0 / root
    of_child = row[x] * scale
    for z in range(m):
        row[z] *= scale
        family.left[z] -= row[z] * row[z]
        family.shared[z] -= of_child * row[z]
    row[y] = root
    family.log_det[0] += 2.0 * math.log(root) + regressions.offsets[y]
    family.is_parent[y] = True
    family.members[n] = y


@inner_kernel
def _score(regressions, n_parents, of_parents, left_of_child, offset):
    tables = regressions.tables
    return (
        tables[0, n_parents]
        + tables[1, n_parents] * of_parents
        + tables[2, n_parents] * (of_parents + math.log(left_of_child) + offset)
    )


@inner_kernel
def _own_score(regressions, family, n, x):
    return _score(regressions, n, family.log_det[0], family.left[x], regressions.offsets[x])


@inner_kernel
def _score_with(regressions, family, n, x, y):
    """Return the score with one more parent, y; -inf if rounding would decide it."""
    left = family.left[y]
    if left < LEAST_PIVOT:
        return -np.inf
    of_child = family.left[x] - family.shared[y] * family.shared[y] / left
    if of_child < LEAST_PIVOT:
        return -np.inf
    of_parents = family.log_det[0] + math.log(left) + regressions.offsets[y]
    return _score(regressions, n + 1, of_parents, of_child, regressions.offsets[x])


@inner_kernel
def _best_addition(regressions, family, n, x, is_open):
    """Return the highest score with one more parent, and this parent."""
    best = -np.inf
    chosen = -1
    if regressions.tables[1, n + 1] + regressions.tables[2, n + 1] == 0.0:
        # The score then grows with the share of the child that the parent explains, and with
        # nothing else.
        most = 0.0
        for y in range(is_open.size):
            if is_open[y] and not family.is_parent[y] and family.left[y] >= LEAST_PIVOT:
                explained = family.shared[y] * family.shared[y] / family.left[y]
                if explained > most:
                    most = explained
                    chosen = y
        if chosen >= 0:
            best = _score_with(regressions, family, n, x, chosen)
        return best, chosen
    for y in range(is_open.size):
        if is_open[y] and not family.is_parent[y]:
            score = _score_with(regressions, family, n, x, y)
            if score > best:
                best = score
                chosen = y
    return best, chosen


@inner_kernel
def _best_deletion(regressions, family, n, x):
    """Return the highest score with one parent fewer, and this parent's place among them."""
    best = -np.inf
    chosen = -1
    inverse = family.inverse
    # Column j of the inverse of the triangular factor of the parents and, last, the child.
    for j in range(n + 1):
        column = x if j == n else family.members[j]
        pivot = math.sqrt(family.left[x]) if j == n else family.factor[j, column]
        inverse[j, j] = 1.0 / pivot
        for i in range(j):
            total = 0.0
            for k in range(i, j):
                total += inverse[i, k] * family.factor[k, column]
            inverse[i, j] = -total / pivot
    own_family = family.log_det[0] + math.log(family.left[x]) + regressions.offsets[x]
    for i in range(n):
        y = family.members[i]
        if regressions.must_be_parent[x, y]:
            continue
        squares = 0.0
        for j in range(i, n):
            squares += inverse[i, j] * inverse[i, j]
        of_parents = family.log_det[0] + math.log(squares) - regressions.offsets[y]
        squares += inverse[i, n] * inverse[i, n]
        of_family = own_family + math.log(squares) - regressions.offsets[y]
        tables = regressions.tables
        score = tables[0, n - 1] + tables[1, n - 1] * of_parents + tables[2, n - 1] * of_family
        if score > best:
            best = score
            chosen = i
    return best, chosen


@inner_kernel
def _rebuild(regressions, family, n, x):
    """Begin again with the first n members that can be parents together; return how many."""
    _start(regressions, family, x)
    kept = 0
    for t in range(n):
        y = family.members[t]
        if family.left[y] >= LEAST_PIVOT:
            _add(regressions, family, kept, x, y)
            kept += 1
    return kept


@inner_kernel
def _grow_and_shrink(regressions, family, n, x, is_open, max_parents, least):
    """Add and delete open parents while that raises the score; return their number and score."""
    score = _own_score(regressions, family, n, x)
    while True:
        before = score
        while n < max_parents:
            better, y = _best_addition(regressions, family, n, x, is_open)
            if not better > score + least:
                break
            _add(regressions, family, n, x, y)
            n += 1
            score = better
        while n > 0:
            better, i = _best_deletion(regressions, family, n, x)
            if not better > score + least:
                break
            for t in range(i, n - 1):
                family.members[t] = family.members[t + 1]
            n = _rebuild(regressions, family, n - 1, x)
            score = _own_score(regressions, family, n, x)
        # Computed anew, a score may have lost what seemed to be gained. So rounds go on only while
        # it rises, which finitely many families and steps of `least` bound.
        if not score > before + least:
            return n, score


@kernel(REGRESSIONS, FAMILY, int64, int64, int64[::1], seconds=2.2)
def select_forward(regressions, family, x, n, selected):
    """Select n columns for x: the required parents, and then what explains most of the rest.

    Returns
    -------
    n_selected : int
        Fewer than n if no other column is allowed, or explains anything.
    """
    m = family.left.size
    _start(regressions, family, x)
    k = 0
    for y in range(m):
        if regressions.must_be_parent[x, y]:
            _add(regressions, family, k, x, y)
            k += 1
    while k < n and family.left[x] >= LEAST_PIVOT:
        most = 0.0
        chosen = -1
        for y in range(m):
            if (
                regressions.may_be_parent[x, y]
                and not family.is_parent[y]
                and family.left[y] >= LEAST_PIVOT
            ):
                explained = family.shared[y] * family.shared[y] / family.left[y]
                if explained > most:
                    most = explained
                    chosen = y
        if chosen < 0:
            break
        _add(regressions, family, k, x, chosen)
        k += 1
    selected[:k] = family.members[:k]
    return k


# Growth about an order


class _Growth(NamedTuple):
    """What grows about an order: see `grow_for_insertions`; `is_open` has what may be a parent."""

    lists: Lists
    state: State
    regressions: Regressions
    family: Family
    is_open: npt.NDArray[np.bool_]
    max_parents: int
    least: float
    found: npt.NDArray[np.int16]
    found_scores: Floats


@kernel(
    LISTS, STATE, REGRESSIONS, FAMILY, int64, int64, float64, int16[:, ::1], float64[::1],
    seconds=13)  # fmt: skip
def grow_for_insertions(
    lists, state, regressions, family, x, max_parents, least, found, found_scores
):
    """Grow the parents of x for the order, and for each insertion that changes what it may have.

    Starting from its family, parents are added and deleted, of all columns that precede x, until
    that raises the score no more: in the order as it is; with one later column in front of x; with
    one parent behind x; and with x further in front or further behind.

    Parameters
    ----------
    found : ndarray of shape (k, m), int16
        Receives the families that score higher than all listed ones of the same columns, padded
        with -1.
    found_scores : ndarray of shape (k,), float64

    Returns
    -------
    n_found : int
        0 also if rounding would decide the scores of all families with the required parents.
    """
    is_open = np.zeros(state.order.size, dtype=np.bool_)
    growth = _Growth(
        lists, state, regressions, family, is_open, max_parents, least, found, found_scores
    )
    for k in range(state.position[x]):
        is_open[state.order[k]] = regressions.may_be_parent[x, state.order[k]]
    for y in range(is_open.size):
        if regressions.must_be_parent[x, y] and not is_open[y]:
            return 0
    n = 0
    for y in range(is_open.size):
        bit = np.int64(lists.bits[x, y])
        if bit >= 0 and has(lists.sets, state.chosen[x], bit):
            family.members[n] = y
            n += 1
    n = _rebuild(regressions, family, n, x)
    if family.left[x] < LEAST_PIVOT:
        return 0
    for y in range(is_open.size):
        if regressions.must_be_parent[x, y] and not family.is_parent[y]:
            return 0
    n, n_found = _grow(growth, x, n, 0)
    members = family.members[:n].copy()
    n_found = _grow_with_later(growth, x, members, n_found)
    n_found = _grow_without_parent(growth, x, members, n_found)
    n_found = _grow_further_behind(growth, x, members, n_found)
    return _grow_further_in_front(growth, x, members, n_found)


@inner_kernel
def _grow(growth, x, n, n_found):
    """Grow and shrink n parents of x; report the family unless the lists have one as good."""
    lists, family, is_open = growth.lists, growth.family, growth.is_open
    n, score = _grow_and_shrink(
        growth.regressions, family, n, x, is_open, growth.max_parents, growth.least
    )
    available = np.zeros((1, lists.sets.shape[1]), dtype=np.int64)
    for y in range(is_open.size):
        bit = np.int64(lists.bits[x, y])
        if bit >= 0 and is_open[y]:
            available[0, bit >> 6] |= np.int64(1) << (bit & 63)
    listed = lists.scores[first_fit(lists, lists.starts[x], available, 0)]
    is_new = score > listed + growth.least and n_found < growth.found.shape[0]
    for f in range(n_found):
        is_new &= growth.found_scores[f] != score
    if not is_new:
        return n, n_found
    growth.found[n_found] = -1
    for t in range(n):
        growth.found[n_found, t] = family.members[t]
    growth.found_scores[n_found] = score
    return n, n_found + 1


@inner_kernel
def _restart(growth, x, members):
    """Begin again with those members that are open; return their number."""
    n = 0
    for y in members:
        if growth.is_open[y]:
            growth.family.members[n] = y
            n += 1
    return _rebuild(growth.regressions, growth.family, n, x)


@inner_kernel
def _gains_by(growth, x, n, score, y):
    """Return whether one more parent, y, raises the score."""
    return (
        growth.regressions.may_be_parent[x, y]
        and n < growth.max_parents
        and _score_with(growth.regressions, growth.family, n, x, y) > score + growth.least
    )


@inner_kernel
def _grow_with_later(growth, x, members, n_found):
    """Grow with one later column in front of x, for each of those that gain by themselves."""
    state = growth.state
    n = _restart(growth, x, members)
    score = _own_score(growth.regressions, growth.family, n, x)
    gains = np.zeros(state.order.size, dtype=np.bool_)
    for k in range(state.position[x] + 1, state.order.size):
        gains[k] = _gains_by(growth, x, n, score, state.order[k])
    for k in range(gains.size):
        if gains[k]:
            y = state.order[k]
            growth.is_open[y] = True
            n = _restart(growth, x, members)
            _add(growth.regressions, growth.family, n, x, y)
            _, n_found = _grow(growth, x, n + 1, n_found)
            growth.is_open[y] = False
    return n_found


@inner_kernel
def _grow_without_parent(growth, x, members, n_found):
    """Grow with one parent behind x, for each of them."""
    for y in members:
        if not growth.regressions.must_be_parent[x, y]:
            growth.is_open[y] = False
            n = _restart(growth, x, members)
            _, n_found = _grow(growth, x, n, n_found)
            growth.is_open[y] = True
    return n_found


@inner_kernel
def _grow_further_behind(growth, x, members, n_found):
    """Grow with x behind one more column at a time; leave all of them open."""
    state = growth.state
    n = _restart(growth, x, members)
    for k in range(state.position[x] + 1, state.order.size):
        y = state.order[k]
        growth.is_open[y] = growth.regressions.may_be_parent[x, y]
        score = _own_score(growth.regressions, growth.family, n, x)
        if _gains_by(growth, x, n, score, y):
            n, n_found = _grow(growth, x, n, n_found)
    return n_found


@inner_kernel
def _grow_further_in_front(growth, x, members, n_found):
    """Grow with x in front of one more of its parents at a time."""
    state = growth.state
    n = _restart(growth, x, members)
    for k in range(state.order.size - 1, -1, -1):
        y = state.order[k]
        growth.is_open[y] = False
        if growth.regressions.must_be_parent[x, y]:
            break
        if k < state.position[x] and growth.family.is_parent[y]:
            n = _restart(growth, x, growth.family.members[:n].copy())
            n, n_found = _grow(growth, x, n, n_found)
    return n_found


# All subsets


@kernel(
    REGRESSIONS, int64, int64[::1], int64[::1], int64, float64, float64[::1], float64[::1],
    float64[:, :, ::1],
    seconds=2.1,
)  # fmt: skip
def score_subsets(regressions, x, fixed, free, max_parents, least, scores, best, stack):
    """Score a child with fixed parents and every subset of free ones.

    The subsets count up as masks. The lowest column of a mask is the pivot of a step of Cholesky's
    decomposition on the matrix of those below it, and half of the masks have no columns below.

    Parameters
    ----------
    fixed, free : ndarray, int64
        Columns.
    scores : ndarray of shape (2**n_free,), float64
        Receives -inf for sets that are ruled out.
    best : ndarray of shape (2**n_free,), float64
        Receives the highest score of a subset of each set.
    stack : ndarray of shape (n_free + 1, n_free + 1, n_free + 1), float64
        Scratch.
    """
    n_fixed = fixed.size
    n_free = free.size
    log_det = np.empty(n_free + 1)
    log_det[0] = _project_out(regressions, x, fixed, free, stack[0])
    offset = regressions.offsets[x]
    left = stack[0, n_free, n_free]
    scores[0] = -np.inf
    if log_det[0] > -np.inf and left >= LEAST_PIVOT and n_fixed <= max_parents:
        scores[0] = _score(regressions, n_fixed, log_det[0], left, offset)
    best[0] = scores[0]
    for mask in range(1, 1 << n_free):
        t = popcount((mask & -mask) - 1)
        n = popcount(mask)
        pivot = stack[n - 1, t, t]
        score = -np.inf
        log_det[n] = -np.inf
        if log_det[n - 1] > -np.inf and pivot >= LEAST_PIVOT:
            log_det[n] = log_det[n - 1] + math.log(pivot) + regressions.offsets[free[t]]
            left = _eliminate(stack[n - 1], stack[n], t, n_free)
            if left >= LEAST_PIVOT and n_fixed + n <= max_parents:
                score = _score(regressions, n_fixed + n, log_det[n], left, offset)
        top = -np.inf
        rest = mask
        while rest:
            low = rest & -rest
            top = max(top, best[mask ^ low])
            rest ^= low
        best[mask] = max(score, top)
        # Otherwise a subset is as good.
        scores[mask] = score if score > top + least else -np.inf


@inner_kernel
def _project_out(regressions, x, fixed, free, target):
    """Set `target` to the products of free columns and x, freed of the fixed ones.

    Returns
    -------
    log_det : float
        The log-determinant of the fixed columns; -inf if rounding would decide it.
    """
    n_free = free.size
    columns = np.empty(n_free + 1 + fixed.size, dtype=np.int64)
    columns[:n_free] = free
    columns[n_free] = x
    columns[n_free + 1 :] = fixed
    k = columns.size
    matrix = np.empty((k, k))
    for i in range(k):
        for j in range(k):
            matrix[i, j] = regressions.products[columns[i], columns[j]]
    log_det = 0.0
    for t in range(k - 1, n_free, -1):
        if matrix[t, t] < LEAST_PIVOT:
            return -np.inf
        log_det += math.log(matrix[t, t]) + regressions.offsets[columns[t]]
        for i in range(t):
            weight = matrix[i, t] / matrix[t, t]
            for j in range(t):
                matrix[i, j] -= weight * matrix[t, j]
    for i in range(n_free + 1):
        for j in range(n_free + 1):
            target[i, j] = matrix[i, j]
    return log_det


@inner_kernel
def _eliminate(above, below, t, child):
    """Free columns below t, and the child, of column t; return what is left of the child."""
    inverse = 1.0 / above[t, t]
    for i in range(t):
        weight = above[t, i] * inverse
        for j in range(i + 1):
            below[i, j] = above[i, j] - weight * above[t, j]
    weight = above[child, t] * inverse
    for j in range(t):
        below[child, j] = above[child, j] - weight * above[t, j]
    below[child, child] = above[child, child] - weight * above[child, t]
    return below[child, child]
