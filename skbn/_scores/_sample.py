"""Sample: the rows that scores are computed from, or what is left of them."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from skbn._parallel import one_blas_thread
from skbn._scores._row_summary import RowSummary, summarise

__all__ = ["Sample"]


class Sample:
    """Some rows and their weights.

    Parameters
    ----------
    rows : ndarray of shape (n, m), float64
        Finite.
    weight : ndarray of shape (n,), float64, optional
        How often each row counts; finite and not negative.

    Attributes
    ----------
    weight : ndarray of shape (n,) or None
    shape : tuple of int
        Number of rows and of columns.
    """

    def __init__(
        self, rows: npt.NDArray[np.float64], weight: npt.NDArray[np.float64] | None = None
    ) -> None:
        self._rows: npt.NDArray[np.float64] | None = rows.view()
        self._rows.setflags(write=False)
        self.weight = weight
        self.shape: tuple[int, int] = rows.shape

    @classmethod
    def of_summary(cls, summary: RowSummary) -> Self:
        """Return a sample that is known by its summary alone."""
        sample = cls(np.empty((0, summary.n_columns)))
        sample._rows = None
        sample.shape = (summary.n_rows, summary.n_columns)
        sample.summary = summary
        return sample

    @property
    def rows(self) -> npt.NDArray[np.float64]:
        """The rows, read-only.

        Raises
        ------
        TypeError
            If they were not kept.
        """
        if self._rows is None:
            raise TypeError(
                "These LocalScores are of rows that came in chunks and were not kept; give a table."
            )
        return self._rows

    @cached_property
    def summary(self) -> RowSummary:
        """What regressions need of the rows."""
        if self.shape[0] == 0:
            raise ValueError("There are no rows to compute scores from; give some.")
        if self.weight is not None and not self.weight.any():
            raise ValueError("All rows have a sample_weight of zero; give some a positive one.")
        with one_blas_thread():
            return summarise(self.rows, self.weight)

    def __getitem__(self, chosen: Any) -> Self:
        """Return the sample of several of the rows."""
        weight = None if self.weight is None else self.weight[chosen]
        return type(self)(self.rows[chosen], weight)
