"""The kernels of weights of families with few parents, which are listed one by one.

The families of a child have its required parents and a few of its candidates. Arrays over families
are in the order of `SmallSubsets` of the candidates. Arrays of int64 are extended
floats of the format `wide`, or masks.
"""

from __future__ import annotations

import operator

import numpy as np
from numba import float64, int64, uint64

from skbn._core.compile import inner_kernel, kernel
from skbn._core.extended_floats import WIDE, wide_as_double, wide_exp, wide_product, wide_sum
from skbn._core.random_numbers import uniform
from skbn._core.subsets import advance, binomial
from skbn._posterior.sampling_kernels import first_above


@inner_kernel
def _first(chosen, size):
    for j in range(size):
        chosen[j] = j


@kernel(int64[::1], int64, int64, int64[::1])
def list_masks(candidates, required, most, masks):
    """Set `masks`, of zeros, to the parents of each family, from the masks of candidates."""
    _join_parents(candidates, required, most, operator.or_, masks)


@kernel(float64[::1], float64, int64, float64[::1])
def add_log_odds(candidates, required, most, scores):
    """Add to the score of each family the log odds of its parents."""
    _join_parents(candidates, required, most, operator.add, scores)


@inner_kernel
def _join_parents(candidates, required, most, join, values):
    """Join to the value of each family those of its parents: of the required and of the others.

    `join` is an operator that is known when this is compiled.
    """
    chosen = np.empty(most + 1, np.int64)
    i = 0
    for size in range(most + 1):
        _first(chosen, size)
        end = i + binomial(candidates.size, size)
        while i < end:
            value = required
            for j in range(size):
                value = join(value, candidates[chosen[j]])
            values[i] = join(values[i], value)
            i += 1
            if i < end:
                advance(chosen, size)


@kernel(float64[::1], int64, int64, float64[::1])
def add_by_parent(values, n_candidates, most, sums):
    """Set `sums` to those of the values of all families with each candidate; last, of all."""
    chosen = np.empty(most + 1, np.int64)
    for j in range(sums.size):
        sums[j] = 0.0
    i = 0
    for size in range(most + 1):
        _first(chosen, size)
        end = i + binomial(n_candidates, size)
        while i < end:
            value = values[i]
            for j in range(size):
                sums[chosen[j]] += value
            sums[n_candidates] += value
            i += 1
            if i < end:
                advance(chosen, size)


@kernel(float64[::1], WIDE, int64[::1])
def weigh_listed(scores, wide, weights):
    """Set `weights` to the exponentials of scores."""
    for i in range(scores.size):
        weights[i] = wide_exp(scores[i], wide)


@kernel(int64[::1], int64[::1], int64[::1], WIDE)
def scatter_weights(weights, places, table, wide):
    """Add each weight to the entry of its place; places beyond the table are left out."""
    for i in range(weights.size):
        place = places[i]
        if place < table.size:
            table[place] = wide_sum(table[place], weights[i], wide)


@kernel(int64[::1], int64[::1], int64[::1], int64, WIDE, float64[::1])
def weigh_with_others(weights, masks, gamma, exponent, wide, values):
    """Set `values` to the weight of all networks with each family, as float64.

    Parameters
    ----------
    weights : ndarray of shape (n_families,), int64
    masks : ndarray of shape (n_families,), int64
        The parents within the group, with the child's bit removed.
    gamma, exponent, wide
        As in `family_weight_kernels.edge_sums`.
    values : ndarray of shape (n_families,), float64
    """
    for i in range(weights.size):
        product = wide_product(weights[i], gamma[gamma.size - 1 - masks[i]], wide)
        values[i] = wide_as_double(product, wide, exponent)


@kernel(int64[::1], int64[::1], WIDE, float64[::1])
def cumulate(masks, weights, wide, cumulative):
    """Set `cumulative` to the running sums of the weights of families with the same mask.

    The masks are sorted. The sums of each mask are in units of its largest weight's power of two.
    """
    start = 0
    while start < masks.size:
        end = start
        largest = np.int64(0)
        while end < masks.size and masks[end] == masks[start]:
            largest = max(largest, weights[end])
            end += 1
        total = 0.0
        for i in range(start, end):
            total += wide_as_double(weights[i], wide, largest >> wide.bits)
            cumulative[i] = total
        start = end


@kernel(int64[::1], float64[::1], int64[::1], uint64[::1], int64[::1])
def draw_families(masks, cumulative, chosen, states, families):
    """Set `families` to the numbers of families with the chosen masks; -1 where these are -1."""
    for i in range(chosen.size):
        families[i] = -1
        if chosen[i] < 0:
            continue
        start = np.searchsorted(masks, chosen[i])
        end = np.searchsorted(masks, chosen[i] + 1)
        if start == end:
            continue
        target = uniform(states, i) * cumulative[end - 1]
        families[i] = first_above(cumulative, start, end - 1, target)
