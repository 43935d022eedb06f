"""What the places of a few columns weigh, that are chosen to be moved; see `move_kernels`.

Weights differ by more than the exponents of float64, and logarithms of all of them take longer: a
weight is a float64 times a power of ``exp(64)``.

Sets of chosen columns are masks, of which bit a is the a-th of them.
"""

import math
from typing import NamedTuple

import numpy as np

from skbn._chains.partition_kernels import inverse_of, share_of_exponentials
from skbn._core.arrays import F1, F3, I1, I2, I3, Floats, Integers
from skbn._core.compile import inlined_kernel, inner_kernel

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


class MovedColumns(NamedTuple):
    """The columns that are moved, and what their places weigh."""

    columns: I1  # (width,)
    # (m,): the layers of the columns that are left, from 1 without gaps; `NOWHERE` for chosen ones
    left: I1
    n_left: int  # the number of these layers
    # (n_left + 1, width): at [i, a], which candidates of chosen column a are in the first i layers
    bases: I2
    spread: I2  # (width, 2**width): at [a, S], which of them are in the set S of chosen columns
    # (n_left + 1, width, 2**width): at [i, a, S], the exponential of the sum over the sets of
    # these, in a unit of a's own
    exponentials: F3
    inverses: F3  # (n_left + 1, width, 2**width)
    values: F3  # (n_left + 1, width, 2**width): the same as a weight
    powers: I3  # (n_left + 1, width, 2**width)


class Layer(NamedTuple):
    """What a layer that was left weighs after each state of the program, but for its shares."""

    # (2**width,): at [S], the weight of the sums of its columns, if S are the chosen columns before
    # it
    values: F1
    powers: I1  # (2**width,)


class Scratch(NamedTuple):
    """Memory for numbers of sets of chosen columns."""

    free: Integers
    subsets: Integers
    products: Floats
    shares: Floats
    values: Floats
    powers: Integers
    within: Floats
    beyond: Floats
    spread: Integers
    sums: Floats
    of_rest: Floats
    logs: Floats


@inner_kernel
def take_out(state, columns):
    """Return the chosen columns, and what their places weigh."""
    left, n_left = _layers_left(state, columns)
    width, n_sets = columns.size, 1 << columns.size
    bases = np.empty((n_left + 1, width), np.int64)
    spread = np.empty((width, n_sets), np.int64)
    exponentials, inverses, values = np.empty((3, n_left + 1, width, n_sets))
    powers = np.empty((n_left + 1, width, n_sets), np.int64)
    for a in range(width):
        x = columns[a]
        _spread_chosen(state, x, columns, spread[a])
        for i in range(n_left + 1):
            bases[i, a] = 0
        for p in range(state.n_candidates[x]):
            layer = left[state.candidates[x, p]]
            if layer != NOWHERE:
                bases[layer, a] |= 1 << p
        for i in range(n_left):
            bases[i + 1, a] |= bases[i, a]
        unit = state.sums[x, bases[n_left, a] | spread[a, n_sets - 1]]
        for i in range(n_left + 1):
            for placed in range(n_sets):
                if not placed >> a & 1:
                    log = state.sums[x, bases[i, a] | spread[a, placed]] - unit
                    exponentials[i, a, placed] = math.exp(log)
                    inverses[i, a, placed] = inverse_of(exponentials[i, a, placed])
                    values[i, a, placed], powers[i, a, placed] = _weight_of(log)
    return MovedColumns(
        columns, left, n_left, bases, spread, exponentials, inverses, values, powers
    )


@inner_kernel
def _layers_left(state, columns):
    """Return the layers of the columns that are left, without gaps, and their number."""
    left = state.layers.copy()
    for x in columns:
        left[x] = NOWHERE
    number = np.empty(state.n_layers[0] + 1, np.int64)
    for layer in range(number.size):
        number[layer] = 0
    for layer in left:
        if layer != NOWHERE:
            number[layer] = 1
    n_left = 0
    for layer in range(1, number.size):
        if number[layer]:
            n_left += 1
            number[layer] = n_left
    for x in range(left.size):
        if left[x] != NOWHERE:
            left[x] = number[left[x]]
    return left, n_left


@inner_kernel
def _weight_of(log):
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
def share_after(state, chosen, a, i, kind, placed, last):
    """Return which share of a chosen column's parent sets meets the last layer of a state."""
    if kind == ADDED and i == 0:  # nothing was placed before: it has no parents
        return 1.0
    rest = placed ^ last
    return share_of_exponentials(
        state,
        chosen.columns[a],
        chosen.bases[i, a] | chosen.spread[a, placed],
        chosen.bases[i - kind, a] | chosen.spread[a, rest],
        chosen.exponentials[i - kind, a, rest],
        chosen.inverses[i, a, placed],
    )


@inlined_kernel
def weigh_next_layer(state, chosen, i, following, layer, scratch):
    """Weigh layer i + 1 of those that were left, after each state at i.

    The weight is that of `layer` at S times ``following[kind, S, T]``. Columns that have no chosen
    one among their candidates weigh the same after all states, unless these are in a gap: none is
    their parent there.
    """
    n_sets = 1 << chosen.columns.size
    is_small = False
    spread, sums = scratch.spread, scratch.sums
    scratch.logs[:] = 0.0
    sums[:] = 0.0
    following[:] = 1.0
    if i == 0:
        following[ADDED, 1:] = 0.0
    for x in range(chosen.left.size):
        if chosen.left[x] != i + 1:
            continue
        _spread_chosen(state, x, chosen.columns, spread)
        if spread[n_sets - 1] == 0:
            following[IN_GAP] = 0.0
        else:
            is_small |= _weigh_column(state, chosen, i, x, following, scratch)
    if is_small:
        _scale_logs(following, scratch.logs, sums)
    for placed in range(n_sets):
        layer.values[placed], layer.powers[placed] = _weight_of(sums[placed])


@inner_kernel
def _candidates_up_to(state, chosen, x, i):
    """Return the masks of a column's candidates in the first i layers, and in the first i - 1."""
    up_to, before = 0, 0
    for p in range(state.n_candidates[x]):
        layer = chosen.left[state.candidates[x, p]]
        if layer <= i:
            up_to |= 1 << p
            if layer < i:
                before |= 1 << p
    return up_to, before


@inlined_kernel
def _weigh_column(state, chosen, i, x, following, scratch):
    """Multiply by the weight of one column of this layer; return whether logarithms were taken."""
    spread, of_rest = scratch.spread, scratch.of_rest
    n_sets = spread.size
    base, before = _candidates_up_to(state, chosen, x, i)
    unit = state.sums[x, base | spread[n_sets - 1]]
    for placed in range(n_sets):
        log = state.sums[x, base | spread[placed]] - unit
        scratch.sums[placed] += log
        of_rest[IN_GAP, placed] = math.exp(log)
        of_rest[ADDED, placed] = math.exp(state.sums[x, before | spread[placed]] - unit)
    is_small = False
    for placed in range(n_sets):
        inverse = inverse_of(of_rest[IN_GAP, placed])
        for kind in range(2):
            if kind == ADDED and i == 0:  # nothing was placed before: it has no parents
                continue
            without = base if kind == IN_GAP else before
            last = placed
            while True:
                value = following[kind, placed, last]
                if value != 0.0:
                    rest = placed ^ last
                    value *= share_of_exponentials(
                        state,
                        x,
                        base | spread[placed],
                        without | spread[rest],
                        of_rest[kind, rest],
                        inverse,
                    )
                    if 0 < value < _SMALL:
                        scratch.logs[kind, placed, last] += math.log(value)
                        value = 1.0
                        is_small = True
                    following[kind, placed, last] = value
                if last == 0:
                    break
                last = (last - 1) & placed
    return is_small


@inner_kernel
def _scale_logs(following, logs, sums):
    """Join products with logarithms of what was too small for them, in one unit for each S."""
    for placed in range(sums.size):
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
        sums[placed] += highest
