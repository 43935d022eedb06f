"""Cuts that a point violates: kept ones, clusters around cycles, and local cuts of windows.

`arrays_of` turns cuts into arrays for kernels.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from skbn._branch_and_cut.cut_kernels import CutArrays, fill_coefficients
from skbn._branch_and_cut.mixture_kernels import new_mixture
from skbn._branch_and_cut.proof import ClusterCut, Cut, DeterminantCut, LocalCut
from skbn._branch_and_cut.separation_kernels import Trial, find_cut
from skbn._branch_and_cut.window_kernels import WindowFamilies
from skbn._core.arrays import F1, F2, S1, S2, Floats, ShortIntegers
from skbn._core.resources import Threads

SEPARATION_KERNELS = (find_cut, fill_coefficients)

# Cuts of clusters that are violated by less raise the bound by too little to pay for a row.
_LEAST_VIOLATION_OF_CLUSTERS = 0.02
# The most cuts of clusters added for one point, so that the linear program stays small.
_MOST_CLUSTERS = 100
# An arc attracts its columns into a window by its distance from 0 and 1, and by this share of its
# weight.
_ATTRACTION = 0.2
# Two columns have a cluster cut, and the kernels of windows take blocks of three bits.
_FEWEST_COLUMNS = 3
# The most networks that a window's cut is found from: with more, pivots take too long.
_MOST_NETWORKS = 1024
# Halfway to a network, a cut is violated by about half as much as at the point. If cuts are fewer
# there than columns by this factor, more are sought at the point.
_SHARE_BETWEEN, _FEW_CUTS = 0.4, 3
# There is a window for each column, and one more for each column that it is narrower than this: a
# linear program takes as long whether its cuts come from few windows or many.
_WIDE = 11


class Point(NamedTuple):
    """The families that have weight in a solution of the relaxation."""

    child: S1  # (n,)
    parents: S2  # (n, K): as in `FamilyCosts`
    weight: F1  # (n,): positive; the weights of a column's families add up to at most 1
    arcs: F2  # (m, m): ``arcs[p, x]``: the weight of the families of x with the parent p

    @classmethod
    def of(cls, child: ShortIntegers, parents: ShortIntegers, weight: Floats, m: int) -> Point:
        """Return the point with the weights of its arcs."""
        arcs = np.zeros((m + 1, m))  # the last row takes the parents that families lack
        np.add.at(arcs, (parents, child[:, np.newaxis]), weight[:, np.newaxis])
        return cls(child, parents, weight, arcs[:m])

    def halfway_to(self, network: ShortIntegers) -> Point:
        """Return the middle between this point and a network, by its columns' parents."""
        m, n = len(network), len(self.child)
        width = max(self.parents.shape[1], network.shape[1])
        parents = np.full((n + m, width), -1, dtype=np.int16)
        parents[:n, : self.parents.shape[1]] = self.parents
        parents[n:, : network.shape[1]] = network
        child = np.concatenate([self.child, np.arange(m, dtype=np.int16)])
        return Point.of(child, parents, np.append(self.weight, np.ones(m)) / 2, m)

    @property
    def fractions(self) -> Floats:
        """How far the weight of each arc is from 0 and 1, as an array of shape (m, m)."""
        return np.maximum(np.minimum(self.arcs, 1 - self.arcs), 0.0)


def arrays_of(cuts: Sequence[Cut], m: int) -> CutArrays:
    """Return cuts of m columns as kernels read them.

    In a cluster all columns share a bit: the coefficient is that of a family with or without
    parents in it. No family has an entry of a determinant cut: see `determinants`.
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
        elif isinstance(cut, ClusterCut):
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
        The most memory of the tables. Beyond that the oldest batches are forgotten.
    """

    def __init__(self, m: int, n_bytes: int) -> None:
        self._m, self._n_bytes = m, n_bytes
        self._batches: list[tuple[list[Cut], CutArrays, Floats]] = []
        self._ids: set[int] = set()

    def add(self, cuts: Sequence[Cut]) -> None:
        """Keep those cuts that are not kept yet. New determinant cuts replace the old ones."""
        new: list[Cut] = [
            cut for cut in cuts if id(cut) not in self._ids and not isinstance(cut, DeterminantCut)
        ]
        if not new:
            return
        self._ids |= {id(cut) for cut in new}
        bounds = np.array([cut.bound for cut in new])
        self._batches.append((new, arrays_of(new, self._m), bounds))
        while sum(arrays.tables.nbytes for _, arrays, _ in self._batches) > self._n_bytes:
            self._ids -= {id(cut) for cut in self._batches.pop(0)[0]}

    def violated(self, point: Point, least: float, n_most: int) -> list[Cut]:
        """Return those that a point violates by more than `least`, the most violated ones first."""
        found: list[tuple[float, Cut]] = []
        for cuts, arrays, bounds in self._batches:
            shares = np.empty((len(point.child), len(cuts)))
            some = np.arange(len(point.child))
            fill_coefficients(point.child, point.parents, some, arrays, shares)
            shares *= point.weight[:, np.newaxis]
            missing = np.subtract.reduce(np.vstack([bounds, shares]))
            found += [(float(missing[i]), cuts[i]) for i in np.flatnonzero(missing > least)]
        found.sort(key=lambda each: -each[0])
        return [cut for _, cut in found[:n_most]]


def clusters_of_cycles(point: Point) -> list[ClusterCut]:
    """Return clusters around cycles of arcs that weigh too much together.

    The columns of a directed cycle of k arcs are a cluster. If the arcs weigh more than k - 1,
    families with parents in it weigh more than k - 1 as well, and the cut is violated. For each
    arc the heaviest cycle is a shortest path back.
    """
    m = len(point.arcs)
    # scipy 1.13 takes indices of 32 bits only.
    starts, ends = np.array(np.nonzero(point.arcs > 1e-6), dtype=np.int32)
    # Weights of 0 would count as no arcs.
    lengths = np.maximum(1 - point.arcs[starts, ends], 1e-6)
    graph = csr_array((lengths, (starts, ends)), shape=(m, m))
    distances, before = dijkstra(graph, return_predecessors=True)
    cycle_lengths = distances[ends, starts] + lengths
    found: dict[tuple[int, ...], ClusterCut] = {}
    for i in np.argsort(cycle_lengths, kind="stable"):
        if cycle_lengths[i] > 1 - _LEAST_VIOLATION_OF_CLUSTERS or len(found) == _MOST_CLUSTERS:
            break
        cycle = [int(starts[i])]
        while cycle[-1] != ends[i]:
            cycle.append(int(before[ends[i], cycle[-1]]))
        columns = tuple(sorted(cycle))
        found.setdefault(columns, ClusterCut(np.array(columns, dtype=np.int16)))
    return list(found.values())


def local_cuts(
    point: Point,
    width: int,
    n_windows: int,
    least: float,
    accept: float,
    rng: np.random.Generator,
    threads: Threads,
    deadline: float = math.inf,
) -> list[LocalCut]:
    """Return violated cuts of windows, which are drawn where many arcs are fractional.

    Parameters
    ----------
    point : Point
    width : int
        The number of columns of each window.
    n_windows : int
        How many are drawn.
    least : float
        Cuts violated by less are left.
    accept : float
        The share of a window's largest violation that is good enough.
    rng : numpy.random.Generator
    threads : Threads
        Windows are independent of each other: the number of threads changes no bit.
    deadline : float
        By ``time.monotonic()``: windows are left out after that.
    """
    windows = _draw_windows(point, width, n_windows, rng)
    seeds = rng.integers(2**63, size=len(windows), dtype=np.uint64)
    arguments = [
        (point, window, least, accept, seed, deadline)
        for window, seed in zip(windows, seeds, strict=True)
    ]
    return [cut for cut in threads.map(_local_cut, arguments) if cut is not None]


def cuts_towards(
    network: ShortIntegers,
    point: Point,
    width: int,
    least: float,
    accept: float,
    rng: np.random.Generator,
    threads: Threads,
    deadline: float = math.inf,
) -> list[Cut]:
    """Return cuts that a point violates, most of them sought halfway to a network.

    These cut deeper than those sought at the point, a vertex that the next solution is far from
    ("in-out separation").

    Parameters
    ----------
    network : ndarray of shape (m, K), int16
        The parents of each column.
    point, width, least, accept, rng, threads, deadline
        As for `local_cuts`.
    """
    m = len(network)
    rest = accept, rng, threads, deadline
    between = point.halfway_to(network)
    found: list[Cut] = [*clusters_of_cycles(between)]
    n_windows = m * max(1, _WIDE - width)
    found += local_cuts(between, width, n_windows, _SHARE_BETWEEN * least, *rest)
    if len(found) < m // _FEW_CUTS:
        found += clusters_of_cycles(point)
        found += local_cuts(point, width, n_windows, least, *rest)
    return found


def _draw_windows(
    point: Point, width: int, n_windows: int, rng: np.random.Generator
) -> list[ShortIntegers]:
    """Return different sets of columns, each grown from one by what it attracts."""
    m = len(point.arcs)
    fractions = point.fractions
    attraction = fractions + _ATTRACTION * point.arcs
    attraction += attraction.T
    chance = fractions.sum(axis=0) + fractions.sum(axis=1)
    chance += 0.01 * (point.arcs.sum(axis=0) + point.arcs.sum(axis=1))
    if chance.sum() == 0:
        return []
    windows: dict[tuple[int, ...], None] = {}
    for start in rng.choice(m, n_windows, p=chance / chance.sum()):
        window = [int(start)]
        gain = attraction[start].copy()
        while len(window) < width:
            noisy = gain * rng.uniform(0.5, 1.5, m)
            noisy[window] = 0.0
            best = int(np.argmax(noisy))
            if noisy[best] <= 0:
                break
            window.append(best)
            gain += attraction[best]
        if len(window) >= _FEWEST_COLUMNS:
            windows[tuple(sorted(window))] = None
    return [np.array(window, dtype=np.int16) for window in windows]


def _local_cut(
    point: Point,
    window: ShortIntegers,
    least: float,
    accept: float,
    seed: np.uint64,
    deadline: float,
) -> LocalCut | None:
    """Return a violated cut of a window, or None if there is none, or no time."""
    if time.monotonic() >= deadline:
        return None
    families = _families_within(point, window)
    bound, violation, table = separate(families, least, accept, seed)
    return _of_fewest_columns(LocalCut(window, table, bound)) if violation > 0 else None


def _of_fewest_columns(cut: LocalCut) -> LocalCut:
    """Return a cut without the columns that no coefficient depends on.

    Networks of the others have the same coefficients, and tables of few columns are small.
    """
    columns, table = cut.columns, cut.table
    for i in range(len(columns) - 1, -1, -1):
        with_and_without = table.reshape(len(columns), -1, 2, 1 << i)
        without = with_and_without[:, :, 0]
        # The column's own coefficients are 0 for sets with it: they tell whether it has others.
        if (with_and_without[:, :, 1] == without).all():
            columns = np.delete(columns, i)
            table = np.delete(without.reshape(len(table), -1), i, axis=0)
    return LocalCut(columns, np.ascontiguousarray(table), cut.bound)


def separate(
    window: WindowFamilies, least: float, accept: float, seed: int | np.uint64
) -> tuple[float, float, Floats]:
    """Find a cut of a window that a point violates, and lift it.

    Parameters
    ----------
    window : WindowFamilies
    least : float
        Cuts that are violated by less are not worth having.
    accept : float
        The share of the largest violation that is good enough, below 1.
    seed : int
        Seeds all random choices.

    Returns
    -------
    bound : float
        The bound of the cut, which is the cost of the cheapest network by `table`.
    violation : float
        0 if no cut is violated by `least`.
    table : ndarray of shape (w, 2**w)
        The coefficients of the cut, 0 for sets with the column itself.
    """
    w, n_families = len(window.starts) - 1, len(window.masks)
    n = 1 << w
    random = np.array([seed], dtype=np.uint64)
    trial = Trial(
        np.empty(n_families),
        np.empty((w, n)),
        np.empty(n),
        np.empty((w, w), dtype=np.int64),
        np.empty(w),
        np.empty(n_families),
        np.full(1, -np.inf),
        np.empty(n, dtype=np.uint16),
    )
    mixture = new_mixture(n_families, w, _MOST_NETWORKS)
    scratch, order = np.empty((2, n)), np.arange(w)
    bound, violation = find_cut(window, trial, mixture, least, accept, scratch, order, random)
    if violation < least:
        return 0.0, 0.0, trial.costs
    is_in = np.arange(n) >> np.arange(w)[:, np.newaxis] & 1 == 1
    return bound, violation, np.where(is_in, 0.0, trial.costs)


def _families_within(point: Point, window: Sequence[int] | ShortIntegers) -> WindowFamilies:
    """Return a window's families, one without parents for each column."""
    w, m = len(window), len(point.arcs)
    position = np.full(m, -1, dtype=np.int64)
    position[window] = np.arange(w)
    bits = np.zeros(m + 1, dtype=np.int64)
    bits[window] = 1 << np.arange(w)
    inside = np.flatnonzero(position[point.child] >= 0)
    masks = np.bitwise_or.reduce(bits[point.parents[inside]], axis=1)
    keys = np.concatenate([position[point.child[inside]] << w | masks, np.arange(w) << w])
    keys, number = np.unique(keys, return_inverse=True)
    weights = np.bincount(number, weights=np.append(point.weight[inside], np.zeros(w)))
    starts = np.searchsorted(keys >> w, np.arange(w + 1)).astype(np.int64)
    masks = (keys & ((1 << w) - 1)).astype(np.int64)
    return WindowFamilies(starts, masks, weights.astype(np.float64))
