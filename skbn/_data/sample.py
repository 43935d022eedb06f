"""Sample: the rows that scores are computed from, with their weights, or a summary of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from functools import cached_property
from numbers import Real
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from skbn._core.labels import in_order_of_rows, is_mask
from skbn._core.resources import one_blas_thread, read_only
from skbn._data.row_summary import RowSummary, summarise

__all__ = ["Sample", "TableMixin", "read_sample_weight"]

Floats = npt.NDArray[np.float64]

# Beyond these, the sum of the weights and what is computed from it may leave float64's range.
_SMALLEST_SUM, _LARGEST_SUM = 1e-300, 1e300


class Sample:
    """The rows of a table and their weights, or only their summary.

    Parameters
    ----------
    rows : ndarray of shape (n, m), float64
        Finite.
    weight : ndarray of shape (n,), float64, optional
        How often each row counts; finite and not negative.
    labels : pandas.Index or ndarray of length n, optional
        The labels of the table's rows, if it has any.

    Attributes
    ----------
    labels : pandas.Index, ndarray or None
    shape : tuple of int
        Number of rows and of columns.
    """

    def __init__(self, rows: Floats, weight: Floats | None = None, labels: Any = None) -> None:
        self._rows: Floats | None = rows
        self._weight = weight
        self.labels = labels
        self.shape: tuple[int, int] = rows.shape

    @classmethod
    def of_summary(cls, summary: RowSummary) -> Self:
        """Return a sample without its rows."""
        sample = cls.__new__(cls)
        sample._rows = sample._weight = sample.labels = None
        sample.shape = (summary.n_rows, summary.n_columns)
        sample.summary = summary
        return sample

    def with_weight(self, sample_weight: Any) -> Self:
        """Return the sample with a user's weights; None leaves it as it is.

        The weights of a Series go to the rows of the same labels.

        Raises
        ------
        ValueError, TypeError
            If they are not weights of these rows, the rows have other weights already, or
            the rows were not kept.
        """
        if sample_weight is None:
            return self
        n_rows = len(self.rows)
        in_order = in_order_of_rows(sample_weight, self.labels, n_rows, "sample_weight")
        weight = read_sample_weight(in_order, n_rows)
        if self.weight is None:
            return type(self)(self.rows, weight, self.labels)
        if not np.array_equal(self.weight, weight):
            raise ValueError(
                "The LocalScores were made with another sample_weight. Pass sample_weight in one "
                "place only."
            )
        return self

    @property
    def has_rows(self) -> bool:
        """Whether the rows were kept."""
        return self._rows is not None

    @property
    def rows(self) -> Floats:
        """The rows, read-only.

        Raises
        ------
        TypeError
            If they were not kept.
        """
        if self._rows is None:
            raise TypeError(
                "These LocalScores were built from summaries, so they cannot be indexed, weighted "
                "or scored. Pass the table."
            )
        return read_only(self._rows)

    @property
    def weight(self) -> Floats | None:
        """How often each row counts, shape (n,), read-only; None if each counts once."""
        return None if self._weight is None else read_only(self._weight)

    @cached_property
    def summary(self) -> RowSummary:
        """What regressions need to know about the rows.

        Raises
        ------
        ValueError
            If no row has a positive weight.
        """
        self._require_weight()
        with one_blas_thread():
            return summarise(self.rows, self.weight)

    def mean(self, values: Floats) -> float:
        """Return the weighted mean of a value for each row.

        Raises
        ------
        ValueError
            If no row has a positive weight.
        """
        if self.weight is None:
            return float(values.mean())
        self._require_weight()
        # Rows of weight 0 may have a log-likelihood of -inf.
        counts = self.weight > 0
        shares = self.weight[counts] / self.weight.max()
        return float(np.average(values[counts], weights=shares))

    def _require_weight(self) -> None:
        if self.weight is not None and not self.weight.any():
            raise ValueError(
                "sample_weight is zero for all rows; give some rows a positive weight."
            )

    def __getstate__(self) -> dict[str, Any]:
        # skops does not know the type of a pandas index, so an array is stored.
        is_index = hasattr(self.labels, "to_numpy")
        return {**vars(self), "labels": self.labels.to_numpy() if is_index else self.labels}

    def __getitem__(self, chosen: Any) -> Self:
        """Return the sample of some of the rows."""
        weight = None if self.weight is None else self.weight[chosen]
        labels = None if self.labels is None else self.labels[chosen]
        return type(self)(self.rows[chosen], weight, labels)


class TableMixin(ABC):
    """Lets numpy and scikit-learn treat an object as the table of its sample's rows.

    Parameters
    ----------
    sample : Sample
    """

    sample: Sample

    @property
    @abstractmethod
    def columns(self) -> list[str | int]:
        """The columns' names, or their numbers if they have none."""

    @abstractmethod
    def of_sample(self, sample: Sample, n_jobs: int | None = None) -> Self:
        """Return the same for other rows, with the same settings except `n_jobs` if given."""

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return self.sample.shape

    @property
    def dtype(self) -> np.dtype[np.float64]:
        """The rows' dtype, float64."""
        return np.dtype(np.float64)

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        return np.array(self.sample.rows, dtype=dtype, copy=copy)

    def __iter__(self) -> Iterator[npt.NDArray[np.float64]]:
        return iter(self.sample.rows)

    def __getitem__(self, rows: Any) -> Self | npt.NDArray[np.float64]:
        """Return the same for several rows; one row or a choice of columns as an array."""
        # scikit-learn takes rows by X[rows, ...] from objects that have a shape.
        if isinstance(rows, tuple) and len(rows) == 2 and _chooses_all(rows[1]):
            rows = rows[0]
        if is_mask(rows):
            rows = np.asarray(in_order_of_rows(rows, self.sample.labels, len(self), "the mask"))
        chosen = self.sample.rows[rows]
        if chosen.ndim != 2 or isinstance(rows, tuple):
            return chosen
        return self.of_sample(self.sample[rows])


def _chooses_all(chosen: Any) -> bool:
    """Whether columns are chosen by ``...`` or ``:``."""
    return chosen is Ellipsis or (isinstance(chosen, slice) and chosen == slice(None))


# Weights


def read_sample_weight(sample_weight: Any, n_rows: int) -> npt.NDArray[np.float64]:
    """Return a user's weights as a read-only array of their own.

    Parameters
    ----------
    sample_weight : array-like of shape (n_rows,)
    n_rows : int

    Returns
    -------
    weight : ndarray of shape (n_rows,), float64

    Raises
    ------
    ValueError, TypeError
        If they are not `n_rows` finite numbers, none of them negative, naming the row; if
        their sum is out of range.
    """
    given = _as_array(sample_weight)
    if given.shape != (n_rows,):
        raise ValueError(
            f"sample_weight must have a weight for each of the {n_rows} rows; got an array of "
            f"shape {given.shape}."
        )
    if given.dtype.kind not in "biuf":
        for row, value in enumerate(given.tolist()):
            if not isinstance(value, Real):
                raise TypeError(
                    f"sample_weight must hold numbers; got {str(value)!r} for row {row}."
                )
    weight = np.empty(n_rows)
    try:
        with np.errstate(over="ignore"):
            weight[:] = given
    except OverflowError:
        raise ValueError("sample_weight has a number that is out of float64's range.") from None
    wrong = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))
    if len(wrong):
        raise ValueError(
            f"sample_weight must be finite and not negative, as a weight says how often its row "
            f"counts; got {weight[wrong[0]]:g} for row {wrong[0]}."
        )
    with np.errstate(over="ignore"):
        total = weight.sum()
    if weight.any() and not _SMALLEST_SUM <= total <= _LARGEST_SUM:
        raise ValueError(
            f"The sum of sample_weight is {total:g}; it must be from {_SMALLEST_SUM:g} to "
            f"{_LARGEST_SUM:g}. Multiply or divide all weights."
        )
    weight.setflags(write=False)
    return weight


def _as_array(sample_weight: Any) -> npt.NDArray[Any]:
    if isinstance(sample_weight, np.ma.MaskedArray):
        raise TypeError("sample_weight is a masked array, whose mask would be lost. Fill it.")
    if isinstance(sample_weight, Mapping):
        raise TypeError("sample_weight is a dict. Pass pandas.Series(sample_weight).")
    try:
        return np.asarray(sample_weight)
    except ValueError:  # lists of different lengths
        return np.empty((0, 0))
