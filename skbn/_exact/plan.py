"""How the exact search lays out its memory."""

import math
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from skbn._core.arrays import BYTES, Integers
from skbn._core.subsets import members_of
from skbn._core.text import readable_size, readable_sizes

# A search through all families has at least this many columns, if the table does: in smaller
# blocks, stepping between blocks would cost more than the work within them.
_FEWEST_COLUMNS = 6
# An outer column nearly halves the children's tables, but filling them takes half as long again.
# From 18 columns on, up to three outer columns cost no more time than touching the memory that they
# save, as measured.
_FIRST_TO_SPLIT = 18
_OUTER_COLUMNS = 3
_MOST_OUTER_COLUMNS = 8
# Where log-determinants are made again, a seed walks through 2**14 sets of inner columns.
_FEWEST_INNER_OF_WALK = 14
_MOST_VARYING = 5
# With fewer columns, a worker's slab would have fewer sets than that.
FEWEST_COLUMNS_OF_WORKERS = _FEWEST_INNER_OF_WALK + 1
# With more columns, a search takes days.
_MOST_COLUMNS_OF_WALK = 36
# NumPy goes through the tables of so few columns and others about as fast as kernels, which would
# have to be compiled first.
_FEW_COLUMNS = 10
# In units of one local score: a log-determinant that is made again, going through a slab's tables
# once more, and a number of a file.
_WORK_OF_WALK, _WORK_OF_PASS, _WORK_OF_FILE = 4, 2, 8
# For each set of columns.
_WORK_OF_WALK_BACK = 64
# A block of 2**13 numbers, of F or of a child's table, takes 64 KiB: several fit the second-level
# cache.
_BLOCK_BITS = 13


class SlabWork(NamedTuple):
    """How long each stage of a slab takes, in units of one local score."""

    fill: int
    transform: int
    extend: int


@dataclass(frozen=True)
class SearchPlan:
    """Which columns are fixed at a time, and in which blocks the states are visited."""

    n_columns: int
    n_outer: int  # how many of the last columns are outer columns: each subset of these has a slab
    n_others: int = 0  # how many columns outside the search may be parents
    # how many numbers the families take in memory. None stands for the log-determinants of all
    # subsets of the columns and the others.
    n_log_determinants: int | None = None
    n_roots: int = 0  # how many of the last columns have no parents
    # the log-determinants are made again for each slab, in windows of ``2**n_varying`` pieces. None
    # if all of them are in memory.
    n_varying: int | None = None
    # the folder in which the best scores are; None if they are in memory
    scratch: str | None = None
    # how many workers of a cluster have the best scores in their memory; 0 without a cluster
    n_workers: int = 0
    # the number of functions of sets of columns whose differences are the local scores: 2 if a
    # criterion is not score-equivalent
    n_functions: int = 1

    # Numbers that follow from these; each is computed once

    @cached_property
    def n_inner(self) -> int:
        """Number of columns that are not outer ones."""
        return self.n_columns - self.n_outer

    @cached_property
    def is_small(self) -> bool:
        """Whether NumPy goes through the tables, so that no kernel is compiled for them."""
        return self.n_outer == 0 and self.n_columns + self.n_others <= _FEW_COLUMNS

    @cached_property
    def inner_size(self) -> int:
        """Number of sets of inner columns."""
        return 1 << self.n_inner

    @cached_property
    def block_bits(self) -> int:
        """Number of lowest columns, in which the sets of one block differ."""
        return min(_BLOCK_BITS, self.n_inner)

    @cached_property
    def n_blocks(self) -> int:
        """Number of blocks of a slab."""
        return 1 << (self.n_inner - self.block_bits)

    @cached_property
    def table_bits(self) -> list[int]:
        """Return the number of each child's other inner columns: its table has their subsets."""
        return [self.n_inner - 1] * self.n_inner + [self.n_inner] * self.n_outer

    @cached_property
    def row_bits(self) -> list[int]:
        """Return in how many of these columns the sets of a block differ, for each child."""
        within = self.block_bits
        return [within - 1] * within + [within] * (self.n_columns - within)

    @cached_property
    def slab_size(self) -> int:
        """Number of entries of all children's tables."""
        return sum(1 << bits for bits in self.table_bits)

    @cached_property
    def window_size(self) -> int:
        """Number of log-determinants of a window."""
        assert self.n_varying is not None
        return self.inner_size << self.n_varying

    @cached_property
    def n_bytes(self) -> int:
        """Memory of the log-determinants, of the best scores and of the slab; on each worker."""
        n_log_det = self.n_log_determinants
        if self.n_varying is not None:
            n_log_det = self.n_functions * self.window_size
        elif n_log_det is None:
            n_log_det = self.n_functions << (self.n_columns + self.n_others)
        n_best = 1 << self.n_columns
        if self.scratch is not None:  # a slab's, and those that they follow from, one by one
            n_best = 2 * self.inner_size
        elif self.n_workers:  # all of these, beside what is kept for others
            n_best = (self.n_outer + 1) * self.inner_size - (-n_best // self.n_workers)
        return BYTES * (n_log_det + n_best + self.slab_size)

    @cached_property
    def n_scratch_bytes(self) -> int:
        """Space that the best scores take in the folder."""
        return 0 if self.scratch is None else BYTES << self.n_columns

    @cached_property
    def slab_works(self) -> list[SlabWork]:
        """About how long the stages of a slab take, by its number of outer columns."""
        size, works = self.slab_size, []
        for n_fixed in range(self.n_outer + 1):
            n_parts = n_fixed + self.n_others
            fill = size * (2 + (1 << n_parts))
            if self.n_varying is not None:
                n_passes = 1 << max(0, n_parts - self.n_varying)
                fill += _WORK_OF_WALK * self.n_pieces(n_fixed) * self.inner_size
                fill += _WORK_OF_PASS * n_passes * size
            extend = 2 * size
            if self.scratch is not None:
                extend += _WORK_OF_FILE * (n_fixed + 1) * self.inner_size
            works.append(SlabWork(fill, size, extend))
        return works

    def n_pieces(self, n_fixed: int) -> int:
        """Return how many pieces are walked for a slab of this number of outer columns."""
        assert self.n_varying is not None
        n_groups = max(1, -(-n_fixed // self.n_varying))
        return n_groups << (n_fixed + self.n_others)

    @cached_property
    def work_of_walk_back(self) -> int:
        """About how long the walk back takes: no time if all log-determinants are in memory."""
        if self.n_varying is None:
            return 0
        return _WORK_OF_WALK_BACK << (self.n_columns + self.n_others)

    @cached_property
    def work(self) -> int:
        """About how long the search takes."""
        n_slabs = [math.comb(self.n_outer, k) for k in range(self.n_outer + 1)]
        return self._work_of(n_slabs)

    @cached_property
    def work_of_workers(self) -> int:
        """About how long the slabs take on the workers.

        Slabs with equally many outer columns are solved at the same time, as far as there are
        workers.
        """
        n_slabs = [math.comb(self.n_outer, k) for k in range(self.n_outer + 1)]
        return self._work_of([-(-n // self.n_workers) for n in n_slabs])

    def _work_of(self, n_slabs: list[int]) -> int:
        """Return how long these slabs and the walk back take, one after the other."""
        works = [n * sum(work) for n, work in zip(n_slabs, self.slab_works, strict=True)]
        return sum(works) + self.work_of_walk_back

    @cached_property
    def described_columns(self) -> str:
        """The columns in words. For users, roots are further columns that may be parents."""
        n_columns, n_others = self.n_columns - self.n_roots, self.n_others + self.n_roots
        columns = "1 column" if n_columns == 1 else f"{n_columns} columns"
        others = "1 other as parent" if n_others == 1 else f"{n_others} others as parents"
        return f"{columns} with {others}" if n_others else columns

    def children(self, outer: int) -> Integers:
        """Return the inner columns, and the outer columns in the mask `outer`."""
        of_outer = [self.n_inner + i for i in members_of(outer)]
        return np.array([*range(self.n_inner), *of_outer], dtype=np.int64)

    def __str__(self) -> str:
        parts = f" in {1 << self.n_outer} parts" if self.n_outer else ""
        space = ""
        if self.scratch is not None:
            space = f" and {readable_size(self.n_scratch_bytes)} of {self.scratch}"
        if self.n_workers:
            space = f" on each of {self.n_workers} workers"
        memory = readable_size(self.n_bytes)
        return f"{self.described_columns}{parts}: {memory} of memory{space}"


class TooLargeError(ValueError):
    """A search does not fit in memory.

    `columns`, `tables`: what is searched, and what takes the memory
    `needed`: how many bytes the leanest search takes
    `n_bytes`: how many it may take
    `limit`: what the error says after this number, such as "are available"
    `search`: what is refused
    """

    def __init__(
        self,
        columns: str,
        tables: str,
        needed: int,
        n_bytes: int,
        limit: str,
        search: str = "exact search",
    ) -> None:
        size, given = readable_sizes(needed, n_bytes)
        of_tables = f" for {tables}" if tables else ""
        super().__init__(
            f"The {search} over {columns} needs {size} of memory{of_tables}, and {given} {limit}"
        )
        self.needed = needed


def plan_search(
    n_columns: int,
    n_bytes: int,
    limit: str = "are available",
    n_others: int = 0,
    n_log_determinants: int | None = None,
    scratch: str | None = None,
    in_memory: bool = False,
    n_functions: int = 1,
) -> SearchPlan:
    """Choose the fastest plan that fits in memory.

    If a search through all families has few columns, some of the others become roots: columns of
    the search that have no parents.

    `n_columns`: at least 1
    `n_bytes`: how much memory the plan may take
    `limit`: what the error says after this number, such as "are available"
    `n_log_determinants`: None for a search through all families
    `scratch`: a folder that may be used, if memory is not enough
    `in_memory`: whether all log-determinants and best scores must be in memory, as for lists of
        networks

    Raises TooLargeError if not even the leanest plan fits.
    """
    n_roots = 0
    if n_log_determinants is None:
        n_roots = max(0, min(n_others, _FEWEST_COLUMNS - n_columns))
        n_columns, n_others = n_columns + n_roots, n_others - n_roots
    fewest = min(max(0, (n_columns - _FIRST_TO_SPLIT) // 2 + 1), _OUTER_COLUMNS)
    most = max(fewest, min(_MOST_OUTER_COLUMNS, n_columns - 2))
    plan = SearchPlan(
        n_columns, fewest, n_others, n_log_determinants, n_roots, n_functions=n_functions
    )
    if plan.n_bytes <= n_bytes:
        return plan
    plans = [replace(plan, n_outer=n_outer) for n_outer in range(fewest, most + 1)]
    n_free = 0 if scratch is None else shutil.disk_usage(scratch).free
    if not in_memory:
        plans += _leaner_plans(plan, scratch, n_free)
    fitting = [each for each in plans if each.n_bytes <= n_bytes]
    if fitting:
        return min(fitting, key=lambda each: each.work)
    plan = min(plans, key=lambda each: each.n_bytes)
    if scratch is not None and n_free < BYTES << n_columns:
        free, needed = readable_sizes(n_free, BYTES << n_columns)
        limit += f"; scratch={scratch!r} has {free} of the {needed} that it would take there"
    n_sets = n_columns + n_others
    tables = f"the 2**{n_sets} sets of these" if n_others or n_roots else f"its 2**{n_sets} states"
    raise TooLargeError(plan.described_columns, tables, plan.n_bytes, n_bytes, limit)


def _leaner_plans(plan: SearchPlan, scratch: str | None, n_free: float) -> Iterator[SearchPlan]:
    """Yield plans that compute log-determinants again, or keep the best scores in a folder."""
    if plan.n_columns + plan.n_others > _MOST_COLUMNS_OF_WALK:
        return
    has_room = scratch is not None and n_free >= BYTES << plan.n_columns
    most_outer = min(_MOST_OUTER_COLUMNS, plan.n_columns - _FEWEST_INNER_OF_WALK)
    for folder in [None, scratch] if has_room else [None]:
        for n_outer in range(1, most_outer + 1):
            if plan.n_log_determinants is None:
                for n_varying in range(1, min(_MOST_VARYING, n_outer) + 1):
                    yield replace(plan, n_outer=n_outer, n_varying=n_varying, scratch=folder)
            elif folder is not None:
                yield replace(plan, n_outer=n_outer, scratch=folder)


def space_of_scratch(n_columns: int, n_bytes: int) -> int | None:
    """Return the space in a folder with which a search of all families fits in memory, if any."""
    plans = _leaner_plans(SearchPlan(n_columns, 0), "", math.inf)
    fitting = [each.n_scratch_bytes for each in plans if each.n_bytes <= n_bytes]
    return max(fitting, default=None)


def scratch_error(plan: SearchPlan, error: OSError) -> ValueError:
    """Return the error that says why a folder cannot be used."""
    return ValueError(
        f"scratch={plan.scratch!r} cannot take a file of {readable_size(plan.n_scratch_bytes)}: "
        f"{error.strerror or error}. Name another folder, or free some space."
    )


def plan_on_workers(
    n_columns: int,
    n_others: int,
    n_workers: int,
    n_bytes: int,
    limit: str,
    n_bytes_here: int,
    n_functions: int = 1,
) -> SearchPlan:
    """Choose the fastest plan that fits in the memory of each worker.

    `n_columns`: at least `FEWEST_COLUMNS_OF_WORKERS`
    `n_bytes`: how much memory the plan may take on each worker
    `limit`: what the error says after this number
    `n_bytes_here`: how much memory the window of the walk back may take, in this process

    Raises TooLargeError if not even the leanest plan fits.
    """
    plan = SearchPlan(n_columns, 0, n_others, n_functions=n_functions)
    plans = [replace(each, n_workers=n_workers) for each in _leaner_plans(plan, None, 0)]
    plans = [each for each in plans if BYTES * n_functions * each.window_size <= n_bytes_here]
    fitting = [each for each in plans if each.n_bytes <= n_bytes]
    if fitting:
        return min(fitting, key=lambda each: each.work_of_workers)
    leanest = min([plan, *plans], key=lambda each: each.n_bytes)
    tables = f"its part of the 2**{plan.n_columns} states"
    limit += f" on each of {n_workers} workers"
    raise TooLargeError(plan.described_columns, tables, leanest.n_bytes, n_bytes, limit)
