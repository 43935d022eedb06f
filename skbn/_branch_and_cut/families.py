"""The families of a network that branch and cut chooses from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from skbn._core.exact_sums import upper_sum

__all__ = ["Families"]


class Families(NamedTuple):
    """Listed families, of which a network takes one for each column.

    Parameters
    ----------
    start : ndarray of shape (m + 1,), int64
        Column x has the families start[x], ..., start[x + 1] - 1, cheapest first.
    cost : ndarray of shape (n_families,), float64
        By how many nats the local score is below a number of the child's own.
    parents : ndarray of shape (n_families, K), int16
        Ascending, and then -1 for parents that a family lacks.
    child : ndarray of shape (n_families,), int16
    rest : ndarray of shape (n_families,), float64
        What rounding left out of the costs: the sum of both is exact.
    """

    start: npt.NDArray[np.int64]
    cost: npt.NDArray[np.float64]
    parents: npt.NDArray[np.int16]
    child: npt.NDArray[np.int16]
    rest: npt.NDArray[np.float64]

    def total(self, chosen: npt.NDArray[np.int64]) -> float:
        """Return what some families cost together, rounded up."""
        return upper_sum([*self.cost[chosen].tolist(), *self.rest[chosen].tolist()])
