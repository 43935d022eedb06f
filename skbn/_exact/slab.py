"""The children's tables of one slab of states: filled, transformed, used, and filled anew."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from skbn._core.memory import allocate
from skbn._core.progress import Progress
from skbn._core.subsets import submasks_by_size
from skbn._core.threads import Threads
from skbn._core.zeta import max_zeta
from skbn._exact.best_sinks import extend_blocks
from skbn._exact.family_source import FamilySource
from skbn._exact.plan import SearchPlan

__all__ = ["SLAB_KERNELS", "Slab"]

# Local scores in a task: Ctrl-C is handled between tasks, every few tenths of a second.
_TASK = 1 << 28


SLAB_KERNELS = (max_zeta, extend_blocks)


class Slab:
    """The memory of the tables, and what is done in it for the states of one slab.

    Parameters
    ----------
    families : FamilySource
    plan : SearchPlan
    threads : Threads
    progress : Progress

    Attributes
    ----------
    best_local : ndarray of shape (m,), float64
        Each child's best local score with any parents, after the last slab.
    """

    def __init__(
        self,
        families: FamilySource,
        plan: SearchPlan,
        threads: Threads,
        progress: Progress,
    ) -> None:
        self._families = families
        self._plan = plan
        self._threads = threads
        self._progress = progress
        self._tables = allocate(plan.slab_size)
        sizes = [plan.table_size(child) for child in range(plan.n_columns)]
        self._starts = np.cumsum([0, *sizes])
        self.best_local = np.empty(plan.n_columns)

    def fill(self, fixed: int) -> None:
        """Fill the tables for the sets with these outer columns, over the bits of a block."""
        work = self._plan.slab_work(fixed).fill
        shares = self._families.fill(
            self._tables, self._starts, fixed, self._threads, work // _TASK
        )
        for share in shares:
            self._progress.advance(work * share)

    def transform(self, fixed: int) -> None:
        """Transform the tables over the bits above those of a block."""
        work = self._plan.slab_work(fixed).transform
        outer = fixed << self._plan.n_inner
        children = np.array([x for x in range(self._plan.n_columns) if not outer >> x & 1])
        parts = self._threads.split(children, work // _TASK)
        for _ in self._threads.map(self._transform_tables, [(part,) for part in parts]):
            self._progress.advance(work / len(parts))
        # The last slab that has a child's table has all other columns among the parents.
        self.best_local[children] = self._tables[self._starts[1:][children] - 1]

    def extend(self, best: npt.NDArray[np.float64], fixed: int) -> None:
        """Finish the best scores of the slab's states, and hand them on to later slabs."""
        plan = self._plan
        work = plan.slab_work(fixed).extend
        for blocks in submasks_by_size(plan.n_inner - plan.block_bits):
            parts = self._threads.split(blocks, work // _TASK)
            layout = plan.n_inner, fixed, plan.block_bits
            for _ in self._threads.map(
                extend_blocks, [(best, self._tables, self._starts, *layout, part) for part in parts]
            ):
                self._progress.advance(work * len(blocks) / plan.n_blocks / len(parts))

    def check(self, best: npt.NDArray[np.float64], fixed: int) -> None:
        """Raise if some of the slab's maxima and states are not what they should be."""
        self._families.check(best, self._tables, self._starts, fixed)

    def _transform_tables(self, children: npt.NDArray[np.int64]) -> None:
        for x in children:
            table = self._tables[self._starts[x] : self._starts[x + 1]]
            max_zeta(table, self._plan.row_bits(x), self._plan.table_bits(x))
