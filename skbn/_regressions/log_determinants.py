"""The walk through all subsets of the columns, from one triangular factor.

``L[S] = log det(X_S' X_S)``, the sum of ``log r_ii**2`` over the triangular factor
of the columns S, holds every regression: the residual sum of squares of x on P
is ``exp(L[P + x] - L[P])``. A swap makes one set S a prefix, of which L[S] is read
off the diagonal.

The columns fall into three groups, which are the bits of a subset's index from
the lowest: *lane* columns, *inner* columns and *outer* columns. A seed (the
paper's section 6) is a set of lane and outer columns, which stand in front. All
that its walk over the inner columns needs is the factor of the inner columns
with those in front projected out, k x k, so that a rotation acts on k columns
and not on m. The seeds with the same outer columns walk side by side.

More generally the sets are sets of *nodes*, each a block of neighbouring columns,
and the groups above are groups of nodes. A swap of two nodes takes a swap for
each pair of their columns. As inner and lane nodes are moved most often, the
narrowest nodes should come first.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import cache
from itertools import accumulate
from typing import NamedTuple, Self

import numpy as np
from numba import float64, int64

from skbn._core.arrays import Floats, Integers
from skbn._core.compile import inner_kernel, kernel, tuple_type
from skbn._core.memory import allocate
from skbn._core.progress import Progress
from skbn._core.subsets import members_of, popcount
from skbn._core.threads import Threads
from skbn._core.vectors import load, logarithm, plus, store, times
from skbn._regressions.givens import (
    copy_block,
    move_last_in_front,
    swap_columns_in_lanes,
)
from skbn._regressions.least_squares import triangular_factor
from skbn._regressions.set_function import SET_FUNCTIONS, SetFunctions, SetWeights, columns_in
from skbn._regressions.swaps import greedy_swaps, prefixes_of

__all__ = [
    "SubsetWalk",
    "log_determinants",
    "log_determinants_work",
    "set_functions",
    "settle_columns",
    "walk_seeds",
]


# 64 lanes keep the SIMD units busy; 8 inner columns make the seeds' start cheap
# beside their walk, while 64 factors of 8 x 8 still fit the first-level cache.
_LANE_NODES = 6
_INNER_NODES = 8
# Of wider nodes there are fewer, as a swap of nodes takes longer the more columns there are.
_INNER_COLUMNS = 12
# Two lane nodes, for vectors of four lanes, and one inner node.
_FEWEST_NODES = 3
# Subsets in a task: Ctrl-C is handled between tasks, every few tenths of a second.
_TASK = 1 << 25
# Neighbouring sets that share one look-up of their weights: half a KiB of each table.
_WIDTH = 64
# Offsets are added to rows of 2**11 subsets, which the first-level cache holds.
_OFFSET_NODES = 11


def log_determinants(
    factor: Floats,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    offsets: Floats | None = None,
    widths: Sequence[int] | Integers | None = None,
) -> Floats:
    """Return the log-determinants of all subsets of nodes.

    Parameters
    ----------
    factor : ndarray of shape (n_columns, n_columns), float64
        Upper triangular and not singular, with at least one column.
    n_jobs : int or None
        Number of threads, by joblib's rules. It does not change a bit of the result.
    progress : Progress or None
        Advanced by ``log_determinants_work(m)`` in all, for m nodes.
    offsets : ndarray of shape (m,), float64, optional
        What each node adds to the log-determinants of all sets that it is in.
    widths : sequence of m int, optional
        How many columns stand for each node, one node after the other. By default each column is
        a node.

    Returns
    -------
    log_det : ndarray of shape (2**m,), float64
        ``log_det[S]`` is that of the nodes whose bits are set in S; 0 for none.
    """
    return _all_subsets(factor, n_jobs, progress, offsets, None, widths).of_family


def set_functions(
    factor: Floats,
    weights: SetWeights,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    offsets: Floats | None = None,
) -> SetFunctions:
    """Return what local scores are differences of, for all subsets of nodes.

    They are the same bits as those that follow from `log_determinants`, which has the other
    parameters; the widths of the nodes are those of the weights.
    """
    return _all_subsets(factor, n_jobs, progress, offsets, weights, weights.widths)


def _all_subsets(
    factor: Floats,
    n_jobs: int | None,
    progress: Progress | None,
    offsets: Floats | None,
    weights: SetWeights | None,
    widths: Sequence[int] | Integers | None,
) -> SetFunctions:
    widths = _as_widths(widths, len(factor))
    m = len(widths)
    if m < _FEWEST_NODES:
        n_more = _FEWEST_NODES - m
        with_others = np.eye(len(factor) + n_more)
        with_others[: len(factor), : len(factor)] = factor
        if offsets is not None:
            offsets = np.pad(offsets, (0, n_more))
        widths = np.append(widths, np.ones(n_more, dtype=np.int64))
        of_more = _all_subsets(with_others, n_jobs, progress, offsets, weights, widths)
        return SetFunctions(*(each[: 1 << m] for each in of_more))
    walk = SubsetWalk(factor, offsets, weights, widths, np.argsort(widths, kind="stable"))
    with Threads(n_jobs, m) as threads:
        sets = walk.allocate(1 << m, threads)
        tasks = threads.split(np.arange(walk.n_seeds), (1 << m) // _TASK)
        for _ in threads.map(walk.fill, [(seeds, sets) for seeds in tasks]):
            if progress is not None:
                progress.advance(log_determinants_work(m) / len(tasks))
    return sets


def _as_widths(widths: Sequence[int] | Integers | None, n_columns: int) -> Integers:
    return np.array([1] * n_columns if widths is None else widths, dtype=np.int64)


class Walk(NamedTuple):
    """What the kernel of the walk needs to know.

    Parameters
    ----------
    start : ndarray of shape (k, k), float64
        The factor of the columns of all inner, lane and outer nodes, in this order, with those in
        front projected out.
    widths : ndarray of int64
        The widths of these nodes.
    log_det_in_front : float
    n_in_front, n_nodes_in_front : int
        How many columns and nodes are in front, and their log-determinant.
    n_inner, n_lane : int
        How many inner and lane nodes there are.
    swaps, prefixes : ndarray of int64
        The path over the inner nodes, see `_path`.
    low_offsets, high_offsets : ndarray, float64
        Sums of offsets over the subsets of the first nodes, and of the others; or empty.
    sizes : ndarray of shape (2**n_inner,), int64
        How many columns the subsets of the inner nodes have.
    weights : ndarray of shape (n_functions, 2, n_columns + 1, width), float64
        See `SetWeights.spread`; no functions stand for the log-determinants themselves.
    node_terms : ndarray of shape (m + 1, width), float64
        See `SetWeights.spread_node_terms`.
    bits : ndarray of shape (m,), int64
        The bit of each lane, inner and outer node in the result; empty if it has the same order.
    """

    start: Floats
    widths: Integers
    log_det_in_front: float
    n_in_front: int
    n_nodes_in_front: int
    n_inner: int
    n_lane: int
    swaps: Integers
    prefixes: Integers
    low_offsets: Floats
    high_offsets: Floats
    sizes: Integers
    weights: Floats
    node_terms: Floats
    bits: Integers


WALK = tuple_type(
    Walk,
    *(float64[:, ::1], int64[::1], float64, int64, int64, int64, int64, int64[::1], int64[::1]),
    *(float64[::1], float64[::1], int64[::1], float64[:, :, :, ::1], float64[:, ::1], int64[::1]),
)


class SubsetWalk:
    """The walk through all subsets of some nodes, a part at a time.

    Parameters
    ----------
    factor : ndarray of shape (n_columns, n_columns), float64
        Upper triangular and not singular.
    offsets : ndarray of shape (m,), float64, optional
        What each node adds to the log-determinants of all sets that it is in.
    weights : SetWeights, optional
        What local scores are differences of; by default the log-determinants are left as they are.
    widths : sequence of m int, optional
        How many columns stand for each node; by default each column is a node. m is at least 3.
    order : ndarray of shape (m,), int64, optional
        The order in which the nodes are walked through. It does not change where results are
        stored. Walks of parts, by `with_columns`, need the order of the nodes.

    Attributes
    ----------
    n_columns : int
        How many nodes there are.
    n_seeds : int
        How many sets of outer nodes there are.
    seed_size : int
        How many subsets the seeds with the same outer nodes walk through.
    """

    def __init__(
        self,
        factor: Floats,
        offsets: Floats | None = None,
        weights: SetWeights | None = None,
        widths: Sequence[int] | Integers | None = None,
        order: Integers | None = None,
    ) -> None:
        of_nodes = [1] * len(factor) if widths is None else [int(width) for width in widths]
        m = len(of_nodes)
        numbers = list(range(m)) if order is None else order.tolist()
        first = [0, *accumulate(of_nodes)]
        n_lane = min(_LANE_NODES, m - 1)
        columns_inside = accumulate(of_nodes[i] for i in numbers[n_lane : n_lane + _INNER_NODES])
        n_inner = max(1, sum(n <= _INNER_COLUMNS for n in columns_inside))
        n_seeded = n_lane + n_inner
        lane, inner = numbers[:n_lane], numbers[n_lane:n_seeded]
        in_walk = [*inner, *lane, *numbers[n_seeded:]]
        columns = [column for i in in_walk for column in range(first[i], first[i + 1])]
        start = np.ascontiguousarray(triangular_factor(factor[:, columns]))
        low = high = np.empty(0)
        if offsets is not None:
            n_low = min(n_seeded, _OFFSET_NODES)
            offsets = offsets[numbers]
            low, high = sums_over_subsets(offsets[:n_low]), sums_over_subsets(offsets[n_low:])
        self._n_functions = 1 if weights is None else weights.n_functions
        width = min(_WIDTH, 1 << n_lane)
        spread, terms = np.empty((0, 0, 0, 0)), np.empty((0, 0))
        if weights is not None:
            spread = weights.spread(_sizes_of_subsets(tuple(of_nodes[i] for i in lane)))
            terms = weights.spread_node_terms(width)
        of_inner = tuple(of_nodes[i] for i in inner)
        swaps, prefixes = _path(of_inner)
        is_sorted = numbers != list(range(m))
        self._walk = Walk(
            start=start,
            widths=np.array([of_nodes[i] for i in in_walk], dtype=np.int64),
            log_det_in_front=0.0,
            n_in_front=0,
            n_nodes_in_front=0,
            n_inner=n_inner,
            n_lane=n_lane,
            swaps=swaps,
            prefixes=prefixes,
            low_offsets=low,
            high_offsets=high,
            sizes=_sizes_of_subsets(of_inner),
            weights=spread,
            node_terms=terms,
            bits=np.array([1 << i for i in numbers] if is_sorted else [], dtype=np.int64),
        )

    @property
    def n_columns(self) -> int:
        return len(self._walk.widths)

    @property
    def n_seeds(self) -> int:
        return 1 << self.n_columns - self._walk.n_lane - self._walk.n_inner

    @property
    def seed_size(self) -> int:
        return 1 << self._walk.n_lane + self._walk.n_inner

    def with_columns(self, n: int, others: int) -> Self:
        """Return the walk through the subsets of the first n nodes, each joined with others.

        Its numbers are the same bits as in the walk through all nodes.

        Parameters
        ----------
        n : int
            At least as many as a seed walks through.
        others : int
            The mask of nodes after these; the lowest bit is the first of them.
        """
        part, of_all = copy(self), self._walk
        start, log_det = settle_columns(of_all.start, of_all.widths, n, others)
        high = of_all.high_offsets
        if high.size:
            size = (1 << n) // len(of_all.low_offsets)
            high = high[others * size : (others + 1) * size]
        part._walk = of_all._replace(
            start=start,
            log_det_in_front=log_det,
            widths=of_all.widths[:n],
            n_in_front=sum(of_all.widths[n + i] for i in members_of(others)),
            n_nodes_in_front=others.bit_count(),
            high_offsets=high,
        )
        return part

    def allocate(self, size: int, threads: Threads | None = None) -> SetFunctions:
        """Return memory for the numbers of so many sets."""
        of_family = allocate(size, threads)
        return SetFunctions(
            of_family, of_family if self._n_functions == 1 else allocate(size, threads)
        )

    def fill(self, seeds: Integers, sets: SetFunctions) -> None:
        """Set the numbers of some seeds' subsets.

        Parameters
        ----------
        seeds : ndarray of int64
            Each is a mask of outer nodes.
        sets : SetFunctions
            They are set for all subsets. Without weights, `of_family` is set to log-determinants.
        """
        walk_seeds(self._walk, seeds, sets)


def sums_over_subsets(values: Floats) -> Floats:
    """Return the sum over each subset, by its mask."""
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums, sums + value])
    return sums


def log_determinants_work(m: int) -> int:
    """Return about how long m nodes take, in units of one local score of a search."""
    return 20 << m


@cache
def _sizes_of_subsets(widths: tuple[int, ...]) -> Integers:
    """Return how many columns each subset of nodes has, by its mask."""
    return columns_in(np.arange(1 << len(widths)), np.array(widths, dtype=np.int64))


# What follows a swap of columns that completes no node: the column has reached its place or not.
_EXTENDS = -1
_MOVES = -2


@cache
def _path(widths: tuple[int, ...]) -> tuple[Integers, Integers]:
    """Return the swaps of a seed over the inner nodes, and the set that each makes a prefix.

    They are those of seed 0, the empty set of nodes. The path of another seed has its nodes in
    front, where they stay; when they are projected out, what is left is this path.

    Parameters
    ----------
    widths : tuple of int

    Returns
    -------
    swaps : ndarray of int64
        The left position of each swap of columns. To swap two nodes, the right one's columns are
        moved to the left of the other, one after the other.
    prefixes : ndarray of int64
        First for each column, where it stands at first, then for each swap: the set of nodes that
        is now a prefix and was not; or `_EXTENDS` or `_MOVES`.
    """
    m = len(widths)
    order = list(range(m))
    node_swaps = greedy_swaps(m)
    prefixes_of_nodes = prefixes_of(np.arange(m), node_swaps).tolist()
    swaps: list[int] = []
    prefixes: list[int] = []
    for i, width in enumerate(widths):
        prefixes += [_EXTENDS] * (width - 1) + [(2 << i) - 1]
    for i, prefix in zip(node_swaps, prefixes_of_nodes, strict=True):
        start = sum(widths[node] for node in order[:i])
        left, right = widths[order[i]], widths[order[i + 1]]
        for place in range(start, start + right):
            swaps += range(place + left - 1, place - 1, -1)
            prefixes += [_MOVES] * (left - 1) + [_EXTENDS]
        prefixes[-1] = prefix
        order[i], order[i + 1] = order[i + 1], order[i]
    return np.array(swaps, dtype=np.int64), np.array(prefixes, dtype=np.int64)


@kernel(float64[:, ::1], int64[::1], int64, int64)
def settle_columns(factor, widths, n, chosen):
    """Return the factor of the first n nodes with some later ones projected out.

    Parameters
    ----------
    factor : ndarray of shape (k, k), float64
    widths : ndarray of shape (m,), int64
        How many columns stand for each node.
    n : int
    chosen : int
        The mask of these later nodes; the lowest bit is node n.

    Returns
    -------
    factor : ndarray, float64
        With the columns of the first n nodes.
    log_det : float
        The log-determinant of the chosen nodes.
    """
    settled = factor.copy()
    log_det = _settle_last_nodes(settled, widths, n, chosen, 0.0)
    size = widths[:n].sum()
    return settled[:size, :size].copy(), log_det


@kernel(WALK, int64[::1], SET_FUNCTIONS, seconds=2.0)
def walk_seeds(walk, outer_sets, sets):
    """Walk all seeds with these outer nodes, and weigh what they find while it is in cache."""
    n_inner, n_lane = walk.n_inner, walk.n_lane
    n_seeded = n_inner + n_lane
    lanes = 1 << n_lane
    inner_columns = walk.widths[:n_inner].sum()
    seeded_columns = walk.widths[:n_seeded].sum()
    outer_factor = np.empty(walk.start.shape)
    lane_factors = np.empty((lanes, seeded_columns, seeded_columns))
    factors = np.empty((inner_columns, inner_columns, lanes))
    sums = np.empty((inner_columns + 1, lanes))
    length = lanes << n_inner
    n_functions = walk.weights.shape[0]
    is_sorted = walk.bits.size > 0
    of_seed = np.empty(length if is_sorted else 0)
    parents_of_seed = np.empty(length) if is_sorted and n_functions == 2 else of_seed
    places = _places(walk.bits[:n_seeded]) if is_sorted else np.empty(0, dtype=np.int64)
    for outer in outer_sets:
        copy_block(walk.start, outer_factor, walk.start.shape[0])
        in_front = walk.log_det_in_front
        sums[0, 0] = _settle_last_nodes(outer_factor, walk.widths, n_seeded, outer, in_front)
        copy_block(outer_factor, lane_factors[0], seeded_columns)
        _settle_lane_nodes(lane_factors, walk.widths[:n_seeded], n_inner, sums[0])
        _lanes_last(lane_factors, factors)
        first = outer * length
        if is_sorted:
            values, of_parents = of_seed, parents_of_seed
        else:
            values = sets.of_family[first : first + length]
            of_parents = sets.of_parents[first : first + length]
        _walk(factors, sums, walk.swaps, walk.prefixes, values)
        if walk.high_offsets.size > 0:
            _add_offsets(walk.low_offsets, walk.high_offsets, first, values)
        if n_functions > 0:
            size = walk.n_in_front + _sum_of(walk.widths[n_seeded:], outer)
            _weigh(walk.weights, walk.sizes, size, values, of_parents)
        if walk.node_terms.size > 0:
            n_nodes = walk.n_nodes_in_front + popcount(outer)
            _add_node_terms(walk.node_terms, n_nodes, values)
            if n_functions == 2:
                _add_node_terms(walk.node_terms, n_nodes, of_parents)
        if is_sorted:
            base = _sum_of(walk.bits[n_seeded:], outer)
            _scatter(values, places, lanes, sets.of_family, base)
            if n_functions == 2:
                _scatter(of_parents, places, lanes, sets.of_parents, base)


@inner_kernel
def _sum_of(values, mask):
    """Return the sum of the values whose bits are set in the mask."""
    total = 0
    for i in range(values.size):
        total += (mask >> i & 1) * values[i]
    return total


@inner_kernel
def _places(bits):
    """Return the sum of the bits of each subset."""
    places = np.zeros(1 << bits.size, dtype=np.int64)
    for i in range(bits.size):
        for mask in range(1 << i):
            places[mask + (1 << i)] = places[mask] + bits[i]
    return places


@inner_kernel
def _scatter(values, places, lanes, target, base):
    """Store what the seeds have found where the caller looks for it."""
    for start in range(0, values.size, lanes):
        first = base + places[start]
        for lane in range(lanes):
            target[first + places[lane]] = values[start + lane]


@inner_kernel
def _add_offsets(low, high, first, values):
    """Add the sums of offsets to the log-determinants of the sets from `first` on."""
    for start in range(0, values.size, low.size):
        of_others = high[(first + start) // low.size]
        for i in range(low.size):
            values[start + i] += low[i] + of_others


@inner_kernel
def _weigh(weights, sizes, size, values, of_parents):
    """Turn log-determinants into set functions; the first set has `size` columns.

    If there is one function, the arrays are the same memory.
    """
    n_functions, _, n_sizes, width = weights.shape
    for start in range(0, values.size, width):
        place = (size + sizes[start // width]) * width
        for i in range(0, width, 4):
            log_det = load(values, start + i)
            for k in range(n_functions - 1, -1, -1):  # the log-determinants are overwritten last
                constants = 2 * k * n_sizes * width + place + i
                product = times(load(weights, constants + n_sizes * width), log_det)
                weighed = plus(load(weights, constants), product)
                if k == 0:
                    store(values, start + i, weighed)
                else:
                    store(of_parents, start + i, weighed)


@inner_kernel
def _add_node_terms(terms, n_nodes, values):
    """Add the terms by the number of nodes; the first set has `n_nodes`."""
    width = terms.shape[1]
    for start in range(0, values.size, width):
        of_row = terms[n_nodes + popcount(start)]
        for i in range(width):
            values[start + i] += of_row[i]


@inner_kernel
def _settle_lane_nodes(factors, widths, n_inner, log_det):
    """From lane 0, derive the factor and the log-determinant that each lane starts with."""
    size = factors.shape[1]
    for node in range(widths.size - 1, n_inner - 1, -1):
        chosen = 1 << (node - n_inner)
        for lane in range(0, factors.shape[0], 2 * chosen):
            copy_block(factors[lane], factors[lane + chosen], size)
            of_lane = log_det[lane]
            for moved in range(widths[node]):
                of_lane += move_last_in_front(factors[lane + chosen], size - moved)
            log_det[lane + chosen] = of_lane
        size -= widths[node]


@inner_kernel
def _lanes_last(source, target):
    n, _, lanes = target.shape
    for row in range(n):
        for column in range(n):
            for lane in range(lanes):
                target[row, column, lane] = source[lane, row, column]


@inner_kernel
def _settle_last_nodes(factor, widths, n, chosen, log_det):
    """Drop the nodes from n on, the chosen ones to the front; add their log-determinant."""
    size = factor.shape[0]
    for node in range(widths.size - 1, n - 1, -1):
        if chosen >> (node - n) & 1:
            for moved in range(widths[node]):
                log_det += move_last_in_front(factor, size - moved)
        size -= widths[node]
    return log_det


@inner_kernel
def _walk(factors, sums, swaps, prefixes, log_det):
    """Follow the path; store what each new prefix's log-determinant is in each lane.

    ``sums[p, lane]`` is the log-determinant of the first p columns and those in front, wherever
    a node ends there.
    """
    n, _, lanes = factors.shape
    order = np.empty(n, dtype=np.int64)
    cos = np.empty(lanes)
    sin = np.empty(lanes)
    squared = np.empty(lanes)
    for lane in range(lanes):
        log_det[lane] = sums[0, lane]
    for i in range(n):
        order[i] = i
        for lane in range(lanes):
            squared[lane] = factors[i, i, lane] * factors[i, i, lane]
        _store_prefix(sums, i, squared, log_det, prefixes[i])
    for step in range(swaps.size):
        swap_columns_in_lanes(factors, order, swaps[step], cos, sin, squared)
        prefix = prefixes[n + step]
        if prefix != _MOVES:
            _store_prefix(sums, swaps[step], squared, log_det, prefix)


@inner_kernel
def _store_prefix(sums, i, squared, log_det, prefix):
    """Extend the first i columns by one; store the sums if this completes a node."""
    lanes = squared.size
    for lane in range(0, lanes, 4):
        shorter = load(sums, i * lanes + lane)
        longer = plus(shorter, logarithm(load(squared, lane)))
        store(sums, (i + 1) * lanes + lane, longer)
        if prefix >= 0:
            store(log_det, prefix * lanes + lane, longer)
