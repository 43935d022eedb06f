"""Memory: how much there is, whether something fits in it, and arrays whose pages are in it."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from itertools import starmap
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import psutil

if sys.platform == "linux":
    import resource

from skbn._core.text import readable_sizes
from skbn._core.threads import Threads

__all__ = [
    "MARGIN",
    "allocate",
    "available_memory",
    "largest_that_fits",
    "read_only",
    "require_memory",
]

# Remedies count on this share of what is available: there may be less when they are tried.
MARGIN = 0.95
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


def allocate(size: int, threads: Threads | None = None) -> npt.NDArray[np.float64]:
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


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a view of an array that cannot be written to; the array itself still can."""
    view = array.view()
    view.setflags(write=False)
    return view
