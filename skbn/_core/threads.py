"""Kernels that release the GIL, run in threads."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache
from threading import Lock
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from joblib import cpu_count, effective_n_jobs, parallel_config
from joblib.parallel import get_active_backend
from threadpoolctl import ThreadpoolController

from skbn._core.memory import has_room_for_thread

__all__ = ["FEWEST_COLUMNS", "Threads", "count_threads", "one_blas_thread"]

# More threads than processors gain nothing, and each thread of a search takes memory.
_MOST_THREADS = 64
# Below this many columns it takes longer to start threads than to do the work.
FEWEST_COLUMNS = 18


def count_threads(n_jobs: int | None) -> int:
    """Return the number of threads that `n_jobs` stands for, by joblib's rules.

    There are at most 64 of them, or as many as processors if these are more. A backend of
    processes would warn that these cannot be nested, of which threads know nothing.
    """
    backend, of_context = get_active_backend()
    if n_jobs is None:
        n_jobs = of_context
    if n_jobs is None or getattr(backend, "supports_sharedmem", False):
        n_threads = effective_n_jobs(n_jobs)
    else:
        with parallel_config(backend="threading"):
            n_threads = effective_n_jobs(n_jobs)
    return min(n_threads, max(_MOST_THREADS, cpu_count()))


class Threads:
    """A context in which work, on the subsets of some columns for one, is shared by threads.

    The threads live as long as the context, since a search hands them work hundreds of
    times. An error, an interruption by the user among them, drops what has not begun and
    waits for what has, so that nobody writes to memory that its owner has given up.

    Parameters
    ----------
    n_jobs : int or None
        Number of threads, by joblib's rules.
    n_columns : int, optional
        With few columns all is done in the calling thread.
    """

    def __init__(self, n_jobs: int | None, n_columns: int | None = None) -> None:
        is_small = n_columns is not None and n_columns < FEWEST_COLUMNS
        self.n_threads = 1 if is_small else count_threads(n_jobs)
        self._tasks: deque[tuple[Callable[..., Any], tuple[Any, ...], int, dict[int, Any]]] = (
            deque()
        )

    def __enter__(self) -> Self:
        if self.n_threads > 1:
            self._helpers = _Helpers(self.n_threads - 1)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.n_threads > 1:
            self._tasks.clear()
            self._helpers.shutdown(wait=True, cancel_futures=True)

    def map(
        self, function: Callable[..., Any], arguments: Iterable[tuple[Any, ...]]
    ) -> Iterator[Any]:
        """Yield the result of `function` for each tuple of arguments, in their order.

        The calling thread does its part: to hand over a task and to be told of its end
        takes about as long as the smallest tasks do.
        """
        arguments = list(arguments)
        if self.n_threads == 1 or len(arguments) == 1:
            for each in arguments:
                yield function(*each)
            return
        results: dict[int, Any] = {}
        self._tasks.extend((function, each, i, results) for i, each in enumerate(arguments))
        n_helpers = min(self.n_threads, len(arguments)) - 1
        helpers = []
        with suppress(RuntimeError):  # the interpreter ends: no thread begins any more
            for _ in range(n_helpers):
                helpers.append(self._helpers.submit(self._work))
        n_yielded = 0
        while self._do_one():
            while n_yielded in results:
                yield results.pop(n_yielded)
                n_yielded += 1
        for helper in helpers:
            if not helper.cancel():  # one that has not begun has nothing left to do
                helper.result()
        for i in range(n_yielded, len(arguments)):
            yield results.pop(i)

    def _work(self) -> None:
        while self._do_one():
            pass

    def _do_one(self) -> bool:
        """Do the next task, if there is one; after an error nobody does another."""
        try:
            function, arguments, i, results = self._tasks.popleft()
        except IndexError:
            return False
        try:
            results[i] = function(*arguments)
        except BaseException:
            self._tasks.clear()
            raise
        return True

    def split(self, items: npt.NDArray[Any], pieces: int = 1) -> list[npt.NDArray[Any]]:
        """Cut an array into at least so many pieces if it has them, and two for each thread."""
        if self.n_threads > 1:
            pieces = max(pieces, 2 * self.n_threads)
        return np.array_split(items, max(1, min(pieces, len(items))))


class _Helpers(ThreadPoolExecutor):
    """Threads, or fewer of them where the system refuses one."""

    def _adjust_thread_count(self) -> None:
        if has_room_for_thread():
            with suppress(RuntimeError, MemoryError):
                super()._adjust_thread_count()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep linear algebra in the calling thread for a while.

    Tables are too narrow to gain from more: on 500 rows of 20 columns two threads of
    OpenBLAS take ten times as long as one, and spin on when the search has begun. The
    number of threads is the process's, so of several fits at once the last one to leave
    sets it back.
    """
    user = object()
    blas = _blas
    try:
        blas.enter(user)
        yield
    finally:
        blas.leave(user)


class _Blas:
    """Keeps linear algebra in one thread while anybody uses it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._users: set[object] = set()
        self._limit: Any = None

    def enter(self, user: object) -> None:
        with self._lock:
            self._users.add(user)
            if self._limit is None:
                self._limit = _controller().limit(limits=1, user_api="blas")

    def leave(self, user: object) -> None:
        with self._lock:
            self._users.discard(user)
            if not self._users:
                self._restore()

    def begin_anew(self) -> None:
        """In a process that was forked, let go of what threads left that it does not have."""
        self._lock = Lock()
        self._users.clear()
        self._restore()

    def _restore(self) -> None:
        if self._limit is not None:
            self._limit.restore_original_limits()
            self._limit = None


_blas = _Blas()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_blas.begin_anew)


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
