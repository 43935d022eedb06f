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

A node may have several columns, which stand together in the factor. The groups are then of nodes,
those of few columns first, and the path over the inner nodes swaps neighbouring blocks, column by
column: a set is a prefix when all columns of a block have arrived.
"""

from collections.abc import Sequence
from copy import copy
from functools import cache
from typing import NamedTuple, Self

import numpy as np
from numba import float64, int64

from skbn._core.arrays import F1, F2, F3, F4, I1, Floats, Integers
from skbn._core.compile import kernel, pasted_kernel, tuple_type
from skbn._core.resources import Progress, Threads, allocate
from skbn._core.subsets import popcount
from skbn._core.vectors import load, logarithm, plus, store, times
from skbn._regressions.givens import move_last_in_front, swap_columns_in_lanes
from skbn._regressions.least_squares import triangular_factor
from skbn._regressions.set_function import SET_FUNCTIONS, SetFunctions, SetWeights, columns_of_sets
from skbn._regressions.swaps import greedy_swaps, prefixes_of

# 64 lanes keep the SIMD units busy; 8 inner columns make the seeds' start cheap
# beside their walk, while 64 factors of 8 x 8 still fit the first-level cache.
_LANE_COLUMNS = 6
_INNER_COLUMNS = 8
# Inner nodes of several columns are fewer, so that they have about as many columns.
_MOST_INNER = 12
# What to do after a swap of columns that makes no set of nodes a prefix: extend the sums, if a
# column has arrived, or nothing.
_EXTENDS, _PASSES = -1, -2
# Two lane columns, for vectors of four lanes, and one inner column.
FEWEST_NODES = 3
# Subsets in a task: Ctrl-C is handled between tasks, every few tenths of a second.
_TASK = 1 << 25
# Offsets are added to rows of 2**11 subsets, which the first-level cache holds.
_OFFSET_COLUMNS = 11


def log_determinants(
    factor: Floats,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    offsets: Floats | None = None,
    widths: Sequence[int] | None = None,
) -> Floats:
    """Return the log-determinants of all subsets of nodes.

    `factor`: (n_columns, n_columns), upper triangular and not singular, of at least one column
    `progress`: advanced by ``log_determinants_work(m)`` in all
    `widths`: how many columns each node has, which stand together in the factor; by default one

    Returns `log_det`: (2**m,), ``log_det[S]`` is that of the nodes whose bits are set in S; 0 for
    none.
    """
    of_nodes = None if widths is None else np.array(widths, dtype=np.int64)
    return set_functions(factor, None, n_jobs, progress, offsets, of_nodes).of_family


def set_functions(
    factor: Floats,
    weights: SetWeights | None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    offsets: Floats | None = None,
    widths: Integers | None = None,
) -> SetFunctions:
    """Return what local scores are differences of, for all subsets of nodes.

    They are the same bits as those that follow from `log_determinants`, which has the other
    parameters. Without weights, `of_family` has the log-determinants, and nodes have these widths.
    """
    if weights is not None:
        widths = weights.widths
    m = len(factor) if widths is None else len(widths)
    if m < FEWEST_NODES:
        if widths is not None:
            return _few_subsets(factor, offsets, weights, widths)
        with_others = np.eye(FEWEST_NODES)
        with_others[:m, :m] = factor
        if offsets is not None:
            offsets = np.pad(offsets, (0, FEWEST_NODES - m))
        of_more = set_functions(with_others, weights, n_jobs, progress, offsets)
        return SetFunctions(*(each[: 1 << m] for each in of_more))
    walk = SubsetWalk(factor, offsets, weights, widths, by_width=True)
    with Threads(n_jobs, m) as threads:
        sets = walk.allocate(1 << m, threads)
        tasks = threads.split(np.arange(walk.n_seeds), (1 << m) // _TASK)
        for _ in threads.map(walk.fill, [(seeds, sets) for seeds in tasks]):
            if progress is not None:
                progress.advance(log_determinants_work(m) / len(tasks))
    return sets


def _few_subsets(
    factor: Floats, offsets: Floats | None, weights: SetWeights | None, widths: Integers
) -> SetFunctions:
    """Return the numbers of the sets of one or two nodes, each by a regression of its own."""
    node_of = np.repeat(np.arange(len(widths)), widths)
    sets = np.arange(1 << len(widths))
    log_det = np.zeros(len(sets))
    for chosen in sets[1:]:
        triangle = triangular_factor(factor[:, (chosen >> node_of & 1) == 1])
        log_det[chosen] = 2 * np.log(np.abs(np.diag(triangle))).sum()
    if offsets is not None:
        log_det += sums_over_subsets(offsets)
    return SetFunctions(log_det, log_det) if weights is None else weights.at(sets, log_det)


class SeedWalk(NamedTuple):
    """What the kernel of the walk needs to know."""

    # (k, k): the factor of all columns, with those in front projected out: those of inner nodes, of
    # lane nodes and of outer nodes
    start: F2
    log_det_in_front: float
    columns_in_front: int  # how many columns and nodes are in front, and their log-determinant
    nodes_in_front: int
    # where the columns of each lane node and of each outer node start, and the last one's end
    lane_starts: I1
    outer_starts: I1
    positions: I1  # the path over the inner columns, see `_path`
    prefixes: I1
    inner_sizes: I1  # how many columns each set of inner nodes has
    # sums of offsets over the subsets of the first nodes, and of the others; or empty
    low_offsets: F1
    high_offsets: F1
    weights: F4  # see `SetWeights.spread`; no functions stand for the log-determinants themselves
    node_terms: F2
    # where the numbers of a seed's sets belong if the caller has another order of nodes; else empty
    places: I1
    outer_places: I1  # the caller's bit of each outer node
    outer_factor: F2  # scratch, as all that follows: like `start`
    lane_factors: F3  # (n_lanes, k, k): the factor of inner and lane nodes for each lane
    factors: F3  # (k, k, n_lanes): that of the inner columns
    order: I1  # (k,): of these columns
    # (k + 4, n_lanes): the log-determinant of the first columns and those in front, from none to
    # all; cosines, sines, and squared elements of the diagonal
    sums: F2
    values: F1  # the numbers of a seed's sets, if they belong elsewhere


WALK = tuple_type(SeedWalk)


class SubsetWalk:
    """The walk through all subsets of some nodes, a part at a time.

    `factor`: (n_columns, n_columns), upper triangular and not singular; of at least 3 nodes
    `weights`: what local scores are differences of; by default the log-determinants are left as
        they are
    `widths`: (m,), how many columns each node has; by default one
    `by_width`: whether to walk through nodes of few columns first. The numbers are where they
        belong in any case, but there are no parts `with_columns` then.

    `n_columns`: number of nodes
    `n_seeds`: how many sets of outer nodes there are
    `seed_size`: how many subsets the seeds with the same outer nodes walk through
    """

    def __init__(
        self,
        factor: Floats,
        offsets: Floats | None = None,
        weights: SetWeights | None = None,
        widths: Integers | None = None,
        by_width: bool = False,
    ) -> None:
        widths = np.ones(len(factor), dtype=np.int64) if widths is None else widths
        m = self.n_columns = len(widths)
        every = np.arange(m)
        order = np.argsort(widths, kind="stable") if by_width else every
        own_starts = (np.cumsum(widths) - widths)[order]
        widths = widths[order]
        n_lane = min(_LANE_COLUMNS, m - 1)
        n_inner = _n_inner(widths[n_lane:])
        n_seeded = n_lane + n_inner
        of_inner, of_outer = slice(n_lane, n_seeded), slice(n_seeded, m)
        in_factor = np.concatenate([every[of_inner], every[:n_lane], every[of_outer]])
        starts = np.append(0, np.cumsum(widths[in_factor]))
        shift = np.repeat(own_starts[in_factor] - starts[:-1], widths[in_factor])
        self._columns, self._order = shift + np.arange(starts[-1]), order
        self._n_functions = 1 if weights is None else weights.n_functions
        spread, node_terms = np.empty((0, 0, 0, 0)), np.empty((0, 0))
        if weights is not None:
            spread, node_terms = weights.spread(widths[:n_lane])
        bits, places = np.int64(1) << order, np.empty(0, dtype=np.int64)
        if (order != every).any():
            places = sums_over_subsets(bits[:n_seeded].astype(float)).astype(np.int64)
        inner_sizes = columns_of_sets(np.arange(1 << n_inner), widths[of_inner])
        self._n_seeded = n_seeded
        start, low, high = self._of(factor, offsets)
        positions, prefixes = _path(tuple(widths[of_inner].tolist()))
        nothing = np.empty((1, 0, 0))
        self._walk = SeedWalk(
            start=start,
            log_det_in_front=0.0,
            columns_in_front=0,
            nodes_in_front=0,
            lane_starts=starts[n_inner : n_seeded + 1],
            outer_starts=starts[n_seeded:],
            positions=positions,
            prefixes=prefixes,
            inner_sizes=inner_sizes,
            low_offsets=low,
            high_offsets=high,
            weights=spread,
            node_terms=node_terms,
            places=places,
            outer_places=bits[of_outer],
            outer_factor=nothing[0],
            lane_factors=nothing,
            factors=nothing,
            order=places[:0],
            sums=nothing[0],
            values=low[:0],
        )

    def _of(self, factor: Floats, offsets: Floats | None) -> tuple[Floats, Floats, Floats]:
        """Return the factor that a walk starts with, and sums of offsets."""
        start = np.ascontiguousarray(triangular_factor(factor[:, self._columns]))
        if offsets is None:
            return start, np.empty(0), np.empty(0)
        n_low = min(self._n_seeded, _OFFSET_COLUMNS)
        offsets = offsets[self._order]
        return start, sums_over_subsets(offsets[:n_low]), sums_over_subsets(offsets[n_low:])

    def of_others(self, columns: Floats, offsets: Floats | None = None) -> Self:
        """Return the walk through as many other nodes of the same widths.

        `columns`: (n_rows, n_columns), linearly independent; they need not be triangular
        `offsets`: (m,)
        """
        other = copy(self)
        start, low, high = self._of(columns, offsets)
        other._walk = self._walk._replace(start=start, low_offsets=low, high_offsets=high)
        return other

    @property
    def n_seeds(self) -> int:
        return 1 << self.n_columns - self._n_seeded

    @property
    def seed_size(self) -> int:
        return 1 << self._n_seeded

    def with_columns(self, n: int, others: int) -> Self:
        """Return the walk through the subsets of the first n nodes, each joined with others.

        Its numbers are the same bits as in the walk through all nodes.

        `n`: at least as many as a seed walks through
        `others`: the mask of nodes after these; the lowest bit is the first of them
        """
        part, of_all = copy(self), self._walk
        starts = of_all.outer_starts[n - self._n_seeded :]
        settled = of_all.start.copy()
        log_det = settle_columns(settled, starts, others)
        chosen = [i for i in range(len(starts) - 1) if others >> i & 1]
        high = of_all.high_offsets
        if high.size:
            size = (1 << n) // len(of_all.low_offsets)
            high = high[others * size : (others + 1) * size]
        part.n_columns = n
        part._walk = of_all._replace(
            start=settled[: starts[0], : starts[0]].copy(),
            log_det_in_front=log_det,
            columns_in_front=int(np.diff(starts)[chosen].sum()),
            nodes_in_front=len(chosen),
            outer_starts=of_all.outer_starts[: n - self._n_seeded + 1],
            high_offsets=high,
        )
        return part

    def allocate(self, size: int, threads: Threads | None = None) -> SetFunctions:
        """Return memory for the numbers of `size` sets."""
        of_family = allocate(size, threads)
        return SetFunctions(
            of_family, of_family if self._n_functions == 1 else allocate(size, threads)
        )

    def fill(self, seeds: Integers, sets: SetFunctions) -> None:
        """Set the numbers of some seeds' subsets.

        `seeds`: each is a mask of outer columns
        `sets`: they are set for all subsets. Without weights, `of_family` is set to
            log-determinants.
        """
        walk = self._walk
        k, seeded, lanes = walk.lane_starts[0], walk.lane_starts[-1], 1 << len(walk.lane_starts) - 1
        with_scratch = walk._replace(
            outer_factor=np.empty_like(walk.start),
            lane_factors=np.empty((lanes, seeded, seeded)),
            factors=np.empty((k, k, lanes)),
            order=np.empty(k, dtype=np.int64),
            sums=np.empty((k + 4, lanes)),
            values=np.empty(len(walk.places)),
        )
        walk_seeds(with_scratch, seeds, sets)


def sums_over_subsets(values: Floats) -> Floats:
    """Return the sum over each subset, by its mask."""
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums, sums + value])
    return sums


def log_determinants_work(m: int) -> int:
    """Return about how long m columns take, in units of one local score of a search."""
    return 20 << m


def _n_inner(widths: Integers) -> int:
    """Return how many of the nodes after those of lanes are inner nodes."""
    n = int(np.searchsorted(np.cumsum(widths), _MOST_INNER, side="right"))
    return min(max(n, 1), _INNER_COLUMNS)


@cache
def _path(widths: tuple[int, ...]) -> tuple[Integers, Integers]:
    """Return the positions of a seed's steps, and the set of nodes that each makes a prefix.

    The first steps take the columns as they stand, one after the other; then each swaps the inner
    column at its position with the next. Where a step makes no prefix, this is `_EXTENDS` or
    `_PASSES`.

    They are those of seed 0, the empty set of nodes. The path of another seed has its columns
    in front, where they stay; when they are projected out, what is left is this path.
    """
    order = list(range(len(widths)))
    positions = list(range(sum(widths)))
    prefixes = [_EXTENDS] * sum(widths)
    for node in order:
        prefixes[sum(widths[: node + 1]) - 1] = (2 << node) - 1
    node_swaps = greedy_swaps(len(widths))
    for i, prefix in zip(node_swaps, prefixes_of(np.array(order), node_swaps), strict=True):
        position = sum(widths[node] for node in order[:i])
        left, right = widths[order[i]], widths[order[i + 1]]
        for column in range(right):
            positions += [position + column + step for step in range(left - 1, -1, -1)]
            arrives = int(prefix) if column == right - 1 else _EXTENDS
            prefixes += [_PASSES] * (left - 1) + [arrives]
        order[i], order[i + 1] = order[i + 1], order[i]
    return np.array(positions, dtype=np.int64), np.array(prefixes, dtype=np.int64)


@kernel(float64[:, ::1], int64[::1], int64)
def settle_columns(factor, starts, chosen):
    """Project some of the later nodes out of all before them; return their log-determinant.

    `factor`: (n_columns, n_columns). What is left is in the first rows and columns.
    `starts`: where the columns of each later node start, and where the last one's end
    `chosen`: the mask of these later nodes
    """
    log_det = 0.0
    for node in range(starts.size - 2, -1, -1):
        if chosen >> node & 1:
            log_det += move_last_in_front(factor, factor, starts[node], starts[node + 1])
    return log_det


@kernel(WALK, int64[::1], SET_FUNCTIONS, seconds=1.4)
def walk_seeds(walk, outer_sets, sets):
    """Walk all seeds with these outer nodes, and weigh what they find while it is in cache."""
    lane_factors, outer_starts = walk.lane_factors, walk.outer_starts
    seeded = lane_factors.shape[1]
    is_placed = walk.places.size > 0
    values = walk.values if is_placed else sets.of_family
    of_parents = values if is_placed else sets.of_parents
    length = walk.inner_sizes.size * lane_factors.shape[0]
    for outer in outer_sets:
        source, log_det, place = walk.start, walk.log_det_in_front, 0
        n_columns, n_nodes = walk.columns_in_front, walk.nodes_in_front
        for node in range(outer_starts.size - 2, -1, -1):
            if outer >> node & 1:
                start, end = outer_starts[node], outer_starts[node + 1]
                log_det += move_last_in_front(source, walk.outer_factor, start, end)
                source = walk.outer_factor
                n_columns += end - start
                n_nodes += 1
                place |= walk.outer_places[node]
        walk.sums[0, 0] = log_det
        move_last_in_front(source, lane_factors[0], seeded, seeded)  # none: it is only copied
        _settle_lane_nodes(lane_factors, walk.lane_starts, walk.sums)
        _lanes_last(lane_factors, walk.factors)
        base = outer * length
        first = 0 if is_placed else base
        _walk(walk, values, first)
        if walk.high_offsets.size > 0:
            _add_offsets(walk, base, values, first, length)
        if walk.weights.shape[0] > 0:
            _weigh(walk, n_columns, n_nodes, values, of_parents, first)
        if is_placed:  # in the caller's order of nodes
            for i in range(length):
                sets.of_family[place | walk.places[i]] = values[i]


@pasted_kernel
def _add_offsets(walk, base, values, first, length):
    """Add the sums of offsets to the log-determinants of the sets from number `base` on."""
    low, high = walk.low_offsets, walk.high_offsets
    for start in range(0, length, low.size):
        of_others = high[(base + start) // low.size]
        for i in range(low.size):
            values[first + start + i] += low[i] + of_others


@pasted_kernel
def _weigh(walk, n_columns, n_nodes, values, of_parents, first):
    """Turn log-determinants into set functions.

    If there is one function, the arrays are the same memory.
    """
    weights, node_terms = walk.weights, walk.node_terms
    n_functions, _, n_sizes, width = weights.shape
    for inner in range(walk.inner_sizes.size):
        start = first + inner * width
        place = (n_columns + walk.inner_sizes[inner]) * width
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
        if node_terms.shape[0] > 0:
            at = (n_nodes + popcount(inner)) * width
            for i in range(0, width, 4):
                weighed = plus(load(values, start + i), load(node_terms, at + i))
                store(values, start + i, weighed)


@pasted_kernel
def _settle_lane_nodes(factors, starts, log_det):
    """From lane 0, derive the factor and the log-determinant that each lane starts with."""
    for node in range(starts.size - 2, -1, -1):
        start, end, chosen = starts[node], starts[node + 1], 1 << node
        for lane in range(0, factors.shape[0], 2 * chosen):
            added = move_last_in_front(factors[lane], factors[lane + chosen], start, end)
            log_det[0, lane + chosen] = log_det[0, lane] + added


@pasted_kernel
def _lanes_last(source, target):
    n, _, lanes = target.shape
    for row in range(n):
        for column in range(n):
            for lane in range(lanes):
                target[row, column, lane] = source[lane, row, column]


@pasted_kernel
def _walk(walk, values, first):
    """Follow the path; store what each new prefix's log-determinant is in each lane."""
    factors, order, sums = walk.factors, walk.order, walk.sums
    n, _, lanes = factors.shape
    cos = (n + 1) * lanes
    for lane in range(lanes):
        values[first + lane] = sums[0, lane]
    for step in range(walk.positions.size):
        i, prefix = walk.positions[step], walk.prefixes[step]
        if step < n:
            order[i] = i
            for lane in range(lanes):
                sums[n + 3, lane] = factors[i, i, lane] * factors[i, i, lane]
        else:
            swap_columns_in_lanes(factors, order, i, sums, lanes, cos)
        if prefix != _PASSES:
            for lane in range(0, lanes, 4):
                squared = load(sums, cos + 2 * lanes + lane)
                longer = plus(load(sums, i * lanes + lane), logarithm(squared))
                store(sums, (i + 1) * lanes + lane, longer)
                if prefix >= 0:
                    store(values, first + prefix * lanes + lane, longer)
