"""Streams of networks in order of their score, and the stream of their combinations."""

from __future__ import annotations

import heapq
from typing import NamedTuple, Protocol

# Scores that differ by no more tie: a difference in nats, and a share of the score for rounding.
_TIE = 1e-9
_ROUNDING = 1e-12


def tie_tolerance(score: float) -> float:
    """Return how far below a score another one still ties with it, in nats."""
    return _TIE + _ROUNDING * abs(score)


class NearOptimalNetwork(NamedTuple):
    """A network on some of the columns.

    Parameters
    ----------
    score : float
        In nats.
    families : list of (int, int)
        The columns' numbers and the masks of their parents.
    """

    score: float
    families: list[tuple[int, int]]


class NearOptimalStream(Protocol):
    """Networks in order of their score, but for rounding, found when they are asked for."""

    def network(self, i: int) -> NearOptimalNetwork | None:
        """Return the i-th best network; None if there are no more."""


def sum_of_streams(streams: list[NearOptimalStream]) -> NearOptimalStream:
    """Return the stream of networks that consist of one network of each stream."""
    while len(streams) > 1:  # in pairs, so that few streams wait for each other
        pairs: list[NearOptimalStream] = [
            _SumStream(left, right)
            for left, right in zip(streams[::2], streams[1::2], strict=False)
        ]
        streams = pairs + streams[len(streams) & ~1 :]
    return streams[0]


class _SumStream:
    """The stream of networks that consist of one network of each of two streams."""

    def __init__(self, left: NearOptimalStream, right: NearOptimalStream) -> None:
        self._left = left
        self._right = right
        self._found: list[NearOptimalNetwork] = []
        self._heap: list[tuple[float, int, int]] = []
        self._push(0, 0)

    def network(self, i: int) -> NearOptimalNetwork | None:
        """Return the i-th best network; None if there are no more."""
        while len(self._found) <= i:
            if not self._heap:
                return None
            negative, j, k = heapq.heappop(self._heap)
            left, right = self._left.network(j), self._right.network(k)
            assert left is not None
            assert right is not None
            families = left.families + right.families
            self._found.append(NearOptimalNetwork(-negative, families))
            self._push(j, k + 1)
            if k == 0:
                self._push(j + 1, 0)
        return self._found[i]

    def _push(self, j: int, k: int) -> None:
        left, right = self._left.network(j), self._right.network(k)
        if left is not None and right is not None:
            heapq.heappush(self._heap, (-(left.score + right.score), j, k))
