"""What a fit that fails leaves behind: nothing, and an error that says what to do."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from sklearn.base import BaseEstimator

__all__ = ["all_or_nothing", "clear_failure"]


@contextmanager
def all_or_nothing(estimator: BaseEstimator, *private: str) -> Iterator[None]:
    """Begin a fit without an earlier one's result, and leave none of one that fails.

    Raises what `clear_failure` raises.
    """
    _forget(estimator, *private)
    try:
        with clear_failure():
            yield
    except BaseException:
        _forget(estimator, *private)
        raise


@contextmanager
def clear_failure() -> Iterator[None]:
    """Let go of the tables of what fails, interruptions included; let underflow be 0.

    A user may have told numpy to raise it, and numbers in large units do underflow.

    Raises
    ------
    MemoryError
        In place of one that does not say what to do.
    """
    try:
        with np.errstate(under="ignore"):
            yield
    except BaseException as error:
        # A traceback that outlives the error would hold on to the tables.
        traceback.clear_frames(error.__traceback__)
        if isinstance(error, MemoryError):
            details = f": {error}" if str(error) else ""
            raise MemoryError(
                f"The system refused memory that seemed to be available{details}. "
                "Free some, leave out columns, or let the search go through more parts by a "
                "smaller max_memory."
            ) from error
        raise


def _forget(estimator: BaseEstimator, *private: str) -> None:
    """Remove what an estimator has learned, and these attributes."""
    learned = [name for name in vars(estimator) if name.endswith("_") and name[0] != "_"]
    for attribute in {*learned, *private} & {*vars(estimator)}:
        delattr(estimator, attribute)
