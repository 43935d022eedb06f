"""GroupPosterior: the posterior of the networks of one group of columns.

The constraints cut the columns into groups, whose networks are independent (see
`Constraints.groups`). `order_sums` sums the weights of a group's families over all orders; for the
uniform prior, `network_sums` takes these as its scale and counts each network once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from skbn._core.arrays import Floats, Integers
from skbn._core.compile import compile_kernels
from skbn._core.extended_floats import is_zero
from skbn._core.progress import Progress
from skbn._core.threads import Threads
from skbn._exact.sink_kernels import Tables
from skbn._posterior.family_weights import MASK_BITS, PARENT_SET_KERNELS
from skbn._posterior.listed_weights import ListedWeights, Weights
from skbn._posterior.network_sums import NetworkSums, network_sums, network_work
from skbn._posterior.order_sums import order_sums, order_work, weight_slab
from skbn._posterior.plan import WORK_OF_LISTED_FAMILY, GroupPlan
from skbn._regressions.local_score import internal_error
from skbn._regressions.log_determinants import log_determinants_work

__all__ = ["GroupPosterior", "Summation", "group_posterior", "group_work", "prior_sum"]


# Probabilities must sum to 1 up to this many units of the last bit of an extended float. In tables
# of up to 22 columns the error was at most 100 units.
_TOLERANCE = 1 << 16


class Summation(NamedTuple):
    """Resources that the sums of all groups share.

    Parameters
    ----------
    threads : Threads
    progress : Progress
    """

    threads: Threads
    progress: Progress


class Sums(Protocol):
    """Sums over the networks of a group of columns."""

    @property
    def total(self) -> int:
        """The weight of all networks, an extended float; for probabilities it is 1."""

    @property
    def log_total(self) -> float:
        """The logarithm of the weight of all networks, without the weights' `log_scale`."""

    def gamma(self, child: int) -> Integers:
        """Return gamma of a child as `FamilyWeights.edge_sums` takes it."""


@dataclass(frozen=True)
class GroupPosterior:
    """The posterior of the networks of one group of columns.

    Parameters
    ----------
    columns : list of m int
        The group's columns, then the others that may be their parents.
    n_columns : int
        How many are the group's.
    weights : Weights
    sums : Sums
    log_sum : float
        The logarithm of the weight of all networks, in nats.
    edges : ndarray of shape (m, n_columns), float64
        The probability of the edge to each of the group's columns from each column.
    paths : ndarray of shape (n_columns, n_columns), float64, or None
        At [i, j], the probability of a directed path from i to j; None for the order prior.
    """

    columns: list[int]
    n_columns: int
    weights: Weights
    sums: Sums
    log_sum: float
    edges: Floats
    paths: Floats | None

    def parent_sets(self, child: int) -> Floats:
        """Return the probability of each parent set of a child.

        The child is a number within the group. `masks` says which sets they are: all, by their
        masks with the child's bit removed, or those of the listed families.
        """
        return self._weighted(child, self.sums.gamma(child))

    def parent_sets_with_path(self, child: int, to: int) -> Floats:
        """Return the probability of each parent set, together with a path to another column.

        The difference of gamma[P] and gamma[P + to] is the weight of the sets of non-descendants
        that contain P but not this column.

        Raises
        ------
        ValueError
            If there are more columns than a mask of 64 bits has.
        """
        if max(self.columns) >= MASK_BITS:
            raise ValueError(
                f"Effects are known in tables of up to {MASK_BITS} columns. Leave out columns, or "
                "average effects over sample_dags."
            )
        gamma = self.sums.gamma(child)
        by_bit = gamma.reshape(-1, 2, 1 << (to - (to > child)))
        without = np.zeros_like(by_bit)
        without[:, 1] = by_bit[:, 0]  # indices are complements: a set without the bit has it
        probabilities = self._weighted(child, gamma) - self._weighted(child, without.ravel())
        # A parent of the child is not its descendant.
        self.weights.clear_sets_with(child, to, probabilities)
        return np.maximum(probabilities, 0.0)

    def masks(self, child: int, indices: Integers) -> Integers:
        """Return the masks over all columns of some parent sets, by their place among all."""
        return self.weights.masks(child, indices, self.columns)

    def _weighted(self, child: int, gamma: Integers) -> Floats:
        compile_kernels(PARENT_SET_KERNELS)
        exponent, mantissa = self.weights.wide.split(self.sums.total)
        with Threads(1) as threads:
            weights = self.weights.parent_set_weights(child, gamma, exponent, threads)
        weights /= mantissa
        np.minimum(weights, 1.0, out=weights)  # rounding
        if isinstance(self.weights, ListedWeights):
            return weights
        return weights[: 1 << (len(self.columns) - 1)]  # without a column that was only padding


def group_posterior(
    plan: GroupPlan,
    summation: Summation,
    weights: Weights,
    offsets: Floats,
    sum_only: bool,
) -> GroupPosterior | None:
    """Return the posterior of a group; None if no network has a finite score.

    Parameters
    ----------
    plan : GroupPlan
    summation : Summation
    weights : FamilyWeights or ListedWeights
    offsets : ndarray of shape (n_columns,), float64
        What all local scores of each of the group's columns have in common, in nats.
    sum_only : bool
        Whether the probabilities of edges are left out.
    """
    columns = plan.columns
    n = len(plan.group.columns)
    threads, progress = summation
    sums = _sums(plan, summation, weights)
    if sums is None:
        return None
    exponent, mantissa = weights.wide.split(sums.total)

    def edges_to(child: int) -> Floats:
        of_child = weights.edge_sums(child, sums.gamma(child), exponent) / mantissa
        progress.advance(_edge_work(plan) / n)
        return of_child

    of_children = np.full((len(columns) + 1, n), np.nan)
    if not sum_only:
        of_children = np.stack(list(threads.map(edges_to, [(x,) for x in range(n)])), axis=1)
        _certify_sum(of_children[-1], weights)
    log_sum = sums.log_total + weights.log_scale
    log_sum += float(offsets.sum())
    paths = sums.paths if isinstance(sums, NetworkSums) else None
    if n == 1 and plan.prior == "uniform":
        paths = np.zeros((1, 1))
    edges = np.minimum(of_children[: len(columns)], 1.0)
    return GroupPosterior(columns, n, weights, sums, log_sum, edges, paths)


def _sums(plan: GroupPlan, summation: Summation, weights: Weights) -> Sums | None:
    """Return the sums of a group; None if no network has a weight."""
    n = plan.layout.n_columns
    threads, progress = summation
    if n == 1:
        sums: Sums = _SingleColumn(weights)
        return None if is_zero(sums.total, weights.wide) else sums
    slab = weight_slab(weights, plan.layout, threads, progress)
    over_orders = order_sums(slab, weights, plan.layout, threads)
    if is_zero(over_orders.total, weights.wide):
        return None
    _certify_equal(over_orders.log_total, weights.wide.log(over_orders.R[0]), weights)
    if plan.prior == "order":
        return over_orders
    alpha = Tables(slab.tables, slab.starts)
    sums_over_networks = network_sums(
        alpha, over_orders.F, over_orders.R, n, weights.wide, threads, progress
    )
    _certify_equal(sums_over_networks.log_total, sums_over_networks.log_total_forward, weights)
    return sums_over_networks


class _SingleColumn:
    """The sums of a group of one column: it has any parents among the others."""

    def __init__(self, weights: Weights) -> None:
        self._gamma = np.full(weights.n_parent_sets, weights.wide.one)
        total = weights.edge_sums(0, self._gamma, weights.wide.bias)[-1]
        self.log_total = math.log(total) if total > 0 else -math.inf
        self.total = weights.wide.from_float(total)

    def gamma(self, child: int) -> Integers:
        return self._gamma


def prior_sum(plan: GroupPlan, summation: Summation, weights: Weights) -> float:
    """Return the logarithm of the sum of a group's prior odds, the weights, over all networks."""
    sums = _sums(plan, summation, weights)
    return -math.inf if sums is None else sums.log_total + weights.log_scale


def group_work(plan: GroupPlan, sum_only: bool, sum_prior: bool) -> int:
    """Return about how long a group takes, in units of one local score of a search."""
    n = len(plan.group.columns)
    of_sums = 0
    if n > 1:
        of_sums = order_work(plan.layout)
        if plan.prior == "uniform":
            of_sums += network_work(n)
    work = of_sums
    if plan.listing is None:
        work += log_determinants_work(len(plan.columns))
    else:
        work += plan.listing.work
    if not sum_only:
        work += _edge_work(plan) + of_sums * sum_prior
    return work


def _edge_work(plan: GroupPlan) -> int:
    """Return about how long the edges to all of a group's columns take."""
    if plan.listing is not None:
        return WORK_OF_LISTED_FAMILY * plan.listing.n_families
    return len(plan.group.columns) * 4 << len(plan.columns)


def _certify_sum(totals: Floats, weights: Weights) -> None:
    """Raise if the probabilities of a child's parent sets do not sum to 1."""
    error = np.abs(totals - 1.0).max()
    if not error <= _TOLERANCE * 2.0**-weights.wide.bits:
        raise internal_error(f"the probabilities of a column's parent sets sum to 1 +- {error:.1g}")


def _certify_equal(forward: float, backward: float, weights: Weights) -> None:
    """Raise if the sums from the first and from the last column differ."""
    error = abs(forward - backward)
    if not error <= _TOLERANCE * 2.0**-weights.wide.bits * max(1.0, abs(forward)):
        raise internal_error(f"forward and backward sums differ by {error:.1g} nats")
