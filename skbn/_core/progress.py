"""Progress: how much of the work is done, and the listeners who hear of it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import suppress
from threading import Lock
from typing import TextIO

__all__ = [
    "Listener",
    "Pauses",
    "Progress",
    "StoppedError",
    "duration",
    "say",
    "telling_listener",
]

SECONDS_BETWEEN_LINES = 2.0
_GROWTH_OF_PAUSES, _LONGEST_PAUSE = 1.25, 600.0

Listener = Callable[[int, float, str], None]


class StoppedError(Exception):
    """Another thread failed, and its error is `Progress.error`; or the deadline has passed."""


class Progress:
    """Counts the work that is done and tells listeners about it.

    Parameters
    ----------
    work : float, optional
        The amount of work in all, in any unit; nothing is told of percents until it is known.
    listeners : sequence of callable
        Each is called as ``listener(percent, seconds_left, note)`` whenever another percent
        of the work is done, or there is a note. An exception that it raises ends the computation.
    has_notes : bool
        Whether notes are passed on. Those of computations side by side would be mixed.
    deadline : float
        When the computation must end, by ``time.monotonic()``.

    Attributes
    ----------
    error : BaseException or None
        The first error that was passed to `stop`.
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
        """Say how much work there is in all, unless that is known: the work begins now."""
        with self._lock:
            if self._work is None:
                self._work = work
                self._start = time.perf_counter()

    def advance(self, work: float) -> None:
        """Add work that is done. Any thread may call this.

        Raises
        ------
        StoppedError
            If `stop` was called, or the deadline has passed.
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
