"""How networks are taken apart, sink by sink: steps, routes, states and paths.

`k_best` explains them, and searches among them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple


class Step(NamedTuple):
    """The removal of a sink.

    Parameters
    ----------
    loss : float
    sink : int
    inside : int
        The mask of its parents that are columns of the search.
    parents : int
        The mask of its parents by their numbers in the user's table.
    score : float
        The sink's local score.
    """

    loss: float
    sink: int
    inside: int
    parents: int
    score: float


class Route(NamedTuple):
    """A step, and its loss together with that of the best continuation from the next state."""

    loss: float
    step: Step
    after: State


class State:
    """The networks on some columns without blocked sinks, and what is known about them.

    Parameters
    ----------
    number : int
    columns, blocked : int
        Masks.

    Attributes
    ----------
    least : float
        How much the networks lose at least.
    is_exact : bool
        Whether one of them loses no more.
    routes : list of Route
        In order of their loss.
    depth : float
        Routes that are not listed lose at least this much.
    """

    __slots__ = ("blocked", "columns", "depth", "is_exact", "least", "number", "routes")

    def __init__(self, number: int, columns: int, blocked: int) -> None:
        self.number = number
        self.columns = columns
        self.blocked = blocked
        self.least = 0.0
        self.is_exact = not blocked  # the best network on these columns loses nothing
        self.routes: list[Route] = []
        self.depth = 0.0


class Paths:
    """Paths from the first state, each by its number: a last step, and the path before it.

    Paths are numbers, so that the heap's entries are tuples of numbers only, which cost Python's
    garbage collector nothing. 0 is the path without steps.
    """

    def __init__(self) -> None:
        self._last: list[Step | None] = [None]
        self._before = [0]

    def longer(self, path: int, step: Step) -> int:
        """Return a path with another step at its end."""
        self._last.append(step)
        self._before.append(path)
        return len(self._last) - 1

    def steps(self, path: int) -> Iterator[Step]:
        """Yield the steps of a path, the last one first."""
        while step := self._last[path]:
            yield step
            path = self._before[path]

    def __len__(self) -> int:
        return len(self._last)
