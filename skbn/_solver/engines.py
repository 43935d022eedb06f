"""Search engines: each plans the search of a group of columns, and runs it.

An engine is a function `plan(scores, constraints, group, memory)` that returns a `GroupSearch`, or
None if it cannot search these scores. Those of dynamic programming are in `dense_engine` and
`listed_engine`. To add one, write its file and name it in `ENGINES` of `solve.py`. Branch and cut,
of `branch_engine`, takes their place if neither fits in memory, and the order search of
`order_engine` if it is asked for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from skbn._core.progress import Progress
from skbn._core.subsets import members_of
from skbn._exact.near_optimal import (
    NearOptimalStream,
)
from skbn._regressions.local_score import SCORE_ACCURACY
from skbn._scores.families import ScoredParentSets
from skbn._scores.local_scores import LocalScores
from skbn._scores.parent_set_scores import ParentSetScores
from skbn._solver.constraints import Constraints, Group
from skbn._solver.settings import MemoryLimit

__all__ = [
    "Engine",
    "GroupSearch",
    "Optimum",
    "Scores",
    "families_within",
    "largest_listed",
    "listed_within",
    "require_certainty",
]

Scores = LocalScores | ParentSetScores


class Optimum(NamedTuple):
    """The best network that a search found for the columns of a group.

    Parameters
    ----------
    parents : list of int
        The mask of each column's parents. Empty without any network of a finite score.
    score : float
        In nats, as the search adds it up, without the scores' `score_offsets`; -inf without any
        network of a finite score.
    gap : float
        No network within the constraints scores higher by more than this, but for the rounding;
        in nats.
    rounding : float
        How far the rounding of sums may put the gap off, where the scores themselves are rounded;
        in nats. 0 where the gap has it.
    n_iter : int
        How many perturbed orders an order search started from again; 0 for an exact search.
    n_nodes : int
        How many nodes the tree of branch and cut has; 0 for other searches.
    is_finished : bool
        Whether a search that proves its network ended by itself, and not by time or Ctrl-C.
    start_losses : tuple of float or None
        By how much what each start of an order search found scores lower, ascending from 0; None
        for an exact search.
    """

    parents: list[int]
    score: float
    gap: float = 0.0
    rounding: float = 0.0
    n_iter: int = 0
    n_nodes: int = 0
    is_finished: bool = True
    start_losses: tuple[float, ...] | None = None


class GroupSearch(ABC):
    """The planned search of one group of columns.

    Attributes
    ----------
    columns : list of int
        The columns whose parents it finds.
    n_bytes : int
        Memory of its tables.
    kernels : tuple of kernel
        Those that it calls, to be compiled first.
    listing_kernels : tuple of kernel
        Those that `near_optimal` calls as well.
    shared_work : int
        The work of the log-determinants of all small sets if it needs them; groups share these.
        Like all work here, in units of one local score of a dense search.
    heeds_time_limit : bool
        Whether it ends by the deadline of its settings.
    """

    columns: list[int]
    n_bytes: int
    kernels: tuple[Any, ...]
    listing_kernels: ClassVar[tuple[Any, ...]] = ()
    shared_work: int = 0
    heeds_time_limit: bool = False

    @abstractmethod
    def __str__(self) -> str:
        """Return the number of columns and the memory, as `verbose` prints them."""

    @abstractmethod
    def cost(self) -> int:
        """Return about how long it takes for one penalty, by which engines are chosen."""

    def work(self, n_penalties: int) -> int:
        """Return the work that the search reports to its progress, without `shared_work`."""
        return n_penalties * self.cost()

    @abstractmethod
    def optimum(self, scores: Scores, n_jobs: int | None, progress: Progress) -> Optimum:
        """Return the best parents of the columns; see `optima`."""

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
        for scores in path:
            yield self.optimum(scores, n_jobs, progress)

    def near_optimal(
        self, scores: Scores, equivalence_classes: bool, n_jobs: int | None, progress: Progress
    ) -> NearOptimalStream:
        """Return the networks of the columns in order of their score, after a search for the best.

        An engine need not define it.

        Parameters
        ----------
        scores : LocalScores or ParentSetScores
            The networks' scores lack their `score_offsets`.
        equivalence_classes : bool
            Whether to return only the best network of each equivalence class.
        n_jobs : int or None
        progress : Progress
            Advanced by `work`.
        """
        names = [scores.columns[x] for x in self.columns]
        raise ValueError(
            f"The search of the columns {names} finds the best network, and cannot list others."
        )


Engine = Callable[[Scores, Constraints, Group, MemoryLimit], GroupSearch | None]


def require_certainty(uncertainty: float, largest: str = "") -> None:
    """Raise if rounding may have hidden a better network than the one found.

    Parameters
    ----------
    uncertainty : float
        How far rounding may put the score of a network off, in nats.
    largest : str, optional
        A sentence that names the largest term.

    Raises
    ------
    ValueError
        Saying by how much the score may be off, and what would make it smaller.
    """
    if uncertainty > SCORE_ACCURACY:
        raise ValueError(
            "The terms of the best network's score are so large that it is known only to "
            f"{uncertainty:.2g} nats, and not to {SCORE_ACCURACY}, which may hide a better "
            f"network.{largest} If they are costs that all networks must pay, lower the penalty "
            "or the costs, and rule families out by forbidden_edges or max_parents instead. If "
            "they are likelihoods, give fewer rows, smaller sample weights or a smaller alpha_w."
        )


def largest_listed(scores: ParentSetScores, columns: list[int], parents: list[int]) -> str:
    """Return a sentence that names the listed score that is furthest below its column's best."""
    below = [
        scores.largest_term(x, members_of(mask)) for x, mask in zip(columns, parents, strict=True)
    ]
    i = int(np.argmax(below))
    score = scores.local_score(columns[i], members_of(parents[i]))
    return (
        f" The largest is of column {scores.columns[columns[i]]!r}: a listed score of {score:.6g}, "
        f"which is {below[i]:.3g} nats below the best listed one."
    )


def families_within(
    scores: Scores, constraints: Constraints, child: int, with_dominated: bool
) -> ScoredParentSets:
    """Return the families of a child that may be part of the best network, or of any.

    Their scores lack the child's offset.
    """
    parents, local = listed_within(scores, constraints, child, with_dominated)
    if isinstance(scores, ParentSetScores):
        local = local - scores.score_offsets[child]
    return parents, local


def listed_within(
    scores: Scores, constraints: Constraints, child: int, with_dominated: bool
) -> ScoredParentSets:
    """Return the same families; the scores of lists as they are given, so that none is rounded."""
    required = members_of(constraints.required[child])
    candidates = members_of(constraints.allowed[child] & ~constraints.required[child])
    if isinstance(scores, ParentSetScores):
        listed = scores.listed(child, required, candidates, constraints.max_parents)
        if len(listed[1]) == 0:
            names = [scores.columns[p] for p in required]
            must = f" that has the required parents {names} and" if required else " that"
            raise ValueError(
                f"Column {scores.columns[child]!r} has no listed family{must} satisfies the "
                "constraints. List more parent sets, or relax these."
            )
        return listed
    if not required and not candidates:
        terms = scores.scorer.terms(child, [])
        return np.empty((1, 0), dtype=np.int16), np.array([sum(terms)])
    parents, local = scores.scorer.listed(child, required, candidates, with_dominated)
    fits = (parents >= 0).sum(axis=1) <= constraints.max_parents
    return parents[fits], local[fits]
