"""From rows to what every regression needs: their number, means and triangular factor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from skbn._core.accuracy import SCORE_ACCURACY
from skbn._data.independence import IndependenceCheck
from skbn._data.row_summary import RowSummary
from skbn._regressions.neighbours import families_first, stacked_factors
from skbn._regressions.qr import solve_triangular, triangular_factor

__all__ = ["Prior", "Regression", "SampleStatistics", "sample_statistics"]

_EPS = np.finfo(np.float64).eps
# The square of a column's norm must be a normal number, with room for its residuals'.
_SMALLEST_SCALE, _LARGEST_SCALE = 1e-152, 1e153


class Prior(NamedTuple):
    """What is known before the first row, as rows that are added to the table's.

    Parameters
    ----------
    rows : ndarray of shape (k, m)
        Stacked under the centred rows of the table.
    mean : ndarray of shape (m,)
        What the columns' means are estimated to be, table and prior together.
    """

    rows: npt.NDArray[np.float64]
    mean: npt.NDArray[np.float64]


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
    """All that regressions among the columns of a table depend on, as read-only arrays.

    Parameters
    ----------
    n_samples : int or float
        Number of rows, or the sum of their weights.
    mean : ndarray of shape (m,)
    scale : ndarray of shape (m,)
        The Euclidean norm of each centred column.
    factor : ndarray of shape (m, m)
        R of the QR decomposition of the columns, centred and of unit norm; the rows of
        a prior are among theirs.
    independence : IndependenceCheck
    is_checked : bool
        Whether all columns together are known to be independent. If not, those of each
        regression are checked when it is asked for.
    """

    n_samples: float
    mean: npt.NDArray[np.float64]
    scale: npt.NDArray[np.float64]
    factor: npt.NDArray[np.float64]
    independence: IndependenceCheck = field(repr=False)
    is_checked: bool

    def __post_init__(self) -> None:
        for array in (self.mean, self.scale, self.factor):
            array.setflags(write=False)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()  # pickling forgets which arrays are read-only

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

    def family_factors(self, is_parent: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
        """Return the factors of each column's parents and itself, in this order.

        Parameters
        ----------
        is_parent : ndarray of shape (m, m), bool
            Row x has column x's parents.

        Returns
        -------
        factors : ndarray of shape (m, k, k)
            Beyond the family, of other columns.
        """
        n_parents = is_parent.sum(axis=1)
        orders = families_first(is_parent)[:, : int(n_parents.max()) + 1]
        factors = stacked_factors(self.factor, orders)
        if not self.is_checked:
            for factor, order, n in zip(factors, orders, n_parents + 1, strict=True):
                self.independence.check(factor[:n, :n], order[:n].tolist())
        return factors

    def check(self, columns: Sequence[int]) -> None:
        """Raise if these columns are not linearly independent."""
        self.independence.check(triangular_factor(self.factor[:, list(columns)]), list(columns))

    def _factor_of(self, columns: Sequence[int]) -> npt.NDArray[np.float64]:
        factor = triangular_factor(self.factor[:, list(columns)])
        if not self.is_checked:
            self.independence.check(factor, list(columns))
        return factor


def sample_statistics(
    summary: RowSummary,
    names: Sequence[Any],
    *,
    prior: Prior | None = None,
    largest_family: int | None = None,
    sensitivity: float | None = None,
) -> SampleStatistics:
    """Compute the statistics of some rows, if their columns determine all regressions.

    Parameters
    ----------
    summary : RowSummary
        Of the rows.
    names : sequence of m str or int
        What to call the columns in errors.
    prior : Prior, optional
        Its rows are stacked under the table's. Then there may be any number of rows, and
        constant and dependent columns.
    largest_family : int, optional
        How many columns take part in a regression, the child included; by default all.
    sensitivity : float, optional
        By how much a relative error of a residual changes a score; by default n.

    Raises
    ------
    ValueError
        If there are no more rows than columns in a family; if a column is constant, or
        its spread cannot be squared; if a column depends linearly on others, or so
        nearly that a score may be off by more than `SCORE_ACCURACY`. Each leaves
        some family's likelihood unbounded or unknown.
    """
    n, m = summary.n_samples, summary.n_columns
    largest_family = m if largest_family is None else min(largest_family, m)
    if prior is None and min(n, summary.n_rows) <= largest_family:
        raise _too_few_rows(summary, largest_family)
    triangle = summary.factor
    if prior is not None:
        largest = np.abs(prior.rows).max(axis=0, initial=0.0)
        summary = summary.in_units(np.maximum(summary.exponent, np.frexp(largest)[1]))
        prior_rows = np.ldexp(prior.rows, -summary.exponent)
        triangle = triangular_factor(np.vstack([summary.factor, prior_rows]))
    factor = np.zeros((m, m))
    factor[: len(triangle)] = triangle
    norm = np.linalg.norm(factor, axis=0)
    magnification = np.zeros(m)
    if prior is None:
        # How much larger a column's entries are than their spread: by so much more than
        # eps do its entries' rounding errors count, relative to its spread.
        with np.errstate(divide="ignore", invalid="ignore"):
            magnification = np.sqrt(n) * np.ldexp(summary.largest, -summary.exponent) / norm
        _refuse_constants(summary, norm, magnification, names)
    with np.errstate(over="ignore"):
        scale = np.ldexp(norm, summary.exponent)
    for j in range(m):
        if not _SMALLEST_SCALE <= scale[j] <= _LARGEST_SCALE:
            raise ValueError(
                f"Column {names[j]!r} has values up to {summary.largest[j]:g} in magnitude, and "
                "the square of its spread is out of float64's range. Measure it in other units."
            )
    factor /= norm
    # Of the data, twice the rounding of each entry. Of the factor, what reflections and
    # rotations add to columns of unit norm, about eps * sqrt(m); a residual r that is off by
    # so much changes the score by the sensitivity / r times it. Rows that were merged one by
    # one add as many roundings, which only rows of small weights make count.
    sensitivity = n if sensitivity is None else sensitivity
    merges = max(1.0, np.sqrt(summary.n_rows / n)) if n > 0 else 1.0
    rounding = _EPS * (2 * magnification + merges * sensitivity * np.sqrt(m) / SCORE_ACCURACY)
    independence = IndependenceCheck(names, scale, rounding, has_prior=prior is not None)
    is_checked = True
    try:
        independence.check(factor, list(range(m)))
    except ValueError:
        if largest_family == m:
            raise
        is_checked = False  # columns that no regression brings together may depend
    mean = summary.column_means if prior is None else prior.mean
    return SampleStatistics(n, mean, scale, factor, independence, is_checked)


def _too_few_rows(summary: RowSummary, largest_family: int) -> ValueError:
    m, n = summary.n_columns, summary.n_rows
    parents = f"children with up to {largest_family - 1} parents"
    if n > largest_family:
        least = (
            f"must exceed the {m} columns"
            if largest_family == m
            else f"must exceed {largest_family} for {parents}"
        )
        return ValueError(
            f"The sample weights of X's {n} rows sum to {summary.n_samples:g}, but {least}, as a "
            "weight says how often its row counts. To use relative weights, scale them to sum to "
            f"{n}."
        )
    families = (
        f"{m} columns: with no more rows than columns"
        if largest_family == m
        else f"{parents}: with so few rows"
    )
    most = n - 2
    left = f", leave out columns until {n - 1} or fewer are left" if n > 2 else ""
    fewer = f", set max_parents to {most}{' or less' if most else ''}" if most >= 0 else ""
    return ValueError(
        f"X has n_samples = {n} rows for {families} some regressions leave no residual, and the "
        f"likelihood is unbounded. Give more rows{left}{fewer}, or use "
        'criterion="bge" (in the LocalScoreTransformer, if there is one; GaussianBNLearnerCV does '
        "not take it)."
    )


def _refuse_constants(
    summary: RowSummary,
    norm: npt.NDArray[np.float64],
    magnification: npt.NDArray[np.float64],
    names: Sequence[Any],
) -> None:
    for j, name in enumerate(names):
        smallest, largest = summary.minimum[j], summary.maximum[j]
        if smallest == largest:
            raise ValueError(
                f"Column {name!r} has zero variance: all its values equal {smallest:g}. Leave it "
                "out."
            )
        if norm[j] == 0 or 4 * _EPS * magnification[j] > 1:
            raise ValueError(
                f"Column {name!r} has zero variance up to rounding: its values are from "
                f"{smallest:.17g} to {largest:.17g}, and their spread, by their weights, is lost "
                "in the rounding of the largest. Leave it out, or subtract a constant."
            )
