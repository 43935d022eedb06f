"""What the exact search needs to know of families: the local scores of a child and its parents.

The columns of the search are numbered from 0. Parents may also be columns that are not in the
search. Sets of candidates are masks of the columns of the search. `recurrences` says what slabs,
their tables, and B and F are.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy.typing as npt

from skbn._core.arrays import I1, Floats, Integers
from skbn._core.resources import Threads
from skbn._exact.fill_kernels import BlockTables

# Returns F of some sets.
BestScores = Callable[[Integers], Floats]
# What a sink's local score must reach, by sink; and a sink with the mask of parents that reach it.
Thresholds = dict[int, float]
FoundSink = tuple[int, int] | None
# Parent sets of a child, the best first: the local score, the mask of the parents in the search,
# and the mask of all parents by their numbers in the user's table.
RankedParents = list[tuple[float, int, int]]


class Filling(NamedTuple):
    """The tables of a slab that are to be filled."""

    tables: BlockTables
    fixed: int  # the outer columns of the slab's sets
    children: I1  # all inner columns, and some outer ones: those whose tables are filled
    threads: Threads
    n_tasks: int  # cut the work into at least this many tasks, so that Ctrl-C is handled soon


# Fills the children's tables, and yields each task's share.
Fill = Callable[[Filling], Iterator[float]]


def fill_by_child(
    fill: Callable[[npt.NDArray[Any], int, int], None], slab: Filling
) -> Iterator[float]:
    """Fill the tables child by child; see `FamilySource`.

    `fill` is called with a table, its child and `fixed`.
    """
    entries, starts = slab.tables.entries, slab.tables.starts
    arguments = [(entries[starts[x] : starts[x + 1]], int(x), slab.fixed) for x in slab.children]
    for _ in slab.threads.map(fill, arguments):
        yield 1 / len(arguments)


class FamilySource(Protocol):
    """What the search needs to know of score(x, P)."""

    def fill(self, slab: Filling) -> Iterator[float]:
        """Fill the children's tables; yield each task's share.

        An entry is the best local score over parents that are any outer columns in `fixed`, any
        columns not in the search, and the inner columns of the entry's index: all of them, except
        for the lowest ones, in which the sets of a block differ, of which it may be any.
        """

    def check(self, best_network_scores: BestScores, tables: BlockTables, fixed: int) -> None:
        """Raise if some entries of the slab's B or F turn out to be wrong."""

    def first_sink(self, columns: int, thresholds: Thresholds, threads: Threads) -> FoundSink:
        """Return the first sink that has parents whose local score reaches its threshold, and them.

        The parents are among the other columns of the mask `columns`. Fewer come first, then the
        order of the sorted columns. Their mask is over all columns that the families have.
        """

    def largest_term(self, parents: Sequence[int]) -> float:
        """Return the largest magnitude of a number that enters the local scores of a network."""
