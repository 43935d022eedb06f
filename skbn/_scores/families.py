"""Families: which families have scores, for the planner of a search.

`AllFamilies` and `SmallFamilies` belong to a table, and their scores follow from regressions: each
is a difference of `log_det` for two sets of columns, weighed by `tables`. For sets of nodes,
functions of these take the place of log-determinants. The kernels score, compare and list the
families of one child with few parents: the required columns and a few of the candidates, whose sets
are in the order of `SmallSubsets`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numba import boolean, float64, int16, int64

from skbn._core.arrays import BYTES, Booleans, Floats, Integers, ShortIntegers
from skbn._core.compile import compile_kernels, inner_kernel, kernel
from skbn._core.resources import Resources
from skbn._core.subsets import (
    SmallSubsets,
    advance,
    binomial,
    mask_of,
    max_over_subsets,
    members_of,
    n_small_subsets,
    rank,
)
from skbn._regressions.log_determinants import log_determinants, log_determinants_work, walk_seeds
from skbn._regressions.set_function import local_score, local_score_terms
from skbn._regressions.small_walk import (
    WORK_OF_SMALL_SET,
    small_log_determinants,
    walk_small_sets,
)


@kernel(
    int64,
    int64[::1],
    int64[::1],
    int64,
    float64[::1],
    float64[:, ::1],
    int64[:, ::1],
    int64[::1],
    float64[::1],
)
def score_families(child, required, candidates, most, log_det, tables, binomials, starts, scores):
    """Set `scores` to the local scores of all families of the child.

    `required`, `candidates`: ascending, with no column in common
    `most`: how many candidates may be parents
    `log_det`: the log-determinants of small sets of columns
    `binomials`, `starts`: those of the `SmallSubsets` that `log_det` has
    `tables`: (3, m)
    """
    chosen = np.empty(most + 1, dtype=np.int64)
    parents = np.empty(most + required.size + 1, dtype=np.int64)
    i = 0
    for size in range(most + 1):
        n_parents = size + required.size
        for j in range(size):
            chosen[j] = j
        end = i + binomial(candidates.size, size)
        while i < end:
            _merge(required, candidates, chosen, size, parents)
            of_parents = log_det[starts[n_parents] + rank(parents, n_parents, binomials)]
            _insert(parents, n_parents, child)
            of_family = log_det[starts[n_parents + 1] + rank(parents, n_parents + 1, binomials)]
            scores[i] = local_score(tables, n_parents, of_parents, of_family)
            i += 1
            if i < end:
                advance(chosen, size)


@kernel(float64[::1], int64, int64, int64[:, ::1], int64[::1], boolean[::1])
def keep_undominated(scores, n, most, binomials, starts, keep):
    """Set `keep` to whether the score of a set exceeds those of all its subsets.

    `scores`: one for each set of at most `most` out of n candidates. Not NaN.
    `binomials`, `starts`: those of the `SmallSubsets` that `scores` has
    """
    best = scores.copy()  # the best score of a set and its subsets
    chosen = np.empty(most + 1, dtype=np.int64)
    fewer = np.empty(most + 1, dtype=np.int64)
    keep[0] = scores[0] > -math.inf
    for size in range(1, most + 1):
        for j in range(size):
            chosen[j] = j
        for i in range(starts[size], starts[size + 1]):
            best_subset = -math.inf
            for left_out in range(size):
                for j in range(size - 1):
                    fewer[j] = chosen[j + (j >= left_out)]
                subset = starts[size - 1] + rank(fewer, size - 1, binomials)
                best_subset = max(best_subset, best[subset])
            keep[i] = scores[i] > best_subset
            best[i] = max(scores[i], best_subset)
            if i + 1 < starts[size + 1]:
                advance(chosen, size)


@kernel(int64[::1], int64[::1], int64, boolean[::1], int16[:, ::1])
def list_families(required, candidates, most, keep, members):
    """Set the rows of `members` to the parents of the families that are kept."""
    chosen = np.empty(most + 1, dtype=np.int64)
    parents = np.empty(most + required.size + 1, dtype=np.int64)
    i = 0
    row = 0
    for size in range(most + 1):
        for j in range(size):
            chosen[j] = j
        end = i + binomial(candidates.size, size)
        while i < end:
            if keep[i]:
                _merge(required, candidates, chosen, size, parents)
                for j in range(size + required.size):
                    members[row, j] = parents[j]
                row += 1
            i += 1
            if i < end:
                advance(chosen, size)


@kernel(
    float64[::1], int64, int64[:, ::1], int64[::1], float64[::1], float64, int64[::1], int64, int64
)
def first_suspect(log_det, size, binomials, starts, offsets, threshold, first, begin, end):
    """Return the first set of this size in which a column nearly depends on others, or -1.

    `binomials`, `starts`: those of the `SmallSubsets` that `log_det` has
    `offsets`: (n,), what each column's unit adds to the log-determinants
    `threshold`: the smallest logarithm of the square of a residual, for columns of norm 1
    `first`: (size,), the set to begin with. It is set to the one that was found, or the one after
        the last.
    `begin`, `end`: the index of `first`, and the index one past the last set
    """
    fewer = np.empty(size, dtype=np.int64)
    for i in range(begin, end):
        for left_out in range(size):
            for j in range(size - 1):
                fewer[j] = first[j + (j >= left_out)]
            subset = starts[size - 1] + rank(fewer, size - 1, binomials)
            log_square = log_det[i] - log_det[subset] - offsets[first[left_out]]
            if not log_square > threshold:  # NaN counts too: both may be -inf
                return i
        if i + 1 < starts[size + 1]:
            advance(first, size)
    return -1


@inner_kernel
def _merge(required, candidates, chosen, size, parents):
    """Set `parents` to the required and the chosen columns, ascending."""
    for j in range(size):
        parents[j] = candidates[chosen[j]]
    n_parents = size
    for column in required:
        _insert(parents, n_parents, column)
        n_parents += 1


@inner_kernel
def _insert(members, size, column):
    """Insert a column into a sorted set."""
    j = size
    while j > 0 and members[j - 1] > column:
        members[j] = members[j - 1]
        j -= 1
    members[j] = column


# The scores of some families of a child, and a function from a family's index to its parents.
ScoredPiece = tuple[Floats, Callable[[int], list[int]]]
# Sets of parents as rows of ascending columns, padded with -1 at their end, and their scores.
ScoredParentSets = tuple[ShortIntegers, Floats]


class Limits(NamedTuple):
    """The parents that a child must have, and the others that it may have, ascending."""

    child: int
    required: Sequence[int]
    candidates: Sequence[int]


class Families:
    """Which families of m columns have scores: by default, those that a user has listed.

    `n_families`: summed over all columns as children
    `max_parents`: the largest number of parents
    """

    are_listed: ClassVar[bool] = True  # whether they are few enough to visit one by one
    # whether they were listed by the user, so that the scores may rule out any others
    are_given: ClassVar[bool] = True
    # about how long it takes to compute what their scores need, in units of one local score
    work: int = 0
    kernels: ClassVar[tuple[Any, ...]] = ()  # the kernels that compute it
    # how many numbers are in memory while the families of a child are listed
    numbers_while_listed: int = 0

    def __init__(self, m: int, n_families: int, max_parents: int) -> None:
        self.m = m
        self.n_families = n_families
        self.max_parents = max_parents

    def count(self, n_candidates: Sequence[int]) -> int:
        """Return how many families children have, given how many columns may be their parents.

        Dominated ones are included.
        """
        return self.n_families


# 2**20 families are scored at a time, in arrays of 8 MB.
_PIECE_BITS = 20
# Sets that are checked at a time: Ctrl-C is handled in between, every few tenths of a second.
_PIECE = 1 << 21


class AllFamilies(Families):
    """All families of m columns."""

    are_listed = are_given = False
    kernels: ClassVar[tuple[Any, ...]] = (walk_seeds,)
    subsets = None  # all have log-determinants, by their masks

    def __init__(self, m: int) -> None:
        self.n_parent_sets = 1 << (m - 1)
        super().__init__(m, m * self.n_parent_sets, m - 1)
        self.n_subsets = 1 << m
        self.work = log_determinants_work(m)
        self.numbers_while_listed = self.n_subsets

    def log_determinants(
        self, factor: Floats, offsets: Floats | None, resources: Resources
    ) -> Floats:
        """Return the log-determinants of all subsets of the columns."""
        return log_determinants(factor, resources.n_jobs, resources.progress, offsets)

    def nearly_dependent_sets(self, *_: object) -> Iterator[list[int]]:
        """Yield nothing, as all columns together were checked already."""
        return iter(())

    def parent_set_index(self, child: int, parents: Sequence[int]) -> int:
        """Return the index of a parent set among those of the child."""
        return mask_of(other - (other > child) for other in parents)

    def scored(
        self, child: int, candidates: list[int], log_det: Floats, tables: Floats
    ) -> Iterator[ScoredPiece]:
        """Yield the scores of all families with parents among the candidates, in pieces."""
        low, high = candidates[:_PIECE_BITS], candidates[_PIECE_BITS:]
        below = _masks_of_subsets(low)
        for above in _masks_of_subsets(high):
            masks = below + above
            scores = _scores_at(masks, child, log_det, tables)
            yield scores, partial(_members_at, masks)

    def listed(
        self, limits: Limits, log_det: Floats, tables: Floats, with_dominated: bool
    ) -> ScoredParentSets:
        """Return the families that score higher than all with fewer of their parents, or all."""
        masks = _masks_of_subsets(limits.candidates) | mask_of(limits.required)
        scores = _scores_at(masks, limits.child, log_det, tables)
        keep = scores > -np.inf
        if not with_dominated:
            drop_dominated(keep, scores, len(limits.candidates))
        kept = np.flatnonzero(keep)
        members = [members_of(mask) for mask in masks[kept]]
        width = max(map(len, members), default=0)
        padded = [row + [-1] * (width - len(row)) for row in members]
        return np.array(padded, dtype=np.int16).reshape(len(kept), width), scores[kept]


class SmallFamilies(Families):
    """The families of m columns with at most `max_parents` parents."""

    are_given = False
    kernels: ClassVar[tuple[Any, ...]] = (
        walk_small_sets,
        score_families,
        keep_undominated,
        list_families,
    )

    def __init__(self, m: int, max_parents: int) -> None:
        most = min(int(max_parents), m - 1)
        self.n_parent_sets = n_small_subsets(m - 1, most)
        super().__init__(m, m * self.n_parent_sets, most)
        self.subsets = SmallSubsets(m, self.max_parents + 1)
        self.n_subsets = self.subsets.n_sets
        self.work = WORK_OF_SMALL_SET * self.subsets.n_sets
        # Log-determinants, and for each family of the child two scores and a byte, by which the
        # undominated ones are found.
        of_child = 2 * self.n_parent_sets - (-self.n_parent_sets // BYTES)
        self.numbers_while_listed = self.n_subsets + of_child

    def count(self, n_candidates: Sequence[int]) -> int:
        return sum(n_small_subsets(n, self.max_parents) for n in n_candidates)

    def log_determinants(
        self, factor: Floats, offsets: Floats | None, resources: Resources
    ) -> Floats:
        """Return the log-determinants of the sets of at most ``max_parents + 1`` columns."""
        added = np.zeros(self.m) if offsets is None else offsets
        given = resources.n_jobs, resources.progress
        return small_log_determinants(factor, self.subsets, added, *given)

    def nearly_dependent_sets(
        self, log_det: Floats, offsets: Floats | None, threshold: float
    ) -> Iterator[list[int]]:
        """Yield the columns of the largest families in which one nearly depends on the others.

        `threshold`: the smallest residual of a column of norm 1
        """
        compile_kernels([first_suspect])  # few tables need it
        subsets = self.subsets
        members = np.arange(subsets.most)
        added = np.zeros(self.m) if offsets is None else offsets
        limit = 2 * np.log(threshold)
        sets = log_det, subsets.most, subsets.binomials, subsets.starts
        begin = int(subsets.starts[subsets.most])
        while begin < subsets.n_sets:
            end = min(begin + _PIECE, subsets.n_sets)
            suspect = int(first_suspect(*sets, added, limit, members, begin, end))
            begin = end if suspect < 0 else suspect + 1
            if suspect >= 0:
                yield members.tolist()
                if begin < subsets.n_sets:
                    advance.py_func(members, subsets.most)

    def parent_set_index(self, child: int, parents: Sequence[int]) -> int:
        """Return the index of a parent set among those of the child."""
        others = [other - (other > child) for other in parents]
        return SmallSubsets(self.m - 1, self.max_parents).index(others)

    def scored(
        self, child: int, candidates: list[int], log_det: Floats, tables: Floats
    ) -> Iterator[ScoredPiece]:
        """Yield the scores of all families with parents among the candidates, in one piece."""
        limits = Limits(child, [], candidates)
        free, scores = self.scores_in_order(limits, log_det, tables)
        yield scores, lambda i: [candidates[j] for j in free.members(i)]

    def listed(
        self, limits: Limits, log_det: Floats, tables: Floats, with_dominated: bool
    ) -> ScoredParentSets:
        """Return the families that score higher than all with fewer of their parents, or all."""
        _, required, candidates = limits
        free, scores = self.scores_in_order(limits, log_det, tables)
        keep = scores > -np.inf
        if not with_dominated:
            keep_undominated(scores, free.n, free.most, free.binomials, free.starts, keep)
        members = np.full((int(keep.sum()), self.max_parents), -1, dtype=np.int16)
        list_families(*_int64_arrays(required, candidates), free.most, keep, members)
        return members, scores[keep]

    def scores_in_order(
        self, limits: Limits, log_det: Floats, tables: Floats
    ) -> tuple[SmallSubsets, Floats]:
        """Return the sets of candidates that parents may include, and the families' scores."""
        child, required, candidates = limits
        free = SmallSubsets(len(candidates), self.max_parents - len(required))
        scores = np.empty(free.n_sets)
        subsets = self.subsets
        score_families(
            child,
            *_int64_arrays(required, candidates),
            free.most,
            log_det,
            tables.copy(),  # the kernel is compiled for arrays that can be written
            subsets.binomials,
            subsets.starts,
            scores,
        )
        return free, scores


TableFamilies = AllFamilies | SmallFamilies


def _scores_at(masks: Integers, child: int, log_det: Floats, tables: Floats) -> Floats:
    """Return the scores of a child with the parents of each mask."""
    of_parents, of_family = log_det[masks], log_det[masks | 1 << child]
    terms = local_score_terms(tables, np.bitwise_count(masks), of_parents, of_family)
    c, parents_term, family_term = terms
    return c + parents_term + family_term


def drop_dominated(keep: Booleans, scores: Floats, n_candidates: int) -> None:
    """Set `keep` to False where a set with fewer parents scores at least as high."""
    best = scores.copy()
    max_over_subsets(best, n_candidates)
    for bit in range(n_candidates):
        pairs = best.reshape(-1, 2, 1 << bit)
        keep.reshape(-1, 2, 1 << bit)[:, 1] &= pairs[:, 0] < pairs[:, 1]


def _members_at(masks: Integers, index: int) -> list[int]:
    return members_of(masks[index])


def _masks_of_subsets(columns: Sequence[int]) -> Integers:
    """Return the masks of all subsets of some columns."""
    masks = np.zeros(1, dtype=np.int64)
    for column in columns:
        masks = np.concatenate([masks, masks | np.int64(1 << column)])
    return masks


def _int64_arrays(*columns: Sequence[int]) -> list[Integers]:
    return [np.array(each, dtype=np.int64) for each in columns]
