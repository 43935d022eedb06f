"""What searches are told beside their scores and constraints: how to search, how long, memory."""

from __future__ import annotations

import math
import time
from typing import NamedTuple, Self

from skbn._exact.cluster import Cluster

__all__ = ["EXACT", "TOLERANCE", "MemoryLimit", "SearchSettings"]

# In nats. Smaller differences between networks are of the size of rounding.
TOLERANCE = 1e-6


class MemoryLimit(NamedTuple):
    """How many bytes a search may take.

    Parameters
    ----------
    available : int
        Beside what is taken already.
    allowed : int or None
        By the user, for all tables of a search.
    scratch : str or None
        A folder that a search may use if that is not enough.
    cluster : Cluster or None
        Whose workers search through all families in place of this machine.
    in_memory : bool
        Whether all that a search finds must stay in memory, so that networks can be listed.
    """

    available: int
    allowed: int | None
    scratch: str | None = None
    cluster: Cluster | None = None
    in_memory: bool = False

    def share(self, n: int) -> Self:
        """Return the limit of each of n searches that run at the same time."""
        allowed = None if self.allowed is None else self.allowed // n
        return self._replace(available=self.available // n, allowed=allowed)

    def of_each_worker(self, cluster: Cluster) -> tuple[int, str]:
        """Return the limit of each worker of a cluster, and its reason."""
        if self.allowed is not None and self.allowed < cluster.n_bytes:
            return self.allowed, "are allowed by max_memory"
        return cluster.n_bytes, "are available"

    def beside(self, n_bytes: int) -> tuple[int, str]:
        """Return the limit and its reason, if `n_bytes` of the search's tables exist already."""
        if self.allowed is not None and self.allowed < self.available + n_bytes:
            return self.allowed, "are allowed by max_memory"
        return self.available + n_bytes, "are available"


class SearchSettings(NamedTuple):
    """What a search is told beside its scores and constraints.

    Parameters
    ----------
    is_exact : bool
        Whether to prove the network, by dynamic programming or branch and cut; else the order
        search finds it.
    seed : int
        Of all random choices.
    tolerance : float
        In nats: branch and cut ends once no network scores higher by more than this.
    time_limit : float or None
        In seconds, for one network: all groups of columns together. None if there is no limit.
        Dynamic programming does not heed it.
    deadline : float
        When the search of a group must end, by ``time.monotonic()``. `solve` sets it when the
        search begins.
    share : float
        The share of the time until then that the search of a group may take.
    ends_on_interrupt : bool
        Whether Ctrl-C ends a search that has a time limit as the limit does.
    """

    is_exact: bool = True
    seed: int = 0
    tolerance: float = TOLERANCE
    time_limit: float | None = None
    deadline: float = math.inf
    share: float = 1.0
    ends_on_interrupt: bool = False

    def from_now(self) -> Self:
        """Return the settings of a search that begins now."""
        if self.time_limit is None:
            return self
        return self._replace(deadline=time.monotonic() + self.time_limit)

    def own_deadline(self) -> float:
        """Return when a search of a group that begins now must end."""
        now = time.monotonic()
        return now + self.share * (self.deadline - now)

    @property
    def keeps_best_on_interrupt(self) -> bool:
        """Whether Ctrl-C ends the search with the best network so far."""
        return self.ends_on_interrupt and self.time_limit is not None


EXACT = SearchSettings()
