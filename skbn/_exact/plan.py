"""How the exact search lays out its memory, and what would make a search fit that does not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from skbn._core.resources import largest_that_fits
from skbn._core.subsets import SmallSubsets
from skbn._core.text import readable_size, readable_sizes

__all__ = [
    "SearchPlan",
    "TooLargeError",
    "numbers_of_small_families",
    "plan_all_families",
    "plan_search",
    "what_would_fit",
]

_BYTES = 8  # of a float64
# Added to advice on max_parents: it must be lowered where the local scores are made.
_IN_TRANSFORMER = " (of the LocalScoreTransformer, if there is one)"
# A search through all families has at least this many columns, if there are as many. With fewer,
# a block would have so few sets that going from one subset of the others to the next takes longer
# than working through them.
_FEWEST_COLUMNS = 6
# A fixed outer column nearly halves the children's tables, but filling them takes half as long
# again. From 18 columns on, up to three of them take no more time than touching the memory that
# they save, as measured.
_FIRST_TO_SPLIT = 18
_OUTER_COLUMNS = 3
_MOST_OUTER_COLUMNS = 8
# A block of 2**13 numbers, of F or of a child's table, takes 64 KiB: several fit the second-level
# cache.
_BLOCK_BITS = 13
# Neighbouring sets that share one look-up in the criterion's tables: half a KiB of each table.
_WIDTH_BITS = 6


class SlabWork(NamedTuple):
    """How long each stage of a slab takes, in units of one local score."""

    fill: int
    transform: int
    extend: int


@dataclass(frozen=True)
class SearchPlan:
    """Which columns are fixed at a time, and in which blocks the states are visited.

    Parameters
    ----------
    n_columns : int
    n_outer : int
        How many of the last columns are outer ones: there is one slab for each subset of them.
    n_others : int, default=0
        How many columns may be parents of these and are not in the search themselves.
    n_log_determinants : int or None, default=None
        How many numbers the families take in memory. None stands for the log-determinants of all
        subsets of the columns and the others.
    n_roots : int, default=0
        How many of the last columns have no parents.
    """

    n_columns: int
    n_outer: int
    n_others: int = 0
    n_log_determinants: int | None = None
    n_roots: int = 0

    @property
    def n_inner(self) -> int:
        """Number of columns that are not outer ones."""
        return self.n_columns - self.n_outer

    @property
    def block_bits(self) -> int:
        """Number of lowest columns, in which the sets of one block differ."""
        return min(_BLOCK_BITS, self.n_inner)

    @property
    def width(self) -> int:
        """Number of neighbouring sets that share one look-up in the criterion's tables."""
        return 1 << min(_WIDTH_BITS, self.block_bits)

    @property
    def n_blocks(self) -> int:
        """Number of blocks of a slab."""
        return 1 << (self.n_inner - self.block_bits)

    def table_bits(self, child: int) -> int:
        """Return the number of inner columns other than the child."""
        return self.n_inner - 1 if child < self.n_inner else self.n_inner

    def table_size(self, child: int) -> int:
        """Return how many entries the child's table has: sets of other inner columns."""
        return 1 << self.table_bits(child)

    def row_bits(self, child: int) -> int:
        """Return how many bits of the child's table are columns in which a block's sets differ."""
        return self.block_bits - 1 if child < self.block_bits else self.block_bits

    @property
    def slab_size(self) -> int:
        """Number of entries of all children's tables."""
        return sum(self.table_size(child) for child in range(self.n_columns))

    @property
    def n_bytes(self) -> int:
        """Memory of the log-determinants, of the best scores and of the slab."""
        n_log_det = self.n_log_determinants
        if n_log_det is None:
            n_log_det = 1 << (self.n_columns + self.n_others)
        return _BYTES * (n_log_det + (1 << self.n_columns) + self.slab_size)

    def slab_work(self, fixed: int) -> SlabWork:
        """Return about how long the stages of a slab take."""
        size = self.slab_size
        n_parts = 1 << (fixed.bit_count() + self.n_others)
        return SlabWork(size * (2 + n_parts), size, 2 * size)

    @property
    def work(self) -> int:
        """About how long all slabs take; the rest of the search is small beside them."""
        return sum(sum(self.slab_work(fixed)) for fixed in range(1 << self.n_outer))

    @property
    def described_columns(self) -> str:
        """The columns in words, as users count them: roots are others that may be parents."""
        n_columns, n_others = self.n_columns - self.n_roots, self.n_others + self.n_roots
        columns = "1 column" if n_columns == 1 else f"{n_columns} columns"
        others = "1 other as parent" if n_others == 1 else f"{n_others} others as parents"
        return f"{columns} with {others}" if n_others else columns

    def __str__(self) -> str:
        parts = f" in {1 << self.n_outer} parts" if self.n_outer else ""
        return f"{self.described_columns}{parts}: {readable_size(self.n_bytes)} of memory"


class TooLargeError(ValueError):
    """A search does not fit in memory.

    Parameters
    ----------
    columns, tables : str
        What is searched, and what takes the memory.
    needed : int
        How many bytes the leanest search takes.
    n_bytes : int
        How many it may take.
    limit : str
        What the error says after this number, such as "are available".
    """

    def __init__(self, columns: str, tables: str, needed: int, n_bytes: int, limit: str) -> None:
        size, given = readable_sizes(needed, n_bytes)
        super().__init__(
            f"The exact search over {columns} needs {size} of memory for {tables}, and {given} "
            f"{limit}"
        )
        self.needed = needed


def plan_search(
    n_columns: int,
    n_bytes: int,
    limit: str = "are available",
    n_others: int = 0,
    n_log_determinants: int | None = None,
    n_roots: int = 0,
) -> SearchPlan:
    """Choose the fastest plan that fits in memory.

    Parameters
    ----------
    n_columns : int
        At least 1.
    n_bytes : int
        How much memory the plan may take.
    limit : str
        What the error says after this number, such as "are available".
    n_others : int
    n_log_determinants : int or None
    n_roots : int

    Raises
    ------
    TooLargeError
        If not even the leanest plan fits.
    """
    fewest = min(max(0, (n_columns - _FIRST_TO_SPLIT) // 2 + 1), _OUTER_COLUMNS)
    most = max(fewest, min(_MOST_OUTER_COLUMNS, n_columns - 2))
    for n_outer in range(fewest, most + 1):
        plan = SearchPlan(n_columns, n_outer, n_others, n_log_determinants, n_roots)
        if plan.n_bytes <= n_bytes:
            return plan
    n_sets = n_columns + n_others
    tables = f"the 2**{n_sets} sets of these" if n_others or n_roots else f"its 2**{n_sets} states"
    raise TooLargeError(plan.described_columns, tables, plan.n_bytes, n_bytes, limit)


def plan_all_families(n_columns: int, n_others: int, n_bytes: int, limit: str = "") -> SearchPlan:
    """Plan a search through all families whose parents are among the columns or others.

    If there are few columns, some of the others become roots: columns of the search that have no
    parents. Raises what `plan_search` raises.
    """
    n_roots = max(0, min(n_others, _FEWEST_COLUMNS - n_columns))
    n_columns, n_others = n_columns + n_roots, n_others - n_roots
    return plan_search(n_columns, n_bytes, limit, n_others, n_roots=n_roots)


def numbers_of_small_families(m: int, max_parents: int) -> int:
    """Return how many numbers are in memory while families with few parents are listed.

    They are the log-determinants of all sets of up to ``max_parents + 1`` columns, and for each
    family of one child two scores and a byte, by which the undominated ones are found.
    """
    n_families = SmallSubsets(m - 1, max_parents).n_sets
    return SmallSubsets(m, max_parents + 1).n_sets + 2 * n_families + -(-n_families // _BYTES)


def what_would_fit(
    m: int,
    groups: Sequence[tuple[int, int]],
    max_parents: int | None,
    fewest_parents: int,
    n_bytes: int,
    fits_otherwise: Callable[[int], bool] = lambda _: False,
) -> list[str]:
    """Say what would make a search of all groups of columns fit in memory.

    Parameters
    ----------
    m : int
        Number of all columns.
    groups : sequence of (int, int)
        How many columns each group has, and how many others may be their parents.
    max_parents : int or None
        None stands for any number, and 0 for families that are listed already.
    fewest_parents : int
        The largest number of parents that a column is required to have.
    n_bytes : int
    fits_otherwise : callable
        Whether another search fits with so many parents.

    Returns
    -------
    remedies : list of str
        Each is enough by itself. Empty if there is too little memory for any search.
    """
    fewest = max(1, fewest_parents)
    most = m - 2 if max_parents is None else max_parents - 1
    few = largest_that_fits(
        lambda k: all(_fits(*group, m, k, n_bytes) for group in groups), fewest, most
    )
    remedies = [] if few is not None else _tiers_that_fit(m, max_parents, fewest, most, n_bytes)
    few = few or largest_that_fits(fits_otherwise, fewest, most)
    if few is not None:
        remedies.insert(0, f"set max_parents to {few} or less{_IN_TRANSFORMER}")
    left = largest_that_fits(lambda n: _fits(n, 0, n, max_parents, n_bytes), 2, m - 1)
    if left is not None:
        remedies.append(f"leave out columns until {left} or fewer are left")
    return remedies


def _fits(n_columns: int, n_others: int, m: int, max_parents: int | None, n_bytes: int) -> bool:
    """Whether a group's search fits in memory, if the table has m columns in all."""
    try:
        if max_parents is None:
            plan_all_families(n_columns, n_others, n_bytes)
        else:
            n_numbers = numbers_of_small_families(m, max_parents) if max_parents else 0
            plan_search(n_columns, n_bytes, n_log_determinants=n_numbers)
    except TooLargeError:
        return False
    return True


def _tiers_that_fit(
    m: int, max_parents: int | None, fewest: int, most: int, n_bytes: int
) -> list[str]:
    """Say how large tiers may be; and how many parents, if the number allowed now is too many.

    From `fewest` to `most` parents may be proposed.
    """
    also = ""
    if max_parents is None or not _fits(1, 0, m, max_parents, n_bytes):
        # The lists of families may take half of the memory; the other half is for the search.
        half = n_bytes // 2 // _BYTES
        max_parents = largest_that_fits(
            lambda k: numbers_of_small_families(m, k) <= half, fewest, most
        )
        if max_parents is None:
            return []
        also = f", and max_parents to {max_parents} or less{_IN_TRANSFORMER}"
    size = largest_that_fits(lambda n: _fits(n, 0, m, max_parents, n_bytes), 1, m - 1)
    return [] if size is None else [f"set tiers of {size} or fewer columns each{also}"]
