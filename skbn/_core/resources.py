"""Resources: what a computation may take, and who is told of its progress.

That is memory, threads and time, and the progress that listeners are told of.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import starmap
from pathlib import Path
from threading import Lock
from traceback import clear_frames
from typing import Any, NamedTuple, Self, TextIO, TypeVar

import numpy as np
import numpy.typing as npt
import psutil
from joblib import Parallel, cpu_count, effective_n_jobs, parallel_config
from threadpoolctl import ThreadpoolController

from skbn._core.arrays import Floats
from skbn._core.text import bytes_of, readable_sizes

if sys.platform == "linux":
    import resource

SECONDS_BETWEEN_LINES = 2.0
_GROWTH_OF_PAUSES, _LONGEST_PAUSE = 1.25, 600.0

Listener = Callable[[int, float, str], None]


# Why a search has no proof.
ENDED_BY_TIME = "The time limit ended the search."
ENDED_BY_USER = "Ctrl-C ended the search."


class StoppedError(Exception):
    """Another thread failed, and its error is `Progress.error`; or the deadline has passed."""


IsOver = Callable[[], bool]  # tells whether to end early


class Progress:
    """Counts the work that is done and tells listeners about it.

    `work`: the amount of work in all, in any unit; nothing is told of percents until it is known
    `listeners`: each is called as ``listener(percent, seconds_left, note)`` whenever another
        percent of the work is done, or there is a note. An exception ends the computation.
    `has_notes`: whether notes are passed on. Notes of simultaneous computations would be mixed up.
    `deadline`: when the computation must end, by ``time.monotonic()``
    """

    def __init__(
        self,
        work: float | None = None,
        listeners: tuple[Listener, ...] = (),
        has_notes: bool = True,
        deadline: float = math.inf,
    ) -> None:
        self._deadline = deadline
        self._work = work
        self._has_notes = has_notes
        self._listeners = listeners
        self._done = 0.0
        self._percent = 0
        self._start = time.perf_counter()
        self._lock = Lock()
        self.error: BaseException | None = None

    def __reduce__(self) -> tuple[type[Progress], tuple[()]]:
        return Progress, ()  # another process cannot tell this one's listeners

    def expect(self, work: float) -> None:
        """Say how much work there is in all, unless that is known. The work begins now."""
        with self._lock:
            if self._work is None:
                self._work = work
                self._start = time.perf_counter()

    def advance(self, work: float) -> None:
        """Add work that is done. Any thread may call this.

        Raises StoppedError if `stop` was called, or the deadline has passed.
        """
        with self._lock:
            if self.error is not None or time.monotonic() >= self._deadline:
                raise StoppedError
            if self._work is None:
                return
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


class Pauses:
    """The pauses between lines of progress, which grow, so that a long search does not fill a log.

    The first is two seconds.
    """

    def __init__(self) -> None:
        self._began, self._length = time.monotonic(), SECONDS_BETWEEN_LINES

    def is_over(self) -> bool:
        """Whether the pause is over; if so, a longer one begins."""
        now = time.monotonic()
        if now - self._began < self._length:
            return False
        self._began, self._length = now, min(_GROWTH_OF_PAUSES * self._length, _LONGEST_PAUSE)
        return True


def telling_listener(name: str, tell: Callable[[str], None]) -> Listener:
    """Return a listener that tells a line after each pause."""
    pauses = Pauses()

    def listen(percent: int, seconds_left: float, note: str) -> None:
        if pauses.is_over():
            tell(f"[{name}] {note or f'{percent} % done, about {duration(seconds_left)} left'}")

    return listen


def say(line: str, file: TextIO | None = None) -> None:
    """Print a line, by default on standard output; a closed terminal must not end a search."""
    with suppress(OSError, ValueError):
        print(line, file=file, flush=True)


def duration(seconds: float) -> str:
    """Return a duration as text.

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


Result = TypeVar("Result")

# More threads than processors gain nothing, and each thread of a search takes memory.
_MOST_THREADS = 64
# With fewer columns, starting threads takes longer than the work.
FEWEST_COLUMNS = 18


def count_threads(n_jobs: int | None) -> int:
    """Return the number of threads that `n_jobs` stands for, by joblib's rules.

    There are at most 64, or as many as processors if the machine has more.
    """
    if n_jobs is None:
        n_jobs = Parallel().n_jobs  # the number in the user's `parallel_config`
    # Processes cannot be nested, of which joblib warns; threads can.
    with parallel_config(prefer="threads", require="sharedmem"):
        n_threads = effective_n_jobs(n_jobs)
    return min(n_threads, max(_MOST_THREADS, cpu_count()))


class Threads:
    """A pool of threads for the steps of a search, which hands them work hundreds of times.

    `joblib.Parallel` would take 10 ms each time. At the end, also after an error or Ctrl-C, tasks
    that have not begun are dropped and the others awaited, so that no thread writes to memory that
    its owner has given up. With few columns everything is done in the calling thread.
    """

    def __init__(self, n_jobs: int | None, n_columns: int | None = None) -> None:
        is_small = n_columns is not None and n_columns < FEWEST_COLUMNS
        self.n_threads = 1 if is_small else count_threads(n_jobs)

    def __enter__(self) -> Self:
        if self.n_threads > 1:
            self._pool = ThreadPoolExecutor(self.n_threads)
        return self

    def __exit__(self, *error: object) -> None:
        if self.n_threads > 1:
            self._pool.shutdown(cancel_futures=True)

    def map(
        self, function: Callable[..., Any], arguments: Iterable[tuple[Any, ...]]
    ) -> Iterator[Any]:
        """Return an iterator over the result of `function` for each tuple of arguments, in order.

        Use up the iterator: with one thread, the calling thread computes each result when asked
        for.
        """
        arguments = list(arguments)
        if self.n_threads == 1 or len(arguments) == 1:
            return starmap(function, arguments)
        return self._pool.map(function, *zip(*arguments, strict=True))

    def split(self, items: npt.NDArray[Any], pieces: int = 1) -> list[npt.NDArray[Any]]:
        """Cut an array into at least `pieces` parts, and two for each thread, where it can."""
        if self.n_threads > 1:
            pieces = max(pieces, 2 * self.n_threads)
        pieces = min(pieces, len(items))
        return np.array_split(items, pieces) if pieces > 1 else [items]


def run_all(
    n_threads: int,
    function: Callable[..., Result],
    arguments: list[tuple[Any, ...]],
    progress: Progress,
    results: list[Result] | None = None,
) -> list[Result]:
    """Return the result of a function for each tuple of arguments, computed in threads.

    `results`, if given, is the list to which they are appended, in order, up to the first that
    failed. Linear algebra takes one thread meanwhile. The first error stops the calls that advance
    the same progress, and is raised when they have ended. The locals of its frames are cleared,
    because they may hold tables.
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
    with one_blas_thread(), Threads(n_threads) as threads:
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
    """Return the result of a call; replace a ValueError by one with an explained message.

    An error with attributes makes the new one itself, by `explained_as`.

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

    Tables are too narrow to gain from more: on 500 rows of 20 columns two threads of OpenBLAS take
    ten times as long as one, and still spin when the search has begun. The number of threads
    belongs to the process, so the last of several fits restores it.
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


_FOR_OTHERS = 0.05
# Requests of up to 1 MB are granted: asking the system takes longer than a step of a small fit.
_TRIFLE = 1 << 20
_NUMBERS_A_PAGE = 4096 // 8
_NUMBERS_A_LINE = 64 // 8
# Pages are touched in runs of at most 128 MB, since Ctrl-C is handled in between, and of at least
# 8 MB, since fewer do not pay for another task.
_MOST_TO_TOUCH, _FEWEST_TO_TOUCH = 1 << 24, 1 << 20
_CONTROL_GROUP = Path("/sys/fs/cgroup")


def available_memory() -> int:
    """Return the bytes that this process may take without swapping; 5 % are left to others.

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


def require_memory(n_bytes: int, purpose: str, remedy: str = "leave out columns") -> None:
    """Raise, before anything is allocated, if a purpose needs more memory than is available."""
    if n_bytes <= _TRIFLE:
        return
    available = available_memory()
    if n_bytes > available:
        needed, left = readable_sizes(n_bytes, available)
        raise ValueError(f"{purpose} needs {needed} of memory, and {left} are available; {remedy}.")


def allocate(size: int, threads: Threads | None = None) -> Floats:
    """Return an uninitialised array of `size` float64 whose pages are all in memory.

    It begins with a line of the cache, so that no vector of eight lies in two of them. Each thread
    touches one run of neighbouring pages: two take half as long as one.
    """
    array = np.empty(size + _NUMBERS_A_LINE)
    first = -array.ctypes.data // array.itemsize % _NUMBERS_A_LINE
    array = array[first : first + size]
    n_threads = 1 if threads is None else threads.n_threads
    length = max(_FEWEST_TO_TOUCH, min(_MOST_TO_TOUCH, -(-size // n_threads)))
    runs = [(array[i : i + length : _NUMBERS_A_PAGE], 0.0) for i in range(0, size, length)]
    list(starmap(np.copyto, runs) if threads is None else threads.map(np.copyto, runs))
    return array


def allocate_all(sizes: Sequence[int]) -> list[Floats]:
    """Return arrays as `allocate` does, in one block, with a line of the cache between them."""
    lines = [(size // _NUMBERS_A_LINE + 2) * _NUMBERS_A_LINE for size in sizes]
    parts = np.split(allocate(sum(lines)), np.cumsum(lines)[:-1])
    return [part[:size] for part, size in zip(parts, sizes, strict=True)]


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a view of an array that cannot be written to; the array itself still can."""
    view = array.view()
    view.setflags(write=False)
    return view


class Workers(NamedTuple):
    """The workers of a cluster."""

    client: Any  # distributed.Client; what tasks are given to
    n_workers: int
    n_bytes: int  # how much memory the smallest worker may take


@dataclass(frozen=True)
class Resources:
    """Memory, threads and time that a computation may take, and who is told of its progress."""

    available: int  # bytes of memory, in addition to those already taken
    allowed: int | None = None  # bytes that the user allows for all tables of the computation
    # number of threads, by joblib's rules. It does not change a bit of any result.
    n_jobs: int | None = None
    scratch: str | None = None  # a folder that a search may use if memory is not enough
    # if given, a search through all families uses the workers' memory instead of this machine's
    cluster: Workers | None = None
    # in seconds, for one network: all groups of columns together; or for Markov chains. Dynamic
    # programs and sums ignore it.
    time_limit: float | None = None
    # whether Ctrl-C, if there is a time limit, ends the search with the best network so far
    ends_on_interrupt: bool = False
    progress: Progress = field(default_factory=Progress)
    # called with a plan in words before its work begins
    announce: Callable[[str], None] | None = None
    deadline: float = math.inf  # when a search must end, by ``time.monotonic()``; see `from_now`

    # Memory

    @classmethod
    def of_machine(cls, max_memory: float | str | None, **settings: Any) -> Self:
        """Return what this machine has left, within a user's limit: bytes, or text as "2GB"."""
        allowed = bytes_of(max_memory) if isinstance(max_memory, str) else max_memory
        allowed = None if allowed is None else int(allowed)
        return cls(available_memory(), allowed, **settings)

    def beside(self, n_bytes: int) -> tuple[int, str]:
        """Return how much all tables may take, `n_bytes` of which exist already, and why."""
        return self._limit(self.available + n_bytes)

    def of_each(self, workers: Workers) -> tuple[int, str]:
        """Return the limit of each worker, and its reason."""
        return self._limit(workers.n_bytes)

    def _limit(self, available: int) -> tuple[int, str]:
        if self.allowed is not None and self.allowed < available:
            return self.allowed, "are allowed by max_memory"
        return available, "are available"

    def share(self, n: int) -> Self:
        """Return what each of n computations may take that run at the same time."""
        allowed = None if self.allowed is None else self.allowed // n
        return replace(self, available=self.available // n, allowed=allowed)

    # Threads

    @property
    def n_threads(self) -> int:
        """Number of threads."""
        return count_threads(self.n_jobs)

    def threads(self, n_columns: int | None = None) -> Threads:
        """Return a pool of threads; with few columns all is done in the calling thread."""
        return Threads(self.n_jobs, n_columns)

    def with_jobs(self, n_jobs: int | None) -> Self:
        """Return these resources with another number of threads."""
        return replace(self, n_jobs=n_jobs)

    # Time

    def from_now(self) -> Self:
        """Return the resources of a search that begins now, with its deadline if that is sooner."""
        if self.time_limit is None:
            return self
        end = min(self.deadline, time.monotonic() + self.time_limit)
        return replace(self, deadline=end)

    def of_share(self, share: float) -> Self:
        """Return the resources of a part that begins now, with this share of the time left."""
        now = time.monotonic()
        return replace(self, deadline=now + share * (self.deadline - now))

    @property
    def is_over(self) -> bool:
        """Whether the deadline has passed."""
        return time.monotonic() >= self.deadline

    @property
    def keeps_best_on_interrupt(self) -> bool:
        """Whether Ctrl-C ends the search with the best network so far."""
        return self.ends_on_interrupt and self.time_limit is not None

    # Progress

    def reporting(self, progress: Progress) -> Self:
        """Return these resources with another progress to advance."""
        return replace(self, progress=progress)
