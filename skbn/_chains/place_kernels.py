"""What the places of a few columns weigh, that are chosen to be moved; see `move_kernels`.

Weights differ by more than the exponents of float64, and logarithms of all of them take longer: a
weight is a float64 times a power of ``exp(64)``.

Sets of chosen columns are masks, of which bit a is the a-th of them.
"""

import math
from typing import NamedTuple

import numpy as np

from skbn._chains.partition_kernels import inverse_of, share_of_exponentials
from skbn._core.arrays import F1, F2, I1, I2
from skbn._core.compile import inlined_kernel, inner_kernel, pasted_kernel, tuple_type, zeros

# The kinds of a last layer: chosen columns in a gap, or a layer that was left, with chosen ones
# added.
IN_GAP, ADDED = 0, 1
# Chosen columns are in no layer that is left.
NOWHERE = 1 << 40
# A product of shares is turned into a logarithm before it is too small for float64.
_SMALL = 1e-150
_LOG_UNIT = 64.0
_UNIT, _INVERSE_UNIT = math.exp(_LOG_UNIT), math.exp(-_LOG_UNIT)
# What a power less means; what is further below another weight is nothing beside it.
_LESS = np.exp(-_LOG_UNIT * np.arange(10))


class Moves(NamedTuple):
    """Memory for the moves of up to `width` columns at a time, of which each fills what it needs.

    Sets are those of the chosen columns, of which there are ``n_sets = 2**width``, and so are S and
    T; a comes from the chosen columns, and i from the layers that are left.
    """

    columns: I1  # (width,): the chosen columns
    # (m,): the layers of the columns that are left, from 1 without gaps; `NOWHERE` for chosen ones
    left: I1
    number: I1  # (m + 1,): the new number of each layer
    bases: I2  # (m + 1, width): at [i, a], which candidates of a are in the first i layers
    # (width + 1, n_sets): at [a, S], which candidates of a are in S; the last row is scratch
    spread: I2
    # (m + 1, width * n_sets): at [i, a << width | S], the exponential of the sum over the sets of
    # these, in a unit of a's own; the inverse of that; and the same as a weight
    exponentials: F2
    inverses: F2
    values: F2
    powers: I2
    # (m + 1, 2 * n_sets**2): at [i, (kind << width | S) << width | T], the weights of states, and
    # what the next layer that was left weighs after them, in units of `layer_values`
    weights: F2
    powers_of_states: I2
    following: F2
    # (n_sets,): at [S], the weight of the sums of that layer's columns, if S come before it
    layer_values: F1
    layer_powers: I1
    free: I1  # (width,): the columns that are not placed
    shares: F1  # (width,)
    # (n_sets,): of the sets of free columns
    subsets: I1
    products: F1
    set_values: F1
    set_powers: I1
    within: F1
    beyond: F1
    # of the next layer: (n_sets,), (2 * n_sets,) and (2 * n_sets**2,)
    sums: F1
    of_rest: F1
    logs: F1
    odds: F1  # (2 * n_sets,): of the states before one
    kinds: I1  # (m,): of the layers on a path, last first
    sets: I1  # (m,): their chosen columns


MOVES = tuple_type(Moves)


def moves_of(m: int, width: int) -> Moves:
    """Return memory for moves of up to `width` of m columns."""
    n, of_columns, of_states = 1 << width, (m + 1, width << width), (m + 1, 2 << 2 * width)
    return zeros(
        *(Moves, width, m, m + 1, (m + 1, width), (width + 1, n)),
        *(*[of_columns] * 4, *[of_states] * 3, n, n, width, width),
        *(*[n] * 7, 2 * n, 2 * n * n, 2 * n, m, m),
    )


@pasted_kernel
def take_out(state, moves, width):
    """Set what the places of the chosen columns weigh; return the number of layers left."""
    n_left = _number_layers_left(state, moves, width)
    bases, spread, n_sets = moves.bases, moves.spread, 1 << width
    for a in range(width):
        x = moves.columns[a]
        spread_chosen(state, moves, width, x, a)
        for i in range(n_left + 1):
            bases[i, a] = 0
        for p in range(state.n_candidates[x]):
            layer = moves.left[state.candidates[x, p]]
            if layer != NOWHERE:
                bases[layer, a] |= 1 << p
        for i in range(n_left):
            bases[i + 1, a] |= bases[i, a]
        unit = state.sums[x, bases[n_left, a] | spread[a, n_sets - 1]]
        others = (n_sets - 1) ^ (1 << a)
        for i in range(n_left + 1):
            placed = others
            while True:
                at = a << width | placed
                log = state.sums[x, bases[i, a] | spread[a, placed]] - unit
                exponential = math.exp(log)
                moves.exponentials[i, at] = exponential
                moves.inverses[i, at] = inverse_of(exponential)
                value, power = weight_of(log)
                moves.values[i, at], moves.powers[i, at] = value, power
                if placed == 0:
                    break
                placed = (placed - 1) & others
    return n_left


@pasted_kernel
def _number_layers_left(state, moves, width):
    """Set the layers of the columns that are left, without gaps; return their number."""
    left, number = moves.left, moves.number
    for x in range(left.size):
        left[x] = state.layers[x]
    for a in range(width):
        left[moves.columns[a]] = NOWHERE
    for layer in range(state.n_layers[0] + 1):
        number[layer] = 0
    for x in range(left.size):
        if left[x] != NOWHERE:
            number[left[x]] = 1
    n_left = 0
    for layer in range(1, state.n_layers[0] + 1):
        if number[layer]:
            n_left += 1
            number[layer] = n_left
    for x in range(left.size):
        if left[x] != NOWHERE:
            left[x] = number[left[x]]
    return n_left


@inner_kernel
def weight_of(log):
    """Return the weight of which this is the logarithm."""
    if log > -_LOG_UNIT:
        return math.exp(log), 0
    if log == -np.inf:
        return 0.0, 0
    power = math.floor(log / _LOG_UNIT)
    return math.exp(log - power * _LOG_UNIT), power


@inner_kernel
def normalised(value, power):
    """Return a positive weight with a number from 1 to below the unit, which products leave."""
    while value >= _UNIT:
        value *= _INVERSE_UNIT
        power += 1
    while value < 1.0:
        value *= _UNIT
        power -= 1
    return value, power


@inlined_kernel
def less_by(n):
    """Return what n powers less than another weight means beside it."""
    return _LESS[n] if n < _LESS.size else 0.0


@inner_kernel
def spread_chosen(state, moves, width, x, row):
    """Set in a row which candidates of a column are in each set of chosen columns."""
    spread = moves.spread
    spread[row, 0] = 0
    size = 1
    for a in range(width):
        place = state.places[x, moves.columns[a]]
        bit = 1 << place if place >= 0 else 0
        for j in range(size):
            spread[row, size + j] = spread[row, j] | bit
        size *= 2


@inlined_kernel
def share_after(state, moves, width, a, i, kind, placed, last):
    """Return which share of a chosen column's parent sets meets the last layer of a state."""
    if kind == ADDED and i == 0:  # nothing was placed before: it has no parents
        return 1.0
    rest = placed ^ last
    return share_of_exponentials(
        state,
        moves.columns[a],
        moves.bases[i, a] | moves.spread[a, placed],
        moves.bases[i - kind, a] | moves.spread[a, rest],
        moves.exponentials[i - kind, a << width | rest],
        moves.inverses[i, a << width | placed],
    )


@pasted_kernel
def weigh_next_layer(state, moves, width, i):
    """Weigh layer i + 1 of those that were left, after each state at i.

    The weight is that of the layer at S times ``following[i, kind, S, T]``. Columns that have no
    chosen one among their candidates weigh the same after all states, unless these are in a gap:
    none is their parent there.
    """
    n_sets, n_states, is_small = 1 << width, 2 << 2 * width, False
    following, sums = moves.following, moves.sums
    for at in range(n_states):
        is_nothing = i == 0 and at >= n_sets * (n_sets + 1)  # nothing is placed before that layer
        moves.logs[at], following[i, at] = 0.0, 0.0 if is_nothing else 1.0
    for placed in range(n_sets):
        sums[placed] = 0.0
    for x in range(moves.left.size):
        if moves.left[x] != i + 1:
            continue
        spread_chosen(state, moves, width, x, moves.columns.size)
        if moves.spread[moves.columns.size, n_sets - 1] == 0:
            for at in range(n_sets * n_sets):
                following[i, at] = 0.0
        else:
            is_small |= _weigh_column(state, moves, width, i, x)
    if is_small:
        _scale_logs(moves, width, i)
    for placed in range(n_sets):
        value, power = weight_of(sums[placed])
        moves.layer_values[placed], moves.layer_powers[placed] = value, power


@pasted_kernel
def _candidates_up_to(state, left, x, i):
    """Return the masks of a column's candidates in the first i layers, and in the first i - 1."""
    up_to, before = 0, 0
    for p in range(state.n_candidates[x]):
        layer = left[state.candidates[x, p]]
        if layer <= i:
            up_to |= 1 << p
            if layer < i:
                before |= 1 << p
    return up_to, before


@pasted_kernel
def _weigh_column(state, moves, width, i, x):
    """Multiply by the weight of one column of this layer; return whether logarithms were taken."""
    n_sets, own, spread, of_rest = 1 << width, moves.columns.size, moves.spread, moves.of_rest
    following = moves.following
    base, before = _candidates_up_to(state, moves.left, x, i)
    unit = state.sums[x, base | spread[own, n_sets - 1]]
    is_small = False
    for placed in range(n_sets):
        log = state.sums[x, base | spread[own, placed]] - unit
        moves.sums[placed] += log
        of_rest[placed] = math.exp(log)
        of_rest[n_sets + placed] = math.exp(state.sums[x, before | spread[own, placed]] - unit)
        inverse = inverse_of(of_rest[placed])
        for kind in range(2):
            if kind == ADDED and i == 0:  # nothing was placed before: it has no parents
                continue
            without = base if kind == IN_GAP else before
            first, last = (kind << width | placed) << width, placed
            while True:
                value = following[i, first | last]
                if value != 0.0:
                    rest = placed ^ last
                    value *= share_of_exponentials(
                        state,
                        x,
                        base | spread[own, placed],
                        without | spread[own, rest],
                        of_rest[kind << width | rest],
                        inverse,
                    )
                    if 0 < value < _SMALL:
                        moves.logs[first | last] += math.log(value)
                        value = 1.0
                        is_small = True
                    following[i, first | last] = value
                if last == 0:
                    break
                last = (last - 1) & placed
    return is_small


@pasted_kernel
def _scale_logs(moves, width, i):
    """Join products with logarithms of what was too small for them, in one unit for each S."""
    following, logs = moves.following, moves.logs
    for placed in range(1 << width):
        highest = -np.inf
        for is_known in range(2):
            for kind in range(2):
                first, last = (kind << width | placed) << width, placed
                while True:
                    if following[i, first | last] > 0:
                        if is_known:
                            following[i, first | last] = math.exp(logs[first | last] - highest)
                        else:
                            logs[first | last] += math.log(following[i, first | last])
                            highest = max(highest, logs[first | last])
                    if last == 0:
                        break
                    last = (last - 1) & placed
        moves.sums[placed] += highest
