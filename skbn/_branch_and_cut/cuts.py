"""Cuts as the search keeps them: as arrays for kernels, and set aside while they are idle."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from skbn._branch_and_cut.cut_kernels import CutArrays, violations
from skbn._branch_and_cut.proof import ClusterCut, LocalCut

__all__ = ["Cut", "KeptCuts", "arrays_of", "bound_of"]

Cut = LocalCut | ClusterCut


def bound_of(cut: Cut) -> float:
    """Return what a cut's coefficients add up to at least."""
    return cut.bound if isinstance(cut, LocalCut) else 1.0


def arrays_of(cuts: Sequence[Cut], m: int) -> CutArrays:
    """Return cuts of m columns as kernels read them.

    In a cluster all columns share a bit: the coefficient is that of a family with or without
    parents in it.
    """
    bits = np.zeros((len(cuts), m + 1), dtype=np.uint16)
    rows = np.full((len(cuts), m), -1, dtype=np.int64)
    tables = [np.array([1.0, 0.0])]
    n = 2
    for i, cut in enumerate(cuts):
        if isinstance(cut, LocalCut):
            w = len(cut.columns)
            bits[i, cut.columns] = 1 << np.arange(w)
            rows[i, cut.columns] = n + (np.arange(w) << w)
            tables.append(cut.table.ravel())
            n += cut.table.size
        else:
            bits[i, cut.columns] = 1
            rows[i, cut.columns] = 0
    return CutArrays(bits, rows, np.concatenate(tables))


class KeptCuts:
    """Cuts that the relaxation dropped, in batches; later solutions may violate them again.

    Parameters
    ----------
    m : int
        The number of columns.
    n_bytes : int
        Of the tables. Beyond that the oldest batches are forgotten.
    """

    def __init__(self, m: int, n_bytes: int) -> None:
        self._m, self._n_bytes = m, n_bytes
        self._batches: list[tuple[list[Cut], CutArrays, npt.NDArray[np.float64]]] = []
        self._ids: set[int] = set()

    def add(self, cuts: Sequence[Cut]) -> None:
        """Keep those cuts that are not kept yet."""
        new = [cut for cut in cuts if id(cut) not in self._ids]
        if not new:
            return
        self._ids |= {id(cut) for cut in new}
        bounds = np.array([bound_of(cut) for cut in new])
        self._batches.append((new, arrays_of(new, self._m), bounds))
        while sum(arrays.tables.nbytes for _, arrays, _ in self._batches) > self._n_bytes:
            self._ids -= {id(cut) for cut in self._batches.pop(0)[0]}

    def violated(
        self,
        child: npt.NDArray[np.int16],
        parents: npt.NDArray[np.int16],
        weight: npt.NDArray[np.float64],
        least: float,
        n_most: int,
    ) -> list[Cut]:
        """Return those that a point violates by more than `least`, the most violated ones first."""
        found: list[tuple[float, Cut]] = []
        for cuts, arrays, bounds in self._batches:
            missing = bounds.copy()
            violations(child, parents, weight, arrays, missing)
            found += [(float(missing[i]), cuts[i]) for i in np.flatnonzero(missing > least)]
        found.sort(key=lambda each: -each[0])
        return [cut for _, cut in found[:n_most]]
