"""The first phase of an order search: an order and families that are refitted on the fly."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from skbn._core.addresses import address_of
from skbn._core.arrays import I1, Integers
from skbn._core.compile import zeros
from skbn._orders.placement_kernels import Fitting, Kept, Placement, fit_parents
from skbn._orders.refit_kernels import family_scratch, refit_parents
from skbn._orders.regression_kernels import Regressions
from skbn._orders.walk_kernels import place_and_perturb

PLACEMENT_KERNELS = (refit_parents, fit_parents, place_and_perturb)

# The most parents of a column in this phase, beside the required ones; lists have no such limit.
_MOST_PARENTS = 100
# Columns that are placed, or tried at other positions, between two looks at the clock: a few
# tenths of a second for 5,000 columns.
_STEP = 500
# Perturbations between two looks, for all columns together.
_PERTURBED = 500
# Columns that a perturbation tries at other positions, on average at most.
_TRIES = 200

Randoms = npt.NDArray[np.uint64]


class Placed(NamedTuple):
    """An order with its families."""

    order: I1  # (m,)
    parents: list[list[int]]
    score: float


class PlacementSearch:
    """Places columns greedily, climbs, and perturbs what it has found, from one start.

    `first`: the first columns, ``0``, ..., ``first - 1``, have no parents and precede all others

    `best`: the best order so far; with a score of -inf before there is one
    """

    def __init__(
        self, regressions: Regressions, first: int, max_parents: int, least: float
    ) -> None:
        m = len(regressions.products)
        n_required = regressions.must_be_parent.sum(axis=1)
        width = max(1, min(max_parents, m - 1, int(n_required.max()) + _MOST_PARENTS))
        self._fitting = Fitting(
            regressions,
            family_scratch(m, width),
            family_scratch(m, width),
            np.zeros(m, dtype=np.int16),
            np.asarray(regressions.must_be_parent.any(axis=0)),
            first,
            min(max_parents, width),
            least,
            address_of(fit_parents),
        )
        self._placement = zeros(
            *(Placement, m, m, (m, width), m, m, m, m, (m, m), (m, m), m, m + 1),
        )
        self._placement.order[:] = range(m)
        self._placement.position[:] = m
        self._placement.tops[:] = -np.inf
        self._kept = zeros(Kept, m, (m, width), m, m, m + 1)
        self._n_waiting = n_required.astype(np.int64)
        self._totals = np.full(2, -np.inf)
        self.best = Placed(self._placement.order, [], -math.inf)

    def begin(self, given: Integers, is_over: Callable[[], bool]) -> None:
        """Place all columns greedily, unless it is over before.

        `given`: the columns that come first; the table decides about the others
        """
        must_be_parent, first = self._fitting.regressions.must_be_parent, self._fitting.first
        m, placement, kept = len(must_be_parent), self._placement, self._kept
        kept.n_parents[:], kept.is_changed[:] = self._n_waiting, True
        for x in np.flatnonzero(self._n_waiting):
            kept.parents[x, : self._n_waiting[x]] = np.flatnonzero(must_be_parent[x])
        placement.order[first:] = -1
        placement.order[first : first + len(given)] = given
        for done in range(0, 3 * m, _STEP):
            if is_over():
                return
            self._run(done, min(done + _STEP, 3 * m))
        self._run(3 * m, 3 * m + 2)
        kept.is_changed[:], kept.changed[0] = False, 0

    def climb(self, random: Randoms, i: int, is_over: Callable[[], bool]) -> None:
        """Try all columns at other positions until nothing gains."""
        placement, before, m = self._placement, -math.inf, len(self._kept.order)
        while self.best.score > before + self._fitting.least and not is_over():
            before = self.best.score
            placement.marked[0], placement.is_marked[:] = m, True
            placement.marked[1:] = np.arange(m)
            while placement.marked[0] > 0 and not is_over():
                self._run(3 * m, 3 * m + 2, _STEP, random, i)

    def perturb(self, random: Randoms, i: int) -> int:
        """Perturb the order, climb after each perturbation; return how often."""
        m = len(self._kept.order)
        n = max(1, _PERTURBED // m)
        return self._run(3 * m, 3 * m + n + 2, _STEP + n * _TRIES, random, i)

    def _run(
        self, begin: int, end: int, most: int = 0, random: Randoms | None = None, i: int = 0
    ) -> int:
        placement, totals = self._placement, self._totals
        arrays = self._fitting, placement, self._kept, self._n_waiting
        random = np.zeros(1, dtype=np.uint64) if random is None else random
        done = place_and_perturb(*arrays, begin, end, totals, most, random, i)
        if totals[1] > self.best.score:
            rows = zip(placement.parents, placement.n_parents, strict=True)
            parents = [row[:k].tolist() for row, k in rows]
            self.best = Placed(placement.order.copy(), parents, float(totals[1]))
        return int(done)
