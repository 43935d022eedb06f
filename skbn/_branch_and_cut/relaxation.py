"""The linear relaxation of the choice of families, as a linear program for HiGHS.

Its rows: the families of a column weigh 1 together, and no cut is violated. It begins with few
families and few cuts. What it says is not trusted: bounds follow from its multipliers alone.
"""

import math
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import highspy
import numpy as np

from skbn._branch_and_cut.cut_kernels import CutArrays, fill_coefficients, price
from skbn._branch_and_cut.determinants import coefficients
from skbn._branch_and_cut.near_kernels import Choices
from skbn._branch_and_cut.proof import Cut, DeterminantCut, FamilyCosts
from skbn._branch_and_cut.separation import Point, arrays_of
from skbn._core.arrays import F1, Booleans, Floats, Integers
from skbn._core.exact_sums import two_product, two_sum
from skbn._core.subsets import bits_of_rows

# Multipliers, weights and reduced costs nearer to 0 count as 0: HiGHS solves to 1e-7.
_LEAST_MULTIPLIER = 1e-9
_LEAST_WEIGHT = 1e-7
_LEAST_REDUCED_COST = -1e-7
# A weight from here on counts as 1.
_INTEGRAL = 1 - 1e-6
# Costs are scaled up so that the network costs this much, unless it costs more already. It is taken
# to cost at least the second number.
_USUAL_COST, _LEAST_COST = 1e3, 1e-12
# A family that only keeps the program feasible costs this many times as much as the network.
_HIGH = 10.0
# Families of each column that the program begins with, and the most that a round adds.
_FIRST_FAMILIES = 20
_NEW_FAMILIES = 8
# Bounds the rounds of adding families, in case rounding hides that none is missing.
_MOST_ROUNDS = 200
# Fewer idle cuts are not deleted: the program would be factored again for too little.
_FEWEST_IDLE = 20
# What a solution may take after the deadline.
_LEAST_SECONDS = 0.1
# The most coefficients that are listed at a time.
_COEFFICIENTS = 1 << 20
# What no network costs, in nats.
_NEVER = 2.0**40
_OPTIONS = {
    "output_flag": False,
    "threads": 1,
    "presolve": "off",
    "solver": "simplex",
    # Primal where families were added, dual where cuts were: HiGHS takes the dual one by default.
    "simplex_strategy": 0,
    "random_seed": 0,
}


# A coefficient in the solver's matrix, its transpose and its factors; a family in lists of Python,
# arrays and the solver.
_BYTES_A_COEFFICIENT, _BYTES_A_FAMILY, _BYTES_A_PARENT = 150, 700, 16


class Pricing(NamedTuple):
    """What multipliers of cuts prove: a bound, and what each family adds to it."""

    cuts: list[Cut]  # the cuts with positive multipliers
    multipliers: F1  # (n_cuts,): positive
    bound: float  # no network of allowed families costs less, up to the rounding of this one number
    reduced: F1  # (n_families,): reduced costs; infinite for families that are not allowed
    # (n_families,): by how much the bound is higher for networks with a family; infinite for
    # families that are not allowed
    excess: F1


class _SilentHighs(highspy.Highs):
    """HiGHS, whose constructor would print a banner when it enables callbacks."""

    def enableCallbacks(self) -> None:  # noqa: N802
        self.silent()
        super().enableCallbacks()


class Relaxation:
    """The linear program, its families and its cuts.

    Parameters
    ----------
    families : FamilyCosts
    network : ndarray of shape (m,), int64
        The families of a network, which the program has from the beginning.
    """

    def __init__(self, families: FamilyCosts, network: Integers) -> None:
        self.families = families
        self.m = m = families.start.size - 1
        self.cuts: list[Cut] = []
        self.n_solved = 0
        self._idle: list[int] = []
        self._arrays: CutArrays | None = None
        self._bounds = np.empty(0)
        # The coefficients of all families in each determinant cut, by the cut's id.
        self._of_determinants: dict[int, Floats] = {}
        self.multipliers = np.empty(0)
        self.deadline = math.inf  # by `time.monotonic()`: a solution is not awaited longer
        self._lp = _SilentHighs()
        for option, value in _OPTIONS.items():
            self._lp.setOptionValue(option, value)
        empty, none = np.empty(0), np.empty(0, dtype=np.int32)
        self._lp.addRows(m, np.ones(m), np.ones(m), 0, np.zeros(m, dtype=np.int32), none, empty)
        # The solver's tolerances are absolute: small costs are scaled up to what it is meant for.
        cheapest = np.minimum.reduceat(families.cost, families.start[:-1])
        cost = max(float((families.cost[network] - cheapest).sum()), _LEAST_COST)
        self._scale = max(1.0, _USUAL_COST / cost)
        # A family of each column without parents at a high cost keeps the program feasible.
        costs = np.full(m, _HIGH * (self._scale * cost + 1.0)) + self._scale * cheapest
        rows = np.arange(m, dtype=np.int32)
        self._lp.addCols(
            m, costs, np.zeros(m), np.full(m, highspy.kHighsInf), m, rows, rows, np.ones(m)
        )
        self._in_program = np.zeros(families.cost.size, dtype=bool)
        # The families of the program's columns, after the m without parents.
        self._columns = np.empty(0, dtype=np.int64)
        self._allowed = np.empty(0, dtype=bool)
        rank = np.arange(families.cost.size) - families.start[families.child]
        is_first = (rank < _FIRST_FAMILIES) | (families.parents < 0).all(axis=1)
        is_first[network] = True
        self._add_families(np.flatnonzero(is_first))

    @property
    def n_bytes(self) -> int:
        """About how much memory the program takes, with its families and cuts."""
        of_family = _BYTES_A_FAMILY + _BYTES_A_PARENT * self.families.parents.shape[1]
        return (
            self.families.cost.size * of_family
            + _BYTES_A_COEFFICIENT * self._lp.getNumNz()
            + self.arrays.tables.nbytes
            + sum(own.nbytes for own in self._of_determinants.values())
        )

    # Cuts

    def add_cuts(self, cuts: Sequence[Cut]) -> None:
        """Add cuts as rows of the program."""
        if not cuts:
            return
        for cut in cuts:
            if isinstance(cut, DeterminantCut):
                own = self.families.child, self.families.parents
                self._of_determinants[id(cut)] = coefficients(cut, *own)
        arrays = arrays_of(cuts, self.m)
        rest = cuts, arrays, self._of_determinants
        starts, numbers, values = coefficients_of(self.families, self._columns, *rest)
        columns = np.repeat(np.arange(len(self._columns)) + self.m, np.diff(starts))
        # The families that keep the program feasible have the coefficients of the empty set.
        rows, nothing = np.arange(self.m), np.zeros(self.m)
        without_parents = np.full((self.m, 1), -1, dtype=np.int16)
        none = FamilyCosts(
            np.arange(self.m + 1), nothing, without_parents, rows.astype(np.int16), nothing
        )
        first, of_none, values_of_none = coefficients_of(none, rows, cuts, arrays)
        numbers = np.concatenate([numbers, of_none])
        columns = np.concatenate([columns, np.repeat(np.arange(self.m), np.diff(first))])
        values = np.concatenate([values, values_of_none])
        order = np.lexsort((columns, numbers))
        row_starts = np.searchsorted(numbers[order], np.arange(len(cuts)))
        self._lp.addRows(
            len(cuts),
            np.array([cut.bound for cut in cuts]),
            np.full(len(cuts), highspy.kHighsInf),
            len(order),
            row_starts.astype(np.int32),
            columns[order].astype(np.int32),
            values[order],
        )
        self.cuts += cuts
        self._idle += [0] * len(cuts)
        self._arrays = None

    def drop_idle_cuts(self, age: int) -> list[Cut]:
        """Drop and return cuts without a multiplier in the last `age` solutions."""
        self._idle = [
            0 if multiplier > 0 else n + 1
            for n, multiplier in zip(self._idle, self.multipliers, strict=True)
        ]
        idle = [i for i, n in enumerate(self._idle) if n >= age]
        return self._drop_cuts(idle) if len(idle) >= _FEWEST_IDLE else []

    def drop_determinants(self) -> None:
        """Drop all determinant cuts."""
        self._drop_cuts([i for i, cut in enumerate(self.cuts) if isinstance(cut, DeterminantCut)])

    def _drop_cuts(self, which: list[int]) -> list[Cut]:
        """Drop and return cuts, by their numbers."""
        self._lp.deleteRows(len(which), np.array(which, dtype=np.int32) + self.m)
        dropped = [self.cuts[i] for i in which]
        for cut in dropped:
            self._of_determinants.pop(id(cut), None)
        kept = np.setdiff1d(np.arange(len(self.cuts)), which)
        self.cuts = [self.cuts[i] for i in kept]
        self._idle = [self._idle[i] for i in kept]
        self.multipliers = self.multipliers[kept]
        self._arrays = None
        return dropped

    # Families

    def allow(self, allowed: Booleans) -> None:
        """Let only some families have weight."""
        n = len(self._columns)
        self._allowed = allowed[self._columns]
        upper = np.where(self._allowed, highspy.kHighsInf, 0.0)
        columns = np.arange(self.m, self.m + n, dtype=np.int32)
        self._lp.changeColsBounds(n, columns, np.zeros(n), upper)

    def keep(self, kept: Booleans) -> None:
        """Drop all other families for good; the numbers of families change."""
        gone = np.flatnonzero(~kept[self._columns])
        if len(gone):
            self._lp.deleteCols(len(gone), (gone + self.m).astype(np.int32))
        self._allowed = self._allowed[kept[self._columns]]
        number = np.cumsum(kept) - 1
        self._columns = number[self._columns[kept[self._columns]]]
        child = self.families.child[kept]
        self.families = FamilyCosts(
            np.searchsorted(child, np.arange(self.m + 1)).astype(np.int64),
            self.families.cost[kept],
            np.ascontiguousarray(self.families.parents[kept]),
            child,
            self.families.rest[kept],
        )
        self._of_determinants = {i: own[kept] for i, own in self._of_determinants.items()}
        self._in_program = np.zeros(child.size, dtype=bool)
        self._in_program[self._columns] = True

    def replace_families(self, families: FamilyCosts, numbers: Integers) -> None:
        """Take more families: the old ones have these numbers among them."""
        self.families = families
        self._columns = numbers[self._columns]
        self._in_program = np.zeros(families.cost.size, dtype=bool)
        self._in_program[self._columns] = True
        is_new = np.ones(families.cost.size, dtype=bool)
        is_new[numbers] = False
        child, parents = families.child[is_new], families.parents[is_new]
        for cut in self.cuts:
            if isinstance(cut, DeterminantCut):
                own = np.empty(families.cost.size)
                own[numbers] = self._of_determinants[id(cut)]
                own[is_new] = coefficients(cut, child, parents)
                self._of_determinants[id(cut)] = own
        self._add_families(np.flatnonzero(is_new))

    def _add_families(self, families: Integers) -> None:
        n = len(families)
        rest = self.cuts, self.arrays, self._of_determinants
        starts, numbers, values = coefficients_of(self.families, families, *rest)
        at = starts[:-1]
        rows = np.insert(numbers + self.m, at, self.families.child[families])
        self._lp.addCols(
            n,
            self._scale * self.families.cost[families],
            np.zeros(n),
            np.full(n, highspy.kHighsInf),
            len(rows),
            (at + np.arange(n)).astype(np.int32),
            rows.astype(np.int32),
            np.insert(values, at, 1.0),
        )
        self._columns = np.concatenate([self._columns, families])
        self._allowed = np.concatenate([self._allowed, np.ones(n, dtype=bool)])
        self._in_program[families] = True

    # Solutions

    @property
    def arrays(self) -> CutArrays:
        """The cuts as kernels read them."""
        if self._arrays is None:
            self._arrays = arrays_of(self.cuts, self.m)
            self._bounds = np.array([cut.bound for cut in self.cuts])
        return self._arrays

    def solve(self) -> None:
        """Solve the program for its families."""
        left = max(self.deadline - time.monotonic(), _LEAST_SECONDS)
        self._lp.setOptionValue("time_limit", self._lp.getRunTime() + left)
        self._lp.run()
        self.n_solved += 1
        solution = self._lp.getSolution()
        self._weights = np.array(solution.col_value)
        dual = np.array(solution.row_dual)
        dual[~np.isfinite(dual) | (np.abs(dual) < _LEAST_MULTIPLIER)] = 0.0
        dual /= self._scale
        self._values_of_columns = dual[: self.m]
        self.multipliers = np.maximum(dual[self.m :], 0.0)
        self.objective = float(self._lp.getInfo().objective_function_value) / self._scale

    def solve_for_all(self, allowed: Booleans, cutoff: float) -> Pricing:
        """Solve the program for all allowed families, unless a bound reaches the cutoff before."""
        families = self.families
        for _ in range(_MOST_ROUNDS):
            self.solve()
            bound, values, minima = self._price(allowed)
            if bound >= cutoff or time.monotonic() >= self.deadline:
                break
            reduced = values[0] - self._values_of_columns[families.child]
            new = np.flatnonzero((reduced * self._scale < _LEAST_REDUCED_COST) & ~self._in_program)
            if len(new) == 0:
                break
            new = new[np.lexsort((reduced[new], families.child[new]))]
            child = families.child[new]
            rank = np.arange(len(new)) - np.searchsorted(child, child)
            self._add_families(np.sort(new[rank < _NEW_FAMILIES]))
        used = np.flatnonzero(self.multipliers)
        cuts = [self.cuts[i] for i in used]
        over = values - minima[:, families.child]
        excess = over[0] + over[1]
        return Pricing(cuts, self.multipliers[used], bound, values[0], excess)

    def _price(self, allowed: Booleans) -> tuple[float, Floats, Floats]:
        families, arrays, multipliers = self.families, self.arrays, self.multipliers
        values, minima = np.empty((2, families.cost.size)), np.empty((2, self.m))
        cost, rest = families.cost, families.rest
        for cut, multiplier in zip(self.cuts, multipliers.tolist(), strict=True):
            if isinstance(cut, DeterminantCut) and multiplier > 0:
                product, lacking = two_product(-multiplier, self._of_determinants[id(cut)])
                cost, left = two_sum(cost, product)
                rest = rest + (left + lacking)
        price(
            families.start,
            cost,
            rest,
            families.parents,
            allowed,
            arrays,
            multipliers,
            values,
            minima,
        )
        terms = [minima, np.array(two_product(multipliers, self._bounds))]
        return math.fsum(np.concatenate(terms, axis=1).ravel().tolist()), values, minima

    def objective_without(self, families: Booleans, n_iterations: int) -> float:
        """Return about what the solution costs without some families; leave it as it was."""
        columns = np.flatnonzero(families[self._columns] & self._allowed)
        n, columns = len(columns), (columns + self.m).astype(np.int32)
        basis = self._lp.getBasis()
        self._lp.setOptionValue("simplex_iteration_limit", n_iterations)
        self._lp.changeColsBounds(n, columns, np.zeros(n), np.zeros(n))
        self._lp.run()
        objective = float(self._lp.getInfo().objective_function_value) / self._scale
        self._lp.changeColsBounds(n, columns, np.zeros(n), np.full(n, highspy.kHighsInf))
        self._lp.setOptionValue("simplex_iteration_limit", highspy.kHighsIInf)
        self._lp.setBasis(basis)
        return objective

    def network(self, point: Point) -> Integers | None:
        """Return the families of a point with one family a column; None if columns have more.

        They may have a directed cycle.
        """
        if len(point.weight) != self.m or not (point.weight > _INTEGRAL).all():
            return None
        families, chosen = self.families, np.empty(self.m, dtype=np.int64)
        for x, parents in zip(point.child, point.parents, strict=True):
            start, end = families.start[x : x + 2]
            is_own = (families.parents[start:end] == parents).all(axis=1)
            chosen[x] = start + np.flatnonzero(is_own)[0]
        return chosen

    def point(self) -> Point:
        """Return the last solution."""
        weights = self._weights[self.m :]
        on = np.flatnonzero(weights > _LEAST_WEIGHT)
        chosen = self._columns[on]
        families = self.families
        return Point.of(families.child[chosen], families.parents[chosen], weights[on], self.m)


def coefficients_of(
    families: FamilyCosts,
    which: Integers,
    cuts: Sequence[Cut],
    arrays: CutArrays,
    known: Mapping[int, Floats] | None = None,
) -> tuple[Integers, Integers, Floats]:
    """Return the coefficients other than 0 of some families: starts, cuts' numbers, coefficients.

    The starts have one more at the end. What is `known` are those of all families in determinant
    cuts, by the cuts' ids.
    """
    parts, n_rows = [], 1 + _COEFFICIENTS // max(len(cuts), 1)
    for first in range(0, max(len(which), 1), n_rows):
        some = which[first : first + n_rows]
        dense = np.empty((len(some), len(cuts)))
        fill_coefficients(families.child, families.parents, some, arrays, dense)
        rows, numbers = np.nonzero(dense)
        parts.append((rows + first, numbers, dense[rows, numbers]))
    rows, numbers, values = map(np.concatenate, zip(*parts, strict=True))
    starts = np.searchsorted(rows, np.arange(len(which) + 1))
    for i, cut in enumerate(cuts):
        if isinstance(cut, DeterminantCut):  # it has a coefficient of each family
            if known is not None:
                more = known[id(cut)][which]
            else:
                more = coefficients(cut, families.child[which], families.parents[which])
            numbers = np.insert(numbers, starts[1:], i)
            values = np.insert(values, starts[1:], more)
            starts = starts + np.arange(len(starts))
    return starts, numbers, values


def choices_of(
    families: FamilyCosts,
    which: Integers,
    cuts: Sequence[Cut],
    multipliers: Floats,
    rivals: Sequence[tuple[int, int]] = (),
) -> tuple[Choices, float]:
    """Return some families, ascending, as `list_networks` reads them, and a bound of the networks.

    Rivals are pairs of these families that no network may have together.
    """
    m, n, child = families.start.size - 1, len(which), families.child[which]
    starts, numbers, values = coefficients_of(families, which, cuts, arrays_of(cuts, m))
    shares, owners = multipliers[numbers] * values, np.repeat(np.arange(n), np.diff(starts))
    reduced = families.cost[which] - np.bincount(owners, shares, n)
    start = np.searchsorted(child, np.arange(m + 1)).astype(np.int64)
    least = np.minimum.reduceat(reduced, start[:-1])
    bounds = multipliers * [cut.bound for cut in cuts]
    # Two families that exclude each other share a cut that no network can pay twice.
    pairs = np.array(rivals, dtype=np.int64).ravel()
    order = np.argsort(owners := np.concatenate([owners, pairs]), kind="stable")
    numbers = np.concatenate([numbers, len(bounds) + np.arange(len(pairs)) // 2])
    shares = np.concatenate([shares, np.full(len(pairs), _NEVER)])
    choices = Choices(
        start,
        reduced - least[child],
        bits_of_rows(families.parents[which], m),
        np.searchsorted(owners[order], np.arange(n + 1)),
        numbers[order],
        shares[order],
        np.concatenate([bounds, np.full(len(rivals), _NEVER)]),
    )
    return choices, math.fsum([*least, *bounds])
