"""Kernels that move columns within an order, with families refitted on the fly."""

import numpy as np
from numba import float64, int64, uint64

from skbn._core.arrays import NO, NONE, YES, ZERO
from skbn._core.compile import inner_kernel, kernel, pasted_kernel
from skbn._orders.perturbation_kernels import direction, draw_loss, draw_move, draw_surroundings
from skbn._orders.placement_kernels import FITTING, KEPT, PLACEMENT, fit
from skbn._orders.refit_kernels import gains_by, least_explained, refit


@pasted_kernel
def _sum_of_gains(order, gains, begin, end):
    """Return what columns at some positions gain, each by itself."""
    hope = 0.0
    for k in range(begin, end):
        if gains[order[k]] < np.inf:
            hope += gains[order[k]]
    return hope


@pasted_kernel
def _walk(fitting, placement, kept, x, step, end, best, is_final):
    """Walk x past others to the front (with step -1) or the end (1), up to position `end`.

    To the front, x loses parents, and what it passes gains x: by about `hope` at most. To the end,
    x gains parents, up to its top score, and its children lose it. It stops in front of columns
    that it must not pass.

    `best`: the gain to surpass
    `is_final`: whether x and the others get the families that the walk leads to. Otherwise it ends
        where no position gains more.

    Returns `best`; `target`: the position that gains this much; where x is, if none gains more.
    """
    regressions, family = fitting.regressions, fitting.family
    is_open = family.is_open
    may_be_parent, must_be_parent = regressions.may_be_parent, regressions.must_be_parent
    left, is_required = family.left, fitting.is_required[x]
    max_parents, least = fitting.max_parents, fitting.least
    tables, offset = regressions.tables, regressions.offsets[x]
    order, position, gains = placement.order, placement.position, placement.gains[x]
    scores, tops = placement.scores, placement.tops
    target = k = position[x]
    hope = _sum_of_gains(order, gains, fitting.first, k)
    n, _ = fit(fitting.fit, fitting, placement, kept, family, NONE, x, NONE, k, np.inf, NO)
    gain, now, before, to_explain = 0.0, scores[x], -np.inf, 0.0
    while k != end:
        z = order[k + step]
        is_stopped = must_be_parent[x, z] if step < 0 else is_required and must_be_parent[z, x]
        ahead = hope if step < 0 else tops[x] - now
        if is_stopped or not (is_final or gain + ahead > best):
            break
        k += step
        if now != before:
            to_explain = least_explained(tables, n, max_parents, left[x], offset, now + least)
        before = now
        is_open[z] = step > 0 and may_be_parent[x, z]
        is_gain = is_open[z] and gains_by(regressions, family, n, x, z, to_explain, now + least)
        if is_gain or left[z] == np.inf:
            n, now = refit(family.refit, regressions, family, n, x, z, NO, max_parents, least)
            tops[x] = now if now > tops[x] else tops[x]
            gain += now - before
        if (gains[z] == np.inf) if step > 0 else (0.0 < gains[z] < np.inf):
            before_z = scores[z]
            hope -= gains[z]  # only counts towards the front
            _, score = fit(
                *(fitting.fit, fitting, placement, kept, fitting.other),
                *(NONE, z, x, position[z], least, is_final),
            )
            gain += score - before_z
        if is_final:
            order[k - step], position[z] = z, k - step
            order[k], position[x] = x, k
        if gain > best:
            best, target = gain, k
    if is_final:
        fit(fitting.fit, fitting, placement, kept, family, n, x, NONE, k, np.inf, is_final)
    return best, target


@pasted_kernel
def _list_related(fitting, placement, centre):
    """List the columns that the family of `centre` has or gains by, and vice versa."""
    n_related, gains = ZERO, placement.gains
    for z in range(placement.order.size):
        if gains[centre, z] > 0.0 or placement.has_gain[centre, z]:
            fitting.related[n_related] = z
            n_related += 1
    return n_related


@pasted_kernel
def _sum_of(scores):
    """Return the sum of all scores."""
    total = 0.0
    for x in range(scores.size):
        total += scores[x]
    return total


@pasted_kernel
def _list_greedily(fitting, placement, kept, n_waiting, step):
    """List the columns of one of the 3 m steps that lead to a greedy order, and to its families.

    The families begin with the required parents. Then columns are placed one after another: those
    that the order has already, as far as their required parents precede them; or else the one of
    which its family among the placed columns leaves least. A column that is placed becomes a
    parent of those to come that gain by it. In the end the highest score of each column is sought,
    with all others in front of it.

    Returns the column that is placed; -1 for none.
    """
    order, position, gains = placement.order, placement.position, placement.gains
    changed, m = kept.changed, order.size
    x = np.int64(step % m)
    changed[0] = 1
    if m <= step < 2 * m:
        k, x = x, order[x]
        if x < 0 or n_waiting[x] > 0 or position[x] < m:
            x = _next_column(placement, n_waiting)
        order[k], position[x] = x, k
        for y in range(m):
            if fitting.is_required[x]:
                n_waiting[y] -= fitting.regressions.must_be_parent[y, x]
            if position[y] == m and 0.0 < gains[x, y] < np.inf:
                changed[0] += 1
                changed[changed[0]] = y
    changed[1] = x
    return x if m <= step < 2 * m else NONE


@inner_kernel
def _next_column(placement, n_waiting):
    """Return the column of which its family leaves least, of those that can be placed next."""
    chosen, least = NONE, np.inf
    for x in range(placement.order.size):
        is_next = placement.position[x] == placement.order.size and n_waiting[x] == 0
        if is_next and (chosen < 0 or placement.left[x] < least):
            chosen, least = np.int64(x), placement.left[x]
    return chosen


@pasted_kernel
def _refit_changed(fitting, placement, kept, n_waiting, step):
    """Refit the columns of a greedy step; after these, give the changed ones the families kept."""
    other, tops, m = fitting.other, placement.tops, placement.order.size
    is_refitted, is_top, placed = m <= step < 3 * m, 2 * m <= step < 3 * m, NONE
    if step < 3 * m:
        placed = _list_greedily(fitting, placement, kept, n_waiting, step)
    for j in range(1, kept.changed[0] + 1):
        z, n, least = kept.changed[j], NONE, fitting.least
        if not is_refitted:
            n, least = kept.n_parents[z], np.inf
            for t in range(n):
                other.members[t] = kept.parents[z, t]
        is_placed = z == placed
        is_final = not (is_top or is_placed)
        y = NONE if is_placed else placed
        n, score = fit(fitting.fit, fitting, placement, kept, other, n, z, y, m, least, is_final)
        if is_refitted and score > tops[z]:
            tops[z] = score
        if is_placed:
            fit(fitting.fit, fitting, placement, kept, other, n, z, NONE, m, np.inf, YES)


@pasted_kernel
def _keep_order(placement, kept, is_back):
    """Begin to keep what changes; or go back to the order that was kept, with nothing marked."""
    for j in range(1, kept.changed[0] + 1):
        kept.is_changed[kept.changed[j]] = False
    kept.changed[0] = 0
    for k in range(placement.order.size):
        if is_back:
            placement.order[k] = kept.order[k]
            placement.position[kept.order[k]] = k
            placement.is_marked[k] = False
            placement.marked[0] = 0
        kept.order[k] = placement.order[k]


@kernel(
    *(FITTING, PLACEMENT, KEPT, int64[::1], int64, int64),
    *(float64[::1], int64, uint64[::1], int64),
    seconds=1.9,
)
def place_and_perturb(fitting, placement, kept, n_waiting, begin, end, totals, most, random, i):
    """Place columns and climb; then perturb, climb again, and keep what is not much worse.

    To climb is to move marked columns, one at a time, to where each gains most. To perturb is to
    insert a few columns elsewhere. Rounding may make a loss look like a gain, and moves mark
    columns again: `most` ends that.

    `n_waiting`: (m,), how many required parents of each column are not placed
    `begin`, `end`: which steps to make. The first 3 m ones place columns. The next one climbs, and
        all further ones perturb, except for the last one, which goes back if the one before it has
        lost too much.
    `totals`: (2,), the scores of the order at which the search is now, and of the best one
    `most`: the largest number of columns to try to move. If it ends the first climb, columns are
        still marked.

    Returns `n_done`: how many perturbations there were. It ends after the first better order.
    """
    order, position, first = placement.order, placement.position, fitting.first
    m, is_back, t = order.size, False, ZERO
    # One loop does all, since what it calls takes seconds to compile.
    for step in range(begin, end):
        t = step - 3 * m
        if t < 0 or is_back:
            _refit_changed(fitting, placement, kept, n_waiting, step)
        if t < 0:
            continue
        n_insertions = n_related = centre = low = high = ZERO
        if t > 0:
            _keep_order(placement, kept, is_back)
            if step == end - 1 or most == 0:
                break
            n_insertions, centre, low, high = draw_surroundings(order, position, first, random, i)
            n_related = _list_related(fitting, placement, centre)
        while n_insertions > 0 or (placement.marked[0] > 0 and most > 0):
            best, is_insertion = fitting.least, n_insertions > 0
            n_insertions -= is_insertion
            most -= not is_insertion
            x, target = draw_move(
                *(order, position, placement.marked, placement.is_marked, first),
                *(is_insertion, (centre, low, high), fitting.related, n_related, random, i),
            )
            # It looks towards the front, then towards the end, and then moves.
            for look in range(2 if is_insertion else 0, 3 if position[x] >= first else 0):
                way, last = direction(position, first, x, look, target)
                if last != position[x]:
                    best, found = _walk(fitting, placement, kept, x, way, last, best, look == 2)
                    target = found if look < 2 and found != position[x] else target
        total = _sum_of(placement.scores)
        is_back = t > 0 and total < totals[0] + draw_loss(random, i)
        totals[0] = totals[0] if is_back else total
        if not is_back and total > totals[1] + fitting.least:
            totals[1] = total
            return t
    return t - 1
