"""Resources: what a computation may take, and whom it tells how far it is."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, Self

from skbn._core.memory import available_memory
from skbn._core.progress import Progress
from skbn._core.text import bytes_of
from skbn._core.threads import Threads, count_threads

__all__ = ["Resources", "Workers"]


class Workers(Protocol):
    """The workers of a cluster."""

    @property
    def client(self) -> Any:
        """What tasks are given to: a distributed.Client."""

    @property
    def n_workers(self) -> int:
        """How many there are."""

    @property
    def n_bytes(self) -> int:
        """How much memory the worker with the least may take."""


@dataclass(frozen=True)
class Resources:
    """Memory, threads and time that a computation may take, and whom it tells how far it is.

    Parameters
    ----------
    available : int
        Bytes of memory, beside what is taken already.
    allowed : int or None
        Bytes that the user allows for all tables of the computation.
    n_jobs : int or None
        Number of threads, by joblib's rules. It does not change a bit of any result.
    scratch : str or None
        A folder that a search may use if memory is not enough.
    cluster : Workers or None
        If given, a search through all families uses the workers' memory instead of this machine's.
    time_limit : float or None
        In seconds, for one network: all groups of columns together; or for Markov chains. Dynamic
        programs and sums ignore it.
    ends_on_interrupt : bool
        Whether Ctrl-C, if there is a time limit, ends the search with the best network so far.
    progress : Progress
    announce : callable or None
        Called with a plan in words before its work begins.
    deadline : float
        When a search must end, by ``time.monotonic()``; see `from_now`.
    """

    available: int
    allowed: int | None = None
    n_jobs: int | None = None
    scratch: str | None = None
    cluster: Workers | None = None
    time_limit: float | None = None
    ends_on_interrupt: bool = False
    progress: Progress = field(default_factory=Progress)
    announce: Callable[[str], None] | None = None
    deadline: float = math.inf

    # Memory

    @classmethod
    def of_machine(cls, max_memory: float | str | None, **settings: Any) -> Self:
        """Return what this machine has left, within a user's limit: bytes, or text as "2GB"."""
        allowed = bytes_of(max_memory) if isinstance(max_memory, str) else max_memory
        allowed = None if allowed is None else int(allowed)
        return cls(available_memory(), allowed, **settings)

    def beside(self, n_bytes: int) -> tuple[int, str]:
        """Return how much all tables may take, `n_bytes` of which exist already, and why."""
        if self.allowed is not None and self.allowed < self.available + n_bytes:
            return self.allowed, "are allowed by max_memory"
        return self.available + n_bytes, "are available"

    def of_each(self, workers: Workers) -> tuple[int, str]:
        """Return the limit of each worker, and its reason."""
        if self.allowed is not None and self.allowed < workers.n_bytes:
            return self.allowed, "are allowed by max_memory"
        return workers.n_bytes, "are available"

    def share(self, n: int) -> Self:
        """Return what each of n computations may take that run at the same time."""
        allowed = None if self.allowed is None else self.allowed // n
        return replace(self, available=self.available // n, allowed=allowed)

    def of_memory(self, n_bytes: int) -> Self:
        """Return these resources with so much memory of this process, and none elsewhere."""
        return replace(self, available=n_bytes, allowed=None, scratch=None, cluster=None)

    def in_process(self) -> Self:
        """Return these resources without those outside this process's memory."""
        return replace(self, scratch=None, cluster=None)

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
        """Return the resources of a search that begins now: with its deadline."""
        if self.time_limit is None:
            return self
        return replace(self, deadline=time.monotonic() + self.time_limit)

    def end_of_share(self, share: float) -> float:
        """Return when a part of the search must end that begins now and has this share of time."""
        now = time.monotonic()
        return now + share * (self.deadline - now)

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
