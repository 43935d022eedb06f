"""The kernel of exact samples' layers; see `sampling`.

Arrays of int64 are extended floats, of the format `wide`, or masks. As in `draw_kernels`, a sample
has a random generator of its own, and its candidates are -1 at a dead end.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt
from numba import float64, int64, uint64
from numba.extending import register_jitable

from skbn._core.arrays import Floats, Integers
from skbn._core.compile import inner_kernel, kernel, tuple_type
from skbn._core.extended_floats import WIDE, is_zero, wide_as_double, wide_product
from skbn._core.random_numbers import uniform
from skbn._core.subsets import popcount, remove_bit, zeta_transform
from skbn._core.vectors import (
    filled,
    larger,
    load,
    plus,
    raised_by_bit_0,
    raised_by_bit_1,
    store,
    times,
)
from skbn._posterior.draw_kernels import NEGLIGIBLE
from skbn._posterior.sum_kernels import SUM_TABLES

# Smaller terms of a layer's weight are raised to this. 2**32 such terms are still negligible, and
# arithmetic with numbers below 2**-1022 takes ten times as long.
_LEAST_TERM = 2.0**-500
# (-1)**|S| of four neighbouring sets S: first with an even number of columns beside the lowest two,
# then with an odd one. They are palindromic, so that they also fit tables in reverse order.
_SIGNS = np.array([1.0, -1.0, -1.0, 1.0, -1.0, 1.0, 1.0, -1.0])


class LayerWalks(NamedTuple):
    """How far the layers of samples are drawn.

    Parameters
    ----------
    states : ndarray of shape (n_samples,), uint64
    used, last : ndarray of shape (n_samples,), int64
        Masks: the columns of all layers so far, and of the last one; at first, 0.
    candidates, needed : ndarray of shape (n_columns, n_samples), int64
        Set to the columns of all layers before each column, and of the last layer before it.
    """

    states: npt.NDArray[np.uint64]
    used: Integers
    last: Integers
    candidates: Integers
    needed: Integers


class LayerMemory(NamedTuple):
    """Memory for the weights of layers, each array with 2**n_columns entries but the first.

    Parameters
    ----------
    columns : ndarray of shape (n_columns,), int64
        The columns that are left. The layer k has those of the bits of k.
    products, others : ndarray, int64
        The factors of each term, and M of the columns that are used then.
    terms : ndarray, float64
        The same memory as `others`.
    weights, shared_weights : ndarray, float64
        Running sums of the weights of a sample's next layers, and of those that several samples
        have in common.
    """

    columns: Integers
    products: Integers
    others: Integers
    terms: Floats
    weights: Floats
    shared_weights: Floats

    @classmethod
    def new(cls, n_columns: int) -> Self:
        """Return memory for one thread; pages that are never used take none."""
        size = 1 << n_columns
        others = np.empty(size, np.int64)
        terms = others.view(np.float64)
        columns, products = np.empty(n_columns, np.int64), np.empty(size, np.int64)
        return cls(columns, products, others, terms, np.empty(size), np.empty(size))


_WALKS = tuple_type(LayerWalks, uint64[::1], int64[::1], int64[::1], int64[:, ::1], int64[:, ::1])
_MEMORY = tuple_type(LayerMemory, *[int64[::1]] * 3, *[float64[::1]] * 3)


@kernel(int64[::1], SUM_TABLES, int64[::1], int64, _WALKS, _MEMORY, WIDE, seconds=1.3)
def draw_layers(M, alpha, samples, most, walks, memory, wide):
    """Draw the next layers of samples.

    Parameters
    ----------
    M : ndarray of shape (2**n_columns,), int64
    alpha : Tables
        The tables of all columns.
    samples : ndarray, int64
        Which samples to draw. Neighbours with the same columns so far, if these are one layer or
        none, have the weights of their next layers in common.
    most : int
        How many layers to draw of each sample at most.
    walks : LayerWalks
    memory : LayerMemory
    wide : WideFormat
    """
    _, used, last, candidates, needed = walks
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
def _sum_of_doubles(a, b, wide):
    """Return ``a + b``; see `zeta_transform`."""
    return plus(a, b)


@register_jitable
def _sums_within_vector(x, wide):
    """Return the sums over subsets of two bits, of which the four entries are the subsets."""
    x = plus(x, raised_by_bit_0(x))
    return plus(x, raised_by_bit_1(x))


@inner_kernel
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
    zeta_transform(terms[:size], np.int64(0), n, _sum_of_doubles, _sums_within_vector, wide)
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


@inner_kernel
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


@inner_kernel
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
        term = larger(wide_as_double(product, wide, exponent), filled(_LEAST_TERM))
        store(terms, i, times(load(_SIGNS, 4 * is_odd), term))


@inner_kernel
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


@inner_kernel
def _draw_layer(cumulative, used, n_columns, random):
    """Return the mask of a layer after the columns `used`; 0 if all weights count as 0."""
    first, last = 0, (1 << (n_columns - popcount(used))) - 1
    target = random * cumulative[last]
    if cumulative[last] < NEGLIGIBLE:
        return 0
    while first < last:  # the first k with cumulative[k] > target
        middle = (first + last) >> 1
        if cumulative[middle] > target:
            last = middle
        else:
            first = middle + 1
    layer = 0
    for x in range(n_columns):  # spread the bits of k over the columns that are left
        if not used >> x & 1:
            layer |= (first & 1) << x
            first >>= 1
    return layer
