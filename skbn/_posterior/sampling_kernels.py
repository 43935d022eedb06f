"""The kernels of exact samples: orders, layers of networks, and parent sets; see `sampling`.

Each sample has a random generator of its own, whose state is a number of `states`: its
numbers depend on the sample alone, however the samples are shared among threads. A sample comes to
a dead end if rounding led it to networks that weigh nothing; its candidates are -1 then.

Arrays of int64 are extended floats, of the format `wide`, or masks.
"""

from __future__ import annotations

import numpy as np
from numba import float64, int64, uint64
from numba.extending import register_jitable

from skbn._core.compile import inner_kernel, kernel
from skbn._core.extended_floats import WIDE, is_zero, wide_as_double, wide_product
from skbn._core.random_numbers import uniform
from skbn._core.subsets import bit_length, insert_zero_bit, popcount, remove_bit
from skbn._core.vectors import larger, load, plus, raised_by_bit_0, raised_by_bit_1, store, times
from skbn._core.zeta import zeta_transform

__all__ = ["draw_first_layers", "draw_layers", "draw_orders", "draw_parents"]

# Shares of a sum below this count as 0: an extended float that stands for zero may become a number
# below 2**-1000 beside larger ones.
_NOTHING = 2.0**-400
# Smaller terms of a layer's weight are raised to this. 2**32 such terms are still nothing, and
# arithmetic with numbers below 2**-1022 takes ten times as long.
_LEAST_TERM = 2.0**-500


# Orders


@kernel(
    int64[::1],
    int64[::1],
    int64[::1],
    int64,
    int64,
    int64[::1],
    uint64[::1],
    int64[::1],
    int64[::1],
    float64[::1],
    int64[:, ::1],
    WIDE,
)
def draw_orders(
    F,
    alpha,
    starts,
    n_inner,
    fixed,
    samples,
    states,
    columns,
    next_sinks,
    targets,
    candidates,
    wide,
):
    """Walk samples' orders back from the last column, as far as one slab has the weights.

    The last of the columns W is x with the weight ``F[W - x] alpha_x[W - x]``. Sinks are tried in
    the order of the columns. Those that need another slab than the columns before them come last,
    and need slabs that come later, if slabs come with the most outer columns first. So each sample
    waits for the slab of the next sink that it tries.

    Parameters
    ----------
    F : ndarray of shape (2**n_columns,), int64
    alpha, starts, n_inner, fixed
        The slab, as in `extend_blocks`.
    samples : ndarray, int64
        Which samples to go on with.
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
    wide : WideFormat
    """
    n = starts.size - 1
    for i in samples:
        while columns[i]:
            W = columns[i]
            if targets[i] < 0.0:
                whole = wide_as_double(F[W], wide, F[W] >> wide.bits)
                targets[i] = uniform(states, i) * whole
            sink, targets[i] = _try_sinks(
                W,
                next_sinks[i],
                targets[i],
                F,
                alpha,
                starts,
                n_inner,
                fixed,
                wide,
            )
            if targets[i] < 0.0:
                columns[i] = W ^ 1 << sink
                candidates[sink, i] = columns[i]
                next_sinks[i] = 0
            elif sink == n:  # the sinks' weights add up to less than F[W], by rounding
                columns[i] = 0
                candidates[:, i] = -1
            else:
                next_sinks[i] = sink
                break


@inner_kernel
def _try_sinks(W, sink, target, F, alpha, starts, n_inner, fixed, wide):
    """Subtract the weights of sinks of W from the target, until it is negative.

    Returns
    -------
    sink : int
        The one whose weight made the target negative, or the first one that needs another slab; the
        number of columns if there is neither.
    target : float
    """
    exponent = F[W] >> wide.bits
    while sink < starts.size - 1:
        if W >> sink & 1:
            rest = W ^ 1 << sink
            if rest >> n_inner != fixed:
                break
            inner = rest & ((1 << n_inner) - 1)
            index = remove_bit(inner, sink) if sink < n_inner else inner
            weight = alpha[starts[sink] + index]
            if not is_zero(weight, wide) and not is_zero(F[rest], wide):
                product = wide_product(F[rest], weight, wide)
                target -= wide_as_double(product, wide, exponent)
                if target < 0.0:
                    break
        sink += 1
    return sink, target


# Layers


@register_jitable
def _sum_of_doubles(a, b, wide):
    """Return ``a + b``; see `zeta_transform`."""
    return plus(a, b)


@register_jitable
def _sums_within_vector(x, wide):
    """Return the sums over subsets of two bits, of which the four entries are the subsets."""
    x = plus(x, raised_by_bit_0(x))
    return plus(x, raised_by_bit_1(x))


@inner_kernel
def _layer_weights(used, last, M, alpha, starts, columns, products, terms, cumulative, wide):
    """Set `cumulative` to the running sums of the weights of the next layers, after `last`.

    Parameters
    ----------
    used, last : int
        Masks: the columns of all layers so far, and of the last one.
    M, alpha, starts
        As in `draw_layers`.
    columns : ndarray, int64
        Set to the columns that are left. The layer k has those of the bits of k.
    products, terms : ndarray of the size of `cumulative`, int64 and float64
        Scratch memory.
    cumulative : ndarray, float64
        Of at least as many entries as there are sets of columns that are left. The weights are in
        units of M[used]'s power of two, which no term exceeds by more than rounding.
    wide : WideFormat
    """
    n = 0
    for x in range(starts.size - 1):
        if not used >> x & 1:
            columns[n] = x
            n += 1
    end = (1 << n) - 1
    if is_zero(M[used], wide):
        cumulative[: end + 1] = 0.0
        return
    # Tables are reversed, so that sums over supersets are sums over subsets: the set k is at
    # `end - k`.
    _products(used, alpha, starts, columns[:n], products, wide)
    others = terms.view(np.int64)
    superset = used
    for k in range(end, -1, -1):
        others[k] = M[superset]
        superset = (superset + 1) | used
    _signed_products(products, others, terms, end + 1, M[used] >> wide.bits, wide)
    zeta_transform(terms[: end + 1], np.int64(0), n, _sum_of_doubles, _sums_within_vector, wide)
    cumulative[0] = 1.0
    for j in range(n):
        share = -_share_with_parent_in(last, used, columns[j], alpha, starts, wide)
        size = 1 << j
        for k in range(size):
            cumulative[size + k] = share * cumulative[k]
    total = 0.0
    cumulative[0] = 0.0
    for k in range(1, end + 1):
        total += max(cumulative[k] * terms[end - k], 0.0)
        cumulative[k] = total


@inner_kernel
def _products(used, alpha, starts, columns, products, wide):
    """Set `products` to those of alpha[used] over all sets of the columns, in reverse."""
    end = (1 << columns.size) - 1
    factors = np.empty(4, np.int64)
    products[end] = wide.bias << wide.bits
    for j in range(columns.size):
        x = columns[j]
        factors[:] = alpha[starts[x] + remove_bit(used, x)]
        size = 1 << j
        first = end + 1 - size
        if size < 4:
            for i in range(first, first + size):
                products[i - size] = wide_product(products[i], factors[0], wide)
        else:
            for i in range(first, first + size, 4):
                product = wide_product(load(products, i), load(factors, 0), wide)
                store(products, i - size, product)


@inner_kernel
def _signed_products(products, others, terms, size, exponent, wide):
    """Set `terms` to the products of two tables, negative for sets of an odd size."""
    signs = np.array([1.0, -1.0, -1.0, 1.0, -1.0, 1.0, 1.0, -1.0])
    if size < 4:
        for i in range(size):
            value = wide_as_double(wide_product(products[i], others[i], wide), wide, exponent)
            terms[i] = signs[size - 1 - i] * max(value, _LEAST_TERM)
        return
    least_terms = np.full(4, _LEAST_TERM)
    for i in range(0, size, 4):
        product = wide_product(load(products, i), load(others, i), wide)
        is_odd = popcount((size - 1 - i) >> 2) & 1
        sign = load(signs, 4 * is_odd)  # of four sets, reads the same from behind
        term = larger(wide_as_double(product, wide, exponent), load(least_terms, 0))
        store(terms, i, times(sign, term))


@inner_kernel
def _share_with_parent_in(last, used, child, alpha, starts, wide):
    """Return the share of a child's families with parents in `used` that have one in `last`."""
    of_used = alpha[starts[child] + remove_bit(used, child)]
    if is_zero(of_used, wide):
        return 0.0
    if used == 0:  # the first layer
        return 1.0
    without = alpha[starts[child] + remove_bit(used & ~last, child)]
    exponent = of_used >> wide.bits
    without = wide_as_double(without, wide, exponent)
    return max(1.0 - without / wide_as_double(of_used, wide, exponent), 0.0)


@inner_kernel
def _draw_layer(cumulative, columns, n_columns, random):
    """Return the mask of a layer; 0 if all layers weigh nothing."""
    first, last = 0, (1 << n_columns) - 1
    target = random * cumulative[last]
    if cumulative[last] < _NOTHING:
        return 0
    while first < last:  # the first k with cumulative[k] > target
        middle = (first + last) >> 1
        if cumulative[middle] > target:
            last = middle
        else:
            first = middle + 1
    layer = 0
    for j in range(n_columns):
        layer |= (first >> j & 1) << columns[j]
    return layer


@kernel(int64[::1], int64[::1], int64[::1], uint64[::1], int64[::1], WIDE, seconds=3.3)
def draw_first_layers(M, alpha, starts, states, layers, wide):
    """Set `layers` to the columns without parents of each sample; see `draw_layers`."""
    columns = np.empty(starts.size - 1, np.int64)
    cumulative = np.empty(M.size)
    products, terms = np.empty(M.size, np.int64), np.empty(M.size)
    none = np.int64(0)  # for a literal 0 numba would compile it all again
    _layer_weights(none, none, M, alpha, starts, columns, products, terms, cumulative, wide)
    for i in range(layers.size):
        layers[i] = _draw_layer(cumulative, columns, columns.size, uniform(states, i))


@kernel(
    int64[::1],
    int64[::1],
    int64[::1],
    int64[::1],
    uint64[::1],
    int64[::1],
    int64[:, ::1],
    int64[:, ::1],
    WIDE,
)
def draw_layers(M, alpha, starts, samples, states, first_layers, candidates, needed, wide):
    """Draw the other layers of samples.

    Parameters
    ----------
    M : ndarray of shape (2**n_columns,), int64
    alpha : ndarray, int64
        The columns' tables one after the other.
    starts : ndarray of shape (n_columns + 1,), int64
        Where each table starts in `alpha`.
    samples : ndarray, int64
        Which samples to draw, sorted by their first layers: equal ones have their second layers'
        weights in common.
    states : ndarray of shape (n_samples,), uint64
    first_layers : ndarray of shape (n_samples,), int64
    candidates, needed : ndarray of shape (n_columns, n_samples), int64
        Set to the columns of all layers before each column, and of the last layer before it.
    wide : WideFormat
    """
    n = starts.size - 1
    all_columns = (1 << n) - 1
    columns, second_columns = np.empty(n, np.int64), np.empty(n, np.int64)
    # Pages that are not used do not take memory.
    weights, second_weights = np.empty(M.size), np.empty(M.size)
    products, terms = np.empty(M.size, np.int64), np.empty(M.size)
    of_second = np.int64(0)  # the first layer after which the second ones are weighed
    for i in samples:
        used = last = first_layers[i]
        candidates[:, i] = needed[:, i] = 0 if used else -1
        if used == 0:
            continue
        while used != all_columns:
            is_second = used == first_layers[i]
            left = second_columns if is_second else columns
            cumulative = second_weights if is_second else weights
            if not is_second or used != of_second:
                _layer_weights(
                    used,
                    last,
                    M,
                    alpha,
                    starts,
                    left,
                    products,
                    terms,
                    cumulative,
                    wide,
                )
                if is_second:
                    of_second = used
            layer = _draw_layer(cumulative, left, n - popcount(used), uniform(states, i))
            if layer == 0:
                candidates[:, i] = -1
                break
            for x in range(n):
                if layer >> x & 1:
                    candidates[x, i] = used
                    needed[x, i] = last
            used |= layer
            last = layer


# Parent sets


@kernel(
    int64[::1],
    int64[::1],
    int64,
    int64,
    int64,
    int64[::1],
    uint64[::1],
    int64[::1],
    int64[::1],
    int64[::1],
    WIDE,
)
def draw_parents(
    weights,
    low_sums,
    low_bits,
    child,
    others,
    samples,
    states,
    candidates,
    needed,
    parents,
    wide,
):
    """Draw parent sets of a child among candidates, with probabilities as their weights.

    The high bits are drawn first, by the sums over all that the low bits may be, and then these.

    Parameters
    ----------
    weights : ndarray of shape (2**(m - 1),), int64
        The weights of parent sets, by their masks with the child's bit removed.
    low_sums : ndarray of shape (2**(m - 1),), int64
        Their sums over subsets of the `low_bits` lowest bits.
    low_bits : int
    child : int
    others : int
        Mask of more candidates, which all samples have.
    samples : ndarray, int64
        Which samples to draw.
    states : ndarray of shape (n_samples,), uint64
    candidates : ndarray of shape (n_samples,), int64
        Masks; -1 for samples that came to a dead end.
    needed : ndarray of shape (n_samples,), int64
        Masks of candidates of which at least one must be a parent; 0 asks for none.
    parents : ndarray of shape (n_samples,), int64
        Set to the masks of the parents, -1 at a dead end.
    wide : WideFormat
    """
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
        # As the subsets of a mask are gone through upwards, their numbers of subsets are too.
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
    """Return an index with a probability as its share; -1 if all shares are nothing."""
    total = 0.0
    for k in range(n):
        if shares[k] >= _NOTHING:
            total += shares[k]
    left = random * total
    drawn = -1
    for k in range(n):
        if shares[k] >= _NOTHING:
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
