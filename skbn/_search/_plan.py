"""How the exact search lays out its memory."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

__all__ = ["SearchPlan", "plan_search"]

_BYTES = 8  # of a float64
_MANY = 10**18
# A fixed outer column nearly halves the children's tables but adds half as much work
# to filling them. Up to three, from 18 columns on, cost no more time than touching
# the memory that they save.
_FIRST_TO_SPLIT = 18
_OUTER_COLUMNS = 3
_MOST_OUTER_COLUMNS = 8
# A block of 2**13 states, or of a child's maxima, fits the second-level cache
# several times.
_BLOCK_BITS = 13
# Neighbouring sets whose weights are looked up together: half a KiB of each table.
_WIDTH_BITS = 6


class SlabWork(NamedTuple):
    """The time of each stage of a slab, in units of one local score."""

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
        The last columns, the subsets of which are taken one slab after the other.
    n_others : int, default=0
        Columns that may be parents of these and are not in the search themselves.
    n_log_determinants : int or None, default=None
        How many there are in memory; None is those of all subsets of the columns and
        the others.
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
        """Number of lowest columns in which the sets of one block differ."""
        return min(_BLOCK_BITS, self.n_inner)

    @property
    def width(self) -> int:
        """Number of neighbouring sets whose weights are looked up together."""
        return 1 << min(_WIDTH_BITS, self.block_bits)

    @property
    def n_blocks(self) -> int:
        """Number of blocks of a slab."""
        return 1 << (self.n_inner - self.block_bits)

    def table_bits(self, child: int) -> int:
        """Return the number of inner columns other than the child."""
        return self.n_inner - 1 if child < self.n_inner else self.n_inner

    def table_size(self, child: int) -> int:
        """Return how many parent sets, of inner columns other than the child, its table holds."""
        return 1 << self.table_bits(child)

    def row_bits(self, child: int) -> int:
        """Return how many bits of its table's index are columns in which a block's sets differ."""
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
        """About how long the search takes; all that is not a slab's is small beside them."""
        return sum(sum(self.slab_work(fixed)) for fixed in range(1 << self.n_outer))

    def __str__(self) -> str:
        others = f" with {self.n_others} others as parents" if self.n_others else ""
        parts = f" in {1 << self.n_outer} parts" if self.n_outer else ""
        return f"{self.n_columns} columns{others}{parts}: {self.n_bytes:,} bytes of memory"


def plan_search(
    n_columns: int,
    n_bytes: int,
    limit: str = "are available",
    n_others: int = 0,
    n_log_determinants: int | None = None,
    n_roots: int = 0,
) -> SearchPlan:
    """Choose the fastest plan that fits the memory.

    Parameters
    ----------
    n_columns : int
        At least 1.
    n_bytes : int
        How much memory the plan may take.
    limit : str
        What to say of this number in the error.
    n_others : int
    n_log_determinants : int or None
    n_roots : int

    Raises
    ------
    ValueError
        If not even the leanest plan fits; the message has both numbers.
    """
    fewest = min(max(0, (n_columns - _FIRST_TO_SPLIT) // 2 + 1), _OUTER_COLUMNS)
    most = max(fewest, min(_MOST_OUTER_COLUMNS, n_columns - 2))
    for n_outer in range(fewest, most + 1):
        plan = SearchPlan(n_columns, n_outer, n_others, n_log_determinants, n_roots)
        if plan.n_bytes <= n_bytes:
            return plan
    raise ValueError(_too_large(plan, n_bytes, limit))


def _too_large(plan: SearchPlan, n_bytes: int, limit: str) -> str:
    """Say what is missing, and what would make the search fit."""
    others = f" with {plan.n_others} others as parents" if plan.n_others else ""
    remedies = ["leave out columns"]
    if plan.n_log_determinants is None and replace(plan, n_log_determinants=0).n_bytes <= n_bytes:
        remedies.append("set max_parents, so that regressions on more columns are not needed")
    else:
        remedies.append(
            "set tiers or forbidden_edges, so that not all columns may come before as well as "
            "after each other"
        )
    needed = _count(plan.n_bytes)
    return (
        f"The exact search over {plan.n_columns} columns{others} needs {needed} bytes of memory "
        f"for its 2**{plan.n_columns} states, and {n_bytes:,} bytes {limit}; "
        f"{', or '.join(remedies)}."
    )


def _count(n: int) -> str:
    """Return a number in digits, or rounded if nobody would read them."""
    return f"{n:,}" if n < _MANY else f"about 10**{math.log10(n):.0f}"
