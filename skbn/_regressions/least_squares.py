"""Least squares by LAPACK alone: triangular factors of columns, and regressions of a network.

The walk through all subsets starts from such a factor, and what it finds is verified by these
regressions, which share nothing with it.

Each child of a network has a QR decomposition of its own, of its parents and itself. Families of
about as many parents are decomposed together. A column that becomes a parent adds what the family
leaves of it, a sum of squares of residuals; a parent that is removed takes its residual on the
others away.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from skbn._core.arrays import F2, F3, I1, I2, Booleans, Floats, Integers

# The families decomposed together have at most this many numbers in their columns, and in the
# arrays of all columns that follow from them (16 MB).
_BATCH, _MORE_ARRAYS = 1 << 21, 12
# If a family leaves a smaller share of a column, the difference between the column's square and the
# explained part would lose more than three digits. Its residuals are computed instead.
_LEAST_SHARE = 1e-3


def triangular_factor(columns: Floats) -> Floats:
    """Return R of the QR decomposition of n columns by Householder reflections.

    Its shape is n x n, or k x n for k rows if these are fewer. The covariance
    ``columns.T @ columns`` is never formed: it would lose half the digits.
    """
    return np.asarray(np.linalg.qr(columns, mode="r"))


def without_zeros(factor: Floats) -> Floats:
    """Return a triangular factor without the zeros at its end, which many columns lead to."""
    return factor[: 1 + np.flatnonzero(factor.any(axis=1))[-1]]


def left_by(basis: Floats, factor: Floats, squares: Floats) -> Floats:
    """Return what orthonormal columns leave of the square of each column of a factor."""
    products = basis.T @ factor
    left = squares - np.einsum("ij,ij->j", products, products)
    small = np.flatnonzero(left < _LEAST_SHARE * squares)
    left[small] = ((factor[:, small] - basis @ products[:, small]) ** 2).sum(axis=0)
    return np.asarray(left)


def solve_triangular(factor: Floats, right: Floats, *, transposed: bool = False) -> Floats:
    """Solve ``factor @ x = right`` for x, an upper triangular factor without a zero diagonal.

    Or ``factor.T @ x = right``. LAPACK without the checks of scipy's function, which take longer
    than 20 columns do.
    """
    if right.size == 0:
        return np.zeros(right.shape)
    solution, _ = lapack.dtrtrs(factor, right, trans=int(transposed))
    return np.asarray(solution)


class Dependence(NamedTuple):
    """A column that is a combination of others, up to a residual, in units of their norms."""

    column: int
    others: list[int]
    weights: Floats
    residual: float

    @property
    def involved(self) -> Booleans:
        """Which of the others have a weight."""
        size = np.abs(self.weights)
        return np.asarray(size > max(self.residual, 1e-9 * size.max(initial=0.0)))


def dependence_among(columns: list[int], factor: Floats, rounding: Floats) -> Dependence | None:
    """Return a dependence among some columns of unit norm, if there is one.

    `factor`: (k, k), their triangular factor
    `rounding`: (m,), the error of the residual of each of all columns. A residual is too small if
        it is no larger than the sum of these, weighted by the coefficients of the combination.
    """
    rounding = rounding[columns]
    k = len(columns)
    left = np.abs(np.diag(factor))
    # With rows scaled to a diagonal of ones, column j of the inverse has the combination of
    # earlier columns that is nearest to column j.
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        unit = factor / np.diag(factor)[:, np.newaxis]
        unit[~np.isfinite(unit)] = 0.0  # only columns after one that adds nothing notice
        np.fill_diagonal(unit, 1.0)
        solved = solve_triangular(unit, np.eye(k))
        combinations = -np.triu(solved, 1)
        adds_nothing = left <= rounding + rounding @ np.abs(combinations)
    if adds_nothing[1:].any():  # exact dependence: name the first such column
        j = 1 + int(np.argmax(adds_nothing[1:]))
        return Dependence(columns[j], columns[:j], combinations[:j, j], left[j])
    # The residual of x on all others is 1 over the norm of row x of the inverse.
    inverse = solved / np.diag(factor)
    residual = 1 / np.linalg.norm(inverse, axis=1)
    weights = -(inverse @ inverse.T) * residual[:, np.newaxis] ** 2
    np.fill_diagonal(weights, 1.0)
    # A child's residual is smallest on all other columns together.
    with np.errstate(divide="ignore"):  # with a prior, rounding is 0 if a0 and a1 are
        excess = residual / (np.abs(weights) @ rounding)
    x = int(np.argmin(excess))
    if excess[x] > 1:
        return None
    others = [j for j in range(k) if j != x]
    return Dependence(columns[x], [columns[j] for j in others], weights[x, others], residual[x])


def stacked_factors(factor: Floats, orders: Integers) -> Floats:
    """Return the triangular factors of several choices of a factor's columns.

    `orders`: (n, width), the columns of each choice, none of them twice
    `factor`: (m, m)

    Returns `factors`: (n, width, width).
    """
    return np.asarray(np.linalg.qr(factor[:, orders].transpose(1, 0, 2), mode="r"))


# The families of a network


class FamilyFactors(NamedTuple):
    """Some families of a network, with the triangular factors of their columns."""

    children: I1  # (n,)
    n_parents: I1  # (n,)
    columns: I2  # (n, width): each child's parents, ascending, then the child, then other columns
    factors: F3  # (n, width, width): the triangular factors of these columns

    def first_block(self, n: Integers) -> Floats:
        """Return the first n rows and columns of each factor, continued by the unit matrix."""
        k = int(n.max())
        is_first = np.arange(k) < n[:, np.newaxis]
        both = is_first[:, :, np.newaxis] & is_first[:, np.newaxis, :]
        return np.where(both, self.factors[:, :k, :k], np.eye(k))

    def may_be_dependent(self, rounding: Floats) -> Booleans:
        """Return which families' columns `dependence_among` must look at, shape (n,)."""
        # With residuals r, columns are combined with coefficients of at most r_x / r_j: no r_x is
        # too small if the least of them exceeds all errors. Twice these leave room for rounding.
        n = self.n_parents + 1
        try:
            inverse = np.linalg.inv(self.first_block(n))
        except np.linalg.LinAlgError:  # a column adds nothing
            return np.ones(len(n), dtype=bool)
        least = 1 / np.linalg.norm(inverse, axis=2).max(axis=1)
        return ~(least > 2 * n * rounding.max())

    def log_determinants(self) -> tuple[Floats, Floats]:
        """Return those of each family's parents, and of the parents and the child, shape (n,)."""
        each, n = np.arange(len(self.children)), self.n_parents
        with np.errstate(divide="ignore"):  # outside the families, columns may be dependent
            log_det = np.cumsum(np.log(np.diagonal(self.factors, axis1=1, axis2=2) ** 2), axis=1)
        return np.where(n > 0, log_det[each, n - 1], 0.0), log_det[each, n]

    def regressions(self) -> tuple[Floats, Floats]:
        """Return the children's coefficients, continued by zeros, and what their parents leave.

        Returns `coefficients`: (n, width - 1), in the order of `columns`; `left`: (n,), the norms
        of the residuals.
        """
        last = self.n_parents[:, np.newaxis]
        own = np.take_along_axis(self.factors, last[:, :, np.newaxis], axis=2)
        # Beyond its parents, a child has a unit matrix and zeros here, and so a solution of 0.
        k = int(self.n_parents.max())
        right = np.where(np.arange(k)[:, np.newaxis] < last[:, :, np.newaxis], own[:, :k], 0.0)
        solved = np.linalg.solve(self.first_block(self.n_parents), right)
        return np.asarray(solved)[:, :, 0], self.residual_norms()

    def residual_norms(self) -> Floats:
        """Return the norms of what the parents leave of their children, shape (n,)."""
        n = self.n_parents
        return np.abs(self.factors[np.arange(len(n)), n, n])


class Neighbours(NamedTuple):
    """The log-determinants of some families, and of those with one parent more or fewer."""

    children: I1  # (n,)
    # (n, m): the log-determinants of the parents, and of the parents and the child, after this
    # column has become a parent or ceased to be one. In the child's own column they are those of
    # the family as it is
    of_parents: F2
    of_family: F2  # (n, m)


def families_of(
    factor: Floats, is_parent: Booleans, children: Sequence[int] | None = None
) -> Iterator[FamilyFactors]:
    """Yield a network's families, those with the most parents first.

    `factor`: (m, m), the triangular factor of all columns
    `children`: the children of the families; by default all
    """
    factor = without_zeros(factor)
    children = range(len(is_parent)) if children is None else children
    for chosen, n_parents, columns in _batches(is_parent, np.array(children)):
        yield FamilyFactors(chosen, n_parents, columns, stacked_factors(factor, columns))


def neighbours(
    factor: Floats, is_parent: Booleans, children: Integers | None = None
) -> Iterator[Neighbours]:
    """Yield the log-determinants of the families that differ from a network's by one parent.

    `children`: the children whose families to yield; by default all
    """
    children = np.arange(len(is_parent)) if children is None else children
    factor = np.asfortranarray(without_zeros(factor))  # columns are copied
    squared_norm = (factor**2).sum(axis=0)
    for chosen, n_parents, columns in _batches(is_parent, children):
        basis, factors = np.linalg.qr(factor[:, columns].transpose(1, 0, 2))
        families = FamilyFactors(chosen, n_parents, columns, np.asarray(factors))
        yield _neighbours_of(families, basis, factor, squared_norm)


def _batches(is_parent: Booleans, children: Integers) -> Iterator[tuple[Integers, ...]]:
    """Yield children with about as many parents, these numbers, and the families' columns."""
    m = len(is_parent)
    n_parents = is_parent[children].sum(axis=1)
    most_first = np.argsort(-n_parents, kind="stable")
    start = 0
    while start < len(children):
        width = int(n_parents[most_first[start]]) + 1
        end = start + max(1, _BATCH // (m * (width + _MORE_ARRAYS)))
        at = most_first[start:end]
        chosen, start = children[at], end
        rank = np.where(is_parent[chosen], -1, 1)
        rank[np.arange(len(chosen)), chosen] = 0
        yield chosen, n_parents[at], np.argsort(rank, axis=1, kind="stable")[:, :width]


def _neighbours_of(
    families: FamilyFactors, basis: Floats, factor: Floats, squared_norm: Floats
) -> Neighbours:
    """Return the neighbours of families, given an orthonormal basis of each one's columns."""
    children, n_parents, columns, _ = families
    each, width = np.arange(len(children)), columns.shape[1]
    own_of_parents, own_of_family = families.log_determinants()
    # Another parent adds what the parents, without and with the child, leave of it.
    flat = basis.transpose(0, 2, 1).reshape(-1, len(factor))
    products = (flat @ factor).reshape(len(children), width, -1)
    in_family = np.arange(width) <= n_parents[:, np.newaxis]
    products[~in_family] = 0.0
    left_by_family = squared_norm - np.einsum("xij,xij->xj", products, products)
    is_small = left_by_family < _LEAST_SHARE * squared_norm
    row, place = np.nonzero(in_family)
    is_small[row, columns[row, place]] = False
    for i in np.flatnonzero(is_small.any(axis=1)):
        others = np.flatnonzero(is_small[i])
        residuals = factor.T[others]
        residuals -= products[i].T[others] @ basis[i].T
        left_by_family[i, others] = np.einsum("ij,ij->i", residuals, residuals)
    left_by_parents = left_by_family + products[each, n_parents] ** 2
    with np.errstate(divide="ignore", invalid="ignore"):  # the families' own columns, or dependent
        of_parents = own_of_parents[:, np.newaxis] + np.log(left_by_parents)
        of_family = own_of_family[:, np.newaxis] + np.log(left_by_family)
    # Removing a parent takes away its residual on the others: one over the norm of its row of the
    # inverse.
    inverse = np.asarray(np.linalg.inv(families.first_block(n_parents + 1)), dtype=np.float64)
    squares = np.cumsum(inverse**2, axis=2)
    row, place = np.nonzero(np.arange(width) < n_parents[:, np.newaxis])
    n, parent = n_parents[row], columns[row, place]
    of_parents[row, parent] = own_of_parents[row] + np.log(squares[row, place, n - 1])
    of_family[row, parent] = own_of_family[row] + np.log(squares[row, place, n])
    of_parents[each, children], of_family[each, children] = own_of_parents, own_of_family
    return Neighbours(children, of_parents, of_family)
