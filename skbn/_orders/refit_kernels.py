"""Kernels that refit the parents of one column: they add and delete until nothing gains."""

import math

import numpy as np
from numba import boolean, float64, int64, types

from skbn._core.addresses import address_of, by_address
from skbn._core.arrays import NONE, ZERO
from skbn._core.compile import inlined_kernel, kernel, pasted_kernel
from skbn._orders.regression_kernels import (
    FAMILY,
    LEAST_PIVOT,
    REGRESSIONS,
    Family,
    add_parent,
    explains_most,
    family_score,
    own_score,
    remove_parent,
    score_with,
    start,
)


@kernel(
    *(REGRESSIONS, FAMILY, int64, int64, int64, boolean, int64, float64),
    seconds=1.3,
    is_called=False,
)
def refit_parents(regressions, family, n, x, y, is_new, max_parents, least):
    """Add or delete y; then add and delete open parents of x while that raises the score.

    `y`: -1 for none. It is not added if rounding would decide the score.
    `is_new`: whether to begin with those of the first n members that can be parents together.
        Otherwise these are the parents already.
    `least`: the score must rise by more than this; infinite to leave it at y

    Returns the number n of parents, which are ``family.members[:n]``, and the score.
    """
    members, left = family.members, family.left
    n_waiting = n if is_new else ZERO
    n = start(regressions, family, x) if is_new else n
    t = n_inverted = ZERO
    before, n_before, is_growing = -np.inf, NONE, True
    while True:
        if t < n_waiting:
            z = members[t]
            t += 1
        elif y >= 0:
            z, y = y, NONE
        else:
            score = own_score(regressions, family, n, x)
            if least == np.inf:
                return n, score
            if is_growing:
                better, z = _best_addition(regressions, family, n, max_parents, x, score + least)
            else:
                better, z = _best_deletion(regressions, family, n, x, n_inverted)
                n_inverted = n
            if not better > score + least:
                # Neither additions nor deletions gain any more, or only by rounding: computed anew,
                # a score may have lost what seemed to be gained.
                if n == n_before or not (is_growing or score > before + least):
                    return n, score
                before = before if is_growing else score
                n_before, is_growing = n, not is_growing
                continue
        if left[z] == np.inf:
            i = remove_parent(regressions, family, n, x, z)
            n -= 1
            n_inverted = i if i < n_inverted else n_inverted
        elif left[z] >= LEAST_PIVOT:
            n = add_parent(regressions, family, n, x, z)


refit = by_address(refit_parents, types.Tuple((int64, float64)))


def family_scratch(m: int, width: int) -> Family:
    """Return scratch for a child among m columns, of up to `width` parents."""
    return Family(
        np.empty(width, dtype=np.int64),
        np.empty((width, m)),
        np.empty(m),
        np.empty(m),
        np.empty(1),
        np.empty((width + 1, width + 1)),
        np.zeros(m, dtype=np.bool_),
        address_of(refit_parents),
    )


@kernel(REGRESSIONS, FAMILY, int64, int64, int64[::1])
def select_forward(regressions, family, x, n, selected):
    """Select n columns for x: the required parents, and then what explains most of the rest.

    Returns `n_selected`: fewer than n if no other column is allowed, or explains anything.
    """
    left, shared, may_be_parent = family.left, family.shared, regressions.may_be_parent[x]
    n_parents, k, t = ZERO, ZERO, NONE
    while t < left.size or (k < n and left[x] >= LEAST_PIVOT):
        if t < left.size:
            y = np.int64(t) if t >= 0 and regressions.must_be_parent[x, t] else NONE
        else:
            y = explains_most(left, shared, may_be_parent, 0.0)
            n = n if y >= 0 else k
        if y >= 0 or t < 0:
            n_parents, _ = refit(
                *(family.refit, regressions, family, n_parents, x, y, t < 0),
                *(n, np.inf),
            )
        if y >= 0:
            selected[k] = y
            k += 1
        t += 1
    return k


@inlined_kernel
def least_explained(tables, n, max_parents, left_of_child, offset, score):
    """Return what a further parent must explain of the child to raise the score above this one.

    -1 if the score does not depend on that alone; infinite if there may be no further parent.
    """
    least = -1.0
    if n >= max_parents:
        least = np.inf
    elif tables[1, n + 1] + tables[2, n + 1] == 0.0 and tables[2, n + 1] < 0.0:
        log_left = (score - tables[0, n + 1]) / tables[2, n + 1] - offset
        least = left_of_child - math.exp(log_left)
        least = least if least > 0.0 else 0.0
    return least


@inlined_kernel
def gains_by(regressions, family, n, x, y, to_explain, enough):
    """Return whether one more parent, y, raises the score above `enough`.

    It does not if it explains no more than `to_explain`, as `least_explained` returns it.
    """
    shared, left = family.shared[y], family.left[y]
    if shared * shared > to_explain * left:
        return score_with(regressions, family, n, x, y) > enough
    return False


@pasted_kernel
def _best_addition(regressions, family, n, max_parents, x, enough):
    """Return the highest score with one more parent, and that parent; -1 if none can gain."""
    left, is_open, offset = family.left, family.is_open, regressions.offsets[x]
    to_explain = least_explained(regressions.tables, n, max_parents, left[x], offset, enough)
    best, chosen, first, end = -np.inf, NONE, ZERO, is_open.size
    if to_explain >= 0.0:
        first = explains_most(left, family.shared, is_open, to_explain)
        end = first + 1
    for y in range(first if first >= 0 else end, end):
        if is_open[y] and left[y] < np.inf:
            score = score_with(regressions, family, n, x, y)
            if score > best:
                best, chosen = score, np.int64(y)
    return best, chosen


@pasted_kernel
def _best_deletion(regressions, family, n, x, n_inverted):
    """Return the highest score with one parent fewer, and the parent to delete for it.

    Without parent i, the determinant of the others is that of all times entry (i, i) of the
    inverse of their products, which is a sum of squares of the inverse of the triangular factor.
    The first `n_inverted` columns of that are known.
    """
    best = -np.inf
    chosen = NONE
    inverse, factor, members = family.inverse, family.factor, family.members
    tables = regressions.tables
    # Otherwise the parent chosen is the one without which least is left of the child.
    has_scores = tables[1, n - 1] + tables[2, n - 1] != 0.0 or tables[2, n - 1] >= 0.0
    least = np.inf
    # Numba tests the sign of an index unless it is unsigned. The last column is the child's.
    last = np.uint64(n)
    for j in range(np.uint64(n_inverted), last + np.uint64(1)):
        column = np.uint64(x if j == last else members[j])
        of_pivot = 1.0 / (math.sqrt(family.left[x]) if j == last else factor[j, column])
        inverse[j, j] = of_pivot
        for i in range(j):
            total = 0.0
            for k in range(i, j):
                total += inverse[i, k] * factor[k, column]
            inverse[i, j] = -total * of_pivot
    for i in range(last):
        y = members[i]
        if regressions.must_be_parent[x, y]:
            continue
        squares = 0.0
        for j in range(i, last):
            squares += inverse[i, j] * inverse[i, j]
        of_child = 1.0 + inverse[i, last] * inverse[i, last] / squares
        if has_scores or of_child < least:
            least = of_child
            of_parents = family.log_det[0] + math.log(squares) - regressions.offsets[y]
            left = family.left[x] * of_child
            score = family_score(tables, n - 1, of_parents, left, regressions.offsets[x])
            if score > best or not has_scores:
                best = score
                chosen = np.int64(y)
    return best, chosen
