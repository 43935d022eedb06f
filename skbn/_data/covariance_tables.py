"""Matrices of correlations or covariances: refused as rows, and read in place of rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from numbers import Real
from typing import Any, NoReturn

import numpy as np

from skbn._core.arrays import Floats, numbers_in
from skbn._core.columns import is_labelled, numbers_by_column
from skbn._core.text import first_few, readable_value
from skbn._data.containers import check_labels, frame_labels, row_labels
from skbn._data.sample import RowSummary, Sample
from skbn._regressions.least_squares import triangular_factor
from skbn._regressions.set_function import SCORE_ACCURACY

_ROUNDING = 1e-6
# Smaller tables of whole numbers may be symmetric by chance.
_FEWEST_WHOLE = 5
# What the smallest eigenvalue of correlations is after they are shrunk as an error advises.
_SMALLEST_EIGENVALUE = 0.001
_MOST_SAMPLES = 2.0**53


def reject_covariance(columns: Sequence[Any], labels: list[Any], rows: Any, *, named: bool) -> None:
    """Raise if a table is a covariance matrix of its columns, by its labels or by its numbers.

    `labels`: list of m hashables
    `rows`: pandas.Index or None; the labels of the rows; else the first column may have them
    `named`: whether the labels are strings
    """
    own = rows
    if len(columns[0]) == len(labels) - 1:
        own, columns, labels = np.asarray(columns[0]), columns[1:], labels[1:]
    is_labelled = named and own is not None and [*map(str, own)] == labels
    values = [np.asarray(column) for column in columns]
    if any(each.dtype.kind not in "iufO" for each in values):
        return
    try:
        matrix = np.array(values, dtype=np.float64).T
    except (TypeError, ValueError):
        return
    for full in (matrix, _mirrored(matrix), _mirrored(matrix.T)):
        if full.shape == (len(labels),) * 2 and _is_covariance(full, is_labelled):
            raise ValueError(
                f"X is a matrix of its columns ({first_few(labels)}), such as their correlations "
                "or covariances, and no table of rows. Pass the rows that it was computed from, "
                "or with their number n: skbn.from_covariance(X, n_samples=n)"
            )


def _mirrored(matrix: Floats) -> Floats:
    """Return a lower triangle, with nothing above it, as a symmetric matrix."""
    upper = np.triu(matrix, 1)
    is_blank = not np.nan_to_num(upper).any()
    return np.tril(matrix) + np.tril(matrix, -1).T if is_blank else np.empty((0, 0))


def _is_covariance(matrix: Floats, is_labelled: bool) -> bool:
    diagonal, m = np.diag(matrix), len(matrix)
    with np.errstate(all="ignore"):
        off = matrix - np.diag(diagonal)
        if not np.isfinite(matrix).all() or not off.any():
            return False
        if not np.allclose(matrix, matrix.T, rtol=_ROUNDING, atol=_ROUNDING * np.abs(off).max()):
            return False
        if is_labelled:
            return True
        is_unit = np.allclose(diagonal, 1, rtol=0, atol=_ROUNDING)
        most = np.sqrt(np.outer(diagonal, diagonal)) * (1 + _ROUNDING)
        fewest = _FEWEST_WHOLE if (matrix == np.round(matrix)).all() else 3 - is_unit
        return bool(m >= fewest and (diagonal > 0).all() and (np.abs(off) <= most).all())


def from_covariance(
    cov: Any,
    n_samples: float,
    means: Any = None,
    ddof: float = 1,
    *,
    std: Any = None,
    names: Sequence[str] | None = None,
) -> CovarianceTable:
    """Return what estimators take in place of a table whose rows are unknown.

    A Gaussian network depends on the rows by their number, means and covariance matrix alone. Many
    papers print these, or correlations and standard deviations.

    Parameters
    ----------
    cov : data frame, array-like of shape (m, m), sequence of rows, or str
        Covariances or correlations of at least two columns, perhaps a triangle: rows of growing
        length, as printed; blank, NaN or 0 on the other side of the diagonal; or text with a line
        for each row, whose stars are ignored. A diagonal of dashes or NaN belongs to correlations.
    n_samples : int or float
        Number of rows that they were computed from, or the sum of their weights.
    means : array-like of shape (m,), dict or pandas.Series, optional
        The means of the columns, on which only the intercepts depend; by default 0.
    ddof : int or float
        The covariances are sums of products divided by ``n_samples - ddof``: 1 for
        ``pandas.DataFrame.cov`` and `numpy.cov`, 0 for estimates of the highest likelihood.
    std : array-like of shape (m,), dict or pandas.Series, optional
        Standard deviations, if `cov` has correlations. Without them the columns are taken as
        standardised.
    names : sequence of m str, optional
        The columns' names, if `cov` is no data frame.

    Returns
    -------
    table : CovarianceTable
        For `GaussianBNLearner`, `GaussianBNPosterior`, `LocalScoreTransformer` and
        `GaussianBayesianNetwork.fit`, `score` and `fit_indices`; what needs rows raises a
        TypeError. Tables of the same columns in several groups of rows add up by ``+``.

    Raises
    ------
    ValueError, TypeError
        If the matrix is not symmetric, not positive definite, or so nearly singular that scores
        would be off; if an argument does not go with it.

    See Also
    --------
    LocalScoreTransformer.partial_fit : Adds up rows chunk by chunk.
    GaussianBayesianNetwork.fit_indices : How well a network fits it.

    Notes
    -----
    The results are those of any table of rows with this covariance matrix and these means, up to
    rounding. If the correlations are of ranks, or polychoric, likelihoods and probabilities are
    approximate.

    Examples
    --------
    >>> from skbn import GaussianBNLearner, from_covariance
    >>> printed = '''
    ... —
    ... .55** —
    ... .43** .41** —
    ... '''
    >>> table = from_covariance(printed, n_samples=220, names=["mechanics", "vectors", "algebra"])
    >>> table
    <CovarianceTable of 220 rows x 3 columns, standardised>
    >>> GaussianBNLearner().fit(table).dag_.number_of_edges()
    3
    """
    matrix, labels = _read_matrix(cov)
    matrix = _completed(matrix, labels)
    m = len(matrix)
    if names is not None:
        labels = [*names]
        if len(labels) != m:
            raise ValueError(
                f"names must have one for each of the {m} columns of cov; got {len(labels)}."
            )
        check_labels(labels, matrix)
    columns = list(range(m)) if labels is None else labels
    n_samples, ddof = _read_numbers(n_samples, ddof)
    scale = np.sqrt(np.diag(matrix))
    varies = np.where(scale > 0, scale, 1.0)
    correlation = matrix / varies / varies[:, np.newaxis] + np.diag(scale == 0)
    is_unit = bool(np.allclose(scale, 1, rtol=0, atol=_ROUNDING))
    if std is not None:
        if not is_unit:
            raise ValueError(
                "std goes with correlations, but the diagonal of cov is not 1, so that it has the "
                "variances already. Leave std out."
            )
        scale = _read_vector(std, columns, "std")
        for column, each in zip(columns, scale, strict=True):
            if each <= 0:
                raise ValueError(
                    f"std must be positive; it is {each:g} for column {column!r}. Leave out "
                    "columns that do not vary."
                )
    factor, size = _triangle(correlation, columns, n_samples)
    mean = np.zeros(m) if means is None else _read_vector(means, columns, "means")
    _, exponent = np.frexp(np.maximum(scale, np.abs(mean)))
    exponent = exponent.clip(-1000, 1000)  # powers of two and their inverses are normal numbers
    units = np.ldexp(1.0, -exponent)
    low, high = (np.where(scale > 0, sign * size * scale, mean) for sign in (-1, 1))
    summary = RowSummary(
        *(int(np.ceil(n_samples)), n_samples, low, high),
        *(exponent, mean * units, np.zeros(m)),
        np.sqrt(n_samples - ddof) * factor * (scale * units),
    )
    return CovarianceTable(summary, columns, is_standardised=is_unit and std is None)


class CovarianceTable:
    """A covariance matrix and its number of rows, which take the place of the rows.

    `from_covariance` makes one. Tables of the same columns add up: ``a + b``, or ``sum(tables)``,
    is that of all their rows, and differences between their means are part of its covariances.

    Parameters
    ----------
    summary : RowSummary
    columns : list of str or int
    is_standardised : bool
        Whether it was made from correlations without standard deviations.

    Attributes
    ----------
    shape : tuple of int
        Number of rows and of columns.

    See Also
    --------
    from_covariance : What makes it.

    Examples
    --------
    >>> from skbn import from_covariance
    >>> men = from_covariance([[2.0], [0.9, 1.5]], 40, names=["height", "weight"])
    >>> women = from_covariance([[1.8], [0.7, 1.6]], 60, names=["height", "weight"])
    >>> men + women
    <CovarianceTable of 100 rows x 2 columns>
    """

    def __init__(
        self, summary: RowSummary, columns: list[str | int], *, is_standardised: bool
    ) -> None:
        self._summary = summary
        self._columns = columns
        self.shape = summary.n_rows, summary.n_columns
        self.is_standardised = is_standardised

    @property
    def columns(self) -> list[str | int]:
        """The columns' names, or their numbers if they have none."""
        return [*self._columns]

    def __add__(self, other: Any) -> CovarianceTable:
        if not isinstance(other, CovarianceTable):
            return NotImplemented
        if {*self.columns} != {*other.columns}:
            raise ValueError(
                f"The tables have the columns [{first_few(self.columns)}] and "
                f"[{first_few(other.columns)}]. Give both the same columns, by names=."
            )
        both = self.is_standardised and other.is_standardised
        own_order = [other.columns.index(column) for column in self.columns]
        merged = self._summary.merge(other._summary.select(own_order))
        return CovarianceTable(merged, self.columns, is_standardised=both)

    def __radd__(self, other: Any) -> CovarianceTable:
        return self if isinstance(other, int) and other == 0 else NotImplemented  # sum(tables)

    def _as_sample(self, sample_weight: Any = None, numbers: Sequence[int] | None = None) -> Sample:
        """Return the summary of some of the columns, by number, as scores take it."""
        if sample_weight is not None:
            raise ValueError(
                "sample_weight weights rows, and X is a CovarianceTable, which has none. Compute "
                "its covariances with these weights, and give their sum as n_samples."
            )
        summary = self._summary
        return Sample.of_summary(summary if numbers is None else summary.select(numbers))

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError(
            "X is a CovarianceTable, which has no rows, and rows are needed here. Pass the table "
            "that its covariances were computed from. LocalScoreTransformer, GaussianBNLearner, "
            "GaussianBNPosterior and GaussianBayesianNetwork are fitted to X as it is."
        )

    # numpy and scikit-learn ask for rows by these.
    __array__ = __len__ = __getitem__ = __iter__ = _refuse

    def __repr__(self) -> str:
        said = ", standardised" if self.is_standardised else ""
        return f"<CovarianceTable of {self.shape[0]:,} rows x {self.shape[1]} columns{said}>"


# Reading


def _read_matrix(cov: Any) -> tuple[Floats, list[Any] | None]:
    """Return a matrix, NaN where a row ends early, and the labels of its columns, if any."""
    labels = frame_labels(cov)
    if labels is not None:
        check_labels(labels, cov)
        rows = row_labels(cov)
        values = np.array([np.asarray(cov[label]) for label in labels], dtype=object).T
        if len(values) == len(labels) - 1:  # the rows' labels are the first column
            rows, values, labels = values[:, 0], values[:, 1:], labels[1:]
        are_names = rows is not None and all(isinstance(row, str) for row in rows)
        if are_names and [*rows] != [*map(str, labels)]:
            raise ValueError(
                f"The rows of cov are labelled [{first_few([*rows])}], and its columns "
                f"[{first_few(labels)}]. Give both the same labels in the same order, as by "
                "cov.loc[list(cov.columns)]."
            )
        labels = labels if isinstance(labels[0], str) else None
    else:
        lines = _lines(cov) if isinstance(cov, str) else cov
        if isinstance(lines, list | tuple) and len({np.size(line) for line in lines}) > 1:
            lines = _padded(lines)
        values = np.asarray(lines, dtype=object)
    if values.ndim != 2 or values.shape[0] != values.shape[1] or len(values) < 2:
        raise ValueError(
            "cov must be a square matrix of two columns or more, or a triangle of one; got the "
            f"shape {values.shape}. If these are rows, pass them as they are to an estimator."
        )
    try:
        return values.astype(np.float64), labels
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"cov must hold numbers ({error}). Leave out names and notes, and give the names by "
            "names."
        ) from None


def _lines(text: str) -> list[list[str]]:
    """Return the numbers of printed rows, with minus signs of any kind, without stars."""
    dash = r"[-\u2212\u2013\u2014]"
    text = re.sub(rf"{dash}(?=[\d.])", "-", text.replace("*", " "))
    text = re.sub(rf"(?<!\S){dash}(?!\S)", "nan", text)
    return [line.replace(",", " ").split() for line in text.splitlines() if line.strip()]


def _padded(rows: Sequence[Any]) -> list[list[Any]]:
    """Return the rows of a lower or an upper triangle, filled with NaN."""
    sizes, m = [np.size(row) for row in rows], len(rows)
    if sizes == list(range(1, m + 1)):
        return [[*row, *[np.nan] * (m - len(row))] for row in map(np.atleast_1d, rows)]
    if sizes == list(range(m, 0, -1)):
        return [[*[np.nan] * (m - len(row)), *row] for row in map(np.atleast_1d, rows)]
    raise ValueError(
        f"The rows of cov have {sizes} numbers. A lower triangle with its diagonal has "
        f"{list(range(1, m + 1))}, and a full matrix {m} in each."
    )


def _completed(matrix: Floats, labels: list[Any] | None) -> Floats:
    """Return a symmetric matrix, from a triangle of it too; raise if it is none."""
    if np.isnan(np.diag(matrix)).all():
        matrix = matrix.copy()
        np.fill_diagonal(matrix, 1)
    for one_side in (matrix, matrix.T):
        full = _mirrored(one_side)
        if full.size:
            matrix = full
            break
    names = labels if labels is not None else list(range(len(matrix)))
    for i, j in np.argwhere(~np.isfinite(matrix)).tolist():
        raise ValueError(
            f"cov has {matrix[i, j]:g} for {names[i]!r} and {names[j]!r}. Give the number, or "
            "leave out one of the columns."
        )
    diagonal = np.diag(matrix)
    # A column may be constant in one centre of several, which add up.
    for j in np.flatnonzero((diagonal < 0) | ((diagonal == 0) & matrix.any(axis=0))).tolist():
        raise ValueError(
            f"The variance of column {names[j]!r} is {matrix[j, j]:g}. Give a positive one, or "
            "leave out the column, as one that does not vary."
        )
    scale = np.sqrt(np.diag(matrix))
    most = _ROUNDING * np.outer(scale, scale)
    for i, j in np.argwhere(np.abs(matrix - matrix.T) > most).tolist():
        raise ValueError(
            f"cov is not symmetric: it has {matrix[i, j]:g} for {names[i]!r} and {names[j]!r}, and "
            f"{matrix[j, i]:g} the other way round. If only the numbers below the diagonal are "
            "covariances, pass numpy.tril(cov); if those above it, numpy.triu(cov)."
        )
    return (matrix + matrix.T) / 2


def _triangle(correlation: Floats, columns: list[Any], n_samples: float) -> tuple[Floats, float]:
    """Return the upper triangular factor, and how large the entries count as in their units.

    Raise unless scores of it are accurate, or will be checked for families of fewer columns.
    """
    m = len(correlation)
    values, vectors = np.linalg.eigh(correlation)
    smallest = float(values[0])
    # No residual variance is below the smallest eigenvalue. A relative error of it changes a score
    # by n / 2 times the error.
    least = n_samples / 2 * np.sqrt(m) * np.finfo(np.float64).eps / SCORE_ACCURACY
    if -least <= smallest <= least and n_samples <= m:
        # Few rows: some families have scores. A small residual's square has the rounding of the
        # products, as if its own rounding were that of entries far from their mean.
        halves = np.sqrt(values.clip(0))[:, np.newaxis] * vectors.T
        return triangular_factor(halves), float(np.sqrt(least) / (2 * np.finfo(np.float64).eps))
    if smallest <= least:
        wanted = max(_SMALLEST_EIGENVALUE, 2 * least)
        share = float(np.ceil(100 * (wanted - smallest) / (1 - smallest)) / 100)
        involved = sorted(np.argsort(-np.abs(vectors[:, 0]))[:4].tolist())
        raise ValueError(
            "cov is not positive definite: the smallest eigenvalue of its correlations is "
            f"{smallest:.3g}, and most of it is of [{first_few([columns[j] for j in involved])}], "
            "as if numbers were rounded, or columns sums of others. Give more digits, leave out a "
            f"column, or multiply all numbers off the diagonal by {1 - share:g}."
        )
    return np.ascontiguousarray(np.linalg.cholesky(correlation).T), 1.0


def _read_vector(values: Any, columns: list[Any], parameter: str) -> Floats:
    """Return a number for each column, by name if the values have names."""
    given = numbers_by_column(columns, values, parameter) if is_labelled(values) else values
    vector = np.array(numbers_in(given, parameter))
    if vector.shape != (len(columns),):
        raise ValueError(
            f"{parameter} must have a number for each of the {len(columns)} columns; got "
            f"{readable_value(values)}."
        )
    return vector


def _read_numbers(n_samples: Any, ddof: Any) -> tuple[float, float]:
    for parameter, value in (("n_samples", n_samples), ("ddof", ddof)):
        if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
            raise TypeError(f"{parameter} must be a number; got {readable_value(value)}.")
    if not 2 <= n_samples < _MOST_SAMPLES:
        raise ValueError(
            "n_samples must be the number of rows that cov was computed from, at least 2; got "
            f"{n_samples:g}."
        )
    if not 0 <= ddof < n_samples:
        raise ValueError(
            f"ddof must be at least 0 and less than n_samples = {n_samples:g}; got {ddof:g}. Give "
            "1 for pandas' and numpy's covariances, and 0 for those divided by n_samples."
        )
    total = float(n_samples)
    return int(total) if total.is_integer() else total, float(ddof)
