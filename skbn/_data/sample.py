"""Sample: the rows that scores are computed from, or what is left of them."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from skbn._core.labels import in_order_of_rows
from skbn._core.memory import read_only
from skbn._core.threads import one_blas_thread
from skbn._data.row_summary import RowSummary, summarise
from skbn._data.sample_weight import read_sample_weight

__all__ = ["Sample"]

Floats = npt.NDArray[np.float64]


class Sample:
    """Some rows and their weights.

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
        """Return a sample that is known by its summary alone."""
        sample = cls.__new__(cls)
        sample._rows = sample._weight = sample.labels = None
        sample.shape = (summary.n_rows, summary.n_columns)
        sample.summary = summary
        return sample

    def with_weight(self, sample_weight: Any) -> Self:
        """Return the sample with weights as users give them; None leaves it as it is.

        Those of a Series go to the rows of the same labels.

        Raises
        ------
        ValueError, TypeError
            If they are not weights of these rows, or these have others; if the rows were
            not kept.
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
                "The LocalScores were made with another sample_weight than is given now. Give it "
                "in one place only."
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
                "These LocalScores do not keep the rows they were made of, so they cannot be "
                "split, weighted or scored; give the table."
            )
        return read_only(self._rows)

    @property
    def weight(self) -> Floats | None:
        """How often each row counts, shape (n,), read-only; None for once."""
        return None if self._weight is None else read_only(self._weight)

    @cached_property
    def summary(self) -> RowSummary:
        """What regressions need of the rows.

        Raises
        ------
        ValueError
            If there are none of a positive weight.
        """
        self._require_weight()
        with one_blas_thread():
            return summarise(self.rows, self.weight)

    def mean(self, values: Floats) -> float:
        """Return the mean of a value for each row.

        Raises
        ------
        ValueError
            If there are no rows of a positive weight.
        """
        if self.weight is None:
            return float(values.mean())
        self._require_weight()
        # Rows of no weight may have a log-likelihood of -inf.
        counts = self.weight > 0
        shares = self.weight[counts] / self.weight.max()
        return float(np.average(values[counts], weights=shares))

    def _require_weight(self) -> None:
        if self.weight is not None and not self.weight.any():
            raise ValueError("sample_weight is zero for all rows; give some a positive one.")

    def __getstate__(self) -> dict[str, Any]:
        # An index of pandas is stored as an array: skops does not know its type.
        is_index = hasattr(self.labels, "to_numpy")
        return {**vars(self), "labels": self.labels.to_numpy() if is_index else self.labels}

    def __getitem__(self, chosen: Any) -> Self:
        """Return the sample of several of the rows."""
        weight = None if self.weight is None else self.weight[chosen]
        labels = None if self.labels is None else self.labels[chosen]
        return type(self)(self.rows[chosen], weight, labels)
