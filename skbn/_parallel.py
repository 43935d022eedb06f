"""Kernels that release the GIL, run in joblib's threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs
from sklearn.utils.parallel import Parallel, delayed

__all__ = ["Threads"]

# Below this many columns it takes longer to start threads than to do the work.
_FEWEST_COLUMNS = 20


class Threads:
    """A context in which work on the subsets of some columns is shared by threads.

    Parameters
    ----------
    n_jobs : int or None
        Number of threads, by joblib's rules.
    n_columns : int
        With few columns all is done in the calling thread.
    """

    def __init__(self, n_jobs: int | None, n_columns: int) -> None:
        self.n_threads = 1 if n_columns < _FEWEST_COLUMNS else effective_n_jobs(n_jobs)
        self._parallel = Parallel(
            n_jobs=self.n_threads, prefer="threads", require="sharedmem", batch_size=1
        )

    def __enter__(self) -> Self:
        if self.n_threads > 1:
            self._parallel.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.n_threads > 1:
            self._parallel.__exit__(kind, error, traceback)

    def run(self, function: Callable[..., Any], arguments: Iterable[tuple[Any, ...]]) -> None:
        """Call `function` once for each tuple of arguments, and wait for all of them."""
        arguments = list(arguments)
        if self.n_threads == 1 or len(arguments) < 2:
            for each in arguments:
                function(*each)
        else:
            self._parallel(delayed(function)(*each) for each in arguments)

    def split(self, items: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
        """Cut an array into pieces, a few for each thread so that none waits for long."""
        pieces = 1 if self.n_threads == 1 else min(len(items), 4 * self.n_threads)
        return np.array_split(items, max(pieces, 1))
