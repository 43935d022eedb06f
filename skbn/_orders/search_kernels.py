"""Kernels of the iterated local search among orders."""

from typing import NamedTuple

import numpy as np
from numba import boolean, float64, int64, uint64

from skbn._core.arrays import F1, I1, NONE, ZERO
from skbn._core.compile import inner_kernel, kernel, pasted_kernel, tuple_type
from skbn._core.random_numbers import uniform
from skbn._orders.insertion_kernels import LIMITS, STATE, State, flip, walk
from skbn._orders.list_kernels import LISTS, first_fit
from skbn._orders.perturbation_kernels import direction, draw_loss, draw_move, draw_surroundings


class Best(NamedTuple):
    """What a search from one start keeps."""

    kept: State  # the order that perturbations begin with; its marks are not used
    order: I1  # (m,): the best order found
    totals: F1  # (2,): the scores of both


BEST = tuple_type(Best)


@kernel(LISTS, STATE, int64, float64, boolean, uint64[::1], int64)
def order_greedily(lists, state, first, missing, is_random, random, i):
    """Order columns so that each has a listed family, if any order does that.

    Next is the column whose family among those that it has placed loses least against its best
    one. Columns without a family wait until they have one. Columns that wait for each other in the
    end have none in any order, since the first of them has none.

    `first`: the columns before this position stay: they have families without parents
    `missing`: the score where no listed family fits
    `is_random`: whether losses are multiplied by random numbers
    """
    m = state.order.size
    losses = np.empty(m)
    for y in range(m):
        state.position[y] = m
        for word in range(state.available.shape[1]):
            state.available[y, word] = 0
        family = first_fit(lists, lists.starts[y], state.available, y)
        losses[y] = _loss(lists, y, family, missing)
    is_possible = True
    for k in range(m):
        x = np.int64(k)
        if k >= first:
            x = NONE
            least = np.inf
            for y in range(m):
                if state.position[y] == m:
                    loss = losses[y] * uniform(random, i) if is_random else losses[y]
                    if x < 0 or loss < least:
                        x = np.int64(y)
                        least = loss
            is_possible &= losses[x] < np.inf
        state.order[k] = x
        state.position[x] = k
        for y in range(m):
            bit = np.int64(lists.bits_in[x, y])
            if bit >= 0 and state.position[y] == m:
                flip(state.available, y, bit)
                family = first_fit(lists, lists.starts[y], state.available, y)
                losses[y] = _loss(lists, y, family, missing)
    return is_possible


@inner_kernel
def _loss(lists, x, family, missing):
    """Return by how much a family of x is below the best one; infinity if it is missing."""
    score = lists.scores[family]
    return lists.scores[lists.starts[x]] - score if score > missing else np.inf


@kernel(LISTS, STATE, BEST, LIMITS, int64, int64, uint64[::1], int64, seconds=1.2)
def climb_and_perturb(lists, state, best, limits, n, most, random, i):
    """Insert marked columns; then perturb, climb again, and keep what is not much worse.

    To climb is to move marked columns, one at a time, to where each gains most. Rounding may make a
    loss look like a gain, and moves mark columns again: `most` ends that.

    `best`: the best order and the scores are updated
    `n`: how often to perturb
    `most`: the largest number of columns to try to insert, after which no more is perturbed. If it
        ends the first climb, columns are still marked.
    """
    order, position, first = state.order, state.position, limits.first
    for t in range(n + 1):
        n_insertions = centre = low = high = ZERO
        if t > 0:
            if most == 0:
                break
            n_insertions, centre, low, high = draw_surroundings(order, position, first, random, i)
        related, around = lists.columns[centre], (centre, low, high)
        n_related = _number_of(related)
        while n_insertions > 0 or (state.marked[0] > 0 and most > 0):
            is_insertion = n_insertions > 0
            n_insertions -= is_insertion
            most -= not is_insertion
            x, target = draw_move(
                *(order, position, state.marked, state.is_marked, first),
                *(is_insertion, around, related, n_related, random, i),
            )
            gain = limits.least
            for look in range(2 if is_insertion else 0, 3 if position[x] >= first else 0):
                way, last = direction(position, first, x, look, target)
                if last != position[x]:
                    gain, found = walk(lists, state, first, x, way, last, gain, look == 2)
                    target = found if look < 2 and found != position[x] else target
        total = _total_score(lists, state)
        is_kept = t == 0 or total >= best.totals[0] + draw_loss(random, i)
        if is_kept:
            best.totals[0] = total
            if total > best.totals[1] + limits.least:
                best.totals[1] = total
                for k in range(order.size):
                    best.order[k] = order[k]
        _copy(state if is_kept else best.kept, best.kept if is_kept else state)


@pasted_kernel
def _total_score(lists, state):
    """Return the sum of the scores of the chosen families."""
    total = 0.0
    for x in range(state.chosen.size):
        total += lists.scores[state.chosen[x]]
    return total


@pasted_kernel
def _number_of(columns):
    """Return how many columns a row has that ends with -1 or with its last item."""
    n = ZERO
    while n < columns.size and columns[n] >= 0:
        n += 1
    return n


@pasted_kernel
def _copy(source, target):
    """Copy the order and what follows from it, but no marks."""
    # Loops: to assign whole arrays, numba also compiles the text of an error about their shapes.
    for x in range(source.order.size):
        target.order[x] = source.order[x]
        target.position[x] = source.position[x]
        target.chosen[x] = source.chosen[x]
        for word in range(source.available.shape[1]):
            target.available[x, word] = source.available[x, word]
