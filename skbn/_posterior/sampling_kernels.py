"""The kernels of exact samples: orders, parent sets and layers; see `sampling`.

Each sample has a random generator of its own, whose state is a number of `states`: its numbers
depend on the sample alone, however the samples are shared among threads. A sample comes to a dead
end if rounding led it to networks of weight 0; its candidates are -1 then.

Arrays of int64 are extended floats, of the format `wide`, or masks.
"""

from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt
from numba import float64, int64, uint64
from numba.extending import register_jitable

from skbn._core.arrays import F1, I1, I2
from skbn._core.compile import inner_kernel, kernel, pasted_kernel, tuple_type
from skbn._core.extended_floats import WIDE, is_zero, wide_as_double, wide_product
from skbn._core.random_numbers import first_above, uniform
from skbn._core.subsets import bit_length, insert_zero_bit, popcount, remove_bit, zeta_transform
from skbn._core.vectors import (
    filled,
    float_sum,
    larger,
    load,
    plus,
    raised_by_bit_0,
    raised_by_bit_1,
    store,
    times,
)
from skbn._posterior.order_sums import SUM_TABLES

States = npt.NDArray[np.uint64]

# Smaller shares of a sum count as 0: an extended float that stands for zero may become a number
# below 2**-1000 beside larger ones, and no share that matters is as small as this.
_NEGLIGIBLE = 2.0**-400


class OrderWalks(NamedTuple):
    """How far the walks back along the samples' orders have come."""

    states: States
    columns: I1  # (n_samples,): the columns W that are left; at first, all
    next_sinks: I1  # (n_samples,): the next sink to try; at first, 0
    # (n_samples,): A random share of F[W] less the weights of the sinks that were tried, in units
    # of F[W]'s power of two; at first negative, which asks for a new one
    targets: F1
    candidates: I2  # (n_columns, n_samples): set to the columns before each column


_ORDER_WALKS = tuple_type(
    OrderWalks, uint64[::1], int64[::1], int64[::1], float64[::1], int64[:, ::1]
)


@kernel(int64[::1], SUM_TABLES, int64, int64, int64[::1], _ORDER_WALKS, WIDE)
def draw_orders(F, alpha, n_inner, fixed, samples, walks, wide):
    """Walk samples' orders back from the last column, as far as one slab has the weights.

    The last of the columns W is x with the weight ``F[W - x] alpha_x[W - x]``. Sinks are tried in
    the order of the columns. Those that need another slab than the columns before them come last,
    and need slabs that come later, if slabs come with the most outer columns first. So each sample
    waits for the slab of the next sink that it tries.

    `n_inner`, `fixed`: the slab, as in `extend_sums`
    `samples`: which samples to continue
    `F`: (2**n_columns,)
    """
    columns, next_sinks = walks.columns, walks.next_sinks
    targets, candidates = walks.targets, walks.candidates
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
    """The weights of a child's parent sets, by their masks with the child's bit removed."""

    weights: I1  # (2**(m - 1)
    low_sums: I1  # (2**(m - 1): their sums over subsets of the `low_bits` lowest bits
    low_bits: int


class ParentDraws(NamedTuple):
    """What the parents of a child are drawn from."""

    states: States
    candidates: I1  # (n_samples,): masks; -1 for samples that came to a dead end
    # (n_samples,): masks of candidates of which at least one must be a parent; 0 asks for none
    needed: I1
    parents: I1  # (n_samples,): set to the masks of the parents, -1 at a dead end


_TABLE = tuple_type(ParentSetTable)
_DRAWS = tuple_type(ParentDraws, uint64[::1], int64[::1], int64[::1], int64[::1])


@kernel(_TABLE, int64, int64, int64[::1], _DRAWS, WIDE)
def draw_parents(table, child, others, samples, draws, wide):
    """Draw parent sets of a child among candidates, with probabilities as their weights.

    The high bits are drawn first, by the sums over all that the low bits may be, and then these:
    two draws among about the square root of as many sets.

    `others`: mask of more candidates, which all samples have
    `samples`: which samples to draw
    """
    weights, low_sums, low_bits = table.weights, table.low_sums, table.low_bits
    states, candidates = draws.states, draws.candidates
    needed, parents = draws.needed, draws.parents
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
        if shares[k] >= _NEGLIGIBLE:
            total += shares[k]
    left = random * total
    drawn = -1
    for k in range(n):
        if shares[k] >= _NEGLIGIBLE:
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


# Smaller terms of a layer's weight are raised to this. 2**32 such terms are still negligible, and
# arithmetic with numbers below 2**-1022 takes ten times as long.
_LEAST_TERM = 2.0**-500
# (-1)**|S| of four neighbouring sets S: first with an even number of columns beside the lowest two,
# then with an odd one. They are palindromic, so that they also fit tables in reverse order.
_SIGNS = np.array([1.0, -1.0, -1.0, 1.0, -1.0, 1.0, 1.0, -1.0])


class LayerWalks(NamedTuple):
    """How far the layers of samples are drawn."""

    states: States
    # (n_samples,): masks: the columns of all layers so far, and of the last one; at first, 0
    used: I1
    last: I1  # (n_samples,)
    # (n_columns, n_samples): set to the columns of all layers before each column, and of the last
    # layer before it
    candidates: I2
    needed: I2  # (n_columns, n_samples)


class LayerMemory(NamedTuple):
    """Memory for the weights of layers, each array with 2**n_columns entries but the first."""

    columns: I1  # (n_columns,): the columns that are left. The layer k has those of the bits of k
    products: I1  # the factors of each term, and M of the columns that are used then
    others: I1
    terms: F1  # the same memory as `others`
    # running sums of the weights of a sample's next layers, and of those that several samples have
    # in common
    weights: F1
    shared_weights: F1

    @classmethod
    def new(cls, n_columns: int) -> Self:
        """Return memory for one thread; pages that are never used take none."""
        size = 1 << n_columns
        others = np.empty(size, np.int64)
        terms = others.view(np.float64)
        columns, products = np.empty(n_columns, np.int64), np.empty(size, np.int64)
        return cls(columns, products, others, terms, np.empty(size), np.empty(size))


_LAYER_WALKS = tuple_type(
    LayerWalks, uint64[::1], int64[::1], int64[::1], int64[:, ::1], int64[:, ::1]
)
_MEMORY = tuple_type(LayerMemory)


@kernel(int64[::1], SUM_TABLES, int64[::1], int64, _LAYER_WALKS, _MEMORY, WIDE, seconds=1.4)
def draw_layers(M, alpha, samples, most, walks, memory, wide):
    """Draw the next layers of samples.

    `alpha`: the tables of all columns
    `samples`: which samples to draw. Neighbours with the same columns so far, if these are one
        layer or none, have the weights of their next layers in common.
    `most`: how many layers to draw of each sample at most
    `M`: (2**n_columns,)
    """
    used, last, candidates, needed = walks.used, walks.last, walks.candidates, walks.needed
    n = alpha.starts.size - 1
    all_columns = (1 << n) - 1
    shared = np.int64(-1)  # the columns after which the shared weights are
    for i in samples:
        n_drawn = 0
        while used[i] != all_columns and n_drawn < most:
            is_shared = used[i] == last[i]  # there is no other layer before the last one
            cumulative = memory.shared_weights if is_shared else memory.weights
            if not is_shared or used[i] != shared:
                _layer_weights(M, alpha, used[i], last[i], memory, cumulative, wide)
                if is_shared:
                    shared = used[i]
            layer = _draw_layer(cumulative, used[i], n, uniform(walks.states, i))
            for x in range(n):
                if layer >> x & 1:
                    candidates[x, i], needed[x, i] = used[i], last[i]
                elif layer == 0:
                    candidates[x, i] = -1
            n_drawn += 1
            used[i] = used[i] | layer if layer else all_columns
            last[i] = layer


@register_jitable
def _sums_within_vector(x, wide):
    """Return the sums over subsets of two bits, of which the four entries are the subsets."""
    x = plus(x, raised_by_bit_0(x, filled(0.0)))
    return plus(x, raised_by_bit_1(x, filled(0.0)))


@pasted_kernel
def _layer_weights(M, alpha, used, last, memory, cumulative, wide):
    """Set `cumulative` to the running sums of the weights of the next layers, after `last`.

    There are as many as sets of columns that are left, which are set in the memory. The weights are
    in units of M[used]'s power of two, which no term exceeds by more than rounding.
    """
    columns, others, terms = memory.columns, memory.others, memory.terms
    n = alpha.starts.size - 1 - popcount(used)
    k = 0
    for x in range(alpha.starts.size - 1):
        if not used >> x & 1:
            columns[k] = x
            k += 1
    size = 1 << n
    if is_zero(M[used], wide):
        for k in range(size):
            cumulative[k] = 0.0
        return
    # Tables are reversed, so that sums over supersets are sums over subsets: the set k is at
    # `size - 1 - k`.
    _products(alpha, used, n, memory, wide)
    superset = used
    for k in range(size - 1, -1, -1):
        others[k] = M[superset]
        superset = (superset + 1) | used
    _signed_products(memory, size, M[used] >> wide.bits, wide)
    zeta_transform(terms[:size], np.int64(0), n, float_sum, _sums_within_vector, wide)
    cumulative[0] = 1.0
    for j in range(n):
        share = -_share_with_parent_in(alpha, used, last, columns[j], wide)
        half = 1 << j
        for k in range(half):
            cumulative[half + k] = share * cumulative[k]
    total = 0.0
    cumulative[0] = 0.0
    for k in range(1, size):
        total += max(cumulative[k] * terms[size - 1 - k], 0.0)
        cumulative[k] = total


@pasted_kernel
def _products(alpha, used, n, memory, wide):
    """Set `products` to those of alpha[used] over all sets of the columns, in reverse."""
    products = memory.products
    end = (1 << n) - 1
    products[end] = wide.bias << wide.bits
    for j in range(n):
        x = memory.columns[j]
        factor = alpha.entries[alpha.starts[x] + remove_bit(used, x)]
        size = 1 << j
        first = end + 1 - size
        if size < 4:
            for i in range(first, first + size):
                products[i - size] = wide_product(products[i], factor, wide)
        else:
            for i in range(first, first + size, 4):
                store(products, i - size, wide_product(load(products, i), filled(factor), wide))


@pasted_kernel
def _signed_products(memory, size, exponent, wide):
    """Set `terms` to the products times `others`, negative for sets of an odd size."""
    products, others, terms = memory.products, memory.others, memory.terms
    if size < 4:
        for i in range(size):
            value = wide_as_double(wide_product(products[i], others[i], wide), wide, exponent)
            terms[i] = _SIGNS[size - 1 - i] * max(value, _LEAST_TERM)
        return
    for i in range(0, size, 4):
        product = wide_product(load(products, i), load(others, i), wide)
        is_odd = popcount((size - 1 - i) >> 2) & 1
        term = larger(wide_as_double(product, wide, exponent), filled(_LEAST_TERM), wide)
        store(terms, i, times(load(_SIGNS, 4 * is_odd), term))


@pasted_kernel
def _share_with_parent_in(alpha, used, last, child, wide):
    """Return the share of a child's families with parents in `used` that have one in `last`."""
    start = alpha.starts[child]
    of_used = alpha.entries[start + remove_bit(used, child)]
    if is_zero(of_used, wide):
        return 0.0
    if used == 0:  # the first layer
        return 1.0
    without = alpha.entries[start + remove_bit(used & ~last, child)]
    exponent = of_used >> wide.bits
    without = wide_as_double(without, wide, exponent)
    return max(1.0 - without / wide_as_double(of_used, wide, exponent), 0.0)


@pasted_kernel
def _draw_layer(cumulative, used, n_columns, random):
    """Return the mask of a layer after the columns `used`; 0 if all weights count as 0."""
    last = (1 << (n_columns - popcount(used))) - 1
    if cumulative[last] < _NEGLIGIBLE:
        return 0
    k = first_above(cumulative, np.int64(0), last, random * cumulative[last])
    layer = 0
    for x in range(n_columns):  # spread the bits of k over the columns that are left
        if not used >> x & 1:
            layer |= (k & 1) << x
            k >>= 1
    return layer
