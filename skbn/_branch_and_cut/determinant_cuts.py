"""The search for determinant cuts that a point violates.

Any positive definite matrix K over the columns makes a cut. Its violation

    log(det(K)) - sum of weight * log(K(x | P)) over the families that have weight

is raised by a few steps from the matrices whose cuts have multipliers: from what they have in
common, since cuts that are best at a point alone say little of the next one.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize

from skbn._branch_and_cut.determinants import bound_of, smallest_eigenvalue
from skbn._branch_and_cut.proof import Cut, DeterminantCut
from skbn._branch_and_cut.separation import Point
from skbn._core.arrays import Floats, Integers

# With more columns each step takes too long.
_MOST_COLUMNS = 128
# Steps from the matrix to begin with, and what the square of the distance from it costs.
_STEPS, _PULL = 10, 10.0
# What the smallest eigenvalue of a matrix of correlations is raised by: rounding puts coefficients
# off by the inverse of it.
_LEAST_EIGENVALUE = 1e-6
# Cuts that are violated by less are not worth having.
_LEAST_VIOLATION = 1e-9


# How columns are correlated, about, and where those of each node begin, with one more at the end.
Correlations = tuple[Floats, Integers]


class DeterminantSeparation:
    """Determinant cuts, one for each point.

    Parameters
    ----------
    correlations : Correlations or None
        Those of the search's columns. There are no cuts without them, or of too many columns.
    network : sequence of sequences of int
        The parents of each column in a good network; numbers that are no columns are left out.
    """

    def __init__(self, correlations: Correlations | None, network: Sequence[Sequence[int]]) -> None:
        is_small = correlations is not None and len(correlations[0]) <= _MOST_COLUMNS
        self._correlations, self._network = correlations if is_small else None, network
        self._matrix: Floats | None = None  # once there are cuts

    def violated(self, point: Point, cuts: Sequence[Cut], multipliers: Floats) -> list[Cut]:
        """Return a cut that a point violates, if there is one; at first those to begin with.

        The point is where these multipliers of the cuts are from.
        """
        if self._correlations is None:
            return []
        given, starts = self._correlations
        if self._matrix is None:
            return self._first_cuts(given, starts)
        total, of_all = np.zeros_like(self._matrix), 0.0
        for cut, multiplier in zip(cuts, multipliers.tolist(), strict=True):
            if isinstance(cut, DeterminantCut) and multiplier > 0:
                total += multiplier * cut.matrix
                of_all += multiplier
        begin = total / of_all if of_all > 0 else self._matrix
        try:
            value, matrix = more_violated(begin, starts, point)
        except np.linalg.LinAlgError:  # a step led to a singular matrix
            return []
        return _cuts_of([matrix], starts) if value > _LEAST_VIOLATION else []

    def _first_cuts(self, given: Floats, starts: Integers) -> list[Cut]:
        try:
            self._matrix = covariance_of_network(given, starts, self._network)
            cuts = _cuts_of([self._matrix, given], starts)
        except np.linalg.LinAlgError:  # some parents are dependent in these rows
            cuts = []
        if not cuts:
            self._correlations = None
        return cuts


def _cuts_of(matrices: Sequence[Floats], starts: Integers) -> list[Cut]:
    """Return the cuts of those matrices that are not too nearly singular."""
    cuts = [determinant_cut(matrix, starts) for matrix in matrices]
    return [cut for cut in cuts if cut is not None]


def determinant_cut(matrix: Floats, starts: Integers) -> DeterminantCut | None:
    """Return the cut of a matrix; None if it is not positive definite, or nearly so."""
    roots = np.sqrt(matrix.diagonal())
    matrix = (1 - _LEAST_EIGENVALUE) * matrix / np.outer(roots, roots)
    matrix = (matrix + matrix.T) / 2
    np.fill_diagonal(matrix, 1.0)
    eigenvalue = smallest_eigenvalue(matrix)
    if eigenvalue is None:
        return None
    inverse = np.linalg.inv(matrix)
    blocks = [inverse[a:b, a:b] for a, b in itertools.pairwise(starts.tolist())]
    # No family has smaller residuals than that of all other columns.
    offsets = np.array([max(float(np.linalg.slogdet(block)[1]), 0.0) for block in blocks])
    bound = bound_of(matrix, offsets)
    return None if bound is None else DeterminantCut(matrix, starts, offsets, eigenvalue, bound)


def covariance_of_network(
    given: Floats, starts: Integers, network: Sequence[Sequence[int]]
) -> Floats:
    """Return the covariance that a network has whose regressions are those of a given one."""
    n = len(given)
    coefs, noise = np.zeros((n, n)), np.zeros((n, n))
    for x, parents in enumerate(network):
        own = _columns_of(starts, [x])
        at = _columns_of(starts, [p for p in parents if 0 <= p < len(network)])
        left = given[np.ix_(own, own)]
        if at:
            coefs[np.ix_(own, at)] = np.linalg.solve(
                given[np.ix_(at, at)], given[np.ix_(at, own)]
            ).T
            left = left - coefs[np.ix_(own, at)] @ given[np.ix_(at, own)]
        noise[np.ix_(own, own)] = left
    through = np.linalg.inv(np.eye(n) - coefs)
    return np.asarray(through @ noise @ through.T)


def _columns_of(starts: Integers, nodes: Sequence[int]) -> list[int]:
    return [c for x in nodes for c in range(starts[x], starts[x + 1])]


def more_violated(matrix: Floats, starts: Integers, point: Point) -> tuple[float, Floats]:
    """Return by how much a point violates the cut of a matrix that is sought, and the matrix."""
    n, families = len(matrix), _families_by_size(starts, point)
    root = np.linalg.cholesky(matrix)

    def negative(change: Floats) -> tuple[float, Floats]:
        square = change.reshape(n, n)
        factor = root @ (np.eye(n) + square)
        value, slope = violation(factor @ factor.T, families)
        down = 2 * _PULL * square - 2 * root.T @ (slope @ factor)
        return _PULL * float((square**2).sum()) - value, down.ravel()

    found = minimize(
        negative, np.zeros(n * n), jac=True, method="L-BFGS-B", options={"maxiter": _STEPS}
    )
    factor = root @ (np.eye(n) + found.x.reshape(n, n))
    matrix = factor @ factor.T
    return violation(matrix, families)[0], matrix


# Families of as many columns each: (n, size), the columns of the parents, then of the child; how
# many the child has; and (n,), weights.
_Families = tuple[Integers, int, Floats]


def _families_by_size(starts: Integers, point: Point) -> list[_Families]:
    """Return the families that have weight, those of as many columns together."""
    of_size: dict[tuple[int, int], list[tuple[list[int], float]]] = {}
    for x, row, weight in zip(point.child, point.parents, point.weight.tolist(), strict=True):
        at, own = _columns_of(starts, [p for p in row if p >= 0]), _columns_of(starts, [x])
        of_size.setdefault((len(at) + len(own), len(own)), []).append(([*at, *own], weight))
    return [
        (np.array([each[0] for each in own]), n_own, np.array([each[1] for each in own]))
        for (_, n_own), own in of_size.items()
    ]


def violation(matrix: Floats, families: Sequence[_Families]) -> tuple[float, Floats]:
    """Return by how much families with weights violate the cut of a matrix, and its gradient."""
    value, slope = float(np.linalg.slogdet(matrix)[1]), np.linalg.inv(matrix)
    for columns, n_own, weight in families:
        rows, across = columns[:, :, np.newaxis], columns[:, np.newaxis, :]
        inverses = np.linalg.inv(matrix[rows, across])
        of_child = inverses[:, -n_own:, -n_own:]
        value += float(weight @ np.linalg.slogdet(of_child)[1])
        # What the inverse loses if the child is left out is its gradient.
        beside = inverses[:, :, -n_own:]
        lost = beside @ np.linalg.solve(of_child, beside.transpose(0, 2, 1))
        np.subtract.at(slope, (rows, across), weight[:, np.newaxis, np.newaxis] * lost)
    return value, np.asarray(slope)
