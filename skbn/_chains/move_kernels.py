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

from numba import float64, int64

from skbn._chains.partition_kernels import PARTITION
from skbn._chains.place_kernels import (
    ADDED,
    MOVES,
    NOWHERE,
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


@kernel(PARTITION, int64[::1], float64[:, ::1], float64[::1], int64, MOVES, seconds=4.4)
def move_related(state, movable, related, shares_of_width, n_moves, moves):
    """Make some moves; return how many of them drew new places.

    A move may find no path: where a chain begins, the only paths that can go on may weigh so little
    beside dead ends that float64 loses them. It then leaves all columns where they are. Whether
    that happens depends only on the columns that it does not move, so that the posterior stays as
    it is.

    `movable`: (n,), the columns that may be moved
    `related`: (m, m), row x has cumulative weights of the columns that are moved together with x
    `shares_of_width`: (k,), cumulative probabilities of moves of 1, ..., k columns
    `moves`: memory for moves of k columns
    """
    n_drawn = 0
    for _ in range(n_moves):
        width = draw_width(state.random, movable, shares_of_width)
        choose_related(state.random, movable, related, moves.columns, width)
        n_left = take_out(state, moves, width)
        n_states, at_first = 2 << 2 * width, ADDED << 2 * width
        for i in range(n_left + 1):
            for at in range(n_states):
                moves.weights[i, at] = 0.0
        moves.weights[0, at_first], moves.powers_of_states[0, at_first] = 1.0, 0
        for i in range(n_left + 1):
            if i < n_left:
                weigh_next_layer(state, moves, width, i)
            for placed in range(1 << width):
                power, is_any = _join_powers(moves, width, i, placed)
                if is_any:
                    _place_next(state, moves, width, n_left, i, placed, power)
        n_drawn += _draw_back(state, moves, width, n_left)
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
def choose_related(random, movable, related, columns, width):
    """Choose a column, and others that are related to one of those chosen before.

    The choice does not depend on the partition: if it did, moves would not leave the posterior as
    it is.
    """
    columns[0] = movable[random_below(random, 0, movable.size)]
    n, tries = 1, 0
    while n < width:
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
def _place_next(state, moves, width, n_left, i, placed, power):
    """Set the weights of the states that come next after those with these columns placed.

    The next layer has some of the other chosen columns, in a layer of their own or with the next
    one that was left.
    """
    subsets, values, powers = moves.subsets, moves.set_values, moves.set_powers
    weights, powers_of_states = moves.weights, moves.powers_of_states
    n_free = 0
    for a in range(width):
        if not placed >> a & 1:
            moves.free[n_free] = a
            n_free += 1
    _sum_states(state, moves, width, i, placed, n_free)
    subsets[0], values[0], powers[0] = 0, 1.0, power
    for j in range(1 << n_free):
        if j:
            a = moves.free[_lowest(j)]
            others = j & (j - 1)
            subsets[j] = subsets[others] | 1 << a
            values[j] = values[others] * moves.values[i, a << width | placed]
            powers[j] = powers[others] + moves.powers[i, a << width | placed]
        new = subsets[j]
        value = values[j] * moves.within[j]
        if new and value > 0:
            found, of_found = normalised(value, powers[j])
            at = (placed | new) << width | new
            weights[i, at], powers_of_states[i, at] = found, of_found
        value = values[j] * moves.beyond[j] * moves.layer_values[placed]
        if i < n_left and value > 0:
            found, of_found = normalised(value, powers[j] + moves.layer_powers[placed])
            at = ADDED << 2 * width | (placed | new) << width | new
            weights[i + 1, at], powers_of_states[i + 1, at] = found, of_found


@inlined_kernel
def _lowest(mask):
    """Return the number of the lowest bit of a mask."""
    return popcount(~mask & (mask - 1))


@pasted_kernel
def _sum_states(state, moves, width, i, placed, n_free):
    """Sum the states' weights times the shares of each set of chosen columns in the next layer.

    Sets are masks of the columns that are not placed. `within` gets the sums for a layer of chosen
    columns alone, `beyond` those with the next layer that was left.
    """
    products, shares, within, beyond = moves.products, moves.shares, moves.within, moves.beyond
    for j in range(1 << n_free):
        within[j] = beyond[j] = 0.0
    for kind in range(2):
        first, last = (kind << width | placed) << width, placed
        while True:
            weight = moves.weights[i, first | last]
            if weight > 0:
                for k in range(n_free):
                    a = moves.free[k]
                    shares[k] = share_after(state, moves, width, a, i, kind, placed, last)
                after = moves.following[i, first | last]
                for j in range(1 << n_free):
                    product = products[j & (j - 1)] * shares[_lowest(j)] if j else weight
                    products[j] = product
                    within[j] += product
                    beyond[j] += product * after
            if last == 0:
                break
            last = (last - 1) & placed


@pasted_kernel
def _join_powers(moves, width, i, placed):
    """Give the states with these columns placed one power; return it, and if any has a weight."""
    weights, powers = moves.weights, moves.powers_of_states
    highest, is_any = 0, False
    for is_known in range(2):
        for kind in range(2):
            first, last = (kind << width | placed) << width, placed
            while True:
                if weights[i, first | last] > 0:
                    power = powers[i, first | last]
                    if is_known:
                        weights[i, first | last] *= less_by(highest - power)
                    else:
                        highest = max(highest, power) if is_any else power
                        is_any = True
                if last == 0:
                    break
                last = (last - 1) & placed
    return highest, is_any


@pasted_kernel
def _draw_back(state, moves, width, n_left):
    """Draw a path through the states from the last one, and set the layers; False without one."""
    n_sets, odds, kinds, sets = 1 << width, moves.odds, moves.kinds, moves.sets
    i, placed, n_steps = n_left, n_sets - 1, 0
    for k in range(2 * n_sets):
        kind, last = k >> width, k & (n_sets - 1)
        odds[k] = moves.weights[i, (kind << width | placed) << width | last]
    while True:
        found = _draw(state.random, odds, 2 * n_sets)
        if found < 0:
            return False
        kind, last = found // n_sets, found % n_sets
        if kind == ADDED and i == 0:
            break
        kinds[n_steps], sets[n_steps] = kind, last
        n_steps += 1
        placed ^= last
        i -= kind
        _weigh_before(state, moves, width, i, placed, kind, last)
    _set_layers(state, moves, width, n_steps)
    return True


@pasted_kernel
def _weigh_before(state, moves, width, i, placed, next_kind, new):
    """Set the odds of the states at i with these columns placed, before a layer with `new` ones."""
    n_sets = 1 << width
    for k in range(2 * n_sets):
        moves.odds[k] = 0.0
    for kind in range(2):
        last = placed
        while True:
            at = (kind << width | placed) << width | last
            weight = moves.weights[i, at]
            if weight > 0:
                if next_kind == ADDED:
                    weight *= moves.following[i, at]
                for a in range(width):
                    if new >> a & 1:
                        weight *= share_after(state, moves, width, a, i, kind, placed, last)
                moves.odds[kind << width | last] = weight
            if last == 0:
                break
            last = (last - 1) & placed


@pasted_kernel
def _set_layers(state, moves, width, n):
    """Set the numbers of layers, from the n kinds of these and their chosen columns, last first."""
    number, i = moves.number, 0
    for layer in range(1, n + 1):
        if moves.kinds[n - layer] == ADDED:
            i += 1
            number[i] = layer
        for a in range(width):
            if moves.sets[n - layer] >> a & 1:
                state.layers[moves.columns[a]] = layer
    for x in range(moves.left.size):
        if moves.left[x] != NOWHERE:
            state.layers[x] = number[moves.left[x]]
    state.n_layers[0] = n


@pasted_kernel
def _draw(random, odds, n):
    """Draw the number of one of n entries by its odds; -1 if all are 0."""
    total = 0.0
    for j in range(n):
        total += odds[j]
    u = uniform(random, 0) * total
    found = -1
    for j in range(n):
        if odds[j] > 0:
            found = j
            u -= odds[j]
            if u < 0:
                break
    return found
