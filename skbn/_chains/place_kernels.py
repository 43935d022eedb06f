"""What the places of a few columns weigh, that are chosen to be moved; see `move_kernels`.

Sets of chosen columns are masks, of which bit a is the a-th of them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from skbn._chains.partition_kernels import share_of_exponentials
from skbn._core.arrays import Floats, Integers
from skbn._core.compile import inlined_kernel, inner_kernel

__all__ = [
    "ADDED",
    "IN_GAP",
    "NOWHERE",
    "Chosen",
    "Scratch",
    "share_after",
    "take_out",
    "weigh_next_layer",
]

# The kinds of a last layer: chosen columns in a gap, or a layer that was left, with chosen ones
# added.
IN_GAP, ADDED = 0, 1
# Chosen columns are in no layer that is left.
NOWHERE = 1 << 40
# A product of shares is turned into a logarithm before it is too small for float64.
_SMALL = 1e-150


class Chosen(NamedTuple):
    """The columns that are moved, and what their places weigh.

    Parameters
    ----------
    columns : ndarray of shape (width,), int64
    left : ndarray of shape (m,), int64
        The layers of the columns that are left, from 1 without gaps; `NOWHERE` for chosen ones.
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


@inner_kernel
def take_out(state, columns):
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
        left[x] = NOWHERE
    number = np.zeros(state.n_layers[0] + 1, np.int64)
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


@inlined_kernel
def _candidates_up_to(state, x, left, i):
    """Return the mask of a column's candidates in the first i layers that were left."""
    mask = 0
    for p in range(state.n_candidates[x]):
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
        chosen.exponentials[i, a, placed],
        chosen.exponentials[i - kind, a, rest],
    )


@inlined_kernel
def weigh_next_layer(state, chosen, i, following, in_logs, scratch):
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
        following[ADDED, 1:] = 0.0
    for x in range(chosen.left.size):
        if chosen.left[x] != i + 1:
            continue
        _spread_chosen(state, x, chosen.columns, spread)
        if spread[n_sets - 1] == 0:
            following[IN_GAP] = 0.0
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
        of_rest[IN_GAP, placed] = math.exp(of_placed - unit)
        of_rest[ADDED, placed] = math.exp(state.sums[x, before | spread[placed]] - unit)
    is_small = False
    for kind in range(2):
        if kind == ADDED and i == 0:  # nothing was placed before: it has no parents
            continue
        without = base if kind == IN_GAP else before
        for placed in range(n_sets):
            for last in range(placed + 1):
                value = following[kind, placed, last]
                if last & ~placed or value == 0.0:
                    continue
                rest = placed ^ last
                value *= share_of_exponentials(
                    state,
                    x,
                    base | spread[placed],
                    without | spread[rest],
                    of_rest[IN_GAP, placed],
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
