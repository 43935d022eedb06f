"""The state of a chain, and the weight of a column's place in it.

The columns are partitioned into layers, which are numbered from 1: a column has a parent in the
layer before its own, unless that is the first, and its other parents in any layers before its own
(Kuipers & Moffa 2017, "Partition MCMC for inference on acyclic digraphs"). Each network has one
such partition, so that the weights of partitions are sums over disjoint sets of networks.

Sets of a column's candidates are masks, of which bit p is its candidate p.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import float64, int64, uint64

from skbn._core.arrays import F2, I1, I2
from skbn._core.compile import inlined_kernel, inner_kernel, tuple_type

# Logarithms of sums of thousands of nats have errors of 1e-12: a difference of two sums that are
# equal up to this share of them has lost half of its digits. Then the sets in question are summed.
LEAST_SHARE = 1e-6
# Exponentials below this are not divided by.
_SMALL = 1e-200


class Partition(NamedTuple):
    """The state of a chain over m columns with up to K candidates each."""

    # (m, K): the columns that may be parents of each column, of which the first ones count
    candidates: I2
    n_candidates: I1  # (m,): how many these are
    places: I2  # (m, m): at [x, z], which of the candidates of x is z, or -1
    # (m, 2**K): the local score of each set of candidates as parents, with its prior; -inf rules it
    # out. Sets of candidates that do not count have none
    scores: F2
    sums: F2  # (m, 2**K): the logarithm of the sum of ``exp(scores)`` over all subsets of each set
    layers: I1  # (m,): the layer of each column
    n_layers: I1  # (1,)
    random: I1  # (1,): the state of the random numbers


PARTITION = tuple_type(
    Partition,
    *(int64[:, ::1], int64[::1], int64[:, ::1], float64[:, ::1], float64[:, ::1]),
    *(int64[::1], int64[::1], uint64[::1]),
)


@inner_kernel
def candidates_before(state, x, layer):
    """Return the mask of the candidates of a column that are in layers before one."""
    mask = 0
    for p in range(state.n_candidates[x]):
        if state.layers[state.candidates[x, p]] < layer:
            mask |= 1 << p
    return mask


@inner_kernel
def candidates_that_precede(state, x):
    """Return the masks of the candidates before a column's layer, and before the layer before it.

    Parents are a subset of the first and none of the second; in the first layer the second is -1,
    which no set of parents is a subset of but the empty one.
    """
    layer = state.layers[x]
    within = candidates_before(state, x, layer)
    return within, candidates_before(state, x, layer - 1) if layer > 1 else -1


@inner_kernel
def meeting_share(state, x, within, without):
    """Return the share of the sets in `within` that are not subsets of `without`, by weight.

    It is ``1 - exp(sums[without] - sums[within])``, without its cancellation. `without` is a subset
    of `within`; -1 stands for nothing, of which no set is a subset.
    """
    if within == without:
        return 0.0
    total = state.sums[x, within]
    if total == -np.inf:
        return 0.0
    if without == -1:
        return 1.0
    share = -math.expm1(state.sums[x, without] - total)
    if share > LEAST_SHARE:
        return share
    share = 0.0
    parents = within
    while parents:
        if parents & ~without:
            share += math.exp(state.scores[x, parents] - total)
        parents = (parents - 1) & within
    return share


@inlined_kernel
def inverse_of(exponential):
    """Return what `share_of_exponentials` multiplies by: inf if a division would be inaccurate."""
    return 1.0 / exponential if exponential > _SMALL else np.inf


@inlined_kernel
def share_of_exponentials(state, x, within, without, of_without, inverse):
    """Return the same share, faster, from the exponentials of the two sums in one unit.

    That of `within` is given by its inverse.
    """
    if within == without:
        return 0.0
    share = 1.0 - of_without * inverse
    return share if share > LEAST_SHARE else meeting_share(state, x, within, without)


@inner_kernel
def parents_share(state, x, within, without, p):
    """Return the share of the same sets that have candidate p, of the weight of all in `within`."""
    bit = 1 << p
    if not within & bit:
        return 0.0
    share = meeting_share(state, x, within, within ^ bit)
    if without != -1 and without & bit:
        others = math.exp(state.sums[x, without] - state.sums[x, within])
        share -= others * meeting_share(state, x, without, without ^ bit)
    return share
