"""Search engines: each plans the search of a group of columns, and runs it.

An engine is a function `plan(shape, group, resources, settings)` that returns a `GroupSearch`, or
None if it cannot search problems of this shape. Those of dynamic programming are in
`dynamic_programs`. To add one, write its file and name it in `ENGINES` of `planner.py`. Branch and
cut, of `branch_engine`, takes their place if neither fits in memory, and the order search of
`order_engine` if it is asked for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

from skbn._core.resources import Resources
from skbn._exact.network_streams import NearOptimalStream
from skbn._solver.constraints import Group
from skbn._solver.problem import Problem, Shape
from skbn._solver.solution import TOLERANCE

__all__ = ["EXACT", "Engine", "GroupSearch", "Optimum", "SearchSettings"]


class SearchSettings(NamedTuple):
    """How to search.

    Parameters
    ----------
    is_exact : bool
        Whether to prove the network, by dynamic programming or branch and cut; else the order
        search finds it.
    seed : int
        Seeds all random choices.
    tolerance : float
        In nats: branch and cut ends once no network scores higher by more than this.
    lists_networks : bool
        Whether the searches are to list further networks, which only dynamic programs in memory
        can.
    share : float
        The share of the time until the deadline that the search of a group may take.
    n_candidates : int
        How many equivalence classes a search of a table with missing values scores by EM.
    """

    is_exact: bool = True
    seed: int = 0
    tolerance: float = TOLERANCE
    lists_networks: bool = False
    share: float = 1.0
    n_candidates: int = 30


EXACT = SearchSettings()


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
        Infinite if nothing is proven; else no network within the constraints scores higher by more
        than this, but for the rounding; in nats.
    rounding : float
        Rounding error that is not included in `gap` yet, in nats; 0 if it is included.
    n_iter : int
        How many perturbed orders an order search started from again; 0 for an exact search.
    n_nodes : int
        How many nodes the tree of branch and cut has; 0 for other searches.
    is_finished : bool
        Whether a search that proves its network ended by itself, and not by time or Ctrl-C.
    start_losses : tuple of float or None
        For each start of an order search, how far its network scores below the best one, ascending
        from 0; None for an exact search.
    """

    parents: list[int]
    score: float
    gap: float
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
    can_list : bool
        Whether `near_optimal` is defined: other engines are not asked to list networks.
    listing_kernels : tuple of kernel
        Those that `near_optimal` calls as well.
    shared_work : int
        The work of the log-determinants of all small sets if it needs them; groups share these.
        Like all work here, in units of one local score of a dense search.
    heeds_time_limit : bool
        Whether it ends by the deadline of its resources.
    """

    columns: list[int]
    n_bytes: int
    kernels: tuple[Any, ...]
    can_list: ClassVar[bool] = False
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
    def optimum(self, problem: Problem, resources: Resources) -> Optimum:
        """Return the best parents of the columns; see `optima`."""

    def optima(self, path: Sequence[Problem], resources: Resources) -> Iterator[Optimum]:
        """Yield the best parents of the columns for each of some problems.

        Parameters
        ----------
        path : sequence of Problem
            Those of one table with several penalties, which share their log-determinants.
        resources : Resources
            With a progress, which is advanced by `work` in all.
        """
        for problem in path:
            yield self.optimum(problem, resources)

    def near_optimal(
        self, problem: Problem, equivalence_classes: bool, resources: Resources
    ) -> NearOptimalStream:
        """Return the networks of the columns in order of their score, after a search for the best.

        An engine need not define it.

        Parameters
        ----------
        problem : Problem
            The networks' scores lack its `score_offsets`.
        equivalence_classes : bool
            Whether to return only the best network of each equivalence class.
        resources : Resources
            With a progress, which is advanced by `work`.
        """
        names = [problem.names[x] for x in self.columns]
        raise ValueError(
            f"The search of the columns {names} finds the best network, and cannot list others."
        )


Engine = Callable[[Shape, Group, Resources, SearchSettings], GroupSearch | None]
