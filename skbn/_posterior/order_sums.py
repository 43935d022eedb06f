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

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from skbn._core.resources import Progress, Threads, allocate
from skbn._exact.plan import SearchPlan
from skbn._exact.recurrences import Slab, fill_array
from skbn._posterior.family_weights import FamilyWeights
from skbn._posterior.sum_kernels import extend_sums, order_products, retreat_sums, sum_zeta

__all__ = ["ORDER_KERNELS", "backward_sums", "forward_sums", "order_gamma", "weight_slab"]

Integers = npt.NDArray[np.int64]

ORDER_KERNELS = (sum_zeta, extend_sums, retreat_sums, order_products)


def weight_slab(
    weights: FamilyWeights, plan: SearchPlan, threads: Threads, progress: Progress
) -> Slab:
    """Return the memory in which alpha is made, slab by slab."""

    def zeta(table: Integers, first_bit: int, last_bit: int) -> None:
        sum_zeta(table, first_bit, last_bit, weights.wide.bits)

    return Slab(weights, plan, threads, progress, zeta, np.int64)


def forward_sums(
    slab: Slab, weights: FamilyWeights, plan: SearchPlan, threads: Threads
) -> Integers:
    """Return F, shape (2**n_columns,), of wide numbers."""
    F = _zeros(plan, threads)
    F[0] = weights.wide.one
    kernel = _with_format(extend_sums, weights)
    for fixed in range(1 << plan.n_outer):
        slab.fill(fixed)
        slab.transform(fixed)
        slab.visit_sets(kernel, F, fixed)
    return F


def backward_sums(
    slab: Slab, weights: FamilyWeights, plan: SearchPlan, threads: Threads, is_filled: bool
) -> Integers:
    """Return R, shape (2**n_columns,), of wide numbers.

    `is_filled` says that the slab still holds the last alpha of `forward_sums`.
    """
    R = _zeros(plan, threads)
    R[-1] = weights.wide.one
    kernel = _with_format(retreat_sums, weights)
    last = (1 << plan.n_outer) - 1
    for fixed in range(last, -1, -1):
        if not (is_filled and fixed == last):
            slab.fill(fixed)
            slab.transform(fixed)
        slab.visit_sets(kernel, R, fixed, backwards=True)
    return R


def order_gamma(F: Integers, R: Integers, child: int, weights: FamilyWeights) -> Integers:
    """Return gamma of a child, at ``[~P]``, as `FamilyWeights.edge_sums` takes it."""
    wide = weights.wide
    gamma = allocate(len(F) // 2).view(np.int64)
    order_products(F, R, child, gamma, wide.bits, wide.bias)
    sum_zeta(gamma, 0, len(gamma).bit_length() - 1, wide.bits)
    return gamma


def _zeros(plan: SearchPlan, threads: Threads) -> Integers:
    sums = allocate(1 << plan.n_columns).view(np.int64)
    fill_array(sums, 0, threads)
    return sums


def _with_format(kernel: Callable[..., None], weights: FamilyWeights) -> Callable[..., None]:
    return lambda *arguments: kernel(*arguments, weights.wide.bits, weights.wide.bias)
