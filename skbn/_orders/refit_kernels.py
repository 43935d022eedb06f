"""Kernels that refit the parents of one column: they add and delete until nothing gains."""

import math

import numpy as np

from skbn._core.compile import inlined_kernel, inner_kernel, pasted_kernel
from skbn._orders.regression_kernels import (
    LEAST_PIVOT,
    add_parent,
    explains_most,
    family_score,
    own_score,
    remove_parent,
    score_with,
)


@inner_kernel
def refit(regressions, family, n, x, y, max_parents, least):
    """Add or delete y; then add and delete open parents of x while that raises the score.

    `y`: -1 for none. It is not added if rounding would decide the score.
    `least`: the score must rise by more than this

    Returns the number n of parents, which are ``family.members[:n]``, and the score.
    """
    left = family.left
    if y >= 0 and left[y] < LEAST_PIVOT:
        y = np.int64(-1)
    score = own_score(regressions, family, n, x)
    before, n_before, is_growing = -np.inf, np.int64(-1), True
    n_inverted = np.int64(0)
    while True:
        if y < 0:
            enough = score + least
            if is_growing:
                y = _best_addition(regressions, family, n, max_parents, x, enough)
                better = score_with(regressions, family, n, x, y) if y >= 0 else -np.inf
            else:
                better, y = _best_deletion(regressions, family, n, x, n_inverted)
                n_inverted = n
            if not better > enough:
                # Neither additions nor deletions gain any more, or only by rounding: computed anew,
                # a score may have lost what seemed to be gained.
                if n == n_before or not (is_growing or score > before + least):
                    return n, score
                if not is_growing:
                    before = score
                n_before, is_growing, y = n, not is_growing, np.int64(-1)
                continue
        if left[y] == np.inf:
            t = np.int64(0)
            while family.members[t] != y:
                t += 1
            n = remove_parent(regressions, family, n, x, t)
            n_inverted = min(n_inverted, t)
        else:
            add_parent(regressions, family, n, x, y)
            n += 1
        y, score = np.int64(-1), own_score(regressions, family, n, x)


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
        least = max(0.0, left_of_child - math.exp(log_left))
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
    """Return the open column that raises the score most, if above `enough`; or else -1."""
    left, is_open, offset = family.left, family.is_open, regressions.offsets[x]
    to_explain = least_explained(regressions.tables, n, max_parents, left[x], offset, enough)
    if to_explain >= 0.0:
        chosen = explains_most(left, family.shared, is_open, to_explain)
    else:
        best, chosen = -np.inf, np.int64(-1)
        for y in range(is_open.size):
            if is_open[y] and left[y] < np.inf:
                score = score_with(regressions, family, n, x, y)
                if score > best:
                    best, chosen = score, np.int64(y)
    return chosen


@pasted_kernel
def _best_deletion(regressions, family, n, x, n_inverted):
    """Return the highest score with one parent fewer, and the parent to delete for it.

    Without parent i, the determinant of the others is that of all times entry (i, i) of the
    inverse of their products, which is a sum of squares of the inverse of the triangular factor.
    The first `n_inverted` columns of that are known.
    """
    best = -np.inf
    chosen = np.int64(-1)
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
