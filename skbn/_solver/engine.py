"""What a search engine is: it plans the search of a group of columns, and runs it.

An engine is a function `plan(scores, constraints, group, memory)` that returns a `GroupSearch`, or
None if it cannot search these scores. `dense.py` and `listed.py` have the two engines there are.
To add one, write its file and name it in `ENGINES` of `solve.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Self

from skbn._core.accuracy import SCORE_ACCURACY
from skbn._core.progress import Progress
from skbn._exact.search import SearchResult
from skbn._scores.local_scores import LocalScores
from skbn._scores.parent_set_scores import ParentSetScores
from skbn._solver.constraints import Constraints, Group

__all__ = ["Engine", "GroupSearch", "MemoryLimit", "Optimum", "Scores", "require_certainty"]

Scores = LocalScores | ParentSetScores


class Optimum(NamedTuple):
    """The masks of the parents of a group's columns in the best network, and its score in nats.

    The score is that of the search, which leaves out the scores' `score_offsets`. Without any
    network of a finite score it is -inf, and there are no masks.
    """

    parents: list[int]
    score: float


class MemoryLimit(NamedTuple):
    """How many bytes a search may take.

    Parameters
    ----------
    available : int
        Beside what is taken already.
    allowed : int or None
        By the user, for all tables of a search.
    """

    available: int
    allowed: int | None

    def share(self, n: int) -> Self:
        """Return the limit of each of n searches that run at the same time."""
        allowed = None if self.allowed is None else self.allowed // n
        return type(self)(self.available // n, allowed)

    def beside(self, n_bytes: int) -> tuple[int, str]:
        """Return the limit and its reason, if `n_bytes` of the search's tables exist already."""
        if self.allowed is not None and self.allowed < self.available + n_bytes:
            return self.allowed, "are allowed by max_memory"
        return self.available + n_bytes, "are available"


class GroupSearch(ABC):
    """The planned search of one group of columns.

    Attributes
    ----------
    columns : list of int
        The columns whose parents it finds.
    n_bytes : int
        Memory of its tables.
    shared_work : int
        The work of the log-determinants of all small sets if it needs them; groups share these.
        Like all work here, in units of one local score of a dense search.
    """

    columns: list[int]
    n_bytes: int
    shared_work: int = 0

    @abstractmethod
    def __str__(self) -> str:
        """Return the number of columns and the memory, as `verbose` prints them."""

    @abstractmethod
    def cost(self) -> int:
        """Return about how long it takes for one penalty, by which engines are chosen."""

    @abstractmethod
    def work(self, n_penalties: int) -> int:
        """Return the work that the search reports to its progress, without `shared_work`."""

    @abstractmethod
    def optima(
        self, path: Sequence[Scores], n_jobs: int | None, progress: Progress
    ) -> Iterator[Optimum]:
        """Yield the best parents of the columns for each of the scores.

        Parameters
        ----------
        path : sequence of LocalScores, or of one ParentSetScores
            Those of one table with several penalties, which share their log-determinants.
        n_jobs : int or None
            Number of threads, by joblib's rules. It does not change a bit of the result.
        progress : Progress
            Advanced by `work` in all.
        """


Engine = Callable[[Scores, Constraints, Group, MemoryLimit], GroupSearch | None]


def require_certainty(found: SearchResult) -> None:
    """Raise if rounding may have hidden a better network than the one found.

    Raises
    ------
    ValueError
        Saying by how much the score may be off, and what would make it smaller.
    """
    if found.uncertainty > SCORE_ACCURACY:
        raise ValueError(
            "The terms of the best network's score are so large that it is known only to "
            f"{found.uncertainty:.2g} nats, and not to {SCORE_ACCURACY}, which may hide a better "
            "network. If they are costs that all networks must pay, lower the penalty or the "
            "costs, and rule families out by forbidden_edges or max_parents instead. If they are "
            "likelihoods, give fewer rows, smaller sample weights or a smaller alpha_w."
        )
