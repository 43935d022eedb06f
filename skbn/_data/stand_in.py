"""StandIn: what goes where a table goes, and has its shape and its rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from skbn._core.labels import in_order_of_rows, is_mask
from skbn._data.sample import Sample

__all__ = ["StandIn"]


class StandIn(ABC):
    """An object that numpy and scikit-learn take for the table of its sample's rows.

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
        """Return the same of other rows, with the same settings but for `n_jobs` if given."""

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
        """Return the same of several rows; one row or a choice of columns as an array."""
        # scikit-learn takes rows out of whatever has a shape by X[rows, ...].
        if isinstance(rows, tuple) and len(rows) == 2 and _is_all(rows[1]):
            rows = rows[0]
        if is_mask(rows):
            rows = np.asarray(in_order_of_rows(rows, self.sample.labels, len(self), "the mask"))
        chosen = self.sample.rows[rows]
        if chosen.ndim != 2 or isinstance(rows, tuple):
            return chosen
        return self.of_sample(self.sample[rows])


def _is_all(chosen: Any) -> bool:
    """Whether columns are chosen by ``...`` or ``:``."""
    return chosen is Ellipsis or (isinstance(chosen, slice) and chosen == slice(None))
