"""Determinant cuts in numbers that rounding cannot break: coefficients and bounds.

With the triangular inverse X of an approximate Cholesky factor of K, ``X K X.T`` is nearly the
identity, and differs from it by a small symmetric F. Its log-determinant is

    at least trace(F) - |F|**2      and at most      trace(F),

so that it is known far more exactly than the factor is.
"""

import math
from typing import Any

import numpy as np

from skbn._branch_and_cut.checker_kernels import EPSILON
from skbn._branch_and_cut.proof import DeterminantCut
from skbn._core.arrays import Floats, Integers, ShortIntegers
from skbn._core.exact_sums import lower_sum

# The most entries of matrices that are factored together.
_MOST_ENTRIES = 1 << 20
# What products of three matrices round off, with as much again, where they have more digits.
_EPSILON_OF_PRODUCTS = 2 * float(np.finfo(np.longdouble).eps)


def smallest_eigenvalue(products: Floats) -> float | None:
    """Return a positive number below the smallest eigenvalue of a matrix of products, or None."""
    rounding = _rounding_of_factor(len(products))
    shift = 0.5 * float(np.linalg.eigvalsh(products)[0])
    is_above = shift > 2 * rounding and has_eigenvalues_above(products, shift - rounding)
    return shift - rounding if is_above else None


def has_eigenvalues_above(products: Floats, number: float) -> bool:
    """Whether all eigenvalues of a matrix of products are known to be above a number.

    If the Cholesky factor of the matrix less a multiple of the identity exists in spite of
    rounding, the multiple less what rounding amounts to is below the smallest eigenvalue.
    """
    n = len(products)
    try:
        np.linalg.cholesky(products - (number + _rounding_of_factor(n)) * np.eye(n))
    except np.linalg.LinAlgError:
        return False
    return True


def _rounding_of_factor(n: int) -> float:
    """Return the norm of what a Cholesky factor of products rounds off at most."""
    return n * (n + 2) * EPSILON  # Higham (2002), theorem 10.7, and as much again


def is_accurate(n: int, eigenvalue: float) -> bool:
    """Whether an eigenvalue is large enough for `accuracy_of` with up to n columns."""
    return 4 * n * (n + 2) * (EPSILON / 2) <= eigenvalue


def accuracy_of(n: Any, n_own: Any, eigenvalue: float) -> Any:
    """Return how far rounding puts the log-determinant of the residuals of own columns off.

    They are the last ones of a Cholesky factor of n columns. The factor is that of a matrix which
    differs by a share of the eigenvalue (Higham 2002, theorem 10.3), and the residuals differ by no
    larger share, if the share is at most a quarter. Numbers or arrays.
    """
    share = n * (n + 2) * (EPSILON / 2) / eigenvalue
    return n_own * (4 / 3 * share + 8 * EPSILON)


def least_log_determinant(matrix: Floats, n_given: int = 0) -> float | None:
    """Return at most the log-determinant of a positive definite matrix, or None if it is none.

    That of the residuals, if the last columns are given.
    """
    n, matrix = len(matrix), matrix[::-1, ::-1]
    try:
        inverse = np.tril(np.linalg.inv(np.linalg.cholesky(matrix)))
    except np.linalg.LinAlgError:
        return None
    given, by = matrix.astype(np.longdouble), inverse.astype(np.longdouble)
    off = by @ given @ by.T - np.eye(n)
    sizes = np.abs(inverse) @ np.abs(matrix) @ np.abs(inverse).T
    rounding = (2 * n + 8) * _EPSILON_OF_PRODUCTS * (1 + n * EPSILON) * (sizes + 1)
    norm = float(np.linalg.norm(off.astype(np.float64))) * (1 + n * n * EPSILON)
    norm += float(np.linalg.norm(rounding))
    diagonal = inverse.diagonal()[n_given:]
    if not (norm <= 0.5 and (diagonal > 0).all()):
        return None
    terms = (-2 * np.log(diagonal)).tolist()
    lost = 4 * EPSILON * math.fsum(map(abs, terms))
    # The trace of the given block is left out: it bounds what that block adds to the determinant.
    trace = (off.diagonal() - rounding.diagonal())[n_given:].astype(np.float64).tolist()
    return lower_sum([*terms, *trace, -norm * norm, -lost - n * EPSILON * norm])


def bound_of(matrix: Floats, offsets: Floats) -> float | None:
    """Return at most what the coefficients of any network add up to; None if that is not known."""
    least = least_log_determinant(matrix)
    return None if least is None else lower_sum([least, *offsets.tolist()])


def log_determinants(
    matrix: Floats, starts: Integers, child: ShortIntegers, parents: ShortIntegers
) -> tuple[Floats, Integers, Integers]:
    """Return the log-determinants of children's residuals given their parents, as float64 has them.

    `starts`: (m + 1,), node x has the columns ``starts[x], ..., starts[x + 1] - 1``
    `child`: (n,)
    `parents`: (n, K), ascending, and then -1

    Returns them, with the number of columns of each family and of its child.
    """
    widths = np.diff(starts)
    columns = np.full((len(starts), widths.max()), -1, dtype=np.int64)  # the last row is for -1
    for x, width in enumerate(widths):
        columns[x, :width] = np.arange(starts[x], starts[x + 1])
    before = columns[parents].reshape(len(child), -1)
    n_before, n_own = (before >= 0).sum(axis=1), widths[child]
    found = np.empty(len(child))
    for size, own in sorted(set(zip(n_before.tolist(), n_own.tolist(), strict=True))):
        same = np.flatnonzero((n_before == size) & (n_own == own))
        at_once = max(1, _MOST_ENTRIES // (size + own) ** 2)
        for which in np.array_split(same, -(-len(same) // at_once)):
            given = before[which]
            given = given[given >= 0].reshape(len(which), size)
            at = np.concatenate([given, columns[child[which], :own]], axis=1)
            factors = np.linalg.cholesky(matrix[at[:, :, np.newaxis], at[:, np.newaxis, :]])
            pivots = factors.diagonal(axis1=1, axis2=2)[:, size:]
            found[which] = 2 * np.log(pivots).sum(axis=1)
    return found, n_before + n_own, n_own


def coefficients(cut: DeterminantCut, child: ShortIntegers, parents: ShortIntegers) -> Floats:
    """Return the coefficients of families, rounded up.

    `child`: (n,)
    `parents`: (n, K), ascending, and then -1
    """
    if len(child) == 0:
        return np.empty(0)
    found, n_columns, n_own = log_determinants(cut.matrix, cut.starts, child, parents)
    offsets = cut.offsets[child]
    lost = accuracy_of(n_columns, n_own, cut.eigenvalue)
    lost += 4 * n_own * EPSILON * (np.abs(found) + np.abs(offsets) + 1)
    return np.asarray(np.maximum(found + offsets + lost, 0.0))
