"""The pricing problem of one child: what its families cost, and what cuts take from that.

A node has one column or several. A family with the parents P costs

    weight * log(det(R(P))) + costs[number of parents] + costs_of_columns[number of their columns],

where R has the products of the residuals of the child's columns: of one column, it is the residual
sum of squares. The reduced cost is less by the discount, the sum over cuts of multiplier times
coefficient.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal, localcontext
from operator import mul
from typing import NamedTuple, Self

import numpy as np

from skbn._core.arrays import F1, F2, F3, I1, T2, Floats
from skbn._core.compile import tuple_type

LogDeterminant = Callable[[list[int], list[int]], float]

# Nearly collinear columns lose 12 of them, twice.
_DIGITS = 60


class _UnitColumns:
    """A factor's columns, scaled to norm 1 with 60 digits, and their products where needed."""

    def __init__(self, factor: Floats) -> None:
        self._factor = factor
        self._columns: dict[int, list[Decimal]] = {}
        self._products: dict[tuple[int, int], Decimal] = {}

    def product(self, a: int, b: int) -> Decimal:
        key = min(a, b), max(a, b)
        if key not in self._products:
            with localcontext(prec=_DIGITS):
                pairs = map(mul, self._column(a), self._column(b))
                self._products[key] = Decimal(sum(pairs))
        return self._products[key]

    def _column(self, a: int) -> list[Decimal]:
        if a not in self._columns:
            # A triangular factor has zeros at the ends, and products end with the shorter column.
            entries = [*map(Decimal, np.trim_zeros(self._factor[:, a], "b").tolist())]
            norm = Decimal(sum(map(mul, entries, entries))).sqrt()
            self._columns[a] = [entry / norm for entry in entries]
        return self._columns[a]


class ExactProducts:
    """Products of columns of norm 1 with 60 digits, for families that float64 cannot tell apart.

    Parameters
    ----------
    units : _UnitColumns
        All columns, which children share.
    at : sequence of int
        Which of these columns are meant.
    """

    def __init__(self, units: _UnitColumns, at: Sequence[int]) -> None:
        self._units, self._at = units, at

    @classmethod
    def of_factor(cls, factor: Floats) -> Self:
        """Return the products of a factor's columns, scaled to norm 1."""
        return cls(_UnitColumns(factor), range(factor.shape[1]))

    @property
    def rows(self) -> list[list[Decimal]]:
        """The rows of the matrix of products."""
        return [[self._units.product(a, b) for b in self._at] for a in self._at]

    def of_columns(self, columns: Sequence[int]) -> ExactProducts:
        """Return the products of some columns."""
        return ExactProducts(self._units, [self._at[c] for c in columns])

    def log_determinant(self, parents: list[int], own: list[int]) -> float:
        """Return the log-determinant of the residuals of own columns on the parents."""
        left, determinant = self.of_columns([*parents, *own]).rows, Decimal(1)
        with localcontext(prec=_DIGITS):
            for i in range(len(left)):
                (pivot, *rest), *others = left
                if i >= len(parents):
                    determinant *= pivot
                # What the first column leaves of the others.
                left = [
                    [entry - first / pivot * above for entry, above in zip(row, rest, strict=True)]
                    for first, *row in others
                ]
        return math.log(determinant)


class ChildCosts(NamedTuple):
    """What the families of one child cost."""

    # (n, n): products of columns of unit norm: those of the k candidates, the required ones first,
    # and of the child
    products: F2
    # (k + 2,): candidate i has the columns starts[i], ..., starts[i + 1] - 1, and the child those
    # from starts[k] on
    starts: I1
    weight: float  # what the logarithm of the residuals' determinant counts
    costs: F1  # (k + 2,): what 0, ..., k + 1 parents cost, and as many or more at least
    least_costs: F1  # (k + 2,)
    # (n + 1,): what 0, ..., n columns of parents cost, and as many or more at least
    costs_of_columns: F1
    least_of_columns: F1  # (n + 1,)
    n_required: int  # how many of the candidates are in all families
    # (k,): positive numbers, such that the candidates' products less these on the diagonal are
    # positive semidefinite. None if some node has several columns
    diagonal: F1
    eigenvalue: float  # positive, and at most the smallest eigenvalue of the products

    @property
    def has_groups(self) -> bool:
        """Whether some node has several columns."""
        return len(self.starts) != len(self.products) + 1

    def cost_of(self, at: Sequence[int], log_determinant: LogDeterminant | None = None) -> float:
        """Return what the family of the candidates at some positions costs."""
        of_columns = self.costs_of_columns[len(self.columns_of(at))]
        likelihood = self._of_likelihood(at, log_determinant or self._log_determinant)
        return likelihood + float(self.costs[len(at)] + of_columns)

    def least_cost(self) -> float:
        """Return what no family costs less than: all candidates' residuals, the fewest parents."""
        of_columns = self.least_of_columns[len(self.columns_of(range(self.n_required)))]
        likelihood = self._of_likelihood(range(len(self.starts) - 2), self._log_determinant)
        return likelihood + float(self.least_costs[self.n_required] + of_columns)

    def columns_of(self, nodes: Iterable[int]) -> list[int]:
        """Return the columns of nodes by their positions; the child's is the last."""
        return [c for i in nodes for c in range(self.starts[i], self.starts[i + 1])]

    def _of_likelihood(self, at: Iterable[int], log_determinant: LogDeterminant) -> float:
        own = self.columns_of([len(self.starts) - 2])
        return self.weight * log_determinant(self.columns_of(at), own)

    def _log_determinant(self, parents: list[int], own: list[int]) -> float:
        residuals = self.products[np.ix_(own, own)]
        if parents:
            of_child = self.products[np.ix_(parents, own)]
            inside = self.products[np.ix_(parents, parents)]
            residuals = residuals - of_child.T @ np.linalg.solve(inside, of_child)
        return float(np.linalg.slogdet(residuals)[1])


def diagonal_below(products: Floats) -> Floats:
    """Return a positive diagonal, about as large as can be taken from products.

    What is left of them is positive semidefinite. One entry after the other maximises
    ``log(det(products - diagonal)) + by * sum(log(diagonal))``, for larger and larger `by`.
    """
    diagonal = np.full(len(products), float(np.linalg.eigvalsh(products)[0]) / 2)
    for by in (1.0, 5.0, 20.0, 60.0):
        inverse = np.linalg.inv(products - np.diag(diagonal))
        for i in np.tile(np.arange(len(products)), 3):
            own = inverse[i].copy()
            step = by / (1 + by) * (diagonal[i] + 1 / own[i]) - diagonal[i]
            inverse += np.outer(step / (1 - step * own[i]) * own, own)
            diagonal[i] += step
    return 0.999 * diagonal  # room for rounding


class Discounts(NamedTuple):
    """What cuts and their multipliers take from the costs of one child's families."""

    # (n_cuts, k): the bit of each candidate in the number of an entry; 0 outside of the cut
    bits: T2
    starts: I1  # (n_cuts,): where the child's table begins in `tables`
    multipliers: F1  # (n_cuts,): positive
    tables: F1  # the coefficients
    # Determinant cuts have matrices over the columns of `ChildCosts.products`.
    matrices: F3  # (n_matrices, n, n)
    weights: F1  # (n_matrices,): their multipliers, positive
    constant: float  # what they take beside the logarithms of residuals: multipliers times offsets
    rounding: float  # what rounding may add, if it is multiplied by n * (n + 2) for n columns

    def of_no_parents(self, n_own: int) -> float:
        """Return what is taken from a child of some columns without parents, about."""
        of_tables = float(self.multipliers @ self.tables[self.starts])
        return of_tables + self.of_matrices([], n_own)

    def of_matrices(self, columns: list[int], n_own: int) -> float:
        """Return what determinant cuts take from a family with parents of some columns, about."""
        n = self.matrices.shape[1]
        at = [*columns, *range(n - n_own, n)]
        of_all = np.linalg.slogdet(self.matrices[:, at][:, :, at])[1]
        of_parents = np.linalg.slogdet(self.matrices[:, columns][:, :, columns])[1]
        constant = self.constant + n * (n + 2) * self.rounding
        return float(self.weights @ (of_all - of_parents)) + constant


CHILD_COSTS = tuple_type(ChildCosts)
DISCOUNTS = tuple_type(Discounts)


class Child(NamedTuple):
    """A column with all of its families."""

    costs: ChildCosts
    # (k,): the numbers of its possible parents, the required ones first. Numbers from m on are
    # columns that are no children here, and so in no cycle
    candidates: I1
    offset: float  # what is taken from the costs of all its families
    # the products of `costs` with more digits, where rounding might hide a proof
    exact: ExactProducts | None = None

    @property
    def n_own(self) -> int:
        """How many columns it has."""
        return int(self.costs.starts[-1] - self.costs.starts[-2])

    def positions(self, parents: Sequence[int]) -> list[int]:
        """Return the positions of parents among the candidates."""
        position = {int(c): i for i, c in enumerate(self.candidates)}
        return [position[p] for p in parents]

    def cost_of(self, parents: Sequence[int]) -> float:
        """Return what the family with parents of these numbers costs."""
        return self.costs.cost_of(self.positions(parents)) - self.offset

    def exact_cost_of(self, parents: Sequence[int]) -> float:
        """Return the same with all digits of float64, if there are products for that."""
        log_determinant = None if self.exact is None else self.exact.log_determinant
        return self.costs.cost_of(self.positions(parents), log_determinant) - self.offset

    def least_cost(self) -> float:
        """Return what no family costs less than: all candidates' residuals, the fewest parents."""
        return self.costs.least_cost() - self.offset

    def with_weight(self, share: float, parents: Sequence[int]) -> Self:
        """Return the child with a share of its weight, and costs relative to those of parents."""
        child = self._replace(costs=self.costs._replace(weight=share * self.costs.weight))
        return child._replace(offset=child.cost_of(parents) + child.offset)
