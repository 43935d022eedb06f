"""Kernels that refit the parents of one column: they add and delete until nothing gains."""

import math

import numpy as np

from skbn._core.compile import inner_kernel, pasted_kernel
from skbn._orders.regression_kernels import (
    add_parent,
    explains_most,
    family_score,
    own_score,
    remove_parent,
    score_with,
)


@inner_kernel
def refit(regressions, family, n, x, is_open, max_parents, least):
    """Add and delete open parents of x while that raises the score by more than `least`.

    Returns
    -------
    n : int
        The number of parents; they are the first so many members.
    score : float
    """
    score = own_score(regressions, family, n, x)
    while True:
        before = score
        while True:
            better, y = _best_addition(
                regressions, family, n, max_parents, x, is_open, score + least
            )
            if not better > score + least:
                break
            add_parent(regressions, family, n, x, y)
            n += 1
            score = better
        while n > 0:
            better, y = _best_deletion(regressions, family, n, x)
            if not better > score + least:
                break
            n = remove_parent(regressions, family, n, x, y)
            score = own_score(regressions, family, n, x)
        # Computed anew, a score may have lost what seemed to be gained. So rounds go on only while
        # it rises, which finitely many families and steps of `least` bound.
        if not score > before + least:
            return n, score


@pasted_kernel
def least_explained(regressions, family, n, max_parents, x, score):
    """Return what a further parent of x must explain of it to raise the score above this one.

    -1 if the score does not depend on that alone; infinite if there may be no further parent.
    """
    tables, least = regressions.tables, -1.0
    if n >= max_parents:
        least = np.inf
    elif tables[1, n + 1] + tables[2, n + 1] == 0.0 and tables[2, n + 1] < 0.0:
        log_left = (score - tables[0, n + 1]) / tables[2, n + 1] - regressions.offsets[x]
        least = max(0.0, family.left[x] - math.exp(log_left))
    return least


@pasted_kernel
def _best_addition(regressions, family, n, max_parents, x, is_open, enough):
    """Return the highest score with one more parent, if it is above `enough`, and this parent."""
    least = least_explained(regressions, family, n, max_parents, x, enough)
    best = -np.inf
    chosen = -1
    if least >= 0.0:
        chosen = explains_most(family, is_open, least)
        if chosen >= 0:
            best = score_with(regressions, family, n, x, chosen)
        return best, chosen
    for y in range(is_open.size):
        if is_open[y] and family.left[y] < np.inf:
            score = score_with(regressions, family, n, x, y)
            if score > best:
                best = score
                chosen = y
    return best, chosen


@pasted_kernel
def _best_deletion(regressions, family, n, x):
    """Return the highest score with one parent fewer, and this parent.

    Without parent i, the determinant of the others is that of all times entry (i, i) of the
    inverse of their products, which is a sum of squares of the inverse of the triangular factor.
    """
    best = -np.inf
    chosen = -1
    inverse = family.inverse
    tables = regressions.tables
    # Otherwise the parent chosen is the one without which least is left of the child.
    has_scores = tables[1, n - 1] + tables[2, n - 1] != 0.0 or tables[2, n - 1] >= 0.0
    least = np.inf
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
    for i in range(n):
        y = family.members[i]
        if regressions.must_be_parent[x, y]:
            continue
        squares = 0.0
        for j in range(i, n):
            squares += inverse[i, j] * inverse[i, j]
        of_child = 1.0 + inverse[i, n] * inverse[i, n] / squares
        if has_scores or of_child < least:
            least = of_child
            of_parents = family.log_det[0] + math.log(squares) - regressions.offsets[y]
            left = family.left[x] * of_child
            score = family_score(tables, n - 1, of_parents, left, regressions.offsets[x])
            if score > best or not has_scores:
                best = score
                chosen = y
    return best, chosen
