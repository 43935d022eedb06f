"""Tables that come in chunks, of which only a summary is kept."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from skbn._core.threads import one_blas_thread
from skbn._data.row_summary import RowSummary, summarise
from skbn._estimators.validation import read_sample
from skbn._scores.local_scores import LocalScores
from skbn._scores.parent_set_scores import ParentSetScores

__all__ = ["add_rows"]


def add_rows(
    estimator: BaseEstimator, before: RowSummary | None, X: Any, sample_weight: Any
) -> RowSummary:
    """Return the summary of an estimator's rows and those of another chunk.

    Parameters
    ----------
    estimator : estimator
    before : RowSummary or None
        Of the rows that it had; None if this is the first chunk.
    X : array-like or data frame of shape (n, m)
    sample_weight : array-like of shape (n,), or None

    Raises
    ------
    ValueError, TypeError
        As `read_sample` and `Sample.with_weight`.
    """
    if isinstance(X, LocalScores | ParentSetScores):
        name = type(estimator).__name__
        raise TypeError(f"partial_fit of {name} takes tables, and X are {type(X).__name__}.")
    chunk = read_sample(estimator, X, reset=before is None).with_weight(sample_weight)
    with one_blas_thread():
        # A chunk may have no rows of a positive weight, if only the others have some.
        summary = summarise(chunk.rows, chunk.weight)
        return summary if before is None else before.merge(summary)
