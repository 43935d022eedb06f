"""What a failed fit leaves behind: no fitted attributes, no tables in memory."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from sklearn.base import BaseEstimator

__all__ = ["all_or_nothing", "clear_failure"]


@contextmanager
def all_or_nothing(estimator: BaseEstimator, *private: str) -> Iterator[None]:
    """Remove the result of an earlier fit, and all of this one if it fails.

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
    """Free the tables of a fit that fails or is interrupted, and ignore underflow.

    Numbers in large units do underflow, which a user may have told numpy to raise.

    Raises
    ------
    MemoryError
        In place of a MemoryError that does not say what to do.
    """
    try:
        with np.errstate(under="ignore"):
            yield
    except BaseException as error:
        # Interactive sessions keep the last traceback, which would keep the tables alive.
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
    """Remove the fitted attributes of an estimator, and these private ones."""
    learned = [name for name in vars(estimator) if name.endswith("_") and name[0] != "_"]
    for attribute in {*learned, *private} & {*vars(estimator)}:
        delattr(estimator, attribute)
