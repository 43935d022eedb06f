"""The move of a chain: new places for a few columns, drawn jointly and exactly given the rest.

The chosen columns are taken out; those that are left keep their layers, of which empty ones vanish.
Then a dynamic program goes from the first layer that is left to the last. Before the first one and
after each there is a gap, for layers of chosen columns alone. The last layer of what is placed so
far is one of two kinds: in the gap after layer i that was left (`IN_GAP`), a set T of chosen
columns; or that layer i itself with the chosen columns T added (`ADDED`). With i and S, all chosen
columns placed so far, it is a state of the program, since the weight of the next layer depends on
nothing else: each of its columns has parents among all that are placed, and one of them in the last
layer.

Weights are float64 times powers of ``exp(64)``, the same one for each i and S, as they differ by
more than float64 can hold. When the program has ended, a path through its states is drawn from the
last one back.

Sets of chosen columns are masks, of which bit a is the a-th of them.
"""

import numpy as np
from numba import float64, int64

from skbn._chains.partition_kernels import PARTITION
from skbn._chains.place_kernels import (
    ADDED,
    IN_GAP,
    NOWHERE,
    Layer,
    Scratch,
    less_by,
    normalised,
    share_after,
    take_out,
    weigh_next_layer,
)
from skbn._core.compile import inlined_kernel, inner_kernel, kernel, pasted_kernel
from skbn._core.random_numbers import random_below, uniform
from skbn._core.subsets import popcount

# When this many draws gave a column that was chosen already, take any column.
_MOST_TRIES = 50


@kernel(PARTITION, int64[::1], float64[:, ::1], float64[::1], int64, seconds=6.0)
def move_related(state, movable, related, shares_of_width, n_moves):
    """Make some moves; return how many of them drew new places.

    A move may find no path: where a chain begins, the only paths that can go on may weigh so little
    beside dead ends that float64 loses them. It then leaves all columns where they are. Whether
    that happens depends only on the columns that it does not move, so that the posterior stays as
    it is.

    `movable`: (n,), the columns that may be moved
    `related`: (m, m), row x has cumulative weights of the columns that are moved together with x
    `shares_of_width`: (k,), cumulative probabilities of moves of 1, ..., k columns
    """
    columns = np.empty(shares_of_width.size, np.int64)
    n_drawn = 0
    for _ in range(n_moves):
        width = draw_width(state.random, movable, shares_of_width)
        choose_related(state.random, movable, related, columns[:width])
        n_drawn += _redraw_places(state, columns[:width])
    return n_drawn


@inner_kernel
def draw_width(random, movable, shares_of_width):
    """Draw how many columns are chosen."""
    u = uniform(random, 0)
    width = 1
    while width < min(shares_of_width.size, movable.size) and u >= shares_of_width[width - 1]:
        width += 1
    return width


@inner_kernel
def choose_related(random, movable, related, columns):
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
        k = 0
        while k < n and columns[k] != found:
            k += 1
        columns[k] = found
        n = max(n, k + 1)


@pasted_kernel
def _redraw_places(state, columns):
    """Draw new layers of some columns, given those of all others; return False without a path."""
    chosen = take_out(state, columns)
    n_sets = 1 << columns.size
    shape = (chosen.n_left + 1, 2, n_sets, n_sets)
    weights, powers = np.zeros(shape), np.empty(shape, np.int64)
    following = np.empty(shape)  # not used after the last layer, nor is `layer`
    layer = Layer(np.empty(n_sets), np.empty(n_sets, np.int64))
    scratch = Scratch(
        np.empty(columns.size, np.int64),
        np.empty(n_sets, np.int64),
        np.empty(n_sets),
        np.empty(columns.size),
        np.empty(n_sets),
        np.empty(n_sets, np.int64),
        np.empty(n_sets),
        np.empty(n_sets),
        np.empty(n_sets, np.int64),
        np.empty(n_sets),
        np.empty((2, n_sets)),
        np.empty((2, n_sets, n_sets)),
    )
    weights[0, ADDED, 0, 0], powers[0, ADDED, 0, 0] = 1.0, 0
    for i in range(chosen.n_left + 1):
        if i < chosen.n_left:
            weigh_next_layer(state, chosen, i, following[i], layer, scratch)
        for placed in range(n_sets):
            power, is_any = _join_powers(weights[i], powers[i], placed)
            if is_any:
                _place_next(
                    state, chosen, i, placed, power, layer, weights, powers, following[i], scratch
                )
    return _draw_back(state, chosen, weights, following)


@inlined_kernel
def _place_next(state, chosen, i, placed, power, layer, weights, powers, following, scratch):
    """Set the weights of the states that come next after those with these columns placed.

    The next layer has some of the other chosen columns, in a layer of their own or with the next
    one that was left.
    """
    subsets, values, own_powers = scratch.subsets, scratch.values, scratch.powers
    free = 0
    for a in range(chosen.columns.size):
        if not placed >> a & 1:
            scratch.free[free] = a
            free += 1
    _sum_states(state, chosen, i, placed, scratch.free[:free], weights, following, scratch)
    subsets[0], values[0], own_powers[0] = 0, 1.0, power
    for j in range(1 << free):
        if j:
            a = scratch.free[_lowest(j)]
            others = j & (j - 1)
            subsets[j] = subsets[others] | 1 << a
            values[j] = values[others] * chosen.values[i, a, placed]
            own_powers[j] = own_powers[others] + chosen.powers[i, a, placed]
        new = subsets[j]
        value = values[j] * scratch.within[j]
        if new and value > 0:
            found = normalised(value, own_powers[j])
            weights[i, IN_GAP, placed | new, new], powers[i, IN_GAP, placed | new, new] = found
        value = values[j] * scratch.beyond[j] * layer.values[placed]
        if i < chosen.n_left and value > 0:
            found = normalised(value, own_powers[j] + layer.powers[placed])
            weights[i + 1, ADDED, placed | new, new] = found[0]
            powers[i + 1, ADDED, placed | new, new] = found[1]


@inlined_kernel
def _lowest(mask):
    """Return the number of the lowest bit of a mask."""
    return popcount(~mask & (mask - 1))


@inlined_kernel
def _sum_states(state, chosen, i, placed, free, weights, following, scratch):
    """Sum the states' weights times the shares of each set of chosen columns in the next layer.

    `free` has the columns that are not placed, and sets are masks of these. `scratch.within` has
    the sums for a layer of chosen columns alone, `scratch.beyond` those with the next layer that
    was left.
    """
    products, shares = scratch.products, scratch.shares
    within, beyond = scratch.within, scratch.beyond
    within[:] = 0.0
    beyond[:] = 0.0
    for kind in range(2):
        last = placed
        while True:
            weight = weights[i, kind, placed, last]
            if weight > 0:
                for k in range(free.size):
                    shares[k] = share_after(state, chosen, free[k], i, kind, placed, last)
                after = following[kind, placed, last]
                for j in range(1 << free.size):
                    product = products[j & (j - 1)] * shares[_lowest(j)] if j else weight
                    products[j] = product
                    within[j] += product
                    beyond[j] += product * after
            if last == 0:
                break
            last = (last - 1) & placed


@inlined_kernel
def _join_powers(weights, powers, placed):
    """Give the states with these columns placed one power; return it, and if any has a weight."""
    highest, is_any = 0, False
    for kind in range(2):
        last = placed
        while True:
            if weights[kind, placed, last] > 0:
                power = powers[kind, placed, last]
                highest = max(highest, power) if is_any else power
                is_any = True
            if last == 0:
                break
            last = (last - 1) & placed
    for kind in range(2):
        last = placed
        while True:
            if weights[kind, placed, last] > 0:
                weights[kind, placed, last] *= less_by(highest - powers[kind, placed, last])
            if last == 0:
                break
            last = (last - 1) & placed
    return highest, is_any


@inner_kernel
def _draw_back(state, chosen, weights, following):
    """Draw a path through the states from the last one, and set the layers; False without one."""
    width = chosen.columns.size
    n_sets = 1 << width
    odds = np.empty(2 * n_sets)
    most = width + chosen.n_left
    kinds, sets = np.empty(most, np.int64), np.empty(most, np.int64)
    i, placed, n_steps = chosen.n_left, n_sets - 1, 0
    for k in range(n_sets):
        odds[k] = weights[i, IN_GAP, placed, k]
        odds[n_sets + k] = weights[i, ADDED, placed, k]
    while True:
        found = _draw(state.random, odds)
        if found < 0:
            return False
        kind, last = found // n_sets, found % n_sets
        if kind == ADDED and i == 0:
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
    for k in range(odds.size):
        odds[k] = 0.0
    for kind in range(2):
        for last in range(placed + 1):
            weight = weights[i, kind, placed, last]
            if last & ~placed or not weight > 0:
                continue
            if next_kind == ADDED:
                weight *= following[i, kind, placed, last]
            for a in range(width):
                if new >> a & 1:
                    weight *= share_after(state, chosen, a, i, kind, placed, last)
            odds[kind * n_sets + last] = weight


@inner_kernel
def _set_layers(state, chosen, kinds, sets):
    """Set the numbers of layers, from the kinds of these and their chosen columns, last first."""
    new_layer = np.empty(chosen.n_left + 1, np.int64)
    n, i = kinds.size, 0
    for layer in range(1, n + 1):
        if kinds[n - layer] == ADDED:
            i += 1
            new_layer[i] = layer
        for a in range(chosen.columns.size):
            if sets[n - layer] >> a & 1:
                state.layers[chosen.columns[a]] = layer
    for x in range(chosen.left.size):
        if chosen.left[x] != NOWHERE:
            state.layers[x] = new_layer[chosen.left[x]]
    state.n_layers[0] = n


@inner_kernel
def _draw(random, odds):
    """Draw the number of an entry by its odds; -1 if all are 0."""
    total = 0.0
    for j in range(odds.size):
        total += odds[j]
    u = uniform(random, 0) * total
    found = -1
    for j in range(odds.size):
        if odds[j] > 0:
            found = j
            u -= odds[j]
            if u < 0:
                break
    return found
