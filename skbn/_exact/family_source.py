"""What the exact search asks of whatever scores the families of its columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np
import numpy.typing as npt

from skbn._core.threads import Threads

__all__ = ["FamilySource"]


class FamilySource(Protocol):
    """The local scores of children with sets of parents, from wherever they come.

    The children are the columns of the search, numbered from 0. Candidates are masks of
    these; columns that are not in the search may be parents as well.
    """

    def fill(
        self,
        slab: npt.NDArray[np.float64],
        starts: npt.NDArray[np.int64],
        fixed: int,
        threads: Threads,
        n_tasks: int,
    ) -> Iterator[float]:
        """Fill the children's tables for the outer columns `fixed`; yield the shares done.

        An entry is the best local score with parents that are outer columns among `fixed`,
        columns not in the search, and some of the inner columns: those of its index, and
        of them all columns above those in which the sets of a block differ.

        Parameters
        ----------
        slab : ndarray, float64
            The children's tables one after the other.
        starts : ndarray of shape (n_children + 1,), int64
        fixed : int
        threads : Threads
        n_tasks : int
            At least so many pieces, so that a user's interruption need not wait long.
        """

    def check(
        self,
        best: npt.NDArray[np.float64],
        slab: npt.NDArray[np.float64],
        starts: npt.NDArray[np.int64],
        fixed: int,
    ) -> None:
        """Raise if some maxima of a slab, or states with its outer columns, are wrong."""

    def first_parents(
        self, child: int, candidates: int, threshold: float, threads: Threads
    ) -> int | None:
        """Return the first parents among the candidates whose local score reaches a threshold.

        Fewer parents come first, then the order of the table's columns, sorted. The mask
        is over whatever columns the families are of; None if no parents suffice.
        """

    def largest_term(self, child: int, parents: int) -> float:
        """Return the largest magnitude of a number that enters this local score."""
