"""Which columns depend linearly on others, and cannot be told from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from skbn._regressions.qr import solve_triangular

__all__ = ["IndependenceCheck"]


@dataclass(frozen=True)
class IndependenceCheck:
    """Refuses columns of which one is a linear combination of others, or too nearly so.

    A residual is too small if it is no larger than the sum of `rounding` over the
    terms of the combination, in units of the columns' norms.

    Parameters
    ----------
    names : sequence of m str or int
    scale : ndarray of shape (m,)
        The columns' norms.
    rounding : ndarray of shape (m,)
        The error of a column's residual, in units of its norm.
    has_prior : bool
        Whether the columns have the rows of a prior.
    """

    names: Sequence[str | int]
    scale: npt.NDArray[np.float64]
    rounding: npt.NDArray[np.float64]
    has_prior: bool

    def check(self, factor: npt.NDArray[np.float64], columns: list[int]) -> None:
        """Raise if these columns, of this triangular factor, are not independent."""
        rounding = self.rounding[columns]
        k = len(columns)
        for j in range(1, k):  # exact dependence: the first column that adds nothing
            weights = solve_triangular(factor[:j, :j], factor[:j, j])
            if abs(factor[j, j]) <= rounding[j] + np.abs(weights) @ rounding[:j]:
                raise self._dependence(columns[j], columns[:j], weights, abs(factor[j, j]))
        # Row x of the inverse has the residual of x on all others: 1 / its norm.
        inverse = solve_triangular(factor, np.eye(k))
        residual = 1 / np.linalg.norm(inverse, axis=1)
        weights = -(inverse @ inverse.T) * residual[:, np.newaxis] ** 2
        np.fill_diagonal(weights, 1.0)
        # A child's residual is smallest on all other columns together.
        with np.errstate(divide="ignore"):  # no rounding counts for scores of no log-determinants
            excess = residual / (np.abs(weights) @ rounding)
        x = int(np.argmin(excess))
        if excess[x] <= 1:
            others = [j for j in range(k) if j != x]
            raise self._dependence(
                columns[x], [columns[j] for j in others], weights[x, others], residual[x]
            )

    def _dependence(
        self, child: int, others: list[int], weights: npt.NDArray[np.float64], residual: float
    ) -> ValueError:
        involved = np.abs(weights) > max(residual, 1e-9 * np.abs(weights).max())
        coefficients = weights * self.scale[child] / self.scale[others]
        combination = " ".join(
            f"{'-' if coefficient < 0 else '+'} {abs(coefficient):.6g} * {self._name(j)}"
            for j, coefficient, is_involved in zip(others, coefficients, involved, strict=True)
            if is_involved
        ).removeprefix("+ ")
        consequence = (
            "The prior is too small beside the columns' spread for a score of enough digits; "
            "standardise the columns, give a prior mean nearer to theirs if it has one, or"
            if self.has_prior
            else "The likelihood is unbounded there, or known to too few digits;"
        )
        return ValueError(
            f"Column {self.names[child]!r} is collinear with others: {self._name(child)} = "
            f"{combination} + constant, up to {residual:.0e} of its spread. {consequence} leave "
            "out one of these columns."
        )

    def _name(self, column: int) -> str:
        """Return a column's name, told apart from a coefficient if it is a number."""
        name = self.names[column]
        return repr(name) if isinstance(name, str) else f"column {name!r}"
