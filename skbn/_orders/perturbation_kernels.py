"""Kernels that draw how an order is perturbed, and which losses are accepted, in both phases."""

import math

import numpy as np

from skbn._core.compile import inner_kernel, pasted_kernel
from skbn._core.random_numbers import random_below, uniform

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


@inner_kernel
def draw_surroundings(order, position, first, random, i):
    """Draw which columns a perturbation moves; generator i of `random` is used.

    Returns `n_insertions`; `centre`: a column; `low`, `high`: columns from position `low` to before
    `high` are moved; or, if there are none between, the columns that are related to the centre.
    """
    m = order.size
    centre = order[first + random_below(random, i, m - first)]
    n_insertions = 1 + random_below(random, i, np.int64(_MOST_INSERTIONS))
    low, high = first, m
    if uniform(random, i) < _SHARE_OF_RELATED:
        high = first
    elif uniform(random, i) < _SHARE_OF_NEAR and m - first > _REACH:
        low = position[centre] - _REACH // 2
        low = first if low < first else low
        low = m - _REACH if low > m - _REACH else low
        high = low + _REACH
    return n_insertions, centre, low, high


@inner_kernel
def draw_move(
    order,
    position,
    marked,
    is_marked,
    first,
    is_insertion,
    surroundings,
    related,
    n_related,
    random,
    i,
):
    """Return a column, and another position for it if it is inserted elsewhere.

    Otherwise it is a marked column, which is unmarked, and its own position. Related columns end
    beside each other, mostly.

    `surroundings`: a column, and the positions of those to move, as `draw_surroundings` returns
        them
    `related`: its first `n_related` items are the columns that are related to that column
    """
    centre, low, high = surroundings
    if not is_insertion:
        j = 1 + random_below(random, i, marked[0])
        x = marked[j]
        marked[j] = marked[marked[0]]
        marked[0] -= 1
        is_marked[x] = False
        return x, position[x]
    is_related = low >= high
    j = random_below(random, i, n_related + 1 if is_related else high - low)
    if not is_related:
        x = order[low + j]
    else:
        x = centre if j == n_related else np.int64(related[j])
        low, high = first, order.size
        if n_related > 0 and uniform(random, i) < _SHARE_OF_NEAR:
            y = related[random_below(random, i, n_related)]
            return x, position[y] if position[y] > first else first
    return x, low + random_below(random, i, high - low)


@pasted_kernel
def direction(position, first, x, look, target):
    """Return the step of a look, and where it ends.

    The first look is towards the front, the second one towards the end, and the third one moves x
    to the target.
    """
    is_forward = look == 0 or (look == 2 and target < position[x])
    last = first if look == 0 else position.size - 1
    return -1 if is_forward else 1, target if look == 2 else last


@pasted_kernel
def draw_loss(random, i):
    """Draw the largest loss that is accepted, as a negative number."""
    return _MEAN_LOSS * math.log(1.0 - uniform(random, i))
