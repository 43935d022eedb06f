"""The kernels of exact samples: orders and parent sets; see `sampling`.

Each sample has a random generator of its own, whose state is a number of `states`: its numbers
depend on the sample alone, however the samples are shared among threads. A sample comes to a dead
end if rounding led it to networks of weight 0; its candidates are -1 then.

Arrays of int64 are extended floats, of the format `wide`, or masks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import float64, int64, uint64

from skbn._core.arrays import Floats, Integers
from skbn._core.compile import inner_kernel, kernel, tuple_type
from skbn._core.extended_floats import WIDE, is_zero, wide_as_double, wide_product
from skbn._core.random_numbers import uniform
from skbn._core.subsets import bit_length, insert_zero_bit, popcount, remove_bit
from skbn._posterior.sum_kernels import SUM_TABLES

States = npt.NDArray[np.uint64]

# Smaller shares of a sum count as 0: an extended float that stands for zero may become a number
# below 2**-1000 beside larger ones, and no share that matters is as small as this.
NEGLIGIBLE = 2.0**-400


class OrderWalks(NamedTuple):
    """How far the walks back along the samples' orders have come.

    Parameters
    ----------
    states : ndarray of shape (n_samples,), uint64
    columns : ndarray of shape (n_samples,), int64
        The columns W that are left; at first, all.
    next_sinks : ndarray of shape (n_samples,), int64
        The next sink to try; at first, 0.
    targets : ndarray of shape (n_samples,), float64
        A random share of F[W] less the weights of the sinks that were tried, in units of F[W]'s
        power of two; at first negative, which asks for a new one.
    candidates : ndarray of shape (n_columns, n_samples), int64
        Set to the columns before each column.
    """

    states: States
    columns: Integers
    next_sinks: Integers
    targets: Floats
    candidates: Integers


_WALKS = tuple_type(OrderWalks, uint64[::1], int64[::1], int64[::1], float64[::1], int64[:, ::1])


@kernel(int64[::1], SUM_TABLES, int64, int64, int64[::1], _WALKS, WIDE)
def draw_orders(F, alpha, n_inner, fixed, samples, walks, wide):
    """Walk samples' orders back from the last column, as far as one slab has the weights.

    The last of the columns W is x with the weight ``F[W - x] alpha_x[W - x]``. Sinks are tried in
    the order of the columns. Those that need another slab than the columns before them come last,
    and need slabs that come later, if slabs come with the most outer columns first. So each sample
    waits for the slab of the next sink that it tries.

    Parameters
    ----------
    F : ndarray of shape (2**n_columns,), int64
    alpha : Tables
    n_inner, fixed : int
        The slab, as in `extend_sums`.
    samples : ndarray, int64
        Which samples to continue.
    walks : OrderWalks
    wide : WideFormat
    """
    _, columns, next_sinks, targets, candidates = walks
    n = alpha.starts.size - 1
    for i in samples:
        while columns[i]:
            W = columns[i]
            if targets[i] < 0.0:
                whole = wide_as_double(F[W], wide, F[W] >> wide.bits)
                targets[i] = uniform(walks.states, i) * whole
            sink = _try_sinks(F, alpha, n_inner, fixed, i, walks, wide)
            if targets[i] < 0.0:
                columns[i] = W ^ 1 << sink
                candidates[sink, i] = columns[i]
                next_sinks[i] = 0
            elif sink == n:  # the sinks' weights add up to less than F[W], by rounding
                columns[i] = 0
                for x in range(n):
                    candidates[x, i] = -1
            else:
                next_sinks[i] = sink
                break


@inner_kernel
def _try_sinks(F, alpha, n_inner, fixed, i, walks, wide):
    """Subtract the weights of sinks of W from the sample's target, until it is negative.

    The sink whose weight made it negative is returned, or the first one that needs another slab;
    the number of columns if there is neither.
    """
    W, sink, target = walks.columns[i], walks.next_sinks[i], walks.targets[i]
    exponent = F[W] >> wide.bits
    while sink < alpha.starts.size - 1:
        if W >> sink & 1:
            rest = W ^ 1 << sink
            if rest >> n_inner != fixed:
                break
            inner = rest & ((1 << n_inner) - 1)
            index = remove_bit(inner, sink) if sink < n_inner else inner
            weight = alpha.entries[alpha.starts[sink] + index]
            if not is_zero(weight, wide) and not is_zero(F[rest], wide):
                product = wide_product(F[rest], weight, wide)
                target -= wide_as_double(product, wide, exponent)
                if target < 0.0:
                    break
        sink += 1
    walks.targets[i] = target
    return sink


class ParentSetTable(NamedTuple):
    """The weights of a child's parent sets, by their masks with the child's bit removed.

    Parameters
    ----------
    weights : ndarray of shape (2**(m - 1),), int64
    low_sums : ndarray of shape (2**(m - 1),), int64
        Their sums over subsets of the `low_bits` lowest bits.
    low_bits : int
    """

    weights: Integers
    low_sums: Integers
    low_bits: int


class ParentDraws(NamedTuple):
    """What the parents of a child are drawn from.

    Parameters
    ----------
    states : ndarray of shape (n_samples,), uint64
    candidates : ndarray of shape (n_samples,), int64
        Masks; -1 for samples that came to a dead end.
    needed : ndarray of shape (n_samples,), int64
        Masks of candidates of which at least one must be a parent; 0 asks for none.
    parents : ndarray of shape (n_samples,), int64
        Set to the masks of the parents, -1 at a dead end.
    """

    states: States
    candidates: Integers
    needed: Integers
    parents: Integers


_TABLE = tuple_type(ParentSetTable, int64[::1], int64[::1], int64)
_DRAWS = tuple_type(ParentDraws, uint64[::1], int64[::1], int64[::1], int64[::1])


@kernel(_TABLE, int64, int64, int64[::1], _DRAWS, WIDE)
def draw_parents(table, child, others, samples, draws, wide):
    """Draw parent sets of a child among candidates, with probabilities as their weights.

    The high bits are drawn first, by the sums over all that the low bits may be, and then these:
    two draws among about the square root of as many sets.

    Parameters
    ----------
    table : ParentSetTable
    child : int
    others : int
        Mask of more candidates, which all samples have.
    samples : ndarray, int64
        Which samples to draw.
    draws : ParentDraws
    wide : WideFormat
    """
    weights, low_sums, low_bits = table
    states, candidates, needed, parents = draws
    n_high = bit_length(weights.size - 1) - low_bits
    shares = np.empty(1 << max(low_bits, n_high))
    low_mask = (1 << low_bits) - 1
    for i in samples:
        parents[i] = -1
        if candidates[i] < 0:
            continue
        among = remove_bit(candidates[i] | others, child)
        one_of = remove_bit(needed[i], child)
        low, high = among & low_mask, among >> low_bits
        # Subsets are visited in ascending order, in which `_nth_subset` numbers them.
        largest = np.int64(0)
        subset = np.int64(0)
        for _ in range(1 << popcount(high)):
            largest = max(largest, low_sums[subset << low_bits | low])
            subset = (subset - high) & high
        if is_zero(largest, wide):
            continue
        exponent = largest >> wide.bits
        n_shares = 1 << popcount(high)
        for k in range(n_shares):
            start = subset << low_bits
            shares[k] = wide_as_double(low_sums[start | low], wide, exponent)
            if one_of and not subset & one_of >> low_bits:
                without = low_sums[start | low & ~one_of]
                shares[k] -= wide_as_double(without, wide, exponent)
            subset = (subset - high) & high
        k = _draw_share(shares, n_shares, uniform(states, i))
        if k < 0:
            continue
        start = _nth_subset(high, k) << low_bits
        exponent = low_sums[start | low] >> wide.bits
        n_shares = 1 << popcount(low)
        for k in range(n_shares):
            share = wide_as_double(weights[start | subset], wide, exponent)
            shares[k] = 0.0 if one_of and not (start | subset) & one_of else share
            subset = (subset - low) & low
        k = _draw_share(shares, n_shares, uniform(states, i))
        if k >= 0:
            parents[i] = insert_zero_bit(start | _nth_subset(low, k), child)


@inner_kernel
def _draw_share(shares, n, random):
    """Return an index with a probability as its share; -1 if all shares count as 0."""
    total = 0.0
    for k in range(n):
        if shares[k] >= NEGLIGIBLE:
            total += shares[k]
    left = random * total
    drawn = -1
    for k in range(n):
        if shares[k] >= NEGLIGIBLE:
            drawn = k
            left -= shares[k]
            if left < 0.0:
                break
    return drawn


@inner_kernel
def _nth_subset(mask, n):
    """Return the subset of a mask that has n smaller ones."""
    subset = 0
    for x in range(bit_length(mask)):
        if mask >> x & 1:
            subset |= (n & 1) << x
            n >>= 1
    return subset
