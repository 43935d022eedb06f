"""How far a long computation has come, and how long it will still take."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["Progress", "format_seconds"]


class Progress:
    """Counts the work that is done, and tells a listener now and then.

    Parameters
    ----------
    work : float
        All of it, in any unit.
    listener : callable or None, default=None
        Called as ``listener(fraction, seconds_left)`` whenever another hundredth of the
        work is done, and for the last time with the fraction 1. What it raises ends the
        computation.
    """

    def __init__(
        self, work: float = 1.0, listener: Callable[[float, float], None] | None = None
    ) -> None:
        self._work = work
        self._listener = listener
        self._done = 0.0
        self._told = 0
        self._start = time.perf_counter()

    def advance(self, work: float) -> None:
        """Add work that is done."""
        self._done += work
        hundredths = min(99, int(100 * self._done / self._work))
        if hundredths > self._told:
            self._tell(hundredths)

    def finish(self) -> None:
        """Tell that all the work is done."""
        self._tell(100)

    def _tell(self, hundredths: int) -> None:
        self._told = hundredths
        if self._listener is not None:
            elapsed = time.perf_counter() - self._start
            self._listener(hundredths / 100, elapsed * (100 / hundredths - 1))


def format_seconds(seconds: float) -> str:
    """Write a duration as one reads it.

    Examples
    --------
    >>> format_seconds(0.21), format_seconds(75), format_seconds(7322)
    ('0.2 s', '1 min 15 s', '2 h 2 min')
    """
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, seconds = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {seconds} s"
    return f"{minutes // 60} h {minutes % 60} min"
