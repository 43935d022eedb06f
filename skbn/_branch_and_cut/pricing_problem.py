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
DISCOUNTS = tuple_type(Discounts, uint16[:, ::1], int64[::1], float64[::1], float64[::1])


class Child(NamedTuple):
    """A column with all of its families.

    Parameters
    ----------
    costs : ChildCosts
    candidates : ndarray of shape (k,), int64
        The numbers of its possible parents, the required ones first. Numbers from m on are columns
        that are no children here, and so in no cycle.
    offset : float
        What is taken from the costs of all its families.
    """

    costs: ChildCosts
    candidates: Integers
    offset: float

    def positions(self, parents: Sequence[int]) -> list[int]:
        """Return the positions of parents among the candidates."""
        position = {int(c): i for i, c in enumerate(self.candidates)}
        return [position[p] for p in parents]

    def cost_of(self, parents: Sequence[int]) -> float:
        """Return what the family with parents of these numbers costs."""
        costs, at = self.costs, self.positions(parents)
        of_child = costs.products[-1, at]
        rss = costs.products[-1, -1]
        if at:
            rss -= of_child @ np.linalg.solve(costs.products[np.ix_(at, at)], of_child)
        return costs.weight * math.log(rss) + float(costs.costs[len(at)]) - self.offset

    def least_cost(self) -> float:
        """Return what no family costs less than: all candidates' residuals, the fewest parents."""
        costs = self.costs
        rss = 1.0 / np.linalg.inv(costs.products)[-1, -1]
        return (
            costs.weight * math.log(rss) + float(costs.least_costs[costs.n_required]) - self.offset
        )
