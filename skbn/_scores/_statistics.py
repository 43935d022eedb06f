"""From rows to what every regression needs: their number, means and triangular factor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from skbn._regressions._qr import solve_triangular, triangular_factor

__all__ = ["SCORE_ACCURACY", "Regression", "SampleStatistics", "sample_statistics"]

_EPS = np.finfo(np.float64).eps
# How far a score may be from the exact one, in nats; else the columns are refused.
SCORE_ACCURACY = 1e-3
# The square of a column's norm must be a normal number, with room for its residuals'.
_SMALLEST_SCALE, _LARGEST_SCALE = 1e-152, 1e153


class Regression(NamedTuple):
    """A child's regression on its parents.

    Parameters
    ----------
    intercept : float
    coefficients : ndarray of shape (n_parents,)
        In the order of the parents.
    residual_sum_of_squares : float
    """

    intercept: float
    coefficients: npt.NDArray[np.float64]
    residual_sum_of_squares: float


@dataclass(frozen=True)
class SampleStatistics:
    """All that regressions among the columns of a table depend on.

    Parameters
    ----------
    n_samples : int
    mean : ndarray of shape (m,)
    scale : ndarray of shape (m,)
        The Euclidean norm of each centred column.
    factor : ndarray of shape (m, m)
        R of the QR decomposition of the columns, centred and of unit norm.
    """

    n_samples: int
    mean: npt.NDArray[np.float64]
    scale: npt.NDArray[np.float64]
    factor: npt.NDArray[np.float64]

    def log_determinants(self, child: int, parents: Sequence[int]) -> tuple[float, float]:
        """Return log det(Z'Z) for the parents Z, and for them and the child.

        The columns are centred and of unit norm.
        """
        terms = 2 * np.log(np.abs(np.diag(self._factor_of([*parents, child]))))
        without = float(terms[:-1].sum())
        return without, without + float(terms[-1])

    def regression(self, child: int, parents: Sequence[int]) -> Regression:
        """Regress a column on others, by the triangular factor of just these columns."""
        parents = list(parents)
        factor = self._factor_of([*parents, child])
        k = len(parents)
        scaled = solve_triangular(factor[:k, :k], factor[:k, k])
        coefficients = scaled * self.scale[child] / self.scale[parents]
        intercept = self.mean[child] - coefficients @ self.mean[parents]
        return Regression(
            float(intercept), coefficients, float((factor[k, k] * self.scale[child]) ** 2)
        )

    def _factor_of(self, columns: Sequence[int]) -> npt.NDArray[np.float64]:
        return triangular_factor(self.factor[:, list(columns)])


def sample_statistics(
    rows: npt.NDArray[np.float64], names: Sequence[str | int]
) -> SampleStatistics:
    """Compute the statistics of a table, if its columns determine all regressions.

    Parameters
    ----------
    rows : ndarray of shape (n, m), float64
        Finite. Not modified.
    names : sequence of m str or int
        What to call the columns in errors.

    Raises
    ------
    ValueError
        If there are no more rows than columns; if a column is constant, or its
        spread cannot be squared; if a column depends linearly on others, or so
        nearly that a score may be off by more than `SCORE_ACCURACY`. Each leaves
        some family's likelihood unbounded or unknown.
    """
    n, m = rows.shape
    if n <= m:
        raise ValueError(
            f"X has n_samples = {n} rows for {m} columns: with no more rows than columns some "
            "regressions leave no residual, and the likelihood is unbounded. Give more rows or "
            "leave out columns."
        )
    # Powers of two change no digit, and keep sums and squares from overflowing.
    largest = np.abs(rows).max(axis=0)
    _, exponent = np.frexp(largest)
    centred = np.ldexp(rows, -exponent)
    mean = centred.mean(axis=0)
    centred -= mean
    # The rounding error of a large mean is itself the mean of what remains.
    correction = centred.mean(axis=0)
    centred -= correction
    norm = np.linalg.norm(centred, axis=0)
    # How much larger a column's entries are than their spread: by so much more than
    # eps do its entries' rounding errors count, relative to its spread.
    with np.errstate(divide="ignore", invalid="ignore"):
        magnification = np.sqrt(n) * np.ldexp(largest, -exponent) / norm

    for j in range(m):
        if norm[j] == 0 or 4 * _EPS * magnification[j] > 1 or np.ptp(rows[:, j]) == 0:
            raise ValueError(
                f"Column {names[j]!r} has zero variance: all its values equal "
                f"{rows[0, j]:g} up to rounding. Leave it out."
            )
    scale = np.ldexp(norm, exponent)
    for j in range(m):
        if not _SMALLEST_SCALE <= scale[j] <= _LARGEST_SCALE:
            raise ValueError(
                f"Column {names[j]!r} has values up to {largest[j]:g} in magnitude, and the square "
                "of its spread is out of float64's range. Measure it in other units."
            )
    centred /= norm
    factor = triangular_factor(centred)
    # Of the data, twice the rounding of each entry. Of the factor, what reflections and
    # rotations add to columns of unit norm, about eps * sqrt(m); a residual r that is off by
    # so much changes the score by n / r times it.
    rounding = _EPS * (2 * magnification + n * np.sqrt(m) / SCORE_ACCURACY)
    _check_independent(factor, scale, rounding, names)
    return SampleStatistics(n, np.ldexp(mean + correction, exponent), scale, factor)


def _check_independent(
    factor: npt.NDArray[np.float64],
    scale: npt.NDArray[np.float64],
    rounding: npt.NDArray[np.float64],
    names: Sequence[str | int],
) -> None:
    """Raise if a column is a linear combination of others, or too nearly so.

    A residual is too small if it is no larger than the sum of `rounding` over the
    terms of the combination, in units of the columns' norms. A child's residual is
    smallest on all other columns together.
    """
    m = len(factor)
    for j in range(1, m):  # exact dependence: the first column that adds nothing
        weights = solve_triangular(factor[:j, :j], factor[:j, j])
        if abs(factor[j, j]) <= rounding[j] + np.abs(weights) @ rounding[:j]:
            raise _dependence(j, list(range(j)), weights, abs(factor[j, j]), scale, names)
    # Row x of the inverse has the residual of x on all others: 1 / its norm.
    inverse = solve_triangular(factor, np.eye(m))
    residual = 1 / np.linalg.norm(inverse, axis=1)
    weights = -(inverse @ inverse.T) * residual[:, np.newaxis] ** 2
    np.fill_diagonal(weights, 1.0)
    excess = residual / (np.abs(weights) @ rounding)
    x = int(np.argmin(excess))
    if excess[x] <= 1:
        others = [j for j in range(m) if j != x]
        raise _dependence(x, others, weights[x, others], residual[x], scale, names)


def _dependence(
    child: int,
    others: list[int],
    weights: npt.NDArray[np.float64],
    residual: float,
    scale: npt.NDArray[np.float64],
    names: Sequence[str | int],
) -> ValueError:
    involved = np.abs(weights) > max(residual, 1e-9 * np.abs(weights).max())
    coefficients = weights * scale[child] / scale[others]
    combination = " ".join(
        f"{'-' if coefficient < 0 else '+'} {abs(coefficient):.6g} * {names[j]!r}"
        for j, coefficient, is_involved in zip(others, coefficients, involved, strict=True)
        if is_involved
    ).removeprefix("+ ")
    return ValueError(
        f"Column {names[child]!r} is collinear with others: {names[child]!r} = {combination} + "
        f"constant, up to {residual:.0e} of its spread. The likelihood is unbounded there, or "
        "known to too few digits; leave out one of these columns."
    )
