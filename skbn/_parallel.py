"""Kernels that release the GIL, run in threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

__all__ = ["Threads", "one_blas_thread"]

# Below this many columns it takes longer to start threads than to do the work.
_FEWEST_COLUMNS = 16


class Threads:
    """A context in which work on the subsets of some columns is shared by threads.

    The threads live as long as the context, since a search hands them work hundreds of
    times. An error, an interruption by the user among them, drops what has not begun and
    waits for what has, so that nobody writes to memory that its owner has given up.

    Parameters
    ----------
    n_jobs : int or None
        Number of threads, by joblib's rules.
    n_columns : int
        With few columns all is done in the calling thread.
    """

    def __init__(self, n_jobs: int | None, n_columns: int) -> None:
        self.n_threads = 1 if n_columns < _FEWEST_COLUMNS else effective_n_jobs(n_jobs)

    def __enter__(self) -> Self:
        if self.n_threads > 1:
            self._executor = ThreadPoolExecutor(self.n_threads)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.n_threads > 1:
            self._executor.shutdown(wait=True, cancel_futures=True)

    def map(
        self, function: Callable[..., Any], arguments: Iterable[tuple[Any, ...]]
    ) -> Iterator[Any]:
        """Yield the result of `function` for each tuple of arguments, in their order."""
        arguments = list(arguments)
        if self.n_threads == 1 or len(arguments) == 1:
            for each in arguments:
                yield function(*each)
        else:
            futures = [self._executor.submit(function, *each) for each in arguments]
            for future in futures:
                yield future.result()

    def split(self, items: npt.NDArray[Any], pieces: int = 1) -> list[npt.NDArray[Any]]:
        """Cut an array into at least so many pieces if it has them, and two for each thread."""
        if self.n_threads > 1:
            pieces = max(pieces, 2 * self.n_threads)
        return np.array_split(items, max(1, min(pieces, len(items))))


def one_blas_thread() -> AbstractContextManager[Any]:
    """Return a context in which linear algebra stays in the calling thread.

    Tables are too narrow to gain from more: on 500 rows of 20 columns two threads of
    OpenBLAS take ten times as long as one, and spin on when the search has begun.
    """
    return _controller().limit(limits=1, user_api="blas")


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
