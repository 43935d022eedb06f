"""Families: which families have scores, as the planner of a search asks.

`AllFamilies` and `SmallFamilies`, of `regression_families`, are those of a table; `GivenFamilies`
stand in a user's list.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

__all__ = ["Families", "GivenFamilies", "ScoredParentSets", "ScoredPiece"]

# The scores of some families of a child, and a function from a family's index to its parents.
ScoredPiece = tuple[npt.NDArray[np.float64], Callable[[int], list[int]]]
# Sets of parents as rows of ascending columns, padded with -1 at their end, and their scores.
ScoredParentSets = tuple[npt.NDArray[np.int16], npt.NDArray[np.float64]]


class Families(ABC):
    """Which families of m columns have scores: what the planner of a search asks.

    Attributes
    ----------
    m : int
        Number of columns.
    max_parents : int
        The largest number of parents.
    are_listed : bool
        Whether they are few enough to be gone through one by one.
    are_given : bool
        Whether they were listed by the user, so that the scores may rule out any others.
    work : int
        About how long it takes to compute what their scores need, in units of one local score.
    kernels : tuple of kernel
        Those that compute it.
    """

    m: int
    max_parents: int
    are_listed: ClassVar[bool] = True
    are_given: ClassVar[bool] = False
    work: int = 0
    kernels: ClassVar[tuple[Any, ...]] = ()

    @abstractmethod
    def with_max_parents(self, max_parents: int) -> Families:
        """Return the families that would have scores with another limit on the parents."""

    @abstractmethod
    def of_columns(self, m: int) -> Self:
        """Return the families of another number of columns."""

    @abstractmethod
    def numbers_while_listed(self) -> int:
        """Return how many numbers are in memory while the families of a child are listed."""

    @abstractmethod
    def count(self, n_candidates: Sequence[int]) -> int:
        """Return how many families children have, given how many columns may be their parents."""


class GivenFamilies(Families):
    """Families that a user has listed with their scores.

    Parameters
    ----------
    m : int
    n_families : int
        In the lists of all columns together.
    max_parents : int
    """

    are_given = True

    def __init__(self, m: int, n_families: int, max_parents: int) -> None:
        self.m = m
        self.max_parents = max_parents
        self.n_families = n_families

    def with_max_parents(self, max_parents: int) -> Families:
        """Return the same families: their list takes as much memory with any limit."""
        return self

    def of_columns(self, m: int) -> Self:
        """Return as many families of another number of columns."""
        return type(self)(m, self.n_families, min(self.max_parents, m - 1))

    def numbers_while_listed(self) -> int:
        """Return 0: they are listed already."""
        return 0

    def count(self, n_candidates: Sequence[int]) -> int:
        """Return how many families there are."""
        return self.n_families
