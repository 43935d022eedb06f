"""The pricing problem of one child: what its families cost, and what cuts take from that.

A family with the parents P costs ``weight * log(RSS(P)) + costs[|P|]``, where RSS is the residual
sum of squares. Its reduced cost is less by the discount, the sum over cuts of multiplier times
coefficient.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import float64, int64, uint16

from skbn._core.arrays import Integers
from skbn._core.compile import tuple_type


class ChildCosts(NamedTuple):
    """What the families of one child cost: ``weight * log(RSS) + costs[number of parents]``.

    Parameters
    ----------
    products : ndarray of shape (k + 1, k + 1), float64
        Products of columns of unit norm: the k candidates, the required ones first, and the child.
    weight : float
        What the logarithm of the residual sum of squares counts.
    costs : ndarray of shape (k + 2,), float64
        What 0, ..., k + 1 parents cost.
    least_costs : ndarray of shape (k + 2,), float64
        What as many parents or more cost at least.
    n_required : int
        How many of the candidates are in all families.
    """

    products: npt.NDArray[np.float64]
    weight: float
    costs: npt.NDArray[np.float64]
    least_costs: npt.NDArray[np.float64]
    n_required: int

    def cost_of(self, at: list[int]) -> float:
        """Return what the family of the candidates at some positions costs."""
        return self._of_likelihood(at) + float(self.costs[len(at)])

    def least_cost(self) -> float:
        """Return what no family costs less than."""
        every = list(range(len(self.products) - 1))
        return self._of_likelihood(every) + float(self.least_costs[self.n_required])

    def _of_likelihood(self, at: list[int]) -> float:
        of_child = self.products[-1, at]
        rss = self.products[-1, -1]
        if at:
            rss -= of_child @ np.linalg.solve(self.products[np.ix_(at, at)], of_child)
        return self.weight * math.log(rss)

    @property
    def as_nodes(self) -> NodeCosts:
        """The same, where candidates and child are nodes of one column each."""
        n = len(self.products)
        none = np.zeros(n + 1)
        rest = self.costs, self.least_costs, none, none, self.n_required
        return NodeCosts(self.products, np.arange(n + 1), self.weight, *rest)


class NodeCosts(NamedTuple):
    """What the families of a node of several columns cost, or of one with such candidates.

    ``weight * log(det(R)) + costs[number of parents] + costs_of_columns[number of their columns]``,
    where R has the products of the residuals of the child's columns.

    Parameters
    ----------
    products : ndarray of shape (n, n), float64
        Products of columns of unit norm: those of the candidates, the required ones first, and of
        the child.
    starts : ndarray of shape (k + 2,), int64
        Candidate i has the columns starts[i], ..., starts[i + 1] - 1, and the child those from
        starts[k] on.
    weight : float
    costs, least_costs : ndarray of shape (k + 2,), float64
        As for `ChildCosts`.
    costs_of_columns, least_of_columns : ndarray of shape (n + 1,), float64
        What 0, ..., n columns of parents cost, and as many or more at least.
    n_required : int
    """

    products: npt.NDArray[np.float64]
    starts: npt.NDArray[np.int64]
    weight: float
    costs: npt.NDArray[np.float64]
    least_costs: npt.NDArray[np.float64]
    costs_of_columns: npt.NDArray[np.float64]
    least_of_columns: npt.NDArray[np.float64]
    n_required: int

    def cost_of(self, at: list[int]) -> float:
        """Return what the family of the candidates at some positions costs."""
        of_nodes = float(self.costs[len(at)])
        return self._of_likelihood(at) + of_nodes + float(self.costs_of_columns[self._width(at)])

    def least_cost(self) -> float:
        """Return what no family costs less than."""
        n_required = self.n_required
        of_columns = self.least_of_columns[self._width(list(range(n_required)))]
        every = list(range(len(self.starts) - 2))
        return self._of_likelihood(every) + float(self.least_costs[n_required]) + float(of_columns)

    def _width(self, at: list[int]) -> int:
        return int(np.diff(self.starts)[at].sum())

    def _of_likelihood(self, at: list[int]) -> float:
        parents = [c for i in at for c in range(self.starts[i], self.starts[i + 1])]
        family = [*parents, *range(self.starts[-2], self.starts[-1])]
        logs = [np.linalg.slogdet(self.products[np.ix_(s, s)])[1] for s in (family, parents)]
        return self.weight * float(logs[0] - logs[1])

    @property
    def as_nodes(self) -> NodeCosts:
        """The costs themselves."""
        return self


class Discounts(NamedTuple):
    """What cuts and their multipliers take from the costs of one child's families.

    Parameters
    ----------
    bits : ndarray of shape (n_cuts, k), uint16
        The bit of each candidate in the number of an entry; 0 outside of the cut.
    starts : ndarray of shape (n_cuts,), int64
        Where the child's table begins in `tables`.
    multipliers : ndarray of shape (n_cuts,), float64
        Positive.
    tables : ndarray of float64
        The coefficients.
    """

    bits: npt.NDArray[np.uint16]
    starts: npt.NDArray[np.int64]
    multipliers: npt.NDArray[np.float64]
    tables: npt.NDArray[np.float64]


CHILD_COSTS = tuple_type(ChildCosts, float64[:, ::1], float64, float64[::1], float64[::1], int64)
NODE_COSTS = tuple_type(
    NodeCosts,
    float64[:, ::1],
    int64[::1],
    float64,
    float64[::1],
    float64[::1],
    float64[::1],
    float64[::1],
    int64,
)
DISCOUNTS = tuple_type(Discounts, uint16[:, ::1], int64[::1], float64[::1], float64[::1])


class Child(NamedTuple):
    """A column with all of its families.

    Parameters
    ----------
    costs : ChildCosts or NodeCosts
    candidates : ndarray of shape (k,), int64
        The numbers of its possible parents, the required ones first. Numbers from m on are columns
        that are no children here, and so in no cycle.
    offset : float
        What is taken from the costs of all its families.
    """

    costs: ChildCosts | NodeCosts
    candidates: Integers
    offset: float

    def positions(self, parents: Sequence[int]) -> list[int]:
        """Return the positions of parents among the candidates."""
        position = {int(c): i for i, c in enumerate(self.candidates)}
        return [position[p] for p in parents]

    def cost_of(self, parents: Sequence[int]) -> float:
        """Return what the family with parents of these numbers costs."""
        return self.costs.cost_of(self.positions(parents)) - self.offset

    def least_cost(self) -> float:
        """Return what no family costs less than: all candidates' residuals, the fewest parents."""
        return self.costs.least_cost() - self.offset
