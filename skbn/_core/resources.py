"""What a computation takes: memory, threads that run kernels, and time, which progress tells."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache
from itertools import starmap
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, Self, TextIO

import numpy as np
import numpy.typing as npt
import psutil
from joblib import Parallel, cpu_count, effective_n_jobs, parallel_config
from threadpoolctl import ThreadpoolController

if sys.platform == "linux":
    import resource

from skbn._core.text import readable_sizes

__all__ = [
    "FEWEST_COLUMNS",
    "MARGIN",
    "SECONDS_BETWEEN_LINES",
    "Listener",
    "Progress",
    "StoppedError",
    "Threads",
    "allocate",
    "available_memory",
    "count_threads",
    "duration",
    "largest_that_fits",
    "one_blas_thread",
    "read_only",
    "require_memory",
    "say",
    "telling_listener",
]

# Remedies count on this share of what is available: there may be less when they are tried.
MARGIN = 0.95
_FOR_OTHERS = 0.05
# Requests of up to 1 MB are granted: asking the system takes longer than a step of a small fit.
_TRIFLE = 1 << 20
_NUMBERS_A_PAGE = 4096 // 8
_NUMBERS_A_PIECE = 1 << 24
_CONTROL_GROUP = Path("/sys/fs/cgroup")
# More threads than processors gain nothing, and each thread of a search takes memory.
_MOST_THREADS = 64
# With fewer columns it takes longer to start threads than to do the work.
FEWEST_COLUMNS = 18
SECONDS_BETWEEN_LINES = 2.0

Listener = Callable[[int, float, str], None]


# Memory


def available_memory() -> int:
    """Return the bytes that this process may take without swapping, 5 % being left to others.

    A limit of the control group (version 2), as containers have, and limits of the process,
    as ``ulimit -v`` sets them, are respected.
    """
    available = psutil.virtual_memory().available
    try:
        limit = int((_CONTROL_GROUP / "memory.max").read_text(encoding="utf-8"))
        used = int((_CONTROL_GROUP / "memory.current").read_text(encoding="utf-8"))
        available = min(available, max(limit - used, 0))
    except (OSError, ValueError):  # no control group, or no limit ("max")
        pass
    return int(min(available, _within_process_limits()) * (1 - _FOR_OTHERS))


def _within_process_limits() -> float:
    """Return the bytes that this process may still take, infinite without a limit."""
    if sys.platform != "linux":
        return math.inf
    space, data = (resource.getrlimit(of)[0] for of in (resource.RLIMIT_AS, resource.RLIMIT_DATA))
    if space == data == resource.RLIM_INFINITY:
        return math.inf
    used = psutil.Process().memory_info()
    limits = [(space, used.vms), (data, used.data)]
    left = [limit - taken for limit, taken in limits if limit != resource.RLIM_INFINITY]
    return max(0, min(left))


def require_memory(
    n_bytes: int, purpose: str, remedy: Callable[[int], str] = lambda _: "leave out columns"
) -> None:
    """Raise, before anything is allocated, if something needs more memory than is available.

    Parameters
    ----------
    n_bytes : int
        How much it needs.
    purpose : str
        What needs it: the subject of the error's sentence.
    remedy : callable
        Given the number of bytes that are available, returns what the user can do.

    Raises
    ------
    ValueError
        If more is needed than available; the message has both amounts and the remedy.
    """
    if n_bytes <= _TRIFLE:
        return
    available = available_memory()
    if n_bytes > available:
        needed, left = readable_sizes(n_bytes, available)
        raise ValueError(
            f"{purpose} needs {needed} of memory, and {left} are available; "
            f"{remedy(int(MARGIN * available))}."
        )


def largest_that_fits(fits: Callable[[int], bool], least: int, most: int) -> int | None:
    """Return the largest n, counting up from `least`, before the first that does not fit.

    None if `least` does not fit.

    Examples
    --------
    >>> largest_that_fits(lambda n: 2**n <= 1000, 1, 30)
    9
    """
    largest = None
    for n in range(least, most + 1):
        if not fits(n):
            break
        largest = n
    return largest


def allocate(size: int) -> npt.NDArray[np.float64]:
    """Return an uninitialised array of `size` float64 whose pages are all in memory.

    One thread touches them, because threads that touch new pages at the same time hold each
    other up: together they took twice as long as one. Ctrl-C is handled between pieces.
    """
    array = np.empty(size)
    for start in range(0, size, _NUMBERS_A_PIECE):
        array[start : start + _NUMBERS_A_PIECE : _NUMBERS_A_PAGE] = 0.0
    return array


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a view of an array that cannot be written to; the array itself still can."""
    view = array.view()
    view.setflags(write=False)
    return view


# Threads


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


# Progress


class StoppedError(Exception):
    """Another thread failed; its error is `Progress.error`."""


class Progress:
    """Counts the work that is done and tells listeners about it.

    Parameters
    ----------
    work : float
        The amount of work in all, in any unit.
    listeners : sequence of callable
        Each is called as ``listener(percent, seconds_left, note)`` whenever another percent
        of the work is done, or there is a note. An exception that it raises ends the computation.
    has_notes : bool
        Whether notes are passed on. Those of computations side by side would be mixed.

    Attributes
    ----------
    error : BaseException or None
        The first error that was passed to `stop`.
    """

    def __init__(
        self, work: float = 1.0, listeners: tuple[Listener, ...] = (), has_notes: bool = True
    ) -> None:
        self._work = work
        self._has_notes = has_notes
        self._listeners = listeners
        self._done = 0.0
        self._percent = 0
        self._start = time.perf_counter()
        self._lock = Lock()
        self.error: BaseException | None = None

    def advance(self, work: float) -> None:
        """Add work that is done. Any thread may call this.

        Raises
        ------
        StoppedError
            If `stop` was called.
        """
        with self._lock:
            if self.error is not None:
                raise StoppedError
            self._done += work
            percent = min(100, int(100 * self._done / self._work + 1e-9))
            if percent > self._percent:
                self._percent = percent
                elapsed = time.perf_counter() - self._start
                for listener in self._listeners:
                    listener(percent, elapsed * (100 / percent - 1), "")

    def tell(self, note: str) -> None:
        """Tell the listeners something that percents do not say."""
        with self._lock:
            for listener in self._listeners if self._has_notes else ():
                listener(self._percent, math.inf, note)

    def stop(self, error: BaseException) -> None:
        """Make every later call of `advance` raise, which ends the other threads' work."""
        with self._lock:
            self.error = self.error or error


def telling_listener(name: str, tell: Callable[[str], None]) -> Listener:
    """Return a listener that tells a line every two seconds."""
    last = time.perf_counter()

    def listen(percent: int, seconds_left: float, note: str) -> None:
        nonlocal last
        if time.perf_counter() - last >= SECONDS_BETWEEN_LINES:
            last = time.perf_counter()
            tell(f"[{name}] {note or f'{percent} % done, about {duration(seconds_left)} left'}")

    return listen


def say(line: str, file: TextIO | None = None) -> None:
    """Print a line, by default on standard output; a closed terminal must not end a search."""
    with suppress(OSError, ValueError):
        print(line, file=file, flush=True)


def duration(seconds: float) -> str:
    """Return a duration as text.

    Examples
    --------
    >>> duration(0.21), duration(75), duration(7322)
    ('0.2 s', '1 min 15 s', '2 h 2 min')
    """
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, seconds = divmod(round(seconds), 60)
    if minutes == 0:
        return f"{seconds} s"
    if minutes < 60:
        return f"{minutes} min {seconds} s"
    return f"{minutes // 60} h {minutes % 60} min"
