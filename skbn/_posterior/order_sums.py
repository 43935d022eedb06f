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
R, whose slabs come in the opposite order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from skbn._core.arrays import Integers
from skbn._core.compile import compile_kernels
from skbn._core.extended_floats import WideFormat
from skbn._core.resources import Progress, Threads, allocate
from skbn._core.subsets import mask_of, members_of
from skbn._exact.plan import SearchPlan
from skbn._exact.recurrences import Slab, fill_array
from skbn._posterior.listed_weights import Weights
from skbn._posterior.order_sum_kernels import (
    count_orders,
    extend_sums,
    order_products,
    retreat_sums,
    sum_zeta,
)

ORDER_KERNELS = (sum_zeta, extend_sums, retreat_sums)
GAMMA_KERNELS = (order_products,)


@dataclass(frozen=True)
class OrderSums:
    """F and R, of shape (2**n_columns,): extended floats of the format `wide`."""

    F: Integers
    R: Integers
    wide: WideFormat

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


def weight_slab(weights: Weights, plan: SearchPlan, threads: Threads, progress: Progress) -> Slab:
    """Return the memory in which alpha is made, slab by slab."""

    def zeta(table: Integers, first_bit: int, last_bit: int) -> None:
        sum_zeta(table, first_bit, last_bit, weights.wide)

    return Slab(weights, plan, threads, progress, zeta, np.int64)


def order_work(plan: SearchPlan) -> int:
    """Return about how long the sums take, in units of one local score of a search."""
    last = plan.slab_works[-1]
    return 2 * plan.work - last.fill - last.transform


def order_sums(slab: Slab, weights: Weights, plan: SearchPlan, threads: Threads) -> OrderSums:
    """Sum the weights of all networks and their orders.

    Afterwards, the slab holds alpha of all columns if none is an outer one.
    """
    F = _sums_with_one_at(0, weights, plan, threads)
    for fixed in range(1 << plan.n_outer):
        make_alpha(slab, fixed)
        slab.visit_sets(_with_format(extend_sums, F, fixed, weights), fixed)
    R = _sums_with_one_at(-1, weights, plan, threads)
    for fixed in reversed(range(1 << plan.n_outer)):
        if fixed != (1 << plan.n_outer) - 1:  # the slab still holds the last alpha
            make_alpha(slab, fixed)
        slab.visit_sets(_with_format(retreat_sums, R, fixed, weights), fixed, backwards=True)
    return OrderSums(F, R, weights.wide)


def make_alpha(slab: Slab, fixed: int) -> None:
    """Make alpha of the inner columns, and of the outer ones that are not in `fixed`."""
    slab.fill(fixed, (1 << slab.plan.n_outer) - 1 & ~fixed)
    slab.transform(fixed)


def _sums_with_one_at(index: int, weights: Weights, plan: SearchPlan, threads: Threads) -> Integers:
    sums = allocate(1 << plan.n_columns).view(np.int64)
    fill_array(sums, 0, threads)
    sums[index] = weights.wide.one
    return sums


def _with_format(
    kernel: Callable[..., None], sums: Integers, fixed: int, weights: Weights
) -> Callable[..., None]:
    return lambda *arguments: kernel(sums, fixed, *arguments, weights.wide)


def log_number_of_orders(parents: Sequence[int], columns: Sequence[int]) -> float:
    """Return the logarithm of the number of orders of some columns that a network allows.

    Parameters
    ----------
    parents : sequence of m int
        The masks of each column's parents; those that are not in `columns` come before them.
    columns : sequence of int
    """
    position = {column: i for i, column in enumerate(columns)}
    inside = mask_of(columns)
    masks = [mask_of(position[p] for p in members_of(parents[x] & inside)) for x in columns]
    n_orders = allocate(1 << len(columns))
    compile_kernels([count_orders])
    count_orders(np.array(masks, dtype=np.int64), n_orders)
    return math.log(n_orders[-1])
