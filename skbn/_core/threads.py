"""Threads that run kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from itertools import starmap
from threading import Lock
from traceback import clear_frames
from types import TracebackType
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt
from joblib import Parallel, cpu_count, effective_n_jobs, parallel_config
from threadpoolctl import ThreadpoolController

from skbn._core.progress import Progress, StoppedError

__all__ = [
    "FEWEST_COLUMNS",
    "Threads",
    "count_threads",
    "explained",
    "one_blas_thread",
    "run_all",
]

Result = TypeVar("Result")

# More threads than processors gain nothing, and each thread of a search takes memory.
_MOST_THREADS = 64
# With fewer columns it takes longer to start threads than to do the work.
FEWEST_COLUMNS = 18


def count_threads(n_jobs: int | None) -> int:
    """Return the number of threads that `n_jobs` stands for, by joblib's rules.

    There are at most 64, or as many as processors if the machine has more.
    """
    if n_jobs is None:
        n_jobs = Parallel().n_jobs  # that of the user's `parallel_config`
    # Processes cannot be nested, of which joblib warns; threads can.
    with parallel_config(prefer="threads", require="sharedmem"):
        n_threads = effective_n_jobs(n_jobs)
    return min(n_threads, max(_MOST_THREADS, cpu_count()))


class Threads:
    """A pool of threads for the steps of a search, which hands them work hundreds of times.

    `joblib.Parallel` would take 10 ms each time. At the end, also after an error or Ctrl-C,
    what has not begun is dropped and what has is waited for, so that no thread writes to
    memory that its owner has given up.

    Parameters
    ----------
    n_jobs : int or None
        Number of threads, by joblib's rules.
    n_columns : int, optional
        With few columns everything is done in the calling thread.
    """

    def __init__(self, n_jobs: int | None, n_columns: int | None = None) -> None:
        is_small = n_columns is not None and n_columns < FEWEST_COLUMNS
        self.n_threads = 1 if is_small else count_threads(n_jobs)

    def __enter__(self) -> Self:
        if self.n_threads > 1:
            self._pool = ThreadPoolExecutor(self.n_threads)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.n_threads > 1:
            self._pool.shutdown(cancel_futures=True)

    def map(
        self, function: Callable[..., Any], arguments: Iterable[tuple[Any, ...]]
    ) -> Iterator[Any]:
        """Return an iterator over the result of `function` for each tuple of arguments, in order.

        Use up the iterator: the calling thread does what it is asked for, if there is one thread.
        """
        arguments = list(arguments)
        if self.n_threads == 1 or len(arguments) == 1:
            return starmap(function, arguments)
        return self._pool.map(function, *zip(*arguments, strict=True))

    def split(self, items: npt.NDArray[Any], pieces: int = 1) -> list[npt.NDArray[Any]]:
        """Cut an array into at least `pieces` parts, and two for each thread, where it can."""
        if self.n_threads > 1:
            pieces = max(pieces, 2 * self.n_threads)
        return np.array_split(items, max(1, min(pieces, len(items))))


def run_all(
    n_threads: int,
    function: Callable[..., Result],
    arguments: list[tuple[Any, ...]],
    progress: Progress,
    results: list[Result] | None = None,
) -> list[Result]:
    """Return the result of a function for each tuple of arguments, computed in threads.

    `results`, if given, is the list to which they are appended, in order: it has those before the
    first that failed. The first error stops the calls that advance the same progress, and is raised
    when they have ended. The locals of the frames that it went through are cleared, because they
    may hold tables.
    """

    def run(*given: Any) -> Result:
        try:
            return function(*given)
        except StoppedError:
            raise
        except BaseException as error:
            progress.stop(error)  # the other threads
            raise

    results = [] if results is None else results
    with Threads(n_threads) as threads:
        try:
            for result in threads.map(run, arguments):
                results.append(result)
        except BaseException as error:
            progress.stop(error)  # Ctrl-C interrupts this thread only
            clear_frames(error.__traceback__)
    if progress.error is not None:
        raise progress.error
    return results


def explained(call: Callable[[], Result], explain: Callable[[ValueError], str]) -> Result:
    """Return the result of a call; a ValueError is replaced by one with the message explained.

    A kind of error that has attributes makes the other one itself, by `explained_as`.

    It is raised outside the except block: a chained error's traceback would keep tables alive.
    """
    try:
        return call()
    except ValueError as error:
        failure = getattr(error, "explained_as", ValueError)(explain(error))
    try:
        raise failure
    finally:
        del failure  # it refers to this frame, and the frame to it


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep linear algebra in the calling thread for a while.

    Tables are too narrow to gain from more: on 500 rows of 20 columns two threads of
    OpenBLAS take ten times as long as one, and spin on when the search has begun. The
    number of threads is the process's, so the last of several fits restores it.
    """
    global _n_users, _limit
    with _lock:
        if _n_users == 0:
            _limit = _controller().limit(limits=1, user_api="blas")
        _n_users += 1
    try:
        yield
    finally:
        with _lock:
            _n_users -= 1
            if _n_users == 0:
                _limit.restore_original_limits()


_lock = Lock()
_n_users = 0
_limit: Any = None


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
