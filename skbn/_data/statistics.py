"""What every regression needs: the number of rows, the means and the triangular factor."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from skbn._core.arrays import F1, F2, Booleans, Floats
from skbn._data import degenerate_columns
from skbn._data.nodes import Nodes
from skbn._data.sample import RowSummary
from skbn._regressions import least_squares
from skbn._regressions.set_function import SCORE_ACCURACY

_EPS = np.finfo(np.float64).eps
# Bounds of a column's norm: its square, and those of its residuals, must be normal numbers.
_SMALLEST_SCALE, _LARGEST_SCALE = 1e-152, 1e153


class Prior(NamedTuple):
    """A criterion's prior, as rows that are added to the table's."""

    rows: F2  # (k, m): stacked under the centred rows of the table
    mean: F1  # (m,): the estimates of the columns' means from table and prior together


class Regression(NamedTuple):
    """A child's regression on its parents."""

    intercept: float
    coefficients: F1  # (n_parents,): in the order of the parents
    residual_sum_of_squares: float


@dataclass(frozen=True)
class SampleStatistics:
    """All that regressions among a table's columns depend on, as read-only arrays."""

    n_samples: float  # number of rows, or the sum of their weights
    mean: Floats  # (m,)
    scale: Floats  # (m,): the Euclidean norm of each centred column
    # (m, m): R of the QR decomposition of the columns, centred and of unit norm, with the rows of a
    # prior stacked under them
    factor: Floats
    independence: degenerate_columns.IndependenceCheck = field(repr=False)
    # whether all columns together are known to be independent. If not, the columns of each
    # regression are checked when it is computed.
    is_checked: bool

    def __post_init__(self) -> None:
        for array in (self.mean, self.scale, self.factor):
            array.setflags(write=False)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()  # pickling forgets which arrays are read-only

    def log_determinants(self, child: int, parents: Sequence[int]) -> tuple[float, float]:
        """Return log det(Z'Z) for the parents Z, and for the parents and the child.

        The columns are centred and of unit norm.
        """
        terms = 2 * np.log(np.abs(np.diag(self._factor_of([*parents, child]))))
        of_parents = float(terms[:-1].sum())
        return of_parents, of_parents + float(terms[-1])

    def regression(self, child: int, parents: Sequence[int]) -> Regression:
        """Regress a column on others, by the triangular factor of just these columns."""
        parents = list(parents)
        factor = self._factor_of([*parents, child])
        k = len(parents)
        scaled = least_squares.solve_triangular(factor[:k, :k], factor[:k, k])
        coefficients = scaled * self.scale[child] / self.scale[parents]
        intercept = self.mean[child] - coefficients @ self.mean[parents]
        return Regression(
            float(intercept), coefficients, float((factor[k, k] * self.scale[child]) ** 2)
        )

    def families_of(
        self, is_parent: Booleans, children: Sequence[int] | None = None
    ) -> Iterator[least_squares.FamilyFactors]:
        """Yield the families of a network, with their triangular factors.

        `children`: the children of the families; by default all
        """
        for families in least_squares.families_of(self.factor, is_parent, children):
            if not self.is_checked:
                for i in np.flatnonzero(families.may_be_dependent(self.independence.rounding)):
                    n = families.n_parents[i] + 1
                    columns = families.columns[i, :n].tolist()
                    self.independence.check(families.factors[i, :n, :n], columns)
            yield families

    def check(self, columns: Sequence[int]) -> None:
        """Raise if these columns are not linearly independent."""
        self.independence.check(
            least_squares.triangular_factor(self.factor[:, list(columns)]), list(columns)
        )

    def _factor_of(self, columns: Sequence[int]) -> Floats:
        factor = least_squares.triangular_factor(self.factor[:, list(columns)])
        if not self.is_checked:
            self.independence.check(factor, list(columns))
        return factor


class GroupStatistics(NamedTuple):
    """The statistics of the rows that count for some children."""

    children: list[int]  # the numbers of their columns
    statistics: SampleStatistics  # the statistics of all columns


Groups = Sequence[GroupStatistics]  # whose children are all columns


def sample_statistics(
    summary: RowSummary,
    names: Sequence[Any],
    *,
    prior: Prior | None = None,
    largest_family: int | None = None,
    sensitivity: float | None = None,
    nodes: Nodes | None = None,
    remedy: str = degenerate_columns.IndependenceCheck.remedy,
) -> SampleStatistics:
    """Compute the statistics of some rows, if their columns determine all regressions.

    `names`: the columns' names in errors
    `prior`: its rows are stacked under the table's. Then there may be any number of rows, and
        constant and dependent columns.
    `largest_family`: how many columns take part in a regression, the child included; by default all
    `sensitivity`: by how much a relative error of a residual changes a score; by default n
    `remedy`: what an error about collinear columns advises, with braces for the columns

    Raises ValueError if a family has as many columns as there are rows; if the spread of a column
    cannot be squared; a `DegenerateColumnsError`, which names all constant columns and those that
    depend on others, or so nearly that a score may be off by more than `SCORE_ACCURACY`.
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
        triangle = least_squares.triangular_factor(np.vstack([summary.factor, prior_rows]))
    factor = np.zeros((m, m))
    norm = np.linalg.norm(triangle, axis=0)
    magnification = np.zeros(m)
    if prior is None:
        # How much larger a column's entries are than their spread. Relative to the spread,
        # rounding errors of the entries are larger than eps by this factor.
        with np.errstate(divide="ignore", invalid="ignore"):
            magnification = np.sqrt(n) * np.ldexp(summary.largest, -summary.exponent) / norm
        constants = _constants(summary, norm, magnification, names)
        if constants:
            others = [j for j in range(m) if j not in constants]
            rest = None if nodes is None else nodes.select(others)
            raise degenerate_columns.joined(
                degenerate_columns.constants_error(
                    names, constants, degenerate_columns.labels_of(names, nodes)
                ),
                lambda: sample_statistics(
                    summary.select(others),
                    [names[j] for j in others],
                    largest_family=largest_family,
                    sensitivity=sensitivity,
                    nodes=rest,
                    remedy=remedy,
                ).independence.check_all(),
            )
    with np.errstate(over="ignore"):
        scale = np.ldexp(norm, summary.exponent)
    for j in range(m):
        if not _SMALLEST_SCALE <= scale[j] <= _LARGEST_SCALE:
            raise ValueError(
                f"Column {names[j]!r} has values up to {summary.largest[j]:g} in magnitude, and "
                "the square of its spread is out of float64's range. Measure it in other units."
            )
    np.divide(triangle, norm, out=factor[: len(triangle)])
    # The data contribute twice the rounding of each entry. Reflections and rotations of the
    # factor add about eps * sqrt(m) to columns of unit norm; such an error of a residual r
    # changes the score by sensitivity / r times the error. Merging rows one by one adds a
    # rounding for each, which matters only for rows of small weight.
    sensitivity = n if sensitivity is None else sensitivity
    merges = max(1.0, np.sqrt(summary.n_rows / n)) if n > 0 else 1.0
    of_scores = sensitivity * np.sqrt(m) / SCORE_ACCURACY
    rounding = _EPS * (2 * magnification + merges * of_scores)
    once = _EPS * (2 * magnification + summary.n_rows / max(n, 1) * of_scores)
    independence = degenerate_columns.IndependenceCheck(
        *(names, scale, rounding, prior is not None, factor, largest_family, nodes, remedy),
        weights=(summary.n_rows, n, once),
    )
    is_checked = len(triangle) == m  # columns of no common regression may depend on each other
    if is_checked:
        found = least_squares.dependence_among(list(range(m)), factor, rounding)
        if found is not None and largest_family == m:
            raise degenerate_columns.degenerate_error(independence, found)
        is_checked = found is None
    mean = summary.column_means if prior is None else prior.mean
    return SampleStatistics(n, mean, scale, factor, independence, is_checked)


def _too_few_rows(summary: RowSummary, largest_family: int) -> ValueError:
    m, n = summary.n_columns, summary.n_rows
    families = f"children with up to {largest_family - 1} parents"
    if largest_family == m:
        families = f"{m} columns"
    if n > largest_family:
        return ValueError(
            f"The sample weights of X's {n} rows sum to {summary.n_samples:g}, but must exceed "
            f"{largest_family} for {families}, as a weight says how often its row counts. To use "
            f"relative weights, scale them to sum to {n}."
        )
    fewer = f"leave out columns until {n - 1} or fewer are left, set max_parents to {n - 2} or less"
    return ValueError(
        f"X has n_samples = {n} rows for {families}: some regressions leave no residual, and the "
        f"likelihood is unbounded. Give more rows, {fewer if n > 1 else 'leave out columns'}, or "
        'use criterion="bge" (in the LocalScoreTransformer, if there is one; GaussianBNLearnerCV '
        "does not take it)."
    )


def _constants(
    summary: RowSummary, norm: Floats, magnification: Floats, names: Sequence[Any]
) -> dict[int, str]:
    """Return what is wrong with each column that does not vary."""
    found = {}
    for j in range(len(names)):
        smallest, largest = summary.minimum[j], summary.maximum[j]
        if smallest == largest:
            found[j] = f"zero variance: all its values equal {smallest:g}. Leave it out."
        elif norm[j] == 0 or 4 * _EPS * magnification[j] > 1:
            found[j] = (
                f"zero variance up to rounding: its values are from {smallest:.17g} to "
                f"{largest:.17g}, and their spread, by their weights, is lost in the rounding of "
                "the largest. Leave it out, or subtract a constant."
            )
    return found
