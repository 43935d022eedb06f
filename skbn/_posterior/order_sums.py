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

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skbn._core.arrays import Integers
from skbn._core.compile import compile_kernels
from skbn._core.extended_floats import WideFormat
from skbn._core.resources import Progress, Threads, allocate
from skbn._core.subsets import mask_of, members_of
from skbn._exact.plan import SearchPlan
from skbn._exact.recurrences import Slab, fill_array
from skbn._exact.sink_kernels import Tables
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

    Parameters
    ----------
    weights : FamilyWeights or ListedWeights
    plan : SearchPlan
    threads : Threads
    progress : Progress

    Attributes
    ----------
    wide : WideFormat
        The format of all sums.
    tables : Tables
        Those of the slab that was made last. Without outer columns, they are those of all columns.
    """

    def __init__(
        self, weights: Weights, plan: SearchPlan, threads: Threads, progress: Progress
    ) -> None:
        self.plan, self.wide = plan, weights.wide
        self.threads, self.progress = threads, progress

        def zeta(table: Integers, first_bit: int, last_bit: int) -> None:
            sum_zeta(table, first_bit, last_bit, weights.wide)

        self._slab = Slab(weights, plan, threads, progress, zeta, np.int64)
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
