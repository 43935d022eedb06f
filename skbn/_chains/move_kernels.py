"""The move of a chain: new places for a few columns, drawn jointly and exactly given the rest.

The chosen columns are taken out; those that are left keep their layers, of which empty ones vanish.
Then a dynamic program goes from the first layer that is left to the last. Before the first one and
after each there is a gap, for layers of chosen columns alone. The last layer of what is placed so
far is one of two kinds: in the gap after layer i that was left (`_IN_GAP`), a set T of chosen
columns; or that layer i itself with the chosen columns T added (`_ADDED`). With i and S, all chosen
columns placed so far, it is a state of the program, since the weight of the next layer depends on
nothing else: each of its columns has parents among all that are placed, and one of them in the last
layer.

Weights are in units of ``exp(height)``, one for each i and S, as they differ by more than float64
can hold. When the program has ended, a path through its states is drawn from the last one back.

Sets of chosen columns are masks, of which bit a is the a-th of them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import float64, int64

from skbn._chains.partition_kernels import PARTITION, share_of_exponentials
from skbn._core.arrays import Floats, Integers
from skbn._core.compile import inlined_kernel, inner_kernel, kernel
from skbn._core.random_numbers import random_below, uniform

__all__ = ["move_related", "redraw_places"]

_IN_GAP, _ADDED = 0, 1
# Chosen columns are in no layer that is left.
_NOWHERE = 1 << 40
# A product of shares is turned into a logarithm before it is too small for float64.
_SMALL = 1e-150
# After so many columns that were chosen twice, any column is taken.
_MOST_TRIES = 50


class Chosen(NamedTuple):
    """The columns that are moved, and what their places weigh.

    Parameters
    ----------
    columns : ndarray of shape (width,), int64
    left : ndarray of shape (m,), int64
        The layers of the columns that are left, from 1 without gaps; `_NOWHERE` for chosen ones.
    n_left : int
        The number of these layers.
    bases : ndarray of shape (n_left + 1, width), int64
        At [i, a], which candidates of chosen column a are in the first i layers.
    spread : ndarray of shape (width, 2**width), int64
        At [a, S], which of them are in the set S of chosen columns.
    exponentials : ndarray of shape (n_left + 1, width, 2**width), float64
        At [i, a, S], the exponential of the sum over the sets of these, in a unit of a's own.
    """

    columns: Integers
    left: Integers
    n_left: int
    bases: Integers
    spread: Integers
    exponentials: Floats


class Scratch(NamedTuple):
    """Memory for numbers of sets of chosen columns."""

    subsets: Integers
    products: Floats
    of_families: Floats
    within: Floats
    beyond: Floats
    spread: Integers
    of_rest: Floats
    logs: Floats


@kernel(PARTITION, int64[::1], float64[:, ::1], float64[::1], int64, seconds=7.0)
def move_related(state, movable, related, shares_of_width, n_moves):
    """Make some moves; return False if one had no weight, which the state's own makes impossible.

    Parameters
    ----------
    state : Partition
    movable : ndarray of shape (n,), int64
        The columns that may be moved.
    related : ndarray of shape (m, m), float64
        Row x has cumulative weights of the columns that are moved together with x.
    shares_of_width : ndarray of shape (k,), float64
        Cumulative probabilities of moves of 1, ..., k columns.
    n_moves : int
    """
    columns = np.empty(shares_of_width.size, np.int64)
    for _ in range(n_moves):
        u = uniform(state.random, 0)
        width = 1
        while width < min(shares_of_width.size, movable.size) and u >= shares_of_width[width - 1]:
            width += 1
        _choose_related(state.random, movable, related, columns[:width])
        if not redraw_places(state, columns[:width]):
            return False
    return True


@inner_kernel
def _choose_related(random, movable, related, columns):
    """Choose a column, and others that are related to one of those chosen before.

    The choice does not depend on the partition: if it did, moves would not leave the posterior as
    it is.
    """
    columns[0] = movable[random_below(random, 0, movable.size)]
    n, tries = 1, 0
    while n < columns.size:
        tries += 1
        if tries > _MOST_TRIES:
            found = movable[random_below(random, 0, movable.size)]
        else:
            weights = related[columns[random_below(random, 0, n)]]
            u = uniform(random, 0) * weights[weights.size - 1]
            found = 0
            while found < weights.size - 1 and weights[found] <= u:
                found += 1
        if found not in columns[:n]:
            columns[n] = found
            n += 1


@inner_kernel
def redraw_places(state, columns):
    """Draw new layers of some columns, given those of all others; return False if none weighs."""
    chosen = _take_out(state, columns)
    n_sets = 1 << columns.size
    weights = np.full((chosen.n_left + 1, 2, n_sets, n_sets), -np.inf)
    following = np.zeros((chosen.n_left + 1, 2, n_sets, n_sets))
    in_logs = np.zeros(n_sets)
    scratch = Scratch(
        np.empty(n_sets, np.int64),
        np.empty(n_sets),
        np.empty(n_sets),
        np.empty(n_sets),
        np.empty(n_sets),
        np.empty(n_sets, np.int64),
        np.empty((2, n_sets)),
        np.empty((2, n_sets, n_sets)),
    )
    weights[0, _ADDED, 0, 0] = 0.0
    for i in range(chosen.n_left + 1):
        if i < chosen.n_left:
            _weigh_next_layer(state, chosen, i, following[i], in_logs, scratch)
        for placed in range(n_sets):
            height = _scale(weights[i], placed)
            if height > -np.inf:
                _place_next(
                    state, chosen, i, placed, height, in_logs, weights, following[i], scratch
                )
    return _draw_back(state, chosen, weights, following)


@inner_kernel
def _take_out(state, columns):
    """Return the chosen columns, and what their places weigh."""
    left, n_left = _layers_left(state, columns)
    n_sets = 1 << columns.size
    bases = np.empty((n_left + 1, columns.size), np.int64)
    spread = np.empty((columns.size, n_sets), np.int64)
    exponentials = np.empty((n_left + 1, columns.size, n_sets))
    for a in range(columns.size):
        x = columns[a]
        _spread_chosen(state, x, columns, spread[a])
        for i in range(n_left + 1):
            bases[i, a] = _candidates_up_to(state, x, left, i)
        unit = state.sums[x, bases[n_left, a] | spread[a, n_sets - 1]]
        for i in range(n_left + 1):
            for placed in range(n_sets):
                if not placed >> a & 1:
                    own = state.sums[x, bases[i, a] | spread[a, placed]]
                    exponentials[i, a, placed] = math.exp(own - unit)
    return Chosen(columns, left, n_left, bases, spread, exponentials)


@inner_kernel
def _layers_left(state, columns):
    """Return the layers of the columns that are left, without gaps, and their number."""
    left = state.layers.copy()
    for x in columns:
        left[x] = _NOWHERE
    number = np.zeros(state.n_layers[0] + 1, np.int64)
    for layer in left:
        if layer != _NOWHERE:
            number[layer] = 1
    n_left = 0
    for layer in range(1, number.size):
        if number[layer]:
            n_left += 1
            number[layer] = n_left
    for x in range(left.size):
        if left[x] != _NOWHERE:
            left[x] = number[left[x]]
    return left, n_left


@inlined_kernel
def _candidates_up_to(state, x, left, i):
    """Return the mask of a column's candidates in the first i layers that were left."""
    mask = 0
    for p in range(state.candidates.shape[1]):
        if left[state.candidates[x, p]] <= i:
            mask |= 1 << p
    return mask


@inlined_kernel
def _spread_chosen(state, x, columns, spread):
    """Set which candidates of a column are in each set of chosen columns."""
    spread[0] = 0
    size = 1
    for z in columns:
        place = state.places[x, z]
        bit = 1 << place if place >= 0 else 0
        for j in range(size):
            spread[size + j] = spread[j] | bit
        size *= 2


@inlined_kernel
def _share_after(state, chosen, a, i, kind, placed, last):
    """Return which share of a chosen column's parent sets meets the last layer of a state."""
    if kind == _ADDED and i == 0:  # nothing was placed before: it has no parents
        return 1.0
    rest = placed ^ last
    return share_of_exponentials(
        state,
        chosen.columns[a],
        chosen.bases[i, a] | chosen.spread[a, placed],
        chosen.bases[i - kind, a] | chosen.spread[a, rest],
        chosen.exponentials[i, a, placed],
        chosen.exponentials[i - kind, a, rest],
    )


@inlined_kernel
def _place_next(state, chosen, i, placed, height, in_logs, weights, following, scratch):
    """Add what the states with these columns placed weigh to the states that come next.

    The next layer has some of the other chosen columns, in a layer of their own or with the next
    one that was left.
    """
    subsets, of_families = scratch.subsets, scratch.of_families
    size = _sum_states(state, chosen, i, placed, weights, following, scratch)
    subsets[0], of_families[0] = 0, 0.0
    n = 1
    for a in range(chosen.columns.size):
        if not placed >> a & 1:
            own = state.sums[chosen.columns[a], chosen.bases[i, a] | chosen.spread[a, placed]]
            for j in range(n):
                subsets[n + j] = subsets[j] | 1 << a
                of_families[n + j] = of_families[j] + own
            n *= 2
    for j in range(size):
        new, high = subsets[j], height + of_families[j]
        if new and scratch.within[j] > 0:
            weights[i, _IN_GAP, placed | new, new] = high + math.log(scratch.within[j])
        if i < chosen.n_left and scratch.beyond[j] > 0:
            high += math.log(scratch.beyond[j]) + in_logs[placed]
            weights[i + 1, _ADDED, placed | new, new] = high


@inlined_kernel
def _sum_states(state, chosen, i, placed, weights, following, scratch):
    """Sum the states' weights times the shares of each set of chosen columns in the next layer.

    Return the number of these sets. `scratch.within` has the sums for a layer of chosen columns
    alone, `scratch.beyond` those with the next layer that was left.
    """
    width = chosen.columns.size
    products, within, beyond = scratch.products, scratch.within, scratch.beyond
    within[:] = 0.0
    beyond[:] = 0.0
    size = 1
    for kind in range(2):
        for last in range(placed + 1):
            weight = weights[i, kind, placed, last]
            if last & ~placed or not weight > 0:
                continue
            products[0] = weight
            size = 1
            for a in range(width):
                if not placed >> a & 1:
                    share = _share_after(state, chosen, a, i, kind, placed, last)
                    for j in range(size):
                        products[size + j] = products[j] * share
                    size *= 2
            after = following[kind, placed, last]
            for j in range(size):
                within[j] += products[j]
                beyond[j] += products[j] * after
    return size


@inlined_kernel
def _scale(weights, placed):
    """Turn the logarithms of the states with these columns placed into weights of at most 1.

    Return the logarithm of their unit, which is -inf if they have no weight.
    """
    height = -np.inf
    for kind in range(2):
        for last in range(placed + 1):
            height = max(height, weights[kind, placed, last])
    for kind in range(2):
        for last in range(placed + 1):
            log_weight = weights[kind, placed, last]
            weights[kind, placed, last] = 0.0
            if log_weight > -np.inf:
                weights[kind, placed, last] = math.exp(log_weight - height)
    return height


@inlined_kernel
def _weigh_next_layer(state, chosen, i, following, in_logs, scratch):
    """Weigh layer i + 1 of those that were left, after each state at i.

    The weight is ``following[kind, S, T] * exp(in_logs[S])``. Columns that have no chosen one among
    their candidates weigh the same after all states, unless these are in a gap: none is their
    parent there.
    """
    n_sets = 1 << chosen.columns.size
    is_small = False
    spread = scratch.spread
    scratch.logs[:] = 0.0
    in_logs[:] = 0.0
    following[:] = 1.0
    if i == 0:
        following[_ADDED, 1:] = 0.0
    for x in range(chosen.left.size):
        if chosen.left[x] != i + 1:
            continue
        _spread_chosen(state, x, chosen.columns, spread)
        if spread[n_sets - 1] == 0:
            following[_IN_GAP] = 0.0
        else:
            is_small |= _weigh_column(state, chosen, i, x, following, in_logs, scratch)
    if is_small:
        _scale_logs(following, scratch.logs, in_logs)


@inlined_kernel
def _weigh_column(state, chosen, i, x, following, in_logs, scratch):
    """Multiply by the weight of one column of this layer; return whether logarithms were taken."""
    spread, of_rest = scratch.spread, scratch.of_rest
    n_sets = spread.size
    base = _candidates_up_to(state, x, chosen.left, i)
    before = _candidates_up_to(state, x, chosen.left, i - 1)
    unit = state.sums[x, base | spread[n_sets - 1]]
    for placed in range(n_sets):
        of_placed = state.sums[x, base | spread[placed]]
        in_logs[placed] += of_placed
        of_rest[_IN_GAP, placed] = math.exp(of_placed - unit)
        of_rest[_ADDED, placed] = math.exp(state.sums[x, before | spread[placed]] - unit)
    is_small = False
    for kind in range(2):
        without = base if kind == _IN_GAP else before
        for placed in range(1 if kind == _ADDED and i == 0 else n_sets):
            for last in range(placed + 1):
                value = following[kind, placed, last]
                if last & ~placed or value == 0.0 or (kind == _ADDED and i == 0):
                    continue
                rest = placed ^ last
                value *= share_of_exponentials(
                    state,
                    x,
                    base | spread[placed],
                    without | spread[rest],
                    of_rest[_IN_GAP, placed],
                    of_rest[kind, rest],
                )
                if 0 < value < _SMALL:
                    scratch.logs[kind, placed, last] += math.log(value)
                    value = 1.0
                    is_small = True
                following[kind, placed, last] = value
    return is_small


@inner_kernel
def _scale_logs(following, logs, in_logs):
    """Join products with logarithms of what was too small for them, in one unit for each S."""
    for placed in range(in_logs.size):
        highest = -np.inf
        for kind in range(2):
            for last in range(placed + 1):
                value = following[kind, placed, last]
                if last & ~placed == 0 and value > 0:
                    logs[kind, placed, last] += math.log(value)
                    highest = max(highest, logs[kind, placed, last])
        for kind in range(2):
            for last in range(placed + 1):
                if following[kind, placed, last] > 0:
                    following[kind, placed, last] = math.exp(logs[kind, placed, last] - highest)
        in_logs[placed] += highest


@inner_kernel
def _draw_back(state, chosen, weights, following):
    """Draw a path through the states from the last one, and set the layers; False without one."""
    width = chosen.columns.size
    n_sets = 1 << width
    odds = np.zeros(2 * n_sets)
    most = width + chosen.n_left
    kinds, sets = np.empty(most, np.int64), np.empty(most, np.int64)
    i, placed, n_steps = chosen.n_left, n_sets - 1, 0
    odds[:n_sets] = weights[i, _IN_GAP, placed]
    odds[n_sets:] = weights[i, _ADDED, placed]
    while True:
        found = _draw(state.random, odds)
        if found < 0:
            return False
        kind, last = found // n_sets, found % n_sets
        if kind == _ADDED and i == 0:
            break
        kinds[n_steps], sets[n_steps] = kind, last
        n_steps += 1
        placed ^= last
        i -= kind
        _weigh_before(state, chosen, i, placed, kind, last, weights, following, odds)
    _set_layers(state, chosen, kinds[:n_steps], sets[:n_steps])
    return True


@inner_kernel
def _weigh_before(state, chosen, i, placed, next_kind, new, weights, following, odds):
    """Set the odds of the states at i with these columns placed, before a layer with `new` ones."""
    width = chosen.columns.size
    n_sets = 1 << width
    odds[:] = 0.0
    for kind in range(2):
        for last in range(placed + 1):
            weight = weights[i, kind, placed, last]
            if last & ~placed or not weight > 0:
                continue
            if next_kind == _ADDED:
                weight *= following[i, kind, placed, last]
            for a in range(width):
                if new >> a & 1:
                    weight *= _share_after(state, chosen, a, i, kind, placed, last)
            odds[kind * n_sets + last] = weight


@inner_kernel
def _set_layers(state, chosen, kinds, sets):
    """Set the numbers of layers, from the kinds of these and their chosen columns, last first."""
    new_layer = np.zeros(chosen.n_left + 1, np.int64)
    n, i = kinds.size, 0
    for layer in range(1, n + 1):
        if kinds[n - layer] == _ADDED:
            i += 1
            new_layer[i] = layer
        for a in range(chosen.columns.size):
            if sets[n - layer] >> a & 1:
                state.layers[chosen.columns[a]] = layer
    for x in range(chosen.left.size):
        if chosen.left[x] != _NOWHERE:
            state.layers[x] = new_layer[chosen.left[x]]
    state.n_layers[0] = n


@inner_kernel
def _draw(random, odds):
    """Draw the number of an entry by its odds; -1 if all are 0."""
    total = odds.sum()
    u = uniform(random, 0) * total
    found = -1
    for j in range(odds.size):
        if odds[j] > 0:
            found = j
            u -= odds[j]
            if u < 0:
                break
    return found
