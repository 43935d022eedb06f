"""Families given a partition: draws of parents, and probabilities of edges."""

import math

import numpy as np
from numba import boolean, float64, int64

from skbn._chains.partition_kernels import (
    LEAST_SHARE,
    PARTITION,
    candidates_that_precede,
    meeting_share,
    parents_share,
)
from skbn._core.compile import inner_kernel, kernel
from skbn._core.random_numbers import uniform
from skbn._core.subsets import popcount

# Sums are float64 times powers of exp(256); nothing has a power far below all others.
_LOG_UNIT, _NO_POWER = 256.0, -(1 << 40)
_ONE_POWER_LESS = math.exp(-_LOG_UNIT)
# Sets of parents of less than exp(-60) of the weight of all are never drawn.
_LEAST_LOG_SHARE = -60.0
# With more candidates before a column, sets of parents are not gone through one by one.
_MOST_TO_GO_THROUGH = 10


@kernel(float64[::1], float64[::1])
def sum_subsets(scores, sums):
    """Set the logarithm of the sum of ``exp(scores)`` over all subsets of each set.

    Scores of one column differ by more than the exponents of float64. So each sum is a float64
    times a power of ``exp(256)``, and what is two powers less than another is nothing beside it.
    """
    n = scores.size
    highest = -np.inf
    for i in range(n):
        highest = max(highest, scores[i])
    powers = np.empty(n, np.int64)
    for i in range(n):
        below = scores[i] - highest
        is_nothing = below == -np.inf
        powers[i] = _NO_POWER if is_nothing else math.floor(below / _LOG_UNIT)
        sums[i] = 0.0 if is_nothing else math.exp(below - powers[i] * _LOG_UNIT)
    bit = 1
    while bit < n:
        for start in range(0, n, 2 * bit):
            for i in range(start, start + bit):
                ahead = powers[i] - powers[i + bit]
                if ahead == 0:
                    sums[i + bit] += sums[i]
                elif ahead == -1:
                    sums[i + bit] += sums[i] * _ONE_POWER_LESS
                elif ahead > 0:
                    own = sums[i + bit] * _ONE_POWER_LESS if ahead == 1 else 0.0
                    sums[i + bit] = own + sums[i]
                    powers[i + bit] = powers[i]
        bit *= 2
    for i in range(n):
        sums[i] = math.log(sums[i]) + powers[i] * _LOG_UNIT + highest if sums[i] > 0 else -np.inf


@inner_kernel
def draw_parents(state, x):
    """Draw the parents of a column, given the partition; return the mask among its candidates."""
    within, without = candidates_that_precede(state, x)
    return draw_set(state, x, within, without)


@inner_kernel
def draw_set(state, x, within, without):
    """Draw a set of a column's candidates by its weight, of those in `within`.

    Subsets of `without` are left out; -1 leaves out none.
    """
    if within == 0:
        return 0
    share = meeting_share(state, x, within, without)
    while True:
        parents, rest = 0, within
        if share > LEAST_SHARE:
            parents, rest = _settle_first(state, x, within, without, share)
        parents = _draw_among(state, x, parents, rest, within, without, share)
        if parents >= 0:  # else rounding led to parents that no set has
            return parents


@inner_kernel
def _settle_first(state, x, within, without, share):
    """Draw candidate by candidate, until few enough are left to go through their sets.

    The weight of all sets that have the parents so far, and no candidate that was left out, follows
    from sums over subsets by inclusion and exclusion of these parents. The last candidates are the
    least probable parents: while there are few, there is little to include and exclude. Return the
    parents so far, and the candidates that are left.
    """
    parents, free, rest, total = 0, within, within, share
    for p in range(state.n_candidates[x] - 1, -1, -1):
        bit = 1 << p
        if popcount(rest) <= _MOST_TO_GO_THROUGH:
            break
        if not rest & bit:
            continue
        rest ^= bit
        left_out = _share_with(state, x, within, without, parents, free ^ bit)
        if uniform(state.random, 0) * total < left_out:
            free ^= bit
            total = left_out
        else:
            parents |= bit
            total -= left_out
    return parents, rest


@inner_kernel
def _draw_among(state, x, parents, rest, within, without, share):
    """Draw a set of these parents and some of the rest; return -1 if none has a weight."""
    unit = state.sums[x, within] + math.log(share)
    total = 0.0
    for is_drawing in range(2):
        left = uniform(state.random, 0) * total if is_drawing else 0.0
        found = -1
        subset = rest
        while True:
            own = parents | subset
            log_share = state.scores[x, own] - unit
            meets = without == -1 or own & ~without != 0
            if meets and log_share > _LEAST_LOG_SHARE:
                weight = math.exp(log_share)
                if is_drawing:
                    found = own
                    left -= weight
                    if left < 0:
                        break
                else:
                    total += weight
            if subset == 0:
                break
            subset = (subset - 1) & rest
        if is_drawing or total == 0.0:
            return found
    return -1


@inner_kernel
def _share_with(state, x, within, without, parents, free):
    """Return the share of the sets in `free` with these parents that meet what they must."""
    share = 0.0
    unit = state.sums[x, within]
    excluded = parents
    while True:
        sign = 1 - 2 * (popcount(excluded) & 1)
        share += sign * math.exp(state.sums[x, free ^ excluded] - unit)
        if without != -1 and not parents & ~without:
            share -= sign * math.exp(state.sums[x, (free & without) ^ excluded] - unit)
        if excluded == 0:
            return share
        excluded = (excluded - 1) & parents


@kernel(PARTITION, int64[::1], boolean[:, ::1])
def draw_network(state, masks, is_parent):
    """Draw a network, given the partition and the candidates.

    `masks`: (m,), set to the masks of each column's parents among its candidates
    `is_parent`: (m, m), row x is set to the parents of x
    """
    for x in range(masks.size):
        masks[x] = draw_parents(state, x)
        set_parents(state, x, masks[x], is_parent)


@inner_kernel
def set_parents(state, x, mask, is_parent):
    """Set row x to the columns that a mask of candidates has."""
    for z in range(is_parent.shape[1]):
        is_parent[x, z] = False
    for p in range(state.n_candidates[x]):
        if mask >> p & 1:
            is_parent[x, state.candidates[x, p]] = True


@kernel(PARTITION, float64[:, ::1])
def edges_given_partition(state, edges):
    """Set at [z, x] the probability of the edge z -> x, given the partition and the candidates."""
    m = state.layers.size
    for x in range(m):
        for z in range(m):
            edges[z, x] = 0.0
        within, without = candidates_that_precede(state, x)
        if without == -1:
            continue
        share = meeting_share(state, x, within, without)
        if share < LEAST_SHARE:
            _sum_members(state, x, within, without, edges)
            continue
        for p in range(state.n_candidates[x]):
            value = parents_share(state, x, within, without, p) / share
            edges[state.candidates[x, p], x] = min(max(value, 0.0), 1.0)


@inner_kernel
def _sum_members(state, x, within, without, edges):
    """Set the probabilities of the edges to a column by going through the sets of its parents."""
    total = 0.0
    parents = within
    while parents:
        if parents & ~without:
            weight = math.exp(state.scores[x, parents] - state.sums[x, within])
            total += weight
            for p in range(state.n_candidates[x]):
                if parents >> p & 1:
                    edges[state.candidates[x, p], x] += weight
        parents = (parents - 1) & within
    for p in range(state.n_candidates[x]):
        edges[state.candidates[x, p], x] /= total


@kernel(PARTITION, boolean[:, ::1], boolean[:, ::1])
def reach(state, is_parent, reaches):
    """Set at [x, z] whether a directed path leads from z to x, in a network of this partition."""
    m = state.layers.size
    for layer in range(1, state.n_layers[0] + 1):
        for x in range(m):
            if state.layers[x] != layer:
                continue
            for a in range(m):
                reaches[x, a] = is_parent[x, a]
            for z in range(m):
                if is_parent[x, z]:
                    for a in range(m):
                        reaches[x, a] |= reaches[z, a]
