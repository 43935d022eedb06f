"""Sums over all networks, each as often as it has topological orders (Koivisto and Sood 2004).

With the weight beta_x(P) of the family of a column x with the parents P, and V all columns,

- ``alpha_x[C] = sum over P ⊆ C of beta_x(P)``: x has parents among the candidates C;
- ``F[W] = sum over x in W of F[W - x] alpha_x[W - x]``, ``F[{}] = 1``: the orders and networks of
  the columns W, whose last column is x;
- ``R[W] = sum over x not in W of R[W + x] alpha_x[W]``, ``R[V] = 1``: those of the other columns,
  after the columns W.

``F[V] = R[{}]`` is the weight of all networks and their orders. In those where x comes right after
the set C, its family aside, the others weigh ``q_x[C] = F[C] R[C + x]``, and
``gamma_x[P] = sum over C ⊇ P of q_x[C]``: the parents of x are P with probability
``beta_x(P) gamma_x[P] / F[V]`` (Koivisto 2006).

alpha is made slab by slab, as B is in the search (see `skbn._exact.recurrences`), and once more for
R, whose slabs come in the opposite order. The kernels are those of the search, with extended
floats: arrays of int64 of the format `wide`. The tables of a slab hold alpha where those of the
search hold B.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import float64, int64

from skbn._core.arrays import Integers
from skbn._core.compile import compile_kernels, inner_kernel, kernel, pasted_kernel, tuple_type
from skbn._core.extended_floats import WIDE, WideFormat, wide_product, wide_sum
from skbn._core.resources import Progress, Threads, allocate
from skbn._core.subsets import bit_length, insert_zero_bit, mask_of, members_of, remove_bit
from skbn._core.vectors import (
    even_entries,
    first_halves,
    load,
    odd_entries,
    reversed_entries,
    second_halves,
    store,
)
from skbn._exact.plan import SearchPlan
from skbn._exact.recurrences import Slab, fill_array
from skbn._exact.sink_kernels import Tables, add_column, extend_block
from skbn._posterior.family_weights import sum_zeta
from skbn._posterior.listed_weights import Weights

SUM_TABLES = tuple_type(Tables, int64[::1], int64[::1])


_slab = (int64[::1], int64, SUM_TABLES, int64, int64, int64[::1], WIDE)


@kernel(*_slab, seconds=0.9)
def extend_sums(F, fixed, alpha, n_inner, block_bits, blocks, wide):
    """Finish the forward sums F on some blocks of a slab, and hand them on.

    At first F[0] is one, and all other entries are zero. Slabs with fewer outer columns, and blocks
    with fewer high bits, must be finished.

    `fixed`: the outer columns of the slab's sets
    `alpha`: the slab's tables
    `n_inner`, `block_bits`, `blocks`: as in `extend_blocks`
    `F`: (2**m,)
    """
    n_sets = np.int64(1) << n_inner
    of_slab = F[fixed * n_sets : (fixed + 1) * n_sets]
    length = np.int64(1) << block_bits
    for block in blocks:
        inner = block << block_bits
        extend_block(of_slab, alpha, n_inner, inner, length, wide_sum, wide_product, wide)
        first = fixed << n_inner | inner
        for sink in range(n_inner, alpha.starts.size - 1):
            if not first >> sink & 1:
                _add_products(F, first | 1 << sink, first, alpha, sink, inner, length, wide)


@kernel(*_slab)
def retreat_sums(R, fixed, alpha, n_inner, block_bits, blocks, wide):
    """Finish the backward sums R on some blocks of a slab: R[W] = sum of R[W + x] alpha_x[W].

    Slabs with more outer columns, and blocks with more high bits, must be finished. The parameters
    are those of `extend_sums`.
    """
    for block in blocks:
        inner = block << block_bits
        first = fixed << n_inner | inner
        length = np.int64(1) << block_bits
        for x in range(alpha.starts.size - 1):
            if (1 << x >= length or x >= n_inner) and not first >> x & 1:
                index = remove_bit(inner, x) if x < n_inner else inner
                _add_products(R, first, first | 1 << x, alpha, x, index, length, wide)
        _retreat_within_block(R, first, alpha, inner, length, wide)


@inner_kernel
def _add_products(sums, target, source, alpha, x, index, length, wide):
    """Add to the sums of `length` sets those of others times alpha_x from an index on."""
    factors = alpha.entries, alpha.starts[x] + index
    add_column((sums, target), (sums, source), factors, length, wide_sum, wide_product, wide)


@pasted_kernel
def _retreat_within_block(R, first, alpha, inner, length, wide):
    """Recurse over the low bits, from the last set to the first; see `extend_block`."""
    run = min(8, length)
    for low in range(length - run, -1, -run):
        _retreat_run(R, first + low, alpha, inner + low, run, wide)
        half = low & -low
        if 0 < half < length:
            # The upper half that begins here is finished; hand it to the lower half.
            x = bit_length(half) - 1
            lower = low - half
            index = remove_bit(inner + lower, x)
            _add_products(R, first + lower, first + low, alpha, x, index, half, wide)


@pasted_kernel
def _retreat_run(R, first, alpha, inner, run, wide):
    """Recurse over the lowest three bits, set by set: their halves are shorter than a vector."""
    for i in range(run - 1, -1, -1):
        value = R[first + i]
        for x in range(3):
            if 1 << x < run and not i >> x & 1:
                weight = alpha.entries[alpha.starts[x] + remove_bit(inner + i, x)]
                value = wide_sum(value, wide_product(R[first + (i | 1 << x)], weight, wide), wide)
        R[first + i] = value


@kernel(int64[::1], int64[::1], int64, int64[::1], WIDE)
def order_products(F, R, child, q, wide):
    """Set ``q[~C] = F[C] * R[C + child]`` for the sets C of other columns, the child's bit removed.

    In this reverse order, sums over supersets are sums over subsets.
    """
    size = q.size
    if size < 4:
        for i in range(size):
            C = insert_zero_bit(i, child)
            q[size - 1 - i] = wide_product(F[C], R[C | 1 << child], wide)
        return
    for i in range(0, size, 4):
        if child == 0:
            without = even_entries(load(F, 2 * i), load(F, 2 * i + 4))
            with_child = odd_entries(load(R, 2 * i), load(R, 2 * i + 4))
        elif child == 1:
            without = first_halves(load(F, 2 * i), load(F, 2 * i + 4))
            with_child = second_halves(load(R, 2 * i), load(R, 2 * i + 4))
        else:
            C = insert_zero_bit(i, child)
            without = load(F, C)
            with_child = load(R, C | 1 << child)
        product = wide_product(without, with_child, wide)
        store(q, size - 4 - i, reversed_entries(product, product))


@kernel(int64[::1], float64[::1])
def count_orders(parents, n_orders):
    """Set ``n_orders[W]`` to the number of orders of the columns W in which parents come first.

    `parents` has the masks of each column's parents. A set that lacks a parent has no orders.
    """
    n_orders[0] = 1.0
    for W in range(1, n_orders.size):
        total = 0.0
        for x in range(parents.size):
            if W >> x & 1 and parents[x] & ~W == 0:
                total += n_orders[W ^ 1 << x]
        n_orders[W] = total


ORDER_KERNELS = (sum_zeta, extend_sums, retreat_sums)
GAMMA_KERNELS = (order_products,)


@dataclass(frozen=True)
class OrderSums:
    """F and R, of shape (2**n_columns,): extended floats of the format `wide`."""

    F: Integers
    R: Integers
    wide: WideFormat

    paths = None

    @property
    def drawn_from(self) -> Integers:
        """What samples are drawn by."""
        return self.F

    @property
    def total(self) -> int:
        """The weight of all networks and their orders, an extended float."""
        return int(self.F[-1])

    @property
    def log_total(self) -> float:
        """Its logarithm."""
        return self.wide.log(self.total)

    def gamma(self, child: int) -> Integers:
        """Return gamma of a child, at ``[~P]``, as `FamilyWeights.edge_sums` takes it."""
        gamma = allocate(len(self.F) // 2).view(np.int64)
        order_products(self.F, self.R, child, gamma, self.wide)
        sum_zeta(gamma, 0, len(gamma).bit_length() - 1, self.wide)
        return gamma


class Alpha:
    """alpha of a group's columns, made slab by slab in the same memory.

    `wide`: the format of all sums
    `tables`: those of the slab that was made last. Without outer columns, they are those of all
        columns.
    """

    def __init__(
        self, weights: Weights, plan: SearchPlan, threads: Threads, progress: Progress
    ) -> None:
        self.plan, self.wide = plan, weights.wide
        self.threads, self.progress = threads, progress

        def zeta(table: Integers, first_bit: int, last_bit: int) -> None:
            sum_zeta(table, first_bit, last_bit, weights.wide)

        self._slab = Slab(weights.fill, plan, threads, progress, zeta, np.int64)
        self.tables = Tables(self._slab.tables, self._slab.starts)

    def make(self, fixed: int) -> None:
        """Make alpha of the inner columns, and of the outer ones that are not in `fixed`."""
        self._slab.fill(fixed, (1 << self.plan.n_outer) - 1 & ~fixed)
        self._slab.transform(fixed)

    def visit_sets(
        self, kernel: Callable[..., None], sums: Integers, fixed: int, *, backwards: bool = False
    ) -> None:
        """Run a kernel of sums on the slab's sets; see `Slab.visit_sets`."""

        def run(*blocks: Any) -> None:
            kernel(sums, fixed, *blocks, self.wide)

        self._slab.visit_sets(run, fixed, backwards)


def order_work(plan: SearchPlan) -> int:
    """Return about how long the sums take, in units of one local score of a search."""
    last = plan.slab_works[-1]
    return 2 * plan.work - last.fill - last.transform


def order_sums(alpha: Alpha) -> OrderSums:
    """Sum the weights of all networks and their orders; alpha holds the slab 0 in the end."""
    slabs = range(1 << alpha.plan.n_outer)
    F = _sums_with_one_at(0, alpha)
    for fixed in slabs:
        alpha.make(fixed)
        alpha.visit_sets(extend_sums, F, fixed)
    R = _sums_with_one_at(-1, alpha)
    for fixed in reversed(slabs):
        if fixed != slabs[-1]:  # the slab still holds the last alpha
            alpha.make(fixed)
        alpha.visit_sets(retreat_sums, R, fixed, backwards=True)
    return OrderSums(F, R, alpha.wide)


def _sums_with_one_at(index: int, alpha: Alpha) -> Integers:
    sums = allocate(1 << alpha.plan.n_columns).view(np.int64)
    fill_array(sums, 0, alpha.threads)
    sums[index] = alpha.wide.one
    return sums


def log_number_of_orders(parents: Sequence[int], columns: Sequence[int]) -> float:
    """Return the logarithm of the number of orders of some columns that a network allows.

    `parents`: the masks of each column's parents; those that are not in `columns` come before them
    """
    position = {column: i for i, column in enumerate(columns)}
    inside = mask_of(columns)
    masks = [mask_of(position[p] for p in members_of(parents[x] & inside)) for x in columns]
    n_orders = allocate(1 << len(columns))
    compile_kernels([count_orders])
    count_orders(np.array(masks, dtype=np.int64), n_orders)
    return math.log(n_orders[-1])
